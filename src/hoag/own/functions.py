"""What somebody's h and g come to, whatever they are written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hoag.values import Array

# v ↦ (∇²₁h v, ∇²₁,₂hᵀ v), of shapes (p,) and (s,)
Pull = Callable[[Array], tuple[Array, Array]]


class Inner(NamedTuple):
    """h, ∇₁h, and products with both its second derivatives, at one (x, λ)."""

    h: float
    h_x: Array
    pull: Pull


class Outer(NamedTuple):
    """g, ∇₁g and ∇₂g at one (x, λ)."""

    g: float
    g_x: Array
    g_lam: Array


class Functions(Protocol):
    """What somebody's h and g come to, on flat arrays x, (p,), and λ, (s,), in the user's units.

    inner    h with its first derivative, and products with the second ones
    push     ∇²₁,₂h w, shape (p,)
    hessian  ∇²₁h as a matrix
    outer    g with its first derivatives
    rows     of training data and of held-out ones, where the functions are sums over them; None
             where that is not known
    part     the same functions on some of these rows, given by their numbers: h without its
             penalty times the first of two scales, g times the second. No numbers: g as it is
    product  what one product of `pull` costs, in gradients of h
    """

    rows: tuple[int, int] | None
    product: float

    def inner(self, x: Array, lam: Array) -> Inner: ...
    def push(self, x: Array, lam: Array, w: Array) -> Array: ...
    def hessian(self, x: Array, lam: Array) -> Array: ...
    def outer(self, x: Array, lam: Array) -> Outer: ...
    def part(
        self,
        train: npt.NDArray[np.intp],
        test: npt.NDArray[np.intp],
        scales: tuple[float, float],
    ) -> Functions: ...
