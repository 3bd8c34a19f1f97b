"""The estimators: what they find, in whose units, and how they fit into scikit-learn."""

from __future__ import annotations

import pickle
import re
import warnings
from inspect import signature
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
from quick import quick
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    make_classification,
    make_regression,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.class_weight import compute_class_weight

import hoag
from hoag import KernelRidgeCV, LogisticRegressionCV, RidgeClassifierCV, RidgeCV
from hoag.errors import InvalidInputError
from hoag.optimize import Hoag


def binary_data():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[::3, ::2], y[::3]


def three_classes():
    return load_iris(return_X_y=True)


def regression_data():
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[::4], y[::4]


def two_targets():
    X, y = regression_data()
    return X, np.stack([y, np.roll(y, 1) + 30 * X[:, 0]], axis=1)


CASES = {
    "binary": (LogisticRegressionCV(), binary_data),
    "multinomial": (LogisticRegressionCV(), three_classes),
    "brier": (LogisticRegressionCV(criterion="brier"), binary_data),
    "ridge-loo": (RidgeCV(), regression_data),
    "ridge-gcv": (RidgeCV(cv="gcv"), regression_data),
    "ridge-5": (RidgeCV(cv=5), regression_data),
    "ridge-two-targets": (RidgeCV(), two_targets),
    "ridge-huber": (RidgeCV(criterion="huber", cv=5), regression_data),
    "kernel": (KernelRidgeCV(), regression_data),
}
EACH = pytest.mark.parametrize(("estimator", "data"), CASES.values(), ids=CASES)


_FITTED = {}


def fitted(estimator, data):
    """The model of some data as they are, fitted once: several tests compare with it."""
    key = (repr(estimator), data)
    if key not in _FITTED:
        _FITTED[key] = clone(estimator).fit(*data())
    return _FITTED[key]


def outputs(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


# ---------------------------------------------------------------- what they find


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("data", [binary_data, three_classes])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_model_is_scikit_learns_at_the_same_C(to, data, intercept, class_weight):
    if class_weight and "sample_weight" not in signature(compute_class_weight).parameters:
        pytest.skip("before scikit-learn 1.7 'balanced' does not look at sample weights")
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    options = {"fit_intercept": intercept, "class_weight": class_weight}
    ours = LogisticRegressionCV(**options).fit(to(X), y, weights)
    theirs = LogisticRegression(C=ours.C_, solver="newton-cg", tol=1e-12, max_iter=10000, **options)
    theirs.fit(X, y, weights)
    for name in ("coef_", "intercept_"):
        expected, found = getattr(theirs, name), getattr(ours, name)
        assert found.shape == expected.shape
        assert np.linalg.norm(found - expected) <= 1e-4 * np.linalg.norm(theirs.coef_)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("cv", [None, "gcv", 4])
@pytest.mark.parametrize("penalties", ["shared", "per-target"])
@pytest.mark.parametrize("data", [regression_data, two_targets])
def test_the_model_is_scikit_learns_at_the_same_alpha(data, penalties, cv):
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    ours = RidgeCV(cv=cv, penalties=penalties).fit(X, y, weights)
    theirs = Ridge(alpha=ours.alpha_).fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_kernel_model_is_scikit_learns(intercept):
    X, y = regression_data()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    ours = KernelRidgeCV(fit_intercept=intercept).fit(X, y, weights)
    level = np.average(y, weights=weights) if intercept else 0.0
    theirs = KernelRidge(kernel="rbf", alpha=ours.alpha_, gamma=ours.gamma_)
    theirs.fit(X, y - level, weights)
    assert ours.intercept_ == pytest.approx(level)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.predict(X), level + theirs.predict(X), rtol=1e-6)


@pytest.mark.parametrize("shift", [0.0, 1e3, -1e6])
def test_a_kernel_model_follows_the_level_of_its_target(shift):
    X, y = regression_data()
    here, there = fitted(KernelRidgeCV(cv=3), regression_data), KernelRidgeCV(cv=3)
    there.fit(X, y + shift)
    assert there.lam_ == pytest.approx(here.lam_, abs=1e-3)
    assert there.criterion_ == pytest.approx(here.criterion_, rel=1e-5)
    np.testing.assert_allclose(there.predict(X) - shift, here.predict(X), rtol=1e-3)


def test_the_criterion_is_the_mean_loss_of_the_held_out_rows():
    X, y = three_classes()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    ours = LogisticRegressionCV(cv=cv, scoring=["accuracy", "neg_log_loss"]).fit(X, y, weights)
    total = 0.0
    for k, (train, test) in enumerate(cv.split(X, y)):
        fold = LogisticRegression(C=ours.C_, tol=1e-10, max_iter=10000)
        proba = fold.fit(X[train], y[train], weights[train]).predict_proba(X[test])
        loss = log_loss(y[test], proba, sample_weight=weights[test])
        total += weights[test].sum() * loss
        assert ours.scores_["neg_log_loss"][k] == pytest.approx(-loss, rel=1e-3)
        hits = fold.predict(X[test]) == y[test]
        accuracy = np.average(hits, weights=weights[test])
        assert ours.scores_["accuracy"][k] == pytest.approx(accuracy)
    assert ours.criterion_ == pytest.approx(total / weights.sum(), rel=1e-4)


@EACH
def test_no_neighbour_is_better_and_the_interval_is_where_the_criterion_says(estimator, data):
    X, y = data()
    model = fitted(estimator, data)
    assert model.result_.converged
    best = model.criterion_at(model.lam_, X, y)
    assert best == pytest.approx(model.criterion_, rel=1e-5)
    for j, (low, high) in enumerate(model.lam_interval_):
        for end in (low, high):
            lam = model.lam_.copy()
            lam[j] = end
            rise = model.criterion_at(lam, X, y) / best - 1
            assert -1e-5 <= rise <= 4e-4  # tol is 1e-4; the curve is not a parabola


def test_more_penalties_fit_the_criterion_better():
    X, y = regression_data()
    shared = RidgeCV().fit(X, y)
    finer = RidgeCV(penalties="per-feature", max_iter=300).fit(X, y)
    grouped = RidgeCV(penalties=np.arange(10) // 5).fit(X, y)
    assert finer.criterion_ < grouped.criterion_ < shared.criterion_
    assert finer.alpha_.shape == (10,)
    assert grouped.alpha_.shape == (2,)


def test_an_unpenalised_feature_and_one_penalty_for_each_coefficient():
    X, y = three_classes()
    free = LogisticRegressionCV(penalties=np.array([-1, 0, 0, 1]), fit_intercept=False)
    with pytest.warns(ConvergenceWarning):
        free.set_params(max_iter=2).fit(X, y)
    assert free.lam_.shape == (2,)
    np.testing.assert_allclose(free.coef_.sum(axis=0), 0, atol=1e-6)
    each = LogisticRegressionCV(penalties="per-coefficient", max_iter=3)
    with pytest.warns(ConvergenceWarning):
        each.fit(X, y)
    assert each.alpha_.shape == each.C_.shape == each.coef_.shape == (3, 4)


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("default:lam_:UserWarning")
def test_one_width_for_each_feature_finds_the_one_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    model = KernelRidgeCV(widths="per-feature").fit(X, y)
    assert model.gamma_.shape == (4,)
    assert model.gamma_[0] > 10 * model.gamma_[1:].max()
    assert model.criterion_ < 0.3 * KernelRidgeCV().fit(X, y).criterion_


def test_the_interval_is_checked_where_the_parabola_reaches_far():
    for X, y, cv in (
        (*make_regression(150, 20, noise=20, random_state=0), None),
        (*load_diabetes(return_X_y=True), 5),
    ):
        model = RidgeCV(cv=cv).fit(X, y)
        for end in model.lam_interval_[0]:
            assert model.criterion_at(end, X, y) <= model.criterion_ * (1 + 2.1 * model.tol)
        assert model.lam_interval_[0, 0] <= model.lam_[0] < model.lam_interval_[0, 1]


def test_a_tie_between_steps_is_no_failure():
    X, y = make_regression(150, 20, n_targets=4, noise=20, random_state=0)
    assert RidgeCV().fit(X, y).result_.converged  # a warning would be an error here


def test_scorers_see_the_model_of_this_fit():
    X, y = regression_data()
    model = KernelRidgeCV(scoring="r2").fit(X, y)
    first = model.scores_["r2"]
    again = model.fit(1000 * X, y)
    np.testing.assert_allclose(again.scores_["r2"], first, atol=1e-3)
    assert not hasattr(model.set_params(scoring=None).fit(X, y), "scores_")
    weights = np.ones(len(y))
    weights[:4] = 0
    loo = RidgeCV(scoring="r2").fit(X, y, weights)
    assert loo.scores_["r2"][0] > 0.2


def test_a_scorer_that_cannot_judge_a_fold_does_not_lose_the_model():
    X, y = binary_data()
    splits = [(np.arange(100), np.flatnonzero(y == 1)[:3]), (np.arange(50, 150), np.arange(50))]
    with pytest.warns(UserWarning, match="Scoring failed on 3 held-out rows"):
        model = LogisticRegressionCV(cv=splits, scoring=["neg_log_loss"]).fit(X, y)
    assert np.isnan(model.scores_["neg_log_loss"][0])
    assert model.scores_["neg_log_loss"][1] < 0


def test_columns_of_any_scale_and_constant_ones_do_not_stop_leave_one_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=80)
    plain = RidgeCV(penalties="per-feature").fit(X, y).criterion_
    for other in (X * 10.0 ** np.linspace(-4, 4, 5), np.c_[X, np.full(80, 1e6 + 1 / 3)]):
        found = RidgeCV(penalties="per-feature").fit(other, y)
        assert found.criterion_ == pytest.approx(plain, rel=1e-3)
    free = RidgeCV(penalties=[0, -1, -1]).fit(np.c_[X[:, :2], X[:, 1]], y)
    assert np.isfinite(free.criterion_)
    nothing = RidgeCV().fit(np.full((60, 3), 0.1), rng.normal(size=60))
    np.testing.assert_array_equal(nothing.coef_, 0.0)


def test_it_does_not_stop_on_a_slope():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 5)) * np.exp(rng.normal(size=5))
    w = rng.normal(size=5) * (rng.random(5) < 0.6)
    y = np.digitize(X @ w + rng.normal(size=80), [-1, 1])
    model = LogisticRegressionCV(penalties="per-class").fit(X, y)
    slopes = np.abs(model.result_.grad) / model.criterion_
    inside = model.lam_interval_[:, 0] < model.lam_interval_[:, 1]
    assert model.result_.converged
    assert np.all(slopes[inside] <= 5.5e-4)  # five times tol for every unit of λ


@pytest.mark.parametrize("penalties", ["shared", [0] * 29 + [-1]], ids=["shared", "one free"])
def test_it_looks_around_first_where_that_is_cheap(penalties):
    X, y = load_breast_cancer(return_X_y=True)  # unscaled: the loss has two minima
    model = LogisticRegressionCV(penalties=penalties, max_iter=200).fit(X, y)
    grid = [model.criterion_at(lam, X, y) for lam in np.linspace(-9, 9, 7)]
    assert model.criterion_ <= min(grid)


# ---------------------------------------------------------------- units


@EACH
@pytest.mark.parametrize("factor", quick([1e-6, 1e3, 1e150, 1e-150], [1e3, 1e-150]))
def test_scaling_the_data_moves_lam_and_nothing_else(estimator, data, factor):
    X, y = data()
    here, there = fitted(estimator, data), clone(estimator).fit(factor * X, y)
    size = np.abs(outputs(here, X)).max()
    np.testing.assert_allclose(outputs(there, factor * X), outputs(here, X), atol=1e-3 * size)
    sign = -1.0 if hasattr(here, "gamma_") else 1.0
    assert there.lam_[0] - here.lam_[0] == pytest.approx(sign * 2 * np.log(factor), abs=0.01)
    assert there.criterion_ == pytest.approx(here.criterion_, rel=1e-3)


@EACH
def test_repeating_all_rows_moves_lam_and_nothing_else(estimator, data):
    if isinstance(estimator, RidgeCV) and estimator.cv in (None, "gcv"):
        pytest.skip("leaving one of two copies out is no leaving out")
    X, y = data()
    parts = np.arange(len(y)) % 5
    once = list(LeaveOneGroupOut().split(X, groups=parts))
    twice = list(LeaveOneGroupOut().split(np.tile(X, (2, 1)), groups=np.tile(parts, 2)))
    here = clone(estimator).set_params(cv=once).fit(X, y)
    there = clone(estimator).set_params(cv=twice)
    there.fit(np.tile(X, (2, 1)), np.concatenate([y, y]))
    size = np.abs(outputs(here, X)).max()
    np.testing.assert_allclose(outputs(there, X), outputs(here, X), atol=1e-3 * size)
    assert there.lam_[-1] - here.lam_[-1] == pytest.approx(np.log(2), abs=0.01)


@pytest.mark.parametrize("factor", [1e-120, 1e120])
def test_the_units_of_y_do_not_matter(factor):
    X, y = regression_data()
    here, there = RidgeCV(cv=5).fit(X, y), RidgeCV(cv=5).fit(X, factor * y)
    np.testing.assert_allclose(there.predict(X), factor * here.predict(X), rtol=1e-3)


# ---------------------------------------------------------------- saying what happened


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_interval_that_there_was_no_time_for_is_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    noise = RidgeCV(cv=5, search=hoag.optimize.Auto(time_budget=0.0)).fit(X, rng.normal(size=30))
    cut_short = RidgeCV(cv=5, tol=1e-12, search=hoag.optimize.Auto(tol=1e-12, time_budget=0.0)).fit(
        X, X[:, 0] + rng.normal(size=30)
    )
    for model in (noise, cut_short):
        assert model.result_.status.reason == "time_budget"
        assert str(model.result_.status).endswith("There was no time for lam_interval_.")
        assert np.all(np.isnan(model.lam_interval_))
    assert "lam_interval_" not in str(RidgeCV(cv=5).fit(X, X[:, 0]).result_.status)


def test_a_search_cut_short_warns_and_a_callback_does_not():
    X, y = regression_data()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        RidgeCV(cv=5, tol=1e-12, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time budget"):
        RidgeCV(cv=5, tol=1e-12, search=hoag.optimize.Auto(tol=1e-12, time_budget=0)).fit(X, y)
    seen = []
    stop = lambda step: seen.append(step) or step.k == 2  # noqa: E731
    model = RidgeCV(cv=5, tol=1e-12, callback=stop).fit(X, y)
    assert model.result_.status.reason == "callback"
    assert model.n_iter_ == len(seen) == 2
    assert seen[0].evaluation.value == model.result_.trace[0].evaluation.value


@pytest.mark.parametrize(("bounds", "side"), [((8, 9), "lower"), ((-9, -8), "upper")])
def test_a_bound_that_the_optimum_lies_beyond_is_named(bounds, side):
    X, y = binary_data()
    with pytest.warns(UserWarning, match=f"is on its {side} bound"):
        model = LogisticRegressionCV(bounds=bounds).fit(X, y)
    assert model.lam_[0] == (bounds[0] if side == "lower" else bounds[1])


def test_grids_of_scikit_learn_become_bounds():
    X, y = binary_data()
    with pytest.warns(UserWarning, match="C = 0.001, the largest of Cs, is chosen"):
        model = LogisticRegressionCV(Cs=[1e-4, 1e-3]).fit(X, y)
    assert pytest.approx(1e-3) == model.C_
    assert (
        pytest.approx(LogisticRegressionCV().fit(X, y).C_, rel=0.05)
        == LogisticRegressionCV(Cs=10).fit(X, y).C_
    )
    X, y = regression_data()
    fixed = RidgeCV([3.0]).fit(X, y)
    assert fixed.alpha_ == pytest.approx(3.0)
    np.testing.assert_allclose(fixed.coef_, Ridge(alpha=3.0).fit(X, y).coef_)
    with pytest.raises(InvalidInputError, match="Both alphas and bounds"):
        RidgeCV([1.0, 2.0], bounds=(0, 1)).fit(X, y)


def test_the_trace_is_in_the_users_units_and_certified():
    pd = pytest.importorskip("pandas")
    X, y = binary_data()
    model = LogisticRegressionCV(
        scoring="roc_auc", search=hoag.optimize.Auto(certificate="bound")
    ).fit(X, y)
    frame = model.result_.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == model.n_iter_
    assert frame["value"].iloc[-1] == pytest.approx(model.criterion_, rel=1e-9)
    assert frame["lam_0"].iloc[-1] == model.lam_[0]
    assert np.all(np.diff(frame["passes"]) >= 0)
    last = model.result_.evaluation
    assert 0 < last.bound < 1e-6 * model.criterion_
    assert last.error < 1e-6 * model.criterion_
    assert model.scores_["roc_auc"].shape == (5,)


def test_scoring_of_leave_one_out_uses_its_predictions():
    X, y = regression_data()
    model = RidgeCV(scoring=("r2", "neg_mean_squared_error")).fit(X, y)
    (mean_squared,) = model.scores_["neg_mean_squared_error"]
    assert -mean_squared == pytest.approx(model.criterion_)
    assert 0.2 < model.scores_["r2"][0] < 0.8


# ---------------------------------------------------------------- in the ecosystem


@EACH
def test_pickle_joblib_clone_and_threads(estimator, data, tmp_path):
    X, y = data()
    model = clone(estimator).set_params(n_jobs=2).fit(X, y)
    alone = fitted(estimator, data)
    np.testing.assert_allclose(outputs(model, X), outputs(alone, X), rtol=1e-6, atol=1e-9)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(outputs(copy, X), outputs(model, X))
        assert copy.result_.status == model.result_.status


def test_other_processes_find_the_same():
    X, y = binary_data()
    with joblib.parallel_config("loky"):
        there = LogisticRegressionCV(n_jobs=2).fit(X, y)
    here = LogisticRegressionCV().fit(X, y)
    assert there.lam_ == pytest.approx(here.lam_, rel=1e-4)
    assert there.result_.cost.passes >= here.result_.cost.passes


def test_inside_of_pipelines_and_searches():
    X, y = load_breast_cancer(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), LogisticRegressionCV(cv=3))
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.96
    search = GridSearchCV(pipe, {"logisticregressioncv__fit_intercept": [True, False]}, cv=2)
    search.fit(X, y)
    assert search.best_params_ == {"logisticregressioncv__fit_intercept": True}


def test_frames_in_and_names_kept():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = pd.Series(np.array(["setosa", "versicolor", "virginica"], dtype=object))[y].to_numpy()
    model = LogisticRegressionCV().fit(X, labels)
    assert list(model.feature_names_in_) == list(X.columns)
    assert set(model.predict(X)) == {"setosa", "versicolor", "virginica"}
    again = LogisticRegressionCV().fit(pl.DataFrame(X.to_numpy(), schema=list(X.columns)), labels)
    np.testing.assert_allclose(again.coef_, model.coef_)
    assert list(again.feature_names_in_) == list(X.columns)


def test_groups_reach_the_splitter_with_and_without_routing():
    from sklearn import config_context

    X, y = binary_data()
    groups = np.arange(len(y)) % 7
    splits = list(GroupKFold(3).split(X, y, groups))
    expected = LogisticRegressionCV(cv=splits).fit(X, y).lam_
    found = LogisticRegressionCV(cv=GroupKFold(3)).fit(X, y, groups=groups).lam_
    assert found == pytest.approx(expected)
    with config_context(enable_metadata_routing=True):
        cv = GroupKFold(3).set_split_request(groups=True)
        model = LogisticRegressionCV(cv=cv, scoring="accuracy")
        assert model.fit(X, y, groups=groups).lam_ == pytest.approx(expected)
        assert "splitter" in str(model.get_metadata_routing())
        closed = RidgeCV(cv="gcv").fit(X, y)  # a name with a method split, and no splitter
        assert "splitter" in str(closed.get_metadata_routing())
    with pytest.raises(ValueError, match="takes X, y, sample_weight and groups"):
        LogisticRegressionCV().fit(X, y, colour=groups)


def test_without_a_refit_the_mean_of_the_folds_is_kept():
    X, y = regression_data()
    cv = KFold(3)
    model = RidgeCV(cv=cv, refit=False).fit(X, y)
    folds = [Ridge(alpha=model.alpha_).fit(X[a], y[a]) for a, _ in cv.split(X)]
    np.testing.assert_allclose(model.coef_, np.mean([f.coef_ for f in folds], axis=0), rtol=1e-4)
    kernel = KernelRidgeCV(cv=cv, refit=False, fit_intercept=False).fit(X, y)
    folds = [
        KernelRidge(kernel="rbf", alpha=kernel.alpha_, gamma=kernel.gamma_).fit(X[a], y[a])
        for a, _ in cv.split(X)
    ]
    expected = np.mean([f.predict(X) for f in folds], axis=0)
    np.testing.assert_allclose(kernel.predict(X), expected, rtol=1e-4)


def test_scikit_learns_callbacks_follow_and_stop_the_search():
    callback = pytest.importorskip("sklearn.callback")
    X, y = binary_data()

    class Watch:
        def __init__(self, stop_after):
            self.stop_after, self.steps, self.ended, self.scores = stop_after, 0, False, []

        def setup(self, estimator, context): ...

        def teardown(self, estimator, context):
            self.ended = True

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name == "step":
                self.steps += 1
                self.scores.append(fitted_estimator.score(X, y))
                return self.steps == self.stop_after
            return False

    assert isinstance(Watch(1), callback.FitCallback)
    watch = Watch(1)
    model = LogisticRegressionCV().set_callbacks(watch).fit(X, y)
    assert (watch.steps, watch.ended, model.n_iter_) == (1, True, 1)
    assert model.result_.status.reason == "callback"
    assert min(watch.scores) > 0.8


def test_verbose_shows_a_bar_and_nothing_else_prints(capsys):
    pytest.importorskip("tqdm")
    X, y = regression_data()
    RidgeCV(cv=5).fit(X, y)
    quiet = capsys.readouterr()
    assert quiet.out == quiet.err == ""
    RidgeCV(cv=5, verbose=1).fit(X, y)
    assert "held-out loss" in capsys.readouterr().err


@EACH
def test_a_plain_scikit_learn_model_with_the_same_predictions(estimator, data):
    sio = pytest.importorskip("skops.io")
    X, y = data()
    model = clone(estimator).fit(X, y)
    plain = model.to_sklearn()
    assert type(plain).__module__.startswith("sklearn.")
    np.testing.assert_allclose(outputs(plain, X), outputs(model, X), rtol=1e-10, atol=1e-12)
    stored = sio.dumps(plain)
    again = sio.loads(stored, trusted=[])
    np.testing.assert_array_equal(outputs(again, X), outputs(plain, X))


@pytest.mark.filterwarnings("default:lam_:UserWarning")
def test_many_widths_as_a_plain_pipeline():
    X, y = regression_data()
    model = KernelRidgeCV(widths="per-feature", bounds=(-9, 2)).fit(X[:, :3], y - y.mean())
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.predict(X[:, :3]), model.predict(X[:, :3]), rtol=1e-8)


@pytest.mark.parametrize("name", ["binary", "multinomial", "ridge-loo", "ridge-two-targets"])
def test_onnx(name):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    estimator, data = CASES[name]
    X, y = data()
    X = X.astype(np.float32)
    model = clone(estimator).fit(X, y)
    converted = skl2onnx.to_onnx(model.to_sklearn(), X[:1])
    session = runtime.InferenceSession(
        converted.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"X": X})[0]
    if name in ("binary", "multinomial"):
        np.testing.assert_array_equal(found, model.predict(X))
    else:
        np.testing.assert_allclose(
            found.reshape(model.predict(X).shape), model.predict(X), rtol=1e-3
        )


@pytest.mark.parametrize("search", [None, Hoag(max_iter=50), Hoag(gain=1e-3)])
def test_any_search_will_do(search):
    X, y = regression_data()
    model = RidgeCV(cv=5, search=search).fit(X, y)
    assert model.criterion_ <= RidgeCV(cv=5).fit(X, y).criterion_ * 1.01


# ---------------------------------------------------------------- bad input


def test_more_starts_are_no_worse_and_the_status_says_where_they_ended():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    one = LogisticRegressionCV(penalties="per-feature", search=hoag.optimize.Auto(starts=1)).fit(
        X, y
    )
    four = LogisticRegressionCV(penalties="per-feature", search=hoag.optimize.Auto(starts=4)).fit(
        X, y
    )
    assert four.criterion_ <= one.criterion_ * (1 + 1e-6)
    assert four.criterion_at(four.lam_, X, y) == pytest.approx(four.criterion_, rel=1e-6)
    assert re.search(r"4 starts ended in \d different minim", str(four.result_.status))
    assert "starts" not in str(one.result_.status)
    assert four.n_iter_ > one.n_iter_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_is_for_each_start():
    X, y = regression_data()
    seen = []
    model = RidgeCV(
        penalties="per-feature",
        search=hoag.optimize.Auto(max_iter=3, starts=4),
        max_iter=3,
        callback=seen.append,
    )
    model.fit(X, y)
    assert 3 < len(seen) == model.n_iter_ <= 4 * 3
    assert RidgeCV(penalties="per-feature", max_iter=3).fit(X, y).n_iter_ <= 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_starts_that_are_not_followed_are_told():
    X, y = regression_data()
    # No group has more columns than there are rows: 1200 coefficients, by any way of writing them.
    A = sparse.random(500, 1200, density=0.02, random_state=0, format="csr")
    many = LogisticRegressionCV(
        penalties=np.arange(1200) % 3,
        search=hoag.optimize.Auto(max_iter=2, starts=3),
        cv=2,
        max_iter=2,
    )
    with pytest.warns(UserWarning, match=r"starts=3 was not followed"):
        many.fit(A, np.arange(500) % 2)
    RidgeCV(penalties="shared", search=hoag.optimize.Auto(starts=3)).fit(
        X, y
    )  # one penalty: the whole box is looked at
    for cv in (3, None):
        model = RidgeCV(penalties="per-feature", search=hoag.optimize.Auto(starts=3), cv=cv).fit(
            X, y
        )
        assert "3 starts ended in" in str(model.result_.status)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tol": 0}, "tol=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"time_budget": -1}, "time_budget=-1"),
        ({"callback": 3}, "not callable"),
        ({"bounds": "wide"}, "use 'auto' or a pair"),
        ({"bounds": 3}, "give a pair"),
        ({"bounds": (3, 1)}, "empty"),
        ({"search": Hoag}, "give an instance"),
        ({"starts": 0}, "starts=0: give a whole number"),
        ({"starts": 1.5}, "starts=1.5: give a whole number"),
        ({"starts": 2, "search": Hoag()}, "give one of the two"),
        ({"penalties": "each"}, "use 'shared'"),
        ({"penalties": np.array([0, 2])}, "group numbers"),
        ({"Cs": [0.0, 1.0]}, "positive, finite"),
        ({"Cs": 2.5}, "whole number"),
        ({"bounds": ("a", "b")}, "give a pair"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "negative"),
        ({"cv": [(np.arange(10**4), [0])]}, "rows that X"),
        ({"cv": [([], [0])]}, "no training rows"),
        ({"criterion": "accuracy"}, "use 'log_loss' or 'brier'"),
    ],
)
def test_a_wrong_parameter_gets_a_sentence(change, message):
    X, y = binary_data()
    with pytest.raises(InvalidInputError, match=message):
        LogisticRegressionCV(**change).fit(X, y)


def test_wrong_data_get_a_sentence():
    X, y = binary_data()
    for bad, message in (
        ((X, np.ones(len(y))), "only one class"),
        ((X[:1], y[:1]), "only one class"),
        ((X, y, -np.ones(len(y))), "negative"),
        ((X, y, np.zeros(len(y))), "zero"),
        ((X, y, (y == 1).astype(float)), "only one class"),
        ((np.where(X > 2, np.nan, X), y), "NaN"),
        ((np.where(X > 2, np.inf, X), y), "infinity"),
    ):
        with pytest.raises(ValueError, match=message):
            LogisticRegressionCV().fit(*bad)
    with pytest.raises(ValueError, match="n_splits"):
        LogisticRegressionCV(cv=5).fit(X[:4], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="1 sample"):
        RidgeCV().fit(X[:1], y[:1])
    broken = sparse.csr_matrix(X)
    broken.indices = broken.indices.copy()
    broken.indices[0] = 10**6
    with pytest.raises(ValueError, match="malformed"):
        LogisticRegressionCV().fit(broken, y)


def degenerate():
    rng = np.random.default_rng(0)
    X, y = make_classification(60, 4, random_state=0)
    constant = X.copy()
    constant[:, 1] = 7.0
    zero_rows = X.copy()
    zero_rows[::3] = 0
    mixed = X * np.array([1e8, 1e-8, 1.0, 1.0])
    rare = np.where(np.arange(60) == 0, 2, y)
    yield "one column", X[:, :1], y
    yield "constant column", constant, y
    yield "all constant", np.ones((60, 2)), y
    yield "all zero", np.zeros((60, 2)), y
    yield "zero rows", zero_rows, y
    yield "separable", np.column_stack([2.0 * y - 1, rng.normal(size=60)]), y
    yield "far from the origin", X + 1e6, y
    yield "duplicated columns", np.column_stack([X, X, X]), y
    yield "wide", rng.normal(size=(60, 200)), y
    yield "mixed scales", mixed, y
    yield "a class of one row", X, rare
    yield "few rows", X[:10], np.arange(10) % 2
    yield "huge", 1e150 * X, y
    yield "tiny", 1e-150 * X, y


DEGENERATE = list(degenerate())


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize(
    ("estimator", "to"),
    [
        pytest.param(estimator, to, id=f"{estimator!r}-{kind}", marks=marks)
        for estimator, several in (
            (LogisticRegressionCV(), False),
            (LogisticRegressionCV(penalties="per-feature", max_iter=20), True),
            (RidgeCV(), False),
            (RidgeCV(cv=5), False),
            (RidgeCV(penalties="per-feature", max_iter=20), True),
        )
        # Sparse rows are told by one penalty, several by dense rows.
        for kind, to, marks in (
            ("dense", np.asarray, ()),
            ("sparse", sparse.csr_array, [pytest.mark.slow] * several),
        )
    ],
)
@pytest.mark.parametrize(("X", "y"), [d[1:] for d in DEGENERATE], ids=[d[0] for d in DEGENERATE])
def test_degenerate_data_give_a_finite_model(estimator, X, y, to):
    _finite(estimator, X, y, to)


# Distances between sparse rows are those between dense ones: a few of them will do.
@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize(
    ("X", "y", "to"),
    [
        pytest.param(
            *(X, y, to),
            id=f"{name}-{kind}",
            marks=[pytest.mark.slow] * (kind == "sparse" and name not in ("wide", "few rows")),
        )
        for name, X, y in DEGENERATE
        for kind, to in (("dense", np.asarray), ("sparse", sparse.csr_array))
    ],
)
def test_degenerate_data_give_a_finite_kernel_model(X, y, to):
    _finite(KernelRidgeCV(), X, y, to)


def _finite(estimator, X, y, to):
    model = clone(estimator).fit(to(X), y)
    assert np.all(np.isfinite(outputs(model, to(X))))
    assert np.all(np.isfinite(model.lam_))
    assert np.isfinite(model.criterion_)
    chance = np.mean(np.abs(y - np.mean(y)) ** 2)
    if isinstance(estimator, RidgeCV):
        assert model.criterion_ <= 1.3 * chance * (1 + 2 / len(y)) + 1e-9


@pytest.mark.filterwarnings("default:lam_:UserWarning")
@pytest.mark.parametrize("widths", ["shared", "per-feature"])
def test_a_kernel_model_predicts_far_from_the_origin_as_near_it(widths):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    here = KernelRidgeCV(widths=widths).fit(X, y)
    there = KernelRidgeCV(widths=widths).fit(X + 1e8, y)
    assert there.criterion_ == pytest.approx(here.criterion_, rel=1e-3)
    np.testing.assert_allclose(there.predict(new + 1e8), here.predict(new), atol=1e-2)


def test_kernels_that_do_not_fit_are_refused_at_once(monkeypatch):
    monkeypatch.setattr("hoag.linear_model._kernel._memory", lambda: 1e6)
    X, y = np.zeros((1000, 2)), np.arange(1000.0) % 7
    with pytest.raises(ValueError, match=r"folds of 1000 rows take 0.09 GB.*Nystroem"):
        KernelRidgeCV().fit(X, y)


SCORED = [
    LogisticRegressionCV(cv=3, scoring="roc_auc"),
    LogisticRegressionCV(cv=3, scoring=["accuracy", "neg_log_loss"]),
    LogisticRegressionCV(cv=3, scoring="roc_auc", use_legacy_attributes=True),
    RidgeCV(scoring="r2"),
    RidgeCV(scoring=("r2", "neg_mean_absolute_error"), cv=3),
    RidgeCV(cv="gcv", scoring=lambda model, X, y: model.score(X, y)),
    RidgeClassifierCV(scoring="roc_auc"),
    RidgeClassifierCV(scoring="accuracy", cv=3),
    RidgeClassifierCV(cv=3),
    KernelRidgeCV(scoring="r2", cv=3, search=Hoag(max_iter=5)),
]


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("to", ["pandas", "polars"])
@pytest.mark.parametrize("estimator", SCORED)
def test_scoring_on_a_frame_says_nothing_about_names(estimator, to):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y
    frame = pytest.importorskip(to).DataFrame(dict(zip("abcdefghij", X[::4, :10].T, strict=True)))
    model = clone(estimator).fit(frame, y[::4])
    scores = vars(model).get("scores_", {})
    assert all(np.all(np.isfinite(each)) for each in scores.values())
    assert list(model.feature_names_in_) == list("abcdefghij")
    assert np.isfinite(model.score(frame, y[::4]))


def test_score_is_the_scorers_where_there_is_one():
    X, y = load_breast_cancer(return_X_y=True)
    X, weight = (X - X.mean(axis=0)) / X.std(axis=0), np.linspace(0.1, 2, len(y))
    model = LogisticRegressionCV(scoring="neg_log_loss", cv=3).fit(X, y)
    by_hand = get_scorer("neg_log_loss")(model, X, y, sample_weight=weight)
    assert model.score(X, y, weight) == by_hand
    right = model.predict(X) == y
    accuracy = LogisticRegressionCV(cv=3).fit(X, y).score(X, y, sample_weight=weight)
    assert accuracy == np.average(right, weights=weight)
    with pytest.raises(ValueError, match="takes X, y and sample_weight"):
        model.score(X, y, fold=3)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        routed = LogisticRegressionCV(scoring=scorer, cv=3).set_fit_request(sample_weight=False)
        assert routed.fit(X, y).score(X, y, sample_weight=weight) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    "estimator", [LogisticRegressionCV(), RidgeCV(), RidgeClassifierCV(), KernelRidgeCV()]
)
def test_the_html_box_links_to_a_section_of_the_docs(estimator):
    link = estimator._get_doc_link()
    assert f'href="{link}"' in estimator._repr_html_()
    page, section = link.split("#")
    text = (Path(hoag.__file__).parents[2] / page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    assert section in [heading.lower() for heading in headings]

    class Own(type(estimator)):
        """Of somebody else, who has docs of their own."""

    assert Own()._get_doc_link() == ""


SMALL_COLUMNS = [LogisticRegressionCV(cv=3), RidgeCV(cv=3), RidgeCV()]


@pytest.mark.filterwarnings("default:lam_:UserWarning")
@pytest.mark.parametrize("estimator", SMALL_COLUMNS)
def test_columns_that_no_penalty_leaves_anything_of_are_named(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * np.array([1e-9, 1e9, 1e9, 1e9])
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(UserWarning, match=r"1 of 4 columns of X, .* column 0, .*scale"):
        clone(estimator).fit(X, y)
    noisy = np.where(rng.random(200) < 0.2, 1 - y, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(estimator).fit(X / X.std(axis=0) + np.array([0.0, 0.0, 1e3, 0.0]), noisy)


@pytest.mark.filterwarnings("default:lam_:UserWarning")
@pytest.mark.parametrize("estimator", SMALL_COLUMNS)
def test_a_column_that_rounding_has_eaten_is_named(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + np.array([0.0, 1e15, 0.0])
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    with pytest.warns(UserWarning, match=r"Column 1 of X varies by no more than rounding"):
        clone(estimator).fit(X, y)


@pytest.mark.parametrize("model", [hoag.RidgeCV, hoag.HuberRegressorCV, hoag.PoissonRegressorCV])
def test_a_callable_that_is_no_scorer_is_named(model):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"scoring=<built-in function repr> failed .*make_scorer"):
        model(scoring=repr, cv=2).fit(X, y)
