"""Additive models: their bases, the fits they make, and what is said of them."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
import sklearn
from quick import quick_pairs
from scipy.integrate import trapezoid
from scipy.interpolate import BSpline
from scipy.linalg import null_space
from sklearn.base import clone
from sklearn.model_selection import KFold

import hoag
from hoag import GAMClassifierCV, GAMRegressorCV
from hoag.errors import InvalidInputError
from hoag.gam import category, linear, smooth, tensor
from hoag.gam._columns import Frame
from hoag.gam._design import Additive

pd = pytest.importorskip("pandas")


def truth(X):
    """Curved, straight, and nothing."""
    return np.sin(6 * X[:, 0]), 1.5 * X[:, 1], 0 * X[:, 2]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(300, 3))
    f = np.sum(truth(X), axis=0)
    return X, f, f + 0.4 * rng.normal(size=300)


@pytest.fixture(scope="module")
def fitted(data):
    X, _, y = data
    return GAMRegressorCV().fit(X, y)


def additive(X, *terms):
    table = Frame(np.asarray(X, dtype=float))
    return Additive.of(table, terms), table


# ---- bases


def test_a_curve_takes_on_any_straight_line_and_its_penalty_does_not_see_it():
    x = np.linspace(-3, 5, 200)[:, None]
    for spacing in ("uniform", "quantile"):
        made, table = additive(x**3 / 9, smooth(0, spacing=spacing, knots=9))
        (part,) = made.parts
        B = made.design(table).toarray()
        np.testing.assert_allclose(B.sum(axis=1), 1.0, atol=1e-12)  # so f is known up to a constant
        line = np.linalg.lstsq(B, x[:, 0] ** 3 / 9, rcond=None)[0]
        np.testing.assert_allclose(B @ line, x[:, 0] ** 3 / 9, atol=1e-9)
        bends, rest = (form.S for form in part.basis.penalties)
        size = np.linalg.norm(bends)
        assert abs(line @ bends @ line) < 1e-9 * size * (line @ line)
        np.testing.assert_allclose(bends @ rest, 0, atol=1e-10 * size)
        np.testing.assert_allclose(rest @ np.ones(len(rest)), 0, atol=1e-12)
        assert np.linalg.matrix_rank(rest) == 1
        assert part.basis.vanishes


@pytest.mark.parametrize("order", [1, 2, 3])
def test_uneven_knots_are_penalised_by_the_integral_of_the_derivative(order):
    knots = np.array([0.0, 0.1, 0.5, 0.6, 2.0])
    made, _ = additive(np.linspace(0, 2, 30)[:, None], smooth(0, knots=knots, order=order))
    S = made.parts[0].basis.penalties[0].S
    rng = np.random.default_rng(0)
    beta = rng.normal(size=len(S))
    gaps = (0.1, 1.4)
    t = np.concatenate([knots[0] - gaps[0] * np.arange(3, 0, -1), knots])
    t = np.concatenate([t, knots[-1] + gaps[1] * np.arange(1, 4)])
    curve = BSpline(t, beta, 3).derivative(order)
    grid = np.linspace(0, 2, 40001)
    integral = trapezoid(curve(grid) ** 2, grid) * 2.0 ** (2 * order - 1)
    assert beta @ S @ beta == pytest.approx(integral, rel=1e-3)


@pytest.mark.parametrize("spacing", ["uniform", "quantile"])
def test_the_ends_of_a_cyclic_curve_meet(spacing):
    x = np.linspace(0, 24, 100)[:, None] ** (2 if spacing == "quantile" else 1)
    made, _ = additive(x, smooth(0, cyclic=True, knots=9, spacing=spacing))
    basis = made.parts[0].basis
    low, high = x[0, 0], x[-1, 0]
    ends = basis.design([np.array([low, high, low + 1.5, high + 1.5])]).toarray()
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)
    np.testing.assert_allclose(ends[2], ends[3], atol=1e-12)
    assert len(basis.penalties) == 1  # only constants do not bend
    np.testing.assert_allclose(basis.penalties[0].S @ np.ones(basis.size), 0, atol=1e-9)


def test_a_surface_is_made_of_products():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(40, 2))
    made, table = additive(X, tensor(0, 1, knots=(4, 5)))
    (part,) = made.parts
    B = made.design(table).toarray()
    first, second = (side.design([X[:, j]]).toarray() for j, side in enumerate(part.basis.sides))
    np.testing.assert_allclose(B, np.einsum("ni,nj->nij", first, second).reshape(40, -1))
    along = [form.S for form in part.basis.penalties]
    surface = rng.normal(size=(first.shape[1], second.shape[1]))
    bends = np.diff(surface, 2, axis=0), np.diff(surface, 2, axis=1)
    for S, bent in zip(along, bends, strict=False):
        assert surface.ravel() @ S @ surface.ravel() == pytest.approx(np.sum(bent**2))
    assert np.linalg.matrix_rank(along[2]) == 3  # x, z and xz


def test_an_unknown_category_has_the_mean_of_the_others():
    made, _ = additive(np.array([[0.0], [1], [1], [4], [4], [0]]), category(0))
    rows = made.parts[0].basis.design([np.array([4.0, 7.0])]).toarray()
    np.testing.assert_allclose(rows, [[0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    assert list(made.parts[0].basis.levels) == ["0", "1", "4"]


def test_a_curve_by_numbers_and_by_category():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 20), "s": np.arange(20.0), "k": list("ab") * 10})
    table = Frame(frame)
    made = Additive.of(table, [smooth("x", by="s", knots=5)])
    plain = Additive.of(table, [smooth("x", knots=5)])
    B, C = (one.design(table).toarray() for one in (made, plain))
    np.testing.assert_allclose(B, frame["s"].to_numpy()[:, None] * C)
    assert not made.parts[0].basis.centred
    assert made.parts[0].basis.vanishes
    each = Additive.of(table, [smooth("x", by="k", knots=5), category("k")])
    assert [part.label for part in each.parts] == ["k", "s(x)[k=a]", "s(x)[k=b]"]
    D = each.design(table).toarray()
    inside = frame["k"].to_numpy() == "a"
    np.testing.assert_allclose(D[inside, 2:9], C[inside] - C[inside].mean(axis=0), atol=1e-12)
    assert np.all(D[~inside, 2:9] == 0)


# ---- fits


def explicit(model, X, y, weights=None):
    """The fit of squares at the λ found, curves held at mean 0 by a basis without constants."""
    table, made = Frame(X), model._additive
    B, weights = made.design(table).toarray(), np.ones(len(y)) if weights is None else weights
    means = weights @ B / weights.sum()
    Z = np.zeros((B.shape[1], 0))
    S = np.zeros((B.shape[1],) * 2)
    for part in made.parts:
        own = null_space(means[None, part.columns]) if part.basis.centred else np.eye(1)
        block = np.zeros((B.shape[1], own.shape[1]))
        block[part.columns] = own
        Z = np.hstack([Z, block])
        for form, lam in zip(part.basis.penalties, model.lam_[part.lam], strict=True):
            S[part.columns, part.columns] += np.exp(lam) * form.S
    A = np.column_stack([B @ Z, np.ones(len(y))])
    P = np.zeros((A.shape[1],) * 2)
    P[:-1, :-1] = Z.T @ S @ Z
    G = (A.T * weights) @ A
    H = G + P
    return A, np.linalg.solve(H, A.T @ (weights * y)), G, H


@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_is_that_of_curves_held_at_mean_zero(data, weighted):
    X, _, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    model = GAMRegressorCV().fit(X, y, weights if weighted else None)
    A, x, G, H = explicit(model, X, y, weights)
    np.testing.assert_allclose(model.predict(X), A @ x, rtol=0, atol=1e-7)
    terms = model.predict(X, terms=True)
    np.testing.assert_allclose(weights @ terms / weights.sum(), 0, atol=1e-8)
    np.testing.assert_allclose(terms.sum(axis=1) + model.intercept_, A @ x, atol=1e-7)
    F = np.linalg.solve(H, G)
    assert model.edf_.sum() + 1 == pytest.approx(np.trace(F), abs=1e-5)
    assert model.edf_.sum() + 1 == pytest.approx(model.model_.dof_, abs=1e-5)
    first = next(iter(model._additive.parts)).basis.size - 1
    assert model.edf_[0] == pytest.approx(np.trace(F[:first, :first]), abs=1e-5)
    # bands, with the weights' mean at 1 and the noise from what is left
    scaled = weights / weights.mean()
    left = float(scaled @ (y - A @ x) ** 2) / (len(y) - np.trace(F))
    assert model.dispersion_ == pytest.approx(left, rel=1e-5)
    covariance = left * weights.mean() * np.linalg.inv(H)
    error = np.sqrt(np.einsum("ij,jk,ik->i", A, covariance, A))
    mean, low, high = model.predict(X, interval=0.95)
    np.testing.assert_allclose(high - mean, 1.959964 * error, rtol=1e-4)
    np.testing.assert_allclose(mean - low, high - mean, rtol=1e-9)
    alone = A.copy()
    alone[:, first:-1] = 0.0
    error = np.sqrt(np.einsum("ij,jk,ik->i", alone, covariance, alone))
    value, low, high = model.predict(X, terms=True, interval=0.95)
    np.testing.assert_allclose((high - value)[:, 0], 1.959964 * error, rtol=1e-4)


@pytest.mark.parametrize(
    ("family", "cv"),
    quick_pairs(
        product(["gaussian", "poisson", "gamma"], ["reml", "gcv", "alo", "aic", 5]),
        lambda family, cv: family == "poisson" or cv == "reml",
    ),
)
def test_every_way_to_choose_finds_the_curves(data, cv, family):
    X, f, y = data
    rng = np.random.default_rng(0)
    if family == "poisson":
        y = rng.poisson(np.exp(f))
    elif family == "gamma":
        y = np.exp(f) * rng.gamma(5.0, 1 / 5.0, len(f))
    cv = KFold(5, shuffle=True, random_state=0) if cv == 5 else cv
    model = GAMRegressorCV(family=family, cv=cv).fit(X, y)
    assert model.result_.converged
    eta = model.predict(X, terms=True).sum(axis=1) + model.intercept_
    assert np.sqrt(np.mean((eta - f) ** 2)) < 0.16
    mean = eta if family == "gaussian" else np.exp(eta)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-9)
    assert 4 < model.edf_[0] < 14
    assert model.edf_[1] < 3.5


@pytest.mark.parametrize("cv", ["reml", "gcv", KFold(5, shuffle=True, random_state=0)])
def test_terms_at_infinity_are_named(cv):
    words = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(200, 3))
        y = np.sum(truth(X), axis=0) + 0.4 * rng.normal(size=200)
        model = GAMRegressorCV(cv=cv).fit(X, y)
        words.append(model.plateaus_)
        for label, edf, word in zip(model.labels_, model.edf_, model.plateaus_, strict=True):
            assert (word == "gone") == (edf < 0.02)
            if word:
                assert label in str(model.result_.status)
                assert edf < 1.02
        assert str(model.summary()).count("gone") >= np.sum(model.plateaus_ == "gone")
    curved, straight, nothing = np.array(words).T
    assert np.all(curved == "")
    assert np.sum(straight == "straight") >= 2
    assert np.all(straight != "gone")
    assert np.sum(nothing == "gone") >= 1


def test_the_unit_of_a_column_or_of_y_changes_nothing(data, fitted):
    X, _, y = data
    moved = GAMRegressorCV().fit(X * [1e3, 1e-4, 1] + [5, 0, -300], 1e4 * y - 7e4)
    np.testing.assert_allclose(moved.edf_, fitted.edf_, atol=2e-3)
    shown = (moved.predict(X * [1e3, 1e-4, 1] + [5, 0, -300]) + 7e4) / 1e4
    np.testing.assert_allclose(shown, fitted.predict(X), atol=1e-4)
    order = np.random.default_rng(0).permutation(len(y))
    again = GAMRegressorCV().fit(X[order], y[order])
    np.testing.assert_allclose(again.predict(X), fitted.predict(X), atol=1e-5)


def test_beyond_the_ends_curves_go_on_straight(fitted):
    far = np.array([[1.2, 0.5, 0.5], [1.4, 0.5, 0.5], [1.6, 0.5, 0.5]])
    a, b, c = fitted.predict(far)
    assert a + c == pytest.approx(2 * b)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(data, classes):
    X, f, _ = data
    rng = np.random.default_rng(1)
    noisy = 2 * f + rng.logistic(size=len(f))
    y = np.array(["a", "b", "c"])[np.digitize(noisy, np.quantile(noisy, [0.5, 0.8][: classes - 1]))]
    model = GAMClassifierCV().fit(X, y)
    assert model.result_.converged
    chance = model.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert np.mean(model.classes_[chance.argmax(axis=1)] == model.predict(X)) == 1.0
    assert model.score(X, y) > 0.6
    eta = model.decision_function(X)
    terms = model.decision_function(X, terms=True)
    np.testing.assert_allclose(terms.sum(axis=1) + model.intercept_, eta, atol=1e-8)
    if classes == 2:
        value, low, high = model.predict_proba(X, interval=0.9)
        assert np.all((low <= value) & (value <= high))
        np.testing.assert_allclose(low[:, 0], 1 - high[:, 1])
    else:
        with pytest.raises(InvalidInputError, match="one linear predictor"):
            model.predict_proba(X, interval=0.9)
        assert "3 classes" in str(model.summary())


def test_exposure_is_an_offset(data):
    X, f, _ = data
    rng = np.random.default_rng(5)
    years = rng.uniform(0.2, 4, len(f))
    y = rng.poisson(years * np.exp(f))
    model = GAMRegressorCV(family="poisson").fit(X, y, exposure=years)
    again = GAMRegressorCV(family="poisson").fit(X, y, offset=np.log(years))
    np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-6)
    mean, low, high = model.predict(X, interval=0.95, exposure=years)
    np.testing.assert_allclose(mean, years * model.predict(X))
    rate = model.predict(X, interval=0.95)
    np.testing.assert_allclose(high, years * rate[2], rtol=1e-9)
    assert np.all(low < mean)
    assert np.sqrt(np.mean((np.log(model.predict(X)) - f) ** 2)) < 0.15


def test_a_frame_of_words_and_numbers():
    rng = np.random.default_rng(2)
    n = 400
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, n),
            "site": rng.choice(["north", "south", "west"], n),
            "dose": rng.integers(0, 3, n),
            "kind": pd.Categorical(rng.integers(1, 4, n)),
            "notes": [None] * n,  # that nobody asks for
        }
    )
    level = {"north": 1.0, "south": -1.0, "west": 0.0}
    f = np.sin(frame["age"] / 8) + frame["site"].map(level) + 0.3 * frame["dose"]
    frame["y"] = f + 0.2 * rng.normal(size=n)
    formula = GAMRegressorCV("y ~ s(age) + site + dose + kind").fit(frame)
    terms = [smooth("age"), category("site"), linear("dose"), category("kind")]
    model = GAMRegressorCV(terms).fit(frame.drop(columns="y"), frame["y"])
    np.testing.assert_allclose(formula.predict(frame), model.predict(frame.drop(columns="y")))
    fewer = frame[["kind", "dose", "site", "age"]]  # no more than is asked for, in any order
    np.testing.assert_array_equal(formula.predict(fewer), formula.predict(frame))
    with pytest.raises(InvalidInputError, match="'dose', which is no column of X"):
        formula.predict(frame.drop(columns="dose"))
    assert model.labels_ == ["s(age)", "site", "dose", "kind"]
    assert np.sqrt(np.mean((model.predict(frame.drop(columns="y")) - f) ** 2)) < 0.1
    # of other categories the mean is predicted, which is told, and what it may be off by
    other = frame.drop(columns="y").assign(site="east")
    with pytest.warns(UserWarning, match="400 of 400 rows have a category of site"):
        _, low, high = model.predict(other, interval=0.95)
    known = model.predict(frame.drop(columns="y"), interval=0.95)
    assert np.all(high - low > 3 * (known[2] - known[1]))
    every = GAMRegressorCV().fit(frame[["age", "site", "dose"]], frame["y"])
    assert every.labels_ == ["s(age)", "site", "dose"]


def test_curves_by_category_have_mean_zero_in_their_own():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.uniform(size=600), "k": rng.choice(["0", "1", "2"], 600)})
    sign = frame["k"].astype(int).to_numpy() - 1.0
    f = 1.0 + 0.5 * sign + sign * np.sin(6 * frame["x"])
    y = rng.poisson(np.exp(f))
    model = GAMRegressorCV([smooth("x", by="k")], family="poisson").fit(frame, y)
    assert model.labels_ == ["k", "s(x)[k=0]", "s(x)[k=1]", "s(x)[k=2]"]
    terms = model.predict(frame, terms=True)
    for j, level in enumerate("012", start=1):
        inside = (frame["k"] == level).to_numpy()
        assert abs(terms[inside, j].mean()) < 1e-3
        assert np.abs(terms[~inside, j]).max() < 1e-3
    eta = terms.sum(axis=1) + model.intercept_
    assert np.sqrt(np.mean((eta - f) ** 2)) < 0.12
    assert model.edf_[2] < 1
    assert np.all((model.plateaus_ == "gone") == (model.edf_ < 0.02))


def test_what_a_column_may_hold():
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame({"x": rng.uniform(size=n), "flag": rng.uniform(size=n) < 0.5})
    y = frame["x"] + 3 * frame["flag"] + 0.3 * rng.normal(size=n)
    frame["when"] = pd.date_range("2020-01-01", periods=n)
    frame["id"] = [f"u{k}" for k in range(n)]
    with pytest.warns(UserWarning, match="Left out, as constant or with a category .*: id"):
        model = GAMRegressorCV().fit(frame, y)
    assert model.labels_ == ["s(x)", "flag", "s(when)"]
    assert model.edf_[2] < 5
    with pytest.raises(InvalidInputError, match="200 categories for 200 rows"):
        GAMRegressorCV("id").fit(frame, y)
    plain = GAMRegressorCV("s(x) + flag").fit(frame, y)
    for other in (frame["flag"].astype(int), frame["flag"].astype(str).str.lower()):
        again = plain.predict(frame.assign(flag=other))
        np.testing.assert_array_equal(again, plain.predict(frame))
    with pytest.raises(InvalidInputError, match="NaN or an infinity in row 0"):
        plain.predict(frame.assign(x=np.nan))


def test_warnings_of_what_cannot_be_told():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 1)), rng.normal(size=300)
    x[3] = 1e6
    with pytest.warns(UserWarning, match="between two of the 20 knots of s\\(x0\\): no curve"):
        GAMRegressorCV().fit(x, y)
    with pytest.raises(InvalidInputError, match="y is constant"):
        GAMRegressorCV().fit(rng.normal(size=(50, 1)), np.ones(50))
    wide = rng.normal(size=(30, 50))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GAMRegressorCV().fit(wide, rng.normal(size=30))
    assert any("the noise is fitted with the rest" in str(one.message) for one in caught)


@pytest.mark.parametrize("shape", [0.5, 5.0])
def test_the_dispersion_of_costs(shape):
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(400, 1))
        y = np.exp(np.sin(6 * X[:, 0])) * rng.gamma(shape, 1 / shape, 400)
        found.append(GAMRegressorCV(family="gamma").fit(X, y).dispersion_)
    assert np.mean(found) == pytest.approx(1 / shape, rel=0.2)


def test_positive_numbers_with_a_heavy_tail():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 1))
    f = np.sin(6 * X[:, 0])
    y = rng.wald(np.exp(f), 5)
    for cv in ("reml", "aic"):
        model = GAMRegressorCV(family="inverse-gaussian", cv=cv).fit(X, y)
        assert model.result_.converged
        assert np.sqrt(np.mean((np.log(model.predict(X)) - f) ** 2)) < 0.2


def test_offsets_where_there_are_none(data):
    X, _, y = data
    with pytest.raises(InvalidInputError, match="offset is for families with the logarithm"):
        GAMRegressorCV().fit(X, y, offset=y)
    assert GAMRegressorCV().fit(X, y).model_.cv == "reml"
    assert GAMRegressorCV([smooth(0)], family="huber").fit(X, y).model_.cv == 5
    with sklearn.config_context(enable_metadata_routing=True):
        GAMRegressorCV(family="poisson").set_fit_request(exposure=True)


def test_own_estimators_as_a_family(data):
    X, _, y = data
    high = GAMRegressorCV(
        [smooth(0), linear(1)], family=hoag.QuantileRegressorCV(quantile=0.9), cv=5
    )
    high.fit(X, y)
    assert 0.8 < np.mean(y <= high.predict(X)) < 0.97
    with pytest.raises(InvalidInputError, match="no likelihood"):
        high.predict(X, interval=0.9)


def test_coverage_of_the_bands():
    inside = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(400, 3))
        f = np.stack(truth(X), axis=1)
        f = f - f.mean(axis=0)
        y = f.sum(axis=1) + 0.5 * rng.normal(size=400)
        model = GAMRegressorCV().fit(X, y)
        _, low, high = model.predict(X, interval=0.95)
        inside.append(np.mean((low <= f.sum(axis=1)) & (f.sum(axis=1) <= high)))
    assert 0.88 < np.mean(inside) < 0.995


def test_tests_of_terms_know_nothing_from_something():
    p = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(200, 2))
        y = np.sin(6 * X[:, 0]) + rng.normal(size=200)
        model = GAMRegressorCV([smooth(0), smooth(1, vanish=False)]).fit(X, y)
        p.append(model.summary().table["p_value"])
    p = np.array(p)
    assert np.all(p[:, 0] < 1e-4)
    assert np.mean(p[:, 1]) > 0.25
    assert set(model.summary().to_frame().columns) >= {"edf", "p_value", "plateau"}


def test_clones_and_pickles(data, fitted):
    X, _, y = data
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    other = clone(GAMRegressorCV([smooth(0, knots=[0, 0.5, 1])], cv="gcv", tol=1e-5))
    assert other.get_params()["cv"] == "gcv"
    assert other.fit(X, y).edf_.size == 1


# ---- errors


def test_a_surface_has_as_many_coefficients_as_there_are_rows_for():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(50, 4))
    size = {rows: additive(X[:rows], tensor(0, 1))[0].size for rows in (30, 50)}
    assert size == {30: 25, 50: 49}
    assert additive(rng.uniform(size=(90, 2)), tensor(0, 1))[0].size == 81
    assert additive(X, tensor(0, 1, knots=7))[0].size == 81  # as it was asked for
    with pytest.raises(InvalidInputError, match="256 coefficients, 4 × 4 × 4 × 4, for 50 differ"):
        GAMRegressorCV("te(0, 1, 2, 3)").fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="for 50 different rows: give k=7"):
        GAMRegressorCV("te(0, 1, k=20)").fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ([smooth("age")], "no column of X"),
        ([smooth(7)], "no column of X"),
        ([linear(0)], "nothing to tune"),
        ([smooth(0), smooth(0)], "twice"),
        (["s(x0)"], "is no term"),
        ([smooth(2, knots=4)], "2 different values, too few"),
    ],
)
def test_errors_are_sentences(terms, said):
    X = np.random.default_rng(0).uniform(size=(30, 3))
    X[:, 2] = X[:, 2] > 0.5
    with pytest.raises(InvalidInputError, match=said):
        GAMRegressorCV(terms).fit(X, X[:, 0])


def test_other_errors():
    X = np.random.default_rng(0).uniform(size=(30, 2))
    with pytest.raises(InvalidInputError, match="family="):
        GAMRegressorCV(family="cauchy").fit(X, X[:, 0])
    with pytest.raises(InvalidInputError, match="knots=1"):
        smooth(0, knots=1)
    for wrong in ("a", 2.5, None, [1, np.nan], [1, 0], True):
        with pytest.raises(InvalidInputError, match="knots="):
            smooth(0, knots=wrong)
    for name in ("order", "degree"):
        with pytest.raises(InvalidInputError, match=f"{name}='a'"):
            tensor(0, 1, **{name: "a"})
    with pytest.raises(InvalidInputError, match="two columns"):
        tensor(0)
    frame = pd.DataFrame({"x": [0.0, np.nan, *np.arange(28)], "k": ["a", None] * 15})
    with pytest.raises(InvalidInputError, match="NaN or an infinity in row 1"):
        GAMRegressorCV([smooth("x")]).fit(frame, X[:, 0])
    with pytest.raises(InvalidInputError, match="no category in row 1"):
        GAMRegressorCV([category("k")]).fit(frame, X[:, 0])
    with pytest.raises(InvalidInputError, match="holds no numbers"):
        GAMRegressorCV([smooth("k")]).fit(frame.assign(k="a"), X[:, 0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GAMRegressorCV().fit(np.column_stack([X, np.ones(30)]), X[:, 0] + X[:, 1] ** 2)
    assert any("Left out" in str(one.message) for one in caught)


def test_tables_of_arrow_are_frames():
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    kinds = rng.choice(["a", "b", "c"], 200)
    columns = {"x": rng.uniform(size=200), "k": kinds, "y": rng.normal(size=200)}
    frame = pd.DataFrame(columns).astype({"k": "category"})
    table = pa.table({**columns, "k": pa.array(kinds).dictionary_encode()})
    for given in (table, table.to_batches()[0]):
        model = GAMRegressorCV("y ~ s(x) + k").fit(given)
        own = GAMRegressorCV("y ~ s(x) + k").fit(frame)
        assert model.labels_ == own.labels_
        np.testing.assert_array_equal(model.predict(given), own.predict(frame))
    every = GAMRegressorCV().fit(table.select(["x", "k"]), columns["y"])
    assert list(every.feature_names_in_) == ["x", "k"]
