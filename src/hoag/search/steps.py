"""How long the step of gradient descent is: λ ← P_D(λ − p/L)."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hoag.criterion import Criterion, outer_lipschitz_of
from hoag.values import Array, Evaluation, InvalidInput


class StepRule(Protocol):
    def first(self, p: Array) -> float: ...
    def lipschitz(self, criterion: Criterion) -> float: ...
    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float: ...


class Constant:
    """The same L at every step, the setting of Theorem 2, which asks that ∇f be L-Lipschitz."""

    def __init__(self, L: float) -> None:
        if not (np.isfinite(L) and L > 0):
            raise InvalidInput(f"Constant(L={L}): L must be a positive number.")
        self.L = float(L)

    def first(self, p: Array) -> float:
        return self.L

    def lipschitz(self, criterion: Criterion) -> float:
        return 0.0

    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float:
        return self.L


class Adaptive:
    """Enlarge the step by GROW when the descent that L promises was seen, else halve it.

    With Δ = ‖λ_k − λ_{k−1}‖ and the L that made this step, the test is

        g_k ≤ g_{k−1} + C ε_k + ε_{k−1}(C + M) Δ − (L/2) Δ²

    C is the Lipschitz constant of g in x, a number or "data" for the problem's own. The paper
    displays LΔ² in place of (L/2)Δ²; `descent="displayed"` selects it. On a convex stretch that
    form holds only through the slack, so with a small C the step halves itself to nothing.

    One safeguard is ours: after a failed test L is also at least ‖p_k − p_{k−1}‖/Δ, which ∇f shows
    it to be. Without it, a start near a stationary point (L₁ = ‖p₁‖ tiny) throws λ across the box
    into a flat region before halving can catch up.
    """

    M = 1.0  # ‖p_k − ∇f‖ ≤ M ε_k, the paper's constant
    SHRINK = 0.5  # the paper's α
    GROW = 1.05  # the paper's β

    def __init__(self, C: float | str = 1.0, descent: str = "proved") -> None:
        if isinstance(C, str) and C != "data":
            raise InvalidInput(f"Adaptive(C={C!r}): give a number, or 'data'.")
        if descent not in ("proved", "displayed"):
            raise InvalidInput(f"descent={descent!r}: use 'proved' (L/2 Δ²) or 'displayed' (LΔ²).")
        self.C = C
        self.descent = descent

    def first(self, p: Array) -> float:
        """L₁ = ‖p₁‖, so that the first step has length at most 1."""
        return float(np.linalg.norm(p)) or 1.0

    def lipschitz(self, criterion: Criterion) -> float:
        return outer_lipschitz_of(criterion) if isinstance(self.C, str) else self.C

    def next(
        self, L: float, C: float, before: Evaluation, now: Evaluation, eps: tuple[float, float]
    ) -> float:
        delta = float(np.linalg.norm(now.lam - before.lam))
        eps_before, eps_now = eps
        slack = C * eps_now + eps_before * (C + self.M) * delta
        promised = (0.5 if self.descent == "proved" else 1.0) * L * delta**2
        descended = now.value <= before.value + slack - promised
        if descended:
            return L / self.GROW
        shown = float(np.linalg.norm(now.grad - before.grad)) / delta if delta > 0 else 0.0
        return max(L / self.SHRINK, shown)
