"""Searches: each minimises a criterion over a box and returns a result."""

from hoag.search.asks import Journal, Look, Note
from hoag.search.base import Search
from hoag.search.bayes import Bayes
from hoag.search.blackbox import Grid, Random
from hoag.search.fast import Fast
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
    "Hoag",
    "Journal",
    "Look",
    "Note",
    "Random",
    "Run",
    "Search",
]
