"""What the regressors share: the units of y, and the losses that judge held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hoag.estimators.units import LARGEST, Units
from hoag.glm.losses import Huber, OuterLoss, Squared
from hoag.values import Array, InvalidInput

# What counts as an outlier for criterion="huber": 1.35 times the spread of y, estimated by its
# median absolute deviation; 1.35 keeps 95 % efficiency on normal errors.
HUBER, NORMAL_MAD = 1.35, 1.4826


def regression_units(y: Array, u: Units, centre: bool) -> tuple[Array, Units]:
    share = u.weights / u.weights.sum()
    if not np.max(np.abs(y), initial=0.0) < LARGEST:
        raise InvalidInput("y has values whose squares are not finite numbers: rescale y.")
    biggest = float(np.max(np.abs(y), initial=0.0)) or 1.0
    mean = biggest * (share @ (y / biggest)) if centre else 0.0 * y[0]
    y = (y - mean) / biggest
    columns = y if y.ndim == 2 else y[:, None]
    spread = float(np.sqrt(np.mean(share @ columns**2))) or 1.0
    return y / spread, replace(u, y_mean=mean, y_scale=biggest * spread)


def check_criterion(criterion: Any) -> None:
    if criterion not in ("squared_error", "huber"):
        raise InvalidInput(f"criterion={criterion!r}: use 'squared_error' or 'huber'.")


def outer_loss(criterion: str, y: Array) -> OuterLoss:
    if criterion != "huber":
        return Squared(1.0)
    spread = NORMAL_MAD * float(np.median(np.abs(y - np.median(y, axis=0))))
    return Huber(HUBER * (spread or 1.0))
