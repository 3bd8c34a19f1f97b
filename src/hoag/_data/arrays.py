"""Arrays by their rows: in memory, in an .npy file, or in an .npz archive of such files."""

from __future__ import annotations

import hashlib
import math
import struct
import tokenize
import zipfile
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidDataError, InvalidInputError, check_given
from hoag._data.files import facts

# What NumPy and zipfile raise for bytes that are none of theirs.
UNREADABLE = (
    *(ValueError, EOFError, SyntaxError, TypeError, OverflowError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, RuntimeError, struct.error, tokenize.TokenError),
)


class Rowwise(ABC):
    """An array of which some rows that follow each other can be had.

    `name` is what sentences call it, `path` the file where it is, if it is in one; `slow` says that
    rows are cheap only one after another.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    path: Path | None = None
    slow: bool = False

    @abstractmethod
    def take(self, start: int, stop: int) -> npt.NDArray[Any]: ...

    @abstractmethod
    def facts(self) -> str:
        """What tells it from others."""

    def close(self) -> None:
        """Lets go of what is open."""
        return

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def row_items(self) -> int:
        return math.prod(self.shape[1:])


class InArray(Rowwise):
    """An array of NumPy's, a memory map among them; rows are views."""

    def __init__(self, array: Any, name: str) -> None:
        check_given(**{name: array})
        self.array, self.name = np.asarray(array), name
        self.shape, self.dtype = self.array.shape, self.array.dtype

    def take(self, start: int, stop: int) -> npt.NDArray[Any]:
        return self.array[start:stop]

    def facts(self) -> str:
        """Of all bytes up to 64 MB; of as many, in 64 places, where there are more."""
        known = hashlib.blake2b(f"{self.shape} {self.dtype}".encode(), digest_size=16)
        n = len(self.array)
        if self.array.dtype.hasobject:
            known.update(repr(self.array.tolist()).encode())
        elif self.nbytes <= 2**26:
            known.update(np.ascontiguousarray(self.array).data)
        else:
            rows = max(1, int(2**20 / max(1, self.nbytes / n)))
            for start in np.linspace(0, n - rows, 64).astype(int):
                known.update(np.ascontiguousarray(self.array[start : start + rows]).data)
        return known.hexdigest()


class OnDisk(Rowwise):
    """Numbers that lie in a file as they are in memory, from an offset on.

    What is read is read into a buffer of its own, rather than mapped: then a thread that reads
    ahead does the reading, and memory is what the partitions take.
    """

    path: Path

    def __init__(self, path: Path, name: str, offset: int = 0) -> None:
        self.path, self.name = path, name
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                self.shape, self.fortran, self.dtype = _header(file)
                self.offset = file.tell()
        except UNREADABLE as error:
            raise _unreadable(name, error) from None
        _check_plain(self.dtype, name)
        if path.stat().st_size < self.offset + self.nbytes:
            raise InvalidDataError(
                f"{name} is cut off: its header promises {self.nbytes} bytes more than it has "
                "room for.\nWrite it again.",
                name,
            )

    def take(self, start: int, stop: int) -> npt.NDArray[Any]:
        if self.fortran and len(self.shape) > 1:
            mapped: Any = np.memmap(
                self.path, self.dtype, "r", self.offset, self.shape, "F"
            ) if self.nbytes else np.empty(self.shape, self.dtype)  # fmt: skip
            return np.ascontiguousarray(mapped[start:stop])
        width = self.row_items
        found = np.fromfile(
            self.path, self.dtype, (stop - start) * width,
            offset=self.offset + start * width * self.dtype.itemsize)  # fmt: skip
        if found.size != (stop - start) * width:
            raise _cut_off(self.name, start + found.size // max(1, width), self.shape[0])
        return found.reshape(stop - start, *self.shape[1:])

    def facts(self) -> str:
        return f"{facts(self.path)} {self.offset}"


class Compressed(Rowwise):
    """A compressed member of an .npz archive: its rows come one after another."""

    slow = True
    path: Path

    def __init__(self, path: Path, member: str, name: str) -> None:
        self.path, self.member, self.name = path, member, name
        self._stream: Any = None
        self._restart()
        _check_plain(self.dtype, name)
        if self.fortran and len(self.shape) > 1:
            raise InvalidDataError(
                f"{name} is compressed and ordered by columns, so its rows cannot be had without "
                "all of it.\nSave it with np.savez, or in C order.",
                name,
            )

    def _restart(self) -> None:
        self.close()
        try:
            with zipfile.ZipFile(self.path) as archive:
                self._stream = archive.open(self.member)  # keeps the file open
            self.shape, self.fortran, self.dtype = _header(self._stream)
        except (*UNREADABLE, KeyError) as error:
            self.close()
            raise _unreadable(self.name, error) from None
        self._at = 0

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def take(self, start: int, stop: int) -> npt.NDArray[Any]:
        size = self.row_items * self.dtype.itemsize
        if start != self._at or self._stream is None:
            self._restart()
            self._unpacked(start * size)
        found = self._unpacked((stop - start) * size)
        if len(found) != (stop - start) * size:
            raise _cut_off(self.name, start + len(found) // max(1, size), self.shape[0])
        self._at = stop
        return np.frombuffer(found, self.dtype).reshape(stop - start, *self.shape[1:]).copy()

    def facts(self) -> str:
        return f"{facts(self.path)} {self.member}"

    def _unpacked(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            self.close()
            raise _unreadable(self.name, error) from None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_stream": None}


def members(path: Path) -> dict[str, Rowwise]:
    """The arrays of an .npz archive; those that are not compressed are read where they lie."""
    found: dict[str, Rowwise] = {}
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
            for info in archive.infolist():
                key = info.filename.removesuffix(".npy")
                name = f"'{key}' of {path}"
                if info.compress_type != zipfile.ZIP_STORED:
                    found[key] = Compressed(path, info.filename, name)
                    continue
                file.seek(info.header_offset + 26)  # the lengths of the name, and of what follows
                lengths = (
                    int.from_bytes(file.read(2), "little"),
                    int.from_bytes(file.read(2), "little"),
                )
                found[key] = OnDisk(path, name, info.header_offset + 30 + sum(lengths))
    except UNREADABLE as error:  # InvalidInputError is a ValueError
        for each in found.values():
            each.close()
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidDataError(
            f"{path} cannot be read as an .npz archive: {error}.", str(path)
        ) from None
    return found


def _unreadable(name: str, error: Exception) -> InvalidInputError:
    told = str(error).strip().rstrip(".") or type(error).__name__
    return InvalidDataError(
        f"{name} cannot be read as an .npy file: {told}.\nWrite it again.", name
    )


def _cut_off(name: str, row: int, rows: int) -> InvalidInputError:
    return InvalidDataError(
        f"{name} is cut off at row {row}, where it should have {rows} rows.\nWrite it again.", name
    )


def whole(array: Rowwise) -> npt.NDArray[Any]:
    """All of an array, one of shape () too."""
    if not array.shape:
        array.shape = (1,)
        return np.asarray(array.take(0, 1)[0])
    return array.take(0, array.shape[0])


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether by columns, and dtype, from the first bytes of an .npy file."""
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
        version, np.lib.format.read_array_header_2_0
    )
    shape, fortran, dtype = read(file)
    return shape, fortran, dtype


def _check_plain(dtype: np.dtype[Any], name: str) -> None:
    if dtype.hasobject or dtype.names or dtype.kind == "c":
        kind = "Python objects" if dtype.hasobject else "records of several fields"
        kind = "complex numbers" if dtype.kind == "c" else kind
        raise InvalidDataError(
            f"{name} holds {kind}.\nSave arrays of plain numbers or strings.", name
        )
