"""Searches that look at values of f only: a grid, and random points."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from hoag.criterion import Criterion
from hoag.search.recorder import OnStep, Recorder, Stop
from hoag.values import Array, Box, InvalidInput, Result, Settings

# Yields where to look next and is sent f there; ending means that there is nowhere left to look.
Proposals = Generator[Array, float, None]

# The tolerance of one evaluation: these searches compare values, and have no schedule.
EPS = 1e-4
MOST_POINTS = 10**6


class BlackBox(Settings):
    """λ₁, λ₂, … by some rule from the values so far; every f(λ) is a fit of its own, from x0."""

    eps: float
    time_budget: float | None

    def minimize(
        self, criterion: Criterion, domain: Box, lam0: Array, on_step: OnStep | None = None
    ) -> Result:
        """The best of the points looked at; lam0 is not among them."""
        recorder = Recorder(criterion, on_step, self.time_budget)
        return recorder.run(lambda recorder: self._ask_and_tell(recorder, self.proposals(domain)))

    def proposals(self, domain: Box) -> Proposals:
        raise NotImplementedError

    def _ask_and_tell(self, recorder: Recorder, proposals: Proposals) -> None:
        lam = next(proposals)
        while True:
            found = recorder.value(lam, self.eps)
            recorder.record(found, self.eps)
            recorder.stop_if_asked()
            try:
                lam = proposals.send(found.value)
            except StopIteration:
                n = len(recorder.trace)
                raise Stop("finished", f"All {n} points were looked at.") from None


class Grid(BlackBox):
    """The per_axisˢ points of an equally spaced grid, ascending, the last coordinate fastest."""

    def __init__(
        self, per_axis: int = 10, eps: float = EPS, time_budget: float | None = None
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
        self, n: int = 50, seed: int = 0, eps: float = EPS, time_budget: float | None = None
    ) -> None:
        self.n = _at_least_one("n", n)
        self.seed, self.eps, self.time_budget = seed, eps, time_budget


class Random(Sampled):
    """n points drawn uniformly from the domain."""

    def proposals(self, domain: Box) -> Proposals:
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n):
            yield domain.sample(rng, 1)[0]


def _at_least_one(name: str, value: int) -> int:
    if int(value) != value or value < 1:
        raise InvalidInput(f"{name}={value}: give a whole number, at least one.")
    return int(value)
