"""What a search is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from hoag._core.domain import Box, Domain
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._core.settings import Settings
from hoag._criteria.base import Criterion, Traits
from hoag.optimize.asks import ACCURACY, Steps
from hoag.optimize.run import OnStep, Run


class Search(Settings, ABC):
    """A way to minimise a criterion over a domain: `steps` is all that it has to say.

    steps        a generator: `now = yield Evaluate(lam, Ask(eps), before)` evaluates, and every
                 evaluation on all rows is a step of the trace, one on a sample if a Note follows;
                 `yield Note(...)` adds to the last step, and is answered by whether the callback
                 or the clock has ended the search, for those that would think long about the next
                 λ; `return Status(reason, sentence)` ends. The reason "converged" says that the
                 last λ is the answer, or the one that `yield Chosen(...)` named; with any other
                 the best one seen is
    domains      the domains that it can search: Box, or Domain for all that have `project`. With
                 another one a run says so, and `steps` is not asked
    accuracy     the share of itself to which f is verified at the end
    by_steps     its evaluations are to be as the paper's: solved to the ε asked for, with the
                 error of p measured
    time_budget  seconds; it ends evaluations, too
    max_iter     the most steps, if that is known

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> class Halving(hoag.optimize.Search):  # the sign of p halves the box
    ...     def steps(self, domain, lam0, traits):
    ...         low, high = domain.lower, domain.upper
    ...         for k in range(20):
    ...             found = yield hoag.optimize.Evaluate((low + high) / 2, hoag.Ask(eps=0.1 / 2**k))
    ...             low, high = (low, found.lam) if found.grad[0] > 0 else (found.lam, high)
    ...         return hoag.Status("converged", "The box has been halved twenty times.")
    >>> print(hoag.minimize(folds, search=Halving()).status)
    The box has been halved twenty times.
    """

    domains: type[Domain] = Box
    accuracy: float = ACCURACY
    by_steps: bool = True
    time_budget: float | None = None
    max_iter: int | None = None

    @property
    def most_steps(self) -> int | None:
        """The most lines that a trace may have, if that is known."""
        return self.max_iter

    @abstractmethod
    def steps(self, domain: Any, lam0: Array, traits: Traits) -> Steps: ...

    def seeded(self, seed: int) -> Search:
        """The same search with another seed, where it draws random numbers."""
        return self

    def minimize(
        self,
        criterion: Criterion,
        domain: Domain,
        lam0: Array,
        on_step: OnStep | None = None,
        certificate: str = "auto",
    ) -> Result:
        return Run(criterion, on_step, self.time_budget, certificate).drive(self, domain, lam0)
