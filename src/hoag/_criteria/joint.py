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
from functools import cached_property, partial

import numpy as np

from hoag._core import clock
from hoag._core.errors import InnerProblemError
from hoag._core.numeric import EXACT, ROUNDING, SUFFICIENT, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.storable import storable
from hoag._criteria.base import CHEAP, SPACING, Traits, no_gradient, unsolved
from hoag._criteria.shared import SharedFolds
from hoag._glm.design import FoldedDesign, FoldedHessian, Sums
from hoag._glm.model import LinearModel
from hoag._glm.penalties import QuadraticForm, of_folds
from hoag._glm.term import Predictor
from hoag._linalg.cholesky import conjugate, named, solved
from hoag._linalg.operator import Inverse
from hoag.inner import Continued

# A look over the box ends where the next step would move f by this share of itself.
ROUGH = 1e-3


@storable
@dataclass(frozen=True, eq=False)
class Warm:
    """x_k with the sums there, and the matrices that were formed last, here or at an earlier x."""

    X: Array
    at: Sums
    H: Array | None = None


# A solution, the factors there or nearby, and what went wrong.
Solved = tuple[Warm, Sequence[Inverse], str]


class Joint(SharedFolds[FoldedDesign]):
    """The folds of any model, by Newton steps, to rounding."""

    max_steps = 100  # of Newton's method, at one λ, and of conjugate gradients in each
    forcing = 0.1  # the share of a step that may be left undone, where matrices are dear
    softness = 0  # how many times the loss was made softer

    @property
    def _predictor(self) -> Predictor:
        """Newton steps are taken in the basis of the rows' span."""
        return self.work.predictor

    def _penalty(self, lam: Array) -> QuadraticForm:
        return of_folds(self.penalties).at(lam)

    @cached_property
    def _dear(self) -> bool:
        """Whether matrices of all folds cost too much to be formed at every step.

        Rows that are compared with each other have no cheaper way to look over a whole box.
        """
        if self.lam0.size == 1 and not self.models[0].train.row_by_row:
            return False
        return self._products > CHEAP

    @property
    def _products(self) -> float:
        """Of numbers, for the matrices of all folds."""
        return float(self.work.folds * self.work.n * self._predictor.size**2)

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.lam0.size)
        return Traits(scan_spacing=SPACING, has_hessian=True, exact=not self._dear, blocks=blocks)

    def _evaluate(self, lam: Array, ask: Ask, warm: Warm | None) -> Evaluation:
        before = self._ledger.cost
        penalty = self._penalty(lam)
        warm, factors, note = self._newton(lam, penalty, warm or self.begun(), ask)
        X, at = warm.X, warm.at
        if at.hessian.size:
            Q = solved(factors, at.g_x)
        else:
            tol = ROUGH if ask.eps == np.inf else EXACT**0.5
            Q, _ = self._conjugate(penalty, self.work.hessian_at(X), factors, at.g_x, tol)
        changes = -np.sum(Q * (at.gradient + penalty.apply(X)), axis=1)
        change = float(changes.sum())
        value = float(at.g.sum()) + (0.0 if note else change)
        f_error = ROUNDING * float(np.abs(at.g).sum()) + change * (change / (abs(value) or 1.0))
        if note:
            r = at.gradient + penalty.apply(X)
            size = float(np.sum(np.abs(at.value) + penalty.rounded(X)))
            f_error += abs(change) + unsolved(float(np.sum(r * solved(factors, r))), size)
        scale = max(abs(value), float(np.sum(np.abs(Q * penalty.apply(X)))))
        measured, loose = ask.gradient and not ask.free, self._dear and ask.hessian
        p = -penalty.vjp(X, Q) if ask.gradient else no_gradient(lam)
        hessian, tangents = None, None
        if ask.hessian:
            T = -solved(factors, penalty.columns(X))
            hessian = self._hessian(penalty, X, Q, T, p)
            tangents = self._as_asked([np.stack(self._each(t.T), axis=1) for t in T])
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
            tangents=tangents,
            folds=at.g if note else at.g + changes,
        )

    def _hessian(self, penalty: QuadraticForm, X: Array, Q: Array, T: Array, p: Array) -> Array:
        """fᵢⱼ = Σ_k tᵢᵀ(∇²g − D³L[q])tⱼ − Eᵢⱼ − Eⱼᵢ + δᵢⱼ pᵢ,  Eᵢⱼ = exp(λᵢ) qᵀSᵢtⱼ.

        With the tangents tⱼ = dX/dλⱼ = −(H + S)⁻¹ exp(λⱼ)Sⱼx of every fold.
        """
        E = np.einsum("kai,kaj->ij", penalty.columns(Q), T, optimize=True)
        B = self.work.second_order(X, Q, T) - E - E.T
        return np.asarray(0.5 * (B + B.T) + np.diag(p))

    def profile(self, found: Evaluation, places: Array) -> tuple[Array, Cost]:
        """One Newton step from x to every λ′ that differs in one λⱼ: exact for a squared loss.

        With Sⱼ = FFᵀ, C = (H + S)⁻¹F, FᵀC = VΛVᵀ and c = exp(λ′ⱼ) − exp(λⱼ) that is
        x − CV(c/(1 + cΛ))VᵀFᵀx: one block of back-substitutions for all places of an axis.
        """
        before, X = self._ledger.cost, found.warm.X
        penalty = self._penalty(found.lam)
        inverses = self._own(found.warm, found.lam, penalty)
        total, (s, many) = np.where(np.isfinite(places), 0.0, np.nan), places.shape
        changes = penalty.strengths[:, None] * np.expm1(places - found.lam[:, None])
        for k, (inverse, x) in enumerate(zip(inverses, X, strict=True)):
            clock.check()
            moved = np.full((s, many, x.size), np.nan)
            for j, F in enumerate(penalty.roots(self._predictor.size, k)):
                if not np.any(np.isfinite(places[j])):
                    continue
                C = inverse(F)
                e, V = np.linalg.eigh(F.T @ C)
                share = changes[j][:, None] / np.maximum(1.0 + changes[j][:, None] * e, ROUNDING)
                moved[j] = x - (share * (V.T @ (F.T @ x))) @ (C @ V).T
            asked = np.isfinite(places)
            total[asked] += self.work.held(k, moved[asked])
        return total, self._ledger.cost - before

    def begun(self, x: Array | None = None) -> Warm:
        """At one x for every fold, as its model lays it out; by default 0."""
        X = np.zeros((self.work.folds, self._predictor.size))
        if x is not None:
            X[:] = self._within(x[None])[0]
        return self._at(X)

    @cached_property
    def _softer(self) -> Joint | None:
        """The same folds with a softer loss, where there is one."""
        design = self.design.softened() if self.softness < Continued.levels else None
        if design is None:
            return None
        found = type(self)(self.models, design, self._plain, self.several)
        found.span, found.softness = self.span, self.softness + 1
        return found

    def _newton(self, lam: Array, penalty: QuadraticForm, warm: Warm, ask: Ask) -> Solved:
        """The solution of every fold; where Newton's steps lead nowhere, by way of softer losses.

        Where a loss bends within a small width only, steps from afar are arbitrary. The softest
        that it takes is solved from `warm`, every other one from where the last two lead:

            x(w) ≈ x(cw) + (x(cw) − x(c²w))/c,   w the width, c = Continued.softer,

        for x is linear in w where it is small, but for terms of order exp(−1/w).
        """
        softer = self._softer
        if softer is None:
            return self._steps(lam, penalty, warm, ask)
        found = self._tried(lam, penalty, warm, ask)
        levels, own = [self], Ask(free=True)
        while found[2] and softer is not None:
            found = softer._tried(lam, penalty, softer._at(warm.X), own)
            levels, softer = [*levels, softer], softer._softer
        X, before = found[0].X, None
        for level in reversed(levels[:-1]):
            start = level._at(X) if before is None else level._lower(penalty, X, before)
            asked = ask if level is self else own
            before, found = X, level._steps(lam, penalty, start, asked)
            X = found[0].X
        return found

    def _tried(self, lam: Array, penalty: QuadraticForm, warm: Warm, ask: Ask) -> Solved:
        """A few points of Newton's method, and whether they are enough."""
        try:
            return self._steps(lam, penalty, warm, ask, Continued.patience)
        except InnerProblemError as error:
            return warm, [], str(error)

    def _lower(self, penalty: QuadraticForm, X: Array, before: Array) -> Warm:
        """At X, or at what X and the solution before it lead to, where h is lower; each fold."""
        ahead = X + (X - before) / Continued.softer
        h, there = (self.work.sums(place).value + penalty.value(place) for place in (X, ahead))
        return self._at(np.where((there < h)[:, None], ahead, X))

    def _at(self, X: Array) -> Warm:
        return Warm(X, self.work.sums(X, curved=not self._dear))

    def _steps(
        self, lam: Array, penalty: QuadraticForm, warm: Warm, ask: Ask, points: float = np.inf
    ) -> Solved:
        """Newton's method for every fold, to rounding, if it gets there by so many points tried.

        A look ahead ends one step before, since p is wanted to a few digits; one over the box where
        a step moves f by a small share of itself, for its square is all that is lost. Where
        matrices are dear, a step is solved by products, with factors of older ones, until products
        have cost as much as new ones would; those of the end are formed where ∇²f is asked for.
        """
        X, at, H = warm.X, warm.at, warm.H
        enough = EXACT if ask.free or (self._dear and ask.hessian) else EXACT**2
        h, last, spent = at.value + penalty.value(X), np.full(len(X), np.inf), 0
        factors: Sequence[Inverse] = []
        if H is not None and not at.hessian.size:
            factors = self._inverses(penalty, H, lam)
        note = f"Newton's method stopped after {self.max_steps} steps."
        for _ in range(self.max_steps):
            clock.check()
            if not at.hessian.size and (H is None or spent > self._worth):
                at = self.work.sums(X, curved=True)
            r = at.gradient + penalty.apply(X)
            if at.hessian.size:
                H, spent = at.hessian, 0
                factors = self._inverses(penalty, H, lam)
                d = -solved(factors, r)
            else:
                bends = self.work.hessian_at(X)
                d, taken = self._conjugate(penalty, bends, factors, -r, self.forcing)
                spent += taken
            slope = np.sum(r * d, axis=1)  # −(the decrement)², but for rounding
            size = np.abs(at.value) + penalty.rounded(X)
            done = np.abs(slope) <= enough * size
            noise = np.abs(slope) <= ROUNDING * size  # where values of h no longer tell
            done |= noise & (np.abs(slope) > 0.5 * last)
            if ask.eps == np.inf:
                done |= np.abs(np.sum(at.g_x * d, axis=1)) <= ROUGH * np.abs(at.g)
            if np.all(done):
                note = ""
                break
            last = np.where(noise, np.abs(slope), np.inf)
            slope = np.where(noise, np.inf, np.minimum(slope, 0.0))
            before = X
            X, at, h, tried = self._searched(lam, penalty, X, h, d, slope)
            points -= tried
            if points <= 0:
                note = "Newton's method went too short a way for what it tried."
                break
            if np.array_equal(X[~done], before[~done]):
                note = "Newton's method found no step along which the training loss falls."
                break
        if ask.hessian and not at.hessian.size:
            at = self.work.sums(X, curved=True)
        if at.hessian.size and at.hessian is not H:
            H = at.hessian
            factors = self._inverses(penalty, H, lam)
        return Warm(X, at, H), factors, note

    def _searched(
        self, lam: Array, penalty: QuadraticForm, X: Array, h: Array, d: Array, slope: Array
    ) -> tuple[Array, Sums, Array, int]:
        """x_k + t_k d_k with h lower by a share of what its slope promises; the sums and h there.

        And how many t were tried.

        Where h is level, values lose more digits than there are to tell (losses of rows that are
        all but certain are differences of large numbers), and the slope at the end decides: the
        approximate Wolfe conditions of Hager and Zhang (2005). A slope of ∞ takes the step as it
        is. Where no step is short enough, x stays.
        """
        t, curved, tried = np.ones(len(X)), not self._dear, 0
        while True:
            clock.check()
            trial, tried = X + t[:, None] * d, tried + 1
            there = self.work.sums(trial, curved=curved)
            h_there = there.value + penalty.value(trial)
            fallen = h_there <= h + SUFFICIENT * t * slope
            ahead = np.sum((there.gradient + penalty.apply(trial)) * d, axis=1)
            level = np.abs(h_there - h) <= EXACT**0.5 * np.abs(h)
            bad = ~(fallen | (level & (ahead <= 0.5 * np.abs(slope)))) & (t > 0)
            if not np.any(bad):
                break
            curved = False  # shorter steps need no matrices but the last
            t = np.where(bad, np.where(t < ROUNDING, 0.0, t / 2), t)
        if not curved and not self._dear:
            there = self.work.sums(trial, curved=True)
        if not np.all(np.isfinite(h_there)):
            raise InnerProblemError(
                f"The inner loss is not finite at {named(lam)}: rescale the data (features of "
                "size 1)."
            )
        return trial, there, h_there, tried

    @property
    def _worth(self) -> float:
        """How many products take as long as matrices and factors; a product waits for memory."""
        own, n = self._predictor, self.work.n
        matrix = (own.outputs + 1) * own.outputs * n * own.features**2
        return (matrix + own.size**3 / 3) / (4 * 4 * n * own.features * own.outputs)

    def _conjugate(
        self,
        penalty: QuadraticForm,
        bends: FoldedHessian,
        factors: Sequence[Inverse],
        B: Array,
        tol: float,
    ) -> tuple[Array, int]:
        """(H_k + S)⁻¹b_k for all folds to `tol`, relatively, and how many products that took."""

        def product(D: Array) -> Array:
            return bends.times(D) + penalty.apply(D)

        return conjugate(product, partial(solved, factors), B, tol, self.max_steps)

    # ---- the end

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """g and ∇₁h on the rows as they were given, at the x that was found.

        f = g − ∇₁g·H⁻¹∇₁h; while the last term is above `tol`, it is corrected.
        """
        before, warm, penalty = self._ledger.cost, found.warm, self._penalty(found.lam)
        factors = self._own(warm, found.lam, penalty)
        X, last = warm.X, np.inf
        for k in range(self.max_steps):
            clock.check()
            # An evaluation ends with the sums over all rows at its x: they are what is asked for.
            at = self._outside(X) if k or self.span.wide else warm.at
            d = -solved(factors, at.gradient + penalty.apply(X))
            left = float(np.sum(np.abs(np.sum(at.g_x * d, axis=1))))
            stuck = left > 0.5 * last or not found.converged
            if left <= tol or stuck or time.perf_counter() > deadline:
                break
            X, last = X + d, left
        folds = at.g + np.sum(at.g_x * d, axis=1)
        share = min(left / last, 1.0) if np.isfinite(last) else 0.0
        error = share * left
        if not found.converged:  # such steps say nothing
            folds, error = at.g, max(left, found.f_error)
        return self._closed(found, before, X, at, folds, error, tol)

    def _outside(self, X: Array) -> Sums:
        """The sums at X over the rows as they are given."""
        at = self.design.sums(np.stack(self._each(X)))
        return at._replace(gradient=self._within(at.gradient), g_x=self._within(at.g_x))

    def refitted(self, whole: LinearModel, lam: Array, warm: Warm, tol: float) -> Solve | None:
        """X(λ) on all rows, in the same way; None where the folds share too little."""
        design = self.design.like([whole])
        if design is None:
            return None
        alone = type(self)([whole], design, self._plain, several=False)
        if design.rows == self.design.rows:
            alone.span = self.span
        found = alone.value(lam, warm=alone.begun(self.start(warm)))
        x = alone.solution(found)[0]
        residual = float(np.linalg.norm(whole.at(x, lam).h_x))
        return Solve(x, residual, self.max_steps, "precision" if found.converged else "stalled")

    def _inverses(self, penalty: QuadraticForm, H: Array, lam: Array) -> Sequence[Inverse]:
        """b ↦ (H_k + S)⁻¹b for every fold."""
        return self._factors(penalty.added(H), lam)

    def _own(self, warm: Warm, lam: Array, penalty: QuadraticForm) -> Sequence[Inverse]:
        """The factors of every fold at its x, made where they are not at hand."""
        at = warm.at if warm.at.hessian.size else self.work.sums(warm.X, curved=True)
        return self._inverses(penalty, at.hessian, lam)

    def _each(self, X: Array) -> list[Array]:
        """The x of every fold as its model lays it out."""
        return list(_turned(self.span.lifted, X, self._predictor))

    def _within(self, G: Array) -> Array:
        """x or gradients as models lay them out, (K, size), in the basis of the rows' span."""
        return _turned(self.span.within, G, self.design.predictor)


def _turned(turn: Callable[[Array], Array], X: Array, predictor: Predictor) -> Array:
    """X with the slopes W of every row turned; as `predictor` lays it out before."""
    W = X[:, : predictor.slopes].reshape(len(X), -1, predictor.outputs)
    return np.concatenate([turn(W).reshape(len(X), -1), X[:, predictor.slopes :]], axis=1)
