"""scikit-learn's parameters and attributes that have little to do here, and what to use instead.

Every parameter of its classes is in the signature of ours, so that a call written for them runs
with the import line changed. Some ask for nothing that is not done anyway: those values are
accepted. Any other is answered by `fit` with one sentence that says what to use. The tables below
are all there is to it; a parameter that does something is in its estimator, not here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Accepted:
    """Which values of a parameter are accepted, and what to say of any other."""

    harmless: Callable[[Any], bool]
    otherwise: str


def one_of(*values: Any) -> Callable[[Any], bool]:
    """Words, None and truth values; 1 is not True."""

    def harmless(value: Any) -> bool:
        return (value is None or isinstance(value, (str, bool))) and value in values

    return harmless


def truth(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def positive(value: Any) -> bool:
    return isinstance(value, Real) and not truth(value) and float(value) > 0


def no_l1(value: Any) -> bool:
    """l1_ratios that are all zero, or not given."""
    if value is None or isinstance(value, str):
        return value in (None, "warn")
    try:
        ratios = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return False
    return ratios.size > 0 and bool(np.all(ratios == 0))


SMOOTH = (
    "only ℓ₂ penalties, l1_ratios=(0,), are tuned here, whose models are smooth. "
    "penalties='per-feature' switches features off by large penalties of their own; for ℓ₁ itself "
    "keep scikit-learn's LogisticRegressionCV, and for no penalty at all its LogisticRegression."
)
TRUTH = "give True or False."

LOGISTIC = {
    "penalty": Accepted(one_of("l2", "deprecated"), SMOOTH),
    "l1_ratios": Accepted(no_l1, SMOOTH),
    "solver": Accepted(
        one_of("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"),
        "leave it out, or give one of scikit-learn's names: the solver is chosen from the data.",
    ),
    # the same model, whatever it is computed by
    "dual": Accepted(truth, TRUTH),
    # of liblinear, which penalises the intercept; it never is here
    "intercept_scaling": Accepted(positive, "give a positive number, or leave it out."),
    "multi_class": Accepted(
        one_of("auto", "multinomial", "deprecated"),
        "more than two classes are multinomial here; for one model a class use "
        "sklearn.multiclass.OneVsRestClassifier(LogisticRegressionCV()).",
    ),
    "use_legacy_attributes": Accepted(
        one_of(None, True, False, "warn"),
        "give True or False for attributes in scikit-learn's shapes, or None for our own.",
    ),
}

RIDGE = {
    "gcv_mode": Accepted(
        one_of(None, "auto", "svd", "eigen"),
        "leave it out, or use 'auto', 'svd' or 'eigen', which are all the same here; "
        "generalised cross-validation is cv='gcv'.",
    ),
    "alpha_per_target": Accepted(truth, TRUTH),
    "store_cv_results": Accepted(one_of(True, False, None), TRUTH),
    "store_cv_values": Accepted(
        one_of(False, "deprecated"), "its name is store_cv_results, since scikit-learn 1.5."
    ),
}

KERNEL = {
    "kernel": Accepted(
        one_of("rbf"),
        "the widths of the RBF kernel are what is tuned here. 'linear' is RidgeCV; for another "
        "kernel use RidgeCV behind sklearn.kernel_approximation.Nystroem, or GridSearchCV with "
        "KernelRidge.",
    ),
}

# Attributes that are there only when they are asked for.
PATHS = (
    "there is no grid unless one is asked for. use_legacy_attributes=False (or True) gives it over "
    "Cs in scikit-learn's shape; result_.trace has the λ that the search went through."
)
LOGISTIC_ATTRIBUTES = {
    "coefs_paths_": PATHS,
    "scores_": "give scoring= for the scores of the held-out folds at C_, by scorer; "
    "criterion_ is their loss.",
    "alphas_": "it is there where alphas= is given; Cs_ is their inverse.",
}
ONE_SCORER = "with several scorers there is no one score; scores_ has them all."
RIDGE_ATTRIBUTES = {
    "best_score_": ONE_SCORER,
    "cv_results_": "store_cv_results=True gives it, over alphas; result_.to_frame() has the steps "
    "of the search.",
    "cv_values_": "its name is cv_results_, since scikit-learn 1.5.",
}
