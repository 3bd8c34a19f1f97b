"""A function of the user's, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.words import one_line
from hoag.autodiff._functions import Product
from hoag.torch._pytree import TorchTree, recording


class Graph(NamedTuple):
    """A value, and the leaves that it was computed from."""

    value: torch.Tensor
    x: list[torch.Tensor]
    lam: list[torch.Tensor]


class TorchFunction:
    """One of the user's functions, fn(x, lam) or fn(x, lam, data), on flat x and λ.

    Second derivatives are reverse passes over the graph of a gradient: PyTorch has these for more
    operations than any other way, and the functions may do as they like in Python.
    """

    def __init__(
        self, fn: Callable[..., Any], name: str, x: TorchTree, lam: TorchTree, data: Any = None
    ) -> None:
        if not callable(fn):
            raise InvalidParameterError.of(name, fn, "give a function of x and lam.")
        self._fn, self._name, self._x, self._lam, self._data = fn, name, x, lam, data

    def at(self, data: Any) -> TorchFunction:
        return TorchFunction(self._fn, self._name, self._x, self._lam, data)

    def again(self) -> TorchFunction:
        """It is called anew every time."""
        return self

    def _graph(self, x: Array, lam: Array) -> Graph:
        more = () if self._data is None else (self._data,)
        with recording():
            xs, lams = self._x.tensors(x), self._lam.tensors(lam)
            for leaf in (*xs, *lams):
                leaf.requires_grad_()

            def at(given_x: Any) -> Any:
                return self._lam.called(lambda given: self._fn(given_x, given, *more), lams)

            return Graph(self._x.called(at, xs), xs, lams)

    def check(self, x: Array, lam: Array) -> None:
        """One number of the right kind comes out; else a sentence."""
        call = f"{self._name}(x, lam{'' if self._data is None else ', data'})"
        try:
            value, xs, _ = self._graph(x, lam)
        except Exception as error:
            raise InvalidParameterError(
                f"{call} cannot be called with x like x0 and lam like lam0: {one_line(error)}",
                self._name,
            ) from error
        if not isinstance(value, torch.Tensor):
            raise InvalidParameterError(
                f"{call} returns a {type(value).__name__}; it must be a tensor, which PyTorch has "
                "computed from x and lam.",
                self._name,
            )
        if value.shape != ():
            raise InvalidParameterError(
                f"{call} returns shape {tuple(value.shape)}; it must be one number.\nSum over "
                "rows.",
                self._name,
            )
        coarsest = max(self._x.roundoff, self._lam.roundoff)
        if not value.is_floating_point() or torch.finfo(value.dtype).eps > coarsest:
            raise InvalidParameterError(
                f"{call} returns {str(value.dtype).removeprefix('torch.')}; it must compute in "
                "the dtype of x0 and lam0.\nLook for a cast in it.",
                self._name,
            )
        unseen = not value.requires_grad or all(
            slope is None for slope in torch.autograd.grad(value, xs, allow_unused=True)
        )
        if self._name == "h" and unseen:
            raise InvalidParameterError(
                f"{call} does not depend on x, as far as PyTorch can see.\nLook for detach(), "
                "no_grad(), item() or NumPy in it.",
                self._name,
            )

    def value(self, x: Array, lam: Array) -> float:
        return float(self._graph(x, lam).value.detach())

    def gradient(self, x: Array, lam: Array) -> tuple[float, Array]:
        """h and ∇₁h."""
        value, xs, _ = self._graph(x, lam)
        return float(value.detach()), self._x.vector(slopes([value], xs))

    def outer(self, x: Array, lam: Array) -> tuple[float, Array, Array]:
        """g, ∇₁g and ∇₂g."""
        value, xs, lams = self._graph(x, lam)
        found = slopes([value], [*xs, *lams])
        by_x, by_lam = found[: len(xs)], found[len(xs) :]
        return float(value.detach()), self._x.vector(by_x), self._lam.vector(by_lam)

    def linearised(self, x: Array, lam: Array) -> tuple[float, Array, Product]:
        """h, ∇₁h, and v ↦ ∇²₁h v, one reverse pass over the graph that is kept."""
        value, xs, _ = self._graph(x, lam)
        h_x = slopes([value], xs, record=True)

        def times(v: Array) -> Array:
            return self._x.vector(slopes(h_x, xs, self._x.tensors(v), keep=True))

        return float(value.detach()), self._x.vector(h_x), times

    def times(self, x: Array, lam: Array, v: Array) -> Array:
        return self.linearised(x, lam)[2](v)

    def across(self, x: Array, lam: Array, v: Array) -> Array:
        """∇²₁,₂hᵀ v, the gradient in λ of ∇₁h·v."""
        value, xs, lams = self._graph(x, lam)
        h_x = slopes([value], xs, record=True)
        return self._lam.vector(slopes(h_x, lams, self._x.tensors(v)))

    def push(self, x: Array, lam: Array, w: Array) -> Array:
        """∇²₁,₂h w, the gradient in x of ∇₂h·w."""
        value, xs, lams = self._graph(x, lam)
        h_lam = slopes([value], lams, record=True)
        return self._x.vector(slopes(h_lam, xs, self._lam.tensors(w)))

    def hessian(self, x: Array, lam: Array, together: int = 32) -> Array:
        """∇²₁h, so many rows of it in one reverse pass."""
        value, xs, _ = self._graph(x, lam)
        h_x, space = slopes([value], xs, record=True), self._x
        rows, size = np.eye(x.size), x.size
        try:
            blocks = [rows[start : start + together] for start in range(0, size, together)]
            found = [
                slopes(h_x, xs, space.tensors_of_rows(block), keep=True, batched=True)
                for block in blocks
            ]
            parts = zip(found, blocks, strict=True)
            return np.vstack([space.vectors(part, len(block)) for part, block in parts])
        except RuntimeError:  # some operation in it takes one vector at a time only
            each = (slopes(h_x, xs, space.tensors(row), keep=True) for row in rows)
            return np.vstack([space.vector(part) for part in each])


def slopes(
    of: Sequence[torch.Tensor],
    at: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor] | None = None,
    *,
    record: bool = False,
    keep: bool = False,
    batched: bool = False,
) -> Sequence[torch.Tensor]:
    """Σ weights · ∂of/∂at for each of `at`; zeros where nothing depends on it.

    record    so that the result can be differentiated again
    keep      so that the same can be asked for with other weights
    batched   several weights at once, which are the first axis
    """
    given = [None] * len(of) if weights is None else weights
    live = [(o, w) for o, w in zip(of, given, strict=True) if o.requires_grad]
    if not live or not at:
        return [torch.zeros_like(tensor) for tensor in at]
    with recording():
        found: Sequence[torch.Tensor] = torch.autograd.grad(
            [o for o, _ in live],
            at,
            [w for _, w in live],
            retain_graph=keep or record,
            create_graph=record,
            is_grads_batched=batched,
            allow_unused=True,
            materialize_grads=True,
        )
    return found
