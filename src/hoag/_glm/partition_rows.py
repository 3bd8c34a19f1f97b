"""Rows of a partition, seen through a lens some at a time, and all rows of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.numeric import Array
from hoag._data.engine import Engine
from hoag._glm.lens import PLAIN, Lens
from hoag._glm.rows import ArrayRows, Rows
from hoag._glm.scaled_rows import ScaledRows

# So many entries of rows are multiplied at a time: they are in a cache when they are multiplied
# again, and so many that losses of few rows do not have threads wait for each other.
ENTRIES = 1e6


class SeenRows(Rows):
    """A dense partition through a lens: X stays as it is, in single precision if it was so."""

    def __init__(self, X: Any, lens: Lens) -> None:
        self.X, self._lens = X, lens
        self.shape, self.entries = X.shape, int(X.size)
        self.lens = PLAIN if lens.exact else lens

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        for some, X in self._slices():
            yield some, self._lens.of(X)

    def kept(self) -> Iterator[tuple[slice, Any]]:
        return self.blocks() if self.lens is PLAIN else self._slices()

    def _slices(self) -> Iterator[tuple[slice, Any]]:
        n = self.shape[0]
        height = max(1, int(ENTRIES / max(self.shape[1], 1)))
        for start in range(0, n, height):
            some = slice(start, min(start + height, n))
            yield some, self.X[some]

    def take(self, numbers: npt.NDArray[np.intp]) -> ArrayRows:
        return ArrayRows(self._lens.of(self.X[numbers]))


def seen(X: Any, lens: Lens) -> Rows:
    """Rows that are kept as X is; sparse ones are copied where columns of them are moved."""
    if not sparse.issparse(X):
        return SeenRows(X, lens)
    if lens.mean is not None:
        return ArrayRows(lens.of(X))
    X = X.astype(np.float64, copy=False)
    if isinstance(lens.scale, np.ndarray):
        return ScaledRows(ArrayRows(X), lens.scale)
    return ArrayRows(X, float(lens.scale))


class PartitionedRows(Rows):
    """The rows of all partitions of an engine: every product with them is a pass over the data.

    `prepare` makes designs of partitions.
    """

    def __init__(self, engine: Engine, prepare: Any, n: int, entries: int, is_sparse: bool) -> None:
        self.engine, self.prepare = engine, prepare
        self.shape, self.entries, self.is_sparse = (n, engine.features), entries, is_sparse

    def _each(self, call: Callable[[Rows], Any]) -> Iterator[Any]:
        return self.engine.each(OfRows(call), self.prepare)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        first = 0
        for A in self._each(_matrix):
            yield slice(first, first + A.shape[0]), A
            first += A.shape[0]

    def forward(self, v: Array) -> Array:
        return np.concatenate(list(self._each(partial(_forward, v=v))))

    def take(self, numbers: npt.NDArray[np.intp]) -> ArrayRows:
        found, places = list[Any](), list[npt.NDArray[np.intp]]()
        for some, A in self.blocks():
            inside = np.flatnonzero((numbers >= some.start) & (numbers < some.stop))
            found.append(A[numbers[inside] - some.start])
            places.append(inside)
        return ArrayRows(stacked(found)[np.argsort(np.concatenate(places))])


@dataclass(frozen=True, eq=False)
class OfRows:
    """A partition ↦ what is asked of its rows."""

    call: Callable[[Rows], Any]

    def __call__(self, design: Any) -> Any:
        return self.call(design.predictor.rows)


def _forward(rows: Rows, v: Array) -> Array:
    return rows.forward(v) if rows.shape[0] else np.zeros((0, *v.shape[1:]))


def _matrix(rows: Rows) -> Any:
    """The rows of a partition, whole."""
    if rows.shape[0] == 0:
        return sparse.csr_matrix(rows.shape) if rows.is_sparse else np.zeros(rows.shape)
    return stacked([A for _, A in rows.blocks()])


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays, or sparse matrices, one below another."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
