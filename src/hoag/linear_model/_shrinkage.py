"""How far several penalties are drawn to their mean, and how the data say so.

    min over λ of f(λ) + ½τ(f₀/n) Σⱼ(λⱼ − λ̄)²

f₀ is the loss of the best shared penalty and n the number of rows that it judges: a penalty that is
off the mean by one costs as much as half the loss of τ rows. τ = 0 leaves all penalties free, and
τ = ∞ is one for all.

What f itself says of τ misled on some data, and so did some folds judging others (docs/notes):
rows that are held out in one fold train in all others, so that a penalty that is fitted to how some
rows happen to agree with the rest may do well on the rest, too. So τ is judged on rows that had no
part in tuning: rows are put aside, λ(τ) is tuned on the others by the same criterion, and the fit
of the others at λ(τ) is judged on those that were put aside; and each row is so once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold

from hoag._core.domain import Box
from hoag._core.errors import InvalidParameterError, SingularProblemError
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Result, Status
from hoag._criteria.base import Criterion, Traits
from hoag._criteria.wrapped import Affine, Loads, Shrunk
from hoag.linear_model._tuning import Tuning
from hoag.optimize import Auto, Search
from hoag.optimize._asks import ACCURACY, Evaluate, Steps
from hoag.optimize._checkpoint import current
from hoag.optimize._run import Run
from hoag.optimize._separable import Onward

Rows = npt.NDArray[np.intp]
Splits = Sequence[tuple[Any, Any]]

ONE_SERVES = "one penalty serves as well"


def check_shrink(shrink: Any) -> None:
    if shrink is None or (isinstance(shrink, str) and shrink == "auto"):
        return
    number = isinstance(shrink, Real) and not isinstance(shrink, bool)
    if not (number and float(shrink) >= 0):
        raise InvalidParameterError.of(
            "shrink", shrink, "give a number, 0 or more, 'auto', or None, which is 0."
        )


class Stay(Search):
    """One evaluation, where another search has ended, with its status."""

    by_steps = False

    def __init__(self, status: Status, eps: float, tol: float) -> None:
        self.status, self.eps, self.tol = status, eps, tol
        self.accuracy = tol

    def steps(self, domain: Box, lam0: Array, traits: Traits) -> Steps:
        yield Evaluate(lam0, Ask(self.eps, hessian=traits.has_hessian))
        return self.status


@dataclass(frozen=True, eq=False)
class Shared:
    """The best λ that is the same for all penalties, f there, and the search that found it."""

    lam: Array
    result: Result

    @staticmethod
    def of(criterion: Criterion, box: Box, search: Auto) -> Shared:
        alike = np.ones(box.size)
        line, loads = box.line(alike), Loads(alike[:, None], box.lower, box.upper)
        one = Affine(criterion, loads) if criterion.shared is None else criterion.shared()
        found = search.minimize(one, line, line.project(np.zeros(1)), certificate="none")
        return Shared(box.project(np.full(box.size, found.lam[0])), found)

    def unit(self, rows: int) -> float:
        """f₀/n."""
        return abs(self.result.value) / rows


@dataclass(frozen=True, eq=False)
class Choice:
    """τ, in a sentence, and what it cost to choose it."""

    tau: float
    sentence: str
    cost: Cost


class Part:
    """Some rows put aside: a task on the others, and one that judges their fit on these."""

    def __init__(self, tuned: Tuning, judged: Tuning, box: Box, rows: int, search: Auto) -> None:
        self.tuned, self.judged, self.box = tuned, judged, box
        self.shared = Shared.of(tuned.criterion, box, search)
        self.unit, self.lam = self.shared.unit(rows), self.shared.lam
        self.cost, self._warm, self._eps = self.shared.result.cost, None, np.inf

    def lost(self, tau: float, search: Onward) -> Array:
        """What the rows put aside lose at λ(τ), which is tuned from the last one on."""
        if np.isfinite(tau):
            shrunk = Shrunk(self.tuned.criterion, tau * self.unit)
            found = search.minimize(shrunk, self.box, self.lam, certificate="none")
            self.lam, self.cost = found.lam, self.cost + found.cost
        criterion = self.judged.criterion
        goal = search.tol * abs(self.shared.result.value)
        seen = criterion.value(self.lam, goal, self._warm)
        known = criterion.verify(seen, goal)
        self._warm, self.cost = seen.warm, self.cost + seen.cost + known.cost
        x, spent = criterion.solution(known)
        self.cost, each = self.cost + spent, self.judged.fits.losses(x)
        return np.array([known.value]) if each is None else each


def put_aside(
    splits: Splits | None, y: Any, stratified: bool, parts: int = 5
) -> Iterator[tuple[Rows, Splits | None]]:
    """Rows to put aside, and what the splits are of the others; each row at most once.

    Folds that hold out no row twice are put aside as they are, so that groups stay together; where
    there are fewer than `parts`, or none, thirds of the rows, drawn at random. Without splits the
    others are all that is left.
    """
    n = len(y)
    tests = [] if splits is None else [np.asarray(test) for _, test in splits]
    times = np.bincount(np.concatenate(tests), minlength=n) if tests else np.zeros(n)
    if len(tests) >= parts and times.max() == 1:
        aside = [np.concatenate(tests[k::parts]) for k in range(parts)]
    else:
        kind = StratifiedKFold if stratified and _frequent(y) else KFold
        draw = kind(3, shuffle=True, random_state=0)
        aside = [test for _, test in draw.split(np.zeros(n), y if stratified else None)]
    for rows in aside:
        if splits is None:
            yield rows, None
            continue
        left = [(np.setdiff1d(a, rows), np.setdiff1d(b, rows)) for a, b in splits]
        yield rows, [(a, b) for a, b in left if a.size and b.size]


def _frequent(y: Any) -> bool:
    """Whether y is classes, and every one has a row for each third."""
    return np.ndim(y) == 1 and int(np.unique(y, return_counts=True)[1].min()) >= 3


def chosen(parts: Sequence[Part], search: Onward, deadline: float, taus: Sequence[float]) -> Choice:
    """The τ with the least loss on rows put aside, if it is below that of one penalty for all.

    By more than its standard error over rows, that is. τ falls, and each tuning goes on from the
    last; it ends where the loss is above the least by twice the standard error of that.
    """
    known: dict[float, Array] = {}
    for tau in (np.inf, *taus) if parts else ():
        checkpoint = current()
        stopped = checkpoint is not None and checkpoint.interrupted
        if known and (stopped or time.perf_counter() >= deadline):
            break
        try:
            each = np.concatenate([part.lost(tau, search) for part in parts])
        except SingularProblemError:
            break
        if not np.all(np.isfinite(each)):
            break
        known[tau] = each
        least = min(known.values(), key=np.sum)
        above, error = _gain(each, least)
        if above > 2 * error:
            break
    one = known.get(np.inf)
    cost = sum((part.cost for part in parts), Cost())
    if one is None:
        why = f"By shrink='auto' {ONE_SERVES}: no loss could be computed on rows put aside."
        return Choice(np.inf, why, cost)
    tau, best = min(known.items(), key=lambda pair: float(np.sum(pair[1])))
    gain, error = _gain(one, best)
    total = float(np.sum(one)) or 1.0
    if tau == np.inf or gain <= error:
        told = "none of theirs lowers the loss"
        if tau < np.inf:
            told = (
                f"penalties of their own lower the loss by {gain / total:.2%} ± {error / total:.2%}"
            )
        why = f"By shrink='auto' {ONE_SERVES}: on rows put aside {told}."
        return Choice(np.inf, why, cost)
    why = (
        f"By shrink='auto' the penalties are drawn to their mean with {tau:g}: on rows put aside "
        f"this lowers the loss of one for all by {gain / total:.2%} ± {error / total:.2%}."
    )
    return Choice(tau, why, cost)


def _gain(one: Array, other: Array) -> tuple[float, float]:
    """By how much the other's losses are lower in sum, and the standard error of that."""
    gains = one - other
    if gains.size < 2:
        return float(gains.sum()), 0.0
    return float(gains.sum()), float(np.sqrt(gains.size) * gains.std(ddof=1))


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """A search with penalties drawn to their mean: what is tuned, judged, minimised and told.

    whole    the task on all rows
    rows     how many it judges
    search   the one that was asked for, or the default one
    alone    what one penalty for all is tuned to where there is no other; None if not known
    """

    whole: Tuning
    rows: int
    search: Search
    tol: float
    max_iter: int
    alone: Callable[[], Shared | None]

    # From hardly apart to hardly drawn together.
    taus: tuple[float, ...] = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)

    def run(
        self, shrink: Any, parts: Callable[[Auto], Iterator[Part]], on_step: Any
    ) -> tuple[Tuning, Result, float]:
        """The task with what is minimised, the result, and τ; `parts` are for choosing it."""
        start, box = time.perf_counter(), self.whole.box
        budget = self.search.time_budget
        rough = Auto(self._rough, self.max_iter, budget)
        one = Shared.of(self.whole.criterion, box, rough)
        choice = Choice(np.inf if shrink == "auto" else float(shrink), "", Cost())
        if shrink == "auto":
            # Half of the time, if that is limited, is for what follows.
            left = None if budget is None else budget / 2
            each = None if left is None else left / (2 * len(self.taus))
            aside = list(parts(Auto(self._rough, self.max_iter, each)))
            onward = Onward(self._rough, self.max_iter, each)
            choice = chosen(aside, onward, start + (np.inf if left is None else left), self.taus)
        elif choice.tau == np.inf:
            choice = replace(choice, sentence="shrink=inf: one penalty for all.")
        spent = one.result.cost + choice.cost
        seconds = time.perf_counter() - start
        tuning, result = self._final(one, choice.tau, seconds, on_step)
        status = result.status.noted(choice.sentence)
        return (
            tuning,
            replace(
                result,
                status=status,
                cost=result.cost + spent,
                seconds=result.seconds + seconds,
            ),
            choice.tau,
        )

    @property
    def _rough(self) -> float:
        """To what share of itself f is minimised where τ are compared."""
        return max(self.tol, ACCURACY)

    def _final(
        self, one: Shared, tau: float, seconds: float, on_step: Any
    ) -> tuple[Tuning, Result]:
        tuning, box = self.whole, self.whole.box
        search = copy(self.search)
        if search.time_budget is not None:
            search.time_budget = max(search.time_budget - seconds, 0.0)
        if tau == np.inf:
            one = self.alone() or one
            box = Box(np.minimum(box.lower, one.lam - 1.0), np.maximum(box.upper, one.lam + 1.0))
            tuning = replace(tuning, box=box)
            stay = Stay(one.result.status, self.tol * abs(one.result.value), self.tol)
            run = Run(tuning.criterion, on_step, search.time_budget, search.certificate)
            return tuning, run.drive(stay, box, one.lam)
        if isinstance(search, Auto) and search.starts == "auto":
            search.starts = 1
        if tau > 0:
            shrunk = Shrunk(tuning.criterion, tau * one.unit(self.rows))
            tuning = replace(tuning, criterion=shrunk, shrunk=shrunk)
        found = search.minimize(tuning.criterion, box, one.lam, on_step)
        return tuning, found
