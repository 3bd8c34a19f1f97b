"""The tables that a summary prints: what each term is, and whether it may be nothing.

    T = f̂ᵀ(V_f)⁺f̂,   with the pseudo-inverse of rank r on the r largest directions of V_f

for f̂ = Bβ over the rows that were fitted, V_f = B cov(β)Bᵀ and r the term's reference degrees of
freedom, 2 tr(F) − tr(F²), rounded. Where there is no such term, T is about χ² with r degrees of
freedom, or T/r about F where the scale is estimated. λ was chosen by the same data, and the test
takes it as known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc, ndtr, stdtr

from hoag._core.numeric import ROUNDING, Array
from hoag._linalg.symmetric import eigenvectors
from hoag.gam._posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Summary:
    """Tables of coefficients and of terms that print well, both as arrays of records.

    Attributes
    ----------
    title : str
        The estimator, the family and its link, and how many rows were fitted.
    coefficients : array of records
        name, estimate, standard_error, statistic (t, or z) and p_value: the intercept, and the
        slope of every line for each unit of its column; none for several classes.
    table : array of records
        term, edf, reference_df (that of the test), size (of its basis, mgcv's k), statistic (F, or
        χ²), p_value, and plateau: "straight", "gone" or "".
    statistic : {"F", "χ²"}
        F where the scale is estimated.
    notes : tuple of str
        What stands under the tables.

    See Also
    --------
    GAMRegressorCV.summary, GAMClassifierCV.summary

    Notes
    -----
    Wood (2017), Generalized Additive Models, 2nd edition, section 6.12.

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import GAMRegressorCV
    >>> X = np.linspace(0, 1, 100)[:, None]
    >>> noise = np.random.default_rng(0).normal(size=100)
    >>> found = GAMRegressorCV().fit(X, np.sin(6 * X[:, 0]) + 0.3 * noise).summary()
    >>> print(found.table["term"], found.table["p_value"] < 0.001, found.statistic)
    ['s(x0)'] [ True] F
    """

    title: str
    coefficients: npt.NDArray[Any]
    table: npt.NDArray[Any]
    statistic: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        letter = "t" if self.statistic == "F" else "z"
        first = ["", "estimate", "std. error", letter, "p-value"], (".4g", ".3g", ".4g", "p")
        then = (
            ["", "edf", "ref. df", "k", self.statistic, "p-value", ""],
            (".2f", ".2f", "d", ".4g", "p", ""),
        )
        above = [*_aligned("Parametric coefficients:", self.coefficients, *first), ""]
        below = _aligned("Approximate significance of terms:", self.table, *then)
        tables = [*(above if self.coefficients.size else []), *below]
        return "\n".join([self.title, "", *tables, "", *self.notes])

    __repr__ = __str__

    def to_frame(self) -> pd.DataFrame:
        """The table of terms.

        Returns
        -------
        pandas.DataFrame
            With a row for each term.
        """
        import pandas as pd

        return pd.DataFrame(self.table).set_index("term")


def _aligned(
    title: str, records: npt.NDArray[Any], header: list[str], formats: tuple[str, ...]
) -> list[str]:
    """Names to the left, numbers to the right, and words that follow these to the left again."""
    rows = [header]
    for name, *values in records.tolist():
        pairs = zip(values, formats, strict=True)
        rows.append([name, *(_told(value, how) for value, how in pairs)])
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    sides = ["<", *("<" if how == "" else ">" for how in formats)]
    return [title] + [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths)).rstrip()
        for row in rows
    ]


def _told(value: Any, how: str) -> str:
    """ "p" is a p-value."""
    if how in ("", "d"):
        return str(value)
    if not np.isfinite(value):
        return "–"
    if how == "p" and value < np.finfo(float).eps:
        return "< 1e-16"
    return f"{value:{how if how != 'p' else '.2g' if value < 1e-3 else '.3f'}}"


def summary(model: Any) -> Summary:
    """Of a fitted additive model."""
    posterior: Posterior = model._posterior
    records = []
    for part, edf, word, gram in zip(
        model._parts, model.edf_, model.plateaus_, model._grams, strict=True
    ):
        df, statistic, p = 2 * edf - model._of(part, posterior.edf2).sum(), np.nan, np.nan
        if posterior.outputs == 1 and word != "gone" and posterior.likely:
            own = part.columns
            coef, covariance = model.coef_.ravel()[own], model.covariance_[own, own]
            statistic, p = tested(coef, covariance, gram, df, posterior)
        records.append((part.label, edf, df, part.basis.size, statistic, p, str(word)))
    width = max(len(part.label) for part in model._parts)
    kinds = [("term", f"U{width}"), ("edf", float), ("reference_df", float), ("size", int)]
    kinds += [("statistic", float), ("p_value", float), ("plateau", "U8")]
    pearson = "" if posterior.estimated else f" (Pearson's estimate {posterior.dispersion:.4g})"
    fit = (
        f"Deviance explained {100 * model._explained:.1f} %, scale {posterior.scale:.4g}{pearson}, "
        f"total edf {posterior.total_edf:.1f}, {_score(model)}"
    )
    return Summary(
        f"{type(model).__name__}: {model._family_name}, {posterior.rows} rows",
        _coefficients(model),
        np.array(records, dtype=kinds),
        "F" if posterior.estimated else "χ²",
        (fit, model.result_.status.sentence),
    )


def _score(model: Any) -> str:
    """What λ were chosen by, with its value."""
    cv = model.model_.cv
    name = f"{cv.upper()} score" if isinstance(cv, str) else "cross-validated loss"
    return f"{name} {model.criterion_:.5g}"


def _coefficients(model: Any) -> npt.NDArray[Any]:
    """The intercept and the slopes of lines, with t = estimate/error; none for several classes."""
    posterior: Posterior = model._posterior
    lines = [part for part in model._parts if part.basis.kind == "line"]
    places = [-1, *(part.columns.start for part in lines)] if posterior.outputs == 1 else []
    every = np.append(model.coef_, model.intercept_)[places]
    errors = np.sqrt(np.maximum(np.diag(model.covariance_)[places], 0.0))
    if not posterior.likely:
        errors = np.full(len(places), np.nan)
    t = np.divide(every, errors, out=np.full(len(places), np.nan), where=errors > 0)
    tail = stdtr(posterior.residual_df, -np.abs(t)) if posterior.estimated else ndtr(-np.abs(t))
    names = ["intercept", *(part.label for part in lines)][: len(places)]
    kinds = [("name", f"U{max(map(len, names), default=1)}"), ("estimate", float)]
    kinds += [(name, float) for name in ("standard_error", "statistic", "p_value")]
    return np.array(list(zip(names, every, errors, t, 2 * tail, strict=True)), dtype=kinds)


def tested(
    coef: Array, covariance: Array, gram: Array, df: float, posterior: Posterior
) -> tuple[float, float]:
    """The statistic and its p-value; `gram` is BᵀB of the term's centred columns."""
    e, V = eigenvectors(gram)
    R = np.sqrt(np.maximum(e, 0.0))[:, None] * V.T
    d, U = eigenvectors(R @ covariance @ R.T)
    positive = int(np.sum(d > ROUNDING * max(d[-1], 0.0)))
    rank = int(np.clip(np.rint(df), 1, max(positive, 1)))
    if not d[-rank] > 0:
        return np.nan, np.nan
    T = float(np.sum((U[:, -rank:].T @ (R @ coef)) ** 2 / d[-rank:]))
    if posterior.estimated:
        return T / rank, float(fdtrc(rank, posterior.residual_df, T / rank))
    return T, float(chdtrc(rank, T))
