"""The marginal likelihood of y, with the coefficients integrated out (REML, by Laplace).

    p(y | λ) = ∫ p(y | x) N(x; 0, φS⁻¹) dx,   S = Σⱼ exp(λⱼ)Sⱼ
    c = −2 log p(y | λ) = P/φ + log|H| − log|S|₊ + …,   P = 2h = 2L(x) + xᵀSx at x = X(λ)

up to a number that λ does not change; H = ∇²₁h. Coefficients that S does not reach have a flat
prior: of squares this is the restricted likelihood, exactly. Where φ is not known, it is the best
one, φ = P/(n − M) with M such coefficients, and c = (n − M) log P + log|H| − log|S|₊: exact for
squares, and the extended quasi-likelihood of other deviances. L counts from the least that any
predictions have. With Eⱼ = exp(λⱼ)Sⱼ,

    ½∂ⱼP = ½xᵀEⱼx,   ∂ⱼlog|H| = tr(EⱼH⁻¹) − qᵀEⱼx,   q = H⁻¹Σᵢ Aᵢᵀ ∂tr(CᵢVᵢ)/∂zᵢ

∇²f of other losses than squares is without what q adds to it, which would take the loss's fourth
derivative: steps by it are a little off, and what they gain is measured.

Classes may all have a coefficient shifted by the same, which no data show: of these directions H is
the penalty alone, its determinant that of the prior, and none of both is counted.

What is minimised is positive, and least where c is: f = exp(c/n), which is in the units of P; and
f = log(1 + exp(c/n)) where φ is known, for c/n may be in the thousands, of large counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from hoag._core.numeric import Array
from hoag._criteria.affordable import sample_size, tall
from hoag._criteria.hypergradient import Fit, Partials, axes
from hoag._criteria.log_det import Expansion, LogDet
from hoag._criteria.risks import Risk
from hoag._glm.groups import by_group
from hoag._glm.penalties import Quadratic, QuadraticPenalty, Ridge
from hoag._glm.term import Predictor
from hoag._linalg.cholesky import factors


class Link(NamedTuple):
    """c/n of an f, and its first two derivatives there."""

    value: float
    slope: float
    second: float

    @staticmethod
    def of(f: float, softly: bool) -> Link:
        """log f, or log(exp(f) − 1) where f = log(1 + exp(c/n))."""
        f = f or float(np.finfo(float).tiny)
        rest = -float(np.expm1(-f)) if softly else f
        slope = 1.0 / rest
        if softly:
            return Link(f + float(np.log(rest)), slope, (rest - 1.0) * slope * slope)
        return Link(float(np.log(f)), slope, -slope * slope)


@dataclass(frozen=True, eq=False)
class MarginalLikelihood(Risk):
    """f of c.

    n, free   the rows that count, and M
    unit      2/φ times what the loss is multiplied by to be −log p(y | x), with weights of mean 1;
              None where φ is not known
    least     what of h no predictions can do without
    penalty, predictor   S, and how x is laid out, in the basis in which fits are solved for
    constant  the loss is a square
    """

    n: int
    free: int
    unit: float | None
    least: float
    penalty: QuadraticPenalty
    predictor: Predictor
    constant: bool

    of_folds = False
    sees_hessian = True

    @cached_property
    def prior(self) -> LogDet:
        """log|S|₊."""
        return LogDet(self.penalty)

    @property
    def softly(self) -> bool:
        return self.unit is not None

    def sample(self, coefficients: int) -> int | None:
        several = not self.constant and tall(self.n, coefficients)
        return sample_size(coefficients) if several else None

    def of_sample(self, rows: int) -> MarginalLikelihood:
        """The same for some of the rows, with the weights that they have."""
        return replace(self, n=rows, least=self.least * rows / self.n)

    def at(self, fit: Fit) -> Partials:
        c, by_h = self._of_h(fit.h)
        common, prior = self._common(fit), self.prior.at(fit.lam)
        log_det = fit.log_det + common.value
        f, slope, _ = self._linked((c + log_det - prior.value) / self.n)
        by_c = slope / self.n
        # That h is least at X(λ), and does not move with x there, is known.
        by_lam = by_c * (by_h * fit.h_expansion().grad + common.grad - prior.grad)
        size = abs(f) * (1.0 + abs(log_det) / self.n)
        nothing = np.zeros_like(fit.X)
        return Partials(f, nothing, by_log_det=by_c, by_lam=by_lam, size=size)

    def has_hessian(self, constant: bool) -> bool:
        return True

    def hessian(self, fit: Fit, Q: Array, p: Array) -> Array:
        h, log_det, prior = fit.h_expansion(), fit.log_det_expansion(), self.prior.at(fit.lam)
        c, by_h = self._of_h(h.value)
        common = self._common(fit)
        second = by_h * h.hessian + log_det.hessian + common.hessian - prior.hessian
        if self.unit is None:
            second = second - by_h**2 / (self.n - self.free) * np.outer(h.grad, h.grad)
        whole = c + log_det.value + common.value - prior.value
        _, slope, curvature = self._linked(whole / self.n)
        rise = p / slope if slope > 0 else np.zeros_like(p)
        return np.asarray(slope * second / self.n + curvature * np.outer(rise, rise))

    def profile(self, fit: Fit, places: Array) -> Array:
        """With the curvature of the loss as it is at the fit: exact for squares."""
        log_det = fit.log_det + self._common(fit).value
        found = np.full(places.shape, np.nan)
        for j, asked, axis, change in axes(fit, places):
            moved = axis.changes(fit.penalty, change)
            c = np.array([self._of_h(h)[0] for h in fit.h + moved.h])
            priors = self.prior.along(fit.lam, j, places[j, asked])
            whole = (c + log_det + moved.log_det - priors) / self.n
            found[j, asked] = np.logaddexp(0.0, whole) if self.softly else np.exp(whole)
        return found

    def _of_h(self, h: float) -> tuple[float, float]:
        """P/φ, or (n − M) log P, up to a number; and its derivative in h."""
        value = h - self.least
        if self.unit is not None:
            return self.unit * value, self.unit
        value = max(value, float(np.finfo(float).tiny))
        left = self.n - self.free
        return left * float(np.log(value)), left / value

    def _linked(self, value: float) -> tuple[float, float, float]:
        """f of c/n, and its first two derivatives."""
        if self.softly:
            slope = float(expit(value))
            return float(np.logaddexp(0.0, value)), slope, slope * float(expit(-value))
        f = float(np.exp(value))
        return f, f, f

    def _common(self, fit: Fit) -> Expansion:
        """What log|H| lacks where the shifts of all classes are held by more than S.

        log|S| − log|S + what holds them|, on these shifts.
        """
        lam = fit.lam
        if isinstance(self.penalty, Ridge):
            some = np.flatnonzero(fit.along_shifts) * self.predictor.outputs
            groups, alpha = self.penalty.groups[some], self.penalty.alpha(lam)[some]
            share = alpha / (alpha + fit.along_shifts[fit.along_shifts > 0])
            grad = by_group(groups, 1.0 - share, lam.size)
            second = by_group(groups, share * (1.0 - share), lam.size)
            return Expansion(float(np.sum(np.log(share))), grad, -np.diag(second))
        if self._of_all is None:
            return Expansion(0.0, np.zeros(lam.size), np.zeros((lam.size,) * 2))
        one, log_det = self._of_all
        held = one.at(lam)
        (solve,) = factors(held.added(np.zeros((1, one.size, one.size))), lam)
        inverse, prior = solve(np.eye(one.size)), log_det.at(lam)
        traces = held.traces(inverse)
        second = prior.hessian - np.diag(traces) + held.pairs(inverse, inverse)
        return Expansion(prior.value - solve.log_det, prior.grad - traces, second)

    @cached_property
    def _of_all(self) -> tuple[Quadratic, LogDet] | None:
        """The penalty of what all classes have in common, where something else holds that too."""
        penalty = self.penalty
        if penalty.aside is None or penalty.aside.alike == 1 or penalty.fixed is None:
            return None
        K, slopes = penalty.aside.alike, self.predictor.slopes
        terms = []
        for term in penalty.terms:
            first, last, _ = term.some.indices(slopes)
            terms.append((slice(first // K, last // K), _in_common(term.dense, K)))
        fixed = _in_common(penalty.fixed.dense[:slopes, :slopes], K)
        aside = penalty.aside._replace(alike=1)
        one = Quadratic(slopes // K, terms, fixed, penalty.shift, aside)
        return one, LogDet(one)


def _in_common(S: Array, K: int) -> Array:
    """S on what the K outputs have in common, from (features·K, features·K)."""
    size = len(S) // K
    return np.asarray(S.reshape(size, K, size, K).sum(axis=(1, 3)) / K)
