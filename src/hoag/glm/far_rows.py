"""Rows of a piece as the model sees them: (X − mean)/c, made some at a time and never kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag.glm.rows import ArrayRows, Rows
from hoag.values import Array

# So many entries of centred rows are made at a time: they stay in the processor's cache.
ENTRIES = 2e5


@dataclass(frozen=True, eq=False)
class Lens:
    """X ↦ (X − mean)/c, columns without spread ↦ 0; sparse rows are not centred."""

    mean: Array | None
    c: float
    constant: npt.NDArray[np.intp]

    def rows(self, X: Any) -> Rows:
        if sparse.issparse(X):
            return ArrayRows(X.astype(np.float64, copy=False), 1.0 / self.c)
        return SeenRows(X, self)

    def of(self, X: Any) -> Array:
        """A new array."""
        A = np.array(X, dtype=np.float64) if self.mean is None else X - self.mean
        A *= 1.0 / self.c
        if self.constant.size:
            A[:, self.constant] = 0.0
        return np.asarray(A)


class SeenRows(Rows):
    """A dense piece through a lens: X stays as it is, in single precision if it was so."""

    def __init__(self, X: Any, lens: Lens) -> None:
        self.X, self.lens = X, lens
        self.shape, self.entries = X.shape, int(X.size)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        n = self.shape[0]
        height = max(1, int(ENTRIES / max(self.shape[1], 1)))
        for start in range(0, n, height):
            some = slice(start, min(start + height, n))
            yield some, self.lens.of(self.X[some])

    def take(self, numbers: npt.NDArray[np.intp]) -> ArrayRows:
        return ArrayRows(self.lens.of(self.X[numbers]))


class FarRows(Rows):
    """All rows of an engine; `gathered` brings them here, for what few rows need."""

    def __init__(
        self, shape: tuple[int, int], entries: int, is_sparse: bool, gathered: Any
    ) -> None:
        self.shape, self.entries, self.is_sparse = shape, entries, is_sparse
        self._gathered = gathered

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        first = 0
        for A in self._gathered():
            yield slice(first, first + A.shape[0]), A
            first += A.shape[0]

    def take(self, numbers: npt.NDArray[np.intp]) -> ArrayRows:
        own = [A for _, A in self.blocks()]
        whole = sparse.vstack(own, format="csr") if self.is_sparse else np.concatenate(own)
        return ArrayRows(whole[numbers])
