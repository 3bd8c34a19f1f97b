"""Training data, whole or in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import tree_util

from hoag.values import InvalidInput


def on_device(data: Any) -> Any:
    """Arrays moved to JAX once, and not at every call."""
    return tree_util.tree_map(jnp.asarray, data)


class Blocks:
    """The training data: whole, or block by block.

    each   a function that begins an iteration over the blocks
    many   whether there are several, of which one is in memory at a time
    whole  all of the rows, where they are in memory together; None where not
    rows   of `whole` in a block, about
    """

    def __init__(
        self, each: Callable[[], Iterable[Any]], many: bool, whole: Any = None, rows: float = np.inf
    ) -> None:
        self.each, self.many, self.whole, self._rows = each, many, whole, rows

    @staticmethod
    def of(train: Any, batches: Any) -> Blocks:
        if batches is None:
            whole = on_device(train)
            return Blocks(lambda: (whole,), False, whole)
        if callable(batches):
            return Blocks(batches, True)
        if isinstance(batches, int):
            n = rows_of(train)
            if n is None or not 1 <= batches <= n:
                raise InvalidInput(
                    f"batches={batches}: train must hold arrays with at least so many rows, all of "
                    "them the same number."
                )
            return _cut(train, n, batches)
        if isinstance(batches, (list, tuple)) and batches and train is None:
            return Blocks(lambda: batches, True)
        raise InvalidInput(
            "batches: give a number of blocks into which train is cut, a list of blocks (and no "
            "train), or a function that returns an iterator over blocks."
        )

    def part(self, which: npt.NDArray[np.intp]) -> Blocks:
        """Some of the rows, in blocks no larger."""
        some = take(self.whole, which)
        if which.size <= self._rows:
            return Blocks.of(some, None)
        return _cut(some, which.size, int(np.ceil(which.size / self._rows)))


def _cut(train: Any, n: int, count: int) -> Blocks:
    ends = np.linspace(0, n, count + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
    return Blocks(lambda: (take(train, part) for part in parts), True, train, n / count)


def take(data: Any, which: Any) -> Any:
    """Some rows, by NumPy: JAX would compile a function for each number of them."""

    def some(leaf: Any) -> Any:
        return np.asarray(leaf)[which] if np.ndim(leaf) else leaf

    return tree_util.tree_map(some, data)


def rows_of(data: Any) -> int | None:
    """How many rows all arrays of some data have; None where they differ, or there are none."""
    sizes = {np.shape(leaf)[0] for leaf in tree_util.tree_leaves(data) if np.ndim(leaf) > 0}
    return sizes.pop() if len(sizes) == 1 else None
