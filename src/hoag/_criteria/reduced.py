"""A linear model restricted to a small basis at one λ: solved there, moved, and let grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hoag._core.numeric import ROUNDING, Array
from hoag._core.storable import storable
from hoag._glm.basis import Precondition, Subspace
from hoag._glm.model import LinearModel
from hoag.inner import Newton
from hoag.linear import Cholesky

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


@storable
@dataclass(frozen=True, eq=False)
class Reduced:
    """The model in one basis at one λ: c nearly minimises h, t = dc/dλ, p = ∇₁g·t.

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
