"""Ridge regression on all rows with its leverages, by a factor or by one decomposition.

    G = AᵀSA + Λ,   θ = G⁻¹AᵀSy,   B = AG⁻¹,   r = y − Aθ,   h = s diag(AG⁻¹Aᵀ)

    exact   a factor of G, p × p
    dual    where columns outnumber rows, of M = I + RΛ⁻¹Rᵀ with R = √S A: √S r = M⁻¹√S y,
            √S B = M⁻¹RΛ⁻¹, 1 − hᵢ = (M⁻¹)ᵢᵢ, which is no difference and has all its digits
    eigen   with one penalty, RᵀR = V diag(e) Vᵀ and Z = RV, or RRᵀ = Z diag(e) Zᵀ: for every λ

Rows are centred where there is an intercept, and h has sᵢ/Σs more, `share`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import ROUNDOFF, Array
from hoag._criteria.affordable import storable
from hoag._criteria.curvature.eigen import Decomposition, Eigen
from hoag._glm.centred import CentredRows
from hoag._glm.rows import BLOCK_ENTRIES
from hoag._linalg.cholesky import Factor
from hoag._linalg.operator import Inverse

# So many penalties, from rounding to the largest, are tried for the least that a Gram matrix bears.
TRIED = 32
TINY = np.finfo(float).tiny

# Rows and columns, A there, and B = AG⁻¹; all of them, some at a time.
Blocks = Iterator[tuple[slice, slice, Array, Array]]


@dataclass(frozen=True, eq=False)
class Leverages:
    """θ (p, K), the residuals r (n, K) and 1 − h (n,)."""

    theta: Callable[[], Array]
    residual: Array
    gap: Array


@dataclass(frozen=True, eq=False)
class FactoredLeverages(Leverages):
    """The same by a factor, which knows G⁻¹ and B."""

    alpha: Array
    condition: float
    inverse: Inverse
    blocks: Callable[[], Blocks]


def exact(rows: CentredRows, y: Array, alpha: Array) -> FactoredLeverages:
    """By the factor of G; rows are gone through in blocks, and kept where they are few."""
    n, p = rows.n, rows.p
    factor = Factor(np.diag(alpha) + rows.gram)
    rows.flops += p**3 / 3
    theta = factor(rows.backward(rows.weights[:, None] * y))

    def solved() -> Blocks:
        rows.flops += 2.0 * n * p**2
        for some, A in rows.row_blocks():
            yield some, slice(None), A, factor(A.T).T

    blocks = list(solved()).__iter__ if storable(n, p) else solved
    leverage = rows.share.copy()
    for some, _, A, B in blocks():
        leverage[some] += rows.weights[some] * np.einsum("ij,ij->i", A, B)
    gap, residual = np.maximum(1.0 - leverage, ROUNDOFF), y - rows.forward(theta)
    return FactoredLeverages(lambda: theta, residual, gap, alpha, 1 / factor.pivot, factor, blocks)


def dual(rows: CentredRows, y: Array, alpha: Array) -> FactoredLeverages:
    """By the factor of M; columns are gone through in blocks, but where they are few."""
    n, p, root = rows.n, rows.p, rows.root
    M = rows.dual_gram / alpha[0] if np.all(alpha == alpha[0]) else rows.dual(alpha)
    # √share is in the null space of R Rᵀ. Left at 1 beside the other eigenvalues, it would hide
    # 1 − h in rounding; raised to their size it leaves its part of M⁻¹ as small as theirs.
    null, raised = np.sqrt(rows.share), float(np.trace(M)) / n
    M += raised * np.outer(null, null)
    M[np.diag_indices(n)] += 1.0
    factor = Factor(M)
    inverse = factor(np.eye(n))
    rows.flops += n**3
    scaled = inverse @ (root * y)  # √s r
    gap = np.maximum(np.diag(inverse) - rows.share / (1.0 + raised), TINY)

    def solved() -> Blocks:
        rows.flops += 2.0 * n**2 * p
        for columns, R in rows.column_blocks():
            yield slice(None), columns, R / root, (inverse @ R) / alpha[columns] / root

    @cache
    def whole() -> tuple[Array, Array]:
        parts = [(A, B) for _, _, A, B in solved()]
        A, B = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
        return A, B

    def blocks() -> Blocks:
        return iter([(slice(None), slice(None), *whole())]) if storable(n, p) else solved()

    @cache
    def theta() -> Array:
        each = [(R.T @ scaled) / alpha[columns, None] for columns, R in rows.column_blocks()]
        return np.concatenate(each)

    def solve(b: Array) -> Array:
        """G⁻¹b = Λ⁻¹(b − Rᵀ M⁻¹ RΛ⁻¹b) = Λ⁻¹(b − AᵀSBb), for b of shape (p, m)."""
        A, B = whole()
        return np.asarray((b - A.T @ (root**2 * (B @ b))) / alpha[:, None])

    return FactoredLeverages(theta, scaled / root, gap, alpha, 1 / factor.pivot, solve, blocks)


class SpectrumRows(NamedTuple):
    """Some rows for many α: Z there, the residuals r (m, K, L), 1 − h (m, L), or its mean (1, L).

    dw, squares   what r and 1 − h move by with λ: see `Spectrum.slope`
    """

    some: slice
    Z: Array
    residual: Array
    gap: Array
    dw: Array
    squares: Array | None


class Spectrum(NamedTuple):
    """One decomposition for every λ, of RᵀR or, where columns outnumber rows, of RRᵀ.

        √S r = r₀ + Z diag(w) c,   1 − h = h₀ + Z² w − share w₀,   c = Zᵀ√S y
        Z = RV:                    r₀ = √S y, h₀ = 1, w = −1/(e + α), w₀ = 1
        RRᵀ = Z diag(e) Zᵀ:        r₀ = 0, h₀ = 0, w = α/(e + α), w₀ = α/(raised + α)

    raised   the eigenvalue that stands for the intercept, where RRᵀ is decomposed
    """

    rows: CentredRows
    y: Array  # centred, (n, K)
    eigen: Eigen
    Z: Array
    c: Array
    raised: float = 0.0

    @property
    def wide(self) -> bool:
        return self.rows.p > self.rows.n

    def weights(self, alphas: Array) -> tuple[Array, Array]:
        """w and dw/dλ, with −w₀ below, (r + 1, L)."""
        e = self.eigen.e[:, None]
        kept = alphas / (e + alphas)
        if not self.wide:
            ones = np.ones((1, alphas.size))
            w, dw = -1.0 / (e + alphas), kept / (e + alphas)
            return np.vstack([w, -ones]), np.vstack([dw, 0.0 * ones])
        kept = np.vstack([kept, alphas / (self.raised + alphas)])
        sign = np.append(np.ones(len(e)), -1.0)[:, None]
        return sign * kept, sign * kept * (1.0 - kept)

    def parts(self, alphas: Array, mean: bool) -> Iterator[SpectrumRows]:
        """All rows, some at a time, so that what is made of them stays near the processor.

        mean   h is that of all rows
        """
        (w, dw), (n, targets) = self.weights(alphas), self.y.shape
        moved = (w[:-1, None, :] * self.c[:, :, None]).reshape(len(w) - 1, -1)
        height = max(1, int(BLOCK_ENTRIES / (4 * alphas.size * targets + len(w))))
        gap, squares = self._above_0(np.sum(self._totals * w, axis=0, keepdims=True) / n), None
        for start in range(0, n, height):
            some = slice(start, min(start + height, n))
            Z, root = self.Z[some], self.rows.root[some, :, None]
            residual = (Z @ moved).reshape(len(Z), targets, -1) / root
            if not self.wide:
                residual += self.y[some, :, None]
            if not mean:
                squares = Z * Z
                gap = self._above_0(squares @ w[:-1] + self.rows.share[some, None] * w[-1])
            yield SpectrumRows(some, Z, residual, gap, dw, squares)

    def _above_0(self, gap: Array) -> Array:
        """1 − h from what is added to h₀: a difference of numbers near 1, or none."""
        return np.maximum(gap, TINY) if self.wide else np.maximum(1.0 + gap, ROUNDOFF)

    @property
    def _totals(self) -> Array:
        """The squares of all rows, summed, (r + 1, 1)."""
        e = self.eigen.e
        return np.append(np.ones_like(e) if self.wide else e, self.rows.share.sum())[:, None]

    def slope(self, part: SpectrumRows, u: Array, v: Array) -> Array:
        """Σᵢ uᵢ drᵢ/dλ + vᵢ dhᵢ/dλ of some rows, (L,)."""
        scaled = u / self.rows.root[part.some, :, None]
        Zu = (part.Z.T @ scaled.reshape(len(u), -1)).reshape(-1, *u.shape[1:])
        moved = np.sum(Zu * part.dw[:-1, None, :] * self.c[:, :, None], axis=(0, 1))
        squares = self._totals * v.sum(axis=0) / len(self.Z)
        if part.squares is not None:
            squares = np.vstack([part.squares.T @ v, self.rows.share[part.some] @ v])
        return np.asarray(moved - np.sum(squares * part.dw, axis=0))

    def fit(self, alpha: float) -> Leverages:
        self.rows.flops += 4.0 * self.Z.size
        parts = list(self.parts(np.array([alpha]), mean=False))
        q = self.c / (self.eigen.e + alpha)[:, None]

        def theta() -> Array:
            if not self.wide:
                return np.asarray(self.eigen.V @ q)
            return np.concatenate([R.T @ (self.Z @ q) for _, R in self.rows.column_blocks()])

        residual = np.concatenate([part.residual[:, :, 0] for part in parts])
        return Leverages(theta, residual, np.concatenate([part.gap[:, 0] for part in parts]))

    def of_targets(self, rows: CentredRows, targets: npt.NDArray[np.intp]) -> Spectrum:
        return self._replace(rows=rows, y=self.y[:, targets], c=self.c[:, targets])


class Spectra(Decomposition[Spectrum]):
    """The decompositions of all rows.

    mean   the mean of 1 − h is wanted, and not each
    """

    def __init__(self, rows: CentredRows, y: Array, mean: bool) -> None:
        self.rows, self.y, self.mean = rows, y, mean

    def trusts(self, alpha: float) -> bool:
        return alpha >= self.trusted_from

    def serving(self, alphas: Array) -> Iterator[tuple[Spectrum, npt.NDArray[np.bool_]]]:
        """The decompositions that some α need, and which of these each is for."""
        trusted = alphas >= self.trusted_from
        if np.any(trusted):
            yield self.by_gram, trusted
        if not np.all(trusted):
            yield self.by_rows, ~trusted

    @cached_property
    def trusted_from(self) -> float:
        """The least α at which the Gram matrix serves: what it loses of 1 − h is little of it.

        1 − hᵢ grows with α; where columns outnumber rows it is no difference, and as right as any
        of its parts.
        """
        known, e = self.by_gram, self.by_gram.eigen.e
        for alpha in (0.0, *np.geomspace(ROUNDOFF * e[-1], e[-1], TRIED)) if e[-1] > 0 else ():
            room = 1.0
            if not known.wide and alpha + e[0] > 0:
                parts = known.parts(np.array([alpha]), self.mean)
                room = min(float(part.gap.min()) for part in parts)
            if known.eigen.serves(alpha, room):
                return float(alpha)
        return 0.0 if e[-1] == 0 else np.inf

    @cached_property
    def by_gram(self) -> Spectrum:
        rows, y = self.rows, self.rows.root * self.y
        n, p = rows.n, rows.p
        if p > n:
            K = rows.dual_gram
            null, raised = np.sqrt(rows.share), float(np.trace(K)) / n  # see `dual`
            known = Eigen.of_gram(K + raised * np.outer(null, null))
            rows.flops += 9.0 * n**3
            return Spectrum(rows, self.y, known, known.V, known.V.T @ y, raised)
        known = Eigen.of_gram(rows.gram)
        rows.flops += 9.0 * p**3 + 2.0 * n * p**2
        Z = rows.forward(known.V)
        Z *= rows.root
        return Spectrum(rows, self.y, known, Z, Z.T @ y)

    @cached_property
    def by_rows(self) -> Spectrum:
        rows, y, A = self.rows, self.rows.root * self.y, self.rows.scaled
        rank = min(rows.p, rows.n - int(np.any(rows.share)))  # rows that are centred sum to 0
        rows.flops += 30.0 * A.size * min(A.shape)
        U, sigma, known = Eigen.of_rows(A, rank)
        Z = U if rows.p > rows.n else U * sigma
        return Spectrum(rows, self.y, known, Z, Z.T @ y, np.inf)

    def of_targets(self, rows: CentredRows, targets: npt.NDArray[np.intp]) -> Spectra:
        """The same for some of the targets."""
        part = Spectra(rows, self.y[:, targets], self.mean)
        part.trusted_from, part.by_gram = self.trusted_from, self.by_gram.of_targets(rows, targets)
        if self.trusted_from > 0:
            part.by_rows = self.by_rows.of_targets(rows, targets)
        return part
