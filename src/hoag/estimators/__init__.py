"""Estimators in scikit-learn's manner, tuned by gradient.

>>> from hoag import estimators
>>> "RidgeCV" in estimators.__all__
True
"""

from hoag.estimators.concordance import concordance
from hoag.estimators.cox import CoxRegressionCV
from hoag.estimators.gam import GAMClassifierCV, GAMRegressorCV
from hoag.estimators.gamma import GammaRegressorCV
from hoag.estimators.huber import HuberRegressorCV
from hoag.estimators.kernel import KernelRidgeCV
from hoag.estimators.linear_svc import LinearSVCCV
from hoag.estimators.logistic import LogisticRegressionCV
from hoag.estimators.ordinal import OrdinalLogisticCV
from hoag.estimators.poisson import PoissonRegressorCV
from hoag.estimators.quantile import QuantileRegressorCV
from hoag.estimators.ridge import RidgeCV
from hoag.estimators.ridge_classifier import RidgeClassifierCV
from hoag.estimators.tweedie import TweedieRegressorCV

__all__ = [
    "CoxRegressionCV",
    "GAMClassifierCV",
    "GAMRegressorCV",
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
