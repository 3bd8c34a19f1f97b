"""Estimators in scikit-learn's manner, tuned by gradient.

>>> from hoag import linear_model
>>> "RidgeCV" in linear_model.__all__
True
"""

from hoag.linear_model._classifiers import (
    ClassifierCV,
    LinearSVCCV,
    LogisticRegressionCV,
    OrdinalLogisticCV,
)
from hoag.linear_model._concordance import concordance
from hoag.linear_model._cox import CoxRegressionCV
from hoag.linear_model._families import Family, as_given, log_mean, moments, quantiles
from hoag.linear_model._kernel import KernelRidgeCV
from hoag.linear_model._parameters import parameters
from hoag.linear_model._path import Path
from hoag.linear_model._regressors import (
    GammaRegressorCV,
    HuberRegressorCV,
    PoissonRegressorCV,
    QuantileRegressorCV,
    RegressorCV,
    TweedieRegressorCV,
)
from hoag.linear_model._ridge import RidgeClassifierCV, RidgeCV

__all__ = [
    "ClassifierCV",
    "CoxRegressionCV",
    "Family",
    "GammaRegressorCV",
    "HuberRegressorCV",
    "KernelRidgeCV",
    "LinearSVCCV",
    "LogisticRegressionCV",
    "OrdinalLogisticCV",
    "Path",
    "PoissonRegressorCV",
    "QuantileRegressorCV",
    "RegressorCV",
    "RidgeCV",
    "RidgeClassifierCV",
    "TweedieRegressorCV",
    "as_given",
    "concordance",
    "log_mean",
    "moments",
    "parameters",
    "quantiles",
]
