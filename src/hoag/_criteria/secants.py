"""What passes over the rows have told of curvature: pairs (v, ∇²L v) that mend a preconditioner.

    V G⁻¹Vᵀr + (I − V G⁻¹Yᵀ) P⁻¹ (I − Y G⁻¹Vᵀ) r,   Y = ∇²₁h V,   G = VᵀY

What the pairs span is solved exactly, and what is left by P: as conjugate gradients would, with
steps that were taken for other reasons. Pairs are of the data alone, so that they serve at any λ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from hoag._core.numeric import EXACT, Array
from hoag._core.storable import storable
from hoag._criteria.reduced import MOST
from hoag._glm.penalties import QuadraticForm
from hoag._linalg.symmetric import eigenvectors

KEPT = MOST // 2  # pairs of a step and what all rows said of it
SPANNED = EXACT**0.5  # what of a pair others have said already but for this share is no news


class Preconditioner(ABC):
    """P_k, which stands for ∇²₁h_k of every fold; `about` is the x of the curvatures in it."""

    about: Array

    @abstractmethod
    def solve(self, R: Array, penalty: QuadraticForm) -> Array:
        """P_k⁻¹r_k for every fold, (K, size)."""

    @property
    @abstractmethod
    def last(self) -> Preconditioner:
        """That of the last fold alone."""

    def held_out(self, D: Array) -> Array | None:
        """∇²g_k d_k for every fold; None where it is not known."""
        return None


@storable
@dataclass(frozen=True, eq=False)
class Secants:
    """Steps v_k with ∇²L_k v_k, for every fold."""

    steps: tuple[Array, ...] = ()
    curved: tuple[Array, ...] = ()

    def plus(self, V: Array, HV: Array) -> Secants:
        """With one more; the oldest makes room."""
        return Secants((*self.steps, V)[-KEPT:], (*self.curved, HV)[-KEPT:])

    @property
    def last(self) -> Secants:
        """Those of the last fold alone, but for steps of 0."""
        own = [(V[-1:], HV[-1:]) for V, HV in zip(self.steps, self.curved, strict=True)]
        own = [pair for pair in own if np.any(pair[0])]
        return Secants(tuple(V for V, _ in own), tuple(HV for _, HV in own))

    def solve(self, preconditioner: Preconditioner, penalty: QuadraticForm, R: Array) -> Array:
        """What stands for ∇²₁h⁻¹r of every fold."""
        curved = [HV + penalty.apply(V) for V, HV in zip(self.steps, self.curved, strict=True)]
        if not curved:
            return preconditioner.solve(R, penalty)
        V, Y = np.stack(self.steps, axis=1), np.stack(curved, axis=1)  # (K, pairs, size)
        inverses = [_inverse(own, bent) for own, bent in zip(V, Y, strict=True)]
        spanned = np.stack([T @ (own @ r) for T, own, r in zip(inverses, V, R, strict=True)])
        D = preconditioner.solve(R - np.einsum("kj,kji->ki", spanned, Y), penalty)
        spanned -= [T @ (bent @ d) for T, bent, d in zip(inverses, Y, D, strict=True)]
        return np.asarray(D + np.einsum("kj,kji->ki", spanned, V))


def _inverse(V: Array, Y: Array) -> Array:
    """G⁻¹ for the pairs of one fold; directions in which they say nothing are left out."""
    G = V @ Y.T
    found, told = np.zeros_like(G), np.flatnonzero(np.diag(G) > 0)
    sizes = np.sqrt(np.diag(G)[told])
    G = G[np.ix_(told, told)] / np.outer(sizes, sizes)
    e, U = eigenvectors((G + G.T) / 2)
    kept = e > SPANNED
    U = U[:, kept] / sizes[:, None]
    found[np.ix_(told, told)] = (U / e[kept]) @ U.T
    return found
