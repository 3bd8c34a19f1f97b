"""What the classifiers share: reading labels, and weights by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from hoag._core.errors import InvalidInput
from hoag._data.engine import Engine
from hoag.linear_model._column import Column, PartitionedColumn
from hoag.linear_model._linear import LinearEstimator
from hoag.linear_model._reading import ClassWeights


def class_weights(
    class_weight: Any, classes: npt.NDArray[Any], column: Column
) -> ClassWeights | None:
    """What weights are multiplied by: that of the row's class; None where classes have none.

    "balanced" makes the weights of all classes that have any sum to the same, so that a row of
    weight two counts as two rows. At least two classes have to be left with a positive weight.
    """
    sums = column.sums(classes)
    if class_weight is None:
        each = np.ones(len(classes))
    elif isinstance(class_weight, str) and class_weight == "balanced":
        with np.errstate(divide="ignore"):
            each = np.where(sums > 0, sums.sum() / (np.sum(sums > 0) * sums), 0.0)
    else:
        each = compute_class_weight(class_weight, classes=classes, y=classes)
        if not np.all(np.isfinite(each) & (each >= 0)):
            raise InvalidInput("class_weight must be finite numbers, none of them negative.")
    if np.sum(sums * each > 0) < 2:
        raise InvalidInput(
            "After sample_weight and class_weight only one class has a positive weight; a "
            "classifier needs two classes or more."
        )
    return None if class_weight is None else ClassWeights(classes, each)


class ClassReader(LinearEstimator):
    """An estimator of one label for each row."""

    class_weight: Any
    classes_: npt.NDArray[Any]

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, y)
        check_classification_targets(y)
        self._know(np.unique(y))
        return X, y

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        super()._know_partitions(engine, column)
        if column.nothing.ndim > 1:
            raise InvalidInput("y has several columns: give one label for each row.")
        check_classification_targets(column.classes)
        self._know(column.classes)

    def _know(self, classes: npt.NDArray[Any]) -> None:
        """Keep the classes of y."""
        if len(classes) < 2:
            raise InvalidInput(
                f"A classifier needs two classes or more; y has only one class: {classes[0]}."
            )
        self.classes_ = classes

    def _class_weights(self, column: Column) -> ClassWeights | None:
        return class_weights(self.class_weight, self.classes_, column)


def ordered_categories(y: Any) -> npt.NDArray[Any] | None:
    """The categories of a pandas Series or Categorical that has an order, in that order."""
    try:
        return np.asarray(y.dtype.categories) if y.dtype.ordered else None
    except AttributeError:  # a list, an array, or a Series of something else
        return None
