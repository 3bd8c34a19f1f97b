"""A problem whose functions and derivatives are not ours: autodiff, or the user's own code."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import ROUNDOFF, Array
from hoag._inner import InnerSolver, UserSolver
from hoag._linalg.operator import Hessian
from hoag.autodiff import _samples as samples
from hoag.autodiff._functions import Functions, Inner, Outer
from hoag.autodiff._pytree import Layout
from hoag.problems import Facts, Ledger, Problem


class Derived(Problem):
    """min over u of g(X(λ), λ), X(λ) = argmin over x of h(x, λ), with λ = scales.to(u).

    functions  h, g and their derivatives, in λ
    layout     how the user's x and λ look
    mu         μ with ∇²₁h ⪰ μI for every x, as a number or a function of the user's λ; or None
    convex     whether h is convex in x. Where it is not, linear systems are regularised where they
               have to be, the box is not scanned, and what is found is said to be local
    solver     (λ, x₀) ↦ x, the user's own inner solver, in the user's structures; or None
    roundoff   of the arithmetic in which the functions are computed

    One pass is one gradient of h: that is its own unit, whatever h is made of. g with its gradients
    is one `held_out`.
    """

    # What it took to make and compile the functions, where that was measured.
    compile_seconds = 0.0

    def __init__(
        self,
        functions: Functions,
        layout: Layout,
        x0: Array,
        lam0: Array,
        *,
        mu: float | Callable[[Any], float] | None = None,
        convex: bool = True,
        solver: Callable[[Any, Any], Any] | None = None,
        roundoff: float = ROUNDOFF,
    ) -> None:
        self.functions, self.layout = functions, layout
        self.x0, self.lam0 = x0, layout.scales.back(lam0, layout.lam.numbers, "lam0")
        self.ledger = Ledger()
        self.roundoff, self._convex = roundoff, convex
        self._mu = None if mu is None else self._known(mu)
        self._solver = solver

    def _known(self, mu: Any) -> Callable[[Array], float]:
        """μ as a function of λ, flat."""
        if callable(mu):
            return lambda lam: float(mu(self.layout.lam.tree(lam)))
        if not (isinstance(mu, (int, float)) and mu > 0):
            raise InvalidParameterError.of(
                "mu", mu, "give a number above 0, a function of λ, or None."
            )
        return lambda lam: float(mu)

    def _solved(self, u: Array, x0: Array) -> Array:
        assert self._solver is not None
        found = self._solver(self.layout.given_lam(u), self.layout.given_x(x0))
        return np.asarray(self.layout.x.flat(found, "what the solver returns"))

    def in_units_of(self, bounds: Any) -> Derived:
        """The same problem, where bounds on linear λ are far apart in units that suit them."""
        layout = self.layout.in_units_of(self.layout.domain(bounds))
        if layout is self.layout:
            return self
        made = copy(self)
        made.layout = layout
        made.lam0 = layout.scales.back(self.layout.scales.to(self.lam0), layout.lam.numbers, "lam0")
        return made

    def at(self, x: Array, lam: Array) -> DerivedPoint:
        return DerivedPoint(self, x, lam)

    @property
    def facts(self) -> Facts:
        rows = self.x0.size if self.functions.rows is None else self.functions.rows[0]
        return Facts(
            size=self.x0.size,
            side=self.x0.size,
            rows=max(rows, self.x0.size),
            quadratic=False,
            sparse=False,
            products=True,
            convex=self._convex,
        )

    @property
    def unit(self) -> str:  # type: ignore[override]
        own = "" if self._solver is None else ", beside the work of the solver that was given"
        return f"gradients of h{own}"

    @property
    def inner(self) -> InnerSolver | None:
        return None if self._solver is None else UserSolver(self._solved)

    def strong_convexity(self, lam: Array) -> float | None:
        return None if self._mu is None else self._mu(lam)

    @property
    def sample_of(self) -> int | None:
        return self.functions.rows[0] if self.functions.rows and self._solver is None else None

    @property
    def fewest(self) -> int | None:
        """So many that coefficients are seen by several rows each; own solvers see all rows."""
        return None if self.sample_of is None else max(1000, 2 * self.x0.size)

    def sample(self, rows: int, seed: int = 0) -> Derived:
        """The same problem on `rows` of the training rows, and as many of the held-out ones.

        Sums are scaled to what they are on all rows, the penalty is the same.
        """
        assert self.functions.rows is not None
        return self._on(samples.drawn(self.functions.rows, rows, seed), self._sums)

    @cached_property
    def _sums(self) -> samples.Sums:
        """Whether h and g are sums over their rows: found out on a few of them, and charged for."""
        assert self.functions.rows is not None
        rows, lam = self.functions.rows, self.layout.scales.to(self.lam0)
        few = samples.drawn(rows, self.fewest or 0, 0)
        tried = [2 * some.size / max(n, 1) for n, some in zip(rows, few, strict=True)]
        self.ledger.charge(passes=tried[0], held_out=tried[1])
        return samples.sums_or_means(self.functions, self.x0, lam, few, self.roundoff)

    def parts(self, count: int) -> list[Derived]:
        assert self.functions.rows is not None
        return [self._on(part, self._sums) for part in samples.split(self.functions.rows, count)]

    def _on(self, which: samples.Pair, sums: samples.Sums) -> Derived:
        """On some rows: sums are scaled up to what all rows come to."""
        assert self.functions.rows is not None
        made = copy(self)
        made._sums, scales, shares = sums, [1.0, 1.0], list(self.shares)
        for k, (n, part) in enumerate(zip(self.functions.rows, which, strict=True)):
            if part.size:
                scales[k] = n / part.size if sums[k] else 1.0
                shares[k] *= part.size / n
        made.functions = self.functions.part(*which, (scales[0], scales[1]))
        made.shares = shares[0], shares[1]
        return made


class DerivedPoint:
    """h and g at one (x, u), each computed on first use and charged for."""

    def __init__(self, problem: Derived, x: Array, u: Array) -> None:
        self._problem, self._x, self._u = problem, x, u
        self._functions = problem.functions
        self._share, self._share_held_out = problem.shares

    @cached_property
    def _lam(self) -> Array:
        return np.asarray(self._problem.layout.scales.to(self._u))

    @cached_property
    def _slope(self) -> Array:
        return np.asarray(self._problem.layout.scales.slope(self._u))

    @cached_property
    def _inner(self) -> Inner:
        self._problem.ledger.charge(passes=self._share)
        return self._functions.inner(self._x, self._lam)

    @cached_property
    def _outer(self) -> Outer:
        self._problem.ledger.charge(held_out=self._share_held_out)
        return self._functions.outer(self._x, self._lam)

    def times(self, v: Array) -> Array:
        self._problem.ledger.charge(passes=self._share * self._functions.product)
        return self._inner.times(v)

    def across(self, v: Array) -> Array:
        self._problem.ledger.charge(passes=self._share * self._functions.product)
        return self._inner.across(v)

    def pushed(self, w: Array) -> Array:
        self._problem.ledger.charge(passes=self._share * self._functions.product)
        return self._functions.push(self._x, self._lam, self._slope * w)

    def formed(self) -> Array:
        self._problem.ledger.charge(passes=self._share * self._functions.product * self._x.size)
        return self._functions.hessian(self._x, self._lam)

    @property
    def h(self) -> float:
        return self._inner.h

    @property
    def h_x(self) -> Array:
        return self._inner.h_x

    @cached_property
    def hessian(self) -> Hessian:
        return _Curvature(self)

    @cached_property
    def cross(self) -> LinearOperator:
        return LinearOperator(
            (self._x.size, self._u.size),
            matvec=lambda w: self.pushed(np.ravel(w)),
            rmatvec=lambda q: self._slope * self.across(np.ravel(q)),
            dtype=float,
        )

    @property
    def g(self) -> float:
        return self._outer.g

    @property
    def g_x(self) -> Array:
        return self._outer.g_x

    @cached_property
    def g_lam(self) -> Array:
        return self._slope * self._outer.g_lam

    @property
    def strong_convexity(self) -> float | None:
        return self._problem.strong_convexity(self._lam)


class _Curvature(Hessian):
    """∇²₁h at a point, by products; as a matrix where somebody asks for it."""

    def __init__(self, point: DerivedPoint) -> None:
        super().__init__(point.h_x.size)
        self._point = point

    def product(self, v: Array) -> Array:
        return self._point.times(v)

    def matrix(self) -> Array:
        return self._formed.copy()

    @cached_property
    def _formed(self) -> Array:
        """Made once, for factors of it with several dampings."""
        return self._point.formed()


def checked(problem: Derived, again: Callable[[], tuple[float, float]]) -> Derived:
    """The problem, when everything at (x₀, λ₀) is finite, and the same when asked for again.

    again   h and g at (x₀, λ₀), by calling the user's functions themselves
    """
    point, x = problem.at(problem.x0, problem.lam0), problem.x0
    direction = np.full(x.size, 1 / np.sqrt(x.size))
    product = point.hessian @ direction
    for name, value in (
        ("h", point.h),
        ("g", point.g),
        ("∇₁h, the gradient of h in x,", point.h_x),
        ("∇₁g, the gradient of g in x,", point.g_x),
        ("∇₂g, the gradient of g in λ,", point.g_lam),
        ("a product with ∇²₁h, the Hessian of h in x,", product),
        ("a product with ∇²₁,₂h, the derivative of ∇₁h in λ,", point.cross.rmatvec(direction)),
    ):
        bad = np.flatnonzero(~np.isfinite(np.atleast_1d(value)))
        if bad.size:
            what = "is" if np.ndim(value) == 0 else f"at entry {bad[0]} is"
            found = np.atleast_1d(value)[bad[0]]
            raise InvalidParameterError(
                f"{name} {what} {found} at x0 and lam0.\nStart where both functions and their "
                "derivatives are finite; a square root or a norm has no derivative at 0.",
                name,
            )
    if not (np.any(point.h_x) or np.any(product)):
        raise InvalidParameterError(
            "At x0 both ∇₁h and ∇²₁h are zero: h does not depend on x, or is flat there.\nWrite h "
            "as a function of its argument x, or start from another x0.",
            "h",
        )
    _check_lam(problem)
    for name, one, other in zip(("h", "g"), (point.h, point.g), again(), strict=True):
        if not np.isclose(one, other, rtol=1e3 * problem.roundoff, atol=0.0, equal_nan=True):
            raise InvalidParameterError(
                f"{name} at x0 and lam0 was {one:.17g} when it was first called, and then "
                f"{other:.17g}: the function changes between calls.\nDraw random numbers once, "
                "outside it, and pass them in.",
                name,
            )
    return problem


def _check_lam(problem: Derived) -> None:
    """A sentence where a leaf of λ is seen by neither function, near x₀: at x₀ a penalty may be."""
    rng, layout = np.random.default_rng(0), problem.layout
    away, v = rng.normal(size=(2, problem.x0.size))
    point = problem.at(problem.x0 + 1e-2 * away, problem.lam0)
    felt = np.abs(point.cross.rmatvec(v)) + np.abs(point.g_lam)
    start = 0
    for name, size in zip(layout.lam.names, layout.lam.sizes, strict=True):
        if size and not np.any(felt[start : start + size]):
            which = f"lam, at {name}," if name else "lam"
            raise InvalidParameterError(
                f"Neither ∇₁h nor g depends on {which} at x0 or near it: a λ that is not used, or "
                "that was made a plain number on the way (item(), detach(), float()).",
                "lam0",
            )
        start += size
