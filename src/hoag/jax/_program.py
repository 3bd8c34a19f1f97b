"""A function of the user's, traced, and its derivatives, compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import tree_util

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.words import one_line
from hoag.jax._pytree import JaxTree, widened
from hoag.jax._trace import constants_of, narrowed, run


class JaxFunction:
    """One of the user's functions, fn(x, lam) or fn(x, lam, data), on flat x and λ."""

    def __init__(self, fn: Callable[..., Any], name: str, x: JaxTree, lam: JaxTree) -> None:
        if not callable(fn):
            raise InvalidParameterError.of(name, fn, "give a function of x and lam.")
        self._fn, self._name, self._x, self._lam = fn, name, x, lam
        self._known: dict[Any, Program] = {}

    def again(self) -> JaxFunction:
        """The same function, of which nothing is known yet: it will be called once more."""
        return JaxFunction(self._fn, self._name, self._x, self._lam)

    def _on_flat(self, x: Any, lam: Any, data: Any) -> Any:
        more = () if data is None else (data,)
        return self._fn(self._x.made(x), self._lam.made(lam), *more)

    def at(self, data: Any) -> JaxPart:
        """The function on these data. It is compiled once for each shape that they have."""
        leaves, structure = tree_util.tree_flatten(data)
        key = structure, tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
        if key not in self._known:
            self._known[key] = self._traced(data)
        program = self._known[key]
        return JaxPart(program, [*program.constants, *leaves])

    def _traced(self, data: Any) -> Program:
        x, lam = jnp.zeros(self._x.size), jnp.zeros(self._lam.size)
        call = f"{self._name}(x, lam{'' if data is None else ', data'})"
        try:
            closed = jax.make_jaxpr(self._on_flat)(x, lam, data)
        except jax.errors.JAXTypeError as error:  # a value was asked of a tracer
            raise InvalidParameterError(
                f"{call} cannot be traced: it makes a Python number or a NumPy array of something "
                "that depends on x or lam.\nWrite it with jax.numpy, and jax.lax.cond or "
                f"jnp.where in place of if. {one_line(error)}",
                self._name,
            ) from error
        except Exception as error:
            raise InvalidParameterError(
                f"{call} cannot be called with x like x0 and lam like lam0: {one_line(error)}",
                self._name,
            ) from error
        shapes = [aval.shape for aval in closed.out_avals]
        if shapes != [()]:
            what = f"shape {shapes[0]}" if len(shapes) == 1 else f"{len(shapes) or 'no'} arrays"
            raise InvalidParameterError(
                f"{call} returns {what}; it must be one number.\nSum over rows.", self._name
            )
        kind = next(narrowed(closed.jaxpr), closed.out_avals[0].dtype)
        if kind != jnp.float64:
            raise InvalidParameterError(
                f"{call} computes or returns {kind}; it must compute in float64, whose rounding "
                "the errors of values and gradients are told from.\nLook for a cast in it.",
                self._name,
            )
        return Program(closed)


class JaxPart:
    """A program on the arrays that it runs with: constants of the function, then the data."""

    def __init__(self, program: Program, arrays: list[Any]) -> None:
        self.program, self.arrays = program, arrays
        self.value = partial(program.value, arrays)
        self.gradient = partial(program.gradient, arrays)
        self.times = partial(program.times, arrays)
        self.across = partial(program.across, arrays)
        self.push = partial(program.push, arrays)
        self.hessian = partial(program.hessian, arrays)

    def linearised(self, x: Array, lam: Array) -> tuple[Any, Any, Any]:
        h, h_x, kept = self.program.linearised(self.arrays, x, lam)
        return h, h_x, partial(self.program.kept_times, self.arrays, kept)

    def outer(self, x: Array, lam: Array) -> tuple[Any, Any, Any]:
        g, slopes = self.program.outer(self.arrays, x, lam)
        return g, *slopes


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
        self.value = jax.jit(self._value)
        self.gradient = jax.jit(jax.value_and_grad(self._value, argnums=1))
        self.outer = jax.jit(jax.value_and_grad(self._value, argnums=(1, 2)))
        self.linearised = jax.jit(self._linearised)
        self.kept_times = jax.jit(self._kept_times)
        self.times = jax.jit(self._times)
        self.across = jax.jit(self._across)
        self.push = jax.jit(self._push)
        self.hessian = jax.jit(self._hessian)

    def _value(self, arrays: Any, x: Any, lam: Any) -> Any:
        n = len(self._held)
        own, wide, data = arrays[:n], arrays[n : 2 * n], arrays[2 * n :]
        given = {id(one): array for one, array in zip(self._held, own, strict=True)}
        pairs = zip(own, wide, strict=True)
        double = {id(array): copy for array, copy in pairs if copy.dtype == jnp.float64}
        return run(self._closed, given, (x, lam, *data), double)[0]

    def _slope(self, arrays: Any, x: Any, lam: Any) -> Any:
        return jax.grad(self._value, argnums=1)(arrays, x, lam)

    def _linearised(self, arrays: Any, x: Any, lam: Any) -> Any:
        """h, ∇₁h, and what products with ∇²₁h share, but for the arrays themselves.

        The gradient is linearised forward: backward, with ∇²₁,₂h beside it, a product took three
        times as long where h is a mean over 1024 quadratic forms of 100 coefficients.
        """

        def swapped(x: Any) -> Any:
            return jax.value_and_grad(self._value, argnums=1)(arrays, x, lam)[::-1]

        h_x, times, h = jax.linearize(swapped, x, has_aux=True)
        leaves, structure = tree_util.tree_flatten(times)
        known = {id(array): k for k, array in enumerate(arrays)}
        which = [known.get(id(leaf)) for leaf in leaves]
        self._kept = structure, which
        return h, h_x, [leaf for leaf, k in zip(leaves, which, strict=True) if k is None]

    def _kept_times(self, arrays: Any, kept: Any, v: Any) -> Any:
        structure, which = self._kept
        rest = iter(kept)
        leaves = [next(rest) if k is None else arrays[k] for k in which]
        return tree_util.tree_unflatten(structure, leaves)(v)

    def _times(self, arrays: Any, x: Any, lam: Any, v: Any) -> Any:
        return jax.jvp(lambda x: self._slope(arrays, x, lam), (x,), (v,))[1]

    def _across(self, arrays: Any, x: Any, lam: Any, v: Any) -> Any:
        """The gradient in λ of ∇₁h·v, which is the derivative of h along v."""

        def along(lam: Any) -> Any:
            return jax.jvp(lambda x: self._value(arrays, x, lam), (x,), (v,))[1]

        return jax.grad(along)(lam)

    def _push(self, arrays: Any, x: Any, lam: Any, w: Any) -> Any:
        return jax.jvp(lambda lam: self._slope(arrays, x, lam), (lam,), (w,))[1]

    def _hessian(self, arrays: Any, x: Any, lam: Any) -> Any:
        _, times = jax.linearize(lambda x: self._slope(arrays, x, lam), x)
        return jax.lax.map(times, jnp.eye(x.size), batch_size=32)
