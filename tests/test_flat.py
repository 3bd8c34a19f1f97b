"""What a status says of penalties that may be stronger, and of coefficients nothing else holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import hoag

FLAT, HELD = "rule='1se' takes", "Only the penalty holds"


def said(model):
    return model.result_.status.sentence


def with_categories(seed=0, n=900):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 6, n)
    X = np.column_stack([rng.normal(size=(n, 3)), np.eye(6)[kinds]])
    z = X[:, 0] - 0.5 * X[:, 1]
    return X, kinds, rng.uniform(size=n) < 1 / (1 + np.exp(-z)), rng.poisson(np.exp(z))


@pytest.mark.parametrize("seed", range(6))
def test_flat_up_to_much_stronger_penalties_is_what_a_path_shows(seed):
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(80, 8)), 10.0 ** (seed - 4)
    y = X @ rng.normal(size=8) + noise * rng.normal(size=80)
    model = hoag.RidgeCV(cv=5).fit(X, y)
    stronger = hoag.RidgeCV(cv=5, bounds=(model.lam_[0] + 3,) * 2).fit(X, y)
    error = model.path(X, y, points=5).standard_error
    assert (FLAT in said(model)) == (stronger.criterion_ <= model.criterion_ + error.mean())
    assert FLAT not in said(hoag.RidgeCV(cv=5, rule="1se").fit(X, y))


def test_where_the_loss_is_not_flat_nothing_is_looked_at():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 60))
    y = X @ rng.normal(size=60) + 5 * rng.normal(size=3000)
    assert FLAT not in said(hoag.RidgeCV(cv=5).fit(X, y))
    assert FLAT not in said(hoag.RidgeCV(cv="gcv").fit(X, y))  # it has no standard error


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, lambda X: X + 2.0])
def test_a_category_of_one_class_is_named(kind):
    X, kinds, y, _ = with_categories()
    assert HELD not in said(hoag.LogisticRegressionCV().fit(kind(X), y))
    y[kinds == 5] = True
    sentence = said(hoag.LogisticRegressionCV().fit(kind(X), y))
    assert f"{HELD} the coefficient of column 8 ({np.sum(kinds == 5)} rows)" in sentence
    labels = np.where(kinds == 5, "c", np.where(y, "b", "a"))
    assert "column 8" in said(hoag.LogisticRegressionCV().fit(kind(X), labels))


def test_a_category_that_has_no_counts_is_named():
    X, kinds, _, y = with_categories()
    frame = pd.DataFrame(X).rename(columns=lambda j: f"c{j}")
    assert HELD not in said(hoag.PoissonRegressorCV().fit(frame, y + 5 * (kinds == 5)))
    sentence = said(hoag.PoissonRegressorCV().fit(frame, y * (kinds != 5)))
    assert f"{HELD} the coefficient of c8" in sentence


def test_the_bound_that_was_left_for_a_stronger_penalty_is_not_told():
    X, kinds, y, _ = with_categories()
    y[kinds == 5] = True
    model = hoag.LogisticRegressionCV().fit(X, y)
    assert "the stronger one is taken" in said(model)
    assert "lower bound" not in said(model)
