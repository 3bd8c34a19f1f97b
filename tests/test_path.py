"""Paths of penalties: what the one-standard-error rule and scores choose, computed another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import scale

import hoag
from hoag.errors import InvalidInputError

CANCER = load_breast_cancer(return_X_y=True)
X, y = scale(CANCER[0]), CANCER[1]


def fold_losses(C):
    """The mean held-out log loss of every fold, by scikit-learn, and the folds' sizes."""
    losses, sizes = [], []
    for train, test in StratifiedKFold(5).split(X, y):
        model = LogisticRegression(C=C, tol=1e-10, max_iter=10000).fit(X[train], y[train])
        losses.append(log_loss(y[test], model.predict_proba(X[test])))
        sizes.append(test.size)
    return np.array(losses), np.array(sizes)


def test_the_rule_takes_the_strongest_penalty_within_one_standard_error():
    best = hoag.LogisticRegressionCV().fit(X, y)
    ruled = hoag.LogisticRegressionCV(rule="1se").fit(X, y)
    np.testing.assert_allclose(ruled.lam_min_, best.lam_)
    assert ruled.lam_ > best.lam_ + 0.5
    assert pytest.approx(np.exp(-ruled.lam_[0])) == ruled.C_
    losses, sizes = fold_losses(best.C_)
    share = sizes / sizes.sum()
    least = share @ losses
    error = np.sqrt(share @ (losses - least) ** 2 / 4)
    assert least == pytest.approx(best.criterion_, rel=1e-4)
    there, _ = fold_losses(ruled.C_)
    assert share @ there == pytest.approx(ruled.criterion_, rel=1e-4)
    assert ruled.criterion_ == pytest.approx(least + error, rel=3e-3)
    above, _ = fold_losses(ruled.C_ * np.exp(-0.03))
    assert share @ above > least + error
    plain = LogisticRegression(C=ruled.C_, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ruled.coef_, plain.coef_, atol=1e-4)
    assert "rule='1se'" in str(ruled.result_.status)
    assert ruled.result_.cost.passes + ruled.result_.cost.grams > best.result_.cost.grams


@pytest.mark.parametrize(
    "model",
    [
        hoag.RidgeCV(),
        hoag.RidgeCV(cv=4),
        hoag.RidgeCV(cv=4, penalties="per-feature"),
        hoag.RidgeCV(penalties="per-feature"),
        hoag.KernelRidgeCV(cv=4),
    ],
    ids=["left out", "folds", "several", "several left out", "kernel"],
)
def test_every_estimator_has_the_rule_and_moves_its_penalties_together(model):
    data, target = (part[:200] for part in load_diabetes(return_X_y=True))
    model.set_params(rule="1se").fit(data, target)
    moved = model.lam_ - model.lam_min_
    assert moved.max() > 0.1
    if isinstance(model, hoag.KernelRidgeCV):
        assert moved[0] == 0  # the width
    else:
        assert np.all(np.isclose(moved, moved.max()) | (moved < moved.max()))  # or at the bound
        assert moved.min() >= 0
    least = model.criterion_at(model.lam_min_, data, target)
    assert least < model.criterion_
    assert model.criterion_at(model.lam_, data, target) == pytest.approx(model.criterion_, rel=1e-3)


def test_the_rule_on_sparse_rows_says_what_it_costs():
    rng = np.random.default_rng(0)
    A = sparse.random(300, 2000, density=0.02, random_state=0, format="csr")
    z = A[:, :50] @ rng.normal(size=50) * 5
    target = (z + 0.3 * rng.normal(size=300) > 0).astype(int)
    model = hoag.LogisticRegressionCV(rule="1se").fit(A, target)
    again = model.criterion_at(model.lam_, A, target)
    assert again == pytest.approx(model.criterion_, rel=1e-3)
    assert model.lam_ > model.lam_min_


def test_one_split_has_no_standard_error():
    model = hoag.LogisticRegressionCV(rule="1se", cv=ShuffleSplit(1, random_state=0))
    with pytest.raises(InvalidInputError, match="needs the losses of two folds"):
        model.fit(X, y)


def test_scores_select_among_the_penalties_of_a_path():
    model = hoag.LogisticRegressionCV(select="scoring", scoring="roc_auc").fit(X, y)
    table = model.cv_results_
    best = int(np.argmax(table["mean_test_score"]))
    assert table["mean_test_score"].max() == table["mean_test_score"][best]
    np.testing.assert_allclose(model.scores_["roc_auc"].mean(), table["mean_test_score"].max())
    assert table["rank_test_score"][best] == 1
    np.testing.assert_allclose(table["mean_test_score"], np.mean(
        [table[f"split{k}_test_score"] for k in range(5)], axis=0))  # fmt: skip
    for place in (0, best, -1):
        C, scores = np.exp(-table["lam"][place, 0]), []
        for train, test in StratifiedKFold(5).split(X, y):
            plain = LogisticRegression(C=C, tol=1e-9, max_iter=10000).fit(X[train], y[train])
            scores.append(roc_auc_score(y[test], plain.decision_function(X[test])))
        assert table["mean_test_score"][place] == pytest.approx(np.mean(scores), abs=2e-4)
    assert model.criterion_ >= hoag.LogisticRegressionCV().fit(X, y).criterion_ * (1 - 1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "2se"}, "rule='2se': use 'best' or '1se'"),
        ({"select": "score"}, "select='score': use"),
        ({"select": "scoring"}, "needs one scorer"),
        ({"select": "scoring", "scoring": ["accuracy", "roc_auc"]}, "needs one scorer"),
        ({"select": "scoring", "scoring": "accuracy", "rule": "1se"}, "rule='best'"),
    ],
)
def test_what_cannot_be_chosen_by_is_said(options, message):
    with pytest.raises(InvalidInputError, match=message):
        hoag.LogisticRegressionCV(**options).fit(X, y)


def test_a_path_is_what_other_code_computes():
    data, target = load_diabetes(return_X_y=True)
    model = hoag.RidgeCV(cv=KFold(3)).fit(data, target)
    path = model.path(data, target, around=2.0, points=5)
    np.testing.assert_allclose(path.shift, [-2, -1, 0, 1, 2])
    for place, lam in enumerate(path.lam[:, 0]):
        losses = []
        for train, test in KFold(3).split(data):
            plain = Ridge(np.exp(lam)).fit(data[train], target[train])
            losses.append(np.mean((target[test] - plain.predict(data[test])) ** 2))
        np.testing.assert_allclose(path.folds[place], losses, rtol=1e-6)
    np.testing.assert_allclose(path.loss, path.folds @ path.weights / path.weights.sum())
    assert path.loss[2] == pytest.approx(model.criterion_)
    assert path.coef.shape == (5, 10)
    assert np.all(np.diff(np.linalg.norm(path.coef, axis=1)) < 0)  # the stronger, the smaller
    assert path.standard_error.shape == (5,)


def test_a_path_of_several_classes_and_of_one_split():
    data, target = load_iris(return_X_y=True)
    target[::4] = np.random.default_rng(0).permutation(target[::4])
    model = hoag.LogisticRegressionCV(cv=ShuffleSplit(1, random_state=0)).fit(data, target)
    path = model.path(data, target, around=1.0, points=3)
    assert path.folds is None
    assert np.all(np.isnan(path.standard_error))
    assert path.coef.shape == (3, 3, 4)
    with pytest.raises(InvalidInputError, match="three points or more"):
        model.path(data, target, points=2)


def test_scores_select_the_ridge_of_a_kernel():
    data, target = (part[:150] for part in load_diabetes(return_X_y=True))
    model = hoag.KernelRidgeCV(cv=3, select="scoring", scoring="r2").fit(data, target)
    assert model.lam_[0] == model.lam_min_[0]
    best = model.cv_results_["mean_test_score"].max()
    np.testing.assert_allclose(model.scores_["r2"].mean(), best)


def test_a_scorer_may_ask_the_model_for_its_own_score():
    model = hoag.LogisticRegressionCV(scoring=lambda fitted, A, b: fitted.score(A, b)).fit(X, y)
    plain = hoag.LogisticRegressionCV(scoring="accuracy").fit(X, y)
    np.testing.assert_allclose(model.scores_["score"], plain.scores_["accuracy"])


def test_a_path_is_of_the_columns_that_were_fitted_and_prints_in_a_line():
    model = hoag.LogisticRegressionCV().fit(X, y)
    path = model.path(X, y, points=5)
    assert len(repr(path)) < 100
    assert path.weights.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="features"):
        model.path(X[:, :5], y)


def test_a_rule_that_can_move_nothing_says_so():
    model = hoag.LogisticRegressionCV(rule="1se", Cs=[1.0]).fit(X, y)
    assert model.lam_ == model.lam_min_
    assert "nothing is moved" in str(model.result_.status)
