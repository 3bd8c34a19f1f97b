"""What one pass over partitions finds out: units, folds, the cells of their rows, and a sample.

Means and squares about them are those of hoag._data.columns, for all rows and, where folds
standardise columns, for every cell of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidDataError
from hoag._core.numeric import Array
from hoag._data.checks import wrong_number
from hoag._data.columns import Columns, MeanSquares, measured
from hoag._data.engine import Engine, plus
from hoag._data.fold_rule import FoldRule, NotJudged, below, drawn
from hoag._data.source import Partition, numbered
from hoag._data.standardize import Standardiser
from hoag._data.target import OfRows, PartitionedColumn, Weigh
from hoag._glm.folds import as_penalty, of_fold
from hoag._glm.groups import Penalties
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
from hoag._glm.penalties import Penalty
from hoag._glm.spreads import cell_penalties, column_scales, joined, of_cells
from hoag._glm.targets import Target
from hoag._glm.units import WEIGHT, Units, units_of
from hoag.problems import Ledger

# So many entries of a sample are kept in memory; spaces of all folds then take 30 times as much.
SAMPLE_ENTRIES = 4e6
# Rows of so many entries are kept in memory whole: half as many again take less time than passes.
WHOLE = 1.5


class RowStatistics(NamedTuple):
    """Sums over some rows, and a few of these."""

    rows: int
    entries: int
    columns: Columns
    counts: npt.NDArray[np.intp]  # of the rows of each cell
    weights: Array  # of each cell
    is_sparse: bool
    sample: list[Sample]
    by_cells: MeanSquares | None  # of columns, where these are to be standardised

    def plus(self, other: RowStatistics) -> RowStatistics:
        if self.is_sparse != other.is_sparse:
            raise InvalidDataError(
                "X is sparse in some partitions and dense in others: make them alike."
            )
        return RowStatistics(*map(plus, self, other))._replace(is_sparse=self.is_sparse)


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
            raise InvalidDataError(
                f"X has shape {X.shape} in partition {i} of the rows, and there are "
                f"{partition.rows} y and {self.features} features."
            )
        if (wrong := wrong_number(X, self.names, fill=False)) is not None:
            raise wrong.in_partition(i, int(self.first[i]))
        weights, labels = labelled(self.rule, self.weigh, i, partition)
        is_sparse = bool(sparse.issparse(X))
        kept, entries = labels >= 0, int(X.nnz if is_sparse else X.size)
        by_cells = None
        if self.spreads:
            every = labelled(self.rule, None, i, partition)[1]
            by_cells = of_cells(X, partition.weights, every, cells)
        share = min(1.0, self.most / max(entries, 1))
        draws = drawn(self.first[i] + np.arange(len(y)))
        some = below(draws, labels, share)
        own = np.asarray(y)[some], weights[some], labels[some], draws[some]
        return RowStatistics(
            len(y),
            entries,
            measured(X, weights, self.centre),
            np.bincount(labels[kept], minlength=cells),
            np.asarray(np.bincount(labels[kept], weights[kept], cells), dtype=float),
            is_sparse,
            [Sample(X[some], *own, share)],
            by_cells,
        )


def joined_samples(parts: list[Sample], unit: float, share: float) -> Sample:
    """The samples of all partitions; a share of all rows, where these are not all of them."""
    y, weights, labels, draws = (np.concatenate(part) for part in list(zip(*parts))[1:5])
    kept = min(part.share for part in parts)
    whole = Sample(stacked([part.X for part in parts]), y, unit * weights, labels, draws, kept)
    return whole if kept >= 1.0 else whole.smaller(min(kept, share))


@dataclass(frozen=True, eq=False)
class OutOfCoreData:
    """What the first pass over the data says: units, folds, and the cells of rows."""

    design: PartitionedDesign
    units: Units
    target: Target  # of no rows
    unseen: npt.NDArray[np.bool_]  # folds that train on no row of some class
    passes: float
    columns: Sequence[Array | None]  # what their penalties weigh in each fold; None for 1

    def folds(
        self, penalties: Penalties | Penalty, shift: float
    ) -> tuple[list[LinearModel], Callable[[], LinearModel]]:
        """The model of each fold, and of all rows; penalties are exp(λ − shift)."""
        design = self.design
        plain = as_penalty(penalties, design.predictor, shift)
        inside = design.train @ design.weights
        if np.any(inside <= 0):
            k = int(np.flatnonzero(inside <= 0)[0]) + 1
            raise InvalidDataError(f"Split {k} of cv has no training row with a positive weight.")
        unseen = self.unseen if self.target.basis is not None else np.zeros_like(self.unseen)
        each = zip(inside, unseen, self.columns, strict=True)
        own = [of_fold(plain, design.predictor, *parts) for parts in each]

        def whole() -> LinearModel:
            every = np.ones((1, design.train.shape[1]), dtype=bool)
            total = float(design.weights.sum())
            penalty = of_fold(plain, design.predictor, total, unseen=False, columns=None)
            return PartitionedModel(
                replace(design.of_folds(every, ~every), ledger=Ledger()), penalty
            )

        return partitioned_models(design, own), whole


def first_pass(
    engine: Engine,
    column: PartitionedColumn,
    rule: FoldRule,
    target: OfRows,
    weigh: Weigh | None,
    centre: bool,
    standardize: bool = False,
) -> OutOfCoreData:
    """One pass over the data: units, how many rows each cell has, and a sample.

    target   y of some rows ↦ their Target
    weigh    y and weights of some rows ↦ their weights, with those of classes
    centre   whether columns are centred, for there is an intercept to absorb it
    """
    before, no_rows = engine.reads, target(column.empty)
    unseen = np.zeros(len(rule.train), dtype=bool)
    if no_rows.classes is not None:
        by_block = engine.total(
            partial(_by_class, rule=rule, classes=column.classes, weigh=weigh),
            prepare=numbered,
            rows=False,
        )
        unseen = np.any(rule.train.astype(float) @ by_block == 0, axis=1)
        rule = NotJudged.of(rule, column.classes, by_block)
    sizes = np.asarray(column.rows, dtype=np.intp)
    first = np.cumsum(sizes) - sizes
    most = WHOLE * SAMPLE_ENTRIES / engine.partitions
    about_rows = (rule, weigh, first, engine.features, centre, most, engine.names, standardize)
    known = engine.total(Measure(*about_rows), prepare=numbered)
    about, cells = known.columns.about, known.by_cells
    unit = WEIGHT / about.total

    def rows(standardiser: Standardiser) -> PartitionedRows:
        prepare = ToDesign(rule, standardiser, target, weigh, unit)
        return PartitionedRows(engine, prepare, known.rows, known.entries, known.is_sparse)

    scales, columns = None, list[Array | None]([None] * len(rule.train))
    if cells is not None:
        scales = column_scales(joined(cells, np.ones(len(cells.total), dtype=bool)))
        columns = list(cell_penalties(cells, scales, rule.train, absorbed=centre))
    u = units_of(known.columns, known.is_sparse, centre, rows, scales)
    squares = u.squares + WEIGHT * ((about.mean - u.mean) / u.c) ** 2  # about 0
    design = PartitionedDesign(
        *(rule.train, rule.test, no_rows.loss, no_rows.outer),
        predictor=no_rows.design(u.rows),
        engine=engine,
        prepare=cast(PartitionedRows, u.rows).prepare,
        known=CellSums(known.counts, unit * known.weights, squares),
        sample=joined_samples(known.sample, unit, SAMPLE_ENTRIES / max(known.entries, 1)),
    )
    return OutOfCoreData(design, u, no_rows, unseen, engine.reads - before, columns)


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
