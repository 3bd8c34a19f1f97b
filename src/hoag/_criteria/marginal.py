"""The marginal likelihood of y, with the coefficients integrated out (REML, by Laplace).

    p(y | λ) = ∫ p(y | x) N(x; 0, φS⁻¹) dx,   S = Σⱼ exp(λⱼ)Sⱼ
    c = −2 log p(y | λ) = P/φ + log|H| − log|S|₊ + …,   P = 2h = 2L(x) + xᵀSx at x = X(λ)

up to a number that λ does not change; H = ∇²₁h. Coefficients that S does not reach have a flat
prior: of squares this is the restricted likelihood, exactly. Where φ is not known, it is the best
one, φ = P/(n − M) with M such coefficients, and c = (n − M) log P + log|H| − log|S|₊: exact for
squares, and the extended quasi-likelihood of other deviances. L counts from the least that any
predictions have.

What is minimised is positive, and least where c is: f = exp(c/n), which is in the units of P; and
f = log(1 + exp(c/n)) where φ is known, for c/n may be in the thousands, of large counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from hoag._core.numeric import Array
from hoag._criteria.along import Changes
from hoag._criteria.log_det import Bent, LogDet


class Link(NamedTuple):
    """c/n of an f, and its first two derivatives there."""

    value: float
    slope: float
    bend: float

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
class Marginal:
    """f of c.

    n, free   the rows that count, and M
    unit      2/φ times what the loss is multiplied by to be −log p(y | x), with weights of mean 1;
              None where φ is not known
    least     what of h no predictions can do without
    prior     log|S|₊
    """

    n: int
    free: int
    unit: float | None
    least: float
    prior: LogDet

    @property
    def softly(self) -> bool:
        return self.unit is not None

    def of(self, lam: Array, held: Bent, log_det: Bent) -> Bent:
        """f with its derivatives, from those of h and log|H|."""
        c, prior = self._fitted(held), self.prior.at(lam)
        parts = [(1.0, c), (1.0, log_det), (-1.0, prior)]
        value = sum(sign * part.value for sign, part in parts) / self.n
        grad = np.asarray(sum(sign * part.grad for sign, part in parts)) / self.n
        bent = np.asarray(sum(sign * part.hessian for sign, part in parts)) / self.n
        if self.softly:
            f, slope = float(np.logaddexp(0.0, value)), float(expit(value))
            bend = slope * float(expit(-value))
        else:
            f = slope = bend = float(np.exp(value))
        return Bent(f, slope * grad, slope * bent + bend * np.outer(grad, grad))

    def by_c(self, f: float) -> float:
        """∂f/∂c."""
        return 1.0 / (Link.of(f, self.softly).slope * self.n)

    def of_squares(self, fit: Any) -> Bent:
        return self.of(fit.lam, fit.held_bent(), fit.log_det_bent())

    def along_squares(self, fit: Any, j: int, places: Array, moved: Changes) -> Array:
        """f where λⱼ alone is another, (L,)."""
        return self.along(fit.lam, fit.held, fit.log_det, j, places, moved)

    def along(
        self, lam: Array, held: float, log_det: float, j: int, places: Array, moved: Changes
    ) -> Array:
        """The same, from h and log|H| at λ and how they change."""
        none = np.zeros(0)
        fits = [self._fitted(Bent(h, none, none)).value for h in held + moved.held]
        priors = self.prior.along(lam, j, places)
        c = (np.array(fits) + log_det + moved.log_det - priors) / self.n
        return np.asarray(np.logaddexp(0.0, c) if self.softly else np.exp(c))

    def _fitted(self, held: Bent) -> Bent:
        """P/φ, or (n − M) log P, up to a number."""
        value, grad, hessian = held.value - self.least, held.grad, held.hessian
        if self.unit is not None:
            return Bent(self.unit * value, self.unit * grad, self.unit * hessian)
        value = max(value, np.finfo(float).tiny)
        left, slope = self.n - self.free, grad / value
        bent = hessian / value - np.outer(slope, slope)
        return Bent(left * float(np.log(value)), left * slope, left * bent)
