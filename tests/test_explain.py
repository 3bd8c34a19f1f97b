"""What hoag.explain says is what the library does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification

import hoag
from hoag import models
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag._glm.penalties import Ridge
from hoag._glm.rows import ArrayRows
from hoag._glm.squares import SquaresDesign
from hoag.errors import InvalidInputError

CANCER, DIABETES = (load(return_X_y=True) for load in (load_breast_cancer, load_diabetes))


def signed(rows, columns):
    A, y = make_classification(rows, columns, n_informative=3, n_redundant=0, random_state=0)
    return A, 2.0 * y - 1.0


# Problems, the criterion that is built, and what is said of it.
KINDS = {
    "Spectral": (
        lambda: models.folds(models.ridge, *DIABETES),
        ("one eigendecomposition", "decomposition of 10 × 10 is affordable (up to 3000)"),
    ),
    "BandedRidge": (
        lambda: models.folds(models.ridge, *DIABETES, penalties="per-feature"),
        ("banded ridge", "factor of 10 × 10 is affordable"),
    ),
    "FoldedFits": (
        lambda: models.folds(models.logistic, *signed(200, 5)),
        ("factors of the Hessian", "5 folds × 200 rows × 5² = 25000 products", "(up to 3e7)"),
    ),
    "SharedCurvature": (
        lambda: models.folds(models.logistic, *signed(6300, 60)),
        ("share one Hessian", "1.1e8 products", "6300 rows for 60 coefficients", "at least 4000"),
    ),
    "Galerkin": (
        lambda: models.folds(models.logistic, *signed(600, 700)),
        ("Galerkin", "600 × 600, are expensive"),
    ),
    "Implicit": (
        lambda: models.folds(models.logistic, sparse.csr_array(signed(20, 1100)[0]),
                             signed(20, 1100)[1], cv=2, penalties="per-feature"),
        ("1100 hyperparameters", "conjugate gradients, preconditioned by the diagonal",
         "1100 × 1100 is too large for a factor"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_criterion_that_is_built_is_the_one_that_is_explained(kind):
    make, said = KINDS[kind]
    problems = make()
    criterion = hoag.plan(problems)
    parts = criterion.criteria if isinstance(criterion, hoag.criteria.Sum) else [criterion]
    assert type(parts[0]).__name__ == kind
    told = str(hoag.explain(problems))
    assert all(sentence in told for sentence in said), told
    assert told == str(hoag.explain(criterion))


def test_something_is_chosen_where_nothing_is_known():
    """The last answer of every question holds for a problem that says no more than h and g."""

    class Bare:
        x0, lam0 = np.zeros(2), np.zeros(1)

        def at(self, x, lam):
            return models.ridge(np.eye(2), [1.0, 2.0], np.eye(2), [1.0, 2.0]).at(x, lam)

    told = hoag.explain([Bare(), Bare()])
    assert told.data == "2 problems of up to 2 coefficients, 1 hyperparameter"
    assert told.used == "each problem by itself: implicit differentiation"
    assert "by conjugate gradients: products with the Hessian are what is known" in told.work
    assert np.isfinite(hoag.plan([Bare(), Bare()]).value(0.0).value)


def test_a_scan_of_what_is_said_to_take_no_pass_takes_none():
    criterion = hoag.plan(models.folds(models.ridge, *DIABETES))
    assert "no pass over the data, whatever the penalty" in criterion.chosen.work
    criterion.evaluate(0.0)
    assert criterion.evaluate(1.0).cost.passes == 0


def test_an_evaluation_takes_whole_steps_of_what_is_said_of_each():
    criterion = hoag.plan(models.folds(models.logistic, *signed(200, 5)))
    assert "each of 5 passes over the data, as many Gram matrices" in criterion.chosen.work
    cost = criterion.evaluate(0.0).cost
    assert cost.passes % 5 == 0
    assert round(cost.grams) == cost.passes


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (hoag.LogisticRegressionCV(), CANCER),
        (hoag.LogisticRegressionCV(cv="alo"), CANCER),
        (hoag.RidgeCV(), DIABETES),
        (hoag.RidgeCV(cv=3), DIABETES),
        (hoag.KernelRidgeCV(max_iter=2), (DIABETES[0][:60], DIABETES[1][:60])),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_fitted_estimator_keeps_what_was_said_before(model, data):
    before = hoag.explain(model, *data)
    assert "result_" not in vars(model)
    after = hoag.explain(model.fit(*data))
    assert (after.data, after.used, after.why, after.work, after.end) == (
        (before.data, before.used, before.why, before.work, before.end)
    )
    assert not before.spent
    result = model.result_
    assert after.spent.startswith(f"{len(result.trace)} step")
    assert "seconds" in after.spent
    if result.cost.passes >= 1:
        assert f"{result.cost.passes:.0f} {result.unit}" in after.spent


def test_the_words_are_the_users():
    told = hoag.explain(hoag.LogisticRegressionCV(), *CANCER)
    assert told.data == "5 folds of 569 rows × 30 columns, 1 hyperparameter (C)"
    assert "at the C that was found; then the model is fitted on all rows" in told.end
    told = hoag.explain(hoag.RidgeCV(cv=3, refit=False), *DIABETES)
    assert told.data.endswith("(alpha)")
    assert "refit=False" in told.end
    told = hoag.explain(hoag.RidgeCV(), *DIABETES)
    assert "the fit there is that on all rows" in told.end
    assert "(gamma and alpha)" in hoag.explain(hoag.KernelRidgeCV(cv=2), *DIABETES).data


def test_the_search_and_where_rows_are_matter():
    told = hoag.explain(hoag.LogisticRegressionCV(search=hoag.optimize.Hoag()), *CANCER)
    assert "as precise as each step of the search asks" in told.used
    told = hoag.explain(hoag.LogisticRegressionCV(), hoag.partitions(*CANCER))
    assert told.used.startswith("rows brought into memory: all folds together")
    assert "All 569 rows" in told.why


def test_an_additive_model_is_explained_once_it_is_fitted():
    X, y = DIABETES[0][:, :2], DIABETES[1]
    model = hoag.GAMRegressorCV()
    with pytest.raises(InvalidInputError, match="Fit it"):
        hoag.explain(model, X, y)
    assert "Gram matrix" in str(hoag.explain(model.fit(X, y)))


def test_what_cannot_be_explained_is_said():
    for wrong, sentence in (
        (lambda: hoag.explain(hoag.RidgeCV()), "give the data"),
        (lambda: hoag.explain(hoag.RidgeCV), "Give an instance"),
        (lambda: hoag.explain(models.folds(models.ridge, *DIABETES), *DIABETES), "have their data"),
        (lambda: hoag.explain(hoag.RidgeCV(cv="x"), *DIABETES), "cv='x'"),
    ):
        with pytest.raises(InvalidInputError, match=sentence):
            wrong()


def test_a_criterion_of_ones_own_is_said_to_be_that():
    class Bowl(hoag.criteria.Criterion):
        lam0 = np.zeros(1)

        def _evaluate(self, lam, ask, warm):
            return hoag.criteria.Evaluation(lam, float(1 + lam[0] ** 2), 2 * lam)

    assert "Bowl" in hoag.explain(Bowl()).used
    assert hoag.criteria.Sum([Bowl()]).chosen is None


# ---- without folds


@pytest.mark.parametrize("word", ["alo", "gcv", "reml"])
@pytest.mark.parametrize("make", [models.ridge, models.logistic])
@pytest.mark.parametrize(("rows", "columns"), [(60, 5), (30, 40), (1100, 1050)])
def test_a_risk_of_one_fit_is_computed_by_what_the_table_says(word, make, rows, columns):
    A, y = signed(rows, columns)
    problem = make(A, y, A, y, intercept=True)
    criterion = hoag.criteria.without_folds(problem, word)
    told = str(hoag.explain(criterion))
    by_sums = word != "alo" and make is models.ridge and (rows, columns) == (60, 5)
    assert isinstance(criterion.work, SquaresDesign) == by_sums
    assert ("by sums of squares and products" in told) == by_sums
    assert f"{rows} rows × {columns} columns, none held out" in told


def test_what_was_given_is_said():
    problems = models.folds(models.logistic, *signed(200, 5))
    told = str(hoag.explain(hoag.plan(problems, risk=hoag.glm.HeldOut())))
    assert "with what was given" in told


@pytest.mark.parametrize("groups", ["one", "two", "free"])
@pytest.mark.parametrize(("rows", "columns"), [(60, 5), (30, 40)])
def test_rows_are_left_out_by_what_the_table_says(groups, rows, columns):
    A, y = signed(rows, columns)
    numbers = {"one": np.zeros(columns, int), "two": np.arange(columns) % 2}
    numbers["free"] = np.where(np.arange(columns) == 0, -1, 0)
    penalty = Ridge(numbers[groups], 1e-3 if groups == "free" else 0.0)
    criterion = LeaveOneOut(ArrayRows(A), y, np.ones(rows), penalty)
    told = str(hoag.explain(criterion))
    assert ("one eigendecomposition" in told) == criterion.traits.batched == (groups == "one")
    assert ("(dual)" in told) == (columns > rows and groups == "two")
