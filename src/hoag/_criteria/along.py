"""How a fit changes where one penalty alone is changed: S + cSⱼ in place of S.

    Sⱼ = FFᵀ,   FᵀH⁻¹F = V diag(e) Vᵀ,   U = H⁻¹FV,   a = VᵀFᵀx,   w = ca/(1 + ce)
    x′ = x − Uw,   h′ − h = ½ Σ a²c/(1 + ce),   log|H′| − log|H| = Σ log(1 + ce)
    L′ − L = wᵀUᵀSx + ½wᵀ(diag(e) − UᵀSU)w,   df′ − df = −Σ c/(1 + ce) (e − diag(UᵀSU))

exactly, as far as L is a square; for other losses with the curvature that it has at x. One block of
products with H⁻¹ serves all places of an axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hoag._core.numeric import ROUNDING, Array
from hoag._glm.penalties import QuadraticForm


class Changes(NamedTuple):
    """Of L, h, df and log|H| at every place of an axis, each (L,)."""

    loss: Array
    held: Array
    degrees: Array
    log_det: Array


def along_axes(
    x: Array,
    inverse: Array,
    penalty: QuadraticForm,
    lam: Array,
    places: Array,
    value: Callable[[int, Array, Changes], Array],
) -> Array:
    """f at places along every axis, (s, L), by what `value` makes of the changes; nan stays nan."""
    found = np.full(places.shape, np.nan)
    for j, (F, asked) in enumerate(zip(penalty.roots(x.size), np.isfinite(places), strict=True)):
        if np.any(asked):
            c = penalty.strengths[j] * np.expm1(places[j, asked] - lam[j])
            found[j, asked] = value(j, places[j, asked], changes(x, inverse, penalty, F, c))
    return found


def changes(x: Array, inverse: Array, penalty: QuadraticForm, F: Array, c: Array) -> Changes:
    """For changes c of a penalty, (L,), whose matrix is FFᵀ, at a fit x with H⁻¹."""
    C = inverse @ F
    e, V = np.linalg.eigh(F.T @ C)
    U, a = C @ V, V.T @ (F.T @ x)
    SU = penalty.apply(U.T)
    grown = np.maximum(1.0 + c[:, None] * e, ROUNDING)
    share = c[:, None] / grown
    w, B = share * a, SU @ U
    bent = np.einsum("li,ij,lj->l", w, np.diag(e) - B, w)
    return Changes(
        w @ (SU @ x) + 0.5 * bent,
        0.5 * share @ a**2,
        -share @ (e - np.diag(B)),
        np.sum(np.log(grown), axis=1),
    )
