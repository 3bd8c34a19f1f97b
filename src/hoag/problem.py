"""What a problem is, and how the work done on it is counted."""

from __future__ import annotations

from collections import deque
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

    Some members are optional, and asked for by name where they help:

    ledger                 a `Ledger` in which the problem writes what it spends; without it,
                           calls are counted at the usual prices (`Counted`)
    bound(point, q, r)     a rigorous bound on ‖∇₂g − ∇²₁,₂hᵀq − ∇f(λ)‖ from measured residuals,
                           with r = ∇²₁h q − ∇₁g; without it the bound is infinite
    criterion(inner, linear)   how the default search should see it, if not by hoag.Implicit
    rows, coarse(rows)     how many training rows there are, and the same problem on a sample of
                           them, for scouting; `blocks` numbers hyperparameters that move as one
    outer_lipschitz()      the Lipschitz constant C of g in x, for the paper's step rule
    """

    @property
    def x0(self) -> Array: ...
    @property
    def lam0(self) -> Array: ...
    def at(self, x: Array, lam: Array) -> Point: ...


class Ledger:
    """A running account of work: problems write, `Counted` reads the difference.

    Threads that share one problem would count each other's work: give each its own.
    """

    def __init__(self) -> None:
        self.cost = Cost()

    def charge(self, passes: float = 0.0, held_out: float = 0.0, kernels: float = 0.0) -> None:
        self.cost = self.cost + Cost(passes, held_out, kernels)


class Charger:
    """Writes `share` of every pass it is called with into one column of a ledger; pickles."""

    def __init__(self, ledger: Ledger, column: str, share: float = 1.0) -> None:
        self._ledger, self._column, self._share = ledger, column, share

    def __call__(self, passes: float) -> None:
        self._ledger.charge(**{self._column: self._share * passes})


class Counted:
    """`problem`, with `cost`: what was spent on it since this wrapper was made."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._own_prices = hasattr(problem, "ledger")
        self._ledger: Ledger = problem.ledger if self._own_prices else Ledger()  # type: ignore[attr-defined]
        self._start = self._ledger.cost
        self._recent: deque[tuple[Array, Array, Point]] = deque(maxlen=2)

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
        """problem.at(x, lam); the last two points are remembered, so nothing is computed twice."""
        for known_x, known_lam, point in self._recent:
            if np.array_equal(known_x, x) and np.array_equal(known_lam, lam):
                return point
        x = x.copy()
        point = self.problem.at(x, lam)
        if not self._own_prices:
            point = _PricedPoint(point, self._ledger, np.size(x), np.size(lam))
        self._recent.append((x, lam, point))
        return point


class Plain:
    """`problem` with its shapes checked at every point, whatever it offers beside that."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self._ledger = problem, Ledger()

    @property
    def x0(self) -> Array:
        return np.asarray(self.problem.x0, dtype=float)

    @property
    def lam0(self) -> Array:
        return np.asarray(self.problem.lam0, dtype=float)

    def at(self, x: Array, lam: Array) -> Point:
        return _PricedPoint(self.problem.at(x, lam), self._ledger, np.size(x), np.size(lam))


def checked_lam(lam: Any, problem: Any) -> Array:
    """λ as a flat array of its own, of the size that the problem (or criterion) has."""
    checked = np.atleast_1d(np.array(lam, dtype=float))
    if checked.shape != np.shape(problem.lam0):
        raise InvalidInput(
            f"lam has shape {checked.shape}; this problem's has {np.shape(problem.lam0)}."
        )
    return checked


def check_starts(problem: Any) -> None:
    """A problem has at(x, lam), and flat, finite vectors x0 and lam0."""
    for name, what in (
        ("at", "the method at(x, lam) that returns a point"),
        ("x0", "the vector x0 where the inner solver starts"),
        ("lam0", "the vector lam0 where the search starts"),
    ):
        if not hasattr(problem, name):
            raise InvalidInput(
                f"{type(problem).__name__} is not a problem: it has no {name}, {what}. "
                "See help(hoag.problem)."
            )
    for name in ("x0", "lam0"):
        vector = np.asarray(getattr(problem, name), dtype=float)
        if vector.ndim != 1 or vector.size == 0:
            raise InvalidInput(
                f"problem.{name} has shape {vector.shape}; it must be a flat array with at least "
                "one value."
            )
        if not np.all(np.isfinite(vector)):
            raise InvalidInput(f"problem.{name} holds a NaN or an infinity.")


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

    def _member(self, name: str) -> Any:
        try:
            return getattr(self._point, name)
        except AttributeError as error:
            if hasattr(type(self._point), name):
                raise  # it exists, and failed inside
            raise InvalidInput(
                f"problem.at(x, lam) returns a {type(self._point).__name__} without the member "
                f"{name}; see help(hoag.problem.Point)."
            ) from error

    def _array(self, name: str) -> Array:
        try:
            return np.asarray(self._member(name), dtype=float)
        except (TypeError, ValueError):
            raise InvalidInput(f"point.{name} is not a number or an array of numbers.") from None

    def _vector(self, name: str, size: int) -> Array:
        vector = self._array(name)
        _check_shape(name, vector.shape, (size,))
        return vector

    def _number(self, name: str) -> float:
        number = self._array(name)
        _check_shape(name, number.shape, ())
        return float(number)

    def _operator(self, name: str, shape: tuple[int, int]) -> LinearOperator:
        member = self._member(name)
        if isinstance(member, (list, tuple)):
            member = self._array(name)
        if np.ndim(member) not in (0, 2):
            raise InvalidInput(f"point.{name} has shape {np.shape(member)}; it should be {shape}.")
        operator = aslinearoperator(member)
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
        return _PricedHessian(matrix, self._point.hessian, self._ledger)

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


class _PricedHessian(LinearOperator):  # type: ignore[misc]
    """A Hessian whose products are charged; it offers what the user's own one offers."""

    def __init__(self, operator: LinearOperator, original: Any, ledger: Ledger) -> None:
        super().__init__(float, operator.shape)
        self._operator, self._ledger = operator, ledger
        for name in ("diagonal", "cholesky"):
            if hasattr(original, name):
                setattr(self, name, getattr(original, name))

    def _matvec(self, v: Array) -> Array:
        self._ledger.charge(passes=1.0)
        return np.asarray(self._operator.matvec(np.ravel(v)))

    _rmatvec = _matvec


def _check_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise InvalidInput(
            f"point.{name} has shape {found}; by problem.x0 and problem.lam0 it should be {wanted}."
        )
