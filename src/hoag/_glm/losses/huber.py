"""Huber's loss: squares near 0, absolute values far away."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import ROUNDOFF, Array
from hoag._glm.losses.base import LossAt, OuterLossAt
from hoag._glm.losses.pairs import NOWHERE, PairAt


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


# κ of a fitted spread, as a share of what it is counted from: it moves σ by its square.
LEAST = ROUNDOFF**0.25


class ConcomitantHuber:
    """½(σ + σ H(r/σ) + κ²/σ), r = z₀ − y and σ = z₁ + start: Huber's loss with the spread in it.

    H(u) is u² up to |u| = δ and 2δ|u| − δ² beyond. The spread σ of the residuals is fitted with the
    coefficients, so that scaling y scales both; that is scikit-learn's HuberRegressor. Convex in
    both; where σ ≤ 0 there is no such model. κ, a small share of `start`, keeps σ above 0 where
    most residuals vanish.
    """

    self_concordance = float("inf")
    lipschitz = None
    convex = True
    dispersion = None

    def __init__(self, delta: float, start: float = 1.0, scale: float = 0.5) -> None:
        self.delta, self.start, self.scale = delta, start, scale
        self.least = LEAST * start

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _ConcomitantAt(self, y, z)


class _ConcomitantAt(PairAt):
    def __init__(self, loss: ConcomitantHuber, y: npt.NDArray[Any], z: Array) -> None:
        super().__init__(z, np.tile(np.arange(2), (len(z), 1)))
        self.delta, self.scale = loss.delta, loss.scale
        self.residual, sigma = z[:, 0] - y, z[:, 1] + loss.start
        self.exists = sigma > 0
        self.sigma = np.where(self.exists, sigma, 1.0)
        self.far = np.abs(self.residual) > self.delta * self.sigma
        self.kept = (loss.least / self.sigma) ** 2

    @cached_property
    def value(self) -> Array:
        r, sigma, d = np.abs(self.residual), self.sigma, self.delta
        near = sigma + r**2 / sigma
        far = sigma * (1 - d**2) + 2 * d * r
        value = np.where(self.far, far, near) + self.kept * sigma
        return np.where(self.exists, self.scale * value, NOWHERE)

    @cached_property
    def pair_slope(self) -> Array:
        u, d = self.residual / self.sigma, self.delta
        by_z = 2 * np.clip(u, -d, d)
        by_sigma = np.where(self.far, 1 - d**2, 1 - u**2) - self.kept
        by_sigma = np.where(self.exists, by_sigma, -(NOWHERE**0.5))  # no gradient is small there
        return np.asarray(self.scale * np.stack([by_z, by_sigma], axis=1))

    @cached_property
    def pair_curve(self) -> Array:
        u = self.residual / self.sigma
        bend = np.where(self.far, 0.0, 2 * self.scale / self.sigma)
        v = np.stack([np.ones_like(u), -u], axis=1)
        whole = bend[:, None, None] * v[:, :, None] * v[:, None, :]
        whole[:, 1, 1] += 2 * self.scale * self.kept / self.sigma
        return np.asarray(whole)

    @cached_property
    def pair_third(self) -> Array:
        u = self.residual / self.sigma
        bend = np.where(self.far, 0.0, -2 * self.scale / self.sigma**2)
        whole = np.zeros((u.size, 2, 2, 2))
        for places, own in (
            (((0, 0, 1), (0, 1, 0), (1, 0, 0)), 1.0),
            (((0, 1, 1), (1, 0, 1), (1, 1, 0)), -2 * u),
            (((1, 1, 1),), 3 * u**2),
        ):
            for place in places:
                whole[(slice(None), *place)] = bend * own
        whole[:, 1, 1, 1] -= 6 * self.scale * self.kept / self.sigma**2
        return whole
