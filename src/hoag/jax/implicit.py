"""X(λ) in JAX: see hoag.own.implicit.

The linear algebra of a derivative is one compiled function of arrays, so that it runs under jit
and vmap. What is done about a derivative that cannot be trusted is Python: outside compiled code it
runs as it stands, inside it is called back with eight numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import jax
import jax.numpy as jnp
import numpy as np

from hoag._core.errors import InvalidInput
from hoag._criteria.certificate import RELATIVE_RESIDUAL, ROUGH
from hoag.own.implicit import Standing, Terms, Verdict


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
                raise InvalidInput(
                    f"{what} has a complex leaf: hoag.implicit differentiates real numbers; give "
                    "real and imaginary parts as two arrays."
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


class Solved(NamedTuple):
    """q, the products it took, and whether curvature was positive, all finite, and tol met."""

    q: Any
    products: Any
    definite: Any
    finite: Any
    solved: Any


def norm(v: Any) -> Any:
    return jnp.sqrt(jnp.vdot(v, v))


def is_traced(tree: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def cg(product: Any, q: Any, r: Any, size: Any, tol: Any, max_iter: Any) -> Solved:
    """Conjugate gradients from q, whose residual is r, until ‖r‖ ≤ tol · size."""
    roundoff = jnp.finfo(r.dtype).eps

    def going(state: Any) -> Any:
        k, _, r, _, _, definite, finite = state
        return (norm(r) > tol * size) & (k < max_iter) & definite & finite

    def step(state: Any) -> Any:
        k, q, r, d, rho, _, _ = state
        Hd = product(d)
        curvature = jnp.vdot(d, Hd)
        finite, positive = jnp.isfinite(curvature), curvature > 0
        # A singular but consistent system ends without curvature, once only rounding is left.
        definite = positive | ~finite | (norm(r) <= jnp.sqrt(roundoff) * size)
        along = jnp.where(positive, rho / jnp.where(positive, curvature, 1), 0)
        q, r = q + along * d, r - along * Hd
        after = jnp.vdot(r, r)
        return k + 1, q, jnp.where(positive, r, 0), r + after / rho * d, after, definite, finite

    begin = (0, q, r, r, jnp.vdot(r, r), jnp.array(True), jnp.isfinite(size))
    k, q, r, _, _, definite, finite = jax.lax.while_loop(going, step, begin)
    return Solved(q, k, definite, finite, (norm(r) <= tol * size) | ~finite | ~definite)


def derivative(inner: Inner, x: Any, start: Any, tol: float, terms: Terms) -> tuple[Any, Any, Any]:
    """p, q and the eight numbers of a Verdict, at the x found; see hoag._criteria.certificate."""

    def solved(x: Any, b: Any, tol: float) -> Solved:
        found: Solved = inner.solve(x, jnp.zeros_like(b), b, norm(b), tol, terms.max_iter)
        return found

    def refined(x: Any, h_x: Any, q: Any, tol: float) -> tuple[Any, Any, Any, Solved, Solved]:
        """x⁺, q⁺ and p⁺, and the two solves that led there."""
        newton = solved(x, -h_x, tol)
        x = x + newton.q
        left = solved(x, inner.rhs(x) - inner.product(x, q), tol)
        return x, q + left.q, inner.out(x, q + left.q), newton, left

    h_x, b = inner.slope(x), inner.rhs(x)
    q, r = jnp.zeros_like(b), b
    if start is not None:  # at its best multiple, if that helps
        Hs = inner.product(x, start)
        energy = jnp.vdot(start, Hs)
        scale = jnp.where(energy > 0, jnp.vdot(start, b), 0) / jnp.where(energy > 0, energy, 1)
        better = norm(b - scale * Hs) < norm(b)
        q, r = jnp.where(better, scale * start, q), jnp.where(better, b - scale * Hs, r)
    first = inner.solve(x, q, r, norm(b), tol, terms.max_iter)
    p, gradient = inner.out(x, first.q), norm(h_x)
    products = first.products + (start is not None)
    if terms.untrusted == "ignore":
        nan, yes = jnp.full_like(gradient, jnp.nan), jnp.ones_like(gradient)
        return p, first.q, jnp.stack([gradient, nan, nan, yes * products, *[yes] * 4])
    x_plus, q_plus, p_plus, newton, left = refined(x, h_x, first.q, RELATIVE_RESIDUAL)
    change, size = norm(p_plus - p), norm(p_plus)
    products = products + newton.products + left.products + 1
    finite = jnp.isfinite(gradient) & first.finite & newton.finite
    definite = first.definite & newton.definite & left.definite
    solvable = newton.solved & left.solved
    if terms.untrusted == "correct":

        def again(_: None) -> Any:
            found = refined(x_plus, inner.slope(x_plus), q_plus, ROUGH)
            moved, more = norm(found[2] - p_plus), found[3].products + found[4].products + 1
            return (1 + ROUGH) * moved, norm(found[2]), products + more

        known = terms.enough(change, size)
        if is_traced(known):
            change, size, products = jax.lax.cond(
                known, lambda _: (change, size, products), again, None
            )
        elif not known:
            change, size, products = again(None)
        p = jnp.where(finite & definite & solvable, p_plus, p)
    error = change / jnp.maximum(size, jnp.finfo(x.dtype).tiny)
    error = jnp.where(jnp.isfinite(change), error, jnp.inf)
    facts = (finite, definite, solvable, terms.enough(change, size))
    numbers = [gradient, norm(newton.q), error, products, *facts]
    return p, first.q, jnp.stack([jnp.asarray(number, x.dtype) for number in numbers])


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
            if jnp.shape(h) != ():
                raise InvalidInput(
                    f"h(x, lam) has shape {jnp.shape(h)}, and must be one number: sum it, or take "
                    "the mean."
                )
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


class Inner:
    """The inner problem at a given λ, and the system that p is made of."""

    def __init__(
        self, calculus: Calculus, *where: Any, v: Any = None, wanted: Any = (), along: Any = None
    ) -> None:
        self.v, self.wanted, self.along = v, wanted, along
        self.slope = partial(calculus.slope, *where)
        self.product = partial(calculus.product, *where)
        self.solve = partial(calculus.solve, *where)
        self._pulled = partial(calculus.pulled, *where)
        self._pushed = partial(calculus.pushed, *where)

    def rhs(self, x: Any) -> Any:
        return self.v if self.along is None else -self._pushed(x, self.along)

    def out(self, x: Any, q: Any) -> Any:
        return q if self.along is not None else -self._pulled(x, q, self.wanted)


class JaxEngine:
    def __init__(self, solver: Callable[..., Any], h: Callable[..., Any], terms: Terms) -> None:
        self.solver, self.terms = solver, terms
        self.last: Verdict | None = None
        self._warm: Any = None
        self._calculus = Calculus.of(h)

    def solution(self, lam: Any, x0: Any, data: tuple[Any, ...], warm: Any) -> Any:
        shape, x, theta, rest = self._solved(lam, x0, data)
        start = () if warm is None else self._like(shape.x, warm, x, "warm")
        return shape.x.built(self._attached(shape, x, theta, rest, start), rest[0])

    def pushed(self, lam: Any, x0: Any, along: Any, data: tuple[Any, ...]) -> tuple[Any, Any]:
        shape, x, theta, rest = self._solved(lam, x0, data)
        to = self._like(shape.lam, along, theta[: shape.lam.kinds.count("float")], "along")
        inner = Inner(self._calculus, shape, x, theta, rest, along=to)
        dx, _, numbers = derivative(inner, flat(x), None, self._tol(x), self.terms)
        dx = self._judged(parted(dx, x), numbers)
        return shape.x.built(x, rest[0]), shape.x.built(dx, rest[0])

    def standing(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> Standing:
        shape, x, theta, rest = self._solved(lam, x0, data)
        inner, at = Inner(self._calculus, shape, x, theta, rest), flat(x)
        h_x = inner.slope(at)
        size, most = norm(h_x), self.terms.max_iter
        step = inner.solve(at, jnp.zeros_like(h_x), -h_x, size, RELATIVE_RESIDUAL, most)
        definite = bool(step.definite & step.finite)
        distance = float(norm(step.q)) if definite and bool(step.solved) else float("inf")
        return Standing(shape.x.built(x, rest[0]), float(size), definite, distance)

    def _solved(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> tuple[Shape, Any, Any, Any]:
        """The solver's x, as floating-point leaves; those of λ and data; all other arrays."""
        (x_spec, begin, x_rest), (lam_spec, lams, lam_rest), (data_spec, floats, data_rest) = (
            taken(tree, what) for tree, what in ((x0, "x0"), (lam, "λ"), (data, "data"))
        )
        for what, found in (("x0", begin), ("λ", lams)):
            if not found:
                raise InvalidInput(f"{what} has no floating-point leaf: give 1.0, and not 1.")
        still = [[jax.lax.stop_gradient(leaf) for leaf in each] for each in (lams, begin, floats)]
        x = self.solver(
            lam_spec.built(still[0], lam_rest),
            x_spec.built(still[1], x_rest),
            *data_spec.built(still[2], data_rest),
        )
        x = self._like(x_spec, x, begin, "x")
        self._tol(x)
        theta, rest = [*lams, *floats], (x_rest, lam_rest, data_rest)
        return Shape(x_spec, lam_spec, data_spec), x, theta, rest

    def _tol(self, x: Sequence[Any]) -> float:
        return self.terms.tolerance(max(float(jnp.finfo(leaf.dtype).eps) for leaf in x))

    def _like(self, spec: Spec, tree: Any, models: Sequence[Any], what: str) -> list[Any]:
        """The floating-point leaves of a tree that should look like another."""
        said = "The solver returned an x" if what == "x" else f"{what} is"
        like = "λ" if what == "along" else "x0"
        found, floats, _ = taken(tree, what)
        if found.tree != spec.tree or found.kinds != spec.kinds:
            raise InvalidInput(f"{said} of structure {found.tree}, and {like} is {spec.tree}.")
        for leaf, model in zip(floats, models, strict=True):
            if leaf.shape != model.shape or leaf.dtype != model.dtype:
                raise InvalidInput(
                    f"{said} with a leaf of shape {leaf.shape} in {leaf.dtype}, where {like} has "
                    f"{model.shape} in {model.dtype}: both must agree, and no precision be lost."
                )
        return floats

    def _attached(self, shape: Shape, x: Any, theta: Any, rest: Any, start: Any) -> Any:
        """x itself, with the derivative of the minimum in θ; in `start` it is q, by agreement."""

        @jax.custom_vjp  # type: ignore[untyped-decorator]
        def attached(x: Any, theta: Any, rest: Any, start: Any) -> Any:
            return x

        def forward(*primals: Any) -> Any:
            if any(leaf.perturbed for leaf in primals[0]):
                raise InvalidInput(
                    "The solver's x depends on what is differentiated by another way than lam and "
                    "data, and that part would be lost: give to X, as λ or as data, whatever the "
                    "solver or h take from outside."
                )
            values = jax.tree.map(lambda leaf: leaf.value, primals)
            return values[0], (*values, [0.0 if leaf.perturbed else None for leaf in primals[1]])

        def backward(kept: Any, v: Any) -> Any:
            x, theta, rest, start, wanted = kept
            wanted = tuple(each is not None for each in wanted)
            zero = jax.custom_derivatives.SymbolicZero
            v = [jnp.zeros(c.shape, c.dtype) if isinstance(c, zero) else c for c in v]
            traced = is_traced((x, theta, v))
            at, last = flat(x), None if traced else self._warm
            fits = last is not None and (last.shape, last.dtype) == (at.shape, at.dtype)
            begin = flat(start) if start else last if fits else None
            inner = Inner(self._calculus, shape, x, theta, rest, v=flat(v), wanted=wanted)
            p, q, numbers = derivative(inner, at, begin, self._tol(x), self.terms)
            asked = [leaf for leaf, want in zip(theta, wanted, strict=True) if want]
            p = iter(self._judged(parted(p, asked), numbers))
            if not traced:
                self._warm = q
            thetas = [next(p) if each else None for each in wanted]
            return None, thetas, None, parted(q, x) if start else ()

        attached.defvjp(forward, backward, symbolic_zeros=True)
        return attached(x, theta, rest, start)

    def _judged(self, leaves: Any, numbers: Any) -> Any:
        """The derivative, if it is trusted or nothing was asked; else what was asked for."""
        untrusted, traced = self.terms.untrusted, isinstance(numbers, jax.core.Tracer)
        if untrusted == "ignore":
            if not traced:
                self.last = replace(Verdict.of(np.asarray(numbers)), reason="ignored")
            return leaves
        if not traced:
            self._answer(numbers)
        if untrusted == "nan":
            good = numbers[-4:].all()
        elif traced:
            asked = jax.ShapeDtypeStruct((), np.bool_)
            good = jax.pure_callback(self._answer, asked, numbers, vmap_method="broadcast_all")
        else:
            return leaves
        return [jnp.where(good, leaf, jnp.nan) for leaf in leaves]

    def _answer(self, numbers: Any) -> Any:
        rows = np.asarray(numbers)
        for row in rows.reshape(-1, rows.shape[-1]):
            self.last = Verdict.of(row)
            self.terms.answer(self.last)
        return np.ones(rows.shape[:-1], np.bool_)
