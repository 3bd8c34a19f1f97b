"""What an estimator hands to a search, and how a result reads in the user's units."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Result, Solve, Step
from hoag._criteria.base import Criterion
from hoag._criteria.marginal import Link
from hoag.linear_model._callbacks import HAS_CALLBACKS
from hoag.linear_model._sharing import Shares

# Statuses that the user asked for: no warning.
ASKED = ("converged", "callback", "finished")

# How far a warning is from the line that called fit: warn_about, _tune, fit, and a wrapper.
LEVEL = 5 if HAS_CALLBACKS else 4


@dataclass(frozen=True, eq=False)
class Grid:
    """Values that somebody gave, by scikit-learn's name for them, and the λ that they are.

    They bound those λ that `part` says.
    """

    name: str
    values: Array
    lam: Array
    part: slice = field(default_factory=lambda: slice(None))


@dataclass(frozen=True, eq=False)
class Task:
    """A criterion, where to look, and how its value and its solutions read outside.

    The mean loss of a held-out row is `per_row` times the criterion. `models` makes the fitted
    attributes of each fold from the x of an evaluation, `refit` those of the model on all rows,
    with what that fit cost. `judged` is the weight of the held-out rows of each fold, or of each
    row left out; `stronger` the direction in which all penalties grow. `predictions`, for a
    criterion without folds, is λ ↦ rows and their predictions held out; `groups`, for a linear
    model, which coefficients share a penalty. `log_of` is n where the criterion is exp(c/n) and c
    is what is told, or with `softly` log(1 + exp(c/n)); `degrees`, of an evaluation, how many
    coefficients its fit is worth. `lost` is what every row that is held out loses at the x of an
    evaluation; `plain` takes off an evaluation what was added to the criterion for the search.
    """

    criterion: Criterion
    box: Box
    start: Array
    per_row: float
    models: Callable[[Any], list[dict[str, Any]]]
    refit: Callable[[Result], tuple[dict[str, Any], Cost]]
    judged: Array
    stronger: Array
    predictions: Callable[[Array], tuple[Any, Array]] | None = None
    groups: Shares | None = None
    log_of: float | None = None
    softly: bool = False
    degrees: Callable[[Evaluation], float] | None = None
    lost: Callable[[Any], Array] | None = None
    plain: Callable[[Evaluation], Evaluation] | None = None

    def told(self, value: float) -> float:
        """A value of the criterion as it reads outside."""
        own = self.per_row * value
        return own if self.log_of is None else self.log_of * Link.of(own, self.softly).value

    def told_error(self, found: Evaluation) -> float:
        """The error of a value, as it reads outside."""
        error = self.per_row * found.f_error
        if self.log_of is None:
            return error
        return self.log_of * Link.of(self.per_row * found.value, self.softly).slope * error

    def averaged(self, x: Any) -> dict[str, Any]:
        """The mean of the folds' models: what stands in where there is no fit on all rows."""
        models = self.models(x)
        return {name: np.mean([m[name] for m in models], axis=0) for name in models[0]}


def translated(value: Any, task: Task) -> Any:
    """An evaluation, a step or a result in the user's units; solutions stay behind."""
    if isinstance(value, Evaluation):
        if task.plain is not None:
            return translated(task.plain(value), replace(task, plain=None))
        if task.log_of is not None:
            return _as_logarithm(value, task)
        return replace(
            value,
            value=task.per_row * value.value,
            grad=task.per_row * value.grad,
            g=task.per_row * value.g,
            f_error=task.per_row * value.f_error,
            error=task.per_row * value.error,
            bound=task.per_row * value.bound,
            correction=None if value.correction is None else task.per_row * value.correction,
            hessian=None if value.hessian is None else task.per_row * value.hessian,
            folds=None if value.folds is None else task.per_row * value.folds,
            profile=None
            if value.profile is None
            else (value.profile[0], task.per_row * value.profile[1]),
            x=None,
            warm=None,
            tangents=_of_coefficients(value, task),
            parts=tuple(translated(replace(part, tangents=None), task) for part in value.parts),
        )
    if isinstance(value, Step):
        known = replace(value.evaluation, tangents=None)
        return replace(value, evaluation=translated(known, task))
    if isinstance(value, Result):
        trace = tuple(translated(step, task) for step in value.trace)
        return replace(value, evaluation=translated(value.evaluation, task), trace=trace)
    raise TypeError(type(value))


def _as_logarithm(found: Evaluation, task: Task) -> Evaluation:
    """c = n log f for an evaluation of f, with its derivatives and errors."""
    assert task.log_of is not None
    link = Link.of(task.per_row * found.value, task.softly)
    scale, bent = task.log_of * link.slope * task.per_row, None
    if found.hessian is not None:
        outer = task.per_row**2 * np.outer(found.grad, found.grad)
        bent = scale * found.hessian + task.log_of * link.second * outer
    return replace(
        found,
        value=task.told(found.value),
        grad=scale * found.grad,
        g=task.told(found.g),
        f_error=scale * found.f_error,
        error=scale * found.error,
        bound=scale * found.bound,
        correction=None,
        hessian=bent,
        folds=None,
        profile=None,
        x=None,
        warm=None,
        tangents=_of_coefficients(found, task),
        parts=(),
    )


def _of_coefficients(found: Evaluation, task: Task) -> Any:
    """d coef_/dλ of every fold, in the shape of coef_ and (s,), where tangents are known.

    The way from x to coef_ is affine: a tangent is the difference of what it makes of x + t and x.
    """
    if found.tangents is None or found.x is None:
        return None
    folds = isinstance(found.x, tuple)
    xs, ts = (part if folds else (part,) for part in (found.x, found.tangents))
    here, along = task.models(xs if folds else xs[0]), []
    for j in range(found.lam.size):
        moved = tuple(x + t[..., j] for x, t in zip(xs, ts, strict=True))
        there = task.models(moved if folds else moved[0])
        pairs = zip(there, here, strict=True)
        along.append([to["coef_"] - fro["coef_"] for to, fro in pairs])
    return tuple(np.stack(each, axis=-1) for each in zip(*along, strict=True))


def warn_about(
    task: Task,
    result: Result,
    grids: list[Grid],
    bounded: bool,
    names: Sequence[str] = (),
    what: str = "held-out loss",
) -> None:
    """Say that the search did not converge, or which bound it ran into.

    Only of bounds that somebody gave, as a grid or (`bounded`) as bounds: those that were made from
    the data have been moved as far as the loss falls.
    """
    if result.status.reason not in ASKED:
        warnings.warn(str(result.status), ConvergenceWarning, stacklevel=LEVEL)
    best, box = result.evaluation, task.box
    given: list[Grid | None] = [None] * best.lam.size
    for one in grids:
        given[one.part] = [one] * len(given[one.part])
    moves = np.array([bounded or grid is not None for grid in given]) & (box.lower < box.upper)
    if task.groups is not None:  # what side information does is bounded by the penalties' own box
        moves &= task.stronger > 0
    low = np.flatnonzero(moves & (best.lam <= box.lower) & (best.grad > 0.0))
    high = np.flatnonzero(moves & (best.lam >= box.upper) & (best.grad < 0.0))
    at = [(j, "lower") for j in low] + [(j, "upper") for j in high]
    if not at:
        return
    j, side = at[0]
    others = f" (and {len(at) - 1} more of {best.lam.size})" if len(at) > 1 else ""
    grid, larger = given[j], side == "upper"
    if grid is not None:
        value = grid.values[np.argmin(np.abs(grid.lam - best.lam[j]))]
        larger = bool(value == grid.values.max())
        extreme, name = "largest" if larger else "smallest", grid.name.removesuffix("s")
        where = f"{name} = {value:.4g}, the {extreme} of {grid.name}, is chosen{others}"
    else:
        called = f" ({names[int(j)]})" if len(names) > 1 else ""
        where = f"lam_[{j}] = {best.lam[j]:.4g}{called} is on its {side} bound{others}"
    warnings.warn(
        f"{where}, and the {what} still falls beyond it: the best value is "
        f"{'larger' if larger else 'smaller'}. To look there, widen "
        f"{grid.name if grid is not None else 'bounds'}.",
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
