"""Fitting a linear model to out-of-core data: partitions in files or on workers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from hoag._core.errors import InvalidInput, check_given
from hoag._core.numeric import Array
from hoag._data.checks import check_partitions, wrong_number, wrong_side
from hoag._data.engine import Engine, LocalEngine
from hoag._data.source import Source
from hoag._glm.fold_rule import FoldRule, InOrder, Listed, NotJudged
from hoag._glm.folds import FREE, MISSING_CLASS, of_slopes
from hoag._glm.lens import Lens
from hoag._glm.make import as_penalty
from hoag._glm.model import LinearModel
from hoag._glm.partition_rows import PartitionedRows
from hoag._glm.partitioned import CellSums, PartitionedDesign, ToDesign, labelled
from hoag._glm.partitioned_model import (
    PartitionedFold,
    PartitionedModel,
    partitioned_models,
)
from hoag._glm.penalties import Penalty, Ridge
from hoag._glm.targets import Target
from hoag.estimators.column import PartitionedColumn
from hoag.estimators.partition_units import Measure, joined, units_of
from hoag.estimators.reading import Reading
from hoag.estimators.sharing import Shares
from hoag.estimators.task import LEVEL
from hoag.estimators.units import WEIGHT, Units
from hoag.problems import Ledger

# So many entries of a sample are kept in memory; spaces of all folds then take 30 times as much.
SAMPLE_ENTRIES = 4e6
# Rows of so many entries are kept in memory whole: half as many again take less time than passes.
WHOLE = 1.5


def adopt(X: Any, y: Any = None, sample_weight: Any = None) -> Engine | None:
    """The partitions of X, if it is out-of-core data; None if it is in memory.

    This is the border where such data enter: a source that hoag.partitions made, or an engine,
    which have y and weights of their own; or collections of Dask.
    """
    check_given(X=X, y=y, sample_weight=sample_weight)
    if not is_out_of_core(X):
        return None
    if isinstance(X, (Source, Engine)):
        if y is not None or sample_weight is not None:
            raise InvalidInput(
                "Partitions have their y and weights with them: name these in "
                'hoag.partitions(..., target="...", weight="..."), and call fit(source) alone.'
            )
        return LocalEngine(X) if isinstance(X, Source) else X
    from hoag.dask import engine

    found: Engine = engine(X, y, sample_weight)
    return found


def is_out_of_core(X: Any) -> bool:
    """Whether X is what `adopt` takes."""
    if isinstance(X, (Source, Engine)):
        return True
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def with_own_y(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """What a score is of: X, y and the weights.

    Partitions have y and weights of their own, which are gathered; those that are given beside X,
    or beside partitions in their place, are taken as they are.
    """
    check_given(X=X, y=y, sample_weight=sample_weight)
    own = isinstance(X, (Source, Engine))
    if y is None and not own:
        raise InvalidInput(
            "score needs the y of these rows: call score(X, y). Only sources, as of "
            "hoag.partitions, have it with them."
        )
    if (own and y is not None) or not is_out_of_core(X):
        return X, y, sample_weight
    if own and sample_weight is not None:
        raise InvalidInput(
            "Partitions have their weights with them, and these are given for rows whose y is "
            "not: call score(source) alone, or score(source, y, sample_weight)."
        )
    engine = adopt(X, y, sample_weight)
    assert engine is not None
    kept = engine.gathered(_y_and_weights, rows=False)
    ys, weights = zip(*kept, strict=True)
    found = np.concatenate(ys)
    if not len(found):
        raise InvalidInput("There are no rows to score.")
    if found.dtype.kind == "f" and np.all(np.isnan(found)):
        raise InvalidInput(
            "These rows have no y to compare predictions with: name it, as in "
            'hoag.partitions(..., target="...") or source.like(..., target="..."), or call '
            "score(source, y)."
        )
    check_partitions((len(y), wrong_side(y, weight)) for y, weight in kept)
    weighted = any(own is not None for own in weights)
    each = [np.ones(len(y)) if own is None else own for y, own in kept]
    return engine, found, np.concatenate(each) if weighted else None


def _y_and_weights(partition: Any) -> tuple[Any, Array | None]:
    return np.asarray(partition.y), partition.weight


@dataclass(frozen=True, eq=False)
class OutOfCoreData:
    """What the first pass over the data says: units, folds, and the cells of rows."""

    design: PartitionedDesign
    units: Units
    target: Target  # of no rows
    unseen: npt.NDArray[np.bool_]  # folds that train on no row of some class
    passes: float
    penalties: Sequence[Array | None]  # what penalties on columns weigh in each fold; None for 1

    def folds(self, shares: Shares) -> tuple[list[LinearModel], Callable[[], LinearModel]]:
        """The model of each fold, and of all rows."""
        design, shift = self.design, self.units.log_shift
        plain = as_penalty(shares.penalties, design.predictor, shift)
        inside = design.train @ design.weights
        if np.any(inside <= 0):
            k = int(np.flatnonzero(inside <= 0)[0]) + 1
            raise InvalidInput(f"Split {k} of cv has no training row with a positive weight.")
        unseen = self.unseen if self.target.basis is not None else np.zeros_like(self.unseen)
        each = zip(inside, unseen, self.penalties, strict=True)
        penalties = [self._held(plain, *own) for own in each]

        def whole() -> LinearModel:
            every = np.ones((1, design.train.shape[1]), dtype=bool)
            penalty = self._held(plain, float(design.weights.sum()), False)
            own = replace(design.of_folds(every, ~every), ledger=Ledger())
            return PartitionedModel(PartitionedFold(own), penalty)

        return partitioned_models(design, penalties), whole

    def _held(
        self, plain: Penalty, weight: float, unseen: bool, columns: Array | None = None
    ) -> Penalty:
        """With a hair on what the rows of a fold leave open, and what it makes columns weigh."""
        if not isinstance(plain, Ridge):
            return plain
        free = bool(np.any(plain.groups[: self.design.predictor.slopes] < 0))
        floor = MISSING_CLASS * weight if unseen else FREE * weight if free else 0.0
        return Ridge(plain.groups, floor, plain.shift, of_slopes(columns, self.design.predictor))


def first_pass(
    engine: Engine,
    column: PartitionedColumn,
    reading: Reading,
    rule: FoldRule,
    standardize: bool = False,
) -> OutOfCoreData:
    """One pass over the data: units, how many rows each cell has, and a sample."""
    before, target = engine.reads, reading.target(column.nothing)
    unseen = np.zeros(len(rule.train), dtype=bool)
    if target.classes is not None:
        by_block = engine.total(
            Labelled(rule, column.classes, reading.weigh), prepare=_numbered, rows=False
        )
        unseen = np.any(rule.train.astype(float) @ by_block == 0, axis=1)
        rule = NotJudged.of(rule, column.classes, by_block)
    sizes = np.asarray(column.rows, dtype=np.intp)
    first = np.cumsum(sizes) - sizes
    most = WHOLE * SAMPLE_ENTRIES / engine.partitions
    measure = Measure(
        *(rule, reading.weigh, first, engine.features, reading.centre, most),
        *(engine.names, standardize),
    )
    known = engine.total(measure, prepare=_numbered)
    unit = WEIGHT / known.about.total

    def rows(lens: Lens) -> PartitionedRows:
        prepare = ToDesign(rule, lens, reading.target, reading.weigh, unit)
        return PartitionedRows(engine, prepare, known.rows, known.entries, known.is_sparse)

    u = units_of(known, reading.centre, rows)
    squares = u.squares + WEIGHT * ((known.about.mean - u.mean) / u.c) ** 2  # about 0
    design = PartitionedDesign(
        *(rule.train, rule.test, target.loss, target.outer),
        predictor=target.design(u.rows),
        engine=engine,
        prepare=cast(PartitionedRows, u.rows).prepare,
        known=CellSums(known.counts, unit * known.weights, squares),
        sample=joined(known.sample, unit, SAMPLE_ENTRIES / max(known.entries, 1)),
    )
    columns: Sequence[Array | None] = [None] * len(rule.train)
    if known.spreads is not None:
        columns = list(known.spreads.penalties(rule.train, absorbed=reading.centre))
    return OutOfCoreData(design, reading.units(u), target, unseen, engine.reads - before, columns)


@dataclass(frozen=True, eq=False)
class Labelled:
    """(number, partition) ↦ the weight of the rows of every cell and class, (B, classes)."""

    rule: FoldRule
    classes: npt.NDArray[Any]
    weigh: Any

    def __call__(self, numbered: tuple[int, Any]) -> Array:
        i, partition = numbered
        weights, labels = labelled(self.rule, self.weigh, i, partition)
        C = len(self.classes)
        B, used = self.rule.train.shape[1], labels >= 0
        codes = labels * C + np.searchsorted(self.classes, partition.y)
        found = np.bincount(codes[used], weights[used], B * C).reshape(B, C)
        return np.asarray(found, dtype=float)


def _weights(y: Any, weights: Array) -> Array:
    return weights


def _numbered(i: int, partition: Any) -> tuple[int, Any]:
    return i, partition


def rule_of(cv: Any, column: PartitionedColumn, stratified: bool, groups: Any = None) -> FoldRule:
    """Which rows are held out together: as scikit-learn has it, row for row."""
    cv = 5 if cv is None else cv
    if isinstance(cv, KFold) and not cv.shuffle:
        return InOrder.of(column.rows, cv.n_splits)
    in_order = isinstance(cv, StratifiedKFold) and not cv.shuffle
    if in_order or (isinstance(cv, Integral) and stratified):
        K = cv.n_splits if in_order else int(cv)
        fewest = int(column.by_partition.sum(axis=0).min())
        if fewest < K:
            warnings.warn(
                f"The least populated class in y has only {fewest} members, which is less than "
                f"n_splits={K}.",
                UserWarning,
                stacklevel=LEVEL + 1,
            )
        return InOrder.by_class(column.by_partition, column.classes, column.order, K)
    if isinstance(cv, Integral):
        return InOrder.of(column.rows, int(cv))
    # Any other splitter sees all of y, and makes lists of all rows.
    kept = column.engine.gathered(_y, rows=False)
    y = np.concatenate(kept)
    cv = check_cv(cv, y, classifier=stratified)
    splits = cv.split(np.zeros(len(y)), y, groups)  # one after another: each is as long as y
    return Listed.of(column.rows, splits, int(cv.get_n_splits(np.zeros(len(y)), y, groups)))


def _y(partition: Any) -> Any:
    return np.asarray(partition.y)


def predicted(engine: Engine, coef: Array, intercept: Any) -> Array:
    """X @ coef.T + intercept for all rows, in their order."""
    asked = Predicts(coef, intercept, engine.names)
    return np.concatenate(engine.gathered(asked, prepare=_numbered))


@dataclass(frozen=True, eq=False)
class Predicts:
    coef: Array
    intercept: Any
    names: Any = None

    def __call__(self, numbered: tuple[int, Any]) -> Array:
        (i, partition), features = numbered, self.coef.shape[-1]
        if partition.X.shape[1] != features:
            raise InvalidInput(
                f"X has {partition.X.shape[1]} features, and the model was fitted on {features}."
            )
        if (wrong := wrong_number(partition.X, self.names, fill=False)) is not None:
            raise wrong.in_partition(i)
        return np.asarray(partition.X @ self.coef.T + self.intercept)
