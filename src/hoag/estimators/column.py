"""y and the weights of all rows, in memory or in partitions: asked for sums over rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.checks import Wrong, check_partitions, wrong_side
from hoag._data.engine import Engine
from hoag._data.source import Partition

# Of the y of some rows; pickled where rows are in other processes.
OfRows = Callable[[npt.NDArray[Any]], Any]
# Of the y and the weights of some rows: weights.
Weigh = Callable[[npt.NDArray[Any], Array], Array]
# Of the y and the weights of some rows: what is summed over all of them.
Summand = Callable[[npt.NDArray[Any], Array], Any]

# So many rows, each a number of y, stand for its median and its spread where there are more.
SOME = int(BLOCK_ENTRIES)


class Column(ABC):
    """What an estimator may ask about y before it knows how to read it.

    nothing   y of no rows: its shape and type
    some()    (y, weights) of all rows, or of a sample where there are too many
    seen()    the same rows with y encoded, and other weights; `weigh` sees y as it is before
    """

    @property
    @abstractmethod
    def nothing(self) -> npt.NDArray[Any]: ...

    @abstractmethod
    def some(self) -> tuple[npt.NDArray[Any], Array]: ...

    @abstractmethod
    def seen(self, encode: OfRows | None = None, weigh: Weigh | None = None) -> Column: ...

    @abstractmethod
    def sum(self, f: Summand) -> Any:
        """Σ over partitions of f(y, weights)."""

    @cached_property
    def _sizes(self) -> tuple[float, int, Largest]:
        found: tuple[float, int, Largest] = self.sum(_sizes)
        return found

    @property
    def total(self) -> float:
        """Σᵢ sᵢ."""
        return float(self._sizes[0])

    @property
    def positive(self) -> int:
        """How many rows have a positive weight."""
        return int(self._sizes[1])

    @property
    def largest(self) -> float:
        """max |yᵢ|."""
        return self._sizes[2].size

    def average(self, f: OfRows) -> Any:
        """Σᵢ sᵢ f(yᵢ) / Σᵢ sᵢ."""
        return self.sum(_Averaged(f, self.total))

    def sums(self, classes: npt.NDArray[Any]) -> Array:
        """Σ of the weights of each of some classes, in their order."""
        return np.asarray(self.sum(_ByClass(classes)))

    def counts(self, classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """How many rows are of each of some classes."""
        return np.asarray(self.sum(_CountsByClass(classes)))


@dataclass(frozen=True, eq=False)
class ArrayColumn(Column):
    """Arrays."""

    y: npt.NDArray[Any]
    weights: Array

    @property
    def nothing(self) -> npt.NDArray[Any]:
        return self.y[:0]

    def some(self) -> tuple[npt.NDArray[Any], Array]:
        return self.y, self.weights

    def seen(self, encode: OfRows | None = None, weigh: Weigh | None = None) -> ArrayColumn:
        return ArrayColumn(*Encoding(encode, weigh)(self.y, self.weights))

    def sum(self, f: Summand) -> Any:
        return f(self.y, self.weights)


@dataclass(frozen=True, eq=False)
class Encoding:
    """y and weights ↦ encoded y and other weights."""

    encode: OfRows | None = None
    weigh: Weigh | None = None

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> tuple[npt.NDArray[Any], Array]:
        weights = weights if self.weigh is None else self.weigh(y, weights)
        return (y if self.encode is None else np.asarray(self.encode(y))), weights


@dataclass(frozen=True, eq=False)
class OfColumn:
    """A partition ↦ f of its y and weights, as a column has `seen` them."""

    seen: tuple[Encoding, ...]
    f: Summand

    def __call__(self, partition: Partition) -> Any:
        y, weights = np.asarray(partition.y), partition.weights
        for seen in self.seen:
            y, weights = seen(y, weights)
        return self.f(y, weights)


class Labels(NamedTuple):
    """How many rows a partition has, and of which classes, where y are labels."""

    rows: int
    classes: npt.NDArray[Any]
    counts: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]  # where each class comes first
    nothing: npt.NDArray[Any]
    wrong: Wrong | None = None


@dataclass(frozen=True)
class LabelCounts:
    """A partition ↦ its Labels; y are told apart where they are `labels`, numbers are not."""

    labels: bool

    def __call__(self, partition: Partition) -> Labels:
        y, weight = np.asarray(partition.y), partition.weight
        nothing = np.zeros(0, dtype=np.intp)
        if not self.labels and y.dtype.kind not in "fiub":
            raise InvalidInput(f"y holds {y.dtype} and not numbers; a regression needs numbers.")
        if weight is not None and len(weight) != len(y):
            raise InvalidInput(f"A partition of {len(y)} rows has {len(weight)} weights.")
        wrong = wrong_side(y, weight)
        if wrong is not None or not self.labels:
            return Labels(len(y), y[:0], nothing, nothing, y[:0], wrong)
        classes, first, counts = np.unique(y, return_index=True, return_counts=True)
        return Labels(len(y), classes, counts, first, y[:0])


@dataclass(frozen=True, eq=False)
class PartitionedColumn(Column):
    """y and weights of the partitions of an engine, and how each partition is labelled."""

    engine: Engine
    labels: list[Labels]
    steps: tuple[Encoding, ...] = ()

    @staticmethod
    def of(engine: Engine, labelled: bool) -> PartitionedColumn:
        labels: list[Labels] = engine.gathered(LabelCounts(labelled), rows=False)
        if not any(own.rows for own in labels):
            raise InvalidInput("There are no rows.")
        check_partitions((own.rows, own.wrong) for own in labels)
        return PartitionedColumn(engine, labels)

    @property
    def rows(self) -> list[int]:
        """Of every partition."""
        return [own.rows for own in self.labels]

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        return np.unique(np.concatenate([own.classes for own in self.labels]))

    @cached_property
    def by_partition(self) -> npt.NDArray[np.intp]:
        """How many rows each partition has of each class, (partitions, classes)."""
        found = np.zeros((len(self.labels), len(self.classes)), dtype=np.intp)
        for own, counts in zip(self.labels, found, strict=True):
            counts[np.searchsorted(self.classes, own.classes)] = own.counts
        return found

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """The classes in the order in which they first come."""
        first, before = np.full(len(self.classes), -1), 0
        for own in self.labels:
            places = np.searchsorted(self.classes, own.classes)
            new = first[places] < 0
            first[places[new]] = before + own.first[new]
            before += own.rows
        return np.argsort(first)

    @property
    def nothing(self) -> npt.NDArray[Any]:
        return np.asarray(OfColumn(self.steps, _first)(Partition(None, self.labels[0].nothing)))

    def sum(self, f: Summand) -> Any:
        return self.engine.total(OfColumn(self.steps, f), rows=False)

    def some(self) -> tuple[npt.NDArray[Any], Array]:
        share = min(1.0, SOME / max(sum(self.rows), 1))
        kept = self.engine.gathered(OfColumn(self.steps, _Sampled(share)), rows=False)
        y, weights = (np.concatenate(part) for part in zip(*kept, strict=True))
        return y, weights

    def seen(self, encode: OfRows | None = None, weigh: Weigh | None = None) -> PartitionedColumn:
        return PartitionedColumn(self.engine, self.labels, (*self.steps, Encoding(encode, weigh)))


@dataclass(frozen=True)
class Largest:
    """A maximum, as a summand."""

    size: float

    def plus(self, other: Largest) -> Largest:
        return Largest(max(self.size, other.size))


def _sizes(y: npt.NDArray[Any], weights: Array) -> tuple[float, int, Largest]:
    numbers = y.dtype.kind in "fiub"
    largest = float(np.max(np.abs(y), initial=0.0)) if numbers else 0.0
    return float(weights.sum()), int(np.sum(weights > 0)), Largest(largest)


def _first(y: npt.NDArray[Any], weights: Array) -> npt.NDArray[Any]:
    return y


@dataclass(frozen=True, eq=False)
class _Averaged:
    f: OfRows
    total: float

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> Any:
        return (weights / self.total) @ np.asarray(self.f(y), dtype=float)


@dataclass(frozen=True, eq=False)
class _CountsByClass:
    classes: npt.NDArray[Any]

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> Any:
        codes = np.searchsorted(self.classes, y)
        return np.bincount(codes, minlength=len(self.classes))


@dataclass(frozen=True, eq=False)
class _ByClass:
    classes: npt.NDArray[Any]

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> Array:
        codes = np.searchsorted(self.classes, y)
        return np.asarray(np.bincount(codes, weights, len(self.classes)), dtype=float)


@dataclass(frozen=True)
class _Sampled:
    """Every so many rows, which are all where there are few."""

    share: float

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> tuple[npt.NDArray[Any], Array]:
        if self.share == 1.0:
            return y, weights
        kept = np.random.default_rng(len(y)).random(len(y)) < self.share
        return y[kept], weights[kept]
