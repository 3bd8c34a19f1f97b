"""f(λ) with its hypergradient, and how wrong both may be: what searches minimise.

`hoag.plan(problems)` chooses one; here are those that one may want to choose oneself, what they are
asked, and what they answer.

>>> import hoag
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
>>> found = hoag.criteria.Implicit(problem).evaluate(0.0, 1e-6)
>>> found.grad.shape, found.error < 1e-3
((1,), True)
"""

from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.base import Criterion, Explanation, Traits
from hoag._criteria.folds import Sum
from hoag._criteria.implicit import Implicit
from hoag._criteria.unrolled import (
    Unrolled,
    UnrolledCG,
    UnrolledGradientDescent,
    UnrolledLBFGS,
)
from hoag._criteria.without_folds import without_folds

__all__ = [
    "Ask",
    "Cost",
    "Criterion",
    "Evaluation",
    "Explanation",
    "Implicit",
    "Sum",
    "Traits",
    "Unrolled",
    "UnrolledCG",
    "UnrolledGradientDescent",
    "UnrolledLBFGS",
    "without_folds",
]
