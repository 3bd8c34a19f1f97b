"""What holds for every search on every criterion in every setting, and not only for the default."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import registry
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.preprocessing import StandardScaler

import hoag
from hoag import KernelRidgeCV, LogisticRegressionCV, RidgeCV, glm, models
from hoag.optimize import TPE, Auto, Bayes, Grid, Hoag, Random

# A search cut short is what some of these are about; where it ends on a bound is not.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:lam_:UserWarning"),
]

# ---------------------------------------------------------------- what is combined

SEARCHES = {
    "default": None,
    "fast": Auto(tol=1e-3),
    "hoag": Hoag(max_iter=5),
    "grid": Grid(4),
    "random": Random(4),
    "tpe": TPE(4),
    "bayes": Bayes(5, starts=3),
}
PACKAGES = {"tpe": "optuna", "bayes": "bayes_opt"}


def dense(n=90, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 1.5 * rng.normal(size=n)


def two_classes():
    X, score = dense()
    return X, np.where(score > 0, "yes", "no")


def three_classes():
    X, score = dense()
    return X, np.digitize(score, [-1.0, 1.0])


def few_words():
    return registry.text(120, 30, seed=2)


def many_words():
    return registry.text(80, 2000, seed=2)


def few_rows():
    return dense(60, 3)


CASES = {
    "binary": (LogisticRegressionCV(), two_classes),
    "multinomial": (LogisticRegressionCV(cv=3), three_classes),
    "few words": (LogisticRegressionCV(), few_words),
    "many words": (LogisticRegressionCV(cv=3), many_words),
    "ridge": (RidgeCV(cv=5), dense),
    "leave-one-out": (RidgeCV(), dense),
    "kernel": (KernelRidgeCV(cv=4), few_rows),
}
FOLDS = {"multinomial": 3, "many words": 3, "leave-one-out": 1, "kernel": 4}

SETTINGS = {"refit": (True, False), "scored": (True, False), "n_jobs": (None, 2)}


def chosen():
    """Every search on every estimator; the settings take turns, so that all pairs occur."""
    for (i, case), (j, search) in product(enumerate(CASES), enumerate(SEARCHES)):
        turns = {"refit": i + j, "scored": i + j // 2, "n_jobs": i // 2 + j}
        yield case, search, {name: SETTINGS[name][turn % 2] for name, turn in turns.items()}


CHOSEN = list(chosen())


def test_every_pair_of_search_estimator_and_setting_is_chosen():
    for place, names in ((0, CASES), (1, SEARCHES)):
        for name, values in SETTINGS.items():
            pairs = {(which[place], which[2][name]) for which in CHOSEN}
            assert pairs == set(product(names, values))
    assert {which[:2] for which in CHOSEN} == set(product(CASES, SEARCHES))


def fitted(case, search, refit=True, scored=False, n_jobs=None, **more):
    if search in PACKAGES:
        pytest.importorskip(PACKAGES[search])
    estimator, data = CASES[case]
    X, y = data()
    scoring = ("accuracy" if is_classifier(estimator) else "r2") if scored else None
    options = {"refit": refit, "scoring": scoring, "n_jobs": n_jobs, **more}
    model = clone(estimator).set_params(search=SEARCHES[search], **options)
    return model.fit(X, y), X, y


# ---------------------------------------------------------------- the estimators


def work(cost):
    return cost.passes + cost.grams


def held_out_loss(model, X, y):
    """The mean loss of held-out rows by scikit-learn's models, at the λ that was found."""
    if isinstance(model, LogisticRegressionCV):
        plain = LogisticRegression(C=model.C_, solver="newton-cg", tol=1e-10, max_iter=10**4)
        cv = StratifiedKFold(model.cv or 5)
    else:
        if isinstance(model, KernelRidgeCV):
            plain = KernelRidge(kernel="rbf", alpha=model.alpha_, gamma=model.gamma_)
            plain = TransformedTargetRegressor(plain, transformer=StandardScaler(with_std=False))
        else:
            plain = Ridge(alpha=model.alpha_)
        cv = LeaveOneOut() if model.cv is None else KFold(model.cv)
    total = 0.0
    for train, test in cv.split(X, y):
        plain.fit(X[train], y[train])
        if is_classifier(model):
            proba = plain.predict_proba(X[test])
            total += len(test) * log_loss(y[test], proba, labels=plain.classes_)
        else:
            total += np.sum((y[test] - plain.predict(X[test])) ** 2)
    return total / len(y)


# Every case with the default, every search on ridge and on leave-one-out: the rest is slow.
@pytest.mark.parametrize(
    ("case", "search", "setting"),
    [
        pytest.param(
            *(case, search, setting),
            id=f"{case}-{search}-{'-'.join(map(str, setting.values()))}",
            marks=[pytest.mark.slow]
            * (search != "default" and case not in ("binary", "ridge", "leave-one-out")),
        )
        for case, search, setting in CHOSEN
    ],
)
def test_what_every_fit_promises(case, search, setting):
    model, X, y = fitted(case, search, **setting)
    # the criterion is the mean held-out loss, however many folds and however found
    assert model.criterion_ == pytest.approx(model.criterion_at(model.lam_, X, y), rel=1e-3)
    assert model.criterion_ == pytest.approx(held_out_loss(model, X, y), rel=1e-3)
    # a model that can be used
    kernel = isinstance(model, KernelRidgeCV)
    for name in ("dual_coef_",) if kernel else ("coef_", "intercept_"):
        assert np.all(np.isfinite(getattr(model, name)))
    predicted = model.predict(X)
    assert predicted.shape == y.shape
    if is_classifier(model):
        assert set(predicted) <= set(y)
    else:
        assert np.all(np.isfinite(predicted))
    # scores by fold, where they were asked for
    if setting["scored"]:
        (scores,) = model.scores_.values()
        assert scores.shape == (FOLDS.get(case, 5),)
        assert np.all(np.isfinite(scores))
    else:
        assert not hasattr(model, "scores_")
    # the trace, and what came after it, are counted
    result = model.result_
    assert model.n_iter_ == len(result.trace) > 0
    assert work(result.cost) > work(result.trace[-1].cost) > 0
    assert result.seconds >= result.trace[-1].seconds
    assert np.all(np.diff([step.cost.passes for step in result.trace]) >= 0)


@pytest.mark.parametrize("case", CASES)
def test_a_refit_is_counted_and_changes_nothing_but_the_model(case):
    with_it, *_ = fitted(case, "default")
    without, *_ = fitted(case, "default", refit=False)
    np.testing.assert_array_equal(with_it.lam_, without.lam_)
    assert with_it.criterion_ == without.criterion_
    if case == "leave-one-out":  # its model is one on all rows already
        np.testing.assert_array_equal(with_it.coef_, without.coef_)
    else:
        assert with_it.result_.cost.passes > without.result_.cost.passes


@pytest.mark.parametrize("case", CASES)
def test_threads_change_nothing(case):
    alone, *_ = fitted(case, "default")
    together, *_ = fitted(case, "default", n_jobs=2)
    np.testing.assert_allclose(together.lam_, alone.lam_, rtol=1e-9)
    assert together.criterion_ == pytest.approx(alone.criterion_, rel=1e-9)
    assert together.result_.cost.passes == pytest.approx(alone.result_.cost.passes)
    assert together.n_iter_ == alone.n_iter_


@pytest.mark.parametrize("case", ["binary", "leave-one-out", "kernel"])
@pytest.mark.parametrize("search", ["random", "tpe", "bayes"])
def test_the_seed_says_where_a_search_looks(case, search):
    def looked_at(seed):
        model, *_ = fitted(case, search, refit=False, random_state=seed)
        return model.lam_, np.array([step.lam for step in model.result_.trace])

    (lam, path), (same_lam, same_path), (_, other_path) = map(looked_at, (1, 1, 2))
    np.testing.assert_array_equal(lam, same_lam)
    np.testing.assert_array_equal(path, same_path)
    assert not np.array_equal(path, other_path)


@pytest.mark.parametrize("search", ["random", "tpe"])
def test_another_seed_finds_another_lam(search):
    """Where every point is drawn: Bayes begins at the same places with any seed."""
    lams = [fitted("binary", search, random_state=seed)[0].lam_ for seed in (1, 2)]
    assert not np.array_equal(*lams)


def test_a_generator_for_random_state_goes_on_from_fit_to_fit():
    generators = [np.random.RandomState(0) for _ in range(2)]
    lams = [fitted("binary", "random", random_state=g)[0].lam_ for g in generators]
    np.testing.assert_array_equal(*lams)
    again = fitted("binary", "random", random_state=generators[0])[0].lam_
    assert not np.array_equal(again, lams[0])


# ---------------------------------------------------------------- rows and columns of any number


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    n=st.integers(20, 60),
    d=st.one_of(st.integers(1, 12), st.integers(40, 90)),
    folds=st.integers(2, 5),
    to=st.sampled_from([np.asarray, sparse.csr_array]),
    logistic=st.booleans(),
    search=st.sampled_from([Auto(), Hoag(max_iter=3), Grid(3)]),
)
def test_the_criterion_is_true_for_every_shape(n, d, folds, to, logistic, search):
    X, y = dense(n, d, seed=n * d)
    y = np.where(np.argsort(np.argsort(y)) < n // 2, 0, 1) if logistic else y
    make = LogisticRegressionCV if logistic else RidgeCV
    # with the box of the data λ may go where rounding decides, which is not what this is about
    model = make(cv=folds, search=search, bounds=(-4.0, 8.0)).fit(to(X), y)
    assert model.criterion_ == pytest.approx(model.criterion_at(model.lam_, to(X), y), rel=1e-3)
    assert model.criterion_ == pytest.approx(held_out_loss(model, X, y), rel=1e-3)


# ---------------------------------------------------------------- minimize


def logistic():
    return registry.make("logistic", n=60, d=6)


def folds():
    return models.folds(models.logistic, *few_words(), cv=3)


def truth(problems, lam):
    """f by factors, to rounding."""
    return sum(registry.exact(problem, lam).value for problem in problems)


def left_out(lam):
    """Σ of squared errors, each row predicted by the fit on all others."""
    X, y = dense(40, 5)
    plain = Ridge(alpha=np.exp(lam[0]))
    return sum(
        np.sum((y[test] - plain.fit(X[train], y[train]).predict(X[test])) ** 2)
        for train, test in LeaveOneOut().split(X)
    )


def leave_one_out():
    X, y = dense(40, 5)
    penalty = glm.Ridge(np.zeros(5, dtype=int))
    return hoag._criteria.leave_one_out.LeaveOneOut(glm.ArrayRows(X), y, np.ones(40), penalty)


def implicit(**options):
    problem = logistic()
    return hoag.criteria.Implicit(problem, **options), lambda lam: truth([problem], lam)


def planned():
    problems = folds()
    return problems, lambda lam: truth(problems, lam)


def sum_of_implicit():
    problems = folds()
    return hoag.criteria.Sum([hoag.criteria.Implicit(p) for p in problems]), lambda lam: truth(
        problems, lam
    )


def sum_of_unrolled():
    """What it minimises is g after some iterations: only its own evaluation says how much.

    By gradient descent, whose iterates are smooth in λ; those of L-BFGS jump.
    """
    descent = hoag.criteria.UnrolledGradientDescent()
    criterion = hoag.criteria.Sum([hoag.criteria.Unrolled(p, descent, n_iter=30) for p in folds()])
    return criterion, lambda lam: criterion.value(lam).value


CRITERIA = {
    "implicit": implicit,
    "corrected": lambda: implicit(corrected=True),
    "planned": planned,
    "sum of implicit": sum_of_implicit,
    "sum of unrolled": sum_of_unrolled,
    "leave-one-out": lambda: (leave_one_out(), left_out),
}


@pytest.mark.parametrize(
    "search", [Auto(), Hoag(max_iter=6), Grid(5)], ids=["fast", "hoag", "grid"]
)
@pytest.mark.parametrize("make", CRITERIA.values(), ids=CRITERIA)
def test_the_value_that_minimize_returns_is_that_of_its_lam(make, search):
    criterion, f = make()
    result = hoag.minimize(criterion, bounds=(-5.0, 5.0), search=search)
    assert result.value == pytest.approx(f(result.lam), rel=1e-3)
    assert work(result.cost) > work(result.trace[-1].cost) > 0
    assert result.status.reason in ("converged", "max_iter", "finished"), result.status
    assert result.value <= f(np.full(1, 5.0)) * (1 + 1e-3)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[pytest.mark.slow] * (name == "sum of unrolled"))
        for name, make in CRITERIA.items()
    ],
)
def test_all_searches_end_near_the_same_minimum(make):
    """Not one of them minimises something else."""
    values = []
    for search in (Auto(), Hoag(), Grid(21), Random(30)):
        criterion, f = make()
        values.append(f(hoag.minimize(criterion, bounds=(-5.0, 5.0), search=search).lam))
    assert max(values) <= min(values) * 1.01
    assert values[0] <= min(values) * (1 + 1e-4)
