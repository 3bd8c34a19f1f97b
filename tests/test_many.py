"""The quasi-Newton search for many hyperparameters, on functions whose minimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import hoag
from hoag import models, solvers
from hoag._core.domain import Box
from hoag._core.result import Cost, Evaluation
from hoag._criteria.base import Criterion
from hoag._criteria.folds import Sum
from hoag._criteria.implicit import Implicit
from hoag.optimize import _quasi_newton as quasi_newton
from hoag.optimize._quasi_newton import SecantModel
from hoag.optimize._run import Search


class Known(Criterion):
    """f and ∇f given as functions, with an error in p and in g that ε sets; counts evaluations.

    The error of p is `scale`·ε in a direction of its own, and that of the corrected value its
    square, as for an implicit function; measured=False reports nan in place of the error.
    """

    def __init__(self, fun, size, scale=0.0, measured=True, seed=0, floor=0.0):
        self.fun, self.size, self.scale, self.measured = fun, size, scale, measured
        self.rng, self.floor, self.asked = np.random.default_rng(seed), floor, []

    @property
    def lam0(self):
        return np.zeros(self.size)

    def _evaluate(self, lam, ask, warm):
        value, grad = self.fun(lam)
        error = max(self.scale * min(ask.eps, 1e3), self.floor)
        noise = self.rng.standard_normal(lam.size)
        if ask.gradient:
            self.asked.append((lam.copy(), ask.eps))
        return Evaluation(
            lam=lam.copy(),
            value=value + 1e-3 * error**2 / (1 + error),
            grad=grad + error * noise / np.linalg.norm(noise),
            g=value + error,
            f_error=error,
            error=error if self.measured else np.nan,
            cost=Cost(passes=1.0),
        )


class Descent(Search):
    """The quasi-Newton steps alone, without a survey before them."""

    def __init__(self, tol=1e-8, max_iter=300):
        self.tol, self.max_iter = tol, max_iter

    def steps(self, domain, lam0, traits):
        return (yield from quasi_newton.descend(domain, lam0, self.tol, self.max_iter))


def search(criterion, domain, lam=None, tol=1e-8, max_iter=300, on_step=None):
    start = criterion.lam0 if lam is None else np.asarray(lam, dtype=float)
    return Descent(tol, max_iter).minimize(criterion, domain, start, on_step)


def quadratic(size, seed=0, condition=100.0):
    """½(λ − c)ᵀA(λ − c) + 1 with a full A."""
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((size, size)))
    A = U @ np.diag(np.geomspace(1.0, condition, size)) @ U.T
    c = rng.uniform(-3, 3, size)
    return (lambda lam: (0.5 * (lam - c) @ A @ (lam - c) + 1.0, A @ (lam - c))), c


def test_a_parabola_is_solved_and_the_bounds_that_hold_are_found():
    fun, c = quadratic(12)
    free = search(Known(fun, 12), Box(-10, 10, size=12))
    assert free.converged, free.status
    np.testing.assert_allclose(free.lam, c, atol=2e-3)

    box = Box(-1, 1, size=12)
    found = search(Known(fun, 12), box)
    assert found.converged, found.status
    best = minimize(fun, np.zeros(12), jac=True, bounds=[(-1, 1)] * 12, options={"ftol": 1e-15})
    assert np.sum(np.abs(best.x) == 1) >= 3  # or this would test nothing
    assert found.value <= best.fun * (1 + 1e-7)
    assert all(box.contains(step.lam) for step in found.trace)
    assert "on a bound" in str(found.worded().status)


def test_no_hyperparameter_moves_by_more_than_two_in_a_step():
    fun, _ = quadratic(6)
    found = search(Known(lambda lam: fun(lam - 8), 6), Box(-20, 20, size=6))
    assert found.converged, found.status
    moves = [np.max(np.abs(b.lam - a.lam)) for a, b in zip(found.trace, found.trace[1:])]
    assert max(moves) > 1.5  # it goes as far as it may
    accepted = np.minimum.accumulate([step.evaluation.value for step in found.trace])
    assert accepted[-1] < 1.0 + 1e-6
    for lam in [step.lam for step in found.trace]:
        nearest = min(
            np.max(np.abs(lam - other.lam)) for other in found.trace if other.lam is not lam
        )
        assert nearest <= 2.0 + 1e-12


@pytest.mark.parametrize("measured", [True, False], ids=["measured", "nan"])
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_errors_of_the_gradient_shrink_as_it_does(measured, scale):
    """Whatever the proportion of error to ε, known or not: λ is found, and ε is not wasted."""
    fun, _ = quadratic(8, seed=1)
    criterion = Known(fun, 8, scale, measured)
    found = search(criterion, Box(-6, 6, size=8), tol=1e-7)
    assert found.converged, found.status
    assert fun(found.lam)[0] <= 1.0 + 1e-6
    asked = [eps for _, eps in criterion.asked if np.isfinite(eps)]
    assert scale * asked[0] > scale * asked[-1] * 10  # it began loose and ended tight
    assert scale * min(asked) > 1e-9  # and not tighter than there was need for
    assert len(asked) < 100


def test_epsilon_is_summable_even_if_nothing_converges():
    """On a slope without end ε is bounded by a geometric sequence all the same."""

    def stairs(lam):
        return 1e6 - float(np.sum(lam + 0.3 * np.sin(2 * lam))), -1 - 0.6 * np.cos(2 * lam)

    slope = Known(stairs, 3, scale=1e-9)
    found = search(slope, Box(-1e4, 1e4, size=3), tol=0.0, max_iter=80)
    assert found.status.reason == "max_iter"
    eps = [step.eps for step in found.trace][1:]
    assert eps[-1] <= 0.05 * eps[0]


def rosenbrock(lam):
    a, b = lam[::2], lam[1::2]
    grad = np.empty_like(lam)
    grad[::2] = -400 * a * (b - a**2) - 2 * (1 - a)
    grad[1::2] = 200 * (b - a**2)
    return float(np.sum(100 * (b - a**2) ** 2 + (1 - a) ** 2)) + 1.0, grad


def test_a_curved_valley_is_followed():
    found = search(Known(rosenbrock, 4), Box(-5, 5, size=4), lam=[-1.2, 1.0, -1.2, 1.0], tol=1e-9)
    assert found.converged, found.status
    np.testing.assert_allclose(found.lam, 1.0, atol=1e-3)
    assert len(found.trace) < 150


def test_a_gradient_that_lies_ends_in_a_stall():
    """p is not the gradient of the values: no step helps, and no convergence is claimed."""
    fun, _ = quadratic(4)
    found = search(Known(lambda lam: (fun(lam)[0], -fun(lam)[1]), 4), Box(-5, 5, size=4))
    assert found.status.reason == "stalled"
    assert "no step" in str(found.status)


def test_an_error_that_does_not_shrink_is_no_convergence():
    fun, c = quadratic(4)
    found = search(Known(fun, 4, scale=1.0, floor=1.0), Box(-5, 5, size=4), lam=c)
    assert not found.converged
    assert found.status.reason in ("stalled", "max_iter")


def test_a_zero_gradient_at_a_loose_tolerance_is_no_convergence():
    """At x₀ = 0 a linear model has p = 0, whatever λ: the search must ask for more."""
    fun, c = quadratic(5)

    class Lazy(Known):
        def _evaluate(self, lam, ask, warm):
            found = super()._evaluate(lam, ask, warm)
            if ask.eps > 1e-4:
                found.grad[:] = 0.0
            return found

    found = search(Lazy(fun, 5, measured=False), Box(-5, 5, size=5))
    assert found.converged
    np.testing.assert_allclose(found.lam, c, atol=5e-3)


def test_a_callback_and_max_iter_end_it():
    fun, _ = quadratic(5)
    box = Box(-5, 5, size=5)
    found = search(Known(fun, 5), box, on_step=lambda step: step.k == 4)
    assert (found.status.reason, len(found.trace)) == ("callback", 4)
    found = search(Known(fun, 5), box, max_iter=3)
    assert (found.status.reason, len(found.trace)) == ("max_iter", 3)


def test_curvature_solves_with_its_pairs():
    """B⁻¹ maps the last y to its s, on the free hyperparameters, and gives 0 on the others."""
    rng = np.random.default_rng(0)
    model, A = SecantModel(), np.diag(np.arange(1.0, 7.0))
    model.see(rng.standard_normal(6))
    for _ in range(4):
        s = rng.standard_normal(6)
        model.pairs.append((s, A @ s))
    every, some = np.ones(6, dtype=bool), np.arange(6) < 4
    s, y = model.pairs[-1]
    np.testing.assert_allclose(model.solve(y, every), s)
    s4 = np.where(some, s, 0.0)
    np.testing.assert_allclose(model.solve(A @ s4, some), s4)
    np.testing.assert_array_equal(model.solve(y, some)[4:], 0.0)
    model.pairs.append((s, -y))  # bends down: left out
    np.testing.assert_allclose(model.solve(y, every), s)


@pytest.mark.parametrize("certificate", [True, False])
def test_ridge_per_feature_agrees_with_a_tight_reference(certificate):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 8)) * np.geomspace(0.3, 3, 8)
    y = A @ np.array([1.0, 0.5, 0, 0, 0.2, 0, 0.1, 0]) + rng.standard_normal(120)
    parts = models.folds(models.ridge, A, y, cv=3, penalties="per-feature")
    direct = solvers.Cholesky()

    def criterion(problems, **how):
        return Sum([Implicit(p, solvers.Newton(direct), direct, **how) for p in problems])

    box = Box(-4, 6, size=8)
    how = {"corrected": True, "bound": False} if certificate else {"certificate": False}
    found = search(criterion(parts, **how), box, lam=np.zeros(8), tol=1e-7)
    assert found.converged, found.status

    tight = criterion(parts, certificate=False)

    def exact(lam):
        now = tight.evaluate(lam, 1e-10)
        return now.value, now.grad

    best = minimize(exact, found.lam, jac=True, bounds=[(-4, 6)] * 8, options={"ftol": 1e-14})
    assert found.value == pytest.approx(best.fun, rel=1e-6)
    assert exact(np.zeros(8))[0] > best.fun * 1.005  # there was something to find
    assert len(found.trace) < 60


def test_where_factors_are_dear_it_begins_at_the_best_shared_penalty():
    rng = np.random.default_rng(0)
    A = sparse.random(400, 1500, density=0.01, random_state=0, format="csr")
    groups = np.arange(1500) % 4
    score = A @ (3 * rng.normal(size=1500) * (groups == 0)) + 0.3 * rng.normal(size=400)
    y = (score > 0).astype(int)
    one = hoag.LogisticRegressionCV(cv=3).fit(A, y)
    each = hoag.LogisticRegressionCV(penalties=groups, cv=3).fit(A, y)
    first = each.result_.trace[0]
    assert np.ptp(first.lam) == 0.0
    assert one.criterion_at(first.lam[0], A, y) == pytest.approx(one.criterion_, rel=2e-3)
    assert first.cost.passes > first.evaluation.cost.passes  # the search for it is counted
    assert each.criterion_ <= one.criterion_
    again = hoag.LogisticRegressionCV(
        penalties=groups, cv=3, search=hoag.optimize.Auto(time_budget=0.0)
    )
    with pytest.warns(ConvergenceWarning):
        again.fit(A, y)
    error = again.result_.evaluation.f_error
    assert abs(again.criterion_ - again.criterion_at(again.lam_, A, y)) <= error
    assert error < 0.1 * again.criterion_
