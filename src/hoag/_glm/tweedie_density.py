"""The density of Tweedie distributions with 1 < p < 2, by which a power can be judged.

Deviances of different powers are in different units; likelihoods are not. With mean μ, variance
φμ^p and a = (2 − p)/(p − 1),

    log f(0) = −μ^(2 − p)/(φ(2 − p))
    log f(y) = −y μ^(1 − p)/(φ(p − 1)) − μ^(2 − p)/(φ(2 − p)) − log y + log Σⱼ Wⱼ
    log Wⱼ   = j [a log y − a log(p − 1) − (1 + a) log φ − log(2 − p)] − log j! − log Γ(ja)

The terms of the series (Dunn and Smyth, 2005) rise to j ≈ y^(2 − p)/(φ(2 − p)) and fall; those that
count for rounding are summed.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp

from hoag._core.numeric import ROUNDOFF, Array
from hoag._glm.rows import BLOCK_ENTRIES

# Terms so many standard deviations from the largest are below rounding.
WIDE = float(np.sqrt(-2 * np.log(ROUNDOFF)))
# So many terms of all rows together are held at a time.
AT_ONCE = 10 * BLOCK_ENTRIES


def log_density(y: Array, mu: Array, power: float, dispersion: float) -> Array:
    """log f of every y ≥ 0."""
    a, b = power - 1.0, 2.0 - power
    found = -(mu**b) / (dispersion * b)
    some = np.flatnonzero(y > 0)
    own = y[some]
    found[some] -= own * mu[some] ** -a / (dispersion * a) + np.log(own)
    found[some] += _log_series(own, power, dispersion)
    return np.asarray(found)


def _log_series(y: Array, power: float, dispersion: float) -> Array:
    """log Σⱼ Wⱼ."""
    a, b = power - 1.0, 2.0 - power
    each = (b / a) * np.log(y / a) - np.log(dispersion) / a - np.log(b)
    top = np.maximum(y**b / (dispersion * b), 1.0)
    # The curvature of log Wⱼ is about −(1 + b/a)/j there.
    spread = WIDE * np.sqrt(top / (1 + b / a)) + WIDE
    first = np.maximum(np.floor(top - spread), 1.0)
    order, found = np.argsort(-spread), np.empty(y.size)  # rows of many terms come first
    start = 0
    while start < y.size:
        terms = 2 * float(spread[order[start]]) + 2
        some = order[start : start + max(1, int(AT_ONCE / terms))]
        j = first[some, None] + np.arange(terms)
        log_w = j * each[some, None] - gammaln(j + 1) - gammaln(j * b / a)
        found[some] = logsumexp(log_w, axis=1)
        start += some.size
    return found


def likely_dispersion(rows: tuple[Array, Array, Array], power: float) -> tuple[float, float]:
    """The φ of the largest likelihood, and −Σᵢ sᵢ log f(yᵢ) there; around Pearson's estimate.

    `rows` are y, μ and the weights s.
    """
    y, mu, weights = rows
    pearson = float(weights @ ((y - mu) ** 2 / mu**power) / weights.sum())

    def lost(log_phi: float) -> float:
        return -float(weights @ log_density(y, mu, power, float(np.exp(log_phi))))

    middle = float(np.log(pearson))
    found = minimize_scalar(
        lost, bounds=(middle - 2, middle + 2), method="bounded", options={"xatol": 1e-3}
    )
    return float(np.exp(found.x)), float(found.fun)
