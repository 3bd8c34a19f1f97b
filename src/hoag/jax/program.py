"""A function of the user's, traced, and its derivatives, compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import tree_util
from jax.extend.core import Literal

from hoag.jax.given import Given
from hoag.values import Array, InvalidInput


class Term:
    """One of the user's functions, fn(x, lam) or fn(x, lam, data), on flat x and λ."""

    def __init__(self, fn: Callable[..., Any], name: str, x: Given, lam: Given) -> None:
        if not callable(fn):
            raise InvalidInput(f"{name}={fn!r}: give a function of x and lam.")
        self._fn, self._name, self._x, self._lam = fn, name, x, lam
        self._known: dict[Any, Program] = {}

    def called(self, x: Array, lam: Array, data: Any) -> float:
        return float(self._on_flat(jnp.asarray(x), jnp.asarray(lam), data))

    def _on_flat(self, x: Any, lam: Any, data: Any) -> Any:
        more = () if data is None else (data,)
        return self._fn(self._x.made(x), self._lam.made(lam), *more)

    def at(self, data: Any, scale: float = 1.0) -> Traced:
        """`scale` times the function, ready to be evaluated on these data.

        It is compiled once for each shape that they have.
        """
        leaves, structure = tree_util.tree_flatten(data)
        key = structure, tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
        if key not in self._known:
            self._known[key] = self._traced(data)
        program = self._known[key]
        return Traced(program, [*program.constants, *leaves], scale)

    def _traced(self, data: Any) -> Program:
        x, lam = jnp.zeros(self._x.tree.size), jnp.zeros(self._lam.tree.size)
        call = f"{self._name}(x, lam{'' if data is None else ', data'})"
        try:
            closed = jax.make_jaxpr(self._on_flat)(x, lam, data)
        except Exception as error:
            raise InvalidInput(
                f"{call} cannot be called with x like x0 and lam like lam0: "
                f"{type(error).__name__}: {error}"
            ) from error
        shapes = [aval.shape for aval in closed.out_avals]
        if shapes != [()]:
            what = f"shape {shapes[0]}" if len(shapes) == 1 else f"{len(shapes)} arrays"
            raise InvalidInput(f"{call} returns {what}; it must be one number. Sum over rows.")
        kind = closed.out_avals[0].dtype
        if kind != jnp.float64:
            raise InvalidInput(
                f"{call} returns {kind}; it must compute in float64: look for a cast in it."
            )
        return Program(closed)


class Traced(NamedTuple):
    """A program with the arrays that it runs on: constants of the function, then the data.

    All that it gives is times `scale`, and is NumPy's.
    """

    program: Program
    arrays: list[Any]
    scale: float = 1.0

    def _scaled(self, results: Any) -> Any:
        return tuple(self.scale * np.asarray(one, dtype=float) for one in results)

    def gradient(self, x: Array, lam: Array) -> tuple[Any, Any]:
        return self._scaled(self.program.gradient(x, lam, self.arrays))  # type: ignore[no-any-return]

    def linearised(self, x: Array, lam: Array) -> tuple[Any, Any, Any]:
        h, h_x, kept = self.program.linearised(x, lam, self.arrays)
        return *self._scaled((h, h_x)), lambda v: self._scaled(
            self.program.pulled(kept, self.arrays, v)
        )

    def product(self, x: Array, lam: Array, v: Array) -> tuple[Any, Any]:
        return self._scaled(self.program.product(x, lam, self.arrays, v))  # type: ignore[no-any-return]

    def push(self, x: Array, lam: Array, w: Array) -> Any:
        return self._scaled((self.program.push(x, lam, self.arrays, w),))[0]

    def hessian(self, x: Array, lam: Array) -> Any:
        return self._scaled((self.program.hessian(x, lam, self.arrays),))[0]

    def outer(self, x: Array, lam: Array) -> tuple[Any, Any, Any]:
        g, slopes = self.program.outer(x, lam, self.arrays)
        return self._scaled((g, *slopes))  # type: ignore[no-any-return]


class Program:
    """A function that was traced, and its derivatives, each compiled when it is first called.

    Arrays that the function closes over are arguments of what is compiled: as constants they would
    be copied into it, digit by digit, and compilation would take minutes.
    """

    def __init__(self, closed: Any) -> None:
        self._closed = closed
        self._own = len(closed.consts)
        self.constants = [jnp.asarray(c) for c in (*closed.consts, *_nested(closed.jaxpr))]
        self._kept: Any = None  # how the results of `linearised` are put together again

    def _value(self, x: Any, lam: Any, arrays: Any) -> Any:
        constants, data = arrays[: len(self.constants)], arrays[len(self.constants) :]
        own, nested = constants[: self._own], iter(constants[self._own :])
        return _run(self._closed.jaxpr, own, nested, (x, lam, *data))[0]

    def _gradient(self, x: Any, lam: Any, arrays: Any) -> Any:
        return jax.grad(self._value)(x, lam, arrays)

    @cached_property
    def gradient(self) -> Any:
        return jax.jit(jax.value_and_grad(self._value))

    @cached_property
    def outer(self) -> Any:
        return jax.jit(jax.value_and_grad(self._value, argnums=(0, 1)))

    @cached_property
    def linearised(self) -> Any:
        """h, ∇₁h, and what products with its derivatives share, but for the arrays themselves."""

        def linearised(x: Any, lam: Any, arrays: Any) -> Any:
            def swapped(x: Any, lam: Any) -> Any:
                return jax.value_and_grad(self._value)(x, lam, arrays)[::-1]

            h_x, pull, h = jax.vjp(swapped, x, lam, has_aux=True)
            leaves, structure = tree_util.tree_flatten(pull)
            known = {id(array): k for k, array in enumerate(arrays)}
            which = [known.get(id(leaf)) for leaf in leaves]
            self._kept = structure, which
            kept = [leaf for leaf, k in zip(leaves, which, strict=True) if k is None]
            return h, h_x, kept

        return jax.jit(linearised)

    @cached_property
    def pulled(self) -> Any:
        def pulled(kept: Any, arrays: Any, v: Any) -> Any:
            structure, which = self._kept
            rest = iter(kept)
            leaves = [next(rest) if k is None else arrays[k] for k in which]
            return tree_util.tree_unflatten(structure, leaves)(v)

        return jax.jit(pulled)

    @cached_property
    def product(self) -> Any:
        def product(x: Any, lam: Any, arrays: Any, v: Any) -> Any:
            return jax.vjp(lambda x, lam: self._gradient(x, lam, arrays), x, lam)[1](v)

        return jax.jit(product)

    @cached_property
    def push(self) -> Any:
        def push(x: Any, lam: Any, arrays: Any, w: Any) -> Any:
            return jax.jvp(lambda lam: self._gradient(x, lam, arrays), (lam,), (w,))[1]

        return jax.jit(push)

    @cached_property
    def hessian(self) -> Any:
        def hessian(x: Any, lam: Any, arrays: Any) -> Any:
            _, times = jax.linearize(lambda x: self._gradient(x, lam, arrays), x)
            return jax.lax.map(times, jnp.eye(x.size), batch_size=32)

        return jax.jit(hessian)


# What nested calls of compiled functions are called in a trace.
_CALLS = ("jit", "pjit", "closed_call", "core_call")


def _nested(jaxpr: Any) -> list[Any]:
    """The constants of functions that were compiled by themselves and are called in this one."""
    found: list[Any] = []
    for equation in jaxpr.eqns:
        if equation.primitive.name in _CALLS:
            closed = equation.params["jaxpr"]
            found += [*closed.consts, *_nested(closed.jaxpr)]
    return found


def _run(jaxpr: Any, own: Sequence[Any], nested: Iterator[Any], arguments: Sequence[Any]) -> Any:
    """The outputs of a traced function, its constants given, calls of compiled ones unfolded."""
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*own, *arguments], strict=True))

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else known[variable]

    for equation in jaxpr.eqns:
        values = [read(variable) for variable in equation.invars]
        if equation.primitive.name in _CALLS:
            closed = equation.params["jaxpr"]
            constants = [next(nested) for _ in closed.consts]
            results = _run(closed.jaxpr, constants, nested, values)
        else:
            settings = equation.primitive.get_bind_params(equation.params)
            # Older versions of JAX give functions beside the settings.
            functions, settings = settings if isinstance(settings, tuple) else ((), settings)
            results = equation.primitive.bind(*functions, *values, **settings)
            results = results if equation.primitive.multiple_results else [results]
        known.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]
