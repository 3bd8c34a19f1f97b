"""Models that fit more than slopes and one intercept: thresholds of classes, a spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._glm.groups import Penalties
from hoag._glm.losses import Ordinal
from hoag._glm.make import hold_out
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty
from hoag._glm.targets import labels, numbers, ordered, robust


def ordinal(
    A: Any,
    y: Any,
    A_test: Any,
    y_test: Any,
    *,
    penalties: Penalties | Penalty = "shared",
    sample_weight: Any = None,
    test_weight: Any = None,
    classes: Any = None,
    unit: float | None = None,
) -> LinearModel:
    """h = −Σᵢ sᵢ log P(yᵢ) + ½ Σⱼ exp(λ[group(j)]) wⱼ²,  P(y > k) = σ(aᵢᵀw + level_k).

    The classes are in the order of their values, three or more; x holds w and then one level for
    each threshold between two of them, counted from what the shares of the classes give
    (`problem.train.loss.cuts`). Arguments as in `logistic`.

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grades = (y > 100) + 1 * (y > 200)
    >>> problem = hoag.models.ordinal(X[:300], grades[:300], X[300:], grades[300:])
    >>> problem.x0.size  # ten slopes, two thresholds
    12
    """
    classes = labels(y, classes)
    train = ordered(y, classes)
    assert isinstance(train.loss, Ordinal)
    test = ordered(y_test, classes, train.loss.cuts, "y_test")
    return hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)


def huber(
    A: Any,
    y: Any,
    A_test: Any,
    y_test: Any,
    *,
    delta: float = 1.35,
    penalties: Penalties | Penalty = "shared",
    intercept: bool = False,
    sample_weight: Any = None,
    test_weight: Any = None,
    unit: float | None = None,
) -> LinearModel:
    """h = ½ Σᵢ sᵢ (σ + σ H(rᵢ/σ)) + ½ Σⱼ exp(λ[group(j)]) wⱼ²,  rᵢ = aᵢᵀw − yᵢ.

    H(u) is u² up to |u| = delta and linear beyond; the spread σ is fitted, too, and last in x,
    counted from the spread of y. exp(λ) is the alpha of scikit-learn's HuberRegressor, delta its
    epsilon. Arguments as in `logistic`.

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.huber(X[:300], y[:300], X[300:], y[300:], intercept=True)
    >>> problem.x0.size  # ten slopes, an intercept, the spread
    12
    """
    start = float(np.std(numbers(y, "y"))) or 1.0
    train = robust(y, delta, start, intercept)
    test = robust(y_test, delta, start, intercept, "y_test")
    return hold_out((A, train, sample_weight), (A_test, test, test_weight), penalties, unit)
