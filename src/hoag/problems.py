"""What a problem is, how a user's own becomes one, and how the work done on it is counted.

>>> import hoag
>>> A, y = [[1.0], [2.0]], [1.0, 2.0]
>>> problem = hoag.models.ridge(A, y, A, y)
>>> point = problem.at(problem.x0, problem.lam0)
>>> float(point.h), point.h_x
(2.5, array([-5.]))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from threading import get_ident
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from hoag._core.errors import (
    InvalidInputError,
    InvalidParameterError,
    NotSupportedError,
    SingularProblemError,
)
from hoag._core.numeric import ROUNDOFF, Array
from hoag._core.result import Cost
from hoag._core.words import one_line
from hoag._linalg.operator import Hessian, Inverse, as_hessian

__all__ = ["Point", "Problem"]


class Point(Protocol):
    """h and g at one (x, λ), with x of shape (p,) and λ of shape (s,).

    Each should be computed on first use (functools.cached_property) and only once.

    Attributes
    ----------
    h : float
        h(x, λ).
    h_x : array of shape (p,)
        ∇₁h.
    hessian : LinearOperator or array of shape (p, p)
        ∇²₁h, symmetric.
    cross : LinearOperator or array of shape (p, s)
        ∇²₁,₂h; column j is ∂∇₁h/∂λⱼ.
    g : float
        g(x, λ).
    g_x : array of shape (p,)
        ∇₁g.
    g_lam : array of shape (s,)
        ∇₂g.
    strong_convexity : float or None
        μ > 0 with ∇²₁h(·, λ) ⪰ μI for every x; None when not known.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> class Shrinkage:  # h = ½(x − 3)² + ½e^λ x², g = ½(x − 1)²
    ...     x0, lam0 = np.zeros(1), np.zeros(1)
    ...     def at(self, x, lam):
    ...         a = np.exp(lam[0])
    ...         return SimpleNamespace(
    ...             h=float(0.5 * (x - 3) @ (x - 3) + 0.5 * a * x @ x), h_x=x - 3 + a * x,
    ...             hessian=np.array([[1 + a]]), cross=(a * x)[:, None],
    ...             g=float(0.5 * (x - 1) @ (x - 1)), g_x=x - 1, g_lam=np.zeros(1),
    ...             strong_convexity=1 + a,
    ...         )
    >>> print(f"{np.exp(hoag.minimize(Shrinkage()).lam[0]):.3f}")
    2.000
    """

    @property
    def h(self) -> float:
        """h(x, λ)."""

    @property
    def h_x(self) -> Array:
        """∇₁h, (p,)."""

    @property
    def hessian(self) -> Any:
        """∇²₁h, symmetric: a LinearOperator, or an array (p, p)."""

    @property
    def cross(self) -> Any:
        """∇²₁,₂h: a LinearOperator, or an array (p, s); column j is ∂∇₁h/∂λⱼ."""

    @property
    def g(self) -> float:
        """g(x, λ)."""

    @property
    def g_x(self) -> Array:
        """∇₁g, (p,)."""

    @property
    def g_lam(self) -> Array:
        """∇₂g, (s,)."""

    @property
    def strong_convexity(self) -> float | None:
        """μ > 0 with ∇²₁h(·, λ) ⪰ μI for every x; None when not known."""


@dataclass(frozen=True)
class Facts:
    """What `hoag._criteria.select` chooses solvers by.

    size       the number of coefficients
    side       the size of the matrix that a factor is of: `size`, or less where outputs share one
    rows       how many training rows there are
    quadratic  h is quadratic in x, so that its Hessian is formed once
    sparse     rows are mostly zeros
    formed     the Hessian is a matrix that is there anyway
    has_hessian  ∇²f takes about as long as an evaluation: `Problem.outer_hessian` has it
    products   of ∇²₁h only products are known, and no diagonal
    convex     h is convex in x
    """

    size: int
    side: int
    rows: int
    quadratic: bool
    sparse: bool
    formed: bool = False
    has_hessian: bool = False
    products: bool = False
    convex: bool = True


class Ledger:
    """A running account of work: problems write, `Counted` reads the difference.

    Every thread has an account of its own, so that none counts the work of another.
    """

    def __init__(self) -> None:
        self._accounts: dict[int, tuple[float, ...]] = {}

    def charge(
        self,
        passes: float = 0.0,
        held_out: float = 0.0,
        kernels: float = 0.0,
        grams: float = 0.0,
        reads: float = 0.0,
    ) -> None:
        me, work = get_ident(), (passes, held_out, kernels, 0.0, grams, reads)
        self._accounts[me] = tuple(map(add, self._accounts.get(me, 6 * (0.0,)), work))

    @property
    def cost(self) -> Cost:
        """Of what this thread has asked for so far."""
        return Cost(*self._accounts.get(get_ident(), ()))


class Problem(ABC):
    """min over λ of g(X(λ), λ) where X(λ) = argmin over x of h(x, λ).

    A user's problem needs no more than `at`, `x0` and `lam0`, and no base class: `hoag.minimize`
    takes any object that has them.

    Attributes
    ----------
    x0 : array of shape (p,)
        Where solvers start when nobody says otherwise.
    lam0 : array of shape (s,)
        Where searches start when nobody says otherwise.
    ledger : Ledger
        Where the problem writes what it spends.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> isinstance(problem, hoag.problems.Problem), problem.x0.shape
    (True, (10,))
    """

    x0: Array
    lam0: Array
    ledger: Ledger

    # What one pass of its `Cost` is, for people.
    unit: str = "passes over the data"
    # How x and λ look to the user (hoag.autodiff._pytree.Layout); None where they are flat arrays.
    layout: Any = None
    # Of the arithmetic in which h and g are computed.
    roundoff: float = ROUNDOFF

    @abstractmethod
    def at(self, x: Array, lam: Array) -> Point:
        """h and g at x and λ."""

    @property
    def inner(self) -> Any:
        """The inner solver that its maker wants; None where any will do."""
        return None

    @property
    def facts(self) -> Facts | None:
        """Sizes and kinds, for choosing solvers; None where nothing is known."""
        return None

    def softened(self) -> Problem | None:
        """The same with a softer loss to fit by (`ScalarLoss.softer`), where there is one."""
        return None

    def brought(self) -> Problem:
        """The same on rows in memory, where memory has them all."""
        return self

    def values(self, lams: Sequence[Array]) -> Array | None:
        """f at many λ, exact, where they take less work together; None where they do not."""
        return None

    def outer_hessian(self, point: Any, q: Array, inverse: Inverse) -> Array | None:
        """∇²f at x = X(λ) and its adjoint q, with b ↦ (∇²₁h)⁻¹b; None where it is not known."""
        return None

    def bound(self, point: Any, q: Array, r: Array) -> float:
        """A rigorous bound on ‖∇₂g − ∇²₁,₂hᵀq − ∇f(λ)‖, with r = ∇²₁h q − ∇₁g; ∞: none known."""
        return float("inf")

    def floor(self, point: Any) -> Array | None:
        """m, (p,), with ∇²₁h ⪰ diag(m): how weak h may be in every direction; None: not known."""
        mu = point.strong_convexity
        return None if mu is None or not mu > 0 else np.full(np.size(self.x0), float(mu))

    def outer_lipschitz(self) -> float:
        """The Lipschitz constant C of g in x, for the paper's step rule."""
        raise NotSupportedError(
            "C='data' asks the problem for the Lipschitz constant of g, and this problem has no "
            "method outer_lipschitz().\nGive Adaptive(C=...) a number.",
            "C",
            "data",
        )

    @property
    def sample_of(self) -> int | None:
        """How many training rows `sample` draws from; None where there is no sample."""
        return None

    @property
    def fewest(self) -> int | None:
        """Of how many rows a sample should be, at least, for its f to stand for f.

        None where a sample only shows where f is low.
        """
        return None

    # Of all training rows and of all held-out rows, how much a sample has.
    shares: tuple[float, float] = (1.0, 1.0)

    def sample(self, rows: int, seed: int = 0) -> Problem:
        """The same problem on some of its training rows, its cost in units of the whole."""
        return self

    def parts(self, count: int) -> Sequence[Problem]:
        """The same problem on each of so many disjoint parts of a sample, all of one size."""
        raise NotSupportedError(f"{type(self).__name__} cannot be taken apart into rows.")

    @property
    def blocks(self) -> npt.NDArray[np.intp]:
        """The block of each hyperparameter, of those that move as one when f is looked over."""
        return np.arange(np.size(self.lam0))


class Charger:
    """Writes `share` of every pass it is called with into one column of a ledger; pickles.

    Gram matrices and kernels have columns of their own.
    """

    def __init__(self, ledger: Ledger, column: str, share: float = 1.0) -> None:
        self._ledger, self._column, self._share = ledger, column, share

    def __call__(self, passes: float, grams: float = 0.0, kernels: float = 0.0) -> None:
        share, own = self._share, {self._column: self._share * passes}
        self._ledger.charge(grams=share * grams, kernels=share * kernels, **own)


class Counted:
    """`problem`, with `cost`: what was spent on it since this wrapper was made."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._start = problem.ledger.cost
        self._recent: deque[tuple[Array, Array, Point]] = deque(maxlen=2)

    @property
    def x0(self) -> Array:
        return self.problem.x0

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    @property
    def cost(self) -> Cost:
        return self.problem.ledger.cost - self._start

    def softened(self) -> Problem | None:
        return self.problem.softened()

    def at(self, x: Array, lam: Array) -> Point:
        """problem.at(x, lam); the last two points are remembered, so nothing is computed twice."""
        for known_x, known_lam, point in self._recent:
            if np.array_equal(known_x, x) and np.array_equal(known_lam, lam):
                return point
        x = x.copy()
        point = self.problem.at(x, lam)
        self._recent.append((x, lam, point))
        return point


def checked_lam(lam: Any, size: int) -> Array:
    """λ as a flat array of its own, with `size` entries."""
    checked = np.atleast_1d(np.array(lam, dtype=float))
    if checked.shape != (size,):
        raise InvalidParameterError(
            f"lam has shape {checked.shape}; this problem's has ({size},).", "lam"
        )
    return checked


def asked_of(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What somebody's function returns; where it fails by its numbers, an SingularProblemError.

    A search takes that for a λ that cannot be evaluated. Other exceptions are for their author.
    """
    try:
        return function(*arguments)
    except SingularProblemError:
        raise
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise SingularProblemError(f"{name} raised {one_line(error)}") from error


def refuse_complex(name: str, value: Any) -> None:
    """InvalidInputError where numbers are complex: derivatives here are of real functions."""
    if np.issubdtype(getattr(value, "dtype", None) or type(value), np.complexfloating):
        raise InvalidParameterError(
            f"{name} is complex, and h, g and their derivatives must be real: return the real "
            "part, if that is what is meant, or look for a negative number under a square root.",
            name,
        )


def as_real(name: str, value: Any) -> Array:
    """Numbers as an array of floats; InvalidInputError where they are none, or complex."""
    try:
        array = np.asarray(value)
        refuse_complex(name, array)
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidParameterError(
            f"{name} is not a number or an array of numbers.", name
        ) from error


def priced(problem: Any) -> Problem:
    """Any problem with nothing but at, x0 and lam0: shapes checked, calls at the usual prices."""
    _check_members(problem)
    return _GivenProblem(problem, bare=True)


def adopt(problem: Any) -> Problem:
    """A user's problem as a `Problem`: checked, and counted at the usual prices.

    This is the border where problems enter. Needed are at(x, lam), x0 and lam0; what else a
    problem may offer is asked for here, by name, and nowhere else:

    ledger                 a `Ledger` in which it writes what it spends; without it, calls are
                           counted at the prices of a linear model (`_PricedPoint`)
    bound(point, q, r)     see Problem.bound
    outer_lipschitz()      see Problem.outer_lipschitz
    """
    if isinstance(problem, Problem):
        return problem
    _check_members(problem)
    return _GivenProblem(problem)


def _check_members(problem: Any) -> None:
    for name, what in (
        ("at", "the method at(x, lam) that returns a point"),
        ("x0", "the vector x0 where the inner solver starts"),
        ("lam0", "the vector lam0 where the search starts"),
    ):
        if not hasattr(problem, name):
            raise InvalidParameterError(
                f"{type(problem).__name__} is not a problem: it has no {name}, {what}.\nSee "
                "help(hoag.problems).",
                "problem",
                problem,
            )


class _GivenProblem(Problem):
    """`given`, with its shapes checked at every point and its calls counted."""

    def __init__(self, given: Any, bare: bool = False) -> None:
        self.given, self._bare = given, bare
        self.x0, self.lam0 = (_start(given, name) for name in ("x0", "lam0"))
        self._own_prices = hasattr(given, "ledger") and not bare
        self.ledger = given.ledger if self._own_prices else Ledger()

    def at(self, x: Array, lam: Array) -> Point:
        point: Point = asked_of("problem.at", self.given.at, x, lam)
        if self._own_prices:
            return point
        return _PricedPoint(point, self.ledger, np.size(x), np.size(lam))

    def bound(self, point: Any, q: Array, r: Array) -> float:
        if self._bare or not hasattr(self.given, "bound"):
            return super().bound(point, q, r)
        own = point if self._own_prices else point.given
        return float(self.given.bound(own, q, r))

    def outer_lipschitz(self) -> float:
        if self._bare or not hasattr(self.given, "outer_lipschitz"):
            return super().outer_lipschitz()
        return float(self.given.outer_lipschitz())


def _start(problem: Any, name: str) -> Array:
    vector = as_real(f"problem.{name}", getattr(problem, name))
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidParameterError(
            f"problem.{name} has shape {vector.shape}; it must be a flat array with at least one "
            "value.",
            name,
        )
    if not np.all(np.isfinite(vector)):
        raise InvalidParameterError(f"problem.{name} holds a NaN or an infinity.", name)
    return vector


class _PricedPoint:
    """A point that checks shapes, and charges the usual prices of a linear model.

    A first look at h, ∇₁h or ∇²₁h is a product with A, so half a pass; ∇₁h adds a product with Aᵀ;
    a Hessian product is both. g and ∇₁g are priced likewise, in `held_out`; ∇²₁,₂h and ∇₂g, which
    touch no rows in such a model, are free.
    """

    def __init__(self, point: Any, ledger: Ledger, p: int, s: int) -> None:
        self.given, self._ledger, self._p, self._s = point, ledger, p, s

    @cached_property
    def _forward(self) -> None:
        self._ledger.charge(passes=0.5)

    @cached_property
    def _held_out(self) -> None:
        self._ledger.charge(held_out=0.5)

    def _member(self, name: str) -> Any:
        try:
            return asked_of(f"point.{name}", getattr, self.given, name)
        except AttributeError as error:
            if hasattr(type(self.given), name):
                raise  # it exists, and failed inside
            raise InvalidParameterError(
                f"problem.at(x, lam) returns a {type(self.given).__name__} without the member "
                f"{name}.\nSee help(hoag.problems.Point).",
                "problem",
            ) from error

    def _array(self, name: str, *shape: int) -> Any:
        array = as_real(f"point.{name}", self._member(name))
        _check_shape(name, array.shape, shape)
        return array if shape else float(array)

    def _matrix(self, name: str, *shape: int) -> Any:
        member = self._member(name)
        if isinstance(member, (list, tuple)):
            member = as_real(f"point.{name}", member)
        refuse_complex(f"point.{name}", member)
        if np.ndim(member) not in (0, 2):
            raise InvalidParameterError(
                f"point.{name} has shape {np.shape(member)}; it should be {shape}.", name
            )
        _check_shape(name, aslinearoperator(member).shape, shape)
        return member

    @cached_property
    def h(self) -> Any:
        _ = self._forward
        return self._array("h")

    @cached_property
    def h_x(self) -> Any:
        _ = self._forward
        self._ledger.charge(passes=0.5)
        return self._array("h_x", self._p)

    @cached_property
    def hessian(self) -> Hessian:
        _ = self._forward
        return _PricedHessian(as_hessian(self._matrix("hessian", self._p, self._p)), self._ledger)

    @cached_property
    def cross(self) -> LinearOperator:
        return aslinearoperator(self._matrix("cross", self._p, self._s))

    @cached_property
    def g(self) -> Any:
        _ = self._held_out
        return self._array("g")

    @cached_property
    def g_x(self) -> Any:
        _ = self._held_out
        self._ledger.charge(held_out=0.5)
        return self._array("g_x", self._p)

    @cached_property
    def g_lam(self) -> Any:
        return self._array("g_lam", self._s)

    @property
    def strong_convexity(self) -> float | None:
        return getattr(self.given, "strong_convexity", None)


class _PricedHessian(Hessian):
    """A Hessian whose products are charged."""

    def __init__(self, hessian: Hessian, ledger: Ledger) -> None:
        super().__init__(hessian.shape[0])
        self._hessian, self._ledger = hessian, ledger

    def product(self, v: Array) -> Array:
        self._ledger.charge(passes=1.0)
        return self._hessian.product(v)

    def matrix(self) -> Array:
        self._ledger.charge(passes=float(self.shape[0]))
        return self._hessian.matrix()

    def diagonal(self) -> Array:
        return self._hessian.diagonal()

    def factor(self) -> Any:
        return self._hessian.factor() if self._hessian.own_factor else super().factor()


def _check_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise InvalidParameterError(
            f"point.{name} has shape {found}; by problem.x0 and problem.lam0 it should be "
            f"{wanted}.",
            name,
        )
