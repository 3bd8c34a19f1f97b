"""What rows in partitions cannot do is said in a sentence; what they predict is what arrays do."""

from __future__ import annotations

import numpy as np
import pytest
from partitions import Changed, Cut
from scipy import sparse
from sklearn.base import clone

import hoag
from hoag.errors import InvalidInputError

pytestmark = pytest.mark.usefixtures("out_of_core")
RNG = np.random.default_rng(0)
N, CUTS = 90, (20, 21, 60)
X = RNG.normal(size=(N, 3))
SCORE = X @ np.array([1.0, -1.0, 0.5])
NUMBERS = SCORE + RNG.normal(size=N)
LABELS = np.where(NUMBERS > 0, "yes", "no")
COUNTS = RNG.poisson(np.exp(SCORE / 2)).astype(float)
THREE = np.digitize(NUMBERS, [-0.5, 0.5])


def put(array, place, value):
    changed = np.array(array, dtype=float)
    changed[place] = value
    return changed


def cut(X=X, y=LABELS, weight=None):
    return Cut(X, y, CUTS, weight)


def changed(change):
    """Partition 2 is another than the source says."""
    return Changed(X, LABELS, CUTS, 2, change)


LOGISTIC, RIDGE = hoag.LogisticRegressionCV, hoag.RidgeCV
HOLED = put(X, (30, 1), np.nan)
HOLE = r"X is nan in row 9 of partition 2 \(row 30 of all\), column 1: correct it"
WEIGHT = r"The weight is -1 in row 0 of partition 1 \(row 20 of all\)"
WRONG = {  # estimator, source, what the sentence says
    "nan in X": (LOGISTIC(), cut(HOLED), HOLE),
    "inf in X": (
        LOGISTIC(),
        cut(put(X, (5, 0), np.inf)),
        r"X is inf in row 5 of partition 0 \(row 5 of all\), column 0",
    ),
    "nan in sparse X": (LOGISTIC(), cut(sparse.csr_array(HOLED)), HOLE),
    "nan in y": (
        RIDGE(cv=5),
        cut(y=put(NUMBERS, 65, np.nan)),
        r"y is nan in row 5 of partition 3 \(row 65 of all\): leave such rows out",
    ),
    "a label that is missing": (
        LOGISTIC(),
        cut(y=np.append(LABELS[1:].astype(object), None)),
        r"y is None in row 29 of partition 3 \(row 89 of all\)",
    ),
    "strings for numbers": (RIDGE(cv=5), cut(), "a regression needs numbers"),
    "weight below 0": (LOGISTIC(), cut(weight=put(np.ones(N), 20, -1.0)), WEIGHT),
    "a count below 0 in a later partition": (
        hoag.PoissonRegressorCV(),
        cut(y=put(COUNTS + 2.0, 70, -2.0)),
        "In partition 3, whose rows are counted from 0: y is -2 in row 10;",
    ),
    "no weight": (RIDGE(cv=5), cut(y=NUMBERS, weight=np.zeros(N)), "positive weight"),
    "cv='alo'": (LOGISTIC(cv="alo"), cut(), "cv='alo' needs the rows in memory"),
    "cv='reml'": (LOGISTIC(cv="reml"), cut(), "cv='reml' needs the rows in memory"),
    "leave-one-out": (RIDGE(), cut(y=NUMBERS), "give a number of folds, such as cv=5"),
    "cv='loo'": (RIDGE(cv="loo"), cut(y=NUMBERS), "cv='loo' needs the rows in memory"),
    "scoring": (LOGISTIC(scoring="accuracy"), cut(), "scoring needs the rows in memory"),
    "shrink": (LOGISTIC(shrink="auto", penalties="per-feature"), cut(), "shrink needs the rows"),
    "legacy": (LOGISTIC(use_legacy_attributes=True), cut(), "use_legacy_attributes=True needs"),
    "grid": (LOGISTIC(search="grid", Cs=3), cut(), "search=.grid. needs the rows"),
    "kernel": (hoag.KernelRidgeCV(), cut(y=NUMBERS), "KernelRidgeCV needs its rows in memory"),
    "cox": (hoag.CoxRegressionCV(), cut(y=NUMBERS), "CoxRegressionCV needs its rows in memory"),
    "gam": (hoag.GAMRegressorCV(), cut(y=NUMBERS), "GAMRegressorCV needs its rows in memory"),
    "power": (hoag.TweedieRegressorCV(power="tuned"), cut(y=COUNTS), "give a number"),
    "one class": (LOGISTIC(), cut(y=np.full(N, "yes")), "only one class: yes"),
    "one class, SVC": (hoag.LinearSVCCV(), cut(y=np.zeros(N)), "two classes or more"),
    "several labels": (LOGISTIC(), cut(y=np.stack([LABELS] * 2, 1)), "y has several columns"),
    "two counts": (hoag.PoissonRegressorCV(), cut(y=np.stack([COUNTS] * 2, 1)), "several columns"),
    "counts below 0": (hoag.PoissonRegressorCV(), cut(y=put(COUNTS, 7, -1.0)), "not negative"),
    "no rows": (LOGISTIC(), Cut(X[:0], LABELS[:0]), "There are no rows"),
    "one fold": (LOGISTIC(cv=1), cut(), "at least two folds"),
    "more folds than rows": (RIDGE(cv=N + 1), cut(y=NUMBERS), f"at most {N}"),
    "fewer features": (
        LOGISTIC(),
        changed(lambda partition: partition._replace(X=partition.X[:, :2])),
        r"shape \(39, 2\) in partition 2 of the rows, and there are 39 y and 3 features",
    ),
    "fewer rows": (
        LOGISTIC(),
        changed(lambda partition: partition._replace(X=partition.X[1:])),
        r"shape \(38, 3\) in partition 2",
    ),
    "dense and sparse": (
        LOGISTIC(),
        changed(lambda partition: partition._replace(X=sparse.csr_array(partition.X))),
        "sparse in some partitions and dense in others",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case):
    estimator, source, sentence = WRONG[case]
    with pytest.raises(InvalidInputError, match=sentence):
        estimator.fit(source)


def test_y_and_weights_are_in_the_partitions():
    for beside in ((LABELS,), (None, np.ones(N))):
        with pytest.raises(InvalidInputError, match="call fit\\(source\\) alone"):
            LOGISTIC().fit(cut(), *beside)
    with pytest.raises(InvalidInputError, match="exposure"):
        hoag.PoissonRegressorCV().fit(cut(y=COUNTS), exposure=np.ones(N))


def test_a_partition_needs_a_weight_for_each_row():
    source = cut(weight=np.ones(N))
    read = source.read
    source.read = lambda i, rows=True: read(i, rows)._replace(weight=np.ones(3))
    with pytest.raises(InvalidInputError, match="A partition of 20 rows has 3 weights"):
        LOGISTIC().fit(source)


MODELS = {
    "logistic": (LOGISTIC(), LABELS),
    "classes": (LOGISTIC(), THREE),
    "ridge": (RIDGE(cv=5), NUMBERS),
    "targets": (RIDGE(cv=5), np.stack([NUMBERS, SCORE + 1], axis=1)),
    "ridge-classifier": (hoag.RidgeClassifierCV(cv=5), THREE),
    "svc": (hoag.LinearSVCCV(), LABELS),
    "poisson": (hoag.PoissonRegressorCV(), COUNTS),
    "huber": (hoag.HuberRegressorCV(), NUMBERS),
    "quantile": (hoag.QuantileRegressorCV(), NUMBERS),
    "ordinal": (hoag.OrdinalLogisticCV(), THREE),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("fmt", ["dense", "sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_those_for_arrays(name, fmt):
    estimator, y = MODELS[name]
    model = clone(estimator).fit(X, y)
    rows = sparse.csr_array(X) if fmt == "sparse" else X
    source = Cut(rows, y, (20, 20, 60))
    methods = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    asked = [method for method in methods if method in dir(model)]
    for method in asked:
        found, known = getattr(model, method)(source), getattr(model, method)(rows)
        assert found.shape == known.shape
        if known.dtype.kind == "f":
            np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, known)
    # y of a score may be given, as ever: predictions come in the order of the rows
    assert model.score(source, y) == pytest.approx(model.score(rows, y), rel=1e-12)
    assert model.score(source) == pytest.approx(model.score(rows, y), rel=1e-12)
    weight = np.random.default_rng(1).uniform(size=N)
    weighted = model.score(Cut(rows, y, (20, 20, 60), weight))
    assert weighted == pytest.approx(model.score(rows, y, weight), rel=1e-12)
    assert weighted != model.score(rows, y)
    with pytest.raises(InvalidInputError, match="X has 2 features, and the model was fitted on 3"):
        model.predict(Cut(rows[:, :2], y, (20,)))


def test_models_that_need_their_rows_predict_no_partitions():
    model = hoag.KernelRidgeCV().fit(X, NUMBERS)
    with pytest.raises(InvalidInputError, match="KernelRidgeCV needs its rows in memory"):
        model.predict(cut(y=NUMBERS))


def test_scores_by_a_scorer_are_of_the_partitions_own_y():
    model = LOGISTIC(scoring="neg_log_loss").fit(X, LABELS)
    weight = np.linspace(0.5, 2.0, N)
    known = model.score(X, LABELS, weight)
    assert model.score(cut(weight=weight)) == pytest.approx(known, rel=1e-12)


def test_some_partitions_may_have_weights():
    source, model = cut(weight=np.linspace(0.5, 2.0, N)), LOGISTIC().fit(X, LABELS)
    read = source.read
    source.read = lambda i, rows=True: read(i, rows)._replace(**({"weight": None} if i else {}))
    weight = np.append(np.linspace(0.5, 2.0, N)[:20], np.ones(N - 20))
    assert model.score(source) == pytest.approx(model.score(X, LABELS, weight), rel=1e-12)


def test_what_cannot_be_scored_is_said():
    model = LOGISTIC().fit(X, LABELS)
    source = hoag.partitions((X, LABELS), rows=20)
    assert model.score(source) == model.score(X, LABELS)
    with pytest.raises(InvalidInputError, match="score needs the y of these rows"):
        model.score(X)
    with pytest.raises(InvalidInputError, match=r"Call score\(source\) alone"):
        model.score(source, sample_weight=np.ones(N))
    with pytest.raises(InvalidInputError, match="have no y to compare predictions with"):
        model.score(source.like((X,)))
    with pytest.raises(InvalidInputError, match="There are no rows to score"):
        model.score(Cut(X[:0], LABELS[:0]))


@pytest.mark.filterwarnings("ignore:lam_")
def test_models_that_need_their_rows_score_no_partitions():
    surv = np.stack([np.exp(-NUMBERS), np.ones(N)], axis=1)
    for model, y in (
        (hoag.KernelRidgeCV(), NUMBERS),
        (hoag.GAMRegressorCV(), NUMBERS),
        (hoag.GAMClassifierCV(), LABELS),
        (hoag.CoxRegressionCV(), surv),
    ):
        fitted = model.fit(X, y)
        for asked in (fitted.score, fitted.predict):
            with pytest.raises(InvalidInputError, match=f"{type(model).__name__} needs its rows"):
                asked(cut(y=y))


def test_numbers_that_are_not_finite_are_named_in_predictions_and_scores():
    model = LOGISTIC().fit(X, LABELS)
    for asked in (model.predict, model.score):
        with pytest.raises(InvalidInputError, match="X is nan in row 9 of partition 2, column 1"):
            asked(cut(HOLED))
    ridge = RIDGE(cv=5).fit(X, NUMBERS)
    with pytest.raises(
        InvalidInputError, match=r"y is nan in row 5 of partition 3 \(row 65 of all"
    ):
        ridge.score(cut(y=put(NUMBERS, 65, np.nan)))


def test_columns_with_names_are_named():
    source = cut(HOLED)
    source.names = ["a", "b", "c"]
    with pytest.raises(InvalidInputError, match=r"column 1 \('b'\)"):
        LOGISTIC().fit(source)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.1, 1e6 + 0.1])
def test_a_constant_column_of_many_rows_is_no_small_one(value):
    # its mean is a sum of 60 000 numbers, and not right to 100 roundings
    rng, n = np.random.default_rng(0), 60_000
    rows = np.column_stack([rng.normal(size=(n, 2)), np.full(n, value)])
    y = rows[:, 0] + rng.normal(size=n)
    near, apart = RIDGE(cv=5).fit(rows, y), RIDGE(cv=5).fit(Cut(rows, y, (7000, 30_000)))
    assert near.coef_[2] == apart.coef_[2] == 0.0
