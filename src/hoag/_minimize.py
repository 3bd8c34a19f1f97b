"""`hoag.minimize`: from a problem to a result in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Domain
from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Result, Step
from hoag._core.types import Bounds, Path, ProblemLike, PyTree
from hoag._criteria.base import Criterion
from hoag._criteria.select import plan
from hoag.autodiff._derivatives import Derived
from hoag.domains import adopt
from hoag.optimize import Auto, Search
from hoag.optimize._checkpoint import kept, told
from hoag.optimize._fingerprint import of_problem
from hoag.optimize._run import OnStep
from hoag.problems import Problem


def minimize(
    problem: ProblemLike | Criterion | Sequence[ProblemLike | Criterion],
    lam0: PyTree = None,
    bounds: Bounds | None = None,
    search: Search | None = None,
    callback: OnStep | None = None,
    certificate: str | None = None,
    checkpoint: Path | None = None,
) -> Result:
    """min over λ in D of f(λ) = g(X(λ), λ), where X(λ) = argmin over x of h(x, λ).

    The loss that is returned is computed once more at the λ chosen, outside whatever approximation
    the search went by, and counted.

    Parameters
    ----------
    problem : Problem, sequence of Problem, or Criterion
        A problem (see `hoag.problems.Problem`), a list of them whose f are added (folds), or a
        criterion such as `hoag.criteria.Implicit(problem, corrected=True)`.
    lam0 : float, array-like or structure, default=None
        Where to start; a number stands for every hyperparameter, None is `problem.lam0`.
    bounds : pair, Box, domain or structure, default=None
        (lower, upper), each a number or an array; a `hoag.Box`; another domain, such as
        `hoag.domains.Simplex()`, or any object with `project(lam)`, the nearest point of a closed
        convex set. Where λ is a structure of the user's own, lower and upper may be structures like
        it; or `bounds` is one with a pair or a domain for each leaf, or for all below it. None is
        (−12, 12).
    search : Search, default=None
        How to search, and when to stop; None is `hoag.optimize.Auto()`. `Auto(tol=1e-6)` goes on
        until a millionth of the loss is all that can be gained; `hoag.optimize.Hoag()` is the
        algorithm of the paper.
    callback : callable, default=None
        Called with every `hoag.optimize.Step`; return True to stop.
    certificate : {"auto", "none", "estimate", "bound"}, default=None
        None is that of the search, "auto" unless it says so. "auto" measures the error of the
        gradient that is returned where that costs at most a fifth of the run, "none" does not,
        "estimate" does in any case, and "bound" adds a rigorous bound on it, where the problem
        knows one.
    checkpoint : str or path, default=None
        A file in which the search is kept while it runs. Killed at any instant and called again it
        goes on from there, to the same result bit by bit; once it has ended, it is read from the
        file. Ctrl-C then returns the best so far.

    Returns
    -------
    Result
        λ, x, the loss and its gradient, why the search ended, and its trace.

    Raises
    ------
    InvalidParameterError
        Where an argument cannot be used.
    SingularProblemError
        Where the inner problem has no solution at some λ of the domain.

    See Also
    --------
    plan : Which criterion is minimised.
    explain : Why it is this one, in sentences.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = hoag.models.folds(hoag.models.ridge, X, y, cv=5, intercept=True)
    >>> result = hoag.minimize(folds)
    >>> print(f"λ = {result.lam[0]:.2f}, mean held-out error {result.value / len(y):.0f}")
    λ = -7.64, mean held-out error 2993
    """
    search = Auto() if search is None else search
    if not isinstance(search, Search):
        raise InvalidParameterError.of(
            "search", search, "give an instance, such as hoag.optimize.Hoag()."
        )
    certificate = certificate or search.certificate
    criterion = plan(_in_units(problem, bounds), by_steps=search.by_steps, certificate=certificate)
    about = criterion.stands_on
    view = None if about is None else about.layout
    start = _start(criterion, lam0 if lam0 is None or view is None else view.moved(lam0, "lam0"))
    if view is not None:
        domain = view.domain(bounds)
    else:
        domain = adopt((-12.0, 12.0) if bounds is None else bounds, start.size)
    _check_inside(start, domain)
    on_step = callback
    if callback is not None and view is not None:
        on_step = partial(_as_given, callback, view)
    settings = {"search": search, "bounds": domain, "lam0": start, "certificate": certificate}
    with kept(checkpoint, lambda: of_problem(problem, settings)) as file:
        found = search.minimize(criterion, domain, domain.project(start), on_step, certificate)
        found = told(file, found)
    if view is not None and about is not None:
        found = _handed_out(found, about)
    return found.worded()


def _in_units(problem: Any, bounds: Any) -> Any:
    """Users' own problems, where their λ is linear and its bounds far apart in units of these."""
    if isinstance(problem, (list, tuple)):
        views = [one.layout for one in problem if isinstance(one, Derived)]
        for k, view in enumerate(views[1:], start=2):
            if not view.alike(views[0]):
                raise InvalidParameterError(
                    f"Problem {k} of the list has other hyperparameters than the first: names, "
                    "shapes and scales of lam must be the same in all of them.",
                    "problem",
                    where=f"problem {k}",
                )
        return [_in_units(one, bounds) for one in problem]
    return problem.in_units_of(bounds) if isinstance(problem, Derived) else problem


def _check_inside(start: Array, domain: Domain) -> None:
    if domain.contains(start):
        return
    if domain.as_box() is not None:
        sides = domain.sides(start.size)
        j = int(np.flatnonzero((start < sides[0]) | (start > sides[1]))[0])
        lower, upper = (domain.shown(end)[j] for end in sides)
        raise InvalidParameterError(
            f"{domain.told(start, j, 'lam0')} lies outside the bounds [{lower:g}, {upper:g}].\n"
            "Start inside the box, or widen it with bounds=(lower, upper).",
            "lam0",
            start[j],
        )
    here, near = (np.array2string(lam, threshold=6) for lam in (start, domain.project(start)))
    raise InvalidParameterError(
        f"lam0 = {here} lies outside {domain!r}.\nStart inside with lam0=…: the nearest point is "
        f"{near}.",
        "lam0",
        start,
    )


def _as_given(callback: OnStep, view: Any, step: Step) -> bool | None:
    """The callback of somebody whose λ have a structure of their own."""
    return callback(replace(step, layout=view))


def _handed_out(found: Result, problem: Problem) -> Result:
    """λ, x and the trace as the user's problem has them."""
    view, status = problem.layout, found.status
    if status.converged and found.evaluation.lam.size > 1:
        status = status.noted(
            "That is judged by the slope and the curvature where the search ended; to look for a "
            "lower minimum elsewhere in the bounds, start from another lam0."
        )
    if problem.facts is not None and not problem.facts.convex:
        status = status.noted(
            "h is not convex: the loss, its gradient and their errors are those of the minimum of "
            "h in which the inner solver ended; others are not looked for."
        )
    return replace(
        found,
        status=status,
        layout=view,
        names=view.names,
        unit=problem.unit,
        trace=tuple(replace(step, layout=view) for step in found.trace),
    )


def _start(criterion: Criterion, lam0: npt.ArrayLike | None) -> Array:
    default = np.array(criterion.lam0, dtype=float)
    start = default if lam0 is None else np.array(lam0, dtype=float)
    if start.ndim == 0:
        start = np.full(default.size, float(start))
    if start.shape != default.shape:
        raise InvalidParameterError(
            f"lam0 has shape {start.shape}; the problem has {default.size} hyperparameters.",
            "lam0",
            start,
        )
    if not np.all(np.isfinite(start)):
        raise InvalidParameterError(
            f"lam0[{int(np.flatnonzero(~np.isfinite(start))[0])}] is not finite.", "lam0", start
        )
    return start
