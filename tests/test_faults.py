"""What people's own problems do wrong: kinks, failing members and solvers, complex numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import hoag
from hoag import inner
from hoag.problems import adopt

# ---- h that is not differentiable


def lasso(softened: float = 0.0, calls: list[int] | None = None):
    """½‖Ax − b‖² + exp(λ)Σ√(x² + δ²), which is |x| for δ = 0."""
    rng = np.random.default_rng(0)
    A, V = rng.normal(size=(2, 40, 20))
    b, c = A[:, 0] + rng.normal(size=40), V[:, 0] + rng.normal(size=40)

    def at(x, lam):
        if calls is not None:
            calls[0] += 1
        e, r = np.exp(lam[0]), np.sqrt(x**2 + softened**2)
        slope = x / np.where(r > 0, r, 1.0)
        bend = softened**2 / np.where(r > 0, r, 1.0) ** 3
        return SimpleNamespace(
            h=0.5 * float(np.sum((A @ x - b) ** 2)) + e * float(r.sum()),
            h_x=A.T @ (A @ x - b) + e * slope,
            hessian=A.T @ A + np.diag(e * bend),
            cross=(e * slope)[:, None],
            g=float(np.sum((V @ x - c) ** 2)),
            g_x=2 * V.T @ (V @ x - c),
            g_lam=np.zeros(1),
            strong_convexity=None,
        )

    return SimpleNamespace(x0=np.zeros(20), lam0=np.zeros(1), at=at)


def test_an_absolute_value_in_h_is_named():
    calls = [0]
    with pytest.raises(hoag.InnerProblemError, match=r"not differentiable .* jumps at x\[\d+\] = "):
        hoag.minimize(lasso(calls=calls))
    assert calls[0] < 500


@pytest.mark.parametrize("solver", [inner.Newton, inner.LBFGS, inner.GradientDescent])
@pytest.mark.parametrize("lam", [-1.0, 1.0, 4.0])
def test_every_solver_that_stalls_at_a_kink_says_so(solver, lam):
    problem = adopt(lasso())
    with pytest.raises(hoag.InnerProblemError, match="smooth h, for instance"):
        solver().solve(problem, np.array([lam]), problem.x0, 1e-6)


def test_an_own_solver_that_ends_at_a_kink_is_told():
    problem = adopt(lasso())

    def solver(lam, x0):  # proximal steps, to the minimum
        x, t = x0, 1e-3
        for _ in range(3000):
            z = x - t * (problem.at(x, lam).h_x - np.exp(lam[0]) * np.sign(x))
            x = np.sign(z) * np.maximum(np.abs(z) - t * np.exp(lam[0]), 0.0)
        return x

    with pytest.raises(hoag.InnerProblemError, match="not differentiable"):
        inner.Own(solver).solve(problem, np.array([2.0]), problem.x0, 1e-6)


@pytest.mark.parametrize("softened", [1e-1, 1e-3])
def test_a_smoothed_absolute_value_is_minimised(softened):
    result = hoag.minimize(lasso(softened))
    assert result.converged
    assert result.evaluation.f_error < 1e-3 * result.value


def test_rounding_is_no_kink():
    """∇₁h known to 1e-6 of its parts: a solver stalls there, and says no more than that."""
    problem = lasso(0.1)

    def at(x, lam):
        point = problem.at(x, lam)
        point.h_x = point.h_x + 1e-6 * np.sin(1e12 * x)
        return point

    blurred = adopt(SimpleNamespace(x0=problem.x0, lam0=problem.lam0, at=at))
    for solver in (inner.Newton(), inner.LBFGS(), inner.GradientDescent()):
        assert not solver.solve(blurred, np.zeros(1), problem.x0, 1e-12).converged


def test_no_value_of_a_sum_of_squares_is_negative():
    """g − q·∇₁h is no estimate of f where x is far from a minimum at which h has no gradient."""
    problem = lasso()
    criterion = hoag.Implicit(problem, inner=Lazy(), linear=hoag.linear.CG())
    for lam in (0.0, 2.0, 4.0):
        found = criterion.evaluate(np.array([lam]), 1e-6)
        assert not found.converged
        assert found.value >= 0
        assert found.f_error >= abs(found.value - found.g)


class Lazy:
    """A solver that does one step, whatever is asked of it."""

    def solve(self, problem, lam, x0, tol):
        x = x0 - 1e-3 * problem.at(x0, lam).h_x
        point = problem.at(x, lam)
        return hoag.values.Solve(x, float(np.linalg.norm(point.h_x)), 1, "max_iter", point)
