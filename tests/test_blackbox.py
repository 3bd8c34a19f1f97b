"""Searches that look at values only: where they look, what they count, why they stop."""

import numpy as np
import pytest
import registry

import hoag
from hoag.errors import InvalidInputError
from hoag.optimize import TPE, Bayes, Grid, Random

BOX = hoag.Box(-3.0, 3.0, size=1)


@pytest.fixture
def problem():
    return registry.make("logistic", seed=0)


def where(result):
    return np.array([step.lam for step in result.trace])


def test_a_grid_is_looked_at_in_ascending_order(problem):
    result = hoag.minimize(problem, bounds=BOX, search=Grid(7))
    assert where(result)[:, 0] == pytest.approx(np.linspace(-3, 3, 7))
    assert result.status.reason == "finished"
    least = min(step.evaluation.value for step in result.trace)
    assert result.value == pytest.approx(least, rel=1e-6)  # computed once more, a little nearer


def test_a_grid_in_two_dimensions_has_every_pair():
    problem = registry.make("kernel-ridge", seed=0)
    result = hoag.minimize(problem, bounds=(-2, 2), search=Grid(3))
    assert {tuple(lam) for lam in where(result)} == {
        (a, b) for a in (-2.0, 0.0, 2.0) for b in (-2.0, 0.0, 2.0)
    }


def test_a_grid_that_no_one_could_wait_for_is_refused():
    problem = registry.make("logistic", penalties="per-feature", seed=0)
    problem.lam0 = np.zeros(30)
    with pytest.raises(InvalidInputError, match="more than 1000000 points"):
        hoag.minimize(problem, search=Grid(10))


def test_random_points_are_uniform_in_the_box_and_the_same_for_the_same_seed(problem):
    one, same, other = (
        where(hoag.minimize(problem, bounds=BOX, search=Random(40, seed=seed)))
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.all(np.abs(one) <= 3)
    assert one.min() < -1.5 < 1.5 < one.max()


def test_bayes_begins_on_the_diagonal_and_then_finds_the_minimum(problem):
    pytest.importorskip("bayes_opt")
    result = hoag.minimize(problem, bounds=BOX, search=Bayes(12, starts=4))
    assert where(result)[:4, 0] == pytest.approx(np.linspace(-3, 3, 4))
    least = hoag.minimize(problem, bounds=BOX, search=Grid(200)).value
    assert result.value <= least * (1 + 1e-3)
    again = hoag.minimize(problem, bounds=BOX, search=Bayes(12, starts=4))
    assert where(again) == pytest.approx(where(result))


def test_tpe_stays_in_the_box_and_leaves_optunas_logging_alone(problem):
    optuna = pytest.importorskip("optuna")
    before = optuna.logging.get_verbosity()
    result = hoag.minimize(problem, bounds=BOX, search=TPE(25))
    assert len(result.trace) == 25
    assert np.all(np.abs(where(result)) <= 3)
    assert optuna.logging.get_verbosity() == before


@pytest.mark.parametrize("search", [Grid(5), Random(5)])
def test_every_evaluation_is_counted_and_starts_anew(problem, search):
    result = hoag.minimize(problem, bounds=BOX, search=search)
    criterion = hoag.plan(registry.make("logistic", seed=0), by_steps=True)
    alone = [criterion.value(lam, search.eps).cost.passes for lam in where(result)]
    assert result.trace[-1].cost.passes == pytest.approx(sum(alone))
    assert result.cost.passes > sum(alone)  # by verification
    assert all(np.isnan(step.evaluation.grad).all() for step in result.trace)


def test_a_callback_and_the_clock_stop_them(problem):
    stopped = hoag.minimize(problem, search=Random(50), callback=lambda step: step.k == 3)
    assert (stopped.status.reason, len(stopped.trace)) == ("callback", 3)
    over = hoag.minimize(problem, search=Random(50, time_budget=0.0))
    assert (over.status.reason, len(over.trace)) == ("time_budget", 1)


@pytest.mark.parametrize("make", [lambda: Grid(0), lambda: Random(0), lambda: Bayes(n=1.5)])
def test_numbers_that_make_no_sense_are_refused(make):
    with pytest.raises(InvalidInputError, match="at least one"):
        make()


def test_the_estimators_take_them():
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    model = hoag.RidgeCV(search=Grid(30), bounds=(-6.0, 6.0)).fit(X, y)
    assert np.any(np.isclose(model.lam_, np.linspace(-6, 6, 30)))
