"""The default search: λ tuned for about the price of one fit, by a portfolio of searches.

minimize   what is cheaper comes first, and the search of f begins at its minimum:
           a surrogate of f, with a minimum nearby   at the λ found
           f with one λ for all penalties            at λ·(1, …, 1), where f is evaluated first
           nothing                                   at lam0
           f = Σ_t f_t(λ_t) is searched part by part: see `separable`
steps      no box             projected quasi-Newton steps
           one λ              the root of p, after a scan of the box where values are cheap
           several, ∇²f       Newton steps; first on a sample of the rows, or by slopes
           several            quasi-Newton steps
           before the last two the whole box is surveyed on a sample of the rows, where there is one
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from hoag._core.domain import Box, Domain
from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.result import Evaluation, Result
from hoag._criteria.base import Criterion, Traits
from hoag.optimize import _newton as newton
from hoag.optimize import _quasi_newton as quasi_newton
from hoag.optimize import _root as root
from hoag.optimize._asks import ACCURACY, Steps, whole_number
from hoag.optimize._run import OnStep, Run, Search
from hoag.optimize._separable import Onward, SeparableSearch
from hoag.optimize._survey import lowest_of, survey


def check_starts(starts: Any) -> None:
    if starts != "auto" and not (isinstance(starts, Integral) and int(starts) >= 1):
        raise InvalidParameterError.of(
            "starts", starts, "give a whole number, at least one, or 'auto'."
        )


class Auto(Search):
    """min over λ in D of f(λ), by secants for one hyperparameter and quasi-Newton steps for more.

    The tolerance of each evaluation is what the next decision needs: the sign of the slope, a step,
    the end. Where a criterion can be evaluated on a sample of its rows, the whole box is scanned on
    one first. A domain that is no box is not: from lam0 on, steps go down within it.

    Parameters
    ----------
    tol : float, default=1e-4
        Stop when the loss can fall by no more than this share of itself, by its slope, the error of
        that slope, and the curvature.
    max_iter : int, default=100
        The most evaluations, times `starts`.
    time_budget : float, default=None
        Seconds; it ends evaluations, too.
    starts : int or "auto", default="auto"
        With several penalties whose ∇²f is known: so many descents, the first from the best shared
        penalty, the others from far above it, far below it and between. "auto" is three where f is
        exact and cheap and targets are tuned together, in max_iter evaluations; else one.
    certificate : {"auto", "none", "estimate", "bound"}, default="auto"
        Whether the error of the gradient at the end is measured: "auto", where that costs at most
        a fifth of the run; "bound" adds a rigorous bound.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> hoag.minimize(folds, search=hoag.optimize.Auto(tol=1e-6)).converged
    True
    """

    by_steps = False
    domains = Domain

    def __init__(
        self,
        tol: float = 1e-4,
        max_iter: int = 100,
        time_budget: float | None = None,
        starts: int | Literal["auto"] = "auto",
        certificate: Literal["auto", "none", "estimate", "bound"] = "auto",
    ) -> None:
        whole_number("max_iter", max_iter)
        check_starts(starts)
        if not tol > 0:
            raise InvalidParameterError.of("tol", tol, "it must be a positive number.")
        if time_budget is not None and not (isinstance(time_budget, Real) and time_budget >= 0):
            raise InvalidParameterError.of("time_budget", time_budget, "give seconds, or None.")
        if certificate not in ("auto", "none", "estimate", "bound"):
            raise InvalidParameterError.of(
                "certificate", certificate, "use 'auto', 'none', 'estimate' or 'bound'."
            )
        self.tol = self.accuracy = tol
        self.max_iter, self.time_budget, self.starts = max_iter, time_budget, starts
        self.certificate = certificate

    @property
    def _evaluations(self) -> int:
        """The most of all descents together."""
        return (self.max_iter or 1) * (1 if self.starts == "auto" else self.starts)

    @property
    def most_steps(self) -> int:
        """Where targets are searched one by one, a step is a part of them."""
        return max(SeparableSearch.batches, self._evaluations)

    # ---- what comes before f

    def minimize(
        self,
        criterion: Criterion,
        domain: Domain,
        lam0: Array,
        on_step: OnStep | None = None,
        certificate: str | None = None,
    ) -> Result:
        """From a cheaper optimum where the criterion has one: a surrogate, a shared penalty."""
        box, certificate = domain.as_box(), certificate or self.certificate
        if box is not None and criterion.separable:
            starts = 1 if self.starts == "auto" else self.starts
            part = Onward(self.tol, self._evaluations, starts=starts)
            parts = SeparableSearch(part, criterion, box, self.time_budget, certificate)
            return parts.run(on_step)
        before, start = (None, lam0) if box is None else self._begun(criterion, box, lam0)
        run = Run(criterion, on_step, self.time_budget, certificate, before=before)
        found = run.drive(self, domain, start)
        if before is None or criterion.surrogate is not None or not found.converged:
            return found
        gain = newton.little_gained(_by_fold(before.evaluation), _by_fold(found.evaluation))
        return replace(found, status=found.status.noted(gain))

    def _begun(self, criterion: Criterion, box: Box, lam0: Array) -> tuple[Result | None, Array]:
        """The minimum of a cheaper criterion, if there is one, and the λ to begin at."""
        limits = self.tol, self.max_iter or 1, self.time_budget
        if criterion.surrogate is not None:
            rough = Auto(*limits, self.starts)
            found = rough.minimize(criterion.surrogate(), box, lam0, None, "none")
            return found, box.project(found.lam)
        if criterion.shared is None:
            return None, lam0
        direction = newton.shared_direction(criterion.traits, box.size)
        line, one = box.line(direction), criterion.shared()
        found = Auto(*limits).minimize(one, line, line.project(np.zeros(1)), None, "none")
        return found, box.project(found.lam[0] * direction)

    # ---- f itself

    def steps(self, domain: Domain, lam0: Array, traits: Traits) -> Steps:
        """Those of the search that suits the traits of the criterion."""
        most = self.max_iter or 1
        if (box := domain.as_box()) is None:
            return (yield from quasi_newton.descend(domain, lam0, self.tol, most, traits.exact))
        if lam0.size == 1:
            return (yield from root.descend(box, lam0, self.tol, most, traits))
        lam = yield from survey(box, lam0, traits)
        if not traits.has_hessian:
            return (yield from quasi_newton.descend(box, lam, self.tol, most, traits.exact))
        rough, taken, starts = None, 0, self.starts
        if most > 1 and traits.sample is not None:
            # What is left to do on all rows is to go from the sample's λ to theirs.
            rough = newton.descend(box, lam, 10 * ACCURACY, most - 1, traits)
            traits, starts = replace(traits, scan_spacing=None), 1
        elif most > 1 and traits.rows is not None:
            # Far from a minimum steps along the slopes end in better basins than Newton's.
            rough = quasi_newton.descend(box, lam, 100 * ACCURACY, most - 1, traits.exact)
        if rough is not None:
            best, taken = yield from lowest_of(rough, traits.sample)
            lam = best.lam
        if starts == "auto":  # a box that was surveyed needs no more than one
            starts = 3 if traits.exact and traits.rows is None else 1
        limits = self.tol, self._evaluations
        return (yield from newton.descend(box, lam, *limits, traits, starts, taken=taken))


def _by_fold(found: Evaluation) -> Array:
    return np.array([part.g for part in found.parts])
