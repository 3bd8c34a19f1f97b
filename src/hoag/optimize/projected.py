"""Quasi-Newton steps in any convex set that λ can be projected onto."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hoag._core.domain import Domain
from hoag._core.numeric import ROUNDOFF, Array
from hoag._core.result import Evaluation
from hoag.optimize.asks import Steps
from hoag.optimize.quasi_newton import AIM, CERTAIN, SecantDescent
from hoag.optimize.steps import LONGEST, by_one, steepest


def descend(domain: Domain, lam: Array, tol: float, max_iter: int, exact: bool = False) -> Steps:
    """λ ← λ + argmin over λ + d in D of p·d + ½dᵀBd, until f can only fall by tol·|f|.

    B is σI with the last pairs of BFGS. With σ alone the step is that of the spectral projected
    gradient, P_D(λ − p/σ) − λ; with pairs it takes many of those, each a projection and none an
    evaluation. What is done with a step is the same as in a box: see `quasi_newton.SecantDescent`.
    """
    return (yield from _Projected(domain, tol, max_iter, exact).from_there(domain.project(lam)))


class _Projected(SecantDescent):
    """Steps for a λ of which nothing is known but that it can be projected.

    It need not be a logarithm. So the error that goes with an ε is found out at the start; a step
    may be twice as long as a good one before it; and what a move by one promises matters only for
    a λ that has two bounds of its own, as in a box.
    """

    horizon = np.inf

    def __init__(self, domain: Domain, tol: float, max_iter: int, exact: bool) -> None:
        super().__init__(domain, tol, max_iter, exact)
        self.ratio = np.inf
        if exact:
            self.first = self.most = self.eps = 0.0  # there is no ε to choose

    def _tells(self, step: Array, y: Array, error: float) -> bool:
        return abs(float(step @ y)) > AIM * error * float(np.linalg.norm(step))

    def _longest(self, step: Array) -> float:
        return max(LONGEST, 2.0 * float(np.max(np.abs(step))))

    def _steep(self, now: Evaluation) -> float:
        bounded = np.all(np.isfinite(self.domain.sides(now.lam.size)), axis=0)
        return steepest(now.lam, np.where(bounded, now.grad, 0.0), self.domain)

    def _to_least(self, now: Evaluation) -> Array:
        """By about one at first."""
        matrix = _SecantMatrix(self.model.pairs, by_one(self._acting(now), now.grad))
        return least(self.domain, now.lam, now.grad, matrix)


class _SecantMatrix:
    """B = σI + Σ w uuᵀ, of the pairs (s, y) with s·y > 0; σ = s·y/s·s of the last, else as given.

    Of y only what lies along steps is ever used, so that the part of p that the domain holds back,
    however large, does no harm: y·y/s·y, the usual σ, would have it.
    """

    def __init__(self, pairs: Iterable[tuple[Array, Array]], sigma: float) -> None:
        upwards = []
        for s, y in pairs:
            sy = float(s @ y)
            if sy > np.sqrt(ROUNDOFF) * float(np.linalg.norm(s) * np.linalg.norm(y)):
                upwards.append((s, y, sy))
                sigma = sy / float(s @ s)
        self.sigma = sigma
        self.terms: list[tuple[float, Array]] = []
        for s, y, sy in upwards:
            Bs = self @ s
            self.terms += [(-1.0 / float(s @ Bs), Bs), (1.0 / sy, y)]

    def __matmul__(self, v: Array) -> Array:
        product = self.sigma * v
        for weight, u in self.terms:
            product += weight * float(u @ v) * u
        return product


def least(domain: Domain, lam: Array, p: Array, B: _SecantMatrix, most: int = 100) -> Array:
    """The d with λ + d in D for which p·d + ½dᵀBd is least, by spectral projected gradients."""
    d, slope, t = np.zeros(lam.size), p, 1.0 / B.sigma
    for _ in range(most):
        towards = domain.project(lam + d - t * slope) - lam - d
        promise = -float(slope @ towards)
        if promise <= max(-CERTAIN * float(p @ d), 0.0):
            break
        product, square = B @ towards, float(towards @ towards)
        curvature = max(float(towards @ product), ROUNDOFF * B.sigma * square)
        share = min(1.0, promise / curvature)
        d, slope, t = d + share * towards, slope + share * product, square / curvature
    return d
