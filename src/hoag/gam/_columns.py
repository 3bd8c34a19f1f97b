"""Columns of a table by name or number: of an array, or of a data frame of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag.gam._terms import Column, Term, category, linear, numeric, smooth


def framed(X: Any) -> Any:
    """X, as a frame where it is a table of Arrow's, whose columns have neither names nor labels."""
    return X.to_pandas() if {"column_names", "to_pandas"} <= {*dir(X)} else X


class Table:
    """X, whose columns are asked for one by one; categories of a frame are words."""

    def __init__(self, X: Any, names: list[str] | None) -> None:
        self._X, self.names = X, names
        self.shape: tuple[int, int] = X.shape

    @property
    def _frame(self) -> bool:
        return self.names is not None and not isinstance(self._X, np.ndarray)

    def place(self, column: Column) -> int:
        """The number of a column."""
        if self.names is not None and column in self.names:
            return self.names.index(str(column))
        if isinstance(column, (int, np.integer)) and -self.shape[1] <= column < self.shape[1]:
            return int(column) % self.shape[1]
        known = self.names or [str(j) for j in range(self.shape[1])]
        told = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
        raise InvalidInput(f"A term names {column!r}, which is no column of X: these are {told}.")

    def name(self, column: Column) -> str:
        place = self.place(column)
        return self.names[place] if self.names is not None else f"x{place}"

    def column(self, column: Column) -> npt.NDArray[Any]:
        """Its values: numbers, days for dates, or words for what is neither."""
        place = self.place(column)
        if not self._frame:
            return np.asarray(self._X[:, place])
        own = self._X[self._X.columns[place]]
        values = np.asarray(own.to_numpy())
        if values.dtype.kind in "mM":
            since = values - np.datetime64(0, "D") if values.dtype.kind == "M" else values
            return np.where(np.isnat(values), np.nan, since / np.timedelta64(1, "D"))
        words = "cat" in str(own.dtype).lower() or "enum" in str(own.dtype).lower()
        if words or values.dtype == bool:
            return self._without_gaps(values, column).astype(str)
        if values.dtype == object and not any(isinstance(value, str) for value in values):
            try:
                return values.astype(np.float64)
            except (TypeError, ValueError):
                pass
        if values.dtype == object:
            return self._without_gaps(values, column).astype(str)
        return values

    def _without_gaps(self, values: npt.NDArray[Any], column: Column) -> npt.NDArray[Any]:
        gaps = [k for k, value in enumerate(values) if value is None or value != value]
        if gaps:
            raise InvalidInput(
                f"Column {self.name(column)!r} has no category in row {gaps[0]}: give such rows a "
                "category of their own, or drop them."
            )
        return values

    def values(self, term: Term) -> list[npt.NDArray[Any]]:
        return [self.column(column) for column in term.needs]

    def named(self, term: Term) -> dict[Column, str]:
        return {column: self.name(column) for column in term.needs}

    def numeric(self, column: Column) -> bool:
        return numeric(self.column(column))

    def every_term(self) -> tuple[list[Term], list[str]]:
        """A curve for every column of numbers, a level for each category of the others.

        A column of two or three different numbers is a line; one that is constant is left out, and
        named, and so is one of words with a category for every other row, or more. Curves have as
        many knots as there are rows for each of them, 20 at most; with fewer than 5 rows for each,
        all are lines.
        """
        knots = min(self.shape[0] // max(self.shape[1], 1), 20)
        found: list[Term] = []
        constant: list[str] = []
        for j in range(self.shape[1]):
            values = self.column(j)
            different = np.unique(values).size
            if different < 2 or (not numeric(values) and 2 * different > len(values)):
                constant.append(self.name(j))
            elif not numeric(values):
                found.append(category(j))
            else:
                curved = different > 3 and knots >= 5
                found.append(smooth(j, knots=knots) if curved else linear(j, vanish=True))
        return found, constant
