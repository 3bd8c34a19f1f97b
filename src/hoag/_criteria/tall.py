"""The folds of one model with one penalty, where rows are many and columns few.

    x_k ← x_k − (H_k + αI)⁻¹(∇L_k + αx_k),   dX_k/dλ = −(H_k + αI)⁻¹ αx_k,   p = Σ_k ∇g_k·dX_k/dλ

Folds hardly differ then: ∇²L is formed once, at a point common to all folds, for each block of rows
(a training part is the whole less its block), and kept as H_k. Steps with it still converge, by a
factor ρ at each pass, which is measured, and says how wrong f and p may be.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hoag._core import clock
from hoag._core.numeric import FALLEN, ROUNDING, Array
from hoag._core.result import Ask, Evaluation, Solve
from hoag._criteria import joint
from hoag._criteria.base import SPACING, Traits, no_gradient
from hoag._criteria.joint import ROUGH, Joint
from hoag._criteria.shared import SharedFolds
from hoag._glm.blocks import Blocks, Sums
from hoag._glm.model import LinearModel
from hoag._glm.penalties import of_folds
from hoag._linalg.cholesky import solved
from hoag._linalg.operator import Inverse

# Steps with an old matrix go on while each leaves at most this share of the gradient; else it is
# formed anew. It is formed where a step moves scores by less than the square of this, about.
STALE = 0.3
# So many rows for each coefficient, and for a hundred of them at least, say where to start.
SAMPLE = 20


@dataclass(frozen=True, eq=False)
class Warm:
    """x_k with the sums there, and the matrices of blocks at a common point.

    `missed` is what was computed at this x less what its quadratic models say, of f and of p.
    """

    X: Array
    at: Sums
    H: Array
    missed: tuple[float, float] = (0.0, 0.0)


class Tall(SharedFolds[Blocks]):
    """The folds of any model with one penalty, by steps with the matrices of a common point.

    Where classes are all but separable, x runs away from fold to fold, and one point does not stand
    for them all: from there on the folds are solved as `Joint` does, and evaluations hold its warm
    starts.
    """

    max_steps = 100  # at one λ

    @cached_property
    def _apart(self) -> Joint:
        return Joint(self.models, self.blocks, self._plain, self.several)

    @property
    def traits(self) -> Traits:
        return Traits(scan_spacing=SPACING, modelled=True, blocks=np.zeros(1, dtype=np.intp))

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        before = self._ledger.cost
        if isinstance(warm, joint.Warm):
            return self._apart._evaluate(lam, ask, warm)
        if warm is None:
            warm = self._cold()
        found = self._look(lam, warm, ask) if ask.free else self._stale(lam, warm, ask)
        return replace(found, cost=self._ledger.cost - before)

    def _cold(self) -> Warm:
        """A point common to all folds that is hardly shrunk.

        With many rows for each coefficient the best is so too: models of f about such an x serve
        the whole box. It is found on a sample of the rows first.
        """
        size = self.blocks.design.size
        few = Tall(self.models, self.blocks.sampled(sample_size(size), seed=0), self._plain)
        nowhere = np.zeros(size)
        H = few.blocks.expanded(nowhere)[2]
        weak = np.log(ROUGH * np.mean(np.diag(H.sum(axis=0)), keepdims=True)) + self.shift
        return self._common(weak, few._common(weak, nowhere, H).X[0])

    def _common(self, lam: Array, x: Array, H: Array | None = None) -> Warm:
        """Newton's method for all rows at once, until a step hardly moves the scores.

        The matrix is formed anew where the last one leaves too much.
        """
        penalty, blocks = self._penalty(lam), self.blocks
        weights = float(blocks.weights.sum())
        step, h, last, fresh = np.zeros_like(x), np.inf, np.inf, False
        for _ in range(self.max_steps):
            clock.check()
            fresh = H is None
            value, gradient, made = blocks.expanded(x + step, curved=fresh)
            there = float(value.sum() + penalty.value(x[None] + step)[0])
            if not there <= h:
                step = 0.5 * step
                continue
            x, h, H = x + step, there, made if fresh else H
            r = gradient.sum(axis=0) + penalty.apply(x[None])[0]
            assert H is not None
            (inverse,) = self._inverses(H.sum(axis=0)[None], lam)
            step = -inverse(r)
            left = -float(r @ step)
            serves, near = fresh or left <= STALE**2 * last, left <= STALE**4 * weights
            if serves and near and (fresh or np.isfinite(last)):
                break
            if near or not serves:
                H, step = None, np.zeros_like(x)
            last = left
        assert H is not None
        X = np.tile(x, (blocks.folds, 1))
        nothing = np.empty(0)
        if blocks.alike:
            at = Sums(
                *(blocks.train @ value, blocks.train @ gradient, blocks.test @ value),
                *(blocks.test @ gradient, nothing, nothing),
            )
        else:
            at = blocks.sums(X)
        return Warm(X, at, H)

    def _stale(self, lam: Array, warm: Warm, ask: Ask) -> Evaluation:
        """Steps with matrices of another point, until the errors of f and p are below ε.

        Each pass takes a step for x and one for t = dX/dλ, with H t + αx as the residual of the
        latter. The share that a pass leaves of x and of t, measured, says what is left after it.
        """
        penalty, X, at = self._penalty(lam), warm.X, warm.at
        factors = self._inverses(self._own(warm), lam)
        d, decrement = _step(factors, at.gradient + penalty.apply(X))
        T = change = -solved(factors, penalty.apply(X + d))
        p, error, again = np.nan, np.nan, False
        for _ in range(self.max_steps):
            clock.check()
            X = X + d
            at = self.blocks.sums(X, T if ask.gradient else None, valued=False)
            d, left = _step(factors, at.gradient + penalty.apply(X))
            rate = float(np.sqrt(np.max(left / np.maximum(decrement, np.finfo(float).tiny))))
            decrement = left
            moves = np.sum(at.g_x * d, axis=1)
            value = float(at.g.sum() + moves.sum())
            f_error = 2 * rate * float(np.abs(moves).sum()) + float(left.sum())
            enough = f_error <= ask.eps
            if ask.gradient:
                back = -solved(factors, at.bent + penalty.apply(T + X))
                share = max(rate, float(np.linalg.norm(back) / np.linalg.norm(change)))
                T, change = T + back, back
                shrunk = -solved(factors, penalty.apply(d))  # what the next step of x adds to t
                held = _times(self._held(warm), d)  # and to ∇g
                p = float(np.sum((at.g_x + held) * (T + shrunk)))
                mended = np.abs(np.sum(at.g_x * back, axis=1))
                # d changes ∇²h as well, and with it t by about as much again.
                other = np.abs(np.sum(held * T + at.g_x * shrunk, axis=1))
                error = 2 * share * float(mended.sum()) + float(other.sum()) + f_error
                enough = enough and error <= ask.eps
            if enough or float(left.sum()) <= ROUNDING**2 * abs(value):
                break
            if rate > STALE and again:
                return self._one_by_one(lam, X, ask)
            if rate > STALE:
                warm, again = self._common(lam, X.mean(axis=0), warm.H), True
                X, at, factors = warm.X, warm.at, self._inverses(self._own(warm), lam)
                d, decrement = _step(factors, at.gradient + penalty.apply(X))
                T = change = -solved(factors, penalty.apply(X + d))
        rounding = ROUNDING * abs(value)
        end = Warm(X, at, warm.H)
        if ask.gradient:
            modelled = self._look(lam, end, ask, factors)
            end = replace(end, missed=(value - modelled.value, p - float(modelled.grad[0])))
        return Evaluation(
            lam,
            value,
            np.array([p]) if ask.gradient else no_gradient(lam),
            g=float(at.g.sum()),
            f_error=f_error + rounding,
            error=error + rounding if ask.gradient else np.nan,
            warm=end,
        )

    def _one_by_one(self, lam: Array, X: Array, ask: Ask) -> Evaluation:
        """With matrices of each fold's own x: for folds that one point does not stand for."""
        warm = joint.Warm(X, self.blocks.sums(X, curved=True))
        return self._apart._evaluate(lam, replace(ask, eps=0.0), warm)

    def _look(
        self, lam: Array, warm: Warm, ask: Ask, factors: Sequence[Inverse] = ()
    ) -> Evaluation:
        """f and p of the quadratic models about the x at hand, without a pass over the rows."""
        penalty, X, at = self._penalty(lam), warm.X, warm.at
        factors = factors or self._inverses(self._own(warm), lam)
        d = -solved(factors, at.gradient + penalty.apply(X))
        bent = _times(self._held(warm), d)
        value = float(np.sum(at.g) + np.sum((at.g_x + 0.5 * bent) * d)) + warm.missed[0]
        grad = no_gradient(lam)
        if ask.gradient:
            T = -solved(factors, penalty.apply(X + d))
            grad = np.array([np.sum((at.g_x + bent) * T) + warm.missed[1]])
        g = float(at.g.sum())
        return Evaluation(lam, value, grad, g=g, f_error=np.nan, error=np.nan, warm=warm)

    def _inverses(self, H: Array, lam: Array) -> Sequence[Inverse]:
        return self._factors(self._penalty(lam).added(H), lam)

    def _held(self, warm: Warm) -> Array:
        """∇²g of every fold from the matrices of the blocks."""
        return np.tensordot(self.blocks.test * 1.0, warm.H, axes=1)

    def _own(self, warm: Warm) -> Array:
        """∇²L of every fold, likewise."""
        return np.tensordot(self.blocks.train * 1.0, warm.H, axes=1)

    # ---- the end

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h at the x that was found; each fold by itself where that is not enough."""
        if isinstance(found.warm, joint.Warm):
            return self._apart.verify(found, tol, deadline)
        before, warm, lam = self._ledger.cost, found.warm, found.lam
        factors, penalty = self._inverses(self._own(warm), lam), self._penalty(lam)
        X, at, last = warm.X, warm.at, np.inf
        for _ in range(self.max_steps):
            clock.check()
            d = -solved(factors, at.gradient + penalty.apply(X))
            left = float(np.sum(np.abs(np.sum(at.g_x * d, axis=1))))
            if left <= tol or left > 0.5 * last or time.perf_counter() > deadline:
                break
            X, last = X + d, left
            at = self.blocks.sums(X)
        error = left * (min(left / last, 1.0) if np.isfinite(last) else STALE)
        folds = at.g + np.sum(at.g_x * d, axis=1)
        if error > tol and time.perf_counter() <= deadline:
            alone = self._one_by_one(lam, X, Ask(gradient=False))
            assert alone.folds is not None
            X, at, folds, error = alone.warm.X, alone.warm.at, alone.folds, alone.f_error
        return self._closed(found, before, X, at, folds, error, tol)

    def refitted(self, whole: LinearModel, lam: Array, warm: Any, tol: float) -> Solve | None:
        """X(λ) on all rows, with the matrices at hand; None where they do not serve."""
        if isinstance(warm, joint.Warm):
            return self._apart.refitted(whole, lam, warm, tol)
        if not self._covers(whole):
            return None
        x = self.start(warm)
        M = of_folds([whole.penalty]).at(lam).added(warm.H.sum(axis=0)[None])
        (inverse,) = self._factors(M, lam)
        last = np.inf
        for k in range(self.max_steps):
            clock.check()
            point = whole.at(x, lam)
            size = float(np.linalg.norm(point.h_x))
            if size <= tol:
                return Solve(x, size, k, "tolerance", point)
            if size > FALLEN * last:
                return None
            x, last = x - inverse(point.h_x), size
        return None


def sample_size(coefficients: int) -> int:
    return SAMPLE * max(coefficients, 100)


def _step(factors: Sequence[Inverse], r: Array) -> tuple[Array, Array]:
    """−H⁻¹r for every fold, and rᵀH⁻¹r."""
    d = -solved(factors, r)
    return d, -np.sum(r * d, axis=1)


def _times(H: Array, D: Array) -> Array:
    """H_k d_k for every fold."""
    return np.asarray(np.einsum("kij,kj->ki", H, D))
