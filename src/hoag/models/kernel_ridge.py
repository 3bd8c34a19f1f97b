"""Kernel ridge regression with an RBF kernel, its width and its ridge both tuned."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.metrics.pairwise import euclidean_distances

from hoag.models.bounds import ROUNDING
from hoag.problem import Ledger
from hoag.values import Array


class KernelRidgeProblem:
    """h = ½ xᵀ(K(e^λ₁) + e^λ₂ I)x − yᵀx,  g = Σᵢ s′ᵢ (y′ᵢ − (K′(e^λ₁)x)ᵢ)².

    K is the kernel exp(−γ‖a − b‖²) between training rows, K′ between held-out and training rows;
    λ = (log γ, log α). Sample weights s scale both sides by √s, as scikit-learn's KernelRidge does,
    so that its dual coefficients are √s·x. One K@v is one pass, a Cholesky factor n/6 of them and a
    solve with it one.
    """

    def __init__(
        self,
        A: Any,
        y: Array,
        A_test: Any,
        y_test: Array,
        weights: Array | None,
        test_weights: Array | None,
        unit: float | None,
    ) -> None:
        n, features = A.shape
        self.ledger = Ledger()
        if not sparse.issparse(A) and not sparse.issparse(A_test):
            # Distances do not change when both move; far from the origin their computation cancels.
            centre = A.mean(axis=0)
            A, A_test = A - centre, A_test - centre
        self.distances = euclidean_distances(A, squared=True)
        self.test_distances = euclidean_distances(A_test, A, squared=True)
        self.root_weights = np.ones(n) if weights is None else np.sqrt(weights)
        self.b = self.root_weights * y
        self.y_test = y_test
        self.test_weights = np.ones(y_test.size) if test_weights is None else test_weights
        self.share = 1.0 if unit is None else n * n / unit
        self.test_share = self.share * y_test.size / n
        self.x0 = np.zeros(n)
        self.lam0 = np.array([-np.log(features), 0.0])
        self._last: tuple[float, Kernel] | None = None

    def at(self, x: Array, lam: Array) -> KernelRidgePoint:
        return KernelRidgePoint(self, x, lam)

    def kernel(self, log_width: float) -> Kernel:
        """The matrices at one width; the last is remembered."""
        if self._last is None or self._last[0] != log_width:
            self._last = (log_width, Kernel(self, float(np.exp(log_width))))
        return self._last[1]

    def dual_coef(self, x: Array) -> Array:
        """The coefficients that scikit-learn's KernelRidge would hold."""
        return self.root_weights * x

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def bound(self, point: KernelRidgePoint, q: Array, r: Array) -> float:
        """bound ≥ ‖p − ∇f‖ from residuals alone, since h and g are quadratic in x.

        With d = ‖∇₁h‖/α ≥ ‖x − X‖ and ‖q − q*‖ ≤ (‖r‖ + 2‖√s′K′‖² d)/α.
        """
        kernel, alpha = point.kernel, point.alpha
        x_size, q_size = np.linalg.norm(point.x), np.linalg.norm(q)
        scale = kernel.norm + alpha
        residual = np.linalg.norm(np.sqrt(self.test_weights) * point.residual)
        h_noise = ROUNDING * (scale * x_size + np.linalg.norm(self.b))
        q_noise = ROUNDING * (scale * q_size + kernel.test_norm * residual)
        d = (np.linalg.norm(point.h_x) + h_noise) / alpha
        test_norm, slope_norm = kernel.test_norm, kernel.test_slope_norm
        q_error = (np.linalg.norm(r) + q_noise + 2 * test_norm**2 * d) / alpha
        cross_x = np.linalg.norm(point.width_slope)
        width = kernel.slope_norm * d * q_size + (cross_x + kernel.slope_norm * d) * q_error
        ridge = alpha * (d * q_size + (x_size + d) * q_error)
        outer_x = np.linalg.norm(point.outer_slope)
        direct = 2 * d * (outer_x * test_norm + slope_norm * (residual + test_norm * d))
        rounding = ROUNDING * q_size * x_size * (kernel.slope_norm + alpha)
        return float(np.hypot(width + direct, ridge) + rounding)


class Kernel:
    """K, K′ and their derivatives in log γ, at one γ; rows and columns scaled by √s."""

    def __init__(self, problem: KernelRidgeProblem, gamma: float) -> None:
        self._problem, self._gamma = problem, gamma
        w = problem.root_weights
        self.K = np.exp(-gamma * problem.distances) * np.outer(w, w)
        problem.ledger.charge(kernels=problem.share)
        self._factor: tuple[float, Any] | None = None

    @cached_property
    def norm(self) -> float:
        return float(np.linalg.norm(self.K))

    @cached_property
    def K_test(self) -> Array:
        problem = self._problem
        problem.ledger.charge(kernels=problem.test_share)
        return np.asarray(np.exp(-self._gamma * problem.test_distances) * problem.root_weights)

    @cached_property
    def slope(self) -> Array:
        self._problem.ledger.charge(kernels=self._problem.share)
        return np.asarray(-self._gamma * self._problem.distances * self.K)

    @cached_property
    def test_slope(self) -> Array:
        self._problem.ledger.charge(kernels=self._problem.test_share)
        return np.asarray(-self._gamma * self._problem.test_distances * self.K_test)

    @cached_property
    def slope_norm(self) -> float:
        return float(np.linalg.norm(self.slope))

    @cached_property
    def test_norm(self) -> float:
        return float(np.linalg.norm(np.sqrt(self._problem.test_weights)[:, None] * self.K_test))

    @cached_property
    def test_slope_norm(self) -> float:
        return float(np.linalg.norm(np.sqrt(self._problem.test_weights)[:, None] * self.test_slope))

    def product(self, matrix: Array, v: Array) -> Array:
        self._problem.ledger.charge(passes=self._problem.share)
        return np.asarray(matrix @ v)

    def test_product(self, matrix: Array, v: Array) -> Array:
        self._problem.ledger.charge(held_out=self._problem.test_share)
        return np.asarray(matrix @ v)

    def inverse(self, alpha: float) -> Callable[[Array], Array]:
        """b ↦ (K + αI)⁻¹b by a Cholesky factor, n/6 passes; the last is remembered."""
        charge, share, n = self._problem.ledger.charge, self._problem.share, len(self.K)
        if self._factor is None or self._factor[0] != alpha:
            charge(passes=share * n / 6)
            self._factor = (alpha, cho_factor(self.K + alpha * np.eye(n)))
        factor = self._factor[1]

        def solve(b: Array) -> Array:
            charge(passes=share)
            return np.asarray(cho_solve(factor, b))

        return solve


class KernelRidgePoint:
    """h and g of kernel ridge regression at one (x, λ)."""

    def __init__(self, problem: KernelRidgeProblem, x: Array, lam: Array) -> None:
        self.problem, self.x, self.lam = problem, x, lam
        self.alpha = float(np.exp(lam[1]))

    @cached_property
    def kernel(self) -> Kernel:
        return self.problem.kernel(float(self.lam[0]))

    @cached_property
    def _Hx(self) -> Array:
        return self.kernel.product(self.kernel.K, self.x) + self.alpha * self.x

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
    def width_slope(self) -> Array:
        """∂∇₁h/∂λ₁ = (dK/d log γ) x."""
        return self.kernel.product(self.kernel.slope, self.x)

    @cached_property
    def cross(self) -> LinearOperator:
        return aslinearoperator(np.stack([self.width_slope, self.alpha * self.x], axis=1))

    @cached_property
    def residual(self) -> Array:
        kernel = self.kernel
        return self.problem.y_test - kernel.test_product(kernel.K_test, self.x)

    @cached_property
    def outer_slope(self) -> Array:
        """√s′ (dK′/d log γ) x."""
        slope = self.kernel.test_product(self.kernel.test_slope, self.x)
        return np.asarray(np.sqrt(self.problem.test_weights) * slope)

    @cached_property
    def g(self) -> float:
        return float(np.sum(self.problem.test_weights * self.residual**2))

    @cached_property
    def g_x(self) -> Array:
        weighted = self.problem.test_weights * self.residual
        return -2 * self.kernel.test_product(self.kernel.K_test.T, weighted)

    @cached_property
    def g_lam(self) -> Array:
        weighted = np.sqrt(self.problem.test_weights) * self.residual
        return np.array([-2 * float(weighted @ self.outer_slope), 0.0])

    @property
    def strong_convexity(self) -> float:
        return self.alpha


class KernelHessian(LinearOperator):  # type: ignore[misc]
    """∇²₁h = K + αI."""

    def __init__(self, point: KernelRidgePoint) -> None:
        super().__init__(float, (point.x.size, point.x.size))
        self._kernel, self._alpha = point.kernel, point.alpha

    def _matvec(self, v: Array) -> Array:
        v = np.ravel(v)
        return self._kernel.product(self._kernel.K, v) + self._alpha * v

    _rmatvec = _matvec

    def diagonal(self) -> Array:
        return np.asarray(np.diag(self._kernel.K) + self._alpha)

    def cholesky(self) -> Callable[[Array], Array]:
        return self._kernel.inverse(self._alpha)
