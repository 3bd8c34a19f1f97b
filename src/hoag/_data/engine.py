"""Who goes through the pieces: what is asked of all rows is asked of each piece, and added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from hoag._core import clock
from hoag._data.piece import Piece, Source
from hoag._data.tree import Tree

# What is computed of a piece: pure, and pickled where pieces are in other processes.
Call = Callable[[Any], Any]
# What a piece, given its number, is made into before it is asked; likewise. Engines may keep what
# it made for as long as they are asked with the same object.
Prepare = Callable[[int, Piece], Any]


class Engine(ABC):
    """Pieces of rows, wherever they are.

    total(call)     Σᵢ call(piece i), in a fixed tree over the pieces: see hoag._data.tree
    gathered(call)  [call(piece 0), call(piece 1), …]

    With `prepare`, `call` gets prepare(i, piece i) in place of the piece. With rows=False X is not
    needed, and is None where that saves a read. `reads` counts how often all rows were gone
    through.

    >>> import numpy as np
    >>> from hoag import data
    >>> class Halves(data.Source):
    ...     pieces, features = 2, 3
    ...     def read(self, i, rows=True):
    ...         return data.Piece(np.full((4, 3), float(i)), np.zeros(4))
    ...     def fingerprint(self):
    ...         return "two halves"
    >>> data.Local(Halves()).total(lambda piece: piece.X.sum())
    np.float64(12.0)
    """

    pieces: int
    features: int
    names: Any = None
    reads: float = 0.0

    @abstractmethod
    def total(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Any: ...

    @abstractmethod
    def gathered(
        self, call: Call, prepare: Prepare | None = None, rows: bool = True
    ) -> list[Any]: ...

    def each(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Iterator[Any]:
        """What `gathered` has, one after another: engines that can have no more in memory."""
        yield from self.gathered(call, prepare, rows)

    @abstractmethod
    def fingerprint(self) -> str: ...


class Local(Engine):
    """Pieces of a source, read one after another by a thread that is `ahead` of the computation.

    threads  so many pieces are computed at a time, with one BLAS thread each, so that bits do not
             depend on it; as many as BLAS may use where nobody says

    Losses and sums of a piece take as long as its products, and run on one processor otherwise.

    >>> import numpy as np
    >>> from hoag import data
    >>> rows = data.blocks((np.eye(3), np.zeros(3)), rows=2)
    >>> data.Local(rows).gathered(lambda piece: len(piece.y))
    [2, 1]
    """

    def __init__(self, source: Source, ahead: int = 2, threads: int | None = None) -> None:
        self.source, self.ahead, self.threads = source, ahead, threads
        self.pieces, self.features, self.names = source.pieces, source.features, source.names

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def total(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Any:
        tree = Tree()
        for i, found in enumerate(self.each(call, prepare, rows)):
            clock.check()
            tree.add((0, i), found)
        return tree.total

    def gathered(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> list[Any]:
        return list(self.each(call, prepare, rows))

    def each(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Iterator[Any]:

        def answer(i: int, piece: Piece) -> Any:
            return call(piece if prepare is None else prepare(i, piece))

        blas = _blas()
        threads = self.threads or _threads(blas)
        with ThreadPoolExecutor(1, thread_name_prefix="hoag-read-ahead") as reader:
            if min(threads, self.pieces) > 1:
                with blas.limit(limits=1, user_api="blas"):
                    yield from self._abreast(answer, reader, threads, rows)
            else:
                yield from self._in_turn(answer, reader, rows)
        self.reads += 1.0 if rows else 0.0

    def _in_turn(self, answer: Any, reader: ThreadPoolExecutor, rows: bool) -> Iterator[Any]:
        pieces = (reader.submit(self.source.read, i, rows) for i in range(self.pieces))
        for i, piece in enumerate(_waited_for(pieces, self.ahead)):
            yield answer(i, piece)

    def _abreast(
        self, answer: Any, reader: ThreadPoolExecutor, threads: int, rows: bool
    ) -> Iterator[Any]:
        warned = np.geterr()  # threads have settings of their own

        def waiting(i: int, read: Future[Piece]) -> Any:
            with np.errstate(**warned):
                return answer(i, read.result())

        with ThreadPoolExecutor(threads, thread_name_prefix="hoag-pieces") as workers:
            answers = (
                workers.submit(waiting, i, reader.submit(self.source.read, i, rows))
                for i in range(self.pieces)
            )
            yield from _waited_for(answers, self.ahead + threads - 1)


def _waited_for(futures: Iterator[Future[Any]], most: int) -> Iterator[Any]:
    """Their results in order; `most` are begun before they are asked for."""
    begun: deque[Future[Any]] = deque()
    try:
        for future in futures:
            begun.append(future)
            if len(begun) > most:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        for left in begun:
            left.cancel()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _threads(blas: ThreadpoolController) -> int:
    """How many BLAS may use."""
    own = [pool["num_threads"] for pool in blas.info() if pool["user_api"] == "blas"]
    return max(own, default=1)
