"""Which reader is for what hoag.partitions was given: files, arrays, a sequence, a function."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._core.words import listed
from hoag._data.arrays import InArray, OnDisk, Rowwise, members, whole
from hoag._data.arrow import ARROW, PARQUET, SEPARATED
from hoag._data.encoding import check as check_encoding
from hoag._data.files import found, suffix
from hoag._data.matrices import Csr, Dense, Items, Joined, OneByOne, Restarted, Sides
from hoag._data.raw import Reader, ReadOptions, Stream
from hoag._data.svmlight import SUFFIXES as SVMLIGHT
from hoag._data.svmlight import Svmlight
from hoag._data.tables import Tables

KINDS = {
    **dict.fromkeys((*PARQUET, *ARROW, *SEPARATED), "table"),
    **dict.fromkeys(SVMLIGHT, "svmlight"), ".npy": "npy", ".npz": "npz",
}  # fmt: skip


def reader_of(data: Any, asked: ReadOptions) -> Reader | Stream:
    """The partitions of `data`, by their numbers or one after another."""
    # A tuple of .npy files is X, y and the weights.
    if _paths(data) and not (isinstance(data, tuple) and len(data) in (2, 3) and _are_npy(data)):
        return _files(found(data), asked)
    if asked.known is not None:
        check_encoding(asked.known, table=False)
    if isinstance(data, tuple) and len(data) in (1, 2, 3) and not isinstance(data[0], tuple):
        return _parts(data, asked)
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        return _parts((data,), asked)
    _check_no_names(asked)
    known = dir(type(data))
    if callable(data) and "__iter__" not in known:
        return Restarted(data, asked.dtype)
    if "columns" in known:
        raise InvalidDataError(
            "A frame is in memory as a whole: estimators take it as it is, without hoag.partitions."
        )
    if "__getitem__" in known and "__len__" in known:
        if len(data) == 0:
            raise InvalidDataError("The sequence of partitions is empty: there are no rows.")
        return Items(data, asked.dtype)
    if "__iter__" not in known:
        raise InvalidDataError(
            f"{type(data).__name__} is nothing that rows can be read from.\nGive paths, (X, y), a "
            "sequence of these, or a function that returns an iterator over them."
        )
    if iter(data) is data:
        raise InvalidDataError(
            f"{type(data).__name__} can be gone through only once, and rows are read again and "
            "again.\nGive the function that makes it, such as hoag.partitions(partitions) where "
            "you wrote hoag.partitions(partitions())."
        )
    return Restarted(data.__iter__, asked.dtype)


def _files(paths: list[Path], asked: ReadOptions) -> Reader | Stream:
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InvalidDataError(
            f"Files of one kind are read together, and these are {listed(kinds)}."
        )
    kind = kinds.pop()
    if asked.known is not None:
        check_encoding(asked.known, kind == "table")
    if kind == "table":
        for option, name in (("target", asked.target), ("weight", asked.weight)):
            if name is not None and not isinstance(name, str):
                raise InvalidParameterError(
                    f"{option}={name!r} has to be the name of a column.", option, name
                )
        return Tables(paths, asked)
    if kind == "svmlight":
        _check_no_names(asked)
        return Svmlight(paths, asked)
    if kind == "npy":
        return _parts((paths, asked.target, asked.weight), asked)
    _check_no_names(asked, ("columns",))
    return _usable([_archive(path, asked) for path in paths], asked)


def _kind(path: Path) -> str:
    if suffix(path) not in KINDS:
        raise InvalidDataError(
            f"{path} is not a kind of file that hoag.partitions reads by its name: "
            f"{', '.join(KINDS)}; text also with .gz, .bz2 or .xz.",
            path,
        )
    return KINDS[suffix(path)]


def _parts(data: Sequence[Any], asked: ReadOptions) -> Reader | Stream:
    """(X, y, weight), each an array or .npy files."""
    _check_no_names(asked, ("columns",))
    X, y, weight = (*data, None, None)[:3]
    y = asked.target if y is None else y
    weight = asked.weight if weight is None else weight
    if y is None and asked.known is None:
        raise InvalidParameterError(
            "y is missing beside X.\nGive (X, y), or (X, y, weight), each a path or an array.", "y"
        )
    if _paths(X):
        arrays: list[Any] = [OnDisk(path, str(path)) for path in found(X)]
        sides = map(Sides, _each(y, "y", len(arrays)), _each(weight, "weight", len(arrays)))
        return _usable([Dense(X, own, asked) for X, own in zip(arrays, sides)], asked)
    beside = Sides(*_each(y, "y", 1), *_each(weight, "weight", 1))
    if not sparse.issparse(X):
        return Dense(InArray(X, "X"), beside, asked)
    X = X.tocsr()
    parts: dict[str, Rowwise] = {
        name: InArray(vars(X)[name], "X") for name in ("data", "indices", "indptr")
    }
    return Csr(parts, X.shape, beside, asked, "X")


def _archive(path: Path, asked: ReadOptions) -> Reader:
    """An .npz archive: X, y and weight, or a sparse matrix as scipy.sparse saves it."""
    own = members(path)
    y = _side(own, asked.target, "y", path)
    weight = _side(own, asked.weight, "weight", path)
    if y is None and asked.known is None:
        raise InvalidParameterError(
            f"{path} has {listed(own)} and no 'y': target= names it, or gives it as an array or "
            "the path of an .npy file.",
            "target",
            where=path,
        )
    if {"data", "indices", "indptr", "shape"} <= set(own):
        form = str(np.asarray(whole(own["format"])).item().decode()) if "format" in own else "csr"
        if form != "csr":
            raise InvalidDataError(
                f"{path} holds a sparse matrix in the format {form}, whose rows cannot be had one "
                "by one.\nSave X.tocsr().",
                path,
            )
        rows, d = (int(size) for size in whole(own["shape"]))
        return Csr(own, (rows, d), Sides(y, weight), asked, str(path))
    if "X" not in own:
        raise InvalidDataError(
            f"{path} has {listed(own)} and no 'X', nor the parts of a sparse matrix.\nSave it "
            "with np.savez(path, X=X, y=y) or scipy.sparse.save_npz.",
            path,
        )
    return Dense(own["X"], Sides(y, weight), asked)


def _usable(readers: list[Reader], asked: ReadOptions) -> Reader | Stream:
    """The readers of several files as one; as a stream, where their rows are compressed."""
    filled = [reader for reader in readers if reader.partitions] or readers[:1]
    reader = filled[0] if len(filled) == 1 else Joined(filled)
    if not reader.partitions:
        raise InvalidDataError(f"There are no rows in {listed(reader.paths)}.")
    if not reader.slow:
        return reader
    return OneByOne(reader, asked)


def _side(own: dict[str, Rowwise], given: Any, usual: str, path: Path) -> Rowwise | None:
    """y or the weights of an archive: a member of it, a file, or an array."""
    if given is None or (isinstance(given, str) and given in own):
        return own.get(usual if given is None else given)
    return _each(given, usual, 1)[0]


def _each(given: Any, name: str, count: int) -> Sequence[Rowwise | None]:
    """y or the weights for so many files: as many files, or for one an array."""
    if given is None:
        return [None] * count
    own: list[Rowwise] = (
        [OnDisk(path, str(path)) for path in found(given)]
        if _are_npy(given)
        else [InArray(given, name)]
    )
    if len(own) != count:
        raise InvalidDataError(
            f"There are {count} files of X and {len(own)} of {name}: each needs its own.",
            parameter=name,
        )
    return own


def _paths(given: Any) -> list[Any]:
    """The paths, where it is one or several of them; else none."""
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    return several if all(isinstance(each, (str, os.PathLike)) for each in several) else []


def _are_npy(given: Any) -> bool:
    paths = _paths(given)
    return bool(paths) and all(os.fspath(path).endswith(".npy") for path in paths)


def _check_no_names(
    asked: ReadOptions, options: tuple[str, ...] = ("columns", "target", "weight")
) -> None:
    for option in options:
        if vars(asked)[option] is not None and asked.known is None:
            raise InvalidParameterError(
                f"{option}= names columns, or stands beside X, and these data have no names and "
                "hold their y themselves.\nLeave it out.",
                option,
            )
