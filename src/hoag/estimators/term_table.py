"""The table of terms that a summary prints: what each is worth, and whether it may be nothing.

    T = f̂ᵀ(V_f)⁺f̂,   with the pseudo-inverse of rank r on the r largest directions of V_f

for f̂ = Bβ over the rows that were fitted, V_f = B cov(β)Bᵀ and r the term's degrees of freedom,
rounded: about χ² with r degrees of freedom where there is no such term, or F where the dispersion
is estimated. λ was chosen by the same data, which the test does not know: small p-values are a
little too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc

from hoag.estimators.posterior import Posterior
from hoag.values import ROUNDING, Array


@dataclass(frozen=True, eq=False)
class Summary:
    """A table of terms that prints well; `table` is it as an array of records.

    term, edf, size (of its basis), statistic (F, or χ²), p_value, and plateau: "straight", "gone"
    """

    title: str
    table: npt.NDArray[Any]
    statistic: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        table = self.table
        head = ["term", "edf", "of", self.statistic, "p-value", ""]
        rows = [
            [
                str(row["term"]),
                f"{row['edf']:.2f}",
                str(row["size"]),
                f"{row['statistic']:.4g}" if np.isfinite(row["statistic"]) else "–",
                _small(row["p_value"]),
                str(row["plateau"]),
            ]
            for row in table
        ]
        widths = [max(len(line[k]) for line in [head, *rows]) for k in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if k in (0, len(head) - 1) else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in [head, *rows]
        ]
        return "\n".join([self.title, "", *lines, "", *self.notes])

    __repr__ = __str__

    def to_frame(self) -> Any:
        """As a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.table).set_index("term")


def _small(p: float) -> str:
    if not np.isfinite(p):
        return "–"
    return "< 1e-16" if p < np.finfo(float).eps else f"{p:.2g}" if p < 1e-3 else f"{p:.3f}"


def summary(model: Any) -> Summary:
    """Of a fitted additive model."""
    posterior: Posterior = model._posterior
    estimated = posterior.estimated
    records = []
    for part, edf, word, gram in zip(
        model._parts, model.edf_, model.plateaus_, model._grams, strict=True
    ):
        statistic, p = np.nan, np.nan
        if model._outputs == 1 and word != "gone" and posterior.likely:
            own = part.columns
            degrees = 2 * edf - float(posterior.twice[own].sum())
            covariance = model.covariance_[own, own]
            left = posterior.rows - posterior.degrees
            statistic, p = tested(
                model.coef_.ravel()[own], covariance, gram, degrees, left, estimated
            )
        records.append((part.label, edf, part.basis.size, statistic, p, str(word)))
    width = max(len(part.label) for part in model._parts)
    kinds = [("term", f"U{width}"), ("edf", float), ("size", int), ("statistic", float)]
    table = np.array(records, dtype=[*kinds, ("p_value", float), ("plateau", "U8")])
    intercept = ""
    if model._outputs == 1 and posterior.likely:
        base = np.append(model._additive.means, 1.0)
        error = float(np.sqrt(max(base @ model.covariance_ @ base, 0.0)))
        level = float(np.ravel(model.intercept_)[0])
        intercept = f"intercept {level:.4g} ± {error:.2g}, "
    spread = f"dispersion {posterior.dispersion:.4g}, " if estimated else ""
    told = f"{intercept}{spread}{model._explained}, {posterior.degrees:.1f} degrees of freedom"
    cv = model.model_.cv
    return Summary(
        f"{type(model).__name__}, {model._family_name}, {posterior.rows} rows, cv={cv!r}",
        table,
        "F" if estimated else "χ²",
        (told, model.result_.status.sentence),
    )


def tested(
    coef: Array, covariance: Array, gram: Array, degrees: float, left: float, estimated: bool
) -> tuple[float, float]:
    """The statistic and its p-value; `gram` is BᵀB of the term's centred columns."""
    e, V = np.linalg.eigh(gram)
    R = np.sqrt(np.maximum(e, 0.0))[:, None] * V.T
    d, U = np.linalg.eigh(R @ covariance @ R.T)
    seen = int(np.sum(d > ROUNDING * max(d[-1], 0.0)))
    rank = int(np.clip(np.rint(degrees), 1, max(seen, 1)))
    along = U[:, -rank:].T @ (R @ coef)
    if not d[-rank] > 0:
        return np.nan, np.nan
    T = float(np.sum(along**2 / d[-rank:]))
    if estimated:
        return T / rank, float(fdtrc(rank, max(left, 1.0), T / rank))
    return T, float(chdtrc(rank, T))
