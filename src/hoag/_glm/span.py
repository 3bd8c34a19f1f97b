"""Columns that are more than the rows, penalised alike: written in the space that the rows span.

    A_G = R_G U_Gᵀ,   x_G = U_G c_G,   ‖x_G‖ = ‖c_G‖

for every group G of more columns than rows, with U_G orthonormal, (columns of G, n). What of x_G is
orthogonal to the rows of the group changes no prediction and is penalised, so X(λ) has none of it,
at any λ: with R_G in place of A_G this is the same model in fewer coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.design import FoldedDesign
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Penalty, Ridge
from hoag._glm.rows import ArrayRows, Rows
from hoag._linalg.orthogonal import orthonormal

Index = npt.NDArray[np.intp]
D = TypeVar("D", bound=FoldedDesign)


@dataclass(frozen=True, eq=False)
class Span:
    """The columns kept as they are, then the coordinates c_G of every wide group.

    kept   the numbers of columns of narrow groups, and of those that no λ reaches
    wide   the columns of each wide group, and U_G; none where there is nothing to gain
    rows   all rows so written, for each set of them
    """

    kept: Index
    wide: list[tuple[Index, Array]] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)

    @staticmethod
    def of(model: LinearModel, design: FoldedDesign) -> Span:
        """For the penalties of a model, which are those of all folds, and the rows of all."""
        groups, kept = wide_groups(model, design.n), np.arange(model.train.design.features)
        if not groups:
            return Span(kept)
        arrays = [own.dense() for own in design.rows]
        A, wide = np.concatenate(arrays), []
        kept = np.setdiff1d(kept, np.concatenate(groups))
        written = [A[:, kept]]
        for own in groups:
            U, R = orthonormal(A[:, own].T)
            wide.append((own, U))
            written.append(R.T)
        design.ledger.charge(grams=2.0 * sum(own.size for own in groups) / A.shape[1])
        ends = np.cumsum([len(part) for part in arrays])[:-1]
        rows: list[Rows] = [ArrayRows(part) for part in np.split(np.hstack(written), ends)]
        return Span(kept, wide, rows)

    @property
    def features(self) -> int:
        """How many columns the rows have as they are given."""
        return self.kept.size + sum(own.size for own, _ in self.wide)

    @cached_property
    def alike(self) -> Index:
        """For each coordinate a column that is penalised as it is."""
        stand = [np.full(U.shape[1], own[0]) for own, U in self.wide]
        return np.concatenate([self.kept, *stand])

    def written(self, design: D) -> D:
        """The same folds with their rows in this basis."""
        return cast(D, design.on(self.rows)) if self.wide else design

    def penalty(self, model: LinearModel) -> Penalty:
        """That of a model, for x as it is laid out in this basis."""
        if not self.wide:
            return model.penalty
        own = cast(Ridge, model.penalty)
        assert not own.weighted  # such columns are of other scales in every fold
        others = own.groups[model.train.design.slopes :]
        groups = np.append(model.groups[self.alike].ravel(), others)
        return Ridge(groups, own.floor, own.shift)

    def lifted(self, C: Array) -> Array:
        """W, (…, features, m), from its coordinates, (…, r, m)."""
        if not self.wide:
            return C
        W = np.empty((*C.shape[:-2], self.features, C.shape[-1]))
        W[..., self.kept, :] = C[..., : self.kept.size, :]
        first = self.kept.size
        for own, U in self.wide:
            last = first + U.shape[1]
            W[..., own, :] = U @ C[..., first:last, :]
            first = last
        return W

    def within(self, W: Array) -> Array:
        """The coordinates of W, or of a gradient: the transpose of `lifted`."""
        if not self.wide:
            return W
        turned = [U.T @ W[..., own, :] for own, U in self.wide]
        return np.concatenate([W[..., self.kept, :], *turned], axis=-2)


def wide_groups(model: LinearModel, n: int) -> list[Index]:
    """The columns of each group of more than n that are penalised alike, output by output."""
    if model.train.design.features <= n or model.penalty.groups is None:
        return []
    kinds, which, counts = np.unique(model.groups, axis=0, return_inverse=True, return_counts=True)
    chosen = np.flatnonzero((counts > n) & np.all(kinds >= 0, axis=1))
    return [np.flatnonzero(np.ravel(which) == kind) for kind in chosen]


def narrowed(model: LinearModel, n: int) -> int:
    """How many columns are left once wide groups are written in the span of n rows."""
    saved = sum(own.size - n for own in wide_groups(model, n))
    return int(model.train.design.features - saved)
