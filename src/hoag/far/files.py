"""Which files are meant, and what tells them from others without reading them."""

from __future__ import annotations

import difflib
import glob
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hoag.datasets.read import PACKED
from hoag.values import InvalidInput


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
            raise InvalidInput(
                f"{name} is a folder: say which files in it, such as '{path / '*.parquet'}'."
            )
        else:
            near = path.parent.glob("*") if path.parent.is_dir() else ()
            raise InvalidInput(f"There is no file {name}.{nearest(name, near)}")
    if not paths:
        raise InvalidInput("The list of files is empty: give at least one.")
    return paths


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


def stamp(paths: Sequence[Path], *options: Any) -> str:
    """What tells these files, read with these options, from others."""
    told = repr(([facts(path) for path in paths], options))
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def listed(names: Iterable[Any]) -> str:
    """'a', 'b', 'c' and 20 more."""
    quoted = [f"'{name}'" for name in names]
    more = f" and {len(quoted) - 12} more" if len(quoted) > 12 else ""
    return ", ".join(quoted[:12]) + more


def nearest(name: str, names: Iterable[Any]) -> str:
    """A question for a misspelt name, or nothing."""
    close = difflib.get_close_matches(name, [str(other) for other in names], n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(other) for other in close)}?" if close else ""


def sized(nbytes: float) -> str:
    """Bytes for people: 12 kB, 3.4 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} TB"
