"""Kernel ridge regression where f has a basin of narrow kernels, which a sample does not show."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

import hoag
from hoag._core.result import Solve
from hoag._inner import LinearSystem
from hoag._linear import Cholesky


def twins(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """A plane, and what only near neighbours have in common: four rows in five have a twin."""
    rng = np.random.default_rng(seed)
    pairs = 2 * n // 5
    first = rng.normal(size=(n - pairs, 8))
    X = np.vstack([first, first[:pairs] + 0.1 * rng.normal(size=(pairs, 8))])
    own = rng.normal(size=n - pairs)
    y = 0.7 * X.sum(axis=1) / np.sqrt(8) + 0.6 * np.append(own, own[:pairs])
    mixed = rng.permutation(n)
    return X[mixed], (y + 0.3 * rng.normal(size=n))[mixed]


def loss(X, y, gamma, alpha):
    total = 0.0
    for train, test in KFold(5).split(X):
        K, level = rbf_kernel(X[train], gamma=gamma), y[train].mean()
        dual = cho_solve(cho_factor(K + alpha * np.eye(len(K))), y[train] - level)
        total += np.sum((y[test] - level - rbf_kernel(X[test], X[train], gamma=gamma) @ dual) ** 2)
    return total / len(y)


@pytest.mark.parametrize("seed", [0, 5])
def test_no_coarse_grid_on_all_rows_is_lower(seed):
    X, y = twins(seed)
    model = hoag.KernelRidgeCV().fit(X, y)
    assert model.criterion_ == pytest.approx(loss(X, y, model.gamma_, model.alpha_), rel=1e-8)
    grid = [loss(X, y, g, a) for g in np.logspace(-4, 1, 6) for a in np.logspace(-3, 1, 5)]
    assert model.criterion_ <= min(grid)


def test_a_fit_that_is_exact_but_for_rounding_is_not_called_inexact():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    model = hoag.KernelRidgeCV(bounds=((-2.0, -25.0), (-2.0, -25.0)))
    model.fit(X, y)  # a warning would be an error
    K = rbf_kernel(X, gamma=np.exp(-2.0)) + np.exp(-25.0) * np.eye(60)
    left = K @ model.dual_coef_ - (y - model.intercept_)
    assert np.linalg.norm(left) > 1e-10  # which ‖y‖ alone would not allow
    assert np.linalg.norm(left) <= 1e-14 * np.linalg.norm(K) * np.linalg.norm(model.dual_coef_)


class Careless:
    """A linear solver that leaves a share of every right-hand side, and says so."""

    def __init__(self, share):
        self.share = share

    def solve(self, A, b, q0, tol):
        exact = Cholesky().solve(A, b, None, 0.0)
        q = (1 - self.share) * exact.x
        return Solve(q, self.share * float(np.linalg.norm(b)), 1, "stalled", r=-self.share * b)


def test_a_fit_that_is_worse_than_rounding_is():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    problem = hoag.models.ridge(A, y, A, y)
    assert (
        LinearSystem(Careless(1e-6)).solve(problem, problem.lam0, problem.x0, 0.0).reason
        == "stalled"
    )
    assert (
        LinearSystem(Careless(1e-15)).solve(problem, problem.lam0, problem.x0, 0.0).reason
        == "precision"
    )
