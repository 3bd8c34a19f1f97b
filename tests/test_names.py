"""Penalties by the names of columns, and what they are called."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import hoag
from hoag.errors import InvalidInputError

pd = pytest.importorskip("pandas")
X, y = load_diabetes(return_X_y=True, as_frame=True)
BY_NAME = {"age": "free", "bmi": "body", "bp": "body", "s1": "blood"}


@pytest.mark.filterwarnings("ignore:lam_")
@pytest.mark.parametrize("cv", [5, None])
def test_columns_by_name_are_groups_by_number(cv):
    groups = [-1, 2, 0, 0, 1, 2, 2, 2, 2, 2]
    named = hoag.RidgeCV(penalties=BY_NAME, cv=cv, bounds=(-6, 8)).fit(X, y)
    by_number = hoag.RidgeCV(penalties=groups, cv=cv, bounds=(-6, 8)).fit(X, y)
    np.testing.assert_array_equal(named.lam_, by_number.lam_)
    np.testing.assert_array_equal(named.coef_, by_number.coef_)
    assert named.alpha_.shape == (3,)
    assert list(named.penalties_["name"]) == ["body", "blood", "others"]
    assert list(by_number.penalties_["name"]) == ["group 0", "group 1", "group 2"]
    assert clone(named).fit(X, y).criterion_ == named.criterion_
    assert pickle.loads(pickle.dumps(named)).penalties_["name"][0] == "body"
    at_same = named.criterion_at(named.lam_, X, y)
    assert at_same == pytest.approx(named.criterion_, rel=1e-6)


def test_the_table_says_what_the_attributes_say():
    model = hoag.RidgeCV(penalties="per-feature", cv=5).fit(X, y)
    frame = pd.DataFrame(model.penalties_)
    assert list(frame["name"]) == list(X.columns)
    np.testing.assert_array_equal(frame["lam"], model.lam_)
    np.testing.assert_allclose(frame["value"], model.alpha_)
    np.testing.assert_array_equal(frame[["lower", "upper"]], model.lam_interval_)
    np.testing.assert_array_equal(frame["plateau"], model.plateaus_)


@pytest.mark.filterwarnings("ignore")  # three steps, within bounds, on labels without sense
def test_every_penalty_has_a_name_and_a_column():
    A, target = load_iris(return_X_y=True, as_frame=True)
    target = target.sample(frac=1, random_state=0).to_numpy()
    quick = {"cv": 2, "max_iter": 3, "bounds": (0, 4)}
    wanted = {
        "shared": ["all"],
        "per-class": ["0", "1", "2"],
        "per-feature": list(A.columns),
        "per-coefficient": [f"{name} → {k}" for name in A.columns for k in range(3)],
    }
    for penalties, names in wanted.items():
        model = hoag.LogisticRegressionCV(penalties=penalties, **quick)
        model.fit(A, target)
        assert list(model.penalties_["name"]) == names
        frame = model.result_.to_frame()
        lams = [name for name in frame if name.startswith("lam_")]
        expected = ["0"] if len(names) == 1 else names
        assert lams == [f"lam_{name}" for name in expected]
        last = frame[lams].to_numpy()
        np.testing.assert_array_equal(last, [step.lam for step in model.result_.trace])


def test_widths_and_ridge_have_names():
    rows = X.iloc[:80, :3]
    shared = hoag.KernelRidgeCV(cv=2).fit(rows, y[:80])
    assert list(shared.penalties_["name"]) == ["width", "ridge"]


@pytest.mark.parametrize(
    ("penalties", "rows", "message"),
    [
        ({"agee": "a"}, X, "'agee', which is no column of X \\(age, sex, bmi"),
        ({"age": "a"}, X.to_numpy(), "no column names, so give their numbers"),
        ({"age": "others"}, X, "use another label"),
        (dict.fromkeys(X.columns, "free"), X, "no hyperparameter to tune"),
    ],
)
def test_names_that_do_not_fit_are_told(penalties, rows, message):
    with pytest.raises(InvalidInputError, match=message):
        hoag.RidgeCV(penalties=penalties).fit(rows, y)


def test_numbers_stand_for_columns_without_names():
    model = hoag.RidgeCV(penalties={0: "first", 3: "free"}).fit(X.to_numpy(), y)
    assert list(model.penalties_["name"]) == ["first", "others"]
    named = hoag.RidgeCV(penalties={0: "first", "bp": "free"}).fit(X, y)
    np.testing.assert_allclose(named.lam_, model.lam_)


def test_a_result_prints_eight_lines_and_a_short_repr():
    model = hoag.RidgeCV(penalties="per-feature", cv=5).fit(X, y)
    lines = str(model.result_).splitlines()
    assert len(lines) == 8
    assert [line.split()[0] for line in lines] == [
        "lam", "loss", "slope", "ended", "why", "steps", "cost", "seconds"
    ]  # fmt: skip
    assert f"{model.criterion_:.8g}" in lines[1]
    assert len(repr(model.result_)) < 120
    assert "converged" in repr(model.result_)
