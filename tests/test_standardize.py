"""standardize=True: columns scaled by the training rows of each fold, as a pipeline does it."""

from __future__ import annotations

import warnings
from functools import reduce

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hoag
from hoag import glm, testing
from hoag._criteria.wrapped import Rescaled
from hoag._data.columns import MeanSquares
from hoag._glm.folds import linear_folds
from hoag._glm.rows import ScaledRows
from hoag._glm.spreads import (
    FoldSpreads,
    cell_penalties,
    column_scales,
    joined,
    of_cells,
    spreads,
)
from hoag._glm.targets import binary, regression
from hoag.errors import InvalidInputError

FORMS = {"dense": np.asarray, "sparse": sparse.csr_matrix}


def table(n=90, p=6, seed=0):
    """Columns of very different scale, half of them skewed, so that spreads differ by fold."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-3, 3, p) + rng.normal(size=p)
    X[:, ::2] = rng.lognormal(sigma=1.5, size=(n, (p + 1) // 2))
    X[rng.random((n, p)) < 0.4] = 0.0
    z = (X / X.std(axis=0)) @ (rng.normal(size=p) / np.sqrt(p))
    return X, z + rng.normal(size=n), rng


def targets(name, z, rng):
    """A y for every estimator, from numbers."""
    n = z.size
    z = (z - z.mean()) / z.std()
    return {
        "ridge": z,
        "huber": z + 0.2 * rng.standard_t(2, n),
        "quantile": z,
        "two": (z > 0).astype(int),
        "three": np.digitize(z, [-0.5, 0.5]),
        "counts": rng.poisson(np.exp(0.5 * z)).astype(float),
        "positive": np.exp(0.5 * z) * rng.gamma(3.0, size=n),
        "survival": np.column_stack([rng.exponential(np.exp(-z)), rng.random(n) < 0.8]),
    }[name]


ESTIMATORS = {
    "ridge": (hoag.RidgeCV, "ridge"),
    "ridge classifier": (hoag.RidgeClassifierCV, "three"),
    "logistic": (hoag.LogisticRegressionCV, "two"),
    "multinomial": (hoag.LogisticRegressionCV, "three"),
    "huber": (hoag.HuberRegressorCV, "huber"),
    "quantile": (hoag.QuantileRegressorCV, "quantile"),
    "poisson": (hoag.PoissonRegressorCV, "counts"),
    "gamma": (hoag.GammaRegressorCV, "positive"),
    "tweedie": (hoag.TweedieRegressorCV, "positive"),
    "svc": (hoag.LinearSVCCV, "three"),
    "ordinal": (hoag.OrdinalLogisticCV, "three"),
    "cox": (hoag.CoxRegressionCV, "survival"),
}


def splits_of(y, folds=3):
    by = y if y.ndim == 1 and np.unique(y).size <= 3 else np.zeros(len(y))
    return list(StratifiedKFold(folds, shuffle=True, random_state=0).split(by, by))


def standardised(X, train, weights, mean=True):
    """All rows as the scaler of some of them has them."""
    scaler = StandardScaler(with_mean=mean).fit(X[train], sample_weight=weights[train])
    return scaler.transform(X)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalties", ["shared", "per-feature"])
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_regression_is_that_of_the_pipeline(form, weighted, penalties, intercept):
    X, y, rng = table()
    weights = rng.uniform(0.2, 3, y.size) if weighted else np.ones(y.size)
    cv = list(KFold(4, shuffle=True, random_state=1).split(X))
    model = hoag.RidgeCV(
        cv=cv, standardize=True, penalties=penalties, fit_intercept=intercept, tol=1e-6
    ).fit(FORMS[form](X), y, sample_weight=weights if weighted else None)

    def fitted(rows):
        Z = standardised(X, rows, weights, intercept) / np.sqrt(model.alpha_)
        plain = Ridge(1.0, fit_intercept=intercept, solver="svd")
        return plain.fit(Z[rows], y[rows], sample_weight=weights[rows]).predict(Z)

    lost = [weights[test] @ (y[test] - fitted(train)[test]) ** 2 for train, test in cv]
    np.testing.assert_allclose(model.criterion_, sum(lost) / weights.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), fitted(np.arange(y.size)), rtol=1e-8, atol=1e-9)
    again = model.criterion_at(model.lam_, FORMS[form](X), y, sample_weight=weights)
    np.testing.assert_allclose(again, model.criterion_, rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalties", ["shared", "per-feature"])
@pytest.mark.parametrize("classes", ["two", "three"])
def test_logistic_regression_is_that_of_the_pipeline(form, weighted, penalties, classes):
    X, z, rng = table(120, 4)
    y = targets(classes, z, rng)
    weights = rng.uniform(0.2, 3, y.size) if weighted else np.ones(y.size)
    cv = splits_of(y)
    model = hoag.LogisticRegressionCV(cv=cv, standardize=True, penalties=penalties, tol=1e-5)
    model.fit(FORMS[form](X), y, sample_weight=weights if weighted else None)

    def fitted(rows):
        Z = standardised(X, rows, weights) * np.sqrt(model.C_)
        plain = LogisticRegression(C=1.0, tol=1e-10, max_iter=10000, solver="newton-cg")
        return plain.fit(Z[rows], y[rows], sample_weight=weights[rows]).predict_proba(Z)

    lost = [-weights[test] @ np.log(fitted(train)[test, y[test]]) for train, test in cv]
    np.testing.assert_allclose(model.criterion_, sum(lost) / weights.sum(), rtol=1e-6)
    whole = fitted(np.arange(y.size))
    np.testing.assert_allclose(model.predict_proba(X), whole, atol=1e-5)
    plain = model.to_sklearn()  # in the units of X
    np.testing.assert_allclose(plain.predict_proba(X), whole, atol=1e-5)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalties", ["shared", "per-feature"])
def test_every_estimator_is_that_of_columns_scaled_fold_by_fold(name, form, weighted, penalties):
    """The same estimator on arrays that StandardScaler made of the training rows of each fold."""
    kind, read = ESTIMATORS[name]
    X, z, rng = table(80, 4, seed=1)
    y = targets(read, z, rng)
    weights = rng.uniform(0.3, 3, z.size) if weighted else np.ones(z.size)
    cv = splits_of(y) if y.ndim == 1 else list(KFold(3).split(X))
    options = {"penalties": penalties, "tol": 1e-3}
    model = kind(cv=cv, standardize=True, **options).fit(FORMS[form](X), y, sample_weight=weights)

    def lost(train, test):
        Z, alone = standardised(X, train, weights), kind(cv=[(train, test)], **options)
        return alone.criterion_at(model.lam_, Z, y, sample_weight=weights)

    judged = weights if y.ndim == 1 else weights * y[:, 1]  # Cox regression: events
    share = [judged[test].sum() / judged.sum() for _, test in cv]
    expected = np.dot(share, [lost(*split) for split in cv])
    np.testing.assert_allclose(model.criterion_, expected, rtol=1e-6)
    at_it = kind(cv=cv, bounds=(model.lam_, model.lam_ + 1e-9), **options)
    Z = standardised(X, np.arange(z.size), weights)
    with pytest.warns(UserWarning, match="bound"):
        at_it.fit(Z, y, sample_weight=weights)
    scores = model.decision_function if "decision_function" in dir(kind) else model.predict
    others = at_it.decision_function if "decision_function" in dir(kind) else at_it.predict
    found, expected = scores(X), others(Z)
    if y.ndim == 2:  # the baseline takes up the mean
        found, expected = found - found.mean(), expected - expected.mean()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_grid_search_over_the_pipeline_finds_the_same_score():
    X, y, _ = table()
    model = hoag.RidgeCV(cv=KFold(5), standardize=True).fit(X, y)
    pipe = make_pipeline(StandardScaler(), Ridge(solver="svd"))
    grid = model.alpha_ * np.array([0.5, 1.0, 2.0])
    search = GridSearchCV(pipe, {"ridge__alpha": grid}, cv=5, scoring="neg_mean_squared_error")
    search.fit(X, y)
    assert search.best_params_["ridge__alpha"] == model.alpha_
    leaky = hoag.RidgeCV(cv=KFold(5)).criterion_at(model.lam_, StandardScaler().fit_transform(X), y)
    assert abs(leaky / model.criterion_ - 1) > 1e-3  # held-out rows have a part in their scales
    np.testing.assert_allclose(model.criterion_, -search.best_score_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), search.predict(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("cv", [4, None])
@pytest.mark.parametrize("penalties", ["shared", [0, 0, 1, 1, 2, 2]])
def test_the_units_of_columns_do_not_matter(cv, penalties):
    X, y, rng = table()
    c = 10.0 ** rng.uniform(-4, 4, X.shape[1])
    one, other = (
        hoag.RidgeCV(cv=cv, standardize=True, penalties=penalties).fit(rows, y)
        for rows in (X, X * c)
    )
    np.testing.assert_allclose(other.lam_, one.lam_, atol=1e-6)
    np.testing.assert_allclose(other.criterion_, one.criterion_, rtol=1e-10)
    np.testing.assert_allclose(other.predict(X * c), one.predict(X), rtol=1e-6)
    np.testing.assert_allclose(other.coef_ * c, one.coef_, rtol=1e-5)
    np.testing.assert_array_equal(other.plateaus_, one.plateaus_)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", [True, False])
def test_constant_columns_have_scale_one(form, intercept):
    """Constant among all rows, or among the training rows of a fold."""
    X, y, _ = table(60)
    X[:, 1], X[20:, 3], X[:20, 4] = 0.3, 0.0, 7.0
    X[20:, 5], X[:20, 5] = 0.1, np.linspace(0, 1, 20)  # among those of the first fold, not 0
    cv, ones = list(KFold(3).split(X)), np.ones(60)
    model = hoag.RidgeCV(cv=cv, standardize=True, fit_intercept=intercept).fit(FORMS[form](X), y)
    lost = 0.0
    for train, test in cv:
        Z = standardised(X, train, ones, intercept)
        plain = Ridge(model.alpha_, fit_intercept=intercept, solver="svd")
        plain.fit(Z[train], y[train])
        lost += np.sum((y[test] - plain.predict(Z[test])) ** 2)
    np.testing.assert_allclose(model.criterion_, lost / 60, rtol=1e-9)
    if intercept:
        assert model.coef_[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cv", [None, "gcv", "aic", "reml"])
def test_without_folds_the_scales_are_those_of_all_rows(cv, form):
    X, y, rng = table()
    weights = rng.uniform(0.5, 2, y.size)
    Z = standardised(X, np.arange(y.size), weights)
    one = hoag.RidgeCV(cv=cv, standardize=True).fit(FORMS[form](X), y, sample_weight=weights)
    there = hoag.RidgeCV(cv=cv).criterion_at(one.lam_, Z, y, sample_weight=weights)
    np.testing.assert_allclose(one.criterion_, there, rtol=1e-9)
    plain = Ridge(one.alpha_, solver="svd").fit(Z, y, sample_weight=weights)
    np.testing.assert_allclose(one.predict(X), plain.predict(Z), rtol=1e-8, atol=1e-9)


def test_approximate_leave_one_out_too():
    X, z, rng = table()
    y = targets("two", z, rng)
    Z = standardised(X, np.arange(y.size), np.ones(y.size))
    one = hoag.LogisticRegressionCV(cv="alo", standardize=True).fit(X, y)
    other = hoag.LogisticRegressionCV(cv="alo").fit(Z, y)
    np.testing.assert_allclose(one.criterion_, other.criterion_, rtol=1e-6)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(Z), atol=1e-4)


def test_the_weights_of_classes_do_not_scale_columns():
    """As in a pipeline, where the scaler knows nothing of class_weight."""
    X, z, rng = table(100, 4)
    y = targets("two", z - 1.0, rng)
    cv = splits_of(y)
    options = {"cv": cv, "class_weight": {0: 1.0, 1: 6.0}}
    model = hoag.LogisticRegressionCV(standardize=True, **options).fit(X, y)
    lost, judged = 0.0, np.where(y == 1, 6.0, 1.0)
    for train, test in cv:
        Z = standardised(X, train, np.ones(y.size))
        plain = LogisticRegression(C=model.C_, tol=1e-10, solver="newton-cg")
        plain.fit(Z[train], y[train], sample_weight=judged[train])
        lost -= judged[test] @ np.log(plain.predict_proba(Z[test])[np.arange(test.size), y[test]])
    np.testing.assert_allclose(model.criterion_, lost / judged.sum(), rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("penalties", ["shared", "groups", "per-feature"])
@pytest.mark.parametrize("name", ["ridge", "logistic", "multinomial", "ordinal", "cox"])
def test_more_columns_than_rows(form, penalties, name):
    """Each fold by itself, in the span of its own rows; penalties of their own have no span."""
    kind, read = ESTIMATORS[name]
    X, z, rng = table(30, 80, seed=2)
    y, ones = targets(read, z, rng), np.ones(30)
    groups = np.repeat([0, 1], 40) if penalties == "groups" else penalties
    cv = list(KFold(3, shuffle=True, random_state=0).split(X))
    options = {"penalties": groups, "tol": 1e-3, "max_iter": 3}
    model = kind(cv=cv, standardize=True, **options)
    with warnings.catch_warnings():  # what three steps have not reached
        warnings.simplefilter("ignore")
        model.fit(FORMS[form](X), y)
    events = ones if y.ndim == 1 else y[:, 1]
    expected = 0.0
    for train, test in cv:
        Z, alone = standardised(X, train, ones), kind(cv=[(train, test)], **options)
        expected += alone.criterion_at(model.lam_, Z, y) * events[test].sum() / events.sum()
    tight = model.criterion_at(model.lam_, FORMS[form](X), y)
    np.testing.assert_allclose(tight, expected, rtol=1e-6)
    np.testing.assert_allclose(model.criterion_, expected, rtol=options["tol"])


def test_two_wide_groups_are_written_in_the_span_of_the_rows():
    X, y, _ = table(20, 60, seed=3)
    model = hoag.RidgeCV(cv=4, standardize=True, penalties=np.repeat([0, 1], 30)).fit(X, y)
    assert model.result_.converged
    assert model.lam_.shape == (2,)
    whole = np.arange(20)
    Z = standardised(X, whole, np.ones(20)) / np.sqrt(np.repeat(model.alpha_, 30))
    np.testing.assert_allclose(
        model.predict(X), Ridge(1.0, solver="svd").fit(Z, y).predict(Z), rtol=1e-4, atol=1e-4
    )


def test_many_columns_go_by_a_small_space():
    """Sparse rows of 400 columns: each fold's own space, of columns that it scales."""
    rng = np.random.default_rng(0)
    X = sparse.random(500, 400, 0.03, "csr", random_state=rng) @ sparse.diags(
        10.0 ** rng.uniform(-2, 2, 400)
    )
    X = X.tocsr()
    dense = X.toarray()
    z = (dense / np.maximum(dense.std(axis=0), 1e-9)) @ rng.normal(size=400) / 10
    y = (z + rng.logistic(size=500) > 0).astype(int)
    cv = splits_of(y)
    model = hoag.LogisticRegressionCV(cv=cv, standardize=True, bounds=(0.0, 6.0)).fit(X, y)
    lost, ones = 0.0, np.ones(500)
    for train, test in cv:
        Z = standardised(X, train, ones, mean=False)
        plain = LogisticRegression(C=model.C_, tol=1e-8, max_iter=1000)
        plain.fit(Z[train], y[train])
        lost -= np.sum(np.log(plain.predict_proba(Z[test])[np.arange(test.size), y[test]]))
    np.testing.assert_allclose(model.criterion_, lost / 500, rtol=1e-3)


def test_tall_rows():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(8000, 28)) * 10.0 ** rng.uniform(-2, 2, 28)
    y = (np.log(X) @ rng.normal(size=28) / 20 + rng.logistic(size=8000) > 0).astype(int)
    cv = splits_of(y)
    model = hoag.LogisticRegressionCV(cv=cv, standardize=True).fit(X, y)
    lost, ones = 0.0, np.ones(8000)
    for train, test in cv:
        Z = standardised(X, train, ones)
        plain = LogisticRegression(C=model.C_, tol=1e-8, solver="newton-cholesky")
        plain.fit(Z[train], y[train])
        lost -= np.sum(np.log(plain.predict_proba(Z[test])[np.arange(test.size), y[test]]))
    np.testing.assert_allclose(model.criterion_, lost / 8000, rtol=1e-5)


@pytest.mark.parametrize("penalties", ["shared", "per-feature", "per-target", "per-coefficient"])
def test_several_targets(penalties):
    X, y, _ = table()
    Y = np.column_stack([y, np.roll(y, 1), X[:, 1] + y])
    cv = list(KFold(3).split(X))
    model = hoag.RidgeCV(cv=cv, standardize=True, penalties=penalties, tol=1e-3).fit(X, Y)
    alpha = np.asarray(model.alpha_)
    alpha = alpha[:, None] if penalties == "per-target" else alpha
    alpha = np.broadcast_to(alpha, (3, X.shape[1]))
    lost = 0.0
    for train, test in cv:
        Z = standardised(X, train, np.ones(len(y)))
        for own, column in zip(alpha, Y.T, strict=True):
            plain = Ridge(1.0, solver="svd").fit(Z[train] / np.sqrt(own), column[train])
            lost += np.sum((column[test] - plain.predict(Z[test] / np.sqrt(own))) ** 2)
    np.testing.assert_allclose(model.criterion_, lost / Y.size, rtol=1e-6)


def test_rules_scores_paths_and_intervals_are_those_of_the_standardised_folds():
    X, y, _ = table()
    cv = list(KFold(5).split(X))
    model = hoag.RidgeCV(cv=cv, standardize=True, rule="1se", scoring="r2").fit(X, y)
    least = hoag.RidgeCV(cv=cv, standardize=True).fit(X, y)
    assert model.lam_[0] > least.lam_[0]
    assert model.lam_min_ == pytest.approx(least.lam_)
    np.testing.assert_array_equal(model.lam_interval_, least.lam_interval_)
    np.testing.assert_allclose(model.criterion_at(model.lam_, X, y), model.criterion_, rtol=1e-9)
    for (train, test), score in zip(cv, model.scores_["r2"], strict=True):
        pipe = make_pipeline(StandardScaler(), Ridge(model.alpha_, solver="svd"))
        assert pipe.fit(X[train], y[train]).score(X[test], y[test]) == pytest.approx(score)
    along = least.path(X, y, points=3)
    assert along.loss[1] == pytest.approx(least.criterion_, rel=1e-6)
    mean = hoag.RidgeCV(cv=cv, standardize=True, refit=False).fit(X, y)
    coefs = [
        Ridge(mean.alpha_, solver="svd").fit(StandardScaler().fit_transform(X[train]), y[train])
        .coef_ / StandardScaler().fit(X[train]).scale_
        for train, _ in cv
    ]  # fmt: skip
    np.testing.assert_allclose(mean.coef_, np.mean(coefs, axis=0), rtol=1e-7)


def weighted_models(name, X, y, penalties="shared", cv=None):
    """The folds of a model whose penalties have weights of their own."""
    rows = glm.ArrayRows(X)
    cv = list(KFold(4).split(X)) if cv is None else cv
    target = binary(y > 0, None, True) if name == "logistic" else regression(y, True)
    standard = FoldSpreads(np.ones(len(y)), 1.0, np.ones(X.shape[1]))
    return linear_folds(rows, target, cv, np.ones(len(y)), penalties, standard=standard)


@pytest.mark.parametrize("name", ["ridge", "logistic"])
@pytest.mark.parametrize("penalties", ["shared", "per-feature"])
@pytest.mark.parametrize("shape", [(60, 4), (12, 30)])
def test_criteria_agree_with_solving_each_fold(name, penalties, shape):
    """f, p and ∇²f by what is chosen for weighted penalties, and by the plain problems."""
    X, y, _ = table(*shape)
    X = X / X.std(axis=0)
    models = weighted_models(name, X, y - np.median(y), penalties)
    lam = np.linspace(-1, 1, models[0].lam0.size)
    chosen, plain = hoag.plan(models), hoag.plan(models, by_steps=True)
    assert isinstance(plain, hoag.criteria.Sum)
    found, known = (each.evaluate(lam, hoag.criteria.Ask(1e-9)) for each in (chosen, plain))
    np.testing.assert_allclose(found.value, known.value, rtol=1e-6)
    np.testing.assert_allclose(found.grad, known.grad, rtol=1e-5, atol=1e-6 * known.value)
    settled = chosen.verify(found, 1e-9)
    np.testing.assert_allclose(settled.value, known.value, rtol=1e-6)
    ours, theirs = chosen.solution(settled)[0], plain.solution(plain.verify(known, 1e-9))[0]
    for x, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, other, atol=1e-4 * np.abs(other).max())


def test_looks_along_axes_know_the_weights():
    X, y, _ = table()
    X = X / X.std(axis=0)
    for name in ("ridge", "logistic"):
        criterion = hoag.plan(weighted_models(name, X, y - np.median(y), "per-feature"))
        lam = np.full(6, 1.0)
        found = criterion.evaluate(lam, hoag.criteria.Ask(0.0, hessian=True))
        places = lam[:, None] + np.array([-1e-3, 1e-3])
        along = criterion.profile(found, places)[0]
        for j in range(6):
            for place, value in zip(places[j], along[j], strict=True):
                moved = lam.copy()
                moved[j] = place
                exact = criterion.value(moved).value
                assert value == pytest.approx(exact, rel=1e-9 if name == "ridge" else 1e-6)
                model = (
                    found.value
                    + found.grad[j] * (place - 1)
                    + (0.5 * found.hessian[j, j] * (place - 1) ** 2)
                )
                assert model == pytest.approx(exact, rel=1e-8)


def test_wide_folds_are_seen_in_their_own_units():
    X, y, _ = table(12, 30)
    criterion = hoag.plan(weighted_models("ridge", X / X.std(axis=0), y))
    assert all(isinstance(part, Rescaled) for part in criterion.criteria)


def test_a_split_that_is_alone_and_rows_drawn_at_random():
    X, y, _ = table()
    for cv in (ShuffleSplit(1, random_state=0), ShuffleSplit(7, test_size=0.4, random_state=0)):
        cv = list(cv.split(X))
        model = hoag.RidgeCV(cv=cv, standardize=True).fit(X, y)
        lost = []
        for train, test in cv:
            pipe = make_pipeline(StandardScaler(), Ridge(model.alpha_, solver="svd"))
            lost.append((y[test] - pipe.fit(X[train], y[train]).predict(X[test])) ** 2)
        np.testing.assert_allclose(model.criterion_, np.concatenate(lost).mean(), rtol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_rows_with_scaled_columns(form):
    X, _, _ = table(40, 5)
    base = glm.ArrayRows(FORMS[form](X), 0.5)
    scale = np.linspace(1, 3, 5)
    rows = ScaledRows(ScaledRows(base, np.sqrt(scale)), np.sqrt(scale))
    testing.check_rows(rows)
    np.testing.assert_allclose(rows.dense(), 0.5 * X * scale)
    np.testing.assert_allclose(rows.take(np.array([3, 1])).dense(), 0.5 * X[[3, 1]] * scale)
    seen = np.concatenate([
        np.asarray(part.todense() if sparse.issparse(part) else part)
        for part in (rows.standardiser.of(block) for _, block in rows.kept())
    ])  # fmt: skip
    np.testing.assert_allclose(seen, rows.dense())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("away", [0.0, 1e6])
def test_spreads_keep_their_digits_far_from_zero(form, away):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) + away
    X[:, 2] = away + 0.1
    S = rng.integers(0, 3, size=(50, 4)).astype(float)
    found, varies = spreads(glm.ArrayRows(FORMS[form](X)), S)
    for k, own in enumerate(S.T):
        mean = np.average(X[:, :2], axis=0, weights=own)
        expected = np.sqrt(np.average((X[:, :2] - mean) ** 2, axis=0, weights=own))
        np.testing.assert_allclose(found[k, :2], expected, rtol=1e-9)
    assert np.all(varies == [True, True, False])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("absorbed", [True, False])
@pytest.mark.parametrize("away", [0.0, 1e3])
def test_spreads_of_pieces_are_those_of_all_rows(form, absorbed, away):
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(60, 4)) * [1e-3, 1.0, 1e3, 1.0] + (away if form == "dense" else 0.0)
    labels, weights = rng.integers(-1, 3, 60), rng.uniform(0, 2, 60)
    X[:, 3], X[labels == 0, 3] = 0.7, np.linspace(0, 1, int(np.sum(labels == 0)))
    partitions = [slice(0, 10), slice(10, 11), slice(11, 60)]
    parts = [of_cells(FORMS[form](X[own]), weights[own], labels[own], 3) for own in partitions]
    cells = reduce(MeanSquares.plus, parts)
    train = ~np.eye(3, dtype=bool)
    drawn = np.stack([np.isin(labels, np.flatnonzero(some)) for some in train], axis=1) * 1.0
    rows, scales = glm.ArrayRows(FORMS[form](X)), StandardScaler().fit(X, None, weights).scale_
    found = column_scales(joined(cells, np.ones(4, dtype=bool)))
    np.testing.assert_allclose(found, scales, rtol=1e-9)
    constant = np.ones(4) if absorbed else 1 / scales
    expected = FoldSpreads(weights, 1.0, constant).penalties(ScaledRows(rows, 1 / scales), drawn)
    own = cell_penalties(cells, found, train, absorbed)
    np.testing.assert_allclose(own, expected, rtol=1e-7)


def test_what_cannot_be_standardised_is_refused():
    X, y, _ = table()
    some = hoag.penalties.quadratic([(slice(0, 3), np.ones(3))], names=["level"])
    with pytest.raises(InvalidInputError, match="standardize=True: it is for penalties on single"):
        hoag.RidgeCV(cv=3, standardize=True, penalties=some).fit(X, y)
    with pytest.raises(InvalidInputError, match="standardize='yes'"):
        hoag.RidgeCV(cv=3, standardize="yes").fit(X, y)
