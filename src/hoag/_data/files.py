"""Which files are meant, and what tells them from others without reading them."""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import lzma
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hoag._core.errors import InvalidDataError
from hoag._core.words import listed, nearest

# What opens a packed file, by its ending.
PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def found(given: Any) -> list[Path]:
    """The files of a path, a pattern or a list of these, those of a pattern sorted.

    Their paths are absolute: rows may be read from another folder, or by another process.
    """
    names = given if isinstance(given, (list, tuple)) else [given]
    paths = list[Path]()
    for name in map(os.fspath, names):
        path = Path(name).expanduser()
        matches = sorted(glob.glob(str(path), recursive=True)) if glob.has_magic(name) else []
        if path.exists() and not path.is_dir():
            paths.append(path.absolute())
        elif matches:
            paths += [Path(match).absolute() for match in matches if not os.path.isdir(match)]
        elif path.is_dir():
            raise InvalidDataError(
                f"{name} is a folder.\nSay which files in it, such as '{path / '*.parquet'}'.", name
            )
        else:
            near = path.parent.glob("*") if path.parent.is_dir() else ()
            raise InvalidDataError(f"There is no file {name}.{nearest(name, near)}", name)
    if not paths:
        raise InvalidDataError("The list of files is empty.\nGive at least one.")
    for path in paths:
        if not path.is_file():
            raise InvalidDataError(
                f"{path} is not a regular file, and a pipe or a device cannot be read again and "
                "again.\nWrite its rows to a file.",
                path,
            )
    return paths


def check_distinct(name: Any, columns: Iterable[Any]) -> None:
    """An error that names the columns that are there twice: nobody could tell which is meant."""
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice == [""]:
        raise InvalidDataError(
            f"{name} has several columns without a name.\nName them in the file.", name
        )
    if twice:
        have, is_are = ("column", "is") if len(twice) == 1 else ("columns", "are")
        raise InvalidDataError(
            f"{name} has the {have} {listed(twice)} more than once, and which {is_are} meant "
            "cannot be told.\nRename or remove one of them.",
            name,
        )


def suffix(path: Path) -> str:
    """What kind of file it is by its name, without .gz and the like."""
    suffixes = [each.lower() for each in path.suffixes] or [""]
    if len(suffixes) > 1 and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1]


def facts(path: Path) -> tuple[str, int, int]:
    """A file's name, size, and when it was written."""
    known = path.stat()
    return path.name, known.st_size, known.st_mtime_ns


class UnchangedFiles:
    """Files whose sizes and times were these when they were first seen."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._facts = {path: facts(path) for path in dict.fromkeys(paths)}

    def check(self) -> None:
        """An error that names a file that is another one by now: its rows would be mixed."""
        for path, before in self._facts.items():
            try:
                same = facts(path) == before
            except FileNotFoundError:
                raise InvalidDataError(
                    f"{path} is no longer there, and its rows are read again and again.\nPut it "
                    "back, and call hoag.partitions again.",
                    path,
                ) from None
            if not same:
                raise InvalidDataError(
                    f"{path} has changed since it was opened: its size or its time is another. "
                    "Rows have to stay the same while a model is fitted.\nCall hoag.partitions "
                    "again when the file is complete.",
                    path,
                )


def stamp(paths: Sequence[Path], *options: Any) -> str:
    """What tells these files, read with these options, from others."""
    told = repr(([facts(path) for path in paths], options))
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()
