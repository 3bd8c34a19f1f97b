"""svmlight files, label index:value index:value …, as sparse rows, some lines at a time."""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._data.files import PACKED
from hoag._data.raw import PARTITION_BYTES, Raw, ReadOptions, Stream, Where, spans

MOST = int(np.iinfo(np.int32).max)  # features, which is how far SciPy counts them
SUFFIXES = (".svm", ".svmlight", ".libsvm", ".txt")


class Svmlight(Stream):
    """Lines of several files.

    The number of columns of X is that of the features seen in this partition: how many there are in
    all is known only after the first pass, as is whether files count them from 0 or from 1.
    """

    kind, widening = "svmlight", True

    def __init__(self, paths: Sequence[Path], asked: ReadOptions) -> None:
        self.paths, self.rows, self.dtype = paths, asked.rows, np.dtype(asked.dtype or np.float64)
        self.width: int | None = None
        self.shift = 0
        if asked.known is not None:
            self.settled(asked.known)
        self.asked, self.given = asked.features, (asked.features, self.width, self.shift)

    def found(self, columns: int, least: int) -> dict[str, Any]:
        """Features are numbered from 0 or from 1 on, and may be more than those seen."""
        if self.width is not None:
            return super().found(columns, least)
        seen = columns - least
        if self.asked is not None and seen > self.asked:
            raise InvalidParameterError(
                f"features={self.asked}, and the files have {seen}.\nGive at least as many.",
                "features",
            )
        return {"features": max(seen, 0) if self.asked is None else self.asked, "first": least}

    def settled(self, summary: dict[str, Any]) -> None:
        super().settled(summary)
        if self.width is None:
            self.width, self.shift = summary["features"], summary["first"]

    @property
    def options(self) -> tuple[Any, ...]:
        return self.rows, self.dtype.name, self.given

    def __iter__(self) -> Iterator[Raw]:
        for path in self.paths:
            start, line = 0, 1
            for lines in self._texts(path):
                raw = self._parsed(lines, Where(str(path), start), line)
                for a, b in spans(raw.y.size, self.rows or max(1, raw.y.size)):
                    where = Where(str(path), start + a)
                    yield Raw(raw.X[a:b], None, raw.y[a:b], None, where)
                start, line = start + raw.y.size, line + lines.count(b"\n")

    def _texts(self, path: Path) -> Iterator[bytes]:
        """Whole lines of a partition: in svmlight a number takes about as much as in memory."""
        with PACKED.get(path.suffix.lower(), open)(path, "rb") as file:
            try:
                while text := file.read(PARTITION_BYTES):
                    yield text + file.readline()
            except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
                raise InvalidDataError(f"{path} is not a whole file: {error}.", path) from None

    def _parsed(self, lines: bytes, where: Where, line: int) -> Raw:
        """Lines of a file, the first of which has this number, counted from one."""
        from sklearn.datasets import load_svmlight_file

        width = None if self.width is None else self.width + self.shift
        try:
            X, y = load_svmlight_file(
                io.BytesIO(lines), zero_based=True, n_features=width, dtype=self.dtype
            )
        except (ValueError, IndexError, OverflowError) as error:
            told = _bad_line(lines, line, self.width, self.shift) or str(error)
            raise InvalidDataError(
                f"{where.file} is not in svmlight format (label index:value index:value …): "
                f"{told}.",
                where.file,
            ) from None
        return Raw(X[:, self.shift :] if self.shift else X, None, y, None, where)


def _bad_line(lines: bytes, first: int, width: int | None, shift: int) -> str:
    """Where these lines stop being svmlight, as the end of a sentence; "" if that is not seen."""
    for number, line in enumerate(lines.splitlines(), start=first):
        label, *pairs = line.split(b"#")[0].split() or [b"0"]
        at = f"line {number}"
        try:
            float(label)
            for index, value in (pair.split(b":") for pair in pairs):
                j = int(index if index != b"qid" else value)
                float(value)
                if not 0 <= j < MOST:
                    return f"{at} has the feature {j}, and features are numbered up to {MOST - 1}"
                if width is not None and j >= width + shift and index != b"qid":
                    return f"{at} has the feature {j}, and there are {width} features"
        except ValueError:
            start = line.decode(errors="replace").strip()[:40]
            return (
                f"{at} starts with '{start}'. If it is a table with column names, call it .csv or "
                ".tsv"
            )
    return ""
