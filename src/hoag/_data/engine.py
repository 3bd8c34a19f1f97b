"""Who goes through the partitions: what is asked of all rows is asked of each, and added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from hoag._core import clock
from hoag._core.deprecated import deprecated
from hoag._data.source import Partition, Source

# What is computed of a partition: pure, and pickled where partitions are in other processes.
Call = Callable[[Any], Any]
# What a partition, given its number, is made into before it is asked; likewise. Engines may keep
# what it made for as long as they are asked with the same object.
Prepare = Callable[[int, Partition], Any]
# A node of a tree of sums, (level, number).
Node = tuple[int, int]


class TreeSum:
    """A sum whose bits do not depend on who adds which summand first.

        Σᵢ vᵢ = (…((v₀ + v₁) + (v₂ + v₃)) + …)

    Summands are the leaves of a binary tree, and come in any order, alone or as nodes that somebody
    else has added up: node j of level l is the sum of the leaves from j2ˡ to (j + 1)2ˡ − 1. What is
    left over, where their number is no power of two, is added from the right to the left.

    >>> from hoag._data.engine import TreeSum
    >>> tree = TreeSum()
    >>> for leaf in (2, 0, 1):
    ...     tree.add((0, leaf), 10.0**leaf)
    >>> sorted(tree.nodes), tree.total
    ([(0, 2), (1, 0)], 111.0)
    """

    def __init__(self) -> None:
        self.nodes: dict[Node, Any] = {}

    def add(self, node: Node, value: Any) -> None:
        level, number = node
        while (sibling := (level, number ^ 1)) in self.nodes:
            other = self.nodes.pop(sibling)
            value = plus(value, other) if number % 2 == 0 else plus(other, value)
            level, number = level + 1, number // 2
        self.nodes[level, number] = value

    @property
    def total(self) -> Any:
        """All that came, added."""
        ends = sorted(self.nodes, key=lambda node: -(node[1] << node[0]))
        found = self.nodes[ends[0]]
        for node in ends[1:]:
            found = plus(self.nodes[node], found)
        return found


class Maximum(NamedTuple):
    """The larger of two, as a summand."""

    value: Any

    def plus(self, other: Maximum) -> Maximum:
        return Maximum(np.maximum(self.value, other.value))


def plus(a: Any, b: Any) -> Any:
    """a + b for numbers, arrays and lists, for tuples of these, and for what has its own `plus`;
    None and None is None."""
    if a is None or isinstance(a, (int, float, list, np.ndarray, np.generic)):
        return None if a is None else a + b
    if isinstance(a, tuple) and "plus" not in dir(type(a)):
        both = [plus(one, other) for one, other in zip(a, b, strict=True)]
        return type(a)(*both) if "_fields" in dir(type(a)) else tuple(both)
    return a.plus(b)


@deprecated(attributes={"pieces": "partitions"})
class Engine(ABC):
    """Partitions of rows, wherever they are, and sums over them.

    With `prepare`, `call` gets prepare(i, partition i) in place of the partition. With rows=False X
    is not needed, and is None where that saves a pass.

    Attributes
    ----------
    partitions : int
        How many there are.
    features : int
        d, the columns of every X.
    names : sequence of str or None
        What the columns are called.
    reads : float
        Passes over the data so far.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import data
    >>> class Halves(data.Source):
    ...     partitions, features = 2, 3
    ...     def read(self, i, rows=True):
    ...         return data.Partition(np.full((4, 3), float(i)), np.zeros(4))
    ...     def fingerprint(self):
    ...         return "two halves"
    >>> data.LocalEngine(Halves()).total(lambda partition: partition.X.sum())
    np.float64(12.0)
    """

    partitions: int
    features: int
    names: Any = None
    reads: float = 0.0

    @abstractmethod
    def total(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Any:
        """Σᵢ call(partition i), added in a fixed tree over the partitions."""

    @abstractmethod
    def gathered(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> list[Any]:
        """[call(partition 0), call(partition 1), …]."""

    def each(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Iterator[Any]:
        """The same one after another, where memory would not hold all of them."""
        yield from self.gathered(call, prepare, rows)

    @abstractmethod
    def fingerprint(self) -> str:
        """What distinguishes these data from others, for checkpoints."""


class LocalEngine(Engine):
    """Partitions of a source, read one after another by a thread `ahead` of the computation.

    Losses and sums of a partition take as long as its products, and run on one processor otherwise.

    Parameters
    ----------
    source : Source
        Where partitions are read from.
    ahead : int, default=2
        How many are read before they are asked for.
    threads : int, default=None
        So many partitions are computed at a time, with one BLAS thread each, so that bits do not
        depend on it; None is as many as BLAS may use.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import data
    >>> rows = data.partitions((np.eye(3), np.zeros(3)), rows=2)
    >>> data.LocalEngine(rows).gathered(lambda partition: len(partition.y))
    [2, 1]
    """

    def __init__(self, source: Source, ahead: int = 2, threads: int | None = None) -> None:
        self.source, self.ahead, self.threads = source, ahead, threads
        self.partitions, self.features = source.partitions, source.features
        self.names = source.names

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def total(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Any:
        tree = TreeSum()
        for i, found in enumerate(self.each(call, prepare, rows)):
            clock.check()
            tree.add((0, i), found)
        return tree.total

    def gathered(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> list[Any]:
        return list(self.each(call, prepare, rows))

    def each(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Iterator[Any]:
        def answer(i: int, read: Future[Partition]) -> Any:
            try:
                partition = read.result()
            finally:
                del read  # what it raises has this frame: such a circle would keep files open
            return call(partition if prepare is None else prepare(i, partition))

        threads = self.threads or _blas_threads()
        with ThreadPoolExecutor(1, thread_name_prefix="hoag-read-ahead") as reader:
            reads = ((i, reader.submit(self.source.read, i, rows)) for i in range(self.partitions))
            if min(threads, self.partitions) > 1:
                yield from abreast(answer, reads, threads, self.ahead)
            else:
                yield from in_turn(answer, reads, self.ahead)
        self.reads += 1.0 if rows else 0.0


def in_turn(
    answer: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], ahead: int
) -> Iterator[Any]:
    """answer(*task) of each, in their order; so many tasks are begun before they are answered."""
    begun: deque[tuple[Any, ...]] = deque()
    try:
        for task in tasks:
            begun.append(task)
            if len(begun) > ahead:
                yield answer(*begun.popleft())
        while begun:
            yield answer(*begun.popleft())
    finally:
        for task in begun:
            task[-1].cancel()


def abreast(
    answer: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], threads: int, ahead: int = 0
) -> Iterator[Any]:
    """The same with so many answered at a time, BLAS on one thread each: bits do not tell."""
    settings = np.geterr()  # threads have their own

    def answered(*task: Any) -> Any:
        try:
            with np.errstate(**settings):
                return answer(*task)
        finally:
            del task  # likewise

    with (
        blas().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(threads, thread_name_prefix="hoag-partitions") as workers,
    ):
        futures = ((workers.submit(answered, *task),) for task in tasks)
        yield from in_turn(Future.result, futures, ahead + threads - 1)


@cache
def blas() -> ThreadpoolController:
    return ThreadpoolController()


def _blas_threads() -> int:
    """How many BLAS may use."""
    own = [pool["num_threads"] for pool in blas().info() if pool["user_api"] == "blas"]
    return max(own, default=1)
