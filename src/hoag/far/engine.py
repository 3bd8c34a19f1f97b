"""Who goes through the pieces: what is asked of all rows is asked of each piece, and added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from hoag.far.piece import Piece, Source
from hoag.far.tree import Tree

# What is computed of a piece: pure, and pickled where pieces are in other processes.
Call = Callable[[Any], Any]
# What a piece, given its number, is made into before it is asked; likewise. Engines may keep what
# it made for as long as they are asked with the same object.
Prepare = Callable[[int, Piece], Any]


class Engine(ABC):
    """Pieces of rows, wherever they are.

    total(call)     Σᵢ call(piece i), in a fixed tree over the pieces: see hoag.far.tree
    gathered(call)  [call(piece 0), call(piece 1), …]

    With `prepare`, `call` gets prepare(i, piece i) in place of the piece. With rows=False X is not
    needed, and is None where that saves a read. `reads` counts how often all rows were gone
    through.

    >>> import numpy as np
    >>> from hoag import far
    >>> class Halves(far.Source):
    ...     pieces, features = 2, 3
    ...     def read(self, i, rows=True):
    ...         return far.Piece(np.full((4, 3), float(i)), np.zeros(4))
    ...     def fingerprint(self):
    ...         return "two halves"
    >>> far.Local(Halves()).total(lambda piece: piece.X.sum())
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

    @abstractmethod
    def fingerprint(self) -> str: ...


class Local(Engine):
    """Pieces of a source, read one after another by a thread that is `ahead` of the computation."""

    def __init__(self, source: Source, ahead: int = 2) -> None:
        self.source, self.ahead = source, ahead
        self.pieces, self.features, self.names = source.pieces, source.features, source.names

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def total(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Any:
        tree = Tree()
        for i, found in enumerate(self._answers(call, prepare, rows)):
            tree.add((0, i), found)
        return tree.total

    def gathered(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> list[Any]:
        return list(self._answers(call, prepare, rows))

    def _answers(self, call: Call, prepare: Prepare | None, rows: bool) -> Iterator[Any]:
        for i, piece in enumerate(self._ahead(rows)):
            yield call(piece if prepare is None else prepare(i, piece))
        self.reads += 1.0 if rows else 0.0

    def _ahead(self, rows: bool) -> Iterator[Piece]:
        """The pieces in their order, some of them read before they are asked for."""
        with ThreadPoolExecutor(1, thread_name_prefix="hoag-read-ahead") as reader:
            waiting: deque[Future[Piece]] = deque()
            try:
                for i in range(self.pieces):
                    waiting.append(reader.submit(self.source.read, i, rows))
                    if len(waiting) > self.ahead:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for left in waiting:
                    left.cancel()
