"""Models whose z has several columns that share slopes, or offsets, or outputs, as problems."""

import numpy as np
import pytest
import registry
from scipy import sparse
from scipy.special import xlogy
from sklearn.model_selection import KFold

import hoag
from hoag._glm import losses
from hoag._glm.targets import Target
from hoag._glm.term import DataTerm, Predictor
from hoag.errors import InvalidInputError
from hoag.glm import LinearModel
from hoag.problems import Ledger

N, D = 60, 4
PENALTIES = ("shared", "per-feature", "partly-free")
KINDS = ("poisson", "poisson with offset", "gamma", "tweedie", "inverse gaussian", "hinge")
KINDS += ("quantile", "ordinal", "huber", "huber without intercept")


def made(kind, fmt="dense", penalties="shared", weights=None, seed=0):
    rng = np.random.default_rng(seed)
    A = registry.rows(rng, N, D)
    z = A @ rng.normal(size=D) / 2
    options = {"penalties": registry.penalty(penalties, D, 1)}
    if weights is not None:
        options |= {"sample_weight": weights[: N // 2], "test_weight": weights[N // 2 :]}
    y = {
        "poisson": lambda: rng.poisson(np.exp(z)),
        "gamma": lambda: np.exp(z) * rng.gamma(2.0, 0.5, N),
        "tweedie": lambda: np.exp(z) * rng.gamma(2.0, 0.5, N) * rng.poisson(1.0, N),
        "inverse": lambda: np.exp(z) * rng.gamma(4.0, 0.25, N),
        "hinge": lambda: np.sign(z + rng.normal(size=N)),
        "quantile": lambda: z + rng.normal(size=N),
        "ordinal": lambda: np.digitize(z + rng.normal(size=N), [-0.7, 0.1, 0.8]),
        "huber": lambda: z + rng.standard_t(2, size=N),
    }[kind.split()[0]]()
    to = registry.FORMATS[fmt]
    parts = to(A[: N // 2]), y[: N // 2], to(A[N // 2 :]), y[N // 2 :]
    if kind == "ordinal":
        return hoag.models.ordinal(*parts, **options)
    if kind.startswith("huber"):
        return hoag.models.huber(*parts, intercept=kind == "huber", **options)
    fits = {
        "poisson": losses.Poisson,
        "gamma": losses.Gamma,
        "tweedie": lambda scale=0.5: losses.Tweedie(1.4, scale),
        "inverse": losses.InverseGaussian,
        "hinge": lambda scale=0.5: losses.SquaredHinge(),
        "quantile": lambda scale=0.5: losses.SmoothQuantile(0.3, 0.4),
    }[kind.split()[0]]
    if kind == "poisson with offset":
        offset = rng.normal(size=N) / 3
        options |= {"offset": offset[: N // 2], "test_offset": offset[N // 2 :]}
    return hoag.models.linear(fits(), *parts, outer=fits(1.0), intercept=True, **options)


@pytest.mark.parametrize("fmt", ["dense", "csr"])
@pytest.mark.parametrize("penalties", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_derivative_is_a_difference(kind, penalties, fmt):
    problem = made(kind, fmt, penalties, np.random.default_rng(1).uniform(0.2, 2, N))
    x = np.random.default_rng(2).normal(size=problem.x0.size) / 20
    hoag.testing.check_problem(problem, x=x, seed=3)
    hessian = problem.at(x, problem.lam0).hessian
    columns = np.stack([hessian.matvec(e) for e in np.eye(x.size)], axis=1)
    np.testing.assert_allclose(hessian.matrix(), columns, atol=1e-10)
    np.testing.assert_allclose(hessian.diagonal(), np.diag(columns), atol=1e-10)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "inverse gaussian"])
def test_folds_together_are_folds_one_by_one(kind):
    problem = made(kind)
    for lam in (np.array([-3.0]), np.array([0.5])):
        one, other = hoag.plan(problem).evaluate(lam, 1e-9), registry.exact(problem, lam)
        assert one.value == pytest.approx(other.value, rel=1e-8)
        np.testing.assert_allclose(one.grad, other.grad, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["ordinal", "huber"])
def test_wide_groups_in_the_span_of_the_rows(kind):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(40, 120))
    z = A[:, :3] @ np.ones(3)
    y = np.digitize(z, [-1, 1]) if kind == "ordinal" else z + rng.standard_t(2, size=40)
    make = hoag.models.ordinal if kind == "ordinal" else hoag.models.huber
    groups = np.repeat([0, 1], [50, 70])
    folds = hoag.models.folds(make, A, y, cv=3, penalties=groups)
    criterion, lam = hoag.plan(folds), np.array([3.0, 4.0])
    found = criterion.evaluate(lam, hoag.criteria.Ask(1e-9, hessian=True))
    truth = [registry.exact(fold, lam) for fold in folds]
    assert found.value == pytest.approx(sum(t.value for t in truth), rel=1e-8)
    np.testing.assert_allclose(found.grad, sum(t.grad for t in truth), rtol=1e-5)


def test_slopes_spread_over_columns_are_columns_that_are_tied():
    """z = A w M + 1 (Q b)ᵀ is z = A W with W = w M, and its derivatives those along W."""
    rng = np.random.default_rng(6)
    A, M = rng.normal(size=(20, 3)), np.array([[1.0, -2.0, 0.5]])
    y, loss = rng.integers(0, 3, 20), losses.Multinomial()
    tied = Predictor(hoag.glm.ArrayRows(A), 1, None, M)
    free = Predictor(hoag.glm.ArrayRows(A), 3, None)
    w = rng.normal(size=3)
    tie = np.kron(np.eye(3), M.T)  # from w to W, row by row
    z = tied.forward(w)
    np.testing.assert_allclose(z, free.forward(tie @ w))
    at = loss.at(y, z)
    np.testing.assert_allclose(tied.backward(at.slope), tie.T @ free.backward(at.slope))
    whole = free.hessian(at, np.ones(20))
    np.testing.assert_allclose(tied.hessian(at, np.ones(20)), tie.T @ whole @ tie, atol=1e-10)
    np.testing.assert_allclose(tied.diagonal(at, np.ones(20)), np.diag(tie.T @ whole @ tie))


def test_one_loss_for_each_output_is_as_many_models():
    rng = np.random.default_rng(7)
    A, y = rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], size=(50, 2))
    lam, splits = np.array([0.3]), [(np.arange(30), np.arange(30, 50))]
    both = Target(y, *[losses.SquaredHinge()] * 2, 2, np.eye(2))
    rows = hoag.glm.ArrayRows(A)
    (whole,) = hoag._glm.folds.linear_folds(rows, both, splits, np.ones(50))
    found, truth = hoag.plan(whole).evaluate(lam, 1e-10), 0.0
    for k in range(2):
        alone = Target(y[:, k], *[losses.SquaredHinge()] * 2, 1, np.eye(1))
        (model,) = hoag._glm.folds.linear_folds(rows, alone, splits, np.ones(50))
        truth = truth + registry.exact(model, lam).value
    assert found.value == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("kind", ["poisson", "ordinal", "huber"])
def test_row_weights_are_repeated_rows(kind):
    rng = np.random.default_rng(8)
    times = rng.integers(1, 3, N).astype(float)
    weighted = made(kind, weights=times)
    train, test = weighted.train, weighted.test
    many, judged = (np.repeat(np.arange(N // 2), t.weights.astype(int)) for t in (train, test))
    A, B = (t.design.rows.dense() for t in (train, test))
    parts = A[many], train.y[many], B[judged], test.y[judged]
    if kind == "poisson":
        loss, outer = losses.Poisson(), losses.Poisson(1.0)
        repeated = hoag.models.linear(loss, *parts, outer=outer, intercept=True)
    elif kind == "ordinal":
        repeated = hoag.models.ordinal(*parts)
    else:
        repeated = hoag.models.huber(*parts, intercept=True)
    one, other = (registry.exact(p, 0.4) for p in (weighted, repeated))
    assert one.value == pytest.approx(other.value, rel=1e-6)
    np.testing.assert_allclose(one.grad, other.grad, rtol=1e-4)


def test_exposure_is_the_weight_of_a_frequency():
    """Σ eμ − y log(eμ) is Σ e(μ − (y/e) log μ) and a constant: scikit-learn's way."""
    rng = np.random.default_rng(9)
    A, e = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40)
    y = rng.poisson(e * np.exp(A[:, 0]))
    loss = losses.Poisson()
    half = slice(20), slice(20, 40)
    offset = hoag.models.linear(
        loss, A[half[0]], y[half[0]], A[half[1]], y[half[1]],
        intercept=True, offset=np.log(e[half[0]]), test_offset=np.log(e[half[1]]),
    )  # fmt: skip
    weights = hoag.models.linear(
        loss, A[half[0]], (y / e)[half[0]], A[half[1]], (y / e)[half[1]],
        intercept=True, sample_weight=e[half[0]], test_weight=e[half[1]],
    )  # fmt: skip
    one, other = registry.exact(offset, 0.2), registry.exact(weights, 0.2)
    np.testing.assert_allclose(one.x, other.x, rtol=1e-8)
    assert one.value == pytest.approx(other.value, rel=1e-9)


def test_targets_that_no_model_takes_are_named():
    A = np.ones((4, 1))
    rows = A[:2], [1.0, 2.0], A[2:]
    with pytest.raises(InvalidInputError, match="y_test is -1 in row 1; this model is for counts"):
        hoag.models.linear(losses.Poisson(), *rows, [0.0, -1.0])
    with pytest.raises(InvalidInputError, match=r"y is 0 in row 0 .and 1 more.; .* positive"):
        hoag.models.linear(losses.Gamma(), A[:2], [0.0, 0.0], A[2:], [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="Ordered classes are three or more"):
        hoag.models.ordinal(A, [0, 1, 0, 1], A, [0, 1, 0, 1])
    with pytest.raises(InvalidInputError, match="both offset and test_offset"):
        hoag.models.linear(losses.Poisson(), *rows, [1.0, 1.0], offset=[0.0, 0.0])
    with pytest.raises(InvalidInputError, match="offset has 3 numbers; there are 2 rows"):
        hoag.models.linear(losses.Poisson(), *rows, [1.0, 1.0], offset=np.zeros(3))
    with pytest.raises(InvalidInputError, match="Subtract it from y"):
        hoag.models.linear(losses.Squared(), *rows, [1.0, 1.0], offset=np.zeros(2))
    with pytest.raises(InvalidInputError, match="lies between 1 and 2"):
        losses.Tweedie(2.5)


def test_sparse_rows_of_folds_with_levels():
    rng = np.random.default_rng(10)
    A = registry.rows(rng, 60, 5)
    y = np.digitize(A[:, 0] + rng.normal(size=60), [-0.5, 0.5])
    lam = np.full(5, 0.2)
    dense, csr = (
        hoag.plan(hoag.models.folds(hoag.models.ordinal, B, y, penalties="per-feature"))
        for B in (A, sparse.csr_matrix(A))
    )
    one, other = (c.evaluate(lam, hoag.criteria.Ask(1e-9, hessian=True)) for c in (dense, csr))
    assert one.value == pytest.approx(other.value, rel=1e-10)
    np.testing.assert_allclose(one.hessian, other.hessian, atol=1e-8)


def left_out_by_newton_steps(problem, lam):
    """Σᵢ sᵢ g(yᵢ, z̃ᵢ), z̃ᵢ by one Newton step towards the fit without row i, from its definition."""
    train, x = problem.train, registry.exact(problem, lam).x
    total = 0.0
    for i in range(train.design.n):
        others = train.weights.copy()
        others[i] = 0.0
        term = DataTerm(train.design, train.loss, train.y, others, train.charge)
        point = LinearModel(term, term, problem.penalty, Ledger()).at(x, lam)
        step = np.linalg.solve(point.hessian.matrix(), -point.h_x)
        z = train.design.forward(x + step)
        total += train.weights[i] * problem.test.loss.at(train.y, z).value[i]
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_approximate_leave_one_out_is_a_newton_step_for_every_row(kind):
    weights = np.random.default_rng(11).uniform(0.5, 2, N)
    problem = made(kind, "dense", "groups", weights, seed=1)
    criterion, lam = hoag.criteria.without_folds(problem, "alo"), np.array([0.5, 1.0])
    found = criterion.evaluate(lam, 1e-9)
    assert found.value == pytest.approx(left_out_by_newton_steps(problem, lam), rel=1e-7)
    step, ends = 1e-4, []
    for t in (step, -step):
        ends.append(left_out_by_newton_steps(problem, lam + t * np.array([1.0, -0.5])))
    slope = (ends[0] - ends[1]) / (2 * step)
    assert found.grad @ np.array([1.0, -0.5]) == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_a_class_that_one_row_makes_up_cannot_lose_it():
    A, y = np.random.default_rng(0).normal(size=(12, 2)), np.repeat([0, 1, 2], [5, 2, 5])
    problem = hoag.models.ordinal(A, y, A, y)
    with pytest.raises(InvalidInputError, match="Row 5 has half the weight of its class"):
        hoag.criteria.without_folds(problem, "alo")
    assert hoag.minimize(hoag.criteria.without_folds(problem, "gcv")).converged


FAMILIES = {
    hoag.PoissonRegressorCV: lambda z, rng: rng.poisson(np.exp(z)),
    hoag.GammaRegressorCV: lambda z, rng: 50 * np.exp(z) * rng.gamma(2.0, 0.5, z.size),
    hoag.TweedieRegressorCV: lambda z, rng: np.exp(z) * rng.poisson(1.0, z.size),
    hoag.HuberRegressorCV: lambda z, rng: z + rng.standard_t(2, size=z.size),
    hoag.QuantileRegressorCV: lambda z, rng: z + rng.normal(size=z.size),
    hoag.LinearSVCCV: lambda z, rng: z + rng.normal(size=z.size) > 0,
    hoag.OrdinalLogisticCV: lambda z, rng: np.digitize(z + rng.normal(size=z.size), [-1, 0, 1]),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_words_for_criteria_without_folds(kind):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(90, 4))
    y = FAMILIES[kind](X @ np.array([0.8, -0.4, 0.2, 0.0]), rng)
    folds = kind().fit(X, y)
    for word in kind._words:
        model = kind(cv=word).fit(X, y)
        assert model.result_.converged or kind is hoag.LinearSVCCV  # whose f jumps
        assert model.criterion_at(model.lam_, X, y) == pytest.approx(model.criterion_, rel=1e-6)
        assert 1 < model.dof_ < 10
        if word in ("alo", "gcv"):  # in the units of held-out losses
            assert model.criterion_ == pytest.approx(folds.criterion_, rel=0.25)
        ends = [model.criterion_at(model.lam_ + t, X, y) for t in (0.4, -0.4)]
        assert min(ends) >= model.criterion_ * (1 - 2e-3 * (kind is hoag.LinearSVCCV) - 1e-4)
    with pytest.raises(InvalidInputError, match="cv='loo': leave-one-out has no closed form"):
        kind(cv="loo").fit(X, y)


def test_a_penalty_for_each_coefficient_of_one_output_is_one_for_each_feature():
    rng = np.random.default_rng(15)
    X = rng.normal(size=(60, 3))
    y = rng.poisson(np.exp(X[:, 0]))
    one, other = (
        hoag.PoissonRegressorCV(penalties=f"per-{each}").fit(X, y)
        for each in ("coefficient", "feature")
    )
    np.testing.assert_array_equal(one.alpha_, other.alpha_)
    assert one.alpha_.shape == (3,)
    with pytest.raises(InvalidInputError, match="penalties='per-class': use 'shared'"):
        hoag.PoissonRegressorCV(penalties="per-class").fit(X, y)


def test_akaikes_criterion_is_that_of_the_counts_themselves():
    """−2 log likelihood + 2 df, above the saturated model; not of counts over their mean."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(120, 3))
    y, years = rng.poisson(7 * np.exp(0.3 * X[:, 0])), rng.uniform(0.5, 2, 120)
    model = hoag.PoissonRegressorCV(cv="aic").fit(X, y, exposure=years)
    mu = model.predict(X, exposure=years)
    deviance = 2 * np.sum(xlogy(y, y / mu) - y + mu)
    assert model.criterion_ == pytest.approx(deviance + 2 * model.dof_, rel=1e-8)
    A = np.column_stack([X, np.ones(120)])
    D, S = A.T @ (mu[:, None] * A), np.diag([120 * model.alpha_] * 3 + [0.0])
    assert model.dof_ == pytest.approx(np.trace(np.linalg.solve(D + S, D)), rel=1e-8)


def test_rows_left_out_are_predicted_with_their_exposure():
    rng = np.random.default_rng(14)
    X, years = rng.normal(size=(80, 3)), rng.uniform(0.2, 5, 80)
    y = rng.poisson(years * np.exp(0.3 * X[:, 0]))
    scoring = "neg_mean_poisson_deviance"
    left_out = hoag.PoissonRegressorCV(cv="alo", scoring=scoring).fit(X, y, exposure=years)
    assert -left_out.scores_[scoring][0] == pytest.approx(left_out.criterion_, rel=1e-6)
    folds = hoag.PoissonRegressorCV(cv=KFold(4), scoring=scoring).fit(X, y, exposure=years)
    assert -folds.scores_[scoring].mean() == pytest.approx(folds.criterion_, rel=1e-6)
