"""Values as bytes that run no code when they are read: an npz archive of arrays and JSON.

    0.json, 0.0.npy, 0.1.npy, …   one value: its tree, and the arrays that it names by their numbers
    head.json                     what the archive is
    comment of the archive        a digest of all bytes before it

Arrays and numbers keep their bits, and arrays the order of their axes in memory, by which sums are
rounded. No classes are known but those that declare themselves `storable`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import StrEnum
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core.storable import NAMES, STORABLE


class UnstorableError(TypeError):
    """A value that is no array, number, text, nor of a class that is storable."""


class DamagedError(ValueError):
    """Bytes that are not an archive, or not as they were written."""


class Stored(NamedTuple):
    """One value: its tree as JSON, and its arrays."""

    text: str
    arrays: list[npt.NDArray[Any]]


def pack(value: Any) -> Stored:
    packer = _Packer()
    text = json.dumps(packer.tree(value), allow_nan=False, separators=(",", ":"))
    return Stored(text, packer.arrays)


def unpack(stored: Stored) -> Any:
    return _Unpacker(stored.arrays).value(json.loads(stored.text))


class _Packer:
    """Objects and arrays that are met again are named by their number."""

    def __init__(self) -> None:
        self.arrays: list[npt.NDArray[Any]] = []
        self._numbers: dict[int, int] = {}
        self._met: list[Any] = []  # alive, so that no other object has its id

    def tree(self, value: Any) -> Any:
        """By its very class: what derives from a list is none."""
        kind = type(value)
        if kind in (type(None), bool, int, str):
            return value
        if issubclass(kind, StrEnum):
            return value.value
        if kind is float:
            return value if isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.tree(one) for one in value]
        if kind is tuple:
            return {"tuple": self.tree([*value])}
        if kind is dict:
            return {"dict": self.tree([[*pair] for pair in value.items()])}
        if kind is slice:
            return {"slice": self.tree([value.start, value.stop, value.step])}
        if issubclass(kind, np.generic):
            return {"scalar": self._kept(np.asarray(value))}
        if issubclass(kind, np.ndarray):
            return _short(value) or self._once(value, self._array)
        if kind in NAMES:
            return self._once(value, self._object)
        raise UnstorableError(f"{kind.__module__}.{kind.__qualname__}")

    def _once(self, value: Any, how: Callable[[Any], dict[str, Any]]) -> Any:
        known = self._numbers.get(id(value))
        if known is not None:
            return {"again": known}
        self._numbers[id(value)] = number = len(self._met)
        self._met.append(value)
        return {"number": number} | how(value)

    def _object(self, value: Any) -> dict[str, Any]:
        own = {name: self.tree(one) for name, one in _members(value).items()}
        return {"class": NAMES[type(value)], "with": own}

    def _array(self, array: npt.NDArray[Any]) -> dict[str, Any]:
        axes = sorted(range(array.ndim), key=lambda k: -array.strides[k])
        turned = array.transpose(axes)
        if axes != sorted(axes) and turned.flags.c_contiguous:
            return {"array": self._kept(turned), "axes": axes}
        return {"array": self._kept(array), "axes": None}

    def _kept(self, array: npt.NDArray[Any]) -> int:
        if array.dtype.hasobject:
            raise UnstorableError("an array of objects")
        self.arrays.append(array)
        return len(self.arrays) - 1


def _short(array: npt.NDArray[Any]) -> dict[str, Any] | None:
    """A few numbers as they read, where that keeps every bit."""
    if array.dtype != np.float64 or array.ndim != 1 or not 0 < array.size <= 12:
        return None
    told = [x if isfinite(x) else repr(x) for x in array.tolist()]
    same = np.array([float(x) for x in told]).tobytes() == array.tobytes()
    return {"floats": told} if same else None


def _members(value: Any) -> dict[str, Any]:
    """What an object is made of again."""
    if is_dataclass(value):
        return {one.name: vars(value)[one.name] for one in fields(value)}
    made_by_name = issubclass(type(value), tuple)
    own: dict[str, Any] = value._asdict() if made_by_name else value.__getstate__()
    return own


class _Unpacker:
    def __init__(self, arrays: list[npt.NDArray[Any]]) -> None:
        self._arrays, self._met = arrays, dict[int, Any]()

    def value(self, tree: Any) -> Any:
        match tree:
            case list():
                return [self.value(one) for one in tree]
            case {"again": number}:
                return self._met[number]
            case {"float": text}:
                return float(text)
            case {"floats": texts}:
                return np.array([float(x) for x in texts])
            case {"tuple": values}:
                return tuple(self.value(values))
            case {"dict": pairs}:
                return dict(self.value(pairs))
            case {"slice": ends}:
                return slice(*self.value(ends))
            case {"scalar": number}:
                return self._arrays[number][()]
            case {"number": number, "array": k, "axes": axes}:
                made = self._arrays[k]
                self._met[number] = made if axes is None else made.transpose(np.argsort(axes))
                return self._met[number]
            case {"number": number, "class": name, "with": members}:
                own = {member: self.value(one) for member, one in members.items()}
                self._met[number] = _made(STORABLE[name], own)
                return self._met[number]
        return tree


def _made(kind: type, own: dict[str, Any]) -> Any:
    if is_dataclass(kind) or issubclass(kind, tuple):
        return kind(**own)
    made = kind.__new__(kind)
    vars(made).update(own)
    return made


def _digest(data: bytes) -> bytes:
    return blake2b(data).hexdigest().encode()


def archive(head: dict[str, Any], values: list[Stored]) -> bytes:
    """All of it in one file."""
    made, empty = io.BytesIO(), _digest(b"")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as file:
        file.comment = empty
        file.writestr(zipfile.ZipInfo("head.json"), json.dumps(head | {"values": len(values)}))
        for k, value in enumerate(values):
            file.writestr(zipfile.ZipInfo(f"{k}.json"), value.text)
            for j, array in enumerate(value.arrays):
                with file.open(zipfile.ZipInfo(f"{k}.{j}.npy"), "w", force_zip64=True) as one:
                    np.lib.format.write_array(one, np.array(array, order="C"), allow_pickle=False)
    body = made.getvalue()[: -len(empty)]
    return body + _digest(body)


def opened(data: bytes) -> tuple[dict[str, Any], list[Stored]]:
    """The head and the values of what `archive` made."""
    size = len(_digest(b""))
    body, written = data[:-size], data[-size:]
    if not body.startswith(b"PK") or _digest(body) != written:
        raise DamagedError("its digest is another one")
    values: list[Stored] = []
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        head, names = json.loads(file.read("head.json")), set(file.namelist())
        for k in range(head["values"]):
            values.append(Stored(file.read(f"{k}.json").decode(), []))
            while (name := f"{k}.{len(values[k].arrays)}.npy") in names:
                with file.open(name) as one:
                    values[k].arrays.append(np.lib.format.read_array(one, allow_pickle=False))
    return head, values
