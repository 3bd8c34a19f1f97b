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
from hoag.models.space import Inside, Precondition, Space, preconditioner, setup_passes
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

# Every so many-th direction is for the tangent.
TANGENT = 4

# After so many without reaching the tolerance, the space is given up.
LAST = 60

# From one direction to the next residuals shrink by a factor √ρ, and the errors of p and g, which
# are products of two residuals, by ρ: what is left after a change Δ is Δ·ρ/(1 − ρ), taken with ρ
# between these two.
SLOW, QUICK = 0.8, 0.5

# Rigorous bounds grow like exp(‖∇₁h‖/α) on rows of size 1: none is asked for where that says
# nothing, nor with intercepts, where it costs more than the search.
LOOSE = 5.0

# Newton steps in the space: after a new direction, after λ moved, and where nothing else is left.
STEPS_GROWN, STEPS_MOVED, STEPS_LAST = 1, 2, 20
# Where λ moved by no more than NEAR, the tangent leaves little to do; beyond FAR it misleads.
NEAR, STEPS_NEAR, FAR = 0.5, 1, 1.0
# They end with one that promised no more than this share of what the first did.
SETTLED, SETTLED_LAST = 1e-3, 1e-12
# A step must realise this share of the decrease it promises.
SUFFICIENT = 1e-4


class Subspace:
    """f(λ) and p at x in a growing space, for a linear model with one penalty.

    evaluate(λ, ε)   adds directions until the error of p is at most ε, at most GROWTH of them;
                     with ε = ∞ none, once there is a space: a look at f(λ) that costs no pass
    value(λ, ε)      the same until the error of f is at most ε

    Errors are what the last directions changed, carried on as a geometric series; `corrected` is g
    plus its error, lest early values be taken for the best, and g once certified. `implicit`
    takes over where the space does not converge. `precondition` bends the directions; without it
    they need no memory for the columns. It cost `setup` passes, counted where a space begins.
    """

    free_looks = True

    def __init__(
        self, implicit: Implicit, precondition: Precondition | None = None, setup: float = 0.0
    ) -> None:
        self.implicit, self.precondition, self.setup = implicit, precondition, setup
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
        here = here.finished() if here.complete else here  # so that no rounding decides where to go
        if eps == np.inf:
            return self._evaluation(here, np.nan, counted)
        for _ in range(0 if here.complete else GROWTH):
            here = here.grown()
            if here.p_left <= eps or here.complete:
                break
        if here.added > LAST and here.p_left > eps:
            found = self.implicit.evaluate(lam, eps, Warm(lam, here.x, None))
            return replace(found, cost=counted.cost)
        return self._evaluation(here, here.p_left, counted)

    def value(self, lam: Array, eps: float, warm: Any = None) -> Evaluation:
        if isinstance(warm, Warm):
            return self.implicit.value(lam, eps, warm)
        lam, counted = checked_lam(lam, self.problem), Counted(self.problem)
        here = self._enter(lam, warm)
        if eps < np.inf:
            here = here.finished() if here.complete else here
            for _ in range(LAST):
                if here.complete or (np.isfinite(here.p_left) and here.g_left <= eps):
                    break
                here = here.grown(tangent=False)
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
        found = replace(self._evaluation(here, here.p_left, counted), corrected=here.g)
        costly = self.problem.unpenalised.size > 0 and not here.complete
        if costly or here.size > LOOSE * here.alpha:
            return found
        try:
            bound = float(self.problem.bound(*here.residuals()))
        except LinAlgError:
            return replace(found, cost=counted.cost)
        return replace(found, bound=bound, error=min(found.error, bound), cost=counted.cost)

    def _enter(self, lam: Array, warm: Any) -> Reduced:
        if warm is not None:
            return self._rebound(warm).moved(lam)
        self.problem.train.charge(self.setup)
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
            corrected=here.g + here.g_left,  # in a small space g may be far too low
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
    if not np.all(problem.groups[: problem.train.rows.weights] == 0):
        return implicit
    rows = problem.train.rows
    precondition = preconditioner(rows.matrix, problem.train.weights)
    return Subspace(implicit, precondition, setup_passes(rows.matrix, rows.outputs))


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
    here = Reduced.begun(problem, lam, precondition)
    if here.complete:
        return inner.solve(problem, lam, here.finished().x, tol)
    here = here.joined(like)
    for k in range(LAST):
        before, here = here, here.grown(tangent=False)
        if here.complete:
            break
        if here.size <= tol:  # which was measured before that direction was added
            return Solve(before.x, here.size, k + 1, "tolerance")
    return inner.solve(problem, lam, here.x, tol)


@dataclass(frozen=True, eq=False)
class Reduced:
    """The problem in one space at one λ: c nearly minimises h, t = dc/dλ, p = ∇₁g·t.

    slope     s · loss′ at the training rows: ∇₁h is Aᵀ slope + α x
    bend      s · loss″ · A t: what is wrong with t, the residual of H t = −αx, is
              Aᵀ bend + α(x + t)
    size      ‖∇₁h‖ when it was last measured: before it became a direction
    energy    the same in the norm of the preconditioner
    rho       by how much errors shrink from one direction to the next
    added     how many directions there were
    change    what a direction changed in p and g of late
    p_left    how much p may still change when the space goes on growing; ∞ if not known
    g_left    the same of g; 0 where p_left is ∞
    complete  nothing is left outside the space
    """

    space: Space
    lam: Array
    c: Array
    t: Array
    p: float
    g: float
    slope: Array
    bend: Array
    curvature: float
    size: float = np.inf
    energy: float = np.inf
    rho: float = SLOW
    added: int = 0
    change: Any = 0.0
    p_left: float = np.inf
    g_left: float = 0.0
    complete: bool = False

    @staticmethod
    def begun(problem: LinearProblem, lam: Array, precondition: Precondition | None) -> Reduced:
        if problem.groups.size <= EVERYTHING:
            space = Space.everything(problem)
            found = _solved(space, lam, np.zeros(space.filled), STEPS_MOVED)
            return replace(found, complete=True)
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

    def grown(self, tangent: bool = True) -> Reduced:
        """One direction more, and one step in the larger space.

        ∇₁h, and once in a while, for p, the residual of the tangent: without it p would not
        converge, for a space that holds x need not hold dx/dλ.
        """
        if self.complete:
            return self
        here = self._compressed() if self.c.size == self.space.size else self
        residuals = [(here.slope, here.c), (here.bend, here.c + here.t)]
        first = int(tangent and (self.added + 1) % TANGENT == 0)
        for which in (first, 1 - first) if tangent else (0,):
            slope, c = residuals[which]
            larger = here.space.added(slope, here.alpha, c, here.curvature)
            if larger is not None:
                break
        else:
            return replace(here, complete=tangent).finished()
        found = _solved(larger.space, self.lam, np.append(here.c, 0.0), STEPS_GROWN)
        size, energy, rho = self.size, self.energy, self.rho
        if which == 0:
            size, energy = larger.norm, larger.energy
            since = 2.0 if self.added % TANGENT == 0 and tangent else 1.0
            rho = float(np.clip((energy / self.energy) ** (2 / since), QUICK, SLOW))
        # a change may be small by chance, but not several in a row
        change = np.maximum(np.abs([found.p - self.p, found.g - self.g]), rho * self.change)
        p_left, g_left = change * rho / (1 - rho)
        return replace(
            found,
            size=size,
            energy=energy,
            rho=rho,
            added=self.added + 1,
            change=change,
            p_left=float(p_left),
            g_left=float(g_left),
        )

    def _compressed(self) -> Reduced:
        space, turn = self.space.compressed(np.column_stack([self.c, self.t]), KEPT)
        return replace(self, space=space, c=turn.T @ self.c, t=turn.T @ self.t)

    def moved(self, lam: Array) -> Reduced:
        """The same space at another λ; c starts on its tangent."""
        by = float(lam[0] - self.lam[0])
        if by == 0.0:
            return self
        c = self.c + by * self.t if abs(by) <= FAR else self.c
        found = _solved(self.space, lam, c, STEPS_NEAR if abs(by) <= NEAR else STEPS_MOVED)
        return replace(
            found,
            size=np.inf if self.complete else self.size,
            energy=np.inf if self.complete else self.energy,
            rho=self.rho,
            added=self.added,
            change=self.change,
            complete=self.space.whole,
        )

    def finished(self) -> Reduced:
        """Solved to the end in this space; where nothing is left outside, the rest is rounding."""
        found = _solved(self.space, self.lam, self.c, STEPS_LAST)
        left = 100 * ROUNDOFF * abs(found.g) if self.complete else np.inf
        return replace(found, complete=self.complete, size=0.0, p_left=left)

    def joined(self, others: Sequence[Any]) -> Reduced:
        """The space with the solutions of some others on the same rows in it; no pass."""
        space, filled = self.space, self.c.size
        for other in others[:MOST]:
            same = isinstance(other, Reduced) and other.space.matrix is space.matrix
            if not same or not space.shared or other.space.whole:
                continue
            k, m = other.space.intercepts, other.c.size
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


def _solved(space: Space, lam: Array, c: Array, steps: int) -> Reduced:
    """Some Newton steps from c, the tangent by the last factor, g and its slope."""
    inside, factor, moved = Inside(space, lam, c), None, False
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
    if moved and steps == STEPS_LAST:
        factor = cho_factor(inside.hessian())  # for t to the last digit
    c = inside.c
    g, g_c = inside.held_out()
    direction = np.where(np.arange(c.size) < space.intercepts, 0.0, -inside.penalty * c)
    t = np.zeros(c.size) if factor is None else np.asarray(cho_solve(factor, direction))
    curvature = inside.curvature if space.precondition is not None else np.nan
    return Reduced(space, lam, c, t, float(g_c @ t), g, inside.slope, inside.bend(t), curvature)


def _line_search(
    inside: Inside, lam: Array, d: Array, h: float, promised: float
) -> tuple[Inside, float, bool]:
    """The first of c + d, c + d/2, … where h falls enough."""
    t = 1.0
    while promised > 10 * ROUNDOFF * abs(h) and t > 1e-9:
        trial = Inside(inside.space, lam, inside.c + t * d)
        if trial.h <= h - SUFFICIENT * t * promised:
            return trial, trial.h, True
        t /= 2
    # Where h does not show it any more, a smaller gradient does.
    trial = Inside(inside.space, lam, inside.c + d)
    if np.linalg.norm(trial.gradient) < 0.5 * np.linalg.norm(inside.gradient):
        return trial, trial.h, True
    return inside, h, False
