"""Files of columns, as tables of Arrow's: Parquet, Arrow (IPC, Feather), CSV and TSV."""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hoag._core.errors import InvalidDataError, MissingPackageError
from hoag._data.dialect import SAMPLE, Dialect, sniff
from hoag._data.files import PACKED, check_distinct

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
SEPARATED = {".csv": ",", ".tsv": "\t"}


def need(module: str, kind: str) -> Any:
    """A module of pyarrow, or a sentence that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPackageError.of(f"A file of the kind {kind}", "pyarrow") from None


class ColumnFile(ABC):
    """One file of columns.

    schema          their names and types
    empty           there are no rows
    tables(names)   the columns of these names, some rows at a time
    """

    kind: str
    schema: Any
    empty: bool

    def __init__(self, path: Path) -> None:
        self.path = path
        self.schema = self._schema()
        check_distinct(path, self.schema.names)

    @abstractmethod
    def _schema(self) -> Any: ...

    @abstractmethod
    def _batches(self, names: list[str], rows: int) -> Iterator[Any]: ...

    def tables(self, names: list[str], rows: int) -> Iterator[Any]:
        """Tables of `rows` rows each, but for the last."""
        with reading(self.path, self.kind):
            yield from regrouped(self._batches(names, rows), rows)


class Parquet(ColumnFile):
    kind = "Parquet"

    def _open(self) -> Any:
        # Buffered, and not ahead: else all columns of a row group are in memory, packed.
        parquet = need("pyarrow.parquet", self.kind)
        return parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=2**16)

    def _schema(self) -> Any:
        with reading(self.path, self.kind), self._open() as file:
            self.empty = file.metadata.num_rows == 0
            return file.schema_arrow

    def _batches(self, names: list[str], rows: int) -> Iterator[Any]:
        with self._open() as file:
            yield from file.iter_batches(batch_size=rows, columns=names)


class Arrow(ColumnFile):
    kind = "Arrow"

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, Any]]:
        """The reader, and its batches: files know where each is, streams do not."""
        pa = need("pyarrow", self.kind)
        ipc = need("pyarrow.ipc", self.kind)
        with pa.memory_map(str(self.path)) as file:
            try:
                reader = ipc.open_file(file)
                yield reader, map(reader.get_batch, range(reader.num_record_batches))
            except pa.ArrowInvalid:
                file.seek(0)
                reader = ipc.open_stream(file)
                yield reader, reader

    def _schema(self) -> Any:
        with reading(self.path, self.kind), self._open() as (reader, batches):
            self.empty = not any(batch.num_rows for batch in batches)
            return reader.schema

    def _batches(self, names: list[str], rows: int) -> Iterator[Any]:
        with self._open() as (_, batches):
            for batch in batches:
                used = batch.select(names)
                used.validate(full=True)  # offsets and codes that lead out of the file end Python
                yield used


class Separated(ColumnFile):
    """Text: the types are those of the first megabyte, whole numbers as any other."""

    kind = "CSV"

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.given, self.types = dialect, dict[str, Any]()
        super().__init__(path)

    def _stream(self) -> Any:
        return PACKED.get(self.path.suffix.lower(), open)(self.path, "rb")

    def _reader(self, file: Any, names: list[str] | None) -> Any:
        csv = need("pyarrow.csv", self.kind)
        usual = csv.ConvertOptions().null_values
        return csv.open_csv(
            file,
            csv.ReadOptions(block_size=self.block, encoding=self.dialect.encoding,
                            column_names=self.header, skip_rows=1),
            csv.ParseOptions(delimiter=self.dialect.sep, newlines_in_values=self.quoted),
            csv.ConvertOptions(column_types=self.types, include_columns=names,
                               null_values=[*usual, *self.dialect.na], strings_can_be_null=True,
                               decimal_point=self.dialect.decimal),
        )  # fmt: skip

    def _schema(self) -> Any:
        pa = need("pyarrow", self.kind)
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        usual = next(SEPARATED[suffix] for suffix in reversed(suffixes) if suffix in SEPARATED)
        with reading(self.path, self.kind):
            with self._stream() as file:
                start = file.read(SAMPLE)
            if len(start) == SAMPLE:  # up to a whole line, and a whole letter
                start = start[: start.rfind(b"\n") + 1] or start
            seen = sniff(str(self.path), start, usual, self.given)
            self.dialect, self.header, self.codes = seen.dialect, seen.header, seen.codes
            if not self.header:
                raise InvalidDataError(
                    f"{self.path} is empty: the first line must name the columns.", self.path
                )
            check_distinct(self.path, self.header)
            # Cells with line breaks in them slow the reading down: only where there are quotes.
            self.quoted = b'"' in start[start.find(b"\n") :]
            self.block = max(SAMPLE, 16 * start.find(b"\n"))  # lines have to fit into a block
            with self._stream() as file, self._reader(file, None) as reader:
                found = reader.schema
                self.empty = next(reader, None) is None
        self.whole = {each.name for each in found if pa.types.is_integer(each.type)}
        for each in found:
            if each.name in self.whole or pa.types.is_null(each.type):
                self.types[each.name] = pa.float64()
            else:
                self.types[each.name] = each.type
        return pa.schema(list(self.types.items()))

    def read_as(self, types: dict[str, Any]) -> None:
        """Read these columns as these types, whatever this file's own first rows look like."""
        pa = need("pyarrow", self.kind)
        self.types |= {name: found for name, found in types.items() if name in self.types}
        self.schema = pa.schema(list(self.types.items()))

    def _batches(self, names: list[str], rows: int) -> Iterator[Any]:
        with self._stream() as file, self._reader(file, names) as reader:
            yield from reader


def opened(path: Path, dialect: Dialect) -> ColumnFile:
    """A file of columns, by its name."""
    suffix = path.suffix.lower()
    if suffix in PARQUET:
        return Parquet(path)
    return Arrow(path) if suffix in ARROW else Separated(path, dialect)


def regrouped(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """The same rows in tables of so many each, but for the last; never none."""
    pa = need("pyarrow", "Such")
    waiting, n = list[Any](), 0
    for batch in batches:
        waiting.append(batch)
        n += batch.num_rows
        if n >= rows:
            table = pa.Table.from_batches(waiting)
            for start in range(0, n - rows + 1, rows):
                yield table.slice(start, rows)
            rest = table.slice(n - n % rows)
            waiting, n = rest.to_batches(), n % rows
    if n:
        yield pa.Table.from_batches(waiting)


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """What pyarrow says of a file that it cannot read, as a sentence with the file's name."""
    pa = need("pyarrow", kind)
    try:
        yield
    except (pa.ArrowException, EOFError, OSError, UnicodeError) as error:
        if isinstance(error, OSError) and error.errno:  # the system's: no permission, say
            raise
        told = re.sub(r"\s+", " ", str(error)).strip().rstrip(".")
        found = re.search(r"column #(\d+): Row #(\d+): .*invalid value '(.*)'", told)
        if found:
            raise InvalidDataError(
                f"{path} has '{found[3]}' in line {found[2]}, in column {found[1]}, whose "
                "first cells are of another kind:",
                parameter="dialect",
                hint="correct it, take the column for categories by categories=[...], or leave it "
                "out by columns=[...]. Words that stand for missing values are named by "
                "dialect={'na': [...]}.",
                where=f"line {found[2]}",
            ) from None
        line = re.search(r"Row #(\d+): (Expected .*)", told)
        told = f"line {line[1]}: {line[2]}" if line else told
        raise InvalidDataError(f"{path} cannot be read as {kind}: {told}.", path) from None
