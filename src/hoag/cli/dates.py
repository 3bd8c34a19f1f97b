"""Dates as numbers: days since 1970, and month, weekday and hour where they may matter."""

from __future__ import annotations

import datetime
import re
import warnings
from typing import Any

import numpy as np

CLOCK = r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?([AP]M|Z|[+-]\d{2}:?\d{2}))?)?"
YEAR_FIRST = re.compile(r"\s*\d{4}[-/.]\d{1,2}[-/.]\d{1,2}" + CLOCK + r"\s*", re.IGNORECASE)
YEAR_LAST = re.compile(
    r"\s*(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4}|(?<=\b\d\d.\d\d.)\d\d)" + CLOCK + r"\s*",
    re.IGNORECASE,
)

YEAR, FORTNIGHT = 365, 14  # days that dates must span before months, and weekdays, are told apart


def style(values: Any) -> tuple[dict[str, Any] | None, str]:
    """How to read a column of dates and which parts to use, or None if it is none.

    Also what to say of it where day and month could be exchanged, as the end of a sentence.
    """
    import pandas as pd

    day_first, doubt = False, ""
    known = pd.unique(values.dropna())
    if isinstance(known[0], str):
        text = [str(cell) for cell in known]
        found = [YEAR_FIRST.fullmatch(cell) or YEAR_LAST.fullmatch(cell) for cell in text]
        if not all(found):
            return None, ""
        day_first, doubt = _order([match for match in found if match and match.re is YEAR_LAST])
    elif not isinstance(known[0], (datetime.date, np.datetime64)):
        return None, ""
    try:
        read = moments(values, day_first)
    except (ValueError, TypeError, OverflowError):
        return None, ""
    return {"day_first": day_first, "parts": _useful(read.dropna())}, doubt


def moments(values: Any, day_first: bool) -> Any:
    """The column as times without a zone; ValueError where a cell is none."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a style was guessed
        text = not pd.api.types.is_datetime64_any_dtype(values.dtype)
        how = {"format": "mixed", "dayfirst": day_first} if text else {}
        return pd.to_datetime(values, utc=True, **how).dt.tz_localize(None)


def parts(name: str, values: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The columns that a date becomes: days since 1970 as a number, its parts as categories."""
    import pandas as pd

    try:
        read = moments(values, found["day_first"])
    except (ValueError, TypeError, OverflowError):
        bad = next(cell for cell in values.dropna() if not _is_date(cell, found["day_first"]))
        raise ValueError(
            f"Column '{name}' held dates when the model was tuned; here is '{bad}'."
        ) from None
    columns = {name: (read - pd.Timestamp(0)) / pd.Timedelta(days=1)}
    made = {
        "month": lambda: read.dt.strftime("%m"),
        "weekday": lambda: read.dt.day_name(),
        "hour": lambda: read.dt.strftime("%H"),
    }
    for part in found["parts"]:
        column = made[part]().astype(object)
        columns[f"{name} {part}"] = column.where(read.notna(), float("nan"))
    return columns


def _is_date(cell: Any, day_first: bool) -> bool:
    import pandas as pd

    try:
        moments(pd.Series([cell]), day_first)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _order(found: list[re.Match[str]]) -> tuple[bool, str]:
    """Whether the day is before the month: by a number past 12, else by the sign between them."""
    first, second = ({int(match[1 + 2 * k]) for match in found} for k in (0, 1))
    if not found or max(first | second) > 12:
        return any(number > 12 for number in first), ""
    if all(match[2] == "." for match in found):
        return True, ""
    return False, (
        f"has dates such as {found[0][0].strip()}, which are read as month before day: if that is "
        "wrong, write them as year-month-day."
    )


def _useful(read: Any) -> list[str]:
    """Months if there is a year of them, weekdays if there are weeks, hours if there are hours."""
    if len(read) == 0:
        return []
    span = (read.max() - read.min()).days
    useful = {
        "month": span >= YEAR and read.dt.month.nunique() > 1,
        "weekday": span >= FORTNIGHT and read.dt.day_of_week.nunique() > 1,
        "hour": read.dt.hour.nunique() > 1,
    }
    return [part for part, holds in useful.items() if holds]
