"""The marginal likelihood, held against covariances of y, integrals and other people's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from quick import quick
from scipy import sparse
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.special import expit, gammaln
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge

import hoag
from hoag._core.result import Ask
from hoag._criteria.log_det import LogDet
from hoag._glm import losses
from hoag._glm.folds import linear_folds
from hoag._glm.rows import ArrayRows
from hoag._glm.squares import SquaresDesign
from hoag._glm.targets import multiclass, ordered, regression
from hoag.criteria import without_folds
from hoag.errors import InvalidInputError
from hoag.glm import Quadratic, Ridge

N, P = 40, 5
HESSIAN = Ask(hessian=True)


def differences(size):
    """Neighbours should be alike."""
    D = np.diff(np.eye(size), axis=0)
    return D.T @ D


def rows(seed=0, n=N, p=P):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.8) + 0.2


# ---- the determinant of the penalty


def of_matrices(matrices, lam, **options):
    return LogDet(Quadratic(matrices[0].shape[0], matrices, **options)).at(np.asarray(lam))


def check_derivatives(log_det, lam, step=1e-4):
    here = log_det.at(lam)
    for j, e in enumerate(step * np.eye(lam.size)):
        up, down = log_det.at(lam + e), log_det.at(lam - e)
        assert here.grad[j] == pytest.approx((up.value - down.value) / (2 * step), abs=1e-6)
        np.testing.assert_allclose(here.hessian[j], (up.grad - down.grad) / (2 * step), atol=1e-6)


def test_the_determinant_is_that_of_the_eigenvalues():
    rng = np.random.default_rng(0)
    C, D = (M @ M.T for M in rng.normal(size=(2, 6, 3)))
    kron = [np.kron(differences(3), np.eye(2)), np.kron(np.eye(3), differences(2))]
    lam = np.array([0.7, -1.2])
    for matrices in ([C, D], kron, [differences(6), np.ones(6)], [np.diag([1.0] * 3 + [0] * 3), C]):
        penalty = Quadratic(6, matrices)
        S = np.zeros((6, 6))
        penalty.at(lam).add_to(S, np.zeros(6))
        e = np.linalg.eigvalsh(S)
        e = e[e > 1e-9]
        found = LogDet(penalty)
        assert found.at(lam).value == pytest.approx(np.sum(np.log(e)), abs=1e-10)
        assert found.rank == e.size
        check_derivatives(found, lam)
    groups = LogDet(Ridge(np.array([0, 1, -1, 1, 0, 0]), shift=0.3))
    assert groups.rank == 5
    assert groups.at(lam).value == pytest.approx(3 * (0.7 - 0.3) + 2 * (-1.2 - 0.3))
    check_derivatives(groups, lam)


def test_penalties_that_reach_other_coefficients_are_taken_apart():
    apart = Quadratic(7, [(slice(0, 3), differences(3)), (slice(3, 7), np.ones(4))])
    found = LogDet(apart)
    assert len(found.parts) == 2
    assert found.rank == 2 + 4
    lam = np.array([60.0, -60.0])
    wanted = 2 * 60.0 + np.log(3.0) + 4 * -60.0  # eigenvalues 1 and 3
    assert found.at(lam).value == pytest.approx(wanted, abs=1e-10)
    check_derivatives(found, lam)


@pytest.mark.parametrize("far", [60.0, -60.0])
@pytest.mark.parametrize("second", ["alike", "crossing"])
def test_penalties_of_very_different_size_do_not_drown_each_other(far, second):
    """e^far (D'D), of rank 7, beside another penalty of full rank: known to the first order."""
    rng, S = np.random.default_rng(1), differences(8)
    other = np.eye(8) if second == "alike" else np.diag(rng.uniform(0.1, 10.0, 8))
    lam = np.array([far, 0.0])
    if far > 0:  # all of S, and of the other what is left: the constant
        e = np.linalg.eigvalsh(S)[1:]
        wanted = np.sum(np.log(e)) + 7 * far + np.log(np.mean(np.diag(other)))
        slopes = np.array([7.0, 1.0])
    else:
        wanted, slopes = np.sum(np.log(np.diag(other))), np.array([0.0, 8.0])
    found = of_matrices([S, other], lam)
    assert found.value == pytest.approx(wanted, abs=1e-9)
    np.testing.assert_allclose(found.grad, slopes, atol=1e-9)
    np.testing.assert_allclose(found.hessian, 0.0, atol=1e-9)


def test_three_penalties_in_a_row_of_sizes():
    """Ranges one inside the other, none of them along the axes: sums of rows of a triangle."""
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0]
    T = Q @ np.triu(np.random.default_rng(3).uniform(0.5, 1.5, (6, 6)))
    matrices = [T[:, :2] @ T[:, :2].T, T[:, 1:4] @ T[:, 1:4].T, T @ T.T]
    lam = np.array([0.0, -40.0, -80.0])
    # blocks of a triangle: log of the squared diagonal, each block with its largest penalty
    wanted = 2 * np.sum(np.log(np.abs(np.diag(Q.T @ T)))) + 2 * -40.0 + 2 * -80.0
    found = of_matrices(matrices, lam)
    assert found.value == pytest.approx(wanted, abs=1e-6)
    np.testing.assert_allclose(found.grad, [2.0, 2.0, 2.0], atol=1e-6)


def test_what_is_fixed_is_a_part_of_the_prior():
    lam = np.array([-3.0])
    fixed = of_matrices([differences(4)], lam, fixed=np.full(4, 0.1))
    e = np.linalg.eigvalsh(np.exp(-3.0) * differences(4) + 0.1 * np.eye(4))
    assert fixed.value == pytest.approx(np.sum(np.log(e)))
    check_derivatives(LogDet(Quadratic(4, [differences(4)], fixed=np.full(4, 0.1))), lam)


# ---- closed forms: squares


def restricted(A, y, weights, S, free):
    """−2 log of the density of y projected off the columns `free`, at the likeliest φ."""
    covariance = A @ np.linalg.pinv(S, hermitian=True) @ A.T + np.diag(1 / weights)
    Z = null_space(free.T) if free.shape[1] else np.eye(len(y))
    V, z = Z.T @ covariance @ Z, Z.T @ y
    quadratic = z @ np.linalg.solve(V, z)
    return len(z) * np.log(quadratic) + np.linalg.slogdet(V)[1]


@pytest.mark.parametrize("shape", [(40, 5), (20, 30)])
@pytest.mark.parametrize("kind", ["shared", "groups", "free", "smooth"])
@pytest.mark.parametrize("weighted", [True, False])
def test_squares_have_the_restricted_likelihood_of_their_covariance(shape, kind, weighted):
    rng, A = rows(1, *shape)
    p = shape[1]
    y = A[:, 0] + rng.normal(size=len(A))
    weights = rng.uniform(0.5, 2.0, size=len(A)) if weighted else np.ones(len(A))
    weights[2] *= 0.0 if weighted else 1.0
    kinds = {"groups": np.arange(p) % 2, "free": np.maximum(np.arange(p) % 3 - 1, -1)}
    kinds["smooth"] = Quadratic(p + 1, [(slice(0, p), differences(p)), (slice(0, 2), np.ones(2))])
    if kind == "free" and p > 10:
        kinds["free"] = np.where(np.arange(p) < 2, -1, 0)
    problem = hoag.models.ridge(
        A, y, A, y, intercept=True, penalties=kinds.get(kind, kind), sample_weight=weights
    )
    criterion = without_folds(problem, "reml")
    assert isinstance(criterion.work, SquaresDesign) == (p < 10)

    kept = weights > 0
    whole = np.column_stack([A, np.ones(len(y))])

    def wanted(lam):
        S = np.zeros((p + 1, p + 1))
        problem.penalty.at(lam).add_to(S, np.zeros(p + 1))
        S[np.abs(S) < 1e-7] = 0.0  # the hair that free columns are held by
        e, V = np.linalg.eigh(S)
        free = whole @ V[:, e < 1e-9]
        return restricted(whole[kept], y[kept], weights[kept], S, free[kept])

    c = [
        (criterion.risk.n * np.log(criterion.value(lam).value), wanted(lam))
        for lam in rng.uniform(-3, 4, size=(4, criterion.lam0.size))
    ]
    ours, theirs = np.array(c).T
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-6)


def test_it_agrees_with_bayesian_ridge():
    """With flat priors of both precisions it climbs the same likelihood, but for the mean of y.

    Its y is centred and its n not one less, where a flat prior of the intercept has n − 1; so for
    both none is fitted, on rows that are centred already.
    """
    rng, A = rows(3, 200, 8)
    y = A @ rng.normal(size=8) + 2 * rng.normal(size=200)
    flat = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0.0)
    theirs = BayesianRidge(tol=1e-12, max_iter=10000, fit_intercept=False, **flat).fit(A, y)
    ours = hoag.RidgeCV(cv="reml", fit_intercept=False, tol=1e-10).fit(A, y)
    assert ours.alpha_ == pytest.approx(theirs.lambda_ / theirs.alpha_, rel=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    noise = (np.sum((y - A @ ours.coef_) ** 2) + ours.alpha_ * ours.coef_ @ ours.coef_) / 200
    assert noise == pytest.approx(1 / theirs.alpha_, rel=1e-4)


# ---- integrals: other losses, by Laplace's approximation


def integrated(kind, a, y, alpha):
    """log ∫ p(y | x) N(x; 0, 1/α) dx for one coefficient."""

    def log_joint(x):
        z = a * x
        if kind == "logistic":
            likely = -np.sum(np.logaddexp(0, -y * z))
        else:
            likely = np.sum(y * z - np.exp(z) - gammaln(y + 1))
        return likely + 0.5 * np.log(alpha / (2 * np.pi)) - 0.5 * alpha * x**2

    grid = np.linspace(-12, 12, 801)
    values = [log_joint(x) for x in grid]
    top, best = max(values), grid[int(np.argmax(values))]
    whole = quad(lambda x: np.exp(log_joint(x) - top), -15, 15, points=[best], limit=500)[0]
    return top + np.log(whole)


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_the_approximation_is_near_the_integral_and_nearer_with_more_rows(kind):
    errors = []
    for n in (20, 80, 320):
        rng = np.random.default_rng(0)
        a = rng.normal(size=n)
        y = np.where(rng.random(n) < expit(a), 1.0, -1.0)
        if kind == "poisson":
            y = rng.poisson(np.exp(0.7 * a)).astype(float)
        loss = losses.Logistic() if kind == "logistic" else losses.Poisson()
        problem = hoag.models.linear(loss, a[:, None], y, a[:, None], y)
        criterion = without_folds(problem, "reml")
        lams = np.array([-1.0, 0.5, 2.0])
        c = [n * np.log(np.expm1(criterion.value(lam).value)) for lam in lams]
        exact = np.array([-2 * integrated(kind, a, y, alpha) for alpha in np.exp(lams)])
        away = np.array(c) - exact
        errors.append(np.ptp(away))  # up to a number, as c is
    assert 1e-6 < errors[0] < 0.1
    assert errors[2] < errors[0] / 4  # like 1/n


# ---- the formula, and its gradient, over losses and penalties


def targets(kind, rng, A):
    score = A @ rng.normal(size=(A.shape[1], 3)) / 2 + rng.normal(size=(len(A), 3))
    z = score[:, 0]
    if kind == "multinomial":
        return multiclass(np.argmax(score, axis=1), np.arange(3), True)
    if kind == "ordinal":
        return ordered(np.digitize(z, [-0.7, 0.7]), np.arange(3))
    positive = np.exp(z / 2) * rng.gamma(4.0, 0.25, size=len(z))
    y, loss = {
        "squared": (z, losses.Squared(0.5)),
        "logistic": (np.where(z > 0, 1.0, -1.0), losses.Logistic()),
        "poisson": (rng.poisson(np.exp(z / 2)) * 1.0, losses.Poisson()),
        "gamma": (positive, losses.Gamma()),
        "tweedie": (positive * rng.poisson(1.0, len(z)), losses.Tweedie(1.5)),
    }[kind]
    return replace(regression(y, True), loss=loss, outer=loss)


KINDS = ["squared", "logistic", "multinomial", "ordinal", "poisson", "gamma", "tweedie"]


def model(kind, penalty="groups", n=N, p=P, fmt=np.asarray, offset=False):
    rng, A = rows(4, n, p)
    target = targets(kind, rng, A)
    if offset:
        shift = rng.normal(size=n)
        y = np.column_stack([target.y, shift])
        own = losses.Offset(target.loss)
        target = replace(target, y=y, loss=own, outer=own)
    weights = rng.uniform(0.5, 2.0, size=n)
    weights[3] = 0.0
    size, K = target.design(ArrayRows(A)).size, target.outputs
    smooth = [
        (slice(0, p * K), np.kron(differences(p), np.eye(K))),
        (slice(0, 2 * K), np.eye(2 * K)),
    ]
    penalties = {"groups": np.arange(p) % 2, "free": np.maximum(np.arange(p) - 1, -1)}
    penalties["smooth"] = Quadratic(
        size, smooth, np.append(np.full(p * K, 0.01), np.zeros(size - p * K))
    )
    every, given = np.arange(n), penalties.get(penalty, penalty)
    return linear_folds(ArrayRows(fmt(A)), target, [(every, every[:0])], weights, given)[0]


def written_out(problem, lam, x):
    """c at λ by dense arrays, up to what λ does not change."""
    H = problem.at(x, lam).hessian.matrix()
    S = np.zeros_like(H)
    problem.penalty.at(lam).add_to(S, np.zeros(len(S)))
    e = np.linalg.eigvalsh(S)
    e = e[e > 1e-6]  # not of the hair that free columns are held by
    n, weight = np.sum(problem.train.weights > 0), problem.train.weights.sum()
    P = 2 * problem.at(x, lam).h
    c = np.linalg.slogdet(H)[1] - np.sum(np.log(e))
    if problem.train.loss.dispersion is None:
        return (n - len(H) + e.size) * np.log(P) + c
    return P * n / weight + c


def told(criterion, f):
    n = criterion.risk.n
    return n * np.log(f if criterion.risk.unit is None else np.expm1(f))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", ["shared", "groups", "free", "smooth"])
def test_value_and_gradient_are_those_of_the_formula(kind, penalty):
    problem = model(kind, penalty)
    criterion = without_folds(problem, "reml")
    size = criterion.lam0.size
    lam, step = np.linspace(-1.0, 1.5, size), 1e-4
    here = criterion.evaluate(lam, HESSIAN)
    assert here.converged
    other = criterion.evaluate(lam + 1.0)
    wanted = written_out(problem, lam, here.x) - written_out(problem, lam + 1.0, other.x)
    assert told(criterion, here.value) - told(criterion, other.value) == pytest.approx(wanted)
    for j, e in enumerate(step * np.eye(size)):
        up, down = criterion.evaluate(lam + e), criterion.evaluate(lam - e)
        slope = (up.value - down.value) / (2 * step)
        assert here.grad[j] == pytest.approx(slope, rel=1e-6, abs=1e-7 * here.value)
        if kind == "squared":  # others leave out how the curvature turns
            bent = (up.grad - down.grad) / (2 * step)
            np.testing.assert_allclose(here.hessian[j], bent, rtol=1e-6, atol=1e-7 * here.value)
    settled = criterion.verify(here, 1e-6)
    assert settled.value == pytest.approx(here.value, rel=1e-10)
    assert settled.f_error < 1e-8 * here.value


@pytest.mark.parametrize("kind", ["squared", "poisson", "multinomial"])
def test_sparse_rows_are_dense_rows(kind):
    lam = np.array([0.3, -0.5])
    dense, thin = (
        without_folds(model(kind, fmt=fmt), "reml").evaluate(lam)
        for fmt in (np.asarray, sparse.csr_array)
    )
    assert thin.value == pytest.approx(dense.value, rel=1e-11)
    np.testing.assert_allclose(thin.grad, dense.grad, rtol=1e-9)


@pytest.mark.parametrize("kind", ["poisson", "gamma", "tweedie"])
def test_offsets_are_a_part_of_the_predictions(kind):
    criterion = without_folds(model(kind, offset=True), "reml")
    lam, step = np.array([0.3, -0.5]), 1e-4
    here = criterion.evaluate(lam)
    for j, e in enumerate(step * np.eye(2)):
        slope = (criterion.value(lam + e).value - criterion.value(lam - e).value) / (2 * step)
        assert here.grad[j] == pytest.approx(slope, rel=1e-6)


def test_scores_of_squares_by_their_gram_matrix_bend_as_they_do():
    problem = model("squared", "per-feature")
    lam, step = np.linspace(-1.0, 2.0, P), 1e-4
    for word in ("gcv", "aic", "bic", "sure"):
        criterion = without_folds(problem, word)
        assert isinstance(criterion.work, SquaresDesign)
        here = criterion.evaluate(lam, HESSIAN)
        for j, e in enumerate(step * np.eye(P)):
            up, down = criterion.evaluate(lam + e), criterion.evaluate(lam - e)
            bent = (up.grad - down.grad) / (2 * step)
            np.testing.assert_allclose(here.hessian[j], bent, rtol=1e-6, atol=1e-7 * here.value)


@pytest.mark.parametrize("word", ["aic", "reml"])
def test_a_nearly_perfect_fit_is_no_difference_of_large_numbers(word):
    """Squares of 1e-18 beside those of y: with y as it is, and with what the fit leaves of it."""
    rng, A = rows(5, 60, 4)
    tiny = 1e-9 * rng.normal(size=60)
    y, lam = A @ np.ones(4) + tiny, np.full(4, -50.0)

    def scored(y):
        problem = hoag.models.ridge(A, y, A, y, intercept=True, penalties="per-feature")
        return np.log(without_folds(problem, word).evaluate(lam).value)

    assert scored(y) == pytest.approx(scored(tiny), abs=1e-4)


def test_large_counts_do_not_overflow():
    rng, A = rows(6, 60, 4)
    y = rng.poisson(np.exp(7 + 2 * A[:, 0]))
    fit = hoag.PoissonRegressorCV(cv="reml").fit(A, y)
    assert fit.result_.converged
    null = fit.criterion_at(fit.lam_ + 40, A, y)
    assert 800 * 60 < null < np.inf  # exp(null/60) is no number


def test_a_loss_that_counts_from_elsewhere_is_the_same():
    """z + ye⁻ᶻ is half the gamma deviance, up to a number for each row."""

    class Bare(hoag.glm.ScalarLoss):
        def value(self, y, z):
            return z + y * np.exp(-z)

        def slope(self, y, z):
            return 1 - y * np.exp(-z)

        def curvature(self, y, z):
            return y * np.exp(-z)

    rng, A = rows(7)
    y = 1e3 * np.exp(A[:, 0]) * rng.gamma(3.0, size=N)
    values = []
    for loss in (Bare(), losses.Gamma()):
        criterion = without_folds(hoag.models.linear(loss, A, y, A, y, intercept=True), "reml")
        values.append([criterion.value(lam).value for lam in (-1.0, 2.0)])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-7)


def test_the_contract_of_criteria_holds():
    hoag.testing.check_criterion(without_folds(model("squared"), "reml"))
    hoag.testing.check_criterion(without_folds(model("logistic"), "reml"))


# ---- invariances


def families(rng, A):
    z = A[:, 0] - A[:, 1]
    noisy = z + rng.normal(size=len(z))
    return {
        hoag.RidgeCV: noisy,
        hoag.LogisticRegressionCV: (noisy > 0).astype(int),
        hoag.PoissonRegressorCV: rng.poisson(np.exp(z / 2)),
        hoag.GammaRegressorCV: np.exp(z / 2) * rng.gamma(3.0, size=len(z)),
        hoag.OrdinalLogisticCV: np.digitize(noisy, [-1.0, 1.0]),
    }


ESTIMATORS = [*families(*rows(8))]


@pytest.mark.parametrize("make", ESTIMATORS)
def test_units_and_order_move_lambda_and_nothing_else(make):
    rng, A = rows(8, 80, 4)
    y, weights = families(rng, A)[make], rng.uniform(0.5, 2.0, size=80)
    weights[5] = 0.0
    order = rng.permutation(80)
    groups = np.array([0, 1, 0, 1])
    plain = make(cv="reml", penalties=groups, tol=1e-9).fit(A, y, weights)
    log_weight = 0.0 if "Regressor" in make.__name__ else np.log(5)  # theirs is a mean, not a sum
    kept = weights > 0
    for other, moved in (
        (clone(plain).fit(10 * A, y, weights), 2 * np.log(10)),
        (clone(plain).fit(A, y, 5 * weights), log_weight),
        (clone(plain).fit(A[order], y[order], weights[order]), 0.0),
        (clone(plain).fit(A[kept], y[kept], weights[kept]), 0.0),
        (clone(plain).fit(sparse.csr_array(A), y, weights), 0.0),
    ):
        np.testing.assert_allclose(other.lam_, plain.lam_ + moved, atol=2e-4)
        assert other.dof_ == pytest.approx(plain.dof_, rel=1e-4)
    if make is hoag.RidgeCV:
        other = clone(plain).fit(A, 7 * y - 3, weights)
        np.testing.assert_allclose(other.predict(A), 7 * plain.predict(A) - 3, atol=1e-3)


def test_a_weight_is_a_precision_and_not_a_row_given_twice():
    """Two rows alike have the mean of their y with weight 2, and a square more that tells of noise.

    Where φ is known that square is a number, and n times the mean weight is what differs: with
    weights of mean 1 as they are, rows given twice are rows of weight 2 in h, and not in n.
    """
    rng, A = rows(9, 30, 4)
    y = A[:, 0] + rng.normal(size=30)
    lams = np.array([-1.0, 0.0, 2.0])

    def c(A, y, weights):
        criterion = without_folds(hoag.models.ridge(A, y, A, y, sample_weight=weights), "reml")
        return np.array([criterion.risk.n * np.log(criterion.value(t).value) for t in lams])

    twice = c(np.vstack([A, A]), np.append(y, y), np.ones(60))
    weighed = c(A, y, np.full(30, 2.0))
    # the same log|H| − log|S|, and P; 60 of its logarithms in place of 30
    half = (
        2
        * hoag.models.ridge(A, y, A, y, sample_weight=np.full(30, 2.0)).train.at(np.zeros(4)).value
    )
    P = [
        half - (2 * A.T @ y) @ np.linalg.solve(2 * A.T @ A + np.exp(t) * np.eye(4), 2 * A.T @ y)
        for t in lams
    ]
    more = 30 * np.log(P)
    np.testing.assert_allclose(np.diff(twice), np.diff(weighed + more), atol=1e-8)


# ---- promises


@pytest.mark.parametrize("make", ESTIMATORS)
@pytest.mark.parametrize("seed", quick(range(2), [0]))
def test_nothing_is_lower_nearby_or_on_a_fine_grid(make, seed):
    rng, A = rows(seed + 20, 70, 4)
    y = families(rng, A)[make]
    one = make(cv="reml").fit(A, y)
    assert one.result_.converged
    task = one._tuning_for(A, y, None, {})
    grid = np.linspace(task.box.lower[0], task.box.upper[0], 60)
    values = [task.reported.value(task.criterion.value(np.array([lam])).value) for lam in grid]
    assert min(values) >= one.criterion_ - 2e-4 * 70
    own = make(cv="reml", penalties="per-feature").fit(A, y)
    assert own.result_.converged
    assert own.criterion_ <= one.criterion_ + 1e-4 * 70
    task = own._tuning_for(A, y, None, {})
    for away in rng.normal(size=(10, 4)) * rng.choice([0.3, 1.0, 3.0], size=(10, 1)):
        lam = task.box.project(own.lam_ + away)
        there = task.criterion.value(lam)
        assert task.reported.value(there.value) >= own.criterion_ - 3e-4 * 70


def test_it_finds_the_variances_that_rows_were_drawn_with():
    """Two groups of coefficients with variances 4 and 0.04, noise 1: α are 0.25 and 25."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A, groups = rng.normal(size=(400, 60)), np.repeat([0, 1], 30)
        y = A @ (rng.normal(size=60) * np.where(groups == 0, 2.0, 0.2)) + rng.normal(size=400)
        found.append(hoag.RidgeCV(cv="reml", penalties=groups).fit(A, y).lam_)
    away = np.mean(found, axis=0) - np.log([0.25, 25.0])
    assert np.all(np.abs(away) < 0.35)  # √(2/30)/√5 = 0.12 for the first


# ---- what has no likelihood of y, or asks for other things


def test_where_it_says_nothing_there_is_a_sentence():
    rng, A = rows(10, 60, 4)
    y = A[:, 0] + rng.normal(size=60)
    for make in (hoag.HuberRegressorCV, hoag.QuantileRegressorCV):
        with pytest.raises(InvalidInputError, match="cv='reml': use"):
            make(cv="reml").fit(A, y)
    for make in (hoag.LinearSVCCV, hoag.RidgeClassifierCV):
        with pytest.raises(InvalidInputError, match="cv='reml': use"):
            make(cv="reml").fit(A, y > 0)
    times = np.array([(True, t) for t in np.exp(y)], dtype=[("event", bool), ("time", float)])
    with pytest.raises(InvalidInputError, match="cv='reml': use"):
        hoag.CoxRegressionCV(cv="reml").fit(A, times)
    with pytest.raises(
        InvalidInputError, match="for one target, whose noise it estimates; y has 2"
    ):
        hoag.RidgeCV(cv="reml").fit(A, np.column_stack([y, y]))
    for asked in ({"scoring": "r2"}, {"rule": "1se"}):
        with pytest.raises(InvalidInputError, match="need predictions of held-out rows"):
            hoag.RidgeCV(cv="reml", **asked).fit(A, y)
    with pytest.raises(InvalidInputError, match="judges by the loss that is fitted"):
        hoag.RidgeCV(cv="reml", criterion="huber").fit(A, y)
    with pytest.raises(InvalidInputError, match="nothing is left to tell the noise by"):
        hoag.RidgeCV(cv="reml", penalties=np.array([-1, -1, -1, 0])).fit(A[:4], y[:4])
    with pytest.raises(InvalidInputError, match="judged on held-out rows"):
        hoag.TweedieRegressorCV(cv="reml", power="tuned").fit(A, np.exp(y))
    column = hoag.RidgeCV(cv="reml").fit(A, y[:, None])
    assert column.alpha_ == hoag.RidgeCV(cv="reml").fit(A, y).alpha_
    assert column.best_score_ == -column.criterion_


@pytest.mark.parametrize("word", ["reml", "gcv", "aic"])
@pytest.mark.parametrize("forms", [True, False])
def test_along_an_axis_a_fit_of_squares_is_known_exactly(word, forms):
    rng = np.random.default_rng(4)
    A, weights = rng.normal(size=(60, 6)), rng.uniform(0.5, 2, 60)
    y = A @ rng.normal(size=6) + rng.normal(size=60)
    D = np.diff(np.eye(6), 2, axis=0)
    penalties = np.array([0, 0, 1, 1, 2, -1])
    if forms:
        penalties = Quadratic(7, [(slice(0, 6), D.T @ D), (slice(2, 5), np.eye(3))])
    problem = hoag.models.ridge(
        A, y, A, y, intercept=True, sample_weight=weights, penalties=penalties
    )
    criterion = hoag.criteria.without_folds(problem, word)
    lam = rng.normal(size=problem.lam0.size)
    places = lam[:, None] + np.array([-6.0, -1.0, 0.0, 2.0, 9.0])
    along, _ = criterion.profile(criterion.evaluate(lam), places)
    for j, row in enumerate(places):
        each = [criterion.value(np.where(np.arange(lam.size) == j, at, lam)).value for at in row]
        np.testing.assert_allclose(along[j], each, rtol=1e-11)


def test_along_an_axis_other_losses_are_known_about():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(80, 4))
    y = (A @ rng.normal(size=4) + rng.logistic(size=80) > 0).astype(int)
    problem = hoag.models.logistic(A, y, A, y, intercept=True, penalties=np.arange(4))
    criterion = hoag.criteria.without_folds(problem, "reml")
    lam = rng.normal(size=4)
    near = lam[:, None] + np.array([-0.1, 0.0, 0.1])
    along, _ = criterion.profile(criterion.evaluate(lam), near)
    for j, row in enumerate(near):
        each = [criterion.value(np.where(np.arange(4) == j, at, lam)).value for at in row]
        np.testing.assert_allclose(along[j], each, rtol=1e-3)
        assert along[j, 1] == pytest.approx(each[1], rel=1e-10)
