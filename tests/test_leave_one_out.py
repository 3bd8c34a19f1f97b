"""Leave-one-out in closed form against fits without each row, and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge, RidgeCV

import hoag
from hoag._core.result import Ask
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag._glm.groups import group_numbers
from hoag._glm.losses import Huber
from hoag._glm.penalties import Ridge as Penalty
from hoag._glm.rows import ArrayRows
from hoag.errors import InvalidInputError


def data(n, p, targets, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.7) + 0.5
    y = A @ rng.normal(size=(p, targets)) + rng.normal(size=(n, targets)) + 3.0
    return A, y[:, 0] if targets == 1 else y, rng.uniform(0.3, 2.0, size=n)


def criterion(A, y, weights, penalties, scale=1.0, **options):
    outputs = 1 if y.ndim == 1 else y.shape[1]
    groups = group_numbers(penalties, A.shape[1], outputs, 0)
    floor = 1e-10 * weights.sum() if np.any(groups < 0) else 0.0
    return LeaveOneOut(ArrayRows(A, scale), y, weights, Penalty(groups, floor), **options)


SHAPES = [(30, 4, 1), (30, 4, 3), (8, 12, 1), (8, 12, 2)]
PENALTIES = ["shared", "per-class", "per-feature", "per-coefficient"]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_loss_of_the_fits_without_each_row(shape, intercept):
    A, y, weights = data(*shape)
    loo = criterion(A, y, weights, "shared", intercept=intercept)
    lam = np.array([0.7])
    losses = np.zeros(len(y))
    predicted = np.zeros_like(y)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = Ridge(alpha=np.exp(0.7), fit_intercept=intercept, tol=1e-12)
        model.fit(A[rest], y[rest], weights[rest])
        predicted[i] = model.predict(A[i : i + 1])[0]
        losses[i] = np.sum((y[i] - predicted[i]) ** 2)
    assert loo.value(lam).value == pytest.approx(weights @ losses, rel=1e-9)
    np.testing.assert_allclose(loo.predictions(lam), predicted, rtol=1e-8)


@pytest.mark.parametrize("fmt", ["dense", "sparse"])
@pytest.mark.parametrize("gcv", [False, True])
@pytest.mark.parametrize("penalties", PENALTIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_gradient_is_that_of_the_value(shape, penalties, gcv, fmt):
    A, y, weights = data(*shape)
    A = sparse.csr_array(A) if fmt == "sparse" else A
    loo = criterion(A, y, weights, penalties, scale=0.5, gcv=gcv)
    rng = np.random.default_rng(1)
    lam = rng.uniform(-1, 2, size=loo.lam0.size)
    found = loo.evaluate(lam)
    assert found.value == loo.value(lam).value
    step = 1e-5
    for j in range(lam.size):
        e = step * (np.arange(lam.size) == j)
        slope = (loo.value(lam + e).value - loo.value(lam - e).value) / (2 * step)
        assert found.grad[j] == pytest.approx(slope, rel=1e-5, abs=1e-6 * abs(found.value))
    assert found.error < 1e-8 * abs(found.value)


@pytest.mark.parametrize("shape", [(30, 4, 1), (8, 12, 1), (30, 4, 2)])
def test_another_loss_and_an_unpenalised_feature(shape):
    A, y, weights = data(*shape)
    penalties = np.arange(shape[1]) // 2 - 1
    if shape[1] > shape[0]:
        penalties = penalties + 1
    loo = criterion(A, y, weights, penalties, outer=Huber(0.5))
    lam = np.linspace(-1, 1, loo.lam0.size)
    grad, step = loo.evaluate(lam).grad, 1e-6
    for j in range(lam.size):
        e = step * (np.arange(lam.size) == j)
        slope = (loo.value(lam + e).value - loo.value(lam - e).value) / (2 * step)
        assert grad[j] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_gcv_is_the_textbook_formula():
    A, y, _ = data(30, 4, 1)
    A, y = A - A.mean(axis=0), y - y.mean()
    alpha = 1.3
    H = A @ np.linalg.solve(A.T @ A + alpha * np.eye(4), A.T)
    expected = np.sum((y - H @ y) ** 2) / (1 - np.trace(H) / 30) ** 2
    loo = criterion(A, y, np.ones(30), "shared", intercept=False, gcv=True)
    assert loo.value(np.log([alpha])).value == pytest.approx(expected)


def test_the_search_finds_what_a_fine_grid_of_scikit_learn_finds():
    A, y, _ = data(40, 5, 1)
    result = hoag.minimize(criterion(A, y, np.ones(40), "shared"), search=hoag.optimize.Auto(1e-6))
    grid = np.exp(np.linspace(result.lam[0] - 1, result.lam[0] + 1, 41))
    theirs = RidgeCV(alphas=grid).fit(A, y)
    assert result.converged
    assert result.value / 40 == pytest.approx(-theirs.best_score_, rel=1e-5)
    assert np.log(theirs.alpha_) == pytest.approx(result.lam[0], abs=0.06)


def test_rows_without_weight_are_refused():
    A, y, weights = data(30, 4, 1)
    weights[0] = 0
    with pytest.raises(InvalidInputError, match="positive weights"):
        criterion(A, y, weights, "shared")


def test_no_more_is_left_to_gain_than_was_asked_for():
    """f is flat here over many λ, and bends more elsewhere."""
    left = []
    for seed in range(20):
        X, y = make_regression(300, 20, n_informative=10, noise=100.0, random_state=seed)
        found, best = (hoag.RidgeCV(tol=tol).fit(X, y).criterion_ for tol in (1e-4, 1e-9))
        left.append(found / best - 1)
    assert max(left) <= 1.5e-4


@pytest.mark.parametrize("lam", [-25.0, -14.0, 0.0])
def test_more_columns_than_rows_with_hardly_a_penalty(lam):
    """1 − h is tiny there, and an intercept's share of h must not hide it."""
    rng = np.random.default_rng(0)
    A, weights = 30 * rng.normal(size=(20, 45)), rng.uniform(0.5, 2.0, 20)
    y = A @ rng.normal(size=45) + rng.normal(size=20)
    criterion = LeaveOneOut(ArrayRows(A), y, weights, Penalty(np.zeros(45, dtype=int)))
    true = 0.0
    for i, rest in enumerate(~np.eye(20, dtype=bool)):
        mean = np.average(A[rest], axis=0, weights=weights[rest])
        level = np.average(y[rest], weights=weights[rest])
        root = np.sqrt(weights[rest])
        U, d, Vt = np.linalg.svd(root[:, None] * (A[rest] - mean), full_matrices=False)
        kept = d > 1e-9 * d[0]  # centred rows have one dimension less
        shrunk = np.where(kept, d / (d**2 + np.exp(lam)), 0.0)
        x = Vt.T @ (shrunk * (U.T @ (root * (y[rest] - level))))
        true += weights[i] * (y[i] - level - (A[i] - mean) @ x) ** 2
    assert criterion.value(np.array([lam])).value == pytest.approx(true, rel=1e-4)


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("gcv", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("outer", [None, Huber(1.0)])
def test_it_bends_as_differences_say_and_is_known_along_every_axis(targets, gcv, intercept, outer):
    if outer is not None and targets > 1:
        pytest.skip("Huber's loss is for one target")
    rng = np.random.default_rng(targets)
    A = rng.standard_normal((40, 6))
    Y = A @ rng.standard_normal((6, targets)) + rng.standard_normal((40, targets))
    groups = np.repeat(np.array([0, 0, 1, 1, 2, -1])[:, None], targets, axis=1).ravel()
    loo = LeaveOneOut(
        ArrayRows(A),
        Y if targets > 1 else Y[:, 0],
        rng.uniform(0.5, 2, 40),
        Penalty(groups, 1e-3, shift=0.7),
        intercept=intercept,
        gcv=gcv,
        outer=outer,
    )
    assert loo.traits.has_hessian
    lam = rng.standard_normal(3)
    found = loo.evaluate(lam, Ask(hessian=True))
    steps = 1e-5 * np.eye(3)
    bent = [(loo.evaluate(lam + d).grad - loo.evaluate(lam - d).grad) / 2e-5 for d in steps]
    np.testing.assert_allclose(found.hessian, bent, atol=1e-6 * np.abs(bent).max())
    moves = np.array([-3.0, 0.0, 4.0])
    values, _ = loo.profile(found, lam[:, None] + moves)
    true = [[loo.evaluate(lam + t * d).value for t in moves] for d in np.eye(3)]
    np.testing.assert_allclose(values, true, rtol=1e-9)
