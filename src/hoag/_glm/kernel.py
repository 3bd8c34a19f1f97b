"""The matrices of an RBF kernel at one γ: K between training rows, K′ to the held-out ones."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError

from hoag._core.numeric import Array
from hoag._glm.widths import Applied
from hoag._linalg.cholesky import Factor, Inverse
from hoag._linalg.symmetric import eigenvectors

if TYPE_CHECKING:
    from hoag._glm.kernel_ridge import KernelRidgeProblem


def _exp_of_symmetric(E: Array, height: int = 128) -> Array:
    """exp of every entry, in place; of a pair of entries only one is computed."""
    for start in range(0, len(E), height):
        rows = slice(start, start + height)
        E[rows, start:] = np.exp(E[rows, start:])
        E[start + height :, rows] = E[rows, start + height :].T
    return E


class Kernel:
    """K, K′ and their derivatives in log γ, at one γ; rows and columns scaled by √s."""

    def __init__(self, problem: KernelRidgeProblem, gamma: Array) -> None:
        self._problem, self._gamma = problem, gamma
        w = problem.root_weights
        self.K = _exp_of_symmetric(problem.widths.exponent(gamma))
        self.K *= w[:, None]
        self.K *= w
        problem.ledger.charge(kernels=problem.share)
        self._factor: tuple[float, Inverse] | None = None

    @cached_property
    def norm(self) -> float:
        return float(np.linalg.norm(self.K))

    @cached_property
    def K_test(self) -> Array:
        problem = self._problem
        problem.ledger.charge(kernels=problem.test_share)
        K_test = problem.test_widths.exponent(self._gamma)
        np.exp(K_test, out=K_test)
        K_test *= problem.root_weights
        return K_test

    def applied(self, x: Array) -> Array:
        """What (dK/d log γⱼ) x is made of, see `hoag._glm.widths`."""
        problem = self._problem
        problem.ledger.charge(kernels=problem.share, passes=problem.widths.products * problem.share)
        return problem.widths.applied(self.K, x)

    def test_applied(self, x: Array) -> Array:
        self._charge_test()
        return self._problem.test_widths.applied(self.K_test, x)

    def test_pulled(self, v: Array) -> Array:
        """As `test_applied`, by K′ᵀ to what held-out rows have."""
        self._charge_test()
        return self._problem.test_widths.transposed.applied(self.K_test.T, v)

    def _charge_test(self) -> None:
        problem, products = self._problem, self._problem.widths.products
        problem.ledger.charge(kernels=problem.test_share, held_out=products * problem.test_share)

    @cached_property
    def slope_norm(self) -> float:
        self._problem.ledger.charge(kernels=self._problem.widths.size * self._problem.share)
        return self._problem.widths.slope_norm(self.K, self._gamma)

    @cached_property
    def slope_scale(self) -> float:
        """The size of the terms that `slopes` adds up, for their rounding."""
        return self._problem.widths.slope_scale(self.K, self._gamma)

    @cached_property
    def test_norm(self) -> float:
        return float(np.linalg.norm(np.sqrt(self._problem.test_weights)[:, None] * self.K_test))

    @cached_property
    def test_slope_norm(self) -> float:
        problem, size = self._problem, self._problem.widths.size
        problem.ledger.charge(kernels=size * problem.test_share)
        weighted = np.sqrt(problem.test_weights)[:, None] * self.K_test
        return problem.test_widths.slope_norm(weighted, self._gamma)

    def bends(self, q: Applied, x: Applied) -> Array:
        """qᵀ(d²K/d log γᵢ d log γⱼ) x, shape (widths, widths)."""
        problem = self._problem
        problem.ledger.charge(passes=problem.widths.pairs * problem.share)
        return problem.widths.bends(self.K, q, x, self._gamma)

    def test_bends(self, v: Applied, x: Applied) -> Array:
        """vᵀ(d²K′/d log γᵢ d log γⱼ) x, shape (widths, widths)."""
        problem = self._problem
        problem.ledger.charge(held_out=problem.widths.pairs * problem.test_share)
        return problem.test_widths.bends(self.K_test, v, x, self._gamma)

    def product(self, matrix: Array, v: Array) -> Array:
        self._problem.ledger.charge(passes=self._problem.share * _columns(v))
        return np.asarray(matrix @ v)

    def test_product(self, matrix: Array, v: Array) -> Array:
        self._problem.ledger.charge(held_out=self._problem.test_share * _columns(v))
        return np.asarray(matrix @ v)

    def inverse(self, alpha: float) -> Inverse:
        """b ↦ (K + αI)⁻¹b by a Cholesky factor, n/6 passes; the last is remembered."""
        charge, share, n = self._problem.ledger.charge, self._problem.share, len(self.K)
        if self._factor is None or self._factor[0] != alpha:
            charge(passes=share * n / 6)
            ridged = self.K.copy()
            np.einsum("ii->i", ridged)[:] += alpha
            self._factor = (alpha, Factor(ridged))
        inverse = self._factor[1]

        def solve(b: Array) -> Array:
            charge(passes=share * _columns(b))
            return np.asarray(inverse(b))

        return solve

    def values(self, alphas: Array) -> Array:
        """g at the solutions for many ridges.

        By one decomposition K = U diag(e) Uᵀ, which takes the 9n³ operations of 27 factors.
        """
        problem = self._problem
        share, n, X = problem.share, len(self.K), None
        if alphas.size < 27:
            with suppress(LinAlgError):  # of a ridge below rounding
                X = np.stack([self.inverse(float(alpha))(problem.b) for alpha in alphas], axis=1)
        if X is None:
            e, U = eigenvectors(self.K)
            X = U @ ((U.T @ problem.b)[:, None] / (np.maximum(e, 0.0)[:, None] + alphas))
            problem.ledger.charge(passes=share * (4.5 * n + alphas.size))
        problem.ledger.charge(held_out=problem.test_share * alphas.size)
        z = self.K_test @ X
        losses = problem.outer.at(np.repeat(problem.y_test, alphas.size), z.ravel()).value
        return np.asarray(problem.test_weights @ losses.reshape(z.shape))


def _columns(v: Array) -> int:
    return 1 if v.ndim == 1 else v.shape[1]
