"""The folds of one model, solved together by Newton steps with factors.

    x_k ← x_k − t (H_k + S)⁻¹(∇L_k + Sx_k),   H_k = ∇²L_k = Aᵀ diag(s_k loss″) A
    q_k = (H_k + S)⁻¹∇g_k,   pⱼ = −Σ_k exp(λⱼ) q_kᵀSⱼx_k

for all folds k at once: one pass over the rows has the losses, the gradients and the matrices of
all of them. Every H_k is formed anew at every step, so that x and p are exact but for rounding, and
any λ of the box can be looked at. Where that is dear, old matrices are kept, as a preconditioner of
conjugate gradients, and p is exact to five digits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from hoag.criteria.base import CHEAP, SPACING, Criterion, Traits, no_gradient
from hoag.criteria.pull import Pull
from hoag.criteria.shared import SharedFolds
from hoag.glm.blocks import Bends, Blocks, Sums
from hoag.glm.model import LinearModel
from hoag.operators import Inverse
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
    """x_k with the sums there, and where matrices are dear, those of an earlier x."""

    X: Array
    at: Sums
    H: Array | None = None


# A solution, the factors there or nearby, and what went wrong.
Solved = tuple[Warm, "list[Factor]", str]


class Joint(SharedFolds):
    """The folds of any model, by Newton steps, to rounding.

    max_steps   the most steps of Newton's method, at one λ
    forcing     the share of a step that may be left undone, where matrices are dear
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        blocks: Blocks,
        plain: Callable[[], Criterion],
        several: bool = True,
        max_steps: int = 100,
        forcing: float = 0.1,
    ) -> None:
        super().__init__(models, blocks, plain, several)
        self.max_steps, self.forcing = max_steps, forcing
        self._work = blocks  # where Newton steps are taken
        self._lift: Array | None = None
        if blocks.design.slopes > blocks.n * blocks.design.outputs and models[0].one_penalty:
            self._work, self._lift = blocks.spanned()
            self._design = self._work.design
        self._dear = self._work.folds * self._work.n * self._design.size**2 > CHEAP

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.lam0.size)
        return Traits(looks=SPACING, bends=True, exact=not self._dear, blocks=blocks)

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before = self._ledger.cost
        penalty = self._pull(lam)
        solve = self._by_products if self._dear else self._newton
        warm, factors, note = solve(lam, penalty, warm or self.begun(), ask)
        X, at = warm.X, warm.at
        if at.hessian.size:
            Q = solved(factors, at.g_x)
        else:
            Q, _ = self._conjugate(penalty, self._work.bends_at(X), factors, at.g_x, EXACT**0.5)
        change = -float(np.sum(Q * (at.gradient + penalty.times(X))))
        value = float(at.g.sum()) + change
        f_error = ROUNDING * float(np.abs(at.g).sum()) + (abs(change) if note else 0.0)
        f_error += change**2 / (abs(value) or 1.0)
        scale = max(abs(value), float(np.sum(np.abs(Q * penalty.times(X)))))
        measured, loose = ask.gradient and not ask.free, self._dear and ask.hessian
        p = -penalty.forms(Q, X) if ask.gradient else no_gradient(lam)
        hessian = self._hessian(penalty, factors, X, Q, p) if ask.hessian else None
        return Evaluation(
            lam,
            value,
            p,
            g=float(at.g.sum()),
            f_error=f_error,
            error=(EXACT**0.5 if loose else ROUNDING) * scale if measured else np.nan,
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
        inverses = self._own(found.warm, found.lam, penalty)
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
        return Warm(X, self._work.sums(X, curved=not self._dear))

    def _newton(self, lam: Array, penalty: Pull, warm: Warm, ask: Ask) -> Solved:
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
            factors = self._factors(penalty.added(at.hessian), lam)
            d = -solved(factors, r)
            slope = np.sum(r * d, axis=1)  # −(the decrement)²
            size = np.abs(h)
            done = -slope <= enough * size
            noise = -slope <= ROUNDING * size  # where values of h no longer tell
            done |= noise & (-slope > 0.5 * last)
            if ask.eps == np.inf:
                done |= np.abs(np.sum(at.g_x * d, axis=1)) <= ROUGH * np.abs(at.g)
            if np.all(done):
                return Warm(X, at), factors, ""
            last = np.where(noise, -slope, np.inf)
            X, at, h = self._searched(lam, penalty, X, h, d, np.where(noise, np.inf, slope))
        factors = self._factors(penalty.added(at.hessian), lam)
        return Warm(X, at), factors, f"Newton's method stopped after {self.max_steps} steps."

    def _searched(
        self, lam: Array, penalty: Pull, X: Array, h: Array, d: Array, slope: Array
    ) -> tuple[Array, Sums, Array]:
        """x_k + t_k d_k with h lower by a share of what its slope promises; the sums and h there.

        A slope of ∞ takes the step as it is: values of h no longer tell.
        """
        t = np.ones(len(X))
        while True:
            trial = X + t[:, None] * d
            there = self._work.sums(trial, curved=not self._dear)
            h_there = there.value + penalty.value(trial)
            bad = ~(h_there <= h + SUFFICIENT * t * slope)
            if not np.any(bad) or t[bad].max() < ROUNDING:
                break
            t = np.where(bad, t / 2, t)
        if not np.all(np.isfinite(h_there)):
            raise InnerProblemError(
                f"The inner loss is not finite at {_named(lam)}: rescale the data (features of "
                "size 1)."
            )
        return trial, there, h_there

    def _by_products(self, lam: Array, penalty: Pull, warm: Warm, ask: Ask) -> Solved:
        """The same where matrices are dear: steps by conjugate gradients, with factors kept.

        They are formed anew where products have cost as much since, and at the end where ∇²f is
        asked for.
        """
        X, at = warm.X, warm.at
        known = at.hessian if at.hessian.size else warm.H
        H = self._formed(X) if known is None else known
        factors = self._factors(penalty.added(H), lam)
        h, spent = at.value + penalty.value(X), 0
        last = np.full(len(X), np.inf)
        enough = EXACT if ask.free or ask.hessian else EXACT**2
        for _ in range(self.max_steps):
            r = at.gradient + penalty.times(X)
            bends = self._work.bends_at(X)
            d, taken = self._conjugate(penalty, bends, factors, -r, self.forcing)
            slope = np.sum(r * d, axis=1)
            done, noise = -slope <= enough * np.abs(h), -slope <= ROUNDING * np.abs(h)
            done |= noise & (-slope > 0.5 * last)
            if ask.eps == np.inf:
                done |= np.abs(np.sum(at.g_x * d, axis=1)) <= ROUGH * np.abs(at.g)
            if np.all(done):
                break
            last = np.where(noise, -slope, np.inf)
            X, at, h = self._searched(lam, penalty, X, h, d, np.where(noise, np.inf, slope))
            spent += taken
            if spent > self._worth:
                H, spent = self._formed(X), 0
                factors = self._factors(penalty.added(H), lam)
        else:
            why = f"Newton's method stopped after {self.max_steps} steps."
            return Warm(X, at, H), factors, why
        if ask.hessian:
            at = self._work.sums(X, curved=True)
            H, factors = at.hessian, self._factors(penalty.added(at.hessian), lam)
        return Warm(X, at, H), factors, ""

    def _formed(self, X: Array) -> Array:
        return self._work.sums(X, curved=True).hessian

    @property
    def _worth(self) -> float:
        """How many products take as long as matrices and factors; a product waits for memory."""
        design, n = self._design, self._work.n
        matrix = (design.outputs + 1) * design.outputs * n * design.features**2
        return (matrix + design.size**3 / 3) / (4 * 4 * n * design.features * design.outputs)

    def _conjugate(
        self, penalty: Pull, bends: Bends, factors: Sequence[Factor], B: Array, tol: float
    ) -> tuple[Array, int]:
        """(H_k + S)⁻¹b_k for all folds to `tol`, relatively, and how many products that took."""
        X, R = np.zeros_like(B), B
        Z = solved(factors, R)
        D, size = Z, np.sum(R * Z, axis=1)
        first = size
        for k in range(self.max_steps):
            if np.all(size <= tol**2 * first):
                return X, k
            HD = bends.times(D) + penalty.times(D)
            t = size / np.maximum(np.sum(D * HD, axis=1), np.finfo(float).tiny)
            X, R = X + t[:, None] * D, R - t[:, None] * HD
            Z, before = solved(factors, R), size
            size = np.sum(R * Z, axis=1)
            D = Z + (size / np.maximum(before, np.finfo(float).tiny))[:, None] * D
        return X, self.max_steps

    # ---- the end

    def settled(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h on the rows as they were given, at the x that was found.

        f = g − ∇₁g·H⁻¹∇₁h; while the last term is above `tol`, it is corrected.
        """
        before, warm, penalty = self._ledger.cost, found.warm, self._pull(found.lam)
        factors = self._own(warm, found.lam, penalty)
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

    def _own(self, warm: Warm, lam: Array, penalty: Pull) -> list[Factor]:
        """The factors of every fold at its x, made where they are not at hand."""
        H = warm.at.hessian if warm.at.hessian.size else self._formed(warm.X)
        return self._factors(penalty.added(H), lam)

    def _factors(self, M: Array, lam: Array) -> list[Factor]:
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


class Factor:
    """b ↦ M⁻¹b by a Cholesky factor; the columns are brought to one scale before it is formed."""

    def __init__(self, scaled: Array, root: Array) -> None:
        self._root = root
        self._lower, failed = dpotrf(scaled.T, lower=1, clean=0)
        if failed:
            raise LinAlgError("The matrix is not positive definite.")

    def __call__(self, b: Array) -> Array:
        """For b of shape (size,) or (size, m)."""
        inner = dpotrs(self._lower, (b.T / self._root).T, lower=1)[0]
        return np.asarray((inner.T / self._root).T)


def factors(M: Array, lam: Array) -> list[Factor]:
    """One for each M_k."""
    diagonal = np.einsum("kii->ki", M)
    root = np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
    scaled = M / root[:, :, None] / root[:, None, :]
    np.einsum("kii->ki", scaled)[:] = np.where(diagonal > 0, 1.0, 0.0)
    try:
        return [Factor(own, r) for own, r in zip(scaled, root, strict=True)]
    except LinAlgError:
        np.einsum("kii->ki", scaled)[:] += M.shape[-1] * ROUNDING
    try:
        return [Factor(own, r) for own, r in zip(scaled, root, strict=True)]
    except LinAlgError:
        raise InnerProblemError(
            f"∇²₁h is singular to rounding at {_named(lam)}: raise the lower bound."
        ) from None


def solved(inverses: Sequence[Inverse], R: Array) -> Array:
    """M_k⁻¹r_k for every fold."""
    return np.stack([inverse(r) for inverse, r in zip(inverses, R, strict=True)])


def _turned(U: Array, X: Array, slopes: int, outputs: int) -> Array:
    """X with UᵀW in place of the slopes W of every row."""
    W = X[:, :slopes].reshape(len(X), -1, outputs)
    return np.concatenate([(U.T @ W).reshape(len(X), -1), X[:, slopes:]], axis=1)


def _named(lam: Array) -> str:
    return f"lam = {np.array2string(lam, precision=6, threshold=6)}"
