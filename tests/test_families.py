"""Regressions of counts, costs, quantiles and outliers, margins and ordered classes.

Coefficients at the penalty that was tuned are those of scikit-learn, glum, statsmodels, or of the
objective that the docstring states, solved by SciPy (families.py).
"""

from __future__ import annotations

import families
import numpy as np
import pytest
from families import EPSILON, NAMES, POWERS, TAU, Family, draw, estimator
from scipy import sparse
from sklearn import linear_model
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import LinearSVC

import hoag

ROWS = np.arange(80)


def fitted(name, X, y, weights=None, offset=None, intercept=True, **settings):
    own = {} if name == "ordinal" else {"fit_intercept": intercept}
    given = {} if offset is None else {"offset": offset}
    return estimator(name, cv=3, **own, **settings).fit(X, y, sample_weight=weights, **given)


@pytest.mark.parametrize("plain", ["all", "no weights", "no offset", "no intercept"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", NAMES)
def test_coefficients_minimise_the_stated_objective(name, kind, plain):
    X, y, weights, offset = draw(name, seed=1)
    X = X * (np.random.default_rng(0).random(X.shape) < 0.6)
    weights = None if plain == "no weights" else weights
    offset = None if plain == "no offset" or name not in POWERS else offset
    intercept = plain != "no intercept" or name == "ordinal"
    model = fitted(name, kind(X), y, weights, offset, intercept)
    of = Family(name, X, y, weights, offset, intercept, width=families.width(model))
    x = of.fit(ROWS, model.lam_)
    np.testing.assert_allclose(np.ravel(model.coef_), of.coefficients(x), atol=1e-5, rtol=1e-5)
    if name == "ordinal":
        np.testing.assert_allclose(model.thresholds_, x[of.p :], atol=1e-5, rtol=1e-5)
    elif intercept:
        level = x[of.p]
        np.testing.assert_allclose(np.ravel(model.intercept_), level, atol=1e-5, rtol=1e-5)
    if name == "huber":
        assert model.scale_ == pytest.approx(x[-1], rel=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", POWERS)
def test_scikit_learns_regressors_are_the_same_models(name, intercept):
    X, y, weights, offset = draw(name, seed=2)
    model = fitted(name, X, y, weights, intercept=intercept)
    same = linear_model.TweedieRegressor(
        power=POWERS[name],
        link="log",
        alpha=model.alpha_,
        fit_intercept=intercept,
        solver="newton-cholesky" if name != "inverse" else "lbfgs",
        tol=1e-10,
        max_iter=10000,
    ).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-5)
    assert model.intercept_ == pytest.approx(same.intercept_, abs=1e-5)
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X), rtol=1e-12)
    assert model.score(X, y, weights) == pytest.approx(same.score(X, y, weights), abs=1e-5)
    if name == "poisson":  # an exposure is a weight for the rate
        rate = fitted(name, X, y, offset=offset, intercept=intercept)
        e = np.exp(offset)
        same.set_params(alpha=rate.alpha_ * len(y) / e.sum()).fit(X, y / e, sample_weight=e)
        np.testing.assert_allclose(rate.coef_, same.coef_, atol=1e-5)
        by_exposure = estimator(name, cv=3, fit_intercept=intercept).fit(X, y, exposure=e)
        np.testing.assert_allclose(by_exposure.coef_, rate.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            by_exposure.predict(X, exposure=e), rate.predict(X, offset=offset), rtol=1e-9
        )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", POWERS)
def test_glum_fits_the_same_models_with_offsets_and_weights(name, intercept, kind):
    glum = pytest.importorskip("glum")
    X, y, weights, offset = draw(name, seed=3)
    model = fitted(name, kind(X), y, weights, offset, intercept)
    family = glum.TweedieDistribution(POWERS[name])
    if name == "inverse":
        family = glum.InverseGaussianDistribution()
    same = glum.GeneralizedLinearRegressor(
        family=family,
        link="log",
        alpha=model.alpha_,
        l1_ratio=0,
        fit_intercept=intercept,
        gradient_tol=1e-10,
        max_iter=1000,
    ).fit(kind(X), y, sample_weight=weights, offset=offset)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-5)
    assert model.intercept_ == pytest.approx(same.intercept_, abs=1e-5)


def test_scikit_learns_huber_regressor_is_the_same_model():
    X, y, weights, _ = draw("huber", seed=4)
    model = fitted("huber", X, y, weights)
    same = linear_model.HuberRegressor(
        epsilon=EPSILON, alpha=model.alpha_, max_iter=10000, tol=1e-9
    ).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-5)
    assert model.scale_ == pytest.approx(same.scale_, rel=1e-5)
    np.testing.assert_array_equal(model.outliers_, same.outliers_)
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learns_support_vectors_are_the_same_model(classes):
    X, _, weights, _ = draw("svc", seed=5)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [0.2] if classes == 2 else [-0.3, 0.5])
    model = fitted("svc", X, y, weights, intercept=False)
    same = LinearSVC(C=model.C_, fit_intercept=False, tol=1e-10, max_iter=10**6, dual=False)
    same.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    # A large constant column makes nothing of the penalty on its coefficient.
    model = fitted("svc", X, y, weights)
    same = LinearSVC(C=model.C_, intercept_scaling=1e3, tol=1e-10, max_iter=10**6, dual=False)
    same.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, same.intercept_, atol=1e-4)


def test_statsmodels_thresholds_are_the_limit_of_weak_penalties():
    ordered = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, y, _, _ = draw("ordinal", n=200, seed=6)
    model = hoag.OrdinalLogisticCV(alphas=[1e-9]).fit(X, y)
    same = ordered.OrderedModel(y, X, distr="logit").fit(method="newton", disp=False, maxiter=100)
    np.testing.assert_allclose(model.coef_, same.params[: X.shape[1]], atol=1e-5)
    cuts = same.model.transform_threshold_params(same.params)[1:-1]
    np.testing.assert_allclose(model.thresholds_, cuts, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), same.predict(), atol=1e-5)


def test_statsmodels_quantiles_are_the_limit_of_weak_penalties_and_little_smoothing():
    quantreg = pytest.importorskip("statsmodels.regression.quantile_regression")
    X, y, _, _ = draw("quantile", n=300, seed=7)
    same = quantreg.QuantReg(y, np.column_stack([X, np.ones(len(y))])).fit(q=TAU, p_tol=1e-10)
    apart = []
    for smoothing in (1e-1, 3e-3, 3e-4):
        model = hoag.QuantileRegressorCV(alphas=[1e-9], quantile=TAU, smoothing=smoothing).fit(X, y)
        apart.append(np.max(np.abs(np.append(model.coef_, model.intercept_) - same.params)))
    assert apart[0] > 3 * apart[1] > 9 * apart[2]
    assert apart[2] < 1e-3


def test_next_to_no_smoothing_is_fitted_by_way_of_more():
    # Such a loss hardly bends anywhere, and a Newton step from afar may be of any length.
    X, y, _, _ = draw("quantile", n=300, seed=7)
    model = hoag.QuantileRegressorCV(alphas=[1e-9], quantile=TAU, smoothing=1e-5).fit(X, y)
    assert model.result_.converged
    exact = QuantileRegressor(quantile=TAU, alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-4)
