"""What the regressors share: the units of y, and the losses that judge held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._glm.losses import Huber, Loss, OuterLoss, Squared
from hoag._glm.targets import Target
from hoag.linear_model._column import ArrayColumn, Column
from hoag.linear_model._units import LARGEST, Units

# What counts as an outlier for criterion="huber": 1.35 times the spread of y, estimated by its
# median absolute deviation; 1.35 keeps 95 % efficiency on normal errors.
HUBER, NORMAL_MAD = 1.35, 1.4826


@dataclass(frozen=True, eq=False)
class Standard:
    """y ↦ (y − mean)/(biggest · spread), in two divisions: neither overflows."""

    mean: Any
    biggest: float
    spread: float = 1.0

    def __call__(self, y: Array) -> Array:
        return np.asarray((y - self.mean) / self.biggest / self.spread)

    def squares(self, y: Array) -> Array:
        return np.asarray(self(y) ** 2)


def standard(column: Column, centre: bool) -> Standard:
    """y in units of its spread about its mean, or about 0; several targets share the spread."""
    if not column.largest < LARGEST:
        raise InvalidInput("y has values whose squares are not finite numbers: rescale y.")
    biggest = column.largest or 1.0
    mean = 0.0 * np.zeros(column.nothing.shape[1:])
    if centre:
        mean = biggest * column.average(partial(np.multiply, 1.0 / biggest))
    about = Standard(mean, biggest)
    spread = float(np.sqrt(np.mean(column.average(about.squares)))) or 1.0
    return Standard(mean, biggest, spread)


def regression_units(y: Array, u: Units, centre: bool) -> tuple[Array, Units]:
    known = standard(ArrayColumn(y, u.weights), centre)
    return known(y), replace(u, y_mean=known.mean, y_scale=known.biggest * known.spread)


def check_criterion(criterion: Any) -> None:
    if criterion not in ("squared_error", "huber"):
        raise InvalidInput(f"criterion={criterion!r}: use 'squared_error' or 'huber'.")


def outer_loss(criterion: str, y: Array) -> OuterLoss:
    if criterion != "huber":
        return Squared(1.0)
    spread = NORMAL_MAD * float(np.median(np.abs(y - np.median(y, axis=0))))
    return Huber(HUBER * (spread or 1.0))


def of_units(y: Array, units: Standard, loss: Loss, outer: OuterLoss, intercept: bool) -> Target:
    """Numbers in units of their own, one for each row, or one for each target."""
    y = units(y)
    outputs = 1 if y.ndim == 1 else y.shape[1]
    return Target(y, loss, outer, outputs, np.eye(outputs) if intercept else None)
