"""Columns of a table by name or number: of an array, or of a data frame of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.words import listed
from hoag.gam._errors import bad_column, bad_terms
from hoag.gam._terms import Column, Term, category, linear, numeric, smooth


def framed(X: Any) -> Any:
    """X, as a frame where it is a table of Arrow's, whose columns have neither names nor labels."""
    return X.to_pandas() if {"column_names", "to_pandas"} <= {*dir(X)} else X


def is_frame(X: Any) -> bool:
    """Whether columns have names."""
    return "columns" in dir(X) and not isinstance(X, np.ndarray)


class Frame:
    """X, whose columns are asked for one by one; categories of a frame are words."""

    def __init__(self, X: Any) -> None:
        self._X, self.rows = X, int(X.shape[0])
        self.names = [str(name) for name in X.columns] if is_frame(X) else None
        self._shown = self.names or [f"x{j}" for j in range(X.shape[1])]

    def place(self, column: Column) -> int:
        """The number of a column."""
        many = len(self._shown)
        if self.names is not None and column in self.names:
            return self.names.index(str(column))
        if isinstance(column, (int, np.integer)) and -many <= column < many:
            return int(column) % many
        hint = f"these are {listed(self.names or range(many), '{}')}."
        raise bad_terms(f"The model names {column!r}, which is no column of X:", column, hint)

    def name(self, column: Column) -> str:
        return self._shown[self.place(column)]

    def only(self, columns: Sequence[Column]) -> Any:
        """A frame of these columns alone."""
        return self._X[[self._X.columns[self.place(column)] for column in columns]]

    def column(self, column: Column) -> npt.NDArray[Any]:
        """Its values: numbers, days for dates, or words for what is neither."""
        place = self.place(column)
        if self.names is None:
            return np.asarray(self._X[:, place])
        own = self._X[self._X.columns[place]]
        values, kind = np.asarray(own.to_numpy()), str(own.dtype).lower()
        if values.dtype.kind in "mM":
            since = values - np.datetime64(0, "D") if values.dtype.kind == "M" else values
            return np.where(np.isnat(values), np.nan, since / np.timedelta64(1, "D"))
        are_categories = "cat" in kind or "enum" in kind or values.dtype == bool
        if values.dtype == object and not are_categories:
            try:  # numbers beside None, say
                if not any(isinstance(value, str) for value in values):
                    return values.astype(np.float64)
            except (TypeError, ValueError):
                pass
            are_categories = True
        if not are_categories:
            return values
        gaps = [row for row, value in enumerate(values) if value is None or value != value]
        if gaps:
            hint = "give such rows a category of their own, or drop them."
            raise bad_column(self._shown[place], f"has no category in row {gaps[0]}", hint)
        return values.astype(str)

    def values(self, columns: Sequence[Column]) -> list[npt.NDArray[Any]]:
        return [self.column(column) for column in columns]

    def numeric(self, column: Column) -> bool:
        return numeric(self.column(column))

    def every_term(self) -> tuple[list[Term], list[str]]:
        """A curve for every column of numbers, a level for each category of the others.

        A column of two or three different numbers is a line; one that is constant is left out, and
        named, and so is one of words with a category for every other row, or more. Curves have as
        many knots as there are rows for each of them, 20 at most; with fewer than 5 rows for each,
        all are lines.
        """
        knots = min(self.rows // max(len(self._shown), 1), 20)
        terms: list[Term] = []
        left_out: list[str] = []
        for j, name in enumerate(self._shown):
            values = self.column(j)
            different = np.unique(values).size
            if different < 2 or (not numeric(values) and 2 * different > self.rows):
                left_out.append(name)
            elif not numeric(values):
                terms.append(category(j))
            else:
                curved = different > 3 and knots >= 5
                terms.append(smooth(j, knots=knots) if curved else linear(j, vanish=True))
        return terms, left_out


@dataclass(frozen=True, eq=False)
class ModelFrame:
    """The columns that terms read: what they are called, and the same few rows of each.

    names   of each column
    values  of each column, (rows,); the rows with the least and the largest numbers are among them
    rows    their numbers in the table
    """

    names: dict[Column, str]
    values: dict[Column, npt.NDArray[Any]]
    rows: npt.NDArray[np.intp]

    @staticmethod
    def of(frame: Frame, terms: Sequence[Term], most: int = 300) -> ModelFrame:
        """So many rows at most, drawn evenly, the same ones each time, and each column's ends."""
        needs = dict.fromkeys(column for term in terms for column in term.needs)
        values = {column: frame.column(column) for column in needs}
        rows = np.arange(frame.rows)
        if frame.rows > most:
            numbers = [own for own in values.values() if numeric(own)]
            ends = [end for own in numbers for end in (np.argmin(own), np.argmax(own))]
            drawn = np.random.default_rng(0).choice(frame.rows, most, replace=False)
            rows = np.unique([*drawn, *ends]).astype(np.intp)
        own = {column: one[rows] for column, one in values.items()}
        return ModelFrame({column: frame.name(column) for column in needs}, own, rows)

    def of_term(self, term: Term) -> list[npt.NDArray[Any]]:
        """The values of all columns that it needs, that of `by` the last."""
        return [self.values[column] for column in term.needs]
