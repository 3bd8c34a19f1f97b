"""The folds of one model with one penalty, where rows are many and columns few.

    P_k = H_k + S,   H_k = Σ_b ∇²L_b(x)   over the cells b of rows that fold k trains on

Folds hardly differ then: ∇²L is formed once, at a point x common to all folds, for each cell of
rows, and serves every fold and every λ as the preconditioner of `Iterative`. It is formed anew, at
the folds' mean, where passes have become so slow that it pays. Quadratic models about the last x
say what f is all over the box, for no pass:

    d = −(H_k + S)⁻¹∇₁h,   f ≈ Σ_k g + ∇g·d + ½dᵀ∇²g d,   q = (H_k + S)⁻¹(∇g + ∇²g d)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeGuard, cast

import numpy as np

from hoag._core import clock
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.storable import storable
from hoag._criteria.affordable import sample_size
from hoag._criteria.base import SPACING, Traits, no_gradient
from hoag._criteria.fits import ROUGH, FoldedFits
from hoag._criteria.iterative import SLOW, Begun, Iterate, Iterative, Pass, Preconditioner
from hoag._criteria.newton import State
from hoag._glm.design import RowwiseDesign, Sums
from hoag._glm.penalties import QuadraticForm, of_folds
from hoag._linalg.cholesky import Factor, factors, solved
from hoag.problems import Problem


class CellCurvature(Preconditioner):
    """P_k of the cells' matrices at x = about; the factors of the last penalty are kept."""

    def __init__(self, design: RowwiseDesign, about: Array, H: Array) -> None:
        self.about, self.H, self._design = about, H, design
        self._known: tuple[Array, list[Factor]] | None = None

    @property
    def last(self) -> CellCurvature:
        alone = self._design.of_folds(self._design.train[-1:], self._design.test[-1:])
        return CellCurvature(alone, self.about, self.H)

    def solve(self, R: Array, penalty: QuadraticForm) -> Array:
        if self._known is None or not np.array_equal(self._known[0], penalty.strengths):
            H = np.tensordot(self._design.train * 1.0, self.H, axes=1)
            self._design.ledger.charge(grams=len(H) * H.shape[-1] / (6.0 * self._design.n))
            strengths = penalty.strengths
            self._known = strengths, factors(penalty.added(H), np.log(strengths))
        return solved(self._known[1], R)

    def held_out(self, D: Array) -> Array:
        return np.stack(
            [
                np.tensordot(test * 1.0, self.H, axes=1) @ d
                for test, d in zip(self._design.test, D, strict=True)
            ]
        )


@storable
@dataclass(frozen=True, eq=False)
class SharedWarm:
    """x_k of all folds with the sums there, and the cells' matrices H at `about`, a common point.

    iterate  the one with which passes ended at x_k; None at the common point
    missed   what was computed there less what the models say, of f and of p
    """

    X: Array
    at: Sums
    about: Array
    H: Array
    iterate: Iterate | None = None
    missed: tuple[float, float] = (0.0, 0.0)


class SharedCurvature(Iterative):
    """The folds of any model with one penalty, by passes with matrices of a common point.

    Where classes are all but separable, x runs away from fold to fold, and one point does not stand
    for them all: from there on each has matrices of its own, and evaluations are those of `direct`.
    """

    max_formed = 1
    _latest: CellCurvature | None = None  # with its factors

    @cached_property
    def direct(self) -> FoldedFits:
        return FoldedFits(self.models, self.design, self._plain, self.several)

    @property
    def traits(self) -> Traits:
        return Traits(scan_spacing=SPACING, modelled=True, blocks=np.zeros(1, dtype=np.intp))

    @property
    def _worth(self) -> float:
        """A matrix takes p products of a column with all rows, a pass four for each fold."""
        return self.design.predictor.size / (4.0 * len(self._together.train)) / 4.0

    def _evaluate(self, lam: Array, ask: Ask, warm: SharedWarm | State | None) -> Evaluation:
        before = self._ledger.cost
        if _is_apart(warm):
            found = self.direct._evaluate(lam, ask, warm)
        elif ask.free:
            known = cast(SharedWarm, warm or self._common())
            found = replace(self._modelled(lam, known), warm=known)
        else:
            known = cast(SharedWarm, warm or self._common())
            found, last = self._solved(lam, ask, known)
            if last is None:
                found = self.direct._evaluate(lam, ask, self._apart(known))
            else:
                found = replace(found, warm=self._expanded(found, last))
        grad = found.grad if ask.gradient else no_gradient(lam)
        return replace(found, grad=grad, cost=self._ledger.cost - before)

    def _apart(self, known: SharedWarm) -> State:
        """Where each fold goes on by itself."""
        return self.direct.begun(known.X[: self.design.folds].mean(axis=0))

    def _expanded(self, found: Evaluation, last: Pass) -> SharedWarm:
        by, now = cast(CellCurvature, last.preconditioner), last.now
        there = SharedWarm(now.X, now.at, by.about, by.H, now)
        models = self._modelled(found.lam, there)
        p = float(found.grad[0] - models.grad[0]) if np.isfinite(found.grad[0]) else 0.0
        return replace(there, missed=(found.value - models.value, p))

    def _modelled(self, lam: Array, known: SharedWarm) -> Evaluation:
        """f and p of the quadratic models."""
        penalty = self._penalty(lam)
        d, q, held = self._predicted(penalty, known)
        value = float(np.sum(known.at.g) + np.sum((known.at.g_x + 0.5 * held) * d))
        p = -penalty.vjp(known.X + d, q)
        return Evaluation(
            lam,
            value + known.missed[0],
            p + known.missed[1],
            g=float(known.at.g.sum()),
            f_error=np.nan,
            error=np.nan,
        )

    def _predicted(self, penalty: QuadraticForm, known: SharedWarm) -> tuple[Array, Array, Array]:
        """d, q and ∇²g d of the models."""
        by = self._preconditioner(known)
        d = -by.solve(known.at.gradient + penalty.apply(known.X), penalty)
        held = by.held_out(d)
        return d, by.solve(known.at.g_x + held, penalty), held

    def _preconditioner(self, warm: SharedWarm) -> CellCurvature:
        if self._latest is None or self._latest.H is not warm.H:
            self._latest = CellCurvature(self._together, warm.about, warm.H)
        return self._latest

    def _begun(self, lam: Array, penalty: QuadraticForm, warm: SharedWarm) -> Begun:
        by, last = self._preconditioner(warm), warm.iterate
        if last is not None:
            return last.X, last.Q, by, last
        d, q, _ = self._predicted(penalty, warm)
        return warm.X + d, q, by, None

    def _formed(self, about: Array) -> CellCurvature:
        return CellCurvature(self._together, about, self.design.expanded(about)[2])

    # ---- the common point

    def _common(self) -> SharedWarm:
        """A point common to all folds that is hardly shrunk.

        With many rows for each coefficient the best is so too: models of f about such an x serve
        the whole box. It is found on a sample of the rows first.
        """
        size = self.design.predictor.size
        few = self.design.sampled(sample_size(size), seed=0)
        nowhere = np.zeros(size)
        H = few.expanded(nowhere)[2]
        weak = np.log(ROUGH * np.mean(np.diag(H.sum(axis=0)), keepdims=True)) + self.shift
        penalty = of_folds([self.models[0].penalty]).at(weak)
        x = self._newton(few, penalty, nowhere, H)[0]
        x, value, gradient, H = self._newton(self.design, penalty, x, None)
        design = self._together
        X = np.tile(x, (design.folds, 1))
        if design.alike:
            none = np.empty(0)
            train, test = design.train, design.test
            sums = (train @ value, train @ gradient, test @ value, test @ gradient)
            at = Sums(*sums, none, none)
        else:
            at = design.sums(X)
        return SharedWarm(X, at, x, H)

    def _newton(
        self, design: RowwiseDesign, penalty: QuadraticForm, x: Array, H: Array | None
    ) -> tuple[Array, Array, Array, Array]:
        """Newton's method for all rows at once, until a step hardly moves the scores.

        x with the cells' losses, gradients and matrices; these are formed anew where the last ones
        leave too much.
        """
        weights = float(design.weights.sum())
        step, h, last, fresh = np.zeros_like(x), np.inf, np.inf, False
        for _ in range(self.max_passes):
            clock.check()
            fresh = H is None
            value, gradient, made = design.expanded(x + step, curved=fresh)
            there = float(value.sum() + penalty.value(x[None] + step)[0])
            if not there <= h:
                step = 0.5 * step
                continue
            x, h, H = x + step, there, made if fresh else H
            r = gradient.sum(axis=0) + penalty.apply(x[None])[0]
            assert H is not None
            M = penalty.added(H.sum(axis=0)[None])
            self._ledger.charge(grams=M.shape[-1] / (6.0 * design.n))
            step = -factors(M, np.log(penalty.strengths))[0](r)
            left = -float(r @ step)
            serves, near = fresh or left <= SLOW**2 * last, left <= SLOW**4 * weights
            if serves and near and (fresh or np.isfinite(last)):
                break
            if near or not serves:
                H, step = None, np.zeros_like(x)
            last = left
        assert H is not None
        return x, value, gradient, H

    # ---- with matrices of each fold's own

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        before = self._ledger.cost
        if not _is_apart(found.warm):
            again = super().verify(found, tol, deadline)
            if np.isfinite(again.value):
                return again
            ask, start = Ask(tol, gradient=False), self._apart(found.warm)
            there = self.direct._evaluate(found.lam, ask, start)
            found = replace(there, grad=found.grad, error=found.error)
        known = self.direct.verify(found, tol, deadline)
        return replace(known, cost=self._ledger.cost - before)

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        apart = _is_apart(found.warm)
        return self.direct.solution(found) if apart else super().solution(found)

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        if _is_apart(parts[0].warm):
            return self.direct._refit(problem, parts, tol)
        return super()._refit(problem, parts, tol)


def _is_apart(warm: SharedWarm | State | None) -> TypeGuard[State]:
    """Whether one point did not stand for all folds, so that each goes on by itself."""
    return isinstance(warm, State)
