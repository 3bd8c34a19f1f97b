"""The logistic loss of two classes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import DiagonalAt, LossAt


class Logistic:
    """ψ(m) = log(1 + e^(−m)) at the margin m = y z, with y = ±1."""

    self_concordance = 1.0
    lipschitz = 1.0
    convex = True
    dispersion = 1.0

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _LogisticAt(y, z)


class _LogisticAt(DiagonalAt):
    def __init__(self, y: npt.NDArray[Any], z: Array) -> None:
        self.y, self.margin = y, y * z

    @cached_property
    def _odds(self) -> Array:
        """e^(−|m|), from which all else follows without overflow or cancellation."""
        return np.exp(-np.abs(self.margin))

    @cached_property
    def value(self) -> Array:
        return np.log1p(self._odds) - np.minimum(self.margin, 0.0)

    @cached_property
    def _wrong(self) -> Array:
        """The probability given to the other class."""
        return np.where(self.margin > 0, self._odds, 1.0) / (1.0 + self._odds)

    @cached_property
    def slope(self) -> Array:
        return -self.y * self._wrong

    @cached_property
    def ceiling(self) -> Array:
        return self._odds / (1.0 + self._odds) ** 2

    @cached_property
    def jerk(self) -> Array:
        return np.asarray(self.y * self.ceiling * (2.0 * self._wrong - 1.0))
