"""The rows of K folds in partitions: in files, or on workers.

Whatever criteria ask of the rows of all folds is a sum over rows, so every partition is an
`InMemoryDesign` of its own, and what is asked of all is asked of each and added (hoag._data). A
gradient, a product with ∇²h, the losses and slopes of held-out rows, for all folds: one pass
over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidInputError
from hoag._core.numeric import Array
from hoag._data.engine import Engine
from hoag._data.fold_rule import FoldRule, below
from hoag._data.source import Partition
from hoag._data.standardize import PLAIN, Standardiser
from hoag._glm.design import FoldedHessian, RowwiseDesign, Sums
from hoag._glm.in_memory import InMemoryDesign, RowSet
from hoag._glm.rows import ArrayRows, CellRows, Rows, standardised
from hoag._glm.targets import Target
from hoag._glm.term import picked
from hoag.problems import Ledger

# So many entries of rows are multiplied at a time: they are in a cache when they are multiplied
# again, and so many that losses of few rows do not have threads wait for each other.
ENTRIES = 1e6


class StandardisedRows(Rows):
    """A dense partition, standardised: X stays as it is, in single precision if it was so."""

    def __init__(self, X: Any, standardiser: Standardiser) -> None:
        self.X, self._standardiser = X, standardiser
        self.shape, self.entries = X.shape, int(X.size)
        self.standardiser = PLAIN if standardiser.exact else standardiser

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        for some, X in self._slices():
            yield some, self._standardiser.of(X)

    def kept(self) -> Iterator[tuple[slice, Any]]:
        return self.blocks() if self.standardiser is PLAIN else self._slices()

    def _slices(self) -> Iterator[tuple[slice, Any]]:
        n = self.shape[0]
        height = max(1, int(ENTRIES / max(self.shape[1], 1)))
        for start in range(0, n, height):
            some = slice(start, min(start + height, n))
            yield some, self.X[some]

    def take(self, numbers: npt.NDArray[np.intp]) -> ArrayRows:
        return ArrayRows(self._standardiser.of(self.X[numbers]))


class PartitionedRows(Rows):
    """The rows of all partitions of an engine: every product with them is a pass over the data.

    `prepare` makes designs of partitions.
    """

    def __init__(self, engine: Engine, prepare: Any, n: int, entries: int, is_sparse: bool) -> None:
        self.engine, self.prepare = engine, prepare
        self.shape, self.entries, self.is_sparse = (n, engine.features), entries, is_sparse

    def _each(self, call: Callable[[Rows], Any]) -> Iterator[Any]:
        return self.engine.each(partial(_of_rows, call=call), self.prepare)

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


def _of_rows(design: InMemoryDesign, call: Callable[[Rows], Any]) -> Any:
    return call(design.predictor.rows)


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


@dataclass(frozen=True, eq=False)
class ToDesign:
    """A partition as it was given ↦ its rows in cells, as the model takes them.

    rule    the cell of every row
    standardiser    the units of X
    target  y ↦ Target; `weigh`: y and weights ↦ weights; `unit` is what these are multiplied by
    targets   the numbers of those targets that are looked at; None: all
    """

    rule: FoldRule
    standardiser: Standardiser
    target: Any
    weigh: Any
    unit: float
    targets: Any = None

    def __call__(self, i: int, partition: Partition) -> InMemoryDesign:
        weights, labels = labelled(self.rule, self.weigh, i, partition)
        try:
            target = self.target(partition.y)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"In partition {i}, whose rows are counted from 0: {error}"
            ) from None
        kind = standardised if sparse.issparse(partition.X) else StandardisedRows
        rows = kind(partition.X, self.standardiser)
        return self.design(rows, target, self.unit * weights, labels)

    def design(
        self, rows: Rows, target: Target, weights: Array, labels: npt.NDArray[np.intp]
    ) -> InMemoryDesign:
        """Of rows that are in memory."""
        y, predictor = target.y, target.design(rows)
        if self.targets is not None:
            y, predictor = picked(y, self.targets), predictor.of_targets(self.targets)
        rule, own = self.rule, RowSet(rows, y, weights, labels)
        return InMemoryDesign(rule.train, rule.test, target.loss, target.outer, predictor, [own])


def labelled(
    rule: FoldRule, weigh: Any, i: int, partition: Partition
) -> tuple[Array, npt.NDArray[np.intp]]:
    """The weights of the rows of partition i, and their cells; −1 where the weight is 0."""
    weights = partition.weights if weigh is None else weigh(partition.y, partition.weights)
    return weights, np.where(weights > 0, rule.labels(i, partition.y), -1)


def _for_folds(
    design: InMemoryDesign, train: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_], ask: Any
) -> Any:
    """What is asked of a partition, for folds that may be others than those it was made for."""
    return ask(design.of_folds(train, test))


class Sample(NamedTuple):
    """Some rows that were kept by the first pass: X, y, weights, cells, and what each drew.

    `share` is that of all rows: those that drew less are in it, all of them.
    """

    X: Any
    y: npt.NDArray[Any]
    weights: Array
    labels: npt.NDArray[np.intp]
    draws: Array
    share: float

    def smaller(self, share: float) -> Sample:
        """Of a smaller share of all rows."""
        some = below(self.draws, self.labels, share)
        return Sample._make([*(part[some] for part in self[:-1]), share])


class CellSums(NamedTuple):
    """What the first pass has found: the rows of every cell, their weights, and Σᵢ sᵢ aᵢⱼ²."""

    counts: npt.NDArray[np.intp]
    weights: Array
    squares: Array


@dataclass(frozen=True, eq=False)
class PartitionedDesign(RowwiseDesign):
    """The rows of K folds, in partitions that an engine goes through; some are in memory, too."""

    engine: Engine
    prepare: ToDesign
    known: CellSums
    sample: Sample

    def _total(self, ask: Callable[[Any], Any]) -> Any:
        """Σ over partitions of what each answers: one pass over the data."""
        self.ledger.charge(reads=1.0)
        asked = partial(_for_folds, train=self.train, test=self.test, ask=ask)
        return self.engine.total(asked, self.prepare)

    @cached_property
    def _last(self) -> dict[str, Any]:
        return {}

    def alone(self, x: Array) -> Sums:
        """Those of one fold at x; the last are remembered, for both its terms ask for them."""
        last = self._last
        if not last or not np.array_equal(last["x"], x):
            last |= {"x": x, "sums": self.sums(x[None])}
        return cast(Sums, last["sums"])

    @property
    def rows(self) -> list[Rows]:
        return [self.predictor.rows]

    @property
    def n(self) -> int:
        return int(self.predictor.n)

    @property
    def counts(self) -> npt.NDArray[np.intp]:
        return self.known.counts

    @property
    def weights(self) -> Array:
        return self.known.weights

    @property
    def in_memory(self) -> bool:
        return False

    @property
    def whole(self) -> bool:
        """Whether the sample is all rows."""
        return self.sample.share >= 1.0

    def on(self, rows: Sequence[Rows]) -> InMemoryDesign:
        """With other rows, in memory: y and the weights are brought there, too."""
        own, predictor = RowSet(rows[0], *self.sides()), self.predictor.on(rows[0])
        losses = (self.loss, self.outer)
        return InMemoryDesign(self.train, self.test, *losses, predictor, [own], ledger=self.ledger)

    def sides(self) -> tuple[npt.NDArray[Any], Array, npt.NDArray[np.intp]]:
        """y, weights and cells of all rows, brought to memory by a pass over the data."""
        self.ledger.charge(reads=1.0)
        kept = self.engine.gathered(_sides, self.prepare)
        y, weights, cells = (np.concatenate(part) for part in zip(*kept, strict=True))
        return y, weights, cells

    def softened(self) -> None:
        """None: partitions are prepared for one loss."""
        return

    def cells(self) -> Iterator[CellRows]:
        """Brings all rows to memory, a partition at a time: for what few of them need."""
        self.ledger.charge(reads=1.0)
        for cells in self.engine.each(_cells, self.prepare):
            yield from cells

    def of_targets(self, targets: npt.NDArray[np.intp]) -> PartitionedDesign:
        prepare = replace(self.prepare, targets=targets)
        predictor = self.predictor.of_targets(targets)
        return replace(self, predictor=predictor, prepare=prepare, ledger=Ledger())

    def sampled(self, rows: int, seed: int) -> InMemoryDesign:
        """On rows of the sample: about as many as are asked for, or all of these."""
        return self.in_sample(min(rows / self.n, self.sample.share)).weighing(self.weights)

    def in_sample(self, share: float) -> InMemoryDesign:
        """A share of all rows, with weights of their own: λ is about that of all rows, then."""
        prepare = self.prepare
        X, y, weights, labels, *_ = self.sample.smaller(share)
        rows = standardised(X, prepare.standardiser)
        found = prepare.design(rows, prepare.target(y), weights, labels)
        return found.of_folds(self.train, self.test)

    def hessian_at(self, X: Array) -> FoldedHessian:
        """∇²L of every fold at its x: two passes for a product, for z are not kept."""

        def times(V: Array) -> Array:
            self.ledger.charge(passes=1.5 * self.folds)
            return np.asarray(self._total(methodcaller("products", X, V)))

        return FoldedHessian(times)

    def diagonals(self, X: Array) -> Array:
        self.ledger.charge(passes=0.5 * self.folds)
        return np.asarray(self._total(methodcaller("diagonals", X)))

    @property
    def centre(self) -> tuple[Array, Array]:
        """Where the units have put it: columns, and y, are about 0 there."""
        return np.zeros(self.predictor.features), np.zeros(self.predictor.outputs)


def _cells(design: InMemoryDesign) -> list[CellRows]:
    return list(design.cells())


def _sides(design: InMemoryDesign) -> tuple[Any, Array, npt.NDArray[np.intp]]:
    (own,) = design.sets
    return own.y, own.weights, own.labels
