"""What the columns of a frame are, and the transformer that makes numbers of them."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np

from hoag.cli.text import listed

# A text column with more categories than this, or where most values differ, is no category.
MOST_CATEGORIES, FEW_CATEGORIES = 1000, 20

DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}")

NUMBER, FLAG, TEXT = "number", "flag", "text"


def kind(name: str, values: Any) -> str:
    """What a column without missing values holds: numbers, flags (true or false) or text."""
    import pandas as pd

    types = pd.api.types
    if types.is_bool_dtype(values.dtype):
        return FLAG
    if types.is_numeric_dtype(values.dtype):
        return NUMBER
    cells = values.astype(object)
    if any(isinstance(cell, (datetime.date, datetime.timedelta)) for cell in cells):
        raise ValueError(_date(name, cells.iloc[0]))
    strange = {type(cell).__name__ for cell in cells} - {"str", "int", "float", "bool"}
    if strange:
        raise ValueError(
            f"Column '{name}' holds values of type {sorted(strange)[0]}, which are neither numbers "
            "nor text: convert them, or leave the column out with --drop."
        )
    return TEXT


def check_missing(frame: Any, where: str, advice: str) -> None:
    counts = frame.isna().sum()
    counts = counts[counts > 0]
    if len(counts):
        shown = ", ".join(f"'{name}' ({count})" for name, count in counts.head(12).items())
        more = f" and {len(counts) - 12} more columns" if len(counts) > 12 else ""
        raise ValueError(f"{where} has missing values in {shown}{more}: {advice}.")


def check_finite(frame: Any, where: str) -> None:
    """An error that names the columns of numbers where not all are finite."""
    numbers = frame.select_dtypes("number")
    bad = numbers.columns[~np.isfinite(numbers.to_numpy("float64")).all(axis=0)]
    if len(bad):
        raise ValueError(
            f"{where} has numbers that are not finite in {listed(bad)}: correct or remove them."
        )


def features(frame: Any, where: str) -> tuple[Any, dict[str, str]]:
    """The frame as floats and strings, and the kind of every column; or an error that names one."""
    if "Unnamed: 0" in frame.columns:
        raise ValueError(
            f"The first column of {where} has no name, as row numbers have: leave it out with "
            "--drop 'Unnamed: 0', or give it a name."
        )
    check_missing(frame, where, "fill them, or leave the columns out with --drop COLUMN")
    kinds = {name: kind(name, frame[name]) for name in frame.columns}
    frame = converted(frame, kinds, where)
    for name, found in kinds.items():
        if found == TEXT:
            _check_categories(name, frame[name])
    return frame, kinds


def converted(frame: Any, kinds: dict[str, str], where: str) -> Any:
    """Numbers and flags as floats, all of them finite; text as Python strings."""
    import pandas as pd

    parts = {}
    for name, found in kinds.items():
        values = frame[name]
        if found == TEXT:
            parts[name] = values.astype(str).astype(object)
        elif pd.api.types.is_numeric_dtype(values.dtype):  # flags among them
            parts[name] = values.astype("float64")
        else:
            _, value, row = _first_text(values)
            raise ValueError(
                f"Column '{name}' held numbers when the model was tuned; here row {row} "
                f"below the header has '{value}'."
            )
    frame = pd.DataFrame(parts, index=frame.index)
    check_finite(frame, where)
    return frame


def transformer(kinds: dict[str, str], scale: bool, dense: bool) -> Any:
    """Numbers standardised, flags as they are, text as one column of 0 and 1 for each category."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps = [
        ("numbers", StandardScaler() if scale else "passthrough", NUMBER),
        ("flags", "passthrough", FLAG),
        ("categories", OneHotEncoder(handle_unknown="ignore"), TEXT),
    ]
    chosen = [
        (label, step, [name for name, found in kinds.items() if found == wanted])
        for label, step, wanted in steps
        if wanted in kinds.values()
    ]
    return ColumnTransformer(
        chosen, sparse_threshold=0.0 if dense else 0.3, verbose_feature_names_out=False
    )


def feature_names(columns: Any) -> list[str]:
    """The names of the transformed columns; made distinct if a category is called like a column."""
    try:
        return list(map(str, columns.get_feature_names_out()))
    except ValueError:
        columns.set_params(verbose_feature_names_out=True)
        return feature_names(columns)


def is_too_many(distinct: int, rows: int) -> bool:
    """Whether so many different values are names or ids rather than categories."""
    most = distinct > FEW_CATEGORIES and 2 * distinct > rows
    return distinct == rows or most or distinct > MOST_CATEGORIES


def _check_categories(name: str, values: Any) -> None:
    rows, distinct = len(values), values.nunique()
    if all(DATE.match(cell) for cell in values):
        raise ValueError(_date(name, values.iloc[0]))
    numbers, value, row = _first_text(values)
    if numbers < rows and 2 * numbers > rows:
        raise ValueError(
            f"Column '{name}' is read as text, though {numbers} of its {rows} values are numbers: "
            f"row {row} below the header has '{value}'. Correct it, or --drop the column."
        )
    if is_too_many(distinct, rows):
        raise ValueError(
            f"Column '{name}' is text with {distinct} different values in {rows} rows, so an id or "
            f"free text rather than categories: leave it out with --drop, or group its values."
        )


def _first_text(values: Any) -> tuple[int, Any, int]:
    """How many values are numbers, the first that is none, and its row, counted from one."""
    import pandas as pd

    numeric = pd.to_numeric(values, errors="coerce").notna()
    row = int(numeric.argmin())
    return int(numeric.sum()), values.iloc[row], row + 1


def _date(name: str, value: Any) -> str:
    return (
        f"Column '{name}' holds dates, such as {value}: make numbers of them, such as days since a "
        "day, or leave the column out with --drop."
    )
