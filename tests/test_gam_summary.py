"""What an additive model says of its coefficients: slopes, standard errors, tests, dispersion."""

import numpy as np
import pytest
from scipy import stats

import hoag
from hoag import GAMClassifierCV, GAMRegressorCV, RidgeCV
from hoag.errors import InvalidInputError
from hoag.gam import category, linear, smooth
from hoag.gam._columns import Frame

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def subjects():
    """Repeated measurements of some persons, of one more often than of the next."""
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(12), rng.integers(3, 15, 12))
    days = rng.uniform(2000, 2010, who.size)
    mean = 250 + 10 * (days - 2000) + 35 * rng.normal(size=12)[who]
    frame = pd.DataFrame({"who": [f"s{k:02d}" for k in who], "days": days})
    frame["weight"] = rng.uniform(0.5, 2.0, who.size)
    frame["reaction"] = mean + 25 * rng.normal(size=who.size) / np.sqrt(frame.weight)
    frame["errors"] = rng.poisson(np.exp((mean - 300) / 60))
    return frame


def mixed(model, frame, weights, curvature):
    """A of levels that have a mean of 0 in their population, G, and G + S at the λ found."""
    levels = pd.get_dummies(frame.who).to_numpy(dtype=float)
    centred = frame.days - np.average(frame.days, weights=weights)
    A = np.column_stack([centred, levels, np.ones(len(frame))])
    S = np.diag([0.0, *np.full(levels.shape[1], np.exp(model.lam_[0])), 0.0])
    G = (A.T * (weights * curvature)) @ A
    return A, G, G + S


@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_and_their_covariance_are_those_of_the_mixed_model(subjects, weighted):
    n = len(subjects)
    weights = subjects.weight.to_numpy() if weighted else np.ones(n)
    given = {"sample_weight": weights} if weighted else {}
    model = GAMRegressorCV("reaction ~ days + who").fit(subjects, **given)
    A, G, H = mixed(model, subjects, weights, 1.0)
    x = np.linalg.solve(H, A.T @ (weights * subjects.reaction))
    np.testing.assert_allclose(model.coef_, x[:-1], rtol=1e-5, atol=1e-5)
    assert model.intercept_ == pytest.approx(x[-1], rel=1e-6)
    F = np.linalg.solve(H, G)
    left = n - np.trace(F)
    scaled = weights / weights.mean()
    phi = float(scaled @ (subjects.reaction - A @ x) ** 2) / left
    covariance = phi * weights.mean() * np.linalg.inv(H)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-4, atol=1e-4)
    table = model.summary().coefficients
    assert list(table["name"]) == ["intercept", "days"]
    np.testing.assert_allclose(table["estimate"], [x[-1], x[0]], rtol=1e-5)
    errors = np.sqrt(np.diag(covariance))[[-1, 0]]
    np.testing.assert_allclose(table["standard_error"], errors, rtol=1e-5)
    t = np.array([x[-1], x[0]]) / errors
    np.testing.assert_allclose(table["p_value"], 2 * stats.t.sf(np.abs(t), left), rtol=1e-3)
    # bands are the same whichever way the levels are written
    mean, _, high = model.predict(subjects, interval=0.95)
    band = np.sqrt(np.einsum("ij,jk,ik->i", A, covariance, A))
    np.testing.assert_allclose(high - mean, 1.959964 * band, rtol=1e-4)
    with pytest.warns(UserWarning, match="that was not there"):
        mean, _, high = model.predict(subjects.assign(who="other"), interval=0.95)
    new = A * np.array([1.0, *np.zeros(12), 1.0])
    spread = phi * weights.mean() / np.exp(model.lam_[0])
    band = np.sqrt(np.einsum("ij,jk,ik->i", new, covariance, new) + spread)
    np.testing.assert_allclose(mean, new @ x, rtol=1e-6)
    np.testing.assert_allclose(high - mean, 1.959964 * band, rtol=1e-4)


def test_counts_beside_levels_have_the_covariance_of_their_curvature(subjects):
    model = GAMRegressorCV("errors ~ days + who", family="poisson").fit(subjects)
    mu = model.predict(subjects)
    n = len(subjects)
    A, _, H = mixed(model, subjects, np.ones(n) / n, mu)  # its loss is a mean
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(H) / n, rtol=1e-3, atol=1e-7)
    eta = A @ np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(np.exp(eta), mu, rtol=1e-8)
    row = model.summary().coefficients[1]
    assert row["statistic"] == pytest.approx(row["estimate"] / row["standard_error"])
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(row["statistic"])))


@pytest.mark.filterwarnings("ignore:lam_.0. = 20 is on its lower bound:UserWarning")
def test_without_penalties_it_is_ordinary_least_squares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1e-3, 40.0, 1.0] + [5.0, -1e4, 0.0]
    y = 300 * X[:, 0] + 0.02 * X[:, 1] + rng.normal(size=60)
    terms = [linear(1), linear(2, vanish=True), linear(0)]
    model = GAMRegressorCV(terms, bounds=(20.0, 30.0)).fit(X, y)  # nothing is left of the second
    A = np.column_stack([X[:, [1, 0]] - X[:, [1, 0]].mean(axis=0), np.ones(60)])
    x, squares, *_ = np.linalg.lstsq(A, y, rcond=None)
    errors = np.sqrt(squares[0] / (60 - 3) * np.diag(np.linalg.inv(A.T @ A)))
    table = model.summary().coefficients
    assert list(table["name"]) == ["intercept", "x1", "x2", "x0"]
    seen = table[[1, 3, 0]]
    np.testing.assert_allclose(seen["estimate"], x, rtol=1e-5)
    np.testing.assert_allclose(seen["standard_error"], errors, rtol=1e-5)
    np.testing.assert_allclose(model.coef_[[0, 2]], x[:2], rtol=1e-5)
    step = model.predict(X[:1] + np.array([1e-3, 0, 0])) - model.predict(X[:1])
    assert step[0] == pytest.approx(1e-3 * model.coef_[2], rel=1e-6)


def test_the_summary_prints_slopes_with_their_errors(subjects):
    text = str(GAMRegressorCV("reaction ~ days + who").fit(subjects).summary())
    assert "Parametric coefficients:\n           estimate  std. error" in text
    assert "\nintercept " in text
    assert text.count("\ndays ") == 2  # its slope, and its test among the terms
    # without a likelihood there are slopes, and no errors; of several classes neither
    plain = GAMRegressorCV("reaction ~ days + s(weight, k=5)", family="huber").fit(subjects)
    assert np.all(np.isnan(plain.summary().coefficients["standard_error"]))
    thirds = np.digitize(subjects.reaction, [270, 330])
    several = GAMClassifierCV([linear("days"), category("who")], tol=1e-3).fit(subjects, thirds)
    assert several.summary().coefficients.size == 0
    size = 3 * (several.coef_.shape[1] + 1)
    assert several.covariance_.shape == (size, size)
    rows = several.decision_function(subjects, terms=True)
    whole = several.decision_function(subjects)
    np.testing.assert_allclose(rows.sum(axis=1) + several.intercept_, whole, atol=1e-8)


def test_a_family_without_an_intercept(subjects):
    model = GAMRegressorCV([smooth("days", knots=5)], family=RidgeCV(fit_intercept=False))
    model.fit(subjects, subjects.reaction)
    mean, low, high = model.predict(subjects, interval=0.9)
    assert np.all((low < mean) & (mean < high))


@pytest.fixture(scope="module")
def claims():
    """Counts with a variance far above their mean, which a does not change."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    frame["years"] = rng.uniform(0.5, 2.0, 200)
    mean = frame.years * np.exp(2 + 0.3 * frame.b)
    frame["n"] = rng.negative_binomial(0.7, 0.7 / (0.7 + mean))
    return frame


def pearson(model, mean, y, variance):
    return float(np.sum((y - mean) ** 2 / variance)) / (len(y) - model.edf_.sum() - 1)


def test_counts_that_vary_too_much_are_told(claims):
    model = GAMRegressorCV("n ~ s(a) + b", family="poisson")
    with pytest.warns(UserWarning, match=r"vary \d+\.\d times .*scale='pearson'"):
        model.fit(claims, exposure=claims.years)
    mean = model.predict(claims, exposure=claims.years)
    assert model.dispersion_ == pytest.approx(pearson(model, mean, claims.n, mean), rel=1e-6)
    assert model.dispersion_ > 5
    assert model.scale_ == 1.0
    text = str(model.summary())
    assert f"scale 1 (Pearson's estimate {model.dispersion_:.4g})" in text
    assert "χ²" in text


@pytest.mark.parametrize("family", ["poisson", hoag.PoissonRegressorCV()])
def test_quasi_likelihood_has_the_dispersion_in_all_errors(claims, family):
    model = GAMRegressorCV("n ~ s(a) + b", family=family, scale="pearson")
    model.fit(claims, exposure=claims.years)  # which warns of nothing
    mean = model.predict(claims, exposure=claims.years)
    assert model.dispersion_ == pytest.approx(pearson(model, mean, claims.n, mean), rel=1e-6)
    assert model.scale_ == model.dispersion_
    table = model.summary()
    assert table.statistic == "F"
    assert table.table["p_value"][0] > 0.01  # a says nothing
    assert model.edf_[0] < 3
    # as Wald's of a plain fit, with the curve as it is: G = Σ μ aaᵀ
    made = model._additive
    B = made.design(Frame(claims)).toarray()
    rows = [made.rows(part, B[:, part.columns]) for part in made.parts]
    A = np.column_stack([*rows, np.ones(len(mean))])
    H = (A.T * mean) @ A
    curve = made.parts[0]
    for form, alpha in zip(curve.basis.penalties, np.exp(model.lam_), strict=True):
        H[curve.columns, curve.columns] += len(mean) * alpha * form.S
    own = made.means[curve.columns]
    H[curve.columns, curve.columns] += 1e3 * len(mean) * np.outer(own, own)  # its mean is 0
    errors = np.sqrt(model.scale_ * np.diag(np.linalg.inv(H)))[[-1, -2]]
    np.testing.assert_allclose(table.coefficients["standard_error"], errors, rtol=1e-3)
    p = 2 * stats.t.sf(np.abs(table.coefficients["statistic"]), 200 - model.edf_.sum() - 1)
    np.testing.assert_allclose(table.coefficients["p_value"], p, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_dispersion_of_classes_is_about_one(classes):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(300, 2))
    y = np.digitize(2 * X[:, 0] + rng.logistic(size=300), [1.0, 2.0][: classes - 1])
    model = GAMClassifierCV([linear(0), smooth(1, knots=5)], tol=1e-3).fit(X, y)
    chance = model.predict_proba(X)
    seen = np.eye(classes)[y]
    squares = np.sum((seen - chance) ** 2 / chance)
    left = 300 * (classes - 1) - model._posterior.total_edf
    assert model.dispersion_ == pytest.approx(squares / left, rel=1e-4)
    assert 0.7 < model.dispersion_ < 1.5
    assert model.scale_ == 1.0


def test_scale_is_one_of_two_words(claims):
    with pytest.raises(InvalidInputError, match="scale='deviance': use"):
        GAMRegressorCV("n ~ s(a)", scale="deviance").fit(claims)
    same = [
        GAMRegressorCV("years ~ s(a)", scale=scale, family="gamma").fit(claims)
        for scale in ("family", "pearson")
    ]
    assert same[0].scale_ == same[1].scale_ == same[0].dispersion_
