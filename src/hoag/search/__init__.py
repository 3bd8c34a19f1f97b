"""Searches: each minimises a criterion over a domain and returns a result.

>>> import hoag
>>> from sklearn.datasets import load_diabetes
>>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
>>> for search in (hoag.search.Fast(), hoag.search.Grid(9)):
...     print(f"{hoag.minimize(folds, search=search).lam[0]:.2f}")
-0.75
0.00
"""

from hoag.search.asks import Journal, Look, Note
from hoag.search.base import Search
from hoag.search.bayes import Bayes
from hoag.search.blackbox import Grid, Random
from hoag.search.fast import Fast
from hoag.search.growing import Growing
from hoag.search.hoag import Hoag
from hoag.search.run import Run
from hoag.search.steps import Adaptive, Constant
from hoag.search.tpe import TPE

__all__ = [
    "TPE",
    "Adaptive",
    "Bayes",
    "Constant",
    "Fast",
    "Grid",
    "Growing",
    "Hoag",
    "Journal",
    "Look",
    "Note",
    "Random",
    "Run",
    "Search",
]
