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
        head = {"estimate": ".4g", "std. error": ".3g", letter: ".4g", "p-value": "p"}
        slopes = [*_aligned("Parametric coefficients:", self.coefficients, head), ""]
        head = {"edf": ".2f", "ref. df": ".2f", "k": "d", self.statistic: ".4g", "p-value": "p"}
        terms = _aligned("Approximate significance of terms:", self.table, head | {"": ""})
        above = [self.title, "", *(slopes if self.coefficients.size else [])]
        return "\n".join([*above, *terms, "", *self.notes])

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


def _aligned(title: str, records: npt.NDArray[Any], formats: dict[str, str]) -> list[str]:
    """Names to the left, numbers to the right, and words that follow these to the left again."""
    hows = ["", *formats.values()]
    rows = [["", *formats], *([*map(_told, row, hows)] for row in records.tolist())]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    shapes = [f"{'>' if how else '<'}{width}" for how, width in zip(hows, widths, strict=True)]
    return [title, *("  ".join(map(format, row, shapes)).rstrip() for row in rows)]


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
    parts, cv = model._parts, model.model_.cv
    df = 2 * model.edf_ - [model._of(part, posterior.edf2).sum() for part in parts]
    tests = np.full((len(parts), 2), np.nan)
    if posterior.outputs == 1 and posterior.likely:
        for j in np.flatnonzero(model.plateaus_ != "gone"):
            own = parts[j].columns
            covariance = model.covariance_[own, own]
            tests[j] = tested(
                model.coef_.ravel()[own], covariance, model._grams[j], df[j], posterior
            )
    sizes = [part.basis.size for part in parts]
    pearson = "" if posterior.estimated else f" (Pearson's estimate {posterior.dispersion:.4g})"
    criterion = "cross-validated loss"
    if isinstance(cv, str):
        criterion = f"{cv.upper()} score" + " up to a constant" * (cv == "reml")
    fit = (
        f"{'Deviance' if posterior.likely else 'Loss'} explained {100 * model._explained:.1f} %, "
        f"scale {posterior.scale:.4g}{pearson}, total edf {posterior.total_edf:.1f}, "
        f"{criterion} {model.criterion_:.5g}"
    )
    table = {"term": model.labels_, "edf": model.edf_, "reference_df": df, "size": sizes}
    tested_by = {"statistic": tests[:, 0], "p_value": tests[:, 1], "plateau": model.plateaus_}
    return Summary(
        f"{type(model).__name__}: {model._family_name}, {posterior.rows} rows",
        _coefficients(model),
        _records(**table, **tested_by),
        "F" if posterior.estimated else "χ²",
        (fit, model.result_.status.sentence),
    )


def _coefficients(model: Any) -> npt.NDArray[Any]:
    """The intercept and the slopes of lines, with t = estimate/error; none for several classes."""
    posterior: Posterior = model._posterior
    lines = [part for part in model._parts if part.basis.kind == "line"]
    places = [-1, *(part.columns.start for part in lines)] if posterior.outputs == 1 else []
    every = np.append(model.coef_, model.intercept_)[places]
    errors = np.sqrt(np.maximum(np.diag(model.covariance_)[places], 0.0))
    errors = np.where((errors > 0) & posterior.likely, errors, np.nan)
    t = every / errors
    tail = stdtr(posterior.residual_df, -np.abs(t)) if posterior.estimated else ndtr(-np.abs(t))
    names = ["intercept", *(part.label for part in lines)][: len(places)]
    p = 2 * tail
    return _records(name=names, estimate=every, standard_error=errors, statistic=t, p_value=p)


def _records(**columns: Any) -> npt.NDArray[Any]:
    """Rows with these columns."""
    arrays = [np.asarray(values) for values in columns.values()]
    kinds = [(name, own.dtype) for name, own in zip(columns, arrays, strict=True)]
    return np.array(list(zip(*arrays, strict=True)), dtype=kinds)


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
