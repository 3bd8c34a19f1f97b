"""X(λ) in JAX: see hoag.autodiff._implicit.

The linear algebra of a derivative is one compiled function of arrays, so that it runs under jit
and vmap. What is done about a derivative that cannot be trusted is Python: outside compiled code it
runs as it stands, inside it is called back with eight numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np

from hoag._core.errors import InvalidParameterError
from hoag.autodiff._implicit import (
    AutodiffEngine,
    Solved,
    System,
    Terms,
    check_leaves,
    check_number,
)


class Spec(NamedTuple):
    """A structure without its numbers: the kind of each leaf, and the leaves that are no arrays."""

    tree: Any
    kinds: tuple[str, ...]
    fixed: tuple[Any, ...]

    def built(self, floats: Iterable[Any], others: Iterable[Any]) -> Any:
        sources = {"float": iter(floats), "other": iter(others), "fixed": iter(self.fixed)}
        return jax.tree.unflatten(self.tree, [next(sources[kind]) for kind in self.kinds])


def taken(tree: Any, what: str) -> tuple[Spec, list[Any], list[Any]]:
    """The structure of a pytree, its floating-point leaves, and its other arrays."""
    leaves, structure = jax.tree.flatten(tree)
    found: dict[str, list[Any]] = {"float": [], "other": [], "fixed": []}
    kinds = []
    for leaf in leaves:
        kind, kept = "fixed", leaf  # a Python int, too: h may count by it
        if isinstance(leaf, (jax.Array, np.ndarray, np.generic, float)):
            kept = jnp.asarray(leaf)
            kind = "float" if jnp.issubdtype(kept.dtype, jnp.floating) else "other"
            if jnp.issubdtype(kept.dtype, jnp.complexfloating):
                raise InvalidParameterError(
                    f"{what} has a complex leaf: hoag.implicit differentiates real numbers.\nGive "
                    "real and imaginary parts as two arrays.",
                    what,
                )
        kinds.append(kind)
        found[kind].append(kept)
    spec = Spec(structure, tuple(kinds), tuple(found["fixed"]))
    return spec, found["float"], found["other"]


class Shape(NamedTuple):
    """The structures of x, λ and the data."""

    x: Spec
    lam: Spec
    data: Spec


def flat(leaves: Sequence[Any]) -> Any:
    return jnp.concatenate([jnp.ravel(leaf) for leaf in leaves]) if leaves else jnp.zeros(0)


def parted(vector: Any, like: Sequence[Any]) -> list[Any]:
    """A flat vector as leaves of the shapes and types of others."""
    parts, start = [], 0
    for leaf in like:
        part = vector[start : start + leaf.size]
        parts.append(part.reshape(leaf.shape).astype(leaf.dtype))
        start += leaf.size
    return parts


def is_traced(tree: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def cg(product: Any, q: Any, r: Any, size: Any, tol: Any, max_iter: Any) -> Solved:
    """Conjugate gradients from q, whose residual is r, until ‖r‖ ≤ tol · size."""
    roundoff = jnp.finfo(r.dtype).eps

    def going(state: Any) -> Any:
        k, _, r, _, _, definite, finite = state
        return (jnp.linalg.norm(r) > tol * size) & (k < max_iter) & definite & finite

    def step(state: Any) -> Any:
        k, q, r, d, rho, _, _ = state
        Hd = product(d)
        curvature = jnp.vdot(d, Hd)
        finite, positive = jnp.isfinite(curvature), curvature > 0
        # A singular but consistent system ends without curvature, once only rounding is left.
        definite = positive | ~finite | (jnp.linalg.norm(r) <= jnp.sqrt(roundoff) * size)
        along = jnp.where(positive, rho / jnp.where(positive, curvature, 1), 0)
        q, r = q + along * d, r - along * Hd
        after = jnp.vdot(r, r)
        return k + 1, q, jnp.where(positive, r, 0), r + after / rho * d, after, definite, finite

    begin = (0, q, r, r, jnp.vdot(r, r), jnp.array(True), jnp.isfinite(size))
    k, q, r, _, _, definite, finite = jax.lax.while_loop(going, step, begin)
    return Solved(q, k, definite, finite, (jnp.linalg.norm(r) <= tol * size) | ~finite | ~definite)


class Calculus:
    """∇₁h, flat, and its derivatives; `x` is flat, `like` has its leaves, `rest` all that is fixed.

    Each is compiled by itself, once for every structure: outside compiled code a derivative is made
    of these few pieces, which compile in a fraction of the time of the whole.
    """

    # All X(λ) of one h share its compiled pieces.
    known: ClassVar[WeakValueDictionary[Any, Calculus]] = WeakValueDictionary()

    @classmethod
    def of(cls, h: Callable[..., Any]) -> Calculus:
        try:
            return cls.known.setdefault(h, cls(h))
        except TypeError:  # some callables cannot be hashed
            return cls(h)

    def __init__(self, h: Callable[..., Any]) -> None:
        self.h = h
        self.slope = jax.jit(self._slope, static_argnums=0)
        self.product = jax.jit(self._product, static_argnums=0)
        self.solve = jax.jit(self._solve, static_argnums=0)
        self.pulled = jax.jit(self._pulled, static_argnums=(0, 6))
        self.pushed = jax.jit(self._pushed, static_argnums=0)

    def _slope(self, shape: Shape, like: Any, theta: Any, rest: Any, x: Any) -> Any:
        x_rest, lam_rest, data_rest = rest
        split = shape.lam.kinds.count("float")

        def value(x: Any) -> Any:
            lam = shape.lam.built(theta[:split], lam_rest)
            data = shape.data.built(theta[split:], data_rest)
            h = self.h(shape.x.built(parted(x, like), x_rest), lam, *data)
            check_number(h)
            return h

        return jax.grad(value)(x)

    def _product(self, shape: Shape, like: Any, theta: Any, rest: Any, x: Any, v: Any) -> Any:
        """∇²₁h v."""
        return jax.jvp(lambda x: self._slope(shape, like, theta, rest, x), (x,), (v,))[1]

    def _solve(
        self, shape: Shape, like: Any, theta: Any, rest: Any, x: Any, *system: Any
    ) -> Solved:
        product = jax.linearize(lambda x: self._slope(shape, like, theta, rest, x), x)[1]
        return cg(product, *system)

    def _pulled(
        self, shape: Shape, like: Any, theta: Any, rest: Any, x: Any, q: Any, wanted: Any
    ) -> Any:
        """∇²₁,₂hᵀ q, flat, for those θ that are wanted."""
        pairs = list(zip(theta, wanted, strict=True))

        def slope(asked: Any) -> Any:
            left = iter(asked)
            full = [next(left) if want else leaf for leaf, want in pairs]
            return self._slope(shape, like, full, rest, x)

        return flat(jax.vjp(slope, [leaf for leaf, want in pairs if want])[1](q)[0])

    def _pushed(self, shape: Shape, like: Any, theta: Any, rest: Any, x: Any, along: Any) -> Any:
        """∇²₁,₂h w."""
        tangents = [*along, *(jnp.zeros_like(leaf) for leaf in theta[len(along) :])]
        slope = partial(self._slope, shape, like)
        return jax.jvp(lambda theta: slope(theta, rest, x), (theta,), (tangents,))[1]


class JaxSystem(System):
    """θ has the floating-point leaves of λ and of the data, `rest` all other arrays.

    Those θ are `wanted` that p is asked for; w, in forward mode, is `along`.
    """

    np = jnp

    def __init__(
        self,
        calculus: Calculus,
        where: tuple[Shape, Sequence[Any], Any, Any],
        v: Any = None,
        wanted: tuple[bool, ...] = (),
        along: Any = None,
    ) -> None:
        self._shape, self.leaves, theta, self._rest = where
        self.x, self._v, self._wanted, self._along = flat(self.leaves), v, wanted, along
        self.traced = is_traced((self.leaves, theta, v))
        self._calculus, self._where = calculus, where

    def slope(self, x: Any) -> Any:
        return self._calculus.slope(*self._where, x)

    def product(self, x: Any, v: Any) -> Any:
        return self._calculus.product(*self._where, x, v)

    def solve(self, x: Any, *system: Any) -> Solved:
        found: Solved = self._calculus.solve(*self._where, x, *system)
        return found

    def rhs(self, x: Any) -> Any:
        if self._along is None:
            return self._v
        return -self._calculus.pushed(*self._where, x, self._along)

    def out(self, x: Any, q: Any) -> Any:
        if self._along is not None:
            return q
        return -self._calculus.pulled(*self._where, x, q, self._wanted)

    def built(self, vector: Any) -> Any:
        return self._shape.x.built(parted(vector, self.leaves), self._rest[0])

    def choose(self, known: Any, found: Any, again: Callable[[], Any]) -> Any:
        if not is_traced(known):
            return super().choose(known, found, again)
        return jax.lax.cond(known, lambda: found, again)


class JaxEngine(AutodiffEngine):
    finfo = jnp.finfo

    def __init__(self, solver: Callable[..., Any], h: Callable[..., Any], terms: Terms) -> None:
        super().__init__(solver, h, terms)
        self._calculus = Calculus.of(h)

    def solution(self, lam: Any, x0: Any, data: tuple[Any, ...], warm: Any) -> Any:
        shape, x, theta, rest = self._solved(lam, x0, data)
        start = () if warm is None else self._like(shape.x, warm, x, "warm")
        return shape.x.built(self._attached(shape, x, theta, rest, start), rest[0])

    def system(self, lam: Any, x0: Any, data: tuple[Any, ...], along: Any = None) -> JaxSystem:
        where = self._solved(lam, x0, data)
        shape, _, theta, _ = where
        if along is not None:
            lams = theta[: shape.lam.kinds.count("float")]
            along = self._like(shape.lam, along, lams, "along")
        return JaxSystem(self._calculus, where, along=along)

    def _solved(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> tuple[Shape, Any, Any, Any]:
        """The solver's x, as floating-point leaves; those of λ and data; all other arrays."""
        (x_spec, begin, x_rest), (lam_spec, lams, lam_rest), (data_spec, floats, data_rest) = (
            taken(tree, what) for tree, what in ((x0, "x0"), (lam, "λ"), (data, "data"))
        )
        for what, found in (("x0", begin), ("λ", lams)):
            if not found:
                raise InvalidParameterError(
                    f"{what} has no floating-point leaf.\nGive 1.0, and not 1.", what
                )
        still = [[jax.lax.stop_gradient(leaf) for leaf in each] for each in (lams, begin, floats)]
        x = self.solver(
            lam_spec.built(still[0], lam_rest),
            x_spec.built(still[1], x_rest),
            *data_spec.built(still[2], data_rest),
        )
        x = self._like(x_spec, x, begin, "x")
        self.tol(x)
        theta, rest = [*lams, *floats], (x_rest, lam_rest, data_rest)
        return Shape(x_spec, lam_spec, data_spec), x, theta, rest

    def _like(self, spec: Spec, tree: Any, models: Sequence[Any], what: str) -> list[Any]:
        """The floating-point leaves of a tree that should look like another."""
        said = "The solver returned an x" if what == "x" else f"{what} is"
        like = "λ" if what == "along" else "x0"
        found, floats, _ = taken(tree, what)
        if found.tree != spec.tree or found.kinds != spec.kinds:
            raise InvalidParameterError(
                f"{said} of structure {found.tree}, and {like} is {spec.tree}."
            )
        check_leaves(floats, models, said, like)
        return floats

    def _attached(self, shape: Shape, x: Any, theta: Any, rest: Any, start: Any) -> Any:
        """x itself, with the derivative of the minimum in θ; in `start` it is q, by agreement."""

        @jax.custom_vjp  # type: ignore[untyped-decorator]
        def attached(x: Any, theta: Any, rest: Any, start: Any) -> Any:
            return x

        def forward(*primals: Any) -> Any:
            if any(leaf.perturbed for leaf in primals[0]):
                raise InvalidParameterError(
                    "The solver's x depends on what is differentiated by another way than lam and "
                    "data, and that part would be lost.\nGive to X, as λ or as data, whatever the "
                    "solver or h take from outside.",
                    "solver",
                )
            values = jax.tree.map(lambda leaf: leaf.value, primals)
            return values[0], (*values, [0.0 if leaf.perturbed else None for leaf in primals[1]])

        def backward(kept: Any, v: Any) -> Any:
            x, theta, rest, start, wanted = kept
            wanted = tuple(each is not None for each in wanted)
            zero = jax.custom_derivatives.SymbolicZero
            v = [jnp.zeros(c.shape, c.dtype) if isinstance(c, zero) else c for c in v]
            where = shape, x, theta, rest
            system = JaxSystem(self._calculus, where, flat(v), wanted)
            p, q = self.pulled(system, flat(start) if start else None)
            asked = [leaf for leaf, want in zip(theta, wanted, strict=True) if want]
            p = iter(parted(p, asked))
            thetas = [next(p) if each else None for each in wanted]
            return None, thetas, None, parted(q, x) if start else ()

        attached.defvjp(forward, backward, symbolic_zeros=True)
        return attached(x, theta, rest, start)

    def judged(self, p: Any, numbers: Any) -> Any:
        untrusted = self.terms.untrusted
        if not is_traced(numbers):
            return super().judged(p, np.asarray(numbers))
        if untrusted == "ignore":
            return p
        if untrusted == "nan":
            good = numbers[-4:].all()
        else:
            asked = jax.ShapeDtypeStruct((), np.bool_)
            good = jax.pure_callback(self._answered, asked, numbers, vmap_method="broadcast_all")
        return jnp.where(good, p, jnp.nan)

    def _answered(self, numbers: Any) -> Any:
        """Called back by compiled code, for one verdict or for many."""
        rows = np.asarray(numbers)
        for row in rows.reshape(-1, rows.shape[-1]):
            super().judged(0.0, row)
        return np.ones(rows.shape[:-1], np.bool_)
