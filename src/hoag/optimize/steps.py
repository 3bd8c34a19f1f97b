"""How long the step of gradient descent is: λ ← P_D(λ − p/L)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Evaluation
from hoag._core.settings import Settings

# ‖p_k − ∇f‖ ≤ M ε_k, the paper's constant.
M = 1.0
# λ is a logarithm: no hyperparameter moves by more than this in a step of the default search.
LONGEST = 2.0
# What is left to gain is so many times what the next step promises; and a search does not end where
# a hyperparameter, moved by one, promises more than so many times the tolerance.
AHEAD = 5.0


def gradient_error(evaluation: Evaluation, eps: float, exact: bool = False) -> float:
    """The error of p as it was measured, or M ε where it was not; 0 where no ε makes it smaller."""
    if exact:
        return 0.0
    return M * eps if np.isnan(evaluation.error) else evaluation.error


class StepRule(Settings, ABC):
    @property
    def needs_lipschitz(self) -> bool:
        """Whether `next` wants the Lipschitz constant of g from the data."""
        return False

    @abstractmethod
    def first(self, p: Array) -> float: ...
    @abstractmethod
    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float: ...


class Constant(StepRule):
    """The same L at every step, the setting of Theorem 2, which asks that ∇f be L-Lipschitz.

    >>> from hoag.optimize import Constant, Hoag
    >>> Hoag(step=Constant(L=10.0))
    Hoag(schedule=Exponential(first=0.1, rate=0.9), step=Constant(L=10.0))
    """

    def __init__(self, L: float) -> None:
        if not (np.isfinite(L) and L > 0):
            raise InvalidInput(f"Constant(L={L}): L must be a positive number.")
        self.L = float(L)

    def first(self, p: Array) -> float:
        return self.L

    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float:
        return self.L


class Adaptive(StepRule):
    """Enlarge the step by `grow` when the descent that L promises was seen, else halve it.

    With Δ = ‖λ_k − λ_{k−1}‖ and the L that made this step, the test is

        g_k ≤ g_{k−1} + C ε_k + ε_{k−1}(C + M) Δ − (L/2) Δ²

    C is the Lipschitz constant of g in x, a number or "data" for the problem's own. The paper
    displays LΔ² in place of (L/2)Δ²; `descent="displayed"` selects it. On a convex stretch that
    form holds only through the slack, so with a small C the step halves itself to nothing. The
    slack takes ε_k for a bound on ‖x_k − X(λ_k)‖, which it is where the strong convexity of h is
    known; elsewhere ε_k bounds ‖∇₁h‖.

    Two things are ours. g_k stands for f(λ_k), and is taken as g − q·∇₁h, which is nearer to it: at
    loose tolerances g alone may not move at all between two steps. And there is a safeguard: ∇f
    changes by ‖p_k − p_{k−1}‖ over Δ, up to the errors of both, so its Lipschitz constant is at
    least `shown`, and so is L. Without it, a start near a stationary point (L₁ = ‖p₁‖ tiny) throws
    λ across the box into a flat region before halving can catch up, and near the optimum the step
    grows until λ oscillates. With one hyperparameter it makes the last steps those of the secant;
    a larger `grow` than the paper's β = 1.05 then makes nearly all of them so. No hyperparameter
    moves by more than `longest` in one step. safeguards=False leaves all three out.

    >>> from hoag.optimize import Adaptive, Hoag
    >>> Hoag(step=Adaptive(C=2.0))
    Hoag(schedule=Exponential(first=0.1, rate=0.9), step=Adaptive(C=2.0))
    """

    SHRINK = 0.5  # the paper's α

    def __init__(
        self,
        C: float | str = 1.0,
        descent: str = "proved",
        grow: float = 1.05,
        longest: float = np.inf,
        safeguards: bool = True,
    ) -> None:
        if C != "data" and (isinstance(C, str) or not (np.isfinite(C) and C >= 0)):
            raise InvalidInput(f"Adaptive(C={C!r}): give a number ≥ 0, or 'data'.")
        if descent not in ("proved", "displayed"):
            raise InvalidInput(f"descent={descent!r}: use 'proved' (L/2 Δ²) or 'displayed' (LΔ²).")
        if not (np.isfinite(grow) and grow > 1):
            raise InvalidInput(f"Adaptive(grow={grow!r}): give a number above 1.")
        self.C = C
        self.descent = descent
        if not longest > 0:
            raise InvalidInput(f"Adaptive(longest={longest!r}): give a positive number.")
        self.grow = grow
        self.longest = longest
        self.safeguards = safeguards

    @property
    def needs_lipschitz(self) -> bool:
        return self.C == "data"

    def first(self, p: Array) -> float:
        """L₁ = ‖p₁‖, so that the first step has length at most 1."""
        return float(np.linalg.norm(p)) or 1.0

    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float:
        delta = float(np.linalg.norm(now.lam - before.lam))
        if delta == 0:
            return L
        C = C if isinstance(self.C, str) else self.C
        eps_before, eps_now = eps
        slack = C * eps_now + eps_before * (C + M) * delta
        promised = (0.5 if self.descent == "proved" else 1.0) * L * delta**2
        if not self.safeguards:
            descended = now.g <= before.g + slack - promised
            return L / (self.grow if descended else self.SHRINK)
        descended = now.value <= before.value + slack - promised
        errors = gradient_error(before, eps_before) + gradient_error(now, eps_now)
        shown = (float(np.linalg.norm(now.grad - before.grad)) - errors) / delta
        short = float(np.max(np.abs(now.grad))) / self.longest
        return max(L / (self.grow if descended else self.SHRINK), shown, short)
