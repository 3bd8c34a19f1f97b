"""The spread of every column among the training rows of every fold.

    d_kj² = Σᵢ s_ki (a_ij − m_kj)² / Σᵢ s_ki,   m_kj = Σᵢ s_ki a_ij / Σᵢ s_ki

A model of columns that each fold divides by its own d_kj, penalised by ½e^λ Σⱼ(d_kj xⱼ)², is the
model of the columns as they are with penalties of weight d_kj².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import BLOCK_ENTRIES, ROUNDING, Array
from hoag._data.columns import MeanSquares, measured
from hoag._glm.rows import Rows


@dataclass(frozen=True, eq=False)
class FoldSpreads:
    """By which rows columns are standardised, in units of those rows.

    weights   of every row, (n,): those that were given, without what classes weigh
    unit      the spread that a column has here for which a penalty of weight 1 is meant
    constant  the spread that stands for a column without any, in these units, (p,)
    """

    weights: Array
    unit: float
    constant: Array

    def penalties(self, rows: Rows, drawn: Array) -> Array:
        """(d_kj/unit)² for every fold and column, (K, p); drawn[i, k]: how often k draws row i."""
        found, varies = spreads(rows, self.weights[:, None] * drawn)
        return np.asarray((np.where(varies, found, self.constant) / self.unit) ** 2)


def spreads(rows: Rows, weights: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """d_kj, (K, p), for weights of shape (n, K), and whether it is more than rounding.

    Squares less the square of the mean lose the digits of columns far from 0 beside their spread:
    these are gone through again, less their means.
    """
    share = weights / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    mean = rows.backward(share)
    squares = Rows.squared_backward(rows, share)  # not those that ArrayRows keeps, a copy of A
    variance = squares - mean**2
    lost = (variance <= ROUNDING**0.25 * squares) & (squares > 0)
    far_off = np.flatnonzero(np.any(lost, axis=1))
    width = max(1, int(BLOCK_ENTRIES // max(rows.shape[0], 1)))
    for first in range(0, far_off.size, width):
        some = far_off[first : first + width]
        picks = np.zeros((rows.shape[1], some.size))
        picks[some, np.arange(some.size)] = 1.0
        column = rows.forward(picks)
        for k, own in enumerate(share.T):
            variance[some, k] = own @ (column - own @ column) ** 2
    varies = variance > ROUNDING**2 * squares
    return np.sqrt(np.where(varies, variance, 0.0)).T, varies.T


def of_cells(X: Any, weights: Array, labels: npt.NDArray[np.intp], cells: int) -> MeanSquares:
    """Of every cell of rows, (B + 1, p); rows of weight that are in no cell come last."""
    total, shape = np.zeros((cells + 1, 1)), (cells + 1, X.shape[1])
    mean, squares = np.zeros(shape), np.zeros(shape)
    for b in np.unique(labels[weights > 0]):
        own = np.flatnonzero(labels == b)
        total[b], mean[b], squares[b] = measured(X[own], weights[own]).about
    return MeanSquares(total, mean, squares)


def deviations(about: MeanSquares) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The standard deviation of every column, and whether it is more than rounding."""
    variance = about.squares / (about.total or 1.0)
    varies = variance > ROUNDING**2 * (variance + about.mean**2)
    return np.sqrt(np.where(varies, variance, 0.0)), varies


def column_scales(about: MeanSquares) -> Array:
    """What columns are divided by for a fit on all rows; 1 where they are constant."""
    found, varies = deviations(about)
    return np.where(varies, found, 1.0)


def joined(cells: MeanSquares, members: npt.NDArray[np.bool_]) -> MeanSquares:
    """Of all rows of some cells."""
    total = np.where(members, cells.total[:, 0], 0.0)
    mean = total @ cells.mean / (total.sum() or 1.0)
    squares = members @ cells.squares + total @ (cells.mean - mean) ** 2
    return MeanSquares(total.sum(), mean, squares)


def cell_penalties(
    cells: MeanSquares, scales: Array, train: npt.NDArray[np.bool_], absorbed: bool
) -> Array:
    """What penalties of each fold weigh, (K, p), beside those of a fit on all rows, whose columns
    are divided by `scales`.

    A constant column does nothing where it is `absorbed`; else it has the scale 1.
    """
    found = []
    for members in train:
        own, varies = deviations(joined(cells, np.append(members, False)))
        found.append(np.where(varies, own / scales, 1.0 if absorbed else 1.0 / scales) ** 2)
    return np.stack(found)
