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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hoag.criteria.base import CHEAP, SPACING, Criterion, Traits, no_gradient
from hoag.criteria.decomposed import singular
from hoag.criteria.left_out import Observed, Spectrum
from hoag.criteria.spectral import DECOMPOSED, GRAM_ERROR
from hoag.glm.losses import OuterLoss, Squared
from hoag.glm.penalties import Ridge
from hoag.glm.rows import Rows
from hoag.values import (
    ROUNDING,
    ROUNDOFF,
    Array,
    Ask,
    Cost,
    Evaluation,
    InnerProblemError,
    InvalidInput,
)


class Fit(NamedTuple):
    """θ (p, K), the residuals r (n, K), 1 − h (n,), and what their derivatives need."""

    theta: Callable[[], Array]
    residual: Array
    gap: Array
    condition: float
    derivative: Callable[[Array, Array], Array]  # u (n, K) and v (n,) ↦ ∂f/∂λ, (s,)


class LeaveOneOut(Criterion):
    """The criterion Σᵢ sᵢ loss(yᵢ, prediction of the fit without row i) for ridge regression.

    rows     A, dense or sparse
    y        one or several targets, shape (n,) or (n, K)
    penalty  a Ridge penalty on the p·K coefficients, row by row
    gcv      put the mean leverage in place of each row's own
    outer    the loss, of (yᵢ, prediction); squares by default
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
    ) -> None:
        self.flat = y.ndim == 1
        self.y = y[:, None] if self.flat else y
        self.rows, self.weights, self.penalty, self.gcv = rows, weights, penalty, gcv
        self.outer = outer or Squared(1.0)
        self.n, self.p = rows.shape
        self.groups = penalty.groups.reshape(self.p, -1)
        if np.any(weights <= 0):
            raise InvalidInput("Leave-one-out needs positive weights: drop the rows without one.")
        self.share = weights / weights.sum() if intercept else np.zeros(self.n)
        self.mean = rows.backward(self.share) if intercept else np.zeros(self.p)
        self.centred = self.y - self.share @ self.y
        self._observed = Observed(self.y, self.centred, weights, self.share, self.outer, gcv)
        self._flops = 0.0
        same = np.all(self.groups == self.groups[:, :1])
        # Targets with the same penalties share a factor.
        self._blocks = [slice(None)] if same else [slice(k, k + 1) for k in range(self.y.shape[1])]
        wide = self.p > self.n and np.all(self.groups >= 0)
        self._factor = self._dual if wide else self._primal
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
        return Traits(looks=looks, exact=True, together=together, least=least, blocks=blocks)

    @cached_property
    def _least(self) -> float | None:
        """log of the least e; None where it is not known, or takes too much work to find."""
        if not self._decomposes:
            return None
        known = self._by_gram
        if known.lost > GRAM_ERROR * float(known.e[0]):
            if self.n * self.p**2 > CHEAP:
                return None
            known = self._by_rows
        seen = known.e[known.e > ROUNDING**2 * known.e[-1]]
        return float(np.log(seen.min())) + self.penalty.shift if seen.size else None

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
            for fit, _, (u, v) in fits:
                gradient += fit.derivative(u, v)
            condition = max(fit.condition for fit, *_ in fits)
            error = float(ROUNDOFF * condition * np.linalg.norm(gradient))
        f_error = ROUNDING * abs(value)
        return Evaluation(lam, value, gradient, f_error=f_error, error=error, cost=self._spent())

    def settled(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """By a factor made for this λ, where a decomposition had served; x is made too."""
        fresh = self._solve if self._trusted(found.lam) else self._factor
        value, fits = self._value(found.lam, fresh)
        theta = np.concatenate([fit.theta() for fit, *_ in fits], axis=1)
        error = abs(value - found.value) + ROUNDING * abs(value)
        return replace(found, value=value, g=value, f_error=error, x=theta, cost=self._spent())

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        fits = self._value(found.lam)[1]
        return np.concatenate([fit.theta() for fit, *_ in fits], axis=1), self._spent()

    def _trusted(self, lam: Array) -> bool:
        """Whether a factor is less precise at this λ than the decomposition of the rows."""
        alpha = float(np.min(self.penalty.alpha(lam)))
        return self._decomposes and self._spectrum(alpha).by_rows

    def _spent(self) -> Cost:
        a_gram = 2.0 * max(self.rows.entries, 1) * min(self.n, self.p)
        cost, self._flops = Cost(grams=self._flops / a_gram), 0.0
        return cost

    def predictions(self, lam: Array) -> Array:
        """What the fit without row i predicts for row i, shape of y."""
        predicted = np.concatenate(
            [
                self.y[:, block] - fit.residual / self._gap(fit)[:, None]
                for fit, block, _ in self._value(lam)[1]
            ],
            axis=1,
        )
        return predicted[:, 0] if self.flat else predicted

    def _gap(self, fit: Fit) -> Array:
        """1 − h of every row, or their mean."""
        return np.full(self.n, fit.gap.mean()) if self.gcv else fit.gap

    def _value(self, lam: Array, solve: Any = None) -> tuple[float, list[Any]]:
        total, fits, solve = 0.0, [], solve or self._solve
        alphas = self.penalty.alpha(lam).reshape(self.p, -1)
        for block in self._blocks:
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
            total += float(np.sum(self.weights * at.value))
            # slope is ∂loss/∂prediction, and the prediction is y − e
            slope = -self.weights[:, None] * at.slope.reshape(self.n, -1)
            u = slope / gap[:, None]
            v = np.sum(u * error, axis=1)
            fits.append((fit, block, (u, np.full(self.n, v.mean()) if self.gcv else v)))
        return total, fits

    def _primal(self, alpha: Array, block: slice) -> Fit:
        """By the factor of G, p × p."""
        y, s = self.centred[:, block], self.weights[:, None]
        G = np.diag(alpha) + self._gram
        factor = cho_factor(G)
        self._flops += self.p**3 / 3 + 2.0 * self.n * self.p**2
        theta = cho_solve(factor, self._backward(s * y))
        residual = y - self._forward(theta)
        leverage = self.share.copy()
        for rows, A in self._row_blocks():
            B = cho_solve(factor, A.T).T
            leverage[rows] += self.weights[rows] * np.einsum("ij,ij->i", A, B)

        def derivative(u: Array, v: Array) -> Array:
            squares = np.zeros(self.p)
            for rows, A in self._row_blocks():
                B = cho_solve(factor, A.T).T
                squares += (self.weights[rows] * v[rows]) @ B**2
            self._flops += 2.0 * self.n * self.p**2
            Bu = cho_solve(factor, self._backward(u))
            return self._by_group(_split(alpha, theta, Bu, squares), block)

        gap = np.maximum(1.0 - leverage, ROUNDOFF)
        return Fit(lambda: theta, residual, gap, _condition(factor, G), derivative)

    def _dual(self, alpha: Array, block: slice) -> Fit:
        """By the factor of M, n × n; in it rows are scaled by √s and centred."""
        root = np.sqrt(self.weights)
        if self.penalty.n_lam == 1:
            M = self._dual_gram / alpha[0]
        else:
            M = np.zeros((self.n, self.n))
            for columns, R in self._column_blocks():
                M += (R / alpha[columns]) @ R.T
            self._flops += 2.0 * self.n**2 * self.p
        # √share is in the null space of R Rᵀ. Left at 1 beside the other eigenvalues, it would hide
        # 1 − h in rounding; raised to their size it leaves its part of M⁻¹ as small as theirs.
        null, raised = np.sqrt(self.share), float(np.trace(M)) / self.n
        M += raised * np.outer(null, null)
        M[np.diag_indices(self.n)] += 1.0
        factor = cho_factor(M)
        inverse = cho_solve(factor, np.eye(self.n))
        self._flops += self.n**3
        scaled = inverse @ (root[:, None] * self.centred[:, block])  # √s r
        theta = np.concatenate(
            [(R.T @ scaled) / alpha[columns, None] for columns, R in self._column_blocks()]
        )
        residual = scaled / root[:, None]
        gap = np.maximum(np.diag(inverse) - self.share / (1.0 + raised), np.finfo(float).tiny)

        def derivative(u: Array, v: Array) -> Array:
            w, Z = inverse @ (u / root[:, None]), (inverse * v) @ inverse
            Bu, squares = np.empty_like(theta), np.empty(self.p)
            for columns, R in self._column_blocks():
                a = alpha[columns]
                Bu[columns] = (R.T @ w) / a[:, None]
                squares[columns] = np.einsum("ij,ij->j", R, Z @ R) / a**2
            self._flops += 2.0 * self.n**2 * (self.n + self.p)
            return self._by_group(_split(alpha, theta, Bu, squares), block)

        return Fit(lambda: theta, residual, gap, _condition(factor, M), derivative)

    def _by_group(self, parts: Array, block: slice) -> Array:
        """Σ over the coefficients of each group, from one number for each coefficient."""
        groups = self.groups[:, block]
        tuned = groups >= 0
        sums = np.bincount(groups[tuned], weights=parts[tuned], minlength=self.penalty.n_lam)
        return sums.astype(np.float64)

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        """At many λ, for little more than at one where the decomposition serves them."""
        if not self._decomposes:
            return super().values(lams, ask)
        alphas = np.array([self.penalty.alpha(lam)[0] for lam in lams])
        f, p, lost = np.zeros((3, alphas.size))
        known = [self._spectrum(float(alpha)) for alpha in alphas]
        for spectrum in {id(own): own for own in known}.values():
            some = [j for j, own in enumerate(known) if own is spectrum]
            f[some], p[some] = spectrum.judged(self._observed, alphas[some], ask.gradient)
            self._flops += (8.0 if ask.gradient else 4.0) * spectrum.Z.size * len(some)
            rounding = ROUNDOFF + spectrum.lost / (alphas[some] + spectrum.e[0])
            lost[some] = rounding * np.abs(p[some]) + ROUNDOFF * np.abs(f[some])
        spent = self._spent()
        return [
            Evaluation(
                lam,
                float(f[j]),
                p[j : j + 1] if ask.gradient else no_gradient(lam),
                f_error=ROUNDING * abs(float(f[j])),
                error=float(lost[j]) if ask.gradient else np.nan,
                cost=Cost(grams=spent.grams / len(lams)),
            )
            for j, lam in enumerate(lams)
        ]

    def _spectral(self, alphas: Array, block: slice) -> Fit:
        """The fit at one α, by the decomposition."""
        alpha = float(alphas[0])
        known = self._spectrum(alpha)
        residual, gap = known.left_out(self._observed._replace(gcv=False), alpha)
        self._flops += 4.0 * known.Z.size

        def theta() -> Array:
            q = known.c / (known.e + alpha)[:, None]
            if known.V is not None:
                return np.asarray(known.V @ q)
            return np.concatenate([R.T @ (known.Z @ q) for _, R in self._column_blocks()])

        def derivative(u: Array, v: Array) -> Array:
            raise NotImplementedError("with a decomposition, `values` has the derivatives")

        return Fit(theta, residual, gap, 1.0, derivative)

    def _spectrum(self, alpha: float) -> Spectrum:
        """As well decomposed as α needs it."""
        known = self._by_gram
        if known.wide or known.lost <= GRAM_ERROR * (alpha + float(known.e[0])):
            return known
        return self._by_rows

    @property
    def _root(self) -> Array:
        """√s, as a column."""
        return np.sqrt(self.weights)[:, None]

    @cached_property
    def _by_gram(self) -> Spectrum:
        root = self._root
        if self.p > self.n:
            K = self._dual_gram
            null, raised = np.sqrt(self.share), float(np.trace(K)) / self.n  # see _dual
            e, U = np.linalg.eigh(K + raised * np.outer(null, null))
            e = np.maximum(e, 0.0)
            self._flops += 9.0 * self.n**3
            return Spectrum(True, e, U, U.T @ (root * self.centred), raised=raised)
        e, V = np.linalg.eigh(self._gram)
        e = np.maximum(e, 0.0)
        self._flops += 9.0 * self.p**3 + 2.0 * self.n * self.p**2
        Z = self._forward(V)
        c = V.T @ self._backward(self.weights[:, None] * self.centred)
        lost = ROUNDOFF * float(e[-1])
        return Spectrum(False, e, Z, c, V, lost)

    @cached_property
    def _by_rows(self) -> Spectrum:
        root = self._root
        R = np.concatenate([A for _, A in self._row_blocks()])
        U, sigma, V = (part[..., ::-1] for part in singular(root * R))  # as of eigh
        self._flops += 30.0 * self.n * self.p**2
        Z = (U * sigma) / root
        c = sigma[:, None] * (U.T @ (root * self.centred))
        return Spectrum(False, sigma**2, Z, c, V, by_rows=True)

    @cached_property
    def _gram(self) -> Array:
        """(A − 1 meanᵀ)ᵀ S (A − 1 meanᵀ), which does not change with λ."""
        self._flops += 2.0 * self.n * self.p**2
        root = self.mean * np.sqrt(self.weights.sum())
        return self.rows.gram(self.weights) - np.outer(root, root)

    @cached_property
    def _dual_gram(self) -> Array:
        """The same on the other side, where one penalty scales all of it."""
        self._flops += 2.0 * self.n**2 * self.p
        gram = np.zeros((self.n, self.n))
        for _, R in self._column_blocks():
            gram += R @ R.T
        return gram

    def _forward(self, theta: Array) -> Array:
        product = self.rows.forward(theta)
        product -= self.mean @ theta
        return product

    def _backward(self, u: Array) -> Array:
        """(A − 1 meanᵀ)ᵀ u."""
        return self.rows.backward(u) - np.outer(self.mean, u.sum(axis=0))

    def _row_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Centred rows, dense, some at a time."""
        for rows, A in self.rows.dense_blocks():
            yield rows, A - self.mean

    def _column_blocks(self) -> Iterator[tuple[slice, Array]]:
        """√S (A − 1 meanᵀ), dense, some columns at a time."""
        root = np.sqrt(self.weights)[:, None]
        for columns, A in self.rows.dense_columns():
            yield columns, root * (A - self.mean[columns])


def _split(alpha: Array, theta: Array, Bu: Array, squares: Array) -> Array:
    """αⱼ(θⱼ(Bᵀu)ⱼ − Σᵢ…), the second part given to the first target: all share their groups."""
    parts = alpha[:, None] * theta * Bu
    parts[:, 0] -= alpha * squares
    return parts


def _condition(factor: Any, matrix: Array) -> float:
    """A cheap estimate that does not see the scales of columns: max of diagonal over pivot."""
    return float(np.max(np.diag(matrix) / np.diag(factor[0]) ** 2))
