"""A function of the user's, traced, and its derivatives, compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import tree_util

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag.jax.trace import constants_of, narrowed, run
from hoag.jax.trees import JaxTree, widened


class Term:
    """One of the user's functions, fn(x, lam) or fn(x, lam, data), on flat x and λ."""

    def __init__(self, fn: Callable[..., Any], name: str, x: JaxTree, lam: JaxTree) -> None:
        if not callable(fn):
            raise InvalidInput(f"{name}={fn!r}: give a function of x and lam.")
        self._fn, self._name, self._x, self._lam = fn, name, x, lam
        self._known: dict[Any, Program] = {}

    def again(self) -> Term:
        """The same function, of which nothing is known yet: it will be called once more."""
        return Term(self._fn, self._name, self._x, self._lam)

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
        x, lam = jnp.zeros(self._x.size), jnp.zeros(self._lam.size)
        call = f"{self._name}(x, lam{'' if data is None else ', data'})"
        try:
            closed = jax.make_jaxpr(self._on_flat)(x, lam, data)
        except jax.errors.JAXTypeError as error:  # a value was asked of a tracer
            raise InvalidInput(
                f"{call} cannot be traced: it makes a Python number or a NumPy array of something "
                "that depends on x or lam. Write it with jax.numpy, and jax.lax.cond or "
                f"jnp.where in place of if. {type(error).__name__}: {error}"
            ) from error
        except Exception as error:
            raise InvalidInput(
                f"{call} cannot be called with x like x0 and lam like lam0: "
                f"{type(error).__name__}: {error}"
            ) from error
        shapes = [aval.shape for aval in closed.out_avals]
        if shapes != [()]:
            what = f"shape {shapes[0]}" if len(shapes) == 1 else f"{len(shapes) or 'no'} arrays"
            raise InvalidInput(f"{call} returns {what}; it must be one number. Sum over rows.")
        kind = next(narrowed(closed.jaxpr), closed.out_avals[0].dtype)
        if kind != jnp.float64:
            raise InvalidInput(
                f"{call} computes or returns {kind}; it must compute in float64, whose rounding "
                "the errors of values and gradients are told from: look for a cast in it."
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

    def value(self, x: Array, lam: Array) -> float:
        return float(self.program.value(x, lam, self.arrays))

    def gradient(self, x: Array, lam: Array) -> tuple[Any, Any]:
        return self._scaled(self.program.gradient(x, lam, self.arrays))  # type: ignore[no-any-return]

    def linearised(self, x: Array, lam: Array) -> tuple[Any, Any, Any]:
        h, h_x, kept = self.program.linearised(x, lam, self.arrays)
        kept_times = partial(self.program.times, kept, self.arrays)
        return *self._scaled((h, h_x)), lambda v: self._scaled((kept_times(v),))[0]

    def times(self, x: Array, lam: Array, v: Array) -> Any:
        return self._scaled((self.program.product(x, lam, self.arrays, v),))[0]

    def across(self, x: Array, lam: Array, v: Array) -> Any:
        return self._scaled((self.program.across(x, lam, self.arrays, v),))[0]

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
    be copied into it, digit by digit, and compilation would take minutes. Only what the rules of a
    jax.custom_jvp or custom_vjp close over is out of reach, for JAX calls them later.
    """

    def __init__(self, closed: Any) -> None:
        self._closed = closed
        self._held = constants_of(closed)
        own = [jnp.asarray(constant) for constant in self._held]
        # Beside each array its copy in double precision, for where the function makes one of it.
        self.constants = [*own, *map(widened, own)]
        self._kept: Any = None  # how the results of `linearised` are put together again

    def _value(self, x: Any, lam: Any, arrays: Any) -> Any:
        n = len(self._held)
        own, wide, data = arrays[:n], arrays[n : 2 * n], arrays[2 * n :]
        given = {id(one): array for one, array in zip(self._held, own, strict=True)}
        pairs = zip(own, wide, strict=True)
        double = {id(array): copy for array, copy in pairs if copy.dtype == jnp.float64}
        return run(self._closed, given, (x, lam, *data), double)[0]

    def _gradient(self, x: Any, lam: Any, arrays: Any) -> Any:
        return jax.grad(self._value)(x, lam, arrays)

    @cached_property
    def value(self) -> Any:
        return jax.jit(self._value)

    @cached_property
    def gradient(self) -> Any:
        return jax.jit(jax.value_and_grad(self._value))

    @cached_property
    def outer(self) -> Any:
        return jax.jit(jax.value_and_grad(self._value, argnums=(0, 1)))

    @cached_property
    def linearised(self) -> Any:
        """h, ∇₁h, and what products with ∇²₁h share, but for the arrays themselves.

        The gradient is linearised forward: backward, with ∇²₁,₂h beside it, a product took three
        times as long where h is a mean over 1024 quadratic forms of 100 coefficients.
        """

        def linearised(x: Any, lam: Any, arrays: Any) -> Any:
            def swapped(x: Any) -> Any:
                return jax.value_and_grad(self._value)(x, lam, arrays)[::-1]

            h_x, times, h = jax.linearize(swapped, x, has_aux=True)
            leaves, structure = tree_util.tree_flatten(times)
            known = {id(array): k for k, array in enumerate(arrays)}
            which = [known.get(id(leaf)) for leaf in leaves]
            self._kept = structure, which
            kept = [leaf for leaf, k in zip(leaves, which, strict=True) if k is None]
            return h, h_x, kept

        return jax.jit(linearised)

    @cached_property
    def times(self) -> Any:
        def times(kept: Any, arrays: Any, v: Any) -> Any:
            structure, which = self._kept
            rest = iter(kept)
            leaves = [next(rest) if k is None else arrays[k] for k in which]
            return tree_util.tree_unflatten(structure, leaves)(v)

        return jax.jit(times)

    @cached_property
    def product(self) -> Any:
        def product(x: Any, lam: Any, arrays: Any, v: Any) -> Any:
            return jax.jvp(lambda x: self._gradient(x, lam, arrays), (x,), (v,))[1]

        return jax.jit(product)

    @cached_property
    def across(self) -> Any:
        """The gradient in λ of ∇₁h·v, which is the derivative of h along v."""

        def across(x: Any, lam: Any, arrays: Any, v: Any) -> Any:
            def along(lam: Any) -> Any:
                return jax.jvp(lambda x: self._value(x, lam, arrays), (x,), (v,))[1]

            return jax.grad(along)(lam)

        return jax.jit(across)

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
