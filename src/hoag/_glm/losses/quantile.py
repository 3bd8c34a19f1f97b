"""Quantiles: the pinball loss, smoothed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from hoag._core.numeric import Array
from hoag._glm.losses.base import ScalarLoss
from hoag.inner import Continued


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
        return SmoothQuantile(self.quantile, Continued.softer * self.width)

    def value(self, y: npt.NDArray[Any], z: Array) -> Array:
        r = y - z
        return np.asarray(self.quantile * r + self.width * np.logaddexp(0.0, -r / self.width))

    def slope(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.asarray(expit((z - y) / self.width) - self.quantile)

    def curvature(self, y: npt.NDArray[Any], z: Array) -> Array:
        u = (z - y) / self.width
        return np.asarray(expit(u) * expit(-u) / self.width)

    def jerk(self, y: npt.NDArray[Any], z: Array) -> Array:
        u = (z - y) / self.width
        above, below = expit(u), expit(-u)
        return np.asarray(above * below * (below - above) / self.width**2)
