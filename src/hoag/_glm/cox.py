"""Cox regression as a data term: rows compared with each other in place of losses that are added.

h has L(s; z) for the weights s of the training rows. Held-out rows are judged by the
cross-validated partial likelihood of Verweij and van Houwelingen (1993),

    g = L(s + s′; z) − L(s; z),

what the held-out rows add to L at the x that was fitted without them. The likelihood of the
held-out rows alone, L(s′; z), compares them with each other only: of ten rows few pairs are left,
of one none. Here every held-out event is compared with all who were at risk, and every
held-out row counts in the risk sets of the training events; so folds may be small, down to one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._glm.losses import Loss
from hoag._glm.risk_sets import RiskSets, RiskSetsAt
from hoag._glm.term import Charge, DataTerm, Design

# A sign and its risk sets: L, or what rows add to it.
Parts = Sequence[tuple[float, RiskSets]]


class PartialLikelihood(Loss):
    """What stands in for a loss of single rows, which there is none of."""

    dispersion = 1.0

    def at(self, y: npt.NDArray[Any], z: Array) -> Any:
        raise InvalidInput("The partial likelihood is no sum over rows: ask its term at x.")


class HeldOutLikelihood(PartialLikelihood):
    """The same for g, which is another function than h's."""


class RiskTerm(DataTerm):
    """Σ ± L(s; z) with z = design(x), a sum over risk sets; the weights are inside.

    y, weights   the events, and what each counts: Σ weights is what g is divided by
    """

    row_by_row = False

    def __init__(
        self,
        design: Any,
        loss: PartialLikelihood,
        y: npt.NDArray[np.bool_],
        weights: Array,
        charge: Charge,
        parts: Parts,
    ) -> None:
        super().__init__(design, cast(Any, loss), y, weights, charge)
        self.parts = parts

    def seen_by(self, design: Design) -> DataTerm:
        if not design.touches:
            raise InvalidInput(
                "Cox regression is not solved for in a small space: use hoag.Implicit."
            )
        loss = cast(PartialLikelihood, self.loss)
        return RiskTerm(design, loss, self.y, self.weights, self.charge, self.parts)

    def at_scores(self, z: Array) -> Compared:
        rows = self.design.rows
        filled = rows.shape[0] * rows.shape[1] / max(rows.entries, 1)
        return Compared([(sign, sets.at(z)) for sign, sets in self.parts], filled)


class Compared:
    """Σ ± L at one z: a ScoresTerm of one output.

    passes   of `diagonal`, as much work as a pass over rows without zeros
    """

    def __init__(self, parts: Sequence[tuple[float, RiskSetsAt]], passes: float) -> None:
        self._parts, self.passes = parts, passes
        self.grams = sum(1.0 + at.sets.d.size / max(at.sets.n, 1) for _, at in parts)

    @cached_property
    def value(self) -> float:
        return sum(sign * at.value for sign, at in self._parts)

    @cached_property
    def slope(self) -> Array:
        return _added([sign * at.slope for sign, at in self._parts])

    @cached_property
    def curvature_bound(self) -> Array:
        return np.asarray(np.max([at.weights for _, at in self._parts], axis=0))

    def hvp(self, v: Array) -> Array:
        return _added([sign * at.hvp(v) for sign, at in self._parts])

    def third(self, u: Array, v: Array) -> Array:
        return _added([sign * at.third(u, v) for sign, at in self._parts])

    @property
    def mean_curvature(self) -> float:
        bounds = self.curvature_bound
        return float(bounds.sum() / max(int(np.sum(bounds > 0)), 1))

    def hessian(self, design: Any) -> Array:
        """Aᵀdiag(w)A − MᵀM, with M = √d∘ΠA."""
        each = [(sign, at.weights, at.means(design.rows)) for sign, at in self._parts]
        return _added([sign * (design.gram(w) - M.T @ M) for sign, w, M in each])

    def diagonal(self, design: Any) -> Array:
        each = [(sign, at.weights, at.means(design.rows)) for sign, at in self._parts]
        squares = design.rows.squared_backward
        return _added([sign * (squares(w) - np.sum(M**2, axis=0)) for sign, w, M in each])


def _added(parts: Sequence[Array]) -> Array:
    return np.asarray(np.sum(parts, axis=0))
