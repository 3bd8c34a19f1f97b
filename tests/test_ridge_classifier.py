"""RidgeClassifierCV: ±1 for each class, tuned by leave-one-out in closed form, or by folds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import load_iris, make_classification, make_multilabel_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from hoag import RidgeClassifierCV
from hoag.errors import InvalidInputError

TWO = make_classification(80, 6, n_informative=4, flip_y=0.2, random_state=0)
THREE = load_iris(return_X_y=True)
LABELS = make_multilabel_classification(80, 6, n_classes=3, random_state=0)
DATA = {"two classes": TWO, "three": THREE, "labels": LABELS}


def codes(y):
    """±1, one column a class or label; one for two classes."""
    if y.ndim == 2:
        return 2.0 * y - 1
    classes = np.unique(y)
    columns = classes[1:] if classes.size == 2 else classes
    return np.where(y[:, None] == columns, 1.0, -1.0)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("cv", [None, 4])
def test_the_model_is_scikit_learns_at_the_same_alpha(name, to, intercept, cv):
    X, y = DATA[name]
    weight = np.linspace(0.5, 2, len(y))
    ours = RidgeClassifierCV(cv=cv, fit_intercept=intercept)
    ours.fit(to(X), y, sample_weight=weight)
    plain = RidgeClassifier(alpha=ours.alpha_, fit_intercept=intercept, solver="lsqr", tol=1e-12)
    plain.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, np.squeeze(plain.coef_), atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, plain.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))
    assert ours.score(X, y) == plain.score(X, y)
    again = ours.to_sklearn()
    np.testing.assert_array_equal(again.predict(X), ours.predict(X))
    np.testing.assert_array_equal(again.classes_, ours.classes_)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("cv", [None, StratifiedKFold(4, shuffle=True, random_state=0)])
def test_the_criterion_is_the_mean_squared_error_of_held_out_rows(name, cv):
    X, y = DATA[name]
    if cv is not None and y.ndim == 2:
        cv = list(cv.split(X, y[:, 0]))
    ours = RidgeClassifierCV(cv=cv).fit(X, y)
    Y, errors = codes(y), []
    splits = LeaveOneOut() if cv is None else cv
    for train, test in splits if isinstance(splits, list) else splits.split(X, y):
        mean, level = X[train].mean(axis=0), Y[train].mean(axis=0)
        A, B = X[train] - mean, Y[train] - level
        W = np.linalg.solve(A.T @ A + ours.alpha_ * np.eye(X.shape[1]), A.T @ B)
        errors.append(((Y[test] - level - (X[test] - mean) @ W) ** 2).ravel())
    np.testing.assert_allclose(ours.criterion_, np.mean(np.concatenate(errors)), rtol=1e-6)
    for step in (-0.3, 0.3):
        assert ours.criterion_at(ours.lam_ + step, X, y) >= ours.criterion_


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss"])
def test_scorers_judge_rows_left_out(scoring):
    X, y = TWO
    if scoring == "neg_log_loss":
        with pytest.raises((AttributeError, ValueError), match="predict_proba"):
            RidgeClassifierCV(scoring=scoring).fit(X, y)
        return
    ours = RidgeClassifierCV(scoring=scoring).fit(X, y)
    values = np.empty(len(y))
    for train, test in LeaveOneOut().split(X):
        plain = RidgeClassifier(alpha=ours.alpha_).fit(X[train], y[train])
        values[test] = plain.decision_function(X[test])
    score = np.mean((values > 0) == y) if scoring == "accuracy" else None
    if score is None:
        positive, negative = values[y == 1], values[y == 0]
        score = np.mean(positive[:, None] > negative)
    np.testing.assert_allclose(ours.scores_[scoring], [score], rtol=1e-9)
    np.testing.assert_allclose(ours.best_score_, score, rtol=1e-9)
    folds = RidgeClassifierCV(scoring=scoring, cv=4).fit(X, y)
    by_hand = []
    for train, test in StratifiedKFold(4).split(X, y):
        plain = RidgeClassifier(alpha=folds.alpha_).fit(X[train], y[train])
        by_hand.append(get_scorer(scoring)(plain, X[test], y[test]))
    np.testing.assert_allclose(folds.scores_[scoring], by_hand, rtol=1e-9)


@pytest.mark.parametrize("penalties", ["per-class", "per-feature", "per-coefficient"])
def test_finer_penalties_fit_the_criterion_better(penalties):
    X, y = THREE
    one, many = RidgeClassifierCV().fit(X, y), RidgeClassifierCV(penalties=penalties).fit(X, y)
    assert many.criterion_ <= one.criterion_
    shape = {"per-class": (3,), "per-feature": (4,), "per-coefficient": (3, 4)}
    assert np.shape(many.alpha_) == shape[penalties]


@pytest.mark.filterwarnings("default:lam_:UserWarning")
def test_a_class_weight_is_rows_repeated():
    X, y = TWO
    folds = list(StratifiedKFold(4).split(X, y))
    weighted = RidgeClassifierCV(class_weight={0: 1, 1: 3}, cv=folds).fit(X, y)
    times = np.where(y == 1, 3, 1)
    rows = np.repeat(np.arange(len(y)), times)
    again = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    repeated = RidgeClassifierCV(cv=again).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.lam_, repeated.lam_, atol=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_a_fold_without_one_of_the_classes():
    X, y = THREE
    splits = [
        (np.flatnonzero(y != 2), np.flatnonzero(y == 2)),
        (np.arange(150), np.arange(0, 150, 3)),
    ]
    ours = RidgeClassifierCV(cv=splits).fit(X, y)
    assert np.isfinite(ours.criterion_)
    assert set(ours.predict(X)) == {0, 1, 2}


def test_it_says_what_is_wrong():
    X, y = TWO
    assert is_classifier(RidgeClassifierCV())
    with pytest.raises(InvalidInputError, match="only one class"):
        RidgeClassifierCV().fit(X, np.zeros(80))
    with pytest.raises(InvalidInputError, match="only one class has a positive weight"):
        RidgeClassifierCV().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="continuous"):
        RidgeClassifierCV().fit(X, X[:, 0])
