"""What a model cannot learn from, as a sentence that names the file or the partition, and the row.

Rows and columns are counted from 0, as in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hoag._core.errors import InvalidDataError, InvalidInputError
from hoag._core.numeric import Array
from hoag._data.raw import Raw


class Wrong(NamedTuple):
    """What is wrong in some row, and what to do about it: two parts of a sentence."""

    what: str
    row: int
    advice: str
    column: str = ""

    def error(self, place: str) -> InvalidInputError:
        return InvalidDataError(f"{self.what} in {place}{self.column}: {self.advice}")

    def in_partition(self, i: int, first: int | None = None) -> InvalidInputError:
        """Of the i-th partition, whose first row is number `first` of all, if that is known."""
        among = "" if first is None else f" (row {first + self.row} of all)"
        return self.error(f"row {self.row} of partition {i}{among}")


def check_partitions(found: Iterable[tuple[int, Wrong | None]]) -> None:
    """An error for the first that is wrong, of (rows, what is wrong) of each partition."""
    first = 0
    for i, (rows, wrong) in enumerate(found):
        if wrong is not None:
            raise wrong.in_partition(i, first)
        first += rows


def wrong_side(y: Any, weight: Array | None) -> Wrong | None:
    return wrong_y(y) or wrong_weight(weight)


def check(
    raw: Raw, gaps: bool = False, target: bool = True, names: Sequence[str] | None = None
) -> None:
    """An error for numbers that are not finite, and for a y that is missing.

    With `gaps` a number may be missing, nan; `names` are those of the columns.
    """
    for wrong in (
        None if raw.X is None else wrong_number(raw.X, names, gaps),
        wrong_y(raw.y) if target else None,
        wrong_weight(raw.weight),
    ):
        if wrong is not None:
            raise wrong.error(raw.where.row(wrong.row))


def wrong_number(
    X: Any, names: Sequence[str] | None = None, gaps: bool = False, fill: bool = True
) -> Wrong | None:
    """The first entry of X that is not finite.

    `fill`: say where missing numbers would be filled.
    """
    values: Any = X.data if sparse.issparse(X) else X
    if _sum_is_finite(values):
        return None
    bad = np.isinf(values) if gaps else ~np.isfinite(values)
    if not bad.any():
        return None
    at = int(np.argmax(bad))  # in the order of rows, flattened
    if sparse.issparse(X):
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        column, value = int(X.indices[at]), values[at]
    else:
        row, column = divmod(at, values.shape[1])
        value = values[row, column]
    called = "" if names is None else f" ('{names[column]}')"
    filled = " Only in tables are missing numbers filled." if fill and np.isnan(value) else ""
    advice = f"correct it, or leave the row out.{filled}"
    return Wrong(f"X is {value}", row, advice, f", column {column}{called}")


def _sum_is_finite(values: Any) -> bool:
    """It is only if all are."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)))


def wrong_y(y: Any) -> Wrong | None:
    """The first row whose y is missing or not finite."""
    if y.dtype.kind not in "fO" or (y.dtype.kind == "f" and _sum_is_finite(y)):
        return None
    if y.dtype.kind == "f":
        bad = ~np.isfinite(y)
    else:
        bad = np.array([value is None or value != value for value in y.ravel()]).reshape(y.shape)
    if not bad.any():
        return None
    row = int(np.argmax(bad.any(axis=1) if bad.ndim > 1 else bad))
    advice = "leave such rows out, for there is nothing to learn from them."
    return Wrong(f"y is {y[row]}", row, advice)


def wrong_weight(weight: Array | None) -> Wrong | None:
    """The first weight that is negative or not finite."""
    if weight is None:
        return None
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if not bad.any():
        return None
    row = int(np.argmax(bad))
    return Wrong(f"The weight is {weight[row]:g}", row, "weights are finite numbers, 0 or above.")


def not_a_number(X: Any) -> tuple[str, Any] | None:
    """The first column with a value that is no number, as people call it, and that value."""
    if sparse.issparse(X):
        return None
    names = list(X.columns) if "columns" in dir(X) else None
    rows = np.asarray(X, dtype=object)
    for j, column in enumerate(rows.T if rows.ndim == 2 else ()):
        for value in column:
            if isinstance(value, (int, float)) or value is None:
                continue
            try:
                float(value)
            except (TypeError, ValueError):
                return (f"column {j}" if names is None else f"column {names[j]!r}"), value
    return None
