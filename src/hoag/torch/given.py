"""The user's tensors, in dicts, lists and tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag.own.trees import nested


@contextmanager
def recording() -> Iterator[None]:
    """Tensors have derivatives, whatever the caller has switched off."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


class Given:
    """A structure of the user's, and how one like it is made of a flat vector.

    Every leaf keeps its dtype and its device. What is no tensor becomes one `like` another.
    """

    def __init__(self, given: Any, what: str, like: torch.Tensor | None = None) -> None:
        asked = structure(given, what)
        pairs = zip(asked.names, asked.take(given), strict=True)
        self.leaves = [
            _leaf(leaf, f"{what}: {name}" if name else what, like) for name, leaf in pairs
        ]
        if not any(leaf.numel() for leaf in self.leaves):
            raise InvalidInput(f"{what} has no tensor of numbers in it.")
        self._structure = structure(asked.rebuild(self.leaves), what)
        self.tree = replace(self._structure, rebuild=self._handed_out, take=self._taken)

    @property
    def start(self) -> Array:
        return self.flat(self.leaves)

    @property
    def roundoff(self) -> float:
        """Of its coarsest leaf."""
        return max(float(torch.finfo(leaf.dtype).eps) for leaf in self.leaves)

    def split(self, flat: Array) -> list[torch.Tensor]:
        """The leaves of a flat vector, each a tensor of its own."""
        return self._typed(self.tree.split(flat))

    def split_rows(self, rows: Array) -> list[torch.Tensor]:
        """The same of several vectors at once, which are the first axis of every leaf."""
        ends = np.cumsum([0, *self.tree.sizes])
        spans = zip(ends[:-1], ends[1:], self.tree.shapes, strict=True)
        return self._typed([rows[:, a:b].reshape(len(rows), *shape) for a, b, shape in spans])

    def flat(self, leaves: Sequence[torch.Tensor | None]) -> Array:
        """One vector of all leaves; zeros where there is None."""
        return self.flat_rows(leaves, 1).ravel()

    def flat_rows(self, leaves: Sequence[torch.Tensor | None], rows: int) -> Array:
        """The same of several vectors at once, one in each row."""
        pairs = zip(leaves, self.tree.sizes, strict=True)
        return np.concatenate([_rows(leaf, rows, size) for leaf, size in pairs], axis=1)

    def called(self, fn: Callable[[Any], Any], leaves: Sequence[torch.Tensor]) -> Any:
        """fn of the user's structure, made of these leaves."""
        return fn(self._structure.rebuild(leaves))

    def check_unchanged(self) -> None:
        """A sentence where calling the functions has changed what they are computed from."""

    def _handed_out(self, arrays: Sequence[Array]) -> Any:
        return self._structure.rebuild(self._typed(arrays))

    def _taken(self, other: Any) -> list[Array]:
        return [as_array(leaf) for leaf in self._structure.take(other)]

    def _typed(self, arrays: Sequence[Array]) -> list[torch.Tensor]:
        with recording():
            pairs = zip(arrays, self.leaves, strict=True)
            return [torch.tensor(a, dtype=t.dtype, device="cpu").to(t.device) for a, t in pairs]


def structure(given: Any, what: str) -> Any:
    """The Tree of dicts, lists and tuples with whatever leaves, which are left as they are."""
    return nested(given, what, _same, _kth)


def _same(leaf: Any) -> Any:
    return leaf


def _kth(k: int, leaf: Any) -> Any:
    return leaf


def _rows(leaf: torch.Tensor | None, rows: int, size: int) -> Array:
    return np.zeros((rows, size)) if leaf is None else as_array(leaf).reshape(rows, size)


def as_array(leaf: Any) -> Array:
    """In double precision, for NumPy."""
    known = leaf.numpy(force=True) if isinstance(leaf, torch.Tensor) else leaf
    return np.array(known, dtype=float)


def as_tensor(value: Any, like: torch.Tensor | None) -> torch.Tensor:
    """A NumPy array or a number as a tensor; floating-point ones in the dtype of another tensor."""
    with recording():
        tensor = torch.from_numpy(np.array(value, order="C"))
        if like is None:
            return tensor
        return tensor.to(like.device, like.dtype if tensor.is_floating_point() else None)


def _leaf(leaf: Any, where: str, like: torch.Tensor | None) -> torch.Tensor:
    if isinstance(leaf, torch.nn.Module):
        raise InvalidInput(
            f"{where} is a module among other leaves: give one module that holds them all, such as "
            "torch.nn.ModuleDict, or tensors alone."
        )
    if not isinstance(leaf, (torch.Tensor, np.ndarray, np.generic, float, int, complex)):
        raise InvalidInput(
            f"{where} is a {type(leaf).__name__}, and must be a tensor: let the functions close "
            "over what is neither tuned nor fitted."
        )
    tensor = leaf.detach() if isinstance(leaf, torch.Tensor) else as_tensor(leaf, like)
    if tensor.is_complex():
        raise InvalidInput(
            f"{where} is of type {_kind(tensor)}: give real and imaginary part as two leaves."
        )
    if not tensor.is_floating_point():
        raise InvalidInput(
            f"{where} is of type {_kind(tensor)}, and has no gradient: make it floating point if "
            "it is to be tuned or fitted; else let the functions close over it."
        )
    if tensor.dtype not in (torch.float32, torch.float64):
        raise InvalidInput(
            f"{where} is of type {_kind(tensor)}, in which a gradient cannot be told from "
            "rounding: use float64, or float32."
        )
    if tensor.layout is not torch.strided:
        raise InvalidInput(f"{where} is a sparse tensor: give a dense one.")
    if not bool(torch.all(torch.isfinite(tensor))):
        raise InvalidInput(f"{where} holds a NaN or an infinity.")
    return tensor.clone()


def _kind(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
