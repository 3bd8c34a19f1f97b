"""The marginal likelihood of y, with the coefficients integrated out (REML, by Laplace).

    p(y | λ) = ∫ p(y | x) N(x; 0, φS⁻¹) dx,   S = Σⱼ exp(λⱼ)Sⱼ
    c = −2 log p(y | λ) = P/φ + log|H| − log|S|₊ + …,   P = 2h = 2L(x) + xᵀSx at x = X(λ)

up to a number that λ does not change; H = ∇²₁h. Coefficients that S does not reach have a flat
prior: of squares this is the restricted likelihood, exactly. Where φ is not known, it is the best
one, φ = P/(n − M) with M such coefficients, and c = (n − M) log P + log|H| − log|S|₊: exact for
squares, and the extended quasi-likelihood of other deviances. f = exp(c/n) is positive, and least
where c is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag.criteria.log_det import Bent, LogDet
from hoag.values import Array


@dataclass(frozen=True, eq=False)
class Marginal:
    """f = exp(c/n).

    n, free   the rows that count, and M
    unit      2/φ times what the loss is multiplied by to be −log p(y | x), with weights of mean 1;
              None where φ is not known
    prior     log|S|₊
    """

    n: int
    free: int
    unit: float | None
    prior: LogDet

    def of(self, lam: Array, held: Bent, log_det: Bent) -> Bent:
        """f with its derivatives, from those of h and log|H|."""
        c, prior = self._fitted(held), self.prior.at(lam)
        parts = [(1.0, c), (1.0, log_det), (-1.0, prior)]
        value = sum(sign * part.value for sign, part in parts) / self.n
        grad = np.asarray(sum(sign * part.grad for sign, part in parts)) / self.n
        bent = np.asarray(sum(sign * part.hessian for sign, part in parts)) / self.n
        f = float(np.exp(value))
        return Bent(f, f * grad, f * (bent + np.outer(grad, grad)))

    def of_squares(self, fit: Any) -> Bent:
        return self.of(fit.lam, fit.held_bent(), fit.log_det_bent())

    def _fitted(self, held: Bent) -> Bent:
        """P/φ, or (n − M) log P, up to a number."""
        if self.unit is not None:
            value, grad, hessian = held
            return Bent(self.unit * value, self.unit * grad, self.unit * hessian)
        left, slope = self.n - self.free, held.grad / held.value
        bent = held.hessian / held.value - np.outer(slope, slope)
        return Bent(left * float(np.log(held.value)), left * slope, left * bent)
