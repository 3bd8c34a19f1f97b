"""The actor that holds partitions on a worker, and answers for them.

One message a worker and round comes in, the open nodes of the tree over its partitions go out. What
fails in a call goes out, too, as a value: an exception of the actor itself then means the worker.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import cloudpickle

from hoag._data.engine import TreeSum, abreast
from hoag._data.source import Partition

# The holders of this process, by name: tasks that make partitions put them here.
_holders: WeakValueDictionary[str, Holder] = WeakValueDictionary()


class Order(NamedTuple):
    """What is asked of a holder in a round: `call` for these partitions, added up or one by one.

    `key` names what partitions are prepared with, which comes along, pickled, where the holder has
    not seen it; states made with others than `keep` are dropped.
    """

    call: bytes
    partitions: Sequence[int]
    together: bool
    key: int | None
    prepare: bytes | None
    keep: Sequence[int]


class Failure(NamedTuple):
    """What a call raised for a partition; −1 where it was none."""

    partition: int
    error: BaseException


class NotHere(LookupError):
    """The holder is not in this process: its worker was started anew."""


class Holder:
    """Partitions in the memory of a worker, with what was prepared of them.

    BLAS runs on one thread, whatever the worker's default, so that bits do not depend on it;
    `threads` partitions are computed at a time.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self.partitions: dict[int, Partition] = {}
        self.prepares: dict[int, Callable[[int, Partition], Any]] = {}
        self.states: dict[int, dict[int, Any]] = {}
        self.threads = threads
        _holders[name] = self

    async def alive(self) -> bool:
        """On the worker's event loop, so that it is answered while a call is computed."""
        return True

    def run(self, order: bytes) -> bytes:
        """Bytes in, bytes out: there is nothing in them for dask to look into."""
        try:
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

        tree, each = TreeSum(), []
        computed = abreast(one, [(i,) for i in order.partitions], self.threads)
        for i, value in zip(order.partitions, computed):
            if isinstance(value, Failure):
                return value
            if order.together:
                tree.add((0, i), value)
            else:
                each.append(((0, i), value))
        return list(tree.nodes.items()) if order.together else each

    def _state(self, i: int, key: int | None) -> Any:
        if key is None:
            return self.partitions[i]
        made = self.states[key]
        if i not in made:
            made[i] = self.prepares[key](i, self.partitions[i])
        return made[i]


def dumped(value: Any) -> bytes:
    """Pickled; functions that have no module by what they are."""
    try:
        return pickle.dumps(value, protocol=5)
    except Exception:
        found: bytes = cloudpickle.dumps(value, protocol=5)
        return found


def packed(error: BaseException, partition: int) -> bytes:
    """A failure as bytes that can be read again, whatever the exception."""
    where = "On a worker" if partition < 0 else f"In partition {partition}, on a worker"
    told = f"{where}:\n{''.join(traceback.format_exception(error))}"
    try:
        error.add_note(told)
        found = dumped(Failure(partition, error))
        pickle.loads(found)
    except Exception:
        return pickle.dumps(Failure(partition, RuntimeError(told)))
    return found


def keep(name: str, i: int, partition: Partition) -> int:
    """Puts partition i, by reference, into a holder of this process; its bytes."""
    if name not in _holders:
        raise NotHere(name)
    _holders[name].partitions[i] = partition
    X = partition.X
    size = X.nbytes if "nbytes" in dir(X) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return int(size + partition.y.nbytes)
