"""How the leave-one-out error bends: its second derivatives, and all of it along an axis.

With G = AᵀSA + Λ, B = A G⁻¹, θ = G⁻¹AᵀSy, residuals r, leverages h and e = r/(1 − h), and Pⱼ the
columns of group j,

    tⱼ = ∂θ/∂λⱼ = −αⱼ G⁻¹Pⱼθ,      ∂r/∂λⱼ = −A tⱼ,      ηⱼ = ∂h/∂λⱼ = −s αⱼ Σ_{a in j} B²_a
    eⱼ = (∂r/∂λⱼ + e ηⱼ)/(1 − h)
    eⱼₖ = (rⱼₖ + eₖ ηⱼ + eⱼ ηₖ + e hⱼₖ)/(1 − h)
    rⱼₖ = B(αₖPₖtⱼ + αⱼPⱼtₖ + δⱼₖ αⱼPⱼθ)
    hⱼₖ = δⱼₖ ηⱼ + 2 s αⱼαₖ Σ_{a in j, b in k} B_a (G⁻¹)_ab B_b

so that fⱼₖ = Σᵢ loss″ eⱼ eₖ + loss′ eⱼₖ takes one more pass over B, and no more than G took. Along
one axis G changes by a multiple of Pⱼ, and r and h are known for every λⱼ once (G⁻¹)ⱼⱼ = UΛUᵀ is:

    G′⁻¹ = G⁻¹ − G⁻¹PⱼU diag(d/(1 + dΛ)) UᵀPⱼG⁻¹,      d = α′ⱼ − αⱼ
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._glm.groups import members
from hoag._glm.losses import OuterLoss
from hoag._linalg.operator import Inverse

# Which rows, A there, less its mean, and A G⁻¹; all of them, some at a time.
SolvedRows = Callable[[], Iterator[tuple[slice, Array, Array]]]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A fit on all rows at one λ, as all its rows see it."""

    inverse: Inverse  # G⁻¹
    rows: SolvedRows
    alpha: Array  # (p,), the penalty of each column
    groups: npt.NDArray[np.intp]  # (p,)
    n_lam: int
    theta: Array  # (p, K)
    residual: Array  # (n, K)
    gap: Array  # (n,), 1 − h, or its mean
    y: Array  # (n, K)
    weights: Array
    outer: OuterLoss
    gcv: bool

    def hessian(self, gradient: Array) -> tuple[Array, Array]:
        """∇²f, (s, s), and ∂θ/∂λ, (p, K, s)."""
        e = self.residual / self.gap[:, None]
        slope = self._judged(slice(None), self.y - e).slope.reshape(e.shape)
        slope = -self.weights[:, None] * slope  # ∂f/∂e, for the prediction is y − e
        u = slope / self.gap[:, None]
        v = np.sum(u * e, axis=1)
        v = np.full(v.size, v.mean()) if self.gcv else v
        pulled, picks = self.alpha[:, None] * self.theta, members(self.groups, self.n_lam)
        # t[:, k, j] = ∂θ/∂λⱼ of target k
        t = -self.inverse((pulled[:, :, None] * picks[:, None, :]).reshape(len(pulled), -1))
        p, s = len(pulled), self.n_lam
        eta = self._eta(v.size)
        total, N, z = np.zeros((s, s)), np.zeros((p, p)), np.zeros_like(self.theta)
        for some, A, B in self.rows():
            N += (B * (self.weights[some] * v[some])[:, None]).T @ B
            z += B.T @ u[some]
            moved = -(A @ t).reshape(len(A), -1, s)
            moved += e[some][:, :, None] * eta[some][:, None, :]
            moved /= self.gap[some][:, None, None]
            at, weights = self._judged(some, self.y[some] - e[some]), self.weights[some]
            # These losses have no mixed derivatives: one number for each row and target.
            curved = at.hvp(_flat(np.ones(e[some].shape))).reshape(len(A), -1)
            bent = (weights[:, None] * curved)[:, :, None] * moved
            total += moved.reshape(-1, s).T @ bent.reshape(-1, s)
            cross = np.einsum("ik,ikj,il->jl", u[some], moved, eta[some], optimize=True)
            total += cross + cross.T
        E = picks.T @ ((self.alpha[:, None] * z)[:, :, None] * t.reshape(p, -1, s)).sum(axis=1)
        total += E + E.T
        shared = (self.alpha[:, None] * self.inverse(np.eye(p)) * self.alpha) * N
        total += 2 * picks.T @ shared @ picks
        return 0.5 * (total + total.T) + np.diag(gradient), t.reshape(p, -1, s)

    def along(self, lam: Array, alpha: Array, places: Array) -> Array:
        """f at every λ′ that differs in one λⱼ, at places of shape (s, L), exactly; `alpha` e^λ."""
        total, inverse = np.full(places.shape, np.nan), self.inverse(np.eye(len(self.theta)))
        for j in range(self.n_lam):
            asked = np.flatnonzero(np.isfinite(places[j]))
            if not asked.size:
                continue
            own = np.flatnonzero(self.groups == j)
            d = alpha[j] * np.expm1(places[j, asked] - lam[j])
            e, U = np.linalg.eigh(inverse[np.ix_(own, own)])
            share = d / np.maximum(1.0 + d * e[:, None], ROUNDING)
            total[j, asked] = self._moved(own, U, share)
        return total

    def _moved(self, own: npt.NDArray[np.intp], U: Array, share: Array) -> Array:
        """f where AG⁻¹Aᵀ is less by BU diag(share) UᵀBᵀ, B for columns `own`; shares (rank, L)."""
        many, gaps, fits, w = share.shape[1], [], [], U.T @ self.theta[own]
        for some, _, B in self.rows():
            Z = B[:, own] @ U
            gaps.append(self.weights[some][:, None] * (Z**2 @ share))
            fits.append(Z @ (w[:, :, None] * share[:, None, :]).reshape(len(w), -1))
        gap = self.gap[:, None] + np.concatenate(gaps)
        if self.gcv:
            gap = np.broadcast_to(gap.mean(axis=0), gap.shape)
        r = self.residual[:, :, None] + np.concatenate(fits).reshape(*self.residual.shape, many)
        error = r / np.maximum(gap, ROUNDOFF)[:, None, :]
        values = [
            self.weights @ self._judged(slice(None), self.y - error[:, :, k]).value
            for k in range(many)
        ]
        return np.array(values)

    def _eta(self, n: int) -> Array:
        """∂h/∂λ of every row, (n, s); of all of them the mean for GCV."""
        weighted = self.alpha[:, None] * members(self.groups, self.n_lam)
        found = np.zeros((n, self.n_lam))
        for some, _, B in self.rows():
            found[some] = -self.weights[some][:, None] * (B**2 @ weighted)
        return np.broadcast_to(found.mean(axis=0), found.shape) if self.gcv else found

    def _judged(self, some: slice, z: Array) -> Any:
        """The loss of some rows."""
        return self.outer.at(_flat(self.y[some]), _flat(z))


def _flat(z: Array) -> Array:
    return z[:, 0] if z.shape[1] == 1 else z
