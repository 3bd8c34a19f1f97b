"""`hoag.problem`: a problem from plain callables on flat arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import ROUNDOFF, Array
from hoag._core.scaling import Scale
from hoag._linalg.operator import Hessian, as_hessian
from hoag.autodiff._derivatives import Derived, checked
from hoag.autodiff._functions import Functions, Inner, Outer
from hoag.autodiff._pytree import Layout, Tree
from hoag.problems import as_real, asked_of, refuse_complex

Vector = Callable[[Array, Array], Any]


def problem(
    *,
    h: Vector,
    g: Vector,
    x0: npt.ArrayLike,
    lam0: npt.ArrayLike,
    h_x: Vector | None = None,
    hessian: Vector | None = None,
    cross: Vector | None = None,
    g_x: Vector | None = None,
    g_lam: Vector | None = None,
    scale: str | float | Scale = "linear",
    mu: float | Callable[[Array], float] | None = None,
    convex: bool = True,
    solver: Callable[[Array, Array], Any] | None = None,
) -> Derived:
    """min over λ of g(X(λ), λ) where X(λ) = argmin over x of h(x, λ), from functions of (x, λ).

    Derivatives that are missing are made by central differences of what is there, of `h_x` for both
    second derivatives, and a warning says so: they are right to about 1e-6 of themselves, and cost
    two gradients a product.

    Parameters
    ----------
    h, g : callable
        (x, λ) ↦ a number.
    x0, lam0 : array-like of shape (p,) and (s,)
        Where to start; flat, they tell how long x and λ are.
    h_x : callable, default=None
        (x, λ) ↦ ∇₁h, shape (p,).
    hessian : callable, default=None
        (x, λ) ↦ ∇²₁h: an array (p, p), a sparse matrix or a LinearOperator.
    cross : callable, default=None
        (x, λ) ↦ ∇²₁,₂h: an array (p, s) or a LinearOperator; column j is ∂∇₁h/∂λⱼ.
    g_x, g_lam : callable, default=None
        (x, λ) ↦ ∇₁g, shape (p,), and ∇₂g, shape (s,).
    scale : str, float or Scale, default="linear"
        What the search moves: λ itself ("linear", as when h has exp(λ)), its logarithm ("log"), its
        logit ("logit"), λ in units of a number, or a `hoag.domains.Scale`.
    mu : float or callable, default=None
        μ > 0 with ∇²₁h ⪰ μI for every x, or λ ↦ μ, where it is known.
    convex : bool, default=True
        Whether h is convex in x.
    solver : callable, default=None
        (λ, x₀) ↦ x, an inner solver of one's own.

    Returns
    -------
    Problem
        For `hoag.minimize`.

    Raises
    ------
    InvalidParameterError
        Where x0, lam0 or scale cannot be used.

    See Also
    --------
    hoag.testing.check_problem : Compares all derivatives with differences.
    hoag.jax.problem : The same with derivatives by JAX.
    hoag.torch.problem : The same with derivatives by PyTorch.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> A, y = np.eye(4), np.arange(4.0)
    >>> problem = hoag.problem(
    ...     h=lambda x, lam: 0.5 * np.sum((A @ x - y) ** 2) + 0.5 * lam[0] * x @ x,
    ...     h_x=lambda x, lam: A.T @ (A @ x - y) + lam[0] * x,
    ...     hessian=lambda x, lam: A.T @ A + lam[0] * np.eye(4),
    ...     cross=lambda x, lam: x[:, None],
    ...     g=lambda x, lam: np.sum((x - 0.8 * y) ** 2),
    ...     g_x=lambda x, lam: 2 * (x - 0.8 * y),
    ...     g_lam=lambda x, lam: np.zeros(1),
    ...     x0=np.zeros(4), lam0=[1.0], scale="log",
    ... )
    >>> print(f"{hoag.minimize(problem).lam[0]:.3f}")
    0.250
    """
    start, lams = _flat(x0, "x0"), _flat(lam0, "lam0")
    given = {"h_x": h_x, "hessian": hessian, "cross": cross, "g_x": g_x, "g_lam": g_lam}
    missing = [name for name, function in given.items() if function is None]
    if missing:
        warnings.warn(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} made by central "
            "differences, right to about 1e-6 of themselves: searches cannot be more precise than "
            "that, and take more calls. hoag.jax.problem and hoag.torch.problem derive everything.",
            UserWarning,
            stacklevel=2,
        )
    functions = _Callables(h, g, given, start.size, lams.size)
    x, lam = (Tree(name, ("",), (v.shape,)) for name, v in (("x0", start), ("lam0", lams)))
    made = Derived(
        functions, Layout.of(x, lam, scale), start, lams, mu=mu, convex=convex, solver=solver
    )
    return checked(made, lambda: (float(h(start, lams)), float(g(start, lams))))


def _flat(value: Any, name: str) -> Array:
    refuse_complex(name, np.asarray(value))
    try:
        vector = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"{name}={value!r} is no flat array of numbers.", name, value
        ) from None
    if vector.ndim != 1 or vector.size == 0 or not np.all(np.isfinite(vector)):
        raise InvalidParameterError(
            f"{name} must be a flat array of finite numbers, with at least one; it has shape "
            f"{vector.shape}.",
            name,
            value,
        )
    return vector


class _Callables(Functions):
    """What is given is called, and its shape checked; what is not is differenced."""

    rows = None

    def __init__(self, h: Any, g: Any, given: dict[str, Any], p: int, s: int) -> None:
        self._h, self._g, self._given, self._p, self._s = h, g, given, p, s
        self.product = 1.0 if given["hessian"] is not None else 2.0

    def inner(self, x: Array, lam: Array) -> Inner:
        hessian = cache(lambda: self._own_hessian(x, lam))  # once for all products

        def times(v: Array) -> Array:
            if self._given["hessian"] is None:
                return np.asarray(_difference(lambda y: self._h_x(y, lam), x, v))
            return self._shaped(hessian() @ v, "hessian times a vector", self._p)

        return Inner(
            self._number(self._h, "h", x, lam),
            self._h_x(x, lam),
            times,
            lambda v: self._times_cross(x, lam, v),
        )

    def push(self, x: Array, lam: Array, w: Array) -> Array:
        if self._given["cross"] is not None:
            return self._shaped(self._cross(x, lam) @ w, "cross times a vector", self._p)
        return np.asarray(_difference(lambda mu: self._h_x(x, mu), lam, w))

    def hessian(self, x: Array, lam: Array) -> Array:
        if self._given["hessian"] is not None:
            return self._own_hessian(x, lam).matrix()
        times = self.inner(x, lam).times
        columns = np.array([times(unit) for unit in np.eye(self._p)])
        return np.asarray((columns + columns.T) / 2)

    def outer(self, x: Array, lam: Array) -> Outer:
        return Outer(
            self._number(self._g, "g", x, lam),
            self._slopes("g_x", x, lam, x, lambda y: self._g(y, lam)),
            self._slopes("g_lam", x, lam, lam, lambda mu: self._g(x, mu)),
        )

    def part(self, train: Any, test: Any, scales: tuple[float, float]) -> Functions:
        raise NotSupportedError("Plain callables have no rows to draw a sample of.")

    def _h_x(self, x: Array, lam: Array) -> Array:
        return self._slopes("h_x", x, lam, x, lambda y: self._h(y, lam))

    def _slopes(
        self, name: str, x: Array, lam: Array, at: Array, function: Callable[[Array], Any]
    ) -> Array:
        """The gradient that is called `name`, or that of `function` at `at` by differences."""
        if self._given[name] is not None:
            return self._shaped(asked_of(name, self._given[name], x, lam), name, at.size)
        number = partial(asked_of, name[0], function)
        return as_real(name, [_difference(number, at, e) for e in np.eye(at.size)])

    def _times_cross(self, x: Array, lam: Array, q: Array) -> Array:
        if self._given["cross"] is not None:
            transposed = self._cross(x, lam).rmatvec(q)
            return self._shaped(transposed, "cross transposed times a vector", self._s)
        return np.array([float(q @ self.push(x, lam, e)) for e in np.eye(self._s)])

    def _own_hessian(self, x: Array, lam: Array) -> Hessian:
        return as_hessian(self._matrix("hessian", x, lam, (self._p, self._p)))

    def _cross(self, x: Array, lam: Array) -> LinearOperator:
        return aslinearoperator(self._matrix("cross", x, lam, (self._p, self._s)))

    def _matrix(self, name: str, x: Array, lam: Array, shape: tuple[int, int]) -> Any:
        matrix = asked_of(name, self._given[name], x, lam)
        if isinstance(matrix, (list, tuple)):
            matrix = as_real(name, matrix)
        refuse_complex(name, matrix)
        if tuple(matrix.shape) != shape:
            found = tuple(matrix.shape)
            raise InvalidParameterError(
                f"{name} has shape {found}; by x0 and lam0 it is {shape}.", name
            )
        return matrix

    def _number(self, function: Vector, name: str, x: Array, lam: Array) -> float:
        value = as_real(f"{name}(x, lam)", asked_of(name, function, x, lam))
        if value.shape != ():
            raise InvalidParameterError(
                f"{name}(x, lam) has shape {value.shape}; it must be one number.\nSum over rows.",
                name,
            )
        return float(value)

    def _shaped(self, value: Any, name: str, size: int) -> Array:
        array = as_real(name, value)
        if array.shape != (size,):
            raise InvalidParameterError(
                f"{name} has shape {array.shape}; by x0 and lam0 it is ({size},).", name
            )
        return array


def _difference(function: Callable[[Array], Any], at: Array, direction: Array) -> Any:
    """The derivative along a direction, by central differences of error about roundoff^⅔."""
    size = float(np.linalg.norm(direction))
    if size == 0.0:
        return 0.0 * np.asarray(function(at))
    t = ROUNDOFF ** (1 / 3) * max(1.0, float(np.linalg.norm(at, np.inf))) / size
    ahead, behind = (np.asarray(function(at + sign * t * direction)) for sign in (1, -1))
    return (ahead - behind) / (2 * t)
