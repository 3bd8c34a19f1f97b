"""Reading tables: svmlight, CSV, TSV and Parquet files, and scikit-learn's own data sets."""

from __future__ import annotations

import gzip
import importlib
import io
import lzma
import re
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoag._core.words import listed, nearest
from hoag._data.dialect import Dialect, sniff
from hoag._data.files import PACKED, check_distinct

BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
SEPARATED = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Table:
    """A file's rows: a pandas frame, or for svmlight a sparse matrix and its labels.

    `first` is the index of svmlight's first feature, 0 or 1; `target` the target of a bundled set;
    `dialect` how a text file is written, `codes` its columns of numbers that begin with 0.
    """

    name: str
    rows: Any
    labels: Any = None
    first: int = 0
    target: str | None = None
    dialect: Dialect | None = None
    codes: frozenset[str] = frozenset()

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.labels is None


def need(module: str) -> Any:
    """An optional package, or a sentence that says how to get it."""
    try:
        with _without("torch", "dask"):
            return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise ImportError(
            f"This needs the package {package}, which is not installed: pip install 'hoag[cli]'."
        ) from None


@contextmanager
def _without(*packages: str) -> Iterator[None]:
    """Imports that do without these, which skops does not need: it imports all of scikit-learn,
    whose tests of array types import them, for two seconds.
    """
    absent = dict.fromkeys(name for name in packages if name not in sys.modules)
    sys.modules.update(absent)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


def read(name: str, text: Iterable[str] = (), dialect: Dialect | None = None) -> Table:
    """The table of that file, or bundled name; columns in `text` are not read as numbers."""
    if name in BUNDLED:
        need("pandas")
        load = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")
        return Table(name, load(as_frame=True).frame, target="target")
    dialect = dialect or Dialect()
    if name == "-":
        table = _separated("standard input", sys.stdin.buffer.read(), ",", text, dialect)
    else:
        table = _file(name, text, dialect)
    if table.rows.shape[0] == 0:
        raise ValueError(f"{table.name} has no rows.")
    return table


def found(name: str) -> tuple[Path, str, str]:
    """The file of that name, what kind it is and how it is packed, both by its ending."""
    path = Path(name)
    if not path.exists():
        names = [*BUNDLED, *path.parent.glob("*")]
        raise FileNotFoundError(
            f"There is no file {name}.{nearest(name, names)} "
            f"These data sets are always there: {', '.join(BUNDLED)}."
        )
    suffixes = [suffix.lower() for suffix in path.suffixes] or [""]
    packed = suffixes.pop() if suffixes[-1] in PACKED else ""
    suffix = suffixes[-1] if suffixes else ""
    known = suffix in SVMLIGHT or suffix in SEPARATED or (suffix in PARQUET and not packed)
    if not known or path.is_dir():
        raise ValueError(
            f"{name} is not a kind of file that hoag reads by its name: svmlight (.svm, .svmlight, "
            ".libsvm, .txt), CSV (.csv), tab-separated (.tsv), each also with .gz, .bz2 or .xz, "
            "or Parquet (.parquet, .pq)."
        )
    return path, suffix, packed


def _file(name: str, text: Iterable[str], dialect: Dialect) -> Table:
    path, suffix, packed = found(name)
    if suffix in PARQUET:
        return Table(name, _parquet(name))
    try:
        with PACKED.get(packed, open)(path, "rb") as file:
            if suffix in SVMLIGHT:
                return _svmlight(name, file)
            return _separated(name, file.read(), SEPARATED[suffix], text, dialect)
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"{name} is not a whole {packed} file: {error}.") from None


def _svmlight(name: str, file: Any) -> Table:
    from sklearn.datasets import load_svmlight_file

    try:
        rows, labels = load_svmlight_file(file, zero_based=True)
    except (ValueError, IndexError) as error:
        told = _bad_row(file) or str(error)
        raise ValueError(
            f"{name} is not in svmlight format (label index:value index:value …): {told}."
        ) from None
    # Files count features from 0 or from 1, and do not say which.
    first = 1 if rows.nnz and int(rows.indices.min()) > 0 else 0
    return Table(name, rows[:, first:], labels, first)


def _bad_row(file: Any) -> str:
    """Where a file stops being svmlight, as the end of a sentence; "" if that is not seen."""
    file.seek(0)
    for number, line in enumerate(file, start=1):
        label, *pairs = line.split(b"#")[0].split() or [b"0"]
        try:
            float(label)
            for index, value in (pair.split(b":") for pair in pairs):
                int(index if index != b"qid" else value)
                float(value)
        except ValueError:
            start = line.decode(errors="replace").strip()[:40]
            return (
                f"line {number} starts with '{start}'. "
                "If it is a table with column names, call it .csv or .tsv"
            )
    return ""


def _separated(name: str, data: bytes, usual: str, text: Iterable[str], known: Dialect) -> Table:
    pd = need("pandas")
    seen = sniff(name, data, usual, known)
    check_distinct(name, [column for column in seen.header if column])
    try:
        with warnings.catch_warnings():
            # Rows longer than the header: pandas would cut them and go on.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.BytesIO(data),
                sep=seen.dialect.sep,
                decimal=seen.dialect.decimal,
                encoding=seen.dialect.encoding,
                dtype=dict.fromkeys(text, str),
                na_values=list(seen.dialect.na),
                index_col=False,
                low_memory=False,
                skipinitialspace=True,
            )
    except pd.errors.EmptyDataError:
        raise ValueError(f"{name} is empty: the first line must name the columns.") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{name} has rows with more cells than the first line names.") from None
    except (pd.errors.ParserError, ValueError) as error:
        told = str(error).replace("Error tokenizing data. C error: ", "").strip().rstrip(".")
        raise ValueError(f"{name} cannot be read as a table: {told}.") from None
    frame = frame.rename(columns=lambda column: str(column).strip())
    header = str(frame.columns[0])
    if frame.shape[1] == 1 and re.search("[;\t|,]", header):
        raise ValueError(
            f"{name} has a single column, '{header[:40]}': say what separates its cells with --sep."
        )
    for column in frame.columns.difference(list(text)):
        if not pd.api.types.is_numeric_dtype(frame[column].dtype):
            frame[column] = _grouped(frame[column], seen.dialect.decimal or ".")
    return Table(name, frame, dialect=seen.dialect, codes=seen.codes)


def _grouped(values: Any, decimal: str) -> Any:
    """Numbers whose digits are grouped, 1,234,567.8 or 1.234.567,8; other columns as they are."""
    import pandas as pd

    group = "." if decimal == "," else ","
    cells = values.dropna().astype(str)
    pattern = rf"\s*[-+]?(\d{{1,3}}(\{group}\d{{3}})+|\d+)(\{decimal}\d+)?\s*"
    if len(cells) == 0 or not cells.head(100).str.fullmatch(pattern).all():
        return values
    if not (cells.str.fullmatch(pattern).all() and cells.str.contains(group, regex=False).any()):
        return values
    plain = cells.str.replace(group, "", regex=False).str.replace(decimal, ".", regex=False)
    return pd.to_numeric(plain).astype("float64").reindex(values.index)


def _parquet(name: str) -> Any:
    pd = need("pandas")
    need("pyarrow")
    try:
        frame = pd.read_parquet(name)
    except Exception as error:  # pyarrow has errors of its own for every kind of damage
        told = str(error).split(":")[-1].strip().rstrip(".")
        raise ValueError(f"{name} cannot be read as a Parquet file: {told}.") from None
    frame = frame.rename(columns=str)
    check_distinct(name, frame.columns)
    return frame


def columns(table: Table, asked: Iterable[str], option: str) -> list[str]:
    """The names that an option asks for, repeated or as a,b; each must be a column."""
    names = list[str]()
    for given in asked:
        whole = given in table.rows.columns
        own = [given] if whole else [part.strip() for part in given.split(",")]
        names += [column(table, name, option).name for name in own if name or len(own) == 1]
    return list(dict.fromkeys(names))


def column(table: Table, name: str, option: str) -> Any:
    """A column by its name, or an error that names the columns."""
    if name not in table.rows.columns:
        raise ValueError(
            f"{table.name} has no column '{name}', which {option} asks for."
            f"{nearest(name, table.rows.columns)} Its columns are {listed(table.rows.columns)}."
        )
    return table.rows[name]
