"""The table of terms that a summary prints: what each is worth, and whether it may be nothing.

    T = f̂ᵀ(V_f)⁺f̂,   with the pseudo-inverse of rank r on the r largest directions of V_f

for f̂ = Bβ over the rows that were fitted, V_f = B cov(β)Bᵀ and r the term's degrees of freedom,
rounded: about χ² with r degrees of freedom where there is no such term, or F where the dispersion
is estimated. λ was chosen by the same data, and the test takes it as known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc, ndtr, stdtr

from hoag._core.numeric import ROUNDING, Array
from hoag._linalg.symmetric import eigenvectors
from hoag.gam._posterior import Posterior


@dataclass(frozen=True, eq=False)
class Summary:
    """Tables of coefficients and of terms that print well, both as arrays of records.

    coefficients   name, estimate, standard_error, statistic (t, or z) and p_value: the intercept,
                   and the slope of every line for each unit of its column; none for several classes
    table          term, edf, size (of its basis), statistic (F, or χ²), p_value, and plateau:
                   "straight", "gone"
    """

    title: str
    coefficients: npt.NDArray[Any]
    table: npt.NDArray[Any]
    statistic: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        letter = "t" if self.statistic == "F" else "z"
        head = ["coefficient", "estimate", "std. error", letter, "p-value"]
        first = [
            [
                str(row["name"]),
                f"{row['estimate']:.4g}",
                _number(row["standard_error"], 3),
                _number(row["statistic"]),
                _small(row["p_value"]),
            ]
            for row in self.coefficients
        ]
        above = [*_aligned([head, *first]), ""] if first else []
        head = ["term", "edf", "of", self.statistic, "p-value", ""]
        rows = [
            [
                str(row["term"]),
                f"{row['edf']:.2f}",
                str(row["size"]),
                _number(row["statistic"]),
                _small(row["p_value"]),
                str(row["plateau"]),
            ]
            for row in self.table
        ]
        return "\n".join([self.title, "", *above, *_aligned([head, *rows]), "", *self.notes])

    __repr__ = __str__

    def to_frame(self) -> Any:
        """As a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.table).set_index("term")


def _aligned(rows: list[list[str]]) -> list[str]:
    """Names to the left, numbers to the right, and words that follow these to the left again."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k in (0, 5) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in rows
    ]


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if np.isfinite(value) else "–"


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
    taken = "" if estimated else f" (Pearson's; {posterior.scale:.4g} is taken)"
    spread = f"dispersion {posterior.dispersion:.4g}{taken}"
    told = f"{spread}, {model._explained}, {posterior.degrees:.1f} degrees of freedom"
    cv = model.model_.cv
    return Summary(
        f"{type(model).__name__}, {model._family_name}, {posterior.rows} rows, cv={cv!r}",
        _coefficients(model),
        table,
        "F" if estimated else "χ²",
        (told, model.result_.status.sentence),
    )


def _coefficients(model: Any) -> npt.NDArray[Any]:
    """The intercept and the slopes of lines, with t = estimate/error; none for several classes."""
    posterior: Posterior = model._posterior
    lines = [part for part in model._parts if part.basis.kind == "line"]
    places = [-1, *(part.columns.start for part in lines)] if model._outputs == 1 else []
    every = np.append(model.coef_, model.intercept_)[places]
    errors = np.sqrt(np.maximum(np.diag(model.covariance_)[places], 0.0))
    if not posterior.likely:
        errors = np.full(len(places), np.nan)
    t = np.divide(every, errors, out=np.full(len(places), np.nan), where=errors > 0)
    left = max(posterior.rows - posterior.degrees, 1.0)
    p = 2 * (stdtr(left, -np.abs(t)) if posterior.estimated else ndtr(-np.abs(t)))
    names = ["intercept", *(part.label for part in lines)][: len(places)]
    kinds = [("name", f"U{max(map(len, names), default=1)}"), ("estimate", float)]
    kinds += [(name, float) for name in ("standard_error", "statistic", "p_value")]
    return np.array(list(zip(names, every, errors, t, p, strict=True)), dtype=kinds)


def tested(
    coef: Array, covariance: Array, gram: Array, degrees: float, left: float, estimated: bool
) -> tuple[float, float]:
    """The statistic and its p-value; `gram` is BᵀB of the term's centred columns."""
    e, V = eigenvectors(gram)
    R = np.sqrt(np.maximum(e, 0.0))[:, None] * V.T
    d, U = eigenvectors(R @ covariance @ R.T)
    seen = int(np.sum(d > ROUNDING * max(d[-1], 0.0)))
    rank = int(np.clip(np.rint(degrees), 1, max(seen, 1)))
    along = U[:, -rank:].T @ (R @ coef)
    if not d[-rank] > 0:
        return np.nan, np.nan
    T = float(np.sum(along**2 / d[-rank:]))
    if estimated:
        return T / rank, float(fdtrc(rank, max(left, 1.0), T / rank))
    return T, float(chdtrc(rank, T))
