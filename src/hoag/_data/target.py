"""y and the weights of all rows, in memory or in partitions: asked for sums over rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidDataError
from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.checks import Wrong, check_partitions, wrong_side
from hoag._data.engine import Engine, Maximum
from hoag._data.source import Partition

# Of the y of some rows; pickled where rows are in other processes.
OfRows = Callable[[npt.NDArray[Any]], Any]
# Of the y and the weights of some rows: weights.
Weigh = Callable[[npt.NDArray[Any], Array], Array]
# Of the y and the weights of some rows: what is summed over all of them.
Summand = Callable[[npt.NDArray[Any], Array], Any]

# So many rows, each a number of y, stand for its median and its spread where there are more.
SAMPLE_ROWS = int(BLOCK_ENTRIES)


class Column(ABC):
    """What an estimator may ask about y before it knows how to read it.

    empty      y of no rows: its shape and type
    sample()   (y, weights) of all rows, or of as many as fit into memory
    encoded()  the same rows with y encoded, and other weights; `weigh` is given y as it was before
    """

    @property
    @abstractmethod
    def empty(self) -> npt.NDArray[Any]: ...

    @abstractmethod
    def sample(self) -> tuple[npt.NDArray[Any], Array]: ...

    @abstractmethod
    def encoded(self, encode: OfRows | None, weigh: Weigh | None) -> Column: ...

    @abstractmethod
    def sum(self, f: Summand) -> Any:
        """Σ over partitions of f(y, weights)."""

    @cached_property
    def _sizes(self) -> tuple[float, int, Maximum]:
        found: tuple[float, int, Maximum] = self.sum(_sizes)
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
        return float(self._sizes[2].value)

    def average(self, f: OfRows) -> Any:
        """Σᵢ sᵢ f(yᵢ) / Σᵢ sᵢ."""
        return self.sum(partial(_averaged, f=f, total=self.total))

    def sums(self, classes: npt.NDArray[Any]) -> Array:
        """Σ of the weights of each of some classes, in their order."""
        return np.asarray(self.sum(partial(_by_class, classes=classes))[1])

    def counts(self, classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """How many rows are of each of some classes."""
        return np.asarray(self.sum(partial(_by_class, classes=classes))[0])


@dataclass(frozen=True, eq=False)
class ArrayColumn(Column):
    """Arrays."""

    y: npt.NDArray[Any]
    weights: Array

    @property
    def empty(self) -> npt.NDArray[Any]:
        return self.y[:0]

    def sample(self) -> tuple[npt.NDArray[Any], Array]:
        return self.y, self.weights

    def encoded(self, encode: OfRows | None, weigh: Weigh | None) -> ArrayColumn:
        return ArrayColumn(*_encoded(self.y, self.weights, encode, weigh))

    def sum(self, f: Summand) -> Any:
        return f(self.y, self.weights)


def _encoded(
    y: npt.NDArray[Any], weights: Array, encode: OfRows | None, weigh: Weigh | None
) -> tuple[npt.NDArray[Any], Array]:
    """y encoded, and other weights."""
    weights = weights if weigh is None else weigh(y, weights)
    return (y if encode is None else np.asarray(encode(y))), weights


def _of_column(partition: Partition, f: Summand, encode: OfRows | None, weigh: Weigh | None) -> Any:
    """f of a partition's y and weights, as a column has encoded them."""
    return f(*_encoded(np.asarray(partition.y), partition.weights, encode, weigh))


class Labels(NamedTuple):
    """How many rows a partition has, and of which classes, where y are labels."""

    rows: int
    classes: npt.NDArray[Any]
    counts: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]  # where each class comes first
    empty: npt.NDArray[Any]
    wrong: Wrong | None = None


def labels_of(partition: Partition, labelled: bool) -> Labels:
    """Classes of y where these are labels; numbers have none."""
    y, weight = np.asarray(partition.y), partition.weight
    none = np.zeros(0, dtype=np.intp)
    if not labelled and y.dtype.kind not in "fiub":
        raise InvalidDataError(
            f"y holds {y.dtype} and not numbers; a regression needs numbers.", parameter="y"
        )
    if weight is not None and len(weight) != len(y):
        raise InvalidDataError(
            f"A partition of {len(y)} rows has {len(weight)} weights.", parameter="sample_weight"
        )
    wrong = wrong_side(y, weight)
    if wrong is not None or not labelled:
        return Labels(len(y), y[:0], none, none, y[:0], wrong)
    classes, first, counts = np.unique(y, return_index=True, return_counts=True)
    return Labels(len(y), classes, counts, first, y[:0])


@dataclass(frozen=True, eq=False)
class PartitionedColumn(Column):
    """y and weights of the partitions of an engine, and how each partition is labelled."""

    engine: Engine
    labels: list[Labels]
    encode: OfRows | None = None
    weigh: Weigh | None = None

    @staticmethod
    def of(engine: Engine, labelled: bool) -> PartitionedColumn:
        labels: list[Labels] = engine.gathered(partial(labels_of, labelled=labelled), rows=False)
        if not any(own.rows for own in labels):
            raise InvalidDataError("There are no rows.")
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

    def _of_all(self, f: Summand) -> Callable[[Partition], Any]:
        return partial(_of_column, f=f, encode=self.encode, weigh=self.weigh)

    @property
    def empty(self) -> npt.NDArray[Any]:
        return np.asarray(self._of_all(_first)(Partition(None, self.labels[0].empty)))

    def sum(self, f: Summand) -> Any:
        return self.engine.total(self._of_all(f), rows=False)

    def sample(self) -> tuple[npt.NDArray[Any], Array]:
        sampled = partial(_sampled, share=min(1.0, SAMPLE_ROWS / max(sum(self.rows), 1)))
        kept = self.engine.gathered(self._of_all(sampled), rows=False)
        y, weights = (np.concatenate(part) for part in zip(*kept, strict=True))
        return y, weights

    def encoded(self, encode: OfRows | None, weigh: Weigh | None) -> PartitionedColumn:
        return PartitionedColumn(self.engine, self.labels, encode, weigh)


def _sizes(y: npt.NDArray[Any], weights: Array) -> tuple[float, int, Maximum]:
    numbers = y.dtype.kind in "fiub"
    largest = float(np.max(np.abs(y), initial=0.0)) if numbers else 0.0
    return float(weights.sum()), int(np.sum(weights > 0)), Maximum(largest)


def _first(y: npt.NDArray[Any], weights: Array) -> npt.NDArray[Any]:
    return y


def _averaged(y: npt.NDArray[Any], weights: Array, f: OfRows, total: float) -> Any:
    return (weights / total) @ np.asarray(f(y), dtype=float)


def _by_class(
    y: npt.NDArray[Any], weights: Array, classes: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.intp], Array]:
    """How many rows each class has, and their weights."""
    codes, C = np.searchsorted(classes, y), len(classes)
    return np.bincount(codes, minlength=C), np.bincount(codes, weights, C).astype(float)


def _sampled(y: npt.NDArray[Any], weights: Array, share: float) -> tuple[npt.NDArray[Any], Array]:
    """Every so many rows, which are all where there are few."""
    if share == 1.0:
        return y, weights
    kept = np.random.default_rng(len(y)).random(len(y)) < share
    return y[kept], weights[kept]
