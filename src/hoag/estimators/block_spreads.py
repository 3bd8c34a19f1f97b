"""The spreads of the columns of out-of-core rows, by blocks: folds join those they train on.

Means and squares about them are those of the pieces, joined as in hoag.estimators.far_units; those
of sparse rows are Σ s a² − Σs m², which shows no spread below 1e-7 of the mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.numeric import BLOCK_ENTRIES, ROUNDING, Array


@dataclass(frozen=True, eq=False)
class Spreads:
    """Σs, the mean of every column and the squares about it, for each block and for other rows.

    Rows that are in no block, those of weight in no fold, come last: (B + 1,) and (B + 1, p).
    """

    total: Array
    mean: Array
    squares: Array
    is_sparse: bool

    @staticmethod
    def none(blocks: int, columns: int, is_sparse: bool) -> Spreads:
        shape = (blocks + 1, columns)
        return Spreads(np.zeros(blocks + 1), np.zeros(shape), np.zeros(shape), is_sparse)

    @staticmethod
    def of(X: Any, weights: Array, labels: npt.NDArray[np.intp], blocks: int) -> Spreads:
        """Of rows that are here; the label −1 is no block."""
        found = Spreads.none(blocks, X.shape[1], bool(sparse.issparse(X)))
        for some in _slices(X):
            for b in np.unique(labels[some]):
                inside = some.start + np.flatnonzero(labels[some] == b)
                if np.any(weights[inside] > 0):
                    found = found.plus(found._alone(b, X[inside], weights[inside]))
        return found

    def _alone(self, b: int, X: Any, weights: Array) -> Spreads:
        """Some rows of one block."""
        alone = Spreads.none(len(self.total) - 1, X.shape[1], self.is_sparse)
        total = float(weights.sum())
        alone.total[b], alone.mean[b] = total, weights @ X / total
        if self.is_sparse:
            alone.squares[b] = X.multiply(X).T @ weights - total * alone.mean[b] ** 2
        else:
            alone.squares[b] = weights @ (X - alone.mean[b]) ** 2
        return alone

    def plus(self, other: Spreads) -> Spreads:
        total = self.total + other.total
        share = (other.total / np.where(total > 0, total, 1.0))[:, None]
        apart = other.mean - self.mean
        squares = self.squares + other.squares + share * self.total[:, None] * apart**2
        return Spreads(total, self.mean + share * apart, squares, self.is_sparse)

    def deviations(self, members: npt.NDArray[np.bool_]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """The standard deviation of every column in some blocks, and whether it is any."""
        weights = np.where(members, self.total, 0.0)
        share = weights / (float(weights.sum()) or 1.0)
        mean = share @ self.mean
        within = (members / (float(weights.sum()) or 1.0)) @ self.squares
        variance = within + share @ (self.mean - mean) ** 2
        lost = ROUNDING if self.is_sparse else ROUNDING**2
        varies = variance > lost * (variance + mean**2)
        return np.sqrt(np.where(varies, variance, 0.0)), varies

    @property
    def of_all(self) -> Array:
        """What columns are divided by for a fit on all rows; 1 where they are constant."""
        found, varies = self.deviations(np.ones(self.total.size, dtype=bool))
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
