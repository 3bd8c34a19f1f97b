"""What columns of rows hold: weighted means, squares about them, and extremes, in one pass.

Rows are measured some at a time, while they are in the cache, and what is known of them is joined:
that is as exact as two passes, however far columns are from 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.raw import spans


class MeanSquares(NamedTuple):
    """The weight of some rows, the mean of every column, and Σᵢ sᵢ(xᵢⱼ − mean)². Rows are joined by

        W = W₁ + W₂,  δ = μ₂ − μ₁,  μ = μ₁ + δ W₂/W,  M = M₁ + M₂ + δ² W₁W₂/W

    (Chan, Golub and LeVeque), which loses no digits, however far columns are from 0. The weight is
    a number, or one for each column, or anything else that goes with the means.
    """

    total: Any
    mean: Array
    squares: Array

    def plus(self, other: MeanSquares) -> MeanSquares:
        total = self.total + other.total
        share = other.total / np.where(total > 0, total, 1.0)
        apart = np.where(other.total > 0, other.mean - self.mean, 0.0)
        squares = self.squares + other.squares + share * self.total * apart**2
        return MeanSquares(total, self.mean + share * apart, squares)


class Columns(NamedTuple):
    """Means and squares of the columns of some rows, and their least and largest entries.

    Not centred, means are 0 and squares those of the entries. Entries of weight 0 count for the
    extremes of dense rows, and not for those of sparse ones.
    """

    about: MeanSquares
    least: Array
    most: Array

    def plus(self, other: Columns) -> Columns:
        least, most = np.fmin(self.least, other.least), np.fmax(self.most, other.most)
        return Columns(self.about.plus(other.about), least, most)


def measured(X: Any, weights: Array, centre: bool = True) -> Columns:
    """Of an array or a CSR matrix."""
    p, entries = X.shape[1], X.nnz if sparse.issparse(X) else X.size
    most = max(BLOCK_ENTRIES, 16 * p) if sparse.issparse(X) else BLOCK_ENTRIES
    height = max(64, int(X.shape[0] * most / max(entries, 1)))
    found = Columns(_none(p), np.full(p, np.inf), np.full(p, -np.inf))
    for start, stop in spans(X.shape[0], height):
        some = _of_sparse if sparse.issparse(X) else _of_array
        found = found.plus(some(X[start:stop], weights[start:stop], centre))
    return found


def mean_squares(A: Array, weights: Array, centre: bool = True) -> MeanSquares:
    """Of an array; weights are of its rows, or of its entries."""
    total = weights.sum(axis=0)
    mean = _weighted(weights, A) / np.where(total > 0, total, 1.0) if centre else np.zeros(len(A.T))
    apart = A - mean
    apart *= apart
    return MeanSquares(total, mean, _weighted(weights, apart))


def _of_array(A: Array, weights: Array, centre: bool) -> Columns:
    return Columns(mean_squares(A, weights, centre), A.min(axis=0), A.max(axis=0))


def _of_sparse(A: Any, weights: Array, centre: bool) -> Columns:
    """As sums over the entries that are stored, Σ s a² − Σs m², which loses nothing of a column
    whose mean is within its spread; columns of which most entries are stored, as arrays.
    """
    if not np.all(weights > 0):
        A, weights = A[weights > 0], weights[weights > 0]
    (n, p), total = A.shape, float(weights.sum())
    extremes = (np.full(p, float(extreme(A.data, initial=0.0))) for extreme in (np.min, np.max))
    squared = sparse.csr_matrix((A.data.astype(np.float64) ** 2, A.indices, A.indptr), A.shape)
    found = [np.zeros(p), np.asarray(squared.T @ weights), *extremes]
    if not centre or not n:
        return Columns(MeanSquares(total, *found[:2]), *found[2:])
    found[0] = np.asarray(A.T @ weights) / total
    found[1] = np.maximum(found[1] - total * found[0] ** 2, 0.0)
    filled = np.flatnonzero(2 * np.bincount(A.indices, minlength=p) > n)
    if filled.size:
        about, least, most = _of_array(A[:, filled].toarray(), weights, centre)
        for all_columns, own in zip(found, (about.mean, about.squares, least, most), strict=True):
            all_columns[filled] = own
    return Columns(MeanSquares(total, *found[:2]), *found[2:])


def _none(p: int) -> MeanSquares:
    return MeanSquares(0.0, np.zeros(p), np.zeros(p))


def _weighted(w: Array, Z: Array) -> Array:
    """Σᵢ wᵢ zᵢ for every column, w the same for all of them or not."""
    return np.asarray(w @ Z if w.ndim == 1 else (w * Z).sum(axis=0))
