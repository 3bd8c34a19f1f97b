"""All folds of a model in one criterion, held against each fold by itself."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from quick import quick_pairs
from scipy import sparse
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

import hoag
from hoag._core.domain import Box
from hoag._core.errors import SingularProblemError
from hoag._criteria.fits import FoldedFits
from hoag._criteria.ridge_folds import Spectral
from hoag._criteria.select import plan
from hoag._criteria.shared_curvature import SharedCurvature
from hoag._glm.folds import linear_folds
from hoag._glm.in_memory import InMemoryDesign
from hoag._glm.losses import Huber, Squared
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import Target
from hoag._linalg.cholesky import factors

SPLITTERS = {
    "folds": KFold(5),
    "shuffled": KFold(4, shuffle=True, random_state=0),
    "repeated": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "in time": TimeSeriesSplit(4),
    "one split": ShuffleSplit(1, random_state=0),
}
SHAPES = [(60, 4), (30, 8), (12, 20)]
LAMS = [-6.0, 0.3, 5.0]


def data(n, p, seed=0, classes=0, targets=1):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.7) + 0.5
    score = A @ rng.normal(size=(p, max(targets, classes, 1)))
    score = score + rng.normal(size=score.shape)
    if classes == 2:
        y = np.where(score[:, 0] > np.median(score[:, 0]), 1, -1)
    elif classes:
        y = np.argmax(score - score.mean(axis=0), axis=1)
    else:
        y = score[:, 0] if targets == 1 else score
    return A, y, rng.uniform(0.3, 2.0, size=n)


def folds(kind, A, y, splitter, weights=None, intercept=True, **options):
    make = {
        "ridge": hoag.models.ridge,
        "logistic": hoag.models.logistic,
        "multinomial": hoag.models.multinomial,
    }[kind]
    return hoag.models.folds(
        make, A, y, cv=splitter, sample_weight=weights, intercept=intercept, **options
    )


def exact(problems):
    """The same sum, each fold solved by itself, by factors and to rounding."""
    parts = [
        hoag.criteria.Implicit(
            p, hoag.solvers.Newton(hoag.solvers.Cholesky(), np.inf), hoag.solvers.Cholesky(),
            certificate=False, exact=True,
        )
        for p in problems
    ]  # fmt: skip
    return hoag.criteria.Sum(parts)


def agrees(found, other, rel=1e-8):
    assert found.value == pytest.approx(other.value, rel=rel)
    np.testing.assert_allclose(found.grad, other.grad, rtol=rel, atol=rel * abs(other.value))
    np.testing.assert_allclose(np.stack(found.x), np.stack(other.x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("fmt", ["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_ridge_by_decomposition_is_ridge_by_factors(splitter, shape, fmt, intercept):
    A, y, weights = data(*shape)
    A = sparse.csr_array(A) if fmt == "sparse" else A
    problems = folds("ridge", A, y, SPLITTERS[splitter], weights, intercept)
    criterion, other = plan(problems), exact(problems)
    assert isinstance(criterion, Spectral)
    for lam in LAMS:
        found = criterion.evaluate([lam])
        known = criterion.verify(found, 1e-12 * abs(found.value))
        agrees(known, other.evaluate([lam]))
        assert known.value == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("outer", [Squared(1.0), Huber(0.7)])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_several_targets_and_another_judge(shape, targets, outer):
    A, y, weights = data(*shape, targets=targets)
    target = Target(y, Squared(0.5), outer, targets, np.eye(targets))
    problems = linear_folds(ArrayRows(A), target, KFold(3).split(A), weights)
    criterion, other = plan(problems), exact(problems)
    assert isinstance(criterion, Spectral)
    for lam in LAMS:
        found = criterion.evaluate([lam])
        agrees(criterion.verify(found, 0.0), other.evaluate([lam]))


@pytest.mark.parametrize("kind", ["logistic", "multinomial"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("fmt", ["dense", "sparse"])
@pytest.mark.parametrize("shape", [(60, 4), (40, 60)])
def test_newton_for_all_folds_is_newton_for_each(kind, shape, fmt, intercept):
    A, y, weights = data(*shape, classes=2 if kind == "logistic" else 3)
    A = sparse.csr_array(A) if fmt == "sparse" else A
    problems = folds(kind, A, y, StratifiedKFold(4), weights, intercept)
    criterion, other, warm = plan(problems), exact(problems), None
    assert isinstance(criterion, FoldedFits)
    for lam in (2.0, -1.0, 3.0):
        found = criterion.evaluate([lam], warm=warm)
        agrees(criterion.verify(found, 0.0), other.evaluate([lam]))
        warm = found.warm


def tall(n=8000, p=8, kind="logistic", fmt="dense"):
    A, y, weights = data(n, p, classes=2 if kind == "logistic" else 3)
    A = sparse.csr_array(A) if fmt == "sparse" else A
    problems = folds(kind, A, y, StratifiedKFold(5), weights)
    return SharedCurvature(
        problems, InMemoryDesign.of(problems), partial(exact, problems)
    ), problems


@pytest.mark.parametrize(
    ("fmt", "kind"),
    quick_pairs(
        product(["dense", "sparse"], ["logistic", "multinomial"]),
        lambda fmt, kind: (fmt, kind) != ("sparse", "multinomial"),
    ),
)
def test_tall_data_have_few_passes_and_an_error_that_holds(kind, fmt):
    criterion, problems = tall(kind=kind, fmt=fmt)
    other = exact(problems)
    for lam in (-2.0, 3.0, 6.0):
        true = other.evaluate([lam])
        for eps in (1.0, 1e-3, 1e-6):
            found = criterion.evaluate([lam], eps)
            assert abs(found.value - true.value) <= max(2 * found.f_error, 1e-9 * true.value)
            assert abs(found.grad[0] - true.grad[0]) <= max(3 * found.error, 1e-9 * true.value)
            assert found.error <= eps
            known = criterion.verify(found, 1e-9 * abs(true.value))
            assert known.value == pytest.approx(true.value, rel=1e-8)


def test_folds_of_separable_classes_are_solved_one_by_one():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4000, 5))
    score = A @ rng.normal(size=5)
    A, y = A[np.abs(score) > 0.3], np.sign(score[np.abs(score) > 0.3])
    problems = folds("logistic", A, y, StratifiedKFold(5))
    criterion = SharedCurvature(problems, InMemoryDesign.of(problems), partial(exact, problems))
    for lam in (2.0, -4.0, -9.0):
        true = exact(problems).value([lam]).value
        found = criterion.evaluate([lam], 1e-3 * true)
        known = criterion.verify(found, 1e-4 * true)
        assert known.converged
        assert known.value == pytest.approx(true, rel=3e-4)


@pytest.mark.parametrize("kind", ["plain", "rare", "separable"])
def test_tall_data_are_tuned_by_models_that_are_mended(kind):
    """f is modelled about one fit to all rows; where classes are rare or apart, wrongly."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(4100, 70))
    score = A @ rng.normal(size=70) / np.sqrt(70)
    noise = {"plain": 1.0, "rare": 1.0, "separable": 0.0}[kind] * rng.logistic(size=4100)
    level = np.sort(score + noise)[-15] if kind == "rare" else 0.0
    y = np.where(score + noise >= level, 1, -1)
    problems = folds("logistic", A, y, StratifiedKFold(5))
    criterion, truth = plan(problems), exact(problems)
    assert criterion.traits.modelled
    found = hoag.optimize.Auto().minimize(criterion, Box(-12.0, 12.0, size=1), np.zeros(1))
    assert found.converged, found.status
    at = truth.value(found.lam)
    assert found.value == pytest.approx(at.value, rel=1e-3)
    start, values = at.warm, []
    for lam in found.lam[0] + np.array([-4, -2, -1, -0.3, 0.3, 1, 2, 4]):
        values.append(truth.value([lam], warm=start).value)
    assert at.value <= min(values) * (1 + 1e-3)
    assert len(found.trace) <= 6


def test_looks_at_tall_data_touch_no_row():
    criterion, _ = tall()
    found = criterion.evaluate([1.0], 1e-3)
    before = criterion.design.ledger.cost.passes
    look = criterion.evaluate([2.5], hoag.criteria.Ask(free=True), found.warm)
    assert criterion.design.ledger.cost.passes == before
    there = criterion.evaluate([2.5], 1e-6)
    assert look.value == pytest.approx(there.value, rel=1e-3)
    assert look.grad[0] == pytest.approx(there.grad[0], rel=0.2)


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_a_design_is_what_folds_share(kind):
    A, y, weights = data(40, 3, classes=0 if kind == "ridge" else 2)
    problems = folds(kind, A, y, KFold(5, shuffle=True, random_state=1), weights)
    design = InMemoryDesign.of(problems)
    assert design.train.shape == (5, 5)
    np.testing.assert_array_equal(design.train, ~design.test)
    X = np.random.default_rng(0).normal(size=(5, 4))
    T = np.random.default_rng(1).normal(size=(5, 4))
    sums = design.sums(X, T, curved=True)
    for k, problem in enumerate(problems):
        point = problem.at(X[k], np.array([-np.inf]))  # no penalty
        assert sums.value[k] == pytest.approx(point.h)
        assert sums.g[k] == pytest.approx(point.g)
        np.testing.assert_allclose(sums.gradient[k], point.h_x, rtol=1e-10)
        np.testing.assert_allclose(sums.g_x[k], point.g_x, rtol=1e-10)
        np.testing.assert_allclose(sums.hvp[k], point.hessian @ T[k], rtol=1e-10)
        np.testing.assert_allclose(sums.hessian[k], point.hessian.matrix(), rtol=1e-10)
    value, gradient, hessian = design.expanded(X[0])
    point = problems[0].at(X[0], np.array([-np.inf]))
    assert design.train[0] @ value == pytest.approx(point.h)
    np.testing.assert_allclose(design.train[0] @ gradient, point.h_x, rtol=1e-10)
    whole = np.tensordot(design.train[0] * 1.0, hessian, axes=1)
    np.testing.assert_allclose(whole, point.hessian.matrix(), rtol=1e-10)


@pytest.mark.parametrize("shape", [(400, 4), (50, 300)])
@pytest.mark.parametrize("kind", ["logistic", "ridge"])
def test_the_last_fit_is_exact_where_the_folds_are(kind, shape):
    A, y, weights = data(*shape, classes=2 if kind == "logistic" else 0)
    estimator = hoag.LogisticRegressionCV() if kind == "logistic" else hoag.RidgeCV(cv=5)
    model = estimator.fit(A, y, weights)
    (whole,) = folds(kind, A, y, [(np.arange(len(y)), np.arange(0))], weights)
    x = np.concatenate([np.ravel(model.coef_), np.atleast_1d(model.intercept_)])
    point = whole.at(x, model.lam_)
    zero = whole.at(np.zeros(x.size), model.lam_)
    assert np.linalg.norm(point.h_x) <= 1e-9 * np.linalg.norm(zero.h_x)


@pytest.mark.parametrize("cv", [5, None])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 10.0)])
def test_powers_of_a_column_are_tuned_below_what_a_gram_matrix_sees(low, high, cv):
    rng = np.random.default_rng(0)
    t = rng.uniform(low, high, 200)
    X = t[:, None] ** np.arange(1, 13)
    y = np.sin(4 * (t - low) / (high - low)) + 0.05 * rng.normal(size=200)
    model = hoag.RidgeCV(cv=cv).fit(X, y)
    u = (2 * t - low - high) / (high - low)
    orthogonal = np.polynomial.legendre.legvander(u, 12)[:, 1:]
    easy = hoag.RidgeCV(cv=cv).fit(orthogonal, y)  # the same functions, of one scale
    assert model.criterion_ <= 1.1 * easy.criterion_
    assert np.mean((model.predict(X) - easy.predict(orthogonal)) ** 2) <= 1e-3


def test_rows_drawn_twice_have_no_design():
    A, y, _ = data(20, 3)
    drawn = [([0, 0, 1, 2, 3, 4], [5, 6, 7]), ([0, 1, 2, 3, 4], [8, 9])]
    problems = folds("ridge", A, y, drawn)
    assert InMemoryDesign.of(problems) is None
    assert not isinstance(plan(problems), Spectral)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_squares_of_any_scale_are_decomposed(scale, intercept):
    """2·scale is the curvature of the loss, which the penalty competes with."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 5))
    y = A @ rng.standard_normal(5) + 1 + rng.standard_normal(60)
    problems = hoag.models.folds(
        hoag.models.linear, A, y, loss=hoag._glm.losses.Squared(scale), cv=4, intercept=intercept
    )
    criterion, slow = hoag.plan(problems), hoag.plan(problems, by_steps=True)
    assert isinstance(criterion, Spectral)
    for lam in ([-3.0], [2.0], [5.0]):
        found, truth = criterion.evaluate(lam), slow.evaluate(lam, 1e-10)
        assert found.value == pytest.approx(truth.value, rel=1e-8)
        assert found.grad == pytest.approx(truth.grad, rel=1e-6)
        assert criterion.verify(found, 1e-9).value == pytest.approx(truth.value, rel=1e-8)


def test_factors_do_not_see_the_scales_of_columns():
    """Nor does what they say of their condition; a matrix a little below singular is lifted."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 12, 5))
    M, scales, b = A.transpose(0, 2, 1) @ A, 10.0 ** np.array([-6, 3, 0, 5, -2]), rng.normal(size=5)
    scaled = M * scales[:, None] * scales
    both = zip(factors(M.copy(), b), factors(scaled, b), M, strict=True)
    for one, other, own in both:
        np.testing.assert_allclose(one(b), np.linalg.solve(own, b), rtol=1e-10)
        np.testing.assert_allclose(other(b * scales) * scales, one(b), rtol=1e-10)
        assert other.pivot == pytest.approx(one.pivot, rel=1e-8)
    twice = M[:, [0, 1, 2, 0]][:, :, [0, 1, 2, 0]]
    a, c = (factors(twice.copy(), b)[0](own) for own in (twice[0][:, 0], twice[0][:, 1]))
    np.testing.assert_allclose(a[[1, 2]], 0.0, atol=1e-4)
    assert a[0] + a[3] == pytest.approx(1.0, rel=1e-4)
    # What equal columns share of nothing is settled by rounding alone; all else is not.
    np.testing.assert_allclose(twice[0] @ c, twice[0][:, 1], rtol=1e-8)
    np.testing.assert_allclose([c[0] + c[3], c[1], c[2]], [0.0, 1.0, 0.0], atol=1e-8)
    with pytest.raises(SingularProblemError, match="singular to rounding"):
        factors(np.array([[[1.0, 2.0], [2.0, 1.0]]]), b)
    empty = np.diag([1.0, 0.0])[None]
    np.testing.assert_allclose(factors(empty, b)[0](np.array([2.0, 0.0])), [2.0, 0.0])
