"""Huber's loss: squares near 0, absolute values far away."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.glm.losses.base import OuterLossAt
from hoag.values import Array


class Huber:
    """Σ over outputs of r² up to |r| = δ and 2δ|r| − δ² beyond, r = z − y: few outliers decide."""

    self_concordance = 0.0
    lipschitz = None

    def __init__(self, delta: float) -> None:
        self.delta = delta

    def at(self, y: npt.NDArray[Any], z: Array) -> OuterLossAt:
        return _HuberAt(y, z, self.delta)


class _HuberAt:
    def __init__(self, y: npt.NDArray[Any], z: Array, delta: float) -> None:
        self._residual, self._delta = z - y, delta

    @cached_property
    def value(self) -> Array:
        size = np.abs(self._residual)
        inner = np.minimum(size, self._delta)
        losses = inner * (2 * size - inner)
        return losses if losses.ndim == 1 else np.asarray(losses.sum(axis=1))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(2.0 * np.clip(self._residual, -self._delta, self._delta))

    @cached_property
    def ceiling(self) -> Array:
        return np.full(len(self._residual), 2.0)

    def curve(self, v: Array) -> Array:
        return np.where(np.abs(self._residual) < self._delta, 2.0 * v, 0.0)
