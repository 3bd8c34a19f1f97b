"""Scores of one fit on all rows: f = Φ(z, V), with Vᵢ = AᵢH⁻¹Aᵢᵀ of shape (K, K) for every row.

H = Σᵢ AᵢᵀCᵢAᵢ + S is the Hessian of the fit, Aᵢ the map from x to the K outputs zᵢ of row i,
Cᵢ = sᵢ ∂²loss/∂z² and rᵢ = sᵢ ∂loss/∂z. A score has a value, and derivatives in z and in V; what
these mean for λ is the business of hoag._criteria.full_fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from hoag._core.numeric import Array
from hoag._criteria.along import Changes
from hoag._criteria.log_det import Bent
from hoag._glm.losses import LossAt, OuterLoss
from hoag._glm.term import DataTerm


class Judged(NamedTuple):
    """Φ, what each row adds to it (None where it is no sum), ∂Φ/∂z, (n, K), ∂Φ/∂V, (n, K, K)."""

    value: float
    rows: Array | None
    by_z: Array
    by_V: Array


@dataclass(frozen=True, eq=False)
class Seen:
    """The rows of a fit as a score sees them: z, as the loss takes it, and V, (n, K, K)."""

    term: DataTerm
    z: Array
    V: Array

    @cached_property
    def at(self) -> LossAt:
        return cast(LossAt, self.term.loss.at(self.term.y, self.z))

    @cached_property
    def r(self) -> Array:
        """s ∂loss/∂z, (n, K)."""
        return np.asarray(self.term.weights[:, None] * self.at.slope.reshape(self._shape))

    @cached_property
    def C(self) -> Array:
        """s ∂²loss/∂z², (n, K, K)."""
        columns = [self._bent(self.at.hvp(self._flat(unit))) for unit in self._units]
        return np.stack(columns, axis=2)

    @cached_property
    def degrees(self) -> float:
        """Σᵢ tr(CᵢVᵢ): how many coefficients the fit is worth."""
        return float(np.einsum("iab,iba->", self.C, self.V))

    def third(self, u: Array, v: Array) -> Array:
        """s · d/dt ∂²loss(z + tu)·v for u and v of shape (n, K)."""
        return self._bent(self.at.third(self._flat(u), self._flat(v)))

    def turned(self, V: Array) -> Array:
        """∂ Σᵢ tr(CᵢVᵢ)/∂z for a V that stays, (n, K)."""
        pairs = enumerate(self._units)
        return np.asarray(sum(self.third(unit, V[:, :, a]) for a, unit in pairs))

    def shaped(self, z: Array) -> Array:
        """(n, K) as the loss takes it."""
        return z.reshape(self.z.shape)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.V.shape[:2]

    @property
    def _units(self) -> list[Array]:
        return [np.tile(unit, (len(self.V), 1)) for unit in np.eye(self.V.shape[1])]

    def _flat(self, v: Array) -> Array:
        return v.reshape(self.z.shape)

    def _bent(self, v: Array) -> Array:
        return np.asarray(self.term.weights[:, None] * v.reshape(self._shape))


class Score(ABC):
    @abstractmethod
    def at(self, seen: Seen) -> Judged: ...


@dataclass(frozen=True, eq=False)
class LeftOut(Score):
    """Σᵢ sᵢ g(yᵢ, z̃ᵢ),  z̃ᵢ = zᵢ + Vᵢwᵢ,  wᵢ = (I − CᵢVᵢ)⁻¹rᵢ: approximate leave-one-out.

    z̃ᵢ is what one Newton step towards the fit without row i predicts for row i: exact where the
    loss is a square.
    """

    outer: OuterLoss

    def at(self, seen: Seen) -> Judged:
        weights, (w, Vw) = seen.term.weights, self._moved(seen)
        z = seen.shaped(seen.z.reshape(w.shape) + Vw)
        judged = self.outer.at(seen.term.y, z)
        slope = weights[:, None] * judged.slope.reshape(w.shape)
        C, V = seen.C, seen.V
        turned = _solved(_one(C) - V @ C, _times(V, slope))
        pull = slope + _times(C, turned)
        by_V = pull[:, :, None] * w[:, None, :]
        rows = weights * judged.value
        return Judged(
            float(rows.sum()),
            rows,
            pull + seen.third(turned, Vw),
            0.5 * (by_V + by_V.transpose(0, 2, 1)),
        )

    def predictions(self, seen: Seen) -> Array:
        """z̃, as the loss takes it."""
        _, Vw = self._moved(seen)
        return seen.shaped(seen.z.reshape(Vw.shape) + Vw)

    def _moved(self, seen: Seen) -> tuple[Array, Array]:
        w = _solved(_one(seen.C) - seen.C @ seen.V, seen.r)
        return w, _times(seen.V, w)


@dataclass(frozen=True, eq=False)
class ByDegrees(Score):
    """F(D, df) of the deviance D = u Σᵢ s̃ᵢ(loss − least loss) and df = Σᵢ tr(CᵢVᵢ).

    s̃ are the weights with mean 1 over the `n` rows that count, `observed` is n, or n times the
    number of targets; u is 2, so that D is the sum of squares for ½ squares; `least` = Σ s̃ times
    the least loss that any z has.
    """

    n: int
    observed: int
    least: float = 0.0
    unit: float = 2.0

    @abstractmethod
    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        """F, ∂F/∂D and ∂F/∂df."""

    @abstractmethod
    def bends(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        """∂²F/∂D², ∂²F/∂D∂df and ∂²F/∂df²."""

    def deviance(self, seen: Seen) -> float:
        weights = seen.term.weights
        return self._deviance(float(weights @ seen.at.value), float(weights.sum()))

    def _deviance(self, loss: float, weight: float) -> float:
        return self.unit * (self.n / weight * loss - self.least)

    def along_squares(self, fit: Any, j: int, places: Array, moved: Changes) -> Array:
        """F where λⱼ alone is another, (L,)."""
        pairs = zip(fit.loss + moved.loss, fit.degrees + moved.degrees, strict=True)
        return np.array([self.of(self._deviance(L, fit.weight), df)[0] for L, df in pairs])

    def of_squares(self, fit: Any) -> Bent:
        """F and its derivatives in λ, for a fit of squares as hoag._criteria.squares_fit has it."""
        loss, degrees, share = fit.loss_bent(), fit.degrees_bent(), self.unit * self.n / fit.weight
        D = Bent(self._deviance(loss.value, fit.weight), share * loss.grad, share * loss.hessian)
        value, by_D, by_df = self.of(D.value, degrees.value)
        DD, D_df, df_df = self.bends(D.value, degrees.value)
        both = np.outer(D.grad, degrees.grad)
        bent = by_D * D.hessian + by_df * degrees.hessian + D_df * (both + both.T)
        bent += DD * np.outer(D.grad, D.grad) + df_df * np.outer(degrees.grad, degrees.grad)
        return Bent(value, by_D * D.grad + by_df * degrees.grad, bent)

    def at(self, seen: Seen) -> Judged:
        value, by_D, by_df = self.of(self.deviance(seen), seen.degrees)
        share = self.unit * self.n / float(seen.term.weights.sum())
        by_z = by_D * share * seen.r + by_df * seen.turned(seen.V)
        return Judged(value, None, by_z, by_df * seen.C)


@dataclass(frozen=True, eq=False)
class Gcv(ByDegrees):
    """scale · D/(1 − df/n)²: generalised cross-validation, in the units of held-out losses."""

    scale: float = 1.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        gap = 1.0 - degrees / self.observed
        by_D = self.scale / gap**2
        value = by_D * deviance
        return value, by_D, 2.0 * value / gap / self.observed

    def bends(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        gap = 1.0 - degrees / self.observed
        by_D = self.scale / gap**2
        twice = 2.0 * by_D / gap / self.observed
        return 0.0, twice, 3.0 * twice * deviance / gap / self.observed


@dataclass(frozen=True, eq=False)
class Information(ByDegrees):
    """D/φ + price · df: Akaike's criterion for a price of 2, Schwarz's for log n."""

    price: float = 2.0
    dispersion: float = 1.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        return deviance / self.dispersion + self.price * degrees, 1.0 / self.dispersion, self.price

    def bends(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0


@dataclass(frozen=True, eq=False)
class OfSquares(ByDegrees):
    """exp(c/n) for c = n log(D/n) + price · df: the same for squares whose noise is not known.

    It is positive, and in the units of squares, so that a share of it is n times as much of c.
    """

    price: float = 2.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        by_D = float(np.exp(self.price * degrees / self.observed)) / self.observed
        value = by_D * deviance
        return value, by_D, value * self.price / self.observed

    def bends(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        _, by_D, by_df = self.of(deviance, degrees)
        return 0.0, by_D * self.price / self.observed, by_df * self.price / self.observed


@dataclass(frozen=True, eq=False)
class Cp(ByDegrees):
    """D + 2σ²df: Mallows' Cp, or Stein's unbiased estimate of the risk, + nσ².

    The expected squared error on new observations of the same rows.
    """

    noise: float = 1.0

    def of(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        return deviance + 2.0 * self.noise * degrees, 1.0, 2.0 * self.noise

    def bends(self, deviance: float, degrees: float) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0


def _one(C: Array) -> Array:
    return np.eye(C.shape[1])


def _times(M: Array, v: Array) -> Array:
    return np.asarray(np.einsum("iab,ib->ia", M, v))


def _solved(M: Array, b: Array) -> Array:
    """M⁻¹b row by row."""
    if M.shape[1] == 1:
        return np.asarray(b / M[:, :, 0])
    return np.asarray(np.linalg.solve(M, b[:, :, None])[:, :, 0])
