"""Penalties that side information explains: log α of every feature is Zα, with a few α to tune."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box
from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._criteria.base import Criterion
from hoag._criteria.wrapped import Affine, Loads
from hoag._glm.groups import Penalties
from hoag._glm.targets import Target
from hoag._glm.units import Units
from hoag.linear_model._sharing import Groups, Moved, Shares, Sizes, Structure

LEVEL = "level"  # the name of what all penalties have in common


class FromFeatures(Structure):
    """λ = α₀ + Zα with a row of Z for each penalty; made by hoag.penalties.from_features.

    Z          (s, r), of mean 0 and mean square 1 in every column
    groups     the number of the penalty of every feature, or coefficient; None: one each
    """

    def __init__(
        self, Z: Array, columns: Sequence[str], groups: npt.NDArray[np.intp] | None
    ) -> None:
        self.Z, self.columns, self.groups = Z, list(columns), groups

    def __repr__(self) -> str:
        told = ", ".join(self.names)
        return f"hoag.penalties.from_features({len(self.Z)} penalties: {told})"

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        return [LEVEL, *self.columns]

    def shares(self, u: Units, target: Target, curvature: float) -> Loadings:
        features = u.mean.size
        if self.groups is None and len(self.Z) != features:
            raise InvalidInput(
                f"from_features got {len(self.Z)} rows of side information, and X has {features} "
                "features: give one row for each, or groups=… and a row for each group."
            )
        given = "per-feature" if self.groups is None else self.groups
        return Loadings(self, Groups.of(given, u, target, curvature))


class Loadings(Shares):
    """The penalties of groups, moved by a few α."""

    def __init__(self, given: FromFeatures, groups: Groups) -> None:
        self._given, self._groups = given, groups
        self.log_shift = groups.log_shift

    @property
    def groups(self) -> Groups:
        return self._groups

    @property
    def penalties(self) -> Penalties:
        return self._groups.penalties

    @property
    def sizes(self) -> Sizes:
        return self._groups.sizes

    def parts(self, coef: Array) -> tuple[Array, float]:
        return self._groups.parts(coef)

    def left(self, coef: Array, lam: Array) -> Array:
        """α are no penalties: none is switched off by itself."""
        return np.ones(lam.size)

    def beside_data(self, lam: Array) -> Array:
        """And none is free."""
        return np.zeros(lam.size)

    def over(self, criterion: Criterion, box: Box, start: Array) -> Moved:
        """α₀ anywhere in the box of λ; others as far as a step of one in z crosses half of it."""
        Z = np.column_stack([np.ones(len(self._given.Z)), self._given.Z])
        loads, others = Loads(Z, box.lower, box.upper), Z.shape[1] - 1
        half = float(np.max(box.upper - box.lower)) / 2
        lower = np.r_[box.lower.min(), np.full(others, -half)]
        upper = np.r_[box.upper.max(), np.full(others, half)]
        at = np.r_[start.mean(), np.zeros(others)]
        level = (np.arange(others + 1) == 0).astype(float)
        return Moved(Affine(criterion, loads), Box(lower, upper), at, level, loads)
