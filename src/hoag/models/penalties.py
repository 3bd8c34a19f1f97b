"""½ Σⱼ exp(λ[group(j)]) xⱼ², with group −1 not penalised: every penalty is an array of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.values import InvalidInput

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
            raise InvalidInput(
                f"penalties = {penalties!r} is not known; use one of {', '.join(NAMES)}, "
                "or an array of group numbers."
            )
        groups = named[penalties]
    else:
        groups = np.asarray(penalties)
        if not np.issubdtype(groups.dtype, np.integer):
            raise InvalidInput(f"Group numbers must be integers, not {groups.dtype}.")
        if groups.shape == (features,):
            groups = np.repeat(groups[:, None], outputs, axis=1)
        if groups.shape != (features, outputs):
            raise InvalidInput(
                f"The array of group numbers has shape {groups.shape}; it needs a number for each "
                f"feature, shape ({features},), or each coefficient, shape ({features}, {outputs})."
            )
        used = np.unique(groups[groups >= 0])
        if groups.min(initial=0) < -1 or not np.array_equal(used, np.arange(used.size)):
            raise InvalidInput(
                "Group numbers must run from 0 to s − 1 without a gap (−1: not penalised); "
                f"found {np.array2string(np.unique(groups), threshold=8)}."
            )
        if used.size == 0:
            raise InvalidInput("All group numbers are −1: there is no hyperparameter to tune.")
    flat = np.asarray(groups, dtype=np.intp).ravel()
    return np.concatenate([flat, np.full(intercepts, -1, dtype=np.intp)])
