"""Squares."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import LossAt


class Squared:
    """scale · Σ over outputs of (y − z)²; ½ in h, as in scikit-learn's Ridge, and 1 in g."""

    self_concordance = 0.0
    lipschitz = None
    convex = True
    dispersion = None

    def __init__(self, scale: float = 0.5) -> None:
        self.scale = scale

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _SquaredAt(y, z, self.scale)


class _SquaredAt:
    def __init__(self, y: npt.NDArray[Any], z: Array, scale: float) -> None:
        self.residual, self.scale = z - y, scale

    @cached_property
    def value(self) -> Array:
        squares = self.scale * self.residual**2
        return squares if squares.ndim == 1 else np.asarray(squares.sum(axis=1))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(2 * self.scale * self.residual)

    @cached_property
    def ceiling(self) -> Array:
        return np.full(len(self.residual), 2 * self.scale)

    def curve(self, v: Array) -> Array:
        return 2 * self.scale * v

    def third(self, u: Array, v: Array) -> Array:
        return np.zeros_like(v)

    def forms(self, V: Array) -> Array:
        return np.tile(2 * self.scale * np.sum(V**2, axis=0), (len(self.residual), 1))

    def gram(self, Z: Array, s: Array) -> Array:
        each = np.repeat(s, Z.shape[0] // s.size)
        return np.asarray(2 * self.scale * (Z.T @ (each[:, None] * Z)))
