"""Criteria that stand on another one: of other hyperparameters, or with something added."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import Criterion, Traits
from hoag.problems import Problem


class Wrapped(Criterion):
    """f of an inner criterion, seen through λ = λ(α) and what is added to it.

    An evaluation holds that of the inner one as its only part; x and where to go on from are the
    inner one's.
    """

    # Whether x is the inner criterion's, in its units.
    same_x = True

    def __init__(self, inner: Criterion) -> None:
        self.inner = inner
        self.shared, self.at_once, self.chosen = inner.shared, inner.at_once, inner.chosen

    @abstractmethod
    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        """What the inner criterion found, as it is for this one; `parts` are seen to."""

    @abstractmethod
    def _around(self, inner: Criterion) -> Self:
        """The same about another inner criterion of the same hyperparameters."""

    def _inside(self, lam: Array) -> Array:
        """The hyperparameters of the inner criterion."""
        return lam

    def within(self, found: Evaluation) -> Evaluation:
        """What the inner criterion had found."""
        return found.parts[0]

    def _outside(self, lam: Array, found: Evaluation) -> Evaluation:
        return replace(self._seen(lam, found), parts=(found,))

    @property
    def traits(self) -> Traits:
        """Those of the inner one; the ∇²f of many targets is no matrix of its own."""
        known = self.inner.traits
        return replace(known, has_hessian=known.has_hessian and not self.inner.separable)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        return self._outside(lam, self.inner.evaluate(self._inside(lam), ask, warm))

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        found = self.inner.values([self._inside(lam) for lam in lams], ask)
        return [self._outside(lam, one) for lam, one in zip(lams, found, strict=True)]

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        known = self.inner.verify(self.within(found), tol, deadline)
        return replace(self._outside(found.lam, known), profile=found.profile)

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        known = self.inner.certify(self.within(found), bound)
        return replace(self._outside(found.lam, known), profile=found.profile)

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        return self.inner.solution(self.within(found))

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        return self.inner._refit(problem, [self.within(part) for part in parts], tol)

    def rebind(self, found: Evaluation) -> Evaluation:
        for own in found.parts:
            self.inner.rebind(own)
        return found

    def outer_lipschitz(self) -> tuple[float, Cost]:
        return self.inner.outer_lipschitz()

    def _on_sample(self, rows: int, seed: int) -> Criterion:
        return self._around(self.inner.sampled(rows, seed))


def unwrapped(criterion: Criterion, found: Evaluation) -> tuple[Criterion, Evaluation]:
    """The criterion inside all wrappers that leave x as it is, and what it had found."""
    while isinstance(criterion, Wrapped) and criterion.same_x:
        found = criterion.within(found)
        criterion = criterion.inner
    return criterion, found
