"""The axes of the fits of a linear model are axes: a curvature and a risk of somebody's own.

Each is written here, in a few lines and with public names only, and works with what there is on the
other axes: losses, penalties, searches.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale

import hoag
from hoag import glm
from hoag.errors import InvalidInputError


class DiagonalPlusLowRank(glm.Curvature):
    """∇²L_k ≈ D_k + U_kU_kᵀ, by a few products; conjugate gradients refine what it solves.

    (D + S + UUᵀ)⁻¹ = B − BU(I + UᵀBU)⁻¹UᵀB,   B = (D + S)⁻¹
    """

    exact = False

    def __init__(self, rank=3, seed=0):
        self.rank, self.seed = rank, seed

    def form(self, design, X, sums):
        hessian, (K, size) = design.hessian_at(X), X.shape
        draws = np.random.default_rng(self.seed).normal(size=(self.rank, size))
        images = np.stack([hessian.times(np.tile(v, (K, 1))) for v in draws], axis=2)
        found = []
        for diagonal, Y in zip(design.diagonals(X), images, strict=True):
            e, V = np.linalg.eigh(draws @ Y)  # Nyström: Y(ΩᵀY)⁻¹Yᵀ
            kept = e > 1e-10 * e[-1]
            U = Y @ (V[:, kept] / np.sqrt(e[kept]))
            rest = np.maximum(diagonal - np.sum(U**2, axis=1), 1e-3 * diagonal)
            found.append((rest, U))
        return found

    def factor(self, design, H, penalty, lam):
        S = penalty.matrix(design.predictor.size).diagonal()
        return [self._inverse(D + S, U) for D, U in H]

    @staticmethod
    def _inverse(diagonal, U):
        BU = U / diagonal[:, None]
        small = np.linalg.inv(np.eye(U.shape[1]) + U.T @ BU)
        return lambda b: (b.T / diagonal).T - BU @ (small @ (BU.T @ b))

    def expense(self, design):
        products = self.rank * design.n * design.predictor.size
        return glm.Expense(float(products), 2.0 * products)


class TrimmedHeldOut(glm.Risk):
    """Σ of held-out losses but for the share of them that is largest in each fold."""

    def __init__(self, share):
        self.share = share

    def at(self, fit):
        folds, by_x = [], np.zeros_like(fit.X)
        for k, held in enumerate(fit.held_out):
            losses = held.weights * held.loss.value
            kept = losses <= np.quantile(losses, 1 - self.share)
            folds.append(float(losses[kept].sum()))
            slope = (held.weights * held.loss.slope.T).T
            by_x[k] = held.gradient((kept * slope.T).T)
        return glm.Partials(sum(folds), by_x, np.array(folds), size=sum(folds))


def folds(kind):
    if kind == "ridge":
        X, y = load_diabetes(return_X_y=True)
        return hoag.models.folds(hoag.models.ridge, scale(X), y / 50, cv=4, intercept=True)
    if kind == "multinomial":
        X, y = load_iris(return_X_y=True)
        return hoag.models.folds(hoag.models.multinomial, scale(X), y, cv=4, intercept=True)
    X, y = load_breast_cancer(return_X_y=True)
    groups = np.arange(12) % 3 if kind == "groups" else "shared"
    return hoag.models.folds(
        hoag.models.logistic, scale(X[:, :12]), y, cv=4, intercept=True, penalties=groups
    )


KINDS = ["ridge", "logistic", "groups", "multinomial"]
RISKS = {"held out": None, "trimmed": TrimmedHeldOut(0.1)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("risk", RISKS)
def test_a_curvature_of_ones_own_solves_what_factors_solve(kind, risk):
    exact = hoag.plan(folds(kind), curvature=None, risk=RISKS[risk] or glm.HeldOut())
    own = hoag.plan(folds(kind), curvature=DiagonalPlusLowRank(), risk=RISKS[risk])
    for level in (-3.0, 0.0, 3.0):
        lam = level + np.linspace(-0.5, 0.5, exact.lam0.size)
        here, there = own.evaluate(lam), exact.evaluate(lam)
        assert here.converged
        assert here.value == pytest.approx(there.value, rel=1e-9)
        np.testing.assert_allclose(here.grad, there.grad, atol=1e-5 * there.value)
        known = own.verify(here, 1e-9 * here.value)
        assert known.value == pytest.approx(there.value, rel=1e-9)
        if risk == "held out":
            Hs = [
                each.evaluate(lam, hoag.criteria.Ask(hessian=True)).hessian for each in (own, exact)
            ]
            np.testing.assert_allclose(*Hs, atol=1e-4 * np.abs(Hs[1]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_with_it_ends_where_one_with_factors_does(kind):
    best = hoag.minimize(hoag.plan(folds(kind)))
    found = hoag.minimize(hoag.plan(folds(kind), curvature=DiagonalPlusLowRank()))
    assert found.converged
    assert found.value <= best.value * (1 + 2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_risk_of_ones_own_has_its_gradient_and_is_searched(kind):
    criterion = hoag.plan(folds(kind), risk=TrimmedHeldOut(0.1))
    lam, h = np.linspace(-0.4, 0.3, criterion.lam0.size), 1e-6
    here = criterion.evaluate(lam)
    for j, e in enumerate(np.eye(lam.size)):
        up, down = (criterion.value(lam + t * h * e).value for t in (1, -1))
        assert here.grad[j] == pytest.approx((up - down) / (2 * h), abs=1e-5 * here.value)
    assert here.value < hoag.plan(folds(kind)).value(lam).value
    found = hoag.minimize(criterion)
    assert found.converged
    grid = [criterion.value(np.full(lam.size, t)).value for t in np.linspace(-6, 6, 25)]
    assert found.value <= min(grid) * (1 + 1e-3)


def test_the_contract_of_criteria_holds():
    for curvature, risk in ((DiagonalPlusLowRank(), None), (None, TrimmedHeldOut(0.1))):
        criterion = hoag.plan(folds("groups"), curvature=curvature, risk=risk)
        hoag.testing.check_criterion(criterion)


def test_what_an_axis_cannot_do_is_a_sentence():
    X, y = load_diabetes(return_X_y=True)
    kernel = hoag.models.kernel_ridge(X[:50], y[:50], X[50:99], y[50:99])
    with pytest.raises(InvalidInputError, match="folds of one linear model that share their rows"):
        hoag.plan(kernel, risk=TrimmedHeldOut(0.1))
    single = hoag.models.ridge(X, y, X, y)
    risk = hoag.criteria.without_folds(single, "gcv").risk
    with pytest.raises(InvalidInputError, match="depends on ∇²₁h⁻¹ itself"):
        hoag.plan(single, curvature=DiagonalPlusLowRank(), risk=risk)
    with pytest.raises(
        InvalidInputError, match=r"Gcv is of one fit on all rows\. Give one problem"
    ):
        hoag.plan(folds("ridge"), risk=risk)
    assert hoag.plan(single, risk=risk).value(0.0).value == pytest.approx(
        hoag.criteria.without_folds(single, "gcv").value(0.0).value, rel=1e-9
    )
