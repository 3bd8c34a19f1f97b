"""What a problem is, and how the work done on it is counted."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from hoag.values import Array, Cost, InvalidInput


class Point(Protocol):
    """h and g at one (x, λ), with x of shape (p,) and λ of shape (s,).

    h, h_x             h(x, λ) and ∇₁h                       number, (p,)
    hessian            ∇²₁h, symmetric                       LinearOperator or array (p, p)
    cross              ∇²₁,₂h, column j = ∂∇₁h/∂λⱼ           LinearOperator or array (p, s)
    g, g_x, g_lam      g(x, λ), ∇₁g and ∇₂g                  number, (p,), (s,)
    strong_convexity   μ > 0 with ∇²₁h(·, λ) ⪰ μI for every x, or None when not known

    Each should be computed on first use (functools.cached_property) and only once.
    """

    @property
    def h(self) -> float: ...
    @property
    def h_x(self) -> Array: ...
    @property
    def hessian(self) -> Any: ...
    @property
    def cross(self) -> Any: ...
    @property
    def g(self) -> float: ...
    @property
    def g_x(self) -> Array: ...
    @property
    def g_lam(self) -> Array: ...
    @property
    def strong_convexity(self) -> float | None: ...


class Problem(Protocol):
    """min over λ of g(X(λ), λ) where X(λ) = argmin over x of h(x, λ).

    `x0` and `lam0` are where the solver and the search start when nobody says otherwise; they also
    tell p and s.

    Three members are optional, and asked for by name where they help:

    ledger                 a `Ledger` in which the problem writes what it spends; without it,
                           calls are counted at the usual prices (`Counted`)
    bound(point, q, r)     a rigorous bound on ‖∇₂g − ∇²₁,₂hᵀq − ∇f(λ)‖ from measured residuals,
                           with r = ∇²₁h q − ∇₁g; without it the bound is infinite
    outer_lipschitz()      the Lipschitz constant C of g in x, for the paper's step rule
    """

    @property
    def x0(self) -> Array: ...
    @property
    def lam0(self) -> Array: ...
    def at(self, x: Array, lam: Array) -> Point: ...


class Ledger:
    """A running account of work: problems write, `Counted` reads the difference."""

    def __init__(self) -> None:
        self.cost = Cost()

    def charge(self, passes: float = 0.0, held_out: float = 0.0, kernels: float = 0.0) -> None:
        self.cost = self.cost + Cost(passes, held_out, kernels)


class Counted:
    """`problem`, with `cost`: what was spent on it since this wrapper was made."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._own_prices = hasattr(problem, "ledger")
        self._ledger: Ledger = problem.ledger if self._own_prices else Ledger()  # type: ignore[attr-defined]
        self._start = self._ledger.cost

    @property
    def x0(self) -> Array:
        return self.problem.x0

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    @property
    def cost(self) -> Cost:
        return self._ledger.cost - self._start

    def at(self, x: Array, lam: Array) -> Point:
        point = self.problem.at(x, lam)
        if self._own_prices:
            return point
        return _PricedPoint(point, self._ledger, np.size(x), np.size(lam))


class _PricedPoint:
    """A point that checks shapes, and charges the usual prices of a linear model.

    A first look at h, ∇₁h or ∇²₁h is a product with A, so half a pass; ∇₁h adds a product with Aᵀ;
    a Hessian product is both. g and ∇₁g are priced likewise, in `held_out`; ∇²₁,₂h and ∇₂g, which
    touch no rows in such a model, are free.
    """

    def __init__(self, point: Point, ledger: Ledger, p: int, s: int) -> None:
        self._point, self._ledger, self._p, self._s = point, ledger, p, s

    @cached_property
    def _forward(self) -> None:
        self._ledger.charge(passes=0.5)

    @cached_property
    def _held_out(self) -> None:
        self._ledger.charge(held_out=0.5)

    def _vector(self, name: str, size: int) -> Array:
        vector = np.asarray(getattr(self._point, name), dtype=float)
        _check_shape(name, vector.shape, (size,))
        return vector

    def _number(self, name: str) -> float:
        number = np.asarray(getattr(self._point, name), dtype=float)
        _check_shape(name, number.shape, ())
        return float(number)

    def _operator(self, name: str, shape: tuple[int, int]) -> LinearOperator:
        operator = aslinearoperator(getattr(self._point, name))
        _check_shape(name, operator.shape, shape)
        return operator

    @cached_property
    def h(self) -> float:
        _ = self._forward
        return self._number("h")

    @cached_property
    def h_x(self) -> Array:
        _ = self._forward
        self._ledger.charge(passes=0.5)
        return self._vector("h_x", self._p)

    @cached_property
    def hessian(self) -> LinearOperator:
        _ = self._forward
        matrix = self._operator("hessian", (self._p, self._p))

        def product(v: Array) -> Array:
            self._ledger.charge(passes=1.0)
            return np.asarray(matrix.matvec(v))

        return LinearOperator(matrix.shape, matvec=product, rmatvec=product, dtype=float)

    @cached_property
    def cross(self) -> LinearOperator:
        return self._operator("cross", (self._p, self._s))

    @cached_property
    def g(self) -> float:
        _ = self._held_out
        return self._number("g")

    @cached_property
    def g_x(self) -> Array:
        _ = self._held_out
        self._ledger.charge(held_out=0.5)
        return self._vector("g_x", self._p)

    @cached_property
    def g_lam(self) -> Array:
        return self._vector("g_lam", self._s)

    @property
    def strong_convexity(self) -> float | None:
        return getattr(self._point, "strong_convexity", None)


def _check_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise InvalidInput(
            f"point.{name} has shape {found}; by problem.x0 and problem.lam0 it should be {wanted}."
        )
