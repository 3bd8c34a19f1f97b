"""Which penalties are on a plateau of the criterion, and which plateau it is, in words.

"switched off"   f stays within tol up to the upper bound, and nothing of the group is left
"free"           f stays within tol down to the lower bound: the penalty no longer acts
""               neither, or not known
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.base import Criterion
from hoag._criteria.separable import Separable
from hoag.linear_model._interval import one_by_one
from hoag.linear_model._sharing import Shares

OFF, FREE = "switched off", "free"


def plateaus(
    groups: Shares,
    coef: Array,
    criterion: Criterion,
    box: Box,
    best: Evaluation,
    ends: Array,
    tol: float,
    small: float = 0.01,
) -> tuple[npt.NDArray[Any], Cost]:
    """A word for every λ, by the ends of its interval; and what looking cost.

    Less than a hundredth (`small`) of a linear predictor is nothing of it, and a lower bound counts
    where the penalty is less than a hundredth of what the data say. Where f still slopes there is
    no plateau. Many λ, whose ends are not their own, are looked at together: all that
    may be switched off at their upper bounds at once, all that may be free at their lower ones.
    """
    words = np.full(best.lam.size, "", dtype=f"<U{len(OFF)}")
    f = criterion.f_of_each(best) if isinstance(criterion, Separable) else best.value
    level = np.abs(best.grad) <= tol * np.abs(f)
    left, nothing = groups.left(coef, best.lam), small**2
    weak, weakest = groups.beside_data(best.lam), groups.beside_data(box.lower)
    cost, (low, high) = Cost(), np.isclose(ends, np.stack([box.lower, box.upper], axis=1)).T
    if not one_by_one(best):
        low, high = np.zeros((2, best.lam.size), dtype=bool)
        if criterion.traits.scan_spacing is not None and np.all(np.isfinite(ends)):
            may_be_off = level & (left < nothing)
            may_be_free = level & ~may_be_off & (weak < np.log(small))
            high, up = _together(criterion, best, box.upper, may_be_off, left, tol)
            low, down = _together(criterion, best, box.lower, may_be_free, weak, tol)
            cost = up + down
    off = level & high & (left < nothing)
    words[level & low & (weakest < np.log(small))] = FREE
    words[off] = OFF
    return words, cost


def _together(
    criterion: Criterion, best: Evaluation, bound: Array, which: Any, doubt: Array, tol: float
) -> tuple[npt.NDArray[np.bool_], Cost]:
    """Those that may all go to their bounds at once, f within tol; of too many the surer half."""
    chosen, cost = np.flatnonzero(which), Cost()
    chosen = chosen[np.argsort(doubt[chosen], kind="stable")]
    while chosen.size:
        lam = best.lam.copy()
        lam[chosen] = bound[chosen]
        there = criterion.evaluate(lam, Ask(free=True, gradient=False), best.warm)
        cost = cost + there.cost
        if abs(there.value - best.value) <= tol * abs(best.value):
            break
        chosen = chosen[: chosen.size // 2]
    return np.isin(np.arange(best.lam.size), chosen), cost
