"""What the columns of a frame are, what there is to say about them, and how they become numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag._core.words import listed

# A text column with more categories than this, or where most values differ, is no category.
MOST_CATEGORIES, FEW_CATEGORIES = 1000, 20

NUMBER, FLAG, TEXT, DATE = "number", "flag", "text", "date"  # what cells hold
CATEGORY, WORDS = "category", "words"  # what text is used as

ID = re.compile(r"(^|[_\W])(id|nr|no|number|index|key)$|[a-z](Id|ID|Nr|No)$", re.IGNORECASE)
CODE = re.compile(r"zip|postal|post_?code|plz|phone|(^|[_\W])code$|[a-z]Code$", re.IGNORECASE)

# How dates are written, the first that all cells of a column fit; each also with a clock.
DATES = ("ISO8601", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y",
         "%m-%d-%Y", "%d-%m-%Y", "%m/%d/%y", "%d/%m/%y")  # fmt: skip
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DATED = r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?"
# The parts of a date that are categories, and the days that dates must span before they are.
PARTS = {"month": ("%m", 365), "weekday": ("%A", 14), "hour": ("%H", 0)}


@dataclass(frozen=True, eq=False)
class TableColumns:
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
        found = {}
        for name, kind in self.kinds.items():
            found[name] = NUMBER if kind == DATE else kind
            for part in self.days[name]["parts"] if kind == DATE else ():
                found[f"{name} {part}"] = CATEGORY
        return found


# What pandas calls the cells of a column, and what that is here.
HELD = {
    "boolean": FLAG,
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "empty"), NUMBER),
    **dict.fromkeys(("timedelta", "timedelta64"), NUMBER),
    **dict.fromkeys(("date", "datetime", "datetime64"), DATE),
    **dict.fromkeys(("string", "categorical"), TEXT),
}


def kind(name: str, values: Any) -> str:
    """What a column holds, whatever is missing: numbers, flags (true or false), dates or text."""
    import pandas as pd

    cells = values.dropna()
    found = NUMBER if values.dtype.kind in "iuf" else HELD.get(pd.api.types.infer_dtype(cells))
    if found is None:
        strange = {type(cell).__name__ for cell in cells} - {"str", "int", "float", "bool"}
        if strange:
            what = f"values of type {sorted(strange)[0]}, which are neither numbers nor text"
            raise ValueError(f"Column '{name}' holds {what}: convert them, or use --drop.")
    return found or TEXT


def check_missing(frame: Any, where: str, advice: str) -> None:
    counts = frame.isna().sum()
    counts = counts[counts > 0]
    if len(counts):
        shown = listed([f"'{name}' ({count})" for name, count in counts.items()], "{}")
        raise ValueError(f"{where} has missing values in {shown}: {advice}.")


def check_finite(frame: Any, where: str) -> None:
    """An error that names the columns of numbers where one is infinite; missing ones are not."""
    numbers = frame.select_dtypes("number")
    bad = numbers.columns[np.isinf(numbers.to_numpy("float64", na_value=np.nan)).any(axis=0)]
    if len(bad):
        raise ValueError(f"{where} has numbers that are not finite in {listed(bad)}: correct them.")


def understood(
    frame: Any, asked: dict[str, str], codes: Iterable[str], blocks: bool = False
) -> TableColumns:
    """What the columns of the frame are; `asked` are kinds that were given.

    A column that cannot help is left out: one value only, or text that is an id. One that may be
    misunderstood, an id or a code of digits, is used and pointed out. Of a table that is read in
    blocks these are the first rows, and dates are left out.
    """
    kinds, days, left_out, told = dict[str, str](), dict[str, dict[str, Any]](), {}, list[str]()
    lacks = frame.isna().sum().to_dict()
    for name, values in frame.items():
        kinds[name] = kind(name, values)
        if name in asked:
            kinds[name] = asked[name]
            _check_words(name, values, asked[name])
        elif not blocks and (why := _useless(name, values, lacks[name])):
            left_out[name] = why
        elif kinds[name] in (TEXT, DATE):
            style, doubt = _style(values)
            if style is not None and blocks:
                left_out[name] = "dates are not read in blocks. --no-blocks makes numbers of them"
            elif style is not None:
                kinds[name], days[name] = DATE, style
                told += [f"Column '{name}' {doubt}"] if doubt else []
            else:
                kinds[name] = CATEGORY
                _check_numbers(name, values)
                if why := _too_many(name, values):
                    left_out[name] = why
    kinds = {name: found for name, found in kinds.items() if name not in left_out}
    told += _left_out(left_out) + _doubts(frame, kinds, frozenset(codes))
    missing = {name: int(lacks[name]) for name in kinds if lacks[name]}
    return TableColumns(kinds, days, missing, left_out, told)


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
            parts |= _of_dates(name, values, days[name])
        elif pd.api.types.is_numeric_dtype(values.dtype):  # flags among them
            parts[name] = values.astype("float64")
        elif pd.api.types.is_timedelta64_dtype(values.dtype):
            parts[name] = values / pd.Timedelta(days=1)
        elif kind(name, values) in (NUMBER, FLAG):
            parts[name] = pd.to_numeric(values.astype(object)).astype("float64")
        else:
            _, value, at = first_text(values)
            here = f"here row {at} below the header has '{value}'."
            raise ValueError(f"Column '{name}' held numbers when the model was tuned; {here}")
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


# ---- dates


def _style(values: Any) -> tuple[dict[str, Any] | None, str]:
    """How a column of dates is read and which of its parts may matter, or None if it is none.

    Also what to say of it where day and month could be exchanged, as the end of a sentence.
    """
    import pandas as pd

    known, doubt = values.dropna().drop_duplicates(), ""
    text = pd.api.types.infer_dtype(known, skipna=True) in ("string", "mixed", "categorical")
    formats = [""]
    if text:
        cells = known.astype(str)
        if not cells.head(100).str.fullmatch(DATED).all():
            return None, ""
        whole = [day + clock for day in DATES for clock in CLOCKS[: 1 if day == DATES[0] else None]]
        formats = [one for one in whole if _fits(cells.head(100), one) and _fits(cells, one)]
    elif not _fits(known, ""):
        return None, ""
    if not formats:
        return None, ""
    if len({one[:2] for one in formats if one != DATES[0]}) > 1:
        doubt = f"has dates such as {known.iloc[0].strip()}, which are read as month before day."
    read = moments(known, formats[0])
    span = (read.max() - read.min()).days
    parts = [
        part
        for part, (written, days) in PARTS.items()
        if span >= days and read.dt.strftime(written).nunique() > 1
    ]
    return {"format": formats[0], "parts": parts}, doubt


def _fits(values: Any, written: str) -> bool:
    try:
        moments(values, written)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def moments(values: Any, written: str) -> Any:
    """The column as times without a zone; ValueError where a cell is none."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = {"format": written} if written else {}
        cells = values if values.dtype.kind == "M" else values.astype(object)
        return pd.to_datetime(cells, utc=True, **how).dt.tz_localize(None)


def _of_dates(name: str, values: Any, style: dict[str, Any]) -> dict[str, Any]:
    """The columns that a date becomes: days since 1970 as a number, its parts as categories."""
    import pandas as pd

    written = "" if pd.api.types.is_datetime64_any_dtype(values.dtype) else style["format"]
    try:
        read = moments(values, written)
    except (ValueError, TypeError, OverflowError):
        bad = next(cell for cell in values.dropna() if not _fits(pd.Series([cell]), written))
        told = f"Column '{name}' held dates when the model was tuned; here is '{bad}'."
        raise ValueError(told) from None
    columns = {name: (read - pd.Timestamp(0)) / pd.Timedelta(days=1)}
    for part in style["parts"]:
        made = read.dt.strftime(PARTS[part][0]).astype(object)
        columns[f"{name} {part}"] = made.where(read.notna(), float("nan"))
    return columns


# ---- columns that cannot help, or may be misunderstood


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
    told = f"{distinct} different values in {len(known)} rows are an id or free text"
    return f"{told}. --category '{name}' takes them for categories all the same{free}"


def _left_out(left_out: dict[str, str]) -> list[str]:
    """A sentence for each reason."""
    told = []
    for why in dict.fromkeys(left_out.values()):
        names = [name for name, own in left_out.items() if own == why]
        which = "Column {} is" if len(names) == 1 else "Columns {} are"
        told.append(f"{which.format(listed(names))} left out: {why}.")
    return told


def _doubts(frame: Any, kinds: dict[str, str], codes: frozenset[str]) -> list[str]:
    """Sentences about numbers that may not be quantities."""
    told, numbers = [], [name for name, found in kinds.items() if found == NUMBER]
    whole = {name: frame[name].dropna() for name in numbers if _whole(frame[name])}
    code = [name for name in whole if name in codes or CODE.search(name)]
    ids = [name for name, values in whole.items() if name not in code and _is_id(name, values)]
    if code:
        may = f"{_are(code)} used as a quantity, and may be a code, such as a zip code"
        told.append(f"{may}: --category '{code[0]}' takes it for categories, --drop leaves it out.")
    if ids:
        may = f"{_are(ids)} used as a quantity, and has a different whole number in each row"
        told.append(f"{may}, as an id has: if it is one, leave it out with --drop '{ids[0]}'.")
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
        none = "makes numbers of words, and the column has none of two letters or more"
        raise ValueError(f"--text '{name}' {none}: use --category '{name}'.")


def _check_numbers(name: str, values: Any) -> None:
    """An error where most of a text column are numbers: some cell is not as it was meant."""
    known = values.dropna()
    numbers, value, at = first_text(known)
    if numbers < len(known) and 2 * numbers > len(known):
        raise ValueError(
            f"Column '{name}' is text, though {numbers} of its {len(known)} values are numbers: "
            f"row {at} below the header has '{value}'. Correct it, or use --na '{value}' if that "
            f"stands for a missing value, --category '{name}' or --drop '{name}'."
        )


def first_text(values: Any) -> tuple[int, Any, int]:
    """How many values are numbers, the first that is none, and its row in the file, from one."""
    import pandas as pd

    numeric = pd.to_numeric(values, errors="coerce").notna()
    words = values.notna() & ~numeric
    return int(numeric.sum()), values.iloc[int(np.argmax(words))], row(words)


def first_bad(column: Any, bad: Any) -> str:
    """Where the first number is that cannot be there."""
    return f"row {row(bad)} below the header has {column[bad].iloc[0]:g} in '{column.name}'."


def row(bad: Any) -> int:
    """The row in the file, from one, of the first true value of a column."""
    import pandas as pd

    place = int(np.argmax(bad))
    label = bad.index[place]  # rows without a target may have been left out before
    return (int(label) if pd.api.types.is_integer(label) else place) + 1


# ---- the transformer that makes numbers of columns, of scikit-learn's own classes, and its names


def transformer(pieces: dict[str, str], lacking: set[str], scale: bool, dense: bool) -> Any:
    """Numbers standardised, text as 0 and 1 for each category or as tf-idf; not fitted.

    Each number or flag of `lacking` has a column of 0 and 1 beside it that says where it is
    missing; a category that is missing is one of its own. `fitted` fills the rest.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import MissingIndicator
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def of(kind: str) -> list[str]:
        return [name for name, found in pieces.items() if found == kind]

    scaler = StandardScaler() if scale else "passthrough"
    steps = [
        ("numbers", Pipeline([("scale", scaler), ("fill", "passthrough")]), of(NUMBER)),
        ("flags", Pipeline([("fill", "passthrough")]), of(FLAG)),
        ("missing", MissingIndicator(features="all", sparse=False),
         [name for name in of(NUMBER) + of(FLAG) if name in lacking]),
        ("categories", OneHotEncoder(handle_unknown="ignore"), of(CATEGORY)),
        *((f"words of {name}", TfidfVectorizer(sublinear_tf=True), name) for name in of(WORDS)),
    ]  # fmt: skip
    return ColumnTransformer(
        [step for step in steps if step[2]],
        sparse_threshold=0.0 if dense else 0.3,
        verbose_feature_names_out=False,
    )


def fitted(columns: Any, frame: Any) -> Any:
    """Fit the transformer to a frame; returns what it makes of it.

    Numbers that are missing become the mean, flags the more frequent one, in new rows too where
    none was missing here. The mean of one row is that row, so a KNNImputer that holds the means
    does it; SimpleImputer keeps a NumPy dtype, which skops would not load before somebody trusts
    it.
    """
    from sklearn.impute import KNNImputer

    columns.fit(frame)
    for label, _, names in columns.transformers_:
        if label in ("numbers", "flags"):
            usual = frame[names].mean().to_frame().T
            usual = usual.round() if label == "flags" else usual
            branch = columns.named_transformers_[label]
            branch.set_params(fill=KNNImputer(n_neighbors=len(frame)).fit(branch.transform(usual)))
    return columns.transform(frame)


def of_encoding(encoding: dict[str, Any], scale: bool) -> Any:
    """The fitted transformer that does what hoag.partitions did to the columns of a table.

    It is fitted to rows with the same means, deviations and categories: mean ± deviation.
    """
    import pandas as pd

    numbers, flags, known = encoding["numbers"], encoding["flags"], encoding["categories"]
    own = [*numbers, *flags]
    pieces = {**dict.fromkeys(numbers, NUMBER), **dict.fromkeys(flags, FLAG),
              **dict.fromkeys(known, CATEGORY)}  # fmt: skip
    lacking = {name for name, count in zip(own, encoding["missing"], strict=True) if count}
    levels = {name: [*known[name], *([np.nan] if encoding["lacking"][name] else [])]
              for name in known}  # fmt: skip
    n = 2 * max(map(len, levels.values()), default=1)
    signs = np.tile([-1.0, 1.0], n // 2)
    spreads = np.where(np.arange(len(own)) < len(numbers), encoding["scales"], 0.0)
    frame = pd.DataFrame(np.asarray(encoding["means"]) + signs[:, None] * spreads, columns=own)
    for name, each in levels.items():
        frame[name] = pd.Series([*each, *[each[0]] * (n - len(each))], dtype=object)
    columns = transformer(pieces, lacking, scale, dense=False)
    fitted(columns, frame)
    columns.sparse_output_ = bool(encoding["sparse"])
    return columns


def features(columns: Any) -> list[tuple[str, str]]:
    """The name of every transformed column, and of what it is made of: its column, or its word.

    Names are made distinct where a category is called like a column.
    """
    made = list[tuple[str, str, str]]()
    for label, step, own in columns.transformers_:
        if label == "categories":
            for column, categories in zip(own, step.categories_, strict=True):
                names = [f"{column}_{name}" if isinstance(name, str) else f"{column} missing"
                         for name in categories]  # fmt: skip
                made += [(label, name, column) for name in names]
        elif label == "missing":
            made += [(label, f"{column} missing", column) for column in own]
        elif isinstance(own, str):
            words = [f"{own}: {word}" for word in step.get_feature_names_out()]
            made += [(label, word, word) for word in words]
        else:
            made += [(label, column, column) for column in own]
    distinct = len({name for _, name, _ in made}) == len(made)
    if not distinct:
        columns.set_params(verbose_feature_names_out=True)
    return [(name if distinct else f"{label}__{name}", source) for label, name, source in made]
