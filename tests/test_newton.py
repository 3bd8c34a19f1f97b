"""Newton steps within a trust region, for several penalties whose ∇²f is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from quick import quick
from scipy.optimize import minimize
from sklearn.model_selection import KFold, StratifiedKFold

import hoag
from hoag._core.domain import Box
from hoag._core.result import Ask, Status
from hoag._criteria.fits import FoldedFits
from hoag._criteria.ridge_folds import BandedRidge
from hoag.errors import InvalidInputError
from hoag.optimize import Auto, Search
from hoag.optimize import _newton as newton
from hoag.optimize._asks import EndsAt, Evaluate, Profile
from hoag.optimize._run import Run


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.booleans())
@example(587, 3, True)  # bounds turned every Newton step so far that it gained nothing
def test_the_step_is_a_minimum_of_the_model_within_its_bounds(seed, size, convex):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(size, size))
    B = B @ B.T if convex else B + B.T
    p, low, high = rng.normal(size=size), -rng.random(size), rng.random(size)
    low[rng.random(size) < 0.2] = 0.0  # on a bound already
    s = newton.least(p, B, low, high)

    def model(s):
        return p @ s + 0.5 * s @ B @ s

    assert np.all((low <= s) & (s <= high))
    assert model(s) <= 0.0
    if convex:
        found = minimize(model, s, bounds=list(zip(low, high)), method="L-BFGS-B")
        assert model(s) <= found.fun + 1e-3 * abs(found.fun) + 1e-9


def folds(kind, seed=0, n=80, p=6, groups=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X @ (rng.normal(size=p) * (np.arange(p) < p // 2))
    if kind == "logistic":
        y, cv = np.where(score + rng.logistic(size=n) > 0, 1, -1), StratifiedKFold(4)
    else:
        y, cv = score + rng.normal(size=n), KFold(4)
    make = hoag.models.logistic if kind == "logistic" else hoag.models.ridge
    penalties = "per-feature" if groups is None else groups
    return hoag.models.folds(make, X, y, cv=cv, intercept=True, penalties=penalties)


BOX = Box(-12.0, 12.0, size=6)


@pytest.mark.parametrize("kind", ["logistic", "ridge"])
@pytest.mark.parametrize("seed", quick([0, 1, 2], [1]))
def test_it_ends_at_the_best_of_many_starts_and_below_one_penalty_for_all(kind, seed):
    problems = folds(kind, seed)
    criterion = hoag.plan(problems)
    assert isinstance(criterion, FoldedFits if kind == "logistic" else BandedRidge)
    found = Auto().minimize(criterion, BOX, np.zeros(6))
    assert found.converged, found.status
    assert "Every axis was scanned" in found.status.how
    shared = hoag.minimize(folds(kind, seed, groups=np.zeros(6, dtype=int)), bounds=(-12, 12))
    assert found.value <= shared.value * (1 + 1e-6)

    def f(lam):
        now = criterion.evaluate(lam)
        return now.value, now.grad

    rng, best = np.random.default_rng(seed), np.inf
    for _ in range(8):
        start = rng.uniform(-5, 8, size=6)
        best = min(best, minimize(f, start, jac=True, bounds=[(-12, 12)] * 6).fun)
    assert found.value <= best * (1 + 1e-3)


@pytest.mark.parametrize("make", [hoag.RidgeCV, hoag.LogisticRegressionCV])
def test_a_penalty_for_each_feature_ends_no_higher_than_one_for_all(make):
    """Also where "converged at step 1" would be true: the shared optimum is a point in hand."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(40, 160)), int(rng.integers(2, 12))
        X = rng.normal(size=(n, p)) * 10 ** rng.uniform(-1, 1, size=p)
        y = X @ rng.normal(size=p) / 3 + rng.choice([1.0, 5.0, 20.0]) * rng.normal(size=n)
        y = y if make is hoag.RidgeCV else y > np.median(y)
        one, own = (make(cv=3, penalties=kind).fit(X, y) for kind in ("shared", "per-feature"))
        assert own.criterion_ <= one.criterion_ * (1 + 1e-5)  # upper bounds differ a little


def test_the_model_of_an_axis_is_exact_for_squares_and_near_for_others():
    for kind, far, rel in (("ridge", 6.0, 1e-9), ("logistic", 0.5, 0.01)):
        criterion = hoag.plan(folds(kind))
        lam = np.linspace(-1.0, 2.0, 6)
        found = criterion.evaluate(lam)
        places = np.linspace(lam - far, lam + far, 5, axis=1)
        values, cost = criterion.profile(found, places)
        assert cost.passes == 0.0  # only held-out rows are looked at
        for j, k in np.ndindex(*places.shape):
            there = lam.copy()
            there[j] = places[j, k]
            true = criterion.value(there, warm=found.warm).value
            assert values[j, k] == pytest.approx(true, rel=rel)


class Known(hoag.criteria.Criterion):
    """A function by hand with a plateau, and axes that show what is beyond it."""

    lam0 = np.zeros(2)
    traits = hoag.criteria.Traits(has_hessian=True, exact=True)

    def __init__(self, sees=True):
        self.sees = sees

    def f(self, a, b):
        return 3.0 + 0.1 * (a - 1) ** 2 - 2.0 * np.exp(-((b + 9.0) ** 2))

    def _evaluate(self, lam, ask, warm):
        a, b = lam
        well = np.exp(-((b + 9.0) ** 2))
        grad = np.array([0.2 * (a - 1), 4.0 * (b + 9.0) * well])
        hessian = np.diag([0.2, (4.0 - 8.0 * (b + 9.0) ** 2) * well])
        return hoag.criteria.Evaluation(lam, self.f(a, b), grad, hessian=hessian, warm=0)

    def profile(self, found, places):
        if not self.sees:
            return None, hoag.criteria.Cost()
        a, b = found.lam
        rows = [self.f(places[0], b), self.f(a, places[1])]
        return np.stack(rows), hoag.criteria.Cost()


def test_a_plateau_is_left_where_an_axis_shows_something_beyond_it():
    box = Box(-12.0, 12.0, size=2)
    found = Auto().minimize(Known(), box, np.array([5.0, 5.0]))
    assert found.converged
    np.testing.assert_allclose(found.lam, [1.0, -9.0], atol=0.05)
    blind = Auto(starts=1).minimize(Known(sees=False), box, np.array([5.0, 5.0]))
    np.testing.assert_allclose(blind.lam, [1.0, 5.0], atol=0.05)


def test_an_axis_that_still_promises_a_gain_is_no_convergence():
    """Steps ran out when the search stood on the plateau, and the well was in sight."""
    box, start = Box(-12.0, 12.0, size=2), np.array([1.0, 5.0])
    few = Auto(max_iter=1).minimize(Known(), box, start)
    assert few.status.reason == "max_iter"
    assert few.trace[-1].lam[1] == 5.0
    assert few.value <= Known().f(*few.trace[-1].lam)  # a look that promised more is verified
    assert "improve by about 6" in str(few.status)  # 2 of 3, and not the 0 of the model


class Refused(Search):
    """Tries a step that f does not fall by, and ends where it was."""

    def steps(self, domain, lam0, traits):
        now = yield Evaluate(lam0, Ask(hessian=True))
        yield Evaluate(lam0 + 0.1, Ask(hessian=True), now)
        yield EndsAt((yield Profile(now, newton.scan_places(domain))))
        return Status("converged", "Converged.")


def test_a_search_that_ends_with_a_step_refused_returns_where_it_stood():
    found = Refused().minimize(Known(), Box(-12.0, 12.0, size=2), np.array([1.0, -9.0]))
    assert found.converged
    np.testing.assert_array_equal(found.lam, [1.0, -9.0])
    places, values = found.evaluation.profile
    np.testing.assert_array_equal(places[0], np.linspace(-12.0, 12.0, 25))
    np.testing.assert_allclose(values[0], Known().f(places[0], -9.0))


def test_it_ends_when_it_is_told_to():
    criterion = hoag.plan(folds("logistic"))
    few = Auto(max_iter=2).minimize(criterion, BOX, np.zeros(6))
    assert (few.status.reason, len(few.trace)) == ("max_iter", 2)
    once = Auto().minimize(criterion, BOX, np.zeros(6), on_step=lambda step: True)
    assert (once.status.reason, len(once.trace)) == ("callback", 1)


def test_an_estimator_has_the_hessian_and_an_interval_for_every_penalty_in_the_users_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 10)) * 3.0 + 1.0
    y = X @ (rng.normal(size=10) * (np.arange(10) < 4)) + 2.0 * rng.normal(size=90) > 0
    model = hoag.LogisticRegressionCV(penalties="per-feature", tol=1e-3).fit(X, y)
    best = model.result_.evaluation
    groups = hoag.models.folds(
        hoag.models.logistic, X, y, cv=StratifiedKFold(5), intercept=True, penalties="per-feature"
    )
    truth = hoag.plan(groups).evaluate(model.lam_, hoag.criteria.Ask(hessian=True))
    assert best.value == pytest.approx(truth.value / 90, rel=1e-6)
    scale = np.abs(truth.hessian).max() / 90
    np.testing.assert_allclose(best.hessian, truth.hessian / 90, atol=1e-6 * scale)
    low, high = model.lam_interval_.T
    assert np.all((low <= model.lam_) & (model.lam_ <= high))
    assert np.ptp(high - low) > 0.1  # each its own, not moved together
    for j in range(10):
        for end in (low[j], high[j]):
            lam = model.lam_.copy()
            lam[j] = end
            there = hoag.plan(groups).value(lam).value / 90
            assert there <= best.value * (1 + 1e-2)


def test_more_starts_find_no_worse_and_say_how_many_basins_they_saw():
    for seed in range(3):
        criterion = hoag.plan(folds("logistic", seed, n=50))
        one = Auto(starts=1).minimize(criterion, BOX, np.zeros(6))
        two = Auto().minimize(criterion, BOX, np.zeros(6))
        assert "3 starts ended in " in str(two.status)
        assert two.value <= one.value
        four = Auto(starts=4).minimize(criterion, BOX, np.zeros(6))
        assert four.value <= one.value * (1 + 1e-6)
        assert four.converged
        assert "4 starts ended in " in str(four.status)
        least = min(step.evaluation.value for step in four.trace)
        assert four.value == pytest.approx(least, rel=1e-12)
    with pytest.raises(InvalidInputError, match="starts=0"):
        Auto(starts=0)


@pytest.mark.parametrize("kind", ["logistic", "ridge"])
def test_starts_side_by_side_in_threads_change_nothing_and_count_their_own_work(kind):
    alone, threads = hoag.plan(folds(kind, 1)), hoag.plan(folds(kind, 1), n_jobs=2)
    one, two = (Auto(starts=4).minimize(c, BOX, np.zeros(6)) for c in (alone, threads))
    np.testing.assert_array_equal(one.lam, two.lam)
    assert one.status == two.status
    assert len(one.trace) == len(two.trace)
    for left, right in zip(one.trace, two.trace, strict=True):
        np.testing.assert_array_equal(left.lam, right.lam)
        assert left.mapping == right.mapping
        assert left.cost.passes == pytest.approx(right.cost.passes)
        assert left.cost.grams == pytest.approx(right.cost.grams)


def test_what_an_interrupted_search_of_several_starts_goes_on_from_is_held():
    def make():
        return hoag.plan(folds("logistic", 2, n=50))

    search = Auto(starts=3)
    found = Run(make()).drive(search, BOX, np.zeros(6))
    for k in (1, 5, len(found.trace) - 1):
        stopped = Run(make(), on_step=lambda step, k=k: step.k == k)
        stopped.drive(search, BOX, np.zeros(6))
        on = Run(make(), replay=stopped.journal.before_stop()).drive(search, BOX, np.zeros(6))
        np.testing.assert_array_equal(on.lam, found.lam)
        assert [step.k for step in on.trace] == [step.k for step in found.trace]
        np.testing.assert_array_equal(on.evaluation.profile[1], found.evaluation.profile[1])


@pytest.mark.parametrize("cv", [5, None])
@pytest.mark.parametrize("spreads", [(1.0, 1.0), (3.0, 0.0)])
def test_a_gain_within_its_standard_error_is_said_to_be_little(cv, spreads):
    rng = np.random.default_rng(1)
    X, groups = rng.normal(size=(150, 60)), np.repeat([0, 1], 30)
    y = X @ (rng.normal(size=60) * np.repeat(spreads, 30)) + 4 * rng.normal(size=150)
    own = hoag.RidgeCV(penalties=groups, cv=cv).fit(X, y)
    shared = hoag.RidgeCV(cv=cv).fit(X, y)
    assert own.criterion_ <= shared.criterion_ * (1 + 1e-4)
    first = own.result_.trace[0].evaluation
    assert first.value == pytest.approx(shared.criterion_, rel=0.02)
    assert ("indistinguishable within one standard error" in str(own.result_.status)) == (
        spreads[0] == spreads[1]
    )
    if cv is None:  # by rows
        alpha = np.exp(own.lam_)[groups]
        A, b = X - X.mean(axis=0), y - y.mean()
        hat = A @ np.linalg.solve(A.T @ A + np.diag(alpha), A.T)
        errors = ((b - hat @ b) / (1 - np.diag(hat) - 1 / 150)) ** 2
        np.testing.assert_allclose(own.result_.evaluation.folds, errors / 150, rtol=1e-6)


def test_the_gain_is_compared_fold_by_fold():
    shared = np.array([1.0, 20.0, 3.0])  # folds differ far more than the gain
    assert newton.little_gained(shared, shared - np.array([0.1, 0.11, 0.12])) == ""
    told = newton.little_gained(shared, shared - np.array([0.3, -0.2, 0.1]))
    assert "0.83 % ± 1.8 %" in told
    assert newton.little_gained(shared, None) == ""


def wide(seed, n, p, noise, cv):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, :4] @ rng.normal(size=4) + noise * rng.normal(size=n)
    groups = np.minimum(np.arange(p) // (p // 3), 2)
    return X, y, hoag.RidgeCV(penalties=groups, cv=cv, bounds=(-12.0, 16.0)).fit(X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("seed", "n", "p", "noise", "cv"),
    [(24, 40, 120, 0.1, None), (30, 40, 120, 0.1, None), (39, 40, 120, 0.5, None),
     (8, 25, 200, 1.0, 5), (16, 25, 120, 1.0, 5)],
)  # fmt: skip
def test_with_more_columns_than_rows_nothing_lower_is_left_along_an_axis_or_a_shift(
    seed, n, p, noise, cv
):
    X, y, model = wide(seed, n, p, noise, cv)
    assert model.result_.converged
    for d in (*np.eye(3), np.ones(3)):
        for t in (-8.0, -4.0, -2.0, 2.0, 4.0, 8.0):
            there = model.criterion_at(np.clip(model.lam_ + t * d, -12, 16), X, y)
            assert there >= model.criterion_ * (1 - 2e-4)
