"""What the columns of a frame are, which of them can be used, and what to say about them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag._core.words import listed
from hoag.cli import dates

# A text column with more categories than this, or where most values differ, is no category.
MOST_CATEGORIES, FEW_CATEGORIES = 1000, 20

NUMBER, FLAG, TEXT, DATE = "number", "flag", "text", "date"  # what cells hold
CATEGORY, WORDS = "category", "words"  # what text is used as

ID = re.compile(r"(^|[_\W])(id|nr|no|number|index|key)$|[a-z](Id|ID|Nr|No)$", re.IGNORECASE)
CODE = re.compile(r"zip|postal|post_?code|plz|phone|(^|[_\W])code$|[a-z]Code$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that are used and what they hold; what was left out, and what there is to say.

    days     for each date, how to read it and which parts of it are used
    missing  how many values each column lacks
    """

    kinds: dict[str, str]
    days: dict[str, dict[str, Any]]
    missing: dict[str, int]
    left_out: dict[str, str]
    told: list[str]

    def pieces(self) -> dict[str, str]:
        """The kinds of the columns as the transformer gets them: a date is several."""
        return pieces(self.kinds, self.days)


def pieces(kinds: dict[str, str], days: dict[str, dict[str, Any]]) -> dict[str, str]:
    found = {}
    for name, kind in kinds.items():
        found[name] = NUMBER if kind == DATE else kind
        for part in days[name]["parts"] if kind == DATE else ():
            found[f"{name} {part}"] = CATEGORY
    return found


def kind(name: str, values: Any) -> str:
    """What a column holds, whatever is missing: numbers, flags (true or false), dates or text."""
    import pandas as pd

    types = pd.api.types
    if types.is_bool_dtype(values.dtype):
        return FLAG
    if types.is_numeric_dtype(values.dtype) or types.is_timedelta64_dtype(values.dtype):
        return NUMBER
    if types.is_datetime64_any_dtype(values.dtype):
        return DATE
    if isinstance(values.dtype, pd.CategoricalDtype):
        return TEXT
    cells = values.dropna().astype(object)
    found = types.infer_dtype(cells, skipna=True)
    if found == "boolean":
        return FLAG
    if found in ("integer", "floating", "mixed-integer-float", "decimal", "empty"):
        return NUMBER
    if found in ("date", "datetime", "datetime64"):
        return DATE
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
    """An error that names the columns of numbers where one is infinite; missing ones are not."""
    numbers = frame.select_dtypes("number")
    bad = numbers.columns[np.isinf(numbers.to_numpy("float64", na_value=np.nan)).any(axis=0)]
    if len(bad):
        raise ValueError(
            f"{where} has numbers that are not finite in {listed(bad)}: correct or remove them."
        )


def understood(
    frame: Any, asked: dict[str, str], codes: Iterable[str], where: str
) -> tuple[Any, Columns]:
    """The frame as the transformer gets it, and its columns; `asked` are kinds that were given.

    A column that cannot help is left out: one value only, or text that is an id. One that may be
    misunderstood, an id or a code of digits, is used and pointed out.
    """
    kinds, days, left_out, told = dict[str, str](), dict[str, dict[str, Any]](), {}, list[str]()
    lacks = frame.isna().sum().to_dict()
    for name, values in frame.items():
        kinds[name] = kind(name, values)
        if name in asked:
            kinds[name] = asked[name]
            _check_words(name, values, asked[name])
        elif why := _useless(name, values, lacks[name]):
            left_out[name] = why
        elif kinds[name] in (TEXT, DATE):
            style, doubt = dates.style(values)
            if style is not None:
                kinds[name], days[name] = DATE, style
                told += [f"Column '{name}' {doubt}"] if doubt else []
                continue
            kinds[name] = CATEGORY
            _check_numbers(name, values)
            if why := _too_many(name, values):
                left_out[name] = why
    kinds = {name: found for name, found in kinds.items() if name not in left_out}
    told += _left_out(left_out) + _numbers(frame, kinds, frozenset(codes))
    missing = {name: int(lacks[name]) for name in kinds if lacks[name]}
    columns = Columns(kinds, days, missing, left_out, told)
    return converted(frame, kinds, days, where), columns


def glanced(
    head: Any, asked: dict[str, str], codes: Iterable[str]
) -> tuple[dict[str, str], list[str]]:
    """The columns to leave out, and why, and sentences; of a table whose first rows are at hand."""
    kinds, left_out = dict[str, str](), dict[str, str]()
    for name, values in head.items():
        kinds[name] = kind(name, values)
        if name in asked:
            kinds[name] = asked[name]
        elif kinds[name] in (TEXT, DATE):
            if dates.style(values)[0] is not None:
                left_out[name] = (
                    "dates are not read in blocks. --no-blocks makes numbers of them, "
                    f"--category '{name}' takes each for a category"
                )
                continue
            _check_numbers(name, values)
            if why := _too_many(name, values):
                left_out[name] = why
    kept = {name: found for name, found in kinds.items() if name not in left_out}
    return left_out, _left_out(left_out) + _numbers(head, kept, frozenset(codes))


def converted(
    frame: Any, kinds: dict[str, str], days: dict[str, dict[str, Any]], where: str
) -> Any:
    """Numbers, flags and dates as floats, nan where missing; text as Python strings."""
    import pandas as pd

    parts = {}
    for name, found in kinds.items():
        values = frame[name]
        if found in (CATEGORY, WORDS):
            parts[name] = strings(values, "" if found == WORDS else np.nan)
        elif found == DATE:
            parts |= dates.parts(name, values, days[name])
        elif pd.api.types.is_numeric_dtype(values.dtype):  # flags among them
            parts[name] = values.astype("float64")
        elif pd.api.types.is_timedelta64_dtype(values.dtype):
            parts[name] = values / pd.Timedelta(days=1)
        elif kind(name, values) in (NUMBER, FLAG):
            parts[name] = pd.to_numeric(values.astype(object)).astype("float64")
        else:
            _, value, row = first_text(values)
            raise ValueError(
                f"Column '{name}' held numbers when the model was tuned; here row {row} "
                f"below the header has '{value}'."
            )
    frame = pd.DataFrame(parts, index=frame.index)
    check_finite(frame, where)
    return frame


def is_too_many(distinct: int, rows: int) -> bool:
    """Whether so many different values are names or ids rather than categories."""
    most = distinct > FEW_CATEGORIES and 2 * distinct > rows
    return distinct == rows or most or distinct > MOST_CATEGORIES


def strings(values: Any, missing: Any) -> Any:
    """Text; whole numbers without a decimal point, so that 1 and 1.0 are one category."""
    import pandas as pd

    whole = pd.api.types.is_float_dtype(values.dtype) and _whole(values)
    cells = zip(values.astype(object), values.isna(), strict=True)
    text = [missing if no else str(int(cell)) if whole else str(cell) for cell, no in cells]
    return pd.Series(text, index=values.index, dtype=object)


def _useless(name: str, values: Any, lacks: int) -> str:
    """Why a column can tell nothing, whatever its kind; or ""."""
    rows = len(values)
    if lacks == rows:
        return "no values"
    if lacks == 0 and values.iloc[0] == values.iloc[-1] and values.nunique() == 1:
        return "one value only"
    if re.fullmatch(r"Unnamed: \d+", name) and values.nunique() == rows:
        return "no name and a different value in each row, as row numbers have"
    return ""


def _too_many(name: str, values: Any) -> str:
    known = values.dropna().astype(str)
    distinct = known.nunique()
    if not is_too_many(distinct, len(known)):
        return ""
    words = float(known.head(1000).str.split().str.len().mean())
    free = f", --text '{name}' makes numbers of its words" if words >= 2 else ""
    return (
        f"{distinct} different values in {len(known)} rows are an id or free text rather than "
        f"categories. --category '{name}' takes them for categories all the same{free}"
    )


def _left_out(left_out: dict[str, str]) -> list[str]:
    """A sentence for each reason."""
    told = []
    for why in dict.fromkeys(left_out.values()):
        names = [name for name, own in left_out.items() if own == why]
        which = "Column {} is" if len(names) == 1 else "Columns {} are"
        told.append(f"{which.format(listed(names))} left out: {why}.")
    return told


def _numbers(frame: Any, kinds: dict[str, str], codes: frozenset[str]) -> list[str]:
    """Sentences about numbers that may not be quantities."""
    told, numbers = [], [name for name, found in kinds.items() if found == NUMBER]
    whole = {name: frame[name].dropna() for name in numbers if _whole(frame[name])}
    code = [name for name in whole if name in codes or CODE.search(name)]
    ids = [name for name, values in whole.items() if name not in code and _is_id(name, values)]
    if code:
        told.append(
            f"{_are(code)} used as a quantity, and may be a code, such as a zip code: --category "
            f"'{code[0]}' takes each number for a category, --drop '{code[0]}' leaves it out."
        )
    if ids:
        told.append(
            f"{_are(ids)} used as a quantity, and has a different whole number in each row, as an "
            f"id has: if it is one, leave it out with --drop '{ids[0]}'."
        )
    return told


def _are(names: list[str]) -> str:
    return f"Column {listed(names)} is" if len(names) == 1 else f"Each of {listed(names)} is"


def _whole(values: Any) -> bool:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(values.dtype):
        return False
    known = values.to_numpy(dtype="float64", na_value=np.nan)
    return bool(np.all((np.isfinite(known) & (known == np.round(known))) | np.isnan(known)))


def _is_id(name: str, values: Any) -> bool:
    """Different whole numbers, that follow each other or have the name of an id."""
    rows = len(values)
    if rows <= FEW_CATEGORIES or values.nunique() < rows:
        return False
    run = float(values.max()) - float(values.min()) == rows - 1
    return run or values.is_monotonic_increasing or bool(ID.search(name))


def _check_words(name: str, values: Any, asked: str) -> None:
    if asked == WORDS and not values.dropna().astype(str).str.contains(r"\b\w\w+\b").any():
        raise ValueError(
            f"--text '{name}' makes numbers of words, and the column has none of two letters or "
            f"more: use --category '{name}', or --drop '{name}'."
        )


def _check_numbers(name: str, values: Any) -> None:
    """An error where most of a text column are numbers: some cell is not as it was meant."""
    known = values.dropna()
    numbers, value, row = first_text(known)
    if numbers < len(known) and 2 * numbers > len(known):
        raise ValueError(
            f"Column '{name}' is read as text, though {numbers} of its {len(known)} values are "
            f"numbers: row {row} below the header has '{value}'. Correct it, or use --na '{value}' "
            f"if that stands for a missing value, --category '{name}' or --drop '{name}'."
        )


def first_text(values: Any) -> tuple[int, Any, int]:
    """How many values are numbers, the first that is none, and its row in the file, from one."""
    import pandas as pd

    numeric = pd.to_numeric(values, errors="coerce").notna()
    words = values.notna() & ~numeric
    return int(numeric.sum()), values.iloc[int(np.argmax(words))], row(words)


def row(bad: Any) -> int:
    """The row in the file, from one, of the first true value of a column."""
    import pandas as pd

    place = int(np.argmax(bad))
    label = bad.index[place]  # rows without a target may have been left out before
    return (int(label) if pd.api.types.is_integer(label) else place) + 1
