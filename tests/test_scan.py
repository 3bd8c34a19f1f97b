"""The whole box, for one penalty: no basin is missed, and what a scan says is verified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale

import hoag
from hoag._core.domain import Box
from hoag._core.result import Ask, Evaluation
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag._glm.penalties import Ridge as Penalty
from hoag._glm.rows import ArrayRows
from hoag.linear_model._beyond import search_beyond
from hoag.optimize._scan import scan


def left_out(X, y, alpha):
    """By fits without each row."""
    lost = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        model = Ridge(alpha=alpha, solver="svd").fit(X[rest], y[rest])
        lost.append((y[i] - model.predict(X[i : i + 1])[0]) ** 2)
    return float(np.mean(lost))


def in_folds(X, y, alpha, splits):
    models = ((Ridge(alpha=alpha, solver="svd").fit(X[t], y[t]), v) for t, v in splits)
    return sum(float(np.sum((y[v] - model.predict(X[v])) ** 2)) for model, v in models) / len(y)


def far_out(seed, far=1e3):
    """A decaying spectrum, and one row that is far from the others and obeys the model."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(40, 80)), int(rng.integers(6, 16))
    U = np.linalg.qr(rng.normal(size=(n, p)))[0]
    V = np.linalg.qr(rng.normal(size=(p, p)))[0]
    X = U * np.exp(-np.linspace(0, rng.uniform(4, 12), p)) * 30 @ V
    X[0] *= far
    return X, X @ rng.normal(size=p) + 0.1 * rng.normal(size=n)


def on_its_own(seed=0):
    """Two columns that are next to nothing but in one row each: leverage 1 while α is weak."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 8))
    X[:, 6:] *= 1e-6
    X[3, 6], X[50, 7] = 40.0, 25.0
    return X, X[:, :6] @ rng.normal(size=6) + 0.3 * rng.normal(size=120) + 3 * (X[:, 6] > 1)


@pytest.mark.parametrize("seed", range(3))
def test_no_basin_of_leave_one_out_is_missed_beside_a_row_far_out(seed):
    X, y = far_out(seed)
    model = hoag.RidgeCV().fit(X, y)
    assert model.criterion_ == pytest.approx(left_out(X, y, float(model.alpha_)), rel=1e-6)
    best = min(left_out(X, y, alpha) for alpha in np.exp(np.arange(-8.0, 15.0, 1.0)))
    assert model.criterion_ <= 1.001 * best


@pytest.mark.parametrize("seed", range(100, 110))
def test_no_basin_of_folds_is_missed_beside_a_row_far_out(seed):
    X, y = far_out(seed)
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    model = hoag.RidgeCV(cv=splits).fit(X, y)
    value = in_folds(X, y, float(model.alpha_), splits)
    assert model.criterion_ == pytest.approx(value, rel=1e-6)
    places = np.exp(np.arange(-12.0, 15.0, 0.25))
    assert value <= 1.001 * min(in_folds(X, y, alpha, splits) for alpha in places)


def test_bounds_of_our_own_move_on_while_the_loss_falls():
    """No noise: the weaker the penalty the better, far below the least eigenvalue."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = X @ rng.normal(size=5) + 1e-7 * rng.normal(size=60)
    model = hoag.RidgeCV(cv=5).fit(X, y)
    splits = list(KFold(5).split(X))
    best = min(in_folds(X, y, alpha, splits) for alpha in np.exp(np.arange(-40.0, 4.0, 0.5)))
    assert model.criterion_ <= 1.001 * best
    assert "lower bound was moved" in str(model.result_.status)
    assert [step.k for step in model.result_.trace] == list(range(1, model.n_iter_ + 1))
    with pytest.warns(UserWarning, match="lower bound"):  # given, and so kept
        held = hoag.RidgeCV(cv=5, bounds=(-8.0, 5.0)).fit(X, y)
    assert held.lam_[0] == -8.0


def test_leave_one_out_is_right_where_rows_have_leverage_one():
    X, y = on_its_own()
    model = hoag.RidgeCV().fit(X, y)
    assert model.criterion_ == pytest.approx(left_out(X, y, float(model.alpha_)), rel=1e-6)
    best = min(left_out(X, y, alpha) for alpha in np.exp(np.arange(-10.0, 8.0, 1.0)))
    assert model.criterion_ <= 1.001 * best


@pytest.mark.parametrize("shape", [(24, 4), (12, 18)])
def test_leave_one_out_is_right_to_its_own_digits_until_it_is_not_known(shape):
    """Against sixty digits: as weak as a penalty may be, or f is said not to be known."""
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 60
    rng = np.random.default_rng(0)
    A = rng.normal(size=shape) * np.exp(-np.linspace(0, 8, shape[1]))
    A[0] *= 1e4
    y, n = rng.normal(size=shape[0]), shape[0]
    weights, groups = np.ones(n), np.zeros(shape[1], dtype=int)
    loo = LeaveOneOut(ArrayRows(A), y, weights, Penalty(groups), intercept=True)
    M = mpmath.matrix(A.tolist())
    P = mpmath.eye(n) - mpmath.ones(n) / n
    Z, r = P * M, P * mpmath.matrix(y.tolist())
    known = 0
    for lam in np.arange(-36.0, 8.0, 4.0):
        found = loo.evaluate(np.array([lam]))
        if not np.isfinite(found.f_error):
            assert "leverage" in found.note
            continue
        known += 1
        K = Z * Z.T + mpmath.exp(mpmath.mpf(lam)) * mpmath.eye(n)
        H = Z * Z.T * K**-1 + mpmath.ones(n) / n
        e = [(r - H * r)[i] / (1 - H[i, i]) for i in range(n)]
        truth = float(mpmath.fsum(v * v for v in e))
        assert found.value == pytest.approx(truth, rel=1e-5), lam
        assert loo.verify(found, 0.0).value == pytest.approx(truth, rel=1e-5), lam
    assert known > 4


# ---------------------------------------------------------------- what scans say is verified


def criteria():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:120], y[:120] / 50
    A, b = load_breast_cancer(return_X_y=True)
    A, b = scale(A)[:150, :6], b[:150]
    folds = hoag.models.folds
    yield "Spectral", hoag.plan(folds(hoag.models.ridge, X, y, cv=4, intercept=True))
    yield "FoldedFits", hoag.plan(folds(hoag.models.logistic, A, b, cv=3, intercept=True))
    groups = np.zeros(X.shape[1], dtype=int)
    yield "LeaveOneOut", LeaveOneOut(ArrayRows(X), y, np.ones(120), Penalty(groups))
    yield "GCV", LeaveOneOut(ArrayRows(X), y, np.ones(120), Penalty(groups), gcv=True)
    rng = np.random.default_rng(0)
    tall = rng.normal(size=(20_000, 25))
    signs = tall @ rng.normal(size=25) + 5 * rng.normal(size=20_000) > 0
    yield (
        "SharedCurvature",
        hoag.plan(folds(hoag.models.logistic, tall, signs, cv=3, intercept=True)),
    )
    logistic = hoag.models.logistic(A, b, A, b, intercept=True)
    yield "FoldedFits of approximate leave-one-out", hoag.criteria.without_folds(logistic, "alo")
    ridge = hoag.models.ridge(X, y, X, y, intercept=True)
    yield "FoldedFits of a likelihood", hoag.criteria.without_folds(ridge, "reml")


CRITERIA = dict(criteria())


@pytest.mark.parametrize("name", CRITERIA)
def test_a_scan_that_lies_does_not_decide(name):
    """It says that f falls to a tenth at weak penalties; verified, that is not so."""
    honest = CRITERIA[name]
    assert type(honest).__name__ == {"GCV": "LeaveOneOut"}.get(name, name).split()[0]
    box = Box(-8.0, 10.0)
    truth = hoag.minimize(honest, bounds=box)

    class Lying(type(honest)):
        def _lied(self, found: Evaluation) -> Evaluation:
            t = float(found.lam[0]) + 6.0
            well = np.exp(-0.5 * t * t) * 0.9
            grad = found.grad * (1 - well) + found.value * well * t
            return replace(found, value=found.value * (1 - well), grad=grad)

        def _evaluate(self, lam, ask, warm):
            return self._lied(super()._evaluate(lam, ask, warm))

        def values(self, lams, ask):
            if not self.traits.batched:
                return super().values(lams, ask)
            told = super().values(lams, ask)
            return told if len(lams) == 1 else [self._lied(one) for one in told]

        def verify(self, found, tol, deadline=np.inf):
            exact = honest.evaluate(found.lam, Ask(0.0))
            return honest.verify(exact, tol, deadline)

    lying = object.__new__(Lying)
    lying.__dict__.update(honest.__dict__)
    found = hoag.minimize(lying, bounds=box)
    assert found.value <= truth.value * (1 + 2e-4)
    assert found.value == pytest.approx(honest.evaluate(found.lam, Ask(0.0)).value, rel=1e-9)


class Curve(hoag.criteria.Criterion):
    """Any f of one λ, with its slope by differences."""

    lam0 = np.zeros(1)
    asked = 0

    def __init__(self, f, scan_spacing=3.0, unknown=-np.inf):
        self.f, self.spacing, self.unknown = f, scan_spacing, unknown

    @property
    def traits(self):
        return replace(
            super().traits, scan_spacing=self.spacing, exact=True, blocks=np.zeros(1, int)
        )

    def _evaluate(self, lam, ask, warm):
        t, self.asked = float(lam[0]), self.asked + 1
        slope = (self.f(t + 1e-5) - self.f(t - 1e-5)) / 2e-5
        error = np.inf if t < self.unknown else 0.0
        note = "Not known there." if t < self.unknown else ""
        return Evaluation(lam, self.f(t), np.array([slope]), f_error=error, error=0.0, note=note)


def test_a_narrow_basin_between_two_places_is_found():
    """Half of a unit wide, beside a broad one that is higher; the slopes show it."""
    curve = Curve(lambda t: 1 + 0.02 * (t - 5) ** 2 - 3.0 * np.exp(-2.0 * (t + 4.4) ** 2), 1.0)
    found = hoag.minimize(curve, bounds=Box(-12.0, 12.0))
    assert found.lam[0] == pytest.approx(-4.4, abs=0.2)
    assert curve.asked < 80


def test_a_smooth_curve_takes_no_more_places():
    curve = Curve(lambda t: 1 + 0.02 * (t - 5) ** 2)
    hoag.minimize(curve, bounds=Box(-12.0, 12.0))
    assert curve.asked <= 12


def test_ties_go_to_the_stronger_penalty():
    """f is flat to a tenth of tol from −10 to 2, and the least is at −8."""
    curve = Curve(lambda t: 1 + 1e-5 * np.tanh(t + 8) ** 2 + np.logaddexp(0, 3 * (t - 4)))
    found = hoag.minimize(curve, bounds=Box(-12.0, 12.0))
    assert found.converged
    assert found.lam[0] >= 0.0
    assert found.value <= (1 + 1e-4) * (1 + np.logaddexp(0, 3 * (-8 - 4)))
    assert "the stronger one is taken" in str(found.status)
    sharp = hoag.minimize(curve, bounds=Box(-12.0, 12.0), search=hoag.optimize.Auto(tol=1e-7))
    assert sharp.lam[0] < -6.0


def test_what_is_not_known_is_no_candidate():
    curve = Curve(lambda t: 3 + np.tanh(t) + 0.1 * (t - 1) ** 2 * (t > 1), unknown=-3.0)
    found = hoag.minimize(curve, bounds=Box(-12.0, 12.0))
    assert found.lam[0] >= -3.0
    assert "Not known there." in str(found.status)


def test_places_are_added_where_cubics_disagree():
    def answered(asking, f):
        answer = None
        while True:
            try:
                look = asking.send(answer)
            except StopIteration as end:
                return end.value
            answer = f.evaluate(look.lam, look.ask)

    curve = Curve(lambda t: 2 + np.cos(t))
    found = answered(scan(Box(-9.0, 9.0), 3.0, Ask(free=True)), curve)
    assert min(abs(abs(basin.lam) - np.pi) for basin in found.basins) < 0.05
    assert found.best.value == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("criterion", ["log_loss", "brier"])
def test_classes_that_columns_separate_are_fitted_to_rounding(criterion):
    """The weaker the penalty the better, until what is left is rounding; and that is known."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = np.array([[0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])[y] + 0.3 * rng.normal(size=(30, 2))
    model = hoag.LogisticRegressionCV(cv=3, criterion=criterion).fit(X, y)
    assert model.result_.converged
    assert model.criterion_ < 1e-12
    assert model.criterion_ == pytest.approx(model.criterion_at(model.lam_, X, y), rel=1e-6)
    assert str(model.result_.status).count("bound was moved") == 1
    assert model.n_iter_ < 8


def test_what_lies_beyond_a_bound_and_is_not_known_is_not_returned():
    """A search beyond that found less, but could not say how well that is known."""
    box, start = Box([-1.0], [1.0]), np.array([0.0])

    class Falls(hoag.criteria.Criterion):
        lam0, traits = start, hoag.criteria.Traits(exact=True)

        def _evaluate(self, lam, ask, warm):
            value, known = float(np.exp(lam[0])) * 1e3, bool(lam[0] >= -1.0)
            how = {"error": 0.0, "converged": known, "note": "" if known else "It stalled."}
            return Evaluation(lam, value, np.array([value]), value, 0.0 if known else np.inf, **how)

    search = hoag.optimize.Auto()
    criterion = Falls()
    first = search.minimize(criterion, box, start)
    there, found = search_beyond(search, criterion, box, first, np.array([True]), 1e-4)
    assert found.lam[0] == -1.0
    assert found.converged
    assert there is box
