"""The loss of support vector machines, squared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.losses.base import ScalarLoss


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

    def jerk(self, y: npt.NDArray[Any], z: Array) -> Array:
        return np.zeros_like(z)
