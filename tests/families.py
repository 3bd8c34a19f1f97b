"""Every family's stated objective, by formulas written again and SciPy's solvers.

    h(x) = c Σᵢ sᵢ loss(yᵢ, uᵢ) + Σⱼ kαⱼwⱼ²,   u = M₁x + m₁ (and M₂x + m₂)

with c and k as the estimators' docstrings have them. No number here is the library's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import xlogy

import hoag

EPSILON = 1.35
POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.4, "inverse": 3.0}
NAMES = [*POWERS, "huber", "quantile", "svc", "ordinal"]
TAU = 0.7
ESTIMATORS = {
    "poisson": hoag.PoissonRegressorCV,
    "gamma": hoag.GammaRegressorCV,
    "tweedie": hoag.TweedieRegressorCV,
    "inverse": hoag.TweedieRegressorCV,
    "huber": hoag.HuberRegressorCV,
    "quantile": hoag.QuantileRegressorCV,
    "svc": hoag.LinearSVCCV,
    "ordinal": hoag.OrdinalLogisticCV,
}


def deviance(y, z, power):
    """d(y, eᶻ) with its first two derivatives in z, by the formula for any power but 1 and 2."""
    mu = np.exp(z)
    if power == 1:
        return 2 * (xlogy(y, y) - y * z - y + mu), 2 * (mu - y), 2 * mu
    if power == 2:
        return 2 * (y / mu - 1 - np.log(y) + z), 2 * (1 - y / mu), 2 * y / mu
    a, b = 1 - power, 2 - power
    own = np.power(np.maximum(y, 1e-300), b) * (y > 0)
    value = 2 * (own / (a * b) - y * mu**a / a + mu**b / b)
    return value, 2 * (mu**b - y * mu**a), 2 * (b * mu**b - a * y * mu**a)


def pinball(y, z, width):
    e = (z - y) / width
    p = 1 / (1 + np.exp(-np.clip(e, -700, 700)))
    return TAU * (y - z) + width * np.logaddexp(0, e), p - TAU, p * (1 - p) / width


def hinge(y, z):
    left = np.maximum(1 - y * z, 0)
    return left**2, -2 * y * left, 2.0 * (left > 0)


def spread(y, z, sigma):
    """σ + σH(r/σ), its gradient and second derivatives in (z, σ)."""
    u = (z - y) / np.where(sigma > 0, sigma, np.nan)
    far, e = np.abs(u) > EPSILON, EPSILON
    value = np.where(far, sigma * (1 - e**2) + 2 * e * np.abs(z - y), sigma * (1 + u**2))
    slope = np.stack([2 * np.clip(u, -e, e), np.where(far, 1 - e**2, 1 - u**2)], 1)
    near = np.where(far, 0, 2 / sigma)
    curve = near[:, None, None] * np.stack([np.stack([u**0, -u], 1), np.stack([-u, u**2], 1)], 1)
    return np.where(sigma > 0, value, np.inf), slope, curve


def between(y, s, t, top):
    """−log(σ(s) − σ(t)), where s is ∞ for the first class and t is −∞ for the last."""

    def sigmoid(v, end, there):
        p = np.where(there, end, 1 / (1 + np.exp(-np.clip(v, -700, 700))))
        return p, p * (1 - p), p * (1 - p) * (1 - 2 * p)

    (a, a1, a2), (b, b1, b2) = sigmoid(s, 1.0, y == 0), sigmoid(t, 0.0, y == top)
    P = np.where(a > b, a - b, np.nan)
    slope = np.stack([-a1 / P, b1 / P], 1)
    cross = slope[:, :, None] * slope[:, None, :]
    cross[:, 0, 0] -= a2 / P
    cross[:, 1, 1] += b2 / P
    return np.where(a > b, -np.log(P), np.inf), slope, cross


@dataclass(eq=False)
class Family:
    """One family on some rows: f(λ) is the mean held-out loss, `fit` the minimiser of h.

    convention   "estimator": the objective of the estimator's docstring, where folds share the Σs
                 of all rows, and the mean of held-out losses; "sums": h and g as hoag.models has
                 them, sums over rows
    """

    name: str
    X: Any
    y: Any
    weights: Any = None
    offset: Any = None
    intercept: bool = True
    convention: str = "estimator"
    width: float = 1.0  # of the smoothed pinball loss
    groups: Any = None
    power: float | None = None
    _warm: dict = field(default_factory=dict)

    def __post_init__(self):
        self.X = np.asarray(self.X.toarray() if hasattr(self.X, "toarray") else self.X, float)
        n, self.p = self.X.shape
        self.y = np.asarray(self.y)
        self.s = np.ones(n) if self.weights is None else np.asarray(self.weights, float)
        self.o = np.zeros(n) if self.offset is None else np.asarray(self.offset, float)
        self.power = self.power or POWERS.get(self.name)
        self.groups = np.zeros(self.p, int) if self.groups is None else np.asarray(self.groups)
        self.scale = np.sqrt(np.mean(self.X**2, axis=0))
        self.scale[self.scale == 0] = 1.0
        A, ones = self.X / self.scale, np.ones((n, 1))
        if self.name == "ordinal":
            self.top = int(self.y.max())
            cuts = np.eye(self.top)
            below = -cuts[np.maximum(self.y - 1, 0)], -cuts[np.minimum(self.y, self.top - 1)]
            self.M = [np.hstack([A, own]) for own in below]
        else:
            self.M = [np.hstack([A, ones]) if self.intercept else A]
        if self.name == "huber":
            self.M = [np.hstack([self.M[0], 0 * ones]), np.hstack([0 * self.M[0], ones])]
        self.size = self.M[0].shape[1]
        means = self.power is not None or self.name == "quantile"
        sums = self.convention == "sums"
        half = 0.5 if self.power is not None or (sums and self.name == "huber") else 1.0
        self.c = half / (self.s.sum() if means and not sums else 1.0)
        self.k = 1.0 if self.name == "huber" and not sums else 0.5

    def loss(self, U, rows):
        y = self.y[rows]
        if self.power is not None:
            return deviance(y, U[0] + self.o[rows], self.power)
        if self.name == "quantile":
            return pinball(y, U[0], self.width)
        if self.name == "svc":
            return hinge(y, U[0])
        return spread(y, *U) if self.name == "huber" else between(y, *U, self.top)

    def start(self, rows):
        x = np.zeros(self.size)
        y, s = self.y[rows], self.s[rows]
        if self.name == "ordinal":
            above = [s @ (y > k) / s.sum() for k in range(self.top)]
            above = np.clip(above, 1e-3 * np.arange(self.top, 0, -1), None)
            x[self.p :] = -np.log(above / (1 - np.clip(above, None, 0.999)))
        elif self.name == "huber":
            x[-1] = np.std(y) + 1e-3
            x[self.p : -1] = np.median(y)
        elif self.intercept and self.power is not None:
            x[-1] = np.log(s @ y / (s @ np.exp(self.o[rows])))
        elif self.intercept and self.name == "quantile":
            x[-1] = np.quantile(y, TAU)
        return x

    def alphas(self, lam):
        lam = np.atleast_1d(np.asarray(lam, float))
        alpha = np.where(self.groups >= 0, np.exp(lam)[np.maximum(self.groups, 0)], 0.0)
        return np.append(alpha / self.scale**2, np.zeros(self.size - self.p))

    def h(self, x, rows, alpha):
        """Value, gradient and Hessian of the objective."""
        M, s = [own[rows] for own in self.M], self.c * self.s[rows]
        with np.errstate(all="ignore"):
            v, g, C = self.loss([own @ x for own in M], rows)
        g, C = (g[:, None], C[:, None, None]) if g.ndim == 1 else (g, C)
        J = range(len(M))
        used = s > 0
        value = float(s[used] @ v[used]) + self.k * float(alpha @ x**2)
        if not np.isfinite(value):  # outside of the model
            return np.inf, np.zeros(self.size), np.eye(self.size)
        slope = sum(M[j].T @ (s * g[:, j]) for j in J) + 2 * self.k * alpha * x
        bend = sum(M[i].T @ ((s * C[:, i, j])[:, None] * M[j]) for i in J for j in J)
        return value, slope, bend + np.diag(2 * self.k * alpha)

    def fit(self, rows, lam, x=None):
        """argmin h over some rows, by a trust region, then Newton steps while they help."""
        alpha = self.alphas(lam)
        x = self.start(rows) if x is None else x
        found = minimize(
            lambda x: self.h(x, rows, alpha)[0],
            x,
            jac=lambda x: self.h(x, rows, alpha)[1],
            hess=lambda x: self.h(x, rows, alpha)[2],
            method="trust-exact",
            options={"gtol": 1e-9 * self.c * self.s.sum(), "maxiter": 500},
        )
        x = found.x
        _, slope, bend = self.h(x, rows, alpha)
        for _ in range(20):
            trial = x - np.linalg.lstsq(bend, slope, rcond=1e-14)[0]
            value, new, bend = self.h(trial, rows, alpha)
            if not (np.isfinite(value) and np.linalg.norm(new) < 0.9 * np.linalg.norm(slope)):
                break
            x, slope = trial, new
        return x

    def f(self, lam, splits):
        """The mean loss of held-out rows (estimators), or its sum."""
        total = judged = 0.0
        for k, (train, test) in enumerate(splits):
            x = self._warm[k] = self.fit(train, lam, self._warm.get(k))
            v = self.loss([own[test] @ x for own in self.M], test)[0]
            half = 0.5 if self.convention == "sums" and self.power is not None else 1.0
            total += half * float(self.s[test] @ np.where(self.s[test] > 0, v, 0.0))
            judged += float(self.s[test].sum())
        return total / judged if self.convention == "estimator" else total

    def coefficients(self, x):
        return x[: self.p] / self.scale


def draw(name, n=80, p=4, seed=0, level=0.0, noise=1.0):
    """X, y and what of each row is beside them, for a family."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.2
    score = X @ (rng.normal(size=p) / np.sqrt(p))
    weights, offset = rng.integers(1, 4, n).astype(float), 0.5 * rng.normal(size=n)
    return X, of_score(name, score, offset + level, noise, rng), weights, offset


def of_score(name, score, offset, noise, rng):
    """y of a family with that linear predictor."""
    n, mean = len(score), np.exp(score + offset)
    if name == "poisson":
        return rng.poisson(mean * rng.gamma(4, 0.25, n)).astype(float)
    if name in ("gamma", "inverse"):
        return mean * rng.gamma(4.0, 0.25, n)
    if name == "tweedie":
        return rng.gamma(2.0, 0.5, n) * rng.poisson(mean)
    noisy = score + noise * rng.normal(size=n)
    if name == "huber":
        return score + 0.3 * noise * rng.standard_t(2, size=n)
    if name == "quantile":
        return noisy
    if name == "svc":
        return np.where(noisy > np.median(noisy), 1.0, -1.0)
    return np.digitize(noisy, np.quantile(noisy, [0.3, 0.6, 0.8]))


def estimator(name, **settings):
    """The library's estimator of a family."""
    if name in ("tweedie", "inverse"):
        settings["power"] = POWERS[name]
    if name == "quantile":
        settings["quantile"] = TAU
    return ESTIMATORS[name](**settings)


def width(model):
    """Of the smoothed pinball loss, which depends on y."""
    return getattr(model, "width_", 1.0)
