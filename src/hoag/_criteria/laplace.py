"""The marginal likelihood of models that are no squares, by Laplace's approximation.

    c = −2 log p(y | λ) = P/φ + log|H| − log|S|₊,   P = 2h,   H = ∇²₁h = Σᵢ AᵢᵀCᵢAᵢ + S
    ½∂ⱼP = ½xᵀEⱼx,   ∂ⱼlog|H| = tr(EⱼH⁻¹) − qᵀEⱼx,   q = H⁻¹Σᵢ Aᵢᵀ ∂tr(CᵢVᵢ)/∂zᵢ

with Eⱼ = exp(λⱼ)Sⱼ: the curvature of the loss moves with z, and so does the determinant. ∇f is
exact. ∇²f is without what such moves add to it, which would take the loss's fourth derivative, and
a Gram matrix for each λ: steps by it are a little off, and what they gain is measured.

Classes may all have a coefficient shifted by the same, which no data show: of these directions H is
the penalty alone, its determinant that of the prior, and none of both is counted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from hoag._core.numeric import ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.along import along_axes
from hoag._criteria.base import SPACING, Traits
from hoag._criteria.full_fit import Fitted, FullFit
from hoag._criteria.log_det import Bent, LogDet
from hoag._criteria.marginal import Marginal
from hoag._criteria.shared_curvature import sample_size
from hoag._glm.groups import by_group
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Quadratic, QuadraticPenalty, Ridge, of_folds
from hoag._glm.term import DataTerm
from hoag._linalg.cholesky import factors


class Laplace(FullFit):
    """f = exp(c/n) of the fit on all training rows."""

    score: Marginal  # type: ignore[assignment]

    def __init__(self, problem: LinearModel, marginal: Marginal) -> None:
        self.problem, self.score = problem, marginal

    @property
    def traits(self) -> Traits:
        blocks, design = np.arange(self.lam0.size), self.problem.train.design
        few = sample_size(design.size)
        sample = few if self.score.n >= 2 * few else None
        return Traits(
            scan_spacing=SPACING, has_hessian=True, exact=True, blocks=blocks, sample=sample
        )

    def _on_sample(self, rows: int, seed: int) -> Laplace:
        """On some rows with the weights that they have: their λ are those of all rows, about."""
        train, score = self.problem.train, self.score
        counted = np.flatnonzero(train.weights > 0)
        kept = np.sort(np.random.default_rng(seed).choice(counted, rows, replace=False))
        design = train.design.on(train.design.rows.take(kept))
        part = DataTerm(design, train.loss, train.y[kept], train.weights[kept], train.charge)
        model = LinearModel(part, part, self.problem.penalty, self.problem.ledger)
        return Laplace(model, replace(score, n=rows, least=score.least * rows / score.n))

    def _evaluate(self, lam: Array, ask: Ask, warm: Array | None) -> Evaluation:
        found = super()._evaluate(lam, ask, warm)
        return found if ask.hessian else replace(found, hessian=None)

    def _judged(self, lam: Array, fit: Fitted) -> Evaluation:
        penalty, seen = of_folds([self.narrow.model.penalty]).at(lam), fit.seen
        pulled = penalty.columns(fit.x[None])[0]
        tangents = -fit.inverse @ pulled
        half = 0.5 * fit.x @ pulled
        h = float(seen.term.weights @ seen.at.value) + float(penalty.value(fit.x[None])[0])
        held = Bent(h, half, np.diag(half) + pulled.T @ tangents)
        turned = self.narrow.model.train.backward(seen.shaped(seen.turned(seen.V)))
        traces = penalty.traces(fit.inverse)
        bent = np.diag(traces) - penalty.pairs(fit.inverse, fit.inverse)
        alike = self._alike(lam, fit)
        log_det = Bent(
            fit.log_det + alike.value,
            traces + turned @ tangents + alike.grad,
            bent + alike.hessian,
        )
        found = self.score.of(lam, held, log_det)
        # Where x is a little off, log|H| is so in proportion, and h by the square of that.
        missed = -float(turned @ (fit.inverse @ fit.left)) * self.score.by_c(found.value)
        lost = ROUNDING * abs(found.value) * (1.0 + abs(fit.log_det) / self.score.n)
        return Evaluation(
            lam,
            found.value + missed,
            found.grad,
            g=found.value,
            f_error=lost + missed * (missed / found.value) + fit.doubt(missed, found.value),
            error=lost,
            x=self.narrow.lifted(fit.x),
            warm=fit.x,
            converged=not fit.note,
            note=fit.note,
            hessian=found.hessian,
        )

    def profile(self, found: Evaluation, places: Array) -> tuple[Array, Cost]:
        """With the curvature of the loss as it is at the fit: a model of f, not f itself."""
        before, fit = self.problem.ledger.cost, self.fitted(found.lam, found.warm)
        penalty = of_folds([self.narrow.model.penalty]).at(found.lam)
        h = float(fit.seen.term.weights @ fit.seen.at.value)
        h += float(penalty.value(fit.x[None])[0])
        log_det = fit.log_det + self._alike(found.lam, fit).value
        value = partial(self.score.along, found.lam, h, log_det)
        values = along_axes(fit.x, fit.inverse, penalty, found.lam, places, value)
        return values, self.problem.ledger.cost - before

    def _alike(self, lam: Array, fit: Fitted) -> Bent:
        """What log|H| lacks where the shifts of all classes are held by more than S.

        log|S| − log|S + what holds them|, on these shifts.
        """
        penalty = self.narrow.model.penalty
        if isinstance(penalty, Ridge):
            some = np.flatnonzero(fit.settled) * self.narrow.model.train.design.width
            groups, alpha = penalty.groups[some], penalty.alpha(lam)[some]
            share = alpha / (alpha + fit.settled[fit.settled > 0])
            grad = by_group(groups, 1.0 - share, lam.size)
            bend = by_group(groups, share * (1.0 - share), lam.size)
            return Bent(float(np.sum(np.log(share))), grad, -np.diag(bend))
        if self._of_all is None:
            return Bent(0.0, np.zeros(lam.size), np.zeros((lam.size,) * 2))
        one, log_det = self._of_all
        held = one.at(lam)
        (solve,) = factors(held.added(np.zeros((1, one.size, one.size))), lam)
        inverse, prior = solve(np.eye(one.size)), log_det.at(lam)
        traces = held.traces(inverse)
        bent = prior.hessian - np.diag(traces) + held.pairs(inverse, inverse)
        return Bent(prior.value - solve.log_det, prior.grad - traces, bent)

    @cached_property
    def _of_all(self) -> tuple[Quadratic, LogDet] | None:
        """The penalty of what all classes have in common, where something else holds that too."""
        penalty, design = self.narrow.model.penalty, self.narrow.model.train.design
        assert isinstance(penalty, QuadraticPenalty)
        if penalty.aside is None or penalty.aside.alike == 1 or penalty.fixed is None:
            return None
        K, slopes = penalty.aside.alike, design.slopes
        terms = []
        for term in penalty.terms:
            first, last, _ = term.some.indices(slopes)
            terms.append((slice(first // K, last // K), _common(term.dense, K)))
        fixed = _common(penalty.fixed.dense[:slopes, :slopes], K)
        aside = penalty.aside._replace(alike=1)
        one = Quadratic(slopes // K, terms, fixed, penalty.shift, aside)
        return one, LogDet(one)


def _common(S: Array, K: int) -> Array:
    """S on what the K outputs have in common, from (features·K, features·K)."""
    size = len(S) // K
    return np.asarray(S.reshape(size, K, size, K).sum(axis=(1, 3)) / K)
