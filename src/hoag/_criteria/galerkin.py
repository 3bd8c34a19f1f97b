"""f(λ) of a linear model with one penalty, at x in a small, growing space.

The gradients of h at a few λ span spaces (Krylov spaces, for a squared loss) that hold good
approximations of X(λ) for *every* λ at once. So λ moves for nothing, and only new directions cost
passes over the rows: one each. A new direction is ∇₁h itself, at the λ of the day.

Every fold has a space of its own. In one that folds share, directions come from rows that
other folds hold out, and a small space is then biased towards them: on 20news f began a third too
low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from hoag._core import clock
from hoag._core.numeric import ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.storable import storable
from hoag._criteria.base import SETTLED, SPACING, OfProblem, Traits
from hoag._criteria.implicit import Implicit, Warm
from hoag._glm.basis import Precondition, Subspace
from hoag._glm.model import LinearModel
from hoag._inner import InnerSolver, Newton
from hoag._linear import Cholesky
from hoag.problems import Counted, Problem

# Most directions kept at a time: beyond it, x, its tangent in λ and the last half of them stay.
# With 12 the text data take as many passes as with 100, with 8 a fifth more.
MOST = 12

# Every so many-th direction is for the tangent.
TANGENT = 4

# From one direction to the next residuals shrink by a factor √ρ, and the errors of p and g, which
# are products of two residuals, by ρ: what is left after a change Δ is Δ·ρ/(1 − ρ), taken with ρ
# between these two.
SLOW, QUICK = 0.8, 0.5

# Newton steps in the basis: one after a new direction or a little move of λ, up to half of FAR,
# beyond which the tangent misleads; so many after a longer move; and so many where nothing else is
# left.
STEPS_MOVED, STEPS_LAST = 2, 20
FAR = 1.0

# An evaluation begins with so many directions where there are none yet, and adds at most so many:
# the search may rather move on with what it knows.
FIRST, GROWTH = 4, 3

# After so many without reaching the tolerance, the space is given up.
LAST = 5 * MOST


@storable
@dataclass(frozen=True, eq=False)
class Reduced:
    """The model in one basis at one λ: solved there, moved, and let grow.

    c nearly minimises h, t = dc/dλ, p = ∇₁g·t.

    slope     s · loss′ at the training rows: ∇₁h is Aᵀ slope + α x
    row_hvp   s · loss″ · A t: what is wrong with t, the residual of H t = −αx, is
              Aᵀ row_hvp + α(x + t)
    size      ‖∇₁h‖ when it was last measured: before it became a direction
    energy    the same in the norm of the preconditioner
    rho       by how much errors shrink from one direction to the next
    added     how many directions there were
    change    what a direction changed in p and g of late
    p_left    how much p may still change when the basis goes on growing; ∞ if not known
    g_left    the same of g; 0 where p_left is ∞
    complete  nothing is left outside the basis
    """

    basis: Subspace
    lam: Array
    c: Array
    t: Array
    p: float
    g: float
    slope: Array
    row_hvp: Array
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
    def begun(model: LinearModel, lam: Array, precondition: Precondition | None) -> Reduced:
        basis = Subspace(model, MOST, precondition)
        return _solved(basis, lam, np.zeros(basis.filled), STEPS_MOVED)

    @property
    def alpha(self) -> float:
        return float(np.exp(self.lam[0] - self.basis.model.penalty.shift))

    @property
    def x(self) -> Array:
        return self.basis.coefficients(self.c)

    @property
    def natural(self) -> Array:
        """λ where the penalty weighs as much as the data do along the first direction."""
        k, m = self.basis.intercepts, self.c.size
        if m == k:
            return self.lam
        restricted = self.basis.model.restricted(self.basis, m)
        curvature = restricted.at(np.zeros(m), self.lam).train.hessian[k, k]
        shift = self.basis.model.penalty.shift
        return np.array([np.log(curvature) + shift]) if curvature > 0 else self.lam

    def grown(self, tangent: bool = True) -> Reduced:
        """One direction more, and one step in the larger basis.

        ∇₁h, and once in a while, for p, the residual of the tangent: without it p would not
        converge, for a basis that holds x need not hold dx/dλ.
        """
        if self.complete:
            return self
        here = self
        if self.c.size == self.basis.size:
            kept = np.column_stack([self.c, self.t])
            basis, turn = self.basis.compressed(kept, MOST // 2)
            here = replace(self, basis=basis, c=turn.T @ self.c, t=turn.T @ self.t)
        residuals = [(here.slope, here.c), (here.row_hvp, here.c + here.t)]
        first = int(tangent and (self.added + 1) % TANGENT == 0)
        for which in (first, 1 - first) if tangent else (0,):
            slope, c = residuals[which]
            larger = here.basis.added(slope, here.alpha, c, here.curvature)
            if larger is not None:
                break
        else:
            return replace(here, complete=tangent).finished()
        found = _solved(larger.basis, self.lam, np.append(here.c, 0.0), 1)
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

    def moved(self, lam: Array) -> Reduced:
        """The same basis at another λ; c starts on its tangent."""
        by = float(lam[0] - self.lam[0])
        if by == 0.0:
            return self
        c = self.c + by * self.t if abs(by) <= FAR else self.c
        found = _solved(self.basis, lam, c, 1 if abs(by) <= FAR / 2 else STEPS_MOVED)
        return replace(
            found,
            size=np.inf if self.complete else self.size,
            energy=np.inf if self.complete else self.energy,
            rho=self.rho,
            added=self.added,
            change=self.change,
        )

    def finished(self) -> Reduced:
        """Solved to the end in this basis; where nothing is left outside, the rest is rounding."""
        found = _solved(self.basis, self.lam, self.c, STEPS_LAST)
        left = ROUNDING * abs(found.g) if self.complete else np.inf
        return replace(found, complete=self.complete, added=self.added, size=self.size, p_left=left)

    def joined(self, others: Sequence[Any]) -> Reduced:
        """The basis with the solutions of some others on the same rows in it; no pass."""
        basis, filled = self.basis, self.c.size
        for other in others[:MOST]:
            same = isinstance(other, Reduced) and other.basis.rows is basis.rows
            if not same or not basis.shared:
                continue
            k, m = other.basis.intercepts, other.c.size
            z = other.basis.Z[:, k:m] @ other.c[k:]
            larger = basis.joined(other.basis.combined(other.c), z, z, filled)
            if larger is not None:
                basis, filled = larger, filled + 1
        if filled == self.c.size:
            return self
        c = np.concatenate([self.c, np.zeros(filled - self.c.size)])
        return _solved(basis, self.lam, c, STEPS_LAST)


def _solved(basis: Subspace, lam: Array, c: Array, steps: int) -> Reduced:
    """Some Newton steps from c, the tangent by the last factor, g and its slope."""
    model = basis.model.restricted(basis, c.size)
    factor = Cholesky()
    solve = Newton(factor, forcing=np.inf, max_iter=steps).solve(model, lam, c, 0.0)
    point, t = solve.point, np.zeros(c.size)
    right = -point.penalty.cross(point.x, np.ones(1))
    if steps == STEPS_LAST and c.size:  # for t to the last digit
        t = factor.solve(point.hessian, right, None, np.inf).x
    elif solve.inverse is not None:
        t = solve.inverse(right)
    p = float(point.g_x @ t)
    slope, row_hvp = point.train.slope.ravel(), point.train.row_hvp(t).ravel()
    curvature = point.train.mean_curvature if basis.precondition is not None else np.nan
    return Reduced(basis, lam, point.x, t, p, point.g, slope, row_hvp, curvature)


class Galerkin(OfProblem):
    """f(λ) and p at x in a growing space, for a linear model with one penalty.

    With p, directions are added until its error is at most ε, at most GROWTH of them; without,
    until that of f is. A free look adds none, once there is a space, and costs no pass.

    Errors are what the last directions changed, carried on as a geometric series. `implicit` takes
    over where the space does not converge, and settles what is reported. `precondition` turns the
    directions; without it they need no memory for the columns. It cost `setup` passes, counted
    where a space begins.
    """

    def __init__(
        self, implicit: Implicit, precondition: Precondition | None = None, setup: float = 0.0
    ) -> None:
        self.implicit, self.precondition, self.setup = implicit, precondition, setup
        self.problem: LinearModel = cast(LinearModel, implicit.problem)

    @property
    def traits(self) -> Traits:
        return Traits(scan_spacing=SPACING, blocks=self.problem.blocks)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        if isinstance(warm, Warm):
            return self.implicit._evaluate(lam, ask, warm)
        counted = Counted(self.problem)
        here = self._enter(lam, warm)
        if not ask.free:
            grow = self._for_gradient if ask.gradient else self._for_value
            here = grow(here, ask.eps)
            left = here.p_left if ask.gradient else here.g_left
            if here.added > LAST and left > ask.eps:
                found = self.implicit._evaluate(lam, ask, Warm(lam, here.x, None))
                return replace(found, cost=counted.cost)
        known = np.isfinite(here.p_left)
        return Evaluation(
            lam=here.lam,
            value=here.g,
            grad=np.array([here.p if ask.gradient else np.nan]),
            f_error=here.g_left if known else np.nan,
            error=here.p_left if known and ask.gradient else np.nan,
            warm=here,
            cost=counted.cost,
        )

    def _for_gradient(self, here: Reduced, eps: float) -> Reduced:
        for _ in range(GROWTH):
            clock.check()
            here = here.grown()
            if here.p_left <= eps or here.complete:
                break
        return here

    def _for_value(self, here: Reduced, eps: float) -> Reduced:
        for _ in range(LAST + 1):
            clock.check()
            if here.complete or (np.isfinite(here.p_left) and here.g_left <= eps):
                break
            here = here.grown(tangent=False)
        return here

    def _enter(self, lam: Array, warm: Any) -> Reduced:
        known = self._space(warm)
        if known is not None:
            return known.moved(lam)
        self.problem.train.charge(self.setup)
        here = Reduced.begun(self.problem, lam, self.precondition).grown()
        here = here.moved(here.natural)
        for _ in range(FIRST - 1):
            here = here.grown()
        return here.moved(lam)

    def _space(self, warm: Any) -> Reduced | None:
        """That of a warm start from here, another process or a file; None where it was given up."""
        if not isinstance(warm, Reduced):
            return None
        warm.basis.model, warm.basis.precondition = self.problem, self.precondition
        return warm

    def rebind(self, found: Evaluation) -> Evaluation:
        self._space(found.warm)
        return found

    def solution(self, found: Evaluation) -> tuple[Array, Cost]:
        """The x of an evaluation and its cost, half a pass: only the last one is asked for."""
        counted, here = Counted(self.problem), self._space(found.warm)
        return found.warm.x if here is None else here.x, counted.cost

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """At the x that the space gives, outside of it: g and ∇₁h by the problem itself.

        Where ∇₁h is as small as the space has it, its estimate of what is missing in g stands, if
        that is small enough. Else, and where a factor gives it for little, the plain solver goes on
        from x.
        """
        counted, outside = Counted(self.problem), self._outside(found)
        point, here = counted.at(outside.warm.x, found.lam), self._space(found.warm)
        g, size = float(point.g), float(np.linalg.norm(point.h_x))
        outside = replace(outside, value=g, g=g)
        exact = isinstance(self.implicit.linear, Cholesky)
        known = abs(g - found.value) <= found.f_error <= 2 * SETTLED * tol
        if here is None or exact or not known or size > 2 * here.size:
            outside = self.implicit.verify(outside, tol, deadline)
        return replace(outside, warm=found.warm, cost=counted.cost)  # a scan stays free

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        """The space knows the error of p; a rigorous bound takes residuals outside of it."""
        counted = Counted(self.problem)
        if not bound and not np.isnan(found.error):
            return replace(found, cost=Cost())
        known = self.implicit.certify(replace(self._outside(found), error=np.nan), bound)
        return replace(known, cost=counted.cost)

    def _refit_near(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float, inner: InnerSolver
    ) -> tuple[Solve, Cost]:
        """In a space that begins with the solutions of the folds."""
        counted, precondition = Counted(problem), self.precondition
        inner = inner if precondition is None else self.implicit.inner
        model, like = cast(LinearModel, problem), [part.warm for part in parts]
        return fit(model, parts[0].lam, tol, inner, like, precondition), counted.cost

    def _outside(self, found: Evaluation) -> Evaluation:
        """The same evaluation with its x in the place of the space."""
        if isinstance(found.warm, Warm):
            return found
        x = self.solution(found)[0] if found.x is None else found.x
        return replace(found, x=x, warm=Warm(found.lam, x, None))


def fit(
    model: LinearModel,
    lam: Array,
    tol: float,
    inner: InnerSolver,
    like: Sequence[Any] = (),
    precondition: Precondition | None = None,
) -> Solve:
    """min over x of h(x, λ) to ‖∇₁h‖ ≤ tol, from the solutions of the folds.

    Where the folds share their rows with this model, their solutions span the first space for
    nothing. `inner` takes over where the space does not converge.
    """
    here = Reduced.begun(model, lam, precondition).joined(like)
    for k in range(LAST):
        before, here = here, here.grown(tangent=False)
        if here.added == before.added:  # nothing new: what is left is in the space
            break
        if here.size <= tol:  # which was measured before that direction was added
            return Solve(before.x, here.size, k + 1, "tolerance")
    return inner.solve(model, lam, here.x, tol)
