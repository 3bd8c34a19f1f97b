"""Iterative differentiation: exact derivatives of N steps, and the limit of many."""

import numpy as np
import pytest
import registry

import hoag
from hoag._criteria.tape import Tape
from hoag.optimize import Adaptive, Hoag

METHODS = {
    "gradient-descent": hoag.criteria.UnrolledGradientDescent(),
    "heavy-ball": hoag.criteria.UnrolledGradientDescent(momentum=0.6),
    "lbfgs": hoag.criteria.UnrolledLBFGS(memory=4),
    "cg": hoag.criteria.UnrolledCG(),
}
# With frozen pairs the gradient is that of X(λ) in the limit, and not that of x_N.
CONVERGENT = METHODS | {"lbfgs-frozen": hoag.criteria.UnrolledLBFGS(memory=4, frozen=True)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("setting", registry.ONE_EACH, ids=registry.ONE_EACH_NAMES)
def test_gradient_is_that_of_the_iterates(method, setting):
    if method == "cg" and setting["model"] in ("logistic", "multinomial"):
        pytest.skip("conjugate gradients is for quadratic h")
    problem = registry.make(**setting)
    problem.x0 = 0.1 * np.random.default_rng(0).normal(size=problem.x0.size)
    lam = problem.lam0 + 0.3
    criterion = hoag.criteria.Unrolled(problem, METHODS[method], n_iter=4)
    found = criterion.evaluate(lam, 0.0)
    assert found.bound == np.inf
    for j, w in enumerate(np.eye(lam.size)):
        t = 1e-5
        above, below = (criterion.value(lam + s * t * w, 0.0).value for s in (1, -1))
        assert found.grad[j] == pytest.approx((above - below) / (2 * t), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("method", CONVERGENT)
def test_many_iterations_give_the_implicit_gradient(method):
    problem = registry.make("ridge", penalties="groups")
    lam = np.array([0.5, -0.2])
    truth = hoag.criteria.Implicit(problem).evaluate(lam, 1e-12).grad
    found = hoag.criteria.Unrolled(problem, CONVERGENT[method], n_iter=300).evaluate(lam, 0.0)
    np.testing.assert_allclose(found.grad, truth, rtol=1e-6)


def test_the_estimate_sees_how_far_few_iterations_are_from_the_truth():
    problem = registry.make("logistic", n=60)
    lam = np.array([-2.0])
    truth = hoag.criteria.Implicit(problem).evaluate(lam, 1e-12).grad
    for n_iter in (8, 16, 32):
        method = hoag.criteria.UnrolledGradientDescent()
        criterion = hoag.criteria.Unrolled(problem, method, n_iter, linear=hoag.solvers.Cholesky())
        found = criterion.evaluate(lam, 0.0)
        error = np.linalg.norm(found.grad - truth)
        assert error / 2 <= found.error <= 2 * error


def test_more_iterations_than_needed_do_no_harm():
    """Once converged, differences of gradients are rounding: not to be differentiated through."""
    problem = registry.make("logistic", n=60, d=8)
    lam = np.array([0.0])
    truth = hoag.criteria.Implicit(problem).evaluate(lam, 1e-11).grad
    for n_iter in (30, 100, 400):
        found = hoag.criteria.Unrolled(problem, n_iter=n_iter).evaluate(lam, 0.0)
        np.testing.assert_allclose(found.grad, truth, rtol=1e-4)
        assert found.error < 1e-3 * np.linalg.norm(truth)


def test_frozen_pairs_give_the_gradient_where_differentiating_them_does_not():
    """The derivative of the pairs grows from step to step; without it the limit is the true one."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 60, 40)) * np.logspace(0, -2, 40)
    y, z = (np.where(rows[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1) for rows in (A, B))
    problem, lam = hoag.models.logistic(A, y, B, z), np.array([-9.0])
    truth = hoag.criteria.Implicit(problem, certificate=False).evaluate(lam, 1e-10).grad
    off = {
        frozen: np.linalg.norm(
            hoag.criteria.Unrolled(problem, hoag.criteria.UnrolledLBFGS(frozen=frozen), 100)
            .evaluate(lam, 0.0)
            .grad
            - truth
        )
        for frozen in (True, False)
    }
    assert off[True] <= 0.02 * np.linalg.norm(truth)
    assert off[False] > 10 * off[True]


def test_a_search_runs_on_it_and_its_cost_is_counted():
    problem = registry.make("logistic", n=60)
    criterion = hoag.criteria.Unrolled(problem, n_iter=30, certificate=False)
    search = Hoag(lambda k: 0.0, Adaptive(), max_iter=60)
    result = hoag.minimize(criterion, search=search, certificate="none")
    assert result.cost == problem.ledger.cost
    assert result.cost.certificate == 0
    best = hoag.minimize(problem)
    assert result.value <= best.value * (1 + 1e-3)


def test_tape_against_finite_differences():
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 5))

    def function(a, b):
        c = (a @ b) / (b @ b + 1.0)
        return (a * c - b * 2.0 + (3.0 - a) * (c / 2.0)) @ (-a + b)

    tape = Tape()
    a, b = tape.variable(u), tape.variable(v)
    grads = tape.gradients(function(a, b), 1.0, [a, b])
    tape = Tape()
    a, b = tape.variable(u), tape.variable(v)
    checked = tape.gradients(tape.checkpoint(function, a, b), 1.0, [a, b])
    for w in np.eye(5):
        t = 1e-6
        du = (function(u + t * w, v) - function(u - t * w, v)) / (2 * t)
        dv = (function(u, v + t * w) - function(u, v - t * w)) / (2 * t)
        np.testing.assert_allclose([grads[0] @ w, grads[1] @ w], [du, dv], rtol=1e-6)
        np.testing.assert_allclose([checked[0] @ w, checked[1] @ w], [du, dv], rtol=1e-6)
    unused = tape.variable(np.ones(2))
    np.testing.assert_array_equal(tape.gradients(a @ b, 1.0, [unused])[0], np.zeros(2))
