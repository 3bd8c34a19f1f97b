"""Folds on one shared matrix, and the losses that only judge held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
import registry
from scipy.optimize import approx_fprime
from sklearn.model_selection import KFold, RepeatedKFold

import hoag
from hoag import models
from hoag._glm.folds import linear_folds
from hoag._glm.losses import Brier, Huber, MultinomialBrier
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import multiclass
from hoag.errors import InvalidInputError

MAKERS = {
    "logistic": models.logistic,
    "multinomial": models.multinomial,
    "ridge": models.ridge,
    "ridge-2": models.ridge,
}


@pytest.mark.parametrize("fmt", registry.FORMATS)
@pytest.mark.parametrize("model", MAKERS)
def test_a_fold_is_the_problem_on_its_own_rows(model, fmt):
    rng = np.random.default_rng(0)
    A = registry.rows(rng, 40, 4)
    y = registry.targets(model, A, rng)
    weights = rng.uniform(0.2, 2.0, size=40)
    to, make = registry.FORMATS[fmt], MAKERS[model]
    options = {"classes": np.unique(y)} if "ridge" not in model else {}
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    shared = models.folds(make, to(A), y, cv=cv, sample_weight=weights, intercept=True)
    assert len(shared) == 6
    assert all(fold.train.design.rows is shared[0].train.design.rows for fold in shared)
    lam = shared[0].lam0 + 0.3
    for fold, (train, test) in zip(shared, cv.split(A), strict=True):
        own = make(
            *(to(A[train]), y[train], to(A[test]), y[test]),
            sample_weight=weights[train],
            test_weight=weights[test],
            intercept=True,
            **options,
        )
        x = rng.normal(size=own.x0.size)
        here, there = fold.at(x, lam), own.at(x, lam)
        assert here.g == pytest.approx(there.g)
        np.testing.assert_allclose(here.h_x, there.h_x, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(here.g_x, there.g_x, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(here.hessian @ x, there.hessian @ x, rtol=1e-10, atol=1e-12)
        assert fold.train.radius == pytest.approx(own.train.radius)
        if own.test.loss.lipschitz is not None:
            assert fold.outer_lipschitz() == pytest.approx(own.outer_lipschitz(), rel=1e-6)


def test_a_split_may_draw_a_row_twice_or_be_a_mask():
    rng = np.random.default_rng(1)
    A, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    train = np.array([0, 0, 1, 2, 3, 4, 4, 5])
    mask = np.arange(12) >= 6
    (fold,) = models.folds(models.ridge, A, y, cv=[(train, mask)])
    own = models.ridge(A[train], y[train], A[6:], y[6:])
    x = rng.normal(size=2)
    assert fold.at(x, fold.lam0).h == pytest.approx(own.at(x, own.lam0).h)
    assert fold.at(x, fold.lam0).g == pytest.approx(own.at(x, own.lam0).g)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_without_training_rows_gets_a_finite_intercept_and_is_not_judged(classes):
    rng = np.random.default_rng(2)
    A, y = rng.normal(size=(30, 3)), np.arange(30) % classes
    y[y == classes - 1] = 0
    y[0] = classes - 1  # one row of the last class, in the first fold only
    make = models.logistic if classes == 2 else models.multinomial
    problems = models.folds(make, A, y, cv=KFold(3), intercept=True)
    assert problems[0].test.weights[0] == 0.0
    assert problems[1].test.weights[15] == 1.0
    result = hoag.minimize(problems, certificate="bound")
    assert np.all(np.isfinite(result.grad))
    assert result.evaluation.bound < np.inf


def test_a_fold_without_training_weight_is_an_error():
    A, y = np.eye(4), np.arange(4.0)
    with pytest.raises(InvalidInputError, match="Split 2 of cv has no training row"):
        models.folds(
            models.ridge, A, y, cv=[([0, 1], [2]), ([2, 3], [0])], sample_weight=[1, 1, 0, 0]
        )


def outer_losses():
    rng = np.random.default_rng(3)
    signs, codes = np.where(rng.random(50) > 0.5, 1.0, -1.0), rng.integers(0, 4, size=50)
    yield Brier(), signs, 3 * rng.normal(size=50)
    yield MultinomialBrier(), codes, 3 * rng.normal(size=(50, 4))
    yield Huber(0.7), rng.normal(size=50), rng.normal(size=50)
    yield Huber(0.7), rng.normal(size=(50, 2)), rng.normal(size=(50, 2))


@pytest.mark.parametrize(("loss", "y", "z"), list(outer_losses()))
def test_an_outer_loss_has_the_slope_of_its_value_and_curvature_under_its_ceiling(loss, y, z):
    at = loss.at(y, z)
    for i in range(len(y)):

        def value(row, i=i):
            return loss.at(y[i : i + 1], row.reshape(1, *z.shape[1:])).value[0]

        def slope(row, i=i):
            return loss.at(y[i : i + 1], row.reshape(1, *z.shape[1:])).slope.ravel()

        row = np.atleast_1d(z[i])
        np.testing.assert_allclose(
            approx_fprime(row, value, 1e-7), np.atleast_1d(at.slope[i]), atol=1e-5
        )
        curvature = np.linalg.norm(approx_fprime(row, slope, 1e-6), 2)
        assert curvature <= at.curvature_bound[i] + 1e-4
        if loss.lipschitz is not None:
            assert np.linalg.norm(at.slope[i]) <= loss.lipschitz


def test_brier_for_two_classes_is_half_of_the_sum_over_both():
    z = np.linspace(-3, 3, 7)
    y = np.where(np.arange(7) % 2, 1.0, -1.0)
    both = MultinomialBrier().at((y > 0).astype(int), np.stack([0 * z, z], axis=1))
    np.testing.assert_allclose(2 * Brier().at(y, z).value, both.value)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_the_bound_holds_with_another_outer_loss_and_a_scaled_matrix(scale):
    rng = np.random.default_rng(4)
    A = rng.normal(size=(60, 3))
    y = np.argmax(A + rng.normal(size=(60, 3)), axis=1)
    target = multiclass(y, None, True)
    target = type(target)(**{**target.__dict__, "outer": MultinomialBrier()})
    problems = linear_folds(ArrayRows(A, scale), target, KFold(3).split(A), np.ones(60))
    plain = linear_folds(ArrayRows(scale * A), target, KFold(3).split(A), np.ones(60))
    criterion = hoag.criteria.Sum([hoag.criteria.Implicit(p) for p in problems])
    lam = np.array([0.5])
    exact = hoag.criteria.Sum([hoag.criteria.Implicit(p) for p in plain]).evaluate(lam, 1e-11)
    for eps in (1e-1, 1e-2, 1e-3):
        found = criterion.evaluate(lam, eps)
        assert np.linalg.norm(found.grad - exact.grad) <= found.bound
    step = 1e-4
    ends = [criterion.value(lam + t, 1e-11).value for t in (-step, step)]
    assert exact.grad[0] == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5)


# ---- the folds that cv stands for


@pytest.mark.parametrize("model", [hoag.LogisticRegressionCV, hoag.LinearSVCCV])
def test_small_classes_have_fewer_folds_by_default_and_an_error_if_asked(model):
    rng = np.random.default_rng(0)
    A, c = rng.normal(size=(9, 2)), np.repeat(["a", "b", "c"], 3)
    with pytest.warns(UserWarning, match="No class has 5 rows, so there are 3 folds"):
        default = model(bounds=(0.0, 0.0)).fit(A, c)
    asked = model(bounds=(0.0, 0.0), cv=3).fit(A, c)
    assert np.array_equal(default.coef_, asked.coef_)
    assert default.criterion_ == asked.criterion_
    with pytest.raises(ValueError, match="n_splits=5 cannot be greater than"):
        model(cv=5).fit(A, c)


def sorted_rows():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(60, 3))
    y = A[:, 0] + 0.1 * rng.normal(size=60)
    order = np.argsort(y)
    return A[order], y[order]


@pytest.mark.parametrize("cv", [None, 5, KFold(5)])
@pytest.mark.parametrize("falls", [False, True])
def test_rows_sorted_by_y_are_warned_of(cv, falls):
    A, y = sorted_rows()
    A, y = (A[::-1], y[::-1]) if falls else (A, y)
    with pytest.warns(UserWarning, match="rows are sorted by y.*shuffle=True") as told:
        hoag.HuberRegressorCV(cv=cv).fit(A, y)
    assert len(told) == 1


def test_nobody_is_warned_of_rows_that_are_not_sorted_or_are_shuffled():
    A, y = sorted_rows()
    shuffled = KFold(5, shuffle=True, random_state=0)
    hoag.HuberRegressorCV(cv=shuffled).fit(A, y)
    hoag.RidgeCV().fit(A, y)  # each row is left out by itself
    mixed = np.random.default_rng(0).permutation(60)
    hoag.HuberRegressorCV().fit(A[mixed], y[mixed])
    hoag.LogisticRegressionCV().fit(A, y > 0)  # classes are stratified


def test_classes_that_stand_together_are_warned_of_where_folds_are_not_stratified():
    A, _ = sorted_rows()
    classes = np.repeat(["b", "c", "a"], 20)
    with pytest.warns(UserWarning, match="rows are sorted by y"):
        hoag.LogisticRegressionCV(cv=KFold(4), bounds=(0.0, 0.0)).fit(A, classes)
