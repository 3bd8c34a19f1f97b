"""`hoag.jax.problem`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax

from hoag._core.errors import NotSupportedError
from hoag._core.types import PyTree
from hoag.autodiff._data import UserData
from hoag.autodiff._derivatives import Derived, checked
from hoag.autodiff._functions import Summed
from hoag.autodiff._pytree import Layout
from hoag.jax._program import JaxFunction
from hoag.jax._pytree import JaxArrays, JaxTree


def problem(
    h: Callable[..., Any],
    g: Callable[..., Any],
    x0: PyTree,
    lam0: PyTree,
    *,
    train: PyTree = None,
    test: PyTree = None,
    penalty: Callable[[Any, Any], Any] | None = None,
    batches: Any = None,
    scale: PyTree = "linear",
    mu: float | Callable[[PyTree], Any] | None = None,
    convex: bool = True,
    solver: Callable[[Any, Any], Any] | None = None,
) -> Derived:
    """min over λ of g(X(λ), λ) where X(λ) = argmin over x of h(x, λ), h and g in JAX.

    Gradients, products with the Hessian and with ∇²₁,₂h come from JAX, in double precision,
    compiled once; the Hessian is formed only where it is small. One pass of the cost is a gradient
    of h.

    Parameters
    ----------
    h, g : callable
        h(x, lam) and g(x, lam), scalars; h(x, lam, train) and g(x, lam, test) where data are given.
    x0, lam0 : pytree
        Where to start; the leaves are floating-point arrays.
    train : pytree of arrays, default=None
        Data for h. Arrays that the functions close over will do as well: neither kind becomes part
        of compiled code, but for those that the rules of a jax.custom_jvp or custom_vjp close over.
        Where all arrays have their rows along the first axis, and h and g are sums or means over
        these, `hoag.optimize.Growing` searches on samples.
    test : pytree of arrays, default=None
        Data for g.
    penalty : callable, default=None
        penalty(x, lam), added to h once, where h is a sum over rows.
    batches : int, list or callable, default=None
        h is a sum over blocks of rows, one of which is in memory at a time: a number, into so many
        blocks of `train`; a list of blocks; or a function without arguments that returns an
        iterator over them, called for each pass. h(x, lam, block) is added up.
    scale : str, float, Scale or pytree, default="linear"
        What the search moves: λ itself ("linear", as when h has exp(lam)), its logarithm ("log"),
        its logit ("logit"), λ in units of a number, a `hoag.domains.Scale`; or a pytree of these,
        like lam0 or like its upper part.
    mu : float or callable, default=None
        μ > 0 with ∇²₁h ⪰ μI for every x, or λ ↦ μ, where it is known.
    convex : bool, default=True
        Whether h is convex in x; where it is not, linear systems are regularised where they have to
        be, and the status says that all is local.
    solver : callable, default=None
        (lam, x0) ↦ x, an inner solver of one's own, such as a loop with optax.

    Returns
    -------
    Problem
        For `hoag.minimize`, whose result has λ and x as pytrees.

    Raises
    ------
    InvalidParameterError
        Where the functions, the pytrees or the scale cannot be used.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> import hoag.jax
    >>> jax.config.update("jax_enable_x64", True)
    >>> problem = hoag.jax.problem(
    ...     lambda x, lam: (x - 1) ** 2 + lam * x**2, lambda x, lam: (x - 0.8) ** 2,
    ...     x0=jnp.array(0.0), lam0=jnp.array(1.0), scale="log",
    ... )
    >>> print(f"{hoag.minimize(problem).lam:.3f}")
    0.250
    """
    begun = time.perf_counter()
    if not jax.config.jax_enable_x64:
        raise NotSupportedError(
            "JAX computes in single precision here, in which the error of a gradient cannot be "
            'told from rounding. Before anything else, write jax.config.update("jax_enable_x64", '
            "True), or set JAX_ENABLE_X64=1."
        )
    x, lam = JaxTree(x0, "x0"), JaxTree(lam0, "lam0")
    start, lams = x.flat(x0, "x0"), lam.flat(lam0, "lam0")
    functions = Summed(
        JaxFunction(h, "h", x, lam),
        JaxFunction(g, "g", x, lam),
        None if penalty is None else JaxFunction(penalty, "penalty", x, lam),
        UserData.of(JaxArrays(), train, test, batches),
    )
    layout = Layout.of(x, lam, scale)
    made = Derived(functions, layout, start, lams, mu=mu, convex=convex, solver=solver)
    checked(made, lambda: functions.called(start, lams))
    made.compile_seconds = time.perf_counter() - begun
    return made
