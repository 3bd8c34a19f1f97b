"""Sums of claims, zero for most: the Tweedie deviance."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._glm.losses.base import LossAt
from hoag._glm.losses.log_link import LogLink, LogLinkAt


class Tweedie(LogLink):
    """The deviance of the family whose variance is φ μ^p, 1 < p < 2, with μ = exp(z), for y ≥ 0:

    scale · 2(y^(2 − p)/((1 − p)(2 − p)) − y μ^(1 − p)/(1 − p) + μ^(2 − p)/(2 − p))

    Such y are sums of a Poisson number of gamma variables. p = 1 is the Poisson deviance, p = 2 the
    gamma deviance; both have losses of their own.
    """

    takes = "numbers that are not negative"

    def __init__(self, power: float, scale: float = 0.5) -> None:
        super().__init__(scale)
        if not 1 < power < 2:
            raise InvalidInput(f"power={power}: it lies between 1 and 2 for this loss.")
        self.power = float(power)

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _TweedieAt(self.scale, y, z, self.power)

    def accepts(self, y: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(y >= 0)


class _TweedieAt(LogLinkAt):
    def __init__(self, scale: float, y: npt.NDArray[Any], z: Array, power: float) -> None:
        super().__init__(scale, y, z)
        self._a, self._b = power - 1.0, 2.0 - power

    @cached_property
    def _falls(self) -> Array:
        """y μ^(1 − p)"""
        return np.asarray(self.y * np.exp(-self._a * self.z))

    @cached_property
    def _rises(self) -> Array:
        """μ^(2 − p)"""
        return np.exp(self._b * self.z)

    @cached_property
    def value(self) -> Array:
        a, b = self._a, self._b
        own = np.power(self.y, b) / (a * b)
        return np.asarray(self.twice * (self._falls / a + self._rises / b - own))

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self.twice * (self._rises - self._falls))

    @cached_property
    def ceiling(self) -> Array:
        return np.asarray(self.twice * (self._b * self._rises + self._a * self._falls))

    @cached_property
    def jerk(self) -> Array:
        return np.asarray(self.twice * (self._b**2 * self._rises - self._a**2 * self._falls))
