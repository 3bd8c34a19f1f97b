"""Estimators in scikit-learn's manner, tuned by gradient.

>>> from hoag import estimators
>>> "RidgeCV" in estimators.__all__
True
"""

from hoag.estimators.concordance import concordance
from hoag.estimators.cox import CoxRegressionCV
from hoag.estimators.kernel import KernelRidgeCV
from hoag.estimators.logistic import LogisticRegressionCV
from hoag.estimators.ridge import RidgeCV
from hoag.estimators.ridge_classifier import RidgeClassifierCV

__all__ = [
    "CoxRegressionCV",
    "KernelRidgeCV",
    "LogisticRegressionCV",
    "RidgeCV",
    "RidgeClassifierCV",
    "concordance",
]
