"""The categories of a column, numbered as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput

MISSING, UNKNOWN = "missing", "unknown"
CODES = {MISSING: -1, UNKNOWN: -2}


class Levels:
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
        table = np.array([self._code(v) for v in found.dictionary.to_pylist()] + [CODES[MISSING]],
                         dtype=np.int32)  # fmt: skip
        at = found.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(table[at])

    def count(self, codes: npt.NDArray[np.int32]) -> None:
        self.missing += int((codes == CODES[MISSING]).sum())
        self.counts = np.append(
            self.counts, np.zeros(len(self.codes) - self.counts.size, dtype=np.int64)
        )
        self.counts += np.bincount(codes[codes >= 0], minlength=self.counts.size)

    def _code(self, value: Any) -> int:
        if value is None or value != value:
            return CODES[MISSING]
        level = text(value)
        if level not in self.codes:
            if self.closed:
                return CODES[UNKNOWN]
            self.codes[level] = len(self.codes)
            if len(self.codes) > self.most:
                raise InvalidInput(
                    f"Column '{self.name}' has more than {self.most:g} different values, as an id "
                    "or free text has: leave it out by columns=[...], or take them for categories "
                    f"all the same by categories=['{self.name}']."
                )
        return self.codes[level]


def text(value: Any) -> str:
    """A category's name: whole numbers without a decimal point, so that 1 and 1.0 are one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
