"""Quasi-Newton steps in any convex set that one can project onto."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hoag.search.asks import Steps
from hoag.search.curvature import TINY, acting
from hoag.search.quasi_newton import CERTAIN, DOWN, Descent, Here
from hoag.values import ROUNDOFF, Array, Domain, Evaluation


def descend(domain: Domain, lam: Array, tol: float, max_iter: int, exact: bool = False) -> Steps:
    """λ ← λ + argmin over λ + d in D of p·d + ½dᵀBd, until f can only fall by tol·|f|.

    B = σI and the last pairs of BFGS. With σ alone the step is that of the spectral projected
    gradient, P_D(λ − p/σ) − λ; with pairs it is found by many of those, which take projections and
    no evaluation. All else is as in a box: `quasi_newton.Descent`.
    """
    return (yield from _Projected(domain, tol, max_iter, exact).from_there(domain.project(lam)))


class _Projected(Descent):
    longest = np.inf  # λ need not be a logarithm: the radius doubles while steps are good

    def _moved(self, lam: Array, step: Array) -> Array:
        return self.domain.project(lam + step)  # it is inside, up to rounding

    def _slope(self, now: Evaluation) -> float:
        return float(np.linalg.norm(acting(now.lam, now.grad, self.domain)))

    def _changed(self, old: Evaluation, new: Evaluation) -> float:
        was, is_now = (acting(each.lam, each.grad, self.domain) for each in (old, new))
        return float(np.linalg.norm(is_now - was))

    def _step(self, here: Here, radius: float) -> Array:
        now = here.now
        by_one = float(np.max(np.abs(acting(now.lam, now.grad, self.domain)))) + TINY
        step = least(self.domain, now.lam, now.grad, _Form(self.model.pairs, by_one))
        step *= min(1.0, radius / max(float(np.max(np.abs(step))), TINY))
        steep = -float(now.grad @ step) / (self._slope(now) * np.linalg.norm(step) + TINY)
        if steep > DOWN or not self.model.pairs:
            return step
        self.model.pairs.clear()
        return self._step(here, radius)


class _Form:
    """B = σI + Σ w uuᵀ: the pairs that bend up, in turn. σ is what f bends by along the last."""

    def __init__(self, pairs: Iterable[tuple[Array, Array]], scale: float) -> None:
        self.scale = scale
        self.terms: list[tuple[float, Array]] = []
        kept = []
        for s, y in pairs:
            sy = float(s @ y)
            if sy > np.sqrt(ROUNDOFF) * float(np.linalg.norm(s) * np.linalg.norm(y)):
                kept.append((s, y, sy))
                self.scale = sy / float(s @ s)
        for s, y, sy in kept:
            Bs = self @ s
            self.terms += [(-1.0 / float(s @ Bs), Bs), (1.0 / sy, y)]

    def __matmul__(self, v: Array) -> Array:
        product = self.scale * v
        for weight, u in self.terms:
            product += weight * float(u @ v) * u
        return product


def least(domain: Domain, lam: Array, p: Array, B: _Form, most: int = 100) -> Array:
    """The d with λ + d in D for which p·d + ½dᵀBd is least, by spectral projected gradients."""
    d, slope, t = np.zeros(lam.size), p.copy(), 1.0 / B.scale
    for _ in range(most):
        towards = domain.project(lam + d - t * slope) - lam - d
        promise = -float(slope @ towards)
        if promise <= max(-CERTAIN * float(p @ d), 0.0):
            break
        bent = B @ towards
        bend = float(towards @ bent)
        share = min(1.0, promise / bend) if bend > 0 else 1.0
        d, slope = d + share * towards, slope + share * bent
        t = float(towards @ towards) / bend if bend > 0 else t
    return d
