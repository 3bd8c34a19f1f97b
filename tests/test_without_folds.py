"""Criteria without folds, held against formulas written out row by row, fits without each row, and
textbooks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from quick import quick
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.model_selection import LeaveOneOut

import hoag
from hoag._criteria.leave_one_out import LeaveOneOut as ClosedForm
from hoag._criteria.risks import Information
from hoag._glm.folds import linear_folds
from hoag._glm.losses import Brier, Logistic, Multinomial, MultinomialBrier, Squared
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import multiclass, regression
from hoag.criteria import without_folds
from hoag.errors import InvalidInputError
from hoag.glm import Quadratic, Ridge, ScalarLoss

N, P = 40, 4


class Poisson(ScalarLoss):
    """eᶻ − yz; its third derivative is left to differences."""

    dispersion = 1.0

    def value(self, y, z):
        return np.exp(z) - y * z

    def slope(self, y, z):
        return np.exp(z) - y

    def curvature(self, y, z):
        return np.exp(z)


class Gamma(ScalarLoss):
    """z + ye⁻ᶻ, whose scale is not known."""

    def value(self, y, z):
        return z + y * np.exp(-z)

    def slope(self, y, z):
        return 1 - y * np.exp(-z)

    def curvature(self, y, z):
        return y * np.exp(-z)

    def third_derivative(self, y, z):
        return -y * np.exp(-z)


LOSSES = {
    "logistic": (Logistic(), Brier()),
    "multinomial": (Multinomial(), MultinomialBrier()),
    "squared": (Squared(0.5), Squared(1.0)),
    "poisson": (Poisson(), None),
    "gamma": (Gamma(), None),
}
WORDS = {
    "logistic": ("alo", "brier", "gcv", "aic", "bic"),
    "multinomial": ("alo", "brier", "gcv", "aic"),
    "squared": ("alo", "gcv", "aic", "bic", "sure"),
    "poisson": ("alo", "gcv", "bic"),
    "gamma": ("alo", "aic"),
}


def scattered(rng, n, p, share):
    """Sparse rows of normal numbers."""
    return sparse.csr_matrix(rng.normal(size=(n, p)) * (rng.random((n, p)) < share))


def data(kind, n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.8) + 0.2
    score = A @ rng.normal(size=(p, 3)) / np.sqrt(p) + 0.7 * rng.normal(size=(n, 3))
    y = {
        "logistic": np.where(score[:, 0] > 0, 1.0, -1.0),
        "multinomial": np.argmax(score, axis=1),
        "squared": score[:, 0],
        "poisson": rng.poisson(np.exp(0.5 * score[:, 0])).astype(float),
        "gamma": np.exp(0.5 * score[:, 0]),
    }[kind]
    weights = rng.uniform(0.5, 2.0, size=n)
    weights[3] = 0.0
    return A, y, weights


def smooth(outputs, intercept):
    D = np.diff(np.eye(P), axis=0)
    first = (slice(0, P * outputs), np.kron(D.T @ D, np.eye(outputs)))
    size = P * outputs + ({1: 1, 3: 2}[outputs] if intercept else 0)
    return Quadratic(size, [first, (slice(0, P * outputs), np.ones(P * outputs))])


def model(kind, penalty="shared", intercept=True, weighted=True, word="alo", given=None, fmt=None):
    A, y, weights = data(kind) if given is None else given
    outputs = 3 if kind == "multinomial" else 1
    target = multiclass(y, np.arange(3), intercept) if outputs == 3 else regression(y, intercept)
    loss, other = LOSSES[kind]
    outer = other if word == "brier" or kind == "squared" else loss
    target = replace(target, loss=loss, outer=outer)
    penalties = {
        "smooth": smooth(outputs, intercept),
        "groups": np.arange(A.shape[1]) % 2,
        "free": np.maximum(np.arange(A.shape[1]) - 1, -1),
    }.get(penalty, penalty)
    rows, every = ArrayRows(A if fmt is None else fmt(A)), np.arange(len(y))
    weights = weights if weighted else np.ones(len(y))
    return linear_folds(rows, target, [(every, every[:0])], weights, penalties)[0]


def criterion(problem, word, **options):
    return without_folds(problem, "alo" if word == "brier" else word, **options)


# ---- the same, written out: every Aᵢ as an array, sums as loops


def of_row(kind, y, z):
    """loss, slope and curvature of one row at z, (K,)."""
    if kind == "multinomial":
        p = softmax(z)
        return -np.log(p[y]), p - np.eye(3)[y], np.diag(p) - np.outer(p, p)
    t = z[0]
    value, slope, curvature = {
        "logistic": (np.logaddexp(0, -y * t), -y * expit(-y * t), expit(t) * expit(-t)),
        "squared": (0.5 * (y - t) ** 2, t - y, 1.0),
        "poisson": (np.exp(t) - y * t, np.exp(t) - y, np.exp(t)),
        "gamma": (t + y * np.exp(-t), 1 - y * np.exp(-t), y * np.exp(-t)),
    }[kind]
    return value, np.array([slope]), np.array([[curvature]])


def judged(kind, word, y, z):
    if word == "brier" and kind == "multinomial":
        return np.sum((softmax(z) - np.eye(3)[y]) ** 2)
    if word == "brier":
        return expit(-y * z[0]) ** 2
    return (y - z[0]) ** 2 if kind == "squared" else of_row(kind, y, z)[0]


def written_out(problem, kind, word, lam, constants):
    """f(λ), with x by Newton's method on arrays; constants are φ or σ², if any."""
    train, size = problem.train, problem.penalty.size
    y, s = train.y, train.weights
    A = np.stack([train.design.forward(e).reshape(len(y), -1) for e in np.eye(size)], axis=2)
    S = np.zeros((size, size))
    problem.penalty.at(lam).add_to(S, np.zeros(size))
    x = np.zeros(size)
    for _ in range(60):
        rows = [of_row(kind, y[i], A[i] @ x) for i in range(len(y))]
        gradient = S @ x + sum(s[i] * A[i].T @ rows[i][1] for i in range(len(y)))
        H = S + sum(s[i] * A[i].T @ rows[i][2] @ A[i] for i in range(len(y)))
        if np.linalg.norm(gradient) < 1e-11 * s.sum():
            break
        step = np.linalg.solve(H, gradient)
        x = x - step * min(1.0, 2.0 / np.max(np.abs(step)))
    if word in ("alo", "brier"):
        total = 0.0
        for i in range(len(y)):
            rest = H - s[i] * A[i].T @ rows[i][2] @ A[i]
            away = x + np.linalg.solve(rest, s[i] * A[i].T @ rows[i][1])
            total += s[i] * judged(kind, word, y[i], A[i] @ away)
        return total
    # without the shift of all classes' coefficients of a feature that nothing penalises
    df = np.trace(np.linalg.pinv(H, rcond=1e-9, hermitian=True) @ (H - S))
    n = int(np.sum(s > 0))
    least = {
        "poisson": lambda v: v - v * np.log(v) if v > 0 else 0.0,
        "gamma": lambda v: np.log(v) + 1,
    }.get(kind, lambda v: 0.0)
    losses = np.array([rows[i][0] - least(y[i]) for i in range(len(y))])
    total = 2 * n / s.sum() * float(s @ losses)
    if word == "gcv":
        share = s.sum() / n * (1.0 if kind == "squared" else 0.5)
        return share * total / (1 - df / n) ** 2
    if word == "sure":
        return total + 2 * constants * df
    price = 2.0 if word == "aic" else np.log(n)
    if kind == "squared":
        return total / n * np.exp(price * df / n)
    return total / constants + price * df


CASES = [
    (kind, word, penalty, intercept)
    for kind, words in WORDS.items()
    for word in words
    for penalty, intercept in (
        ("shared", True),
        ("per-feature", False),
        ("groups", True),
        ("free", True),
        ("smooth", True),
    )
    if (penalty, word) == ("shared", word) or word in ("alo", "aic") or penalty == "groups"
]


@pytest.mark.parametrize(("kind", "word", "penalty", "intercept"), CASES)
def test_value_and_gradient_are_those_of_the_formula(kind, word, penalty, intercept):
    problem = model(kind, penalty, intercept, word=word)
    found = criterion(problem, word)
    lam = np.linspace(-1.0, 1.5, found.lam0.size)
    constants = found.risk.dispersion if isinstance(found.risk, Information) else 0.0
    if word == "sure":
        constants = found.risk.noise
    here = found.evaluate(lam)
    assert here.converged
    written = written_out(problem, kind, word, lam, constants)
    assert here.value == pytest.approx(written, rel=1e-8)
    step, slopes = 1e-4, []
    for e in step * np.eye(lam.size):
        up, down = (written_out(problem, kind, word, lam + t * e, constants) for t in (1, -1))
        slopes.append((up - down) / (2 * step))
    np.testing.assert_allclose(here.grad, slopes, rtol=3e-6, atol=1e-6 * abs(written))
    settled = found.verify(here, 1e-6)
    assert settled.value == pytest.approx(here.value, rel=1e-10)
    assert settled.f_error < 1e-8 * abs(here.value)


def test_for_squares_it_is_leave_one_out():
    A, y, weights = data("squared")
    A, y, weights = (part[weights > 0] for part in (A, y, weights))
    problem = model("squared", "per-feature", given=(A, y, weights))
    exact = ClosedForm(ArrayRows(A), y, weights, Ridge(np.arange(P)))
    lam = np.array([-2.0, 0.0, 1.0, 3.0])
    here, there = criterion(problem, "alo").evaluate(lam), exact.evaluate(lam)
    assert here.value == pytest.approx(there.value, rel=1e-9)
    np.testing.assert_allclose(here.grad, there.grad, rtol=1e-7)
    np.testing.assert_allclose(here.folds, there.folds, rtol=1e-7)
    predicted = criterion(problem, "alo").predictions(lam)
    np.testing.assert_allclose(predicted, exact.predictions(lam), rtol=1e-8)


@pytest.mark.parametrize(
    "kind", quick(["logistic", "multinomial", "poisson", "gamma"], ["logistic", "poisson"])
)
def test_it_is_near_the_fits_without_each_row(kind):
    A, y, _ = data(kind, n=50, seed=2)
    problem = model(kind, given=(A, y, np.ones(50)))
    found = hoag.minimize(criterion(problem, "alo"), search=hoag.optimize.Auto(1e-6))
    assert found.converged
    target = multiclass(y, np.arange(3), True) if kind == "multinomial" else regression(y, True)
    target = replace(target, loss=LOSSES[kind][0], outer=LOSSES[kind][0])
    splits = LeaveOneOut().split(A)
    folds = hoag.plan(linear_folds(ArrayRows(A), target, splits, np.ones(50)))
    true = hoag.minimize(folds, search=hoag.optimize.Auto(1e-6))
    there = folds.verify(folds.value(found.lam, 1e-8), 1e-8).value
    assert found.value == pytest.approx(there, rel=0.01)
    assert there <= (1 + 1e-3) * true.value  # what choosing by the approximation loses


# ---- degrees of freedom and textbooks


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_without_a_penalty_aic_and_bic_are_those_of_statsmodels(kind):
    sm = pytest.importorskip("statsmodels.api")
    A, y, _ = data(kind, n=120)
    family = sm.families.Binomial() if kind == "logistic" else sm.families.Poisson()
    response = (y > 0).astype(float) if kind == "logistic" else y
    theirs = sm.GLM(response, sm.add_constant(A), family=family).fit()
    problem = model(kind, given=(A, y, np.ones(120)))
    lam = np.array([-22.0])
    assert criterion(problem, "aic").value(lam).value == pytest.approx(
        theirs.deviance + 2 * (P + 1), rel=1e-7
    )
    assert criterion(problem, "bic").value(lam).value == pytest.approx(
        theirs.deviance + np.log(120) * (P + 1), rel=1e-7
    )
    if kind == "logistic":  # whose deviance is −2 times the log likelihood
        aic = hoag.LogisticRegressionCV(cv="aic", bounds=(-22, -22)).fit(A, y)
        assert aic.criterion_ == pytest.approx(theirs.aic, rel=1e-7)
        assert aic.dof_ == pytest.approx(P + 1, rel=1e-6)


def test_squares_have_the_textbook_values():
    X, y = load_diabetes(return_X_y=True)
    n, alpha = len(y), 0.7
    at = (np.log(alpha), np.log(alpha))
    A = np.column_stack([X, np.ones(n)])
    S = alpha * np.diag([*np.ones(10), 0.0])
    hat = A @ np.linalg.solve(A.T @ A + S, A.T)
    df, rss = np.trace(hat), float(np.sum((y - hat @ y) ** 2))
    aic = hoag.RidgeCV(cv="aic", bounds=at).fit(X, y)
    assert aic.criterion_ == pytest.approx(n * np.log(rss / n) + 2 * df)
    assert aic.dof_ == pytest.approx(df)
    assert aic.criterion_at(aic.lam_, X, y) == pytest.approx(aic.criterion_)
    bic = hoag.RidgeCV(cv="bic", bounds=at).fit(X, y)
    assert bic.criterion_ == pytest.approx(n * np.log(rss / n) + np.log(n) * df)
    assert bic.best_score_ == -bic.criterion_
    noise = 2900.0
    sure = hoag.RidgeCV(cv="sure", noise=noise, bounds=at).fit(X, y)
    assert sure.criterion_ == pytest.approx((rss + 2 * noise * df) / n)
    slope = aic.result_.grad[0]
    up, down = (aic.criterion_at(aic.lam_ + h, X, y) for h in (1e-4, -1e-4))
    assert slope == pytest.approx((up - down) / 2e-4, rel=1e-5)


def test_several_targets_are_several_observations():
    X, y = load_diabetes(return_X_y=True)
    Y, n = np.column_stack([y, y[::-1]]), len(y)
    A = np.column_stack([X, np.ones(n)])
    fit = hoag.RidgeCV(cv="aic", penalties="per-target", bounds=(-3, 3)).fit(X, Y)
    rss, df = 0.0, 0.0
    for k, alpha in enumerate(fit.alpha_):
        hat = A @ np.linalg.solve(A.T @ A + alpha * np.diag([*np.ones(10), 0.0]), A.T)
        rss, df = rss + np.sum((Y[:, k] - hat @ Y[:, k]) ** 2), df + np.trace(hat)
    assert fit.criterion_ == pytest.approx(2 * n * np.log(rss / (2 * n)) + 2 * df)
    assert fit.dof_ == pytest.approx(df)


def test_noise_is_estimated_by_a_fit_that_is_hardly_penalised():
    X, y = load_diabetes(return_X_y=True)
    A = np.column_stack([X, np.ones(len(y))])
    plain = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    problem = hoag.models.ridge(X, y, X, y, intercept=True)
    estimated = criterion(problem, "sure").risk.noise
    assert estimated == pytest.approx(plain @ plain / (len(y) - 11), rel=1e-3)
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(50, 80))
    problem = hoag.models.ridge(wide, wide[:, 0] + rng.normal(size=50), wide, np.zeros(50))
    found = criterion(problem, "sure")
    assert 0.2 < found.risk.noise < 5  # half of the rows are left to tell it
    with pytest.raises(InvalidInputError, match="80 coefficients for 50 values"):
        criterion(problem, "aic")


def test_gcv_of_ridge_is_the_closed_form():
    A, y, weights = data("squared")
    A, y = A[weights > 0], y[weights > 0]
    problem = model("squared", given=(A, y, np.ones(len(y))))
    closed = ClosedForm(ArrayRows(A), y, np.ones(len(y)), Ridge(np.zeros(P, int)), gcv=True)
    for lam in (-3.0, 0.0, 2.0):
        here, there = criterion(problem, "gcv").evaluate(lam), closed.evaluate(lam)
        assert here.value == pytest.approx(there.value, rel=1e-9)
        np.testing.assert_allclose(here.grad, there.grad, rtol=1e-6)


# ---- sizes


def test_more_coefficients_than_a_factor_can_be_made_for_get_a_sentence():
    rng = np.random.default_rng(0)
    A, y = scattered(rng, 3100, 3050, 0.002), rng.integers(0, 2, 3100)
    problem = hoag.models.logistic(A, y, A, y, intercept=True)
    with pytest.raises(InvalidInputError, match=r"too expensive for 3050 coefficients\. Use folds"):
        without_folds(problem)
    with pytest.raises(InvalidInputError, match="'alo' needs a factor of the Hessian"):
        hoag.LogisticRegressionCV(cv="alo").fit(A, y)
    wide = hoag.models.logistic(A[:300], y[:300], A, y, intercept=True)
    assert without_folds(wide).work.predictor.size == 301  # in the span of 300 rows


def test_weak_penalties_do_not_mislead_a_look():
    """Where classes are separable, a fit that is not solved tightly says anything of f."""
    rng = np.random.default_rng(0)
    A = scattered(rng, 300, 1100, 0.02)
    y = (A @ (2 * rng.normal(size=1100) * (rng.random(1100) < 0.1)) > 0).astype(int)
    fit = hoag.LogisticRegressionCV(cv="alo").fit(A, y)
    assert fit.result_.converged
    task = fit._tuning_for(A, y, None, {})
    grid = np.linspace(task.box.lower[0], task.box.upper[0], 40)
    values = [task.reported.value(task.criterion.value(np.array([lam])).value) for lam in grid]
    assert min(values) >= fit.criterion_ * (1 - 2e-4)


# ---- invariances


@pytest.mark.parametrize("word", ["alo", "gcv", "aic", "bic"])
def test_neither_order_nor_storage_nor_the_unit_of_weights_matter(word):
    A, y, weights = data("logistic", n=60)
    order = np.random.default_rng(1).permutation(60)
    fits = [
        hoag.LogisticRegressionCV(cv=word, tol=1e-9).fit(*rows)
        for rows in (
            (A, y, weights),
            (A[order], y[order], weights[order]),
            (sparse.csr_array(A), y, weights),
            (A, y, 5 * weights),
        )
    ]
    for other in fits[1:]:
        assert other.criterion_ == pytest.approx(fits[0].criterion_, rel=1e-7)
        np.testing.assert_allclose(other.coef_, fits[0].coef_, rtol=1e-3)
    assert fits[3].lam_ - np.log(5) == pytest.approx(fits[0].lam_, abs=1e-4)


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
def test_wide_rows_are_the_same_in_their_span(kind):
    A, y, weights = data(kind, n=30, p=70)
    problem = model(kind, given=(A, y, weights))
    found = criterion(problem, "alo")
    assert found.work.predictor.size < problem.penalty.size
    lam = np.array([0.5])
    written = written_out(problem, kind, "alo", lam, None)
    here = found.evaluate(lam)
    assert here.value == pytest.approx(written, rel=1e-8)
    assert np.linalg.norm(problem.at(here.x, lam).h_x) < 1e-8
    assert found.verify(here, 1e-6).value == pytest.approx(written, rel=1e-8)


def test_sparse_rows_are_dense_rows():
    for kind in ("logistic", "multinomial"):
        dense, thin = (
            criterion(model(kind, "groups", fmt=fmt), "alo").evaluate(np.array([0.3, -0.5]))
            for fmt in (None, sparse.csr_matrix)
        )
        assert thin.value == pytest.approx(dense.value, rel=1e-12)
        np.testing.assert_allclose(thin.grad, dense.grad, rtol=1e-9)


# ---- promises


@pytest.mark.parametrize("word", ["alo", "gcv", "aic", "bic"])
@pytest.mark.parametrize("seed", range(2))
def test_a_fine_grid_finds_nothing_lower(word, seed):
    X, y = make_classification(120, 8, flip_y=0.2, random_state=seed)
    fit = hoag.LogisticRegressionCV(cv=word).fit(X, y)
    assert fit.result_.converged
    task = fit._tuning_for(X, y, None, {})
    grid = np.linspace(task.box.lower[0], task.box.upper[0], 100)
    values = [task.reported.value(task.criterion.value(np.array([lam])).value) for lam in grid]
    assert min(values) >= fit.criterion_ * (1 - 2e-4)


def test_several_penalties_end_below_one():
    X, y = make_classification(150, 10, n_informative=3, flip_y=0.1, random_state=0)
    for word in ("alo", "bic"):
        one = hoag.LogisticRegressionCV(cv=word).fit(X, y)
        own = hoag.LogisticRegressionCV(cv=word, penalties="per-feature").fit(X, y)
        assert own.criterion_ < one.criterion_
        assert own.result_.converged


def test_weak_penalties_of_many_classes():
    """Coefficients of all classes may be shifted together: no score sees it, but H⁻¹ does."""
    A, y, _ = data("multinomial", n=60)
    A = A * [1.0, 300.0, 3e-3, 1.0]
    found = criterion(model("multinomial", given=(A, y, np.ones(60))), "alo")
    for lam in (-8.0, -16.0):
        here = found.evaluate(lam)
        up, down = (found.value(lam + t).value for t in (1e-4, -1e-4))
        assert here.grad[0] == pytest.approx((up - down) / 2e-4, rel=1e-4)
        assert here.f_error < 1e-8 * here.value


@pytest.mark.parametrize(("kind", "word"), [("logistic", "alo"), ("squared", "sure")])
def test_the_contract_of_criteria_holds(kind, word):
    hoag.testing.check_criterion(criterion(model(kind, "groups"), word))
    fit = hoag.minimize(criterion(model(kind), word), search=hoag.optimize.Hoag(max_iter=200))
    fast = hoag.minimize(criterion(model(kind), word))
    assert fit.value == pytest.approx(fast.value, rel=1e-3)


# ---- estimators


def test_words_that_say_nothing_get_a_sentence():
    X, y = make_classification(60, 4, random_state=0)
    say = pytest.raises
    with say(InvalidInputError, match="no closed form for this loss. Use cv='alo'"):
        hoag.LogisticRegressionCV(cv="loo").fit(X, y)
    with say(
        InvalidInputError,
        match="use 'alo', 'gcv', 'aic', 'bic', 'reml', a number of folds",
    ):
        hoag.LogisticRegressionCV(cv="sure").fit(X, y)
    with say(InvalidInputError, match="'bic', 'sure', 'reml', a number"):
        hoag.RidgeCV(cv="cp").fit(X, y)
    with say(InvalidInputError, match="cv='alo': use a number of folds"):
        hoag.KernelRidgeCV(cv="alo").fit(X, y)
    for asked in ({"scoring": "accuracy"}, {"rule": "1se"}):
        with say(InvalidInputError, match="need predictions of held-out rows"):
            hoag.LogisticRegressionCV(cv="aic", **asked).fit(X, y)
    with say(InvalidInputError, match="judges by the loss that is fitted"):
        hoag.LogisticRegressionCV(cv="bic", criterion="brier").fit(X, y)
    with say(InvalidInputError, match="noise=2.0: it is for cv='sure'"):
        hoag.RidgeCV(noise=2.0).fit(X, y)
    with say(InvalidInputError, match="'mallows' is not known"):
        without_folds(hoag.models.ridge(X, y, X, y), "mallows")


def test_loo_is_the_closed_form_of_ridge():
    X, y = load_diabetes(return_X_y=True)
    plain = hoag.RidgeCV().fit(X, y)
    for word in ("loo", "alo"):
        assert hoag.RidgeCV(cv=word).fit(X, y).criterion_ == plain.criterion_
    approximate = hoag.criteria.without_folds(hoag.models.ridge(X, y, X, y, intercept=True))
    assert approximate.value(plain.lam_).value / len(y) == pytest.approx(plain.criterion_, rel=1e-6)


def test_scores_and_the_rule_by_rows_left_out():
    X, y = make_classification(
        150, 6, n_classes=3, n_informative=4, flip_y=0.2, class_sep=0.7, random_state=0
    )
    names = ["accuracy", "neg_log_loss", "roc_auc_ovr"]
    fit = hoag.LogisticRegressionCV(cv="alo", scoring=names).fit(X, y)
    assert fit.scores_["neg_log_loss"] == pytest.approx([-fit.criterion_])
    assert 0.4 < fit.scores_["accuracy"][0] < 1
    ruled = clone(fit).set_params(rule="1se", scoring=None).fit(X, y)
    assert ruled.lam_ > ruled.lam_min_
    path = fit.path(X, y, points=5)
    assert path.folds.shape == (5, 150)
    assert path.loss[2] == pytest.approx(fit.criterion_)
    brier = hoag.LogisticRegressionCV(cv="alo", criterion="brier").fit(X, y)
    assert 0 < brier.criterion_ < 1


def test_the_model_is_the_fit_on_all_rows():
    X, y = make_classification(100, 5, flip_y=0.2, random_state=1)
    fit = hoag.LogisticRegressionCV(cv="alo").fit(X, y)
    probability = fit.predict_proba(X)[np.arange(100), y]
    wanted = fit.alpha_ * fit.coef_[0]
    np.testing.assert_allclose(((1 - probability) * (2 * y - 1)) @ X, wanted, atol=1e-6)
    assert 1 < fit.dof_ < 6
    folds = clone(fit).set_params(cv=5).fit(X, y)
    assert fit.criterion_ == pytest.approx(folds.criterion_, rel=0.1)
    assert not hasattr(folds, "dof_")
