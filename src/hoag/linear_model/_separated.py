"""Coefficients that only their penalty holds: of columns whose rows all have the same outcome."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.numeric import Array
from hoag._core.words import listed
from hoag.linear_model._path import MUCH


def separated(
    X: Any, outcomes: npt.NDArray[np.bool_], never: bool, coef: Array, names: Any = None
) -> str:
    """Which columns are all that tells some outcome, and move its odds e^MUCH times or more.

    outcomes   what may happen in every row, (n, K), such as each of the classes
    never      whether only an outcome that never happens lets coefficients run away
    coef       (K, p)

    A column that is 0 but for some rows, or least but for some, shows them; where an outcome is
    that of all of these, or of none, the loss falls for ever as the coefficient grows.
    """
    size = np.abs(coef) * _ranges(X)
    far, found = np.flatnonzero(np.any(size >= MUCH, axis=0)), []
    far = far[np.argsort(-size[:, far].max(axis=0))]
    columns = sparse.csc_array(X[:, far]) if sparse.issparse(X) else X[:, far]
    for k, j in enumerate(far):
        column = columns[:, [k]].toarray()[:, 0] if sparse.issparse(X) else columns[:, k]
        least = 0.0 if np.any(column == 0.0) else column.min()
        rows = np.flatnonzero(column != least)
        if not 0 < 2 * rows.size <= column.size:
            continue
        happened = outcomes[rows].sum(axis=0)
        held = (happened == 0) if never else (happened % rows.size == 0)
        if np.any(held & (size[:, j] >= MUCH)):
            found.append(f"{names[j] if names is not None else f'column {j}'} ({rows.size} rows)")
    if not found:
        return ""
    what = "the coefficient of" if len(found) == 1 else "the coefficients of"
    return (
        f"Only the penalty holds {what} {listed(found, '{}')}: all rows in which such a column is "
        "not at its usual value have the same outcome."
    )


def _ranges(X: Any) -> Array:
    """The largest less the least value of every column; sparse rows are not copied for it."""
    if not sparse.issparse(X):
        return np.asarray(X.max(axis=0) - X.min(axis=0))
    n, p = X.shape
    some_are_0 = np.bincount(X.indices, minlength=p) < n
    high, low = np.where(some_are_0, 0.0, -np.inf), np.where(some_are_0, 0.0, np.inf)
    np.maximum.at(high, X.indices, X.data)
    np.minimum.at(low, X.indices, X.data)
    return high - low
