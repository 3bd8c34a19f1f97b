"""How wrong an approximate gradient is, measured.

At the computed x and q, one Newton step for x and one refinement of q:

    δ  = −H⁻¹ ∇₁h            x⁺ = x + δ
    r⁺ = H(x⁺) q − ∇₁g(x⁺)   e  = −H(x⁺)⁻¹ r⁺
    p⁺ = ∇₂g(x⁺) − ∇²₁,₂h(x⁺)ᵀ (q + e)

p⁺ − p estimates the error of p for any problem and any number of hyperparameters, and needs no
third derivatives. Both systems are solved only to a relative residual `tol`: at 0.1 the estimate
is right to about a tenth, for a few products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hoag.linear import LinearSolver
from hoag.problem import Point, Problem
from hoag.values import Array

# Solved to this relative residual, the estimate is within a factor 2 in 94–100 % of draws
# (benchmarks/certificate.py).
RELATIVE_RESIDUAL = 0.1

# problem.bound: (point, q, Hq − ∇₁g) ↦ a bound on the error of ∇₂g − ∇²₁,₂hᵀq.
Bound = Callable[[Point, Array, Array], float]


@dataclass(frozen=True, eq=False)
class Certificate:
    """x⁺ and q⁺; g, the corrected value g − q·∇₁h and p⁺ there; errors and bounds of p and p⁺."""

    x: Array
    q: Array
    g: float
    value: float
    refined: Array
    error: float
    bound: float
    refined_bound: float


def hypergradient(point: Point, q: Array) -> Array:
    """p = ∇₂g − ∇²₁,₂hᵀ q."""
    return np.asarray(point.g_lam - point.cross.rmatvec(q))


def certify(
    problem: Problem,
    lam: Array,
    x: Array,
    point: Point,
    q: Array,
    linear: LinearSolver,
    bound: Bound | None = None,
    tol: float = RELATIVE_RESIDUAL,
) -> Certificate | None:
    """The certificate of hypergradient(point, q); None where ∇²₁h is not positive definite."""
    p = hypergradient(point, q)
    newton = linear.solve(point.hessian, -point.h_x, None, tol * float(np.linalg.norm(point.h_x)))
    if newton.reason in ("indefinite", "not_finite"):
        return None
    x_plus = x + newton.x
    plus = problem.at(x_plus, lam)
    r_plus = plus.hessian @ q - plus.g_x if np.any(q) else -plus.g_x
    refinement = linear.solve(plus.hessian, -r_plus, None, tol * float(np.linalg.norm(r_plus)))
    if refinement.reason in ("indefinite", "not_finite"):
        return None
    q_plus = q + refinement.x
    refined = hypergradient(plus, q_plus)
    error = float(np.linalg.norm(refined - p))
    rest = np.inf if bound is None else bound(plus, q_plus, refinement.r)
    g = float(plus.g)
    value = g - float(q_plus @ plus.h_x)
    return Certificate(x_plus, q_plus, g, value, refined, error, error + rest, rest)
