"""How wrong an approximate gradient is, measured.

At the computed x and q, one Newton step for x and one refinement of q:

    δ  = −H⁻¹ ∇₁h            x⁺ = x + δ
    r⁺ = H(x⁺) q − ∇₁g(x⁺)   e  = −H(x⁺)⁻¹ r⁺
    p⁺ = ∇₂g(x⁺) − ∇²₁,₂h(x⁺)ᵀ (q + e)

p⁺ − p estimates the error of p for any problem and any number of hyperparameters, and needs no
third derivatives. Both systems are solved only to a relative residual `tol`: at 0.1 the estimate
is right to about a tenth, for a few products. Where p⁺ itself is to be used, its own error is
measured in the same way once more, roughly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag._core.numeric import Array
from hoag._linear import LinearSolver
from hoag.problems import Point

# Solved to this relative residual, the estimate is within a factor 2 in 94–100 % of draws
# (benchmarks/certificate.py).
RELATIVE_RESIDUAL = 0.1
# The error of p⁺ itself, and of f, is measured with solves to half their residuals: what they leave
# out is at most as much again.
ROUGH = 0.5

# problem.bound: (point, q, Hq − ∇₁g) ↦ a bound on the error of ∇₂g − ∇²₁,₂hᵀq.
Bound = Callable[[Any, Array, Array], float]


@dataclass(frozen=True, eq=False)
class Certificate:
    """x⁺ and q⁺; g, the corrected value g − q·∇₁h and p⁺ there; errors and bounds of p and p⁺.

    `best` are the x and q that the last solves lead to: x⁺⁺ and q⁺⁺ where the error of p⁺ was
    measured.
    """

    x: Array
    best: tuple[Array, Array]
    g: float
    value: float
    refined: Array
    error: float
    bound: float
    refined_bound: float
    refined_error: float


@dataclass(frozen=True, eq=False)
class _Step:
    """One Newton step and one refinement: x⁺, q⁺, the point and p⁺ there, r = Hq⁺ − ∇₁g."""

    x: Array
    q: Array
    point: Point
    p: Array
    r: Array


def hypergradient(point: Point, q: Array) -> Array:
    """p = ∇₂g − ∇²₁,₂hᵀ q."""
    return np.asarray(point.g_lam - point.cross.rmatvec(q))


def certify(
    problem: Any,
    lam: Array,
    x: Array,
    point: Point,
    q: Array,
    linear: LinearSolver,
    bound: Bound | None = None,
    corrected: bool = False,
    tol: float = RELATIVE_RESIDUAL,
) -> Certificate | None:
    """The certificate of hypergradient(point, q); None where ∇²₁h is not positive definite.

    `corrected` measures the error of p⁺, too; else `refined_error` is nan.
    """
    step = _refined(problem, lam, x, point, q, linear, tol)
    if step is None:
        return None
    error = float(np.linalg.norm(step.p - hypergradient(point, q)))
    rest = np.inf if bound is None else bound(step.point, step.q, step.r)
    refined_error, best = np.nan, step
    if corrected:
        again = _refined(problem, lam, step.x, step.point, step.q, linear, ROUGH)
        moved = np.inf if again is None else float(np.linalg.norm(again.p - step.p))
        refined_error, best = (1 + ROUGH) * moved, again or step
    g = float(step.point.g)
    value = g - float(step.q @ step.point.h_x)
    return Certificate(
        step.x, (best.x, best.q), g, value, step.p, error, error + rest, rest, refined_error
    )


def _refined(
    problem: Any, lam: Array, x: Array, point: Point, q: Array, linear: LinearSolver, tol: float
) -> _Step | None:
    newton = linear.solve(point.hessian, -point.h_x, None, tol * float(np.linalg.norm(point.h_x)))
    if newton.bent or newton.reason == "not_finite":
        return None
    x_plus = x + newton.x
    plus = problem.at(x_plus, lam)
    r_plus = plus.hessian @ q - plus.g_x if np.any(q) else -plus.g_x
    refinement = linear.solve(plus.hessian, -r_plus, None, tol * float(np.linalg.norm(r_plus)))
    if refinement.bent or refinement.reason == "not_finite":
        return None
    q_plus = q + refinement.x
    return _Step(x_plus, q_plus, plus, hypergradient(plus, q_plus), refinement.r)
