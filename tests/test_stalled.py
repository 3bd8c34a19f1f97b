"""Fits that stop short of their minimum: no such value is called converged, and few fits do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import KFold

import hoag
from hoag._core.result import Evaluation, Solve
from hoag._criteria.fits import FoldedFits
from hoag._criteria.newton import FoldedNewton
from hoag._glm.losses import SmoothQuantile


def expenditure(seed: int = 0, n: int = 235) -> tuple[np.ndarray, np.ndarray]:
    """What households spend of their income: the more they have, the more they differ."""
    rng = np.random.default_rng(seed)
    income = np.exp(rng.normal(6.8, 0.45, n))
    return income[:, None], 80 + income * (0.485 + 0.13 * rng.standard_t(4, n))


def smoothed(r, tau, width):
    return tau * r + width * np.logaddexp(0.0, -r / width)


def by_simplex(x, y, alpha, tau, width):
    """(slope, intercept) that minimise mean ρ + ½αw², without a derivative."""
    mean, scale = x.mean(), x.std()
    start = QuantileRegressor(quantile=tau, alpha=0.0).fit((x[:, None] - mean) / scale, y)

    def h(p):
        w = p[0] / scale
        return smoothed(y - w * (x - mean) - p[1], tau, width).mean() + 0.5 * alpha * w**2

    p = np.array([start.coef_[0], start.intercept_])
    for _ in range(6):  # a simplex made anew is a check on the last
        p = minimize(h, p, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).x
    return p[0] / scale, p[1] - mean * p[0] / scale


@pytest.mark.parametrize("smoothing", [0.002, 0.0005])
def test_quantiles_with_little_smoothing_are_those_of_another_solver(smoothing):
    X, y = expenditure()
    model = hoag.QuantileRegressorCV(quantile=0.9, smoothing=smoothing, bounds=(2.0, 2.0))
    model.fit(X, y)
    assert model.result_.converged
    total = 0.0
    for train, test in KFold(5).split(X):
        alpha = model.alpha_ * len(y) / len(train)  # α stands beside a mean over all rows
        w, b = by_simplex(X[train, 0], y[train], alpha, 0.9, model.width_)
        total += smoothed(y[test] - w * X[test, 0] - b, 0.9, model.width_).sum()
    assert model.criterion_ == pytest.approx(total / len(y), rel=1e-4)
    w, b = by_simplex(X[:, 0], y, model.alpha_, 0.9, model.width_)
    assert model.predict(X) == pytest.approx(w * X[:, 0] + b, rel=1e-4)


@pytest.mark.parametrize("cv", [5, "alo"])
def test_next_to_no_smoothing_and_penalty_is_linear_programming(cv):
    X, y = expenditure(3)
    model = hoag.QuantileRegressorCV(quantile=0.9, smoothing=1e-5, bounds=(-9.0, -9.0), cv=cv)
    model.fit(X, y)
    assert model.result_.converged
    exact = QuantileRegressor(quantile=0.9, alpha=0.0).fit(X, y)
    assert model.predict(X) == pytest.approx(exact.predict(X), rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_little_smoothing_is_tuned_over_the_whole_box(seed):
    X, y = expenditure(seed)
    plain = hoag.QuantileRegressorCV(quantile=0.9).fit(X, y)
    sharp = hoag.QuantileRegressorCV(quantile=0.9, smoothing=0.002).fit(X, y)
    assert sharp.criterion_ == pytest.approx(plain.criterion_, rel=0.02)


class Stalls:
    """A solver that stops where it begins, and says so."""

    def solve(self, problem, lam, x0, tol):
        point = problem.at(x0, lam)
        return Solve(x0, float(np.linalg.norm(point.h_x)), 1, "stalled", point)


def sharp_folds(width):
    X, y = expenditure(1, 80)
    X, y = (X - X.mean()) / X.std(), (y - y.mean()) / y.std()
    return hoag.models.folds(
        hoag.models.linear, X, y, loss=SmoothQuantile(0.9, width), cv=3, intercept=True
    )


@pytest.mark.parametrize("stalling", [0, 1, 2])
def test_one_fold_that_stalls_makes_the_sum_unknown(stalling):
    parts = [
        hoag.criteria.Implicit(fold, inner=Stalls() if k == stalling else None)
        for k, fold in enumerate(sharp_folds(0.01))
    ]
    result = hoag.minimize(hoag.criteria.Sum(parts), bounds=(-6, 6))
    assert not result.converged
    assert not str(result.status).startswith("Converged")


def test_folds_together_that_stall_are_not_known(monkeypatch):
    criterion = hoag.plan(sharp_folds(1e-4))
    assert isinstance(criterion, FoldedFits)
    monkeypatch.setattr(FoldedNewton, "softer", None)
    result = hoag.minimize(criterion, bounds=(-6, 6))
    assert not result.converged
    assert not str(result.status).startswith("Converged")
    assert result.evaluation.f_error == np.inf


def test_a_stall_is_harmless_where_newton_steps_go_on_from_it():
    X, y = expenditure(2, 60)
    problem = hoag.models.ridge(X[:40], y[:40], X[40:], y[40:])
    criterion = hoag.criteria.Implicit(problem, inner=Stalls())
    found = criterion.verify(criterion.evaluate(0.0), 1e-6)
    exact = hoag.criteria.Implicit(problem).evaluate(0.0, 1e-9)
    assert found.converged
    assert found.value == pytest.approx(exact.value, rel=1e-9)


class Unfinished(hoag.criteria.Criterion):
    """f = λ², by a solver that never ends."""

    lam0 = np.zeros(1)

    def _evaluate(self, lam, ask, warm):
        note = "The fit stopped."
        return Evaluation(lam, float(lam[0] ** 2), 2 * lam, error=0.0, converged=False, note=note)


def test_the_word_of_a_criterion_is_taken():
    result = hoag.minimize(Unfinished(), bounds=(-1, 2))
    assert not result.converged
    assert "The fit stopped." in str(result.status)
