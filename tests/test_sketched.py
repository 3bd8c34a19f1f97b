"""Many coefficients on out-of-core data: what is said holds for memory, too."""

from __future__ import annotations

import numpy as np
import pytest
from partitions import Cut, agree, both
from quick import quick
from scipy import sparse

import hoag
from hoag._criteria.iterative import Secants
from hoag._glm import first_pass


@pytest.fixture(autouse=True)
def few_in_memory(monkeypatch):
    """A third of the rows are in the sample, as of data many times as large."""
    monkeypatch.setattr(first_pass, "SAMPLE_ENTRIES", 12000)


def text(n=3000, p=1200, filled=12, seed=0):
    rng = np.random.default_rng(seed)
    columns = (p * rng.random((n, filled)) ** 2).astype(int)
    ends = np.arange(0, n * filled + 1, filled)
    X = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), ends), (n, p))
    X.sum_duplicates()
    z = X @ (0.6 * rng.normal(size=p))
    return X, z - z.mean(), rng


FITS = {
    "logistic": (hoag.LogisticRegressionCV, {}),
    "no intercept": (hoag.LogisticRegressionCV, {"fit_intercept": False}),
    "two groups": (hoag.LogisticRegressionCV, {"penalties": np.arange(1200) % 2}),
    "squared hinge": (hoag.LinearSVCCV, {}),
    "standardize": (hoag.LogisticRegressionCV, {"standardize": True}),
}


@pytest.mark.parametrize("name", quick(FITS, ["no intercept", "squared hinge", "standardize"]))
def test_the_loss_that_is_told_is_that_of_memory_at_the_same_penalties(name):
    make, options = FITS[name]
    X, z, rng = text()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    model = make(**options).fit(Cut(X, y, (500, 1100, 1900, 2500)))
    assert model.result_.converged
    known = model.result_.evaluation
    here = make(**options)
    true = here.fit(X, y).criterion_at(model.lam_, X, y)
    assert abs(model.criterion_ - true) <= max(5 * known.f_error, 2e-4 * true)
    assert true <= here.criterion_ * (1 + 1e-3)  # and as low as memory finds it


def test_the_last_fit_is_of_all_rows():
    X, z, rng = text()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    model = hoag.LogisticRegressionCV().fit(Cut(X, y, (500, 1100, 1900, 2500)))
    w, b = model.coef_[0], model.intercept_[0]
    slope = 1 / (1 + np.exp(-(X @ w + b))) - y
    left = np.linalg.norm(np.append(X.T @ slope + w / model.C_, slope.sum()))
    whole = np.linalg.norm(np.append(X.T @ (0.5 - y), np.sum(0.5 - y)))
    assert left <= 2e-3 * whole


POSITIVE = {
    "counts": (hoag.PoissonRegressorCV, {}, lambda mean, rng: rng.poisson(mean)),
    "costs": (hoag.GammaRegressorCV, {}, lambda mean, rng: rng.gamma(2, mean)),
    "claims": (
        hoag.TweedieRegressorCV,
        {"power": 1.5},
        lambda mean, rng: rng.poisson(mean) * rng.gamma(2, size=mean.size),
    ),
}


@pytest.mark.parametrize("name", quick(POSITIVE, ["counts"]))
def test_curvature_that_has_no_bound_takes_tens_of_passes_and_not_thousands(name):
    make, options, drawn = POSITIVE[name]
    X, z, rng = text(p=1100)
    y = drawn(np.exp(z / 3), rng)
    model = make(**options).fit(Cut(X, y, (500, 1100, 1900, 2500)))
    assert model.result_.converged
    assert model.result_.cost.reads <= 100
    here = make(**options).fit(X, y)
    true = here.criterion_at(model.lam_, X, y)
    assert abs(model.criterion_ - true) <= max(5 * model.result_.evaluation.f_error, 2e-4 * true)
    assert true <= here.criterion_ * (1 + 1e-3)
    mean = np.exp(X @ model.coef_ + model.intercept_)
    if name == "counts":  # the intercept is free, so that means agree
        assert abs(np.mean(mean - y)) <= 1e-4 * y.mean()


def test_steps_that_were_not_taken_say_nothing():
    """A fold that stood still while others went on: its pair has no step, and a change of ∇²h q."""
    rng = np.random.default_rng(0)
    size = 6
    H = np.stack([A @ A.T for A in rng.normal(size=(2, size, size))])
    V = rng.normal(size=(2, size))
    one = Secants().plus(V, np.einsum("kij,kj->ki", H, V))
    still, R = V.copy(), rng.normal(size=(2, size))
    still[0] = 0.0
    bent = np.einsum("kij,kj->ki", H, still)
    bent[0] = 1.0
    both = one.plus(still, bent)
    by = (Whole(), Free())
    np.testing.assert_allclose(both.solve(*by, R), one.solve(*by, R), rtol=1e-9)


class Whole:
    def solve(self, R, penalty):
        return R


class Free:
    def apply(self, V):
        return 0.0 * V


FEW_COEFFICIENTS = {
    "logistic": hoag.LogisticRegressionCV(),
    "bound": hoag.LogisticRegressionCV(search=hoag.optimize.Auto(certificate="bound")),
    "per-feature": hoag.LogisticRegressionCV(penalties="per-feature"),
    "ridge": hoag.RidgeCV(cv=5),
    "poisson": hoag.PoissonRegressorCV(),
}


@pytest.mark.parametrize("name", FEW_COEFFICIENTS)
def test_a_sample_of_all_rows_takes_one_pass(monkeypatch, name):
    monkeypatch.setattr(first_pass, "SAMPLE_ENTRIES", 1e9)
    rng = np.random.default_rng(0)
    X = 3.0 + rng.normal(size=(300, 4))
    z = (X - 3.0) @ rng.normal(size=4)
    y = rng.poisson(np.exp(z / 3)) if name == "poisson" else (z + rng.logistic(size=300) > 0)
    near, apart, source = both(FEW_COEFFICIENTS[name], X, y.astype(float), rng.uniform(1, 2, 300))
    agree(near, apart, names=("coef_", "intercept_", "criterion_"))
    np.testing.assert_allclose(apart.lam_, near.lam_, atol=1e-9)
    assert apart.result_.cost.reads == source.reads == 1
    told = apart.criterion_at(apart.lam_, source)
    assert told == pytest.approx(near.criterion_at(near.lam_, X, y, source.weight), rel=1e-10)


def test_a_sample_of_all_rows_is_fitted_as_in_memory(monkeypatch):
    monkeypatch.setattr(first_pass, "SAMPLE_ENTRIES", 1e9)
    X, z, rng = text(n=600, p=1100)
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    there = hoag.LogisticRegressionCV().fit(Cut(X, y, (200,)))
    here = hoag.LogisticRegressionCV().fit(X, y)
    assert there.result_.cost.reads == 1
    np.testing.assert_allclose(there.lam_, here.lam_, rtol=1e-8)
    np.testing.assert_allclose(there.criterion_, here.criterion_, rtol=1e-8)
    apart = np.linalg.norm(there.coef_ - here.coef_)  # both solve the last fit to a tolerance
    assert apart <= 1e-3 * np.linalg.norm(here.coef_)


@pytest.mark.parametrize(("times", "whole"), [(1.4, True), (1.6, False)])
def test_half_as_many_rows_again_as_a_sample_has_are_still_in_memory(monkeypatch, times, whole):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    monkeypatch.setattr(first_pass, "SAMPLE_ENTRIES", X.size / times)
    y = (X[:, 0] + rng.logistic(size=3000) > 0).astype(int)
    seen = []
    made = first_pass.joined_samples
    monkeypatch.setattr(
        first_pass, "joined_samples", lambda *given: seen.append(made(*given)) or seen[-1]
    )
    hoag.LogisticRegressionCV().fit(Cut(X, y, (1000, 2000)))
    (sample,) = seen
    assert len(sample.y) == pytest.approx(3000 if whole else 3000 / times, rel=0.05)
    assert (sample.share >= 1.0) == whole
    assert sample.X.shape == (len(sample.y), 4)
    assert np.all(sample.draws < sample.share)
