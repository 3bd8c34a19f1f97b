"""The data term as a function of the scores z = design(x), for one output."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hoag._core.numeric import Array
from hoag._glm.losses import LossAt


class AtScores(Protocol):
    """L at one z, (n,). Directions are (n,), or (n, m) for m of them.

    grams   what `hessian` costs, in Gram matrices over all rows
    """

    @property
    def value(self) -> float: ...
    @property
    def slope(self) -> Array: ...
    @property
    def grams(self) -> float: ...
    def curve(self, v: Array) -> Array:
        """∂²L/∂z² v."""

    def third(self, u: Array, v: Array) -> Array:
        """d/dt ∂²L/∂z²(z + tu) v; u is one direction."""

    def hessian(self, design: Any) -> Array:
        """Aᵀ ∂²L/∂z² A, dense, the intercept included."""


class RowByRow:
    """L = Σᵢ sᵢ loss(yᵢ, zᵢ)."""

    grams = 1.0

    def __init__(self, loss: LossAt, weights: Array) -> None:
        self._loss, self._weights = loss, weights

    @property
    def value(self) -> float:
        return float(self._weights @ self._loss.value)

    @property
    def slope(self) -> Array:
        return self._weights * self._loss.slope

    def curve(self, v: Array) -> Array:
        d = self._weights * self._loss.curve(np.ones(self._weights.size))
        return np.asarray((d * v.T).T)

    def third(self, u: Array, v: Array) -> Array:
        d = self._weights * self._loss.third(u, np.ones(self._weights.size))
        return np.asarray((d * v.T).T)

    def hessian(self, design: Any) -> Array:
        return np.asarray(design.hessian(self._loss, self._weights))
