"""Units of y for losses that grow like |y|: its median, and the spread about it.

With y = m + c y′ the loss is c times what it is in those units, and coefficients are c times what
they are, so that ½αw² there has αc in place of α.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hoag.estimators.regression import NORMAL_MAD
from hoag.estimators.units import LARGEST, Units
from hoag.values import ROUNDING, Array, InvalidInput


def robust_units(y: Array, u: Units, centre: bool) -> tuple[Array, Units]:
    """y′ and the units with the way back from it."""
    if not np.max(np.abs(y), initial=0.0) < LARGEST:
        raise InvalidInput("y has values whose squares are not finite numbers: rescale y.")
    share = u.weights / u.weights.sum()
    middle = _median(y, share) if centre else 0.0
    away = np.abs(y - middle)
    spread = NORMAL_MAD * _median(away, share) or float(share @ away) or 1.0
    shift = u.loss_shift - float(np.log(spread))
    return (y - middle) / spread, replace(u, y_mean=middle, y_scale=spread, loss_shift=shift)


def _median(y: Array, share: Array) -> float:
    """Of rows with weights that sum to 1: a row of weight two counts as two rows."""
    order = np.argsort(y)
    below = np.cumsum(share[order])
    ends = [np.searchsorted(below, 0.5 + side * ROUNDING) for side in (-1, 1)]
    return float(np.mean(y[order][np.minimum(ends, y.size - 1)]))
