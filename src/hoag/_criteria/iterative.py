"""Fits and adjoints of all folds, iterated together: each pass over the rows serves both.

    x_k ← x_k − P_k⁻¹r_k,   q_k ← q_k − P_k⁻¹s_k,   r = ∇₁h,   s = ∇²₁h q − ∇₁g
    f = Σ_k g_k − q_k·r_k − s_k·d_k + ½ d_kᵀ∇²g_k d_k,   pⱼ = −Σ_k exp(λⱼ) q_kᵀSⱼx_k

One pass has ∇₁h at x_k, ∇₁g and ∇²₁h q_k of all folds. P stands for ∇²₁h, and is put right by what
earlier passes have shown (`Secants`). Each pass then leaves a share of the error; that share is
measured, and says how wrong f and p may be. The fit on all rows is one fold more, where there are
several: it costs no pass of its own that way.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from hoag._core import clock
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.storable import storable
from hoag._criteria.base import no_gradient
from hoag._criteria.fits import SharedFolds
from hoag._criteria.galerkin import MOST
from hoag._glm.design import RowwiseDesign, Sums
from hoag._glm.model import LinearModel
from hoag._glm.penalties import QuadraticForm, of_folds
from hoag._linalg.symmetric import eigenvectors
from hoag.problems import Counted, Problem

# A pass is slow where it leaves more than this share of the error.
SLOW = 0.3


KEPT = MOST // 2  # pairs of a step and what all rows said of it
SPANNED = EXACT**0.5  # what of a pair others have said already but for this share is no news


class Preconditioner(ABC):
    """P_k, which stands for ∇²₁h_k of every fold; `about` is the x of the curvatures in it."""

    about: Array

    @abstractmethod
    def solve(self, R: Array, penalty: QuadraticForm) -> Array:
        """P_k⁻¹r_k for every fold, (K, size)."""

    @property
    @abstractmethod
    def last(self) -> Preconditioner:
        """That of the last fold alone."""

    def held_out(self, D: Array) -> Array | None:
        """∇²g_k d_k for every fold; None where it is not known."""
        return None


@storable
@dataclass(frozen=True, eq=False)
class Secants:
    """What passes have shown of curvature: steps v_k with ∇²L_k v_k, which mend a preconditioner.

        V G⁻¹Vᵀr + (I − V G⁻¹Yᵀ) P⁻¹ (I − Y G⁻¹Vᵀ) r,   Y = ∇²₁h V,   G = VᵀY

    What the pairs span is solved exactly, and what is left by P: as conjugate gradients would, with
    steps that were taken for other reasons. Pairs are of the data alone: they serve at any λ.
    """

    steps: tuple[Array, ...] = ()
    curved: tuple[Array, ...] = ()

    def plus(self, V: Array, HV: Array) -> Secants:
        """With one more; the oldest makes room."""
        return Secants((*self.steps, V)[-KEPT:], (*self.curved, HV)[-KEPT:])

    @property
    def last(self) -> Secants:
        """Those of the last fold alone, but for steps of 0."""
        own = [(V[-1:], HV[-1:]) for V, HV in zip(self.steps, self.curved, strict=True)]
        own = [pair for pair in own if np.any(pair[0])]
        return Secants(tuple(V for V, _ in own), tuple(HV for _, HV in own))

    def solve(self, preconditioner: Preconditioner, penalty: QuadraticForm, R: Array) -> Array:
        """What stands for ∇²₁h⁻¹r of every fold."""
        curved = [HV + penalty.apply(V) for V, HV in zip(self.steps, self.curved, strict=True)]
        if not curved:
            return preconditioner.solve(R, penalty)
        V, Y = np.stack(self.steps, axis=1), np.stack(curved, axis=1)  # (K, pairs, size)
        inverses = [_inverse(own, HV) for own, HV in zip(V, Y, strict=True)]
        spanned = np.stack([T @ (own @ r) for T, own, r in zip(inverses, V, R, strict=True)])
        D = preconditioner.solve(R - np.einsum("kj,kji->ki", spanned, Y), penalty)
        spanned -= [T @ (HV @ d) for T, HV, d in zip(inverses, Y, D, strict=True)]
        return np.asarray(D + np.einsum("kj,kji->ki", spanned, V))


@storable
@dataclass(frozen=True, eq=False)
class Iterate:
    """x_k and q_k, what all rows said there, and the steps d_k and e_k that follow from it."""

    X: Array
    Q: Array
    at: Sums
    D: Array
    E: Array
    secants: Secants


@dataclass(frozen=True, eq=False)
class Pass:
    """An iterate as one pass left it.

    r, s   ∇₁h and ∇²₁h q − ∇₁g
    held   ∇²g d, as far as that is known, and H⁻¹ times it
    share  of the error that a pass leaves
    """

    now: Iterate
    r: Array
    s: Array
    held: tuple[Array, Array] | None
    preconditioner: Preconditioner
    share: float

    @cached_property
    def left(self) -> Array:
        """rᵀP⁻¹r of every fold, for the residuals of x and of q, (2, K)."""
        s = self.s if self.held is None else self.s - self.held[0]
        x, q = np.sum(self.r * self.now.D, axis=1), np.sum(s * self.now.E, axis=1)
        return np.asarray(np.maximum(-np.stack([x, q]), 0.0))

    def values(self) -> tuple[Array, Array]:
        """g − q·r − s·d + ½dᵀ∇²g d of every fold, and how wrong that may be."""
        off = np.sum(self.s * self.now.D, axis=1)
        folds = self.now.at.g - np.sum(self.now.Q * self.r, axis=1) - off
        if self.held is None:
            return folds, self.share * np.abs(off) + self.left[0]
        second = 0.5 * np.sum(self.held[0] * self.now.D, axis=1)
        # ½dᵀD³L[q]d is left out, which is small beside that of g, for q is small.
        return folds + second, self.share * (np.abs(off) + 2 * second) + 0.2 * second

    def hypergradient(self, penalty: QuadraticForm) -> tuple[Array, float]:
        """p after the steps, and how wrong it may be.

        The step of x changes ∇²₁h as well, which no pass has seen, and with it q by about as much
        as it changes ∇₁g.
        """
        X, Q, D, E = self.now.X, self.now.Q, self.now.D, self.now.E
        p = -penalty.vjp(X + D, Q + E)
        doubt = np.zeros(p.size)
        for k in range(len(X)):
            clock.check()
            only = np.arange(len(X))[:, None] == k
            through_x = penalty.vjp(Q, only * D)
            if self.held is not None:
                through_x += penalty.vjp(X, only * self.held[1])
            first = penalty.vjp(X, only * E) + penalty.vjp(Q, only * D)
            doubt += self.share * np.abs(first) + np.abs(through_x)
        return p, float(np.linalg.norm(doubt))


# x_k, q_k, the preconditioner, and the iterate that they are of, if passes ended there.
Begun = tuple[Array, Array, Preconditioner, Iterate | None]


class Iterative(SharedFolds[RowwiseDesign]):
    """f(λ) and p by passes over all rows, with a preconditioner that its final classes make."""

    max_passes = 100  # at one λ
    max_formed = np.inf  # preconditioners, likewise
    patience = 4  # slow passes beside what another preconditioner is worth: this way leads nowhere
    unknown = 0.5  # the share of the error that a pass leaves, before that was measured
    # A step was too long where the slope at its end is above so many times the one it began with:
    # of a square h has risen from 1 on, and what such a step says of curvature is worth a little.
    risen = 1.5
    deflates = False  # whether what passes tell of curvature mends the preconditioner

    @abstractmethod
    def _begun(self, lam: Array, penalty: QuadraticForm, warm: Any) -> Begun:
        """Where passes at λ begin."""

    @abstractmethod
    def _formed(self, about: Array) -> Preconditioner:
        """Of curvatures at this x."""

    @abstractmethod
    def _preconditioner(self, warm: Any) -> Preconditioner:
        """The one with which an evaluation ended."""

    @property
    def _worth(self) -> float:
        """How many slow passes a new preconditioner is worth."""
        return np.inf

    @cached_property
    def _together(self) -> RowwiseDesign:
        """All folds, and the fit on all rows."""
        train, test = self.design.train, self.design.test
        every = np.ones((1, train.shape[1]), dtype=bool)
        return self.design.of_folds(np.vstack([train, every]), np.vstack([test, ~every]))

    def _penalty(self, lam: Array) -> QuadraticForm:
        own = [model.penalty for model in self.models]
        return of_folds([*own, own[0]]).at(lam)

    def _solved(self, lam: Array, ask: Ask, warm: Any) -> tuple[Evaluation, Pass | None]:
        """Passes until the errors of f and p are below ε; a warm start is the caller's to make.

        No pass is returned where passes got nowhere.
        """
        penalty, K, good, done = self._penalty(lam), self.design.folds, False, False
        last: Pass | None = None
        nothing = Evaluation(lam, np.nan, no_gradient(lam), f_error=np.inf, converged=False)
        for last in self._passes(penalty, *self._begun(lam, penalty, warm)):
            folds, errors = (part[:K] for part in last.values())
            value, f_error = float(folds.sum()), float(errors.sum())
            p, error = last.hypergradient(penalty) if ask.gradient else (no_gradient(lam), np.nan)
            good = f_error <= ask.eps and not error > ask.eps
            done = float(last.left[0, :K].sum()) <= ROUNDING**2 * abs(value)
            if good or done:
                break
        if last is None or not (good or done or self.max_formed == np.inf):
            return nothing, None
        rounding = ROUNDING * abs(value)
        found = Evaluation(
            lam,
            value,
            p,
            g=float(last.now.at.g[:K].sum()),
            f_error=f_error + rounding,
            error=error + rounding,
            converged=good or f_error <= rounding,
            folds=folds,
        )
        return found, last

    def _passes(
        self, penalty: QuadraticForm, X: Array, Q: Array, by: Preconditioner, begun: Iterate | None
    ) -> Iterator[Pass]:
        """One after another; preconditioners are formed anew where passes are slow.

        Where the slope at the end of a step says that h has risen, a quarter of the step is taken,
        and nothing that was said of curvature at other x is kept.
        """
        before, share, slow, formed, secants = None, self.unknown, 0, 0, Secants()
        if begun is not None:
            secants = begun.secants
            before = _stepped(penalty, X, Q, begun.at, by, secants)
            X, Q = X + before.now.D, Q + before.now.E
        for _ in range(self.max_passes):
            clock.check()
            at = self._together.sums(X, Q, valued=False)
            if before is not None:
                last, left = before.now, before.left[0]
                ahead = np.sum((at.gradient + penalty.apply(X)) * last.D, axis=1)
                risen = (left > EXACT * np.sum(np.abs(at.g))) & ~(ahead <= self.risen * left)
                if np.any(risen):
                    if (formed := formed + 1) > self.max_formed:
                        return
                    by, secants = self._formed(last.X.mean(axis=0)), Secants()
                    last = replace(last, D=np.where(risen[:, None], 0.25, 1.0) * last.D)
                    before, X, Q = replace(before, now=last), last.X + last.D, last.Q
                    continue
                if self.deflates:
                    secants = secants.plus(Q - last.Q, at.hvp - last.at.hvp)
                    secants = secants.plus(X - last.X, at.gradient - last.at.gradient)
            there = _stepped(penalty, X, Q, at, by, secants)
            if before is not None:
                ratio = there.left / np.maximum(before.left, np.finfo(float).tiny)
                share = min(float(np.sqrt(np.max(ratio))), 1.0)
            yield (there := replace(there, share=share))
            slow += before is not None and share > SLOW
            if slow > self._worth and formed < self.max_formed:
                by, slow, formed = self._formed(X.mean(axis=0)), 0, formed + 1
                there = _stepped(penalty, X, Q, at, by, secants)
            elif slow > self.patience * (1 + self._worth):
                return
            before, X, Q = there, X + there.now.D, Q + there.now.E

    # ---- the end

    def _x(self, now: Iterate) -> Any:
        return self._as_asked((now.X + now.D)[: self.design.folds])

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """What all rows said at the x that was found; more passes where that is too little."""
        before, last, now = self._ledger.cost, found, found.warm.iterate
        if now is None or (found.f_error > tol and time.perf_counter() <= deadline):
            last, end = self._solved(found.lam, Ask(tol, gradient=False), found.warm)
            if end is None:
                return replace(last, cost=self._ledger.cost - before)
            now = end.now
        return replace(
            found,
            value=last.value,
            g=last.g,
            f_error=last.f_error,
            folds=last.folds,
            x=self._x(now),
            cost=self._ledger.cost - before,
            converged=last.f_error <= max(tol, ROUNDING * abs(last.value)),
        )

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        return found.x if found.x is not None else self._x(found.warm.iterate), Cost()

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """From where the passes for all folds have brought it; by a solver where they get nowhere.

        A pass may be expensive: rᵀP⁻¹r ≤ tol²h/10, as little as solvers leave of h by default, will
        do too.
        """
        (found,), whole, counted = parts, cast(LinearModel, problem), Counted(problem)
        warm, design = found.warm, self.design.like([whole])
        if warm is None or warm.iterate is None or design is None:
            return super()._refit(problem, parts, tol)
        now, preconditioner = warm.iterate, self._preconditioner(warm).last
        penalty, secants = of_folds([whole.penalty]).at(found.lam), now.secants.last
        x, before = (now.X + now.D)[-1:], None
        for k in range(1, self.max_passes + 1):
            clock.check()
            at = design.sums(x, valued=k == 1)
            if k == 1:
                h = float(at.value[0])
            r = at.gradient + penalty.apply(x)
            if before is not None:
                secants = secants.plus(x - before[0], at.gradient - before[1])
            step, size = -secants.solve(preconditioner, penalty, r), float(np.linalg.norm(r))
            if size <= tol or -float(np.vdot(r, step)) <= 0.1 * tol**2 * h:
                return Solve(x[0], size, k, "tolerance"), counted.cost
            before, x = (x, at.gradient), x + step
        return super()._refit(problem, parts, tol)[0], counted.cost


def _stepped(
    penalty: QuadraticForm,
    X: Array,
    Q: Array,
    at: Sums,
    preconditioner: Preconditioner,
    secants: Secants,
) -> Pass:
    """The iterate at X and Q with its steps: that of q from where that of x leads."""
    r, s = at.gradient + penalty.apply(X), at.hvp + penalty.apply(Q) - at.g_x
    D = -secants.solve(preconditioner, penalty, r)
    E, held = -secants.solve(preconditioner, penalty, s), preconditioner.held_out(D)
    both = None if held is None else (held, secants.solve(preconditioner, penalty, held))
    E = E if both is None else E + both[1]
    return Pass(Iterate(X, Q, at, D, E, secants), r, s, both, preconditioner, np.nan)


def _inverse(V: Array, Y: Array) -> Array:
    """G⁻¹ for the pairs of one fold; directions in which they say nothing are left out."""
    G = V @ Y.T
    found, curved = np.zeros_like(G), np.flatnonzero(np.diag(G) > 0)
    sizes = np.sqrt(np.diag(G)[curved])
    G = G[np.ix_(curved, curved)] / np.outer(sizes, sizes)
    e, U = eigenvectors((G + G.T) / 2)
    kept = e > SPANNED
    U = U[:, kept] / sizes[:, None]
    found[np.ix_(curved, curved)] = (U / e[kept]) @ U.T
    return found
