"""Penalties by name: which columns share one, and what each is called in tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array

FREE, OTHERS = "free", "others"  # a label for columns without a penalty; the name of the rest


def numbered(
    penalties: Mapping[Any, Any], names: Sequence[Any] | None, features: int
) -> tuple[npt.NDArray[np.intp], list[str]]:
    """The group number of every column, (features,), and the groups' labels, from {column: label}.

    "free" is −1, not penalised; columns that are not named share a penalty of their own, the last.
    A column is its name, if X has such, or its number.
    """
    columns: list[Any] = [] if names is None else [str(name) for name in names]
    place = dict(enumerate(range(features))) | {name: j for j, name in enumerate(columns)}
    unknown = [key for key in penalties if key not in place]
    if unknown:
        known = columns or list(range(features))
        told = ", ".join(map(str, known[:6])) + (", …" if features > 6 else "")
        hint = "" if columns else "; X has no column names, so give their numbers"
        raise InvalidInput(
            f"penalties names {unknown[0]!r}, which is no column of X ({told}){hint}."
        )
    labels = list(dict.fromkeys(str(label) for label in penalties.values() if label != FREE))
    if OTHERS in labels:
        raise InvalidInput(
            f"penalties: {OTHERS!r} is what columns that are not named share; use another label."
        )
    number = {label: k for k, label in enumerate(labels)}
    rest = len(labels)
    groups = np.full(features, rest, dtype=np.intp)
    for key, label in penalties.items():
        groups[place[key]] = -1 if label == FREE else number[str(label)]
    return groups, [*labels, OTHERS] if np.any(groups == rest) else labels


def table(names: Sequence[str], lam: Array, interval: Array, plateaus: Any) -> npt.NDArray[Any]:
    """One record for each hyperparameter; pandas.DataFrame(...) makes a frame of it.

    name, lam and its exponential as `value`, the interval's ends as lower and upper, and plateau.
    """
    width = max((len(name) for name in names), default=1) or 1
    kinds = [("name", f"U{width}"), ("lam", float), ("value", float), ("lower", float)]
    found = np.empty(lam.size, dtype=[*kinds, ("upper", float), ("plateau", "U12")])
    found["name"], found["lam"], found["plateau"] = list(names), lam, plateaus
    found["lower"], found["upper"] = interval.T
    with np.errstate(over="ignore"):
        found["value"] = np.exp(lam)
    return found
