"""Sparse rows whose columns are far from 0: the same model as of the same rows in an array."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import agree, both
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import hoag
from hoag._data.columns import measured
from hoag._data.standardize import Standardiser
from hoag._glm.units import units

N, P = 60, 5
FAR = np.array([0.0, 1e3, -1e6, 1e8, 3.0])  # in spreads


def data(kind="number", n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, P))
    z = X @ np.array([1.0, -0.5, 0.7, -0.4, 0.2])
    noisy = z + 0.5 * rng.normal(size=n)
    y = {
        "number": noisy,
        "numbers": np.c_[noisy, rng.normal(size=n) - z],
        "binary": noisy > 0,
        "classes": np.digitize(noisy, [-0.7, 0.7]),
        "counts": rng.poisson(np.exp(z)).astype(float),
        "positive": np.exp(noisy),
        "survival": np.array(
            list(zip(rng.random(n) < 0.8, np.exp(-noisy), strict=True)),
            dtype=[("event", bool), ("time", float)],
        ),
    }[kind]
    weights = rng.uniform(0.5, 2.0, size=n)
    weights[7:12] = 0.0
    return X, y, weights


GROUPS = np.array([0, 1, 0, 1, 1])
CASES = [
    (hoag.RidgeCV(), "number"),
    (hoag.RidgeCV(cv=5), "number"),
    (hoag.RidgeCV(cv="gcv"), "number"),
    (hoag.RidgeCV(cv="reml", penalties=GROUPS), "number"),
    (hoag.RidgeCV(penalties="per-feature"), "number"),
    (hoag.RidgeCV(cv=3, penalties="per-target"), "numbers"),
    (hoag.RidgeClassifierCV(), "classes"),
    (hoag.LogisticRegressionCV(), "binary"),
    (hoag.LogisticRegressionCV(cv="alo"), "binary"),
    (hoag.LogisticRegressionCV(penalties=GROUPS), "classes"),
    (hoag.HuberRegressorCV(), "number"),
    (hoag.QuantileRegressorCV(), "number"),
    (hoag.PoissonRegressorCV(), "counts"),
    (hoag.GammaRegressorCV(), "positive"),
    (hoag.TweedieRegressorCV(power=1.5), "counts"),
    (hoag.LinearSVCCV(), "binary"),
    (hoag.OrdinalLogisticCV(), "classes"),
    (hoag.CoxRegressionCV(), "survival"),
    (hoag.KernelRidgeCV(), "number"),
]


def plain(*args, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds that are reached: the same for both
        return args[0].fit(*args[1:], **given)


@pytest.mark.parametrize(("estimator", "kind"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_model_is_that_of_an_array(estimator, kind, weighted):
    X, y, weights = data(kind)
    X, weights = X + FAR, weights if weighted else None
    thin = sparse.csr_array(X)
    dense, found = (plain(clone(estimator), rows, y, sample_weight=weights) for rows in (X, thin))
    agree(dense, found, rel=1e-7, names=("criterion_", "lam_", "coef_", "dual_coef_"))
    assert found.criterion_at(dense.lam_, thin, y, weights) == pytest.approx(
        dense.criterion_at(dense.lam_, X, y, weights), rel=1e-9
    )
    np.testing.assert_allclose(found.predict(thin), found.predict(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.predict(thin), dense.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("estimator", [hoag.LogisticRegressionCV(), hoag.LinearSVCCV()])
def test_where_the_rows_are_changes_no_loss(estimator):
    X, y, _ = data("binary")
    here = plain(clone(estimator), sparse.csr_matrix(X), y)
    for away in (1e3, 1e4, 1e6, 1e8):
        there = plain(clone(estimator), sparse.csr_matrix(X + away), y)
        assert there.criterion_ == pytest.approx(here.criterion_, rel=1e-5)
        np.testing.assert_allclose(there.lam_, here.lam_, atol=1e-3)


def test_squares_stay_positive():
    X, y, _ = data()
    here, there = (hoag.RidgeCV(cv=5).fit(sparse.csr_matrix(X + away), y) for away in (0, 1e8))
    assert there.criterion_ == pytest.approx(here.criterion_, rel=1e-5)
    assert there.score(X + 1e8, y) == pytest.approx(here.score(X, y), rel=1e-5)


def test_zeros_in_a_column_that_is_far_are_numbers_as_others():
    X, y, weights = data(n=400)
    X = X + np.array([0.0, 300.0, -1e6, 0.0, 0.0])
    X[3, 1] = X[5, 2] = X[399, 2] = 0.0
    X[:, 3] *= np.random.default_rng(1).random(400) < 0.05
    for weight in (None, np.resize(weights, 400)):
        dense = hoag.RidgeCV(cv=5).fit(X, y, weight)
        found = hoag.RidgeCV(cv=5).fit(sparse.csr_matrix(X), y, weight)
        agree(dense, found, rel=1e-6)
        at = [found.criterion_at([3.0], rows, y, weight) for rows in (X, sparse.csr_matrix(X))]
        assert at[0] == pytest.approx(at[1], rel=1e-12)


def test_constant_columns_have_no_coefficient_and_lost_ones_are_named():
    X, y, _ = data()
    X[:, 1], X[:, 3] = 7.0, 1 / 3
    dense, found = (hoag.RidgeCV(cv=5).fit(rows, y) for rows in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(found.coef_[[1, 3]], 0.0, atol=1e-12)
    agree(dense, found, rel=1e-9)
    X[:, 2] += 1e16
    for rows in (X, sparse.csr_matrix(X)):
        with pytest.warns(
            UserWarning,
            match=r"Column 2 of X varies by no more than rounding about 1e\+16.*subtract",
        ):
            lost = hoag.RidgeCV(cv=5).fit(rows, y)
        assert abs(lost.coef_[2]) < 1e-12


def test_rows_near_zero_are_not_copied():
    rng = np.random.default_rng(0)
    X = sparse.random(300, 40, density=0.1, format="csr", random_state=0)
    ones = sparse.csr_matrix(np.c_[X.toarray(), np.ones(300)])
    weights = rng.uniform(0.5, 2.0, size=300)
    assert np.shares_memory(units(X, weights, centre=True).rows.A.data, X.data)
    assert not np.shares_memory(units(ones, weights, centre=True).rows.A.data, ones.data)
    assert np.shares_memory(units(ones, weights, centre=False).rows.A.data, ones.data)


def test_without_an_intercept_nothing_is_moved():
    X, y, _ = data()
    X = X + np.array([0.0, 1e3, 0.0, 20.0, 0.0])
    dense, found = (
        hoag.RidgeCV(cv=5, fit_intercept=False).fit(rows, y) for rows in (X, sparse.csr_matrix(X))
    )
    agree(dense, found, rel=1e-8)
    assert found.intercept_ == 0.0


def test_a_path_of_rows_far_from_zero():
    X, y, _ = data("binary")
    X = X + FAR
    models = [hoag.LogisticRegressionCV().fit(rows, y) for rows in (X, sparse.csr_matrix(X))]
    dense, found = (
        model.path(rows, y) for model, rows in zip(models, (X, sparse.csr_matrix(X)), strict=True)
    )
    np.testing.assert_allclose(found.loss, dense.loss, rtol=1e-6)


@pytest.mark.parametrize("classes", [False, True])
def test_bands_of_a_curve_know_of_no_shift(classes, monkeypatch):
    """A level that nearly every row has is a column far from 0."""
    rng = np.random.default_rng(0)
    level = np.arange(300) % 150 == 3
    X = np.column_stack([rng.random(300), level])
    y = np.sin(6 * X[:, 0]) + 2 * level + 0.5 * rng.normal(size=300)
    estimator = hoag.GAMClassifierCV if classes else hoag.GAMRegressorCV
    y = np.digitize(y, [0.0, 1.0]) if classes else y
    models = [plain(estimator([hoag.gam.smooth(0), hoag.gam.category(1)]), X, y)]
    monkeypatch.setattr("hoag._data.standardize.FAR_OFF", np.inf)  # nothing is moved
    models.append(plain(clone(models[0]), X, y))
    agree(*models, rel=1e-6, names=("criterion_", "lam_", "covariance_", "edf_"))


CUTS = (7, 7, 12, 40)  # of which one partition has no row, and one none that weighs anything
PARTITIONS = [
    (clone(estimator).set_params(cv=5), kind)
    for estimator, kind in CASES
    if estimator.cv in (None, 3, 5)
    and not isinstance(estimator, (hoag.CoxRegressionCV, hoag.KernelRidgeCV))
]


@pytest.mark.usefixtures("out_of_core")
@pytest.mark.parametrize(("estimator", "kind"), PARTITIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_are_as_in_memory(estimator, kind, weighted):
    X, y, weights = data(kind)
    thin = sparse.csr_matrix(X + FAR)
    near, apart, source = both(estimator, thin, y, weights if weighted else None, CUTS)
    agree(near, apart, rel=1e-7, names=("criterion_", "lam_", "coef_"))
    np.testing.assert_allclose(apart.predict(source), near.predict(thin), rtol=1e-5, atol=1e-5)


def test_a_file_of_svmlight_is_as_in_memory(tmp_path):
    X, y, _ = data("binary")
    thin = sparse.csr_matrix(X + FAR)
    dump_svmlight_file(thin, y, str(tmp_path / "rows.svm"), zero_based=False)
    near = hoag.LogisticRegressionCV().fit(thin, y)
    source = hoag.partitions(str(tmp_path / "rows.svm"), rows=25)
    apart = hoag.LogisticRegressionCV().fit(source)
    agree(near, apart, rel=1e-6, names=("criterion_", "lam_", "coef_"))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 40),
    p=st.integers(1, 4),
    density=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    away=st.sampled_from([0.0, 1.0, -1e4, 1e8, 1e12]),
    scale=st.sampled_from([1e-9, 1.0, 1e7]),
    weightless=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_columns_are_measured_as_exactly_as_arrays(n, p, density, away, scale, weightless, seed):
    rng = np.random.default_rng(seed)
    X = scale * (rng.normal(size=(n, p)) + away) * (rng.random((n, p)) < density)
    weights = rng.uniform(0.5, 2.0, size=n)
    if weightless:
        weights[: n // 2] = 0.0
    found = measured(sparse.csr_matrix(X), weights).about
    exact = X.astype(np.longdouble)
    mean = weights @ exact / weights.sum()
    squares = weights @ (exact - mean) ** 2
    size = np.sqrt(weights @ exact**2 / weights.sum())
    np.testing.assert_allclose(found.mean, mean.astype(float), rtol=1e-12, atol=1e-300)
    lost = 1e-15 * size  # what a mean is known to
    error = 1e-10 * squares + 10 * weights.sum() * lost**2
    assert np.all(np.abs(found.squares - squares) <= error)
    standardiser = Standardiser(found.mean, 1.0 / scale)
    np.testing.assert_array_equal(
        standardiser.of(sparse.csr_array(X)).toarray(), standardiser.of(X)
    )
