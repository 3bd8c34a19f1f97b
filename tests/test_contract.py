"""What every problem promises, over the whole registry."""

import pickle

import numpy as np
import pytest
import registry
from scipy import sparse

import hoag


@pytest.fixture(params=registry.ALL, ids=registry.NAMES)
def problem(request):
    return registry.make(**request.param)


def dense(operator):
    return operator @ np.eye(operator.shape[1])


def test_derivatives_agree_with_finite_differences(problem):
    for seed in range(2):
        x, lam = registry.random_point(problem, seed)
        found = hoag.testing.check_problem(problem, x, lam, seed=seed, directions=2)
        assert max(found.values()) < 1e-6


def test_hessian_is_symmetric_and_as_convex_as_promised(problem):
    x, lam = registry.random_point(problem, 3)
    point = problem.at(x, lam)
    H = dense(point.hessian)
    np.testing.assert_allclose(H, H.T, rtol=0, atol=1e-12 * np.abs(H).max())
    smallest = np.linalg.eigvalsh(H)[0]
    if point.strong_convexity is not None:
        assert smallest >= point.strong_convexity * (1 - 1e-10)
    elif problem.penalty.unpenalised.size == 0:
        pytest.fail("every coefficient is penalised, so the strong convexity is known")
    np.testing.assert_allclose(point.hessian.diagonal(), np.diag(H), rtol=1e-10)


def test_cross_products_are_adjoint(problem):
    x, lam = registry.random_point(problem, 4)
    cross = problem.at(x, lam).cross
    D = dense(cross)
    Dt = np.stack([cross.rmatvec(e) for e in np.eye(x.size)], axis=1)
    np.testing.assert_allclose(D, Dt.T, rtol=1e-12, atol=1e-14)


def test_factor_agrees_with_products(problem):
    x, lam = registry.random_point(problem, 5)
    point = problem.at(x, lam)
    b = dense(point.hessian) @ np.random.default_rng(0).normal(size=x.size)
    if np.linalg.eigvalsh(dense(point.hessian))[0] < 1e-10:
        # Coefficients of a multinomial model that nothing penalises are determined only up to a
        # common shift: the factor does not exist, and conjugate gradients still solves.
        found = hoag.solvers.CG().solve(point.hessian, b, None, 1e-9)
    else:
        found = hoag.solvers.Cholesky().solve(point.hessian, b, None, 1e-9)
    assert found.converged
    np.testing.assert_allclose(dense(point.hessian) @ found.x, b, atol=1e-8)


def test_inputs_stay_as_they_were(problem):
    x, lam = registry.random_point(problem, 6)
    x_before, lam_before = x.copy(), lam.copy()
    x.setflags(write=False)
    lam.setflags(write=False)
    point = problem.at(x, lam)
    for name in ("h", "h_x", "g", "g_x", "g_lam"):
        getattr(point, name)
    q = point.hessian @ x
    point.cross.rmatvec(q)
    np.testing.assert_array_equal(x, x_before)
    np.testing.assert_array_equal(lam, lam_before)


def test_pickled_problem_gives_the_same(problem):
    x, lam = registry.random_point(problem, 7)
    copy = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(copy.at(x, lam).h_x, problem.at(x, lam).h_x)
    np.testing.assert_array_equal(copy.at(x, lam).g_x, problem.at(x, lam).g_x)


@pytest.mark.parametrize("fmt", registry.FORMATS)
def test_data_are_not_changed(fmt):
    rng = np.random.default_rng(0)
    A = registry.FORMATS[fmt](registry.rows(rng, 20, 3))
    y = registry.targets("logistic", A, rng)
    entries, labels = A.data.copy() if sparse.issparse(A) else A.copy(), y.copy()
    problem = hoag.models.logistic(A, y, A, y, intercept=True)
    hoag.minimize(problem, search=hoag.optimize.Hoag(max_iter=3))
    np.testing.assert_array_equal(A.data if sparse.issparse(A) else A, entries)
    np.testing.assert_array_equal(y, labels)
