"""What a model cannot learn from, as a sentence that names the file and the row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hoag.far.raw import Raw
from hoag.values import InvalidInput


def check(raw: Raw, gaps: bool = False, target: bool = True) -> None:
    """An error for numbers that are not finite, and for a y that is missing.

    With `gaps` a number may be missing, nan. A sum is looked at first: it is finite if all are.
    """
    if raw.X is not None:
        _check_numbers(raw, gaps)
    if target and (bad := _first_bad(raw.y)) is not None:
        raise InvalidInput(
            f"y is {raw.y[bad]} in {raw.where.row(bad)}: leave such rows out, for there is nothing "
            "to learn from them."
        )
    if raw.weight is not None:
        wrong = ~(np.isfinite(raw.weight) & (raw.weight >= 0))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidInput(
                f"The weight is {raw.weight[row]:g} in {raw.where.row(row)}: weights are finite "
                "numbers, 0 or above."
            )


def _check_numbers(raw: Raw, gaps: bool) -> None:
    values: Any = raw.X.data if sparse.issparse(raw.X) else raw.X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = np.isinf(values) if gaps else ~np.isfinite(values)
    if not bad.any():
        return
    at = int(np.argmax(bad))  # in the order of rows, flattened
    if sparse.issparse(raw.X):
        row = int(np.searchsorted(raw.X.indptr, at, side="right")) - 1
        column, value = int(raw.X.indices[at]), values[at]
    else:
        row, column = divmod(at, values.shape[1])
        value = values[row, column]
    raise InvalidInput(
        f"X is {value} in {raw.where.row(row)}, column {column}: correct it, or leave the row out."
        + ("" if gaps or np.isinf(value) else " Only in tables are missing numbers filled.")
    )


def _first_bad(y: Any) -> int | None:
    """The first row whose y is missing or not finite."""
    if y.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(y.sum()):
                return None
        bad = ~np.isfinite(y)
    elif y.dtype.kind == "O":
        bad = np.array([value is None or value != value for value in y.ravel()]).reshape(y.shape)
    else:
        return None
    return int(np.argmax(bad.any(axis=1) if bad.ndim > 1 else bad)) if bad.any() else None
