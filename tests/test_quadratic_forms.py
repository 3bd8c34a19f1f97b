"""Penalties that are any quadratic forms: what is refused, and what the fit is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import SplineTransformer

import hoag
from hoag.criteria import without_folds
from hoag.errors import InvalidInputError

quadratic = hoag.penalties.quadratic


def bends(size, order=2):
    D = np.diff(np.eye(size), n=order, axis=0)
    return D.T @ D


def curves(n=150, seed=0, knots=8):
    """Two curves of B-splines, whose columns add up to 1 each, and z."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    X = SplineTransformer(n_knots=knots, degree=3).fit_transform(x)
    return rng, X, np.sin(6 * x[:, 0]) + 2 * x[:, 1]


def smooth(size, centred=True):
    parts = [slice(0, size), slice(size, 2 * size)]
    return quadratic([(some, bends(size)) for some in parts], centred=parts if centred else ())


def test_what_is_no_form_gets_a_sentence():
    S, say = np.eye(3), pytest.raises
    for forms, words in (
        ([], "There is no form"),
        ([S], "Form 0 is no pair"),
        ([([0, 1], S)], "Give a slice of columns"),
        ([(slice(0, 6, 2), S)], "without a step"),
        ([(slice(None), S)], "with both ends"),
        ([(slice(-4, -1), S)], "counted from 0"),
        ([(slice(2, 2), np.ones((0, 0)))], "that has columns"),
        ([(slice(0, 4), S)], r"shape \(3, 3\) for 4 columns"),
        ([(slice(0, 3), np.diag([1.0, 1.0, -1.0]))], "positive semidefinite"),
        ([(slice(0, 3), np.triu(np.ones((3, 3))))], "not symmetric"),
        ([(slice(0, 3), np.zeros(3))], "above 0"),
        ([(slice(0, 3), np.full(3, np.nan))], "no finite numbers"),
    ):
        with say(InvalidInputError, match=words):
            quadratic(forms)
    with say(InvalidInputError, match="2 names for 1 forms"):
        quadratic([(slice(0, 3), S)], names=["a", "b"])
    with say(InvalidInputError, match=r"centred\[0\] is for"):
        quadratic([(slice(0, 3), bends(3))], centred=[slice(None)])
    with say(
        InvalidInputError,
        match="'level' reaches the constant that columns 0 to 2 add up to",
    ):
        quadratic([(slice(0, 3), S)], names=["level"], centred=[slice(0, 3)])
    X, y = np.random.default_rng(0).normal(size=(20, 4)), np.arange(20.0)
    with say(InvalidInputError, match="for columns 2 to 5; X has 4"):
        hoag.RidgeCV(penalties=quadratic([(slice(2, 6), np.ones(4))])).fit(X, y)
    late = quadratic([(slice(0, 2), bends(2, 1))], centred=[slice(4, 6)])
    with say(InvalidInputError, match="`centred` has columns 4 to 5; X has 4"):
        hoag.RidgeCV(penalties=late).fit(X, y)


def test_eigenvalues_that_are_rounding_are_left_out():
    """A matrix known to 1e-10: what it says of its null space is nothing."""
    rng = np.random.default_rng(0)
    noise = 1e-10 * rng.normal(size=(8, 8))
    ((_, S),) = quadratic([(slice(0, 8), bends(8) + noise + noise.T)]).forms
    e = np.linalg.eigvalsh(S)
    assert np.sum(e > 1e-12) == 6
    np.testing.assert_allclose(S, bends(8), atol=1e-9)
    exact = sparse.csr_array(bends(8))
    assert quadratic([(slice(0, 8), exact)]).forms[0][1] is exact


@pytest.mark.parametrize("cv", [5, None, "gcv", "aic", "reml"])
def test_the_identity_is_ridge(cv):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 5)) + 3
    y = X[:, 0] - X[:, 3] + rng.normal(size=80)
    own = quadratic([(slice(0, 3), np.eye(3)), (slice(3, 5), np.ones(2))], names=["a", "b"])
    forms = hoag.RidgeCV(cv=cv, penalties=own, tol=1e-8).fit(X, y)
    groups = hoag.RidgeCV(cv=cv, penalties=np.array([0, 0, 0, 1, 1]), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(forms.predict(X), groups.predict(X), atol=1e-3)
    if cv != "reml":
        assert forms.criterion_ == pytest.approx(groups.criterion_, rel=1e-6)
    else:
        assert forms.criterion_ == pytest.approx(groups.criterion_, abs=1e-4)


@pytest.mark.parametrize("fmt", [np.asarray, sparse.csr_array])
def test_centred_curves_have_mean_zero_and_predict_the_same(fmt):
    rng, X, z = curves()
    y, size, weights = z + 0.3 * rng.normal(size=len(z)), X.shape[1] // 2, rng.uniform(1, 2, len(z))
    at = (np.array([-2.0, 1.0]), np.array([-2.0, 1.0]))
    fits = [
        hoag.RidgeCV(cv="reml", penalties=smooth(size, centred), bounds=at).fit(fmt(X), y, weights)
        for centred in (True, False)
    ]
    for some in (slice(0, size), slice(size, 2 * size)):
        curve = X[:, some] @ fits[0].coef_[some]
        assert weights @ curve == pytest.approx(0.0, abs=1e-6 * len(z))
        assert np.ptp(curve) > 0.5
    np.testing.assert_allclose(fits[0].predict(fmt(X)), fits[1].predict(fmt(X)), atol=1e-4)
    assert fits[0].dof_ == pytest.approx(fits[1].dof_, abs=1e-3)


@pytest.mark.parametrize("cv", [5, "alo", "gcv", "reml"])
def test_curves_are_found_by_every_criterion(cv):
    rng, X, z = curves()
    size = X.shape[1] // 2
    for make, y, linear in (
        (hoag.RidgeCV, z + 0.3 * rng.normal(size=len(z)), lambda fit: fit.predict(X)),
        (hoag.PoissonRegressorCV, rng.poisson(np.exp(z)), lambda fit: np.log(fit.predict(X))),
        (hoag.LogisticRegressionCV, z > rng.logistic(1.0, 0.3, len(z)), None),
    ):
        fit = make(cv=cv, penalties=smooth(size)).fit(X, y)
        assert fit.result_.converged
        assert np.all(np.isfinite(fit.coef_))
        found = fit.decision_function(X) if linear is None else linear(fit)
        assert np.corrcoef(found, z)[0, 1] > 0.9


@pytest.mark.parametrize("cv", [3, "alo", "reml"])
def test_classes_share_forms(cv):
    rng, X, z = curves(120, 1, 3)
    size, y = X.shape[1] // 2, np.digitize(z + 0.3 * rng.logistic(size=120), [0.5, 1.5])
    fit = hoag.LogisticRegressionCV(cv=cv, penalties=smooth(size)).fit(X, y)
    assert fit.result_.converged
    assert fit.coef_.shape == (3, 2 * size)
    assert fit.score(X, y) > 0.6
    np.testing.assert_allclose(fit.coef_.sum(axis=0), 0.0, atol=1e-4)


def test_what_settles_classes_does_not_show_in_their_likelihood():
    """Shifts of all classes are no part of the model; forms of one column are ridge penalties."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 4))
    y = np.argmax(X[:, :3] + X[:, [3, 3, 0]] + rng.gumbel(size=(120, 3)), axis=1)
    forms = quadratic([(slice(j, j + 1), np.ones(1)) for j in range(4)])
    fits = [
        hoag.LogisticRegressionCV(cv="reml", penalties=own, tol=1e-8).fit(X, y)
        for own in (forms, "per-feature")
    ]
    np.testing.assert_allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), atol=1e-3)
    lams = [fits[1].lam_ + shift for shift in (0.0, -6.0, 3.0)]
    c = np.array([[fit.criterion_at(lam, X, y) for lam in lams] for fit in fits])
    np.testing.assert_allclose(c[0] - c[0, 0], c[1] - c[1, 0], atol=1e-4)


def test_classes_and_curves_have_the_right_slope():
    """Shifts held by a penalty of their own, which does not commute with the forms."""
    rng, X, z = curves(120, 3, 4)
    size, y = X.shape[1] // 2, np.digitize(z + 0.5 * rng.logistic(size=120), [0.5, 1.5])
    fit = hoag.LogisticRegressionCV(cv="reml", penalties=smooth(size)).fit(X, y)
    criterion = fit._tuning_for(X, y, None, {}).criterion
    for lam in (fit.lam_ - 1.0, fit.lam_ + np.array([2.0, -3.0])):
        here = criterion.evaluate(lam)
        for j, e in enumerate(1e-4 * np.eye(2)):
            slope = (criterion.value(lam + e).value - criterion.value(lam - e).value) / 2e-4
            assert here.grad[j] == pytest.approx(slope, rel=1e-4, abs=1e-8)


def test_more_columns_than_rows_and_columns_of_zeros():
    rng, X, z = curves(30, 2, 25)
    X = np.hstack([X, np.zeros((30, 2))])
    y, size = z + 0.2 * rng.normal(size=30), (X.shape[1] - 2) // 2
    parts = [slice(0, size), slice(size, 2 * size)]
    forms = [(some, bends(size)) for some in parts] + [(slice(2 * size, 2 * size + 2), np.ones(2))]
    fit = hoag.RidgeCV(cv="reml", penalties=quadratic(forms, centred=parts)).fit(X, y)
    assert fit.result_.converged
    assert np.corrcoef(fit.predict(X), z)[0, 1] > 0.9
    np.testing.assert_allclose(fit.coef_[2 * size :], 0.0, atol=1e-8)
    third = np.array([0.0, 0.0, 1.0])
    values = [fit.criterion_at(fit.lam_ + away * third, X, y) for away in (-5.0, 0.0, 3.0)]
    np.testing.assert_allclose(values, values[0], atol=1e-3)  # nothing is known of columns of zeros
    problem = fit._tuning_for(X, y, None, {}).criterion.stands_on
    assert without_folds(problem, "reml").risk.free == 3  # a line for each curve, and a level


@pytest.mark.parametrize("cv", ["gcv", "reml"])
def test_alpha_is_all_of_the_penalty_of_a_weakly_penalised_surface(cv):
    """By an SVD of the rows and √α roots of S, one below another: no ridge is beside alpha_."""
    rng = np.random.default_rng(5)
    a = rng.uniform(size=400)
    X = np.column_stack([a, 0.98 * a + 0.02 * rng.uniform(size=400)])
    y = 100 * (np.sin(9 * a) * np.cos(7 * X[:, 1]) + a * X[:, 1]) + 0.1 * rng.normal(size=400)
    model = hoag.GAMRegressorCV([hoag.gam.tensor(0, 1)], cv=cv).fit(X, y)
    assert model.alpha_.min() < 2e-7
    B = sparse.csr_array(model._additive.design(model._frame(X, reset=False))).toarray()
    rows = [np.column_stack([np.ones(len(y)), B])]
    for alpha, (_, S, _) in zip(model.alpha_, model._parts[0].basis.penalties, strict=True):
        e, V = np.linalg.eigh(S)
        kept = e > 1e-12 * e[-1]
        rows.append(np.pad(np.sqrt(alpha * e[kept])[:, None] * V[:, kept].T, ((0, 0), (1, 0))))
    U, s, _ = np.linalg.svd(np.vstack(rows), full_matrices=False)
    U = U[: len(y), s > 1e-13 * s[0]]
    fit, edf = U @ (U.T @ y), np.sum(U**2)
    assert model.edf_.sum() + 1 == pytest.approx(edf, rel=1e-8)
    np.testing.assert_allclose(model.predict(X), fit, rtol=0, atol=1e-8 * y.std())
    if cv == "gcv":
        gcv = len(y) * np.sum((y - fit) ** 2) / (len(y) - edf) ** 2
        assert model.criterion_ == pytest.approx(gcv, rel=1e-8)
