"""Estimators in scikit-learn's manner, tuned by gradient."""

from hoag.estimators.kernel import KernelRidgeCV
from hoag.estimators.linear import LogisticRegressionCV, RidgeCV

__all__ = ["KernelRidgeCV", "LogisticRegressionCV", "RidgeCV"]
