"""Structures of tensors, for `hoag.own.data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hoag.torch.given import as_tensor, structure


class TorchArrays:
    """Data as PyTorch has them. Arrays of numbers in NumPy become tensors `like` those of x0."""

    def __init__(self, like: torch.Tensor) -> None:
        self._like = like

    def placed(self, data: Any) -> Any:
        def made(leaf: Any) -> Any:
            numbers = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf"
            return as_tensor(leaf, self._like) if numbers else leaf

        return _each(data, made)

    def take(self, data: Any, which: Any) -> Any:
        return _each(data, lambda leaf: _some(leaf, which))

    def rows(self, data: Any) -> int | None:
        tree = structure(data, "data")
        sizes = {shape[0] for shape in tree.shapes if shape}
        return sizes.pop() if len(sizes) == 1 else None


def _each(data: Any, change: Callable[[Any], Any]) -> Any:
    tree = structure(data, "data")
    return tree.rebuild([change(leaf) for leaf in tree.take(data)])


def _some(leaf: Any, which: Any) -> Any:
    """Some rows of an array; a number is as it is."""
    if not np.ndim(leaf):
        return leaf
    if isinstance(leaf, torch.Tensor) and not isinstance(which, slice):
        return leaf[torch.from_numpy(which).to(leaf.device)]
    return leaf[which]
