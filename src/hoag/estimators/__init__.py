"""Estimators in scikit-learn's manner, tuned by gradient.

>>> from hoag import estimators
>>> "RidgeCV" in estimators.__all__
True
"""

from hoag.estimators.kernel import KernelRidgeCV
from hoag.estimators.logistic import LogisticRegressionCV
from hoag.estimators.ridge import RidgeCV
from hoag.estimators.ridge_classifier import RidgeClassifierCV

__all__ = ["KernelRidgeCV", "LogisticRegressionCV", "RidgeCV", "RidgeClassifierCV"]
