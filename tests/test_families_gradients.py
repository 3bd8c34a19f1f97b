"""p and ∇²f of every family against differences of f, solved by SciPy (families.py)."""

from __future__ import annotations

import numpy as np
import pytest
from families import EPSILON, NAMES, POWERS, TAU, Family, draw
from sklearn.model_selection import KFold

import hoag
from hoag import models
from hoag._glm import losses
from hoag.criteria import Ask

KINKED = ("svc", "huber")  # whose second derivatives jump, and with them p
WIDTH = 0.3
GROUPS = {
    "shared": np.zeros(4, dtype=int),
    "per-feature": np.arange(4),
    "groups": np.array([0, 1, 1, 0]),
    "partly free": np.array([0, -1, 1, 0]),
}
LOSSES = {
    "poisson": losses.Poisson(),
    "gamma": losses.Gamma(),
    "tweedie": losses.Tweedie(POWERS["tweedie"]),
    "inverse": losses.InverseGaussian(),
    "quantile": losses.SmoothQuantile(TAU, WIDTH),
    "svc": losses.SquaredHinge(),
}


def problems(name, X, y, weights, offset, intercept, groups, cv):
    settings = {"sample_weight": weights, "penalties": groups, "cv": cv}
    if name == "ordinal":
        return models.folds(models.ordinal, X, y, **settings)
    settings["intercept"] = intercept
    if name == "huber":
        return models.folds(models.huber, X, y, delta=EPSILON, **settings)
    if name in POWERS:
        settings["offset"] = offset
    return models.folds(models.linear, X, y, loss=LOSSES[name], **settings)


@pytest.mark.parametrize("split", ["folds", "one split"])
@pytest.mark.parametrize("plain", [False, True], ids=["weights, intercept", "plain"])
@pytest.mark.parametrize("penalty", GROUPS)
@pytest.mark.parametrize("name", NAMES)
def test_p_and_the_outer_hessian_are_differences_of_f(name, penalty, plain, split):
    X, y, weights, offset = draw(name, n=60, seed=11)
    weights, intercept = None if plain else weights, not plain or name == "ordinal"
    splits = list(KFold(3).split(X))[: 1 if split == "one split" else 2]
    groups = GROUPS[penalty]
    made = problems(name, X, y, weights, offset, intercept, groups, splits)
    criterion = hoag.plan(made if len(made) > 1 else made[0])
    truth = Family(
        *(name, X, y, weights, offset if name in POWERS else None, intercept, "sums"),
        width=WIDTH,
        groups=groups,
    )
    rng = np.random.default_rng(5)
    lam = rng.uniform(0.0, 2.0, size=int(groups.max()) + 1)
    w = rng.normal(size=lam.size)
    w /= np.linalg.norm(w)
    bends = criterion.traits.has_hessian
    found = criterion.evaluate(lam, Ask(0.0, hessian=bends))
    t = 1e-3
    behind, here, ahead = (truth.f(lam + k * t * w, splits) for k in (-1, 0, 1))
    # κ²/σ, which keeps σ above 0, is not in the truth: (κ/σ)² is some 1e-7.
    assert found.value == pytest.approx(here, rel=1e-6 if name == "huber" else 1e-9)
    slope = (ahead - behind) / (2 * t)
    assert found.grad @ w == pytest.approx(slope, rel=1e-4, abs=1e-6 * here)
    if bends and name not in KINKED:
        bend = (ahead - 2 * here + behind) / t**2
        assert w @ found.hessian @ w == pytest.approx(bend, rel=1e-4, abs=1e-5 * here)
