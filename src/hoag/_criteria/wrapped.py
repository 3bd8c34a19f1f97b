"""Criteria that stand on another one, seen through other hyperparameters or units.

Affine     f(clip(Zα)), penalties that side information explains: a few α in place of many λ
Shrunk     f(λ) + ½c Σⱼ(λⱼ − λ̄)², penalties drawn to their mean λ̄ = Σⱼ λⱼ/s
Rescaled   f of a model in x′, x = scale·x′
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import Criterion, Traits
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Ridge
from hoag._glm.rows import ScaledRows
from hoag._glm.term import Predictor
from hoag.problems import Problem


class Wrapped(Criterion):
    """f of an inner criterion, seen through λ = λ(α) and what is added to it.

    An evaluation holds that of the inner one as its only part; x and where to go on from are the
    inner one's.
    """

    def __init__(self, inner: Criterion) -> None:
        self.inner = inner
        self.shared, self.at_once, self.chosen = inner.shared, inner.at_once, inner.chosen

    @abstractmethod
    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        """What the inner criterion found, as it is for this one; `parts` are seen to."""

    @property
    def lam0(self) -> Array:
        return self.inner.lam0

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
        other = copy(self)
        other.inner = self.inner.sampled(rows, seed)
        return other


@dataclass(frozen=True, eq=False)
class Loads:
    """λ = clip(Zα) between `lower` and `upper`, each (s,); the first column of Z is one."""

    Z: Array
    lower: Array
    upper: Array

    def lam(self, alpha: Array) -> Array:
        return np.clip(self.Z @ alpha, self.lower, self.upper)

    def jacobian(self, alpha: Array) -> Array:
        """dλ/dα, (s, r)."""
        lam = self.Z @ alpha
        held = (lam < self.lower) | (lam > self.upper)
        return np.where(held[:, None], 0.0, self.Z)


class Affine(Wrapped):
    """f(clip(Zα)) as a function of α, each λⱼ within bounds of its own.

    By the chain rule p_α = ZᵀMp and ∇²f_α = ZᵀM ∇²f MZ, where M is 0 for those λⱼ that their bounds
    hold, and 1 for the others.

    >>> import hoag
    >>> import numpy as np
    >>> from hoag._criteria.wrapped import Affine, Loads
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = hoag.models.folds(hoag.models.ridge, X, y, penalties="per-feature")
    >>> Z = np.column_stack([np.ones(10), np.arange(10) < 2])  # the first two columns differ
    >>> bounds = np.full(10, -12.0), np.full(10, 12.0)
    >>> hoag.minimize(Affine(hoag.plan(folds), Loads(Z, *bounds))).lam.shape
    (2,)
    """

    def __init__(self, inner: Criterion, loads: Loads) -> None:
        super().__init__(inner)
        self.loads = loads

    @property
    def lam0(self) -> Array:
        return np.zeros(self.loads.Z.shape[1])

    @property
    def traits(self) -> Traits:
        size = self.lam0.size
        level = (np.arange(size) == 0).astype(float)
        return replace(super().traits, blocks=np.arange(size), alike=level)

    def _inside(self, lam: Array) -> Array:
        return self.loads.lam(lam)

    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        J = self.loads.jacobian(lam)
        correction = None if found.correction is None else J.T @ found.correction
        error, most = found.error, float(np.linalg.norm(J, 2))
        return replace(
            found,
            lam=lam,
            grad=J.T @ found.grad,
            error=most * error if correction is None else float(np.linalg.norm(correction)),
            bound=most * found.bound if most > 0 else found.bound,
            correction=correction,
            hessian=None if found.hessian is None else J.T @ found.hessian @ J,
            tangents=_turned(found.tangents, J),
            profile=None,
            on_sample=None
            if found.on_sample is None
            else (found.on_sample[0], most * found.on_sample[1]),
        )


def _turned(tangents: Any, J: Array) -> Any:
    """dX/dα from dX/dλ, whose last axis is that of λ; a tuple for folds."""
    if tangents is None:
        return None
    return tuple(t @ J for t in tangents) if isinstance(tangents, tuple) else tangents @ J


class Shrunk(Wrapped):
    """f + ½c Σⱼ(λⱼ − λ̄)², so that many penalties fit no noise of the held-out rows.

    For c = 0 all are free, for c → ∞ there is one; where f is exp(−f) of a likelihood, c is the
    inverse variance of a normal law that the λⱼ are drawn from.

    >>> import hoag
    >>> from hoag._criteria.wrapped import Shrunk
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
    def stands_on(self) -> Problem | None:
        return self.inner.stands_on

    def added(self, lam: Array) -> float:
        return 0.5 * self.strength * float(np.sum((lam - lam.mean()) ** 2))

    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        return self._with(lam, found, 1.0)

    def plain(self, found: Evaluation) -> Evaluation:
        """An evaluation of this without what is added: f itself and its derivatives."""
        return replace(self._with(found.lam, found, -1.0), parts=self.within(found).parts)

    def _with(self, lam: Array, found: Evaluation, sign: float) -> Evaluation:
        more, c = sign * self.added(lam), sign * self.strength
        hessian, profile = found.hessian, found.profile
        if hessian is not None:
            hessian = hessian + c * (np.eye(lam.size) - 1.0 / lam.size)
        if profile is not None:
            profile = profile[0], profile[1] + sign * self._along(lam, profile[0])
        return replace(
            found,
            value=found.value + more,
            g=found.g + more,
            grad=found.grad + c * (lam - lam.mean()),
            hessian=hessian,
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


class Rescaled(Wrapped):
    """f of a criterion in x′, with x as its model has it: x = scale·x′.

    A ridge penalty ½e^λ Σⱼ wⱼxⱼ² treats all directions of x′ = √w·x alike, and criteria that need
    that (small spaces, the span of few rows) see the model in x′.
    """

    def __init__(self, inner: Criterion, scale: Array) -> None:
        super().__init__(inner)
        self.scale = scale

    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        x, t = found.x, found.tangents
        return replace(
            found,
            x=None if x is None else self.scale * x,
            tangents=None if t is None else self.scale[:, None] * t,
        )

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        x, cost = super().solution(found)
        return self.scale * x, cost

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """By what would be chosen for this problem alone: folds have other columns."""
        from hoag._criteria.select import plan  # which knows all criteria

        return plan(problem)._refit(problem, [replace(part, warm=None) for part in parts], tol)


def unweighted(model: LinearModel) -> tuple[LinearModel, Array]:
    """The model in x′, on the same rows with columns scaled, and x = scale·x′."""
    penalty, design = cast(Ridge, model.penalty), model.train.design
    weights = penalty.weights[: design.slopes].reshape(design.features, design.outputs)
    scale = 1.0 / np.sqrt(weights[:, 0])

    def turned(own: Predictor) -> Predictor:
        return own.on(ScaledRows(own.rows, scale))

    train = turned(design)
    test = train if model.test.design is design else turned(model.test.design)
    terms = model.train.seen_by(train), model.test.seen_by(test)
    every = np.append(np.repeat(scale, design.outputs), np.ones(design.size - design.slopes))
    return LinearModel(*terms, penalty.unweighted(), model.ledger), every
