"""Searches: each minimises a criterion over a domain and returns a result.

>>> import hoag
>>> from sklearn.datasets import load_diabetes
>>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
>>> for search in (hoag.optimize.Auto(), hoag.optimize.Grid(9)):
...     print(f"{hoag.minimize(folds, search=search).lam[0]:.2f}")
-0.75
0.00
"""

from hoag._core.result import Reason, Step
from hoag.optimize._asks import Evaluate, Note
from hoag.optimize._auto import Auto
from hoag.optimize._blackbox import TPE, Bayes, Grid, Random
from hoag.optimize._growing import Growing
from hoag.optimize._hoag import Adaptive, Constant, Hoag
from hoag.optimize._journal import Journal
from hoag.optimize._run import Run, Search

__all__ = [
    "TPE",
    "Adaptive",
    "Auto",
    "Bayes",
    "Constant",
    "Evaluate",
    "Grid",
    "Growing",
    "Hoag",
    "Journal",
    "Note",
    "Random",
    "Reason",
    "Run",
    "Search",
    "Step",
]
