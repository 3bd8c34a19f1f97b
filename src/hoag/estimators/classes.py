"""What the classifiers share: weights by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_class_weight

from hoag.values import Array, InvalidInput


def class_weights(
    class_weight: Any, classes: npt.NDArray[Any], y: npt.NDArray[Any], weights: Array
) -> Array:
    """What the weight of each row is multiplied by: that of its class.

    "balanced" makes the weights of all classes that have any sum to the same, so that a row of
    weight two counts as two rows.
    """
    if class_weight is None:
        return np.ones(len(y))
    codes = np.searchsorted(classes, y)
    if isinstance(class_weight, str) and class_weight == "balanced":
        sums = np.bincount(codes, weights=weights, minlength=len(classes))
        with np.errstate(divide="ignore"):
            each = np.where(sums > 0, weights.sum() / (np.sum(sums > 0) * sums), 0.0)
        return np.asarray(each[codes])
    each = compute_class_weight(class_weight, classes=classes, y=y)
    if not np.all(np.isfinite(each) & (each >= 0)):
        raise InvalidInput("class_weight must be finite numbers, none of them negative.")
    return np.asarray(each[codes])
