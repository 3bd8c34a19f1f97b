"""f(λ) = Φ of fits, its hypergradient and its Hessian: once for every data, penalty and curvature.

    X(λ) = argmin h,   H = ∇²₁h = Σᵢ AᵢᵀCᵢAᵢ + S,   zᵢ = AᵢX,   Vᵢ = AᵢH⁻¹Aᵢᵀ,   Eⱼ = exp(λⱼ)Sⱼ
    N = H⁻¹(Σᵢ Aᵢᵀ(Φ_V,i + Φ_df Cᵢ)Aᵢ)H⁻¹ − Φ_log|H| H⁻¹,   ρᵢ = ∂ tr(Cᵢ(AᵢNAᵢᵀ − Φ_df Vᵢ))/∂zᵢ
    q = H⁻¹(Φ_x − Σᵢ Aᵢᵀρᵢ),   f = Φ − q·∇₁h,   pⱼ = ∂Φ/∂λⱼ − (qᵀEⱼX + tr(EⱼN))

A risk Φ (hoag._criteria.risks) is a function of the fits: of held-out losses, of predictions z and
the quadratic forms V of the rows, of the effective degrees of freedom df = Σᵢ tr(CᵢVᵢ), of log|H|,
and of λ itself. What it does not depend on costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from hoag._core.numeric import ROUNDING, Array
from hoag._criteria.log_det import Expansion
from hoag._criteria.row_forms import RowForms
from hoag._glm.design import FoldedDesign, Sums
from hoag._glm.losses import LossAt, Multinomial
from hoag._glm.model import LinearModel
from hoag._glm.penalties import QuadraticForm, RidgeAt
from hoag._glm.term import DataTerm
from hoag._linalg.cholesky import Factor, factors, solved
from hoag._linalg.operator import Inverse
from hoag._linalg.symmetric import eigenvectors


@dataclass(frozen=True, eq=False)
class Partials:
    """Φ and its partial derivatives, 0 or None where it does not depend on something.

    Parameters
    ----------
    value : float
        Φ.
    by_x : array of shape (K, size)
        ∂Φ/∂x through predictions.
    folds : array of shape (K,), default=None
        What each fold, or each row, adds to Φ; None where it is no such sum.
    by_forms : array of shape (n, outputs, outputs), default=None
        ∂Φ/∂V; this and what follows are for one fit.
    by_degrees : float, default=0
        ∂Φ/∂df.
    by_log_det : float, default=0
        ∂Φ/∂log|H|.
    by_lam : array of shape (s,), default=0
        ∂Φ/∂λ with x and H as they are.
    size : float, default=0
        The size of the numbers that Φ is computed from, which it is rounded beside.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import glm
    >>> glm.Partials(1.0, np.zeros((5, 3))).sees_hessian
    False
    """

    value: float
    by_x: Array
    folds: Array | None = None
    by_forms: Array | None = None
    by_degrees: float = 0.0
    by_log_det: float = 0.0
    by_lam: Array | float = 0.0
    size: float = 0.0

    @property
    def sees_hessian(self) -> bool:
        """Whether Φ depends on H, through forms, degrees or log-determinant."""
        return self.by_forms is not None or self.by_degrees != 0.0 or self.by_log_det != 0.0


class RowsAtFit:
    """The rows of one fit: z as the loss takes it, V of shape (n, outputs, outputs)."""

    def __init__(self, term: DataTerm, z: Array, forms: Callable[[], Array]) -> None:
        self.term, self.z, self._forms = term, z, forms

    @cached_property
    def V(self) -> Array:
        return self._forms()

    @cached_property
    def at(self) -> LossAt:
        return cast(LossAt, self.term.loss.at(self.term.y, self.z))

    @cached_property
    def slope(self) -> Array:
        """s ∂loss/∂z, (n, outputs)."""
        return np.asarray(self.term.weights[:, None] * self.at.slope.reshape(self._shape))

    @cached_property
    def C(self) -> Array:
        """s ∂²loss/∂z², (n, outputs, outputs)."""
        columns = [self._weighted(self.at.hvp(self.shaped(unit))) for unit in self._units]
        return np.stack(columns, axis=2)

    def third(self, u: Array, v: Array) -> Array:
        """s · d/dt ∂²loss(z + tu)·v for u and v of shape (n, outputs)."""
        return self._weighted(self.at.third(self.shaped(u), self.shaped(v)))

    def traces_by_z(self, V: Array) -> Array:
        """∂ Σᵢ tr(CᵢVᵢ)/∂z for a V that stays, (n, outputs)."""
        return np.asarray(sum(self.third(unit, V[:, :, a]) for a, unit in enumerate(self._units)))

    def shaped(self, z: Array) -> Array:
        """(n, outputs) as the loss takes it."""
        return z.reshape(self.z.shape)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.z), self.term.design.width

    @property
    def _units(self) -> list[Array]:
        n, outputs = self._shape
        return [np.tile(unit, (n, 1)) for unit in np.eye(outputs)]

    def _weighted(self, v: Array) -> Array:
        return np.asarray(self.term.weights[:, None] * v.reshape(self._shape))


class HeldOutRows(NamedTuple):
    """The rows that one fold holds out, at its x: those with a weight above 0.

    loss      that which judges, at their predictions: its value, and its slope in z
    gradient  u ↦ Σᵢ Aᵢᵀuᵢ
    """

    y: Array
    z: Array
    weights: Array
    loss: Any
    gradient: Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Fit:
    """The fits of all folds at one λ, as a risk sees them; with one of them, also H⁻¹ and rows.

    Made by the criterion, and given to `Risk.at`.

    Attributes
    ----------
    lam : array of shape (s,)
        λ.
    X : array of shape (K, size)
        x_k in the basis in which they are solved for.
    sums : Sums
        The sums over all rows there.
    penalty : QuadraticForm
        The penalty at λ.
    inverses : sequence of callables
        b ↦ ∇²₁h_k⁻¹b, or what stands for it where systems are `refined`.
    models : sequence of LinearModel
        The problems of the folds.
    design : FoldedDesign
        The rows of all folds.
    lifted : callable
        X ↦ the x of every fold as its model lays it out.
    within : callable
        Gradients of the models' x ↦ in the basis of X.
    refined : callable or None
        B ↦ ∇²₁h_k⁻¹b_k by products, (K, size), with the inverses as preconditioners.
    forms : RowForms or None
        Quadratic forms of the rows, in that basis, where there is one fit.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> problem = hoag.models.ridge(*load_diabetes(return_X_y=True) * 2)
    >>> fit = hoag.criteria.without_folds(problem, "gcv").fit(np.zeros(1))
    >>> round(fit.degrees, 2)
    3.94
    """

    lam: Array
    X: Array
    sums: Sums
    penalty: QuadraticForm
    inverses: Sequence[Inverse]
    models: Sequence[LinearModel]
    design: FoldedDesign
    lifted: Callable[[Array], list[Array]]
    within: Callable[[Array], Array]
    refined: Callable[[Array], Array] | None = None
    forms: RowForms | None = None

    @cached_property
    def residual(self) -> Array:
        """∇₁h_k, (K, size): what is left of it."""
        return self.sums.gradient + self.penalty.apply(self.X)

    @cached_property
    def x(self) -> list[Array]:
        """The x of every fold as its model lays it out."""
        return self.lifted(self.X)

    def solve(self, B: Array) -> Array:
        """∇²₁h_k⁻¹b_k for every fold, of shape (K, size) or (K, size, m)."""
        if self.refined is None:
            return solved(self.inverses, B)
        if B.ndim == 2:
            return self.refined(B)
        return np.stack([self.refined(column) for column in np.moveaxis(B, 2, 0)], axis=2)

    @property
    def held_out(self) -> Iterator[HeldOutRows]:
        """The rows that each fold holds out, fold by fold."""
        for k, (model, x) in enumerate(zip(self.models, self.x, strict=True)):
            yield self._held_out(k, model.test, x)

    def _held_out(self, k: int, term: DataTerm, x: Array) -> HeldOutRows:
        some, z = np.flatnonzero(term.weights > 0), term.predict(x)

        def gradient(u: Array) -> Array:
            whole = np.zeros(z.shape)
            whole[some] = u
            return np.asarray(self.within(term.backward(whole)[None])[0])

        y, held = term.y[some], z[some]
        return HeldOutRows(y, held, term.weights[some], term.loss.at(y, held), gradient)

    # ---- how the fits move with λ

    @cached_property
    def penalty_columns(self) -> Array:
        """Eⱼx, (K, size, s)."""
        return np.asarray(self.penalty.columns(self.X))

    @cached_property
    def tangents(self) -> Array:
        """dx/dλⱼ = −H⁻¹Eⱼx, (K, size, s)."""
        return -self.solve(self.penalty_columns)

    # ---- one fit

    @cached_property
    def rows(self) -> RowsAtFit:
        """The rows of one fit: predictions, derivatives of the loss, quadratic forms."""
        assert self.forms is not None
        forms, z = self.forms, self.models[0].train.predict(self.x[0])
        return RowsAtFit(forms.term, z, lambda: forms.squares(self._factor.root))

    @cached_property
    def hessian(self) -> Array:
        """∇²L, (size, size)."""
        return np.asarray(0.5 * (self.sums.hessian[0] + self.sums.hessian[0].T))

    @cached_property
    def along_shifts(self) -> Array:
        """What is added to H in directions where it is the penalty alone, for each feature.

        Classes that share the penalty of a feature may all have its coefficient shifted by the
        same: no risk sees that, it mixes with no other direction, and where penalties are weak it
        would be all that H⁻¹ shows.
        """
        penalty, predictor = self.penalty, self.design.predictor
        added = np.zeros(predictor.features)
        multinomial = isinstance(self.models[0].train.loss, Multinomial)
        if not (multinomial and isinstance(penalty, RidgeAt)):
            return added
        K = predictor.outputs
        groups = penalty.penalty.groups[: predictor.slopes].reshape(-1, K)
        H = self.penalty.added(self.hessian[None])[0]
        for j in np.flatnonzero(np.all(groups == groups[:, :1], axis=1)):
            added[j] = float(np.trace(H[j * K : (j + 1) * K, j * K : (j + 1) * K]))
        return added

    @cached_property
    def _factor(self) -> Factor:
        if not np.any(self.along_shifts) and isinstance(self.inverses[0], Factor):
            return self.inverses[0]
        H, K = self.penalty.added(self.hessian[None])[0], self.design.predictor.outputs
        for j in np.flatnonzero(self.along_shifts):
            H[j * K : (j + 1) * K, j * K : (j + 1) * K] += self.along_shifts[j] / K
        return factors(H[None], self.lam)[0]

    @cached_property
    def inverse(self) -> Array:
        """H⁻¹, (size, size)."""
        size = self.X.shape[1]
        self.design.ledger.charge(grams=size / self.design.n)
        whole = self._factor(np.eye(size))
        return 0.5 * (whole + whole.T)

    @property
    def log_det(self) -> float:
        """log|H|."""
        return self._factor.log_det

    @cached_property
    def degrees(self) -> float:
        """df = tr(H⁻¹∇²L)."""
        return float(np.sum(self.inverse * self.hessian))

    @property
    def loss(self) -> float:
        """L(x), of one fit."""
        return float(self.sums.value[0])

    @property
    def h(self) -> float:
        """L(x) + ½xᵀSx."""
        return self.loss + float(self.penalty.value(self.X)[0])

    @property
    def constant_hessian(self) -> bool:
        """Whether ∇²L is the same at every x."""
        return self.models[0].train.quadratic

    # ---- one fit: numbers and their derivatives in λ, H moving with λ and not with x

    def loss_expansion(self) -> Expansion:
        """L(x) of squares.

        Lⱼ = −(Sx)ᵀtⱼ, and Lⱼₖ = tⱼᵀGtₖ + aᵀ(Eⱼtₖ + Eₖtⱼ + δⱼₖEⱼx) with a = H⁻¹Sx.
        """
        (Sx,), (T,) = self.penalty.apply(self.X), self.tangents
        a = self.inverse @ Sx
        crossed = self.penalty.columns(a[None])[0].T @ T
        straight = np.diag(a @ self.penalty_columns[0])
        return Expansion(
            self.loss, -Sx @ T, T.T @ self.hessian @ T + crossed + crossed.T + straight
        )

    def h_expansion(self) -> Expansion:
        """h(X(λ)): ½xᵀEⱼx, and δⱼₖ½xᵀEⱼx + xᵀEⱼtₖ."""
        (columns,), (T,) = self.penalty_columns, self.tangents
        half = 0.5 * self.X[0] @ columns
        return Expansion(self.h, half, np.diag(half) + columns.T @ T)

    def degrees_expansion(self) -> Expansion:
        """df of squares: −tr(EⱼN) and tr(EⱼH⁻¹EₖN) + tr(EₖH⁻¹EⱼN) − δⱼₖtr(EⱼN), N = H⁻¹GH⁻¹."""
        N = self.inverse @ self.hessian @ self.inverse
        grad = -self.penalty.traces(N)
        pairs = self.penalty.pairs(self.inverse, N)
        return Expansion(self.degrees, grad, pairs + pairs.T + np.diag(grad))

    def log_det_expansion(self) -> Expansion:
        """log|H|: tr(EⱼH⁻¹) and δⱼₖtr(EⱼH⁻¹) − tr(EⱼH⁻¹EₖH⁻¹)."""
        grad = self.penalty.traces(self.inverse)
        pairs = self.penalty.pairs(self.inverse, self.inverse)
        return Expansion(self.log_det, grad, np.diag(grad) - pairs)


class Adjoint(NamedTuple):
    """q of every fold, (K, size), p, and what −q_k·∇₁h_k adds to Φ for every fold."""

    Q: Array
    p: Array
    changes: Array


def hypergradient(fit: Fit, taken: Partials) -> Adjoint:
    """q and p of the formula; N and ρ where Φ sees H, and ρ where H moves with x."""
    B, p = taken.by_x, taken.by_lam
    if taken.sees_hessian:
        forms, inside = cast(RowForms, fit.forms), taken.by_degrees * fit.hessian
        if taken.by_forms is not None:
            inside = inside + forms.gram(taken.by_forms)
        N = fit.inverse @ inside @ fit.inverse - taken.by_log_det * fit.inverse
        p = p - fit.penalty.traces(N)
        if not fit.constant_hessian:
            rows, V = fit.rows, forms.forms(N)
            if taken.by_degrees:
                V = V - taken.by_degrees * rows.V
            B = B - rows.term.backward(rows.shaped(rows.traces_by_z(V)))[None]
    Q = fit.solve(B)
    return Adjoint(Q, p - fit.penalty.vjp(fit.X, Q), -np.sum(Q * fit.residual, axis=1))


class Changes(NamedTuple):
    """Of L, h, df and log|H| of one fit at every place of an axis, each (L,)."""

    loss: Array
    h: Array
    degrees: Array
    log_det: Array


@dataclass(frozen=True, eq=False)
class Axis:
    """How a fit changes where one penalty alone is changed: S + cSⱼ in place of S.

        Sⱼ = FFᵀ,   FᵀH⁻¹F = V diag(e) Vᵀ,   U = H⁻¹FV,   a = VᵀFᵀx,   w = ca/(1 + ce)
        x′ = x − Uw,   h′ − h = ½ Σ a²c/(1 + ce),   log|H′| − log|H| = Σ log(1 + ce)
        L′ − L = wᵀUᵀSx + ½wᵀ(diag(e) − UᵀSU)w,   df′ − df = −Σ c/(1 + ce) (e − diag(UᵀSU))

    exactly, as far as L is a square; for other losses with the curvature that it has at x. One
    block of products with H⁻¹ serves all places of an axis.
    """

    x: Array
    e: Array
    U: Array
    a: Array

    @staticmethod
    def of(x: Array, inverse: Inverse, F: Array) -> Axis:
        C = inverse(F)
        e, V = eigenvectors(F.T @ C)
        return Axis(x, e, C @ V, V.T @ (F.T @ x))

    def _shares(self, c: Array) -> Array:
        """c/(1 + ce), (L, rank)."""
        return c[:, None] / np.maximum(1.0 + c[:, None] * self.e, ROUNDING)

    def moved(self, c: Array) -> Array:
        """x′ for changes c, (L, size)."""
        return self.x - (self._shares(c) * self.a) @ self.U.T

    def changes(self, penalty: QuadraticForm, c: Array) -> Changes:
        share = self._shares(c)
        SU = penalty.apply(self.U.T)
        w, B = share * self.a, SU @ self.U
        second = np.einsum("li,ij,lj->l", w, np.diag(self.e) - B, w)
        grown = np.maximum(1.0 + c[:, None] * self.e, ROUNDING)
        return Changes(
            w @ (SU @ self.x) + 0.5 * second,
            0.5 * share @ self.a**2,
            -share @ (self.e - np.diag(B)),
            np.sum(np.log(grown), axis=1),
        )


def axes(fit: Fit, places: Array, k: int = 0) -> Iterator[tuple[int, Any, Axis, Array]]:
    """Of fold k every axis j along which places, (s, L), are asked for: those, and the changes c.

    Places that are nan are not asked for.
    """
    asked, penalty = np.isfinite(places), fit.penalty
    for j, F in enumerate(penalty.roots(fit.X.shape[1], k)):
        if np.any(asked[j]):
            c = penalty.strengths[j] * np.expm1(places[j, asked[j]] - fit.lam[j])
            yield j, asked[j], Axis.of(fit.X[k], fit.inverses[k], F), c
