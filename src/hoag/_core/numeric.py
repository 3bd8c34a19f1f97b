"""Arrays, and the numbers that more than one layer goes by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

ROUNDOFF = float(np.finfo(np.float64).eps)
# What sums of many products are right to, relatively.
ROUNDING = 100 * ROUNDOFF
# Blocks have about so many entries where rows are gone through some at a time.
BLOCK_ENTRIES = 1e5
# A residual this small, relatively, is about what factors leave.
EXACT = 1e-10
# A step must realise this share of the decrease that its slope promises (Armijo).
SUFFICIENT = 1e-4
# What is above this share of what it was has not fallen.
FALLEN = 0.9

# Errors of values are estimates, and seldom too small by more than this factor.
DOUBT = 5.0
