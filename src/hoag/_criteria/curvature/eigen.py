"""The curvature of squares with one penalty: one decomposition for every λ.

    AᵀSA = V diag(e) Vᵀ,      (AᵀSA + αI)⁻¹ = V diag(1/(e + α)) Vᵀ,      α = e^λ

A Gram matrix is right to rounding of its largest eigenvalue, `lost`, so what is divided by e + α
is wrong by lost/(e₀ + α) of itself. Where that is too much (collinear columns, weak penalties) the
rows themselves are decomposed, which finds small e to as many digits as large ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.numeric import EXACT, ROUNDING, ROUNDOFF, Array
from hoag._criteria.affordable import storable
from hoag._criteria.moments import CellMoments, Means
from hoag._glm.in_memory import At
from hoag._glm.losses import OuterLoss, Squared
from hoag._linalg import eigen as linalg

# A Gram matrix serves while what rounding does to X(λ) is at most this share of it.
GRAM_ERROR = EXACT**0.5


class Eigen(NamedTuple):
    """e, the least first, and V; by how much any e may be wrong."""

    e: Array
    V: Array
    lost: float

    @staticmethod
    def of_gram(G: Array) -> Eigen:
        e, V = linalg.eigen(G)
        return Eigen(e, V, ROUNDOFF * float(e[-1]))

    @staticmethod
    def of_rows(A: Array, rank: int | None = None) -> tuple[Array, Array, Eigen]:
        """U and σ, A = U diag(σ) Vᵀ, and e = σ²; of the `rank` largest alone."""
        kept = slice(-rank if rank else None, None)
        U, sigma, V = (part[..., kept] for part in linalg.singular(A))
        return U, sigma, Eigen(sigma**2, V, 0.0)

    def rounding(self, alpha: Any) -> Any:
        """The share by which what is divided by e + α may be wrong because e is."""
        return self.lost / np.maximum(alpha + self.e[0], np.finfo(float).tiny)

    def serves(self, alpha: float, room: float = 1.0) -> bool:
        """Whether that is little, of a number of which `room` is left after it was taken from 1."""
        return bool(self.lost <= GRAM_ERROR * room * (alpha + self.e[0]))

    @property
    def least(self) -> float:
        """The least e that is more than rounding; ∞ where there is none."""
        return float(np.min(self.e[self.e > ROUNDING**2 * self.e[-1]], initial=np.inf))

    def solve(self, alpha: float, b: Array) -> Array:
        """(AᵀSA + αI)⁻¹b, for b of shape (p, m)."""
        return np.asarray(self.V @ ((self.V.T @ b) / (self.e + alpha)[:, None]))


class Decomposed(Protocol):
    @property
    def eigen(self) -> Eigen: ...


T = TypeVar("T", bound=Decomposed)


class Decomposition(ABC, Generic[T]):
    """By the Gram matrix, and where α needs more digits by the rows; each is made once.

    has_rows   whether the rows can be decomposed
    """

    has_rows = True

    @property
    @abstractmethod
    def by_gram(self) -> T: ...

    @property
    @abstractmethod
    def by_rows(self) -> T: ...

    def at(self, alpha: float) -> T:
        """As well decomposed as α needs it."""
        return self.by_gram if self.trusts(alpha) or not self.has_rows else self.by_rows

    def trusts(self, alpha: float) -> bool:
        """Whether the Gram matrix serves."""
        return self.by_gram.eigen.serves(alpha)

    def least(self, cheap: bool) -> float:
        """The least e; ∞ where there is none, or rows have to be decomposed and are not `cheap`."""
        return self.at(0.0).eigen.least if cheap or self.trusts(0.0) else np.inf


# ---------------------------------------------------------------- a fold of ridge regression


class HeldMoments(NamedTuple):
    """Σᵢ s′ᵢ scale (yᵢ − ȳ − (aᵢ − ā)ᵀUq)² = scale (c − 2v·q + qᵀVq), V and v in the basis U."""

    V: Array
    v: Array
    c: float
    scale: float

    def at(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        """The loss, its slope along dq, and the size of the numbers that it is a difference of.

        q and dq of shape (r, targets, L), for L penalties; each answer of shape (L,).
        """
        v = self.v[:, :, None]
        half = (self.V @ q.reshape(len(q), -1)).reshape(q.shape) - v
        value = self.c + np.sum(q * (half - v), axis=(0, 1))
        slope = 2 * np.sum(dq * half, axis=(0, 1))
        return self.scale * value, self.scale * slope, np.full(value.size, self.scale * self.c)


class HeldRows(NamedTuple):
    """Σᵢ s′ᵢ loss′(yᵢ − ȳ, (Zq)ᵢ) with Z = (A′ − 1āᵀ)U."""

    Z: Array
    y: Array
    weights: Array
    outer: OuterLoss

    def at(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        z, dz = (np.tensordot(self.Z, part, 1).transpose(0, 2, 1) for part in (q, dq))
        at = At(self.outer, self.y[:, 0] if self.y.shape[1] == 1 else self.y, z)
        value = self.weights @ at.value
        return value, np.einsum("i,ilt,ilt->l", self.weights, at.slope, dz), np.abs(value)


class FoldAt(NamedTuple):
    """A fold decomposed, G = U diag(e) Uᵀ, with c = UᵀB, and how its held-out rows see q."""

    eigen: Eigen
    c: Array
    means: Means
    held: HeldMoments | HeldRows

    def at(self, alphas: Array) -> tuple[Array, Array, Array]:
        """f and df/dλ for many α, and the size of what f is a difference of."""
        shrunk = self.eigen.e[:, None, None] + alphas
        q = self.c[:, :, None] / shrunk
        return self.held.at(q, -alphas * q / shrunk)

    def slopes(self, alpha: float) -> Array:
        """W = Uq."""
        return np.asarray(self.eigen.V @ (self.c / (self.eigen.e + alpha)[:, None]))


class Fold(Decomposition[FoldAt]):
    """The cells that a fold trains on and holds out, and √w of its penalties ½e^λ Σⱼ wⱼxⱼ².

    Columns are divided by √w: U is for x, not for √w·x.
    """

    def __init__(
        self,
        cells: CellMoments,
        outer: OuterLoss,
        train: npt.NDArray[np.bool_],
        test: npt.NDArray[np.bool_],
        root: Array,
    ) -> None:
        self.cells, self.train, self.test, self.root, self.outer = cells, train, test, root, outer
        design = cells.design
        self.has_rows = design.in_memory or storable(design.n, cells.span.features)

    @cached_property
    def by_gram(self) -> FoldAt:
        clock.check()
        own, design = self.cells.fold(self.train, self.test), self.cells.design
        known = Eigen.of_gram(own.G / self.root / self.root[:, None])
        U = known.V / self.root[:, None]
        design.ledger.charge(grams=4.5 * len(U) / design.n)  # 9r³ operations
        held: HeldRows | HeldMoments
        if type(self.outer) is Squared and design.counts[self.test].sum() > len(U):
            size = float(own.c.sum())
            held = HeldMoments(U.T @ own.V @ U, U.T @ own.v, size, self.outer.scale)
        else:  # moments would be more numbers, or do not do
            held = self._held_rows(own.means, U)
        return FoldAt(known._replace(V=U), U.T @ own.B, own.means, held)

    @cached_property
    def by_rows(self) -> FoldAt:
        A, y, s = self.cells.rows(self.train)
        means = self.cells.means(s @ A, s @ y, float(s.sum()))
        scale = np.sqrt(s)[:, None]
        Z, sigma, known = Eigen.of_rows(scale * (A - means.a) / self.root)
        # Dividing by a column's own root leaves errors of rounding in every singular value.
        U = known.V / self.root[:, None]
        self.cells.design.ledger.charge(grams=10.0)
        c = sigma[:, None] * (Z.T @ (scale * (y - means.y)))
        return FoldAt(known._replace(V=U), c, means, self._held_rows(means, U))

    def _held_rows(self, means: Means, U: Array) -> HeldRows:
        A, y, s = self.cells.rows(self.test)
        return HeldRows((A - means.a) @ U, y - means.y, s, self.outer)
