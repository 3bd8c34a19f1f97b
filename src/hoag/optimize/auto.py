"""The default search: λ tuned for about the price of one fit."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np

from hoag._core.domain import Box, Domain
from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Ask, Result
from hoag._criteria.base import Criterion, Traits
from hoag._criteria.separable import Separable
from hoag.optimize import newton, projected, quasi_newton, root
from hoag.optimize.apart import Own, Searches
from hoag.optimize.asks import ACCURACY, Steps, check_max_iter, sentence
from hoag.optimize.base import Search
from hoag.optimize.newton import little_gained
from hoag.optimize.run import OnStep, Run
from hoag.optimize.survey import lowest_of, survey


def check_starts(starts: Any) -> None:
    if starts != "auto" and not (isinstance(starts, Integral) and int(starts) >= 1):
        raise InvalidInput(f"starts={starts!r}: give a whole number, at least one, or 'auto'.")


class Auto(Search):
    """min over λ in D of f(λ), by secants for one hyperparameter and quasi-Newton steps for more.

    tol          stop when the loss can fall by no more than this share of itself, by its slope,
                 the error of that slope, and the curvature
    max_iter     the most evaluations, times `starts`
    time_budget  seconds; looked at within evaluations, too
    starts       with several penalties whose ∇²f is known: so many descents, the first from the
                 best shared penalty, the others from far above it, far below it and between.
                 "auto": three where f is exact and cheap and targets are tuned together, in
                 max_iter evaluations; else one

    The tolerance of each evaluation is what the next decision needs: the sign of the slope, a step,
    the end. Where a criterion can be evaluated on a sample of its rows, the whole box is looked
    over on one first. A domain that is no box is not looked over: from lam0 on, steps go down
    within it.

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
    ) -> None:
        check_max_iter(max_iter)
        check_starts(starts)
        if not tol > 0:
            raise InvalidInput(f"tol={tol}: it must be a positive number.")
        self.tol, self.max_iter, self.time_budget = tol, max_iter, time_budget
        self.starts = starts

    @property
    def accuracy(self) -> float:  # type: ignore[override]
        return self.tol

    @property
    def _evaluations(self) -> int:
        """The most of all descents together."""
        return (self.max_iter or 1) * (1 if self.starts == "auto" else self.starts)

    @property
    def most_steps(self) -> int:
        """Where targets are searched one by one, a step is a part of them."""
        return max(Searches.batches, self._evaluations)

    def minimize(
        self,
        criterion: Criterion,
        domain: Domain,
        lam0: Array,
        on_step: OnStep | None = None,
        certificate: str = "auto",
    ) -> Result:
        if not isinstance(domain, Box):
            return super().minimize(criterion, domain, lam0, on_step, certificate)
        if isinstance(criterion, Separable):
            own = Own(self.tol, self._evaluations, 1 if self.starts == "auto" else self.starts)
            return Searches(own, criterion, domain, self.time_budget, certificate).run(on_step)
        if criterion.surrogate is not None:
            return self._from_surrogate(
                criterion.surrogate(), criterion, domain, lam0, on_step, certificate
            )
        if criterion.shared is None:
            return super().minimize(criterion, domain, lam0, on_step, certificate)
        return self._from_shared(criterion.shared(), criterion, domain, on_step, certificate)

    def _from_surrogate(
        self,
        cheap: Criterion,
        criterion: Criterion,
        domain: Box,
        lam0: Array,
        on_step: OnStep | None,
        certificate: str,
    ) -> Result:
        """From where a search of another criterion, which costs next to nothing beside it, ends."""
        rough = Auto(self.tol, self.max_iter or 1, self.time_budget, self.starts)
        there = rough.minimize(cheap, domain, lam0, certificate="none")
        left = None if self.time_budget is None else max(self.time_budget - there.seconds, 0.0)
        run = Run(criterion, on_step, left, certificate)
        run.cost = there.cost
        found = run.drive(self, domain, there.lam)
        return replace(found, seconds=found.seconds + there.seconds)

    def _from_shared(
        self,
        shared: Criterion,
        criterion: Criterion,
        domain: Box,
        on_step: OnStep | None,
        certificate: str,
    ) -> Result:
        """From the best λ that is the same for all, for the price of one more fit.

        What is returned is never worse: should the search have gone astray, it is that λ.
        """
        alike = criterion.traits.alike
        alike = np.ones(domain.size) if alike is None else alike
        line = domain.line(alike)
        rough = Auto(self.tol, self.max_iter or 1, self.time_budget)
        one = rough.minimize(shared, line, line.project(np.zeros(1)), certificate="none")
        start = domain.project(one.lam[0] * alike)
        left = None if self.time_budget is None else max(self.time_budget - one.seconds, 0.0)
        run = Run(criterion, on_step, left, certificate)
        run.cost = one.cost
        found = run.drive(self, domain, start)
        found = replace(found, seconds=found.seconds + one.seconds)
        if found.value > one.value:
            begun = criterion.evaluate(start, Ask(self.tol * one.value))
            known = criterion.verify(begun, self.tol * one.value)
            if known.value < found.value:
                far = known.value < found.value - self.tol * abs(found.value)
                told = f"{found.status} But one shared penalty is better, and is returned."
                return replace(
                    found,
                    evaluation=known,
                    status=replace(
                        found.status,
                        reason="left_behind" if far else found.status.reason,
                        sentence=told,
                    ),
                    cost=found.cost + begun.cost + known.cost,
                )
        shared_g, own_g = (
            np.array([part.g for part in result.evaluation.parts]) for result in (one, found)
        )
        gain = little_gained(shared_g, own_g) if found.converged else ""
        status = replace(found.status, sentence=sentence(found.status.sentence, gain))
        return replace(found, status=status)

    def steps(self, domain: Domain, lam0: Array, traits: Traits) -> Steps:
        most = self.max_iter or 1
        if not isinstance(domain, Box):
            return (yield from projected.descend(domain, lam0, self.tol, most, traits.exact))
        if lam0.size == 1:
            return (yield from root.descend(domain, lam0, self.tol, most, traits))
        lam = yield from survey(domain, lam0, traits)
        taken = 0
        if traits.has_hessian and traits.sample is not None and most > 1:
            # What is left to do on all rows is to go from the sample's λ to theirs.
            rough = newton.descend(domain, lam, 10 * ACCURACY, most - 1, traits)
            best, taken = yield from lowest_of(rough, traits.sample)
            limits = self.tol, self._evaluations
            there = replace(traits, scan_spacing=None)
            return (yield from newton.descend(domain, best.lam, *limits, there, taken=taken))
        if traits.has_hessian and traits.rows is not None and most > 1:
            # Far from a minimum steps along the slopes end in better basins than Newton's.
            begun = quasi_newton.descend(domain, lam, 100 * ACCURACY, most - 1, traits.exact)
            best, taken = yield from lowest_of(begun)
            lam = best.lam
        if traits.has_hessian:
            several = traits.exact and traits.rows is None  # a box that was surveyed needs no more
            starts = (3 if several else 1) if self.starts == "auto" else self.starts
            limits = self.tol, self._evaluations
            return (yield from newton.descend(domain, lam, *limits, traits, starts, taken=taken))
        return (yield from quasi_newton.descend(domain, lam, self.tol, most, traits.exact))
