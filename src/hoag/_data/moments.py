"""Means and variances of columns in one pass, as exact as two passes over an array in memory.

    W = W₁ + W₂,  δ = μ₂ − μ₁,  μ = μ₁ + δ W₂/W,  M = M₁ + M₂ + δ² W₁W₂/W

joins what is known of two sets of rows (Chan, Golub and LeVeque), M the weighted sum of squares
about the mean. All of it is about the first number that a column has: a mean of 10⁸ would otherwise
leave δ only half of its digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.raw import spans


class Moments:
    """What is known of d columns: means, variances, extremes, and how many numbers are missing.

    >>> import numpy as np
    >>> from hoag._data.moments import Moments
    >>> moments = Moments(1)
    >>> for piece in ([[1.0], [2.0]], [[6.0]]):
    ...     moments.add(np.array(piece), None)
    >>> moments.means, moments.variances
    (array([3.]), array([4.66666667]))
    """

    def __init__(self, d: int) -> None:
        self.weight, self.shift, self.mean, self.m2 = (np.zeros(d) for _ in range(4))
        self.least, self.most = np.full(d, np.inf), np.full(d, -np.inf)
        self.missing = np.zeros(d)

    @property
    def means(self) -> Array:
        return self.shift + self.mean

    @property
    def variances(self) -> Array:
        return self.m2 / np.where(self.weight > 0, self.weight, 1.0)

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
        more = d - self.mean.size
        if more > 0:
            total = float(self.weight.max(initial=0.0))
            ends = np.zeros(more) if total else None
            self.weight = np.append(self.weight, np.full(more, total))
            for name in ("shift", "mean", "m2", "missing"):
                self.__dict__[name] = np.append(self.__dict__[name], np.zeros(more))
            self.least = np.append(self.least, np.full(more, np.inf) if ends is None else ends)
            self.most = np.append(self.most, np.full(more, -np.inf) if ends is None else ends)

    def _add_dense(self, X: Array, weight: Array | None) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            gaps = np.isnan(X) if np.isnan(X.sum()) else None
        fresh = self.weight == 0
        if gaps is None:
            self.shift = np.where(fresh, X[0], self.shift)
            self.least = np.minimum(self.least, X.min(axis=0))
            self.most = np.maximum(self.most, X.max(axis=0))
            w = np.ones(len(X)) if weight is None else weight
            total: Any = np.full(X.shape[1], w.sum())
            Z = X - self.shift
        else:
            self.missing += gaps.sum(axis=0)
            first = X[np.argmin(gaps, axis=0), np.arange(X.shape[1])]
            self.shift = np.where(fresh & ~np.isnan(first), first, self.shift)
            self.least = np.fmin(self.least, np.fmin.reduce(X, axis=0))
            self.most = np.fmax(self.most, np.fmax.reduce(X, axis=0))
            w = ~gaps * (np.ones(len(X)) if weight is None else weight)[:, None]
            total = w.sum(axis=0)
            Z = np.where(gaps, 0.0, X - self.shift)
        safe = np.where(total > 0, total, 1.0)
        mean = _weighted(w, Z) / safe
        Z -= mean
        left = _weighted(w, Z) / safe  # the rounding of the mean, as np.var leaves it
        m2 = _weighted(w, Z * Z) - total * left**2
        self._join(total, mean + left, m2)

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
        self._join(total, mean, m2 + np.maximum(total - stored, 0.0) * mean**2)

    def _join(self, weight: Array, mean: Array, m2: Array) -> None:
        both = self.weight + weight
        share = weight / np.where(both > 0, both, 1.0)
        delta = np.where(weight > 0, mean - self.mean, 0.0)
        self.mean = self.mean + delta * share
        self.m2 = self.m2 + m2 + delta**2 * self.weight * share
        self.weight = both

    def arrays(self) -> Array:
        """All of it as one array, for a file; `of` reads it."""
        own = (self.weight, self.shift, self.mean, self.m2, self.least, self.most, self.missing)
        return np.stack(own)

    @staticmethod
    def of(arrays: Array) -> Moments:
        found = Moments(arrays.shape[1])
        found.weight, found.shift, found.mean, found.m2 = arrays[:4]
        found.least, found.most, found.missing = arrays[4:]
        return found


def _weighted(w: Array, Z: Array) -> Array:
    """Σᵢ wᵢ zᵢ for every column, w the same for all of them or not."""
    return np.asarray(w @ Z if w.ndim == 1 else (w * Z).sum(axis=0))
