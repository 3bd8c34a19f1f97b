"""Squares of rows, summed: all that ridge regression needs of tall data."""

from __future__ import annotations

from operator import add
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core.numeric import Array
from hoag._glm.rows import CellRows, grams


class Moments(NamedTuple):
    """Sums over some rows."""

    gram: Array  # Σ sᵢ aᵢaᵢᵀ, (r, r)
    cross: Array  # Σ sᵢ aᵢyᵢᵀ, (r, T)
    squares: Array  # Σ sᵢ yᵢ², (T,)
    a: Array  # Σ sᵢ aᵢ
    y: Array  # Σ sᵢ yᵢ
    total: float  # Σ sᵢ

    @staticmethod
    def none(columns: int, targets: int) -> Moments:
        """Of no rows."""
        p, K = columns, targets
        return Moments(
            np.zeros((p, p)), np.zeros((p, K)), np.zeros(K), np.zeros(p), np.zeros(K), 0.0
        )

    @staticmethod
    def of(part: CellRows) -> Moments:
        A, y, s = part.A, part.y, part.weights
        if issparse(A):
            square, sy = grams(A, s[:, None])[0], s[:, None] * y
            cross = np.asarray(A.T @ np.column_stack([sy, s]))
        else:
            root = np.sqrt(s)[:, None]
            B = root * A
            square, cross = B.T @ B, B.T @ np.column_stack([root * y, root])
        squares = np.einsum("i,ij,ij->j", s, y, y)
        return Moments(square, cross[:, :-1], squares, cross[:, -1], s @ y, float(s.sum()))

    def plus(self, other: Moments) -> Moments:
        return Moments(*map(add, self, other))

    def only(self, targets: npt.NDArray[np.intp]) -> Moments:
        """For some of the targets."""
        return self._replace(
            cross=self.cross[:, targets], squares=self.squares[targets], y=self.y[targets]
        )

    def about(self, mean: Array, level: Array) -> Moments:
        """The same of aᵢ − mean and yᵢ − level."""
        a, y, n = self.a, self.y, self.total
        moved = np.outer(a, mean)
        return Moments(
            self.gram - moved - moved.T + n * np.outer(mean, mean),
            self.cross - np.outer(a, level) - np.outer(mean, y) + n * np.outer(mean, level),
            self.squares - 2 * level * y + n * level**2,
            a - n * mean,
            y - n * level,
            n,
        )
