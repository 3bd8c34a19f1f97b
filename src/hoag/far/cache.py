"""A folder of pieces, written once so that they need not be parsed again.

manifest.json   of what data, how many pieces, which files of how many bytes; written last
moments.npy     see hoag.far.moments
000000.X.npy    the arrays of piece 0: X, or data, indices and indptr; codes, y, weight
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hoag.datasets.files import cache as usual_folder
from hoag.datasets.files import locked
from hoag.far.moments import Moments
from hoag.far.raw import Raw, Reader, Stream, Where
from hoag.far.tally import Tally

VERSION = "1"
BESIDE = ".hoag-blocks"  # the folder beside the data


class Cache(NamedTuple):
    """Where pieces were written to, and how many bytes they are."""

    path: Path
    bytes: int


class Cached(Reader):
    """The pieces of such a folder."""

    checked = own = True

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder, self.summary = folder, manifest["summary"]
        self.heights = self.summary["heights"]
        self.starts = [0, *accumulate(self.heights)]
        self.pieces, self.rows = len(self.heights), self.summary["rows"]
        self.features, self.sparse = self.summary["features"], self.summary["sparse"]
        self.files = {str(name): int(size) for name, size in manifest["files"].items()}
        self.nbytes = sum(self.files.values())
        self.moments = Moments.of(np.load(folder / "moments.npy"))

    def read(self, i: int, rows: bool = True) -> Raw:
        X: Any = None
        if rows and self.sparse:
            parts = tuple(self._load(i, name) for name in ("data", "indices", "indptr"))
            X = sparse.csr_matrix(parts, shape=(self.heights[i], self.features))
        elif rows:
            X = self._load(i, "X")
        codes = self._load(i, "codes") if rows else None
        where = Where(str(self.folder), self.starts[i])
        return Raw(X, codes, self._load(i, "y"), self._load(i, "weight"), where)

    def _load(self, i: int, name: str) -> Any:
        file = _name(i, name)
        return np.load(self.folder / file) if file in self.files else None

    def fingerprint(self) -> str:
        return str(self.summary["digest"])


def kept(stream: Stream, cache: Any) -> Cached:
    """The stream's pieces from its folder, which is written where there is none that fits."""
    folder = place(stream, cache)
    if not stream.paths:  # nobody can tell whether an iterable still gives the same
        found = _written(stream, folder)
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
        return found
    with locked(folder.with_name(f"{folder.name}.lock")):
        found_before = opened(folder, stream.fingerprint())
        if found_before is not None:
            return found_before
        with _whole(folder) as part:
            _written(stream, part)
    again = opened(folder, stream.fingerprint())
    assert again is not None, folder
    return again


def place(stream: Stream, cache: Any) -> Path:
    """The folder: beside the data if that can be written to, else with the user's other caches."""
    asked = None if cache in ("auto", True) else Path(cache).expanduser().absolute()
    if not stream.paths:
        if asked is not None:
            asked.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="hoag-blocks-", dir=asked))
    told = repr(([str(path.resolve()) for path in stream.paths], stream.kind, stream.options))
    key = hashlib.blake2b(told.encode(), digest_size=10).hexdigest()
    if asked is None:
        beside = stream.paths[0].resolve().parent
        asked = beside / BESIDE if _writable(beside) else usual_folder() / "blocks"
    asked.mkdir(parents=True, exist_ok=True)
    return asked / key


def opened(folder: Path, fingerprint: str) -> Cached | None:
    """What an earlier run wrote, if it is whole, and of these data as they are now."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        same = (manifest["version"], manifest["fingerprint"]) == (VERSION, fingerprint)
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
        sizes.pop("manifest.json")
        return Cached(folder, manifest) if same and sizes == manifest["files"] else None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder to write to that takes the place of the other in the end, or is gone."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
    part.mkdir()
    try:
        yield part
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _written(stream: Stream, folder: Path) -> Cached:
    tally = Tally(stream)
    try:
        for i, raw in enumerate(stream):
            tally.add(raw)
            _write(folder, i, raw)
        summary = tally.summary()
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(
                error.errno,
                f"There is no room for the cache of blocks in {folder.parent} "
                f"({error.strerror}): choose another folder by cache=, or cache=None",
            ) from error
        raise
    if summary["first"]:
        for path in folder.glob("*.indices.npy"):
            np.save(path, np.load(path) - np.int32(summary["first"]))
    np.save(folder / "moments.npy", tally.columns(summary).arrays())
    sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
    manifest = {"version": VERSION, "summary": summary, "files": sizes}
    stream.settled(summary)
    manifest["fingerprint"] = stream.fingerprint()
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return Cached(folder, manifest)


def _write(folder: Path, i: int, raw: Raw) -> None:
    parts: dict[str, Any] = {"codes": raw.codes, "y": _plain(raw.y), "weight": raw.weight}
    if sparse.issparse(raw.X):
        narrow = np.int32 if max(raw.X.shape[1], raw.X.nnz) < 2**31 else np.int64
        parts |= {
            "data": raw.X.data,
            "indices": raw.X.indices.astype(narrow, copy=False),
            "indptr": raw.X.indptr.astype(narrow, copy=False),
        }
    else:
        parts["X"] = np.ascontiguousarray(raw.X)
    for name, values in parts.items():
        if values is not None:
            np.save(folder / _name(i, name), values, allow_pickle=False)


def _plain(y: Any) -> Any:
    """Labels that are Python objects as strings, which a file can hold."""
    return y.astype(str) if y.dtype.hasobject else y


def _name(i: int, part: str) -> str:
    return f"{i:06d}.{part}.npy"
