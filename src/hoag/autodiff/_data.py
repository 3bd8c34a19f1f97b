"""The rows of h and of g: whole, block by block, or some of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidParameterError

Indices = npt.NDArray[np.intp]


class Arrays(ABC):
    """What a framework does with structures of arrays.

    util     the framework's functions on pytrees
    """

    util: Any

    @abstractmethod
    def leaf(self, leaf: Any) -> Any:
        """Where and as the functions want it."""

    @abstractmethod
    def some(self, leaf: Any, which: Any) -> Any:
        """Some rows of an array, by number or as a slice."""

    def placed(self, data: Any) -> Any:
        """Where and as the functions want them, once and not at every call."""
        return self.util.tree_map(self.leaf, data)

    def take(self, data: Any, which: Any) -> Any:
        """Some rows of each array; a number is as it is."""
        return self.util.tree_map(
            lambda leaf: self.some(leaf, which) if np.ndim(leaf) else leaf, data
        )

    def rows(self, data: Any) -> int | None:
        """How many rows all of them have; None where they differ, or there are none."""
        sizes = {np.shape(leaf)[0] for leaf in self.util.tree_leaves(data) if np.ndim(leaf)}
        return sizes.pop() if len(sizes) == 1 else None


class UserData:
    """The data of h, in one block or several, and those of g.

    each   a function that begins an iteration over the blocks
    many   whether there are several, of which one is in memory at a time
    whole  all of the rows, where they are in memory together; None where not
    size   of a block, in rows, about
    test   the data of g
    """

    def __init__(
        self,
        arrays: Arrays,
        each: Callable[[], Iterable[Any]],
        many: bool,
        test: Any,
        whole: Any = None,
        size: float = np.inf,
    ) -> None:
        self._arrays, self.each, self.many, self.test = arrays, each, many, test
        self._whole, self._size = whole, size

    @staticmethod
    def of(arrays: Arrays, train: Any, test: Any, batches: Any) -> UserData:
        """From what a user gave: train whole, or cut into blocks, or blocks one by one."""
        test = arrays.placed(test)
        if batches is None:
            return _whole(arrays, train, test)
        if isinstance(batches, int):
            n = arrays.rows(train)
            if n is None or not 1 <= batches <= n:
                raise InvalidParameterError.of(
                    "batches",
                    batches,
                    "train must hold arrays with at least so many rows, all of them the same "
                    "number.",
                )
            return _cut(arrays, train, test, n, batches)
        again = isinstance(batches, Iterable) and isinstance(batches, Sized) and len(batches) > 0
        if train is None and (again or callable(batches)):
            begin = batches if callable(batches) else partial(iter, batches)
            return UserData(arrays, partial(_begun, arrays, begin), True, test)
        hint = (
            "give a number of blocks into which train is cut; or, without train, a list of blocks, "
            "or a function that returns an iterator over blocks."
        )
        raise InvalidParameterError.of("batches", batches, hint)

    @property
    def rows(self) -> tuple[int, int] | None:
        """Of h and of g, where h has them all in memory; 0 where those of g are not known."""
        n = self._arrays.rows(self._whole)
        return None if n is None else (n, self._arrays.rows(self.test) or 0)

    def part(self, train: Indices, test: Indices) -> UserData:
        """Some of the rows, in blocks no larger; no numbers: all that g has."""
        some, arrays = self._arrays.take(self._whole, train), self._arrays
        judged = arrays.placed(arrays.take(self.test, test)) if test.size else self.test
        if train.size <= self._size:
            return _whole(arrays, some, judged)
        return _cut(arrays, some, judged, train.size, int(np.ceil(train.size / self._size)))


def _whole(arrays: Arrays, train: Any, test: Any) -> UserData:
    placed = arrays.placed(train)
    return UserData(arrays, lambda: (placed,), False, test, placed)


def _cut(arrays: Arrays, train: Any, test: Any, n: int, count: int) -> UserData:
    ends = np.linspace(0, n, count + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(ends.tolist())]

    def each() -> Iterator[Any]:
        return (arrays.placed(arrays.take(train, part)) for part in parts)

    return UserData(arrays, each, True, test, train, n / count)


def _begun(arrays: Arrays, begin: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """One pass over the blocks that a user gives."""
    empty = True
    for block in begin():
        empty = False
        yield arrays.placed(block)
    if empty:
        raise InvalidParameterError(
            "batches() gave no block. It is called for each pass, and has to return an iterator "
            "that begins anew.",
            "batches",
        )
