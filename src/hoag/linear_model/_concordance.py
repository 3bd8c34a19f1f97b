"""Harrell's concordance: in how many of the pairs that can be told apart the risk is in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, check_consistent_length

from hoag._core.errors import InvalidDataError
from hoag._core.numeric import Array
from hoag._glm.cox import records


def concordance(y: Any, risk: Any, sample_weight: Any = None, strata: Any = None) -> float:
    """Σ sᵢsⱼ [riskᵢ > riskⱼ] / Σ sᵢsⱼ over pairs of which i had its event first; ties count ½.

    A pair counts where i had its event before j had its own or was censored, or at the time at
    which j was censored; two events at one time are no pair. By one sort and log₂ n sums over all
    rows. Without weights it is scikit-survival's concordance_index_censored.

    `sklearn.metrics.make_scorer(concordance)` makes a scorer of it.

    Parameters
    ----------
    y : array-like of shape (n_samples, 2) or structured array
        Times and events, as CoxRegressionCV takes them.
    risk : array-like of shape (n_samples,)
        Larger for earlier events: what `predict` gives.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights of the rows.
    strata : array-like of shape (n_samples,), default=None
        A label for each row; pairs are within a stratum.

    Returns
    -------
    float
        Between 0 and 1; 0.5 is chance.

    Examples
    --------
    >>> from hoag.linear_model import concordance
    >>> y = [[1.0, 1], [2.0, 1], [3.0, 0], [4.0, 1]]  # time and event
    >>> round(concordance(y, [4.0, 1.0, 2.0, 0.0]), 3)
    0.8
    """
    table = records(y, strata)
    risk = check_array(risk, ensure_2d=False, dtype=np.float64, input_name="risk")
    weights = np.ones(len(table))
    if sample_weight is not None:
        weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64)
    check_consistent_length(table, risk, weights)
    right, pairs = 0.0, 0.0
    for stratum in np.unique(table["stratum"]):
        own = table["stratum"] == stratum
        some = _pairs(table["time"][own], table["event"][own], risk[own], weights[own])
        right, pairs = right + some[0], pairs + some[1]
    if not pairs > 0:
        raise InvalidDataError(
            "No two rows can be compared: no event is before another row's time."
        )
    return right / pairs


def _pairs(
    time: Array, event: npt.NDArray[np.bool_], risk: Array, weights: Array
) -> tuple[float, float]:
    """The weight of pairs in order, half of those with one risk; and of all pairs.

    Rows are gone through from the last time to the first. At each time those censored are put in,
    then every event asks how many of those inside have less risk than it has, and is put in.
    """
    rows, asking = np.arange(time.size), np.flatnonzero(event)
    step = np.concatenate([np.where(event, 2, 0), np.ones(asking.size)])
    row = np.concatenate([rows, asking])
    order = np.lexsort((step, -time[row]))
    row, asks = row[order], step[order] == 1
    put = np.where(asks, 0.0, weights[row])
    rank = np.unique(risk, return_inverse=True)[1][row]
    less, alike = _counted_before(rank, put)
    own = weights[row[asks]]
    inside = (np.cumsum(put) - put)[asks]
    return float(own @ (less + 0.5 * alike)[asks]), float(own @ inside)


def _counted_before(rank: npt.NDArray[np.intp], put: Array) -> tuple[Array, Array]:
    """For every place, Σ of `put` over earlier places of smaller rank, and of the same rank.

    Bit by bit: a smaller rank agrees in the bits above some bit, and has 0 there for a 1.
    """
    less = np.zeros(rank.size)
    order = np.argsort(rank, kind="stable")
    alike = _before(rank[order], put[order])
    same = np.empty(rank.size)
    same[order] = alike
    for bit in range(int(rank.max(initial=0)).bit_length()):
        above = rank >> (bit + 1)
        order = np.argsort(above, kind="stable")
        one = (rank[order] >> bit & 1).astype(bool)
        zeros = _before(above[order], np.where(one, 0.0, put[order]))
        less[order[one]] += zeros[one]
    return less, same


def _before(labels: npt.NDArray[np.intp], values: Array) -> Array:
    """Σ of the values before each, among those of its label; labels come in order."""
    total = np.cumsum(values) - values
    first = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))[: labels.size]
    lengths = np.diff(np.append(first, labels.size))
    return np.asarray(total - np.repeat(total[first], lengths))
