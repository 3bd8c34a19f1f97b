"""Show, fetch and check the data sets of the paper.

Files are looked for in the folder that the environment variable HOAG_DATA names, then in the cache
(HOAG_CACHE, or the user's cache folder); `fetch` downloads into the cache what is in neither.

    hoag data list
    hoag data fetch 20news mnist
    hoag data check
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoag.cli import table, write_over

if TYPE_CHECKING:
    from hoag.datasets import Entry

MORE = (" The exit code is 1 if something is wrong, or if a data set that is named is not here. "
        "Without a name, all that are here are checked.")  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, does, more in (
        ("list", "show what there is, and whether it is here", ""),
        ("fetch", "download what is not here", " One that breaks off is tried a second time."),
        ("check", "compare checksums, and read the files", MORE),
    ):
        action = actions.add_parser(name, help=does, description=f"{does.capitalize()}.{more}")
        group: Any = action
        if name == "fetch":
            group = action.add_mutually_exclusive_group(required=True)
            group.add_argument("--all", action="store_true", help="all that are distributed")
        else:
            action.add_argument("--json", action="store_true", help="print JSON")
        if name != "list":
            group.add_argument(
                "names", nargs="*", metavar="NAME", default=[], help="as in the list"
            )


def run(args: argparse.Namespace) -> int:
    return {"list": _list, "fetch": _fetch, "check": _check}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from hoag import datasets

    rows = [_row(name, entry) for name, entry in datasets.CATALOGUE.items()]
    if args.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    lines = [
        (row["name"], f"{row['rows']} × {row['columns']}", row["kind"], _megabytes(row["bytes"]),
         row["where"] if row["here"] else f"not here: {row['where']}") for row in rows
    ]  # fmt: skip
    print(table((), [("name", "rows × columns", "kind", "size", "where"), *lines]))
    print(f"\nFiles are looked for in {' and then in '.join(map(str, datasets.folders()))}.")
    return 0


def _row(name: str, entry: Entry) -> dict[str, Any]:
    """One line of the list: nothing is opened, the shape is the catalogue's."""
    found, here = entry.paths, entry.present
    sizes = [path.stat().st_size for path in found] if here else [f.size for f in entry.files]
    where = f"hoag data fetch {name}"
    if not entry.files:
        where = "bundled with scikit-learn"
    elif here:
        where = ", ".join(dict.fromkeys(str(path.parent) for path in found))
    elif not entry.downloadable:
        where = f"put {entry.files[0].name} into the folder HOAG_DATA"
    own = ("title", "description", "rows", "columns", "kind")
    return {
        "name": name,
        **{word: getattr(entry, word) for word in own},
        "here": here,
        "where": where,
        "files": [str(path) for path in found],
        "bytes": sum(sizes) if all(sizes) else None,
    }


def _fetch(args: argparse.Namespace) -> int:
    from hoag import datasets
    from hoag.errors import DataNotFoundError

    failed = 0
    entries = {name: datasets.describe(name) for name in args.names or datasets.CATALOGUE}
    for name, entry in entries.items():
        if args.all and not entry.downloadable and not entry.present:
            print(f"{name}: not distributed anywhere, left out", file=sys.stderr)
            continue
        write_over(f"{name}: looking for its files, or downloading them")
        try:
            paths = datasets.fetch(name) or ("bundled with scikit-learn",)
        except DataNotFoundError as error:
            failed, paths = 1, ()
            write_over("")
            print(f"{name}: {error}", file=sys.stderr)
        write_over("")
        for path in paths:
            print(f"{name}: {path}")
    return failed


def _check(args: argparse.Namespace) -> int:
    from hoag import datasets
    from hoag.errors import DataNotFoundError

    rows = []
    entries = {name: datasets.describe(name) for name in args.names or datasets.CATALOGUE}
    for name, entry in entries.items():
        try:
            wrong = _wrong(name, entry)
            status = "wrong" if wrong else "ok"
        except DataNotFoundError as error:
            wrong, status = [str(error)], "not here"
        rows.append({"name": name, "status": status, "wrong": wrong})
        if not args.json:
            short = status == "not here" and not args.names
            print(": ".join([name, status, *([] if short else wrong)]), flush=True)
    if args.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    bad = ("wrong", "not here") if args.names else ("wrong",)
    return int(any(row["status"] in bad for row in rows))


def _wrong(name: str, entry: Entry) -> list[str]:
    """What is wrong with a data set's files, in sentences: checksums, reading, shape."""
    from hoag import datasets
    from hoag.errors import DataDamagedError

    here = [(file, file.here()) for file in entry.files]
    wrong = [
        f"{path} has the wrong checksum: delete it and fetch it again."
        for file, path in here
        if path and file.forms[path.name] not in ("", _digest(path))
    ]
    try:
        X = datasets.load(name, download=False).X
    except DataDamagedError as error:
        return [*wrong, str(error)]
    if X.shape != (entry.rows, entry.columns):
        wrong.append(f"{name} has the shape {X.shape} in place of {(entry.rows, entry.columns)}.")
    return wrong


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _megabytes(size: int | None) -> str:
    return "?" if size is None else f"{size / 1e6:.1f} MB" if size else ""
