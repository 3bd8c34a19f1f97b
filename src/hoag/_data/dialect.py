"""How the text of a table is written: its encoding, what separates cells, its decimal sign."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass

from hoag._core.errors import InvalidDataError, InvalidParameterError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "utf-16": "UTF-16", "latin-1": "Latin-1",
             "cp1252": "Windows-1252, as most Latin-1 is"}  # fmt: skip
SAMPLE = 1 << 20  # bytes of a file that are looked at
LINES = 1000

COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
LEADING_ZERO = re.compile(r"0\d+")


@dataclass(frozen=True)
class Dialect:
    """What is known about a file's text; None is found out from the file.

    `na` are the words that stand for a missing value beside the usual ones.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()

    def __str__(self) -> str:
        sep = SEPARATORS.get(self.sep or ",", f"'{self.sep}'")
        encoding = ENCODINGS.get(self.encoding or "utf-8", self.encoding)
        comma = ", with decimal commas" if self.decimal == "," else ""
        return f"{encoding}, separated by {sep}{comma}"


@dataclass(frozen=True)
class Sniffed:
    """A file's dialect, the names in its first line, and columns where a number begins with 0."""

    dialect: Dialect
    header: list[str]
    codes: frozenset[str]


def sniff(name: str, data: bytes, usual: str, known: Dialect) -> Sniffed:
    """What `known` leaves open, from the bytes of the file; `usual` separates if nothing does."""
    encoding = _encoding(name, data, known.encoding)
    text = data[:SAMPLE].decode(encoding, errors="replace")
    whole = len(data) <= SAMPLE
    if known.sep is None:
        tries = {sep: _cells(text, sep, whole) for sep in (usual, ",", ";", "\t", "|")}
        sep = max(tries, key=lambda sep: _agreement(tries[sep]))  # the first of equals
        rows = tries[sep]
    else:
        sep, rows = known.sep, _cells(text, known.sep, whole)
    decimal = known.decimal or _decimal(rows, sep)
    header = [cell.strip() for cell in rows[0]] if rows else []
    codes = frozenset(
        column
        for j, column in enumerate(header)
        if any(LEADING_ZERO.fullmatch(row[j].strip()) for row in rows[1:] if j < len(row))
    )
    return Sniffed(Dialect(sep, decimal, encoding, known.na), header, codes)


def _encoding(name: str, data: bytes, asked: str | None) -> str:
    """The encoding that all bytes are right in: by its mark, UTF-8, or one that Windows writes."""
    if asked is not None:
        try:
            codecs.lookup(asked)
            data.decode(asked)
        except LookupError:
            hint = "it is not known; utf-8, latin-1 and cp1252 are."
            raise InvalidParameterError.of("encoding", asked, hint) from None
        except UnicodeDecodeError as error:
            why = f"{name} is not {asked} text ({error.reason})."
            raise InvalidDataError(why, name, parameter="encoding") from None
        return asked
    marked = [encoding for mark, encoding in MARKS.items() if data.startswith(mark)]
    if not marked and b"\0" in data[:SAMPLE]:
        raise InvalidDataError(f"{name} is not a text file: it has bytes that are 0.", name)
    for encoding in (*marked, "utf-8", "cp1252"):
        try:
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"  # in which all bytes are right


def _cells(text: str, sep: str, whole: bool) -> list[list[str]]:
    """The first rows as cells; the last one is left out where the file goes on."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=sep):
            if row:
                rows.append(row)
            if len(rows) > LINES:
                return rows[:-1]
    except csv.Error:
        return []
    return rows if whole else rows[:-1]


def _agreement(rows: list[list[str]]) -> tuple[float, int]:
    """How many rows are as wide as the first, and how wide that is; one column says nothing."""
    width = len(rows[0]) if rows else 0
    if width < 2:
        return 0.0, 0
    return sum(len(row) == width for row in rows) / len(rows), width


def _decimal(rows: list[list[str]], sep: str) -> str:
    """A comma where more cells are numbers with one than with a point, and it separates nothing."""
    if sep == ",":
        return "."
    cells = [cell.strip() for row in rows[1:] for cell in row]
    commas = sum(bool(COMMA_NUMBER.fullmatch(cell)) for cell in cells)
    points = sum(bool(POINT_NUMBER.fullmatch(cell)) for cell in cells)
    return "," if commas > points else "."
