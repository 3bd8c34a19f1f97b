"""f(λ) of a linear model with one penalty, at x in a small, growing space.

The gradients of h at a few λ span spaces (Krylov spaces, for a squared loss) that hold good
approximations of X(λ) for *every* λ at once. So λ moves for nothing, and only new directions cost
passes over the rows: one each. A new direction is ∇₁h itself, at the λ of the day.

Every fold has a space of its own. In one that folds share, directions come from rows that are held
out elsewhere, and a small space is then biased towards them: on 20news f began a third too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from hoag._core import clock
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import SETTLED, SPACING, OfProblem, Traits
from hoag._criteria.implicit import Implicit, Warm
from hoag._criteria.reduced import MOST, Reduced
from hoag._glm.basis import Precondition
from hoag._glm.model import LinearModel
from hoag.inner import InnerSolver
from hoag.linear import Cholesky
from hoag.problems import Counted, Problem

# An evaluation begins with so many directions where there are none yet, and adds at most so many:
# the search may rather move on with what it knows.
FIRST, GROWTH = 4, 3

# After so many without reaching the tolerance, the space is given up.
LAST = 5 * MOST


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
