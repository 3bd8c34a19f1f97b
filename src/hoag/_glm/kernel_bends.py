"""The second derivatives of f in the widths and the ridge of a kernel.

    f = Σᵢ s′ᵢ loss(y′ᵢ, zᵢ),  z = K′X,  (K + αI)X = √s y,  Q = (K + αI)⁻¹K′ᵀ∇loss
    fᵢⱼ = żᵢᵀ∇²loss żⱼ + Eᵢⱼ + Eⱼᵢ + ∇lossᵀK′ᵢⱼX − QᵀHᵢⱼX
    tⱼ = dX/dλⱼ = −(K + αI)⁻¹HⱼX,  żⱼ = K′tⱼ + K′ⱼX,  Eᵢⱼ = (∇lossᵀK′ᵢ − QᵀHᵢ)tⱼ

Indices are derivatives in λ = (log γ, log α), and H = K + αI. Beside the factor at hand this takes
a solve and a few products for each width, and a product for each pair of widths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hoag._core.numeric import Array
from hoag._linalg.operator import Inverse

if TYPE_CHECKING:
    from hoag._glm.kernel_ridge import KernelRidgePoint


def bends(point: KernelRidgePoint, q: Array, inverse: Inverse) -> Array:
    """∇²f, shape (s, s), at x = X and q = Q."""
    problem, kernel, gamma = point.problem, point.kernel, point.gamma
    x, ridge, slope = point.x, point.alpha * point.x, point.outer_slope
    t = -inverse(np.column_stack([point.width_slopes, ridge]))
    moved = kernel.test_product(kernel.K_test, t)
    moved[:, :-1] += point.test_slopes
    curved = np.column_stack([problem.test_weights * point.outer.hvp(z) for z in moved.T])
    adjoint, pulled = (q, kernel.applied(q)), (slope, kernel.test_pulled(slope))
    widths = problem.test_widths.transposed.slopes(pulled[1], gamma)
    widths -= problem.widths.slopes(adjoint[1], gamma)
    half = np.column_stack([widths, -point.alpha * q]).T @ t + 0.5 * moved.T @ curved
    found = half + half.T
    found[:-1, :-1] += kernel.test_bends(pulled, (x, point.test_applied))
    found[:-1, :-1] -= kernel.bends(adjoint, (x, point.applied))
    found[-1, -1] -= q @ ridge
    return np.asarray(found)
