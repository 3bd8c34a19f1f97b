"""The marginal likelihood of models that are no squares, by Laplace's approximation.

    c = −2 log p(y | λ) = P/φ + log|H| − log|S|₊,   P = 2h,   H = ∇²₁h = Σᵢ AᵢᵀCᵢAᵢ + S
    ½∂ⱼP = ½xᵀEⱼx,   ∂ⱼlog|H| = tr(EⱼH⁻¹) − qᵀEⱼx,   q = H⁻¹Σᵢ Aᵢᵀ ∂tr(CᵢVᵢ)/∂zᵢ

with Eⱼ = exp(λⱼ)Sⱼ: the curvature of the loss moves with z, and so does the determinant. ∇f is
exact. ∇²f is without what such moves add to it, which would take the loss's fourth derivative, and
a Gram matrix for each λ: steps by it are a little off, and what they gain is measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hoag.criteria.base import SPACING, Traits
from hoag.criteria.full_fit import Fitted, FullFit
from hoag.criteria.log_det import Bent
from hoag.criteria.marginal import Marginal
from hoag.criteria.pull import pull
from hoag.glm.model import LinearModel
from hoag.values import ROUNDING, Array, Ask, Evaluation


class Laplace(FullFit):
    """f = exp(c/n) of the fit on all training rows."""

    score: Marginal  # type: ignore[assignment]

    def __init__(self, problem: LinearModel, marginal: Marginal) -> None:
        self.problem, self.score = problem, marginal

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.lam0.size)
        return Traits(looks=SPACING, bends=True, exact=True, blocks=blocks)

    def _evaluate(self, lam: Array, ask: Ask, warm: Array | None) -> Evaluation:
        found = super()._evaluate(lam, ask, warm)
        return found if ask.hessian else replace(found, hessian=None)

    def _judged(self, lam: Array, fit: Fitted) -> Evaluation:
        penalty, seen = pull([self.narrow.model.penalty], lam), fit.seen
        pulled = penalty.columns(fit.x[None])[0]
        tangents = -fit.inverse @ pulled
        half = 0.5 * fit.x @ pulled
        h = float(seen.term.weights @ seen.at.value) + float(penalty.value(fit.x[None])[0])
        held = Bent(h, half, np.diag(half) + pulled.T @ tangents)
        turned = self.narrow.model.train.backward(seen.shaped(seen.turned(seen.V)))
        traces = penalty.traces(fit.inverse)
        bent = np.diag(traces) - penalty.pairs(fit.inverse, fit.inverse)
        log_det = Bent(fit.log_det, traces + turned @ tangents, bent)
        found = self.score.of(lam, held, log_det)
        # Where x is a little off, log|H| is so in proportion, and h by the square of that.
        missed = -float(turned @ (fit.inverse @ fit.left)) * found.value / self.score.n
        lost = ROUNDING * abs(found.value) * (1.0 + abs(fit.log_det) / self.score.n)
        return Evaluation(
            lam,
            found.value + missed,
            found.grad,
            g=found.value,
            f_error=lost + missed**2 / found.value + (abs(missed) if fit.note else 0.0),
            error=lost,
            x=self.narrow.lifted(fit.x),
            warm=fit.x,
            converged=not fit.note,
            note=fit.note,
            hessian=found.hessian,
        )
