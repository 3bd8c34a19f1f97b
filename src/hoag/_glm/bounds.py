"""Rigorous bounds on the error of p = ∇₂g − ∇²₁,₂hᵀq at a computed x, from measured residuals.

Write X = X(λ), δ = x − X, H = ∇²₁h(x), H* = ∇²₁h(X), q* = H*⁻¹∇₁g(X), and D(x) = ∇²₁,₂h, which is
linear in x. Then

    ∇f − p = D(δ)ᵀq + D(X)ᵀ(q − q*)
    H*(q − q*) = (H* − H) q + r + (∇₁g(x) − ∇₁g(X)),        r = Hq − ∇₁g(x)

and each piece is bounded in the norm of H. All of it is in exact arithmetic; `ROUNDING` adds what
the computed residuals themselves may be off: Aᵀr was off by at most 0.13 ROUNDOFF·‖A‖_F‖r‖ in 48
products of dense and sparse rows, up to 5000 of them, against extended precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from hoag._core.numeric import ROUNDING, Array
from hoag._linalg.symmetric import eigenvalues
from hoag._linear import CG

# Past so many unpenalised coefficients (an intercept for each class, say) no bound is tried.
MOST_UNPENALISED = 64


def linear_model(point: Any, q: Array, r: Array) -> float:
    """bound ≥ ‖p − ∇f‖ for a linear model with ℓ₂ penalties Λ = diag(α).

    The loss is self-concordant in the generalised sense: with ρ = R‖δ‖,
    e^(−ρ) H ⪯ H* ⪯ e^ρ H. With d ≥ ‖δ‖ in the norm of Λ on the penalised coefficients,

        ‖q − q*‖ ≤ e^(ρ/2) [ (e^ρ − 1)‖q‖_M + ‖r‖_H⁻¹ + e^ρ′ T d ],   M = H − Λ
        bound    = d · max_k ‖q_k‖_Λ + (max_k ‖x_k‖_Λ + d) ‖q − q*‖

    where T ≥ ‖H^(−½) ∇²g H^(−½)‖ and the maxima are over the groups k.
    """
    problem, penalty, x = point.problem, point.problem.penalty, point.x
    alpha = point.penalty.alpha
    train = problem.train
    if not np.isfinite(train.radius) or (
        train.loss.self_concordance == 0.0 and not train.quadratic
    ):
        return np.inf
    floor = _curvature_floor(point)
    if floor is None:
        return np.inf
    h_noise = problem.train.frobenius * np.linalg.norm(point.train.slope) + np.linalg.norm(
        alpha * x
    )
    q_noise = point.train.curvature_trace * np.linalg.norm(q) + np.linalg.norm(alpha * q)
    root = np.sqrt(floor.smallest)
    nu = floor.dual(point.h_x) + ROUNDING * h_noise / root
    g_noise = problem.test.frobenius * np.linalg.norm(point.test.slope)
    residual = floor.dual(r) + ROUNDING * (q_noise + g_noise) / root

    kappa = problem.train.radius / root
    if floor.everywhere:
        d, rho = nu, kappa * nu
    elif kappa * nu < 1:
        rho = -float(np.log1p(-kappa * nu))
        d = rho / kappa if kappa > 0 else nu
    else:
        return np.inf
    rho_test = problem.test.radius * d / root

    q_weight = penalty.by_group(alpha * q**2)
    x_weight = penalty.by_group(alpha * x**2)
    q_data = np.sqrt(max(float(q @ (point.g_x + r)) - q_weight.sum(), 0.0))  # ‖q‖_M
    with np.errstate(over="ignore", invalid="ignore"):
        outer = np.exp(rho_test) * point.test.curvature_trace / floor.smallest * d
        q_error = np.exp(rho / 2) * (np.expm1(rho) * q_data + residual + outer)
    q_size, x_size = np.sqrt(q_weight.max()), np.sqrt(x_weight.max())
    rounding = ROUNDING * x_size * np.sqrt(q_weight.sum())
    bound = float(d * q_size + (x_size + d) * q_error + rounding)
    return bound if np.isfinite(bound) else np.inf  # 0·∞ where e^ρ overflows


class _Floor:
    """What is known from below about H: `smallest` ≤ its eigenvalues, `dual(v)` ≥ ‖v‖_H⁻¹.

    H = [[B, C], [Cᵀ, E]], B the penalised block, S = E − CᵀB⁻¹C for the unpenalised.

    H⁻¹ = diag(B⁻¹, 0) + Z S⁻¹ Zᵀ with Z = (−B⁻¹C, I), and for any W, with Ω = C − BW,

        S ⪰ E − CᵀW − WᵀC + WᵀBW − ΩᵀΛ⁻¹Ω     ‖B⁻¹C‖ ≤ ‖W‖ + ‖Ω‖_Λ⁻¹/√μ
        ‖v‖²_H⁻¹ ≤ ‖v_P‖²_Λ⁻¹ + (‖v_U − Wᵀv_P‖ + ‖Ω‖_Λ⁻¹ ‖v_P‖_Λ⁻¹)² / λmin(S)

    Where every coefficient is penalised S has no entries, its least eigenvalue is ∞, and H ⪰ Λ
    `everywhere`, at any other x as well.
    """

    def __init__(self, alpha: Array, W: Array, omega: Array, schur: float, parts: Any) -> None:
        self._alpha, self._W, self._parts, self._schur = alpha, W, parts, schur
        self._omega = float(np.sqrt(np.sum(omega**2 / alpha[:, None])))
        mu = float(alpha.min())
        self.everywhere = W.size == 0
        slope = 0.0 if self.everywhere else np.linalg.norm(W, 2) + self._omega / np.sqrt(mu)
        self.smallest = 1.0 / (1.0 / mu + (1.0 + slope**2) / schur)

    def dual(self, v: Array) -> float:
        penalised, unpenalised = self._parts
        known = float(np.sqrt(np.sum(v[penalised] ** 2 / self._alpha)))
        rest = np.linalg.norm(v[unpenalised] - self._W.T @ v[penalised]) + self._omega * known
        return float(np.sqrt(known**2 + rest**2 / self._schur))


def _curvature_floor(point: Any) -> _Floor | None:
    problem, penalty = point.problem, point.problem.penalty
    penalised, unpenalised = penalty.penalised, penalty.unpenalised
    alpha = point.penalty.alpha[penalised]
    if not np.all(alpha > 0):
        return None
    if unpenalised.size == 0:
        none = np.zeros((alpha.size, 0))
        return _Floor(alpha, none, none, np.inf, (penalised, unpenalised))
    if unpenalised.size > MOST_UNPENALISED:
        return None

    def hessian_times(part: Any, v: Any) -> Array:
        full = np.zeros(penalty.size)
        full[part] = v
        return np.asarray(point.hessian @ full)

    def product(v: Array) -> Array:
        return np.asarray(hessian_times(penalised, np.ravel(v))[penalised])

    columns = np.stack([hessian_times(j, 1.0) for j in unpenalised], axis=1)
    C, E = columns[penalised], columns[unpenalised]

    B = LinearOperator((alpha.size, alpha.size), matvec=product, dtype=float)
    # Any W gives a valid bound, and B⁻¹C changes slowly with λ: start from the last one found.
    W = np.zeros_like(C) if problem.schur_guess is None else problem.schur_guess.copy()
    omega = C - np.stack([product(w) for w in W.T], axis=1) if W.any() else C.copy()
    # How much of E the term ΩᵀΛ⁻¹Ω may take away: a tenth at first, less when S turns out small.
    for share in (1e-1, 1e-3, 1e-6):
        for j in range(unpenalised.size):
            goal = np.sqrt(share * E[j, j] / unpenalised.size * alpha.min())
            step = CG().solve(B, omega[:, j], None, goal)
            W[:, j] += step.x
            omega[:, j] = -step.r
        captured = C.T @ W + W.T @ omega  # CᵀW + WᵀC − WᵀBW, with BW = C − Ω
        lost = omega.T @ (omega / alpha[:, None])
        S = E - 0.5 * (captured + captured.T) - lost
        schur = float(eigenvalues(S)[0])
        if schur > float(np.trace(lost)) + ROUNDING * float(np.trace(E)):
            problem.schur_guess = W
            return _Floor(alpha, W, omega, schur, (penalised, unpenalised))
    return None
