"""Training data, whole or in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from hoag.torch.given import as_tensor, structure
from hoag.values import InvalidInput


def as_tensors(data: Any, like: torch.Tensor) -> Any:
    """Arrays of numbers in NumPy made tensors like x0's; whatever else there is, as it is."""

    def made(leaf: Any) -> Any:
        numbers = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf"
        return as_tensor(leaf, like) if numbers else leaf

    return _each(data, made)


class Blocks:
    """The training data: whole, or block by block.

    each   a function that begins an iteration over the blocks
    many   whether there are several, of which one is in memory at a time
    """

    def __init__(self, each: Callable[[], Iterable[Any]], many: bool) -> None:
        self.each, self.many = each, many

    @staticmethod
    def of(train: Any, batches: Any, like: torch.Tensor) -> Blocks:
        if batches is None:
            whole = as_tensors(train, like)
            return Blocks(lambda: (whole,), False)

        def made(blocks: Iterable[Any]) -> Iterable[Any]:
            return (as_tensors(block, like) for block in blocks)

        if isinstance(batches, int):
            n = _rows(train)
            if n is None or not 1 <= batches <= n:
                raise InvalidInput(
                    f"batches={batches}: train must hold arrays with at least so many rows, all of "
                    "them the same number."
                )
            ends = np.linspace(0, n, batches + 1).astype(int)
            parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
            return Blocks(lambda: made(_taken(train, part) for part in parts), True)
        if train is None and callable(batches):
            return Blocks(lambda: made(batches()), True)
        if train is None and isinstance(batches, (list, tuple, DataLoader)) and len(batches):
            return Blocks(lambda: made(batches), True)
        raise InvalidInput(
            "batches: give a number of blocks into which train is cut; or, and no train, a list of "
            "blocks, a DataLoader, or a function that returns an iterator over blocks."
        )


def _each(data: Any, change: Callable[[Any], Any]) -> Any:
    tree = structure(data, "data")
    return tree.rebuild([change(leaf) for leaf in tree.take(data)])


def _taken(data: Any, which: slice) -> Any:
    return _each(data, lambda leaf: leaf[which])


def _rows(data: Any) -> int | None:
    """How many rows all arrays of some data have; None where they differ, or there are none."""
    tree = structure(data, "data")
    sizes = {shape[0] for shape in tree.shapes if shape}
    return sizes.pop() if len(sizes) == 1 and all(tree.shapes) else None
