"""Scores of one fit of squares, by its Gram matrix alone, with ∇f and ∇²f.

    L(x) = L₀ + bᵀ(x − x₀) + ½(x − x₀)ᵀG(x − x₀),   H = G + S,   x = x₀ − H⁻¹(b + Sx₀)
    df = tr(H⁻¹G),   tⱼ = dx/dλⱼ = −H⁻¹Eⱼx,   Eⱼ = exp(λⱼ)Sⱼ

Two passes over the rows have x₀, the fit with next to no penalty, and L₀, b and G there; what
follows is of the size of the coefficients, whatever the number of rows. From 0 the loss of a fit
that is nearly perfect would be a difference of large numbers. The fit is looked at on the rows
again at the end.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.along import along_axes
from hoag._criteria.base import SPACING, Criterion, Traits, no_gradient
from hoag._criteria.log_det import Bent
from hoag._criteria.marginal import Marginal
from hoag._criteria.scores import ByDegrees, Seen
from hoag._glm.model import LinearModel
from hoag._glm.penalties import QuadraticForm, of_folds
from hoag._linalg.cholesky import factors
from hoag.problems import Problem


class SquaresFit(Criterion):
    """A score of the fit of squares on all training rows; one output, any quadratic penalty."""

    def __init__(self, problem: LinearModel, score: ByDegrees | Marginal) -> None:
        self.problem, self.score = problem, score

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    @property
    def stands_on(self) -> Problem:
        return self.problem

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.lam0.size)
        return Traits(scan_spacing=SPACING, has_hessian=True, exact=True, blocks=blocks)

    def outer_lipschitz(self) -> tuple[float, Cost]:
        raise InvalidInput("A score of one fit has no bounded slope: give C a number.")

    @cached_property
    def _sums(self) -> Sums:
        """About the fit with a penalty on each coefficient of a hair of what the rows say of it."""
        train, start = self.problem.train, np.zeros(self.problem.x0.size)
        at = train.at(start)
        G = 0.5 * (at.hessian + at.hessian.T)
        nearly = G[None].copy()
        nearly[0].flat[:: len(G) + 1] += EXACT * (np.diag(G) + (np.diag(G) == 0))
        (solve,) = factors(nearly, self.lam0)
        there = train.at(start - solve(at.gradient))
        if not there.value <= at.value:
            there = at
        return Sums(there.x, there.value, there.gradient, G)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        before = self.problem.ledger.cost
        fit = self._fit(lam)
        found = self.score.of_squares(fit)
        grad = found.grad if ask.gradient else no_gradient(lam)
        lost = ROUNDING * abs(found.value) * (1.0 + self._sums.loss / fit.loss)
        self._spend(lam.size)
        return Evaluation(
            lam,
            found.value,
            grad,
            g=found.value,
            f_error=lost,
            error=lost if ask.gradient else np.nan,
            x=fit.x,
            hessian=found.hessian if ask.hessian else None,
            tangents=fit.tangents if ask.hessian else None,
            cost=self.problem.ledger.cost - before,
        )

    def profile(self, found: Evaluation, places: Array) -> tuple[Array, Cost]:
        """Exact: H⁻¹ at one λ says what f is wherever one penalty alone is another."""
        before, fit = self.problem.ledger.cost, self._fit(found.lam)
        self._spend(found.lam.size)
        value = partial(self.score.along_squares, fit)
        values = along_axes(fit.x, fit.inverse, fit.penalty, found.lam, places, value)
        return values, self.problem.ledger.cost - before

    def _spend(self, s: int) -> None:
        """A factor and an inverse, by their operations beside those of a Gram matrix."""
        rows = self.problem.train.design.rows
        operations = (s + 1) * float(self.problem.x0.size) ** 3
        self.problem.train.charge(0.0, operations / (2.0 * max(rows.entries * rows.shape[1], 1)))

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """With L on the rows themselves, at an x that a Newton step from there has mended."""
        before, point = self.problem.ledger.cost, self.problem.at(found.x, found.lam)
        fit = self._fit(found.lam)
        x = found.x - fit.inverse @ point.h_x
        again = self.problem.at(x, found.lam)
        value = self.score.of_squares(fit.mended(x, again.train.value)).value
        return replace(
            found,
            value=value,
            g=value,
            f_error=abs(value - found.value) + ROUNDING * abs(value),
            x=x,
            cost=self.problem.ledger.cost - before,
        )

    def seen(self, lam: Array) -> Seen:
        """The rows at λ, without what is not asked of them: V is such that df is right."""
        fit = self._fit(lam)
        train = self.problem.train
        seen = Seen(train, train.predict(fit.x), np.ones((train.design.n, 1, 1)))
        return replace(seen, V=np.full(seen.V.shape, fit.degrees / seen.degrees))

    def predictions(self, lam: Array) -> Array:
        raise InvalidInput("Only approximate leave-one-out predicts rows that are left out.")

    def degrees(self, found: Evaluation) -> float:
        """df of the fit that was found."""
        return self._fit(found.lam).degrees

    def _fit(self, lam: Array) -> _Fit:
        weight = float(self.problem.train.weights.sum())
        return _Fit(self._sums, weight, of_folds([self.problem.penalty]).at(lam), lam)


class Sums(NamedTuple):
    """x₀, L₀, b and G."""

    x: Array
    loss: float
    b: Array
    G: Array


class _Fit:
    """The fit at one λ, and how it moves with λ."""

    def __init__(self, sums: Sums, weight: float, penalty: QuadraticForm, lam: Array) -> None:
        self.weight, self.lam, self.penalty, self.G = weight, lam, penalty, sums.G
        (solve,) = factors(penalty.added(self.G[None]), lam)
        self.log_det = solve.log_det
        self.inverse = solve(np.eye(sums.b.size))
        self.inverse = 0.5 * (self.inverse + self.inverse.T)
        away = -solve(sums.b + penalty.apply(sums.x[None])[0])
        self.x = sums.x + away
        change = float(sums.b @ away + 0.5 * away @ (self.G @ away))
        self.loss = max(sums.loss + change, np.finfo(float).tiny)

    def mended(self, x: Array, loss: float) -> _Fit:
        """The same at an x that is nearer, with the loss of the rows."""
        self.x, self.loss = x, loss
        return self

    @cached_property
    def degrees(self) -> float:
        return float(np.sum(self.inverse * self.G))

    @property
    def held(self) -> float:
        """h = L(x) + ½xᵀSx."""
        return self.loss + float(self.penalty.value(self.x[None])[0])

    @cached_property
    def pulled(self) -> Array:
        """Eⱼx, (size, s)."""
        return np.asarray(self.penalty.columns(self.x[None])[0])

    @cached_property
    def tangents(self) -> Array:
        """tⱼ, (size, s)."""
        return np.asarray(-self.inverse @ self.pulled)

    def loss_bent(self) -> Bent:
        """L(x) and its derivatives in λ.

        Lⱼ = −(Sx)ᵀtⱼ, and Lⱼₖ = tⱼᵀGtₖ + aᵀ(Eⱼtₖ + Eₖtⱼ + δⱼₖEⱼx) with a = H⁻¹Sx.
        """
        Sx, T = self.penalty.apply(self.x[None])[0], self.tangents
        a = self.inverse @ Sx
        crossed = self.penalty.columns(a[None])[0].T @ T
        straight = np.diag(a @ self.pulled)
        return Bent(self.loss, -Sx @ T, T.T @ self.G @ T + crossed + crossed.T + straight)

    def held_bent(self) -> Bent:
        """L(x) + ½xᵀSx and its derivatives: ½xᵀEⱼx, and δⱼₖ½xᵀEⱼx + xᵀEⱼtₖ."""
        half = 0.5 * self.x @ self.pulled
        return Bent(self.held, half, np.diag(half) + self.pulled.T @ self.tangents)

    def degrees_bent(self) -> Bent:
        """df, −tr(EⱼN) and tr(EⱼH⁻¹EₖN) + tr(EₖH⁻¹EⱼN) − δⱼₖtr(EⱼN), with N = H⁻¹GH⁻¹."""
        N = self.inverse @ self.G @ self.inverse
        grad = -self.penalty.traces(N)
        pairs = self.penalty.pairs(self.inverse, N)
        return Bent(self.degrees, grad, pairs + pairs.T + np.diag(grad))

    def log_det_bent(self) -> Bent:
        """log|H|, tr(EⱼH⁻¹) and δⱼₖtr(EⱼH⁻¹) − tr(EⱼH⁻¹EₖH⁻¹)."""
        grad = self.penalty.traces(self.inverse)
        pairs = self.penalty.pairs(self.inverse, self.inverse)
        return Bent(self.log_det, grad, np.diag(grad) - pairs)
