"""The second derivatives of f as a search sees them: a diagonal and a few pairs of vectors."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box, Domain
from hoag._core.numeric import ROUNDOFF, Array

Mask = npt.NDArray[np.bool_]

# Pairs (s, y) kept: 12 of the 20 vectors of a search. On MNIST 4, 8 and 16 do the same.
MEMORY = 6
# No scale is below this share of the mean: what has no slope yet may have one later.
LEAST_SCALE = 0.1

TINY = float(np.finfo(np.float64).tiny)  # no slope at all


class Curvature:
    """B⁻¹p by the two loops of L-BFGS, from a diagonal in proportion to the slopes seen."""

    def __init__(self) -> None:
        self.pairs: deque[tuple[Array, Array]] = deque(maxlen=MEMORY)
        self.squares: Array | None = None

    def see(self, p: Array) -> None:
        old = p**2 if self.squares is None else self.squares
        self.squares = (old + p**2) / 2

    def solve(self, p: Array, free: Mask) -> Array:
        """B⁻¹p on the free hyperparameters, 0 on the others; pairs that bend down are left out."""
        r = np.where(free, p, 0.0)
        sizes = np.sqrt(r**2 if self.squares is None else self.squares)
        diagonal = sizes + LEAST_SCALE * float(np.mean(sizes)) + TINY
        kept = []
        for s, y in reversed(self.pairs):
            sy = float(s @ np.where(free, y, 0.0))
            if sy > np.sqrt(ROUNDOFF) * float(np.linalg.norm(s) * np.linalg.norm(y)):  # bends up
                a = float(s @ r) / sy
                r -= a * np.where(free, y, 0.0)
                kept.append((s, y, sy, a))
        scale = 1.0
        if kept:
            _, y, sy, _ = kept[0]
            scale = sy / float(np.sum(np.where(free, y, 0.0) ** 2 / diagonal))
        r *= scale / diagonal
        for s, y, sy, a in reversed(kept):
            r += np.where(free, (a - float(y @ r) / sy) * s, 0.0)
        return r


def free(lam: Array, p: Array, domain: Box) -> Mask:
    """Which hyperparameters are not on a bound that the gradient pushes against."""
    held = ((lam <= domain.lower) & (p > 0)) | ((lam >= domain.upper) & (p < 0))
    return np.asarray(~held)


def acting(lam: Array, p: Array, domain: Domain) -> Array:
    """−P_T(−p), T the directions that the domain leaves open at λ: what a step can use of p.

    A short projected step tells: (λ − P_D(λ − tp))/t tends to it from below as t goes to 0.
    """
    t = np.cbrt(ROUNDOFF) * (1.0 + float(np.linalg.norm(lam))) / (float(np.linalg.norm(p)) or 1.0)
    return np.asarray((lam - domain.project(lam - t * p)) / t)


def steepest(lam: Array, p: Array, domain: Domain) -> float:
    """What p promises for a move by one: of a single hyperparameter in a box, else along P_D."""
    if isinstance(domain, Box):
        towards = domain.project(lam - np.sign(p)) - lam
        return float(np.max(np.abs(p * towards)))
    sigma = by_one(acting(lam, p, domain), p)
    return float(p @ (lam - domain.project(lam - p / sigma)))


def by_one(slopes: Array, p: Array) -> float:
    """The σ with which P_D(λ − p/σ) is one away from λ, or less; `slopes` are what acts of p."""
    most = float(np.max(np.abs(p)))
    return max(float(np.max(np.abs(slopes))), float(np.sqrt(ROUNDOFF)) * most) or 1.0
