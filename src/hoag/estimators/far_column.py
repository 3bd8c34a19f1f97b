"""y and the weights of rows that are elsewhere: asked for sums, of y alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag._core.numeric import BLOCK_ENTRIES, Array
from hoag._data.checks import Wrong, wrong_weight, wrong_y
from hoag._data.engine import Engine
from hoag._data.piece import Piece
from hoag.estimators.column import Column, OfRows, Weigh

# So many rows, each a number of y, stand for its median and its spread where there are more.
SOME = int(BLOCK_ENTRIES)


class Glance(NamedTuple):
    """What one look at a piece's y and weights says."""

    rows: int
    classes: npt.NDArray[Any]  # of labels alone
    counts: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]  # where each class comes first
    nothing: npt.NDArray[Any]
    wrong: Wrong | None = None


@dataclass(frozen=True)
class Evaluate:
    """A piece ↦ its Glance; labels are told apart, numbers are not."""

    labelled: bool

    def __call__(self, piece: Piece) -> Glance:
        y, weight = np.asarray(piece.y), piece.weight
        nothing = np.zeros(0, dtype=np.intp)
        if not self.labelled and y.dtype.kind not in "fiub":
            raise InvalidInput(f"y holds {y.dtype} and not numbers; a regression needs numbers.")
        if weight is not None and len(weight) != len(y):
            raise InvalidInput(f"A piece of {len(y)} rows has {len(weight)} weights.")
        wrong = wrong_y(y) or wrong_weight(weight)
        if wrong is not None or not self.labelled:
            return Glance(len(y), y[:0], nothing, nothing, y[:0], wrong)
        classes, first, counts = np.unique(y, return_index=True, return_counts=True)
        return Glance(len(y), classes, counts, first, y[:0])


@dataclass(frozen=True, eq=False)
class Seen:
    """A function of y and weights, of a piece as a column sees it."""

    encode: OfRows | None
    weigh: Weigh | None
    f: Callable[[npt.NDArray[Any], Array], Any]

    def __call__(self, piece: Piece) -> Any:
        y, weights = np.asarray(piece.y), piece.weights
        weights = weights if self.weigh is None else self.weigh(y, weights)
        return self.f(y if self.encode is None else self.encode(y), weights)


class FarColumn(Column):
    """y of an engine; a column that was `seen` otherwise asks the same engine."""

    def __init__(
        self,
        engine: Engine,
        glances: list[Glance],
        encode: OfRows | None = None,
        weigh: Weigh | None = None,
    ) -> None:
        self.engine, self.glances, self.encode, self.weigh = engine, glances, encode, weigh

    @staticmethod
    def of(engine: Engine, labelled: bool) -> FarColumn:
        glances: list[Glance] = engine.gathered(Evaluate(labelled), rows=False)
        if not any(glance.rows for glance in glances):
            raise InvalidInput("There are no rows.")
        first = 0
        for i, glance in enumerate(glances):
            if glance.wrong is not None:
                raise glance.wrong.in_piece(i, first)
            first += glance.rows
        return FarColumn(engine, glances)

    @property
    def rows(self) -> list[int]:
        """Of every piece."""
        return [glance.rows for glance in self.glances]

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        return np.unique(np.concatenate([glance.classes for glance in self.glances]))

    @cached_property
    def by_piece(self) -> npt.NDArray[np.intp]:
        """How many rows each piece has of each class, (pieces, classes)."""
        found = np.zeros((len(self.glances), len(self.classes)), dtype=np.intp)
        for glance, own in zip(self.glances, found, strict=True):
            own[np.searchsorted(self.classes, glance.classes)] = glance.counts
        return found

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """The classes in the order in which they first come."""
        first = np.full(len(self.classes), -1)
        before = 0
        for glance in self.glances:
            places = np.searchsorted(self.classes, glance.classes)
            new = first[places] < 0
            first[places[new]] = before + glance.first[new]
            before += glance.rows
        return np.argsort(first)

    def _total(self, f: Callable[[npt.NDArray[Any], Array], Any]) -> Any:
        return self.engine.total(Seen(self.encode, self.weigh, f), rows=False)

    @cached_property
    def _weighed(self) -> tuple[float, int, Largest]:
        found: tuple[float, int, Largest] = self._total(_sizes)
        return found

    @property
    def total(self) -> float:  # type: ignore[override]
        return float(self._weighed[0])

    @property
    def positive(self) -> int:  # type: ignore[override]
        return int(self._weighed[1])

    @property
    def largest(self) -> float:  # type: ignore[override]
        return self._weighed[2].size

    @property
    def nothing(self) -> npt.NDArray[Any]:  # type: ignore[override]
        y = self.glances[0].nothing
        return y if self.encode is None else np.asarray(self.encode(y))

    def average(self, f: OfRows) -> Any:
        return self._total(_Averaged(f)) / self.total

    def sums(self, classes: npt.NDArray[Any]) -> Array:
        return np.asarray(self._total(_ByClass(classes)))

    def counts(self, classes: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        return np.asarray(self.by_piece.sum(axis=0))

    def some(self) -> tuple[npt.NDArray[Any], Array]:
        share = min(1.0, SOME / max(sum(self.rows), 1))
        asked = Seen(self.encode, self.weigh, _Sampled(share))
        kept = self.engine.gathered(asked, rows=False)
        y, weights = (np.concatenate(part) for part in zip(*kept, strict=True))
        return y, weights

    def seen(self, encode: OfRows | None = None, weigh: Weigh | None = None) -> FarColumn:
        assert self.encode is None
        assert self.weigh is None
        return FarColumn(self.engine, self.glances, encode, weigh)


@dataclass(frozen=True)
class Largest:
    """A maximum, as a summand."""

    size: float

    def plus(self, other: Largest) -> Largest:
        return replace(self, size=max(self.size, other.size))


def _sizes(y: npt.NDArray[Any], weights: Array) -> tuple[float, int, Largest]:
    numbers = y.dtype.kind in "fiub"
    largest = float(np.max(np.abs(y), initial=0.0)) if numbers else 0.0
    return float(weights.sum()), int(np.sum(weights > 0)), Largest(largest)


@dataclass(frozen=True, eq=False)
class _Averaged:
    f: OfRows

    def __call__(self, y: npt.NDArray[Any], weights: Array) -> Any:
        return weights @ np.asarray(self.f(y), dtype=float)


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
