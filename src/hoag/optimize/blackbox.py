"""Searches that look at values of f only: a grid, and random points."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Generator

import numpy as np

from hoag._core.domain import Box
from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Ask, Status
from hoag._criteria.base import Traits
from hoag.optimize.asks import ACCURACY, Evaluate, Note, Steps
from hoag.optimize.base import Search

# Yields where to look next and is sent f there; ending means that there is nowhere left to look.
Proposals = Generator[Array, float, None]

MOST_POINTS = 10**6


class BlackBox(Search):
    """λ₁, λ₂, … by some rule from the values so far; every f(λ) is a fit of its own, from x0.

    The best of the points looked at is returned; lam0 is not among them.
    """

    eps: float

    @abstractmethod
    def proposals(self, domain: Box) -> Proposals: ...

    def steps(self, domain: Box, lam0: Array, traits: Traits) -> Steps:
        proposals, n = self.proposals(domain), 0
        value: float | None = None
        while True:
            try:
                lam = proposals.send(value)  # type: ignore[arg-type]
            except StopIteration:
                return Status("finished", f"All {n} points were looked at.")
            found = yield Evaluate(lam, Ask(self.eps, gradient=False))
            value, n = found.value, n + 1
            if (yield Note()):
                return Status("finished", f"Stopped after {n} points.")


class Grid(BlackBox):
    """The per_axisˢ points of an equally spaced grid, ascending, the last coordinate fastest.

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> result = hoag.minimize(folds, search=hoag.optimize.Grid(7))
    >>> [float(step.lam[0]) for step in result.trace]
    [-12.0, -8.0, -4.0, 0.0, 4.0, 8.0, 12.0]
    """

    def __init__(
        self, per_axis: int = 10, eps: float = ACCURACY, time_budget: float | None = None
    ) -> None:
        self.per_axis = _at_least_one("per_axis", per_axis)
        self.eps, self.time_budget = eps, time_budget

    def proposals(self, domain: Box) -> Proposals:
        if domain.size * np.log(self.per_axis) > np.log(MOST_POINTS):
            raise InvalidInput(
                f"A grid of {self.per_axis} values for each of {domain.size} hyperparameters has "
                f"more than {MOST_POINTS} points: use Random(), or a search by gradient."
            )
        yield from domain.grid(self.per_axis)


class Sampled(BlackBox):
    """n points, drawn with a seed."""

    def __init__(
        self, n: int = 50, seed: int = 0, eps: float = ACCURACY, time_budget: float | None = None
    ) -> None:
        self.n = _at_least_one("n", n)
        self.seed, self.eps, self.time_budget = seed, eps, time_budget

    def seeded(self, seed: int) -> Search:
        other = copy.copy(self)
        other.seed = seed
        return other


class Random(Sampled):
    """n points drawn uniformly from the domain.

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> len(hoag.minimize(folds, search=hoag.optimize.Random(8, seed=1)).trace)
    8
    """

    def proposals(self, domain: Box) -> Proposals:
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n):
            yield domain.sample(rng, 1)[0]


def _at_least_one(name: str, value: int) -> int:
    if int(value) != value or value < 1:
        raise InvalidInput(f"{name}={value}: give a whole number, at least one.")
    return int(value)
