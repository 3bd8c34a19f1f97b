"""Columns as they are measured: weighted means, squares about them, and extremes.

Squares are summed about the mean of a few rows at a time, and joined as hoag._data.statistics
has it: that loses no digits, however far the columns are from 0. Of a sparse column whose mean m is
many spreads σ from 0, nearly every entry is stored: with a share q of them, m/σ ≤ √(q/(1 − q)). So
those of which most entries are stored are measured, and moved, as dense ones are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.numeric import BLOCK_ENTRIES, ROUNDING, ROUNDOFF, Array
from hoag._data.statistics import MeanSquares
from hoag._glm.lens import Lens
from hoag._glm.rows import ArrayRows

# A product with a column loses as many digits as its mean is larger than its spread, and a square
# twice as many: more than sums of many products lose anyway, where the ratio is above this.
FAR_OFF = ROUNDING / ROUNDOFF


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


class ColumnSums(NamedTuple):
    """Of every column: mean, Σᵢ sᵢ(xᵢⱼ − mean)², and its largest and smallest entry.

    Not centred, means are 0 and squares those of the entries. Of sparse columns that are mostly
    zeros, the extremes are those of the whole matrix.
    """

    mean: Array
    squares: Array
    top: Array
    bottom: Array


def columns_of(X: Any, weights: Array, centre: bool, scale: float = 1.0) -> ColumnSums:
    """Of X times a number."""
    if sparse.issparse(X):
        rows = ArrayRows(X.astype(np.float64, copy=False), scale)
        return sparse_columns(rows, weights, centre)
    return dense_columns(X, weights, centre, scale)


def dense_columns(X: Any, weights: Array, centre: bool, scale: float = 1.0) -> ColumnSums:
    """Some rows at a time, that stay in the cache; sparse ones are made arrays."""
    n, p = X.shape
    found = MeanSquares(0.0, np.zeros(p), np.zeros(p))
    top, bottom = np.full(p, -np.inf), np.full(p, np.inf)
    for start in range(0, n, height := max(64, int(BLOCK_ENTRIES / max(p, 1)))):
        A, own = X[start : start + height], weights[start : start + height]
        A = A.toarray() if sparse.issparse(A) else A
        A = A if scale == 1.0 else scale * A
        np.maximum(top, A.max(axis=0), out=top)
        np.minimum(bottom, A.min(axis=0), out=bottom)
        weight = float(own.sum())
        if weight == 0.0:
            continue
        mean = own @ A / weight if centre else np.zeros(p)
        apart = A - mean
        apart *= apart
        found = found.plus(MeanSquares(weight, mean, own @ apart))
    return ColumnSums(found.mean, found.squares, top, bottom)


def sparse_columns(rows: ArrayRows, weights: Array, centre: bool) -> ColumnSums:
    """Rows of no weight are left out."""
    if not np.all(weights > 0):
        some = np.flatnonzero(weights > 0)
        rows, weights = ArrayRows(rows.A[some], rows.scale), weights[some]
    n, p = rows.shape
    values, scale = rows.A.data, rows.scale
    top = np.full(p, scale * float(values.max(initial=0.0)) if n else -np.inf)
    bottom = np.full(p, scale * float(values.min(initial=0.0)) if n else np.inf)
    squares = rows.squared_backward(weights)
    if n == 0 or not centre:
        return ColumnSums(np.zeros(p), squares, top, bottom)
    total = float(weights.sum())
    mean = rows.backward(weights) / total
    squares = np.maximum(squares - total * mean**2, 0.0)
    filled = np.flatnonzero(2 * np.bincount(rows.A.indices, minlength=p) > n)
    if filled.size:
        dense = dense_columns(scale * rows.A[:, filled], weights, centre)
        for whole, own in zip((mean, squares, top, bottom), dense, strict=True):
            whole[filled] = own
    return ColumnSums(mean, squares, top, bottom)


def is_constant(top: Array, bottom: Array) -> npt.NDArray[np.bool_]:
    """Columns that vary by no more than rounding between these.

    Their means are not asked: sums over many rows lose more digits than that.
    """
    return top - bottom <= ROUNDING * np.maximum(np.abs(top), np.abs(bottom))


def far_from_zero(mean: Array, variances: Array) -> npt.NDArray[np.bool_]:
    """Columns whose products with each other would be lost in those of their means."""
    return mean**2 > FAR_OFF * variances


def near_zero(X: Any) -> Lens:
    """x ↦ x − mean for the columns that are far from 0."""
    n = X.shape[0]
    found = columns_of(X, np.ones(n), centre=True)
    far = far_from_zero(found.mean, found.squares / n)
    return Lens(np.where(far, found.mean, 0.0)) if np.any(far) else Lens()
