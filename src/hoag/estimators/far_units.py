"""The units of rows that are elsewhere, and a sample of them, by one read of all rows.

Means and squares about them are those of the pieces, joined:

    W = W₁ + W₂,   m = m₁ + (m₂ − m₁) W₂/W,   M = M₁ + M₂ + (m₂ − m₁)² W₁W₂/W

which loses no digits, however far the rows are from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._data.checks import wrong_number
from hoag._data.piece import Piece
from hoag._glm.drawn import below, drawn
from hoag._glm.fold_rule import FoldRule
from hoag._glm.lens import Lens
from hoag._glm.partition_rows import PartitionedRows, stacked
from hoag._glm.partitioned import Sample, labelled
from hoag._glm.rows import ArrayRows
from hoag.estimators.block_spreads import Spreads
from hoag.estimators.columns import (
    FAR_OFF,
    dense_columns,
    far_from_zero,
    is_constant,
    sparse_columns,
)
from hoag.estimators.units import LARGEST, WEIGHT, Units, warn_rounded

# The number of a piece, it, its weights and blocks, and the blocks whatever classes weigh.
Seen = tuple[int, Piece, Array, npt.NDArray[np.intp], npt.NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over some rows, and a few of these."""

    rows: int
    entries: int
    total: float
    mean: Array
    squares: Array  # about the mean
    top: Array
    bottom: Array
    counts: npt.NDArray[np.intp]  # of the rows of each block
    weights: Array  # of each block
    is_sparse: bool
    sample: tuple[Sample, ...]
    spreads: Spreads | None = None  # of columns by blocks, where these are to be standardised

    def plus(self, other: Statistics) -> Statistics:
        if self.is_sparse != other.is_sparse:
            raise InvalidInput("X is sparse in some pieces and dense in others: make them alike.")
        total = self.total + other.total
        share = other.total / total if total > 0 else 0.0
        apart = other.mean - self.mean
        return Statistics(
            self.rows + other.rows,
            self.entries + other.entries,
            total,
            self.mean + share * apart,
            self.squares + other.squares + share * self.total * apart**2,
            np.maximum(self.top, other.top),
            np.minimum(self.bottom, other.bottom),
            self.counts + other.counts,
            self.weights + other.weights,
            self.is_sparse,
            self.sample + other.sample,
            None
            if self.spreads is None or other.spreads is None
            else self.spreads.plus(other.spreads),
        )

    @property
    def biggest(self) -> float:
        return float(max(self.top.max(initial=0.0), -self.bottom.min(initial=0.0)))


@dataclass(frozen=True, eq=False)
class Measure:
    """A piece, prepared in units of its own ↦ Statistics.

    first  the number of the first row of every piece
    most   so many entries of each piece are kept as a sample
    names  of the columns, if they have such
    spreads  whether those of columns are asked for
    """

    first: npt.NDArray[np.intp]
    centre: bool
    most: float
    blocks: int
    names: Sequence[str] | None = None
    spreads: bool = False

    def __call__(self, seen: Seen) -> Statistics:
        i, piece, weights, labels, every = seen
        X, total = piece.X, float(weights.sum())
        is_sparse = bool(sparse.issparse(X))
        wrong = wrong_number(X, self.names, fill=False)
        if wrong is not None:
            raise wrong.in_piece(i, int(self.first[i]))
        if is_sparse:
            rows = ArrayRows(X.astype(np.float64, copy=False))
            columns = sparse_columns(rows, weights, self.centre)
        else:
            columns = dense_columns(X, weights, self.centre)
        kept = labels >= 0
        return Statistics(
            piece.rows,
            int(X.nnz if is_sparse else X.size),
            total,
            *columns,
            np.bincount(labels[kept], minlength=self.blocks),
            np.asarray(np.bincount(labels[kept], weights[kept], self.blocks), dtype=float),
            is_sparse,
            (self._some(i, piece, weights, labels),),
            Spreads.of(X, piece.weights, every, self.blocks) if self.spreads else None,
        )

    def _some(self, i: int, piece: Piece, weights: Array, labels: npt.NDArray[np.intp]) -> Sample:
        draws, X = drawn(self.first[i] + np.arange(piece.rows)), piece.X
        entries = X.nnz if sparse.issparse(X) else X.size
        share = min(1.0, self.most / max(entries, 1))
        some = below(draws, labels, share)
        y = np.asarray(piece.y)[some]
        return Sample(X[some], y, weights[some], labels[some], draws[some], share)


@dataclass(frozen=True, eq=False)
class Unseen:
    """A piece ↦ itself, with weights and blocks: before its units are known."""

    rule: FoldRule
    weigh: Any
    features: int

    def __call__(self, i: int, piece: Piece) -> Seen:
        if piece.X.shape != (piece.rows, self.features):
            raise InvalidInput(
                f"X has shape {piece.X.shape} in piece {i} of the rows, and there are "
                f"{piece.rows} y and {self.features} features."
            )
        weights, labels = labelled(self.rule, self.weigh, i, piece)
        every = labels if self.weigh is None else labelled(self.rule, None, i, piece)[1]
        return i, piece, weights, labels, every


def joined(parts: tuple[Sample, ...], unit: float, share: float) -> Sample:
    """The samples of all pieces; a share of all rows, where these are not all of them."""
    X = stacked([part.X for part in parts])
    y, weights, labels, draws = (np.concatenate(part) for part in list(zip(*parts))[1:5])
    kept = min(part.share for part in parts)
    if kept >= 1.0:
        return Sample(X, y, unit * weights, labels, draws, kept)
    kept = min(kept, share)
    some = below(draws, labels, kept)
    return Sample(X[some], y[some], unit * weights[some], labels[some], draws[some], kept)


def units_of(known: Statistics, centre: bool, rows: Any) -> tuple[Units, Lens]:
    """As hoag.estimators.units.units has them of arrays; `rows` makes PartitionedRows of a lens."""
    biggest = known.biggest
    if biggest > LARGEST or 0 < biggest < 1 / LARGEST:
        raise InvalidInput(
            f"The largest entry of X is {biggest:.1e}, and its square is not a finite number: "
            "rescale X."
        )
    if not 1e-300 < known.total < 1e300:
        raise InvalidInput(
            "sample_weight is zero for every row, or too large or too small to add up."
        )
    squares = known.squares / known.total
    moved = far_from_zero(known.mean, squares) if known.is_sparse else np.ones(squares.size, bool)
    mean = np.where(moved, known.mean, 0.0)
    constant = np.zeros(0, dtype=np.intp)
    if centre:
        constant = np.flatnonzero(moved & is_constant(known.top, known.bottom))
        squares[constant] = 0.0
        warn_rounded(constant[known.top[constant] > known.bottom[constant]], known.top)
    centred = centre and bool(np.any(moved))
    far_off = np.abs(mean) > FAR_OFF * np.sqrt(squares)
    far_off[constant] = False
    scales: float | Array = 1.0
    if known.spreads is not None:
        scales = known.spreads.of_all
        squares = squares / scales**2
    c = float(np.sqrt(squares.sum())) or 1.0
    lens = Lens(None, 1.0 / (c * scales))
    if centred:
        lens = _lens(mean, c * scales, bool(np.any(far_off)), constant)
    far: PartitionedRows = rows(lens)
    squares = WEIGHT * squares / c / c
    return Units(far, np.empty(0), mean, c, known.total, squares, scales=scales), lens


def _lens(mean: Array, c: float | Array, exact: bool, constant: npt.NDArray[np.intp]) -> Lens:
    """x ↦ (x − mean)/c, and 0 for constant columns."""
    if isinstance(c, float) and not constant.size:
        return Lens(mean, 1.0 / c, exact)
    scale = np.broadcast_to(1.0 / c, mean.shape).copy()
    scale[constant] = 0.0
    return Lens(mean, scale, exact)
