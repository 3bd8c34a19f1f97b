"""∇²f of folds with several penalties, held against differences of the exact gradient."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, StratifiedKFold

import hoag
from hoag._criteria.fits import FoldedFits
from hoag._criteria.newton import FoldedNewton
from hoag._glm.folds import linear_folds
from hoag._glm.in_memory import InMemoryDesign
from hoag._glm.losses import Brier, Huber, Logistic, Multinomial, MultinomialBrier, Squared
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import multiclass, regression
from hoag.criteria import Ask
from hoag.glm import Quadratic, ScalarLoss

N, P = 60, 5


class Poisson(ScalarLoss):
    """eᶻ − yz; its third derivative is left to differences."""

    def value(self, y, z):
        return np.exp(z) - y * z

    def slope(self, y, z):
        return np.exp(z) - y

    def curvature(self, y, z):
        return np.exp(z)


def data(kind, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(N, P)) + 0.3
    score = A @ rng.normal(size=(P, 3)) / 2 + 0.5 * rng.normal(size=(N, 3))
    y = {
        "logistic": np.where(score[:, 0] > 0, 1, -1),
        "multinomial": np.argmax(score, axis=1),
        "ridge": score[:, 0],
        "poisson": rng.poisson(np.exp(0.3 * score[:, 0])),
    }[kind]
    return A, y, rng.uniform(0.5, 2.0, size=N)


LOSSES = {
    "logistic": Logistic(),
    "multinomial": Multinomial(),
    "ridge": Squared(0.5),
    "poisson": Poisson(),
}
JUDGES = {
    "logistic": [None, Brier()],
    "multinomial": [None, MultinomialBrier()],
    "ridge": [Squared(1.0), Huber(0.7)],
    "poisson": [None],
}


def penalties(kind, outputs):
    if kind == "groups":
        return np.array([0, 1, 0, 2, -1] if outputs == 1 else [0, 1, 0, 2, 1])
    if kind in ("per-feature", "per-class", "shared"):
        return kind
    D = np.diff(np.eye(P - 1), axis=0)
    size = P * outputs + {1: 1, 3: 2}[outputs]
    block = np.kron(D.T @ D, np.eye(outputs))
    first = (slice(0, (P - 1) * outputs), block)
    return Quadratic(size, [first, (slice(0, P * outputs), np.ones(P * outputs))])


def joint(kind, outer, penalty, splitter=None):
    A, y, weights = data(kind)
    outputs = 3 if kind == "multinomial" else 1
    target = multiclass(y, np.arange(3), True) if outputs == 3 else regression(y, True)
    target = replace(target, loss=LOSSES[kind], outer=outer or LOSSES[kind])
    splits = (splitter or KFold(3)).split(A, y)
    penalty = penalties(penalty, outputs)
    problems = linear_folds(ArrayRows(A), target, splits, weights, penalty)
    return FoldedFits(
        problems, InMemoryDesign.of(problems), partial(hoag.criteria.Sum, [])
    ), problems


CASES = [
    (kind, outer, penalty)
    for kind, judges in JUDGES.items()
    for outer in judges
    for penalty in ("groups", "per-feature", "per-class", "smooth", "shared")
    if penalty != "per-class" or kind == "multinomial"
]


@pytest.mark.parametrize(("kind", "outer", "penalty"), CASES)
def test_the_hessian_is_the_derivative_of_the_gradient(kind, outer, penalty):
    criterion, _ = joint(kind, outer, penalty)
    lam = np.linspace(-1.0, 1.5, criterion.lam0.size)
    here = criterion.evaluate(lam, hoag.criteria.Ask(hessian=True))
    h, by_differences = 1e-4, []
    for e in np.eye(lam.size):
        up, down = (criterion.evaluate(lam + t * h * e, 0.0, here.warm).grad for t in (1, -1))
        by_differences.append((up - down) / (2 * h))
    scale = np.abs(here.hessian).max()
    # Huber bends by jumps: where a residual passes δ in between, differences do not tell
    rel = 2e-2 if isinstance(outer, Huber) else 2e-6
    np.testing.assert_allclose(here.hessian, by_differences, atol=rel * scale)
    np.testing.assert_array_equal(here.hessian, here.hessian.T)


@pytest.mark.parametrize(("kind", "outer", "penalty"), CASES)
def test_f_and_p_are_those_of_each_fold_by_itself(kind, outer, penalty):
    criterion, problems = joint(kind, outer, penalty)
    lam = np.linspace(-2.0, 1.0, criterion.lam0.size)
    newton = hoag.solvers.Newton(hoag.solvers.Cholesky(), np.inf)
    other = hoag.criteria.Sum(
        [
            hoag.criteria.Implicit(
                p, newton, hoag.solvers.Cholesky(), certificate=False, exact=True
            )
            for p in problems
        ]
    ).evaluate(lam)
    found = criterion.evaluate(lam)
    assert found.value == pytest.approx(other.value, rel=1e-9)
    np.testing.assert_allclose(found.grad, other.grad, atol=1e-8 * other.value)


def test_rows_some_at_a_time_bend_f_as_all_at_once(monkeypatch):
    criterion, _ = joint("multinomial", None, "per-feature", StratifiedKFold(3))
    lam = np.zeros(P)
    whole = criterion.evaluate(lam, hoag.criteria.Ask(hessian=True)).hessian
    monkeypatch.setattr("hoag._glm.in_memory.BLOCK_ENTRIES", 10)
    monkeypatch.setattr("hoag._glm.rows.BLOCK_ENTRIES", 60)
    again, _ = joint("multinomial", None, "per-feature", StratifiedKFold(3))
    parted = again.evaluate(lam, hoag.criteria.Ask(hessian=True)).hessian
    np.testing.assert_allclose(parted, whole, rtol=1e-9, atol=1e-9 * np.abs(whole).max())


@pytest.mark.parametrize(
    ("kind", "penalty"), [("logistic", "groups"), ("multinomial", "per-class")]
)
def test_where_matrices_are_dear_products_lead_to_the_same(kind, penalty, monkeypatch):
    cheap, _ = joint(kind, None, penalty)
    monkeypatch.setattr("hoag._criteria.affordable.CHEAP", 0.0)
    dear, _ = joint(kind, None, penalty)
    warm = None
    for level in (6.0, 2.0, -2.0, -6.0):
        lam = np.full(cheap.lam0.size, level)
        exact = cheap.evaluate(lam, hoag.criteria.Ask(hessian=True))
        for ask in (
            hoag.criteria.Ask(np.inf, free=True),
            hoag.criteria.Ask(free=True),
            hoag.criteria.Ask(hessian=True),
        ):
            found = dear.evaluate(lam, ask, warm)
            warm = found.warm
            rel = 1e-4 if ask.eps == np.inf else 1e-8
            assert found.value == pytest.approx(exact.value, rel=rel)
            far = 1e-2 if ask.eps == np.inf else 1e-4
            np.testing.assert_allclose(found.grad, exact.grad, atol=far * exact.value)
        scale = np.abs(exact.hessian).max()
        np.testing.assert_allclose(found.hessian, exact.hessian, atol=1e-4 * scale)
        known = dear.verify(dear.evaluate(lam, 0.0, warm), 1e-9)
        assert known.value == pytest.approx(exact.value, rel=1e-10)


def test_matrices_are_formed_again_where_products_have_cost_as_much(monkeypatch):
    monkeypatch.setattr("hoag._criteria.affordable.CHEAP", 0.0)
    monkeypatch.setattr(FoldedNewton, "_worth", 1.0)
    dear, _ = joint("multinomial", None, "per-feature")
    warm = dear.evaluate(np.full(P, 6.0)).warm
    before = dear.design.ledger.cost.grams
    dear.evaluate(np.full(P, -4.0), 0.0, warm)
    assert dear.design.ledger.cost.grams - before > 18  # 3 folds of 6 pairs of classes


@pytest.mark.parametrize("kind", ["logistic", "multinomial", "ridge", "two targets"])
@pytest.mark.parametrize("intercept", [False, True])
def test_tangents_are_the_differences_of_solutions(kind, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 1
    score = X @ rng.normal(size=(4, 3)) + rng.normal(size=(60, 3))
    make, y = {
        "logistic": (hoag.models.logistic, np.sign(score[:, 0])),
        "multinomial": (hoag.models.multinomial, score.argmax(axis=1)),
        "ridge": (hoag.models.ridge, score[:, 0]),
        "two targets": (hoag.models.ridge, score[:, :2]),
    }[kind]
    problems = hoag.models.folds(
        make, X, y, cv=3, penalties=np.array([0, 1, 1, 0]), intercept=intercept
    )
    criterion, lam = hoag.plan(problems), np.array([0.3, -0.4])
    found = criterion.evaluate(lam, Ask(hessian=True))
    assert found.light().tangents is None
    for j, d in enumerate(1e-5 * np.eye(2)):
        there, back = (criterion.solution(criterion.evaluate(lam + e))[0] for e in (d, -d))
        for t, plus, minus in zip(found.tangents, there, back, strict=True):
            np.testing.assert_allclose(t[:, j], (plus - minus) / 2e-5, atol=1e-6)


def test_an_estimator_has_them_for_its_coefficients():
    X, y = load_diabetes(return_X_y=True)
    model = hoag.RidgeCV(penalties="per-feature").fit(10 * X, y)
    (tangent,) = model.result_.evaluation.tangents
    assert tangent.shape == (10, 10)
    for j, d in enumerate(1e-4 * np.eye(10)):
        there, back = (
            hoag.RidgeCV(penalties="per-feature", bounds=(lam, lam)).fit(10 * X, y).coef_
            for lam in (model.lam_ + d, model.lam_ - d)
        )
        want = (there - back) / 2e-4
        np.testing.assert_allclose(tangent[:, j], want, atol=1e-3 * np.abs(model.coef_).max())
