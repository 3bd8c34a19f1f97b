"""The folds of one model with one penalty, solved together by Newton steps with factors.

    x_k ← x_k − t (H_k + αI)⁻¹(∇L_k + αx_k),   H_k = ∇²L_k = Aᵀ diag(s_k loss″) A,   α = e^λ
    dX_k/dλ = −(H_k + αI)⁻¹ αx_k,   p = Σ_k ∇g_k·dX_k/dλ

for all folds k at once: one pass over the rows has the losses, the gradients and the matrices of
all of them. Where the data are small, every H_k is formed anew at every step: x and p are exact but
for rounding, and any λ of the box can be looked at. Where rows are many and columns few, the folds
hardly differ: H_k is formed once, at a point common to all folds, for each block of rows (a
training part is the whole less its block). Steps with it still converge, by a factor ρ at each
pass, which is measured, and says how wrong f and p may be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from hoag.criteria.base import SPACING, Criterion, Traits, no_gradient
from hoag.criteria.shared import SharedFolds, shrink
from hoag.glm.blocks import Blocks, Sums
from hoag.glm.model import LinearModel
from hoag.operators import Inverse, factored
from hoag.values import (
    EXACT,
    FALLEN,
    ROUNDING,
    SUFFICIENT,
    Array,
    Ask,
    Cost,
    Evaluation,
    InnerProblemError,
    Solve,
)

# Steps with an old matrix go on while each leaves at most this share of the gradient; else it is
# formed anew. It is formed where a step moves scores by less than the square of this, about.
STALE = 0.3
# So many rows for each coefficient, and for a hundred of them at least, say where to start.
SAMPLE = 20
# A look over the box ends where the next step would move f by this share of itself.
ROUGH = 1e-3


@dataclass(frozen=True, eq=False)
class Warm:
    """x_k with the sums there, and the matrices of steps: those of folds, or of blocks.

    `missed` is what was computed at this x less what its quadratic models say, of f and of p.
    `apart`: one point does not stand for all folds, each has the matrix of its own x.
    """

    X: Array
    at: Sums
    H: Array
    missed: tuple[float, float] = (0.0, 0.0)
    apart: bool = False


class Joint(SharedFolds):
    """The folds of any model, by Newton steps.

    exact       form every matrix anew, and solve to rounding
    max_steps   the most steps of Newton's method, at one λ
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        blocks: Blocks,
        plain: Callable[[], Criterion],
        several: bool = True,
        exact: bool = True,
        max_steps: int = 100,
    ) -> None:
        super().__init__(models, blocks, plain, several)
        self.exact, self.max_steps = exact, max_steps
        self._work = blocks  # where Newton steps are taken
        self._lift: Array | None = None
        if blocks.design.slopes > blocks.n * blocks.design.outputs:
            self._work, self._lift = blocks.spanned()

    @property
    def traits(self) -> Traits:
        one = np.zeros(1, dtype=np.intp)
        if self.exact:
            return Traits(looks=SPACING, exact=True, blocks=one)
        return Traits(looks=SPACING, modelled=True, blocks=one)

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before, alpha = self._ledger.cost, self._alpha(lam)
        if warm is None:
            warm = self._cold()
        if self.exact or warm.apart:
            found = self._exactly(alpha, warm, ask)
        elif ask.free:
            found = self._look(alpha, warm, ask.gradient)
        else:
            found = self._stale(alpha, warm, ask)
        value, p, f_error, error, warm, note = found
        return Evaluation(
            lam,
            value,
            np.array([p]) if ask.gradient else no_gradient(lam),
            g=float(warm.at.g.sum()),
            f_error=f_error,
            error=error if ask.gradient else np.nan,
            warm=warm,
            cost=self._ledger.cost - before,
            converged=not note,
            note=note,
        )

    # ---- exact

    def _cold(self) -> Warm:
        """x = 0, or a point common to all folds that is hardly shrunk."""
        size = self._work.design.size
        if self.exact:
            return self._begun(np.zeros(self.blocks.design.size))
        few = Joint(self.models, self._work.sampled(sample_size(size), seed=0), self._plain)
        nowhere = np.zeros(size)
        # With many rows for each coefficient the best is hardly shrunk: models of f about such an x
        # serve the whole box.
        H = few._work.expanded(nowhere)[2]
        weak = ROUGH * float(np.mean(np.diag(H.sum(axis=0))))
        return self._common(weak, few._common(weak, nowhere, H).X[0])

    def _begun(self, x: Array) -> Warm:
        """At one x for every fold, as its model lays it out."""
        if self._lift is not None:
            design = self.blocks.design
            W = self._lift.T @ x[: design.slopes].reshape(-1, design.outputs)
            x = np.concatenate([W.ravel(), x[design.slopes :]])
        X = np.tile(x, (self._work.folds, 1))
        at = self._work.sums(X, curved=True)
        return Warm(X, at, at.hessian)

    def _exactly(self, alpha: float, warm: Warm, ask: Ask) -> Any:
        X, at, H = warm.X, warm.at, warm.H
        X, at, note = self._newton(alpha, X, at, H, ask)
        S = self._shrink(alpha)
        H = at.hessian
        factors = self._factors(H, alpha)
        d = -_solved(factors, at.gradient + S * X)
        change = float(np.sum(at.g_x * d))
        value = float(at.g.sum()) + change
        T = -_solved(factors, S * X) if ask.gradient else None
        p = 0.0 if T is None else float(np.sum(at.g_x * T))
        f_error = ROUNDING * float(np.abs(at.g).sum()) + (abs(change) if note else 0.0)
        f_error += change**2 / (abs(value) or 1.0)
        scale = abs(value) if T is None else float(np.sum(np.abs(at.g_x * T)))
        error = np.nan if ask.free else ROUNDING * max(abs(value), scale)
        return value, p, f_error, error, Warm(X, at, H, apart=not self.exact), note

    def _newton(
        self, alpha: float, X: Array, at: Sums, H: Array, ask: Ask
    ) -> tuple[Array, Sums, str]:
        """Newton's method for every fold, to rounding; `at.hessian` is that at the x returned.

        A look ahead ends one step before, since p is wanted to a few digits; one over the box where
        a step moves f by a small share of itself, for its square is all that is lost.
        """
        enough = EXACT if ask.free else EXACT**2
        S = self._shrink(alpha)
        h = at.value + 0.5 * np.sum(S * X**2, axis=1)
        last = np.full(len(X), np.inf)
        for _ in range(self.max_steps):
            r = at.gradient + S * X
            d = -_solved(self._factors(H, alpha), r)
            slope = np.sum(r * d, axis=1)  # −(the decrement)²
            size = np.abs(h)
            done = -slope <= enough * size
            noise = -slope <= ROUNDING * size  # where values of h no longer tell
            done |= noise & (-slope > 0.5 * last)
            if ask.eps == np.inf:
                done |= np.abs(np.sum(at.g_x * d, axis=1)) <= ROUGH * np.abs(at.g)
            if np.all(done) and at.hessian.size:
                return X, at, ""
            last = np.where(noise, -slope, np.inf)
            t = np.ones(len(X))
            while True:
                trial = X + t[:, None] * d
                there = self._work.sums(trial, curved=True)
                h_there = there.value + 0.5 * np.sum(S * trial**2, axis=1)
                bad = ~noise & ~(h_there <= h + SUFFICIENT * t * slope)
                if not np.any(bad) or t[bad].max() < ROUNDING:
                    break
                t = np.where(bad, t / 2, t)
            if not np.all(np.isfinite(h_there)):
                raise InnerProblemError(
                    f"The inner loss is not finite at {self._named(alpha)}: rescale the data "
                    "(features of size 1)."
                )
            X, at, h, H = trial, there, h_there, there.hessian
        return X, at, f"Newton's method stopped after {self.max_steps} steps."

    # ---- with matrices of a common point

    def _common(self, alpha: float, x: Array, H: Array | None = None) -> Warm:
        """Newton's method for all rows at once, until a step hardly moves the scores.

        The matrix is formed anew where the last one leaves too much.
        """
        S, work = self._shrink(alpha), self._work
        weights = float(work.weights.sum())
        step, h, last, fresh = np.zeros_like(x), np.inf, np.inf, False
        for _ in range(self.max_steps):
            fresh = H is None
            value, gradient, made = work.expanded(x + step, curved=fresh)
            there = float(value.sum() + 0.5 * S @ (x + step) ** 2)
            if not there <= h:
                step = 0.5 * step
                continue
            x, h, H = x + step, there, made if fresh else H
            r = gradient.sum(axis=0) + S * x
            assert H is not None
            (inverse,) = self._factors(H.sum(axis=0)[None], alpha)
            step = -inverse(r)
            left = -float(r @ step)
            serves, near = fresh or left <= STALE**2 * last, left <= STALE**4 * weights
            if serves and near and (fresh or np.isfinite(last)):
                break
            if near or not serves:
                H, step = None, np.zeros_like(x)
            last = left
        assert H is not None
        X = np.tile(x, (work.folds, 1))
        nothing = np.empty(0)
        if work.alike:
            at = Sums(
                *(work.train @ value, work.train @ gradient, work.test @ value),
                *(work.test @ gradient, nothing, nothing),
            )
        else:
            at = work.sums(X)
        return Warm(X, at, H)

    def _stale(self, alpha: float, warm: Warm, ask: Ask) -> Any:
        """Steps with matrices of another point, until the errors of f and p are below ε.

        Each pass takes a step for x and one for t = dX/dλ, with H t + αx as the residual of the
        latter. The share that a pass leaves of x and of t, measured, says what is left after it.
        """
        S, X, at = self._shrink(alpha), warm.X, warm.at
        factors = self._factors(self._own(warm), alpha)
        d, decrement = self._step(factors, at.gradient + S * X)
        T = change = -_solved(factors, S * (X + d))
        p, error, apart = np.nan, np.nan, False
        for _ in range(self.max_steps):
            X = X + d
            at = self._work.sums(X, T if ask.gradient else None, valued=False)
            d, left = self._step(factors, at.gradient + S * X)
            rate = float(np.sqrt(np.max(left / np.maximum(decrement, np.finfo(float).tiny))))
            decrement = left
            moves = np.sum(at.g_x * d, axis=1)
            value = float(at.g.sum() + moves.sum())
            f_error = 2 * rate * float(np.abs(moves).sum()) + float(left.sum())
            enough = f_error <= ask.eps
            if ask.gradient:
                back = -_solved(factors, at.bent + S * (T + X))
                share = max(rate, float(np.linalg.norm(back) / np.linalg.norm(change)))
                T, change = T + back, back
                shrunk = -_solved(factors, S * d)  # what the next step of x adds to t
                held = _times(self._held(warm.H), d)  # and to ∇g
                p = float(np.sum((at.g_x + held) * (T + shrunk)))
                mended = np.abs(np.sum(at.g_x * back, axis=1))
                # d changes ∇²h as well, and with it t by about as much again.
                other = np.abs(np.sum(held * T + at.g_x * shrunk, axis=1))
                error = 2 * share * float(mended.sum()) + float(other.sum()) + f_error
                enough = enough and error <= ask.eps
            if enough or float(left.sum()) <= ROUNDING**2 * abs(value):
                break
            if rate > STALE and apart:
                return self._one_by_one(alpha, warm, ask)
            if rate > STALE:
                warm, apart = self._common(alpha, X.mean(axis=0), warm.H), True
                X, at, factors = warm.X, warm.at, self._factors(self._own(warm), alpha)
                d, decrement = self._step(factors, at.gradient + S * X)
                T = change = -_solved(factors, S * (X + d))
        f_error += ROUNDING * abs(value)
        end = Warm(X, at, warm.H)
        if ask.gradient:
            modelled = self._look(alpha, end, True, factors)
            end = replace(end, missed=(value - modelled[0], p - modelled[1]))
        return value, p, f_error, error + ROUNDING * abs(value), end, ""

    def _one_by_one(self, alpha: float, warm: Warm, ask: Ask) -> Any:
        """With matrices of each fold's own x: for folds that one point does not stand for.

        Where classes are all but separable, x runs away from fold to fold.
        """
        at = self._work.sums(warm.X, curved=True)
        return self._exactly(alpha, Warm(warm.X, at, at.hessian), replace(ask, eps=0.0))

    def _step(self, factors: Sequence[Inverse], r: Array) -> tuple[Array, Array]:
        """−H⁻¹r for every fold, and rᵀH⁻¹r."""
        d = -_solved(factors, r)
        return d, -np.sum(r * d, axis=1)

    def _look(
        self, alpha: float, warm: Warm, gradient: bool, factors: Sequence[Inverse] = ()
    ) -> Any:
        """f and p of the quadratic models about the x at hand, without a pass over the rows."""
        S, X, at = self._shrink(alpha), warm.X, warm.at
        factors = factors or self._factors(self._own(warm), alpha)
        d = -_solved(factors, at.gradient + S * X)
        bent = _times(self._held(warm.H), d)
        value = float(np.sum(at.g) + np.sum((at.g_x + 0.5 * bent) * d)) + warm.missed[0]
        p = np.nan
        if gradient:
            T = -_solved(factors, S * (X + d))
            p = float(np.sum((at.g_x + bent) * T)) + warm.missed[1]
        return value, p, np.nan, np.nan, warm, ""

    def _held(self, H: Array) -> Array:
        """∇²g of every fold from the matrices of the blocks."""
        return np.tensordot(self._work.test * 1.0, H, axes=1)

    def _own(self, warm: Warm) -> Array:
        """The matrices of every fold, its own or from those of the blocks."""
        own = self.exact or warm.apart
        return warm.H if own else np.tensordot(self._work.train * 1.0, warm.H, axes=1)

    # ---- the end

    def settled(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h on the rows as they were given, at the x that was found.

        f = g − ∇₁g·H⁻¹∇₁h; while the last term is above `tol`, it is corrected.
        """
        before, alpha, warm = self._ledger.cost, self._alpha(found.lam), found.warm
        factors, S = self._factors(self._own(warm), alpha), self._shrink(alpha)
        X, last = warm.X, np.inf
        for k in range(self.max_steps):
            # An evaluation ends with the sums over all rows at its x: they are what is asked for.
            known = k == 0 and self._lift is None and X is warm.X
            at = warm.at if known else self._outside(X)
            r = at.gradient + S * X
            d = -_solved(factors, r)
            left = float(np.sum(np.abs(np.sum(at.g_x * d, axis=1))))
            if left <= tol or left > 0.5 * last or time.perf_counter() > deadline:
                break
            X, last = X + d, left
        value = float(at.g.sum() + np.sum(at.g_x * d))
        exact = self.exact or warm.apart
        share = min(left / last, 1.0) if np.isfinite(last) else (0.0 if exact else STALE)
        error, g = share * left + ROUNDING * abs(value), float(at.g.sum())
        if error > tol and not exact and time.perf_counter() <= deadline:
            alone = self._one_by_one(alpha, replace(warm, X=X), Ask(gradient=False))
            value, error, X, g = alone[0], alone[2], alone[4].X, float(alone[4].at.g.sum())
        return replace(
            found,
            value=value,
            g=g,
            f_error=error,
            x=self._as_asked(self._each(X)),
            cost=self._ledger.cost - before,
            converged=error <= max(tol, ROUNDING * abs(value)),
        )

    def _outside(self, X: Array) -> Sums:
        """The sums at X over the rows as they are, and not in a basis of their span."""
        if self._lift is None:
            return self.blocks.sums(X)
        slopes, outputs = self._work.design.slopes, self._work.design.outputs
        at = self.blocks.sums(np.stack(self._each(X)))
        U, mine = self._lift, self.blocks.design.slopes

        def back(G: Array) -> Array:
            W = G[:, :mine].reshape(len(G), -1, outputs)
            return np.concatenate([(U.T @ W).reshape(len(G), slopes), G[:, mine:]], axis=1)

        return at._replace(gradient=back(at.gradient), g_x=back(at.g_x))

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        return found.x if found.x is not None else self._as_asked(self._each(found.warm.X)), Cost()

    def refitted(self, whole: LinearModel, lam: Array, warm: Warm, tol: float) -> Solve | None:
        """X(λ) on all rows, in the same way; None where the matrices at hand do not serve."""
        if self.exact or warm.apart:
            blocks = Blocks.of([whole])
            assert blocks is not None
            alone = Joint([whole], blocks, self._plain, several=False)
            found = alone.value(lam, warm=alone._begun(self.start(warm)))
            x = alone.solution(found)[0]
            residual = float(np.linalg.norm(whole.at(x, lam).h_x))
            return Solve(x, residual, self.max_steps, "precision" if found.converged else "stalled")
        if not self._covers(whole):
            return None
        x = self.start(warm)
        (inverse,) = self._factors(warm.H.sum(axis=0)[None], self._alpha(lam))
        last = np.inf
        for k in range(self.max_steps):
            point = whole.at(x, lam)
            size = float(np.linalg.norm(point.h_x))
            if size <= tol:
                return Solve(x, size, k, "tolerance", point)
            if size > FALLEN * last:
                return None
            x, last = x - inverse(point.h_x), size
        return None

    def start(self, warm: Warm) -> Array:
        """Where the fit on all rows may start: the mean of the folds' solutions."""
        return np.asarray(np.mean(self._each(warm.X), axis=0))

    @property
    def _ledger(self) -> Any:
        return self.blocks.ledger

    def _named(self, alpha: float) -> str:
        return f"lam = {np.log(alpha) + self._penalty.shift:g}"

    def _shrink(self, alpha: float) -> Array:
        return shrink(self._work.design, alpha)

    def _factors(self, H: Array, alpha: float) -> list[Any]:
        """b ↦ (H_k + αI)⁻¹b; the columns are brought to one scale before a factor is formed."""
        S, size = self._shrink(alpha), H.shape[-1]
        self._ledger.charge(grams=len(H) * size / (6.0 * self._work.n))  # size³/3 operations each
        diagonal = np.einsum("kii->ki", H) + S
        root = np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
        scaled = H / root[:, :, None] / root[:, None, :]
        np.einsum("kii->ki", scaled)[:] = np.where(diagonal > 0, 1.0, 0.0)
        try:
            return [_rescaled(factored(own.copy()), r) for own, r in zip(scaled, root, strict=True)]
        except LinAlgError:
            np.einsum("kii->ki", scaled)[:] += size * ROUNDING
        try:
            return [_rescaled(factored(own), r) for own, r in zip(scaled, root, strict=True)]
        except LinAlgError:
            raise InnerProblemError(
                f"∇²₁h is singular to rounding at {self._named(alpha)}: raise the lower bound."
            ) from None

    def _each(self, X: Array) -> list[Array]:
        """The x of every fold as its model lays it out."""
        if self._lift is None:
            return list(X)
        design = self._work.design
        return [
            np.concatenate(
                [
                    (self._lift @ x[: design.slopes].reshape(-1, design.outputs)).ravel(),
                    x[design.slopes :],
                ]
            )
            for x in X
        ]


def sample_size(coefficients: int) -> int:
    return SAMPLE * max(coefficients, 100)


def _rescaled(inverse: Inverse, root: Array) -> Inverse:
    return lambda b: inverse(b / root) / root


def _times(H: Array, D: Array) -> Array:
    """H_k d_k for every fold."""
    return np.asarray(np.einsum("kij,kj->ki", H, D))


def _solved(factors: Sequence[Any], R: Array) -> Array:
    return np.stack([inverse(r) for inverse, r in zip(factors, R, strict=True)])
