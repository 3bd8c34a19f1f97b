"""The user's tensors, in dicts, lists and tuples, and their data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag.autodiff._data import Arrays
from hoag.autodiff._pytree import Pytree


@contextmanager
def recording() -> Iterator[None]:
    """Tensors have derivatives, whatever the caller has switched off."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


class TorchTree(Pytree):
    """A structure of the user's, and how one like it is made of a flat vector.

    Every leaf keeps its dtype and its device. What is no tensor becomes one `like` another.
    """

    util = pytree

    def __init__(self, given: Any, what: str, like: torch.Tensor | None = None) -> None:
        self._like = like
        super().__init__(given, what)
        if not self.size:
            raise InvalidParameterError(f"{what} has no tensor of numbers in it.", what)

    @property
    def start(self) -> Array:
        return self.vector(self.leaves)

    @property
    def roundoff(self) -> float:
        """Of its coarsest leaf."""
        return max(float(torch.finfo(leaf.dtype).eps) for leaf in self.leaves)

    def tensors(self, flat: Array) -> list[torch.Tensor]:
        """The leaves of a flat vector, each a tensor of its own."""
        return self.typed(self.split(flat))

    def tensors_of_rows(self, rows: Array) -> list[torch.Tensor]:
        """The same of several vectors at once, which are the first axis of every leaf."""
        ends = np.cumsum([0, *self.sizes])
        spans = zip(ends[:-1], ends[1:], self.shapes, strict=True)
        return self.typed([rows[:, a:b].reshape(len(rows), *shape) for a, b, shape in spans])

    def vector(self, leaves: Sequence[torch.Tensor]) -> Array:
        """One vector of all leaves."""
        return self.vectors(leaves, 1).ravel()

    def vectors(self, leaves: Sequence[torch.Tensor], rows: int) -> Array:
        """The same of several vectors at once, one in each row; or the same in all rows."""
        parts = [
            np.resize(self.numbers_of(leaf), (rows, size))
            for leaf, size in zip(leaves, self.sizes, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def called(self, fn: Callable[[Any], Any], leaves: Sequence[torch.Tensor]) -> Any:
        """fn of the user's structure, made of these leaves."""
        return fn(self.filled(leaves))

    def check_unchanged(self) -> None:
        """A sentence where calling the functions has changed what they are computed from."""

    def name(self, path: Any) -> str:
        return "/".join(str(astuple(key)[0]) for key in path)

    def numbers_of(self, leaf: Any) -> Array:
        return super().numbers_of(
            leaf.numpy(force=True) if isinstance(leaf, torch.Tensor) else leaf
        )

    def typed(self, arrays: Sequence[Array]) -> list[torch.Tensor]:
        with recording():
            pairs = zip(arrays, self.leaves, strict=True)
            return [torch.tensor(a, dtype=t.dtype, device="cpu").to(t.device) for a, t in pairs]

    def checked(self, leaf: Any, where: str) -> torch.Tensor:
        if isinstance(leaf, torch.nn.Module):
            raise InvalidParameterError(
                f"{where} is a module among other leaves.\nGive one module that holds them all, "
                "such as torch.nn.ModuleDict, or tensors alone.",
                where,
            )
        if not isinstance(leaf, (torch.Tensor, np.ndarray, np.generic, float, int, complex)):
            raise InvalidParameterError(
                f"{where} is a {type(leaf).__name__}, and must be a tensor.\nLet the functions "
                "close over what is neither tuned nor fitted.",
                where,
            )
        tensor = leaf.detach() if isinstance(leaf, torch.Tensor) else as_tensor(leaf, self._like)
        kind = str(tensor.dtype).removeprefix("torch.")
        if tensor.is_complex():
            raise InvalidParameterError(
                f"{where} is of type {kind}.\nGive real and imaginary part as two leaves.", where
            )
        if not tensor.is_floating_point():
            raise InvalidParameterError(
                f"{where} is of type {kind}, and has no gradient.\nMake it floating point if it "
                "is to be tuned or fitted; else let the functions close over it.",
                where,
            )
        if tensor.dtype not in (torch.float32, torch.float64):
            raise InvalidParameterError(
                f"{where} is of type {kind}, in which a gradient cannot be told from rounding.\n"
                "Use float64, or float32.",
                where,
            )
        if tensor.layout is not torch.strided:
            raise InvalidParameterError(f"{where} is a sparse tensor.\nGive a dense one.", where)
        if not bool(torch.all(torch.isfinite(tensor))):
            raise InvalidParameterError(f"{where} holds a NaN or an infinity.", where)
        return tensor.clone()


class TorchArrays(Arrays):
    """Data as PyTorch has them. Arrays of numbers in NumPy become tensors `like` those of x0."""

    util = pytree

    def __init__(self, like: torch.Tensor) -> None:
        self._like = like

    def leaf(self, leaf: Any) -> Any:
        numbers = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf"
        return as_tensor(leaf, self._like) if numbers else leaf

    def some(self, leaf: Any, which: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and not isinstance(which, slice):
            return leaf[torch.from_numpy(which).to(leaf.device)]
        return leaf[which]


def as_tensor(value: Any, like: torch.Tensor | None) -> torch.Tensor:
    """A NumPy array or a number as a tensor; floating-point ones in the dtype of another tensor."""
    with recording():
        tensor = torch.from_numpy(np.array(value, order="C"))
        if like is None:
            return tensor
        return tensor.to(like.device, like.dtype if tensor.is_floating_point() else None)
