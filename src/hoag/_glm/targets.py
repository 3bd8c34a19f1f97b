"""y as a model reads it: encoded, with the losses that go with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from hoag._core.errors import InvalidDataError, check_given
from hoag._core.numeric import Array
from hoag._glm.losses import (
    ConcomitantHuber,
    Logistic,
    LogLink,
    Loss,
    Multinomial,
    Offset,
    Ordinal,
    OuterLoss,
    Squared,
)
from hoag._glm.losses.ordinal import cuts
from hoag._glm.rows import Rows
from hoag._glm.term import Charge, DataTerm, Predictor
from hoag._linalg.orthogonal import summing_to_zero

# The weights of the rows of a split, and where what they cost is written.
Part = tuple[Array, Charge]


@dataclass(frozen=True, eq=False)
class Target:
    """Encoded y, the loss that fits it and the loss that judges held-out rows.

    Parameters
    ----------
    y : array of shape (n,) or (n, K)
        y as the losses take it.
    loss : Loss
        Of the training rows.
    outer : Loss
        Of the held-out rows.
    outputs : int
        How many numbers are predicted for each row.
    basis : array, default=None
        Q, the basis of the intercepts; None without them.
    classes : array, default=None
        The labels; None for a regression.
    spread : array, default=None
        M, from slopes to outputs; None where slopes are those of the outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag._glm.targets import binary
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
    spread: Array | None = None

    def design(self, rows: Rows) -> Predictor:
        """The way from x to z on some rows."""
        return Predictor(rows, self.outputs, self.basis, self.spread)

    @property
    def offset(self) -> Any:
        """What is added to z beside A x."""
        return self.loss.offset(self.y)

    def missing(self, weights: Array) -> npt.NDArray[Any]:
        """The classes that have no row of positive weight."""
        if self.classes is None:
            return np.empty(0)
        present = np.bincount(self._codes, weights=weights, minlength=len(self.classes))
        return np.asarray(self.classes[present == 0])

    def of_class(self, some: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which rows belong to one of these classes."""
        return np.asarray(np.isin(np.asarray(self.classes), some)[self._codes])

    def terms(self, rows: Rows, train: Part, test: Part, alone: bool) -> tuple[DataTerm, DataTerm]:
        """The data terms of h and g for a split, on rows that other splits share, or on their own.

        Where they share their rows, predictions are computed once.
        """
        design, found = self.design(rows), []
        for loss, (weights, charge) in ((self.loss, train), (self.outer, test)):
            y, own = self.y, design
            if alone:
                kept = np.flatnonzero(weights > 0)
                y, weights, own = y[kept], weights[kept], self.design(rows.take(kept))
            found.append(DataTerm(own, loss, y, weights, charge))
        return found[0], found[1]

    @property
    def _codes(self) -> npt.NDArray[np.intp]:
        signs = self.outputs == 1 and self.spread is None
        return (self.y > 0 if signs else self.y).astype(np.intp)


def binary(y: Any, classes: Any = None, intercept: bool = False, name: str = "y") -> Target:
    """Labels as signs; the larger one is the positive class."""
    classes = labels(y, classes)
    if len(classes) != 2:
        hint = (
            "Use multinomial() for more."
            if len(classes) > 2
            else "Name both with classes=[...] if these rows happen to show only one."
        )
        raise InvalidDataError(
            f"The binary model needs two classes; the labels have {len(classes)}.\n{hint}",
            parameter="y",
        )
    signs = np.asarray(2.0 * _codes(y, classes, name) - 1.0, dtype=np.float64)
    return Target(signs, Logistic(), Logistic(), 1, np.eye(1) if intercept else None, classes)


def multiclass(y: Any, classes: Any = None, intercept: bool = False, name: str = "y") -> Target:
    """Labels as class numbers."""
    classes = labels(y, classes)
    K = len(classes)
    if K < 2:
        raise InvalidDataError(
            "The multinomial model needs at least two classes; y has one.", parameter="y"
        )
    basis = summing_to_zero(K) if intercept else None
    return Target(_codes(y, classes, name), Multinomial(), Multinomial(), K, basis, classes)


def regression(y: Any, intercept: bool = False, name: str = "y") -> Target:
    """One or several real targets; ½ squares in h, squares in g."""
    y = numbers(y, name)
    outputs = 1 if y.ndim == 1 else y.shape[1]
    basis = np.eye(outputs) if intercept else None
    return Target(y, Squared(0.5), Squared(1.0), outputs, basis)


def plain(y: Any, loss: Loss, outer: OuterLoss, intercept: bool, name: str = "y") -> Target:
    """One number for each row, as a loss of somebody's own takes it."""
    return Target(flat(y, name), loss, outer, 1, np.eye(1) if intercept else None)


def positive_mean(
    y: Any, loss: LogLink, outer: OuterLoss, intercept: bool, offset: Any = None, name: str = "y"
) -> Target:
    """Counts, costs, …: y with a mean exp(z), or exp(z + offset)."""
    if len(y):  # of no rows nothing is wrong
        y = flat(y, name)
        refuse(y, loss.accepts(y), name, loss.takes)
    basis = np.eye(1) if intercept else None
    if offset is None:
        return Target(y, loss, outer, 1, basis)
    shift = flat(offset, "offset")
    if shift.size != y.size:
        raise InvalidDataError(
            f"offset has {shift.size} numbers; there are {y.size} rows.", parameter="offset"
        )
    fits = Offset(loss)
    judges = fits if outer is loss else Offset(cast(Loss, outer))
    return Target(np.column_stack([y, shift]), fits, judges, 1, basis)


def ordered(y: Any, classes: Any = None, like: Array | None = None, name: str = "y") -> Target:
    """Labels as class numbers, in the order of their values, with a threshold between each two.

    `like` are the cuts that thresholds are counted from; by default from the shares of the classes.
    """
    classes = labels(y, classes)
    if len(classes) < 3:
        raise InvalidDataError(
            f"Ordered classes are three or more; y has {len(classes)}. Two are logistic "
            "regression.",
            parameter="y",
        )
    codes = _codes(y, classes, name)
    if like is None:
        # A class that no row shows takes part with half a row: cuts have to differ.
        counts = np.bincount(codes, minlength=len(classes))
        like = cuts(np.maximum(counts, 0.5))
    loss = Ordinal(like)
    levels = len(classes) - 1
    return Target(codes, loss, loss, 1, np.eye(levels), classes, np.ones((1, levels)))


def robust(
    y: Any,
    delta: float = 1.35,
    start: float | None = None,
    intercept: bool = False,
    name: str = "y",
) -> Target:
    """A number for each row, its residuals of an unknown spread.

    It is counted from `start`: by default the spread of y.
    """
    y = flat(y, name) if len(y) else y
    start = float(np.std(y)) or 1.0 if start is None else start
    basis = np.eye(2) if intercept else np.eye(2)[:, 1:]
    fit, judge = (ConcomitantHuber(delta, start, scale) for scale in (0.5, 1.0))
    return Target(y, fit, judge, 1, basis, None, np.array([[1.0, 0.0]]))


def refuse(y: Array, good: npt.NDArray[np.bool_], name: str, takes: str) -> None:
    """Say which row is the first that a model cannot take, if there is one."""
    bad = np.flatnonzero(~good)
    if bad.size:
        more = f" (and {bad.size - 1} more)" if bad.size > 1 else ""
        raise InvalidDataError(
            f"{name} is {y[bad[0]]:.6g} in row {bad[0]}{more}; this model is for {takes}.",
            f"row {bad[0]}",
            parameter=name,
        )


def flat(y: Any, name: str) -> Array:
    """One number for each row."""
    y = numbers(y, name)
    if y.ndim != 1:
        raise InvalidDataError(
            f"{name} has shape {y.shape}; this loss takes one number for each row.", parameter=name
        )
    return np.asarray(y)


def numbers(y: Any, name: str) -> Array:
    check_given(**{name: y})
    checked = check_array(np.asarray(y), ensure_2d=False, dtype=np.float64, input_name=name)
    return np.asarray(checked[:, 0] if checked.ndim == 2 and checked.shape[1] == 1 else checked)


def labels(y: Any, classes: Any) -> npt.NDArray[Any]:
    """The classes in order: those given, or those that y shows."""
    found = np.asarray(y if classes is None else classes)
    if found.dtype.kind == "f" and not np.all(np.isfinite(found)):
        raise InvalidDataError("The labels hold a NaN or an infinity.", parameter="y")
    return np.unique(found)


def _codes(y: Any, classes: npt.NDArray[Any], name: str) -> npt.NDArray[np.intp]:
    check_given(**{name: y})
    y = np.asarray(y)
    if y.ndim != 1:
        raise InvalidDataError(
            f"{name} has shape {y.shape}; labels are a flat array.", parameter=name
        )
    codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    unknown = classes[codes] != y
    if np.any(unknown):
        raise InvalidDataError(
            f"{name} has the label {y[unknown][0]!r}, which is not among the classes "
            f"{np.array2string(classes, threshold=6)}.",
            parameter=name,
        )
    return np.asarray(codes)
