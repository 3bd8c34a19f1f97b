"""Costs, durations and other positive numbers: the gamma deviance."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import LossAt
from hoag._glm.losses.log_link import LogLink, LogLinkAt


class Gamma(LogLink):
    """scale · 2(y/μ − 1 − log(y/μ)) with μ = exp(z), for y > 0."""

    power = 2.0
    takes = "positive numbers"

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _GammaAt(self.scale, y, z)

    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(y > 0)


class _GammaAt(LogLinkAt):
    @cached_property
    def value(self) -> Array:
        return np.asarray(self.twice * (self.y * self.inverse - 1 - np.log(self.y) + self.z))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self.twice * (1 - self.y * self.inverse))

    @cached_property
    def ceiling(self) -> Array:
        return np.asarray(self.twice * self.y * self.inverse)

    @property
    def jerk(self) -> Array:
        return -self.ceiling
