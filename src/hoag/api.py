"""`hoag.minimize`: from a problem to a result in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.criteria.base import Criterion
from hoag.criteria.plan import plan
from hoag.domains import adopt
from hoag.search import Fast, Search
from hoag.search.run import OnStep
from hoag.values import Array, Box, Domain, InvalidInput, Result


def minimize(
    problem: Any,
    lam0: npt.ArrayLike | None = None,
    bounds: Any = (-12.0, 12.0),
    search: Any = None,
    callback: OnStep | None = None,
    certificate: str = "auto",
) -> Result:
    """min over λ in D of f(λ) = g(X(λ), λ), where X(λ) = argmin over x of h(x, λ).

    problem   a problem (see hoag.problems.Problem), a list of them whose f are added (folds), or a
              criterion such as hoag.Implicit(problem, inner=..., corrected=True)
    lam0      where to start; a number stands for every hyperparameter; default: problem.lam0
    bounds    a pair (lower, upper) of numbers or arrays, or a Box; or another domain, such as
              hoag.domains.Simplex(), or any object with project(lam), the nearest point of a
              closed convex set
    search    how to search, and when to stop; default: hoag.search.Fast(). Fast(tol=1e-6) goes on
              until a millionth of the loss is all that can be gained; hoag.search.Hoag() is the
              algorithm of the paper
    callback  called with every Step; return True to stop
    certificate  "auto": the error of the gradient that is returned, where measuring it costs at
              most a fifth of the run; "none"; "estimate": in any case; "bound": and a rigorous
              bound on it, where the problem knows one

    The loss that is returned is computed once more at the λ chosen, outside whatever approximation
    the search went by, and counted.

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = hoag.models.folds(hoag.models.ridge, X, y, cv=5, intercept=True)
    >>> result = hoag.minimize(folds)
    >>> print(f"λ = {result.lam[0]:.2f}, mean held-out error {result.value / len(y):.0f}")
    λ = -7.64, mean held-out error 2993
    """
    search = Fast() if search is None else search
    if not isinstance(search, Search):
        raise InvalidInput(f"search={search!r}: give an instance, such as hoag.search.Hoag().")
    criterion = plan(problem, by_steps=search.by_steps, certificate=certificate)
    start = _start(criterion, lam0)
    domain = adopt(bounds, start.size)
    _check_inside(start, domain)
    return search.minimize(criterion, domain, domain.project(start), callback, certificate)


def _check_inside(start: Array, domain: Domain) -> None:
    if domain.contains(start):
        return
    if isinstance(domain, Box):
        j = int(np.flatnonzero((start < domain.lower) | (start > domain.upper))[0])
        raise InvalidInput(
            f"lam0[{j}] = {start[j]:g} lies outside the bounds [{domain.lower[j]:g}, "
            f"{domain.upper[j]:g}]. Start inside the box, or widen it with bounds=(lower, upper)."
        )
    here, near = (np.array2string(lam, threshold=6) for lam in (start, domain.project(start)))
    raise InvalidInput(
        f"lam0 = {here} lies outside {domain!r}. Start inside with lam0=…: the nearest point is "
        f"{near}."
    )


def _start(criterion: Criterion, lam0: npt.ArrayLike | None) -> Array:
    default = np.array(criterion.lam0, dtype=float)
    start = default if lam0 is None else np.array(lam0, dtype=float)
    if start.ndim == 0:
        start = np.full(default.size, float(start))
    if start.shape != default.shape:
        raise InvalidInput(
            f"lam0 has shape {start.shape}; the problem has {default.size} hyperparameters."
        )
    if not np.all(np.isfinite(start)):
        raise InvalidInput(f"lam0[{int(np.flatnonzero(~np.isfinite(start))[0])}] is not finite.")
    return start
