"""Means and squares of columns in one pass, as exact as two passes over an array in memory."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hoag._core.errors import InvalidInput
from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.checks import check
from hoag._data.matrices import digest
from hoag._data.raw import Raw, Stream, spans


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


class ColumnStatistics:
    """What is known of d columns: means, variances, extremes, and how many numbers are missing.

    Sums are about the first number that a column has: a mean of 10⁸ would otherwise leave
    differences of means only half of their digits.

    >>> import numpy as np
    >>> from hoag._data.statistics import ColumnStatistics
    >>> statistics = ColumnStatistics(1)
    >>> for part in ([[1.0], [2.0]], [[6.0]]):
    ...     statistics.add(np.array(part), None)
    >>> statistics.means, statistics.variances
    (array([3.]), array([4.66666667]))
    """

    def __init__(self, d: int) -> None:
        self.shift, self.missing = np.zeros(d), np.zeros(d)
        self.about = MeanSquares(np.zeros(d), np.zeros(d), np.zeros(d))
        self.least, self.most = np.full(d, np.inf), np.full(d, -np.inf)

    @property
    def means(self) -> Array:
        return self.shift + self.about.mean

    @property
    def variances(self) -> Array:
        return self.about.squares / np.where(self.about.total > 0, self.about.total, 1.0)

    @property
    def scales(self) -> Array:
        """Standard deviations, 1 for columns that have one value only."""
        found = np.sqrt(self.variances)
        return np.where((self.least < self.most) & (found > 0), found, 1.0)

    def add(self, X: Any, weight: Array | None) -> None:
        """More rows; nan stands for a number that is missing."""
        if sparse.issparse(X):
            self._add_sparse(X, weight)
            return
        step = max(1, int(BLOCK_ENTRIES / max(1, X.shape[1])))
        for start, stop in spans(len(X), step):
            own = None if weight is None else weight[start:stop]
            self._add_dense(np.asarray(X[start:stop], dtype=np.float64), own)

    def widened(self, d: int) -> None:
        """More columns, all zeros so far: rows of svmlight files do not know how many follow."""
        more = d - self.shift.size
        if more > 0:
            added, total = ColumnStatistics(more).arrays(), self.about.total.max(initial=0.0)
            if total:
                added[:] = np.where(np.arange(len(added))[:, None] == 1, total, 0.0)
            self._keep(np.concatenate([self.arrays(), added], axis=1))

    def _add_dense(self, X: Array, weight: Array | None) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = np.isnan(X) if np.isnan(X.sum()) else None
        first = X[0] if gaps is None else X[np.argmin(gaps, axis=0), np.arange(X.shape[1])]
        self.shift = np.where((self.about.total == 0) & ~np.isnan(first), first, self.shift)
        self.least = np.fmin(self.least, np.fmin.reduce(X, axis=0))
        self.most = np.fmax(self.most, np.fmax.reduce(X, axis=0))
        w = np.ones(len(X)) if weight is None else weight
        Z = X - self.shift
        if gaps is not None:
            self.missing += gaps.sum(axis=0)
            Z[gaps], w = 0.0, ~gaps * w[:, None]
        total = np.broadcast_to(w.sum(axis=0), self.shift.shape)
        safe = np.where(total > 0, total, 1.0)
        mean = _weighted(w, Z) / safe
        Z -= mean
        left = _weighted(w, Z) / safe  # the rounding of the mean, as np.var leaves it
        m2 = _weighted(w, Z * Z) - total * left**2
        self.about = self.about.plus(MeanSquares(total, mean + left, m2))

    def _add_sparse(self, X: Any, weight: Array | None) -> None:
        w = np.ones(X.shape[0]) if weight is None else weight
        total = np.full(X.shape[1], w.sum())
        safe = max(float(w.sum()), np.finfo(float).tiny)
        mean = np.asarray(X.T @ w, dtype=np.float64) / safe
        each = np.repeat(w, np.diff(X.indptr))
        off = (X.data - mean[X.indices]) ** 2 * each
        stored = np.bincount(X.indices, weights=each, minlength=X.shape[1])
        m2 = np.bincount(X.indices, weights=off, minlength=X.shape[1])
        self.least = np.minimum(self.least, X.min(axis=0).toarray().ravel())
        self.most = np.maximum(self.most, X.max(axis=0).toarray().ravel())
        squares = m2 + np.maximum(total - stored, 0.0) * mean**2
        self.about = self.about.plus(MeanSquares(total, mean, squares))

    def arrays(self) -> Array:
        """All of it as one array, for a file; `of` reads it."""
        return np.stack([self.shift, *self.about, self.least, self.most, self.missing])

    @staticmethod
    def of(arrays: Array) -> ColumnStatistics:
        found = ColumnStatistics(0)
        found._keep(arrays)
        return found

    def _keep(self, arrays: Array) -> None:
        self.shift, self.about = arrays[0], MeanSquares(*arrays[1:4])
        self.least, self.most, self.missing = arrays[4:]


def _weighted(w: Array, Z: Array) -> Array:
    """Σᵢ wᵢ zᵢ for every column, w the same for all of them or not."""
    return np.asarray(w @ Z if w.ndim == 1 else (w * Z).sum(axis=0))


class Tally:
    """Counts of all partitions that were added; `summary` is plain data, for a file."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.statistics = ColumnStatistics(0)
        self.heights = list[int]()
        self.sparse: bool | None = None
        self.whole = stream.whole
        self.least = 1  # the least index of a feature, 1 if none is below
        self.digest = hashlib.blake2b(digest_size=16)

    def add(self, raw: Raw) -> None:
        check(raw, self.stream.gaps, bool(self.stream.target), self.stream.names)
        is_sparse = bool(sparse.issparse(raw.X))
        self._check_alike(raw, is_sparse)
        self.sparse = is_sparse
        self.statistics.widened(raw.X.shape[1])
        X = raw.X
        if is_sparse and X.shape[1] < self.statistics.shift.size:
            parts = (X.data, X.indices, X.indptr)
            X = sparse.csr_matrix(parts, shape=(X.shape[0], self.statistics.shift.size))
        if raw.y.shape[0]:
            self.statistics.add(X, raw.weight)
        if is_sparse and X.nnz:
            self.least = min(self.least, int(X.indices.min()))
        self.stream.count(raw.codes)
        self.whole = self.whole and bool(np.all(raw.y == np.round(raw.y)))
        self.heights.append(len(raw.y))
        if not self.stream.paths:
            self.digest.update(digest(raw).encode())

    def _check_alike(self, raw: Raw, is_sparse: bool) -> None:
        if self.sparse is None:
            return
        if is_sparse != self.sparse:
            raise InvalidInput(
                f"X in {raw.where.row(0)} is {'sparse' if is_sparse else 'dense'}, unlike the "
                "partitions before it: make them alike."
            )
        d = self.statistics.shift.size
        if raw.X.shape[1] != d and not self.stream.widening:
            raise InvalidInput(
                f"X has {raw.X.shape[1]} columns in {raw.where.row(0)}, and {d} before it: all "
                "partitions need the same."
            )

    def summary(self) -> dict[str, Any]:
        if not sum(self.heights):
            raise InvalidInput(f"There are no rows: {self.stream.kind} gave nothing to read.")
        return {
            "rows": sum(self.heights), "heights": self.heights, "sparse": bool(self.sparse),
            "whole": self.whole, "digest": self.digest.hexdigest(),
            **self.stream.found(self.statistics.shift.size, self.least),
        }  # fmt: skip

    def columns(self, summary: dict[str, Any]) -> ColumnStatistics:
        """The statistics of the columns that X has in the end."""
        found = ColumnStatistics.of(self.statistics.arrays()[:, summary["first"] :])
        found.widened(summary["features"])
        return found
