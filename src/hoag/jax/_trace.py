"""A traced function, run once more with its constants as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

# What nested calls of compiled functions are called in a trace.
_CALLS = ("jit", "pjit", "closed_call", "core_call")
# In these such calls are looked for, too.
_LOOPS = ("scan", "while", "cond", "checkpoint", "remat", "remat2")


def constants_of(closed: Any) -> list[Any]:
    """The arrays that a function closes over, and those that compiled functions in it do."""
    found = {id(one): one for one in closed.consts}
    for equation in closed.jaxpr.eqns:
        for inner in _inside(equation):
            found.update((id(one), one) for one in constants_of(inner))
    return list(found.values())


def _inside(equation: Any) -> list[Any]:
    """The traced functions that an equation calls, of those that `run` knows how to call."""
    if equation.primitive.name not in (*_CALLS, *_LOOPS):
        return []
    values = equation.params.values()
    parts = [part for v in values for part in (v if isinstance(v, (tuple, list)) else (v,))]
    return [_closed(part) for part in parts if isinstance(part, (ClosedJaxpr, Jaxpr))]


def _closed(traced: Any) -> Any:
    return traced if isinstance(traced, ClosedJaxpr) else ClosedJaxpr(traced, ())


def run(
    closed: Any,
    given: Mapping[int, Any],
    arguments: Sequence[Any],
    double: Mapping[int, Any] = MappingProxyType({}),
) -> list[Any]:
    """The outputs of a traced function, with an array given for every constant, by its id.

    `double` has copies in double precision of arrays, by their ids: where the function makes such
    a copy, at every call, it is taken from there.

    Calls of compiled functions are unfolded. Loops and branches are made again where something is
    closed over inside them, so that it becomes an argument there, too.
    """
    jaxpr = closed.jaxpr
    own = [given[id(one)] for one in closed.consts]
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*own, *arguments], strict=True))

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else known[variable]

    for equation in jaxpr.eqns:
        values = [read(variable) for variable in equation.invars]
        name, inside = equation.primitive.name, _inside(equation)
        if _widens(equation):
            values = [double.get(id(value), value) for value in values]
        if name in _CALLS:
            results = run(inside[0], given, values, double)
        elif any(map(constants_of, inside)):
            results = _again(name, equation.params, inside, given, values)
        else:
            settings = equation.primitive.get_bind_params(equation.params)
            # Older versions of JAX give functions beside the settings.
            functions, settings = settings if isinstance(settings, tuple) else ((), settings)
            results = equation.primitive.bind(*functions, *values, **settings)
            results = results if equation.primitive.multiple_results else [results]
        known.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _widens(equation: Any) -> bool:
    """Whether it makes numbers of double precision of whatever it gets."""
    wanted = {"convert_element_type": "new_dtype", "dot_general": "preferred_element_type"}
    name = wanted.get(equation.primitive.name)
    return name is not None and bool(equation.params[name] == jnp.float64)


def _again(
    name: str, params: Any, inside: Sequence[Any], given: Mapping[int, Any], values: list[Any]
) -> list[Any]:
    """A loop or a branch, by the function of JAX that makes one."""

    def calling(traced: Any) -> Any:
        return lambda *arguments: run(traced, given, arguments)

    if name == "scan":
        fixed, carried = params["num_consts"], params["num_carry"]
        consts, start, rows = values[:fixed], values[fixed:][:carried], values[fixed + carried :]

        def step(carry: Any, row: Any) -> Any:
            out = run(inside[0], given, [*consts, *carry, *row])
            return out[:carried], out[carried:]

        how = {key: params[key] for key in ("length", "reverse", "unroll")}
        end, stacked = jax.lax.scan(step, start, rows, **how)
        return [*end, *stacked]
    if name == "while":
        test, body = _closed(params["cond_jaxpr"]), _closed(params["body_jaxpr"])
        first, second = params["cond_nconsts"], params["body_nconsts"]
        tested, used, start = values[:first], values[first:][:second], values[first + second :]
        return list(
            jax.lax.while_loop(
                lambda state: run(test, given, [*tested, *state])[0],
                lambda state: run(body, given, [*used, *state]),
                start,
            )
        )
    if name == "cond":
        return list(jax.lax.switch(values[0], [calling(one) for one in inside], *values[1:]))
    how = {key: params[key] for key in ("prevent_cse", "policy")}
    return list(jax.checkpoint(calling(inside[0]), **how)(*values))


def narrowed(jaxpr: Any) -> Iterator[Any]:
    """The types below double precision to which something of double precision is cast."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "convert_element_type":
            kind = equation.params["new_dtype"]
            double = equation.invars[0].aval.dtype == jnp.float64
            if double and jnp.issubdtype(kind, jnp.floating) and kind != jnp.float64:
                yield kind
        for inner in _inside(equation):
            yield from narrowed(inner.jaxpr)
