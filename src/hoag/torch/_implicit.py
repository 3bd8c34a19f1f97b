"""X(λ) in PyTorch: see hoag.autodiff._implicit.

PyTorch differentiates h, twice: the graph of ∇₁h is made once at a point, and a product with ∇²₁h
is one walk back through it. The linear solves and the estimate of the error are the library's own,
on flat arrays of float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator
from torch.autograd.function import once_differentiable
from torch.utils import _pytree as pytree

from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag._linear import CG
from hoag.autodiff._implicit import AutodiffEngine, Solved, System, check_leaves, check_number
from hoag.torch._function import slopes

Tensors = Sequence[Any]


def flat(tensors: Tensors) -> Array:
    parts = [tensor.detach().reshape(-1).double().cpu() for tensor in tensors]
    return np.asarray(torch.cat(parts).numpy()) if parts else np.zeros(0)


def parted(vector: Array, like: Tensors) -> list[Any]:
    """A flat array as tensors of the shapes, types and devices of others."""
    parts, start = [], 0
    for tensor in like:
        part = torch.tensor(vector[start : start + tensor.numel()])
        parts.append(part.to(tensor).reshape(tensor.shape))
        start += tensor.numel()
    return parts


def attached(tensor: Any) -> Any:
    return tensor.detach().clone().requires_grad_()


class TorchSystem(System):
    """h(x, θ) for the θ that derivatives are asked for; v is the vector to pull back.

    In forward mode there is no v, and `along` is the direction in θ. x has the `structure`.
    """

    np = np

    def __init__(
        self,
        value: Callable[[Tensors, Tensors], Any],
        leaves: Tensors,
        wanted: Tensors,
        v: Any = None,
        along: Any = None,
        structure: Any = None,
    ) -> None:
        self._value, self.leaves, self._wanted = value, leaves, wanted
        self._structure = structure
        self.x, self._v, self._along = flat(leaves), v, along
        self._last: Any = None

    def _graph(self, x: Array) -> tuple[Tensors, Tensors, Tensors]:
        """x, θ and ∇₁h with its graph; that of the last x is kept."""
        if self._last is None or self._last[0] is not x:
            with torch.enable_grad():
                xs = [attached(tensor) for tensor in parted(x, self.leaves)]
                theta = [attached(tensor) for tensor in self._wanted]
                slope = slopes([self._value(xs, theta)], xs, record=True)
            self._last = x, (xs, theta, slope)
        found: tuple[Tensors, Tensors, Tensors] = self._last[1]
        return found

    def slope(self, x: Array) -> Array:
        return flat(self._graph(x)[2])

    def product(self, x: Array, v: Array) -> Array:
        xs, _, slope = self._graph(x)
        return flat(slopes(slope, xs, parted(v, xs), keep=True))

    def rhs(self, x: Array) -> Any:
        if self._along is None:
            return self._v
        _, theta, slope = self._graph(x)
        with torch.enable_grad():  # ∇²₁,₂h w, as the derivative in u of the product with u
            u = [attached(torch.zeros_like(tensor)) for tensor in slope]
            pulled = slopes(slope, theta, u, record=True)
        return -flat(slopes(pulled, u, self._along, keep=True))

    def out(self, x: Array, q: Array) -> Array:
        if self._along is not None:
            return q
        xs, theta, slope = self._graph(x)
        return -flat(slopes(slope, theta, parted(q, xs), keep=True))

    def solve(self, x: Array, q: Array, r: Array, size: Any, tol: float, max_iter: int) -> Solved:
        matrix = LinearOperator((x.size, x.size), matvec=partial(self.product, x), dtype=float)
        found = CG(max_iter).solve(matrix, r, None, tol * float(size))
        ended = (found.reason != reason for reason in ("indefinite", "not_finite", "max_iter"))
        return Solved(q + found.x, found.iterations, *ended)

    def built(self, vector: Array) -> Any:
        return self._structure.unflatten(parted(vector, self.leaves))


class Attach(torch.autograd.Function):  # type: ignore[misc]
    """x itself, with the derivative of the minimum in θ."""

    @staticmethod
    def forward(ctx: Any, engine: Any, value: Any, count: int, *tensors: Any) -> Any:
        ctx.engine, ctx.value, ctx.count = engine, value, count
        ctx.save_for_backward(*tensors)
        return tuple(tensor.clone() for tensor in tensors[:count])

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *v: Any) -> Any:
        x, theta = ctx.saved_tensors[: ctx.count], ctx.saved_tensors[ctx.count :]
        needs = ctx.needs_input_grad[3 + ctx.count :]
        p = iter(ctx.engine.backward(ctx.value, x, theta, needs, v))
        nones = [None] * (3 + ctx.count)
        return (*nones, *(next(p) if need else None for need in needs))


class TorchEngine(AutodiffEngine):
    finfo = torch.finfo

    def solution(self, lam: Any, x0: Any, data: tuple[Any, ...], warm: Any) -> Any:
        if warm is not None:
            raise NotSupportedError(
                "warm= is for JAX, where compiled code keeps nothing: in PyTorch X keeps the last "
                "q by itself.\nLeave it out.",
                "warm",
            )
        x, theta, structure, value = self._solved(lam, x0, data)
        return structure.unflatten(Attach.apply(self, value, len(x), *x, *theta))

    def system(self, lam: Any, x0: Any, data: tuple[Any, ...], along: Any = None) -> TorchSystem:
        x, theta, structure, value = self._solved(lam, x0, data)
        if along is None:
            return TorchSystem(value, x, theta, structure=structure)
        floats = list(filter(is_float, pytree.tree_leaves(lam)))
        to = like(along, lam, "along, the direction in λ, is", "λ")

        def of_lam(x: Tensors, lams: Tensors) -> Any:
            return value(x, [*lams, *theta[len(floats) :]])

        return TorchSystem(of_lam, x, floats, along=to, structure=structure)

    def _solved(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> tuple[Any, ...]:
        """The solver's x; the floating-point tensors of λ and data; x's structure; h of both."""
        if not any(map(is_float, pytree.tree_leaves(lam))):
            raise InvalidParameterError(
                "λ has no floating-point tensor.\nGive torch.tensor(1.0), and not 1.", "lam"
            )
        if not all(map(is_float, pytree.tree_leaves(x0))):
            raise InvalidParameterError(
                "x0 has a leaf that is no floating-point tensor.\nGive what does not belong to x "
                "to h as data, or let h hold it.",
                "x0",
            )
        given, spec = pytree.tree_flatten((lam, data))
        with torch.enable_grad():
            still = [leaf.detach() if is_tensor(leaf) else leaf for leaf in given]
            lam_still, data_still = pytree.tree_unflatten(still, spec)
            begin = pytree.tree_map(lambda t: t.detach() if is_tensor(t) else t, x0)
            found = self.solver(lam_still, begin, *data_still)
        x = [tensor.detach() for tensor in like(found, x0, "The solver returned an x", "x0")]
        self.tol(x)
        structure = pytree.tree_structure(x0)

        def value(x: Tensors, theta: Tensors) -> Any:
            rest = iter(theta)
            leaves = [next(rest) if is_float(leaf) else leaf for leaf in given]
            lam, data = pytree.tree_unflatten(leaves, spec)
            h = self.h(structure.unflatten(x), lam, *data)
            check_number(h)
            return h

        return x, [leaf for leaf in given if is_float(leaf)], structure, value

    def backward(self, value: Any, x: Tensors, theta: Tensors, needs: Any, v: Any) -> list[Any]:
        """p as tensors, for those θ that need it."""
        wanted = [tensor for tensor, need in zip(theta, needs, strict=True) if need]

        def within(x: Tensors, wanted: Tensors) -> Any:
            rest = iter(wanted)
            pairs = zip(theta, needs, strict=True)
            return value(x, [next(rest) if need else tensor for tensor, need in pairs])

        vector = flat([torch.zeros_like(t) if c is None else c for t, c in zip(x, v, strict=True)])
        return parted(self.pulled(TorchSystem(within, x, wanted, vector))[0], wanted)


def is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor)


def is_float(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def like(tree: Any, model: Any, said: str, what: str) -> list[Any]:
    """The tensors of a structure that should look like another."""
    wanted, structure = pytree.tree_flatten(model)
    leaves: list[Any]
    leaves, found = pytree.tree_flatten(tree)
    if found != structure:
        raise InvalidParameterError(f"{said} of structure {found}, and {what} is {structure}.")
    for leaf in leaves:
        if not is_tensor(leaf):
            raise InvalidParameterError(
                f"{said} with a leaf of {leaf!r}, where {what} has a tensor."
            )
    check_leaves(leaves, wanted, said, what)
    return leaves
