"""The default search: λ tuned for about the price of one fit."""

from __future__ import annotations

from hoag.criteria.apart import Apart
from hoag.criteria.base import Criterion, Traits
from hoag.search import newton, quasi_newton, root
from hoag.search.apart import Own, Searches
from hoag.search.asks import Steps, check_max_iter
from hoag.search.run import OnStep, Search
from hoag.search.survey import survey
from hoag.values import Array, Box, InvalidInput, Result


class Fast(Search):
    """min over λ in D of f(λ), by secants for one hyperparameter and quasi-Newton steps for more.

    tol          stop when the loss can fall by no more than this share of itself, by its slope,
                 the error of that slope, and the curvature
    max_iter     the most evaluations
    time_budget  seconds; looked at after every evaluation
    starts       with several penalties whose ∇²f is known: so many descents, the first from the
                 best shared penalty, the others from around it; max_iter is for each of them

    The tolerance of each evaluation is what the next decision needs: the sign of the slope, a step,
    the end. Where a criterion can be evaluated on a sample of its rows, the whole box is looked
    over on one first.
    """

    by_steps = False

    def __init__(
        self,
        tol: float = 1e-4,
        max_iter: int = 100,
        time_budget: float | None = None,
        starts: int = 1,
    ) -> None:
        check_max_iter(max_iter)
        if int(starts) != starts or starts < 1:
            raise InvalidInput(f"starts={starts!r}: give a whole number, at least one.")
        if not tol > 0:
            raise InvalidInput(f"tol={tol}: it must be a positive number.")
        self.tol, self.max_iter, self.time_budget = tol, max_iter, time_budget
        self.starts = int(starts)

    @property
    def accuracy(self) -> float:  # type: ignore[override]
        return self.tol

    def minimize(
        self,
        criterion: Criterion,
        domain: Box,
        lam0: Array,
        on_step: OnStep | None = None,
        certificate: str = "auto",
    ) -> Result:
        if not isinstance(criterion, Apart):
            return super().minimize(criterion, domain, lam0, on_step, certificate)
        own = Own(self.tol, self.max_iter or 1, self.starts)
        return Searches(own, criterion, domain, self.time_budget, certificate).run(on_step)

    def steps(self, domain: Box, lam0: Array, traits: Traits) -> Steps:
        most = self.max_iter or 1
        if lam0.size == 1:
            return (yield from root.descend(domain, lam0, self.tol, most, traits))
        if traits.bends:
            return (yield from newton.descend(domain, lam0, self.tol, most, traits, self.starts))
        lam = yield from survey(domain, lam0, traits)
        return (yield from quasi_newton.descend(domain, lam, self.tol, most, traits.exact))
