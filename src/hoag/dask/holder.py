"""The actor that holds pieces on a worker, and answers for them.

One message a worker and round comes in, the open nodes of the tree over its pieces go out. What
fails in a call goes out, too, as a value: an exception of the actor itself then means the worker.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import cloudpickle
from threadpoolctl import ThreadpoolController

from hoag._data.piece import Piece
from hoag._data.tree import Tree

# The holders of this process, by name: tasks that make pieces put them here.
_holders: WeakValueDictionary[str, Holder] = WeakValueDictionary()


class Order(NamedTuple):
    """What is asked of a holder in a round: `call` for these pieces, added up or one by one.

    `key` names what pieces are prepared with, which comes along, pickled, where the holder has not
    seen it; states made with others than `keep` are dropped.
    """

    call: bytes
    pieces: Sequence[int]
    together: bool
    key: int | None
    prepare: bytes | None
    keep: Sequence[int]


class Failure(NamedTuple):
    """What a call raised for a piece; −1 where it was none."""

    piece: int
    error: BaseException


class NotHere(LookupError):
    """The holder is not in this process: its worker was started anew."""


class Holder:
    """Pieces in the memory of a worker, with what was prepared of them.

    BLAS runs on one thread, whatever the worker's default, so that bits do not depend on it;
    `threads` pieces are computed at a time.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self.pieces: dict[int, Piece] = {}
        self.prepares: dict[int, Callable[[int, Piece], Any]] = {}
        self.states: dict[int, dict[int, Any]] = {}
        self.blas = ThreadpoolController()
        self.pool = ThreadPoolExecutor(threads, "hoag-pieces") if threads > 1 else None
        _holders[name] = self

    async def alive(self) -> bool:
        """On the worker's event loop, so that it is answered while a call is computed."""
        return True

    def run(self, order: bytes) -> bytes:
        """Bytes in, bytes out: there is nothing in them for dask to look into."""
        try:
            with self.blas.limit(limits=1, user_api="blas"):
                return dumped(self._answer(pickle.loads(order)))
        except Exception as error:
            return packed(error, -1)

    def _answer(self, order: Order) -> Any:
        for key in [key for key in self.states if key not in order.keep]:
            del self.states[key], self.prepares[key]
        if order.key is not None and order.prepare is not None:
            self.prepares[order.key] = pickle.loads(order.prepare)
            self.states[order.key] = {}
        call = pickle.loads(order.call)

        def one(i: int) -> Any:
            try:
                return call(self._state(i, order.key))
            except Exception as error:
                return pickle.loads(packed(error, i))

        tree, each = Tree(), []
        computed: Iterator[Any] = (self.pool.map if self.pool else map)(one, order.pieces)
        for i, value in zip(order.pieces, computed):
            if isinstance(value, Failure):
                return value
            if order.together:
                tree.add((0, i), value)
            else:
                each.append(((0, i), value))
        return list(tree.nodes.items()) if order.together else each

    def _state(self, i: int, key: int | None) -> Any:
        if key is None:
            return self.pieces[i]
        made = self.states[key]
        if i not in made:
            made[i] = self.prepares[key](i, self.pieces[i])
        return made[i]


def dumped(value: Any) -> bytes:
    """Pickled; functions that have no module by what they are."""
    try:
        return pickle.dumps(value, protocol=5)
    except Exception:
        found: bytes = cloudpickle.dumps(value, protocol=5)
        return found


def packed(error: BaseException, piece: int) -> bytes:
    """A failure as bytes that can be read again, whatever the exception."""
    where = "On a worker" if piece < 0 else f"In piece {piece}, on a worker"
    told = f"{where}:\n{''.join(traceback.format_exception(error))}"
    try:
        error.add_note(told)
        found = dumped(Failure(piece, error))
        pickle.loads(found)
    except Exception:
        return pickle.dumps(Failure(piece, RuntimeError(told)))
    return found


def keep(name: str, i: int, piece: Piece) -> int:
    """Puts piece i, by reference, into a holder of this process; its bytes."""
    if name not in _holders:
        raise NotHere(name)
    _holders[name].pieces[i] = piece
    X = piece.X
    size = X.nbytes if "nbytes" in dir(X) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return int(size + piece.y.nbytes)
