"""f on a sample of the rows, as an estimate of f on all of them, with its sampling error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.base import Criterion
from hoag._criteria.certificate import RELATIVE_RESIDUAL, hypergradient
from hoag.linear import CG
from hoag.problems import Counted, Point, Problem


class Sampled(Criterion):
    """f_m(λ) and p_m(λ) on m rows, with f_error and error that add what a sample may be wrong by.

    The sample is taken apart into four parts, and f on each of them, to first order, is

        f_k = g_k − q·∇₁h_k   at the x and q of the whole sample,

    without another fit: their spread, over √4, is the standard error of f_m. Besides, f_m is too
    large by about ½ δᵀ∇²₁g δ, δ the sampling error of x: fits to fewer rows are worse. A draw of δ
    is the step from x towards the fit on two of the parts, which is as far from the fit on the
    whole sample as that is from the fit on all rows; where that step leads, with the q there, the
    gradient differs from p_m by about the sampling error of p_m. Where p is one number, there are
    two such draws, which are independent.

    `on_sample` of an evaluation has the errors without all this: of f_m itself.
    """

    def __init__(self, own: Criterion, sample: Problem, setup: Cost) -> None:
        self.own, self.sample = own, sample
        self._setup = setup  # paid for by the first evaluation

    @property
    def lam0(self) -> Array:
        return self.own.lam0

    @cached_property
    def _parts(self) -> Sequence[Problem]:
        return self.sample.parts(4)

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        found = self.own._evaluate(lam, ask, warm)
        begun, self._setup = self._setup, Cost()
        f_error, error, counted = np.inf, np.inf, Counted(self.sample)
        if ask.gradient and np.isfinite(ask.eps) and np.isfinite(found.value):
            f_error, error = self._errors(lam, found.warm.x, found.warm.q)
        return replace(
            found,
            f_error=float(np.nansum([found.f_error, f_error])),
            error=float(np.nansum([found.error, error])),
            bound=np.inf,
            correction=None,
            cost=begun + found.cost + counted.cost,
            on_sample=(found.f_error, found.error),
        )

    def _errors(self, lam: Array, x: Array, q: Array) -> tuple[float, float]:
        """The sampling errors of f and of p."""
        unseen = [1.0 - share for share in self.sample.shares]
        every = [part.at(x, lam) for part in self._parts]
        fits, losses = ([q @ point.h_x for point in every], [point.g for point in every])
        spread = unseen[0] * np.var(fits, ddof=1) + unseen[1] * np.var(losses, ddof=1)

        def moved(other: int) -> tuple[float, float]:
            """By how much a fit on half of the parts makes f worse; and its ‖p − p_m‖²."""
            half = [every[0], every[other]]
            step = _solved(half, slope - _mean([point.h_x for point in half]))
            there = [self._parts[k].at(x + step, lam) for k in (0, other)]
            worse = _mean([new.g - old.g - old.g_x @ step for new, old in zip(there, half)])
            turn = _solved(there, _mean(list(map(unmet, there))) - left_unmet)
            apart = _mean([hypergradient(point, q + turn) for point in there]) - p
            return abs(float(worse)), float(apart @ apart)

        def unmet(point: Point) -> Array:
            return np.asarray(point.g_x - point.hessian @ q)

        slope, left_unmet = _mean([point.h_x for point in every]), _mean(list(map(unmet, every)))
        p = _mean([hypergradient(point, q) for point in every])
        draws = [moved(other) for other in ((1, 2) if lam.size == 1 else (1,))]
        worse, apart = np.mean(draws, axis=0)
        f_error = np.sqrt(spread / len(every)) + unseen[0] * worse
        return float(f_error), float(np.sqrt(max(unseen) * apart))


def _mean(each: Sequence[Any]) -> Any:
    return sum(each) / len(each)


def _solved(points: Sequence[Point], b: Array) -> Array:
    """H⁻¹b to a tenth, H the mean of the points' Hessians."""
    H = LinearOperator(
        (b.size, b.size),
        matvec=lambda v: _mean([point.hessian @ np.ravel(v) for point in points]),
        dtype=float,
    )
    return CG().solve(H, b, None, RELATIVE_RESIDUAL * float(np.linalg.norm(b))).x
