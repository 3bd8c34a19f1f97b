"""Some rows at a time, for all folds: their losses at one z for each fold, and sums over them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from hoag._core.numeric import Array
from hoag._glm.lens import PLAIN, Lens
from hoag._glm.term import Predictor


class CellRows(NamedTuple):
    """Some rows of one cell: its number, A, y and the weights."""

    cell: int
    A: Any
    y: npt.NDArray[Any]
    weights: Array


class Chunk(NamedTuple):
    """Some rows, the folds that train on any of them and are judged on any, and their weights.

    Weights are of shape (m, folds), or (m, 1) for rows of one cell, which all of those folds
    weigh alike.
    """

    A: Any
    y: npt.NDArray[Any]
    train: Array
    test: Array
    trained: npt.NDArray[np.intp]
    tested: npt.NDArray[np.intp]

    def of(self, k: int) -> tuple[Array, Array]:
        """The weights of fold k, in h and in g, (m,) each; 0 where it does not use these rows."""
        if self.train.shape[1] == 1:
            used = float(k in self.trained), float(k in self.tested)
            return used[0] * self.train[:, 0], used[1] * self.test[:, 0]
        return self.train[:, k], self.test[:, k]


class At:
    """A loss at z of shape (m, K, width): every column is a row of its own to the loss."""

    def __init__(self, loss: Any, y: npt.NDArray[Any], z: Array) -> None:
        self.shape, self._loss, self._y, self._z = z.shape, loss, y, z
        self._at = loss.at(np.repeat(y, z.shape[1], axis=0), self._flat(z))

    def _flat(self, z: Array) -> Array:
        m, K, width = z.shape
        return z.reshape(m * K) if width == 1 else z.reshape(m * K, width)

    @cached_property
    def value(self) -> Array:
        return np.asarray(self._at.value.reshape(self.shape[:2]))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self._at.slope.reshape(self.shape))

    def hvp(self, v: Array) -> Array:
        return np.asarray(self._at.hvp(self._flat(v)).reshape(self.shape))

    def column(self, k: int) -> Any:
        """The loss as at the z of one fold."""
        z = self._z[:, k]
        return self._loss.at(self._y, z[:, 0] if self.shape[2] == 1 else z)


class Gathered:
    """Σ over rows of Aᵀr for some columns, as x is laid out; rows are seen through a lens.

    Products over rows that are summed for the same columns, those of one cell, are added whole,
    and taken apart into columns once: with 10⁵ features the latter takes a fifth of a product.
    """

    def __init__(self, design: Predictor, columns: int, lens: Lens = PLAIN) -> None:
        self._design, self._lens = design, lens
        self._slopes = np.zeros((columns, design.features, design.outputs))
        self._level = np.zeros((columns, design.width))
        self._used, self._product = np.empty(0, dtype=np.intp), np.empty(0)

    def add(self, A: Any, *parts: tuple[Array, Array, npt.NDArray[np.intp]]) -> None:
        """Aᵀ(weights · r) for the columns `used`, r of shape (m, used, width); of several such
        parts by one product with Aᵀ."""
        r = np.concatenate([self._spread(*part) for part in parts], axis=1)
        # Either way the same product; BLAS is a quarter faster with the long side inside.
        product = np.asarray(A.T @ r) if issparse(A) else (r.T @ A).T
        used = np.concatenate([part[2] for part in parts])
        if used.size and np.array_equal(used, self._used):
            self._product += product
        else:
            self._take_apart()
            self._used, self._product = used, product

    def _spread(self, weights: Array, r: Array, used: npt.NDArray[np.intp]) -> Array:
        """Adds weights · r to the levels; what is left to multiply with Aᵀ, (m, columns)."""
        r, spread = weights[:, :, None] * r, self._design.spread
        self._level[used] += (np.ones(len(r)) @ r.reshape(len(r), -1)).reshape(r.shape[1:])
        if spread is not None:
            r = r @ spread.T
        return r.reshape(len(r), -1)

    def _take_apart(self) -> None:
        used, features = self._used, self._design.features
        if used.size:
            own = self._product.reshape(features, used.size, self._design.outputs)
            self._slopes[used] += own.transpose(1, 0, 2)
            self._used = used[:0]

    @property
    def flat(self) -> Array:
        """(columns, size)."""
        self._take_apart()
        Q, spread, slopes = self._design.Q, self._design.spread, self._slopes
        if self._lens is not PLAIN:
            level = self._level if spread is None else self._level @ spread.T
            slopes = self._lens.gathered(slopes, level)
        flat = slopes.reshape(len(self._level), -1)
        return flat if Q is None else np.concatenate([flat, self._level @ Q], axis=1)
