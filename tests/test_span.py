"""Groups of more columns than rows, in the span of their rows, held against the columns given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from quick import quick
from scipy import sparse
from scipy.stats import ortho_group
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit

import hoag
from hoag._core.result import Ask
from hoag._criteria import affordable
from hoag._criteria.fits import FoldedFits
from hoag._criteria.ridge_folds import BandedRidge
from hoag._criteria.separable import Separable
from hoag._glm.span import Span, narrowed, wide_groups

pytestmark = pytest.mark.filterwarnings("ignore:lam_.* is on its")

N = 24
# Two groups of more columns than rows, a narrow one and, where it says so, two free columns.
SIZES = {"wide": [40, 30], "narrow": [40, 30, 6], "free": [40, 30, 6, 2]}
CRITERIA = {
    "logistic": FoldedFits,
    "multinomial": FoldedFits,
    "ridge": BandedRidge,
    "targets": BandedRidge,
}
LAM = np.array([0.5, -1.0, 1.0])


def bands(kind):
    groups = np.repeat(np.arange(len(SIZES[kind])), SIZES[kind])
    groups[groups == 3] = -1
    return np.random.default_rng(1).permutation(groups)


def data(model, p, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(N, p)) + 0.3
    score = A @ rng.normal(size=(p, 3)) / np.sqrt(p) + 0.5 * rng.normal(size=(N, 3))
    y = {
        "logistic": np.where(score[:, 0] > np.median(score[:, 0]), 1, -1),
        "multinomial": np.argmax(score - score.mean(axis=0), axis=1),
        "ridge": score[:, 0],
        "targets": score,
    }[model]
    return A, y, rng.uniform(0.5, 2.0, size=N)


def folds(model, groups, A=None, cv=None, intercept=True):
    plain, y, weights = data(model, len(groups))
    make = getattr(hoag.models, "ridge" if model in ("ridge", "targets") else model)
    return hoag.models.folds(
        make,
        plain if A is None else A,
        y,
        cv=cv or KFold(3, shuffle=True, random_state=0),
        sample_weight=weights,
        penalties=groups,
        intercept=intercept,
    )


def by_columns(criterion):
    """The same criterion on the columns as they are given."""
    other = type(criterion)(
        criterion.models, replace(criterion.design), criterion._plain, criterion.several
    )
    other.span = Span(np.arange(criterion.design.predictor.features))
    return other


def agrees(found, other, rel=1e-8):
    assert found.value == pytest.approx(other.value, rel=rel)
    np.testing.assert_allclose(found.grad, other.grad, atol=rel * abs(other.value))
    scale = np.abs(other.hessian).max()
    np.testing.assert_allclose(found.hessian, other.hessian, atol=rel * scale)
    np.testing.assert_allclose(found.folds, other.folds, rtol=rel)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("model", CRITERIA)
def test_fewer_coefficients_are_the_same_model(model, kind, intercept):
    groups = bands(kind)
    criterion = hoag.plan(folds(model, groups, intercept=intercept))
    assert isinstance(criterion, CRITERIA[model])
    other, lam = by_columns(criterion), LAM[: groups.max() + 1]
    found, plain = (c.evaluate(lam, Ask(hessian=True)) for c in (criterion, other))
    narrow = np.sum((groups == 2) | (groups < 0))
    assert criterion.work.predictor.features == 2 * N + narrow
    agrees(found, plain)
    # Free coefficients of all classes may shift together, but for what holds them a little.
    rel = 1e-6 if (model, kind) == ("multinomial", "free") else 1e-8
    for ours, theirs in (
        (criterion.solution(found)[0], other.solution(plain)[0]),
        (criterion.verify(found, 0.0).x, other.verify(plain, 0.0).x),
        (found.tangents, plain.tangents),
    ):
        for own, its in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(own, its, atol=rel * np.abs(its).max())
    places = lam[:, None] + np.array([-4.0, 0.0, 3.0])
    np.testing.assert_allclose(
        criterion.profile(found, places)[0], other.profile(plain, places)[0], rtol=1e-8
    )


@pytest.mark.parametrize("model", ["logistic", "ridge"])
@pytest.mark.parametrize("cv", [ShuffleSplit(1, random_state=0), None])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_sparse_rows_and_a_single_split_too(model, cv, as_sparse):
    groups = bands("narrow")
    A, _, _ = data(model, groups.size)
    A = np.where(np.abs(A) > 0.5, A, 0.0)
    dense = hoag.plan(folds(model, groups, A, cv))
    given = hoag.plan(folds(model, groups, sparse.csr_array(A) if as_sparse else A, cv))
    assert given.span.wide
    agrees(
        given.evaluate(LAM, Ask(hessian=True)), by_columns(dense).evaluate(LAM, Ask(hessian=True))
    )


@pytest.mark.parametrize("kind", ["per class", "mixed"])
def test_penalties_that_differ_by_output_are_one_group_of_columns(kind):
    """Columns are alike where every output penalises them alike."""
    groups = bands("wide")
    other = groups if kind == "mixed" else np.zeros_like(groups)
    apart = np.ones_like(groups) if kind == "per class" else groups
    penalties = np.stack([other, apart, np.full(groups.size, 2)], axis=1)
    criterion = hoag.plan(folds("multinomial", penalties))
    assert isinstance(criterion, FoldedFits)
    assert len(criterion.span.wide) == (1 if kind == "per class" else 2)
    pair = (criterion, by_columns(criterion))
    agrees(*(own.evaluate(LAM, Ask(hessian=True)) for own in pair))


def test_targets_with_penalties_of_their_own_share_one_basis():
    groups, lam = bands("narrow"), np.tile(LAM, 3)
    problems = folds("targets", groups[:, None] + 3 * np.arange(3))
    criterion = hoag.plan(problems)
    assert isinstance(criterion, Separable)
    together = criterion.verify(criterion.evaluate(lam), 0.0)
    shared = hoag.plan(folds("targets", groups))
    alike = shared.verify(shared.evaluate(LAM), 0.0)
    assert together.value == pytest.approx(alike.value, rel=1e-10)
    for own, its in zip(together.x, alike.x, strict=True):
        np.testing.assert_allclose(own, its, atol=1e-9 * np.abs(its).max())
    by_part = criterion.alike([0.0, 2.0])[0].sum(axis=0)
    assert by_part == pytest.approx([shared.value(np.full(3, a)).value for a in (0.0, 2.0)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", CRITERIA)
def test_a_rotation_within_a_group_changes_nothing(model, seed):
    """f, p and ∇²f stay, and the coefficients turn with the columns."""
    groups = bands("free")
    A, _, _ = data(model, groups.size)
    turn = np.eye(groups.size)
    for j in range(3):
        own = np.flatnonzero(groups == j)
        turn[np.ix_(own, own)] = ortho_group.rvs(own.size, random_state=seed)
    pair = [hoag.plan(folds(model, groups, rows)) for rows in (A, A @ turn)]
    found, turned = (c.evaluate(LAM, Ask(hessian=True)) for c in pair)
    agrees(turned, found)
    outputs = pair[0].design.predictor.outputs
    for x, other in zip(*(c.solution(e)[0] for c, e in zip(pair, (found, turned))), strict=True):
        W, V = (part[: groups.size * outputs].reshape(-1, outputs) for part in (x, other))
        difference = turn @ V - W
        if model == "multinomial":  # a shift of all classes, free of penalties, changes no score
            difference[groups < 0] -= difference[groups < 0].mean(axis=1, keepdims=True)
        np.testing.assert_allclose(difference, 0.0, atol=1e-9 * np.abs(W).max())


@pytest.mark.parametrize("model", CRITERIA)
def test_the_end_is_judged_on_the_rows_as_given(model):
    """A basis whose rows are wrong in the sixth digit is found out, and mended."""
    groups = bands("narrow")
    good, bad = (hoag.plan(folds(model, groups)) for _ in range(2))
    noise = np.random.default_rng(0)
    for rows in bad.span.rows:
        rows.A *= 1 + 1e-6 * noise.normal(size=rows.A.shape)
    truth, wrong = good.evaluate(LAM), bad.evaluate(LAM)
    assert abs(wrong.value - truth.value) > 1e-9 * truth.value
    known = bad.verify(wrong, 0.0)
    assert known.value == pytest.approx(truth.value, rel=1e-11)
    for own, its in zip(known.x, good.verify(truth, 0.0).x, strict=True):
        np.testing.assert_allclose(own, its, atol=1e-9 * np.abs(its).max())


def test_what_counts_as_a_wide_group():
    groups = np.repeat([0, 1, 2, -1], [30, 24, 25, 40])
    (model,) = folds("ridge", groups, cv=[(np.arange(20), np.arange(20, N))])
    assert [own.size for own in wide_groups(model, N)] == [30, 25]
    assert narrowed(model, N) == 24 + 24 + 24 + 40
    assert not wide_groups(folds("ridge", np.arange(N + 40))[0], N)


def wide_data(targets=1, n=40, p=2400):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(n, p)), np.repeat(np.arange(4), p // 4)
    W = np.zeros((p, targets))
    W[:10] = rng.normal(size=(10, targets))
    return X, X @ W + rng.normal(size=(n, targets)), groups


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("cv", [KFold(4), ShuffleSplit(2, test_size=0.2, random_state=0)])
def test_a_ridge_regression_of_many_columns_is_refitted_in_them(targets, cv):
    X, Y, groups = wide_data(targets)
    y = Y[:, 0] if targets == 1 else Y
    fit = hoag.RidgeCV(penalties=groups, cv=cv, bounds=(-2, 10)).fit(X, y)
    assert "Every axis was scanned" in fit.result_.status.how
    root = np.sqrt(fit.alpha_[groups])
    other = Ridge(1.0, solver="cholesky").fit(X / root, y)
    np.testing.assert_allclose(fit.coef_, other.coef_ / root, atol=1e-8 * np.abs(fit.coef_).max())
    np.testing.assert_allclose(fit.intercept_, other.intercept_, atol=1e-8)


def test_targets_apart_are_refitted_in_their_columns():
    X, Y, groups = wide_data(2)
    own = groups[:, None] + 4 * np.arange(2)
    fit = hoag.RidgeCV(penalties=own, cv=KFold(4), bounds=(-2, 10)).fit(X, Y)
    alone = [hoag.RidgeCV(penalties=groups, cv=KFold(4), bounds=(-2, 10)).fit(X, y) for y in Y.T]
    for t, one in enumerate(alone):
        alpha = fit.alpha_[4 * t : 4 * t + 4]
        root = np.sqrt(alpha[groups])
        other = Ridge(1.0, solver="cholesky").fit(X / root, Y[:, t])
        np.testing.assert_allclose(fit.coef_[t], other.coef_ / root, atol=1e-8)
        assert fit.coef_[t] @ one.coef_ > 0.99 * np.linalg.norm(fit.coef_[t]) ** 2


def test_a_classifier_of_many_columns_is_refitted_in_them():
    X, Y, groups = wide_data()
    y = (Y[:, 0] > 0).astype(int)
    fit = hoag.LogisticRegressionCV(penalties=groups, cv=4, bounds=(-2, 8)).fit(X, y)
    assert "Every axis was scanned" in fit.result_.status.how
    root = np.sqrt(np.exp(fit.result_.lam)[groups])
    other = LogisticRegression(C=1.0, tol=1e-10, max_iter=10000).fit(X / root, y)
    scale = np.abs(fit.coef_).max()
    np.testing.assert_allclose(fit.coef_, other.coef_ / root, atol=1e-5 * scale)


@pytest.mark.parametrize("seed", quick([0, 2, 4], [0, 4]))
def test_beyond_factors_the_loss_reported_is_that_of_weak_directions_too(seed, monkeypatch):
    """Steps solved to half their residual saw nothing of them: 0.41 was said of a loss of 1.66."""
    monkeypatch.setattr(affordable, "FEW", 10)
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(4), 100)
    sign, X = np.repeat([-1.0, 1.0], 20), rng.standard_normal((40, 400))
    X[:, :40] += 0.15 * sign[:, None]
    y = sign + 0.3 * rng.standard_normal(40)
    model = hoag.RidgeCV(penalties=groups, cv=3, tol=1e-2).fit(X, y)
    scaled, truth = X / np.exp(model.lam_ / 2)[groups], 0.0
    for train, test in KFold(3).split(X):
        plain = Ridge(1.0, solver="svd").fit(scaled[train], y[train])
        truth += np.sum((y[test] - plain.predict(scaled[test])) ** 2) / 40
    assert abs(model.criterion_ - truth) <= model.result_.evaluation.f_error
    assert abs(model.criterion_ - truth) <= 1e-2 * truth
