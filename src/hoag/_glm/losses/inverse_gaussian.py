"""Positive numbers with a heavy tail: the inverse Gaussian deviance."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import LossAt
from hoag._glm.losses.log_link import LogLink, LogLinkAt


class InverseGaussian(LogLink):
    """scale · (y − μ)²/(y μ²) with μ = exp(z), for y > 0.

    It bends down where μ > 2y: the fit is a local minimum, as scikit-learn's with power=3 is.
    """

    power = 3.0
    self_concordance = float("inf")
    convex = False
    takes = "positive numbers"

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _InverseGaussianAt(self.scale, y, z)

    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(y > 0)


class _InverseGaussianAt(LogLinkAt):
    @cached_property
    def value(self) -> Array:
        return np.asarray(0.5 * self.twice * self.y * (self.inverse - 1 / self.y) ** 2)

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self.twice * self.inverse * (1 - self.y * self.inverse))

    @cached_property
    def ceiling(self) -> Array:
        return np.asarray(self.twice * self.inverse * (2 * self.y * self.inverse - 1))

    @cached_property
    def jerk(self) -> Array:
        return np.asarray(self.twice * self.inverse * (1 - 4 * self.y * self.inverse))
