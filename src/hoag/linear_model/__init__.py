"""Estimators in scikit-learn's manner, tuned by gradient.

>>> from hoag import linear_model
>>> "RidgeCV" in linear_model.__all__
True
"""

from hoag.linear_model._concordance import concordance
from hoag.linear_model._cox import CoxRegressionCV
from hoag.linear_model._gamma import GammaRegressorCV
from hoag.linear_model._huber import HuberRegressorCV
from hoag.linear_model._kernel import KernelRidgeCV
from hoag.linear_model._linear_svc import LinearSVCCV
from hoag.linear_model._logistic import LogisticRegressionCV
from hoag.linear_model._ordinal import OrdinalLogisticCV
from hoag.linear_model._poisson import PoissonRegressorCV
from hoag.linear_model._quantile import QuantileRegressorCV
from hoag.linear_model._ridge import RidgeCV
from hoag.linear_model._ridge_classifier import RidgeClassifierCV
from hoag.linear_model._tweedie import TweedieRegressorCV

__all__ = [
    "CoxRegressionCV",
    "GammaRegressorCV",
    "HuberRegressorCV",
    "KernelRidgeCV",
    "LinearSVCCV",
    "LogisticRegressionCV",
    "OrdinalLogisticCV",
    "PoissonRegressorCV",
    "QuantileRegressorCV",
    "RidgeCV",
    "RidgeClassifierCV",
    "TweedieRegressorCV",
    "concordance",
]
