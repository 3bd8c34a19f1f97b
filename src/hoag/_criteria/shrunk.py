"""Penalties drawn to their mean, so that many of them fit no noise of the held-out rows.

    f(λ) + ½c Σⱼ(λⱼ − λ̄)²,   λ̄ = Σⱼ λⱼ/s

For c = 0 all are free, for c → ∞ there is one; where f is exp(−f) of a likelihood, c is the inverse
variance of a normal law that the λⱼ are drawn from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation
from hoag._criteria.base import Criterion
from hoag._criteria.wrapped import Wrapped
from hoag.problems import Problem


class Shrunk(Wrapped):
    """f + ½c Σⱼ(λⱼ − λ̄)².

    >>> import hoag
    >>> from hoag._criteria.shrunk import Shrunk
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = hoag.models.folds(hoag.models.ridge, X, y, penalties="per-feature")
    >>> free, drawn = (hoag.minimize(Shrunk(hoag.plan(folds), c)).lam.std() for c in (0.0, 1e7))
    >>> bool(drawn < 0.1 < free)
    True
    """

    def __init__(self, inner: Criterion, strength: float) -> None:
        super().__init__(inner)
        self.strength = strength

    @property
    def lam0(self) -> Array:
        return self.inner.lam0

    @property
    def stands_on(self) -> Problem | None:
        return self.inner.stands_on

    def _around(self, inner: Criterion) -> Self:
        return type(self)(inner, self.strength)

    def added(self, lam: Array) -> float:
        return 0.5 * self.strength * float(np.sum((lam - lam.mean()) ** 2))

    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        return self._with(lam, found, 1.0)

    def plain(self, found: Evaluation) -> Evaluation:
        """An evaluation of this without what is added: f itself and its derivatives."""
        return replace(self._with(found.lam, found, -1.0), parts=self.within(found).parts)

    def _with(self, lam: Array, found: Evaluation, sign: float) -> Evaluation:
        more, c = sign * self.added(lam), sign * self.strength
        bent, profile = found.hessian, found.profile
        if bent is not None:
            bent = bent + c * (np.eye(lam.size) - 1.0 / lam.size)
        if profile is not None:
            profile = profile[0], profile[1] + sign * self._along(lam, profile[0])
        return replace(
            found,
            value=found.value + more,
            g=found.g + more,
            grad=found.grad + c * (lam - lam.mean()),
            hessian=bent,
            profile=profile,
        )

    def profile(self, found: Evaluation, places: Array) -> tuple[Array | None, Cost]:
        values, cost = self.inner.profile(self.within(found), places)
        return (None if values is None else values + self._along(found.lam, places)), cost

    def _along(self, lam: Array, places: Array) -> Array:
        """What is added where one λⱼ is moved to each of its places, (s, L)."""
        t, d = places - lam[:, None], (lam - lam.mean())[:, None]
        more = d * t + 0.5 * (1 - 1.0 / lam.size) * t**2
        return np.asarray(self.added(lam) + self.strength * more)
