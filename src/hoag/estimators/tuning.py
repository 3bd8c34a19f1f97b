"""From a criterion in the library's units to a result in the user's."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hoag.criterion import Criterion, Implicit, Sum, for_search
from hoag.estimators.callbacks import HAS_CALLBACKS
from hoag.inner import InnerSolver
from hoag.linear import LinearSolver
from hoag.problem import Problem
from hoag.search.scout import scout
from hoag.values import (
    Array,
    Box,
    Cost,
    Evaluation,
    InnerProblemError,
    Result,
    Solve,
    Step,
)

# Statuses that the user asked for: no warning.
ASKED = ("converged", "callback", "finished")

# The tolerance at which places to start are compared.
SCOUT_EPS = 1e-3

# f is probed this far from its minimum for its curvature, in λ.
PROBE = 0.3
# An interval that reaches much further is looked at, with this tolerance, and halved at most so
# often.
VERIFY_EPS, HALVINGS = 1e-3, 12
# Past so many hyperparameters they are not probed one by one, but moved together.
MOST_PROBES = 8


# How far a warning is from the line that called fit: warn_about, _tune, fit, and a wrapper.
LEVEL = 5 if HAS_CALLBACKS else 4


@dataclass(frozen=True, eq=False)
class Task:
    """A criterion, where to look, and how its value and its solutions read outside.

    The mean loss of a held-out row is `per_row` times the criterion. `models` makes the fitted
    attributes of each fold from the x of an evaluation, `refit` those of the model on all rows.
    `predictions`, for a criterion without folds, is λ ↦ rows and their predictions held out.
    """

    criterion: Criterion
    box: Box
    start: Array
    per_row: float
    models: Callable[[Any], list[dict[str, Any]]]
    refit: Callable[[Result], dict[str, Any]]
    predictions: Callable[[Array], tuple[Any, Array]] | None = None
    scouts: Array | None = None  # where to look before the search, when that is cheap; (m, s)
    spent: Cost = field(default_factory=Cost)  # before the search

    def averaged(self, x: Any) -> dict[str, Any]:
        """The mean of the folds' models: what stands in where there is no fit on all rows."""
        models = self.models(x)
        return {name: np.mean([m[name] for m in models], axis=0) for name in models[0]}


def cross_validated(
    problems: Sequence[Problem],
    inner: InnerSolver,
    linear: LinearSolver,
    n_jobs: int | None,
    fast: bool,
    wrap: Callable[[Implicit], Criterion] = lambda implicit: implicit,
) -> Criterion:
    """Σ over the folds, as the default search wants them, or with refined gradients for any other.

    A search of a few long steps gains nothing from the secant of its solutions, and does without
    the memory for it.
    """

    def part(problem: Problem) -> Implicit:
        if fast:
            return for_search(problem, inner, linear, extrapolate=False)
        return Implicit(problem, inner, linear, corrected=True, bound=False, extrapolate=False)

    return Sum([wrap(part(problem)) for problem in problems], n_jobs)


def scouted(task: Task) -> Task:
    """The task with the best of a few places to start: f may have several minima.

    Only values are computed, from strong to weak penalties, each from the last; on a sample of the
    rows where the criterion can be made of one.
    """
    if getattr(task.criterion, "rows", None) is not None:
        start, spent = scout(task.criterion, task.box, task.start)
        return replace(task, start=start, spent=spent)
    if task.scouts is None or np.all(task.box.lower == task.box.upper):
        return task
    places = np.unique([task.box.project(lam) for lam in task.scouts], axis=0)[::-1]
    found, cost, warm = [], Cost(), None
    for lam in places:
        try:
            evaluation = task.criterion.value(lam, SCOUT_EPS, warm)
        except InnerProblemError:
            found.append(np.inf)
            continue
        cost, warm = cost + evaluation.cost, evaluation.warm
        found.append(evaluation.value if np.isfinite(evaluation.value) else np.inf)
    return replace(task, start=places[int(np.argmin(found))], spent=cost)


def translated(value: Any, task: Task) -> Any:
    """An evaluation, a step or a result in the user's units; solutions stay behind."""
    if isinstance(value, Evaluation):
        return replace(
            value,
            value=task.per_row * value.value,
            corrected=task.per_row * value.corrected,
            grad=task.per_row * value.grad,
            correction=None if value.correction is None else task.per_row * value.correction,
            error=task.per_row * value.error,
            bound=task.per_row * value.bound,
            x=None,
            warm=None,
        )
    if isinstance(value, Step):
        evaluation = translated(value.evaluation, task)
        return replace(value, evaluation=evaluation, cost=value.cost + task.spent)
    if isinstance(value, Result):
        trace = tuple(translated(step, task) for step in value.trace)
        return replace(value, evaluation=translated(value.evaluation, task), trace=trace)
    raise TypeError(type(value))


def close(task: Task, result: Result, tol: float) -> tuple[Result, Array]:
    """The result with a rigorous bound at its λ, and where f stays within `tol`; both counted.

    A rigorous bound may cost more than the evaluation it is for, so it is asked for once.
    """
    best, last, start = result.evaluation, result.trace[-1], time.perf_counter()
    spent = last.cost
    looks = getattr(task.criterion, "free_looks", False)
    try:
        if hasattr(task.criterion, "certified") and not np.isfinite(best.bound):
            best = task.criterion.certified(best)
            spent = spent + best.cost
        curvature, cost = _curvatures(task, best, np.inf if looks else last.eps)
        ends = _interval(task, best, curvature, tol)
        ends, looked = _verified(task, best, ends, tol)
    except InnerProblemError:
        return result, np.full((best.lam.size, 2), np.nan)
    seconds = last.seconds + time.perf_counter() - start
    step = Step(last.k + 1, last.eps, best, spent + cost + looked, seconds)
    return replace(result, evaluation=best, trace=(*result.trace, step)), ends


def _interval(task: Task, best: Evaluation, curvature: Array, tol: float) -> Array:
    """Where f + t·slope + ½ t²·curvature is at most (1 + tol) f, within the box; (s, 2)."""
    room, curvature = tol * abs(best.corrected), np.maximum(curvature, 0.0)
    along = best.grad if best.lam.size <= MOST_PROBES else np.full(best.lam.size, best.grad.sum())
    ends = []
    for side in (-1.0, 1.0):
        slope = side * along
        with np.errstate(divide="ignore", invalid="ignore"):
            # the positive root of ½ct² + slope·t = room, written so that c = 0 is no exception
            reach = 2 * room / (slope + np.sqrt(slope**2 + 2 * curvature * room))
        reach = np.where(np.isfinite(reach) & (reach >= 0), reach, np.inf)
        ends.append(task.box.project(best.lam + side * reach))
    return np.stack(ends, axis=1)


def _verified(task: Task, best: Evaluation, ends: Array, tol: float) -> tuple[Array, Cost]:
    """The ends with those drawn nearer that the curvature put too far, and what looking cost.

    A parabola from one probe is no guide far beyond it: there f itself is looked at, and the way
    halved while it is higher than it should be.
    """
    ends, cost = ends.copy(), Cost()
    eps = np.inf if getattr(task.criterion, "free_looks", False) else VERIFY_EPS
    if best.lam.size > MOST_PROBES:  # moved together, so no end is one λ's own
        return ends, cost
    for j, side in np.ndindex(*ends.shape):
        reach = ends[j, side] - best.lam[j]
        for _ in range(HALVINGS):
            if abs(reach) <= 2 * PROBE:
                break
            lam = best.lam.copy()
            lam[j] += reach
            there = task.criterion.value(lam, eps, best.warm)
            cost = cost + there.cost
            if there.value <= (1 + 2 * tol) * best.corrected:
                break
            reach /= 2
        ends[j, side] = best.lam[j] + reach
    return ends, cost


def _curvatures(task: Task, best: Evaluation, eps: float) -> tuple[Array, Cost]:
    """dᵀ∇²f d from differences of the gradient a little further on, and what they cost.

    Few hyperparameters are moved one by one, d = eⱼ; many all together, d = (1, …, 1).
    """
    size = best.lam.size
    found, cost = [], Cost()
    for d in np.eye(size) if size <= MOST_PROBES else np.ones((1, size)):
        outside = np.any(d * (best.lam + PROBE) > d * task.box.upper)
        lam = task.box.project(best.lam + (-PROBE if outside else PROBE) * d)
        moved = float(d @ (lam - best.lam)) / float(d @ d)
        if moved == 0.0:
            found.append(0.0)
            continue
        there = task.criterion.evaluate(lam, eps, best.warm)
        cost = cost + there.cost
        found.append(float(d @ (there.grad - best.grad)) / moved)
    return np.broadcast_to(found, (size,)).astype(float), cost


def warn_about(task: Task, result: Result, tol: float, given: str) -> None:
    """Say that the search did not converge, or which bound it ran into.

    A bound from the data is no news where moving on would gain less than `tol`; one that somebody
    gave always is.
    """
    if result.status.reason not in ASKED:
        more = " Raise max_iter or tol." if result.status.reason == "max_iter" else ""
        warnings.warn(f"{result.status}{more}", ConvergenceWarning, stacklevel=LEVEL)
    best, box = result.evaluation, task.box
    worth = 0.0 if given else tol * abs(best.corrected)
    low = np.flatnonzero((best.lam <= box.lower) & (best.grad > worth))
    high = np.flatnonzero((best.lam >= box.upper) & (best.grad < -worth))
    at = [(j, "lower") for j in low] + [(j, "upper") for j in high]
    if not at or np.all(box.lower == box.upper):
        return
    j, side = at[0]
    others = f" (and {len(at) - 1} more of {best.lam.size})" if len(at) > 1 else ""
    extreme = {"lower": "smallest", "upper": "largest"}
    if given == "Cs":  # λ = −log C
        extreme = {"lower": "largest", "upper": "smallest"}
    if given in ("Cs", "alphas"):
        value = np.exp(-best.lam[j] if given == "Cs" else best.lam[j])
        where = f"{given[:-1]} = {value:.4g}, the {extreme[side]} of {given}, is chosen{others}"
    else:
        where = f"lam_[{j}] = {best.lam[j]:.4g} is on its {side} bound{others}"
    direction = {"smallest": "smaller", "largest": "larger"}[extreme[side]]
    advice = f"widen {given}" if given else "give bounds=(lower, upper), in log units"
    warnings.warn(
        f"{where}, and the held-out loss still falls beyond it: the best value is {direction}. "
        f"To look there, {advice}.",
        UserWarning,
        stacklevel=LEVEL,
    )


def warn_refit(solve: Solve) -> None:
    if not solve.converged:
        warnings.warn(
            f"The last fit, on all rows, stopped ({solve.reason}) at ‖∇h‖ = {solve.residual:.1e} "
            f"after {solve.iterations} iterations: the coefficients may be inexact.",
            ConvergenceWarning,
            stacklevel=LEVEL + 1,
        )
