"""What is known of a penalised fit beside its coefficients: their spread, and what they are worth.

    H = ∇²₁h = G + S,   cov(x) = φH⁻¹,   F = H⁻¹G,   edf = tr(F) over the coefficients of a term

The penalty read as a prior, N(0, φS⁻¹), the coefficients have about this distribution given y. φ is
1 where the loss is −log of a likelihood, else the deviance over n − edf. n counts rows, and weights
are taken with mean 1, so that their unit says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hoag.criteria.factors import factors
from hoag.criteria.pull import pull
from hoag.criteria.scored import _loss
from hoag.estimators.units import WEIGHT, Units
from hoag.glm.losses import Logistic, LogLink, Multinomial, Offset, Squared
from hoag.glm.model import LinearModel
from hoag.glm.penalties import Quadratic
from hoag.values import Array


@dataclass(frozen=True, eq=False)
class Posterior:
    """For coefficients as they are given outside, slopes first, feature by feature.

    covariance   (size, size)
    shares       diag(F), (size,), and what F² has there: how far they are from a plain fit
    left         rank Sⱼ − exp(λⱼ) tr(SⱼH⁻¹), (s,): the degrees of freedom that each penalty leaves
                 of those it reaches
    dispersion   φ, and whether it was estimated
    rows         n
    likely       whether the loss is −log of a likelihood of y, up to φ; else there are no bands
    """

    covariance: Array
    shares: Array
    twice: Array
    left: Array
    dispersion: float
    rows: int
    estimated: bool
    likely: bool

    @property
    def degrees(self) -> float:
        return float(self.shares.sum())

    @staticmethod
    def of(whole: LinearModel, u: Units, x: Array, lam: Array, unit: float) -> Posterior:
        """At the fit x of a model in units of its own; `unit` is that of its loss beside y's."""
        point = whole.at(x, lam)
        G = 0.5 * (point.train.hessian + point.train.hessian.T)
        (solve,) = factors(point.hessian.matrix()[None], lam)
        inverse = solve(np.eye(x.size))
        inverse = 0.5 * (inverse + inverse.T)
        F = inverse @ G
        shares, twice = np.diag(F).copy(), np.einsum("ij,ji->i", F, F)
        penalty = whole.penalty
        assert isinstance(penalty, Quadratic)
        ranks = [np.linalg.matrix_rank(term.dense, hermitian=True) for term in penalty.terms]
        left = np.asarray(ranks) - pull([penalty], lam).traces(inverse)
        weights, loss = whole.train.weights, whole.train.loss
        rows = int(np.sum(weights > 0))
        likelihood = rows / WEIGHT * unit * u.y_scale**2  # from h to −log p(y | x), with φ = 1
        known = None if isinstance(loss, Squared) else _loss(whole.train).dispersion
        estimated = known is None
        if known is None:
            known = 2 * likelihood * point.train.value / max(rows - float(shares.sum()), 1.0)
        slopes = whole.train.design.slopes
        scale = np.full(x.size, u.y_scale)
        scale[:slopes] /= u.c
        covariance = known / likelihood * scale[:, None] * inverse * scale
        own = type(loss.loss) if isinstance(loss, Offset) else type(loss)
        likely = issubclass(own, (Squared, Logistic, Multinomial, LogLink))
        return Posterior(covariance, shares, twice, left, float(known), rows, estimated, likely)
