"""Whether ∇₁h jumps where an inner solver came to no end.

φ(t) = h(x + t d) along a direction of descent d. Where h is differentiable, ∇₁h changes by half as
much over half a step; at a kink, such as that of |x|, all of its change is in one of the halves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from hoag._core.errors import SingularProblemError
from hoag._core.numeric import FALLEN, ROUNDOFF, SUFFICIENT, Array
from hoag.problems import Point

# ∇₁h jumps if it still changes by the first share of itself within the second share of a step.
JUMP, WIDTH = SUFFICIENT**0.5, ROUNDOFF**0.5
# Steps shorter than this share of Newton's may be so for a kink.
SHORT = 1 - FALLEN


class Points(Protocol):
    """All that a solver asks of a problem."""

    def at(self, x: Array, lam: Array) -> Point: ...
    def softened(self) -> Points | None: ...


class NotDifferentiableError(SingularProblemError, ValueError):
    """h has a kink at the solution: the problem is at fault, at every λ."""


def refuse_kink(problem: Points, lam: Array, x: Array, gradient: Array, d: Array, t: float) -> None:
    """Raise where ∇₁h jumps between x and x + t d, or beyond, until φ' is above zero.

    `gradient` is ∇₁h at x. A smooth h costs some ten gradients, for its change falls with every
    halving. A loss that has softer ones bends within a width that is known, and has no kink.
    """
    if problem.softened() is not None:
        return
    least = JUMP * float(np.linalg.norm(gradient))

    def along(t: float) -> Array:
        return problem.at(x + t * d, lam).h_x

    low, high, below = 0.0, t, gradient
    while high < t / WIDTH:
        with np.errstate(all="ignore"):  # h may overflow that far
            above = along(high)
        found = _jump(along, (low, high), (below, above), least)
        if found is not None:
            around = found[0] + WIDTH * (high - low) * np.array([-1.0, 1.0])
            before, after = (problem.at(x + t * d, lam).h for t in around)
            # Where h jumps itself it is the edge of a model, such as a spread of 0.
            if abs(after - before) > JUMP * abs(before):
                return
            raise NotDifferentiableError(_sentence(lam, x + found[0] * d, found[1]))
        if not above @ d < 0:
            return
        low, high, below = high, 2 * high, above


def _jump(
    along: Callable[[float], Array],
    ends: tuple[float, float],
    slopes: tuple[Array, Array],
    least: float,
) -> tuple[float, Array] | None:
    """Where ∇₁h jumps between two t, and by how much; None where it does not.

    Elsewhere ∇₁h stays as it is over such a length, or it is rounding that jumps.
    """
    (low, high), (below, above) = ends, slopes
    width = WIDTH * (high - low)
    while least <= np.linalg.norm(above - below) < np.inf:
        middle, size = (low + high) / 2, high - low
        if size <= width or middle in (low, high):
            jump = above - below
            noise = np.linalg.norm(along(ends[1] + size) - slopes[1])
            return (middle, jump) if noise < SHORT * np.linalg.norm(jump) else None
        between = along(middle)
        if np.linalg.norm(between - below) < np.linalg.norm(above - between):
            low, below = middle, between
        else:
            high, above = middle, between
    return None


def _sentence(lam: Array, x: Array, jump: Array) -> str:
    sizes = np.abs(jump)
    seen = [int(j) for j in np.argsort(-sizes) if sizes[j] > sizes.max() / 10]
    named = ", ".join(f"x[{j}] = {x[j]:.3g} (by {sizes[j]:.1e})" for j in seen[:5])
    more = f" and {len(seen) - 5} more" if len(seen) > 5 else ""
    return (
        f"h is not differentiable near the x where the inner solver ends for lam = "
        f"{np.array2string(lam, threshold=6)}: ∇₁h jumps at {named}{more}. X(λ) has no gradient by "
        "the implicit function theorem there: smooth h, for instance √(x² + δ²) in place of |x|, "
        "or use a loss with a sparse penalty of its own."
    )
