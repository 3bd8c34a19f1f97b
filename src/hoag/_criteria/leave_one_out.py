"""Leave-one-out and generalised cross-validation of ridge regression, in closed form.

With G = AᵀSA + Λ, hᵢ = sᵢ aᵢᵀG⁻¹aᵢ and rᵢ the residual of the fit on all rows, the residual of the
fit without row i is eᵢ = rᵢ/(1 − hᵢ), and

    f(λ) = Σᵢ sᵢ loss(eᵢ)

GCV puts the mean of h in place of each hᵢ. An intercept is a projection: rows and targets are
centred by their weighted means, and hᵢ has sᵢ/Σs more. The derivatives are exact too. With
B = A G⁻¹, θ = G⁻¹AᵀSy, uᵢ = ∂f/∂rᵢ and vᵢ = ∂f/∂hᵢ,

    ∂f/∂λⱼ = αⱼ (θⱼ (Bᵀu)ⱼ − Σᵢ sᵢ vᵢ B²ᵢⱼ)

summed over the coefficients of a group. For p ≤ n the factor is that of G, else that of
M = I + √S A Λ⁻¹ Aᵀ√S, by which √S B = M⁻¹ √S A Λ⁻¹ and 1 − hᵢ = (M⁻¹)ᵢᵢ.

With one penalty for all, one decomposition AᵀSA = V diag(e) Vᵀ, or √S A Aᵀ√S = U diag(e) Uᵀ of the
smaller side, does for every λ; f is then computed once more, by a factor, at the λ that was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError

from hoag._core import clock
from hoag._core.errors import InnerProblemError, InvalidInput
from hoag._core.numeric import ROUNDING, ROUNDOFF, Array
from hoag._core.result import Ask, Cost, Evaluation
from hoag._criteria.base import CHEAP, SPACING, Criterion, Traits, no_gradient
from hoag._criteria.decomposed import singular
from hoag._criteria.left_out import Observed, Spectrum
from hoag._criteria.left_out_bends import LeftOut
from hoag._criteria.left_out_fits import CentredRows, Fit
from hoag._criteria.spectral import DECOMPOSED, GRAM_ERROR
from hoag._glm.basis import FEW
from hoag._glm.groups import by_group
from hoag._glm.losses import OuterLoss, Squared
from hoag._glm.penalties import Ridge
from hoag._glm.rows import Rows
from hoag._glm.term import picked

# So many penalties, from rounding to the largest, are tried for the least that a Gram matrix bears.
TRIED = 32
# The rows of so many largest leverages are left out by definition, where verification needs it.
DELETED = 3
# Where 1 − h of a row has lost half of its digits, rounding decides, and f is not known.
LEAST_GAP = ROUNDOFF**0.5
LEVERAGE = (
    "Weaker penalties than these leave a row whose fit is its own value to rounding (leverage 1): "
    "what the others say of it is not known there."
)


class LeaveOneOut(Criterion):
    """The criterion Σᵢ sᵢ loss(yᵢ, prediction of the fit without row i) for ridge regression.

    rows     A, dense or sparse
    y        one or several targets, shape (n,) or (n, K)
    penalty  a Ridge penalty on the p·K coefficients, row by row
    gcv      put the mean leverage in place of each row's own
    outer    the loss, of (yᵢ, prediction); squares by default
    seen     the rows, weights and intercept as somebody knows them already
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
        seen: CentredRows | None = None,
    ) -> None:
        self.flat = y.ndim == 1
        self.y = y[:, None] if self.flat else y
        self.rows, self.weights, self.penalty, self.gcv = rows, weights, penalty, gcv
        self.outer = outer or Squared(1.0)
        self.n, self.p = rows.shape
        self.groups = penalty.groups.reshape(self.p, -1)
        if np.any(weights <= 0):
            raise InvalidInput("Leave-one-out needs positive weights: drop the rows without one.")
        self.seen = CentredRows(rows, weights, intercept) if seen is None else seen
        self.share, self.mean = self.seen.share, self.seen.mean
        self.centred = self.y - self.share @ self.y
        self._observed = Observed(self.y, self.centred, weights, self.share, self.outer, gcv)
        same = np.all(self.groups == self.groups[:, :1])
        # Targets with the same penalties share a factor.
        self._blocks = [slice(None)] if same else [slice(k, k + 1) for k in range(self.y.shape[1])]
        wide = self.p > self.n and np.all(self.groups >= 0)
        self._wide = bool(wide)
        one = penalty.isotropic(self.p * self.groups.shape[1]) and min(self.n, self.p) <= DECOMPOSED
        self._decomposes = one and self.n * self.p <= DECOMPOSED**2
        self._solve = self._spectral if self._decomposes else self._factor

    @property
    def lam0(self) -> Array:
        return np.zeros(self.penalty.n_lam)

    @property
    def traits(self) -> Traits:
        cheap = self._decomposes or min(self.n, self.p) ** 2 * max(self.n, self.p) <= CHEAP
        looks, blocks = SPACING if cheap else None, np.arange(self.penalty.n_lam)
        together, least = self._decomposes, self._least
        bends = self._bends and self.p <= FEW
        looks = SPACING if bends else looks
        if self._decomposes:  # every place costs a pass or two
            looks = SPACING / 3
        return Traits(looks, bends, exact=True, batched=together, least=least, blocks=blocks)

    @cached_property
    def _least(self) -> float | None:
        """log of the least e; None where it is not known, or takes too much work to find."""
        if not self._decomposes:
            return None
        known = self._by_gram
        if self._trusted_from > 0:
            if self.n * self.p**2 > CHEAP:
                return None
            known = self._by_rows
        seen = known.e[known.e > ROUNDING**2 * known.e[-1]]
        return float(np.log(seen.min())) + self.penalty.shift if seen.size else None

    def of_targets(self, targets: npt.NDArray[np.intp]) -> LeaveOneOut:
        """The criterion of some targets alone, with the λ that reach them."""
        if not self._wide:
            self.seen.gram  # noqa: B018, formed once for all
        seen = copy(self.seen)  # with an account of its own
        seen.flops = 0.0
        part = LeaveOneOut(
            self.rows,
            picked(self.y, targets),
            self.weights,
            self.penalty.of_targets(self.groups, targets, 0),
            gcv=self.gcv,
            outer=self.outer,
            seen=seen,
        )
        if part._decomposes:
            part._by_gram = self._by_gram._replace(c=self._by_gram.c[:, targets])
            part._trusted_from = self._trusted_from
            if self._trusted_from > 0:
                part._by_rows = self._by_rows._replace(c=self._by_rows.c[:, targets])
        return part

    def errors_alike(
        self, targets: npt.NDArray[np.intp], lam: float, free: npt.NDArray[np.bool_]
    ) -> tuple[Array, Cost]:
        """f of every target where λ is the same for all columns that are not free; its cost."""
        alpha = np.where(free, self.penalty.floor, np.exp(lam - self.penalty.shift))
        fit = self._factor(alpha, targets)
        y, e = self.y[:, targets], fit.residual / self._gap(fit)[:, None]
        each = [self.outer.at(y[:, t], y[:, t] - e[:, t]).value for t in range(targets.size)]
        return np.array(each) @ self.weights, self._spent()

    def outer_lipschitz(self) -> tuple[float, Cost]:
        raise InvalidInput("The leave-one-out loss has no bounded slope: give C a number.")

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        """f(λ) and its exact gradient; there is no tolerance to meet."""
        if self._decomposes:
            return self.values([lam], ask)[0]
        value, fits = self._value(lam)
        gradient, error = no_gradient(lam), np.nan
        if ask.gradient:
            gradient = np.zeros(lam.size)
            for fit, block, (u, v), _ in fits:
                gradient += by_group(self.groups[:, block], fit.derivative(u, v), lam.size)
            condition = max(fit.condition for fit, *_ in fits)
            error = float(ROUNDOFF * condition * np.linalg.norm(gradient))
        bent, tangents = None, None
        if ask.hessian:
            bent, tangents = self._left_out(lam, fits[0][0]).hessian(gradient)
        return Evaluation(
            lam,
            value,
            gradient,
            **self._known(value, min(float(self._gap(fit).min()) for fit, *_ in fits)),
            error=error,
            cost=self._spent(),
            hessian=bent,
            tangents=tangents,
            folds=sum(lost for *_, lost in fits),
        )

    def _known(self, value: float, gap: float) -> dict[str, Any]:
        """How well f is known where this is the least 1 − h, and why if it is not."""
        if self._wide or gap >= LEAST_GAP:
            return {"f_error": ROUNDING * abs(value)}
        return {"f_error": np.inf, "note": LEVERAGE}

    def profile(self, found: Evaluation, places: Array) -> tuple[Array | None, Cost]:
        """f along every axis, exactly, for a block of back-substitutions an axis."""
        if not self._bends:
            return None, Cost()
        fit = self._value(found.lam)[1][0][0]
        alpha = np.exp(found.lam - self.penalty.shift)
        values = self._left_out(found.lam, fit).along(found.lam, alpha, places)
        asked = float(np.isfinite(places).sum())
        self.seen.flops += 2.0 * self.p**3 + 2.0 * self.n * self.p * (asked + self.p)
        return values, self._spent()

    @property
    def _bends(self) -> bool:
        """Whether ∇²f is offered: by the factor of G, for penalties that are alike for targets."""
        few = not self._wide or self.n * self.p <= DECOMPOSED**2
        return not self._decomposes and few and len(self._blocks) == 1

    def _left_out(self, lam: Array, fit: Fit) -> LeftOut:
        """The fit at λ, made by the factor of G, as its second derivatives see it."""
        self.seen.flops += 2.0 * self.n * self.p**2
        assert fit.known is not None
        return LeftOut(
            *fit.known,
            self.penalty.alpha(lam).reshape(self.p, -1)[:, 0],
            self.groups[:, 0],
            self.penalty.n_lam,
            fit.theta(),
            fit.residual,
            self._gap(fit),
            self.y,
            self.weights,
            self.outer,
            self.gcv,
        )

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """By a factor made for this λ, where a decomposition had served; x is made too.

        Where no factor of a Gram matrix is precise enough, by the decomposition of the rows, and
        the rows that have the most leverage by the fits without them, as the definition says.
        """
        exactly = self._decomposes and self._alpha(found.lam) < self._trusted_from
        value, fits = self._value(found.lam, self._spectral if exactly else self._factor)
        theta = np.concatenate([fit.theta() for fit, *_ in fits], axis=1)
        folds, error = sum(lost for *_, lost in fits), ROUNDING * abs(value)
        if exactly and not self.gcv:
            for i in np.argsort(fits[0][0].gap)[:DELETED].tolist():
                lost = self._lost_without(i, self._alpha(found.lam))
                change, folds[i] = lost - folds[i], lost
                value, error = value + change, error + abs(change)
        error += abs(value - found.value)
        if not np.isfinite(
            found.f_error
        ):  # no verification knows more of the row than its leverage
            error = np.inf
        spent = self._spent()
        return replace(found, value=value, g=value, f_error=error, x=theta, folds=folds, cost=spent)

    def _lost_without(self, i: int, alpha: float) -> float:
        """sᵢ loss(yᵢ, prediction of the fit without row i), by a decomposition of its own."""
        rest, s = np.arange(self.n) != i, self.weights[:, None]
        A = self._scaled_rows / self.seen.root
        share = s[rest] / s[rest].sum() if np.any(self.share) else np.zeros_like(s[rest])
        mean, level = np.sum(share * A[rest], axis=0), np.sum(share * self.y[rest], axis=0)
        root = np.sqrt(s[rest])
        U, sigma, V = self._singular(root * (A[rest] - mean))
        shrunk = (sigma / (sigma**2 + alpha))[:, None] * (U.T @ (root * (self.y[rest] - level)))
        predicted = level + (A[i] - mean) @ V @ shrunk
        flat = self.y.shape[1] == 1
        y, z = (self.y[i], predicted) if flat else (self.y[i : i + 1], predicted[None])
        return float(self.weights[i] * np.sum(self.outer.at(y, z).value))

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        fits = self._value(found.lam)[1]
        return np.concatenate([fit.theta() for fit, *_ in fits], axis=1), self._spent()

    def _alpha(self, lam: Array) -> float:
        return float(np.min(self.penalty.alpha(lam)))

    def _spent(self) -> Cost:
        a_gram = 2.0 * max(self.rows.entries, 1) * min(self.n, self.p)
        cost, self.seen.flops = Cost(grams=self.seen.flops / a_gram), 0.0
        return cost

    def predictions(self, lam: Array) -> Array:
        """What the fit without row i predicts for row i, shape of y."""
        predicted = np.concatenate(
            [
                self.y[:, block] - fit.residual / self._gap(fit)[:, None]
                for fit, block, *_ in self._value(lam)[1]
            ],
            axis=1,
        )
        return predicted[:, 0] if self.flat else predicted

    def _gap(self, fit: Fit) -> Array:
        """1 − h of every row, or their mean."""
        return np.full(self.n, fit.gap.mean()) if self.gcv else fit.gap

    def _factor(self, alpha: Array, block: Any) -> Fit:
        """The fit of some targets by the factor of the smaller side."""
        make = self.seen.dual if self._wide else self.seen.primal
        return make(self.centred[:, block], alpha)

    def _value(self, lam: Array, solve: Any = None) -> tuple[float, list[Any]]:
        total, fits, solve = 0.0, [], solve or self._solve
        alphas = self.penalty.alpha(lam).reshape(self.p, -1)
        for block in self._blocks:
            clock.check()
            alpha = alphas[:, block.start or 0]
            try:
                fit = solve(alpha, block)
            except LinAlgError:
                raise InnerProblemError(
                    "The ridge problem is singular to rounding at lam = "
                    f"{np.array2string(lam, threshold=6)}: raise the lower bound."
                ) from None
            gap = self._gap(fit)
            error = fit.residual / gap[:, None]
            y = self.y[:, block]
            flat = y.shape[1] == 1
            at = self.outer.at(y[:, 0] if flat else y, (y - error)[:, 0] if flat else y - error)
            total += float(self.weights @ at.value)
            # slope is ∂loss/∂prediction, and the prediction is y − e
            slope = -self.weights[:, None] * at.slope.reshape(self.n, -1)
            u = slope / gap[:, None]
            v = np.sum(u * error, axis=1)
            v = np.full(self.n, v.mean()) if self.gcv else v
            fits.append((fit, block, (u, v), self.weights * at.value))
        return total, fits

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        """At many λ, for little more than at one where the decomposition serves them."""
        if not self._decomposes:
            return super().values(lams, ask)
        alphas = np.array([self.penalty.alpha(lam)[0] for lam in lams])
        f, p, lost, gap = np.zeros((4, alphas.size))
        known = [self._spectrum(float(alpha)) for alpha in alphas]
        for spectrum in {id(own): own for own in known}.values():
            some = [j for j, own in enumerate(known) if own is spectrum]
            judged = spectrum.judged(self._observed, alphas[some], ask.gradient)
            f[some], p[some], gap[some] = judged
            self.seen.flops += (8.0 if ask.gradient else 4.0) * spectrum.Z.size * len(some)
            rounding = ROUNDOFF + spectrum.lost / (alphas[some] + spectrum.e[0])
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

    def _spectral(self, alphas: Array, block: Any) -> Fit:
        """The fit at one α, by the decomposition."""
        alpha = float(alphas[0])
        known = self._spectrum(alpha)
        residual, gap = known.left_out(self._observed._replace(gcv=False), alpha)
        self.seen.flops += 4.0 * known.Z.size

        def theta() -> Array:
            q = known.c / (known.e + alpha)[:, None]
            if known.V is not None:
                return np.asarray(known.V @ q)
            return np.concatenate([R.T @ (known.Z @ q) for _, R in self.seen.column_blocks()])

        def derivative(u: Array, v: Array) -> Array:
            raise NotImplementedError("with a decomposition, `values` has the derivatives")

        return Fit(theta, residual, gap, 1.0, derivative)

    def _spectrum(self, alpha: float) -> Spectrum:
        """As well decomposed as α needs it."""
        return self._by_gram if alpha >= self._trusted_from else self._by_rows

    @cached_property
    def _trusted_from(self) -> float:
        """The least α at which the Gram matrix serves: what it loses of 1 − h is little of it.

        Either is wrong by lost/(α + e), and 1 − hᵢ, which grows with α, is wanted to GRAM_ERROR;
        where columns outnumber rows it is no difference, and as right as any of its parts.
        """
        known, seen = self._by_gram, self._observed._replace(gcv=False)
        least, most = float(known.e[0]), float(known.e[-1])
        for alpha in (0.0, *np.geomspace(ROUNDOFF * most, most, TRIED)) if most > 0 else ():
            gap = 1.0
            if not known.wide and alpha + least > 0:
                each = known.left_out(seen, alpha)[1]
                gap = float(each.mean() if self.gcv else each.min())
            if known.lost <= GRAM_ERROR * gap * (alpha + least):
                return float(alpha)
        return 0.0 if most == 0 else np.inf

    @cached_property
    def _by_gram(self) -> Spectrum:
        root = self.seen.root
        if self.p > self.n:
            K = self.seen.dual_gram
            null, raised = np.sqrt(self.share), float(np.trace(K)) / self.n  # see CentredRows.dual
            e, U = np.linalg.eigh(K + raised * np.outer(null, null))
            e = np.maximum(e, 0.0)
            self.seen.flops += 9.0 * self.n**3
            lost = ROUNDOFF * float(e[-1])
            return Spectrum(True, e, U, U.T @ (root * self.centred), None, lost, raised)
        e, V = np.linalg.eigh(self.seen.gram)
        e = np.maximum(e, 0.0)
        self.seen.flops += 9.0 * self.p**3 + 2.0 * self.n * self.p**2
        Z = self.seen.forward(V)
        c = V.T @ self.seen.backward(self.weights[:, None] * self.centred)
        lost = ROUNDOFF * float(e[-1])
        return Spectrum(False, e, Z, c, V, lost)

    @cached_property
    def _by_rows(self) -> Spectrum:
        root = self.seen.root
        y = root * self.centred
        rank = min(self.p, self.n - int(np.any(self.share)))  # rows that are centred sum to 0
        decomposed = self._singular(self._scaled_rows)
        U, sigma, V = (part[..., :rank][..., ::-1] for part in decomposed)  # as of eigh
        if self.p > self.n:
            return Spectrum(True, sigma**2, U, U.T @ y, raised=np.inf)
        return Spectrum(False, sigma**2, U * sigma / root, sigma[:, None] * (U.T @ y), V)

    def _singular(self, A: Array) -> tuple[Array, Array, Array]:
        """A = U diag(σ) Vᵀ, the largest σ first."""
        self.seen.flops += 30.0 * A.size * min(A.shape)
        if A.shape[0] >= A.shape[1]:
            return singular(A)
        V, sigma, U = singular(A.T)
        return U, sigma, V

    @property
    def _scaled_rows(self) -> Array:
        """√S (A − 1 meanᵀ), dense."""
        return np.asarray(self.seen.root * np.concatenate([A for _, A in self.seen.row_blocks()]))
