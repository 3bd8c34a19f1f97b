"""What the classifiers share: reading labels, and weights by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from hoag.estimators.base import TunedEstimator
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


class ClassReader(TunedEstimator):
    """An estimator of one label for each row."""

    class_weight: Any
    classes_: npt.NDArray[Any]

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"A classifier needs two classes or more; y has only one class: {self.classes_[0]}."
            )
        return X, y

    def _weighted(self, y: npt.NDArray[Any], weights: Array) -> Array:
        """The weights of the rows, with those of their classes."""
        weights = weights * class_weights(self.class_weight, self.classes_, y, weights)
        if np.unique(y[weights > 0]).size < 2:
            raise InvalidInput(
                "After sample_weight and class_weight only one class has a positive weight; a "
                "classifier needs two classes or more."
            )
        return weights


def ordered_categories(y: Any) -> npt.NDArray[Any] | None:
    """The categories of a pandas Series or Categorical that has an order, in that order."""
    try:
        return np.asarray(y.dtype.categories) if y.dtype.ordered else None
    except AttributeError:  # a list, an array, or a Series of something else
        return None
