"""Samples that are the same rows in memory and in partitions, and of which the larger hold the
smaller.

Every row draws a number by itself, from its place among all rows; a sample is the rows that drew
less than its share of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array


def drawn(rows: npt.NDArray[np.intp], seed: int = 0) -> Array:
    """Uniform numbers in [0, 1), one for each row, from its number alone (SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        z ^= z >> np.uint64(31)
    return np.asarray((z >> np.uint64(11)) * 2.0**-53)


def below(draws: Array, labels: npt.NDArray[np.intp], share: float) -> npt.NDArray[np.intp]:
    """The rows that drew less than a share, and of every cell at least the one that drew least."""
    chosen = (draws < share) & (labels >= 0)
    for b in np.unique(labels[labels >= 0]):
        own = labels == b
        if not np.any(chosen & own):
            chosen[np.flatnonzero(own)[np.argmin(draws[own])]] = True
    return np.flatnonzero(chosen)
