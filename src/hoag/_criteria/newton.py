"""Newton's method for the fits of all folds together, whatever the curvature.

    x_k ← x_k − t_k (H_k + S)⁻¹(∇L_k + Sx_k),   H_k = ∇²L_k

One pass over the rows has the losses, the gradients and the matrices of all folds. Every H_k is
formed anew at every step; where that is expensive, or a curvature is none to rounding, inverses of
older ones precondition conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.errors import SingularProblemError
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.storable import storable
from hoag._criteria.curvature.base import Curvature, Expense
from hoag._glm.design import FoldedDesign, FoldedHessian, Sums
from hoag._glm.penalties import Penalty, QuadraticForm
from hoag._inner import Continuation, line_search
from hoag._linalg.cg import conjugate
from hoag._linalg.cholesky import named, solved
from hoag._linalg.operator import Inverse


@storable
@dataclass(frozen=True, eq=False)
class State:
    """x_k with the sums there, and what the curvature formed last, here or at an earlier x."""

    X: Array
    at: Sums
    H: Any = None


class Solution(NamedTuple):
    """The solutions, the inverses there or nearby, and what went wrong."""

    state: State
    inverses: Sequence[Inverse]
    note: str

    @property
    def fresh(self) -> bool:
        """Whether the inverses are those of ∇²₁h at these very x."""
        return bool(self.state.at.hessian.size)


# Which folds are solved well enough for whoever asks: by the sums at x_k and the steps d_k.
Enough = Callable[[Sums, Array], npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class FoldedNewton:
    """Newton's method for the folds of one model.

    design      the rows of all folds
    penalties   one for each fold
    curvature   what stands for ∇²₁h⁻¹
    sparing     whether matrices are formed only where products have cost as much as they do
    convex      whether ∇²₁h is positive definite at every x; else only where h is least
    softness    how many times the loss was made softer
    """

    design: FoldedDesign
    penalties: Sequence[Penalty]
    curvature: Curvature
    sparing: bool
    convex: bool = True
    softness: int = 0

    max_steps = 100  # at one λ, and of conjugate gradients in each
    forcing = 0.1  # the share of a step that may be left undone, by conjugate gradients
    damping = 1e-3  # of a mean diagonal, added at first to what is not positive definite

    @cached_property
    def prepared(self) -> Any:
        return self.curvature.init(self.design, self.penalties)

    @property
    def expense(self) -> Expense:
        return self.curvature.expense(self.prepared)

    @property
    def _fuses(self) -> bool:
        """Whether a pass has matrices as well."""
        return self.curvature.exact and not self.sparing

    def begun(self, X: Array) -> State:
        return State(X, self.design.sums(X, curved=self._fuses))

    def solve(
        self,
        lam: Array,
        penalty: QuadraticForm,
        start: State,
        share: float,
        enough: Enough | None = None,
    ) -> Solution:
        """The fit of every fold; where Newton's steps lead nowhere, by way of softer losses.

        They end where the decrement is at most a `share` of h, or where it is `enough`.

        Where a loss bends within a small width only, steps from afar are arbitrary. The softest
        that it takes is solved from `start`, every other one from where the last two lead:

            x(w) ≈ x(cw) + (x(cw) − x(c²w))/c,   w the width, c = Continuation.softer,

        for x is linear in w where it is small, but for terms of order exp(−1/w).
        """
        softer = self.softer
        if softer is None:
            return self._steps(lam, penalty, start, share, enough)
        found = self._tried(lam, penalty, start, share, enough)
        levels = [self]
        while found.note and softer is not None:
            found = softer._tried(lam, penalty, softer.begun(start.X), EXACT, None)
            levels, softer = [*levels, softer], softer.softer
        X, before = found.state.X, None
        for level in reversed(levels[:-1]):
            there = level.begun(X) if before is None else level._lower(penalty, X, before)
            asked = (share, enough) if level is self else (EXACT, None)
            before, found = X, level._steps(lam, penalty, there, *asked)
            X = found.state.X
        return found

    @cached_property
    def softer(self) -> FoldedNewton | None:
        """The same folds with a softer loss, where there is one."""
        design = self.design.softened() if self.softness < Continuation.levels else None
        return None if design is None else replace(self, design=design, softness=self.softness + 1)

    def _tried(
        self, lam: Array, penalty: QuadraticForm, start: State, share: float, enough: Enough | None
    ) -> Solution:
        """A few points of Newton's method, and whether they are enough."""
        try:
            return self._steps(lam, penalty, start, share, enough, Continuation.patience)
        except SingularProblemError as error:
            return Solution(start, [], str(error))

    def _lower(self, penalty: QuadraticForm, X: Array, before: Array) -> State:
        """At X, or at what X and the solution before it lead to, where h is lower; each fold."""
        ahead = X + (X - before) / Continuation.softer
        h, there = (self.design.sums(place).value + penalty.value(place) for place in (X, ahead))
        return self.begun(np.where((there < h)[:, None], ahead, X))

    def _steps(
        self,
        lam: Array,
        penalty: QuadraticForm,
        start: State,
        share: float,
        enough: Enough | None,
        points: float = np.inf,
    ) -> Solution:
        """Newton's method for every fold, to rounding, if it gets there by so many points tried.

        Where matrices are spared, a step is solved by products, with inverses of older ones, until
        products have cost as much as new ones would.
        """
        (X, at, H), spent = (start.X, start.at, start.H), 0
        h, last = at.value + penalty.value(X), np.full(len(X), np.inf)
        inverses: Sequence[Inverse] = []
        if H is not None and not at.hessian.size:
            inverses = self.inverses(H, penalty, lam)
        note = f"Newton's method stopped after {self.max_steps} steps."
        for _ in range(self.max_steps):
            clock.check()
            if not at.hessian.size and (H is None or spent > self._worth):
                at, H = self._formed(X, at)
                inverses, spent = self.inverses(H, penalty, lam), 0
            elif at.hessian.size:
                H, spent = self.curvature.form(self.prepared, X, at), 0
                inverses = (
                    self.inverses(H, penalty, lam) if self.convex else self._damped(H, penalty, lam)
                )
            r = at.gradient + penalty.apply(X)
            if at.hessian.size:
                d = -solved(inverses, r)
            else:
                hessian = self.design.hessian_at(X)
                d, taken = self.conjugate(penalty, hessian, inverses, -r, self.forcing)
                spent += taken
            slope = np.sum(r * d, axis=1)  # −(the decrement)², but for rounding
            size = np.abs(at.value) + penalty.rounded(X)
            done = np.abs(slope) <= share * size
            noise = np.abs(slope) <= ROUNDING * size  # where values of h no longer tell
            done |= noise & (np.abs(slope) > 0.5 * last)
            if enough is not None:
                done |= enough(at, d)
            if np.all(done):
                note = ""
                break
            last = np.where(noise, np.abs(slope), np.inf)
            slope = np.where(noise, np.inf, np.minimum(slope, 0.0))
            before = X
            X, at, h, tried = self._searched(lam, penalty, X, h, d, slope)
            points -= tried
            if points <= 0:
                note = "Newton's method went too short a way for what it tried."
                break
            if np.array_equal(X[~done], before[~done]):
                note = "Newton's method found no step along which the training loss falls."
                break
        if at.hessian.size and (at.hessian is not H or not self.convex):
            H = self.curvature.form(self.prepared, X, at)
            inverses = self.inverses(H, penalty, lam)
        return Solution(State(X, at, H), inverses, note)

    def _formed(self, X: Array, at: Sums) -> tuple[Sums, Any]:
        """The sums at X with matrices, where a pass has them, and what the curvature makes of X."""
        if self.curvature.exact:
            at = self.design.sums(X, curved=True)
        return at, self.curvature.form(self.prepared, X, at)

    def renewed(self, lam: Array, penalty: QuadraticForm, found: Solution) -> Solution:
        """The same with inverses of ∇²₁h at these very x, where the curvature has them."""
        if found.fresh or not self.curvature.exact:
            return found
        at, H = self._formed(found.state.X, found.state.at)
        state = State(found.state.X, at, H)
        return Solution(state, self.inverses(H, penalty, lam), found.note)

    def inverses(self, H: Any, penalty: QuadraticForm, lam: Array) -> Sequence[Inverse]:
        """b ↦ (H_k + S)⁻¹b for every fold."""
        return self.curvature.factor(self.prepared, H, penalty, lam)

    def _damped(self, H: Array, penalty: QuadraticForm, lam: Array) -> Sequence[Inverse]:
        """Those of H_k + S + δI, with the first δ that has them: h falls along such steps."""
        delta, size = 0.0, float(np.mean(np.abs(np.einsum("kii->ki", H))))
        while True:
            clock.check()
            try:
                return self.inverses(H + delta * np.eye(H.shape[-1]), penalty, lam)
            except SingularProblemError:
                if delta * ROUNDING > size or not np.all(np.isfinite(H)):
                    raise
                delta = max(4 * delta, self.damping * size)

    def _searched(
        self, lam: Array, penalty: QuadraticForm, X: Array, h: Array, d: Array, slope: Array
    ) -> tuple[Array, Sums, Array, int]:
        """x_k + t_k d_k with h lower by a share of what its slope promises; the sums and h there.

        And how many t were tried. Where no step is short enough, x stays.
        """
        tried: list[tuple[State, Array]] = []

        def along(t: Array) -> tuple[Array, Callable[[], Array]]:
            # Shorter steps need no matrices but the last.
            trial, curved = X + t[:, None] * d, self._fuses and not tried
            at = self.design.sums(trial, curved=curved)
            value = at.value + penalty.value(trial)
            tried.append((State(trial, at), value))
            return value, lambda: np.sum((at.gradient + penalty.apply(trial)) * d, axis=1)

        line_search(along, h, slope)
        there, value = tried[-1]
        if self._fuses and len(tried) > 1:
            there = self.begun(there.X)
        if not np.all(np.isfinite(value)):
            raise SingularProblemError(
                f"The inner loss is not finite at {named(lam)}.\nRescale the data (features of "
                "size 1)."
            )
        return there.X, there.at, value, len(tried)

    @property
    def _worth(self) -> float:
        """How many products take as long as matrices and factors; a product waits for memory."""
        own = self.design.predictor
        return self.expense.renew / (4 * 4 * self.design.n * own.features * own.outputs)

    def conjugate(
        self,
        penalty: QuadraticForm,
        hessian: FoldedHessian,
        inverses: Sequence[Inverse],
        B: Array,
        tol: float,
    ) -> tuple[Array, int]:
        """(H_k + S)⁻¹b_k for all folds to `tol`, relatively, and how many products that took."""

        def product(D: Array) -> Array:
            return hessian.times(D) + penalty.apply(D)

        return conjugate(product, partial(solved, inverses), B, tol, self.max_steps)
