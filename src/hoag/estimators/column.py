"""What an estimator may ask about y before it knows how to read it: sums over all rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array

# Of the y of some rows; pickled where rows are in other processes.
OfRows = Callable[[npt.NDArray[Any]], Any]
# Of the y and the weights of some rows: weights.
Weigh = Callable[[npt.NDArray[Any], Array], Array]


class Column(ABC):
    """y and the weights of all rows, wherever these are.

    total       Σᵢ sᵢ
    positive    how many rows have a positive weight
    average(f)  Σᵢ sᵢ f(yᵢ) / Σᵢ sᵢ
    largest     max |yᵢ|
    sums, counts   of the weights, and of the rows, of each of some classes, in their order
    some()      (y, weights) of all rows, or of a sample where there are too many
    nothing     y of no rows: its shape and type
    """

    total: float
    positive: int
    largest: float
    nothing: npt.NDArray[Any]

    @abstractmethod
    def average(self, f: OfRows) -> Any: ...

    @abstractmethod
    def sums(self, classes: npt.NDArray[Any]) -> Array: ...

    @abstractmethod
    def counts(self, classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]: ...

    @abstractmethod
    def some(self) -> tuple[npt.NDArray[Any], Array]: ...

    @abstractmethod
    def seen(self, encode: OfRows | None = None, weigh: Weigh | None = None) -> Column:
        """The same rows with y encoded, and other weights; `weigh` sees y as it is here."""


@dataclass(frozen=True, eq=False)
class InMemory(Column):
    """Arrays."""

    y: npt.NDArray[Any]
    weights: Array

    @cached_property
    def total(self) -> float:  # type: ignore[override]
        return float(self.weights.sum())

    @property
    def positive(self) -> int:  # type: ignore[override]
        return int(np.sum(self.weights > 0))

    @property
    def largest(self) -> float:  # type: ignore[override]
        return float(np.max(np.abs(self.y), initial=0.0))

    @property
    def nothing(self) -> npt.NDArray[Any]:  # type: ignore[override]
        return self.y[:0]

    def average(self, f: OfRows) -> Any:
        return (self.weights / self.total) @ f(self.y)

    def sums(self, classes: npt.NDArray[Any]) -> Array:
        codes = np.searchsorted(classes, self.y)
        return np.asarray(np.bincount(codes, self.weights, len(classes)), dtype=float)

    def counts(self, classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        return np.bincount(np.searchsorted(classes, self.y), minlength=len(classes))

    def some(self) -> tuple[npt.NDArray[Any], Array]:
        return self.y, self.weights

    def seen(self, encode: OfRows | None = None, weigh: Weigh | None = None) -> InMemory:
        weights = self.weights if weigh is None else weigh(self.y, self.weights)
        return InMemory(self.y if encode is None else encode(self.y), weights)
