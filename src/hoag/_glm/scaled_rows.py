"""Rows with every column times a number of its own, without a copy of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.lens import Lens, times_columns
from hoag._glm.rows import Rows


class ScaledRows(Rows):
    """A diag(scale), by products with A:

        (A diag(s)) v = A(s·v),   (A diag(s))ᵀr = s·(Aᵀr)

    >>> import numpy as np
    >>> from hoag import glm
    >>> from hoag._glm.scaled_rows import ScaledRows
    >>> ScaledRows(glm.ArrayRows(np.eye(2)), np.array([2.0, 3.0])).dense()
    array([[2., 0.],
           [0., 3.]])
    """

    def __init__(self, rows: Rows, scale: Array) -> None:
        self.rows, self.scale = rows, scale
        self.shape, self.entries, self.is_sparse = rows.shape, rows.entries, rows.is_sparse

    @property
    def lens(self) -> Lens:  # type: ignore[override]
        inner = self.rows.lens
        return Lens(inner.mean, inner.scale * self.scale, inner.exact)

    def take(self, numbers: npt.NDArray[np.intp]) -> ScaledRows:
        return ScaledRows(self.rows.take(numbers), self.scale)

    def kept(self) -> Iterator[tuple[slice, Any]]:
        return self.rows.kept()

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        for some, block in self.rows.blocks():
            yield some, times_columns(block, self.scale)

    def dense_columns(self) -> Iterator[tuple[slice, Array]]:
        for columns, block in self.rows.dense_columns():
            yield columns, block * self.scale[columns]

    def forward(self, v: Array) -> Array:
        return self.rows.forward(_by_column(self.scale, v))

    def backward(self, r: Array) -> Array:
        return _by_column(self.scale, self.rows.backward(r))

    def gram(self, d: Array) -> Array:
        return np.asarray(self.scale[:, None] * self.rows.gram(d) * self.scale)

    def squared_backward(self, r: Array) -> Array:
        return _by_column(self.scale**2, self.rows.squared_backward(r))


def _by_column(scale: Array, v: Array) -> Array:
    """scale·v for v of shape (d,) or (d, K)."""
    return np.asarray((v.T * scale).T)
