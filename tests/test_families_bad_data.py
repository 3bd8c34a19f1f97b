"""Data that no model, or not this one, can take: a number or a sentence, and never a traceback."""

from __future__ import annotations

import warnings

import families
import numpy as np
import pytest
from families import NAMES, POWERS, draw, estimator
from hypothesis import given, settings
from hypothesis import strategies as st
from quick import quick

import hoag
from hoag.errors import InvalidInputError

CLASSES = ("svc", "ordinal")


@pytest.mark.parametrize(
    ("name", "bad"),
    [("poisson", -1.0), ("tweedie", -0.5), ("gamma", 0.0), ("gamma", -2.0), ("inverse", 0.0)],
)
def test_the_first_y_that_a_family_does_not_take_is_named(name, bad):
    X, y, _, _ = draw(name)
    y[[7, 30]] = bad
    with pytest.raises(InvalidInputError, match=rf"y is {bad:g} in row 7 \(and 1 more\)"):
        estimator(name).fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_missing_numbers_and_wrong_lengths_are_sentences(name):
    X, y, weights, _ = draw(name)
    holes = y.astype(float)
    holes[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        estimator(name).fit(X, holes)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator(name).fit(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        estimator(name).fit(X, y, sample_weight=weights[:-1])
    if name in POWERS:
        with pytest.raises(InvalidInputError, match="offset has 79 numbers; X has 80 rows"):
            estimator(name).fit(X, y, offset=np.zeros(79))
        with pytest.raises(ValueError, match="offset contains NaN"):
            estimator(name).fit(X, y, offset=np.full(80, np.nan))


@pytest.mark.parametrize("name", POWERS)
def test_exposures_are_positive_and_given_once(name):
    X, y, _, _ = draw(name)
    years = np.linspace(1, 2, len(y))
    for bad in (0.0, -1.0):
        years[[4, 9]] = bad
        with pytest.raises(InvalidInputError, match=rf"exposure is {bad:g} in row 4"):
            estimator(name).fit(X, y, exposure=years)
    with pytest.raises(InvalidInputError, match="Both offset and exposure"):
        estimator(name).fit(X, y, exposure=np.ones(len(y)), offset=np.zeros(len(y)))
    model = estimator(name).fit(X, y)
    with pytest.raises(InvalidInputError, match="exposure has 2 numbers; X has 80 rows"):
        model.predict(X, exposure=np.ones(2))


@pytest.mark.parametrize("name", ["poisson", "tweedie"])
def test_nothing_but_zeros_is_nothing_to_fit(name):
    X, y, weights, _ = draw(name)
    with pytest.raises(InvalidInputError, match="The mean of y is 0"):
        estimator(name).fit(X, 0 * y)
    with pytest.raises(InvalidInputError, match="The mean of y is 0"):
        estimator(name).fit(X, y, sample_weight=weights * (y == 0))


def tried(name, X, y, **given):
    """The model, or None where a sentence says why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sentences, too
        try:
            model = estimator(name, cv=3, max_iter=10).fit(X, y, **given)
        except ValueError:  # of whose sentences the tests above are about
            return None
    assert np.all(np.isfinite(model.coef_))
    assert not (model.result_.converged and not np.isfinite(model.criterion_))
    assert np.all(np.isfinite(np.asarray(model.predict(X), dtype=float)))
    return model


def degenerate(name, kind, n=36):
    X, y, _, _ = draw(name, n=n, seed=9)
    if kind == "constant y" and name not in CLASSES:
        y = np.full(n, 2.0)
    if kind == "constant columns":
        X[:, 1:] = 1.0
    if kind == "all constant":
        X[:] = 1.0
    if kind == "one feature":
        X = X[:, :1]
    if kind == "equal columns":
        X[:, 1] = X[:, 0]
    if kind == "ties":
        X, y = np.round(X), y if name in CLASSES else np.round(y) + (name in ("gamma", "inverse"))
    if kind == "perfect":
        y = families.of_score(name, 3 * X[:, 0], np.zeros(n), 0.0, np.random.default_rng(0))
    if kind == "rare" and name in CLASSES:
        y = np.where(np.arange(n) < 2, y.max() + (name == "ordinal"), y.min())
        y[2:12] += name == "ordinal"
    if kind == "zero fold" and name in ("poisson", "tweedie"):
        y[:24] = 0.0
    return X, y


KINDS = ["constant y", "constant columns", "all constant", "one feature", "equal columns", "ties"]


@pytest.mark.parametrize("kind", [*KINDS, "rare", "zero fold", "perfect"])
@pytest.mark.parametrize("name", NAMES)
def test_degenerate_data_end_in_a_number_or_a_sentence(name, kind):
    if (name, kind) == ("huber", "perfect"):
        pytest.skip("The next test is about this.")
    X, y = degenerate(name, kind)
    tried(name, X, y)


def test_rows_that_are_fitted_perfectly_leave_a_spread_of_next_to_nothing():
    X, _, _, _ = draw("huber", n=60)
    model = tried("huber", X, X @ [1.0, 2.0, 0.0, -1.0] + 3)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 0.0, -1.0], atol=1e-3)
    assert 0 < model.scale_ < 1e-2


def test_fewer_rows_than_columns_leave_no_spread_and_end_in_a_number():
    X, y, _, _ = draw("huber", n=12, p=14)
    model = tried("huber", X, y)
    again = model.criterion_at(model.lam_, X, y)
    if model.result_.converged:
        assert model.criterion_ == pytest.approx(again, rel=1e-3)


@settings(max_examples=16, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(NAMES),
    n=st.integers(12, 30),
    p=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    size=st.sampled_from([1e-5, 1.0, 1e5]),
    weighted=st.booleans(),
)
def test_any_small_data_end_in_a_number_or_a_sentence(name, n, p, seed, scale, size, weighted):
    rng = np.random.default_rng(seed)
    X, y, weights, _ = draw(name, n=n, p=p, seed=seed)
    y = y if name in CLASSES else size * y
    weights = weights * rng.integers(0, 2, n) if weighted else None
    tried(name, scale * X, y, sample_weight=weights)


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e8])
def test_the_unit_of_exposure_moves_the_intercept_and_nothing_else(unit):
    rng = np.random.default_rng(3)
    X, years = rng.normal(size=(80, 3)), rng.uniform(0.2, 2, 80)
    y = rng.poisson(years * np.exp(0.5 * X[:, 0]))
    for kind in (hoag.PoissonRegressorCV, hoag.TweedieRegressorCV):
        one, other = (kind().fit(X, y, exposure=t * years) for t in (1.0, unit))
        np.testing.assert_allclose(other.alpha_, one.alpha_, rtol=1e-6)
        np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-6)
        assert other.intercept_ + np.log(unit) == pytest.approx(one.intercept_, abs=1e-6)
        score = other.score(X, y, exposure=unit * years)
        assert score == pytest.approx(one.score(X, y, exposure=years), rel=1e-6)


def test_exposure_by_itself_explains_nothing():
    rng = np.random.default_rng(4)
    X, years = np.zeros((200, 1)), rng.uniform(0.1, 9, 200)
    X[0] = 1e-3
    y = rng.poisson(years)
    model = hoag.PoissonRegressorCV().fit(X, y, exposure=years)
    assert abs(model.score(X, y, exposure=years)) < 0.02


@pytest.mark.parametrize("kind", [hoag.PoissonRegressorCV, hoag.GammaRegressorCV])
def test_no_other_rate_explains_more_than_the_one_that_scores_are_judged_by(kind):
    rng = np.random.default_rng(9)
    X, years = rng.normal(size=(60, 2)), rng.uniform(0.1, 9, 60)
    y = 1.0 + rng.poisson(years)
    model = kind().fit(X, y, exposure=years)
    model.coef_ = np.zeros(2)
    scores = []
    for model.intercept_ in np.linspace(-1, 2, 301):
        scores.append(model.score(X, y, exposure=years))
    assert -1e-3 < max(scores) < 1e-12


@pytest.mark.parametrize("given", [2.0, "years"])
def test_one_exposure_for_all_rows_is_named(given):
    X, y = np.random.default_rng(5).normal(size=(20, 2)), np.arange(20) % 7
    with pytest.raises(InvalidInputError, match=r"exposure=.* give one number for each row"):
        hoag.PoissonRegressorCV().fit(X, y, exposure=given)


def test_one_alpha_is_no_range():
    X, y = np.random.default_rng(6).normal(size=(20, 2)), np.arange(20) % 7
    with pytest.raises(InvalidInputError, match="alphas=10: give several values"):
        hoag.PoissonRegressorCV(alphas=10).fit(X, y)


def test_quantiles_far_out_begin_where_they_are():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 8))
    y = X @ rng.normal(size=8) + 2 * rng.standard_t(1.5, size=400) + 3
    model = hoag.QuantileRegressorCV(quantile=0.99).fit(X, y)
    assert model.result_.converged
    assert np.mean(y < model.predict(X)) == pytest.approx(0.99, abs=0.01)


@pytest.mark.parametrize("seed", quick([0, 1], [0]))
def test_hubers_spread_stays_positive_with_fewer_rows_than_columns(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 600))
    y = 2 * X[:, 0] + rng.standard_t(2, 60)
    model = hoag.HuberRegressorCV().fit(X, y)
    assert model.result_.converged
    assert model.scale_ > 0
    assert model.criterion_ < 3 * np.median(np.abs(y - np.median(y))) * 2


def test_the_order_of_a_categorical_is_that_of_the_classes():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    X, names = rng.normal(size=(150, 3)), np.array(["low", "mid", "high"])
    codes = np.digitize(X[:, 0] + rng.normal(size=150), [-0.5, 0.5])
    y = pandas.Series(pandas.Categorical(names[codes], categories=list(names), ordered=True))
    numbers = hoag.OrdinalLogisticCV(class_weight="balanced").fit(X, codes)
    model = hoag.OrdinalLogisticCV(class_weight="balanced", scoring="neg_log_loss").fit(X, y)
    assert list(model.order_) == list(names)
    np.testing.assert_allclose(model.coef_, numbers.coef_)
    np.testing.assert_array_equal(model.predict(X), names[numbers.predict(X)])
    P = model.predict_proba(X)[:, np.searchsorted(model.classes_, names)]
    np.testing.assert_allclose(P, numbers.predict_proba(X))
    with pytest.warns(UserWarning, match="in the order of the alphabet: high < low < mid"):
        hoag.OrdinalLogisticCV().fit(X, names[codes])


@pytest.mark.parametrize("name", POWERS)
@pytest.mark.parametrize("unit", [1e-306, 1e-200, 1e200, 1e305])
def test_predictions_are_in_the_unit_of_y_whatever_it_is(name, unit):
    X, y, _, _ = draw(name)
    plain, other = estimator(name).fit(X, y), estimator(name).fit(X, y * unit)
    np.testing.assert_allclose(other.predict(X) / unit, plain.predict(X), rtol=1e-9)


def test_y_so_far_apart_that_no_mean_is_in_reach_is_refused():
    X, y, _, _ = draw("gamma")
    with pytest.raises(InvalidInputError, match=r"in row 0 .* of 1, where there is no intercept"):
        hoag.GammaRegressorCV(fit_intercept=False).fit(X, y * 1e200)
    y[5] *= 1e-200
    with pytest.raises(InvalidInputError, match="in row 5; this model is for numbers within"):
        hoag.GammaRegressorCV().fit(X, y)
    with pytest.raises(InvalidInputError, match=r"has lost digits\. Rescale y"):
        hoag.PoissonRegressorCV().fit(X, np.full(len(X), 1e-310))


def test_predictions_that_are_no_numbers_are_not_clipped_in_silence():
    X, y, _, _ = draw("gamma")
    model = hoag.GammaRegressorCV().fit(X, y)
    away = np.sign(model.coef_)
    far = np.array([away, -away, 0 * away]) * 1e5
    with pytest.warns(RuntimeWarning, match=r"2 of 3 predictions exp\(z\) are no number"):
        predicted = model.predict(far)
    assert predicted[0] == np.inf
    assert predicted[1] == 0.0
    assert predicted[2] == pytest.approx(np.exp(model.intercept_))


@pytest.mark.parametrize("kind", ["array", "frame", "times", "categories"])
def test_values_that_are_no_numbers_are_named_with_their_column(kind):
    X = np.array([[1, "2"], [2, "two"], [3, "3"]], dtype=object)
    where = "column 1" if kind == "array" else "column 'b'"
    what = {"times": "Timestamp", "categories": "'u'"}.get(kind, "'two'")
    if kind != "array":
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(X, columns=["a", "b"])
        if kind == "times":
            X["a"], X["b"] = [1.0, 2.0, 3.0], pandas.to_datetime(["2020-01-01"] * 3)
        if kind == "categories":
            X["b"] = pandas.Categorical(["u", "v", "u"])
    with pytest.raises(InvalidInputError, match=f"X has {what}.* in {where}, and models take"):
        hoag.RidgeCV().fit(X, [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rule": np.ones(3)}, "rule=array"),
        ({"tol": np.ones(3)}, "tol=array"),
        ({"refit": np.ones((2, 2))}, "refit=array"),
        ({"starts": np.ones(2)}, "starts=array"),
        ({"certificate": np.ones(2)}, "certificate=array"),
        ({"cv": [0, 1, 2, 0, 1]}, "Split 1 of cv is 0"),
        ({"cv": {0: 2.0}}, "Split 1 of cv is 0"),
        ({"cv": np.ones(5)}, "Split 1 of cv is"),
    ],
)
def test_arrays_where_one_value_is_meant_are_refused(options, said):
    X, y, _, _ = draw("poisson")
    with pytest.raises(InvalidInputError, match=said):
        estimator("poisson").set_params(**options).fit(X, y)


@pytest.mark.parametrize("power", [np.ones(3), print, None, 1j])
def test_powers_that_are_no_numbers_are_refused(power):
    X, y, _, _ = draw("tweedie")
    with pytest.raises(InvalidInputError, match="power="):
        hoag.TweedieRegressorCV(power=power).fit(X, y)
