"""Streams by their numbers: from a folder of partitions, written once, or parsed at every pass.

manifest.json   of what data, how many partitions, which files of how many bytes with which
checksums,
                and a checksum of its own; written last
statistics.npy     see hoag._data.statistics
000000.X.npy    the arrays of partition 0: X, or data, indices and indptr; codes, y, weight

Checksums are compared when a file is read for the first time, and again if its size or its time is
another: they take as long as a pass over the numbers.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import threading
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hoag._core.errors import InvalidDataError, InvalidInputError, NotWritableError
from hoag._core.words import listed
from hoag._core.writing import cache_folder, locked
from hoag._data.arrays import UNREADABLE
from hoag._data.files import UnchangedFiles, facts
from hoag._data.raw import Raw, Reader, Stream, Where
from hoag._data.statistics import ColumnStatistics, Tally

VERSION = "3"
BESIDE = ".hoag-blocks"  # the folder beside the data


class Cache(NamedTuple):
    """Where partitions were written to, and how many bytes they are."""

    path: Path
    bytes: int


class Tallied(Reader):
    """Partitions that a first pass has gone through: its summary, and what it says of columns."""

    checked = own = True
    statistics: ColumnStatistics

    def __init__(self, summary: dict[str, Any], fingerprint: str) -> None:
        self.summary, self.heights, self.identity = summary, summary["heights"], fingerprint
        self.partitions, self.rows = len(self.heights), summary["rows"]
        self.features, self.sparse = summary["features"], summary["sparse"]

    def fingerprint(self) -> str:
        return self.identity


class Cached(Tallied):
    """The partitions of such a folder."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        super().__init__(manifest["summary"], manifest["fingerprint"])
        self.folder, self.starts = folder, [0, *accumulate(self.heights)]
        self.sums = {str(name): int(told) for name, (_, told) in manifest["files"].items()}
        self.nbytes = sum(int(size) for size, _ in manifest["files"].values())
        self._verified: dict[str, tuple[str, int, int]] = {}
        self.statistics = ColumnStatistics.of(self._loaded("statistics.npy"))

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
        return self._loaded(file) if file in self.sums else None

    def _loaded(self, name: str) -> Any:
        """An array, whose checksum is compared unless that was done to this very file."""
        path = self.folder / name
        try:
            known = facts(path)
            found = np.load(path)
            good = self._verified.get(name) == known or _checksum(found) == self.sums[name]
        except (OSError, MemoryError, *UNREADABLE) as error:
            raise self._damaged(path, f" ({error})") from None
        if not good:
            raise self._damaged(path)
        self._verified[name] = known
        return found

    def _damaged(self, path: Path, why: str = "") -> InvalidInputError:
        return InvalidDataError(
            f"{path}, a part of the cache of partitions, is not what was written there{why}.\n"
            f"Delete the folder {self.folder}, and the next hoag.partitions makes it again.",
            path,
        )


def kept(stream: Stream, cache: Any) -> Cached:
    """The stream's partitions from its folder, which is written where there is none that fits."""
    folder = place(stream, cache)
    if not stream.paths:  # nobody can tell whether an iterable still gives the same
        with _sentences(folder.parent):
            found = _written(stream, folder)
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
        return found
    with _sentences(folder.parent), locked(folder.with_name(f"{folder.name}.lock")):
        found_before = opened(folder, stream.fingerprint())
        if found_before is not None:
            return found_before
        with _whole(folder) as part:
            _written(stream, part)
    again = opened(folder, stream.fingerprint())
    if again is None:
        raise InvalidDataError(
            f"{listed(stream.paths)}, or the cache of partitions {folder}, changed while it was "
            "written.\nCall hoag.partitions again when nobody writes there.",
            folder,
        )
    return again


def place(stream: Stream, cache: Any) -> Path:
    """The folder: beside the data if that can be written to, else with the user's other caches."""
    asked = None if cache in ("auto", True) else Path(cache).expanduser().absolute()
    if not stream.paths:
        where = Path(tempfile.gettempdir()) if asked is None else asked
        with _sentences(where):
            where.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="hoag-blocks-", dir=where))
    told = repr(([str(path.resolve()) for path in stream.paths], stream.kind, stream.options))
    key = hashlib.blake2b(told.encode(), digest_size=10).hexdigest()
    if asked is None:
        beside = stream.paths[0].resolve().parent
        asked = beside / BESIDE if _writable(beside) else cache_folder() / "blocks"
    with _sentences(asked):
        asked.mkdir(parents=True, exist_ok=True)
    return asked / key


def opened(folder: Path, fingerprint: str) -> Cached | None:
    """What an earlier run wrote, if it is whole, and of these data as they are now."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        told = manifest.pop("checksum")
        if told != _of_text(manifest) or manifest["version"] != VERSION:
            return None
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(folder)}
        sizes.pop("manifest.json")
        whole = sizes == {name: size for name, (size, _) in manifest["files"].items()}
        same = manifest["fingerprint"] == fingerprint
        return Cached(folder, manifest) if same and whole else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


@contextmanager
def _sentences(folder: Path) -> Iterator[None]:
    """What the system says where a cache cannot be written to a folder, as a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            told = f"There is no room for the cache of partitions in {folder}"
        elif error.filename is not None and str(error.filename).startswith(str(folder)):
            told = f"The cache of partitions cannot be written to {folder}"
        else:
            raise
        raise NotWritableError(
            f"{told} ({error.strerror}).\nChoose another folder by cache=, or cache=None.",
            "cache",
            where=folder,
        ) from error


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
    tally, watched, sums = Tally(stream), UnchangedFiles(stream.paths), dict[str, int]()
    try:
        for i, raw in enumerate(stream):
            tally.add(raw)
            _write(folder, i, raw, sums)
        summary = tally.summary()
        if summary["first"]:
            for name in [name for name in sums if name.endswith(".indices.npy")]:
                _save(folder, name, np.load(folder / name) - np.int32(summary["first"]), sums)
        _save(folder, "statistics.npy", tally.columns(summary).arrays(), sums)
        files = {name: (os.stat(folder / name).st_size, sums[name]) for name in sums}
        stream.settled(summary)
        manifest = {
            "version": VERSION, "summary": summary, "files": files,
            "fingerprint": stream.fingerprint(),
        }  # fmt: skip
        told = json.dumps(manifest | {"checksum": _of_text(manifest)})
        watched.check()
        (folder / "manifest.json").write_text(told, encoding="utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Cached(folder, manifest)


def _write(folder: Path, i: int, raw: Raw, sums: dict[str, int]) -> None:
    for name, values in raw.arrays.items():
        if name in ("indices", "indptr"):
            narrow = max(raw.X.shape[1], raw.X.nnz) < 2**31
            values = values.astype(np.int32 if narrow else np.int64, copy=False)
        elif values.dtype.hasobject:
            values = values.astype(str)  # labels that are Python objects, which no file can hold
        _save(folder, _name(i, name), np.ascontiguousarray(values), sums)


def _save(folder: Path, name: str, values: npt.NDArray[Any], sums: dict[str, int]) -> None:
    try:
        np.save(folder / name, values, allow_pickle=False)
    except OSError as error:
        if error.errno is not None:
            raise
        # NumPy tells of a full disk by how many numbers were written.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
    sums[name] = _checksum(values)


def _checksum(values: npt.NDArray[Any]) -> int:
    """Of the numbers, and of how they are to be read."""
    known = zlib.crc32(f"{values.shape} {values.dtype.str}".encode())
    return zlib.crc32(np.ascontiguousarray(values).ravel().view(np.uint8).data, known)


def _of_text(manifest: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(manifest).encode())


def _name(i: int, part: str) -> str:
    return f"{i:06d}.{part}.npy"


class Cursor(Tallied):
    """Partitions in their order as they are parsed; to go back is to begin again."""

    def __init__(self, stream: Stream) -> None:
        tally = Tally(stream)
        for raw in stream:
            tally.add(raw)
        summary = tally.summary()
        stream.settled(summary)
        super().__init__(summary, stream.fingerprint())
        self.stream, self.own = stream, bool(stream.paths)
        self.statistics = tally.columns(self.summary)
        self.nbytes = sum(path.stat().st_size for path in stream.paths) or None
        self._begin()

    def _begin(self) -> None:
        self._lock, self._next = threading.Lock(), 0
        self._partitions: Iterator[Raw] | None = None

    def read(self, i: int, rows: bool = True) -> Raw:
        with self._lock:
            if self._partitions is None or i < self._next:
                self._partitions, self._next = iter(self.stream), 0
            while True:
                raw = next(self._partitions, None)
                if raw is None or len(raw.y) != self.heights[self._next]:
                    self._partitions = None
                    raise InvalidDataError(
                        f"A pass over {self.stream.kind} found {self.partitions} partitions, and "
                        f"another pass found others from partition {self._next} on: rows have to "
                        "be the same each time they are read. An iterator that is used up after "
                        "one pass cannot be read again.\nGive a function that begins a new one.",
                        f"partition {self._next}",
                    )
                self._next += 1
                if self._next == i + 1:
                    break
            if self._next == self.partitions:
                self._partitions = None
            return raw

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()
