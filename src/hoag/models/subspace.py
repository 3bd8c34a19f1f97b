"""f(λ) of a linear model with one penalty, at x in a small, growing space.

The gradients of h at a few λ span spaces (Krylov spaces, for a squared loss) that hold good
approximations of X(λ) for *every* λ at once. So λ moves for nothing, and only new directions cost
passes over the rows: one each. A new direction is ∇₁h itself, at the λ of the day.

Every fold has a space of its own. In one that folds share, directions come from rows that are held
out elsewhere, and a small space is then biased towards them: on 20news f began a third too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hoag.criterion import Criterion, Implicit, Warm, for_search
from hoag.inner import InnerSolver
from hoag.linear import LinearSolver
from hoag.models.linear import LinearPoint, LinearProblem
from hoag.models.space import Inside, Precondition, Space, preconditioner
from hoag.problem import Counted, checked_lam
from hoag.values import ROUNDOFF, Array, Cost, Evaluation, Solve

# Most directions kept at a time: beyond it, x, its tangent in λ and the last KEPT of them stay.
# With 12 the text data take as many passes as with 100, with 8 a fifth more.
MOST, KEPT = 12, 6

# So few coefficients are a space of their own: nothing grows.
EVERYTHING = 40

# An evaluation begins with so many directions where there are none yet, and adds at most so many:
# the search may rather move on with what it knows.
FIRST, GROWTH = 4, 3

# After so many in one solve without reaching its tolerance, the space is given up.
LAST = 60

# From one direction to the next residuals shrink by a factor r, and the errors of p and g, which
# are products of two residuals, by ρ = r²: what is left after a change Δ is Δ·ρ/(1 − ρ), taken with
# ρ between these two.
SLOW, QUICK = 0.8, 0.5

# Rigorous bounds grow like exp(‖∇₁h‖/α) on rows of size 1: none is asked for where that says
# nothing, nor with intercepts, where it costs more than the search.
LOOSE = 5.0

# Newton steps in the space: after a new direction, after λ moved, and where nothing else is left.
STEPS_GROWN, STEPS_MOVED, STEPS_LAST = 1, 2, 20
# Where λ moved by no more than this, the tangent leaves little to do.
NEAR, STEPS_NEAR = 0.5, 1
# They end with one that promised no more than this share of what the first did.
SETTLED, SETTLED_LAST = 1e-3, 1e-12
# A step must realise this share of the decrease it promises.
SUFFICIENT = 1e-4


class Subspace:
    """f(λ) and p at x in a growing space, for a linear model with one penalty.

    evaluate(λ, ε)   adds directions until the error of p is at most ε, at most GROWTH of them;
                     with ε = ∞ none, once there is a space: a look at f(λ) that costs no pass
    value(λ, ε)      the same until the error of f is at most ε

    The error is what the last directions changed, carried on as a geometric series. `implicit`
    takes over where the space does not converge. `precondition` bends the directions; without it
    they need no memory for the columns.
    """

    free_looks = True

    def __init__(self, implicit: Implicit, precondition: Precondition | None = None) -> None:
        self.implicit, self.precondition = implicit, precondition
        self.problem: LinearProblem = cast(LinearProblem, implicit.problem)

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    def outer_lipschitz(self) -> tuple[float, Cost]:
        return self.implicit.outer_lipschitz()

    def evaluate(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        if isinstance(warm, Warm):
            return self.implicit.evaluate(lam, eps, warm)
        lam, counted = checked_lam(lam, self.problem), Counted(self.problem)
        here = self._enter(lam, warm)
        if eps < np.inf and here.complete:
            here = here.finished()
        error = here.p_left if here.complete else np.nan
        for _ in range(GROWTH if eps < np.inf and not here.complete else 0):
            here = here.grown()
            error = here.p_left
            if error <= eps or here.complete:
                break
        return self._evaluation(here, error, counted)

    def value(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        if isinstance(warm, Warm):
            return self.implicit.value(lam, eps, warm)
        lam, counted = checked_lam(lam, self.problem), Counted(self.problem)
        here = self._enter(lam, warm)
        if eps < np.inf:
            here = here.finished() if here.complete else here
            for _ in range(LAST):
                if here.complete or abs(here.g_left) <= eps:
                    break
                here = here.grown()
            else:
                found = self.implicit.value(lam, eps, Warm(lam, here.x, None))
                return replace(found, cost=counted.cost)
        return self._evaluation(here, np.nan, counted)

    def solution(self, warm: Any) -> tuple[Array, Cost]:
        """The x of an evaluation and its cost, half a pass: only the last one is asked for."""
        if isinstance(warm, Warm):
            return warm.x, Cost()
        counted = Counted(self.problem)
        return self._rebound(warm).x, counted.cost

    def certified(self, found: Evaluation) -> Evaluation:
        """With a rigorous bound on the error of p, from residuals outside the space: two passes."""
        here, counted = found.warm, Counted(self.problem)
        if isinstance(here, Warm):
            return self.implicit.certified(found)
        here = self._rebound(here)
        costly = self.problem.unpenalised.size > 0 and not here.complete
        if costly or here.size > LOOSE * here.alpha:
            return replace(found, cost=Cost())
        bound = float(self.problem.bound(*here.residuals()))
        error = min(found.error, bound)
        return replace(found, bound=bound, error=error, cost=counted.cost)

    def _enter(self, lam: Array, warm: Any) -> Reduced:
        if warm is not None:
            return self._rebound(warm).moved(lam)
        here = Reduced.begun(self.problem, lam, self.precondition)
        if here.complete:
            return here
        here = here.grown()
        here = here.moved(here.natural)
        for _ in range(FIRST - 1):
            here = here.grown()
        return here.moved(lam)

    def _rebound(self, warm: Reduced) -> Reduced:
        """A warm start that may have come from another process, on this problem."""
        warm.space.problem = self.problem
        return warm

    def _evaluation(self, here: Reduced, error: float, counted: Counted) -> Evaluation:
        return Evaluation(
            lam=here.lam,
            value=here.g,
            corrected=here.g + here.g_left,
            grad=np.array([here.p]),
            correction=None,
            error=error,
            bound=np.inf,
            x=None,
            warm=here,
            cost=counted.cost,
        )


def criterion_for(
    problem: LinearProblem,
    inner: InnerSolver | None = None,
    linear: LinearSolver | None = None,
) -> Criterion:
    """How the default search sees a linear model: in a space, if one penalty is on everything."""
    implicit = for_search(problem, inner, linear)
    weights = problem.train.rows.weights
    if not np.all(problem.groups[:weights] == 0):
        return implicit
    return Subspace(implicit, preconditioner(problem.train.rows.matrix, problem.train.weights))


def fit(
    problem: LinearProblem,
    lam: Array,
    tol: float,
    inner: InnerSolver,
    like: Sequence[Any] = (),
    precondition: Precondition | None = None,
) -> Solve:
    """min over x of h(x, λ) to ‖∇₁h‖ ≤ tol, from the solutions of the folds.

    Where the folds share their rows with this problem, their solutions span the first space for
    nothing. `inner` takes over where the space does not converge.
    """
    here = Reduced.begun(problem, lam, precondition).joined(like)
    for k in range(LAST):
        here = here.grown()
        if here.size <= tol or here.complete:
            return Solve(here.x, here.size, k + 1, "tolerance" if here.size <= tol else "precision")
    return inner.solve(problem, lam, here.x, tol)


@dataclass(frozen=True, eq=False)
class Reduced:
    """The problem in one space at one λ: c nearly minimises h, t = dc/dλ, p = ∇₁g·t.

    slope     s · loss′ at the training rows: ∇₁h is Aᵀ slope + α x
    size      ‖∇₁h‖, in the norm of the preconditioner, before the last direction was added
    change    what a direction changed in p and g of late
    p_left    how much p may still change when the space goes on growing
    g_left    the same of g, with its sign
    complete  nothing is left outside the space
    """

    space: Space
    lam: Array
    c: Array
    t: Array
    p: float
    g: float
    slope: Array
    curvature: float
    size: float = np.inf
    change: Any = 0.0
    p_left: float = np.inf
    g_left: float = 0.0
    complete: bool = False

    @staticmethod
    def begun(problem: LinearProblem, lam: Array, precondition: Precondition | None) -> Reduced:
        if problem.groups.size <= EVERYTHING:
            space = Space.everything(problem)
            return _settled(_solved(space, lam, np.zeros(space.filled), STEPS_MOVED))
        space = Space(problem, MOST, precondition)
        return _solved(space, lam, np.zeros(space.filled), STEPS_MOVED)

    @property
    def alpha(self) -> float:
        return float(np.exp(self.lam[0] - self.space.problem.shift))

    @property
    def x(self) -> Array:
        return self.space.coefficients(self.c)

    @property
    def natural(self) -> Array:
        """λ where the penalty weighs as much as the data do along the first direction."""
        k = self.space.intercepts
        if self.c.size == k:
            return self.lam
        inside = Inside(self.space, self.lam, np.zeros(self.c.size))
        curvature = inside.hessian()[k, k] - inside.penalty[k]
        return (
            np.array([np.log(curvature) + self.space.problem.shift]) if curvature > 0 else self.lam
        )

    def grown(self) -> Reduced:
        """One direction more, and one step in the larger space."""
        space, c = self.space, self.c
        if self.complete:
            return self
        if c.size == space.size:
            space, turn = space.compressed(np.column_stack([c, self.t]), KEPT)
            c = turn.T @ c
        larger = space.added(self.slope, self.alpha, c, self.curvature)
        if larger is None:
            return replace(self, space=space, c=c).finished()
        found = _solved(larger[0], self.lam, np.append(c, 0.0), STEPS_GROWN)
        rho = float(np.clip((larger[1] / self.size) ** 2, QUICK, SLOW))
        # a change may be small by chance, but not several in a row
        change = np.maximum(np.abs([found.p - self.p, found.g - self.g]), rho * self.change)
        p_left, g_left = change * rho / (1 - rho)
        return replace(
            found,
            size=larger[1],
            change=change,
            p_left=float(p_left),
            g_left=float(np.copysign(g_left, found.g - self.g)),
        )

    def moved(self, lam: Array) -> Reduced:
        """The same space at another λ; c starts on its tangent."""
        by = float(lam[0] - self.lam[0])
        if by == 0.0:
            return self
        c = self.c + by * self.t if abs(by) <= 1.0 else self.c
        found = _solved(self.space, lam, c, STEPS_NEAR if abs(by) <= NEAR else STEPS_MOVED)
        if self.complete:
            return _settled(found)
        return replace(found, size=self.size, change=self.change, g_left=self.g_left)

    def finished(self) -> Reduced:
        """Solved to the end in a space outside of which nothing is left."""
        return _settled(_solved(self.space, self.lam, self.c, STEPS_LAST))

    def joined(self, others: Sequence[Any]) -> Reduced:
        """The space with the solutions of some others on the same rows in it; no pass."""
        space, filled = self.space, self.c.size
        for other in others[:MOST]:
            if not isinstance(other, Reduced) or other.space.matrix is not space.matrix:
                continue
            k, m = other.space.intercepts, other.c.size
            if space.whole or other.space.whole:
                continue
            z = other.space.Z[:, k:m] @ other.c[k:]
            larger = space.joined(other.space.combined(other.c), z, z, filled)
            if larger is not None:
                space, filled = larger, filled + 1
        if filled == self.c.size:
            return self
        c = np.concatenate([self.c, np.zeros(filled - self.c.size)])
        return _solved(space, self.lam, c, STEPS_LAST)

    def residuals(self) -> tuple[LinearPoint, Array, Array]:
        """The point at x, the adjoint q in the space, and r = ∇²₁h q − ∇₁g."""
        space, problem = self.space, self.space.problem
        x = self.x
        problem.train.rows.last = (x, space.shaped(space.Z[:, : self.c.size] @ self.c))
        point, inside = problem.at(x, self.lam), Inside(space, self.lam, self.c)
        _, g_c = inside.held_out()
        q = space.coefficients(np.asarray(cho_solve(cho_factor(inside.hessian()), g_c)))
        return point, q, point.hessian @ q - point.g_x


def _settled(found: Reduced) -> Reduced:
    """Where nothing is left outside the space: all that is wrong is rounding."""
    return replace(found, complete=True, size=0.0, p_left=100 * ROUNDOFF * abs(found.g))


def _solved(space: Space, lam: Array, c: Array, steps: int) -> Reduced:
    """Some Newton steps from c, the tangent by the last factor, g and its slope."""
    inside, factor = Inside(space, lam, c), None
    h, first, least = inside.h, 0.0, SETTLED if steps < STEPS_LAST else SETTLED_LAST
    for _ in range(steps if c.size else 0):
        gradient = inside.gradient
        try:
            factor = cho_factor(inside.hessian())
        except LinAlgError:
            break
        d = -cho_solve(factor, gradient)
        promised = -float(gradient @ d)
        first = first or promised
        inside, h, moved = _line_search(inside, lam, d, h, promised)
        if not moved or promised <= least * first:
            break
    c = inside.c
    g, g_c = inside.held_out()
    direction = np.where(np.arange(c.size) < space.intercepts, 0.0, -inside.penalty * c)
    t = np.zeros(c.size) if factor is None else np.asarray(cho_solve(factor, direction))
    curvature = inside.curvature if space.precondition is not None else np.nan
    return Reduced(space, lam, c, t, float(g_c @ t), g, inside.slope, curvature)


def _line_search(
    inside: Inside, lam: Array, d: Array, h: float, promised: float
) -> tuple[Inside, float, bool]:
    """The first of c + d, c + d/2, … where h falls; where it cannot be seen to fall, none."""
    t = 1.0
    while promised > 10 * ROUNDOFF * abs(h) and t > 1e-9:
        trial = Inside(inside.space, lam, inside.c + t * d)
        if trial.h <= h - SUFFICIENT * t * promised:
            return trial, trial.h, True
        t /= 2
    return inside, h, False
