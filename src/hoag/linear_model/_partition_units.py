"""What one pass over partitions finds out: units, folds, the cells of their rows, and a sample.

Means and squares about them are joined by hoag._data.statistics.MeanSquares, for all rows and,
where folds standardise columns, for every cell of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from hoag._core.errors import InvalidInput
from hoag._core.numeric import ROUNDING, Array
from hoag._data.checks import wrong_number
from hoag._data.engine import Engine, Maximum, plus
from hoag._data.source import Partition
from hoag._data.statistics import MeanSquares
from hoag._glm.fold_rule import FoldRule, InOrder, Listed, NotJudged, below, drawn
from hoag._glm.folds import as_penalty, of_fold
from hoag._glm.lens import Lens
from hoag._glm.model import LinearModel
from hoag._glm.partitioned import (
    CellSums,
    PartitionedDesign,
    PartitionedRows,
    Sample,
    ToDesign,
    labelled,
    stacked,
)
from hoag._glm.partitioned_model import PartitionedModel, partitioned_models
from hoag._glm.targets import Target
from hoag.linear_model._column import PartitionedColumn
from hoag.linear_model._columns import FAR_OFF, ColumnSums, columns_of
from hoag.linear_model._reading import Reading
from hoag.linear_model._sharing import Shares
from hoag.linear_model._task import LEVEL
from hoag.linear_model._units import WEIGHT, Units, centred, check_size
from hoag.problems import Ledger

# So many entries of a sample are kept in memory; spaces of all folds then take 30 times as much.
SAMPLE_ENTRIES = 4e6
# Rows of so many entries are kept in memory whole: half as many again take less time than passes.
WHOLE = 1.5


def numbered(i: int, partition: Partition) -> tuple[int, Partition]:
    return i, partition


class Spreads(NamedTuple):
    """Weight, mean and squares of every column, for each cell of rows and for other rows.

    Rows that are in no cell, those of weight in no fold, come last: (B + 1, p). Those of sparse
    rows are Σ s a² − Σs m², which shows no spread below 1e-7 of the mean.
    """

    about: MeanSquares
    is_sparse: bool

    @staticmethod
    def by_cells(X: Any, weights: Array, labels: npt.NDArray[np.intp], cells: int) -> MeanSquares:
        """Of rows in memory; the label −1 is no cell."""
        total, shape = np.zeros((cells + 1, 1)), (cells + 1, X.shape[1])
        mean, squares = np.zeros(shape), np.zeros(shape)
        for b in np.unique(labels[weights > 0]):
            own = np.flatnonzero(labels == b)
            measured = columns_of(X[own], weights[own], centre=True)
            total[b], mean[b], squares[b] = weights[own].sum(), measured.mean, measured.squares
        return MeanSquares(total, mean, squares)

    def deviations(self, members: npt.NDArray[np.bool_]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """The standard deviation of every column in some cells, and whether it is any."""
        total, means, squares = self.about
        weights = np.where(members, total[:, 0], 0.0)
        whole = float(weights.sum()) or 1.0
        share = weights / whole
        mean = share @ means
        variance = (members / whole) @ squares + share @ (means - mean) ** 2
        lost = ROUNDING if self.is_sparse else ROUNDING**2
        varies = variance > lost * (variance + mean**2)
        return np.sqrt(np.where(varies, variance, 0.0)), varies

    @property
    def of_all(self) -> Array:
        """What columns are divided by for a fit on all rows; 1 where they are constant."""
        found, varies = self.deviations(np.ones(len(self.about.total), dtype=bool))
        return np.where(varies, found, 1.0)

    def penalties(self, train: npt.NDArray[np.bool_], absorbed: bool) -> Array:
        """What penalties of each fold weigh, (K, p), beside those of a fit on all rows.

        A constant column does nothing where it is `absorbed`; else it has the scale 1.
        """
        scales, found = self.of_all, []
        for members in train:
            own, varies = self.deviations(np.append(members, False))
            found.append(np.where(varies, own / scales, 1.0 if absorbed else 1.0 / scales) ** 2)
        return np.stack(found)


class RowStatistics(NamedTuple):
    """Sums over some rows, and a few of these."""

    rows: int
    entries: int
    about: MeanSquares
    top: Maximum  # of every column
    depth: Maximum  # of every column, negated
    counts: npt.NDArray[np.intp]  # of the rows of each cell
    weights: Array  # of each cell
    is_sparse: bool
    sample: list[Sample]
    by_cells: MeanSquares | None  # of columns, where these are to be standardised

    def plus(self, other: RowStatistics) -> RowStatistics:
        if self.is_sparse != other.is_sparse:
            raise InvalidInput(
                "X is sparse in some partitions and dense in others: make them alike."
            )
        return RowStatistics(*map(plus, self, other))._replace(is_sparse=self.is_sparse)

    @property
    def spreads(self) -> Spreads | None:
        return None if self.by_cells is None else Spreads(self.by_cells, self.is_sparse)


@dataclass(frozen=True, eq=False)
class Measure:
    """(number, partition) ↦ RowStatistics.

    rule     the cell of every row
    weigh    y and weights ↦ weights, with those of classes
    first    the number of the first row of every partition
    most     so many entries of each partition are kept as a sample
    names    of the columns, if they have such
    spreads  whether those of columns are asked for, whatever classes weigh
    """

    rule: FoldRule
    weigh: Any
    first: npt.NDArray[np.intp]
    features: int
    centre: bool
    most: float
    names: Sequence[str] | None = None
    spreads: bool = False

    def __call__(self, numbered: tuple[int, Partition]) -> RowStatistics:
        i, partition = numbered
        (X, y, _), cells = partition, self.rule.train.shape[1]
        if X.shape != (partition.rows, self.features):
            raise InvalidInput(
                f"X has shape {X.shape} in partition {i} of the rows, and there are "
                f"{partition.rows} y and {self.features} features."
            )
        if (wrong := wrong_number(X, self.names, fill=False)) is not None:
            raise wrong.in_partition(i, int(self.first[i]))
        weights, labels = labelled(self.rule, self.weigh, i, partition)
        measured, is_sparse = columns_of(X, weights, self.centre), bool(sparse.issparse(X))
        kept, entries = labels >= 0, int(X.nnz if is_sparse else X.size)
        by_cells = None
        if self.spreads:
            every = labelled(self.rule, None, i, partition)[1]
            by_cells = Spreads.by_cells(X, partition.weights, every, cells)
        share = min(1.0, self.most / max(entries, 1))
        draws = drawn(self.first[i] + np.arange(len(y)))
        some = below(draws, labels, share)
        own = np.asarray(y)[some], weights[some], labels[some], draws[some]
        return RowStatistics(
            len(y),
            entries,
            MeanSquares(float(weights.sum()), measured.mean, measured.squares),
            Maximum(measured.top),
            Maximum(-measured.bottom),
            np.bincount(labels[kept], minlength=cells),
            np.asarray(np.bincount(labels[kept], weights[kept], cells), dtype=float),
            is_sparse,
            [Sample(X[some], *own, share)],
            by_cells,
        )


def joined(parts: list[Sample], unit: float, share: float) -> Sample:
    """The samples of all partitions; a share of all rows, where these are not all of them."""
    y, weights, labels, draws = (np.concatenate(part) for part in list(zip(*parts))[1:5])
    kept = min(part.share for part in parts)
    whole = Sample(stacked([part.X for part in parts]), y, unit * weights, labels, draws, kept)
    return whole if kept >= 1.0 else whole.smaller(min(kept, share))


def units_of(known: RowStatistics, centre: bool, rows: Callable[[Lens], PartitionedRows]) -> Units:
    """As `units` has them of arrays; `rows` makes PartitionedRows of a lens."""
    (top,), (depth,) = known.top, known.depth
    check_size(float(max(top.max(initial=0.0), depth.max(initial=0.0))))
    total, mean, squares = known.about
    if not 1e-300 < total < 1e300:
        raise InvalidInput(
            "sample_weight is zero for every row, or too large or too small to add up."
        )
    measured = ColumnSums(mean, squares / total, top, -depth)
    mean, squares, constant, moved = centred(measured, known.is_sparse, centre)
    far_off = ~constant & (np.abs(mean) > FAR_OFF * np.sqrt(squares))
    scales: float | Array = 1.0
    if known.spreads is not None:
        scales = known.spreads.of_all
        squares = squares / scales**2
    c = float(np.sqrt(squares.sum())) or 1.0
    lens = Lens(None, 1.0 / (c * scales))
    if np.any(moved):
        scale = np.broadcast_to(1.0 / (c * scales), mean.shape).copy()
        scale[constant] = 0.0
        lens = Lens(mean, scale, bool(np.any(far_off)))
    squares = WEIGHT * squares / c / c
    return Units(rows(lens), np.empty(0), mean, c, total, squares, scales=scales)


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
        penalties = [of_fold(plain, design.predictor, *own) for own in each]

        def whole() -> LinearModel:
            every = np.ones((1, design.train.shape[1]), dtype=bool)
            total = float(design.weights.sum())
            penalty = of_fold(plain, design.predictor, total, unseen=False, columns=None)
            own = replace(design.of_folds(every, ~every), ledger=Ledger())
            return PartitionedModel(own, penalty)

        return partitioned_models(design, penalties), whole


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
            partial(_by_class, rule=rule, classes=column.classes, weigh=reading.weigh),
            prepare=numbered,
            rows=False,
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
    known = engine.total(measure, prepare=numbered)
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


def _by_class(
    numbered: tuple[int, Partition], rule: FoldRule, classes: npt.NDArray[Any], weigh: Any
) -> Array:
    """The weight of the rows of every cell and class, (B, classes)."""
    i, partition = numbered
    weights, labels = labelled(rule, weigh, i, partition)
    B, C, used = rule.train.shape[1], len(classes), labels >= 0
    codes = labels * C + np.searchsorted(classes, partition.y)
    found = np.bincount(codes[used], weights[used], B * C).reshape(B, C)
    return np.asarray(found, dtype=float)


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
