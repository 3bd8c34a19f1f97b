"""Cox regression: the partial likelihood against its definition, folds, and what fit promises."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from quick import quick
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import column_or_1d

import hoag
from hoag import CoxRegressionCV
from hoag._criteria.curvature.base import Direct
from hoag._criteria.curvature.woodbury import Woodbury
from hoag._criteria.fits import FoldedFits
from hoag._glm.coupled import CoupledDesign
from hoag._glm.folds import linear_folds
from hoag._glm.risk_sets import RiskSets
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import binary
from hoag.criteria import Ask
from hoag.errors import InvalidInputError
from hoag.linear_model import concordance

TIES = ("breslow", "efron")


def drawn(seed=0, n=60, p=5, tied=True, scale=0.5):
    """Rows, (time, event), strata and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5
    z = X @ (scale * rng.normal(size=p) * (np.arange(p) % 3 < 2))
    fallen, censored = rng.exponential(size=n) * np.exp(-z), rng.exponential(size=n) * np.exp(-z[0])
    time = np.minimum(fallen, censored)
    time = np.ceil(4 * time / np.median(time)) if tied else time
    y = np.column_stack([time, fallen <= censored])
    y[:4, 1] = 1
    weights = rng.uniform(0.3, 2.0, size=n) * (np.arange(n) % 9 > 0)
    return X, y, rng.integers(0, 3, size=n), weights


def definition(y, strata, s, z, ties):
    """L(s; z), time by time and event by event."""
    (time, event), total = y.T, 0.0
    for stratum in np.unique(strata):
        own = (strata == stratum) & (s > 0)
        for t in np.unique(time[own & (event == 1)]):
            risk, fallen = own & (time >= t), own & (time == t) & (event == 1)
            m = int(fallen.sum())
            for k in range(m):
                out = k / m * np.sum(s[fallen] * np.exp(z[fallen])) if ties == "efron" else 0.0
                total += s[fallen].mean() * np.log(np.sum(s[risk] * np.exp(z[risk])) - out)
            total -= s[fallen] @ z[fallen]
    return total


def sets_of(y, strata, weights, ties, **options):
    return RiskSets(y[:, 0], y[:, 1] == 1, strata, weights, ties, **options)


# ---- L as a function of the scores


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("strata", [1, 3, 25])
def test_the_likelihood_is_that_of_its_definition(ties, strata):
    X, y, _, weights = drawn(n=80)
    labels = np.random.default_rng(1).integers(0, strata, size=80)
    z = X[:, 0]
    found = sets_of(y, labels, weights, ties).at(z).value
    assert found == pytest.approx(definition(y, labels, weights, z, ties), rel=1e-12)
    scaled = sets_of(y, labels, weights / 7, ties, unit=7.0).at(z).value
    assert 7 * scaled == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("strata", [1, 3, 25])
@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0])
def test_derivatives_in_the_scores(ties, strata, size):
    _, y, _, weights = drawn(n=80)
    rng = np.random.default_rng(2)
    sets = sets_of(y, rng.integers(0, strata, size=80), weights, ties)
    z, u, h = size * rng.normal(size=80), rng.normal(size=80), 1e-5
    V = rng.normal(size=(80, 3))
    here, up, down = sets.at(z), sets.at(z + h * u), sets.at(z - h * u)
    close = {"rtol": 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(here.slope @ u, (up.value - down.value) / (2 * h), rtol=1e-5)
    np.testing.assert_allclose(here.hvp(u), (up.slope - down.slope) / (2 * h), **close)
    np.testing.assert_allclose(here.third(u, V), (up.hvp(V) - down.hvp(V)) / (2 * h), **close)
    np.testing.assert_allclose(here.hvp(V)[:, 1], here.hvp(V[:, 1]), atol=1e-13)
    np.testing.assert_allclose(here.third(u, V)[:, 1], here.third(u, V[:, 1]), atol=1e-13)


@pytest.mark.parametrize("ties", TIES)
def test_scores_far_apart_are_summed_as_their_logs_would(ties):
    """Where e^z spans thousands of decimal places."""
    _, y, _, weights = drawn(n=40)
    z = 900.0 * np.random.default_rng(3).normal(size=40)
    order, total = np.argsort(-y[:, 0], kind="stable"), 0.0
    if ties == "breslow":
        logs = np.where(weights > 0, z + np.log(np.where(weights > 0, weights, 1)), -np.inf)
        for i in order[(y[order, 1] == 1) & (weights[order] > 0)]:
            risk = y[:, 0] >= y[i, 0]
            total += weights[i] * (np.logaddexp.reduce(logs[risk]) - z[i])
        found = sets_of(y, np.zeros(40, int), weights, ties).at(z)
        assert found.value == pytest.approx(total, rel=1e-12)
    at = sets_of(y, np.zeros(40, int), weights, ties).at(z)
    assert np.all(np.isfinite(at.slope))
    assert abs(at.slope.sum()) < 1e-10
    assert np.all(np.isfinite(at.hvp(np.ones((40, 2)))))


@pytest.mark.parametrize("ties", TIES)
def test_rows_without_weight_have_no_influence(ties):
    X, y, strata, weights = drawn()
    kept, z = weights > 0, X[:, 0].copy()
    whole = sets_of(y, strata, weights, ties)
    few = sets_of(y[kept], strata[kept], weights[kept], ties).at(z[kept])
    z[~kept] = 1e6
    at = whole.at(z)
    assert at.value == few.value
    np.testing.assert_array_equal(at.slope[kept], few.slope)
    np.testing.assert_array_equal(at.slope[~kept], 0.0)


def test_weights_are_repeated_rows_under_breslow():
    X, y, strata, _ = drawn()
    times = np.random.default_rng(4).integers(0, 4, size=len(X))
    again = np.repeat(np.arange(len(X)), times)
    weighted = sets_of(y, strata, times.astype(float), "breslow").at(X[:, 1])
    repeated = sets_of(y[again], strata[again], np.ones(again.size), "breslow").at(X[again, 1])
    assert weighted.value == pytest.approx(repeated.value, rel=1e-12)
    sums = np.bincount(again, repeated.slope, minlength=len(X))
    np.testing.assert_allclose(weighted.slope, sums, atol=1e-12)


def test_no_rows_and_no_events_are_nothing():
    for weights in (np.zeros(5), np.ones(5)):
        y = np.column_stack([np.arange(5.0), np.zeros(5)])
        at = sets_of(y, np.zeros(5, int), weights, "efron").at(np.ones(5))
        assert at.value == 0.0
        np.testing.assert_array_equal(at.hvp(np.ones(5)), 0.0)


# ---- problems


def problems(penalties="shared", ties="efron", seed=0, n=60, p=5, fmt=np.asarray, cv=3, **options):
    X, y, strata, weights = drawn(seed, n, p)
    return hoag.models.folds(
        *(hoag.models.cox, fmt(X), y),
        **{"strata": strata, "sample_weight": weights, "ties": ties, "cv": cv} | options,
        penalties=penalties,
    )


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("fmt", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("penalties", ["shared", "per-feature", np.array([0, 1, 1, -1, 0])])
def test_problems_keep_the_contract(ties, fmt, penalties):
    problem = problems(penalties, ties, fmt=fmt)[1]
    rng = np.random.default_rng(5)
    x, lam = rng.normal(size=5), rng.normal(size=problem.lam0.size)
    assert max(hoag.testing.check_problem(problem, x, lam).values()) < 1e-6
    hessian = problem.at(x, lam).hessian
    H = hessian @ np.eye(5)
    np.testing.assert_allclose(hessian.matrix(), H, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(hessian.diagonal(), np.diag(H), rtol=1e-10)
    copy = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(copy.at(x, lam).g_x, problem.at(x, lam).g_x)


def test_sparse_rows_are_as_dense_ones():
    x, lam = np.random.default_rng(6).normal(size=5), np.zeros(1)
    dense, thin = (problems(fmt=fmt)[0].at(x, lam) for fmt in (np.asarray, sparse.csr_matrix))
    assert dense.h == pytest.approx(thin.h, rel=1e-12)
    np.testing.assert_allclose(dense.h_x, thin.h_x, atol=1e-11)
    np.testing.assert_allclose(dense.hessian.matrix(), thin.hessian.matrix(), atol=1e-10)


@pytest.mark.parametrize("ties", TIES)
def test_held_out_rows_are_judged_by_what_they_add(ties):
    X, y, strata, weights = drawn()
    splits = list(KFold(4).split(X))
    x = np.random.default_rng(7).normal(size=5) / 3
    for problem, (train, _) in zip(problems(ties=ties, cv=splits), splits, strict=True):
        inside = weights * np.isin(np.arange(60), train)
        added = [definition(y, strata, s, X @ x, ties) for s in (weights, inside)]
        assert problem.at(x, np.zeros(1)).g == pytest.approx(added[0] - added[1], rel=1e-10)


def test_a_hold_out_is_a_fold():
    X, y, strata, weights = drawn()
    a, b = np.arange(40), np.arange(40, 60)
    (fold,) = problems("per-feature", cv=[(a, b)])
    alone = hoag.models.cox(
        *(X[a], y[a], X[b], y[b]),
        penalties="per-feature",
        ties="efron",
        sample_weight=weights[a],
        test_weight=weights[b],
        strata=strata[a],
        test_strata=strata[b],
    )
    x, lam = np.ones(5) / 3, np.zeros(5)
    assert fold.at(x, lam).g == pytest.approx(alone.at(x, lam).g, rel=1e-12)
    assert fold.at(x, lam).h == pytest.approx(alone.at(x, lam).h, rel=1e-12)


# ---- folds together


def by_each_alone(folds, lam):
    """f and p of every fold by itself, in the way of any problem, by factors."""
    newton = hoag.solvers.Newton(hoag.solvers.Cholesky(), np.inf)
    each = [
        hoag.criteria.Implicit(p, newton, hoag.solvers.Cholesky(), certificate=False) for p in folds
    ]
    return hoag.criteria.Sum(each).evaluate(lam, 1e-11)


WIDE = np.repeat([0, 1, 2], 60)
CASES = [
    ("shared", 5, Direct),
    ("per-feature", 5, Direct),
    (np.array([0, 1, 1, -1, 0]), 5, Direct),
    ("shared", 180, Direct),
    (WIDE, 180, Woodbury),
    (np.where(np.arange(180) < 2, -1, WIDE), 180, Woodbury),
    ("per-feature", 70, Woodbury),
]


@pytest.mark.parametrize(("penalties", "p", "kind"), CASES)
@pytest.mark.parametrize("fmt", [np.asarray, sparse.csr_matrix])
def test_folds_together_are_folds_by_themselves(penalties, p, kind, fmt):
    folds = problems(penalties, n=40, p=p, fmt=fmt)
    criterion = hoag.plan(folds)
    assert isinstance(criterion, FoldedFits)
    assert type(criterion.curvature) is kind
    lam = np.linspace(-0.5, 2.5, criterion.lam0.size)
    other, found = by_each_alone(folds, lam), criterion.evaluate(lam)
    assert found.value == pytest.approx(other.value, rel=1e-8)
    np.testing.assert_allclose(found.grad, other.grad, atol=1e-7 * other.value)


@pytest.mark.parametrize(("penalties", "p", "kind"), CASES)
def test_the_gradient_and_the_bends_of_f(penalties, p, kind, monkeypatch):
    criterion = hoag.plan(problems(penalties, n=40, p=p))
    lam = np.linspace(-0.5, 2.5, criterion.lam0.size)
    here, h = criterion.evaluate(lam, Ask(hessian=True)), 1e-4
    scale = np.abs(here.hessian).max()
    for e in np.eye(lam.size)[:4]:
        up, down = (criterion.evaluate(lam + t * h * e, 0.0, here.warm) for t in (1, -1))
        assert here.grad @ e == pytest.approx((up.value - down.value) / (2 * h), abs=1e-6 * scale)
        by_differences = (up.grad - down.grad) / (2 * h)
        np.testing.assert_allclose(here.hessian @ e, by_differences, atol=5e-6 * scale)
    # where matrices are dear, products lead to the same
    monkeypatch.setattr("hoag._criteria.affordable.CHEAP", 0.0)
    dear = hoag.plan(problems(penalties, n=40, p=p)).evaluate(lam, Ask(hessian=True))
    assert dear.value == pytest.approx(here.value, rel=1e-7)
    np.testing.assert_allclose(dear.hessian, here.hessian, atol=1e-4 * scale)


def test_a_sum_over_rows_asked_fold_by_fold_is_the_same_as_by_cells():
    X, y, _, weights = drawn()
    target = binary(np.where(y[:, 1] == 1, 1, -1), np.array([-1, 1]), intercept=True)
    splits = StratifiedKFold(3).split(X, y[:, 1])
    folds = linear_folds(ArrayRows(X), target, splits, weights, "per-feature")
    by_cells, lam = hoag.plan(folds), np.linspace(-1, 1, 5)
    by_folds = FoldedFits(folds, CoupledDesign.of(folds), lambda: by_cells)
    one, other = (each.evaluate(lam, Ask(hessian=True)) for each in (by_cells, by_folds))
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(one.grad, other.grad, atol=1e-9)
    np.testing.assert_allclose(one.hessian, other.hessian, atol=1e-9)
    places = np.linspace(-3, 3, 4) + np.zeros((5, 1))
    moved = [e.profile(f, places)[0] for e, f in ((by_cells, one), (by_folds, other))]
    np.testing.assert_allclose(*moved, rtol=1e-10)


def test_where_factors_are_too_dear_conjugate_gradients_find_the_same(monkeypatch):
    folds = problems(WIDE, n=40, p=180)
    exact = hoag.minimize(folds, bounds=(-3.0, 12.0))
    monkeypatch.setattr("hoag._criteria.affordable.FEW", 0)
    criterion = hoag.plan(problems(WIDE, n=40, p=180))
    assert isinstance(criterion, hoag.criteria.Sum)
    assert isinstance(criterion.criteria[0], hoag.criteria.Implicit)
    loose = hoag.minimize(criterion, bounds=(-3.0, 12.0))
    assert loose.value == pytest.approx(exact.value, rel=2e-3)
    one = hoag.plan(problems(n=40, p=180))
    assert isinstance(one.criteria[0], hoag.criteria.Implicit)  # and no small space


class CountedRows(ArrayRows):
    """Rows that count their own products, half a pass for each column."""

    def forward(self, v):
        self.products = vars(self).get("products", 0.0) + 0.5 * (1 if v.ndim == 1 else v.shape[1])
        return super().forward(v)

    def backward(self, r):
        self.products = vars(self).get("products", 0.0) + 0.5 * (1 if r.ndim == 1 else r.shape[1])
        return super().backward(r)


def test_every_product_with_the_rows_is_counted():
    X, y, _, _ = drawn()
    rows = CountedRows(X)
    folds = hoag.models.folds(hoag.models.cox, rows, y, cv=3, penalties="per-feature")
    found = hoag.plan(folds).evaluate(np.zeros(5), Ask(hessian=True))
    assert found.cost.passes + found.cost.held_out == pytest.approx(rows.products)


# ---- the estimator


def structured(y, names=("status", "days"), flip=False):
    fields = [(names[0], bool), (names[1], float)]
    found = np.zeros(len(y), dtype=fields[::-1] if flip else fields)
    found[names[0]], found[names[1]] = y[:, 1] == 1, y[:, 0]
    return found


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("penalties", ["shared", "per-feature", np.array([0, 0, 1, 1, 1])])
def test_coefficients_and_alpha_are_scikit_survivals(ties, penalties):
    coxph = pytest.importorskip("sksurv.linear_model").CoxPHSurvivalAnalysis
    X, y, _, _ = drawn(n=120)
    model = CoxRegressionCV(penalties=penalties, ties=ties).fit(X, y)
    groups = {"shared": np.zeros(5, int), "per-feature": np.arange(5)}
    alpha = np.atleast_1d(model.alpha_)[groups.get(str(penalties), penalties)]
    other = coxph(alpha=alpha, ties=ties, tol=1e-12).fit(X, structured(y))
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-5)
    times = np.linspace(*np.quantile(y[y[:, 1] == 1, 0], [0.0, 0.9]), 6)
    for method in ("predict_survival_function", "predict_cumulative_hazard_function"):
        curves = [curve(times) for curve in getattr(other, method)(X[:9])]
        np.testing.assert_allclose(getattr(model, method)(X[:9], times), curves, atol=1e-5)
    assert model.score(X, y) == pytest.approx(other.score(X, structured(y)), abs=1e-12)


@pytest.mark.parametrize("ties", TIES)
def test_strata_are_as_in_statsmodels(ties):
    phreg = pytest.importorskip("statsmodels.duration.hazard_regression").PHReg
    X, y, strata, _ = drawn(n=150)
    options = {"strata": strata, "cv": 2, "ties": ties}
    folds = hoag.models.folds(hoag.models.cox, X, y, **options)
    whole = hoag.models.folds(
        hoag.models.cox, X, y, **options | {"cv": [(np.arange(150), np.arange(0))]}
    )[0]
    assert len(folds) == 2
    x = hoag.solvers.Newton(hoag.solvers.Cholesky()).solve(
        whole, np.array([-25.0]), np.zeros(5), 1e-9
    )
    other = phreg(y[:, 0], X, status=y[:, 1], strata=strata, ties=ties).fit()
    np.testing.assert_allclose(x.x, other.params, atol=1e-5)


@pytest.mark.parametrize("ties", TIES)
def test_weights_and_strata_are_those_of_the_definition(ties):
    X, y, strata, weights = drawn(n=40, p=3)
    model = CoxRegressionCV(ties=ties, cv=3).fit(X, y, sample_weight=weights, strata=strata)

    def h(w):
        return definition(y, strata, weights, X @ w, ties) + 0.5 * model.alpha_ * w @ w

    best = minimize(h, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(model.coef_, best.x, atol=1e-5)


def exact_f(X, y, strata, weights, ties, splits, groups):
    """λ ↦ the criterion by its definition, with scipy's minimiser."""
    whole = definition

    def f(lam):
        alpha, total, events = np.exp(lam)[groups], 0.0, 0.0
        for train, test in splits:
            inside = weights * np.isin(np.arange(len(X)), train)
            both = inside + weights * np.isin(np.arange(len(X)), test)
            sets = sets_of(y, strata, inside, ties)

            def h(w, sets=sets, alpha=alpha):
                at = sets.at(X @ w)
                return at.value + 0.5 * alpha @ w**2, X.T @ at.slope + alpha * w

            options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000}
            w = minimize(h, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=options).x
            total += sum(
                k * whole(y, strata, s, X @ w, ties) for k, s in ((2.0, both), (-2.0, inside))
            )
            events += weights[test] @ y[test, 1]
        return total / events

    return f


@pytest.mark.parametrize("seed", range(3))
def test_promises_with_one_penalty(seed):
    """The criterion is what it says, and no λ of the box is better."""
    X, y, strata, weights = drawn(seed, n=45, p=4 if seed else 60, scale=0.3)
    splits, ties = list(StratifiedKFold(3).split(X, y[:, 1])), TIES[seed % 2]
    model = CoxRegressionCV(cv=splits, ties=ties, bounds=(-6.0, 10.0))
    model.fit(X, y, sample_weight=weights, strata=strata)
    assert model.result_.converged
    groups = np.zeros(X.shape[1], int)
    f = exact_f(X - X.mean(axis=0), y, strata, weights, ties, splits, groups)
    assert model.criterion_ == pytest.approx(f(model.lam_), rel=1e-5)
    given = {"sample_weight": weights, "strata": strata}
    assert model.criterion_at(model.lam_, X, y, **given) == pytest.approx(model.criterion_)
    grid = [model.criterion_at([lam], X, y, **given) for lam in np.arange(-6.0, 10.1, 0.5)]
    assert model.criterion_ <= min(grid) * (1 + 2e-5)


@pytest.mark.parametrize("seed", quick(range(4), range(2)))
def test_promises_with_several_penalties(seed):
    X, y, _, _ = drawn(seed, n=70, p=6, tied=False)
    groups = np.arange(6) if seed % 2 else np.arange(6) // 2
    splits = list(StratifiedKFold(3).split(X, y[:, 1]))
    model = CoxRegressionCV(penalties=groups, cv=splits, bounds=(-8.0, 12.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a bound may be reached
        model.fit(X, y)
    assert model.result_.converged
    ones, none = np.ones(70), np.zeros(70, int)
    f = exact_f(X - X.mean(axis=0), y, none, ones, "breslow", splits, groups)
    assert model.criterion_ == pytest.approx(f(model.lam_), rel=1e-5)
    folds = hoag.models.folds(hoag.models.cox, X - X.mean(axis=0), y, cv=splits, penalties=groups)
    criterion, rng = hoag.plan(folds), np.random.default_rng(seed)

    def value(lam):
        found = criterion.evaluate(lam)
        return 2 * found.value / y[:, 1].sum(), 2 * found.grad / y[:, 1].sum()

    box, ends = [(-8.0, 12.0)] * model.lam_.size, []
    for start in (model.lam_, *rng.uniform(-3, 8, size=(3, model.lam_.size))):
        ends.append(minimize(value, start, jac=True, bounds=box).fun)
    assert model.criterion_ <= ends[0] * (1 + 2e-5)
    assert model.criterion_ <= min(ends) * (1 + 1e-3)


def test_targets_in_every_form_are_one_model():
    X, y, _, _ = drawn()
    models = [
        CoxRegressionCV(cv=3).fit(X, target)
        for target in (y, structured(y), structured(y, ("x", "a"), flip=True), y.tolist())
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.score(X, structured(y)) == models[0].score(X, y)


def with_row(y, row, column, value):
    y = y.copy()
    y[row, column] = value
    return y


def test_bad_targets_are_answered_with_the_first_bad_row():
    X, y, _, _ = drawn()
    cases = {
        "negative time in row 7: -1": with_row(with_row(y, 7, 0, -1.0), 9, 0, -2.0),
        "no finite number in row 3": with_row(y, 3, 0, np.nan),
        "neither 0 nor 1 in row 5: 2": with_row(y, 5, 1, 2.0),
        "has no event": np.column_stack([y[:, 0], np.zeros(60)]),
        "needs two columns": y[:, 0],
        "needs two, one of truth values": structured(y)[["days"]],
    }
    for what, bad in cases.items():
        with pytest.raises(InvalidInputError, match=what):
            CoxRegressionCV().fit(X, bad)
    with pytest.raises(InvalidInputError, match="one label for each of 60 rows"):
        CoxRegressionCV().fit(X, y, strata=[1, 2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CoxRegressionCV().fit(X, y[:50])
    with pytest.raises(InvalidInputError, match="'breslow' or 'efron'"):
        CoxRegressionCV(ties="exact").fit(X, y)
    with pytest.raises(InvalidInputError, match="penalties='per-class'"):
        CoxRegressionCV(penalties="per-class").fit(X, y)
    with pytest.raises(InvalidInputError, match="No event has a positive weight"):
        CoxRegressionCV().fit(X, y, sample_weight=1.0 - y[:, 1])
    fitted = CoxRegressionCV(cv=3).fit(X, y)
    with pytest.raises(AttributeError, match="scikit-learn has no Cox regression"):
        fitted.to_sklearn()


def test_every_fold_has_events():
    X, y, _, _ = drawn(n=60)
    y[:, 1] = np.arange(60) < 10  # in order, so that plain folds would have none
    model = CoxRegressionCV()
    splits, _ = model._splits(X, y, None, {})
    assert [int(y[test, 1].sum()) for _, test in splits] == [2] * 5


def test_it_is_an_estimator():
    pandas = pytest.importorskip("pandas")
    X, y, strata, weights = drawn()
    names = list("abcde")
    frame = pandas.DataFrame(X, columns=names)
    given = {"a": "free", "b": "some", "c": "some"}
    model = CoxRegressionCV(penalties=given, ties="efron", cv=3, rule="1se")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    copy.fit(frame, y, sample_weight=weights, strata=strata)
    assert copy.n_features_in_ == 5
    assert list(copy.feature_names_in_) == names
    assert list(copy.penalties_["name"]) == ["some", "others"]
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.predict(frame), copy.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        copy.predict(frame[names[::-1]])
    pipe = make_pipeline(StandardScaler(), CoxRegressionCV(cv=3)).fit(X, structured(y))
    assert 0.5 < pipe.score(X, structured(y)) < 1
    grid = GridSearchCV(CoxRegressionCV(cv=3), {"ties": list(TIES)}, cv=3).fit(X, structured(y))
    assert grid.best_score_ > 0.5


def test_sparse_scales_and_shifts_of_columns_are_one_model():
    X, y, _, _ = drawn(tied=False)
    X = X * (np.abs(X) > 0.5)
    plain = CoxRegressionCV(cv=3, penalties=np.array([0, 0, 1, 1, 1]))
    dense, thin, moved = (
        clone(plain).fit(rows, y) for rows in (X, sparse.csr_array(X), 3 * X + 100.0)
    )
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-3)
    assert dense.criterion_ == pytest.approx(thin.criterion_, rel=1e-5)
    np.testing.assert_allclose(dense.coef_, 3 * moved.coef_, atol=1e-4)
    np.testing.assert_allclose(moved.lam_[0], dense.lam_[0] + 2 * np.log(3), atol=1e-3)
    curves = [model.predict_survival_function(rows[:5]) for model, rows in
              ((dense, X), (moved, 3 * X + 100.0))]  # fmt: skip
    np.testing.assert_allclose(*curves, atol=1e-3)


def test_weights_are_repeated_rows_for_the_estimator():
    X, y, strata, _ = drawn(n=40)
    times = np.random.default_rng(8).integers(1, 4, size=40)
    again = np.repeat(np.arange(40), times)
    splits = list(KFold(3).split(X))
    many = [tuple(np.flatnonzero(np.isin(again, part)) for part in split) for split in splits]
    one = CoxRegressionCV(cv=splits).fit(X, y, sample_weight=times, strata=strata)
    other = CoxRegressionCV(cv=many).fit(X[again], y[again], strata=strata[again])
    assert one.criterion_ == pytest.approx(other.criterion_, rel=1e-9)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
    np.testing.assert_allclose(one.baseline_survival_, other.baseline_survival_, atol=1e-6)
    assert one.score(X, y, times, strata) == pytest.approx(
        other.score(X[again], y[again], strata=strata[again])
    )


def test_every_stratum_has_a_baseline():
    X, y, _, _ = drawn()
    strata = np.where(np.arange(60) % 2, "east", "west")
    model = CoxRegressionCV(cv=3).fit(X, y, strata=strata)
    assert model.baseline_survival_.shape == (2, model.event_times_.size)
    curves = model.predict_survival_function(X, times=[0.0, 2.0, 1e9], strata=strata)
    assert np.all(np.diff(curves, axis=1) <= 0)
    np.testing.assert_array_equal(curves[:, 0], 1.0)
    place = np.searchsorted(model.event_times_, 2.0, side="right") - 1
    base = model.baseline_cumulative_hazard_[(strata == "west").astype(int), place]
    risk = np.exp((X - model.means_) @ model.coef_)
    np.testing.assert_allclose(curves[:, 1], np.exp(-base * risk))
    with pytest.raises(InvalidInputError, match="give the label of each"):
        model.predict_survival_function(X)
    with pytest.raises(InvalidInputError, match="'north' was not there"):
        model.predict_survival_function(X[:1], strata=["north"])
    plain = CoxRegressionCV(cv=3).fit(X, y)
    with pytest.raises(InvalidInputError, match="fitted without strata"):
        plain.predict_survival_function(X, strata=strata)


def test_scorers_see_what_was_given():
    X, y, _, _ = drawn()
    seen = []

    def scorer(model, X, y):
        seen.append(y.dtype.names)
        return concordance(y, model.predict(X))

    model = CoxRegressionCV(cv=3, scoring={"own": scorer, "c": make_scorer(concordance)})
    model.fit(X, structured(y))
    np.testing.assert_array_equal(model.scores_["own"], model.scores_["c"])
    assert set(seen) == {("status", "days")}
    assert model.scores_["c"].shape == (3,)
    chosen = CoxRegressionCV(cv=3, scoring=make_scorer(concordance), select="scoring").fit(X, y)
    best = chosen.cv_results_["mean_test_score"].max()
    assert chosen.scores_["score"].mean() == pytest.approx(best)


def test_the_searches_and_rules_that_others_have():
    X, y, strata, _ = drawn(n=90, tied=False, scale=1.0)
    best = CoxRegressionCV(cv=3).fit(X, y, strata=strata)
    strong = CoxRegressionCV(cv=3, rule="1se").fit(X, y, strata=strata)
    assert strong.lam_[0] > best.lam_[0]
    assert strong.lam_min_[0] == best.lam_[0]
    paper = CoxRegressionCV(cv=3, search=hoag.optimize.Hoag(max_iter=60), tol=1e-2)
    paper.fit(X, y, strata=strata)
    assert paper.criterion_ == pytest.approx(best.criterion_, rel=1e-3)
    path = best.path(X, y, strata=strata, points=5)
    assert path.loss.min() == pytest.approx(best.criterion_, rel=1e-6)
    bound = CoxRegressionCV(cv=3, search=hoag.optimize.Auto(certificate="bound")).fit(
        X, y, strata=strata
    )
    assert bound.result_.evaluation.bound == np.inf  # none is known, and none is claimed


def timed(y):
    """Numbers as times of events, all of which are seen."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = check_array(np.asarray(y), ensure_2d=False, dtype=float)
    y = column_or_1d(y, warn=True)
    return np.column_stack([y - y.min(), np.ones(len(y))])


class OfNumbers(CoxRegressionCV):
    """Takes y as scikit-learn's checks give it."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, timed(y), sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, timed(y), sample_weight)


@pytest.mark.filterwarnings("default::UserWarning")  # bounds are reached on their tiny data
@parametrize_with_checks([OfNumbers()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ---- concordance


@pytest.mark.parametrize("seed", range(4))
def test_concordance_is_scikit_survivals(seed):
    metrics = pytest.importorskip("sksurv.metrics")
    rng = np.random.default_rng(seed)
    y = np.column_stack([rng.integers(1, 15, size=80).astype(float), rng.random(80) < 0.6])
    risk = rng.integers(0, 12, size=80).astype(float)
    other = metrics.concordance_index_censored(y[:, 1] == 1, y[:, 0], risk)[0]
    assert concordance(y, risk) == pytest.approx(other, abs=1e-14)


def test_concordance_weighs_pairs_within_strata():
    _, y, strata, weights = drawn()
    risk = np.round(np.random.default_rng(9).normal(size=60), 1)
    right, pairs = 0.0, 0.0
    for i in np.flatnonzero(y[:, 1] == 1):
        later = (y[:, 0] > y[i, 0]) | ((y[:, 0] == y[i, 0]) & (y[:, 1] == 0))
        for j in np.flatnonzero(later & (strata == strata[i])):
            pair = weights[i] * weights[j]
            pairs += pair
            right += pair * (1.0 if risk[i] > risk[j] else 0.5 * (risk[i] == risk[j]))
    assert concordance(y, risk, weights, strata) == pytest.approx(right / pairs, rel=1e-12)
    with pytest.raises(InvalidInputError, match="No two rows can be compared"):
        concordance([[1.0, 1], [1.0, 1]], [0.0, 1.0])
