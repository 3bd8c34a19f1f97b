"""How an estimator reads y: for all rows at once, or for some of them at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag.linear_model._column import OfRows, Weigh
from hoag.linear_model._units import Units


@dataclass(frozen=True, eq=False)
class Reading:
    """What holds of any rows, once sums over all of them are known.

    target     y of some rows ↦ their Target: y as the model takes it, with its losses
    centre     whether columns are centred, for there is an intercept to absorb it
    curvature  loss″ at z = 0, about
    weigh      y and weights of some rows ↦ their weights, with those of classes; None: as they are
    y_mean, y_scale, loss_shift   the units of y and of the loss: see Units
    """

    target: OfRows
    centre: bool
    curvature: float
    weigh: Weigh | None = None
    y_mean: Any = 0.0
    y_scale: float = 1.0
    loss_shift: float = 0.0

    def weights(self, y: npt.NDArray[Any], weights: Array) -> Array:
        return weights if self.weigh is None else self.weigh(y, weights)

    def units(self, u: Units) -> Units:
        """Units of the rows with those of y."""
        return replace(u, y_mean=self.y_mean, y_scale=self.y_scale, loss_shift=self.loss_shift)


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """y, s ↦ s · (the weight of y's class)."""

    classes: npt.NDArray[Any]
    each: Array

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> Array:
        return np.asarray(weights * self.each[np.searchsorted(self.classes, y)])
