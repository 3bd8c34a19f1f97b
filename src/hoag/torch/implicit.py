"""X(λ) in PyTorch: see hoag.own.implicit.

PyTorch differentiates h, twice: the graph of ∇₁h is made once at a point, and a product with ∇²₁h
is one walk back through it. The linear solves and the estimate of the error are the library's own,
on flat arrays of float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable
from torch.utils import _pytree as pytree

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Solve
from hoag._criteria.certificate import RELATIVE_RESIDUAL, ROUGH, certify, hypergradient
from hoag.linear import CG
from hoag.own.implicit import Standing, Terms, Verdict

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


def back(outputs: Tensors, inputs: Tensors, vectors: Tensors) -> list[Any]:
    """The product of `vectors` with the derivatives of `outputs`; zero where there are none."""
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    if not pairs or not inputs:
        return [torch.zeros_like(tensor) for tensor in inputs]
    return list(
        torch.autograd.grad(
            [output for output, _ in pairs],
            list(inputs),
            [vector for _, vector in pairs],
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
    )


def attached(tensor: Any) -> Any:
    return tensor.detach().clone().requires_grad_()


class Place:
    """∇₁h at one x and θ, products with both its derivatives; a point as criteria have them."""

    h, g, strong_convexity = np.nan, 0.0, None
    g_lam: Any = 0.0

    def __init__(self, inner: Inner, x: Array) -> None:
        self._inner = inner
        with torch.enable_grad():
            self._x = [attached(tensor) for tensor in parted(x, inner.x)]
            self._theta = [attached(tensor) for tensor in inner.wanted]
            h = inner.value(self._x, self._theta)
            self._slope = torch.autograd.grad(
                h, self._x, create_graph=True, allow_unused=True, materialize_grads=True
            )
        self.h_x = flat(self._slope)
        self.g_x = inner.rhs(self)

    @property
    def hessian(self) -> Place:
        return self

    @property
    def cross(self) -> Place:
        return self

    def __matmul__(self, v: Array) -> Array:
        """∇²₁h v."""
        self._inner.products += 1
        return flat(back(self._slope, self._x, parted(v, self._x)))

    def rmatvec(self, q: Array) -> Array:
        """What p is made of: p = −rmatvec(q)."""
        return -q if self._inner.forward else self.pulled(q)

    def pulled(self, q: Array) -> Array:
        """∇²₁,₂hᵀ q."""
        return flat(back(self._slope, self._theta, parted(q, self._x)))

    def pushed(self, along: Tensors) -> Array:
        """∇²₁,₂h w, as the derivative in u of the product with u."""
        with torch.enable_grad():
            u = [attached(torch.zeros_like(tensor)) for tensor in self._slope]
            graph = [output for output in self._slope if output.requires_grad]
            if not graph:
                return np.zeros(self.h_x.size)
            pulled = torch.autograd.grad(
                graph,
                self._theta,
                [v for v, output in zip(u, self._slope, strict=True) if output.requires_grad],
                create_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
        return flat(back(pulled, u, along))


class Inner:
    """One inner problem at a given λ: h(x, θ), the θ that derivatives are asked for, and v.

    v is the vector to pull back; in forward mode it is None, and `along` the direction in θ.
    """

    def __init__(
        self, value: Any, x: Tensors, wanted: Tensors, v: Array | None, along: Tensors = ()
    ) -> None:
        self.value, self.x, self.wanted = value, x, wanted
        self.v, self.along = v, along
        self.forward = v is None
        self.products = 0

    def at(self, x: Array, lam: Any = None) -> Place:
        return Place(self, x)

    def rhs(self, place: Place) -> Array:
        return -place.pushed(self.along) if self.v is None else self.v


class Watched:
    """Conjugate gradients, and why each of its solves ended."""

    def __init__(self, max_iter: int) -> None:
        self._cg = CG(max_iter)
        self.ended: list[str] = []

    def solve(self, A: Any, b: Array, q0: Array | None, tol: float) -> Solve:
        found = self._cg.solve(A, b, q0, tol)
        self.ended.append(found.reason)
        return found


def derivative(
    inner: Inner, start: Array | None, tol: float, terms: Terms
) -> tuple[Array, Array, Verdict]:
    """p, q and the verdict on p, at the solver's x."""
    x, linear = flat(inner.x), Watched(terms.max_iter)
    at = inner.at(x)
    gradient = float(np.linalg.norm(at.h_x))
    q = linear.solve(at, at.g_x, start, tol * float(np.linalg.norm(at.g_x))).x
    p = hypergradient(at, q)
    if terms.untrusted == "ignore":
        return p, q, Verdict("ignored", gradient, np.nan, np.nan, inner.products)
    found = certify(inner, x, x, at, q, linear) if np.isfinite(gradient) else None
    change, size, distance = np.inf, 0.0, np.inf
    if found is not None:
        change, size = found.error, float(np.linalg.norm(found.refined))
        distance = float(np.linalg.norm(found.x - x))
        if terms.untrusted == "correct":
            p = found.refined
            if not terms.enough(change, size):
                x, q_plus = found.best
                again = certify(inner, x, x, inner.at(x), q_plus, linear, tol=ROUGH)
                change = np.inf if again is None else (1 + ROUGH) * again.error
                size = 0.0 if again is None else float(np.linalg.norm(again.refined))
    facts = (
        bool(np.isfinite(gradient)) and "not_finite" not in linear.ended[:2],
        "indefinite" not in linear.ended,
        "max_iter" not in linear.ended[1:],
        bool(terms.enough(change, size)),
    )
    error = 0.0 if change == 0 else change / size if size and np.isfinite(change) else np.inf
    return p, q, Verdict.of([gradient, distance, error, inner.products, *facts])


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
        p = iter(ctx.engine.pulled(ctx.value, x, theta, needs, v))
        nones = [None] * (3 + ctx.count)
        return (*nones, *(next(p) if need else None for need in needs))


class TorchEngine:
    def __init__(self, solver: Callable[..., Any], h: Callable[..., Any], terms: Terms) -> None:
        self.solver, self.h, self.terms = solver, h, terms
        self.last: Verdict | None = None
        self._warm: Array | None = None

    # -- what Argmin asks

    def solution(self, lam: Any, x0: Any, data: tuple[Any, ...], warm: Any) -> Any:
        if warm is not None:
            raise InvalidInput(
                "warm= is for JAX, where compiled code keeps nothing: in PyTorch X keeps the last "
                "q by itself. Leave it out."
            )
        x, theta, structure, value = self._solved(lam, x0, data)
        x = Attach.apply(self, value, len(x), *x, *theta)
        return pytree.tree_unflatten(list(x), structure)

    def pushed(self, lam: Any, x0: Any, along: Any, data: tuple[Any, ...]) -> tuple[Any, Any]:
        x, theta, structure, value = self._solved(lam, x0, data)
        floats = [t for t in pytree.tree_leaves(lam) if is_float(t)]
        to = like(along, lam, "along, the direction in λ, is", "λ")

        def of_lam(x: Tensors, lams: Tensors) -> Any:
            return value(x, [*lams, *theta[len(floats) :]])

        inner = Inner(of_lam, x, floats, None, to)
        dx, _, self.last = derivative(inner, None, self._tol(x), self.terms)
        return (
            pytree.tree_unflatten(x, structure),
            pytree.tree_unflatten(parted(self._judged(dx), x), structure),
        )

    def standing(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> Standing:
        x, theta, structure, value = self._solved(lam, x0, data)
        at = Inner(value, x, theta, np.zeros(0)).at(flat(x))
        gradient = float(np.linalg.norm(at.h_x))
        step = CG(self.terms.max_iter).solve(at, -at.h_x, None, RELATIVE_RESIDUAL * gradient)
        distance = float(np.linalg.norm(step.x)) if step.converged else np.inf
        definite = step.reason not in ("indefinite", "not_finite")
        return Standing(pytree.tree_unflatten(x, structure), gradient, definite, distance)

    # -- how

    def _solved(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> tuple[Any, ...]:
        """The solver's x; the floating-point tensors of λ and data; x's structure; h of both."""
        if not any(map(is_float, pytree.tree_leaves(lam))):
            raise InvalidInput("λ has no floating-point tensor: give torch.tensor(1.0), and not 1.")
        if not all(map(is_float, pytree.tree_leaves(x0))):
            raise InvalidInput(
                "x0 has a leaf that is no floating-point tensor: give what does not belong to x "
                "to h as data, or let h hold it."
            )
        given, spec = pytree.tree_flatten((lam, data))
        with torch.enable_grad():
            still = [leaf.detach() if is_tensor(leaf) else leaf for leaf in given]
            lam_still, data_still = pytree.tree_unflatten(still, spec)
            begin = pytree.tree_map(lambda t: t.detach() if is_tensor(t) else t, x0)
            found = self.solver(lam_still, begin, *data_still)
        x = [tensor.detach() for tensor in like(found, x0, "The solver returned an x", "x0")]
        self._tol(x)
        structure = pytree.tree_structure(x0)

        def value(x: Tensors, theta: Tensors) -> Any:
            rest = iter(theta)
            leaves = [next(rest) if is_float(leaf) else leaf for leaf in given]
            lam, data = pytree.tree_unflatten(leaves, spec)
            h = self.h(pytree.tree_unflatten(list(x), structure), lam, *data)
            if h.ndim:
                raise InvalidInput(
                    f"h(x, lam) has shape {tuple(h.shape)}, and must be one number: sum it, or "
                    "take the mean."
                )
            return h

        return x, [leaf for leaf in given if is_float(leaf)], structure, value

    def pulled(self, value: Any, x: Tensors, theta: Tensors, needs: Any, v: Any) -> list[Any]:
        wanted = [tensor for tensor, need in zip(theta, needs, strict=True) if need]

        def within(x: Tensors, wanted: Tensors) -> Any:
            rest = iter(wanted)
            pairs = zip(theta, needs, strict=True)
            return value(x, [next(rest) if need else tensor for tensor, need in pairs])

        vector = flat([torch.zeros_like(t) if c is None else c for t, c in zip(x, v, strict=True)])
        inner = Inner(within, x, wanted, vector)
        start = self._warm if self._warm is not None and self._warm.size == vector.size else None
        p, q, self.last = derivative(inner, start, self._tol(x), self.terms)
        self._warm = q if np.isfinite(q).all() else None
        return parted(self._judged(p), wanted)

    def _judged(self, p: Array) -> Array:
        assert self.last is not None
        self.terms.answer(self.last)
        gone = self.terms.untrusted == "nan" and not self.last.trusted
        return np.full_like(p, np.nan) if gone else p

    def _tol(self, x: Tensors) -> float:
        return self.terms.tolerance(max(torch.finfo(tensor.dtype).eps for tensor in x))


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
        raise InvalidInput(f"{said} of structure {found}, and {what} is {structure}.")
    for leaf, one in zip(leaves, wanted, strict=True):
        if not is_float(leaf) or leaf.shape != one.shape or leaf.dtype != one.dtype:
            looks = f"shape {tuple(leaf.shape)} in {leaf.dtype}" if is_tensor(leaf) else repr(leaf)
            raise InvalidInput(
                f"{said} with a leaf of {looks}, where {what} has {tuple(one.shape)} in "
                f"{one.dtype}: both must agree, and no precision be lost."
            )
    return leaves
