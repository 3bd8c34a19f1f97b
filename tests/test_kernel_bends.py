"""∇²f in the widths and the ridge of a kernel, held against differences, and the search by it."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from quick import quick
from threadpoolctl import threadpool_info, threadpool_limits

import hoag
from hoag import models
from hoag._glm.kernel import FeatureWidths, SharedWidth
from hoag._glm.losses import Huber, Squared
from hoag.criteria import Ask
from hoag.problems import Charger, Ledger

RNG = np.random.default_rng(0)
A = RNG.normal(size=(60, 3))
Y = np.sin(2 * A[:, 0]) + 0.5 * A[:, 1] ** 2 + 0.1 * RNG.normal(size=60)


def folds(widths, outer=None, rows=A):
    parts = np.array_split(np.arange(60), 3)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
    problems = []
    for k, test in enumerate(parts):
        train = np.concatenate([part for j, part in enumerate(parts) if j != k])
        problem = models.kernel_ridge(
            *(rows[train], Y[train], rows[test], Y[test]),
            widths=widths,
            sample_weight=weights[train],
        )
        problem.outer = outer or problem.outer
        problems.append(problem)
    return problems


@pytest.mark.parametrize("kind", [FeatureWidths, SharedWidth])
def test_the_second_derivatives_of_a_kernel_are_those_of_its_first(kind):
    left, right = A[:7], A[10:15]
    widths, q, x = kind(left, right), RNG.normal(size=7), RNG.normal(size=5)
    lam, h = np.linspace(-1, 0.5, widths.size), 1e-5

    def kernel(lam):
        gamma = np.exp(lam)
        return widths.at(gamma, np.exp(widths.exponent(gamma)), Charger(Ledger(), "passes"))

    def slopes(lam):
        K = kernel(lam)
        return q @ K.slopes(K.applied(x))

    K = kernel(lam)
    found = K.second((q, K.transposed.applied(q)), (x, K.applied(x)))
    steps = h * np.eye(widths.size)
    expected = [(slopes(lam + step) - slopes(lam - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("widths", ["shared", "per-feature"])
@pytest.mark.parametrize("outer", [Squared(1.0), Huber(0.3)])
def test_the_hessian_is_the_derivative_of_the_gradient(widths, outer):
    criterion = hoag.plan(folds(widths, outer))
    assert criterion.traits.has_hessian
    lam, h = np.linspace(-1.5, -0.5, criterion.lam0.size), 1e-5
    found = criterion.evaluate(lam, Ask(hessian=True)).hessian
    steps = h * np.eye(lam.size)
    ends = [[criterion.evaluate(lam + t * step).grad for t in (1, -1)] for step in steps]
    expected = np.array([(up - down) / (2 * h) for up, down in ends])
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(found).max())
    np.testing.assert_array_equal(found, found.T)


def test_widths_that_are_one_bend_as_their_sum():
    one, many = (hoag.plan(folds(widths)) for widths in ("shared", "per-feature"))
    lam = np.array([-1.0, -1.0, -1.0, 0.5])
    together = np.array([[1, 1, 1, 0], [0, 0, 0, 1]])
    whole = many.evaluate(lam, Ask(hessian=True)).hessian
    shared = one.evaluate(lam[2:], Ask(hessian=True)).hessian
    np.testing.assert_allclose(together @ whole @ together.T, shared, rtol=1e-8)


def test_pairs_of_very_many_widths_are_not_worth_their_products():
    wide = np.hstack([A, RNG.normal(size=(60, 4))])
    assert not hoag.plan(folds("per-feature", rows=wide)).traits.has_hessian


@pytest.mark.parametrize("widths", ["shared", "per-feature"])
def test_newton_steps_end_as_low_as_quasi_newton_steps_and_sooner(widths):
    problems = folds(widths)
    box = hoag.Box(-9.0, 4.0, size=problems[0].lam0.size)
    factor = hoag.solvers.Cholesky()
    plain = hoag.criteria.Sum(
        [
            hoag.criteria.Implicit(p, hoag.solvers.LinearSystem(factor), factor, certificate=False)
            for p in problems
        ]
    )
    found, other = (
        hoag.optimize.Auto().minimize(criterion, box, problems[0].lam0)
        for criterion in (hoag.plan(problems), plain)
    )
    assert found.converged
    assert found.value <= (1 + 1e-4) * other.value
    assert len(found.trace) < len(other.trace)
    assert found.evaluation.error < 1e-6 * found.value
    assert "axis" not in str(found.status)  # nobody looked along them


@pytest.mark.filterwarnings("ignore:lam_.* bound:UserWarning")
@pytest.mark.parametrize("features", quick([3, 12], [3]))
def test_the_loss_stays_within_the_tolerance_of_an_interval(features):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, features))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=200)
    model = hoag.KernelRidgeCV(widths="per-feature", cv=3).fit(X, y)
    for j, ends in enumerate(model.lam_interval_):
        for end in ends:
            lam = np.where(np.arange(features + 1) == j, end, model.lam_)
            assert model.criterion_at(lam, X, y) < (1 + 3 * model.tol) * model.criterion_


def test_small_factors_are_made_by_one_thread():
    """Two of them wait for each other: 35 s for 1.4 on 442 rows."""
    seen = []

    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    def look(step):
        seen.extend(threads())

    with threadpool_limits(2, "blas"):
        before = threads()
        hoag.KernelRidgeCV(cv=3, callback=look).fit(A, Y)
        assert threads() == before
    assert set(seen) == {1}


def test_the_kernel_of_another_width_is_let_go_at_once():
    """Matrices of n × n numbers do not wait for the garbage collector."""
    problem, lam = folds("shared")[0], np.zeros(2)
    for t in (0.0, 1.0):
        point = problem.at(problem.x0, lam + t)
        assert np.isfinite(point.h + point.g)
        last = weakref.ref(point.kernels)
        del point
    problem.at(problem.x0, lam - 1.0).kernels  # noqa: B018
    assert last() is None
