"""Leave-one-out and generalised cross-validation of ridge regression, in closed form.

With G = AᵀSA + Λ, hᵢ = sᵢ aᵢᵀG⁻¹aᵢ and rᵢ the residual of the fit on all rows, the residual of the
fit without row i is eᵢ = rᵢ/(1 − hᵢ), and

    f(λ) = Σᵢ sᵢ loss(eᵢ)

GCV puts the mean of h in place of each hᵢ. An intercept is a projection: rows and targets are
centred by their weighted means, and hᵢ has sᵢ/Σs more. The derivatives are exact too. With
B = A G⁻¹, θ = G⁻¹AᵀSy, Pⱼ the columns of group j, uᵢ = ∂f/∂rᵢ and vᵢ = ∂f/∂hᵢ,

    fⱼ = Σ_{a in j} αⱼ (θ_a (Bᵀu)_a − Σᵢ sᵢ vᵢ B²ᵢ_a)
    tⱼ = ∂θ/∂λⱼ = −αⱼ G⁻¹Pⱼθ,      ∂r/∂λⱼ = −A tⱼ,      ηⱼ = ∂h/∂λⱼ = −s αⱼ Σ_{a in j} B²_a
    eⱼ = (∂r/∂λⱼ + e ηⱼ)/(1 − h)
    eⱼₖ = (rⱼₖ + eₖ ηⱼ + eⱼ ηₖ + e hⱼₖ)/(1 − h)
    rⱼₖ = B(αₖPₖtⱼ + αⱼPⱼtₖ + δⱼₖ αⱼPⱼθ)
    hⱼₖ = δⱼₖ ηⱼ + 2 s αⱼαₖ Σ_{a in j, b in k} B_a (G⁻¹)_ab B_b

so that fⱼₖ = Σᵢ loss″ eⱼ eₖ + loss′ eⱼₖ takes one more pass over B, and no more than G took. Along
one axis G changes by a multiple of Pⱼ, and r and h are known for every λⱼ once (G⁻¹)ⱼⱼ = UΛUᵀ is:

    G′⁻¹ = G⁻¹ − G⁻¹PⱼU diag(d/(1 + dΛ)) UᵀPⱼG⁻¹,      d = α′ⱼ − αⱼ

What stands for G⁻¹ is a factor, of G or of the other side, or with one penalty a decomposition for
every λ; see `hoag._criteria.curvature.leverage`. What that found is computed once more by a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError

from hoag._core import clock
from hoag._core.errors import InvalidDataError, NotSupportedError, SingularProblemError
from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.affordable import cheap, factorable, storable
from hoag._criteria.base import SPACING, Criterion, Traits, no_gradient
from hoag._criteria.curvature.eigen import Eigen
from hoag._criteria.curvature.leverage import FactoredLeverages, Leverages, Spectra, dual, exact
from hoag._criteria.select import decomposed_rows, left_out
from hoag._glm.centred import CentredRows
from hoag._glm.groups import by_group, members
from hoag._glm.in_memory import At
from hoag._glm.losses import OuterLoss, Squared
from hoag._glm.penalties import Ridge
from hoag._glm.rows import Rows
from hoag._glm.term import picked
from hoag._linalg.eigen import along

Index = npt.NDArray[np.intp]
EVERY = slice(None)

# The rows of so many largest leverages are left out by definition, where verification needs it.
DELETED = 3
# Where 1 − h of a row has lost half of its digits, rounding decides, and f is not known.
LEAST_GAP = ROUNDOFF**0.5
LEVERAGE = (
    "Weaker penalties than these leave a row whose fit is its own value to rounding (leverage 1): "
    "what the others say of it is not known there."
)


@dataclass(frozen=True, eq=False)
class RowsLeftOut:
    """Rows left out of L fits: e = r/(1 − h), for r (m, K, L) and 1 − h (m, L) or (1, L)."""

    y: Array  # (m, K)
    weights: Array
    outer: OuterLoss
    residual: Array
    gap: Array

    @cached_property
    def error(self) -> Array:
        return np.asarray(self.residual / self.gap[:, None, :])

    @cached_property
    def _at(self) -> At:
        z = (self.y[:, :, None] - self.error).transpose(0, 2, 1)
        return At(self.outer, self.y[:, 0] if self.y.shape[1] == 1 else self.y, z)

    @cached_property
    def loss(self) -> Array:
        """sᵢ loss(yᵢ, yᵢ − eᵢ), (m, L)."""
        return self.weights[:, None] * self._at.value

    @cached_property
    def u(self) -> Array:
        """∂f/∂r, (m, K, L); the prediction is y − e."""
        slope = self._at.slope.transpose(0, 2, 1)
        return -self.weights[:, None, None] * slope / self.gap[:, None, :]

    @cached_property
    def v(self) -> Array:
        """∂f/∂h of each row's own h, (m, L)."""
        return np.asarray(np.sum(self.u * self.error, axis=1))

    def curved(self) -> Array:
        """∂²f/∂e², (m, K), at one fit: these losses have no mixed derivatives."""
        return self.weights[:, None] * self._at.hvp(np.ones_like(self.y)[:, None])[:, 0]


class LeaveOneOut(Criterion):
    """The criterion Σᵢ sᵢ loss(yᵢ, prediction of the fit without row i) for ridge regression.

    rows     A, dense or sparse
    y        one or several targets, shape (n,) or (n, K)
    penalty  a Ridge penalty on the p·K coefficients, row by row
    gcv      put the mean leverage in place of each row's own
    outer    the loss, of (yᵢ, prediction); squares by default
    centred  the rows, weights and intercept as somebody knows them already
    """

    def __init__(
        self,
        rows: Rows,
        y: Array,
        weights: Array,
        penalty: Ridge,
        intercept: bool = True,
        gcv: bool = False,
        outer: OuterLoss | None = None,
        centred: CentredRows | None = None,
    ) -> None:
        self.flat = y.ndim == 1
        self.y = y[:, None] if self.flat else y
        self.rows, self.weights, self.penalty, self.gcv = rows, weights, penalty, gcv
        self.outer = outer or Squared(1.0)
        self.n, self.p = rows.shape
        self.groups = penalty.groups.reshape(self.p, -1)
        if np.any(weights <= 0):
            raise InvalidDataError(
                "Leave-one-out needs positive weights.\nDrop the rows without one.",
                parameter="sample_weight",
            )
        self.centred = CentredRows(rows, weights, intercept) if centred is None else centred
        self.share, self.mean = self.centred.share, self.centred.mean
        same = np.all(self.groups == self.groups[:, :1])
        # Targets with the same penalties share a factor.
        self._blocks = [EVERY] if same else [slice(k, k + 1) for k in range(self.y.shape[1])]
        self._wide = bool(self.p > self.n and np.all(self.groups >= 0))
        self._decomposes, self.chosen = left_out(self.n, self.p, penalty)

    @cached_property
    def _y(self) -> Array:
        """The targets, centred as the rows are."""
        return self.y - self.share @ self.y

    @cached_property
    def _spectra(self) -> Spectra:
        return Spectra(self.centred, self._y, self.gcv)

    @property
    def lam0(self) -> Array:
        return np.zeros(self.penalty.n_lam)

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.penalty.n_lam)
        if self._decomposes:  # every place costs a pass or two
            return Traits(SPACING / 3, exact=True, batched=True, least=self.least, blocks=blocks)
        hessian = self._one_factor and factorable(self.p)
        few = hessian or cheap(min(self.n, self.p) ** 2 * max(self.n, self.p))
        return Traits(SPACING if few else None, hessian, exact=True, blocks=blocks)

    @property
    def _one_factor(self) -> bool:
        """Whether one factor serves all targets, and the rows of B are kept."""
        few = not self._wide or storable(self.n, self.p)
        return not self._decomposes and few and len(self._blocks) == 1

    @cached_property
    def least(self) -> float | None:
        """log of the least e; None where it is not known, or takes too much work to find."""
        if not decomposed_rows(self.n, self.p):
            return None
        least = self._spectra.least(cheap(self.n * self.p**2))
        return float(np.log(least)) + self.penalty.shift if np.isfinite(least) else None

    def outer_lipschitz(self) -> tuple[float, Cost]:
        raise NotSupportedError(
            "The leave-one-out loss has no bounded slope.\nGive C a number.", "C"
        )

    # ---- f, and its derivatives

    def _left_out(
        self, residual: Array, gap: Array, block: slice = EVERY, some: slice = EVERY
    ) -> RowsLeftOut:
        return RowsLeftOut(self.y[some, block], self.weights[some], self.outer, residual, gap)

    def _by_factor(self, alpha: Array, lam: Array, block: slice | Index) -> FactoredLeverages:
        """The fit of some targets by the factor of the smaller side."""
        try:
            return (dual if self._wide else exact)(self.centred, self._y[:, block], alpha)
        except LinAlgError:
            raise SingularProblemError(
                "The ridge problem is singular to rounding at lam = "
                f"{np.array2string(lam, threshold=6)}.\nRaise the lower bound."
            ) from None

    def _fits(self, lam: Array, eigen: bool) -> list[tuple[Any, RowsLeftOut, slice]]:
        """The fit of every block of targets, and what leaving out each row makes of it."""
        found, alphas = [], self.penalty.alpha(lam).reshape(self.p, -1)
        for block in self._blocks:
            clock.check()
            alpha, first = alphas[:, block.start or 0], float(alphas[0, 0])
            own: Leverages = (
                self._spectra.at(first).fit(first) if eigen else self._by_factor(alpha, lam, block)
            )
            out = self._left_out(own.residual[:, :, None], self._averaged(own.gap)[:, None], block)
            found.append((own, out, block))
        return found

    def _averaged(self, each: Array) -> Array:
        """What every row has, (n, …); for GCV the mean of all rows in the place of each."""
        return np.broadcast_to(each.mean(axis=0), each.shape) if self.gcv else each

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        """f(λ) and its exact gradient; there is no tolerance to meet."""
        if self._decomposes:
            return self.values([lam], ask)[0]
        fits = self._fits(lam, eigen=False)
        folds = np.sum([out.loss[:, 0] for _, out, _ in fits], axis=0)
        value, p, error = float(folds.sum()), no_gradient(lam), np.nan
        hessian, tangents = None, None
        if ask.gradient:
            p = np.zeros(lam.size)
            for fit, out, block in fits:
                p += by_group(self.groups[:, block], self._slopes(fit, out), lam.size)
            condition = max(fit.condition for fit, *_ in fits)
            error = float(ROUNDOFF * condition * np.linalg.norm(p))
        if ask.hessian:
            hessian, tangents = self._hessian(*fits[0][:2], p)
        return Evaluation(
            lam,
            value,
            p,
            **self._known(value, min(float(out.gap.min()) for _, out, _ in fits)),
            error=error,
            cost=self._spent(),
            hessian=hessian,
            tangents=tangents,
            folds=folds,
        )

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        """At many λ, for little more than at one where the decomposition serves them."""
        if not self._decomposes:
            return super().values(lams, ask)
        alphas = np.exp(np.concatenate(lams) - self.penalty.shift)
        f, p, lost, gap = np.zeros((4, alphas.size))
        for spectrum, some in self._spectra.serving(alphas):
            at, gap[some] = alphas[some], 1.0
            for part in spectrum.parts(at, self.gcv):
                out = self._left_out(part.residual, part.gap, some=part.some)
                f[some] += out.loss.sum(axis=0)
                gap[some] = np.minimum(gap[some], part.gap.min(axis=0))
                if ask.gradient:
                    p[some] += spectrum.slope(part, out.u, out.v)
            self.centred.flops += (8.0 if ask.gradient else 4.0) * spectrum.Z.size * at.size
            rounding = ROUNDOFF + spectrum.eigen.rounding(at)
            lost[some] = rounding * np.abs(p[some]) + ROUNDOFF * np.abs(f[some])
        spent = self._spent()
        return [
            Evaluation(
                lam,
                float(f[j]),
                p[j : j + 1] if ask.gradient else no_gradient(lam),
                **self._known(float(f[j]), float(gap[j])),
                error=float(lost[j]) if ask.gradient else np.nan,
                cost=Cost(grams=spent.grams / len(lams)),
            )
            for j, lam in enumerate(lams)
        ]

    def _known(self, value: float, gap: float) -> dict[str, Any]:
        """How well f is known where this is the least 1 − h, and why if it is not."""
        if self._wide or gap >= LEAST_GAP:
            return {"f_error": ROUNDING * abs(value)}
        return {"f_error": np.inf, "note": LEVERAGE}

    def _slopes(self, fit: FactoredLeverages, out: RowsLeftOut) -> Array:
        """∂f/∂λⱼ by coefficients, (p, K); what all targets share is given to the first."""
        theta, u, sv = fit.theta(), out.u[:, :, 0], self.weights * self._averaged(out.v[:, 0])
        Bu, squares = np.zeros_like(theta), np.zeros(self.p)
        for rows, columns, _, B in fit.blocks():
            clock.check()
            Bu[columns] += B.T @ u[rows]
            squares[columns] += sv[rows] @ B**2
        parts = fit.alpha[:, None] * theta * Bu
        parts[:, 0] -= fit.alpha * squares
        return np.asarray(parts)

    def _hessian(self, fit: FactoredLeverages, out: RowsLeftOut, p: Array) -> tuple[Array, Array]:
        """∇²f, (s, s), and ∂θ/∂λ, (p, K, s)."""
        s, size = p.size, self.p
        self.centred.flops += 2.0 * self.n * size**2
        alpha, picks = fit.alpha, members(self.groups[:, 0], s)
        penalised = alpha[:, None] * fit.theta()
        # t[:, k, j] = ∂θ/∂λⱼ of target k
        t = -fit.inverse((penalised[:, :, None] * picks[:, None, :]).reshape(size, -1))
        u, e, gap, eta = out.u[:, :, 0], out.error[:, :, 0], out.gap[:, 0], self._eta(fit, picks)
        sv, curved = self.weights * self._averaged(out.v[:, 0]), out.curved()
        total, N, z = np.zeros((s, s)), np.zeros((size, size)), np.zeros_like(penalised)
        for some, _, A, B in fit.blocks():
            N += (B * sv[some, None]).T @ B
            z += B.T @ u[some]
            moved = -(A @ t).reshape(len(A), -1, s)
            moved += e[some][:, :, None] * eta[some][:, None, :]
            moved /= gap[some, None, None]
            total += moved.reshape(-1, s).T @ (curved[some][:, :, None] * moved).reshape(-1, s)
            cross = np.einsum("ik,ikj,il->jl", u[some], moved, eta[some], optimize=True)
            total += cross + cross.T
        E = picks.T @ ((alpha[:, None] * z)[:, :, None] * t.reshape(size, -1, s)).sum(axis=1)
        total += E + E.T
        shared = (alpha[:, None] * fit.inverse(np.eye(size)) * alpha) * N
        total += 2 * picks.T @ shared @ picks
        return 0.5 * (total + total.T) + np.diag(p), t.reshape(size, -1, s)

    def _eta(self, fit: FactoredLeverages, picks: Array) -> Array:
        """∂h/∂λ of every row, (n, s); of all of them the mean for GCV."""
        found = np.zeros((self.n, picks.shape[1]))
        for some, _, _, B in fit.blocks():
            found[some] = -self.weights[some, None] * (B**2 @ (fit.alpha[:, None] * picks))
        return self._averaged(found)

    def profile(self, found: Evaluation, places: Array) -> tuple[Array | None, Cost]:
        """f along every axis, exactly, for a block of back-substitutions an axis."""
        if not self._one_factor:
            return None, Cost()
        lam, total = found.lam, np.full(places.shape, np.nan)
        fit = cast(FactoredLeverages, self._fits(lam, eigen=False)[0][0])
        inverse, level = fit.inverse(np.eye(self.p)), np.exp(lam - self.penalty.shift)
        for j in range(lam.size):
            asked = np.flatnonzero(np.isfinite(places[j]))
            if asked.size:
                own = np.flatnonzero(self.groups[:, 0] == j)
                d = level[j] * np.expm1(places[j, asked] - lam[j])
                total[j, asked] = self._moved(fit, own, *along(inverse[np.ix_(own, own)], d))
        asked_for = float(np.isfinite(places).sum())
        self.centred.flops += 2.0 * self.n * self.p * (asked_for + 2 * self.p) + 2.0 * self.p**3
        return total, self._spent()

    def _moved(self, fit: FactoredLeverages, own: Index, U: Array, D: Array) -> Array:
        """f where AG⁻¹Aᵀ is less by BU diag(D) UᵀBᵀ, B for columns `own`; D (rank, L)."""
        gap = np.repeat(fit.gap[:, None], D.shape[1], axis=1)
        r = np.repeat(fit.residual[:, :, None], D.shape[1], axis=2)
        w = ((U.T @ fit.theta()[own])[:, :, None] * D[:, None, :]).reshape(len(D), -1)
        for some, _, _, B in fit.blocks():
            Z = B[:, own] @ U
            gap[some] += self.weights[some, None] * (Z**2 @ D)
            r[some] += (Z @ w).reshape(r[some].shape)
        gap = np.maximum(self._averaged(gap), ROUNDOFF)
        places = [slice(k, k + 1) for k in range(D.shape[1])]
        return np.array([self._left_out(r[:, :, k], gap[:, k]).loss.sum() for k in places])

    # ---- the end

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """By a factor made for this λ, where a decomposition had served; x is made too.

        Where no factor of a Gram matrix is precise enough, by the decomposition of the rows, and
        the rows that have the most leverage by the fits without them, as the definition says.
        """
        alpha = float(np.exp(found.lam[0] - self.penalty.shift))
        exactly = self._decomposes and alpha < self._spectra.trusted_from
        fits = self._fits(found.lam, exactly)
        folds = np.sum([out.loss[:, 0] for _, out, _ in fits], axis=0)
        error = ROUNDING * float(np.abs(folds).sum())
        if exactly and not self.gcv:
            for i in np.argsort(fits[0][0].gap)[:DELETED].tolist():
                lost = self._lost_without(i, alpha)
                folds[i], error = lost, error + abs(lost - folds[i])
        value = float(folds.sum())
        error += abs(value - found.value)
        if not np.isfinite(found.f_error):
            error = np.inf  # no verification knows more of the row than its leverage
        theta = np.concatenate([fit.theta() for fit, *_ in fits], axis=1)
        spent = self._spent()
        return replace(found, value=value, g=value, f_error=error, x=theta, folds=folds, cost=spent)

    def _lost_without(self, i: int, alpha: float) -> float:
        """sᵢ loss(yᵢ, prediction of the fit without row i), by a decomposition of its own."""
        rest, A = np.arange(self.n) != i, self.centred.scaled / self.centred.root
        s, root = self.weights[rest, None], self.centred.root[rest]
        share = s / s.sum() if np.any(self.share) else np.zeros_like(s)
        mean, level = np.sum(share * A[rest], axis=0), np.sum(share * self.y[rest], axis=0)
        self.centred.flops += 30.0 * A.size * min(A.shape)
        U, sigma, known = Eigen.of_rows(root * (A[rest] - mean))
        q = (sigma / (known.e + alpha))[:, None] * (U.T @ (root * (self.y[rest] - level)))
        error = self.y[i] - level - (A[i] - mean) @ known.V @ q
        out = self._left_out(error[None, :, None], np.ones((1, 1)), some=slice(i, i + 1))
        return float(out.loss[0, 0])

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        fits = self._fits(found.lam, self._decomposes)
        return np.concatenate([fit.theta() for fit, *_ in fits], axis=1), self._spent()

    def intercept(self, theta: Array) -> Array:
        """b of the fit with these slopes, (K,); 0 where there is none."""
        return self.share @ self.y - self.mean @ theta

    def predictions(self, lam: Array) -> Array:
        """What the fit without row i predicts for row i, shape of y."""
        errors = [out.error[:, :, 0] for _, out, _ in self._fits(lam, self._decomposes)]
        predicted = self.y - np.concatenate(errors, axis=1)
        return predicted[:, 0] if self.flat else predicted

    def _spent(self) -> Cost:
        a_gram = 2.0 * max(self.rows.entries, 1) * min(self.n, self.p)
        cost, self.centred.flops = Cost(grams=self.centred.flops / a_gram), 0.0
        return cost

    # ---- some of the targets, see `hoag._criteria.separable`

    def of_targets(self, targets: Index) -> LeaveOneOut:
        """The criterion of some targets alone, with the λ that reach them."""
        if not self._wide:
            self.centred.gram  # noqa: B018, formed once for all
        centred = copy(self.centred)
        centred.flops = 0.0
        part = LeaveOneOut(
            self.rows,
            picked(self.y, targets),
            self.weights,
            self.penalty.of_targets(self.groups, targets, 0),
            gcv=self.gcv,
            outer=self.outer,
            centred=centred,
        )
        if part._decomposes:
            part._spectra = self._spectra.of_targets(part.centred, targets)
        return part

    def values_alike(self, targets: Index, lams: Sequence[float]) -> tuple[Array, Cost]:
        values, free = np.full((targets.size, len(lams)), np.inf), self.groups[:, targets[0]] < 0
        for j, lam in enumerate(lams):
            alpha = np.where(free, self.penalty.floor, np.exp(lam - self.penalty.shift))
            try:
                fit = self._by_factor(alpha, np.array([lam]), targets)
            except SingularProblemError:
                continue  # too weak for a factor
            for k, t in enumerate(targets.tolist()):
                own, gap = fit.residual[:, k : k + 1, None], self._averaged(fit.gap)[:, None]
                values[k, j] = self._left_out(own, gap, slice(t, t + 1)).loss.sum()
        return values, self._spent()

    def profiles_alike(
        self, sets: Sequence[Index], lam: Array, places: Array
    ) -> tuple[Array | None, Cost]:
        return None, Cost()

    def joined(self, sets: Sequence[Index], parts: Sequence[Array]) -> Array:
        theta = np.zeros(self.groups.shape)
        for targets, x in zip(sets, parts, strict=True):
            theta[:, targets] = x
        return theta
