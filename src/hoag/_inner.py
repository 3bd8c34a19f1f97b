"""Solvers for min over x of h(x, λ), stopped at ‖∇₁h(x, λ)‖ ≤ tol.

Each returns the point at its x, so that what was computed there (A x, the probabilities, ∇₁h) is
not computed again.

>>> import hoag
>>> from sklearn.datasets import load_diabetes
>>> X, y = load_diabetes(return_X_y=True)
>>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
>>> hoag.solvers.Newton().solve(problem, problem.lam0, problem.x0, 1e-6).reason
'tolerance'
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from hoag._core import clock
from hoag._core.errors import SingularProblemError
from hoag._core.numeric import EXACT, FALLEN, ROUNDING, ROUNDOFF, SUFFICIENT, Array
from hoag._core.result import Solve
from hoag._kinks import SHORT, Points, refuse_kink
from hoag._linear import CG, LinearSolver
from hoag.problems import Point, as_real


class InnerSolver(Protocol):
    """Anything that solves min over x of h(x, λ) to ‖∇₁h(x, λ)‖ ≤ tol.

    Examples
    --------
    >>> import hoag
    >>> class Never(hoag.solvers.InnerSolver):
    ...     def solve(self, problem, lam, x0, tol):
    ...         point = problem.at(x0, lam)
    ...         return hoag.solvers.Solve(x0, float(abs(point.h_x).max()), 0, "max_iter", point)
    >>> A = [[1.0]]
    >>> problem = hoag.models.ridge(A, [2.0], A, [2.0])
    >>> Never().solve(problem, problem.lam0, problem.x0, 1e-6).residual
    2.0
    """

    def solve(self, problem: Points, lam: Array, x0: Array, tol: float) -> Solve:
        """x with ‖∇₁h(x, λ)‖ ≤ tol, from x0; the reason says where that was not reached."""


class Newton:
    """x ← x − t H⁻¹∇₁h, with H = ∇²₁h and t found by halving from 1.

    H⁻¹∇₁h is solved for to a residual of `forcing`·‖∇₁h‖. The forcing term shrinks with the
    gradient, so that the last steps converge superlinearly, but never below what `tol` needs. Where
    H is not positive definite, conjugate gradients stop at the first direction of negative
    curvature, and what they have, or −∇₁h, is used; t then doubles while h falls further, so that
    an h without a lower bound is found out.

    Parameters
    ----------
    linear_solver : LinearSolver, default=None
        For H⁻¹∇₁h; None is `CG()`.
    forcing : float, default=0.1
        The residual of the linear system relative to ‖∇₁h‖; ∞ takes a factor's answer as it is.
    max_iter : int, default=100
        The largest number of steps.
    roundoff : float, default=2.2e-16
        The roundoff of the arithmetic that h is computed in.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> hoag.solvers.Newton().solve(problem, problem.lam0, problem.x0, 1e-3).reason
    'tolerance'
    """

    def __init__(
        self,
        linear_solver: LinearSolver | None = None,
        forcing: float = 0.1,
        max_iter: int = 100,
        roundoff: float = ROUNDOFF,
    ) -> None:
        self.linear_solver = linear_solver or CG()
        self.forcing = forcing
        self.max_iter = max_iter
        self.rounding = ROUNDING / ROUNDOFF * roundoff

    def solve(self, problem: Points, lam: Array, x0: Array, tol: float) -> Solve:
        """x with ‖∇₁h(x, λ)‖ ≤ tol, from x0."""
        x, point = x0, problem.at(x0, lam)
        size = _gradient_size(point, lam)
        first, inverse, short = size, None, 0
        for k in range(self.max_iter):
            clock.check()
            if size <= tol:
                return Solve(x, size, k, "tolerance", point, inverse=inverse)
            goal = np.inf
            if self.forcing < np.inf:
                goal = max(min(self.forcing, np.sqrt(size / first)) * size, 0.5 * tol)
            step = self.linear_solver.solve(point.hessian, -point.h_x, None, goal)
            d, inverse = step.x, step.inverse
            if not float(point.h_x @ d) < 0:
                d = -point.h_x
            trial, trial_point = self._line_search(problem, lam, x, point, d)
            if trial_point is not None and step.bent:
                trial, trial_point = _further(problem, lam, x, trial, trial_point)
            if trial_point is None:
                at_rounding = abs(float(point.h_x @ d)) <= self.rounding * (1 + abs(point.h))
                if not at_rounding:
                    refuse_kink(problem, lam, x, point.h_x, d, SHORT)
                reason = "precision" if at_rounding else "stalled"
                return Solve(x, size, k, reason, point, inverse=inverse)
            far = float(np.linalg.norm(trial - x)) > SHORT * float(np.linalg.norm(d))
            short = 0 if far else short + 1
            if short == 8:  # in a row
                refuse_kink(problem, lam, x, point.h_x, d, SHORT)
            x, point = trial, trial_point
            size = _gradient_size(point, lam)
        reason = "tolerance" if size <= tol else "max_iter"
        return Solve(x, size, self.max_iter, reason, point, inverse=inverse)

    def _line_search(
        self, problem: Points, lam: Array, x: Array, point: Point, d: Array
    ) -> tuple[Array, Point | None]:
        there = point

        def along(t: Array) -> tuple[Array, Callable[[], Array]]:
            nonlocal there
            there = problem.at(x + t[0] * d, lam) if t[0] else point
            return np.array([there.h]), ahead

        def ahead() -> Array:
            smaller = np.linalg.norm(there.h_x) <= FALLEN * np.linalg.norm(point.h_x)
            return np.array([0.0 if smaller else float(there.h_x @ d)])

        h, slope = np.array([point.h]), np.array([float(point.h_x @ d)])
        t = line_search(along, h, slope, self.rounding * np.abs(h), ROUNDOFF)[0]
        return (x + t * d, there) if t > 0 else (x, None)


# φ(t), and φ′(t) where it is asked for.
Along = Callable[[Array], tuple[Array, Callable[[], Array]]]


def line_search(
    along: Along, h: Array, slope: Array, noise: Array | float = 0.0, least: float = ROUNDING
) -> Array:
    """t_k, halved from 1 until φ_k(t) ≤ φ_k(0) + c t φ_k′(0), for K problems at once.

    Where φ is level, values lose more digits than there are to tell (losses of rows that are all
    but certain are differences of large numbers), and the slope at the end decides: the approximate
    Wolfe conditions of Hager and Zhang (2005), φ′(t) ≤ −½φ′(0).

    Parameters
    ----------
    along : function
        t, (K,) ↦ φ(t), (K,), and a function without arguments for φ′(t), (K,). The last call is
        at the t that are returned.
    h, slope : arrays of shape (K,)
        φ(0) and φ′(0) < 0; a slope of ∞ takes the whole step as it is.
    noise : array or float
        Promised changes of φ below this are judged by |φ′(t)| alone, and never shortened.
    least : float
        Shorter steps are none.

    Returns
    -------
    array of shape (K,)
        0 where no step is short enough.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag._inner import line_search
    >>> def along(t):  # (x + td)² from x = 1, with steps d of −2 and −6
    ...     x, d = 1.0, np.array([-2.0, -6.0])
    ...     return (x + t * d) ** 2, lambda: 2 * (x + t * d) * d
    >>> line_search(along, np.ones(2), np.array([-4.0, -12.0]))
    array([0.5 , 0.25])
    """
    t, given = np.ones_like(h), slope == np.inf
    while True:
        clock.check()
        value, ahead = along(t)
        visible = given | (-t * slope >= noise)
        good = visible & (value <= h + SUFFICIENT * t * slope)
        level = np.abs(value - h) <= EXACT**0.5 * np.abs(h)
        if np.any(level & ~good):
            end = ahead()
            good |= level & (np.where(visible, end, np.abs(end)) <= 0.5 * np.abs(slope))
        bad = ~good & (t > 0)
        if not np.any(bad):
            return t
        t = np.where(bad, np.where(visible & (t >= least), t / 2, 0.0), t)


def _further(
    problem: Points, lam: Array, x: Array, trial: Array, point: Point
) -> tuple[Array, Point]:
    """On along x → trial, twice as far each time, while h falls."""
    first, start = float(np.linalg.norm(trial - x)), 1 + abs(point.h)
    while True:
        far = np.linalg.norm(trial - x) > first / ROUNDOFF or -point.h > start / ROUNDOFF
        if first == 0.0 or far:
            raise SingularProblemError(
                f"The inner problem diverges at lam = {np.array2string(lam, threshold=6)}: h has "
                f"fallen to {point.h:.1e} in one direction, and goes on. Every direction of x "
                "must be penalised, or seen by a loss that grows."
            )
        further = x + 2 * (trial - x)
        beyond = problem.at(further, lam)
        if not beyond.h < point.h:
            return trial, point
        trial, point = further, beyond


class Continuation:
    """Newton's method; where it leads nowhere, by way of softer losses, each from the last two.

        x(w) ≈ x(cw) + (x(cw) − x(c²w))/c   for widths w and c = `softer`

    Problems whose losses have no softer ones are left to `newton`.

    Parameters
    ----------
    newton : Newton
        What solves every problem on the way.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> from hoag._glm.losses import SmoothQuantile
    >>> A, y = np.ones((5, 1)), np.array([0.0, 1.0, 2.0, 3.0, 40.0])
    >>> problem = hoag.models.linear(SmoothQuantile(0.5, 1e-4), A, y, A, y)
    >>> solver = hoag.solvers.Continuation(hoag.solvers.Newton())
    >>> solver.solve(problem, np.array([-20.0]), problem.x0, 1e-6).x.round(3)
    array([2.])
    """

    patience = 10  # steps before it begins again from the fit of a softer loss
    levels = 20  # how many times a loss is made softer at most
    softer = 4.0  # c, so that each is within reach of Newton's steps from the next

    def __init__(self, newton: Newton) -> None:
        self.newton, self._few = newton, copy(newton)
        self._few.max_iter = self.patience

    def solve(self, problem: Points, lam: Array, x0: Array, tol: float) -> Solve:
        """x with ‖∇₁h(x, λ)‖ ≤ tol, from x0."""
        softer = problem.softened()
        if softer is None:
            return self.newton.solve(problem, lam, x0, tol)
        found, levels = self._few.solve(problem, lam, x0, tol), [problem]
        while not found.converged and softer is not None and len(levels) <= self.levels:
            found, levels = self._few.solve(softer, lam, x0, tol), [*levels, softer]
            softer = softer.softened()
        x, before = found.x, None
        for level in reversed(levels[:-1]):
            ahead = x if before is None else x + (x - before) / self.softer
            if not level.at(ahead, lam).h < level.at(x, lam).h:
                ahead = x
            before, found = x, self.newton.solve(level, lam, ahead, tol)
            x = found.x
        return found


class UserSolver:
    """x = solver(λ, x₀), whatever the user's own optimiser returns, and ‖∇₁h‖ there as it is.

    It is not called where x₀ is good enough already. What it leaves is measured, and counts in the
    errors of f and p; verification goes on from there by Newton steps.

    Parameters
    ----------
    solver : callable
        (λ, x₀) ↦ x.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> from scipy.optimize import minimize
    >>> A, y = np.eye(3), np.arange(3.0)
    >>> problem = hoag.models.ridge(A, y, A, y)
    >>> def solver(lam, x0):
    ...     return minimize(lambda x: problem.at(x, lam).h, x0).x
    >>> hoag.solvers.UserSolver(solver).solve(problem, problem.lam0, problem.x0, 1e-3).x.round(3)
    array([0. , 0.5, 1. ])
    """

    def __init__(self, solver: Callable[[Array, Array], Array]) -> None:
        self.solver = solver

    def solve(self, problem: Points, lam: Array, x0: Array, tol: float) -> Solve:
        """What the user's solver returns from x0; the reason is "given" where ‖∇₁h‖ > tol there."""
        point = problem.at(x0, lam)
        size = _gradient_size(point, lam)
        if size <= tol:
            return Solve(x0, size, 0, "tolerance", point)
        x = np.array(as_real("The x of the inner solver that was given", self.solver(lam, x0)))
        if not np.all(np.isfinite(x)):
            raise SingularProblemError(
                "The inner solver that was given returns an x with a NaN or an infinity at lam = "
                f"{np.array2string(lam, threshold=6)}.\nTake smaller steps, or penalise x."
            )
        point = problem.at(x, lam)
        size = _gradient_size(point, lam)
        if size <= tol:
            return Solve(x, size, 1, "tolerance", point)
        _refuse_kink_near(problem, lam, x, point)
        return Solve(x, size, 1, "given", point)


class LinearSystem:
    """For quadratic h: ∇²₁h x = ∇²₁h x₀ − ∇₁h(x₀), stopped at ‖∇₁h‖ ≤ tol.

    The residual that conjugate gradients carry along drifts from the true one, so the gradient is
    computed at the end, and the solve is started again from there when it is not small enough.

    Parameters
    ----------
    linear_solver : LinearSolver, default=None
        What solves the system; None is `CG(max_iter=10000)`.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> hoag.solvers.LinearSystem().solve(problem, problem.lam0, problem.x0, 1e-3).reason
    'tolerance'
    """

    def __init__(self, linear_solver: LinearSolver | None = None) -> None:
        self.linear_solver = linear_solver or CG(max_iter=10000)

    def solve(self, problem: Points, lam: Array, x0: Array, tol: float) -> Solve:
        """x with ‖∇₁h(x, λ)‖ ≤ tol, from x0."""
        x, point = x0, problem.at(x0, lam)
        size = _gradient_size(point, lam)
        iterations, reason = 0, "tolerance"
        while size > tol:
            clock.check()
            step = self.linear_solver.solve(point.hessian, -point.h_x, None, 0.5 * tol)
            iterations += step.iterations
            trial = x + step.x
            trial_point = problem.at(trial, lam)
            trial_size = _gradient_size(trial_point, lam)
            reason = step.reason if not step.converged else "precision"
            if not trial_size < size:
                break
            stuck = trial_size > 0.5 * size
            x, point, size = trial, trial_point, trial_size
            if stuck or not step.converged:
                break
        if size <= tol:
            reason = "tolerance"
        elif _as_exact_as_rounding(point, x, size):
            reason = "precision"
        elif reason == "precision":
            reason = "stalled"
        return Solve(x, size, iterations, reason, point)


class GradientDescent:
    """x ← x − t ∇₁h, with t found by halving from twice the last until h falls by ¼ t‖∇₁h‖².

    Parameters
    ----------
    max_iter : int, default=10000
        The largest number of steps.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> hoag.solvers.GradientDescent().solve(problem, problem.lam0, problem.x0, 1e-3).reason
    'tolerance'
    """

    def __init__(self, max_iter: int = 10000) -> None:
        self.max_iter = max_iter

    def solve(self, problem: Points, lam: Array, x0: Array, tol: float) -> Solve:
        """x with ‖∇₁h(x, λ)‖ ≤ tol, from x0."""
        x, point, t = x0, problem.at(x0, lam), 1.0
        for k in range(self.max_iter):
            clock.check()
            size = _gradient_size(point, lam)
            if size <= tol:
                return Solve(x, size, k, "tolerance", point)
            t *= 2
            trial = x - t * point.h_x
            trial_point = problem.at(trial, lam)
            while not trial_point.h <= point.h - 0.25 * t * size**2:
                t /= 2
                if t * size**2 <= ROUNDOFF * abs(point.h):
                    _refuse_kink_near(problem, lam, x, point)
                    return Solve(x, size, k, "stalled", point)
                trial = x - t * point.h_x
                trial_point = problem.at(trial, lam)
            x, point = trial, trial_point
        size = _gradient_size(point, lam)
        return Solve(x, size, self.max_iter, "tolerance" if size <= tol else "max_iter", point)


class LBFGS:
    """SciPy's L-BFGS-B, stopped on the Euclidean norm of ∇₁h.

    Its line search compares values of h, so it stalls near ‖∇₁h‖ ≈ √roundoff·scale: such a solve
    ends with the reason "stalled", and tolerances below about 1e-8 need `Newton`.

    Parameters
    ----------
    max_iter : int, default=100
        The largest number of iterations.
    memory : int, default=10
        How many pairs of steps and changes of the gradient are kept.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> problem = hoag.models.ridge(X[:300], y[:300], X[300:], y[300:])
    >>> hoag.solvers.LBFGS().solve(problem, problem.lam0, problem.x0, 1e-3).reason
    'tolerance'
    """

    def __init__(self, max_iter: int = 100, memory: int = 10) -> None:
        self.max_iter = max_iter
        self.memory = memory

    def solve(self, problem: Points, lam: Array, x0: Array, tol: float) -> Solve:
        """x with ‖∇₁h(x, λ)‖ ≤ tol, from x0."""
        best = problem.at(x0, lam)
        best_x, size = x0, _gradient_size(best, lam)
        if size <= tol:
            return Solve(x0, size, 0, "tolerance", best)
        last = x0, best

        def at(x: Array) -> Point:
            nonlocal last
            if not np.array_equal(last[0], x):
                last = x.copy(), problem.at(x.copy(), lam)
            return last[1]

        def value_and_gradient(x: Array) -> tuple[float, Array]:
            clock.check()
            point = at(x)
            return float(point.h), point.h_x

        def stop_when_small(x: Array) -> None:
            nonlocal best, best_x, size
            best, best_x = at(x), x.copy()
            size = _gradient_size(best, lam)
            if size <= tol:
                raise StopIteration

        options = {
            "maxiter": self.max_iter,
            "maxfun": 20 * self.max_iter,
            "maxcor": self.memory,
            "ftol": 0.0,
            "gtol": 0.0,
        }
        found = minimize(
            value_and_gradient,
            x0,
            jac=True,
            method="L-BFGS-B",
            callback=stop_when_small,
            options=options,
        )
        limit = found.nit >= self.max_iter or found.nfev >= 20 * self.max_iter
        reason = "tolerance" if size <= tol else "max_iter" if limit else "stalled"
        if size > tol:
            _refuse_kink_near(problem, lam, best_x, best)
        return Solve(best_x, size, int(found.nit), reason, best)


def _as_exact_as_rounding(point: Point, x: Array, size: float) -> bool:
    """Whether x solves Hx = b but for rounding: ‖Hx − b‖ ≤ 100 ε (‖H‖‖x‖ + ‖b‖).

    x is then the exact solution for a matrix that differs from H by rounding alone. ‖H‖ is taken
    from below, by two steps of the power method.
    """
    H, b = point.hessian, point.hessian @ x - point.h_x
    v, norm = b, 0.0
    for _ in range(2):
        length = float(np.linalg.norm(v))
        if length == 0.0:
            break
        v = H @ (v / length)
        norm = float(np.linalg.norm(v))
    return size <= ROUNDING * (norm * float(np.linalg.norm(x)) + float(np.linalg.norm(b)))


def _refuse_kink_near(problem: Points, lam: Array, x: Array, point: Point) -> None:
    """Look along −∇₁h, from steps far below the size of x."""
    size = float(np.linalg.norm(point.h_x))
    step = np.sqrt(ROUNDOFF) * max(1.0, float(np.linalg.norm(x))) / size
    refuse_kink(problem, lam, x, point.h_x, -point.h_x, step)


def _gradient_size(point: Point, lam: Array) -> float:
    size = float(np.linalg.norm(point.h_x))
    if not np.isfinite(size + point.h):
        what = "h" if np.isfinite(size) else "∇₁h"
        raise SingularProblemError(
            f"The inner problem diverges at lam = {np.array2string(lam, threshold=6)}: {what} is "
            "not finite there. Is h bounded below for every λ in the domain, and are the data "
            "finite? hoag.testing.check_problem(problem) looks for a wrong derivative."
        )
    return size
