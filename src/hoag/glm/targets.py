"""y as a model reads it: encoded, with the losses that go with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from sklearn.utils import check_array

from hoag.glm.losses import Logistic, Loss, Multinomial, OuterLoss, Squared
from hoag.values import Array, InvalidInput


@dataclass(frozen=True, eq=False)
class Target:
    """Encoded y, the loss that fits it and the loss that judges held-out rows.

    `basis` is the Q of `Rows`, None without an intercept; `classes` is None for a regression.

    >>> import numpy as np
    >>> from hoag.glm.targets import binary
    >>> target = binary(["no", "yes"], np.array(["no", "yes"]), intercept=False)
    >>> target.y, target.outputs
    (array([-1.,  1.]), 1)
    """

    y: npt.NDArray[Any]
    loss: Loss
    outer: OuterLoss
    outputs: int
    basis: Array | None
    classes: npt.NDArray[Any] | None = None

    def missing(self, weights: Array) -> npt.NDArray[Any]:
        """The classes that have no row of positive weight."""
        if self.classes is None:
            return np.empty(0)
        present = np.bincount(self._codes, weights=weights, minlength=len(self.classes))
        return np.asarray(self.classes[present == 0])

    def of_class(self, some: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which rows belong to one of these classes."""
        return np.asarray(np.isin(np.asarray(self.classes), some)[self._codes])

    def terms(self, design: Any, inside: Array, outside: Array, passes: Any, held_out: Any) -> Any:
        """The data terms of h and g for the weights of a split; None: a loss for each row."""
        return None

    @property
    def _codes(self) -> npt.NDArray[np.intp]:
        return (self.y > 0 if self.outputs == 1 else self.y).astype(np.intp)


def binary(y: Any, classes: Any, intercept: bool, name: str = "y") -> Target:
    """Labels as signs; the larger one is the positive class."""
    classes = labels(y, classes)
    if len(classes) != 2:
        raise InvalidInput(
            f"The binary model needs two classes; the labels have {len(classes)}. "
            + (
                "Use multinomial() for more."
                if len(classes) > 2
                else "Name both with classes=[...] if these rows happen to show only one."
            )
        )
    signs = np.asarray(2.0 * _codes(y, classes, name) - 1.0, dtype=np.float64)
    return Target(signs, Logistic(), Logistic(), 1, np.eye(1) if intercept else None, classes)


def multiclass(y: Any, classes: Any, intercept: bool, name: str = "y") -> Target:
    """Labels as class numbers."""
    classes = labels(y, classes)
    K = len(classes)
    if K < 2:
        raise InvalidInput("The multinomial model needs at least two classes; y has one.")
    basis = null_space(np.ones((1, K))) if intercept else None
    return Target(_codes(y, classes, name), Multinomial(), Multinomial(), K, basis, classes)


def regression(y: Any, intercept: bool, name: str = "y") -> Target:
    """One or several real targets; ½ squares in h, squares in g."""
    y = numbers(y, name)
    outputs = 1 if y.ndim == 1 else y.shape[1]
    basis = np.eye(outputs) if intercept else None
    return Target(y, Squared(0.5), Squared(1.0), outputs, basis)


def numbers(y: Any, name: str) -> Array:
    checked = check_array(np.asarray(y), ensure_2d=False, dtype=np.float64, input_name=name)
    return np.asarray(checked[:, 0] if checked.ndim == 2 and checked.shape[1] == 1 else checked)


def labels(y: Any, classes: Any) -> npt.NDArray[Any]:
    """The classes in order: those given, or those that y shows."""
    found = np.asarray(y if classes is None else classes)
    if found.dtype.kind == "f" and not np.all(np.isfinite(found)):
        raise InvalidInput("The labels hold a NaN or an infinity.")
    return np.unique(found)


def _codes(y: Any, classes: npt.NDArray[Any], name: str) -> npt.NDArray[np.intp]:
    y = np.asarray(y)
    if y.ndim != 1:
        raise InvalidInput(f"{name} has shape {y.shape}; labels are a flat array.")
    codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    unknown = classes[codes] != y
    if np.any(unknown):
        raise InvalidInput(
            f"{name} has the label {y[unknown][0]!r}, which is not among the classes "
            f"{np.array2string(classes, threshold=6)}."
        )
    return np.asarray(codes)
