"""The folds of one model, solved together by Newton steps with factors.

    x_k ← x_k − t (H_k + S)⁻¹(∇L_k + Sx_k),   H_k = ∇²L_k = Aᵀ diag(s_k loss″) A
    q_k = (H_k + S)⁻¹∇g_k,   pⱼ = −Σ_k exp(λⱼ) q_kᵀSⱼx_k

for all folds k at once: one pass over the rows has the losses, the gradients and the matrices of
all of them. Every H_k is formed anew at every step, so that x and p are exact but for rounding, and
any λ of the box can be looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from hoag.criteria.base import SPACING, Criterion, Traits, no_gradient
from hoag.criteria.pull import Pull
from hoag.criteria.shared import SharedFolds
from hoag.glm.blocks import Blocks, Sums
from hoag.glm.model import LinearModel
from hoag.operators import Inverse, factored
from hoag.values import (
    EXACT,
    ROUNDING,
    SUFFICIENT,
    Array,
    Ask,
    Cost,
    Evaluation,
    InnerProblemError,
    Solve,
)

# A look over the box ends where the next step would move f by this share of itself.
ROUGH = 1e-3


@dataclass(frozen=True, eq=False)
class Warm:
    """x_k with the sums there, matrices and all."""

    X: Array
    at: Sums


class Joint(SharedFolds):
    """The folds of any model, by Newton steps, to rounding.

    max_steps   the most steps of Newton's method, at one λ
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        blocks: Blocks,
        plain: Callable[[], Criterion],
        several: bool = True,
        max_steps: int = 100,
    ) -> None:
        super().__init__(models, blocks, plain, several)
        self.max_steps = max_steps
        self._work = blocks  # where Newton steps are taken
        self._lift: Array | None = None
        if blocks.design.slopes > blocks.n * blocks.design.outputs and models[0].one_penalty:
            self._work, self._lift = blocks.spanned()
            self._design = self._work.design

    @property
    def traits(self) -> Traits:
        return Traits(looks=SPACING, bends=True, exact=True, blocks=np.arange(self.lam0.size))

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before = self._ledger.cost
        penalty = self._pull(lam)
        warm, note = self._newton(lam, penalty, warm or self.begun(), ask)
        X, at = warm.X, warm.at
        factors = self._factors(penalty.added(at.hessian), lam)
        Q = solved(factors, at.g_x)
        change = -float(np.sum(Q * (at.gradient + penalty.times(X))))
        value = float(at.g.sum()) + change
        f_error = ROUNDING * float(np.abs(at.g).sum()) + (abs(change) if note else 0.0)
        f_error += change**2 / (abs(value) or 1.0)
        scale = max(abs(value), float(np.sum(np.abs(Q * penalty.times(X)))))
        measured = ask.gradient and not ask.free
        p = -penalty.forms(Q, X) if ask.gradient else no_gradient(lam)
        hessian = self._hessian(penalty, factors, X, Q, p) if ask.hessian else None
        return Evaluation(
            lam,
            value,
            p,
            g=float(at.g.sum()),
            f_error=f_error,
            error=ROUNDING * scale if measured else np.nan,
            warm=warm,
            cost=self._ledger.cost - before,
            converged=not note,
            note=note,
            hessian=hessian,
        )

    def _hessian(
        self, penalty: Pull, factors: Sequence[Inverse], X: Array, Q: Array, p: Array
    ) -> Array:
        """fᵢⱼ = Σ_k tᵢᵀ(∇²g − D³L[q])tⱼ − Eᵢⱼ − Eⱼᵢ + δᵢⱼ pᵢ,  Eᵢⱼ = exp(λᵢ) qᵀSᵢtⱼ.

        With the tangents tⱼ = dX/dλⱼ = −(H + S)⁻¹ exp(λⱼ)Sⱼx of every fold.
        """
        T = -solved(factors, penalty.columns(X))
        E = np.einsum("kai,kaj->ij", penalty.columns(Q), T, optimize=True)
        B = self._work.bent(X, Q, T) - E - E.T
        return np.asarray(0.5 * (B + B.T) + np.diag(p))

    def axes(self, found: Evaluation, places: Array) -> tuple[Array, Cost]:
        """One Newton step from x to every λ′ that differs in one λⱼ: exact for a squared loss.

        With Sⱼ = FFᵀ, C = (H + S)⁻¹F, FᵀC = VΛVᵀ and c = exp(λ′ⱼ) − exp(λⱼ) that is
        x − CV(c/(1 + cΛ))VᵀFᵀx: one block of back-substitutions for all places of an axis.
        """
        before, X = self._ledger.cost, found.warm.X
        penalty = self._pull(found.lam)
        inverses = self._factors(penalty.added(found.warm.at.hessian), found.lam)
        total, (s, many) = np.zeros(places.shape), places.shape
        changes = penalty.alpha[:, None] * np.expm1(places - found.lam[:, None])
        for k, (inverse, x) in enumerate(zip(inverses, X, strict=True)):
            moved = np.empty((s, many, x.size))
            for j, F in enumerate(penalty.roots()):
                C = inverse(F)
                e, V = np.linalg.eigh(F.T @ C)
                share = changes[j][:, None] / np.maximum(1.0 + changes[j][:, None] * e, ROUNDING)
                moved[j] = x - (share * (V.T @ (F.T @ x))) @ (C @ V).T
            total += self._work.held(k, moved.reshape(s * many, -1)).reshape(s, many)
        return total, self._ledger.cost - before

    def begun(self, x: Array | None = None) -> Warm:
        """At one x for every fold, as its model lays it out; by default 0."""
        X = np.zeros((self._work.folds, self._design.size))
        if x is not None:
            X[:] = self._within(x[None])[0]
        return Warm(X, self._work.sums(X, curved=True))

    def _newton(self, lam: Array, penalty: Pull, warm: Warm, ask: Ask) -> tuple[Warm, str]:
        """Newton's method for every fold, to rounding.

        A look ahead ends one step before, since p is wanted to a few digits; one over the box where
        a step moves f by a small share of itself, for its square is all that is lost.
        """
        X, at = warm.X, warm.at
        enough = EXACT if ask.free else EXACT**2
        h = at.value + penalty.value(X)
        last = np.full(len(X), np.inf)
        for _ in range(self.max_steps):
            r = at.gradient + penalty.times(X)
            d = -solved(self._factors(penalty.added(at.hessian), lam), r)
            slope = np.sum(r * d, axis=1)  # −(the decrement)²
            size = np.abs(h)
            done = -slope <= enough * size
            noise = -slope <= ROUNDING * size  # where values of h no longer tell
            done |= noise & (-slope > 0.5 * last)
            if ask.eps == np.inf:
                done |= np.abs(np.sum(at.g_x * d, axis=1)) <= ROUGH * np.abs(at.g)
            if np.all(done):
                return Warm(X, at), ""
            last = np.where(noise, -slope, np.inf)
            t = np.ones(len(X))
            while True:
                trial = X + t[:, None] * d
                there = self._work.sums(trial, curved=True)
                h_there = there.value + penalty.value(trial)
                bad = ~noise & ~(h_there <= h + SUFFICIENT * t * slope)
                if not np.any(bad) or t[bad].max() < ROUNDING:
                    break
                t = np.where(bad, t / 2, t)
            if not np.all(np.isfinite(h_there)):
                raise InnerProblemError(
                    f"The inner loss is not finite at {_named(lam)}: rescale the data (features "
                    "of size 1)."
                )
            X, at, h = trial, there, h_there
        return Warm(X, at), f"Newton's method stopped after {self.max_steps} steps."

    # ---- the end

    def settled(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h on the rows as they were given, at the x that was found.

        f = g − ∇₁g·H⁻¹∇₁h; while the last term is above `tol`, it is corrected.
        """
        before, warm, penalty = self._ledger.cost, found.warm, self._pull(found.lam)
        factors = self._factors(penalty.added(warm.at.hessian), found.lam)
        X, last = warm.X, np.inf
        for k in range(self.max_steps):
            # An evaluation ends with the sums over all rows at its x: they are what is asked for.
            at = warm.at if k == 0 and self._lift is None else self._outside(X)
            d = -solved(factors, at.gradient + penalty.times(X))
            left = float(np.sum(np.abs(np.sum(at.g_x * d, axis=1))))
            if left <= tol or left > 0.5 * last or time.perf_counter() > deadline:
                break
            X, last = X + d, left
        value = float(at.g.sum() + np.sum(at.g_x * d))
        share = min(left / last, 1.0) if np.isfinite(last) else 0.0
        return self._closed(found, before, X, at, value, share * left, tol)

    def _outside(self, X: Array) -> Sums:
        """The sums at X over the rows as they are, and not in a basis of their span."""
        if self._lift is None:
            return self.blocks.sums(X)
        at = self.blocks.sums(np.stack(self._each(X)))
        return at._replace(gradient=self._within(at.gradient), g_x=self._within(at.g_x))

    def refitted(self, whole: LinearModel, lam: Array, warm: Warm, tol: float) -> Solve | None:
        """X(λ) on all rows, in the same way; None where the rows have no blocks."""
        blocks = Blocks.of([whole])
        if blocks is None:
            return None
        alone = Joint([whole], blocks, self._plain, several=False)
        found = alone.value(lam, warm=alone.begun(self.start(warm)))
        x = alone.solution(found)[0]
        residual = float(np.linalg.norm(whole.at(x, lam).h_x))
        return Solve(x, residual, self.max_steps, "precision" if found.converged else "stalled")

    def _factors(self, M: Array, lam: Array) -> list[Inverse]:
        self._ledger.charge(grams=len(M) * M.shape[-1] / (6.0 * self._work.n))  # size³/3 each
        return factors(M, lam)

    def _each(self, X: Array) -> list[Array]:
        """The x of every fold as its model lays it out."""
        if self._lift is None:
            return list(X)
        return list(_turned(self._lift.T, X, self._design.slopes, self._design.outputs))

    def _within(self, G: Array) -> Array:
        """x or gradients as models lay them out, (K, size), in the basis of the rows' span."""
        if self._lift is None:
            return G
        return _turned(self._lift, G, self.blocks.design.slopes, self._design.outputs)


def factors(M: Array, lam: Array) -> list[Inverse]:
    """b ↦ M_k⁻¹b; the columns are brought to one scale before a factor is formed."""
    diagonal = np.einsum("kii->ki", M)
    root = np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    scaled = M / root[:, :, None] / root[:, None, :]
    np.einsum("kii->ki", scaled)[:] = np.where(diagonal > 0, 1.0, 0.0)
    try:
        return [_rescaled(factored(own.copy()), r) for own, r in zip(scaled, root, strict=True)]
    except LinAlgError:
        np.einsum("kii->ki", scaled)[:] += M.shape[-1] * ROUNDING
    try:
        return [_rescaled(factored(own), r) for own, r in zip(scaled, root, strict=True)]
    except LinAlgError:
        raise InnerProblemError(
            f"∇²₁h is singular to rounding at {_named(lam)}: raise the lower bound."
        ) from None


def solved(inverses: Sequence[Inverse], R: Array) -> Array:
    """M_k⁻¹r_k for every fold."""
    return np.stack([inverse(r) for inverse, r in zip(inverses, R, strict=True)])


def _rescaled(inverse: Inverse, root: Array) -> Inverse:
    return lambda b: (inverse((b.T / root).T).T / root).T


def _turned(U: Array, X: Array, slopes: int, outputs: int) -> Array:
    """X with UᵀW in place of the slopes W of every row."""
    W = X[:, :slopes].reshape(len(X), -1, outputs)
    return np.concatenate([(U.T @ W).reshape(len(X), -1), X[:, slopes:]], axis=1)


def _named(lam: Array) -> str:
    return f"lam = {np.array2string(lam, precision=6, threshold=6)}"
