"""Reading tables: svmlight, CSV, TSV and Parquet files, and scikit-learn's own data sets.

Also what is asked of files before they are read or written: how their text is written, what they
would take of memory, and that no output is an input.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import io
import lzma
import os
import re
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoag._core.words import listed, nearest

if TYPE_CHECKING:
    from hoag._data.dialect import Dialect

BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
SEPARATED = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}

# Tables that would take more than this share of the memory that is free are read in blocks: the
# columns as numbers, what folds make of them and what reads the file take some of it each.
SHARE = 0.25
TEXT, PACKED = 2.0, 8.0  # bytes in memory for a byte of text, whose numbers have eight; packed


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

    def column(self, name: str, option: str) -> Any:
        """A column by its name, or an error that names the columns."""
        if name not in self.rows.columns:
            none = f"{self.name} has no column '{name}', which {option} asks for."
            near = nearest(name, self.rows.columns)
            raise ValueError(f"{none}{near} Its columns are {listed(self.rows.columns)}.")
        return self.rows[name]

    def columns(self, asked: Iterable[str], option: str) -> list[str]:
        """The names that an option asks for, repeated or as a,b; each must be a column."""
        names = list[str]()
        for given in asked:
            whole = given in self.rows.columns
            own = [given] if whole else [part.strip() for part in given.split(",")]
            names += [self.column(name, option).name for name in own if name or len(own) == 1]
        return list(dict.fromkeys(names))


def need(module: str) -> Any:
    """An optional package, or a sentence that says how to get it."""
    try:
        with _without("torch", "dask"):
            return importlib.import_module(module)
    except ImportError:
        told = f"This needs the package {module.split('.')[0]}, which is not installed"
        raise ImportError(f"{told}: pip install 'hoag[cli]'.") from None


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


# ---- how text is written


def add(parser: argparse._ArgumentGroup) -> None:
    """The options about text files; hoag._data.dialect finds out what is not given."""
    parser.add_argument("--sep", metavar="CHARACTER",
                        help="between the cells, such as ';' or tab (found out)")  # fmt: skip
    parser.add_argument("--decimal", choices=(".", ","), help="the decimal sign (found out)")
    parser.add_argument("--na", action="append", default=[], metavar="WORD",
                        help="what else stands for a missing value, such as ?")  # fmt: skip
    parser.add_argument("--encoding", metavar="NAME",
                        help="such as latin-1 (UTF-8, else Windows-1252)")  # fmt: skip


def dialect(args: argparse.Namespace) -> Dialect:
    """What the options say."""
    from hoag._data.dialect import Dialect

    sep = SEPARATORS.get(args.sep, args.sep)
    if sep is not None and len(sep) != 1:
        raise ValueError(f"--sep '{sep}': give one character, such as ';', or the word tab.")
    if sep is not None and sep == args.decimal:
        raise ValueError(f"--sep and --decimal are both '{sep}': cells cannot be told apart.")
    return Dialect(sep, args.decimal, args.encoding, tuple(args.na))


# ---- reading


def read(name: str, text: Iterable[str], known: Dialect) -> Table:
    """The table of that file, or bundled name; columns in `text` are not read as numbers."""
    if name in BUNDLED:
        need("pandas")
        load = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")
        return Table(name, load(as_frame=True).frame, target="target")
    if name == "-":
        table = _separated("standard input", sys.stdin.buffer.read(), ",", text, known)
    else:
        table = _file(name, text, known)
    if table.rows.shape[0] == 0:
        raise ValueError(f"{table.name} has no rows.")
    return table


def found(name: str) -> tuple[Path, str, str]:
    """The file of that name, what kind it is and how it is packed, both by its ending."""
    from hoag._data.files import PACKED as PACKINGS

    path = Path(name)
    if not path.exists():
        names = [*BUNDLED, *path.parent.glob("*")]
        near, always = nearest(name, names), ", ".join(BUNDLED)
        raise FileNotFoundError(f"There is no file {name}.{near} Always there are {always}.")
    suffixes = [suffix.lower() for suffix in path.suffixes] or [""]
    packed = suffixes.pop() if suffixes[-1] in PACKINGS else ""
    suffix = suffixes[-1] if suffixes else ""
    known = suffix in SVMLIGHT or suffix in SEPARATED or (suffix in PARQUET and not packed)
    if not known or path.is_dir():
        raise ValueError(
            f"{name} is not a kind of file that hoag reads by its name: svmlight (.svm, .svmlight, "
            ".libsvm, .txt), CSV (.csv), tab-separated (.tsv), each also with .gz, .bz2 or .xz, "
            "or Parquet (.parquet, .pq)."
        )
    return path, suffix, packed


def _file(name: str, text: Iterable[str], known: Dialect) -> Table:
    from hoag._data.files import PACKED as PACKINGS

    path, suffix, packed = found(name)
    if suffix in PARQUET:
        return Table(name, _parquet(name))
    try:
        with PACKINGS.get(packed, open)(path, "rb") as file:
            if suffix in SVMLIGHT:
                return _svmlight(name, file)
            return _separated(name, file.read(), SEPARATED[suffix], text, known)
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"{name} is not a whole {packed} file: {error}.") from None


def _svmlight(name: str, file: Any) -> Table:
    from sklearn.datasets import load_svmlight_file

    try:
        rows, labels = load_svmlight_file(file, zero_based=True)
    except (ValueError, IndexError) as error:
        told = f"{_bad_row(file) or error}. If it is a table with names, call it .csv or .tsv."
        raise ValueError(
            f"{name} is not in svmlight format (label index:value …): {told}"
        ) from None
    # Files count features from 0 or from 1, and do not say which.
    first = 1 if rows.nnz and int(rows.indices.min()) > 0 else 0
    return Table(name, rows[:, first:], labels, first)


def _bad_row(file: Any) -> str:
    """Where a file stops being svmlight; "" if that is not seen."""
    pair = re.compile(rb"(\d+:|qid:)[-+.\w]+")
    file.seek(0)
    for number, line in enumerate(file, start=1):
        label, *pairs = line.split(b"#")[0].split() or [b"0"]
        if not re.fullmatch(rb"[-+.,\deE]+", label) or not all(map(pair.fullmatch, pairs)):
            return f"line {number} starts with '{line.decode(errors='replace').strip()[:40]}'"
    return ""


def _separated(name: str, data: bytes, usual: str, text: Iterable[str], known: Dialect) -> Table:
    from hoag._data.dialect import sniff
    from hoag._data.files import check_distinct

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
    if frame.shape[1] == 1 and re.search("[;\t|,]", header := str(frame.columns[0])):
        one = f"a single column, '{header[:40]}': say what separates its cells with --sep"
        raise ValueError(f"{name} has {one}.")
    for column in frame.select_dtypes(exclude=["number", "bool"]).columns.difference(list(text)):
        frame[column] = _grouped(frame[column], seen.dialect.decimal or ".")
    return Table(name, frame, dialect=seen.dialect, codes=seen.codes)


def _grouped(values: Any, decimal: str) -> Any:
    """Numbers whose digits are grouped, 1,234,567.8 or 1.234.567,8; other columns as they are."""
    import pandas as pd

    group = "." if decimal == "," else ","
    cells = values.dropna().astype(str)
    pattern = rf"\s*[-+]?(\d{{1,3}}(\{group}\d{{3}})+|\d+)(\{decimal}\d+)?\s*"
    if len(cells) == 0 or not cells.head(100).str.fullmatch(pattern).all():  # soon told
        return values
    if not (cells.str.fullmatch(pattern).all() and cells.str.contains(group, regex=False).any()):
        return values
    digits = cells.str.replace(group, "", regex=False).str.replace(decimal, ".", regex=False)
    return pd.to_numeric(digits).astype("float64").reindex(values.index)


def _parquet(name: str) -> Any:
    from hoag._data.files import check_distinct

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


# ---- how much memory a table would take, and how much there is


def needed(path: Path, suffix: str, packed: str) -> float:
    """About how many bytes the table of a file would take, without reading it."""
    size = path.stat().st_size
    if suffix not in PARQUET:
        return (PACKED if packed else TEXT) * size
    try:
        import pyarrow.parquet as parquet

        known = parquet.read_metadata(path)
    except Exception:  # a damaged file is told by whoever reads it
        return float(size)
    groups = (known.row_group(i).total_byte_size for i in range(known.num_row_groups))
    return float(max(sum(groups), 8 * known.num_rows * known.num_columns))


def free() -> float | None:
    """The bytes that a process can still have, of a container, too; None where nobody tells."""
    limits, root = list[float](), Path("/sys/fs/cgroup")
    for most, now in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):  # no container, or one without a limit
            limits.append(float((root / most).read_text()) - float((root / now).read_text()))
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        known = dict(line.split(":", 1) for line in lines)
        limits.append(1024 * float(known["MemAvailable"].split()[0]))
    except (OSError, ValueError, KeyError):
        with suppress(AttributeError, OSError, ValueError):
            limits.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    return max(min(limits), 0.0) if limits else None


# ---- where a command writes


def check_outputs(
    inputs: Mapping[str, str],
    files: Mapping[str, str | None],
    folders: Mapping[str, str | None] | None = None,
) -> None:
    """An error for an output that is an input, or another output; None stands for none.

    The keys are what users call them: "FILE", "--save". Whatever would fail at the end fails now.
    """
    from hoag._core.writing import destination

    read = {name: path for name, path in inputs.items() if path not in BUNDLED}
    written = {name: path for name, path in files.items() if path is not None}
    for path in written.values():
        destination(path)
    beside = {name: path for name, path in (folders or {}).items() if path is not None}
    for name, path in beside.items():
        if Path(path).exists() and not Path(path).is_dir():
            raise ValueError(f"{name} {path} is not a folder: give the name of one.")
    known = {_identity(path): name for name, path in read.items()}
    for name, path in (*written.items(), *beside.items()):
        other = known.setdefault(_identity(path), name)
        if other != name:
            lost = f"{'is read' if other in read else 'is written, too'}, and would be lost"
            raise ValueError(f"{name} {path} is the file of {other}, which {lost}: rename it.")


def _identity(path: str) -> Any:
    """What two names of one file have in common; "-" is standard input."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
    except (OSError, ValueError):  # not there yet, or no file at all
        return os.path.normcase(os.path.realpath(path))
    return found.st_dev, found.st_ino
