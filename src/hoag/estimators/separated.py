"""Coefficients that only their penalty holds: of columns whose rows all have the same outcome."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag.values import Array

# How far a coefficient moves a linear predictor, at least, that is called far: e⁵ is 150 to 1.
FAR = 5.0
# So many columns are looked at, those that move predictors farthest, and so many named.
MOST, NAMED = 64, 3


def separated(
    X: Any, outcomes: npt.NDArray[np.bool_], never: bool, coef: Array, names: Any = None
) -> str:
    """Which columns are all that tells some outcome, and move predictors by e^±5 or more.

    outcomes   what may happen in every row, (n, K), such as each of the classes
    never      whether only an outcome that never happens lets coefficients run away
    coef       (K, p)

    A column that is 0 but for some rows, or least but for some, shows them; where an outcome is
    that of all of these, or of none, the loss falls for ever as the coefficient grows.
    """
    ends = [end.toarray().ravel() if sparse.issparse(X) else end for end in (X.max(0), X.min(0))]
    size = np.abs(coef) * (ends[0] - ends[1])
    far, found = size >= FAR, []
    order = np.argsort(-size.max(axis=0))[: min(np.count_nonzero(far.any(axis=0)), MOST)]
    some = X[:, order].toarray() if sparse.issparse(X) else X[:, order]
    for j, column in zip(order, some.T, strict=True):
        least = 0.0 if np.any(column == 0.0) else column.min()
        rows = np.flatnonzero(column != least)
        if not 0 < 2 * rows.size <= column.size:
            continue
        happened = outcomes[rows].sum(axis=0)
        held = (happened == 0) if never else (happened % rows.size == 0)
        if np.any(held & far[:, j]):
            found.append((str(names[j]) if names is not None else f"column {j}", rows.size))
    if not found:
        return ""
    told = ", ".join(f"{name} ({count} rows)" for name, count in found[:NAMED])
    more = " and others" if len(found) > NAMED else ""
    one = "the coefficient of" if len(found) == 1 else "the coefficients of"
    return (
        f"Only the penalty holds {one} {told}{more}: all rows in which such a column is not at its "
        "usual value have the same outcome."
    )
