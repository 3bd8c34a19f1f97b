"""A function of the user's, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from hoag.torch.given import Given, recording
from hoag.values import Array, InvalidInput

Pull = Callable[[Array], tuple[Array, Array]]


class Graph(NamedTuple):
    """A value, and the leaves that it was computed from."""

    value: torch.Tensor
    x: list[torch.Tensor]
    lam: list[torch.Tensor]


class Term:
    """One of the user's functions, fn(x, lam) or fn(x, lam, data), on flat x and λ.

    Second derivatives are reverse passes over the graph of a gradient: PyTorch has these for more
    operations than any other way, and the functions may do as they like in Python.
    """

    def __init__(self, fn: Callable[..., Any], name: str, x: Given, lam: Given) -> None:
        if not callable(fn):
            raise InvalidInput(f"{name}={fn!r}: give a function of x and lam.")
        self._fn, self._name, self._x, self._lam = fn, name, x, lam

    def graph(self, x: Array, lam: Array, data: Any) -> Graph:
        more = () if data is None else (data,)
        with recording():
            xs, lams = self._x.split(x), self._lam.split(lam)
            for leaf in (*xs, *lams):
                leaf.requires_grad_()

            def at(given_x: Any) -> Any:
                return self._lam.called(lambda given: self._fn(given_x, given, *more), lams)

            return Graph(self._x.called(at, xs), xs, lams)

    def called(self, x: Array, lam: Array, data: Any) -> float:
        return float(self.graph(x, lam, data).value.detach())

    def gradient(self, x: Array, lam: Array, data: Any) -> tuple[float, Array]:
        """h and ∇₁h."""
        value, xs, _ = self.graph(x, lam, data)
        return float(value.detach()), self._x.flat(_slopes([value], xs))

    def outer(self, x: Array, lam: Array, data: Any) -> tuple[float, Array, Array]:
        """g, ∇₁g and ∇₂g."""
        graph = self.graph(x, lam, data)
        return float(graph.value.detach()), *self._both(graph, _slopes([graph.value], _all(graph)))

    def linearised(self, x: Array, lam: Array, data: Any) -> tuple[float, Array, Pull]:
        """h, ∇₁h, and v ↦ (∇²₁h v, ∇²₁,₂hᵀ v), one reverse pass over the graph that is kept."""
        graph = self.graph(x, lam, data)
        h_x = _slopes([graph.value], graph.x, record=True)

        def pull(v: Array) -> tuple[Array, Array]:
            found = _slopes(h_x, _all(graph), self._x.split(v), keep=True)
            return self._both(graph, found)

        return float(graph.value.detach()), self._x.flat(h_x), pull

    def product(self, x: Array, lam: Array, data: Any, v: Array) -> tuple[Array, Array]:
        return self.linearised(x, lam, data)[2](v)

    def push(self, x: Array, lam: Array, data: Any, w: Array) -> Array:
        """∇²₁,₂h w, the gradient in x of ∇₂h·w."""
        graph = self.graph(x, lam, data)
        h_lam = _slopes([graph.value], graph.lam, record=True)
        return self._x.flat(_slopes(h_lam, graph.x, self._lam.split(w)))

    def hessian(self, x: Array, lam: Array, data: Any, together: int = 32) -> Array:
        """∇²₁h, so many rows of it in one reverse pass."""
        graph = self.graph(x, lam, data)
        h_x = _slopes([graph.value], graph.x, record=True)
        rows, size = np.eye(x.size), x.size
        try:
            blocks = [rows[start : start + together] for start in range(0, size, together)]
            found = [
                _slopes(h_x, graph.x, self._x.split_rows(block), keep=True, batched=True)
                for block in blocks
            ]
            parts = zip(found, blocks, strict=True)
            return np.vstack([self._x.flat_rows(part, len(block)) for part, block in parts])
        except RuntimeError:  # some operation in it takes one vector at a time only
            each = (_slopes(h_x, graph.x, self._x.split(row), keep=True) for row in rows)
            return np.vstack([self._x.flat(part) for part in each])

    def _both(self, graph: Graph, slopes: Sequence[Any]) -> tuple[Array, Array]:
        p = len(graph.x)
        return self._x.flat(slopes[:p]), self._lam.flat(slopes[p:])

    def check(self, x: Array, lam: Array, data: Any) -> None:
        """One number of the right kind comes out; else a sentence."""
        call = f"{self._name}(x, lam{'' if data is None else ', data'})"
        try:
            value, xs, _ = self.graph(x, lam, data)
        except Exception as error:
            raise InvalidInput(
                f"{call} cannot be called with x like x0 and lam like lam0: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(value, torch.Tensor):
            raise InvalidInput(
                f"{call} returns a {type(value).__name__}; it must be a tensor, which PyTorch has "
                "computed from x and lam."
            )
        if value.shape != ():
            raise InvalidInput(
                f"{call} returns shape {tuple(value.shape)}; it must be one number. Sum over rows."
            )
        coarsest = max(self._x.roundoff, self._lam.roundoff)
        if not value.is_floating_point() or torch.finfo(value.dtype).eps > coarsest:
            raise InvalidInput(
                f"{call} returns {str(value.dtype).removeprefix('torch.')}; it must compute in the "
                "dtype of x0 and lam0: look for a cast in it."
            )
        if self._name == "h" and all(slope is None for slope in _slopes([value], xs)):
            raise InvalidInput(
                f"{call} does not depend on x, as far as PyTorch can see: look for detach(), "
                "no_grad(), item() or NumPy in it."
            )


def _all(graph: Graph) -> list[torch.Tensor]:
    return [*graph.x, *graph.lam]


def _slopes(
    of: Sequence[torch.Tensor | None],
    at: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor] | None = None,
    *,
    record: bool = False,
    keep: bool = False,
    batched: bool = False,
) -> Sequence[torch.Tensor | None]:
    """Σ weights · ∂of/∂at for each of `at`; None where nothing depends on it.

    record    so that the result can be differentiated again
    keep      so that the same can be asked for with other weights
    batched   several weights at once, which are the first axis
    """
    given = [None] * len(of) if weights is None else weights
    live = [(o, w) for o, w in zip(of, given, strict=True) if o is not None and o.requires_grad]
    if not live:
        return [None] * len(at)
    with recording():
        found: Sequence[torch.Tensor | None] = torch.autograd.grad(
            [o for o, _ in live],
            at,
            [w for _, w in live],
            retain_graph=keep or record,
            create_graph=record,
            is_grads_batched=batched,
            allow_unused=True,
        )
    return found
