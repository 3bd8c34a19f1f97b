"""Ridge regressions of many targets, with penalties that are shared or each target's own."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import hoag
from hoag._core.result import Ask
from hoag._criteria.base import Traits
from hoag._criteria.ridge_folds import BandedRidge
from hoag._criteria.separable import Separable, separated

FOLDS = KFold(4)


def data(targets=3, n=60, p=8, seed=0, offset=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + offset
    W = rng.normal(size=(p, targets)) * np.repeat([1.0, 0.1], p // 2)[:, None]
    return X, X @ W + rng.normal(size=(n, targets))


def bands(p=8, free=False):
    groups = np.repeat([0, 1], p // 2)
    groups[0] = -1 if free else 0
    return groups


def of(X, y, penalties, intercept=True, cv=FOLDS):
    problems = hoag.models.folds(
        hoag.models.ridge, X, y, cv=cv, penalties=penalties, intercept=intercept
    )
    return hoag.plan(problems), hoag.plan(problems, by_steps=True)


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_bands_agree_with_conjugate_gradients_and_with_differences(targets, intercept, free, kind):
    X, Y = data(targets, p=80 if kind == "wide" else 8)
    groups = bands(X.shape[1], free)
    A = sparse.csr_array(np.where(X > 2, X, 0.0)) if kind == "sparse" else X
    fast, slow = of(A, Y if targets > 1 else Y[:, 0], groups, intercept)
    assert isinstance(fast, BandedRidge)
    lam = np.array([0.5, -0.5])
    found, truth = fast.evaluate(lam, Ask(hessian=True)), slow.evaluate(lam, 1e-11)
    assert found.value == pytest.approx(truth.value, rel=1e-7)
    assert found.grad == pytest.approx(truth.grad, rel=1e-5, abs=1e-7)
    assert np.sum(found.folds) == pytest.approx(found.value)
    steps = 1e-4 * np.eye(2)
    bent = [(fast.evaluate(lam + d).grad - fast.evaluate(lam - d).grad) / 2e-4 for d in steps]
    scale = np.abs(found.hessian).max()
    np.testing.assert_allclose(found.hessian, bent, atol=1e-5 * scale)
    again = fast.verify(found, 1e-9)
    # Where columns are free, so that they may be equal, the intercept is held a little too.
    held = 1e-7 if free and intercept else 1e-9
    assert abs(again.value - found.value) <= 5 * found.f_error + held * found.value
    for ours, theirs in zip(again.x, slow.verify(truth, 1e-9).x, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("free", [False, True])
def test_bands_along_an_axis_are_exact(free):
    X, Y = data()
    criterion, _ = of(X, Y, bands(free=free))
    found = criterion.evaluate([0.0, 1.0])
    places = found.lam[:, None] + np.array([-6.0, -0.5, 0.0, 3.0, 9.0])
    values, _ = criterion.profile(found, places)
    for j, k in np.ndindex(*places.shape):
        there = found.lam.copy()
        there[j] = places[j, k]
        assert values[j, k] == pytest.approx(criterion.value(there).value, rel=1e-9)


def test_a_look_along_the_axes_is_shared_by_targets_at_the_same_penalties():
    """Also by sets of two targets, and with bands of other numbers of columns."""
    X, Y = data(6)
    penalties = own(bands(), 6)
    penalties[:, 1] = penalties[:, 0]
    penalties[:, 5] = np.repeat(penalties[[0, -1], 5], [2, 6])
    criterion, _ = of(X, Y, np.unique(penalties, return_inverse=True)[1].reshape(8, 6))
    assert isinstance(criterion, Separable)
    lams = [np.array([0.0, 1.0])] * 3 + [np.array([2.0, -1.0])] * 2
    places = [lam[:, None] + np.array([-6.0, -0.5, 0.0, 3.0, 9.0]) for lam in lams]
    looks, cost = criterion.axes_alike(lams, places)
    assert cost.grams > 0
    for part, lam, there, values in zip(criterion.parts, lams, places, looks, strict=True):
        alone, _ = part.profile(part.evaluate(lam), there)
        np.testing.assert_allclose(values, alone, rtol=1e-10)


def test_a_search_goes_where_it_is_led_only_if_that_is_lower(monkeypatch):
    X, Y = data(8, seed=1)
    model, shared = hoag.RidgeCV(penalties=own(bands(), 8), cv=FOLDS), []
    led = clone(model).fit(X, Y)

    def nowhere(self, lams, places):
        shared.extend(lams)
        return [None] * len(lams), hoag.criteria.Cost()

    def astray(self, lams, places):
        """Both penalties are said to be best at their upper bounds, where nothing is left."""
        return [-own for own in places], hoag.criteria.Cost()

    monkeypatch.setattr(Separable, "axes_alike", nowhere)
    alone = clone(model).fit(X, Y)
    assert led.criterion_ <= alone.criterion_ * (1 + 1e-4)
    monkeypatch.setattr(Separable, "axes_alike", astray)
    np.testing.assert_array_equal(clone(model).fit(X, Y).lam_, alone.lam_)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        few = clone(model).set_params(max_iter=1).fit(X, Y)
    np.testing.assert_allclose(few.lam_, np.concatenate(shared))


def test_many_targets_are_told_in_how_many_basins_their_starts_ended():
    X, Y = data(4)
    model = hoag.RidgeCV(
        penalties=own(bands(), 4), cv=FOLDS, search=hoag.optimize.Auto(starts=3)
    ).fit(X, Y)
    assert re.search(
        r"3 starts ended in one minimum for [0-4] of 4 sets", str(model.result_.status)
    )
    one = hoag.RidgeCV(penalties=own(bands(), 4), cv=FOLDS).fit(X, Y)
    assert "starts" not in str(one.result_.status)
    assert model.criterion_ <= one.criterion_ * (1 + 1e-4)


def test_many_targets_are_taken_some_at_a_time(monkeypatch):
    X, Y = data(7)
    whole = of(X, Y, bands())[0].evaluate([0.0, 1.0], Ask(hessian=True))
    monkeypatch.setattr("hoag._criteria.ridge_folds.BLOCK_ENTRIES", 30)
    some = of(X, Y, bands())[0].evaluate([0.0, 1.0], Ask(hessian=True))
    np.testing.assert_allclose(some.hessian, whole.hessian, rtol=1e-10)


@pytest.mark.parametrize("far", [1e-6, 1.0, 1e6])
def test_what_squares_lose_is_read_from_the_rows(far):
    """Powers of one column, and y that they explain to 1e-6: f is a difference of large squares."""
    t = np.linspace(0, 1, 60)
    X = np.stack([t**k for k in range(1, 9)], axis=1)
    y = far * (X @ np.arange(1.0, 9.0) + 1e-6 * np.random.default_rng(0).normal(size=60))
    fast, _ = of(X, y, bands(), cv=KFold(4, shuffle=True, random_state=0))
    lam = np.array([-16.0, -14.0])
    found, want = fast.evaluate(lam), 0.0
    root = np.exp(np.where(bands() == 0, *lam) / 2)
    for train, test in KFold(4, shuffle=True, random_state=0).split(X):
        A, b = X[train] - X[train].mean(axis=0), y[train] - y[train].mean()
        w = np.linalg.lstsq(np.vstack([A, np.diag(root)]), np.append(b, np.zeros(8)), rcond=None)[0]
        error = y[test] - y[train].mean() - (X[test] - X[train].mean(axis=0)) @ w
        want += float(error @ error)
    assert found.value == pytest.approx(want, rel=1e-4)
    assert abs(found.value - want) <= 5 * found.f_error + 1e-10 * want


def own(groups, targets):
    return np.where(groups[:, None] >= 0, groups[:, None] + 2 * np.arange(targets), -1)


@pytest.mark.filterwarnings("ignore:lam_.* is on its")  # at a tolerance of 1e-6
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("cv", [FOLDS, None, "gcv"])
def test_targets_with_penalties_of_their_own_are_tuned_as_if_alone(free, cv):
    X, Y = data(4)
    groups = bands(free=free)
    together = hoag.RidgeCV(penalties=own(groups, 4), cv=cv, tol=1e-6).fit(X, Y)
    assert together.result_.converged
    assert len(together.result_.evaluation.parts) == 4
    spread = np.sqrt(Y.var(axis=0).mean())
    losses = []
    for t in range(4):
        alone = hoag.RidgeCV(penalties=groups, cv=cv, tol=1e-6).fit(X, Y[:, t] / spread)
        lam = together.lam_[2 * t : 2 * t + 2]
        assert alone.criterion_at(lam, X, Y[:, t] / spread) <= alone.criterion_ * (1 + 1e-5)
        losses.append(alone.criterion_ * spread**2)
        root = np.diag(np.where(groups < 0, 0.0, np.exp(lam / 2)[groups]))
        A, b = X - X.mean(axis=0), Y[:, t] - Y[:, t].mean()
        w = np.linalg.lstsq(np.vstack([A, root]), np.append(b, np.zeros(8)), rcond=None)[0]
        np.testing.assert_allclose(together.coef_[t], w, rtol=1e-6, atol=1e-7)
    assert together.criterion_ == pytest.approx(np.mean(losses), rel=1e-5)
    assert together.criterion_at(together.lam_, X, Y) == pytest.approx(together.criterion_)
    assert together.lam_interval_.shape == (8, 2)
    inside = together.lam_interval_ - together.lam_[:, None]
    assert np.all(inside[:, 0] <= 0)
    assert np.all(inside[:, 1] >= 0)


@pytest.mark.filterwarnings("ignore:lam_.* is on its")  # at a tolerance of 1e-6
@pytest.mark.parametrize("p", [8, 80])
@pytest.mark.parametrize("cv", [FOLDS, None])
def test_one_penalty_a_target_is_taken_apart_too(cv, p):
    X, Y = data(5, seed=3, p=p)
    model = hoag.RidgeCV(penalties="per-target", cv=cv, tol=1e-6).fit(X, Y)
    assert len(model.result_.evaluation.parts) == 5
    for t in range(5):
        alone = hoag.RidgeCV(cv=cv, tol=1e-6).fit(X, Y[:, t])
        at = alone.criterion_at(model.lam_[t], X, Y[:, t])
        assert at <= alone.criterion_ * (1 + 1e-5)
    assert model.predict(X).shape == Y.shape


def test_sets_of_targets_are_found_by_what_they_share():
    X, Y = data(4)
    groups = np.stack([bands(), bands() + 2, bands(), bands() + 2], axis=1)
    criterion, slow = of(X, Y, groups)
    assert isinstance(criterion, Separable)
    assert [list(targets) for targets in criterion.targets] == [[0, 2], [1, 3]]
    lam = np.array([0.0, 1.0, 2.0, -1.0])
    found, truth = criterion.evaluate(lam), slow.evaluate(lam, 1e-11)
    assert found.value == pytest.approx(truth.value, rel=1e-8)
    assert found.grad == pytest.approx(truth.grad, rel=1e-6)
    xs = criterion.solution(found)[0]
    for ours, theirs in zip(xs, slow.verify(truth, 1e-9).x, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


class Bowls(hoag.criteria.Criterion):
    """Σ_t ‖λ_t − centre_t‖² over some targets; x is as many numbers."""

    def __init__(self, centres):
        self.centres, self.least = centres, None

    @property
    def lam0(self):
        return np.zeros(self.centres.size)

    def _evaluate(self, lam, ask, warm):
        d = lam - self.centres.ravel()
        found = hoag.criteria.Evaluation(
            lam, float(d @ d), 2 * d, hessian=2 * np.eye(d.size), error=0.0
        )
        return replace(found, x=d, f_error=0.0)

    @property
    def traits(self):
        return Traits(has_hessian=True, exact=True, blocks=np.arange(self.lam0.size))

    def of_targets(self, targets):
        return Bowls(self.centres[targets])

    def values_alike(self, targets, lams):
        d = np.asarray(lams)[:, None] - self.centres[targets, None, :]
        return np.sum(d**2, axis=2), hoag.criteria.Cost()

    def profiles_alike(self, sets, lam, places):
        return None, hoag.criteria.Cost()

    def joined(self, sets, parts):
        return np.concatenate(parts)


def test_any_criteria_of_sets_of_targets_are_searched_one_by_one():
    """All that is asked of them is what `SharedTargets` says."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-3, 3, size=(5, 2))
    groups = np.arange(10).reshape(5, 2).T
    whole = Bowls(centres)
    criterion = separated(whole, groups, None)
    lam = rng.normal(size=10)
    assert criterion.value(lam).value == pytest.approx(whole.value(lam).value)
    assert criterion.evaluate(lam).grad == pytest.approx(whole.evaluate(lam).grad)
    result = hoag.minimize(criterion, bounds=(-5.0, 5.0))
    assert result.converged
    np.testing.assert_allclose(result.lam, centres.ravel(), atol=1e-2)
    np.testing.assert_allclose(result.x, result.lam - centres.ravel())
    assert separated(whole, np.zeros((2, 5), dtype=int), None) is None  # one set


def test_targets_that_share_only_some_penalties_are_not_taken_apart():
    X, Y = data(2)
    groups = np.stack([bands(), np.repeat([0, 2], 4)], axis=1)  # the first band is one for both
    criterion, slow = of(X, Y, groups)
    assert not isinstance(criterion, (Separable, BandedRidge))
    lam = np.array([0.0, 1.0, 2.0])
    assert criterion.evaluate(lam).value == pytest.approx(slow.evaluate(lam, 1e-10).value, rel=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 12), st.booleans())
def test_any_shape_of_targets_and_columns(seed, targets, p, intercept):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(20, p)), rng.normal(size=(20, targets))
    groups = rng.integers(-1, 2, size=p)
    groups[0] = 0
    used = np.unique(groups[groups >= 0])
    groups = np.where(groups >= 0, np.searchsorted(used, groups), -1)
    each = np.where(groups[:, None] >= 0, groups[:, None] + used.size * np.arange(targets), -1)
    criterion, slow = of(X, Y, each, intercept)
    lam = rng.uniform(-2, 2, size=used.size * targets)
    assert criterion.evaluate(lam).value == pytest.approx(slow.evaluate(lam, 1e-9).value, rel=1e-5)


def test_a_callback_and_the_clock_stop_between_sets_and_nothing_is_lost():
    X, Y = data(20)
    seen = []

    def stop(step):
        seen.append(step.evaluation.value)
        return len(seen) == 2

    model = hoag.RidgeCV(penalties=own(bands(), 20), cv=FOLDS, callback=stop)
    model.fit(X, Y)
    assert model.result_.status.reason == "callback"
    assert "4 of 20" in str(model.result_.status)
    assert seen[1] <= seen[0]
    assert model.criterion_at(model.lam_, X, Y) == pytest.approx(model.criterion_, rel=1e-6)
    with pytest.warns(ConvergenceWarning):
        late = hoag.RidgeCV(
            penalties=own(bands(), 20), cv=FOLDS, search=hoag.optimize.Auto(time_budget=0.0)
        ).fit(X, Y)
    assert late.result_.status.reason == "time_budget"
    assert late.criterion_at(late.lam_, X, Y) == pytest.approx(late.criterion_, rel=1e-6)


def test_rows_are_there_once_however_many_targets_there_are():
    X, Y = data(3)
    criterion, _ = of(X, Y, own(bands(), 3))
    chunks = [next(part.design._chunks()) for part in criterion.parts]
    for t, chunk in enumerate(chunks):
        assert np.shares_memory(chunk.A, chunks[0].A)
        np.testing.assert_array_equal(chunk.y, Y[:, t])


@pytest.mark.parametrize("cv", [FOLDS, None])
def test_few_steps_are_few_for_each_target_and_not_for_all(cv):
    X, Y = data(20)
    model = hoag.RidgeCV(penalties=own(bands(), 20), cv=cv, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model.fit(X, Y)
    assert model.n_iter_ == 10


def test_threads_find_and_count_the_same():
    X, Y = data(12)
    one, two = (
        hoag.RidgeCV(penalties=own(bands(), 12), cv=FOLDS, n_jobs=jobs).fit(X, Y) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.lam_, two.lam_)
    assert one.result_.cost.grams == pytest.approx(two.result_.cost.grams)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cv", [FOLDS, None])
def test_penalties_too_weak_for_a_factor_are_not_chosen(cv):
    X, Y = data(3, p=8)
    X = np.hstack([X, X])  # every column twice
    penalties = np.tile(own(bands(), 3), (2, 1))
    model = hoag.RidgeCV(penalties=penalties, cv=cv, bounds=(-200.0, 10.0)).fit(X, Y)
    usual = hoag.RidgeCV(penalties=penalties, cv=cv).fit(X, Y)
    assert model.criterion_ <= usual.criterion_ * 1.01
    assert np.all(np.isfinite(model.coef_))


def test_an_interrupted_search_hands_out_what_it_has():
    X, Y = data(20)

    def stop(step):
        if step.k == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        hoag.RidgeCV(penalties=own(bands(), 20), cv=FOLDS, callback=stop).fit(X, Y)
    result = caught.value.result
    assert result.status.reason == "interrupted"
    assert "6 of 20" in str(result.status)
    whole = hoag.RidgeCV(penalties=own(bands(), 20), cv=FOLDS).fit(X, Y)
    np.testing.assert_array_equal(result.lam[:12], whole.lam_[:12])
