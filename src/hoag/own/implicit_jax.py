"""X(λ) in JAX: see hoag.own.implicit.

The linear algebra of a derivative is one compiled function of arrays, so that it runs under jit
and vmap. What is done about a derivative that cannot be trusted is Python: outside compiled code it
runs as it stands, inside it is called back with eight numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from hoag.criteria.certificate import RELATIVE_RESIDUAL, ROUGH
from hoag.own.implicit import Standing, Terms, Verdict
from hoag.values import InvalidInput


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
    """The structures of x, λ and the data, and which of the numbers of λ and data are asked for."""

    x: Spec
    lam: Spec
    data: Spec
    wanted: tuple[bool, ...] = ()


class Place(NamedTuple):
    """∇₁h at one x with products v ↦ ∇²₁h v, and the system whose solution is mapped to p."""

    h_x: Any
    product: Callable[[Any], Any]
    rhs: Any
    out: Callable[[Any], Any]


class Solved(NamedTuple):
    """q and what is left of the system; whether curvature was positive, all finite, and tol met."""

    q: Any
    products: Any
    definite: Any
    finite: Any
    solved: Any


def norm(v: Any) -> Any:
    return jnp.sqrt(jnp.vdot(v, v))


def cg(product: Any, b: Any, start: Any, tol: float, max_iter: int) -> Solved:
    """Conjugate gradients to ‖Hq − b‖ ≤ tol‖b‖, from the best multiple of `start` if that helps."""
    q, r, used = jnp.zeros_like(b), b, 0
    if start is not None:
        Hs = product(start)
        energy = jnp.vdot(start, Hs)
        scale = jnp.where(energy > 0, jnp.vdot(start, b) / jnp.where(energy > 0, energy, 1), 0)
        better = norm(b - scale * Hs) < norm(b)
        q, r, used = jnp.where(better, scale * start, q), jnp.where(better, b - scale * Hs, r), 1
    size = norm(b)
    roundoff = jnp.finfo(b.dtype).eps

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
        after = jnp.where(positive, jnp.vdot(r, r), 0)
        return k + 1, q, jnp.where(positive, r, 0), r + after / rho * d, after, definite, finite

    finite = jnp.isfinite(size)
    begin = (0, q, r, r, jnp.vdot(r, r), jnp.array(True), finite)
    k, q, r, _, _, definite, finite = jax.lax.while_loop(going, step, begin)
    return Solved(q, used + k, definite, finite, (norm(r) <= tol * size) | ~finite | ~definite)


def derivative(
    place: Callable[[Any], Place], x: Any, start: Any, tol: float, terms: Terms
) -> tuple[Any, Any, Any]:
    """p, q and the eight numbers of a Verdict, at the solver's x; see hoag.criteria.certificate."""

    def refined(x: Any, at: Place, q: Any, tol: float) -> tuple[Any, Place, Any, Solved, Solved]:
        newton = cg(at.product, -at.h_x, None, tol, terms.max_iter)
        plus = place(x + newton.q)
        left = cg(plus.product, plus.rhs - plus.product(q), None, tol, terms.max_iter)
        return x + newton.q, plus, q + left.q, newton, left

    at = place(x)
    first = cg(at.product, at.rhs, start, tol, terms.max_iter)
    p, gradient = at.out(first.q), norm(at.h_x)
    if terms.untrusted == "ignore":
        nan, yes = jnp.full_like(gradient, jnp.nan), jnp.ones_like(gradient)
        return p, first.q, jnp.stack([gradient, nan, nan, yes * first.products, *[yes] * 4])
    x_plus, plus, q_plus, newton, left = refined(x, at, first.q, RELATIVE_RESIDUAL)
    p_plus = plus.out(q_plus)
    change, size = norm(p_plus - p), norm(p_plus)
    products = first.products + newton.products + left.products + 1
    finite = jnp.isfinite(gradient) & first.finite & newton.finite
    definite = first.definite & newton.definite & left.definite
    solved = newton.solved & left.solved
    if terms.untrusted == "correct":

        def again(_: None) -> Any:
            _, further, q, *two = refined(x_plus, plus, q_plus, ROUGH)
            p = further.out(q)
            return (1 + ROUGH) * norm(p - p_plus), norm(p), 1 + sum(one.products for one in two)

        change, size, more = jax.lax.cond(
            terms.enough(change, size), lambda _: (change, size, 0), again, None
        )
        products = products + more
        p = jnp.where(finite & definite & solved, p_plus, p)
    error = jnp.where(change > 0, change / size, 0)
    error = jnp.where(jnp.isfinite(change), error, jnp.inf)
    facts = (finite, definite, solved, terms.enough(change, size))
    numbers = [gradient, norm(newton.q), error, products, *facts]
    return p, first.q, jnp.stack([jnp.asarray(number, x.dtype) for number in numbers])


class JaxEngine:
    def __init__(self, solver: Callable[..., Any], h: Callable[..., Any], terms: Terms) -> None:
        self.solver, self.h, self.terms = solver, h, terms
        self.last: Verdict | None = None
        self._warm: tuple[Shape, Any] | None = None
        self._pull = jax.jit(self._pulled, static_argnums=0)
        self._push = jax.jit(self._pushed, static_argnums=0)
        self._step = jax.jit(self._newton, static_argnums=0)

    # -- what Argmin asks

    def solution(self, lam: Any, x0: Any, data: tuple[Any, ...], warm: Any) -> Any:
        shape, x, theta, rest = self._solved(lam, x0, data)
        start = () if warm is None else self._like(shape.x, warm, x, "warm")
        return shape.x.built(self._attached(shape, x, theta, rest, start), rest[0])

    def pushed(self, lam: Any, x0: Any, along: Any, data: tuple[Any, ...]) -> tuple[Any, Any]:
        shape, x, theta, rest = self._solved(lam, x0, data)
        floats = theta[: shape.lam.kinds.count("float")]
        to = self._like(shape.lam, along, floats, "along")
        dx, _, numbers = self._push(shape, x, theta, rest, to)
        return shape.x.built(x, rest[0]), shape.x.built(self._judged(dx, numbers), rest[0])

    def standing(self, lam: Any, x0: Any, data: tuple[Any, ...]) -> Standing:
        shape, x, theta, rest = self._solved(lam, x0, data)
        gradient, distance, definite = map(float, self._step(shape, x, theta, rest))
        return Standing(shape.x.built(x, rest[0]), gradient, bool(definite), distance)

    # -- the forward pass

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
        x = [jax.lax.stop_gradient(leaf) for leaf in self._like(x_spec, x, begin, "x")]
        self.terms.tolerance(float(jnp.finfo(ravel_pytree(x)[0].dtype).eps))
        rest = (x_rest, lam_rest, data_rest)
        return Shape(x_spec, lam_spec, data_spec), x, [*lams, *floats], rest

    def _like(self, spec: Spec, tree: Any, models: Sequence[Any], what: str) -> list[Any]:
        """The floating-point leaves of a tree that should look like another."""
        said = {
            "x": "The solver returned an x",
            "warm": "warm, where conjugate gradients are to start, is",
            "along": "along, the direction in λ, is",
        }[what]
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

    # -- the derivative

    def _attached(self, shape: Shape, x: Any, theta: Any, rest: Any, start: Any) -> Any:
        """x itself, with the derivative of the minimum in θ; in `start` it is q, by agreement."""

        @jax.custom_vjp  # type: ignore[untyped-decorator]
        def attached(x: Any, theta: Any, rest: Any, start: Any) -> Any:
            return x

        def forward(*primals: Any) -> Any:
            values = jax.tree.map(lambda leaf: leaf.value, primals)
            wanted = [0.0 if leaf.perturbed else None for leaf in primals[1]]
            return values[0], (*values, wanted)

        def backward(kept: Any, v: Any) -> Any:
            x, theta, rest, start, wanted = kept
            chosen = shape._replace(wanted=tuple(each is not None for each in wanted))
            zero = jax.custom_derivatives.SymbolicZero
            v = [jnp.zeros(c.shape, c.dtype) if isinstance(c, zero) else c for c in v]
            traced = any(
                isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((x, theta, v))
            )
            begin = start or None
            if begin is None and not traced and self._warm is not None and self._warm[0] == shape:
                begin = self._warm[1]
            p, q, numbers = self._pull(chosen, x, theta, rest, v, begin)
            p = iter(self._judged(p, numbers))
            if not traced:
                self._warm = (shape, q)
            thetas = [next(p) if each else None for each in chosen.wanted]
            return None, thetas, None, q if start else ()

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

    def _slope(self, shape: Shape, rest: Any) -> Callable[[Any, Any], Any]:
        """(x, θ) ↦ ∇₁h, both lists of leaves."""
        x_rest, lam_rest, data_rest = rest
        split = shape.lam.kinds.count("float")

        def value(x: Any, theta: Any) -> Any:
            lam = shape.lam.built(theta[:split], lam_rest)
            data = shape.data.built(theta[split:], data_rest)
            h = self.h(shape.x.built(x, x_rest), lam, *data)
            if jnp.shape(h) != ():
                raise InvalidInput(
                    f"h(x, lam) has shape {jnp.shape(h)}, and must be one number: sum it, or take "
                    "the mean."
                )
            return h

        slope: Callable[[Any, Any], Any] = jax.grad(value)
        return slope

    def _place(self, shape: Shape, x: Any, theta: Any, rest: Any) -> Any:
        """x and a function that linearises ∇₁h at any flat x: (∇₁h, products, slope in θ)."""
        flat, leaves = ravel_pytree(x)
        slope = self._slope(shape, rest)

        def at(flat: Any) -> Any:
            h_x, product = jax.linearize(lambda x: ravel_pytree(slope(leaves(x), theta))[0], flat)
            return h_x, product, lambda theta: ravel_pytree(slope(leaves(flat), theta))[0]

        tol = self.terms.tolerance(float(jnp.finfo(flat.dtype).eps))
        return flat, leaves, at, tol

    def _pulled(self, shape: Shape, x: Any, theta: Any, rest: Any, v: Any, start: Any) -> Any:
        flat, leaves, at, tol = self._place(shape, x, theta, rest)
        asked = [leaf for leaf, want in zip(theta, shape.wanted, strict=True) if want]
        _, parts = ravel_pytree(asked)

        def place(flat: Any) -> Place:
            h_x, product, slope = at(flat)

            def within(asked: Any) -> Any:
                rest = iter(asked)
                pairs = zip(theta, shape.wanted, strict=True)
                return slope([next(rest) if want else leaf for leaf, want in pairs])

            back = jax.vjp(within, asked)[1]
            return Place(h_x, product, ravel_pytree(v)[0], lambda q: -ravel_pytree(back(q)[0])[0])

        begin = None if start is None else ravel_pytree(start)[0]
        p, q, numbers = derivative(place, flat, begin, tol, self.terms)
        return parts(p), leaves(q), numbers

    def _pushed(self, shape: Shape, x: Any, theta: Any, rest: Any, along: Any) -> Any:
        flat, leaves, at, tol = self._place(shape, x, theta, rest)
        tangents = [*along, *(jnp.zeros_like(leaf) for leaf in theta[len(along) :])]

        def place(flat: Any) -> Place:
            h_x, product, slope = at(flat)
            return Place(h_x, product, -jax.jvp(slope, (theta,), (tangents,))[1], lambda q: q)

        dx, q, numbers = derivative(place, flat, None, tol, self.terms)
        return leaves(dx), leaves(q), numbers

    def _newton(self, shape: Shape, x: Any, theta: Any, rest: Any) -> Any:
        flat, _, at, _ = self._place(shape, x, theta, rest)
        h_x, product, _ = at(flat)
        step = cg(product, -h_x, None, RELATIVE_RESIDUAL, self.terms.max_iter)
        well = step.definite & step.finite & step.solved
        return norm(h_x), jnp.where(well, norm(step.q), jnp.inf), step.definite & step.finite
