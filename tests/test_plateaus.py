"""The words for penalties on a plateau: what they say is computed again, another way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import scale

from hoag import Box, LogisticRegressionCV, RidgeCV
from hoag.criteria import Evaluation
from hoag.linear_model._interval import plateaus
from hoag.linear_model._penalties import Groups
from hoag.optimize import Auto

GROUPS = np.repeat([0, 1], 3)
TOL = 1e-4


def strong_and_noise(seed: int = 4, n: int = 150):
    """Three columns that y is made of, and three that it has nothing to do with."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    z = X[:, :3] @ [2.0, -1.5, 1.0]
    return X, z + rng.normal(size=n), (z + rng.logistic(size=n) > 0).astype(int)


def moved(model, X, y, j, to):
    """f with λⱼ elsewhere, as a share of f away from it."""
    lam = model.lam_.copy()
    lam[j] = to
    return abs(model.criterion_at(lam, X, y) / model.criterion_ - 1)


def without_the_noise(model, X, y, splits):
    """The held-out loss of scikit-learn's model without the second group."""
    X, alpha = X[:, :3], float(np.exp(model.lam_[0]))
    if isinstance(model, LogisticRegressionCV):
        plain = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10**4)
        return log_loss(y, cross_val_predict(plain, X, y, cv=splits, method="predict_proba"))
    plain = Ridge(alpha, solver="cholesky")
    return mean_squared_error(y, cross_val_predict(plain, X, y, cv=splits))


@pytest.mark.parametrize("kind", ["logistic", "ridge", "leave-one-out"])
def test_a_group_of_noise_is_switched_off_and_the_model_is_the_one_without_it(kind):
    X, quantity, label = strong_and_noise()
    model, y, splits = {
        "logistic": (LogisticRegressionCV(penalties=GROUPS), label, StratifiedKFold(5)),
        "ridge": (RidgeCV(penalties=GROUPS, cv=KFold(5)), quantity, KFold(5)),
        "leave-one-out": (RidgeCV(penalties=GROUPS), quantity, LeaveOneOut()),
    }[kind]
    model.fit(X, y)
    assert model.plateaus_[1] == "switched off"
    assert model.plateaus_[0] != "switched off"
    assert moved(model, X, y, 1, model.lam_interval_[1, 1]) < 2 * TOL
    own = without_the_noise(model, X, y, splits)
    assert own == pytest.approx(model.criterion_, rel=2 * TOL)


@pytest.mark.filterwarnings("ignore:.*held-out loss still falls")
@pytest.mark.parametrize("cv", [5, None])
def test_a_free_penalty_may_as_well_be_at_its_lower_bound(cv):
    X, y, _ = strong_and_noise()
    model = RidgeCV(penalties=GROUPS, cv=cv, bounds=(-12, 15), tol=10 * TOL).fit(X, y)
    assert model.plateaus_[0] == "free"
    assert moved(model, X, y, 0, -12.0) < 10 * TOL


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (LogisticRegressionCV(penalties="per-feature"), load_breast_cancer),
        (RidgeCV(penalties="per-feature"), load_diabetes),
        (RidgeCV(penalties="per-feature", cv=5), load_diabetes),
        (LogisticRegressionCV(penalties="per-coefficient"), load_iris),
    ],
)
@pytest.mark.filterwarnings("ignore:.*held-out loss still falls")
def test_every_word_holds_at_the_bound_that_it_is_about(model, data):
    X, y = data(return_X_y=True)
    X = scale(X)
    model.set_params(bounds=(-12, 14)).fit(X, y)
    assert set(model.plateaus_) >= {"switched off"}
    for j, word in enumerate(model.plateaus_):
        if word:
            bound = {"switched off": 14.0, "free": -12.0}[word]
            assert moved(model, X, y, j, bound) < 2 * TOL
    coef = np.atleast_2d(model.coef_)
    flat = coef.T.ravel() if coef.size == model.lam_.size else np.abs(coef).max(axis=0)
    off = model.plateaus_ == "switched off"
    assert np.abs(flat[off]).max() < 0.01 * np.abs(coef).max() * np.sqrt(coef.size)


def word(lam=(0.0, 0.0), coef=(1.0, 1e-3), slope=0.0, ends=(-5.0, 8.0), lower=-10.0):
    """The word for the second of two penalties, whose columns have energy 1, in a box up to 8."""
    groups = Groups(np.array([[0], [1]]), np.ones(2), 0.0)
    best = Evaluation(np.array(lam), 1.0, np.array([0.0, slope]))
    both = np.array([(-1.0, 1.0), ends])
    found, _ = plateaus(groups, np.array(coef), None, Box(lower, 8.0, size=2), best, both, TOL)
    assert found[0] == ""
    return found[1]


def test_every_condition_of_a_word_counts():
    assert word() == "switched off"
    assert word(ends=(-5.0, 7.9)) == ""
    assert word(coef=(1.0, 2e-2)) == ""
    assert word(coef=(1.0, 2e-2), lam=(0.0, 5.0)) == "switched off"  # α is e⁵ times the energy
    assert word(slope=-2 * TOL) == ""
    free = {"coef": (1.0, 1.0), "ends": (-10.0, 1.0)}
    assert word(**free) == "free"
    assert word(**free | {"ends": (-9.9, 1.0)}) == ""
    assert word(**free, slope=2 * TOL) == ""
    assert word(**free | {"ends": (-3.0, 1.0)}, lower=-3.0) == ""  # a twentieth of the energy
    assert word(ends=(-10.0, 8.0)) == "switched off"
    assert word(ends=(np.nan, np.nan)) == ""


def test_of_two_equal_columns_not_both_are_switched_off():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 1))
    X = np.hstack([x, x, rng.normal(size=(120, 1))])
    y = x[:, 0] + rng.normal(size=120)
    for cv in (5, None):
        model = RidgeCV(penalties="per-feature", cv=cv).fit(X, y)
        assert list(model.plateaus_[:2]).count("switched off") < 2
        moderate = RidgeCV(penalties="per-feature", cv=cv, bounds=([2, 2, -5], [2.1, 2.1, 15]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the best value is beyond the bounds
            moderate.fit(X, y)
        np.testing.assert_array_equal(moderate.lam_interval_[:2, 1], 2.1)
        assert moderate.plateaus_[:2].tolist() == ["", ""]


def test_where_nothing_helps_everything_is_switched_off():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 4)), np.tile([1.0, -1.0], 30)
    y = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    model = RidgeCV(penalties="per-feature", cv=5).fit(X, y)
    assert set(model.plateaus_) == {"switched off"}
    assert RidgeCV(cv=5).fit(X, y).plateaus_.tolist() == ["switched off"]


def test_a_bound_that_somebody_gave_makes_no_penalty_free():
    X, y, _ = strong_and_noise()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the best value is beyond the bounds
        model = RidgeCV(penalties=GROUPS, cv=5, bounds=(3, 4)).fit(X, y)
    assert model.lam_interval_[0, 0] == 3.0
    assert model.plateaus_.tolist() == ["", ""]


def test_without_an_interval_there_is_no_word():
    X, y, _ = strong_and_noise()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RidgeCV(penalties=GROUPS, cv=5, search=Auto(time_budget=0)).fit(X, y)
    assert np.all(np.isnan(model.lam_interval_))
    assert model.plateaus_.tolist() == ["", ""]


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 99),
    features=st.integers(1, 4),
    penalties=st.sampled_from(["shared", "per-class", "per-feature", "per-coefficient", "array"]),
    kind=st.sampled_from(["binary", "classes", "one target", "two targets", "leave-one-out"]),
)
def test_there_is_a_word_for_every_penalty(seed, features, penalties, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, features))
    outputs = {"classes": 3, "two targets": 2, "leave-one-out": 2}.get(kind, 1)
    z = X @ rng.normal(size=(features, outputs)) + rng.normal(size=(30, outputs))
    groups = rng.integers(-1, 2, size=(features, outputs))
    groups.flat[0] = 0
    if not np.any(groups == 1):
        groups = np.minimum(groups, 0)
    given_ = groups if penalties == "array" else penalties
    if kind in ("binary", "classes"):
        y = (z[:, 0] > 0).astype(int) if outputs == 1 else np.argmax(z, axis=1)
        y[:6] = np.tile(np.arange(max(2, outputs)), 3)[:6]
        model = LogisticRegressionCV(penalties=given_, cv=3, max_iter=5)
    else:
        y = z[:, 0] if outputs == 1 else z
        own = "per-target" if penalties == "per-class" else given_
        model = RidgeCV(penalties=own, cv=None if kind == "leave-one-out" else 3, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.plateaus_.shape == model.lam_.shape
    assert set(model.plateaus_) <= {"", "switched off", "free"}
