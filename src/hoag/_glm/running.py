"""Running sums of e^{z_j} v_j within strata, forward and backward, that lose nothing by rounding.

They are taken in units of e^shift, the largest score so far: what is added is positive and of its
own size, so that no sum is the small difference of large ones, wherever the others are. A stratum
has one unit, but where that score grows by more than an exponent can hold: there another begins,
and what was summed before weighs e^{old shift − new shift} in it.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array

Index = npt.NDArray[np.intp]

# Half of what the exponent of a number spans: scores of one unit differ by no more, as far as any
# sum can tell.
SPAN = float(np.log(np.finfo(np.float64).max) / 2)


class Stretch(NamedTuple):
    """Rows of one unit, and what the sums before them weigh in it; 0 where a stratum begins."""

    rows: slice
    carried: float


class Strata:
    """Rows in the order of their strata and, in each, of their times, the latest first.

    starts   where each stratum begins
    blocks   where the rows of another time begin; ends: the last rows of those
    """

    def __init__(self, new_stratum: npt.NDArray[np.bool_], new_time: npt.NDArray[np.bool_]) -> None:
        self.n, self.starts = new_stratum.size, np.flatnonzero(new_stratum)
        self.sizes = np.diff(np.append(self.starts, self.n))
        self.blocks = np.flatnonzero(new_time)
        self.ends = np.append(self.blocks[1:], self.n) - 1

    @cached_property
    def tables(self) -> list[Index]:
        """A row of row numbers for each stratum, those of about one size together; n fills up."""
        found, level = [], np.frexp(self.sizes)[1]
        for own in (np.flatnonzero(level == some) for some in np.unique(level)):
            table = self.starts[own][:, None] + np.arange(self.sizes[own].max())
            table[np.arange(table.shape[1]) >= self.sizes[own][:, None]] = self.n
            found.append(table)
        return found


class Running:
    """The units of some scores z, (n,), and sums in them."""

    def __init__(self, strata: Strata, z: Array) -> None:
        self.strata, self.z = strata, z
        self.shift, self._stretches = np.empty(z.size), list[Stretch]()
        top, bottom = (
            f.reduceat(z, strata.starts) if z.size else z for f in (np.maximum, np.minimum)
        )
        one_unit = bool(np.all(top - bottom <= SPAN))
        self._in_tables = one_unit and len(strata.tables) < strata.starts.size
        if one_unit:
            self.shift[:] = np.repeat(top, strata.sizes)
        if not self._in_tables:
            for start, size in zip(strata.starts.tolist(), strata.sizes.tolist(), strict=True):
                self._cut(slice(start, start + size), one_unit)

    def _cut(self, some: slice, one_unit: bool) -> None:
        """A stratum in stretches; the largest score so far, at the end of a time, says where."""
        if one_unit:
            self._stretches.append(Stretch(some, 0.0))
            return
        strata = self.strata
        inside = (strata.blocks >= some.start) & (strata.blocks < some.stop)
        largest = np.maximum.accumulate(self.z[some])[strata.ends[inside] - some.start]
        with np.errstate(invalid="ignore", over="ignore"):
            level = np.floor((largest - largest[0]) / SPAN)
        cuts = strata.blocks[inside][np.flatnonzero(level[1:] != level[:-1]) + 1].tolist()
        before = np.inf
        for start, stop in zip([some.start, *cuts], [*cuts, some.stop], strict=True):
            shift = float(self.z[some.start : stop].max())
            carried = float(np.exp(before - shift)) if start > some.start else 0.0
            self._stretches.append(Stretch(slice(start, stop), carried))
            self.shift[start:stop], before = shift, shift

    def forward(self, v: Array) -> Array:
        """Σ of v over the rows of the stratum up to each; both in the units of their rows.

        v is (n,), or (n, m) for m sums.
        """
        if self._in_tables:
            return self._of_tables(v, backward=False)
        total = np.empty_like(v)
        for rows, carried in self._stretches:
            np.cumsum(v[rows], axis=0, out=total[rows])
            if carried > 0:
                total[rows] += carried * total[rows.start - 1]
        return total

    def backward(self, v: Array) -> Array:
        """Σ of v over the rows of the stratum from each on, for v in units of e^−shift."""
        if self._in_tables:
            return self._of_tables(v, backward=True)
        total, carried = np.empty_like(v), 0.0
        for rows, share in reversed(self._stretches):
            total[rows] = np.cumsum(v[rows][::-1], axis=0)[::-1]
            if carried > 0:
                total[rows] += carried * total[rows.stop]
            carried = share
        return total

    def _of_tables(self, v: Array, backward: bool) -> Array:
        total, padded = np.empty_like(v), np.concatenate([v, np.zeros((1, *v.shape[1:]))])
        way = slice(None, None, -1 if backward else 1)
        for table in self.strata.tables:
            inside = table < len(v)
            total[table[inside]] = np.cumsum(padded[table][:, way], axis=1)[:, way][inside]
        return total
