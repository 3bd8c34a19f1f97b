"""Units of y for losses that grow like |y|: its median, and the spread about it.

With y = m + c y′ the loss is c times what it is in those units, and coefficients are c times what
they are, so that ½αw² there has αc in place of α.
"""

from __future__ import annotations

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import ROUNDING, Array
from hoag.linear_model._column import Column
from hoag.linear_model._regression import NORMAL_MAD, Standard
from hoag.linear_model._units import LARGEST


def robust_units(column: Column, centre: bool, level: float = 0.5) -> Standard:
    """y ↦ y′, which is 0 at a quantile of y, its median."""
    if not column.largest < LARGEST:
        raise InvalidInput("y has values whose squares are not finite numbers: rescale y.")
    y, weights = column.some()
    share = weights / weights.sum()
    away = np.abs(y - (_quantile(y, share, 0.5) if centre else 0.0))
    spread = NORMAL_MAD * _quantile(away, share, 0.5) or float(share @ away) or 1.0
    return Standard(_quantile(y, share, level) if centre else 0.0, spread)


def _quantile(y: Array, share: Array, level: float) -> float:
    """Of rows with weights that sum to 1: a row of weight two counts as two rows."""
    order = np.argsort(y)
    below = np.cumsum(share[order])
    ends = [np.searchsorted(below, level + side * ROUNDING) for side in (-1, 1)]
    return float(np.mean(y[order][np.minimum(ends, y.size - 1)]))
