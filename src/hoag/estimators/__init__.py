"""Estimators in scikit-learn's manner, tuned by gradient.

>>> from hoag import estimators
>>> [name for name in estimators.__all__ if "Ridge" in name]
['KernelRidgeCV', 'RidgeCV']
"""

from hoag.estimators.kernel import KernelRidgeCV
from hoag.estimators.logistic import LogisticRegressionCV
from hoag.estimators.ridge import RidgeCV

__all__ = ["KernelRidgeCV", "LogisticRegressionCV", "RidgeCV"]
