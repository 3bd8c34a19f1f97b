"""Flat regions: scouting on a sample of the rows finds the basin from any start, and is counted."""

import os

import numpy as np
import pytest
from _data import centred_by, standardised_by, thirds
from scipy.optimize import minimize

import hoag
from hoag import datasets, models, solvers
from hoag._core.domain import Box
from hoag._core.result import Cost
from hoag._criteria.folds import Sum
from hoag._criteria.implicit import Implicit
from hoag.optimize._asks import Evaluate
from hoag.optimize._survey import survey

BOX = Box(-12.0, 12.0, size=2)


def rows(n, seed=0, features=4, noise=0.2):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2 * n, features))
    y = np.sin(2 * A[:, 0]) + A[:, 1] + noise * rng.normal(size=2 * n)
    return A[:n], y[:n], A[n:], y[n:]


def whole(problem):
    """Implicit by Cholesky factors."""
    solver = solvers.Cholesky()
    return Implicit(problem, solvers.Newton(solver), solver, certificate=False)


def scout(criterion, box, lam0, rows=None):
    """Where the survey would have a search begin, and what it cost."""
    # few=0: what the sample alone shows; all rows are verified in test_kernel_basins.py
    asking, answer, cost = survey(box, lam0, criterion.traits, rows, few=0), None, Cost()
    while True:
        try:
            looks = asking.send(answer)
        except StopIteration as end:
            return end.value, cost
        if isinstance(looks, list):
            answer = criterion.values([look.lam for look in looks], looks[0].ask)
            cost = sum((found.cost for found in answer), cost)
        elif isinstance(looks, Evaluate):
            answer = criterion.evaluate(looks.lam, looks.ask)
            cost = cost + answer.cost


def descend(criterion, box, lam0):
    def value_and_gradient(lam):
        found = criterion.evaluate(lam, 1e-6)
        return found.value, found.grad

    bounds = list(zip(box.lower, box.upper, strict=True))
    return minimize(value_and_gradient, lam0, jac=True, method="L-BFGS-B", bounds=bounds)


def factorisations(cost, problem):
    return cost.passes * 6 / problem.sample_of


@pytest.mark.parametrize("widths", ["shared", "per-feature"])
def test_a_coarse_problem_is_a_problem(widths):
    coarse = models.kernel_ridge(*rows(120), widths=widths).sample(40)
    assert coarse.sample_of == coarse.x0.size == coarse.y_test.size == 40
    hoag.testing.check_problem(coarse)


def test_a_small_problem_is_its_own_coarse_one():
    problem = models.kernel_ridge(*rows(50))
    assert problem.sample(50) is problem


def test_a_coarse_problem_keeps_the_scale_and_the_meaning_of_its_hyperparameters():
    problem = models.kernel_ridge(*rows(600))
    coarse = problem.sample(300)
    assert coarse.test_weights.sum() == pytest.approx(problem.test_weights.sum())
    lam = np.array([-2.0, -1.0])
    full, sample = (whole(p).value(lam, 1e-6).value for p in (problem, coarse))
    assert sample == pytest.approx(full, rel=0.5)
    nothing = np.array([-2.0, 12.0])  # g of x = 0, whatever the training rows
    full, sample = (whole(p).value(nothing, 1e-6).value for p in (problem, coarse))
    assert sample == pytest.approx(full, rel=0.2)


def test_a_coarse_problem_takes_no_row_without_weight():
    A, y, A_test, y_test = rows(90)
    weight = np.repeat([0.0, 1.0], 45)
    y = np.where(weight == 0, 1e6, y)
    problem = models.kernel_ridge(A, y, A_test, y_test, sample_weight=weight, test_weight=weight)
    coarse = problem.sample(30)
    assert np.all(coarse.weights == 1.0)
    assert np.max(np.abs(coarse.y)) < 1e3
    assert np.array_equal(coarse.y, problem.sample(30).y)


def test_a_fold_that_judges_nothing_has_a_coarse_one():
    A, y, A_test, y_test = rows(90)
    problem = models.kernel_ridge(A, y, A_test, y_test)
    problem.test_weights = np.zeros(90)
    assert whole(problem.sample(30)).value(np.array([-1.0, 0.0]), 1e-6).value == 0.0


def test_coarse_work_is_written_in_units_of_the_whole():
    n, m = 400, 100
    problem = models.kernel_ridge(*rows(n))
    coarse = problem.sample(m)
    assert coarse.ledger is problem.ledger
    kernels = coarse.kernels(np.array([0.1]))
    solve = kernels.inverse(1.0)
    cost = problem.ledger.cost
    assert cost.kernels == pytest.approx((m / n) ** 2)
    assert cost.passes == pytest.approx((m / n) ** 3 * n / 6)
    solve(coarse.b)
    kernels.test.product(coarse.x0)
    spent = problem.ledger.cost - cost
    assert spent == Cost(
        passes=pytest.approx((m / n) ** 2),
        held_out=pytest.approx((m / n) ** 2),
        kernels=pytest.approx((m / n) ** 2),
    )
    again = problem.sample(m).sample(m // 2)
    assert again.share == pytest.approx((m / 2 / n) ** 2)


def test_what_scouting_costs_is_what_the_ledger_says():
    problem = models.kernel_ridge(*rows(900))
    before = problem.ledger.cost
    _, cost = scout(whole(problem), BOX, np.array([9.0, 9.0]))
    assert cost.passes == pytest.approx((problem.ledger.cost - before).passes)
    assert cost.kernels == pytest.approx((problem.ledger.cost - before).kernels)
    assert factorisations(cost, problem) < 2
    assert cost.kernels < 8


def test_scouting_finds_the_basin_from_everywhere():
    problem = models.kernel_ridge(*rows(500))
    criterion = whole(problem)
    best = descend(criterion, BOX, np.array([-2.0, -1.0])).fun
    starts = [scout(criterion, BOX, lam0)[0] for lam0 in BOX.grid(5)]
    for start in np.unique(starts, axis=0):
        assert descend(criterion, BOX, start).fun <= best * (1 + 1e-3)
    stuck = descend(criterion, BOX, np.array([12.0, -6.0])).fun
    assert stuck > 2 * best  # which is what scouting is for


def test_a_good_start_is_kept():
    criterion = whole(models.kernel_ridge(*rows(500)))
    best = descend(criterion, BOX, np.array([-2.0, -1.0])).x
    start, cost = scout(criterion, BOX, best)
    assert np.array_equal(start, best)
    assert cost.passes > 0


def test_widths_of_features_are_scouted_as_one():
    problem = models.kernel_ridge(*rows(400), widths="per-feature")
    box = Box(-12.0, 12.0, size=5)
    start, cost = scout(whole(problem), box, np.full(5, 12.0))
    shared = models.kernel_ridge(*rows(400))
    alone, shared_cost = scout(whole(shared), BOX, np.full(2, 12.0))
    assert start == pytest.approx(alone[[0, 0, 0, 0, 1]])
    assert cost.passes == pytest.approx(shared_cost.passes, rel=0.01)  # up to refinements


def test_bounds_are_kept_and_fixed_hyperparameters_stay():
    criterion = whole(models.kernel_ridge(*rows(300)))
    box = Box([-12.0, 0.7], [-3.1, 0.7])
    start, _ = scout(criterion, box, np.array([-12.0, 0.7]))
    assert box.contains(start)
    fixed = Box([-1.0, 0.7], [-1.0, 0.7])
    start, cost = scout(criterion, fixed, np.array([-1.0, 0.7]))
    assert np.array_equal(start, [-1.0, 0.7])
    assert cost == Cost()


def test_folds_are_scouted_together():
    A, y, _, _ = rows(400)
    folds = Sum([whole(part) for part in models.folds(models.kernel_ridge, A, y, cv=3)])
    start, cost = scout(folds, BOX, np.array([12.0, 12.0]), rows=80)
    assert folds.value(start, 1e-3).value < 0.5 * folds.value(np.array([12.0, 12.0]), 1e-3).value
    assert cost.kernels < 3 * 12


def test_a_criterion_that_cannot_be_scouted_starts_where_it_was_told():
    A, y, A_test, y_test = rows(60)
    criterion = Implicit(models.ridge(A, y, A_test, y_test))
    start, cost = scout(criterion, Box(-12.0, 12.0, size=1), np.array([3.0]))
    assert np.array_equal(start, [3.0])
    assert cost == Cost()


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("HOAG_DATA"), reason="HOAG_DATA is not set")
def test_parkinsons_is_found_from_everywhere():
    A, y, A_test, y_test = thirds(*datasets.load("parkinsons").X_y, seed=0)[:4]
    A, A_test = standardised_by(A, A_test)
    y, y_test = centred_by(y, y_test)
    few = slice(0, 1000)
    problem = models.kernel_ridge(A[few], y[few], A_test[few], y_test[few])
    criterion = whole(problem)
    best = descend(criterion, BOX, np.array([-1.2, -1.9])).fun
    found = [scout(criterion, BOX, lam0) for lam0 in BOX.grid(5)]
    assert max(factorisations(cost, problem) for _, cost in found) < 2
    for start in np.unique([start for start, _ in found], axis=0):
        assert descend(criterion, BOX, start).fun <= best * (1 + 1e-3)
