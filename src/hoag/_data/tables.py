"""Columns of files as numbers and codes: what each column holds, and the rows one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidDataError, InvalidParameterError
from hoag._core.words import listed, nearest
from hoag._data.arrow import ColumnFile, Separated, need, opened
from hoag._data.raw import Raw, ReadOptions, Stream, Where, height, spans

NUMBER, FLAG, CATEGORY = "number", "flag", "category"
CODES = {"missing": -1, "unknown": -2}


class Tables(Stream):
    """Files of columns that have names.

    numbers, flags, levels  the columns that are used, by what they hold
    known                   the encoding of other files, whose columns and categories these have
    """

    gaps = True
    names: list[str]

    def __init__(self, paths: Sequence[Path], asked: ReadOptions) -> None:
        self.paths, self.dialect, self.dtype = paths, asked.dialect, np.dtype(asked.dtype or float)
        self.target, self.weight, known = asked.target, asked.weight, asked.known
        self.asked = () if isinstance(asked.categories, str) else tuple(asked.categories)
        first = self._first()
        self.kind = first.kind
        names = [str(name) for name in first.schema.names]
        if known is not None:
            self.target = asked.target if asked.target in names else None
            self.weight = asked.weight if asked.weight in names else None
        elif asked.target is None:
            raise InvalidParameterError(
                f"Which column is the target?\nName it by target=; {first.path} has "
                f"{listed(names)}.",
                "target",
            )
        own = [name for name in (self.target, self.weight) if name is not None]
        used = list(asked.columns or (name for name in names if name not in own))
        if known is not None:
            used = [*known["numbers"], *known["flags"], *known["categories"]]
        _check_there(first, [*used, *self.asked, *own])
        if mixed := [name for name in used if name in own]:
            raise InvalidParameterError(
                f"{listed(mixed)} cannot be the target, or the weight, and among columns= too.",
                "columns",
            )
        self.kinds = self._kinds(first, used, known)
        self.numbers = [name for name in used if self.kinds[name] == NUMBER]
        self.flags = [name for name in used if self.kinds[name] == FLAG]
        self.levels = [
            Categories(name, None if known is None else known["categories"][name],
                   np.inf if name in self.asked else 1000)
            for name in used if self.kinds[name] == CATEGORY
        ]  # fmt: skip
        self.names = [*self.numbers, *self.flags]
        self.used = [*self.names, *(levels.name for levels in self.levels)]
        if not self.used:
            raise InvalidDataError(
                f"{first.path} has no column to predict '{asked.target}' from.",
                first.path,
                parameter="target",
            )
        self.height = height(len(self.used), self.dtype.itemsize, asked.rows)
        self.types = dict(zip(first.schema.names, first.schema.types, strict=True))
        self.whole = isinstance(first, Separated) and self.target in first.whole

    def _first(self) -> ColumnFile:
        """The first file that has rows, for only these say what columns hold."""
        for path in self.paths:
            file = opened(path, self.dialect)
            if not file.empty:
                break
        return file

    def _kinds(
        self, file: ColumnFile, used: list[str], known: dict[str, Any] | None
    ) -> dict[str, str]:
        if known is not None:
            return {
                **dict.fromkeys(known["numbers"], NUMBER),
                **dict.fromkeys(known["flags"], FLAG),
                **dict.fromkeys(known["categories"], CATEGORY),
            }
        return {name: CATEGORY if name in self.asked else self._kind(file, name) for name in used}

    def _kind(self, file: ColumnFile, name: str) -> str:
        types = need("pyarrow", self.kind).types
        found = file.schema.field(name).type
        inner = found.value_type if types.is_dictionary(found) else found
        if types.is_boolean(found):
            return FLAG
        if types.is_dictionary(found) or _is_text(types, inner):
            return CATEGORY
        if _is_number(types, found):
            return NUMBER
        raise InvalidDataError(
            f"Column '{name}' of {file.path} holds {found}, neither numbers nor categories:",
            parameter="categories",
            hint="leave it out by columns=[...], or take each value for a category by "
            f"categories=['{name}'].",
            where=f"column '{name}'",
        )

    def count(self, codes: npt.NDArray[np.int32] | None) -> None:
        for own, column in zip(self.levels, () if codes is None else codes.T, strict=True):
            own.count(column)

    def found(self, columns: int, least: int) -> dict[str, Any]:
        return {
            **super().found(columns, least), "numbers": self.numbers, "flags": self.flags,
            "categories": {levels.name: list(levels.codes) for levels in self.levels},
            "counts": {levels.name: levels.counts.tolist() for levels in self.levels},
            "lacking": {levels.name: levels.missing for levels in self.levels},
        }  # fmt: skip

    def __iter__(self) -> Iterator[Raw]:
        for path in self.paths:
            yield from self._of(opened(path, self.dialect))

    def _of(self, file: ColumnFile) -> Iterator[Raw]:
        text = need("pyarrow", self.kind).string()
        forced = {name: kind for name, kind in self.types.items() if name in self.used}
        forced |= dict.fromkeys((levels.name for levels in self.levels), text)
        if self.target is not None:
            forced[self.target] = self.types[self.target]
        names = [*self.used, *(name for name in (self.target, self.weight) if name is not None)]
        _check_there(file, names)
        if isinstance(file, Separated):
            file.read_as(forced)
        for name in self.names:
            if self._kind(file, name) == CATEGORY:
                raise InvalidDataError(
                    f"Column '{name}' holds a {self.kinds[name]} for each row of the files "
                    f"before, and text in {file.path}.\nMake them alike, or take all for "
                    f"categories by categories=['{name}'].",
                    f"column '{name}'",
                )
        start = 0
        for table in file.tables(list(dict.fromkeys(names)), self.height):
            yield self._raw(table, Where(str(file.path), start, isinstance(file, Separated)))
            start += table.num_rows

    def _raw(self, table: Any, where: Where) -> Raw:
        X = _interleaved(
            [_floats(table[name], name, where) for name in self.names],
            table.num_rows, self.dtype)  # fmt: skip
        codes = None
        if self.levels:
            codes = np.stack([own.coded(table[own.name]) for own in self.levels], axis=1)
        y: npt.NDArray[Any] = np.full(table.num_rows, np.nan)
        if self.target is not None:
            y = _labels(table[self.target], where, self.target)
        weight = None
        if self.weight is not None:
            weight = _floats(table[self.weight], self.weight, where)
        return Raw(X, codes, y, weight, where)

    @property
    def options(self) -> tuple[Any, ...]:
        known = [sorted(own.codes) if own.closed else None for own in self.levels]
        return (self.target, self.weight, self.used, self.asked, self.height, self.dtype.name,
                str(self.dialect), known)  # fmt: skip


def _check_there(file: ColumnFile, names: Sequence[str]) -> None:
    for name in names:
        if name not in file.schema.names:
            raise InvalidDataError(
                f"{file.path} has no column '{name}'.{nearest(name, file.schema.names)} Its "
                f"columns are {listed(file.schema.names)}.",
                file.path,
            )


def _is_text(types: Any, found: Any) -> bool:
    return bool(
        types.is_string(found) or types.is_large_string(found) or str(found) == "string_view"
    )


def _is_number(types: Any, found: Any) -> bool:
    return bool(
        types.is_integer(found) or types.is_floating(found) or types.is_decimal(found)
        or types.is_null(found))  # fmt: skip


def _floats(column: Any, name: str, where: Where) -> npt.NDArray[Any]:
    """A column of numbers or flags, nan where one is missing; an error with the first row that
    does not become a floating-point number."""
    pa = need("pyarrow", "Such")
    try:
        found = column if pa.types.is_floating(column.type) else column.cast("float64")
    except pa.ArrowException as error:
        row, value = 0, f"what Arrow says of it is: {error}"
        if pa.types.is_integer(column.type):
            values = column.fill_null(0).to_numpy()
            row = int(np.argmax((values > 2**53) | (values < -(2**53))))
            value = f"it is {values[row]}, and beyond 2⁵³ whole numbers lose digits"
        raise InvalidDataError(
            f"Column '{name}' cannot be read as numbers in {where.row(row)}: {value}.",
            parameter="categories",
            hint="Leave it out by columns=[...], take each value for a category by "
            f"categories=['{name}'], or store it as float64.",
            where=f"column '{name}'",
        ) from None
    return np.asarray(found.to_numpy())


def _interleaved(columns: list[npt.NDArray[Any]], m: int, dtype: np.dtype[Any]) -> Any:
    """Columns side by side as rows; some rows of all columns at a time, which stay in the cache."""
    X = np.empty((m, len(columns)), dtype=dtype)
    for start, stop in spans(m, max(64, 2**15 // max(1, len(columns)))):
        for j, column in enumerate(columns):
            X[start:stop, j] = column[start:stop]
    return X


def _labels(column: Any, where: Where, name: str) -> npt.NDArray[Any]:
    """The target: numbers or flags as they are, text as strings."""
    types = need("pyarrow", "Such").types
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise InvalidDataError(
            f"The target '{name}' is missing in {where.row(row)}.\nLeave such rows out, for there "
            "is nothing to learn from them.",
            where.row(row),
            parameter="target",
        )
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.to_numpy())
    if types.is_boolean(column.type):
        return np.asarray(column.to_numpy(), dtype=bool)
    if types.is_decimal(column.type):
        return _floats(column, name, where)
    if not _is_text(types, column.type):
        raise InvalidDataError(
            f"The target '{name}' in {where.file} holds {column.type}.",
            where.file,
            parameter="target",
        )
    return np.array(column.to_pylist(), dtype=str)


class Categories:
    """Names of categories and how often each was seen; `known` ones only, where these are given.

    More of them than `most` are an id or free text rather than categories.
    """

    def __init__(self, name: str, known: Sequence[str] | None = None, most: float = 1000) -> None:
        self.name, self.most, self.closed = name, most, known is not None
        self.codes = {level: j for j, level in enumerate(known or ())}
        self.counts = np.zeros(len(self.codes), dtype=np.int64)
        self.missing = 0

    def coded(self, column: Any) -> npt.NDArray[np.int32]:
        """The codes of a column of Arrow's."""
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # of no chunks, or too long for one
            column = pa.concat_arrays(column.chunks)
        found = column.dictionary_encode()
        table = np.array([self._code(v) for v in found.dictionary.to_pylist()] + [CODES["missing"]],
                         dtype=np.int32)  # fmt: skip
        at = found.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(table[at])

    def count(self, codes: npt.NDArray[np.int32]) -> None:
        self.missing += int((codes == CODES["missing"]).sum())
        self.counts = np.append(
            self.counts, np.zeros(len(self.codes) - self.counts.size, dtype=np.int64)
        )
        self.counts += np.bincount(codes[codes >= 0], minlength=self.counts.size)

    def _code(self, value: Any) -> int:
        if value is None or value != value:
            return CODES["missing"]
        level = text(value)
        if level not in self.codes:
            if self.closed:
                return CODES["unknown"]
            self.codes[level] = len(self.codes)
            if len(self.codes) > self.most:
                raise InvalidDataError(
                    f"Column '{self.name}' has more than {self.most:g} different values, as an id "
                    "or free text has:",
                    parameter="categories",
                    hint="leave it out by columns=[...], or take them for categories all the same "
                    f"by categories=['{self.name}'].",
                    where=f"column '{self.name}'",
                )
        return self.codes[level]


def text(value: Any) -> str:
    """A category's name: whole numbers without a decimal point, so that 1 and 1.0 are one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
