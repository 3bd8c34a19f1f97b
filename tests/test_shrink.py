"""Side information that explains penalties, and penalties that are drawn to their mean."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GroupKFold, ShuffleSplit

import hoag
from hoag._core.errors import InvalidInputError
from hoag._criteria.wrapped import Affine, Loads, Shrunk
from hoag._glm.in_memory import Gathered
from hoag.linear_model._shrinkage import put_aside
from hoag.penalties import from_features
from hoag.testing import check_criterion

RNG = np.random.default_rng(0)
n, p = 90, 6
X = RNG.normal(size=(n, p)) * [1, 2, 1, 0.5, 1, 3]
SCORE = X @ [1.0, 0.5, 0, 0, 0, 0]
Y = SCORE + RNG.normal(size=n)
CLASSES = (Y > 0).astype(int)
COUNTS = RNG.poisson(np.exp(0.3 * SCORE)).astype(float)
TIMES = RNG.exponential(size=n) * np.exp(-SCORE)
SURVIVAL = np.column_stack([np.minimum(TIMES, 2.0), TIMES < 2.0])
Z = RNG.normal(size=(p, 2))
THREE = np.array([0, 0, 1, 1, 2, 2])
pytestmark = pytest.mark.filterwarnings("ignore:lam_")

CASES = {
    "ridge, folds": (hoag.RidgeCV(cv=3), Y),
    "ridge, left out": (hoag.RidgeCV(), Y),
    "ridge, gcv": (hoag.RidgeCV(cv="gcv"), Y),
    "ridge, sure": (hoag.RidgeCV(cv="sure"), Y),
    "classes, folds": (hoag.LogisticRegressionCV(cv=3), CLASSES),
    "classes, alo": (hoag.LogisticRegressionCV(cv="alo"), CLASSES),
    "ridge classifier": (hoag.RidgeClassifierCV(cv=3), CLASSES),
    "counts": (hoag.PoissonRegressorCV(cv=3), COUNTS),
    "survival": (hoag.CoxRegressionCV(cv=3), SURVIVAL),
}


def criterion_of(estimator, y, penalties="per-feature", A=X):
    estimator = clone(estimator).set_params(penalties=penalties)
    task = estimator._tuning_for(A, y, None, {})
    return task.criterion, task


def differences(criterion, lam, h=1e-5):
    """p and ∇²f by central differences."""
    moved = [(lam + h * d, lam - h * d) for d in np.eye(lam.size)]
    ends = [[criterion.evaluate(at, 1e-12) for at in pair] for pair in moved]
    slope = np.array([(a.value - b.value) / (2 * h) for a, b in ends])
    return slope, np.array([(a.grad - b.grad) / (2 * h) for a, b in ends])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("penalties", ["per-feature", "groups"])
def test_derivatives_through_both_wrappers(name, penalties):
    estimator, y = CASES[name]
    groups = "per-feature" if penalties == "per-feature" else THREE
    inner, task = criterion_of(estimator, y, groups)
    size, middle = task.box.size, task.start.mean()
    loads = Loads(
        np.column_stack([np.ones(size), Z[:size]]),
        *(np.full(size, middle + far) for far in (-1.0, 4.0)),  # some are clipped
    )
    alpha, lam = np.array([middle, 1.1, -0.7]), middle + RNG.normal(size=size)
    affine = Affine(inner, loads)
    held = loads.jacobian(alpha).any(axis=1)
    assert held.any()
    for criterion, at in ((affine, alpha), (Shrunk(inner, 2.0), lam), (Shrunk(affine, 2.0), alpha)):
        found = criterion.evaluate(
            at, hoag.criteria.Ask(1e-12, hessian=criterion.traits.has_hessian)
        )
        slope, bend = differences(criterion, at)
        np.testing.assert_allclose(found.grad, slope, rtol=1e-5, atol=1e-6 * abs(slope).max())
        if criterion.traits.has_hessian:
            np.testing.assert_allclose(found.hessian, bend, rtol=1e-4, atol=1e-5 * abs(bend).max())


@pytest.mark.parametrize("wrap", ["affine", "shrunk"])
def test_wrappers_keep_the_contract(wrap):
    folds = hoag.models.folds(hoag.models.ridge, X, Y, penalties="per-feature", cv=3)
    inner = hoag.plan(folds)
    bounds = np.full(p, -12.0), np.full(p, 12.0)
    loads = Loads(np.column_stack([np.ones(p), Z]), *bounds)
    check_criterion(Shrunk(inner, 1.0) if wrap == "shrunk" else Affine(inner, loads))


def test_what_is_added_is_taken_off_again():
    inner, task = criterion_of(*CASES["ridge, folds"])
    criterion, lam = Shrunk(inner, 3.0), task.start + RNG.normal(size=p)
    found = criterion.evaluate(lam, hoag.criteria.Ask(hessian=True))
    plain, own = criterion.plain(found), inner.evaluate(lam, hoag.criteria.Ask(hessian=True))
    assert found.value == pytest.approx(own.value + 1.5 * np.sum((lam - lam.mean()) ** 2))
    assert plain.value == pytest.approx(own.value, rel=1e-12)
    np.testing.assert_allclose(plain.grad, own.grad, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(plain.hessian, own.hessian, rtol=1e-9, atol=1e-8)
    assert criterion.within(found).value == pytest.approx(own.value, rel=1e-12)
    places = np.tile(np.linspace(-2, 2, 5), (p, 1)) + lam[:, None]
    along, _ = criterion.profile(found, places)
    for j in range(p):
        for k in range(5):
            there = np.where(np.arange(p) == j, places[j, k], lam)
            assert along[j, k] == pytest.approx(criterion.value(there).value, rel=1e-6)


SLOW = [
    pytest.param(name, marks=pytest.mark.slow)
    if name in ("classes, alo", "ridge, sure", "counts", "survival")
    else name
    for name in CASES
]


@pytest.mark.parametrize("name", SLOW)
def test_strengths_from_none_to_all(name):
    estimator, y = CASES[name]
    own = clone(estimator).set_params(penalties="per-feature")
    free, drawn = own.fit(X, y), clone(own).set_params(shrink=0).fit(X, y)
    assert drawn.shrink_ == 0
    assert drawn.criterion_ == pytest.approx(free.criterion_, rel=3e-3)
    one, together, endless = (
        model.fit(X, y)
        for model in (
            clone(estimator),
            clone(own).set_params(shrink=1e6),
            clone(own).set_params(shrink=np.inf),
        )
    )
    for model in (together, endless):
        assert np.ptp(model.lam_) < 1e-2
        assert model.criterion_ == pytest.approx(one.criterion_, rel=1e-3)
    spreads = [clone(own).set_params(shrink=t).fit(X, y).lam_.std() for t in (30.0, 1.0)]
    assert spreads[0] <= spreads[1] + 1e-6


def test_criterion_is_the_loss_alone_and_converged_holds_for_what_was_minimised():
    model = hoag.RidgeCV(penalties="per-feature", cv=3, shrink=0.3, tol=1e-6).fit(X, Y)
    assert model.result_.converged
    assert model.criterion_ == pytest.approx(model.criterion_at(model.lam_, X, Y), rel=1e-8)
    inner, task = criterion_of(hoag.RidgeCV(cv=3), Y)
    one = hoag.RidgeCV(cv=3, tol=1e-6).fit(X, Y)
    strength = 0.3 * one.criterion_ / task.reported.per_row / n
    there = Shrunk(inner, strength).evaluate(model.lam_)
    free = (model.lam_ > task.box.lower) & (model.lam_ < task.box.upper)
    assert np.abs(there.grad[free]).max() < 1e-3 * there.value
    assert (
        np.abs(there.grad[free]).max()
        < 0.1 * np.abs(model.result_.grad).max() / task.reported.per_row
    )


def test_auto_says_what_it_chose_and_is_lower_on_unseen_rows():
    def drawn(seed, real):
        rng = np.random.default_rng(seed)
        A, w = rng.normal(size=(1100, 40)), np.zeros(40)
        w[:real] = 1.0
        y = A @ w / np.sqrt(real) * 2 + 2 * rng.normal(size=1100)
        return A[:100], y[:100], A[100:], y[100:]

    A, y, B, z = drawn(1, 4)
    losses = []
    for given in ({"penalties": "shared"}, {}, {"shrink": "auto"}):
        model = hoag.RidgeCV(**({"penalties": "per-feature", "cv": 5} | given)).fit(A, y)
        losses.append(np.mean((z - model.predict(B)) ** 2))
    assert 0 < model.shrink_ < np.inf
    assert f"with {model.shrink_:g}" in str(model.result_.status)
    assert losses[2] < 0.95 * min(losses[:2])
    A, y, B, z = drawn(2, 40)
    model = hoag.RidgeCV(penalties="per-feature", cv=5, shrink="auto").fit(A, y)
    assert model.shrink_ == np.inf
    assert "one penalty serves as well" in str(model.result_.status)
    assert np.ptp(model.lam_) == 0


@pytest.mark.parametrize(
    "cv",
    [
        4,
        "alo",
        *(
            pytest.param(cv, marks=pytest.mark.slow)
            for cv in ("gcv", ShuffleSplit(1, random_state=0))
        ),
    ],
)
def test_auto_with_any_criterion(cv):
    model = hoag.LogisticRegressionCV(penalties=THREE, cv=cv, shrink="auto").fit(X, CLASSES)
    assert model.shrink_ > 0
    assert model.lam_.shape == model.C_.shape == (3,)
    assert "shrink='auto'" in str(model.result_.status)


def test_auto_with_targets_apart():
    many = np.column_stack([Y, -Y + RNG.normal(size=n)])
    for cv in (None, 3):
        model = hoag.RidgeCV(penalties="per-coefficient", cv=cv, shrink="auto").fit(X, many)
        assert model.alpha_.shape == (2, p)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counts", "survival", "ridge classifier"])
def test_auto_with_other_losses(name):
    estimator, y = CASES[name]
    model = clone(estimator).set_params(penalties=THREE, shrink="auto").fit(X, y)
    assert model.alpha_.shape == (3,)
    assert "shrink='auto'" in str(model.result_.status)


def test_rows_put_aside_never_train_or_judge():
    y, groups = np.arange(40), np.repeat(np.arange(10), 4)
    splits = list(GroupKFold(5).split(y, y, groups))
    seen = []
    for aside, left in put_aside(splits, y, False):
        for train, test in left:
            assert not np.isin(aside, train).any()
            assert not np.isin(aside, test).any()
        assert not set(groups[aside]) & set(np.delete(groups, aside))  # groups stay together
        seen.append(aside)
    assert np.array_equal(np.sort(np.concatenate(seen)), y)
    for given in (None, splits[:3], [splits[0]]):
        parts = list(put_aside(given, y, False))
        assert np.array_equal(np.sort(np.concatenate([aside for aside, _ in parts])), y)


def test_rules_budgets_and_searches_go_with_it():
    own = hoag.RidgeCV(penalties="per-feature", cv=3, shrink=1.0)
    least, ruled = own.fit(X, Y), clone(own).set_params(rule="1se").fit(X, Y)
    np.testing.assert_allclose(ruled.lam_min_, least.lam_)
    assert (ruled.lam_ >= ruled.lam_min_).all()
    found = clone(own).set_params(search=hoag.optimize.Hoag(max_iter=200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found.fit(X, Y).criterion_ == pytest.approx(least.criterion_, rel=1e-2)
    steps = []
    late = clone(own).set_params(shrink="auto", time_budget=0.0, callback=steps.append)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        late.fit(X, Y)
    assert steps
    path = least.path(X, Y, points=3, around=1.0)
    assert path.loss[1] == pytest.approx(least.criterion_, rel=1e-4)


# ---- side information


@pytest.mark.parametrize("name", CASES)
def test_side_information_that_tells_all_features_apart_is_a_penalty_each(name):
    """The same f at the same penalties; and where ∇²f is known, the same end."""
    estimator, y = CASES[name]
    every = clone(estimator).set_params(penalties=from_features(np.eye(p)[:, 1:]))
    affine, task = criterion_of(every, y, every.penalties)
    inner, _ = criterion_of(estimator, y)
    alpha = task.start + RNG.normal(size=p)
    lam = affine.loads.lam(alpha)
    assert affine.value(alpha, 1e-9).value == pytest.approx(inner.value(lam, 1e-9).value, rel=1e-8)
    assert np.linalg.matrix_rank(affine.loads.Z) == p
    if name in ("ridge, folds", "ridge, left out", "classes, folds"):
        own = clone(estimator).set_params(penalties="per-feature").fit(X, y)
        every.fit(X, y)
        assert every.alpha_.shape == own.alpha_.shape == (p,)
        assert every.criterion_ == pytest.approx(own.criterion_, rel=1e-3)


@pytest.mark.parametrize("name", SLOW)
def test_no_side_information_is_one_penalty(name):
    estimator, y = CASES[name]
    level = clone(estimator).set_params(penalties=from_features(np.empty((p, 0)))).fit(X, y)
    one = clone(estimator).fit(X, y)
    assert level.criterion_ == pytest.approx(one.criterion_, rel=1e-3)
    assert np.ptp(level.alpha_) == 0


@pytest.mark.parametrize("cv", [3, None, "gcv"])
def test_units_of_side_information_do_not_matter(cv):
    one, other = (
        hoag.RidgeCV(penalties=from_features(side), cv=cv).fit(X, Y)
        for side in (Z, 1e6 * Z * [1, -3] + [5, 1e7])
    )
    np.testing.assert_allclose(one.lam_ * [1, 1, -1], other.lam_, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(one.alpha_, other.alpha_, rtol=1e-4)


def test_sparse_rows_and_groups():
    A = np.where(RNG.uniform(size=(n, p)) < 0.4, X, 0.0)
    known = from_features([0.1, 0.5, 0.9], groups=THREE)
    dense, rows = (
        hoag.LogisticRegressionCV(penalties=known, cv=3).fit(data, CLASSES)
        for data in (A, sparse.csr_matrix(A))
    )
    assert dense.alpha_.shape == (3,)
    assert dense.criterion_ == pytest.approx(rows.criterion_, rel=1e-3)
    Xi, yi = load_iris(return_X_y=True)
    classes = hoag.LogisticRegressionCV(penalties=from_features([1, 2, 3, 5])).fit(Xi, yi)
    assert classes.C_.shape == (4,)


def test_names_tables_and_bounds():
    pd = pytest.importorskip("pandas")
    side = pd.DataFrame({"frequency": Z[:, 0], "age": Z[:, 1]})
    model = hoag.RidgeCV(penalties=from_features(side), bounds=(-2.0, 3.0)).fit(X, Y)
    assert model.penalties_["name"].tolist() == ["level", "frequency", "age"]
    assert model.lam_.shape == (3,)
    assert model.lam_interval_.shape == (3, 2)
    assert set(model.plateaus_) == {""}
    lam = np.log(model.alpha_)
    assert lam.min() >= -2 - 1e-12
    assert lam.max() <= 3 + 1e-12
    assert model.criterion_at(model.lam_, X, Y) == pytest.approx(model.criterion_, rel=1e-6)
    assert "lam_frequency" in model.result_.to_frame()
    own = hoag.RidgeCV(penalties="per-feature").criterion_at(lam, X, Y)
    assert own == pytest.approx(model.criterion_, rel=1e-6)


def test_side_information_is_read_from_what_is_there():
    rng = np.random.default_rng(3)
    sizes = rng.choice([0.01, 3.0], p=[0.8, 0.2], size=50)
    A = rng.normal(size=(1060, 50))
    y = A @ (sizes * rng.normal(size=50)) + 4 * rng.normal(size=1060)
    losses = {}
    for name, known in (("shared", "shared"), ("known", from_features(np.log(sizes)))):
        model = hoag.RidgeCV(penalties=known).fit(A[:60], y[:60])
        losses[name] = np.mean((y[60:] - model.predict(A[60:])) ** 2)
    assert losses["known"] < 0.9 * losses["shared"]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: from_features(np.where(np.arange(p) == 2, np.nan, 1.0)), "for feature 2"),
        (lambda: from_features(np.ones(p)), "is the same for all features"),
        (lambda: from_features(np.column_stack([Z, Z.sum(axis=1)])), "follow from the others"),
        (lambda: from_features([["a"], ["b"]]), "no numbers"),
        (lambda: from_features(np.zeros((2, 2, 2))), "shape"),
        (lambda: from_features([1.0, 2.0], groups=THREE), "one row for each group"),
        (lambda: from_features([1.0, 2.0], groups=[0.5, 1.5]), "whole numbers"),
        (lambda: hoag.RidgeCV(penalties=from_features(Z[:4])).fit(X, Y), "X has 6 features"),
        (lambda: hoag.RidgeCV(penalties="per-feature", shrink=-1.0).fit(X, Y), "shrink=-1.0"),
        (lambda: hoag.RidgeCV(penalties="per-feature", shrink="much").fit(X, Y), "shrink='much'"),
        (lambda: hoag.RidgeCV(penalties="per-feature", shrink=True).fit(X, Y), "shrink=True"),
        (lambda: hoag.RidgeCV(shrink=1.0).fit(X, Y), "there is one"),
        (lambda: hoag.RidgeCV(penalties=from_features(Z), shrink=1.0).fit(X, Y), "few numbers"),
    ],
)
def test_what_is_wrong_is_said(make, told):
    with pytest.raises(InvalidInputError, match=told):
        make()


def test_clones_and_pickles():
    model = hoag.RidgeCV(penalties=from_features(Z)).fit(X, Y)
    again, other = pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)
    np.testing.assert_array_equal(again.alpha_, model.alpha_)
    np.testing.assert_array_equal(other.alpha_, model.alpha_)
    assert "from_features(6 penalties: level, z0, z1)" in repr(model.get_params()["penalties"])
    drawn = hoag.RidgeCV(penalties="per-feature", shrink=2.0).fit(X, Y)
    assert drawn.get_params()["shrink"] == 2.0
    assert pickle.loads(pickle.dumps(drawn)).shrink_ == 2.0
    assert clone(drawn).set_params(shrink=None).fit(X, Y).get_params()["shrink"] is None
    refitted = drawn.set_params(shrink=None).fit(X, Y)
    assert "shrink_" not in vars(refitted)


def test_diabetes_with_penalties_of_their_own_is_no_worse_than_one():
    A, y = load_diabetes(return_X_y=True)
    model = hoag.RidgeCV(penalties="per-feature", shrink="auto").fit(A[:300], y[:300])
    losses = [
        np.mean((y[300:] - m.predict(A[300:])) ** 2)
        for m in (model, hoag.RidgeCV().fit(A[:300], y[:300]))
    ]
    assert losses[0] < 1.01 * losses[1]


def test_rows_that_no_fold_uses_add_nothing():
    """Those put aside may fill a chunk of wide rows by themselves."""
    (fold,) = hoag.models.folds(hoag.models.ridge, X, Y, cv=ShuffleSplit(1, random_state=0))
    total, nothing = Gathered(fold.train.design, 1), np.zeros((n, 0))
    total.add(X, (nothing, nothing[:, :, None], np.zeros(0, dtype=np.intp)))
    assert total.flat.shape == (1, p)
    assert not total.flat.any()


@pytest.mark.parametrize("penalties", ["per-feature", "groups", "one free"])
@pytest.mark.parametrize("name", SLOW)
def test_endless_shrink_is_the_model_of_one_penalty(name, penalties):
    estimator, y = CASES[name]
    A = X * 10.0 ** (np.arange(X.shape[1]) % 4)  # columns whose own bounds differ
    groups = np.arange(X.shape[1]) // 2
    one, given = "shared", groups if penalties == "groups" else penalties
    if penalties == "one free":
        given, one = np.where(groups == 1, -1, groups // 2), np.where(groups == 1, -1, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of bounds
        alone = clone(estimator).set_params(penalties=one).fit(A, y)
        endless = clone(estimator).set_params(penalties=given, shrink=np.inf).fit(A, y)
    assert np.all(endless.lam_ == np.ravel(alone.lam_)[0])
    np.testing.assert_allclose(
        endless.coef_ * A.std(axis=0), alone.coef_ * A.std(axis=0), atol=1e-7
    )
    assert endless.criterion_ == pytest.approx(alone.criterion_, rel=1e-7)
