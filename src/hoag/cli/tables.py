"""Reading tables: svmlight, CSV, TSV and Parquet files, and scikit-learn's own data sets."""

from __future__ import annotations

import gzip
import importlib
import lzma
import re
import sys
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoag.cli.text import listed, nearest
from hoag.datasets.read import PACKED

BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
SEPARATED = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Table:
    """A file's rows: a pandas frame, or for svmlight a sparse matrix and its labels.

    `first` is the index of svmlight's first feature, 0 or 1; `target` the target of a bundled set.
    """

    name: str
    rows: Any
    labels: Any = None
    first: int = 0
    target: str | None = None

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.labels is None


def need(module: str) -> Any:
    """An optional package, or a sentence that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise ImportError(
            f"This needs the package {package}, which is not installed: pip install 'hoag[cli]'."
        ) from None


def read(name: str, text: Iterable[str] = ()) -> Table:
    """The table of that file, or bundled name; columns in `text` are not read as numbers."""
    if name in BUNDLED:
        need("pandas")
        load = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")
        return Table(name, load(as_frame=True).frame, target="target")
    if name == "-":
        table = Table("standard input", _separated("standard input", sys.stdin.buffer, ",", text))
    else:
        table = _file(name, text)
    if table.rows.shape[0] == 0:
        raise ValueError(f"{table.name} has no rows.")
    return table


def _file(name: str, text: Iterable[str]) -> Table:
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
    if suffix in PARQUET:
        return Table(name, _parquet(name))
    try:
        with PACKED.get(packed, open)(path, "rb") as file:
            if suffix in SVMLIGHT:
                return _svmlight(name, file)
            return Table(name, _separated(name, file, SEPARATED[suffix], text))
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


def _separated(name: str, file: Any, separator: str, text: Iterable[str]) -> Any:
    pd = need("pandas")
    kinds = dict.fromkeys(text, str)
    try:
        with warnings.catch_warnings():
            # Rows longer than the header: pandas would cut them and go on.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(file, sep=separator, dtype=kinds, index_col=False, low_memory=False)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text ({error.reason}): save it as UTF-8.") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{name} is empty: the first line must name the columns.") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{name} has rows with more cells than the first line names.") from None
    except (pd.errors.ParserError, ValueError) as error:
        told = str(error).replace("Error tokenizing data. C error: ", "").strip().rstrip(".")
        raise ValueError(f"{name} cannot be read as a table: {told}.") from None
    header = str(frame.columns[0])
    if frame.shape[1] == 1 and re.search("[;\t|,]", header):
        raise ValueError(
            f"{name} has a single column, '{header[:40]}': hoag separates the columns of .csv "
            "by commas and of .tsv by tabs."
        )
    return frame


def _parquet(name: str) -> Any:
    pd = need("pandas")
    need("pyarrow")
    try:
        frame = pd.read_parquet(name)
    except Exception as error:  # pyarrow has errors of its own for every kind of damage
        told = str(error).split(":")[-1].strip().rstrip(".")
        raise ValueError(f"{name} cannot be read as a Parquet file: {told}.") from None
    return frame.rename(columns=str)


def column(table: Table, name: str, option: str) -> Any:
    """A column by its name, or an error that names the columns."""
    if name not in table.rows.columns:
        raise ValueError(
            f"{table.name} has no column '{name}', which {option} asks for."
            f"{nearest(name, table.rows.columns)} Its columns are {listed(table.rows.columns)}."
        )
    return table.rows[name]
