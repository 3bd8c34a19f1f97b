"""Kernel ridge regression with an RBF kernel, its widths and its ridge tuned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import LinAlgError
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from hoag._core import clock
from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import ROUNDING, Array
from hoag._glm.kernel import FeatureWidths, Kernel, SharedWidth, columns, exp_of_symmetric
from hoag._glm.losses import OuterLoss, OuterLossAt, Squared
from hoag._linalg.cholesky import Factor, Inverse
from hoag._linalg.operator import Hessian
from hoag._linalg.orthogonal import norm
from hoag._linalg.symmetric import eigenvectors
from hoag.problems import Charger, Facts, Ledger, Problem


class KernelRidgeProblem(Problem):
    """h = ½ xᵀ(K(γ) + αI)x − yᵀx,  g = Σᵢ s′ᵢ loss(y′ᵢ, (K′(γ)x)ᵢ), by default (y′ − K′x)².

    K is the kernel exp(−Σⱼ γⱼ(aⱼ − bⱼ)²) between training rows, K′ between held-out and training
    rows; λ = (log γ, log α), with one γ for all features or one for each. Sample weights s scale
    both sides by √s, as scikit-learn's KernelRidge does, so that its dual coefficients are √s·x.
    One K@v is one pass, a Cholesky factor n/6 of them and a solve with it one. A caller whose rows
    and weights are in other units than his λ gives two shifts: γ = exp(λ − shift₁) and α likewise.
    Work is written into the `ledger` given, or into one of its own.
    """

    def __init__(
        self,
        A: Any,
        y: Array,
        A_test: Any,
        y_test: Array,
        weights: Array,
        test_weights: Array,
        unit: float | None,
        widths: str = "shared",
        outer: OuterLoss | None = None,
        shift: tuple[float, float] = (0.0, 0.0),
        ledger: Ledger | None = None,
    ) -> None:
        n, features = A.shape
        self.ledger = Ledger() if ledger is None else ledger
        if widths not in ("shared", "per-feature"):
            raise InvalidParameterError.of("widths", widths, "use 'shared' or 'per-feature'.")
        is_sparse = sparse.issparse(A) or sparse.issparse(A_test)
        if widths == "per-feature" and is_sparse:
            raise NotSupportedError(
                "widths='per-feature' needs dense rows, and these are sparse: it computes with "
                "all differences between rows.\nUse widths='shared', or A.toarray() if it fits.",
                "widths",
                widths,
            )
        if not is_sparse:
            # Distances do not change when both move; far from the origin their computation cancels.
            centre = A.mean(axis=0)
            A, A_test = A - centre, A_test - centre
        of: Callable[[Any, Any], Kernel] = SharedWidth if widths == "shared" else FeatureWidths
        self.kind, self.widths, self.test_widths = widths, of(A, A), of(A_test, A)
        self.A, self.A_test, self.y, self.weights = A, A_test, y, weights
        self.root_weights = np.sqrt(weights)
        self.b = self.root_weights * y
        self.y_test, self.test_weights = y_test, test_weights
        self.outer = outer or Squared(1.0)
        self.shift = shift
        self.share = 1.0 if unit is None else n * n / unit
        self.test_share = self.share * y_test.size / n
        self.x0 = np.zeros(n)
        self.lam0 = np.append(np.full(self.widths.size, -np.log(features)), 0.0)
        self._last: tuple[Array, Kernels] | None = None

    @property
    def root_test(self) -> Array:
        return np.sqrt(self.test_weights)

    def at(self, x: Array, lam: Array) -> KernelRidgePoint:
        return KernelRidgePoint(self, x, lam)

    @property
    def facts(self) -> Facts:
        n = self.x0.size
        # ∇²f takes a product with K for each pair of widths, a factor n/6 of them.
        affordable = self.widths.size**2 <= n
        return Facts(n, n, n, quadratic=True, sparse=False, formed=True, has_hessian=affordable)

    @property
    def sample_of(self) -> int:
        return self.x0.size

    @property
    def blocks(self) -> npt.NDArray[np.intp]:
        """Which hyperparameters are moved together when places to start are looked for."""
        return np.append(np.zeros(self.widths.size, dtype=np.intp), 1)

    def sample(self, rows: int, seed: int = 0) -> KernelRidgeProblem:
        """The same problem on `rows` of the training rows, and as many of the held-out ones.

        It writes in this problem's ledger, in units of this problem: a factor is (rows/n)³ of one
        here, a kernel (rows/n)². Held-out weights are scaled, so that g stays what it is. λ is the
        same, for a ridge that stands for noise beside the kernel's 1 is no matter of how many rows
        there are: log α is best at −1.3 to −1.7 on 300 rows of Parkinsons, at −1.9 on all 1958.
        """
        if self.sample_of <= rows:
            return self
        train, test = (sampled(w, rows, seed) for w in (self.weights, self.test_weights))
        kept = self.test_weights[test]
        scale = self.test_weights.sum() / (kept.sum() or 1.0)
        return KernelRidgeProblem(
            *(self.A[train], self.y[train], self.A_test[test], self.y_test[test]),
            weights=self.weights[train],
            test_weights=kept * scale,
            unit=self.sample_of**2 / self.share,
            widths=self.kind,
            outer=self.outer,
            shift=self.shift,
            ledger=self.ledger,
        )

    def values(self, lams: Sequence[Array]) -> Array:
        """f at many λ: those that share their widths, one after another, share a decomposition."""
        found: list[Array] = []
        for gamma, some in groupby(lams, key=lambda lam: tuple(lam[:-1])):
            clock.check()
            ridges = np.array([lam[-1] for lam in some])
            kernels = self.kernels(np.exp(np.array(gamma) - self.shift[0]))
            found.append(kernels.values(np.exp(ridges - self.shift[1])))
        return np.concatenate(found)

    def width_and_ridge(self, lam: Array) -> tuple[Array, float]:
        """γ and α in the units of the rows given."""
        return np.exp(lam[:-1] - self.shift[0]), float(np.exp(lam[-1] - self.shift[1]))

    def kernels(self, gamma: Array) -> Kernels:
        """The matrices at one γ; the last are remembered."""
        if self._last is None or not np.array_equal(self._last[0], gamma):
            self._last = (gamma, Kernels(self, gamma))
        return self._last[1]

    def outer_hessian(self, point: KernelRidgePoint, q: Array, inverse: Inverse) -> Array:
        """∇²f, shape (s, s), at x = X and its adjoint q.

            fᵢⱼ = żᵢᵀ∇²loss żⱼ + Eᵢⱼ + Eⱼᵢ + ∇lossᵀK′ᵢⱼx − qᵀHᵢⱼx
            tⱼ = dx/dλⱼ = −H⁻¹Hⱼx,  żⱼ = K′tⱼ + K′ⱼx,  Eᵢⱼ = (∇lossᵀK′ᵢ − qᵀHᵢ)tⱼ

        Indices are derivatives in λ, and H = K + αI. Beside the factor of H this takes a solve and
        a few products for each width, and a product for each pair of widths.
        """
        train, test = point.kernels.train, point.kernels.test
        x, ridge, slope = point.x, point.alpha * point.x, point.outer_slope
        t = -inverse(np.column_stack([point.width_slopes, ridge]))
        moved = test.product(t)
        moved[:, :-1] += point.test_slopes
        curved = np.column_stack([self.test_weights * point.outer.hvp(z) for z in moved.T])
        adjoint, back = (q, train.applied(q)), (slope, test.transposed.applied(slope))
        widths = test.transposed.slopes(back[1]) - train.slopes(adjoint[1])
        half = np.column_stack([widths, -point.alpha * q]).T @ t + 0.5 * moved.T @ curved
        found = half + half.T
        found[:-1, :-1] += test.second(back, (x, point.test_applied))
        found[:-1, :-1] -= train.second(adjoint, (x, point.applied))
        found[-1, -1] -= q @ ridge
        return np.asarray(found)

    def dual_coef(self, x: Array) -> Array:
        """The coefficients that scikit-learn's KernelRidge would hold."""
        return self.root_weights * x

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def outer_lipschitz(self) -> float:
        """C = 2‖√s′K′‖₂‖√s′y′‖ at the first width.

        The squared loss has no global constant; this one holds where the residual of the held-out
        rows is at most that of x = 0.
        """
        test = self.kernels(self.width_and_ridge(self.lam0)[0]).test
        self.ledger.charge(held_out=self.test_share)
        size = norm(self.root_test[:, None] * test.K)
        return float(2 * size * np.linalg.norm(self.root_test * self.y_test))

    def bound(self, point: KernelRidgePoint, q: Array, r: Array) -> float:
        """bound ≥ ‖p − ∇f‖ from residuals alone, since h is quadratic in x and loss″ ≤ 2.

        With d = ‖∇₁h‖/α ≥ ‖x − X‖ and ‖q − q*‖ ≤ (‖r‖ + 2‖√s′K′‖² d)/α.
        """
        train, test, alpha = point.kernels.train, point.kernels.test, point.alpha
        x_size, q_size = np.linalg.norm(point.x), np.linalg.norm(q)
        scale = train.norm + alpha
        residual = np.linalg.norm(self.root_test * point.outer.slope) / 2
        h_noise = ROUNDING * (scale * x_size + np.linalg.norm(self.b))
        q_noise = ROUNDING * (scale * q_size + test.norm * residual)
        d = (np.linalg.norm(point.h_x) + h_noise) / alpha
        test_norm, slope_norm = test.norm, test.slope_norm
        q_error = (np.linalg.norm(r) + q_noise + 2 * test_norm**2 * d) / alpha
        cross_x = np.linalg.norm(point.width_slopes)
        width = train.slope_norm * d * q_size + (cross_x + train.slope_norm * d) * q_error
        ridge = alpha * (d * q_size + (x_size + d) * q_error)
        outer_x = np.linalg.norm(self.root_test[:, None] * point.test_slopes)
        direct = 2 * d * (outer_x * test_norm + slope_norm * (residual + test_norm * d))
        sizes = train.slope_scale * (q_size + 2 * test_norm * residual)
        rounding = ROUNDING * x_size * (sizes + q_size * alpha)
        return float(np.hypot(width + direct, ridge) + rounding)


def sampled(weights: Array, rows: int, seed: int) -> npt.NDArray[np.intp]:
    """`rows` of those that have a weight, of all where none has."""
    weighted = np.flatnonzero((weights > 0) | (weights.max() == 0))
    return np.sort(np.random.default_rng(seed).permutation(weighted)[:rows])


class Kernels:
    """K between training rows and K′ to the held-out ones at one γ, scaled by √s."""

    def __init__(self, problem: KernelRidgeProblem, gamma: Array) -> None:
        self._problem, self._gamma = problem, gamma
        self._factor: tuple[float, Inverse] | None = None
        w = problem.root_weights
        K = exp_of_symmetric(problem.widths.exponent(gamma))
        K *= w[:, None]
        K *= w
        self._spend = Charger(problem.ledger, "passes", problem.share)
        self._spend(0.0, kernels=1.0)
        self.train = problem.widths.at(gamma, K, self._spend)

    @cached_property
    def test(self) -> Kernel:
        problem = self._problem
        spend = Charger(problem.ledger, "held_out", problem.test_share)
        spend(0.0, kernels=1.0)
        K = problem.test_widths.exponent(self._gamma)
        np.exp(K, out=K)
        K *= problem.root_weights
        return problem.test_widths.at(self._gamma, K, spend, problem.root_test[:, None])

    def inverse(self, alpha: float) -> Inverse:
        """b ↦ (K + αI)⁻¹b by a Cholesky factor, n/6 passes; the last is remembered."""
        K = self.train.K
        if self._factor is None or self._factor[0] != alpha:
            self._spend(len(K) / 6)
            ridged = K.copy()
            np.einsum("ii->i", ridged)[:] += alpha
            self._factor = (alpha, Factor(ridged))
        inverse = self._factor[1]

        def solve(b: Array) -> Array:
            self._spend(columns(b))
            return np.asarray(inverse(b))

        return solve

    def values(self, alphas: Array) -> Array:
        """g at the solutions for many ridges.

        By one decomposition K = U diag(e) Uᵀ, which takes the 9n³ operations of 27 factors.
        """
        problem, K, X = self._problem, self.train.K, None
        if alphas.size < 27:
            with suppress(LinAlgError):  # of a ridge below rounding
                X = np.stack([self.inverse(float(alpha))(problem.b) for alpha in alphas], axis=1)
        if X is None:
            e, U = eigenvectors(K)
            X = U @ ((U.T @ problem.b)[:, None] / (np.maximum(e, 0.0)[:, None] + alphas))
            self._spend(4.5 * len(K) + alphas.size)
        z = self.test.product(X)
        losses = problem.outer.at(np.repeat(problem.y_test, alphas.size), z.ravel()).value
        return np.asarray(problem.test_weights @ losses.reshape(z.shape))


class KernelRidgePoint:
    """h and g of kernel ridge regression at one (x, λ)."""

    def __init__(self, problem: KernelRidgeProblem, x: Array, lam: Array) -> None:
        self.problem, self.x, self.lam = problem, x, lam
        self.gamma, self.alpha = problem.width_and_ridge(lam)

    @cached_property
    def kernels(self) -> Kernels:
        return self.problem.kernels(self.gamma)

    @cached_property
    def _Hx(self) -> Array:
        return self.kernels.train.product(self.x) + self.alpha * self.x

    @cached_property
    def h(self) -> float:
        return float(self.x @ (0.5 * self._Hx - self.problem.b))

    @cached_property
    def h_x(self) -> Array:
        return self._Hx - self.problem.b

    @cached_property
    def hessian(self) -> KernelHessian:
        return KernelHessian(self)

    @cached_property
    def applied(self) -> Array:
        return self.kernels.train.applied(self.x)

    @cached_property
    def width_slopes(self) -> Array:
        """∂∇₁h/∂ log γⱼ = (dK/d log γⱼ) x, shape (n, widths)."""
        return self.kernels.train.slopes(self.applied)

    @cached_property
    def cross(self) -> LinearOperator:
        return aslinearoperator(np.column_stack([self.width_slopes, self.alpha * self.x]))

    @cached_property
    def outer(self) -> OuterLossAt:
        return self.problem.outer.at(self.problem.y_test, self.kernels.test.product(self.x))

    @cached_property
    def test_applied(self) -> Array:
        return self.kernels.test.applied(self.x)

    @cached_property
    def test_slopes(self) -> Array:
        """(dK′/d log γⱼ) x, shape (held out, widths)."""
        return self.kernels.test.slopes(self.test_applied)

    @cached_property
    def g(self) -> float:
        return float(np.sum(self.problem.test_weights * self.outer.value))

    @cached_property
    def outer_slope(self) -> Array:
        return self.problem.test_weights * self.outer.slope

    @cached_property
    def g_x(self) -> Array:
        return self.kernels.test.backward(self.outer_slope)

    @cached_property
    def g_lam(self) -> Array:
        return np.append(self.outer_slope @ self.test_slopes, 0.0)

    @property
    def strong_convexity(self) -> float:
        return self.alpha


class KernelHessian(Hessian):
    """∇²₁h = K + αI."""

    own_factor = True

    def __init__(self, point: KernelRidgePoint) -> None:
        super().__init__(point.x.size)
        self._kernels, self._alpha = point.kernels, point.alpha

    def product(self, v: Array) -> Array:
        return self._kernels.train.product(v) + self._alpha * v

    def diagonal(self) -> Array:
        return np.asarray(np.diag(self._kernels.train.K) + self._alpha)

    def factor(self) -> Inverse:
        return self._kernels.inverse(self._alpha)
