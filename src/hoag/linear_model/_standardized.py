"""Units of rows whose columns are standardised, by the rows of each fold.

    A″ = A′ diag(1/d) / c″,   d the spreads of the columns of A′ among all rows

where A′ are the rows in their units (hoag.linear_model._units), and c″ one number again. λ is then
the penalty of standardised columns, for a fit on all rows. A fold whose training rows have spreads
d_k penalises by exp(λ) (d_k/d)²: see hoag._glm.spreads. What centring would do the intercept does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hoag._core.numeric import Array
from hoag._glm.rows import ArrayRows, Rows, ScaledRows
from hoag._glm.spreads import FoldSpreads, spreads
from hoag.linear_model._units import WEIGHT, Units


def standardized(u: Units, weights: Array, absorbed: bool) -> Units:
    """The same rows with columns of spread 1, by weights that need not be those of the loss.

    `absorbed`: a constant column does nothing, for there is an intercept, or only differences of
    rows count. Where it does something it has the scale 1, of X as it was given.
    """
    found, varies = spreads(u.rows, weights[:, None])
    d = np.where(varies[0], found[0], 1.0 / u.c)
    squares = u.squares / d / d
    c = float(np.sqrt(squares.sum() / WEIGHT)) or 1.0
    scale = 1.0 / (c * d)
    rows: Rows = ScaledRows(u.rows, scale)
    if isinstance(u.rows, ArrayRows) and u.owned:  # scaled once, and not at every pass
        u.rows.A *= scale
        rows = ArrayRows(u.rows.A)
    unit = 1.0 / c
    constant = np.full(d.size, unit) if absorbed else unit / (u.c * d)
    return replace(
        u,
        rows=rows,
        squares=squares / c / c,
        c=c,
        scales=u.c * d,
        standard=FoldSpreads(weights, unit, constant),
    )
