"""Losses of two numbers of a row's z: (u, v) = (z[a], z[b]), with columns a and b of its own.

The second derivatives of a row are then a 2×2 matrix in those columns and zero elsewhere, the third
ones a symmetric 2×2×2 tensor: what `PairAt` needs are these, and all else follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array

# What a loss is where it is not defined: no step of Newton's method is taken there.
NOWHERE = float(np.finfo(float).max / np.finfo(np.float32).max)


class PairAt(ABC):
    """At z of shape (n, K), with the two columns of each row, (n, 2)."""

    def __init__(self, z: Array, columns: npt.NDArray[np.intp]) -> None:
        self.z, self.columns = z, columns
        self._rows = np.arange(len(z))[:, None]
        self.pair = z[self._rows, columns]

    @property
    @abstractmethod
    def value(self) -> Array: ...

    @property
    @abstractmethod
    def pair_slope(self) -> Array:
        """∂/∂u and ∂/∂v, (n, 2)."""

    @property
    @abstractmethod
    def pair_curve(self) -> Array:
        """The second derivatives, (n, 2, 2)."""

    @property
    @abstractmethod
    def pair_third(self) -> Array:
        """The third derivatives, (n, 2, 2, 2)."""

    def _placed(self, pairs: Array) -> Array:
        """Two numbers a row in the columns that they belong to, (n, K)."""
        placed = np.zeros(self.z.shape)
        np.add.at(placed, (self._rows, self.columns), pairs)
        return placed

    @cached_property
    def slope(self) -> Array:
        return self._placed(self.pair_slope)

    def curve(self, v: Array) -> Array:
        return self._placed(np.einsum("nab,nb->na", self.pair_curve, v[self._rows, self.columns]))

    def third(self, u: Array, v: Array) -> Array:
        at = (self._rows, self.columns)
        return self._placed(np.einsum("nabc,nb,nc->na", self.pair_third, u[at], v[at]))

    def forms(self, V: Array) -> Array:
        own = V[self.columns]  # (n, 2, columns of V)
        return np.asarray(np.einsum("nam,nab,nbm->nm", own, self.pair_curve, own))

    def gram(self, Z: Array, s: Array) -> Array:
        own = Z.reshape(*self.z.shape, -1)[self._rows, self.columns]
        bent = np.einsum("n,nab,nbm->nam", s, self.pair_curve, own)
        m = own.shape[-1]
        return np.asarray(own.reshape(-1, m).T @ bent.reshape(-1, m))

    @cached_property
    def ceiling(self) -> Array:
        (a, b), (_, c) = self.pair_curve.transpose(1, 2, 0)
        return np.asarray(0.5 * (a + c) + np.hypot(0.5 * (a - c), b))
