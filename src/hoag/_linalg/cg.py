"""Conjugate gradients, for one system or for K of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hoag._core.numeric import Array

Product = Callable[[Array], Array]


class ConjugateGradients:
    """The recurrence for A x = b, step by step; when to stop is the caller's affair.

        t = ρ/dᵀAd,  x ← x + td,  r ← r − tAd,  ρ′ = rᵀM⁻¹r,  d ← M⁻¹r + (ρ′/ρ)d

    Vectors have shape (p,), or (K, p) for K systems, each with numbers of its own.

    x, r        where it stands, and b − Ax there
    rho         rᵀM⁻¹r
    curvature   dᵀAd of the last direction
    """

    def __init__(
        self, product: Product, precondition: Product | None, r: Array, x: Array | None = None
    ) -> None:
        self._product, self._precondition = product, precondition
        self.x, self.r = np.zeros_like(r) if x is None else x, r
        self._d = z = self._preconditioned(r)
        self.rho = _dot(r, z)
        self.curvature: Any = np.inf

    def step(self) -> bool:
        """One product; False, and all as it was, where d has no curvature or a number is lost."""
        Ad = self._product(self._d)
        self.curvature = _dot(self._d, Ad)
        solved = self.rho == 0.0
        if not np.all((self.curvature > 0) | solved):
            return False
        t = self.rho / np.where(solved, 1.0, self.curvature)
        with np.errstate(over="ignore", invalid="ignore"):
            x, r = self.x + t[..., None] * self._d, self.r - t[..., None] * Ad
        if not (np.isfinite(_dot(r, r)).all() and np.isfinite(x).all()):
            return False
        z, before = self._preconditioned(r), np.where(solved, 1.0, self.rho)
        self.x, self.r, self.rho = x, r, _dot(r, z)
        self._d = z + (self.rho / before)[..., None] * self._d
        return True

    def _preconditioned(self, r: Array) -> Array:
        return r if self._precondition is None else self._precondition(r)


def _dot(a: Array, b: Array) -> Any:
    """Σⱼ aⱼbⱼ over the last axis."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.einsum("...j,...j->...", a, b)


def conjugate(
    product: Product, precondition: Product, B: Array, tol: float, most: int
) -> tuple[Array, int]:
    """A_k⁻¹b_k for all k to `tol`, relatively in the norm of M_k⁻¹; and how many products."""
    going = ConjugateGradients(product, precondition, B)
    enough = tol**2 * going.rho
    for k in range(most):
        if np.all(going.rho <= enough) or not going.step():
            return going.x, k
    return going.x, most
