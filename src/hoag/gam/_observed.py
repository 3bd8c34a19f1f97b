"""Some of the rows that an additive model was fitted to, for pictures of its terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.gam._columns import Table
from hoag.gam._terms import Column, Term


@dataclass(frozen=True, eq=False)
class Seen:
    """The columns that terms read: what they are called, and the same few rows of each.

    names   of each column
    values  of each column, (rows,); the rows with the least and the largest numbers are among them
    rows    their numbers in the table
    """

    names: dict[Column, str]
    values: dict[Column, npt.NDArray[Any]]
    rows: npt.NDArray[np.intp]

    @staticmethod
    def of(table: Table, terms: Sequence[Term], most: int = 300) -> Seen:
        """So many rows at most, drawn evenly, the same ones each time, and each column's ends."""
        needs = dict.fromkeys(column for term in terms for column in term.needs)
        columns = {column: table.column(column) for column in needs}
        names = {column: table.name(column) for column in needs}
        n = table.shape[0]
        if n <= most:
            return Seen(names, columns, np.arange(n))
        drawn = np.random.default_rng(0).choice(n, most, replace=False)
        ends = [
            end
            for values in columns.values()
            if np.issubdtype(values.dtype, np.number)
            for end in (int(np.argmin(values)), int(np.argmax(values)))
        ]
        rows = np.unique(np.concatenate([drawn, np.array(ends, dtype=np.intp)]))
        return Seen(names, {column: values[rows] for column, values in columns.items()}, rows)

    def of_term(self, term: Term) -> list[npt.NDArray[Any]]:
        """The values of all columns that it needs, that of `by` the last."""
        return [self.values[column] for column in term.needs]
