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


def robust_units(y: Array, u: Units, centre: bool, level: float = 0.5) -> tuple[Array, Units]:
    """y′ and the units with the way back from it; y′ is 0 at a quantile of y, its median."""
    if not np.max(np.abs(y), initial=0.0) < LARGEST:
        raise InvalidInput("y has values whose squares are not finite numbers: rescale y.")
    share = u.weights / u.weights.sum()
    away = np.abs(y - (_quantile(y, share, 0.5) if centre else 0.0))
    spread = NORMAL_MAD * _quantile(away, share, 0.5) or float(share @ away) or 1.0
    zero = _quantile(y, share, level) if centre else 0.0
    shift = u.loss_shift - float(np.log(spread))
    return (y - zero) / spread, replace(u, y_mean=zero, y_scale=spread, loss_shift=shift)


def _quantile(y: Array, share: Array, level: float) -> float:
    """Of rows with weights that sum to 1: a row of weight two counts as two rows."""
    order = np.argsort(y)
    below = np.cumsum(share[order])
    ends = [np.searchsorted(below, level + side * ROUNDING) for side in (-1, 1)]
    return float(np.mean(y[order][np.minimum(ends, y.size - 1)]))
