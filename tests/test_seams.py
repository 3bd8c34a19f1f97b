"""The seams: what is added from outside, without a line of the library changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from quick import quick
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from sklearn.linear_model import PoissonRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import hoag
from hoag import glm, models, testing
from hoag._glm import losses
from hoag.errors import InvalidInputError
from hoag.linear_model import Family, RegressorCV, as_given, parameters
from hoag.optimize import Evaluate, Search

# ---------------------------------------------------------------- a loss


class Poisson(glm.ScalarLoss):
    """e^z − yz + log y!, the negative log-likelihood of a count y with mean e^z."""

    self_concordance = 1.0  # the third derivative is the second

    def value(self, y, z):
        return np.exp(z) - y * z + gammaln(y + 1.0)

    def slope(self, y, z):
        return np.exp(z) - y

    def curvature(self, y, z):
        return np.exp(z)

    takes = "counts"

    def accepts(self, y):
        return y >= 0


def counts(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    return A, rng.poisson(np.exp(0.5 + A[:, :2] @ [0.4, -0.3])).astype(float)


def truth(A, y, splits, lam):
    """The held-out loss by scikit-learn's model, whose objective is the mean over rows."""
    total = 0.0
    for train, test in splits:
        model = PoissonRegressor(alpha=np.exp(lam) / len(train), tol=1e-10, max_iter=10**4)
        mean = model.fit(A[train], y[train]).predict(A[test])
        total += np.sum(mean - y[test] * np.log(mean) + gammaln(y[test] + 1.0))
    return total


@pytest.mark.parametrize("to", [np.array, sparse.csr_matrix])
def test_a_loss_of_ones_own_through_minimize(to):
    A, y = counts()
    splits = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    options = {"loss": Poisson(), "cv": splits, "intercept": True}
    folds = models.folds(models.linear, to(A), y, **options)
    for fold in folds:
        assert max(hoag.testing.check_problem(fold).values()) < 1e-6
        testing.check_criterion(hoag.plan(fold))
    result = hoag.minimize(folds, certificate="bound")
    assert result.converged, result.status
    assert result.value == pytest.approx(truth(A, y, splits, result.lam[0]), rel=1e-6)
    best = minimize_scalar(lambda lam: truth(A, y, splits, lam), bounds=(-5, 8), method="bounded")
    assert result.value <= best.fun * (1 + 1e-4)
    assert result.evaluation.error <= result.evaluation.bound < np.inf
    each = hoag.minimize(models.folds(models.linear, to(A), y, penalties="per-feature", **options))
    assert each.value < result.value


@parameters
class PoissonCV(RegressorCV):
    """Regression of counts whose mean is e^z."""

    most: float = 700.0  # no prediction is above e^most

    _family = Family(
        loss=lambda model: Poisson(),
        held_out="negative log likelihood",
        units=as_given,  # a count is no other count in other units
        mean=lambda model, z: np.exp(np.minimum(z, model.most)),
        twin="sklearn.linear_model:PoissonRegressor",
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def test_an_estimator_of_ones_own():
    A, y = counts()
    model = PoissonCV(scoring="d2_absolute_error_score").fit(A, y)
    same = PoissonRegressor(alpha=model.alpha_ / len(y), tol=1e-10, max_iter=10**4).fit(A, y)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(same.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(A), same.predict(A), rtol=1e-5)
    assert model.criterion_ == pytest.approx(model.criterion_at(model.lam_, A, y), rel=1e-6)
    assert model.scores_["d2_absolute_error_score"].shape == (5,)
    assert model.result_.converged
    with pytest.raises(hoag.HoagError, match="y is -1 in row 3; this model is for counts"):
        PoissonCV().fit(A, np.where(np.arange(300) == 3, -1.0, y))


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([PoissonCV(max_iter=5)])
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- a penalty


class SecondDifferences(glm.QuadraticPenalty):
    """exp(λ) ½ Σ (xⱼ₋₁ − 2xⱼ + xⱼ₊₁)² + ½·10⁻³‖x‖², as a banded matrix."""

    n_lam = 1

    def __init__(self, size):
        self.size = size
        D = sparse.diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(size - 2, size))
        self.S = (D.T @ D).tocsr()

    def at(self, lam):
        return SecondDifferencesAt(np.exp(lam[0]), self.S)


class SecondDifferencesAt(glm.QuadraticForm):
    strong_convexity = 1e-3

    def __init__(self, alpha, S):
        self.strengths, self.S = np.array([alpha]), S

    def apply(self, X):
        return self.columns(X)[..., 0] + 1e-3 * X

    def columns(self, X):
        return self.strengths * (self.S @ X.T).T[..., None]


def steps_of_a_curve(n=200, knots=30, seed=0):
    """Noisy values of a smooth function, and the indicator of the bin that each lies in."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(size=n)
    A = np.eye(knots)[np.minimum((t * knots).astype(int), knots - 1)]
    return A, np.sin(6 * t) + 0.3 * rng.normal(size=n)


def test_a_penalty_of_ones_own_offers_what_the_librarys_do():
    size, rng = 12, np.random.default_rng(0)
    own, X = SecondDifferences(size), rng.normal(size=(2, size))
    M, N = (A @ A.T for A in rng.normal(size=(2, size, size)))
    one = own.at(np.array([0.7]))
    ours = glm.Quadratic(size, [own.S], fixed=np.full(size, 1e-3)).at(np.array([0.7]))
    pairs = [(getattr(at, name)(*args) for at in (one, ours)) for name, args in (
        ("value", (X,)), ("apply", (X,)), ("columns", (X,)), ("vjp", (X, X[::-1])),
        ("added", (np.stack([M, N]),)), ("diagonal", (X[0],)), ("traces", (N,)),
        ("pairs", (M, N)), ("cross", (X[0], np.ones(1))),
    )]  # fmt: skip
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    for mine, theirs in zip(one.roots(size), ours.roots(size), strict=True):
        np.testing.assert_allclose(mine @ mine.T, theirs @ theirs.T, atol=1e-12)


def test_folds_with_a_penalty_of_ones_own_know_the_hessian_of_f():
    A, y = steps_of_a_curve()
    own = {"loss": losses.SmoothQuantile(0.5, 0.1), "penalties": SecondDifferences(30)}
    problems = models.folds(models.linear, A, y, cv=3, **own)
    criterion = hoag.plan(problems)
    assert criterion.traits.has_hessian
    testing.check_criterion(criterion, -1.0)


def test_a_banded_penalty_of_ones_own():
    testing.check_penalty(SecondDifferences(12))
    A, y = steps_of_a_curve()
    half = (A[:100], y[:100], A[100:], y[100:])
    own = models.ridge(*half, penalties=SecondDifferences(30))
    assert max(hoag.testing.check_problem(own).values()) < 1e-6
    S = SecondDifferences(30).S
    ours = models.ridge(*half, penalties=glm.Quadratic(30, [S], fixed=np.full(30, 1e-3)))
    results = [hoag.minimize(problem) for problem in (own, ours)]
    for result in results:
        assert result.converged, result.status
    assert results[0].lam[0] == pytest.approx(results[1].lam[0], abs=1e-6)

    def f(lam):
        H = half[0].T @ half[0] + np.exp(lam) * S.toarray() + 1e-3 * np.eye(30)
        return np.sum((half[3] - half[2] @ np.linalg.solve(H, half[0].T @ half[1])) ** 2)

    assert results[0].value == pytest.approx(f(results[0].lam[0]), rel=1e-9)
    least = min(f(lam) for lam in np.linspace(-12, 12, 200))
    assert results[0].value <= least * (1 + 1e-4)
    assert least < 0.9 * f(-12.0)


@pytest.mark.parametrize("loss", ["ridge", "logistic"])
def test_several_smoothing_penalties_each_on_its_block(loss):
    A, y = steps_of_a_curve(400, 15)
    B, z = steps_of_a_curve(400, 15, seed=1)
    rows, target = np.hstack([A, B, np.ones((400, 1))]), y + 0.3 * z
    S = SecondDifferences(15).S
    terms = [(slice(0, 15), S), (slice(15, 30), S.toarray())]
    penalty = glm.Quadratic(31, terms, fixed=np.full(31, 1e-3))
    testing.check_penalty(penalty)
    target = target if loss == "ridge" else (target > 0).astype(int)
    make = models.ridge if loss == "ridge" else models.logistic
    result = hoag.minimize(models.folds(make, rows, target, cv=4, penalties=penalty))
    assert result.converged, result.status
    for shift in ([0.7, 0.0], [0.0, 0.7], [-0.7, 0.0], [0.0, -0.7]):
        lam = np.clip(result.lam + shift, -12, 12)
        assert hoag.minimize(
            models.folds(make, rows, target, cv=4, penalties=penalty), lam, (lam - 1e-9, lam + 1e-9)
        ).value >= result.value * (1 - 1e-6)  # fmt: skip


def test_a_penalty_of_the_wrong_size_is_named():
    A, y = steps_of_a_curve()
    with pytest.raises(InvalidInputError, match=r"29 coefficients; this model has 31, 1 of them"):
        models.ridge(A, y, A, y, penalties=SecondDifferences(29), intercept=True)
    with pytest.raises(InvalidInputError, match=r"Term 0 of the penalty has a matrix of shape"):
        glm.Quadratic(5, [np.eye(4)])


# ---------------------------------------------------------------- rows


class BlocksOnDisk(glm.Rows):
    """Rows in a list of memory-mapped files."""

    def __init__(self, paths):
        self.maps = [np.load(path, mmap_mode="r") for path in paths]
        self.ends = np.cumsum([len(block) for block in self.maps])
        self.shape = (int(self.ends[-1]), self.maps[0].shape[1])
        self.entries = self.shape[0] * self.shape[1]

    def blocks(self):
        for block, end in zip(self.maps, self.ends, strict=True):
            yield slice(end - len(block), end), block

    def take(self, numbers):
        part = np.searchsorted(self.ends, numbers, side="right")
        first = np.append(0, self.ends)[part]
        return glm.ArrayRows(np.array([self.maps[k][i] for k, i in zip(part, numbers - first)]))


def written(A, folder, height=37):
    paths = []
    for k, start in enumerate(range(0, len(A), height)):
        paths.append(folder / f"{k}.npy")
        np.save(paths[-1], A[start : start + height])
    return BlocksOnDisk(paths)


@pytest.mark.parametrize("d", quick([6, 60], [6]))
@pytest.mark.parametrize("make", [models.ridge, models.logistic, models.multinomial])
@pytest.mark.parametrize("penalties", ["shared", "per-feature"])
def test_rows_on_disk_give_the_results_of_dense_rows(tmp_path, d, make, penalties):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(160, d))
    score = A @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=160)
    y = {models.ridge: score, models.logistic: score > 0}.get(make, np.digitize(score, [-0.5, 0.5]))
    rows = written(A, tmp_path)
    testing.check_rows(rows)
    options = {"cv": 3, "intercept": True, "penalties": penalties if d == 6 else "shared"}
    here = hoag.minimize(models.folds(make, rows, y, **options))
    there = hoag.minimize(models.folds(make, A, y, **options))
    assert here.value == pytest.approx(there.value, rel=1e-10)
    np.testing.assert_allclose(here.lam, there.lam, rtol=0, atol=1e-7)
    np.testing.assert_allclose(here.x, there.x, atol=1e-8)
    assert here.cost.passes == pytest.approx(there.cost.passes, rel=1e-12)


# ---------------------------------------------------------------- a search


class Golden(Search):
    """Golden sections: values only, one hyperparameter."""

    def __init__(self, n=30, eps=1e-6):
        self.n, self.eps = n, eps

    def steps(self, domain, lam0, traits):
        a, b, ask = domain.lower, domain.upper, hoag.criteria.Ask(self.eps, gradient=False)
        ratio = (np.sqrt(5) - 1) / 2
        c, d = yield [Evaluate(b - ratio * (b - a), ask), Evaluate(a + ratio * (b - a), ask)]
        for _ in range(self.n):
            if c.value < d.value:
                b, d = d.lam, c
                c = yield Evaluate(b - ratio * (b - a), ask, c)
            else:
                a, c = c.lam, d
                d = yield Evaluate(a + ratio * (b - a), ask, d)
        return hoag.Status("finished", f"The bracket is {float(b[0] - a[0]):.1e} wide.")


def test_a_search_of_ones_own():
    testing.check_search(Golden(), sizes=(1,))
    A, y = counts()
    folds = models.folds(models.linear, A, y, loss=Poisson(), cv=3)
    found, known = hoag.minimize(folds, bounds=(-3, 8), search=Golden()), hoag.minimize(folds)
    assert found.status.reason == "finished"
    assert found.value == pytest.approx(known.value, rel=1e-4)
    model = PoissonCV(search=Golden(), bounds=(-3, 8)).fit(A, y)
    assert model.criterion_ == pytest.approx(PoissonCV().fit(A, y).criterion_, rel=1e-4)


# ---------------------------------------------------------------- a criterion


class Rounded(hoag.criteria.Criterion):
    """A criterion that approximates another: f to three digits and a slope from differences."""

    def __init__(self, exact):
        self.exact = exact

    @property
    def lam0(self):
        return self.exact.lam0

    def _evaluate(self, lam, ask, warm):
        found = self.exact.evaluate(lam, replace(ask, gradient=False), warm)
        ends = [self.exact.value(lam + t).value for t in (-0.01, 0.01)]
        slope = np.array([(ends[1] - ends[0]) / 0.02])
        value, error = float(f"{found.value:.3g}"), abs(slope[0]) * 1e-3 + 1e-9 * found.value
        return replace(found, value=value, grad=slope, f_error=5e-3 * value, error=error)

    def verify(self, found, tol, deadline=np.inf):
        return self.exact.verify(found, tol, deadline)


def test_a_criterion_that_approximates_is_settled_by_its_definition():
    A, y = counts()
    folds = models.folds(models.linear, A, y, loss=Poisson(), cv=3)
    exact = hoag.plan(folds)
    testing.check_criterion(Rounded(exact), np.array([1.0]))
    result = hoag.minimize(Rounded(exact))
    best = hoag.minimize(exact)
    assert result.converged, result.status
    assert result.value != float(f"{result.value:.3g}")  # what it says is not what it went by
    assert result.value == pytest.approx(best.value, rel=1e-4)
