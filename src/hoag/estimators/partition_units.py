"""What one pass over partitions finds out: the units of their rows, and a sample of them.

Means and squares about them are joined by hoag._data.statistics.MeanSquares, for all rows and,
where folds standardise columns, for every cell of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidInput
from hoag._core.numeric import BLOCK_ENTRIES, ROUNDING, Array
from hoag._data.checks import wrong_number
from hoag._data.engine import plus
from hoag._data.source import Partition
from hoag._data.statistics import MeanSquares
from hoag._glm.drawn import below, drawn
from hoag._glm.fold_rule import FoldRule
from hoag._glm.lens import Lens
from hoag._glm.partition_rows import PartitionedRows, stacked
from hoag._glm.partitioned import Sample, labelled
from hoag._glm.rows import ArrayRows
from hoag.estimators.columns import (
    FAR_OFF,
    dense_columns,
    far_from_zero,
    is_constant,
    sparse_columns,
)
from hoag.estimators.units import WEIGHT, Units, check_size, warn_rounded


@dataclass(frozen=True, eq=False)
class Spreads:
    """Weight, mean and squares of every column, for each cell of rows and for other rows.

    Rows that are in no cell, those of weight in no fold, come last: (B + 1, p). Those of sparse
    rows are Σ s a² − Σs m², which shows no spread below 1e-7 of the mean.
    """

    about: MeanSquares
    is_sparse: bool

    @staticmethod
    def none(cells: int, columns: int, is_sparse: bool) -> Spreads:
        shape = (cells + 1, columns)
        sums = MeanSquares(np.zeros((cells + 1, 1)), np.zeros(shape), np.zeros(shape))
        return Spreads(sums, is_sparse)

    @staticmethod
    def of(X: Any, weights: Array, labels: npt.NDArray[np.intp], cells: int) -> Spreads:
        """Of rows in memory; the label −1 is no cell."""
        found = Spreads.none(cells, X.shape[1], bool(sparse.issparse(X)))
        for some in _slices(X):
            for b in np.unique(labels[some]):
                inside = some.start + np.flatnonzero(labels[some] == b)
                if np.any(weights[inside] > 0):
                    found = found.plus(found._alone(b, X[inside], weights[inside]))
        return found

    def _alone(self, b: int, X: Any, weights: Array) -> Spreads:
        """Some rows of one cell."""
        alone = Spreads.none(len(self.about.total) - 1, X.shape[1], self.is_sparse)
        total, mean, squares = alone.about
        total[b], mean[b] = float(weights.sum()), weights @ X / float(weights.sum())
        if self.is_sparse:
            squares[b] = X.multiply(X).T @ weights - total[b] * mean[b] ** 2
        else:
            squares[b] = weights @ (X - mean[b]) ** 2
        return alone

    def plus(self, other: Spreads) -> Spreads:
        return Spreads(self.about.plus(other.about), self.is_sparse)

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


def _slices(X: Any) -> Iterator[slice]:
    """Rows at a time that stay in the cache; all of sparse ones."""
    n, p = X.shape
    height = n if sparse.issparse(X) else max(1, int(BLOCK_ENTRIES / max(p, 1)))
    for start in range(0, n, max(height, 1)):
        yield slice(start, min(start + height, n))


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """Sums over some rows, and a few of these."""

    rows: int
    entries: int
    about: MeanSquares
    top: Array
    bottom: Array
    counts: npt.NDArray[np.intp]  # of the rows of each cell
    weights: Array  # of each cell
    is_sparse: bool
    sample: tuple[Sample, ...]
    spreads: Spreads | None = None  # of columns by cells, where these are to be standardised

    def plus(self, other: RowStatistics) -> RowStatistics:
        if self.is_sparse != other.is_sparse:
            raise InvalidInput(
                "X is sparse in some partitions and dense in others: make them alike."
            )
        both = self.spreads is not None and other.spreads is not None
        return RowStatistics(
            self.rows + other.rows,
            self.entries + other.entries,
            self.about.plus(other.about),
            np.maximum(self.top, other.top),
            np.minimum(self.bottom, other.bottom),
            self.counts + other.counts,
            self.weights + other.weights,
            self.is_sparse,
            self.sample + other.sample,
            plus(self.spreads, other.spreads) if both else None,
        )

    @property
    def biggest(self) -> float:
        return float(max(self.top.max(initial=0.0), -self.bottom.min(initial=0.0)))


class InCells(NamedTuple):
    """A partition before its units are known: its number, it, the weights and cells of its rows.

    `every` are the cells whatever classes weigh.
    """

    number: int
    partition: Partition
    weights: Array
    labels: npt.NDArray[np.intp]
    every: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ToCells:
    """A partition ↦ its rows in cells."""

    rule: FoldRule
    weigh: Any
    features: int

    def __call__(self, i: int, partition: Partition) -> InCells:
        if partition.X.shape != (partition.rows, self.features):
            raise InvalidInput(
                f"X has shape {partition.X.shape} in partition {i} of the rows, and there are "
                f"{partition.rows} y and {self.features} features."
            )
        weights, labels = labelled(self.rule, self.weigh, i, partition)
        every = labels if self.weigh is None else labelled(self.rule, None, i, partition)[1]
        return InCells(i, partition, weights, labels, every)


@dataclass(frozen=True, eq=False)
class Measure:
    """A partition in cells ↦ RowStatistics.

    first    the number of the first row of every partition
    most     so many entries of each partition are kept as a sample
    names    of the columns, if they have such
    spreads  whether those of columns are asked for
    """

    first: npt.NDArray[np.intp]
    centre: bool
    most: float
    cells: int
    names: Sequence[str] | None = None
    spreads: bool = False

    def __call__(self, given: InCells) -> RowStatistics:
        i, (X, y, _), weights, labels, every = given
        is_sparse = bool(sparse.issparse(X))
        if (wrong := wrong_number(X, self.names, fill=False)) is not None:
            raise wrong.in_partition(i, int(self.first[i]))
        if is_sparse:
            rows = ArrayRows(X.astype(np.float64, copy=False))
            mean, squares, top, bottom = sparse_columns(rows, weights, self.centre)
        else:
            mean, squares, top, bottom = dense_columns(X, weights, self.centre)
        kept = labels >= 0
        entries = int(X.nnz if is_sparse else X.size)
        return RowStatistics(
            len(y),
            entries,
            MeanSquares(float(weights.sum()), mean, squares),
            top,
            bottom,
            np.bincount(labels[kept], minlength=self.cells),
            np.asarray(np.bincount(labels[kept], weights[kept], self.cells), dtype=float),
            is_sparse,
            (self._some(given, min(1.0, self.most / max(entries, 1))),),
            Spreads.of(X, given.partition.weights, every, self.cells) if self.spreads else None,
        )

    def _some(self, given: InCells, share: float) -> Sample:
        i, (X, y, _), weights, labels, _ = given
        draws = drawn(self.first[i] + np.arange(len(y)))
        some = below(draws, labels, share)
        return Sample(X[some], np.asarray(y)[some], weights[some], labels[some], draws[some], share)


def joined(parts: tuple[Sample, ...], unit: float, share: float) -> Sample:
    """The samples of all partitions; a share of all rows, where these are not all of them."""
    y, weights, labels, draws = (np.concatenate(part) for part in list(zip(*parts))[1:5])
    kept = min(part.share for part in parts)
    whole = Sample(stacked([part.X for part in parts]), y, unit * weights, labels, draws, kept)
    return whole if kept >= 1.0 else whole.smaller(min(kept, share))


def units_of(known: RowStatistics, centre: bool, rows: Callable[[Lens], PartitionedRows]) -> Units:
    """As hoag.estimators.units.units has them of arrays; `rows` makes PartitionedRows of a lens."""
    check_size(known.biggest)
    total, mean, squares = known.about
    if not 1e-300 < total < 1e300:
        raise InvalidInput(
            "sample_weight is zero for every row, or too large or too small to add up."
        )
    squares = squares / total
    moved = far_from_zero(mean, squares) if known.is_sparse else np.ones(squares.size, bool)
    mean = np.where(moved, mean, 0.0)
    constant = np.zeros(0, dtype=np.intp)
    if centre:
        constant = np.flatnonzero(moved & is_constant(known.top, known.bottom))
        squares[constant] = 0.0
        warn_rounded(constant[known.top[constant] > known.bottom[constant]], known.top)
    far_off = np.abs(mean) > FAR_OFF * np.sqrt(squares)
    far_off[constant] = False
    scales: float | Array = 1.0
    if known.spreads is not None:
        scales = known.spreads.of_all
        squares = squares / scales**2
    c = float(np.sqrt(squares.sum())) or 1.0
    lens = Lens(None, 1.0 / (c * scales))
    if centre and np.any(moved):
        lens = _lens(mean, c * scales, bool(np.any(far_off)), constant)
    squares = WEIGHT * squares / c / c
    return Units(rows(lens), np.empty(0), mean, c, total, squares, scales=scales)


def _lens(mean: Array, c: float | Array, exact: bool, constant: npt.NDArray[np.intp]) -> Lens:
    """x ↦ (x − mean)/c, and 0 for constant columns."""
    if isinstance(c, float) and not constant.size:
        return Lens(mean, 1.0 / c, exact)
    scale = np.broadcast_to(1.0 / c, mean.shape).copy()
    scale[constant] = 0.0
    return Lens(mean, scale, exact)
