"""f(λ) = Φ of the fits of one model, solved together by Newton steps, whatever Φ is taken of them.

    x_k = argmin h_k,   h_k = L_k + ½xᵀS(λ)x,   f = Φ(x₁ … x_K, λ)

for the folds of cross-validation, or for one fit on all rows. What stands for ∇²₁h_k⁻¹ is a
`Curvature`, what is taken of the fits a `Risk`; value, hypergradient, ∇²f and profiles are those of
hoag._criteria.hypergradient. With inverses that are right to rounding x and p are exact, and any λ
of the box can be scanned. Where these are expensive, older ones precondition conjugate gradients,
and p is exact to five digits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, cast

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.errors import NotSupportedError
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.affordable import cheap
from hoag._criteria.base import (
    SPACING,
    Criterion,
    Traits,
    mean_solution,
    no_gradient,
    unsolved,
)
from hoag._criteria.curvature.base import Curvature, Direct
from hoag._criteria.hypergradient import Adjoint, Fit, Partials, hypergradient
from hoag._criteria.newton import FoldedNewton, Solution, State
from hoag._criteria.risks import HeldOut, Risk
from hoag._criteria.row_forms import RowForms
from hoag._glm.design import FoldedDesign, RowwiseDesign, Sums
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty, QuadraticForm, of_folds
from hoag._glm.span import D, Span
from hoag._glm.squares import SquaresDesign
from hoag._glm.term import DataTerm, Predictor
from hoag._linalg.cholesky import solved
from hoag.problems import Counted, Problem

# A scan over the box ends where the next step would move f by this share of itself.
ROUGH = 1e-3


class SharedFolds(Criterion, Generic[D]):
    """f = Σ_k f_k for folds on shared rows, with a penalty Σⱼ exp(λⱼ) ½xᵀSⱼx that is theirs all.

    models   one for each fold
    plain    makes another criterion of such models, which bounds the error of p where that is asked
    several  an evaluation's x is a tuple, one for each fold; else that of the only one
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        design: D,
        plain: Callable[[Sequence[LinearModel]], Criterion],
        several: bool = True,
    ) -> None:
        self.models, self.design, self._plain, self.several = models, design, plain, several
        self._ledger = design.ledger

    @cached_property
    def span(self) -> Span:
        """The basis that groups of more columns than rows are written in."""
        return Span.of(self.models[0], self.design)

    @cached_property
    def work(self) -> D:
        """The rows in that basis."""
        return self.span.written(self.design)

    @cached_property
    def penalties(self) -> list[Penalty]:
        """Those of all folds in that basis."""
        return [self.span.penalty(model) for model in self.models]

    @cached_property
    def plain(self) -> Criterion:
        return self._plain(self.models)

    @property
    def lam0(self) -> Array:
        return self.models[0].lam0

    @property
    def shift(self) -> float:
        return of_folds([self.models[0].penalty]).shift

    def outer_lipschitz(self) -> tuple[float, Cost]:
        return self.plain.outer_lipschitz()

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        if not bound:
            return replace(found, cost=Cost())
        other = self.plain.evaluate(found.lam, Ask(0.0))
        known = self.plain.certify(other, True)
        apart = float(np.linalg.norm(known.grad - found.grad))
        return replace(found, bound=known.bound + apart, cost=other.cost + known.cost)

    def _as_asked(self, X: Sequence[Array] | Array) -> Any:
        return tuple(X) if self.several else X[0]


class FoldedFits(SharedFolds[FoldedDesign]):
    """Φ of the fits of all folds of any model with a quadratic penalty, to rounding.

    curvature   what stands for ∇²₁h⁻¹
    risk        Φ
    sufficient  fits of squares are solved for by their sufficient statistics, and verified by rows
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        design: FoldedDesign,
        plain: Callable[[Sequence[LinearModel]], Criterion],
        several: bool = True,
        curvature: Curvature | None = None,
        risk: Risk | None = None,
        sufficient: bool = False,
    ) -> None:
        super().__init__(models, design, plain, several)
        self.curvature, self.risk = curvature or Direct(), risk or HeldOut()
        self._sufficient = sufficient
        if self.risk.sees_hessian and not self.curvature.dense:
            raise NotSupportedError(
                f"{type(self.risk).__name__} depends on ∇²₁h⁻¹ itself, which "
                f"{type(self.curvature).__name__} has not.\nUse the exact curvature.",
                "risk",
            )

    @staticmethod
    def of_rows(
        problem: LinearModel,
        risk: Risk,
        sufficient: bool = False,
        curvature: Curvature | None = None,
    ) -> FoldedFits:
        """A risk of the fit on all training rows of a model; its held-out rows are not used."""
        train = problem.train
        alone = LinearModel(train, train, problem.penalty, problem.ledger)
        given = alone.folded([alone])
        assert given is not None
        every = np.ones((1, given.train.shape[1]), dtype=bool)

        def plain(models: Sequence[LinearModel]) -> Criterion:
            raise NotSupportedError(
                "A criterion of one fit has no bounded slope.\nGive C a number.", "C"
            )

        design = replace(given, train=every, test=~every, ledger=problem.ledger)
        return FoldedFits([problem], design, plain, False, curvature, risk, sufficient)

    @cached_property
    def work(self) -> FoldedDesign:
        """The rows in the basis of their span, or what is sufficient of them."""
        written = self.span.written(self.design)
        return SquaresDesign(cast(RowwiseDesign, written)) if self._sufficient else written

    @property
    def _predictor(self) -> Predictor:
        """Newton steps are taken in the basis of the rows' span."""
        return self.work.predictor

    def _penalty(self, lam: Array) -> QuadraticForm:
        return of_folds(self.penalties).at(lam)

    @cached_property
    def newton(self) -> FoldedNewton:
        sparing = not self.curvature.exact or self._expensive
        convex = self.models[0].train.convex
        return FoldedNewton(self.work, self.penalties, self.curvature, sparing, convex)

    @cached_property
    def _expensive(self) -> bool:
        """Whether matrices of all folds cost too much to be formed at every step.

        Rows that are compared with each other have no cheaper way to scan a whole box.
        """
        if self.risk.sees_hessian:
            return False
        if self.lam0.size == 1 and not self.models[0].train.row_by_row:
            return False
        prepared = self.curvature.init(self.work, self.penalties)
        return not cheap(self.work.folds * self.curvature.expense(prepared).form)

    @property
    def stands_on(self) -> Problem | None:
        return None if self.risk.of_folds else self.models[0]

    @property
    def traits(self) -> Traits:
        return Traits(
            scan_spacing=SPACING,
            has_hessian=self.risk.has_hessian(self.models[0].train.quadratic),
            exact=not self.newton.sparing,
            blocks=np.arange(self.lam0.size),
            sample=self.risk.sample(self._predictor.size),
        )

    def begun(self, x: Array | None = None) -> State:
        """At one x for every fold, as its model lays it out; by default 0."""
        X = np.zeros((self.work.folds, self._predictor.size))
        if x is not None:
            X[:] = self._within(x[None])[0]
        return self.newton.begun(X)

    def _evaluate(self, lam: Array, ask: Ask, warm: State | None) -> Evaluation:
        before, penalty = self._ledger.cost, self._penalty(lam)
        loose = ask.free or (self.newton.sparing and ask.hessian)
        rough = self._rough if ask.eps == np.inf and self.risk.of_folds else None
        share = EXACT if loose else EXACT**2
        found = self.newton.solve(lam, penalty, warm or self.begun(), share, rough)
        if ask.hessian:
            found = self.newton.renewed(lam, penalty, found)
        fit = self._fit(lam, penalty, found, eps=ask.eps)
        taken = self.risk.at(fit)
        adjoint = hypergradient(fit, taken)
        p = adjoint.p if ask.gradient else no_gradient(lam)
        hessian, tangents = None, None
        if ask.hessian and self.traits.has_hessian:
            hessian = self.risk.hessian(fit, adjoint.Q, p)
            tangents = self._as_asked([np.stack(self._each(t.T), axis=1) for t in fit.tangents])
        value, f_error = self._known(fit, taken, adjoint, found.note)
        return Evaluation(
            lam,
            value,
            p,
            f_error=f_error,
            g=taken.value,
            error=self._p_error(fit, taken, adjoint, ask),
            x=None if self.risk.of_folds else fit.x[0],
            warm=found.state,
            cost=self._ledger.cost - before,
            converged=not found.note,
            note=found.note,
            hessian=hessian,
            tangents=tangents,
            folds=self._folds(taken.folds, adjoint, found.note),
        )

    def _known(self, fit: Fit, taken: Partials, adjoint: Adjoint, note: str) -> tuple[float, float]:
        """f to second order in what is left of ∇₁h, and how wrong it may be."""
        change = float(adjoint.changes.sum())
        known = taken.value + (0.0 if note else change)
        error = ROUNDING * taken.size + change * (change / (abs(known) or 1.0))
        if note:
            r = fit.residual
            left = float(np.sum(r * solved(fit.inverses, r)))
            whole = float(np.sum(np.abs(fit.sums.value) + fit.penalty.rounded(fit.X)))
            error += abs(change) + unsolved(left, whole)
        return known, error

    def _p_error(self, fit: Fit, taken: Partials, adjoint: Adjoint, ask: Ask) -> float:
        """How wrong p may be; of a scan it is not measured."""
        if not ask.gradient or (ask.free and self.risk.of_folds):
            return np.nan
        loose = self.newton.sparing and ask.hessian
        by_penalty = float(np.sum(np.abs(adjoint.Q * fit.penalty.apply(fit.X))))
        return (EXACT**0.5 if loose else ROUNDING) * max(abs(taken.value), taken.size, by_penalty)

    def _folds(self, each: Array | None, adjoint: Adjoint, note: str) -> Array | None:
        if each is None or note or not self.risk.of_folds:
            return each
        return each + adjoint.changes

    @staticmethod
    def _rough(at: Sums, d: Array) -> npt.NDArray[np.bool_]:
        """Whether a step moves f by so small a share of itself that its square is nothing."""
        return np.asarray(np.abs(np.sum(at.g_x * d, axis=1)) <= ROUGH * np.abs(at.g))

    def _fit(self, lam: Array, penalty: QuadraticForm, found: Solution, eps: float = 0.0) -> Fit:
        forms = None if self.risk.of_folds else self._forms
        X, at = found.state.X, found.state.at
        refined = None if found.fresh else self._refined(penalty, found, eps)
        return Fit(
            *(lam, X, at, penalty, found.inverses, self.models, self.work),
            *(self._each, self._within, refined, forms),
        )

    @cached_property
    def _forms(self) -> RowForms:
        """Quadratic forms of the rows, as they are in the basis of their span."""
        train = self.models[0].train
        return RowForms(train.seen_by(self._predictor) if self.span.wide else train)

    def _refined(
        self, penalty: QuadraticForm, found: Solution, eps: float
    ) -> Callable[[Array], Array]:
        """B ↦ ∇²₁h_k⁻¹b_k by conjugate gradients, which the inverses precondition."""
        hessian, tol = self.work.hessian_at(found.state.X), ROUGH if eps == np.inf else EXACT**0.5
        return lambda B: self.newton.conjugate(penalty, hessian, found.inverses, B, tol)[0]

    def profile(self, found: Evaluation, places: Array) -> tuple[Array | None, Cost]:
        """Φ along every axis from what was found, as the risk knows it."""
        before, penalty = self._ledger.cost, self._penalty(found.lam)
        if not self.curvature.exact:
            return None, Cost()
        there = self._restored(found, penalty)
        values = self.risk.profile(self._fit(found.lam, penalty, there), places)
        return values, self._ledger.cost - before

    def _restored(self, found: Evaluation, penalty: QuadraticForm) -> Solution:
        """The fits that were found, with the inverses of ∇²₁h there."""
        state: State = found.warm
        known = state.H is not None
        inverses = self.newton.inverses(state.H, penalty, found.lam) if known else []
        return self.newton.renewed(found.lam, penalty, Solution(state, inverses, found.note))

    # ---- the end

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """Φ and ∇₁h on the rows as they were given, at the x that was found.

        f = Φ − q·∇₁h; while the last term is above `tol`, it is corrected by Newton steps.
        """
        before, penalty, last = self._ledger.cost, self._penalty(found.lam), np.inf
        there = self._restored(found, penalty)
        X = there.state.X
        for k in range(self.newton.max_steps):
            clock.check()
            # An evaluation ends with the sums over all rows at its x: they are what is asked for.
            given = k > 0 or self.span.wide or self.work is not self.design
            at = self._outside(X, there.state.at) if given else there.state.at
            here = Solution(State(X, at, there.state.H), there.inverses, "")
            fit = self._fit(found.lam, penalty, here)
            taken = self.risk.at(fit)
            adjoint = hypergradient(fit, taken)
            left = float(np.sum(np.abs(adjoint.changes)))
            stuck = left > 0.5 * last or not found.converged
            if left <= tol or stuck or time.perf_counter() > deadline:
                break
            X, last = X - solved(there.inverses, fit.residual), left
            if self.risk.sees_hessian and not fit.constant_hessian:
                moved = Solution(State(X, self.work.sums(X)), [], "")
                there = self.newton.renewed(found.lam, penalty, moved)
        share = min(left / last, 1.0) if np.isfinite(last) else 0.0
        error, value = share * left, taken.value + float(adjoint.changes.sum())
        folds = self._folds(taken.folds, adjoint, "")
        if not found.converged:  # such steps say nothing
            error, value, folds = max(left, found.f_error), taken.value, taken.folds
        if not self.risk.of_folds:
            error += abs(value - found.value)
        rounding = ROUNDING * max(abs(value), taken.size)
        return replace(
            found,
            value=value,
            g=taken.value,
            f_error=error + rounding,
            x=self._as_asked(self._each(X)),
            folds=folds,
            cost=self._ledger.cost - before,
            converged=error <= max(tol, rounding),
        )

    def _outside(self, X: Array, last: Sums) -> Sums:
        """The sums at X over the rows as they are given; with the matrices of those before."""
        at = self.design.sums(np.stack(self._each(X)))
        return at._replace(
            gradient=self._within(at.gradient), g_x=self._within(at.g_x), hessian=last.hessian
        )

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        return super().certify(found, bound and self.risk.of_folds)

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """In the same way, where the rows of the model are the folds'."""
        whole, lam, counted = cast(LinearModel, problem), parts[0].lam, Counted(problem)
        design = self.design.like([whole])
        if design is None:
            return super()._refit(problem, parts, tol)
        alone = FoldedFits([whole], design, self._plain, False, self.curvature)
        if design.rows == self.design.rows:
            alone.span = self.span
        found = alone.value(lam, warm=alone.begun(mean_solution(parts)))
        x = alone.solution(found)[0]
        residual = float(np.linalg.norm(whole.at(x, lam).h_x))
        steps, reason = self.newton.max_steps, "precision" if found.converged else "stalled"
        return Solve(x, residual, steps, reason), counted.cost

    # ---- one fit

    def fit(self, lam: Array, found: Evaluation | None = None) -> Fit:
        """The fits at λ, from where they were found at some λ, if they were."""
        penalty = self._penalty(lam)
        start = self.begun() if found is None or found.warm is None else found.warm
        return self._fit(lam, penalty, self.newton.solve(lam, penalty, start, EXACT**2))

    def degrees(self, found: Evaluation) -> float:
        """The effective degrees of freedom df = Σᵢ tr(CᵢVᵢ) of the fit that was found."""
        return self.fit(found.lam, found).degrees

    def predictions(self, lam: Array) -> Array:
        """z̃ at λ, what the fit without each row predicts for it; for approximate leave-one-out."""
        return self.risk.predictions(self.fit(lam))

    def _on_sample(self, rows: int, seed: int) -> Criterion:
        """On some rows with the weights that they have: their λ are those of all rows, about."""
        risk = self.risk.of_sample(rows)
        if risk is None:
            return super()._on_sample(rows, seed)
        (problem,), train = self.models, self.models[0].train
        counted = np.flatnonzero(train.weights > 0)
        kept = np.sort(np.random.default_rng(seed).choice(counted, rows, replace=False))
        design = train.design.on(train.design.rows.take(kept))
        part = DataTerm(design, train.loss, train.y[kept], train.weights[kept], train.charge)
        return FoldedFits.of_rows(
            LinearModel(part, part, problem.penalty, problem.ledger), risk, self._sufficient
        )

    # ---- layouts

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        return found.x if found.x is not None else self._as_asked(self._each(found.warm.X)), Cost()

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
