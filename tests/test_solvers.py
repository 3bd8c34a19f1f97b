"""Inner and linear solvers: they reach their tolerance, or say why not."""

from types import SimpleNamespace

import numpy as np
import pytest
import registry
from scipy.sparse.linalg import aslinearoperator

import hoag
from hoag import solvers
from hoag._inner import line_search
from hoag.errors import SingularProblemError

TOLERANCES = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10]


def matrix(rng, p, condition):
    Q, _ = np.linalg.qr(rng.normal(size=(p, p)))
    return (Q * np.geomspace(1, condition, p)) @ Q.T


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize(
    "solver",
    [solvers.CG(), solvers.CG(preconditioner=solvers.jacobi), solvers.Cholesky()],
    ids=["cg", "jacobi", "cholesky"],
)
def test_linear_solvers_reach_their_tolerance(solver, tol):
    rng = np.random.default_rng(0)
    H = registry.make("logistic", penalties="per-feature", n=60, d=8)
    point = H.at(*registry.random_point(H, 0))
    b = rng.normal(size=8)
    found = solver.solve(point.hessian, b, rng.normal(size=8), tol)
    assert found.converged
    residual = point.hessian @ found.x - b
    assert np.linalg.norm(residual) <= tol * (1 + 1e-6) + 1e-13
    np.testing.assert_allclose(found.r, residual, atol=1e-12)


def test_warm_start_at_the_solution_costs_one_product():
    rng = np.random.default_rng(1)
    A = matrix(rng, 20, 1e4)
    b = rng.normal(size=20)
    q = np.linalg.solve(A, b)
    for scale in (1.0, 3.0):  # the best multiple of the start is taken
        assert solvers.CG().solve(A, b, scale * q, 1e-6).iterations == 0


def test_jacobi_pays_where_columns_differ_in_scale():
    rng = np.random.default_rng(2)
    scales = np.geomspace(1e-3, 1e3, 30)
    A = matrix(rng, 30, 10) * np.outer(scales, scales)
    b = rng.normal(size=30)

    class WithDiagonal:
        shape, dtype = A.shape, A.dtype

        def __matmul__(self, v):
            return A @ v

        def diagonal(self):
            return np.diag(A)

    plain = solvers.CG(max_iter=10000).solve(A, b, None, 1e-6)
    better = solvers.CG(preconditioner=solvers.jacobi).solve(WithDiagonal(), b, None, 1e-6)
    assert better.converged
    assert better.iterations < plain.iterations / 2


def test_a_tolerance_below_rounding_ends_with_precision():
    rng = np.random.default_rng(3)
    A, b = matrix(rng, 10, 100), rng.normal(size=10)
    for solver in (solvers.CG(), solvers.Cholesky()):
        found = solver.solve(A, b, None, 1e-30)
        assert found.reason == "precision"
        assert found.converged


def test_indefinite_is_said_and_max_iter_too():
    A = np.diag([1.0, -1.0, 2.0])
    for solver in (solvers.CG(), solvers.Cholesky()):
        assert solver.solve(A, np.array([0.1, 1.0, 0.1]), None, 1e-8).reason == "indefinite"
    rng = np.random.default_rng(4)
    found = solvers.CG(max_iter=3).solve(matrix(rng, 30, 1e6), rng.normal(size=30), None, 1e-8)
    assert found.reason == "max_iter"
    assert not found.converged


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("setting", registry.ONE_EACH, ids=registry.ONE_EACH_NAMES)
@pytest.mark.parametrize(
    "solver",
    [
        solvers.Newton(),
        solvers.Newton(solvers.Cholesky()),
        solvers.LBFGS(10000),
        solvers.GradientDescent(),
    ],
    ids=["newton", "newton-cholesky", "lbfgs", "gradient-descent"],
)
def test_inner_solvers_reach_their_tolerance(setting, solver, tol):
    if tol < 1e-6 and isinstance(solver, (solvers.LBFGS, solvers.GradientDescent)):
        pytest.skip("its line search compares values; tight tolerances need Newton")
    problem = registry.make(**setting)
    _, lam = registry.random_point(problem, 1)
    found = solver.solve(problem, lam, problem.x0, tol)
    assert found.converged
    assert np.linalg.norm(problem.at(found.x, lam).h_x) <= tol
    assert found.point.h_x is problem.at(found.x, lam).h_x or np.array_equal(
        found.point.h_x, problem.at(found.x, lam).h_x
    )


@pytest.mark.parametrize("tol", TOLERANCES)
@pytest.mark.parametrize("model", ["ridge", "ridge-2", "kernel-ridge"])
def test_cg_solves_quadratic_problems(model, tol):
    problem = registry.make(model)
    _, lam = registry.random_point(problem, 1)
    found = solvers.LinearSystem().solve(problem, lam, problem.x0 + 1.0, tol)
    assert found.reason == "tolerance"
    assert np.linalg.norm(problem.at(found.x, lam).h_x) <= tol


@pytest.mark.parametrize("setting", registry.ONE_EACH, ids=registry.ONE_EACH_NAMES)
def test_newton_below_rounding_ends_with_precision(setting):
    problem = registry.make(**setting)
    found = solvers.Newton().solve(problem, problem.lam0 - 2, problem.x0, 1e-30)
    assert found.reason == "precision"
    assert found.residual < 1e-10


def test_solvers_say_when_they_stop_early():
    problem = registry.make("logistic", n=100, d=10)
    lam = np.array([-6.0])
    assert solvers.LBFGS(3).solve(problem, lam, problem.x0, 1e-6).reason == "max_iter"
    assert solvers.Newton(max_iter=1).solve(problem, lam, problem.x0, 1e-9).reason == "max_iter"
    assert (
        solvers.GradientDescent(max_iter=3).solve(problem, lam, problem.x0, 1e-9).reason
        == "max_iter"
    )
    stalled = solvers.LBFGS(10000).solve(problem, lam, problem.x0, 1e-14)
    assert stalled.reason == "stalled"
    assert not stalled.converged


class DoubleWell:
    """h = ¼x⁴ − ½x² + ½e^λ(x − 1)²·0.1, concave near 0: Newton must not run to the maximum."""

    x0, lam0 = np.array([0.05]), np.zeros(1)

    def at(self, x, lam):
        a, v = 0.1 * np.exp(lam[0]), x[0]
        return SimpleNamespace(
            h=v**4 / 4 - v**2 / 2 + a / 2 * (v - 1) ** 2,
            h_x=np.array([v**3 - v + a * (v - 1)]),
            hessian=aslinearoperator(np.array([[3 * v**2 - 1 + a]])),
            cross=aslinearoperator(np.array([[a * (v - 1)]])),
            g=(v - 0.5) ** 2,
            g_x=np.array([2 * (v - 0.5)]),
            g_lam=np.zeros(1),
            strong_convexity=None,
        )


@pytest.mark.parametrize("solver", [solvers.Newton(), solvers.Newton(solvers.Cholesky())])
def test_an_indefinite_hessian_on_the_way_is_no_error(solver):
    problem = DoubleWell()
    assert problem.at(problem.x0, problem.lam0).hessian @ np.ones(1) < 0
    found = solver.solve(problem, problem.lam0, problem.x0, 1e-10)
    assert found.converged
    assert found.x[0] == pytest.approx(1.0, abs=1e-6)


def test_an_indefinite_hessian_at_the_solution_is_an_error():
    class Saddle(DoubleWell):
        x0 = np.array([0.0])

        def at(self, x, lam):
            point = super().at(x, lam)
            point.h_x = 0 * point.h_x  # a "solution" at the maximum
            return point

    with pytest.raises(SingularProblemError, match="not positive definite"):
        hoag.minimize(Saddle())


@pytest.mark.parametrize("far", [0.0, 30.0])
def test_cg_on_a_problem_that_is_not_quadratic_claims_no_more_than_it_reached(far):
    """Its steps are Newton's without a line search: from far away they do not arrive."""
    problem, lam = registry.make("logistic", n=60), np.array([-3.0])
    found = solvers.LinearSystem().solve(problem, lam, problem.x0 + far, 1e-10)
    size = np.linalg.norm(problem.at(found.x, lam).h_x)
    assert found.residual == pytest.approx(size)
    assert found.converged == (size <= 1e-10) == (far == 0.0)


def test_cholesky_on_a_hopeless_matrix_does_not_claim_convergence():
    from scipy.linalg import hilbert

    found = solvers.Cholesky().solve(
        hilbert(12), np.random.default_rng(0).normal(size=12), None, 1e-8
    )
    assert not found.converged


def test_an_inner_problem_that_diverges_is_an_error():
    class Unbounded(DoubleWell):
        def at(self, x, lam):
            with np.errstate(over="ignore"):
                e = np.exp(np.abs(x[0]))
            return SimpleNamespace(
                h=-e,
                h_x=np.array([-e * np.sign(x[0])]),
                hessian=np.array([[-e]]),
                cross=np.zeros((1, 1)),
                g=0.0,
                g_x=np.zeros(1),
                g_lam=np.zeros(1),
                strong_convexity=None,
            )

    with pytest.raises(SingularProblemError, match="diverges at lam"):
        hoag.minimize(Unbounded())


def test_one_line_search_for_many_problems_at_once():
    """φ_k(t) = √(1 + (x_k + t d_k)²) with steps that are right, too long, up, and not judged."""
    x = np.array([1.0, 1.0, 1.0, 1.0])
    d = np.array([-1.0, -40.0, 1e-3, 5.0])
    slope = np.array([-1.0, -40.0, -1e-3, np.inf]) / np.sqrt(2)
    seen = []

    def along(t):
        seen.append(t.copy())
        z = x + t * d
        return np.hypot(1, z), lambda: z / np.hypot(1, z) * d

    t = line_search(along, np.hypot(1, x), slope, noise=1e-14)
    np.testing.assert_array_equal(t[[0, 2, 3]], [1, 0, 1])
    assert abs(x[1] + t[1] * d[1]) < 1 <= abs(x[1] + 2 * t[1] * d[1])
    np.testing.assert_array_equal(seen[-1], t)


def test_where_h_is_level_slopes_decide():
    """h = 1e12 + ½x²: no value tells one x from another, and the minimum is found all the same."""
    point = lambda x, lam: SimpleNamespace(  # noqa: E731
        h=1e12 + 0.5 * float(x @ x), h_x=x, hessian=np.eye(x.size), strong_convexity=None
    )
    problem = SimpleNamespace(at=point, softened=lambda: None)
    found = solvers.Newton(solvers.Cholesky()).solve(problem, np.zeros(1), np.full(3, 0.1), 1e-9)
    assert (found.reason, found.iterations) == ("tolerance", 1)
