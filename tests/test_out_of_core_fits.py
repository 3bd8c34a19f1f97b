"""Linear estimators fitted to rows in partitions: as in memory, at the price that they say."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from itertools import product
from unittest.mock import patch

import families
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import Cut, agree, both, relative
from quick import quick, quick_pairs
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

import hoag
import hoag._glm.in_memory
from hoag._criteria.fits import FoldedFits
from hoag._criteria.shared_curvature import SharedCurvature

pytestmark = pytest.mark.usefixtures("out_of_core")
FEW = settings(max_examples=6, deadline=None)
GROUPS = np.array([0, 1, 0, 1, 1])
SHUFFLED = StratifiedKFold(4, shuffle=True, random_state=0)


def data(kind, n=300, p=5, seed=0):
    """X, y of some kind, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.7) + 0.3
    z = X @ rng.normal(size=(p, 3)) / np.sqrt(p)
    noisy = z + 1.5 * rng.normal(size=z.shape)
    y = {
        "binary": lambda: np.where(noisy[:, 0] > z[:, 0].mean(), "yes", "no"),
        "classes": lambda: np.argmax(noisy, axis=1),
        "number": lambda: noisy[:, 0] + 10.0,
        "numbers": lambda: noisy,
    }[kind]()
    return X, y, rng.uniform(0.2, 2.0, size=n)


LOGISTIC, RIDGE, CLASSIFIER = hoag.LogisticRegressionCV, hoag.RidgeCV, hoag.RidgeClassifierCV
CASES = {  # estimator, kind of y, sparse, weights
    "binary": (LOGISTIC(), "binary", False, False),
    "binary-sparse-weights": (LOGISTIC(), "binary", True, True),
    "binary-per-feature": (LOGISTIC(penalties="per-feature"), "binary", False, True),
    "binary-groups": (LOGISTIC(penalties=GROUPS), "binary", True, False),
    "balanced": (LOGISTIC(class_weight="balanced"), "binary", False, True),
    "class-weights": (LOGISTIC(class_weight={"yes": 2.0, "no": 0.5}), "binary", True, False),
    "brier": (LOGISTIC(criterion="brier"), "binary", False, False),
    "no-intercept": (LOGISTIC(fit_intercept=False), "binary", False, True),
    "no-intercept-sparse": (LOGISTIC(fit_intercept=False), "classes", True, False),
    "cv=3": (LOGISTIC(cv=3), "binary", False, False),
    "KFold": (LOGISTIC(cv=KFold(4)), "binary", True, True),
    "shuffled": (LOGISTIC(cv=SHUFFLED), "binary", False, True),
    "random-splits": (LOGISTIC(cv=ShuffleSplit(3, random_state=0)), "binary", False, False),
    "in-time": (LOGISTIC(cv=TimeSeriesSplit(3)), "binary", False, True),
    "not-refitted": (LOGISTIC(refit=False), "binary", False, False),
    "1se": (LOGISTIC(rule="1se"), "binary", False, False),
    "classes": (LOGISTIC(), "classes", False, True),
    "classes-sparse-brier": (LOGISTIC(criterion="brier"), "classes", True, False),
    "per-class": (LOGISTIC(penalties="per-class", max_iter=6), "classes", False, True),
    "classes-per-feature": (LOGISTIC(penalties="per-feature", max_iter=4), "classes", True, False),
    "ridge": (RIDGE(cv=5), "number", False, False),
    "ridge-sparse-weights": (RIDGE(cv=5), "number", True, True),
    "ridge-per-feature": (RIDGE(cv=5, penalties="per-feature"), "number", False, True),
    "ridge-groups": (RIDGE(cv=4, penalties=GROUPS), "number", True, False),
    "ridge-huber": (RIDGE(cv=5, criterion="huber"), "number", False, True),
    "ridge-no-intercept": (RIDGE(cv=5, fit_intercept=False), "number", False, False),
    "ridge-shuffled": (RIDGE(cv=KFold(3, shuffle=True, random_state=1)), "number", True, False),
    "standardize": (LOGISTIC(standardize=True, class_weight="balanced"), "binary", False, True),
    "standardize-sparse": (LOGISTIC(standardize=True, cv=SHUFFLED), "classes", True, True),
    "standardize-in-time": (RIDGE(standardize=True, cv=TimeSeriesSplit(3)), "number", False, True),
    "standardize-per-feature": (
        RIDGE(standardize=True, cv=4, penalties="per-feature", fit_intercept=False),
        "number",
        True,
        False,
    ),
    "standardize-targets": (
        RIDGE(standardize=True, cv=4, alpha_per_target=True),
        "numbers",
        False,
        False,
    ),
    "targets": (RIDGE(cv=5), "numbers", False, True),
    "per-target": (RIDGE(cv=5, alpha_per_target=True), "numbers", True, False),
    "targets-per-class": (RIDGE(cv=5, penalties="per-class"), "numbers", False, True),
    "ridge-classifier": (CLASSIFIER(cv=5), "binary", False, True),
    "ridge-classes": (CLASSIFIER(cv=5, class_weight="balanced"), "classes", True, True),
    "ridge-classes-each": (CLASSIFIER(cv=5, penalties="per-class"), "classes", False, False),
}


# Each setting once; the rest of their product is left to `make test-all`.
ONCE = {
    *("binary-sparse-weights", "binary-groups", "balanced", "no-intercept", "KFold", "in-time"),
    *("random-splits", "not-refitted", "1se", "classes", "per-class", "classes-sparse-brier"),
    *("standardize", "standardize-sparse", "standardize-in-time", "standardize-per-feature"),
    *("ridge", "ridge-per-feature", "ridge-huber", "targets", "per-target", "ridge-classes"),
}


@pytest.mark.parametrize("case", quick(CASES, ONCE))
def test_a_fit_to_partitions_is_the_fit_in_memory(case):
    estimator, kind, is_sparse, weighted = CASES[case]
    X, y, weight = data(kind)
    X = sparse.csr_array(np.where(X == 0.3, 0.0, X)) if is_sparse else X
    near, apart, source = both(estimator, X, y, weight if weighted else None)
    agree(near, apart)
    assert len(near.result_.trace) == len(apart.result_.trace)
    assert apart.result_.cost.reads == source.reads
    assert near.result_.cost.reads == 0
    assert set(vars(near)) - {"best_score_"} == set(vars(apart))  # that is of rows in memory


FAMILIES = product(families.NAMES, ("shared", "per-feature"))


@pytest.mark.parametrize(
    ("name", "penalties"),
    quick_pairs(
        (pair for pair in FAMILIES if pair[0] != "inverse"),
        lambda name, penalties: penalties == "shared" or name in ("poisson", "ordinal"),
    ),
)
def test_so_are_those_of_every_family(name, penalties):
    X, y, weight, _ = families.draw(name, n=150, p=3)
    one = penalties == "shared"
    rows = (X if one else sparse.csr_array(X), y, weight if one else None)
    estimator = families.estimator(name, penalties=penalties, max_iter=4)
    near, apart, source = both(estimator, *rows, cuts=(40, 41))
    agree(near, apart, names=("coef_", "intercept_", "thresholds_", "lam_", "criterion_", "scale_"))
    assert apart.result_.cost.reads == source.reads
    if name == "huber":
        np.testing.assert_array_equal(apart.outliers_, near.outliers_)
        assert np.any(apart.outliers_)


SOME = ["binary", "binary-sparse-weights", "no-intercept", "classes", "per-class", "ridge-huber"]


def in_slices():
    """As of partitions with so many rows that they are not made arrays of their own."""
    return patch.object(hoag._glm.in_memory, "BLOCK_ENTRIES", 1.0)


@pytest.mark.parametrize(
    "name",
    quick(
        [*SOME, "huber", "ordinal", "poisson"],
        {"binary-sparse-weights", "classes", "ridge-huber", "huber", "ordinal"},
    ),
)
def test_so_are_those_to_partitions_that_are_gone_through_in_slices(name):
    if name in CASES:
        estimator, kind, is_sparse, weighted = CASES[name]
        X, y, weight = data(kind)
        X = sparse.csr_array(np.where(X == 0.3, 0.0, X)) if is_sparse else X
        weight = weight if weighted else None
    else:
        estimator = families.estimator(name, max_iter=4)
        X, y, weight, _ = families.draw(name, n=150, p=3)
    with in_slices():
        near, apart, _ = both(estimator, X, y, weight, cuts=(40, 41))
    agree(near, apart, names=("coef_", "intercept_", "thresholds_", "lam_", "criterion_", "scale_"))


def test_a_model_that_is_not_convex_agrees_too():
    X, y, weight, _ = families.draw("inverse", n=60, p=2)
    near, apart, source = both(families.estimator("inverse"), X, y, weight, cuts=(30,))
    agree(near, apart)
    assert apart.result_.cost.reads == source.reads


@pytest.mark.parametrize("kind", ["binary", "number"])
def test_groups_and_predefined_folds_are_handed_to_the_splitter(kind):
    X, y, weight = data(kind)
    estimator = LOGISTIC if kind == "binary" else RIDGE
    groups = np.random.default_rng(0).integers(0, 9, len(y))
    near, apart, _ = both(estimator(cv=GroupKFold(4)), X, y, weight, groups=groups)
    agree(near, apart)
    near, apart, _ = both(estimator(cv=PredefinedSplit(groups % 4 - 1)), X, y)
    agree(near, apart)


# Of the numbers below, cuts are where partitions end: some of them are empty.
@FEW
@given(
    cuts=st.lists(st.integers(0, 60), max_size=6).map(sorted),
    level=st.sampled_from([0.0, 1.0, 40.0, 1e6, -1e6]),
    scale=st.sampled_from([1e-6, 1.0, 1e5]),
    kind=st.sampled_from(["binary", "number"]),
    weightless=st.booleans(),
    slices=st.booleans(),
)
def test_cuts_scales_levels_and_constant_columns(cuts, level, scale, kind, weightless, slices):
    X, y, weight = data(kind, n=60, p=3, seed=1)
    X = scale * X
    X[:, 1] += level
    X = np.column_stack([X, np.full(60, 7.0)])
    if weightless:
        weight[20:30] = 0.0
        cuts = sorted([*cuts, 20, 30])
    estimator = LOGISTIC() if kind == "binary" else RIDGE(cv=5)
    with in_slices() if slices else nullcontext():
        near, apart, source = both(estimator, X, y, weight, cuts)
        found = apart.criterion_at(near.lam_, source)
    assert found == pytest.approx(near.criterion_at(near.lam_, X, y, weight), rel=1e-10)
    # A mean of 1e6 is known to 1e-10, which is much of a spread of 1e-6: the units in which λ is
    # searched differ by as much, and where the search ends, within its tolerance.
    digits = 1e-10 * max(1.0, abs(level) / scale / 1e6)
    agree(near, apart, rel=digits, names=("coef_", "lam_", "criterion_"))


@pytest.mark.parametrize("kind", ["binary", "number"])
def test_partitions_of_one_row_and_one_alone(kind):
    X, y, weight = data(kind, n=40, p=3)
    estimator = RIDGE(cv=3) if kind == "number" else LOGISTIC(cv=3)
    near, apart, _ = both(estimator, X, y, weight, cuts=range(1, 40))
    agree(near, apart)
    agree(near, both(estimator, X, y, weight, cuts=())[1])


@pytest.mark.parametrize("kind", ["binary", "number"])
def test_a_fold_whose_rows_weigh_nothing(kind):
    X, y, weight = data(kind)
    weight[50:190] = 0.0
    cv = KFold(5)
    near, apart, _ = both(RIDGE(cv=cv) if kind == "number" else LOGISTIC(cv=cv), X, y, weight)
    agree(near, apart)


def test_single_precision_is_read_as_it_is():
    X, y, _ = data("binary")
    X = X.astype(np.float32)
    near, apart, _ = both(LOGISTIC(), X.astype(np.float64), y, kept=X)
    agree(near, apart)
    near, apart, _ = both(RIDGE(cv=5), X.astype(np.float64), data("number")[1], kept=X)
    agree(near, apart)


TALL = {"logistic": 12, "poisson": 12, "ridge": 12}


def tall(kind, n=60_000, p=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    z = X @ rng.normal(size=p) / np.sqrt(p)
    if kind == "logistic":
        return LOGISTIC(), X, np.where(z + rng.logistic(size=n) > 0, 1, -1)
    if kind == "poisson":
        return hoag.PoissonRegressorCV(), X, rng.poisson(np.exp(z)).astype(float)
    return RIDGE(cv=5), X, z + 5 * rng.normal(size=n)


@pytest.mark.parametrize("kind", TALL)
def test_tall_data_take_a_few_passes(kind):
    estimator, X, y = tall(kind)
    near, apart, source = both(estimator, X, y, cuts=(1000, 20_000, 20_001, 45_000))
    agree(near, apart)
    assert apart.result_.cost.reads == source.reads <= TALL[kind]


def test_tall_data_have_the_criterion_for_tall_data():
    estimator, X, y = tall("logistic")
    seen = []
    for args in ((X, y), (Cut(X, y, (1000, 20_000, 45_000)),)):
        task = estimator._tuning_for(*args, *[None] * (3 - len(args)), {})
        assert isinstance(task.criterion, SharedCurvature)
        assert not isinstance(task.criterion, FoldedFits)
        seen.append(task.criterion.design.sampled(5000, 0))
    near, apart = seen
    assert near.n == apart.n < 60_000
    np.testing.assert_allclose(near.weights, apart.weights, rtol=1e-12)
    x = np.random.default_rng(0).normal(size=(5, 21))
    np.testing.assert_allclose(near.sums(x).value, apart.sums(x).value, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_criterion_is_the_held_out_loss(weighted):
    """By scikit-learn's folds and its own solver."""
    X, y, weight = data("binary")
    weight = weight if weighted else None
    model = LOGISTIC().fit(Cut(X, y, (7, 60, 60, 200), weight))
    lost = total = 0.0
    for train, test in StratifiedKFold(5).split(X, y):
        plain = LogisticRegression(C=model.C_, tol=1e-10, max_iter=10_000)
        plain.fit(X[train], y[train], None if weight is None else weight[train])
        own = np.ones(len(test)) if weight is None else weight[test]
        held = log_loss(y[test], plain.predict_proba(X[test]), sample_weight=own)
        lost, total = lost + held * own.sum(), total + own.sum()
    assert model.criterion_ == pytest.approx(lost / total, rel=1e-6)


@pytest.mark.parametrize("kind", ["binary", "classes", "number", "numbers"])
def test_the_criterion_at_other_penalties_and_its_path(kind):
    X, y, weight = data(kind)
    estimator = RIDGE(cv=5) if "number" in kind else LOGISTIC()
    near, apart, source = both(estimator, X, y, weight)
    for lam in near.lam_ + np.array([[-2.0], [0.0], [3.0]]):
        found = apart.criterion_at(lam, source)
        assert found == pytest.approx(near.criterion_at(lam, X, y, weight), rel=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = near.path(X, y, weight, points=5), apart.path(source, points=5)
    assert relative(paths[1].loss, paths[0].loss) <= 1e-10


# ---- folds as problems


def alike(found, known, names=(), rel=1e-11):
    """Two arrays, or attributes of two objects."""
    pairs = [(getattr(found, name), getattr(known, name)) for name in names] or [(found, known)]
    for own, other in pairs:
        assert relative(1.0 * np.asarray(own), 1.0 * np.asarray(other)) <= rel


OF_POINTS = ("h", "h_x", "g", "g_x", "g_lam")
OF_TERMS = ("y", "weights", "total_weight", "squared_norms", "radius", "frobenius",
            "quadratic")  # fmt: skip
OF_TERMS_AT = ("value", "gradient", "hessian", "diagonal", "slope", "curvature_trace",
               "mean_curvature")  # fmt: skip


@pytest.mark.parametrize("case", ["binary", "classes", "ridge", "ridge-sparse-weights"])
def test_a_fold_of_partitions_answers_all_that_one_in_memory_does(case):
    estimator, kind, is_sparse, weighted = CASES[case]
    X, y, weight = data(kind, n=120)
    X, weight = sparse.csr_array(X) if is_sparse else X, weight if weighted else None
    models = (
        estimator._tuning_for(*rows, {}).criterion.models
        for rows in ((X, y, weight), (Cut(X, y, (7, 7, 60), weight), None, None))
    )
    rng = np.random.default_rng(0)
    for near, apart in zip(*models, strict=True):
        assert near.in_memory
        assert not apart.in_memory
        x, q, lam = *rng.normal(size=(2, near.x0.size)), np.full(1, 2.0)
        known, found = near.at(x, lam), apart.at(x, lam)
        alike(found, known, OF_POINTS)
        alike(found.hessian @ q, known.hessian @ q)
        alike(found.hessian.matrix(), known.hessian.matrix())
        for own, other in ((apart.train, near.train), (apart.test, near.test)):
            alike(own, other, OF_TERMS)
            alike(own.at(x), other.at(x), OF_TERMS_AT)
            alike(own.at(x).hvp(q), other.at(x).hvp(q))
            alike(own.backward(own.forward(q)), other.backward(other.forward(q)))
        if np.isfinite(near.bound(known, q, q)):
            alike(apart.bound(found, q, q), near.bound(known, q, q), rel=1e-8)
        if kind != "number":
            alike(apart.outer_lipschitz(), near.outer_lipschitz(), rel=1e-8)
        some = np.array([40, 3, 119, 8])
        alike(*(model.train.design.rows.take(some).dense() for model in (apart, near)))
        before = apart.ledger.cost.reads
        apart.train.forward(q)
        assert apart.ledger.cost.reads == before + 1.0


def test_errors_are_bounded_as_in_memory():
    X, y, weight = data("binary", n=150)
    estimator = LOGISTIC(certificate="bound")
    near, apart, _ = both(estimator, X, y, weight)
    agree(near, apart)
    bounds = [fitted.result_.evaluation.bound for fitted in (apart, near)]
    assert np.isfinite(bounds[1])
    assert relative(*bounds) <= 1e-3
