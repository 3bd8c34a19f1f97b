"""From raw partitions to the X of a model: numbers filled and standardised, categories as 0 and 1.

The columns are, as the command line makes them: the numbers, the flags, for each of these that is
missing somewhere a column that says where, and a column for each category, with one for "missing".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._core.numeric import Array
from hoag._data.raw import Raw
from hoag._data.statistics import ColumnStatistics


def made(
    summary: dict[str, Any], statistics: ColumnStatistics | None, standardise: bool
) -> dict[str, Any]:
    """The encoding, as plain data: lists, strings and numbers."""
    if "numbers" not in summary:
        plain = {key: summary[key] for key in ("features", "first", "sparse")}
        if not standardise or statistics is None:
            return plain | {"means": None, "scales": None}
        means = None if summary["sparse"] else statistics.means.tolist()
        return plain | {"means": means, "scales": statistics.scales.tolist()}
    assert statistics is not None  # every table was gone through
    columns = statistics.columns
    found: dict[str, Any] = {
        **{key: summary[key] for key in ("numbers", "flags", "first", "whole")},
        "standardise": standardise,
        "means": statistics.means.tolist(),
        "scales": statistics.scales.tolist(),
        "least": np.where(np.isfinite(columns.least), columns.least, 0.0).tolist(),
        "most": np.where(np.isfinite(columns.most), columns.most, 0.0).tolist(),
        "missing": statistics.missing.astype(int).tolist(),
        "categories": {}, "counts": {}, "lacking": summary["lacking"],
    }  # fmt: skip
    for name, levels in summary["categories"].items():
        counts = dict(zip(levels, summary["counts"][name], strict=True))
        found["categories"][name] = sorted(levels)
        found["counts"][name] = [counts[level] for level in sorted(levels)]
    names = names_out(found)
    full = len(found["numbers"]) + len(found["flags"]) + len(found["categories"])
    # As ColumnTransformer does it, by the share of entries that are not 0.
    sparse_out = bool(found["categories"]) and full < 0.3 * len(names or ())
    return found | {"features": len(names or ()), "sparse": sparse_out}


def names_out(encoding: dict[str, Any]) -> list[str] | None:
    """What the columns of X are called; None where nobody has named them."""
    if "numbers" not in encoding:
        return None
    names = [*encoding["numbers"], *encoding["flags"]]
    names += [f"{names[j]} missing" for j in np.flatnonzero(encoding["missing"])]
    kinds = ["numbers"] * len(encoding["numbers"]) + ["flags"] * len(encoding["flags"])
    kinds += ["missing"] * (len(names) - len(kinds))
    for name, levels in encoding["categories"].items():
        names += [f"{name}_{level}" for level in levels]
        names += [f"{name} missing"] if encoding["lacking"][name] else []
    if len(set(names)) == len(names):
        return names
    kinds += ["categories"] * (len(names) - len(kinds))
    return [f"{kind}__{name}" for kind, name in zip(kinds, names, strict=True)]


def check(encoding: Any, table: bool) -> None:
    """An error for what is not the encoding of partitions; of a table's, or of plain numbers."""
    try:
        named = "numbers" in encoding
        encoder = Encoder(encoding, encoding["categories"] if named else {})
        wide = [len(encoding["numbers"]) + len(encoding["flags"])] * 2 if named else []
        known = [encoder.means, encoder.scales]
        sizes = [each.size for each in known if each is not None]
        names = names_out(encoding)
        good = sizes == wide if named else all(size == encoder.features for size in sizes)
        good = good and (names is None or len(names) == encoder.features)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        good = named = False
    if not good:
        raise InvalidParameterError(
            "encoding= is not that of partitions.\nGive the attribute encoding of what "
            "hoag.partitions returned, as it is.",
            "encoding",
        )
    if named != table:
        of, new = ("a table", "none") if named else ("numbers without names", "a table")
        raise InvalidParameterError(
            f"encoding= is that of {of}, and the new data are {new}.", "encoding"
        )


class Encoder:
    """Raw partitions by an encoding; `orders` are the categories as the codes number them."""

    def __init__(self, encoding: dict[str, Any], orders: dict[str, list[str]]) -> None:
        self.sparse, self.features = encoding["sparse"], encoding["features"]
        self.named = "numbers" in encoding
        self.means = _vector(encoding["means"])
        self.scales = _vector(encoding["scales"])
        if not self.named:
            return
        k, f = len(encoding["numbers"]), len(encoding["flags"])
        self.fill = np.append(self.means[:k], np.round(self.means[k:]))
        self.lacking = np.flatnonzero(encoding["missing"])
        self.standardise = encoding["standardise"]
        flags = np.arange(k + f) >= k
        self.means = np.where(flags, 0.0, self.means)
        self.scales = np.where(flags, 1.0, self.scales)
        self.tables = list[npt.NDArray[np.int32]]()
        at = k + f + self.lacking.size
        for name, levels in encoding["categories"].items():
            where = {level: at + j for j, level in enumerate(levels)}
            at += len(levels)
            last = at if encoding["lacking"][name] else -1
            at += 1 if encoding["lacking"][name] else 0
            # Codes −1 and −2 are the last places: missing, and unknown, which is nowhere.
            self.tables.append(
                np.array([*(where[level] for level in orders[name]), -1, last], dtype=np.int32)
            )

    def encoded(self, raw: Raw, own: bool) -> Any:
        """The X of a model; in the place of the raw one where that is nobody else's, `own`."""
        if self.named:
            return self._table(raw)
        X = raw.X
        if X.shape[1] != self.features:
            raise InvalidDataError(
                f"X has {X.shape[1]} columns in {raw.where.row(0)}, and {self.features} are "
                "needed.",
                raw.where.row(0),
                parameter="X",
            )
        if self.scales is None:
            return X
        if sparse.issparse(X):
            data = (X.data / self.scales[X.indices]).astype(X.dtype, copy=False)
            return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        out = X if own else np.empty(X.shape, X.dtype)
        np.subtract(X, self.means, out=out, casting="same_kind")
        return np.divide(out, self.scales, out=out, casting="same_kind")

    def _table(self, raw: Raw) -> Any:
        """The rows of a table; their numbers are always the reader's own array."""
        X, gaps = raw.X, None
        if np.isnan(X.sum(dtype=np.float64)):  # tables have no infinities, or sums beyond these
            gaps = np.isnan(X)
            X[gaps] = np.broadcast_to(self.fill, X.shape)[gaps]
        if self.standardise:
            X -= self.means
            X /= self.scales
        if not self.tables and not self.lacking.size:
            return X
        missing = np.zeros((len(X), self.lacking.size), dtype=X.dtype)
        if gaps is not None:
            missing[:] = gaps[:, self.lacking]
        ones = [table[codes] for table, codes in zip(self.tables, _columns(raw.codes), strict=True)]
        if self.sparse:
            return self._sparse(X, missing, ones)
        out = np.zeros((len(X), self.features), dtype=X.dtype)
        width = X.shape[1] + self.lacking.size
        out[:, : X.shape[1]], out[:, X.shape[1] : width] = X, missing
        for at in ones:
            rows = np.flatnonzero(at >= 0)
            out[rows, at[rows]] = 1.0
        return out

    def _sparse(self, X: Array, missing: Array, ones: list[npt.NDArray[Any]]) -> Any:
        """CSR of rows that have an entry for each number and each category that is known."""
        m, width = len(X), X.shape[1] + missing.shape[1]
        columns = np.empty((m, width + len(ones)), dtype=np.int32)
        values = np.ones((m, width + len(ones)), dtype=X.dtype)
        columns[:, :width] = np.arange(width)
        values[:, : X.shape[1]], values[:, X.shape[1] : width] = X, missing
        for j, at in enumerate(ones, start=width):
            columns[:, j] = at
        if not missing.shape[1] and all(at.min(initial=0) >= 0 for at in ones):
            ends = np.arange(m + 1, dtype=np.int32) * np.int32(columns.shape[1])
            parts = (values.ravel(), columns.ravel(), ends)
        else:
            kept = columns >= 0
            kept[:, X.shape[1] : width] = missing != 0
            ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
            parts = (values[kept], columns[kept], ends)
        return sparse.csr_matrix(parts, shape=(m, self.features))


def _vector(values: Any) -> Any:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _columns(codes: npt.NDArray[np.int32] | None) -> Any:
    return () if codes is None else codes.T
