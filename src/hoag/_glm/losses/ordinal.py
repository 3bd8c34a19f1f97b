"""Ordered classes: the cumulative logistic loss, with a threshold between each two of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from hoag._core.numeric import Array
from hoag._glm.losses.base import Loss, LossAt
from hoag._glm.losses.pairs import NOWHERE, PairAt

# s, t and s − t as functions of the pair (s, t).
DIRECTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])


class Ordinal(Loss):
    """−log P(y) with P(y > k) = σ(z_k + c_k), for classes 0 … K and columns k = 0 … K − 1 of z.

    z_k is one number aᵢᵀw for all k, plus a level of its own; `cuts` are the constants c_k where
    levels are counted from, for at equal levels no class between them has a probability. With
    s = z_(y−1) + c_(y−1) and t = z_y + c_y it is

        log(1 + e^(−s)) + log(1 + e^t) − log(1 − e^(t − s)),

    of which the first class has the second term alone and the last class the first. All three are
    convex; where t ≥ s there is no such model.
    """

    dispersion = 1.0

    def __init__(self, cuts: Array) -> None:
        self.cuts = cuts

    def at(self, y: npt.NDArray[Any], z: Array) -> LossAt:
        return _OrdinalAt(y, z + self.cuts)


def cuts(shares: Array) -> Array:
    """logit P(y > k) where a share of the rows, none of them 0, is of each class."""
    above = np.cumsum(shares[::-1])[::-1][1:]
    return np.asarray(logit(above / np.sum(shares)))


def alone_in_class(y: npt.NDArray[Any], weights: Array) -> int | None:
    """A row with half the weight of its class or more, where that lies between two others.

    A gap d between thresholds is kept open by −W log d of the W that its class weighs, so that one
    Newton step without a row of weight w closes it by d w/(W − w): all of it, if w is half of W.
    """
    y = y.astype(np.intp)
    inner = (y > 0) & (y < y.max())
    rows = np.flatnonzero(inner & (2 * weights >= np.bincount(y, weights)[y]) & (weights > 0))
    return int(rows[0]) if rows.size else None


class _OrdinalAt(PairAt):
    def __init__(self, y: npt.NDArray[Any], z: Array) -> None:
        last = z.shape[1] - 1
        y = y.astype(np.intp)
        self.first, self.top = y == 0, y > last
        # One column twice where there is no other: the part of the pair that is not there is 0.
        super().__init__(z, np.stack([np.maximum(y - 1, 0), np.minimum(y, last)], axis=1))
        self.s, self.t = self.pair.T
        self.inside = ~(self.first | self.top)

    @cached_property
    def gap(self) -> Array:
        """s − t, where there is a class on both sides."""
        return np.where(self.inside, np.maximum(self.s - self.t, 0.0), 1.0)

    @cached_property
    def value(self) -> Array:
        above = np.where(self.first, 0.0, np.logaddexp(0.0, -self.s))
        below = np.where(self.top, 0.0, np.logaddexp(0.0, self.t))
        with np.errstate(divide="ignore"):
            between = np.where(self.inside, -np.log(-np.expm1(-self.gap)), 0.0)
        return np.asarray(above + below + np.minimum(between, NOWHERE))

    @cached_property
    def _orders(self) -> Array:
        """The first three derivatives of the terms in s, in t and in d = s − t, (3, n, 3)."""
        (at, under), (over, below) = ((expit(v), expit(-v)) for v in (self.s, self.t))
        d = np.maximum(self.gap, np.finfo(float).tiny ** 0.25)
        e = np.exp(-d)
        share = 1 / -np.expm1(-d)  # 1/(1 − e^(−d))
        first = [-under, at * under, at * under * (under - at)]
        last = [over, over * below, over * below * (below - over)]
        between = [-e * share, e * share**2, -e * (1 + e) * share**3]
        there = np.stack([~self.first, ~self.top, self.inside], axis=1)
        return np.where(there, np.stack([first, last, between], axis=2), 0.0)

    @cached_property
    def pair_slope(self) -> Array:
        return np.asarray(self._orders[0] @ DIRECTIONS)

    @cached_property
    def pair_hessian(self) -> Array:
        return np.asarray(np.einsum("nk,ka,kb->nab", self._orders[1], DIRECTIONS, DIRECTIONS))

    @cached_property
    def pair_third(self) -> Array:
        D = DIRECTIONS
        whole = np.einsum("nk,ka,kb,kc->nabc", self._orders[2], D, D, D, optimize=True)
        return np.asarray(whole)


def probabilities(z: Array) -> Array:
    """P of every class from z_k + c_k, (n, K) ↦ (n, K + 1)."""
    ones, zeros = np.ones((len(z), 1)), np.zeros((len(z), 1))
    above = np.hstack([ones, expit(z), zeros])
    return np.asarray(above[:, :-1] - above[:, 1:])
