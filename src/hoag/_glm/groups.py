"""Which coefficients share a hyperparameter: each has the number of its group, or −1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array

Penalties = str | npt.ArrayLike

NAMES = ("shared", "per-class", "per-feature", "per-coefficient")


def group_numbers(
    penalties: Penalties, features: int, outputs: int, intercepts: int
) -> npt.NDArray[np.intp]:
    """The group of every entry of x = (W, b), flat; W has shape (features, outputs).

    An array may give one number for each feature, shape (features,), or one for each coefficient,
    shape (features, outputs); the numbers run from 0 to s − 1, and −1 means not penalised.
    """
    feature, output = np.indices((features, outputs))
    if isinstance(penalties, str):
        named: dict[str, Any] = {
            "shared": np.zeros((features, outputs), dtype=np.intp),
            "per-class": output,
            "per-feature": feature,
            "per-coefficient": feature * outputs + output,
        }
        if penalties not in named:
            raise InvalidParameterError(
                f"penalties = {penalties!r} is not known.\nUse one of {', '.join(NAMES)}, or an "
                "array of group numbers.",
                "penalties",
            )
        groups = named[penalties]
    else:
        groups = np.asarray(penalties)
        if not np.issubdtype(groups.dtype, np.integer):
            raise InvalidParameterError(
                f"Group numbers must be integers, not {groups.dtype}.", "penalties"
            )
        if groups.shape == (features,):
            groups = np.repeat(groups[:, None], outputs, axis=1)
        if groups.shape != (features, outputs):
            raise InvalidParameterError(
                f"The array of group numbers has shape {groups.shape}; it needs a number for each "
                f"feature, shape ({features},), or each coefficient, shape ({features}, "
                f"{outputs}).",
                "penalties",
            )
        used = np.unique(groups[groups >= 0])
        if groups.min(initial=0) < -1 or not np.array_equal(used, np.arange(used.size)):
            raise InvalidParameterError(
                "Group numbers must run from 0 to s − 1 without a gap (−1: not penalised); found "
                f"{np.array2string(np.unique(groups), threshold=8)}.",
                "penalties",
            )
        if used.size == 0:
            raise InvalidParameterError(
                "All group numbers are −1: there is no hyperparameter to tune.", "penalties"
            )
    flat = np.asarray(groups, dtype=np.intp).ravel()
    return np.concatenate([flat, np.full(intercepts, -1, dtype=np.intp)])


def by_group(groups: npt.NDArray[np.intp], values: Array, n_lam: int) -> Array:
    """Σ over the members of each group, (s,), from one value for each of them; −1 is no group."""
    tuned = groups >= 0
    sums = np.bincount(groups[tuned], weights=values[tuned], minlength=n_lam)
    return sums.astype(np.float64)


def members(groups: npt.NDArray[np.intp], n_lam: int) -> Array:
    """Which column is in which group, as zeros and ones, (p, s)."""
    return np.asarray(groups[:, None] == np.arange(n_lam), dtype=float)


def separable(
    groups: npt.NDArray[np.intp],
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Targets and the λ that reach them, in as many sets as have no λ in common.

    `groups` are those of all slopes, (features, targets); for models whose targets have nothing
    else in common, as those of ridge regression.
    """
    targets, n_lam = groups.shape[1], int(groups.max()) + 1
    tuned = groups >= 0
    which = np.broadcast_to(np.arange(targets), groups.shape)[tuned]
    pairs = np.unique(np.stack([which, targets + groups[tuned]]), axis=1)
    links = coo_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(targets + n_lam,) * 2)
    labels = connected_components(links, directed=False)[1]
    return [
        (np.flatnonzero(labels[:targets] == c), np.flatnonzero(labels[targets:] == c))
        for c in np.unique(labels[:targets])
    ]


def first_places(mask: npt.NDArray[np.bool_]) -> slice | npt.NDArray[np.intp]:
    """The places where mask holds: a slice where they come first, for it needs no memory."""
    count = int(np.sum(mask))
    return slice(count) if np.all(mask[:count]) else np.flatnonzero(mask)
