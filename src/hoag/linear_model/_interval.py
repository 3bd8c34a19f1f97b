"""Between which λ the criterion stays within a tolerance of its best, and its plateaus."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline

from hoag._core.domain import Box
from hoag._core.errors import SingularProblemError
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.base import Criterion
from hoag._criteria.separable import Separable
from hoag.linear_model._penalties import Shares
from hoag.optimize._asks import ACCURACY

# f is probed this far from its minimum for its curvature, in λ.
PROBE = 0.3
# Past so many hyperparameters they are not probed one by one, but moved together.
MOST_PROBES = 8


def interval(
    criterion: Criterion, box: Box, best: Evaluation, eps: float, tol: float
) -> tuple[Array, Cost]:
    """Where f stays within `tol` of itself, one λ at a time, shape (s, 2); and what looking cost.

    nan where f cannot be computed nearby. With several λ an end is the bound where f is within
    `tol` at the bound too, and between them: a plateau, on which no parabola goes far enough.
    """
    if isinstance(criterion, Separable):
        each = zip(criterion.parts, criterion.boxes(box), best.parts, strict=True)
        found = [interval(part, own, piece, eps, tol) for part, own, piece in each]
        ends = np.zeros((best.lam.size, 2))
        for own, (part_ends, _) in zip(criterion.owns, found, strict=True):
            ends[own] = part_ends
        return ends, sum((spent for _, spent in found), Cost())
    asks = Ask(eps), Ask(ACCURACY, gradient=False)
    if criterion.traits.scan_spacing:
        asks = Ask(free=True), Ask(free=True, gradient=False)
    if not np.all(np.isfinite(best.grad)):
        return np.full((best.lam.size, 2), np.nan), Cost()
    few, bent = best.lam.size <= MOST_PROBES, best.hessian
    cheap = criterion.traits.scan_spacing is not None
    try:
        if bent is not None:
            along, curvature, cost = best.grad, np.diag(bent), Cost()
        else:
            along = best.grad if few else np.full(best.lam.size, best.grad.sum())
            curvature, cost = _curvatures(criterion, box, best, asks[0])
        ends = _parabola(box, best, along, curvature, tol)
        if not one_by_one(best):
            return ends, cost
        look: Any = partial(_looks, ask=asks[1])
        if bent is not None:
            look = _axes if cheap else look if few else _nowhere
        look = partial(look, criterion, best) if best.profile is None else partial(_seen, best)
        flat = _flat(best, tol)
        ends = np.where(flat, np.stack([box.lower, box.upper], axis=1), ends)
        ends, looked = _verified(best, ends, ~flat, tol, look)
        cost = cost + looked
        if best.lam.size > 1 and best.profile is None and cheap:
            ends, looked = _to_bounds(box, best, ends, tol, look)
            cost = cost + looked
    except SingularProblemError:
        return np.full((best.lam.size, 2), np.nan), Cost()
    return ends, cost


def one_by_one(best: Evaluation) -> bool:
    """Whether every end is one λ's own; else all were moved together."""
    if best.hessian is not None or best.lam.size <= MOST_PROBES:
        return True
    return bool(best.parts) and all(part.hessian is not None for part in best.parts)


def _parabola(box: Box, best: Evaluation, along: Array, curvature: Array, tol: float) -> Array:
    """Where f + t·slope + ½ t²·curvature is at most (1 + tol) f, within the box; (s, 2)."""
    room, curvature = tol * abs(best.value), np.maximum(curvature, 0.0)
    ends = []
    for side in (-1.0, 1.0):
        slope = side * along
        with np.errstate(divide="ignore", invalid="ignore"):
            # the positive root of ½ct² + slope·t = room, written so that c = 0 is no exception
            reach = 2 * room / (slope + np.sqrt(slope**2 + 2 * curvature * room))
        reach = np.where(np.isfinite(reach) & (reach >= 0), reach, np.inf)
        ends.append(box.project(best.lam + side * reach))
    return np.stack(ends, axis=1)


def _flat(best: Evaluation, tol: float) -> npt.NDArray[np.bool_]:
    """Below and above which λ all looks that the search had there were within `tol`, (s, 2)."""
    if best.profile is None:
        return np.zeros((best.lam.size, 2), dtype=bool)
    places, values = best.profile
    alike = np.abs(values - best.value) <= tol * abs(best.value)
    below = np.all(alike | (places > best.lam[:, None]), axis=1)
    above = np.all(alike | (places < best.lam[:, None]), axis=1)
    return np.stack([below, above], axis=1)


def _verified(
    best: Evaluation, ends: Array, doubted: npt.NDArray[np.bool_], tol: float, look: Any
) -> tuple[Array, Cost]:
    """The ends with those drawn nearer that the curvature put too far, and what looking cost.

    A parabola from one probe is no guide far beyond it: there f itself is looked at, and the way
    halved while it is higher than it should be. `look` says what f is at some ends, and its cost.
    """
    reach, cost = ends - best.lam[:, None], Cost()
    far = doubted & (np.abs(reach) > 2 * PROBE)
    while np.any(far):
        values, spent = look(reach, far)
        cost = cost + spent
        far &= ~(values <= (1 + 2 * tol) * best.value)
        reach[far] /= 2
        far &= np.abs(reach) > 2 * PROBE
    return best.lam[:, None] + reach, cost


def _to_bounds(
    box: Box, best: Evaluation, ends: Array, tol: float, look: Any
) -> tuple[Array, Cost]:
    """The ends moved to the bounds where f is within `tol` there, and at two places on the way."""
    bounds = np.stack([box.lower, box.upper], axis=1)
    way, cost, there = bounds - ends, Cost(), ends != bounds
    for share in (1.0, 1 / 3, 2 / 3):
        if np.any(there):
            values, spent = look(ends + share * way - best.lam[:, None], there)
            there &= np.abs(values - best.value) <= tol * abs(best.value)
            cost = cost + spent
    return np.where(there, bounds, ends), cost


def _looks(
    criterion: Criterion, best: Evaluation, reach: Array, far: Array, ask: Ask
) -> tuple[Array, Cost]:
    """f at the ends that are far, one λ moved at a time."""
    places, values = np.argwhere(far), np.full(reach.shape, np.nan)
    lams = [best.lam + reach[j, k] * (np.arange(best.lam.size) == j) for j, k in places]
    if criterion.traits.batched:
        there = criterion.values(lams, ask)
    else:
        there = [criterion.evaluate(lam, ask, best.warm) for lam in lams]
    values[far] = [now.value for now in there]
    return values, sum((now.cost for now in there), Cost())


def _seen(best: Evaluation, reach: Array, far: Array) -> tuple[Array, Cost]:
    """f along every axis by a spline through the looks that the search had there; no cost."""
    assert best.profile is not None
    values = np.full(reach.shape, np.nan)
    for j in np.flatnonzero(np.any(far, axis=1)):
        places, seen = (known[j][np.isfinite(best.profile[1][j])] for known in best.profile)
        if places.size > 1:
            spline = CubicSpline(places, seen, extrapolate=False)
            values[j] = spline(best.lam[j] + reach[j])
    return values, Cost()


def _axes(criterion: Criterion, best: Evaluation, reach: Array, far: Array) -> tuple[Array, Cost]:
    """f along every axis by the criterion's own model of it; where it has none, ends stay."""
    values, cost = criterion.profile(best, np.where(far, best.lam[:, None] + reach, np.nan))
    return (np.full(reach.shape, -np.inf) if values is None else values), cost


def _nowhere(
    criterion: Criterion, best: Evaluation, reach: Array, far: Array
) -> tuple[Array, Cost]:
    """No look, so that no end is further than a parabola can be relied on."""
    return np.full(reach.shape, np.inf), Cost()


def _curvatures(criterion: Criterion, box: Box, best: Evaluation, ask: Ask) -> tuple[Array, Cost]:
    """dᵀ∇²f d from differences of the gradient a little further on, and what they cost.

    Few hyperparameters are moved one by one, d = eⱼ; many all together, d = (1, …, 1).
    """
    size = best.lam.size
    found, cost = [], Cost()
    for d in np.eye(size) if size <= MOST_PROBES else np.ones((1, size)):
        outside = np.any(d * (best.lam + PROBE) > d * box.upper)
        lam = box.project(best.lam + (-PROBE if outside else PROBE) * d)
        moved = float(d @ (lam - best.lam)) / float(d @ d)
        if moved == 0.0:
            found.append(0.0)
            continue
        there = criterion.evaluate(lam, ask, best.warm)
        cost = cost + there.cost
        found.append(float(d @ (there.grad - best.grad)) / moved)
    return np.broadcast_to(found, (size,)).astype(float), cost


# ---- plateaus

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
