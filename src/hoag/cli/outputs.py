"""Where a command writes: to regular files, never over what it reads, and no file twice."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hoag._core.writing import destination
from hoag.cli.tables import BUNDLED


def check(
    inputs: Mapping[str, str],
    files: Mapping[str, str | None],
    folders: Mapping[str, str | None] | None = None,
) -> None:
    """An error for an output that is an input, or another output; None stands for none.

    The keys are what users call them: "FILE", "--save". Whatever would fail at the end fails now.
    """
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
            what = "is read" if other in read else "is written, too"
            raise ValueError(
                f"{name} {path} is the file of {other}, which {what}, and would be lost: give "
                f"{name} another name."
            )


def _identity(path: str) -> Any:
    """What two names of one file have in common; "-" is standard input."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
    except (OSError, ValueError):  # not there yet, or no file at all
        return os.path.normcase(os.path.realpath(path))
    return found.st_dev, found.st_ino
