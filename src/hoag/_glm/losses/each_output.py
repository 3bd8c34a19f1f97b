"""One loss for each of several outputs, summed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import LossAt, ScalarLoss


class EachOutput:
    """Σ_k loss(y_k, z_k), with y and z of shape (n, K): no output mixes with another."""

    lipschitz = None

    def __init__(self, loss: ScalarLoss) -> None:
        self.loss = loss
        self.self_concordance, self.convex = loss.self_concordance, loss.convex
        self.dispersion = loss.dispersion

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _EachAt(self.loss, y, z)


class _EachAt:
    def __init__(self, loss: ScalarLoss, y: npt.NDArray[Any], z: Array) -> None:
        self._loss, self._y, self._z = loss, y, z

    @cached_property
    def value(self) -> Array:
        return np.asarray(self._loss.value(self._y, self._z).sum(axis=1))

    @cached_property
    def slope(self) -> Array:
        return self._loss.slope(self._y, self._z)

    @cached_property
    def _curvature(self) -> Array:
        return self._loss.curvature(self._y, self._z)

    @cached_property
    def ceiling(self) -> Array:
        return np.asarray(self._curvature.max(axis=1))

    def curve(self, v: Array) -> Array:
        return np.asarray(self._curvature * v)

    def third(self, u: Array, v: Array) -> Array:
        return np.asarray(self._loss.jerk(self._y, self._z) * u * v)

    def forms(self, V: Array) -> Array:
        return np.asarray(self._curvature @ V**2)

    def gram(self, Z: Array, s: Array) -> Array:
        bend = (s[:, None] * self._curvature).ravel()
        return np.asarray(Z.T @ (bend[:, None] * Z))
