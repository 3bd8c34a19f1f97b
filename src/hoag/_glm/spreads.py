"""The spread of every column among the training rows of every fold.

    d_kj² = Σᵢ s_ki (a_ij − m_kj)² / Σᵢ s_ki,   m_kj = Σᵢ s_ki a_ij / Σᵢ s_ki

A model of columns that each fold divides by its own d_kj, penalised by ½e^λ Σⱼ(d_kj xⱼ)², is the
model of the columns as they are with penalties of weight d_kj².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import BLOCK_ENTRIES, ROUNDING, Array
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
