"""Counts: the Poisson deviance."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from hoag._core.numeric import Array
from hoag._glm.losses.base import LossAt
from hoag._glm.losses.log_link import LogLink, LogLinkAt


class Poisson(LogLink):
    """scale · 2(y log(y/μ) − y + μ) with μ = exp(z), for y ≥ 0.

    dispersion   φ of the variance φμ: 1 for counts that are Poisson's, None where it is estimated
    """

    power = 1.0
    takes = "counts and other numbers that are not negative"

    def __init__(self, scale: float = 0.5, dispersion: float | None = 1.0) -> None:
        super().__init__(scale)
        self.dispersion = dispersion

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _PoissonAt(self.scale, y, z)

    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(y >= 0)


class _PoissonAt(LogLinkAt):
    @cached_property
    def value(self) -> Array:
        return np.asarray(self.twice * (xlogy(self.y, self.y) - self.y * (1 + self.z) + self.mu))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self.twice * (self.mu - self.y))

    @cached_property
    def ceiling(self) -> Array:
        return np.asarray(self.twice * self.mu)

    @property
    def jerk(self) -> Array:
        return self.ceiling
