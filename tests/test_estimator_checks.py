"""scikit-learn's own checks, for every search and every setting of the penalties."""

from __future__ import annotations

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from hoag import KernelRidgeCV, LogisticRegressionCV, RidgeCV
from hoag.search import Hoag

SEARCHES = (None, Hoag(max_iter=8))

# Many penalties take many steps, and the checks are not about where the last of them ends.
STEPS = 20

ESTIMATORS = [
    *(
        LogisticRegressionCV(penalties=penalties, search=search, max_iter=STEPS)
        for penalties in ("shared", "per-class", "per-feature", "per-coefficient")
        for search in SEARCHES
    ),
    *(
        RidgeCV(penalties=penalties, search=search, cv=cv, max_iter=STEPS)
        for penalties in ("shared", "per-target", "per-feature", "per-coefficient")
        for cv in (None, 5)
        for search in SEARCHES
    ),
    *(
        KernelRidgeCV(widths=widths, search=search, max_iter=STEPS)
        for widths in ("shared", "per-feature")
        for search in SEARCHES
    ),
    LogisticRegressionCV(),
    RidgeCV(),
    KernelRidgeCV(),
    LogisticRegressionCV(criterion="brier"),
    RidgeCV(cv="gcv"),
    RidgeCV(criterion="huber"),
    KernelRidgeCV(criterion="huber"),
]


# The checks' data are tiny and random; that a bound is reached there is no news.
@pytest.mark.filterwarnings("default::UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
