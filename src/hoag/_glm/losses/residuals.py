"""Losses of residuals and margins: squares, Huber's, quantiles, the squared hinge."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from hoag._core.numeric import Array
from hoag._glm.losses.base import ScalarLoss
from hoag._inner import Continuation


class Squared(ScalarLoss):
    """scale · Σ over outputs of (y − z)²; ½ in h, as in scikit-learn's Ridge, and 1 in g."""

    self_concordance = 0.0
    constant_hessian = True

    def __init__(self, scale: float = 0.5) -> None:
        self.scale = scale

    def value(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(self.scale * (z - y) ** 2)

    def slope(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(2 * self.scale * (z - y))

    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.full(z.shape, 2 * self.scale)

    def third_derivative(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.zeros(z.shape)


class Huber(ScalarLoss):
    """Σ over outputs of r² up to |r| = δ and 2δ|r| − δ² beyond, r = z − y: few outliers decide."""

    self_concordance = 0.0
    bound = 2.0

    def __init__(self, delta: float) -> None:
        self.delta = delta

    def value(self, y: npt.NDArray[Any], z: Array) -> Array:
        size = np.abs(z - y)
        inner = np.minimum(size, self.delta)
        return np.asarray(inner * (2 * size - inner))

    def slope(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(2.0 * np.clip(z - y, -self.delta, self.delta))

    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.where(np.abs(z - y) < self.delta, 2.0, 0.0)


class SmoothQuantile(ScalarLoss):
    """τr + b log(1 + e^(−r/b)) with r = y − z: the pinball loss max(τr, (τ − 1)r) as b → 0.

    It is the pinball loss convolved with the logistic density of width b, never below it and never
    more than b log 2 above.
    """

    def __init__(self, quantile: float, width: float) -> None:
        self.quantile, self.width = quantile, width
        self.self_concordance = 1.0 / width
        self.lipschitz = max(quantile, 1 - quantile)

    @property
    def softer(self) -> SmoothQuantile:
        return SmoothQuantile(self.quantile, Continuation.softer * self.width)

    def value(self, y: npt.NDArray[Any], z: Array) -> Array:
        r = y - z
        return np.asarray(self.quantile * r + self.width * np.logaddexp(0.0, -r / self.width))

    def slope(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(expit((z - y) / self.width) - self.quantile)

    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array:
        u = (z - y) / self.width
        return np.asarray(expit(u) * expit(-u) / self.width)

    def third_derivative(self, y: npt.NDArray[Any], z: Array) -> Array:
        u = (z - y) / self.width
        return np.asarray(self.curvature(y, z) * (expit(-u) - expit(u)) / self.width)


class SquaredHinge(ScalarLoss):
    """max(0, 1 − yz)² with y = ±1.

    Its slope is continuous and its curvature jumps at the margin, so Newton's method ends after
    finitely many steps, and f(λ) has kinks where a row crosses: dX/dλ jumps there, and p with it.
    """

    def value(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(np.maximum(1 - y * z, 0.0) ** 2)

    def slope(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(-2 * y * np.maximum(1 - y * z, 0.0))

    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.where(y * z < 1, 2.0, 0.0)

    def third_derivative(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.zeros(z.shape)
