"""The last fit, on all rows, and the certificate of what a search returns."""

import numpy as np
import pytest
import registry
from scipy import sparse
from sklearn.datasets import load_diabetes, make_classification

import hoag
from hoag import models, solvers
from hoag._core.result import Ask, Cost
from hoag._criteria import galerkin
from hoag._criteria.folds import Sum
from hoag._criteria.galerkin import Galerkin, Reduced
from hoag._criteria.implicit import Implicit
from hoag._criteria.wrapped import Affine, Loads
from hoag._glm.basis import gram_inverse
from hoag._glm.folds import linear_folds
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import binary


def refit(how, fold_count=3, seed=0, scales=None):
    """Folds, the problem on all rows, and a preconditioner."""
    A, y = registry.text(seed=seed)
    A = A if scales is None else sparse.csr_matrix(A.multiply(scales(A.shape[1])))
    matrix = ArrayRows(A if how == "sparse" else A.toarray())
    target, weights, rows = binary(y, None, True), np.ones(len(y)), np.arange(len(y))
    splits = [(np.delete(rows, part), part) for part in np.array_split(rows, fold_count)]
    folds = linear_folds(matrix, target, splits, weights)
    (whole,) = linear_folds(matrix, target, [(rows, rows[:0])], weights)
    return folds, whole, None if how == "sparse" else gram_inverse(matrix, weights)


@pytest.mark.parametrize(
    ("how", "tol"),
    [
        *(("sparse", tol) for tol in (1e-1, 1e-3, 1e-5, 1e-9)),
        *(("gram", tol) for tol in (1e-2, 1e-4)),
    ],
)
@pytest.mark.parametrize("lam", [-2.0, 1.0])
def test_a_fit_is_as_tight_as_asked(how, tol, lam):
    _, whole, pre = refit(how, scales=None if how == "sparse" else lambda d: np.full(d, 30.0))
    solve = galerkin.fit(whole, np.array([lam]), tol, solvers.Newton(), (), pre)
    assert solve.converged
    assert solve.residual <= tol or solve.reason == "precision"
    size = np.linalg.norm(whole.at(solve.x, np.array([lam])).h_x)
    assert size <= tol or solve.reason == "precision"


def test_a_fit_of_few_coefficients_is_one():
    problem, lam = registry.make("logistic", n=40, scale=5.0), np.array([-6.0])
    solve = galerkin.fit(problem, lam, 1e-6, solvers.Newton())
    assert np.linalg.norm(problem.at(solve.x, lam).h_x) <= 1e-6


def test_a_fit_that_does_not_converge_in_the_space_is_handed_over():
    _, whole, _ = refit("sparse", scales=lambda d: np.logspace(-2, 3, d))
    starts = []

    class Watched(solvers.Newton):
        def solve(self, problem, lam, x0, tol):
            starts.append(np.linalg.norm(problem.at(x0, lam).h_x))
            return super().solve(problem, lam, x0, tol)

    lam = np.array([-9.0])
    solve = galerkin.fit(whole, lam, 1e-4, Watched(solvers.CG(max_iter=5000)))
    assert len(starts) == 1
    assert starts[0] > 1e-4  # the space had not converged, but what it found is where Newton starts
    assert starts[0] < np.linalg.norm(whole.at(np.zeros(whole.x0.size), lam).h_x)
    assert np.linalg.norm(whole.at(solve.x, lam).h_x) <= 1e-4


@pytest.mark.parametrize("how", ["sparse", "gram"])
def test_a_fit_starts_from_the_solutions_of_the_folds_for_nothing(how):
    folds, whole, pre = refit(how)
    lam = np.array([1.0])
    found = Sum([Galerkin(Implicit(p), pre) for p in folds]).evaluate(lam, 1e-4)
    begun = Reduced.begun(whole, lam, pre)
    joined = begun.joined(found.warm)
    assert whole.ledger.cost == Cost()
    assert joined.c.size == begun.c.size + 3

    def h(here):
        return whole.at(here.basis.coefficients(here.c), lam).h

    assert h(joined) <= min(whole.at(here.x, lam).h for here in found.warm) + 1e-9 < h(begun)
    before = whole.ledger.cost.passes
    solve = galerkin.fit(whole, lam, 1e-3, solvers.Newton(), found.warm, pre)
    half = 0.5 if pre is None else 0.0
    assert whole.ledger.cost.passes - before == solve.iterations + half
    tol = 1e-3 if pre is None else 1e-6
    counts = [galerkin.fit(whole, lam, tol, solvers.Newton(), like, pre).iterations
              for like in (found.warm, ())]  # fmt: skip
    assert counts[0] < counts[1]


def certified_draws(draws):
    """Criteria of all kinds, with the problems that they are made of."""
    rng = np.random.default_rng(0)
    for k in range(draws):
        model = ("logistic", "multinomial", "ridge")[k % 3]
        d, few = (4, True) if k % 2 else (45, False)
        A = registry.rows(rng, 60, d) / np.sqrt(d)
        y = registry.targets(model, A, rng)
        make = getattr(models, model)
        weights = rng.uniform(0.2, 2.0, 60)
        options = {"intercept": few, "sample_weight": weights, "cv": 3}
        problems = models.folds(make, A, y, **options)[: 3 if k % 5 else 1]
        how = k % 4
        parts = [
            Galerkin(Implicit(p)) if how < 2 else Implicit(p, corrected=how == 2, bound=False)
            for p in problems
        ]
        lam, eps = np.array([rng.uniform(-1, 3)]), float(10 ** rng.uniform(-4, -1))
        yield parts[0] if len(parts) == 1 else Sum(parts), problems, lam, eps


@pytest.mark.parametrize("draws", [30, pytest.param(90, marks=pytest.mark.slow)])
def test_a_certificate_is_never_below_the_error_and_is_counted(draws):
    finite = 0
    for criterion, problems, lam, eps in certified_draws(draws):
        found = criterion.evaluate(lam, eps)
        before = sum((p.ledger.cost for p in problems), Cost())
        sure = criterion.certify(found, bound=True)
        spent = sum((p.ledger.cost for p in problems), Cost()) - before
        assert sure.cost.passes == pytest.approx(spent.passes)
        assert sure.cost.held_out == pytest.approx(spent.held_out)
        truth = sum(registry.exact(p, lam).grad[0] for p in problems)
        error = abs(sure.grad[0] - truth)
        assert sure.bound >= error - 1e-11 * (1 + abs(truth))
        assert sure.error <= sure.bound
        finite += np.isfinite(sure.bound)
    assert finite >= 2 / 3 * draws


def test_certifying_a_look_does_not_change_it():
    problems = models.folds(models.logistic, *registry.text(), cv=3)
    criterion = Sum([Galerkin(Implicit(p)) for p in problems])
    warm = criterion.evaluate(np.zeros(1), 0.1).warm
    found = criterion.evaluate(np.ones(1), Ask(free=True), warm)
    assert criterion.certify(found).value == pytest.approx(found.value, rel=1e-4)


def test_a_certificate_of_a_look_is_not_below_the_error():
    for seed in range(20):
        problem = registry.make("logistic", intercept=True, weighted=True, seed=seed)
        criterion, lam = Galerkin(Implicit(problem)), np.array([2.0])
        sure = criterion.certify(criterion.evaluate(lam, Ask(free=True)), bound=True)
        assert sure.bound >= abs(sure.grad - registry.exact(problem, lam).grad)[0] - 1e-11


def test_a_certificate_where_the_penalty_is_below_rounding_is_infinite():
    rng = np.random.default_rng(0)
    A, y = 1e8 * rng.normal(size=(4, 3)), np.array([1, -1, 1, -1])
    criterion = Galerkin(Implicit(models.ridge(A[:2], y[:2], A[2:], y[2:])))
    found = criterion.evaluate(np.array([-5.0]), 1e-6)
    assert criterion.certify(found, bound=True).bound > 0


def signed(rows, columns):
    A, y = make_classification(rows, columns, n_informative=3, n_redundant=0, random_state=0)
    return A, 2.0 * y - 1.0


def levels(rows, columns):
    """Targets of their own penalties."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(rows, columns))
    return A, A @ rng.normal(size=(columns, 2)) + rng.normal(size=(rows, 2))


# What all folds are put into, the problem, and how far apart two columns' penalties are.
KINDS = {
    "Spectral": (models.ridge, load_diabetes(return_X_y=True), None),
    "BandedRidge": (models.ridge, load_diabetes(return_X_y=True), np.arange(10) % 2),
    "Separable": (models.ridge, levels(50, 4), np.tile([0, 1], (4, 1))),
    "FoldedFits": (models.logistic, signed(60, 5), None),
    "SharedCurvature": (models.logistic, signed(6300, 60), None),
    "Galerkin": (models.logistic, signed(600, 700), None),
    "Implicit": (models.logistic, signed(60, 5), "by steps"),
}


def hessian(point):
    return np.stack([point.hessian @ row for row in np.eye(point.h_x.size)])


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_criterion_refits_and_counts_it(kind, wrapped):
    make, (A, y), penalties = KINDS[kind]
    by_steps = isinstance(penalties, str)
    options = {} if by_steps or penalties is None else {"penalties": penalties}
    inside = hoag.plan(models.folds(make, A, y, cv=3, **options), by_steps=by_steps)
    parts = inside.criteria if isinstance(inside, Sum) else [inside]
    assert type(parts[0]).__name__ == kind
    lam, whole = np.full(inside.lam0.size, 0.5), make(A, y, A[:1], y[:1], **options)
    criterion, at = inside, lam
    if wrapped:  # λ = α/2
        Z, most = 0.5 * np.eye(lam.size), np.full(lam.size, 9.0)
        criterion, at = Affine(inside, Loads(Z, -most, most)), 2 * lam
    found = criterion.verify(criterion.evaluate(at, 1e-3), 1e-3)
    before = whole.ledger.cost
    solve, cost = criterion.refit(whole, found, 1e-3)
    spent = whole.ledger.cost - before
    point = whole.at(solve.x, lam)
    left = np.linalg.norm(point.h_x), point.h_x @ np.linalg.solve(hessian(point), point.h_x)
    assert left[0] <= 1.001e-3 or left[1] <= 0.11e-6 * point.h
    assert cost.passes >= spent.passes > 0
    if kind not in ("Spectral", "BandedRidge", "Separable"):  # whose matrices are the folds' own
        assert cost == spent


@pytest.mark.parametrize("penalties", ["shared", np.arange(10) % 2])
def test_rows_of_ridge_folds_that_no_fold_has_are_in_the_last_fit(penalties):
    X, y = load_diabetes(return_X_y=True)
    X = 20 * X
    splits = [(np.arange(100), np.arange(100, 150)), (np.arange(100, 200), np.arange(50))]
    model = hoag.RidgeCV(cv=splits, penalties=penalties).fit(X, y)
    alpha = np.exp(model.lam_)[np.zeros(10, dtype=int) if isinstance(penalties, str) else penalties]
    A, b = X - X.mean(axis=0), y - y.mean()
    np.testing.assert_allclose(
        model.coef_, np.linalg.solve(A.T @ A + np.diag(alpha), A.T @ b), rtol=1e-8
    )
