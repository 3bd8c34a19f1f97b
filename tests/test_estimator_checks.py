"""scikit-learn's own checks: all of them as people construct, and some for every other setting."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from itertools import product

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    estimator_checks_generator,
    parametrize_with_checks,
)

from hoag import (
    GAMClassifierCV,
    GammaRegressorCV,
    GAMRegressorCV,
    HuberRegressorCV,
    KernelRidgeCV,
    LinearSVCCV,
    LogisticRegressionCV,
    OrdinalLogisticCV,
    PoissonRegressorCV,
    QuantileRegressorCV,
    RidgeClassifierCV,
    RidgeCV,
    TweedieRegressorCV,
)
from hoag.optimize import Hoag

SEARCHES = (None, Hoag(max_iter=8))

PLAIN = [
    LogisticRegressionCV(),
    RidgeCV(),
    RidgeClassifierCV(),
    PoissonRegressorCV(),
    LinearSVCCV(),
]

# These have all checks, too, but those that a setting cannot change are left to `make test-all`.
# A kernel's default search looks all over the box, which takes half a second on the few rows of a
# check: it has those checks below that a search can change, with two folds, and a search of few
# steps has them all, with five.
DEARER = [
    RidgeCV(cv=5),
    RidgeClassifierCV(cv=5),
    KernelRidgeCV(search=SEARCHES[1]),
    HuberRegressorCV(),
    OrdinalLogisticCV(),
]

# What differs from one of those by its loss alone; these, and the settings at the end, are left to
# `make test-all`.
ALIKE = [
    GammaRegressorCV(),
    TweedieRegressorCV(),
    QuantileRegressorCV(),
    GAMRegressorCV(),
    GAMClassifierCV(),
    KernelRidgeCV(),
]

# Many penalties take many steps, and the checks are not about where the last of them ends.
STEPS = 20

OTHERS = [
    *(
        LogisticRegressionCV(penalties=penalties, search=search, max_iter=STEPS)
        for penalties, search in product(
            ("shared", "per-class", "per-feature", "per-coefficient"), SEARCHES
        )
        if (penalties, search) != ("shared", None)
    ),
    *(
        RidgeCV(penalties=penalties, search=search, cv=cv, max_iter=STEPS)
        for penalties, cv, search in product(
            ("shared", "per-target", "per-feature", "per-coefficient"), (None, 5), SEARCHES
        )
        if (penalties, search) != ("shared", None)
    ),
    *(
        KernelRidgeCV(widths=widths, search=search, max_iter=STEPS, cv=2)
        for widths, search in product(("shared", "per-feature"), SEARCHES)
        if (widths, search) != ("shared", SEARCHES[1])
    ),
    *(
        RidgeClassifierCV(penalties=penalties, cv=cv, max_iter=STEPS)
        for penalties, cv in product(("per-class", "per-feature", "per-coefficient"), (None, 5))
    ),
    PoissonRegressorCV(penalties="per-feature", max_iter=STEPS),
    LogisticRegressionCV(criterion="brier"),
    RidgeCV(cv="gcv"),
    RidgeCV(criterion="huber"),
    RidgeCV(criterion="huber", cv=5),
    RidgeCV(standardize=True, cv=5),
    LogisticRegressionCV(standardize=True, penalties="per-class", max_iter=STEPS),
    RidgeClassifierCV(criterion="huber", class_weight="balanced"),
    KernelRidgeCV(criterion="huber", cv=2),
]

LONGER = [
    *(
        kind(penalties="per-feature", max_iter=STEPS)
        for kind in (HuberRegressorCV, LinearSVCCV, OrdinalLogisticCV)
    ),
    TweedieRegressorCV(power=3),
]

# What a setting of the criterion, the penalties or the search can change: how rows, weights and
# columns become penalties, groups and folds; what is solved for; what fit leaves behind. All the
# rest is done before any of them is looked at (reading X, y, weights and formats, refusing them),
# or after (prediction from the coefficients), or does not fit at all (tags, parameters, clones).
DIFFERING = {
    # weights, and rows repeated in their place
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sample_weights_pandas_series",
    # sparse rows; the other formats are made csr before
    "check_estimator_sparse_tag",
    # numbers of all types
    "check_estimators_dtypes",
    # one column, several targets and classes
    "check_fit2d_1feature",
    "check_regressor_multioutput",
    "check_classifiers_classes",
    # what fit leaves: n_features_in_, n_iter_, parameters as they were, a pickle, the same again
    "check_n_features_in",
    "check_non_transformer_estimators_n_iter",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit_idempotent",
}

# Those of them that are not about how numbers are given or what is left behind, which the quicker
# settings tell: the dearer ones leave the rest to `make test-all`.
BRIEF = {
    "check_sample_weight_equivalence_on_sparse_data",
    "check_estimator_sparse_tag",
    "check_fit2d_1feature",
    "check_regressor_multioutput",
    "check_classifiers_classes",
    "check_n_features_in",
}


def name_of(check):
    """check_…, of a function that may be wrapped in functools.partial."""
    return name_of(check.func) if hasattr(check, "func") else check.__name__


def shown(estimator):
    return " ".join(repr(estimator).split())


def _quick(estimator):
    """The checks of a setting that `make test` runs."""
    if estimator in LONGER or isinstance(estimator, PoissonRegressorCV):
        return set()
    if isinstance(estimator, KernelRidgeCV):
        return BRIEF if estimator.search is None else DIFFERING
    if estimator.search is not None:  # the paper's
        return set()
    many = estimator.penalties in ("per-feature", "per-coefficient")
    dearer = not isinstance(estimator, (RidgeCV, RidgeClassifierCV)) or estimator.cv is not None
    return BRIEF if many and dearer else DIFFERING


def _parameter(estimator, check, quick):
    with_what = "".join(f"-{name}={value}" for name, value in check.keywords.items())
    return pytest.param(
        *(estimator, check),
        id=f"{shown(estimator)}-{name_of(check)}{with_what}",
        marks=[] if quick else [pytest.mark.slow],
    )


CHOSEN = [
    _parameter(estimator, check, name_of(check) in _quick(other))
    for other in [*OTHERS, *LONGER]
    for estimator, check in estimator_checks_generator(other)
    # keywords: the same check once more, on read-only memory or in float32
    if name_of(check) in DIFFERING and not check.keywords
    # which scikit-learn 1.6 runs on all
    if "on_sparse_data" not in name_of(check) or get_tags(other).input_tags.sparse
]

ALL_OF_DEARER = [
    _parameter(estimator, check, name_of(check) in DIFFERING and not check.keywords)
    for dearer in DEARER
    for estimator, check in estimator_checks_generator(dearer)
]


@contextmanager
def without_convergence_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# The checks' data are tiny and random; that a bound is reached there is no news.
@pytest.mark.filterwarnings("default::UserWarning")
@parametrize_with_checks(PLAIN)
def test_every_check_on_the_estimators_as_people_construct_them(estimator, check):
    _every_check(estimator, check)


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize(("estimator", "check"), ALL_OF_DEARER)
def test_every_check_on_those_that_take_longer(estimator, check):
    _every_check(estimator, check)


def _every_check(estimator, check):
    with without_convergence_warnings():
        check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("default::UserWarning")
@parametrize_with_checks(ALIKE)
def test_every_check_on_those_that_differ_by_their_loss(estimator, check):
    curves = isinstance(estimator, (GAMClassifierCV, GAMRegressorCV))
    if curves and name_of(check) == "check_sample_weight_equivalence_on_dense_data":
        pytest.skip("the marginal likelihood counts rows, and takes weights with mean 1")
    with without_convergence_warnings():
        check(estimator)


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize(("estimator", "check"), CHOSEN)
def test_those_checks_that_a_setting_can_change(estimator, check):
    with without_convergence_warnings():
        check(estimator)


# Not among those that scikit-learn hands out.
@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [*PLAIN, *DEARER, *ALIKE, *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)],
    ids=shown,
)
def test_the_names_of_a_frames_columns(estimator):
    with without_convergence_warnings():
        check_dataframe_column_names_consistency(type(estimator).__name__, estimator)


def test_every_check_that_is_chosen_exists():
    """A name that scikit-learn changes would drop out without a word."""
    known = {name_of(check) for plain in PLAIN for _, check in estimator_checks_generator(plain)}
    assert known >= DIFFERING
