"""What is known of a penalised fit beside its coefficients: their covariance, and its edf.

    H = ∇²₁h = G + S,   cov(x) = φH⁻¹,   F = H⁻¹G,   edf = tr(F) over the coefficients of a term

The penalty read as a prior, N(0, φS⁻¹), the coefficients have about this distribution given y. φ is
1 where the loss is −log of a likelihood, else Pearson's Σ(y − μ)²/V(μ) over n − edf. n counts rows,
and weights are taken with mean 1, so that their unit says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.linalg import block_diag

from hoag._core.numeric import Array
from hoag._glm.losses import Logistic, LogLink, Loss, Multinomial, Offset, Poisson, Squared
from hoag._glm.model import LinearModel
from hoag._glm.penalties import QuadraticPenalty
from hoag._glm.targets import Target
from hoag._glm.term import DataTermAt
from hoag._glm.units import WEIGHT, Units
from hoag._linalg.cholesky import factors
from hoag._linalg.symmetric import rank


@dataclass(frozen=True, eq=False)
class Posterior:
    """For coefficients as they are given outside, slopes first, feature by feature.

    covariance   of the slopes and an intercept for each output
    edf          diag(F), for each entry of x
    edf2         diag(F²): 2 tr(F) − tr(F²) over a term is its edf for tests
    left         rank Sⱼ − exp(λⱼ) tr(SⱼH⁻¹), (s,): the degrees of freedom that each penalty leaves
                 of those it reaches
    variances    φ/exp(λⱼ), (s,): the variance of what a penalty draws to 0, read as a prior
    dispersion   φ by Pearson's residuals, Σ(y − μ)²/V(μ) over n − edf
    scale        the φ that is taken for covariance and variances: the family's own, where it has
                 one, else the dispersion; and whether it was thus `estimated`
    rows         n
    outputs      how many linear predictors there are: one, or one for each of several classes
    counts       whether y are counts, which may vary more than the family says; classes cannot
    likely       whether the loss is −log of a likelihood of y, up to φ; else there are no bands
    """

    covariance: Array
    edf: Array
    edf2: Array
    left: Array
    variances: Array
    dispersion: float
    scale: float
    rows: int
    outputs: int
    estimated: bool
    counts: bool
    likely: bool

    @property
    def total_edf(self) -> float:
        return float(self.edf.sum())

    @property
    def residual_df(self) -> float:
        return max(self.rows - self.total_edf, 1.0)

    @staticmethod
    def of(
        whole: LinearModel, u: Units, target: Target, x: Array, lam: Array, *, unit: float
    ) -> Posterior:
        """At the fit x of a model in units of its own; `unit` is that of its loss beside y's."""
        point = whole.at(x, lam)
        G = 0.5 * (point.train.hessian + point.train.hessian.T)
        (solve,) = factors(point.hessian.matrix()[None], lam)
        inverse = solve(np.eye(x.size))
        inverse = 0.5 * (inverse + inverse.T)
        F = inverse @ G
        edf = np.diag(F).copy()
        penalty = whole.penalty
        assert isinstance(penalty, QuadraticPenalty)
        ranks = np.array([rank(term.dense) for term in penalty.terms])
        at = penalty.at(lam)
        weights, loss = whole.train.weights, whole.train.loss
        rows = int(np.sum(weights > 0))
        known = None if isinstance(loss, Squared) else cast(Loss, loss).dispersion
        likelihood = rows / WEIGHT * unit  # from h to −log p(y | x), in units of y²
        K = target.outputs
        observed = rows * (K - 1 if isinstance(loss, Multinomial) else K)
        pearson = _pearson(point.train) / max(observed - float(edf.sum()), 1.0)
        dispersion = pearson * likelihood * u.y_scale**2
        phi = pearson if known is None else known / likelihood  # in the units of h
        design = whole.train.design
        intercepts = np.zeros((K, 0)) if target.basis is None else target.basis[:K]
        outside = block_diag(np.eye(design.slopes), intercepts)
        covariance = u.covariance(inverse, design.outputs, design.Q)
        own = type(loss.loss) if isinstance(loss, Offset) else type(loss)
        return Posterior(
            covariance=phi * outside @ covariance @ outside.T,
            edf=edf, edf2=np.einsum("ij,ji->i", F, F), left=ranks - at.traces(inverse),
            variances=phi * (u.y_scale / u.c) ** 2 / at.strengths,
            dispersion=dispersion, scale=dispersion if known is None else known,
            rows=rows, outputs=K, estimated=known is None, counts=issubclass(own, Poisson),
            likely=issubclass(own, (Squared, Logistic, Multinomial, LogLink)),
        )  # fmt: skip


def _pearson(at: DataTermAt) -> float:
    """Σᵢ sᵢ(yᵢ − μᵢ)²/V(μᵢ), with V = 1 for squares and μ^power with the log link.

    The deviance in its place is too large by half where y is as skew as exponential. For classes
    Σₖ (yₖ − pₖ)²/pₖ = 1/p − 1, with p the probability of the one that is there.
    """
    loss, y, z = at.term.loss, at.term.y, at.term.predict(at.x)
    if isinstance(loss, (Logistic, Multinomial)):
        return float(at.term.weights @ np.expm1(loss.at(y, z).value))
    if isinstance(loss, Offset):
        loss, y, z = loss.loss, y[:, 0], z + y[:, 1]
    if not isinstance(loss, LogLink):
        return 2 * at.value
    mean = loss.mean(z)
    return float(at.term.weights @ ((y - mean) ** 2 / mean**loss.power))
