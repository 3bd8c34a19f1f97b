"""Bounds that are made from the data move on while the loss still falls beyond them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box
from hoag._core.errors import SingularProblemError
from hoag._core.numeric import ROUNDOFF
from hoag._core.result import Evaluation, Result
from hoag._criteria.base import Criterion
from hoag._glm.units import ABOVE, WEIGHT
from hoag.optimize import Search

# Bounds reach as far as penalties act. One that is rounding beside such a bound is none at all.
FARTHEST = -float(np.log(ROUNDOFF))

Sides = npt.NDArray[np.bool_]


def falls_beyond(found: Evaluation, box: Box, tol: float) -> tuple[Sides, Sides]:
    """Which λ are on a lower and on an upper bound past which f falls by more than tol·|f|.

    Where columns separate the classes f falls for ever. WEIGHT is the f of having learnt nothing:
    an f that is rounding beside it need not fall.
    """
    worth = tol * abs(found.value)
    moves = (box.lower < box.upper) & (abs(found.value) > ROUNDOFF * WEIGHT)
    low = moves & (found.lam <= box.lower) & (found.grad > worth)
    high = moves & (found.lam >= box.upper) & (found.grad < -worth)
    return low, high


def search_beyond(
    search: Search,
    criterion: Criterion,
    box: Box,
    first: Result,
    own: Sides,
    tol: float,
    on_step: Any = None,
) -> tuple[Box, Result]:
    """What is found where bounds of our `own` are moved until f no longer falls, and the box then.

    One λ is searched beyond its bound alone; of several, all in the wider box from where they are.
    """
    given, found = box, first
    while True:
        low, high = (own & side for side in falls_beyond(found.evaluation, box, tol))
        again = _what_is_left(search, found)
        if again is None or not (np.any(low | high) and found.status.converged):
            break
        wider = Box(
            np.maximum(box.lower - ABOVE * low, given.lower - FARTHEST),
            np.minimum(box.upper + ABOVE * high, given.upper + FARTHEST),
        )
        if np.array_equal([wider.lower, wider.upper], [box.lower, box.upper]):
            break
        there = wider if box.size > 1 else _part_beyond(box, wider)
        try:
            then = again.minimize(criterion, there, found.lam, on_step)
        except SingularProblemError:  # f is not known there, and the bound stays
            break
        found = _joined(found, then)
        if found.evaluation is not then.evaluation:
            break
        box = wider
    if box is given:
        return box, found
    status = found.status.noted(_told(given, box, len(first.trace)))
    return box, replace(found, status=status, searched=np.column_stack([box.lower, box.upper]))


def _what_is_left(search: Search, found: Result) -> Search | None:
    """The same search with the steps and the time that it has not used; None where it used all."""
    again = copy(search)
    if again.max_iter is not None:
        again.max_iter -= len(found.trace)
    if again.time_budget is not None:
        again.time_budget -= found.seconds
    steps = again.max_iter is None or again.max_iter >= 1
    time = again.time_budget is None or again.time_budget > 0.0
    return again if steps and time else None


def _part_beyond(box: Box, wider: Box) -> Box:
    lower = wider.lower[0] < box.lower[0]
    return Box(wider.lower, box.lower) if lower else Box(box.upper, wider.upper)


def _joined(first: Result, then: Result) -> Result:
    """Both as one search; the lower value is what it found."""
    steps = len(first.trace)
    trace = first.trace + tuple(
        replace(
            step,
            k=steps + step.k,
            cost=first.cost + step.cost,
            seconds=first.seconds + step.seconds,
        )
        for step in then.trace
    )
    known = np.isfinite(then.evaluation.f_error)
    better = then if known and then.value <= first.value else first
    return replace(
        better,
        trace=trace,
        cost=first.cost + then.cost,
        seconds=first.seconds + then.seconds,
    )


def _told(given: Box, box: Box, steps: int) -> str:
    if box.size > 1:
        return f"Bounds were moved after {steps} steps, where the loss still fell beyond them."
    lower = box.lower[0] < given.lower[0]
    side, bound = ("lower", given.lower[0]) if lower else ("upper", given.upper[0])
    return f"Its {side} bound was moved from {bound:.4g}, where the loss still fell."
