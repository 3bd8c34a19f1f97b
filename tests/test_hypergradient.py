"""The gradient of f: closed forms, finite differences, Theorem 1, folds."""

from types import SimpleNamespace

import numpy as np
import pytest
import registry
from scipy.sparse.linalg import LinearOperator

import hoag
from hoag import models
from hoag._criteria.certificate import certify, hypergradient
from hoag._linear import Cholesky

EPS = 10.0 ** -np.arange(1, 9)


def exact(problem, lam, eps=1e-12):
    return hoag.criteria.Implicit(problem, certificate=False).evaluate(lam, eps)


def test_ridge_gradient_in_closed_form():
    rng = np.random.default_rng(0)
    A, A_test = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    y, y_test = rng.normal(size=30), rng.normal(size=20)
    problem = models.ridge(A, y, A_test, y_test, penalties="per-feature")
    lam = rng.normal(size=4)
    H = A.T @ A + np.diag(np.exp(lam))
    x = np.linalg.solve(H, A.T @ y)
    q = np.linalg.solve(H, -2 * A_test.T @ (y_test - A_test @ x))
    found = exact(problem, lam)
    assert found.value == pytest.approx(np.sum((y_test - A_test @ x) ** 2), rel=1e-12)
    np.testing.assert_allclose(found.grad, -np.exp(lam) * x * q, rtol=1e-9)


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("setting", registry.ALL[::3], ids=registry.NAMES[::3])
def test_gradient_agrees_with_finite_differences_of_f(setting, corrected):
    problem = registry.make(**setting)
    _, lam = registry.random_point(problem, 2)
    rng = np.random.default_rng(0)
    w = rng.normal(size=lam.size)
    w /= np.linalg.norm(w)
    slope = hoag.criteria.Implicit(problem, corrected=corrected).evaluate(lam, 1e-10).grad @ w
    t = 1e-4
    difference = (exact(problem, lam + t * w).value - exact(problem, lam - t * w).value) / (2 * t)
    assert slope == pytest.approx(difference, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("make", [models.logistic, models.ridge, models.kernel_ridge])
def test_sum_over_folds_is_the_gradient_of_the_cross_validated_loss(make):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(40, 3))
    y = A @ rng.normal(size=3) + rng.normal(size=40)
    y = (y > 0).astype(int) if make is models.logistic else y
    problems = models.folds(make, A, y, cv=4)
    for problem in problems:
        hoag.criteria.Implicit(problem).evaluate(problem.lam0, 1.0)  # row norms are computed once
    criterion = hoag.criteria.Sum([hoag.criteria.Implicit(problem) for problem in problems])
    lam = criterion.lam0 + 0.2
    found = criterion.evaluate(lam, 1e-11)
    for w in np.eye(lam.size):
        t = 1e-4
        above, below = (
            sum(exact(problem, lam + s * t * w).value for problem in problems) for s in (1, -1)
        )
        assert found.grad @ w == pytest.approx((above - below) / (2 * t), rel=1e-6, abs=1e-7)
    parts = [hoag.criteria.Implicit(problem).evaluate(lam, 1e-11) for problem in problems]
    assert found.bound == pytest.approx(sum(part.bound for part in parts))
    assert found.error == pytest.approx(
        np.linalg.norm(np.sum([part.correction for part in parts], axis=0)), abs=1e-12
    )
    assert found.cost.passes == pytest.approx(sum(part.cost.passes for part in parts))


def perturbed(problem, lam, X, H, eps, rng):
    """x with ‖∇₁h(x)‖ = ε and q with ‖H(x)q − ∇₁g(x)‖ = ε, in random directions."""
    x = X + np.linalg.solve(H, _unit(rng, X.size)) * eps
    for _ in range(30):  # scale the step until the residual is ε exactly
        size = np.linalg.norm(problem.at(x, lam).h_x)
        x = X + (x - X) * (eps / size)
    point = problem.at(x, lam)
    H_x = point.hessian @ np.eye(x.size)
    q = np.linalg.solve(H_x, point.g_x + eps * _unit(rng, x.size))
    return x, point, q


def _unit(rng, size):
    v = rng.normal(size=size)
    return v / np.linalg.norm(v)


class ToResidual:
    """A linear solver whose answer has the residual it was asked for, exactly."""

    def __init__(self, rng):
        self.rng = rng

    def solve(self, A, b, q0, tol):
        r = tol * _unit(self.rng, b.size)
        q = np.linalg.solve(A @ np.eye(b.size), b + r)
        return hoag.solvers.Solve(q, tol, 1, "tolerance", r=r)


def slope(eps, errors):
    return np.polyfit(np.log(eps), np.log(errors), 1)[0]


@pytest.mark.parametrize("setting", registry.ONE_EACH, ids=registry.ONE_EACH_NAMES)
def test_theorem_1_the_error_is_of_order_epsilon(setting):
    """log‖p − ∇f‖ against log ε: slope 1, and 2 for p⁺ with its solves at residual ε."""
    problem = registry.make(**setting, n=40)
    lam = problem.lam0 + 0.3
    best = exact(problem, lam)
    for _ in range(3):  # to rounding
        best = hoag.criteria.Implicit(problem, linear=Cholesky(), certificate=False).evaluate(
            lam, 1e-14, best.warm
        )
    X, truth = best.x, best.grad
    H = problem.at(X, lam).hessian @ np.eye(X.size)
    rng = np.random.default_rng(0)
    plain, refined = [], []
    for eps in EPS:
        errors, refined_errors = [], []
        for _ in range(20):
            x, point, q = perturbed(problem, lam, X, H, eps, rng)
            assert np.linalg.norm(point.h_x) == pytest.approx(eps, rel=1e-3, abs=1e-13)
            errors.append(np.linalg.norm(hypergradient(point, q) - truth))
            proof = certify(problem, lam, x, point, q, ToResidual(rng), tol=eps)
            refined_errors.append(np.linalg.norm(proof.refined - truth))
        plain.append(np.median(errors))
        refined.append(np.median(refined_errors))
    assert slope(EPS, plain) == pytest.approx(1, abs=0.1)
    assert slope(EPS[:4], refined[:4]) == pytest.approx(2, abs=0.2)
    if setting["model"] in (
        "ridge",
        "kernel-ridge",
        "kernel-widths",
    ):  # quadratic: exact solves leave rounding only
        x, point, q = perturbed(problem, lam, X, H, 0.1, rng)
        proof = certify(problem, lam, x, point, q, Cholesky())
        np.testing.assert_allclose(proof.refined, truth, rtol=1e-9)


def test_the_corrected_value_is_second_order():
    problem = registry.make("logistic", n=40)
    lam = np.array([0.3])
    best = exact(problem, lam)
    H = problem.at(best.x, lam).hessian @ np.eye(best.x.size)
    rng = np.random.default_rng(0)
    gaps = []
    for eps in EPS[:4]:
        x, point, q = perturbed(problem, lam, best.x, H, eps, rng)
        q = np.linalg.solve(point.hessian @ np.eye(x.size), point.g_x)
        gaps.append(abs(point.g - q @ point.h_x - best.value))
    assert slope(EPS[:4], gaps) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("seed", range(4))
def test_a_settled_value_is_true_where_nothing_is_known_of_the_weakest_direction(seed):
    """No μ, no factor: weak penalties hide in the residual of a step that is solved roughly."""
    rng = np.random.default_rng(seed)
    n, p = 40, 120
    A, B = (rng.normal(size=(m, p)) * np.logspace(0, -3, p) for m in (n, n))
    truth, alpha = rng.normal(size=p), np.exp(-5.0)
    y, z = A @ truth, B @ truth

    class Unknown:
        x0, lam0 = np.zeros(p), np.array([-5.0])

        def at(self, x, lam):
            return SimpleNamespace(
                h=0.5 * np.sum((A @ x - y) ** 2) + 0.5 * alpha * x @ x,
                h_x=A.T @ (A @ x - y) + alpha * x,
                hessian=LinearOperator((p, p), matvec=lambda v: A.T @ (A @ v) + alpha * v),
                cross=(alpha * x)[:, None],
                g=np.sum((B @ x - z) ** 2),
                g_x=2 * B.T @ (B @ x - z),
                g_lam=np.zeros(1),
                strong_convexity=None,
            )

    exact = np.linalg.solve(A.T @ A + alpha * np.eye(p), A.T @ y)
    f = np.sum((B @ exact - z) ** 2)
    criterion = hoag.criteria.Implicit(Unknown(), certificate=False)
    for eps in (1.0, 1e-2):
        known = criterion.verify(criterion.evaluate(Unknown.lam0, eps), 1e-3 * f)
        assert abs(known.value - f) <= 5 * known.f_error + 1e-9 * f
