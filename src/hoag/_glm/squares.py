"""The rows of folds of squares, by what is sufficient to fit and to judge them at any x.

    L_k(x) = L_k(x₀) + bᵀd + ½dᵀG_kd,   g_k(x) = g_k(x₀) + cᵀd + ½dᵀG′_kd,   d = x − x₀

Two passes over the rows have x₀, for each fold the fit with next to no penalty, and all else there;
what follows is of the size of the coefficients, whatever the number of rows. From 0 the loss of a
fit that is nearly perfect would be a difference of large numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import NamedTuple, cast

import numpy as np

from hoag._core.numeric import EXACT, Array
from hoag._glm.design import FoldedDesign, FoldedHessian, RowwiseDesign, Sums
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel
from hoag._glm.rows import Rows
from hoag._linalg.cholesky import factors, solved


class SquaresDesign(FoldedDesign):
    """Some folds of squares; passes over their rows are those that make it."""

    def __init__(self, given: RowwiseDesign) -> None:
        self.given, self.predictor, self.ledger = given, given.predictor, given.ledger

    @property
    def folds(self) -> int:
        return self.given.folds

    @property
    def n(self) -> int:
        return self.given.n

    @property
    def rows(self) -> list[Rows]:
        return self.given.rows

    @property
    def weights(self) -> Array:
        return self.given.weights

    @property
    def in_memory(self) -> bool:
        return self.given.in_memory

    def like(self, models: Sequence[LinearModel]) -> FoldedDesign | None:
        return self.given.like(models)

    def on(self, rows: Sequence[Rows]) -> FoldedDesign:
        return self.given.on(rows)

    def softened(self) -> None:
        """None: squares are as soft as can be."""
        return

    @cached_property
    def _about(self) -> _Expanded:
        """About the fit with a penalty on each coefficient of EXACT times its own curvature."""
        given, size = self.given, self.predictor.size
        _, gradient, cells = given.expanded(np.zeros(size))
        cells = 0.5 * (cells + cells.transpose(0, 2, 1))
        train, test = given.train.astype(float), given.test.astype(float)
        G, b = np.tensordot(train, cells, axes=1), train @ gradient
        nearly, diagonal = G.copy(), np.einsum("kii->ki", G)
        np.einsum("kii->ki", nearly)[:] += EXACT * (diagonal + (diagonal == 0))
        X = -solved(factors(nearly, np.zeros(0)), b)
        nothing = np.zeros_like(X)
        at, before = given.sums(X), given.sums(nothing)
        fell = (at.value <= before.value)[:, None]
        if not np.all(fell):
            X = np.where(fell, X, nothing)
            at = given.sums(X)
        judged = cast(Squared, given.outer).scale / cast(Squared, given.loss).scale
        return _Expanded(X, at, G, judged * np.tensordot(test, cells, axes=1))

    def sums(
        self, X: Array, T: Array | None = None, curved: bool = False, valued: bool = True
    ) -> Sums:
        x0, at, G, judged = self._about
        D = X - x0
        GD, JD = _times(G, D), _times(judged, D)
        value = at.value + np.sum(D * (at.gradient + 0.5 * GD), axis=1)
        return Sums(
            np.maximum(value, np.finfo(float).tiny),
            at.gradient + GD,
            at.g + np.sum(D * (at.g_x + 0.5 * JD), axis=1),
            at.g_x + JD,
            np.empty((len(X), 0)) if T is None else _times(G, T),
            G if curved else np.empty(0),
        )

    def hessian_at(self, X: Array) -> FoldedHessian:
        return FoldedHessian(partial(_times, self._about.G))

    def diagonals(self, X: Array) -> Array:
        return np.array(np.einsum("kii->ki", self._about.G))

    def held(self, k: int, X: Array) -> Array:
        x0, at, _, judged = self._about
        D = X - x0[k]
        return np.asarray(at.g[k] + D @ at.g_x[k] + 0.5 * np.sum(D * (D @ judged[k]), axis=1))

    def second_order(self, X: Array, Q: Array, T: Array) -> Array:
        return np.asarray(np.einsum("kai,kab,kbj->ij", T, self._about.judged, T, optimize=True))


class _Expanded(NamedTuple):
    """x₀ of every fold, the sums there, G_k and G′_k."""

    X: Array
    at: Sums
    G: Array
    judged: Array


def _times(G: Array, V: Array) -> Array:
    return np.asarray(np.einsum("kij,kj->ki", G, V))
