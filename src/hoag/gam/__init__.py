"""Additive models: terms, and formulas for people who come from mgcv.

>>> import numpy as np
>>> from hoag import GAMRegressorCV
>>> from hoag.gam import linear, smooth
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(size=(200, 2))
>>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=200)
>>> GAMRegressorCV([smooth(0), linear(1)]).fit(X, y).labels_
['s(x0)', 'x1']
"""

from hoag.gam._estimators import GAMClassifierCV, GAMRegressorCV
from hoag.gam._formula import from_formula
from hoag.gam._terms import Term, category, linear, smooth, tensor

__all__ = [
    "GAMClassifierCV",
    "GAMRegressorCV",
    "Term",
    "category",
    "from_formula",
    "linear",
    "smooth",
    "tensor",
]
