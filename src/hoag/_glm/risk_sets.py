"""Cox's partial likelihood as a function of the scores z, in O(n) from a sort that is made once.

    L(s; z) = Σ_τ d_τ log Σ_j ω_τj e^{z_j} − Σ_events sᵢzᵢ

τ goes over the times at which something happens, stratum by stratum. Breslow: d is the weight of
the events at that time, and ω_τj = s_j for all who are still at risk then, 0 for all others. Efron:
of m events at one time there is a τ for each l = 0 … m − 1, of d/m each, in which those m count by
the share 1 − l/m. With π_τj = ω_τj e^{z_j} / Σ_k ω_τk e^{z_k} and v̄_τ = Σ_j π_τj v_j,

    ∇L = Πᵀd − (sᵢ of events)
    ∇²L v = w∘v − Πᵀ(d∘v̄),   w = Πᵀd
    D³L[u] v = w∘u∘v − u∘Πᵀ(d∘v̄) − v∘Πᵀ(d∘ū) + Πᵀ(d∘(2ū∘v̄ − (uv)‾))

Π and Πᵀ are running sums over the rows of a stratum, the latest first, forward and backward.

Sums are taken in units of e^shift, the largest score so far: what is added is positive and of its
own size, so that no sum is the small difference of large ones, wherever the others are. A stratum
has one unit, but where that score grows by more than an exponent can hold: there another begins,
and what was summed before weighs e^{old shift − new shift} in it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

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


TIES = ("breslow", "efron")


class RiskSets:
    """Who is at risk when: all of L that depends neither on z nor on x.

    time, event, strata   (n,) each; rows of another stratum are never compared
    weights               (n,); rows of weight 0 are as if they were not there
    unit                  L(unit·s; z)/unit is computed, for weights in other units than their own
    """

    def __init__(
        self,
        time: Array,
        event: npt.NDArray[np.bool_],
        strata: Index,
        weights: Array,
        ties: str = "breslow",
        unit: float = 1.0,
    ) -> None:
        self.n, kept = time.size, np.flatnonzero(weights > 0)
        self.rows = kept[np.lexsort((-time[kept], strata[kept]))]
        time, event, strata = time[self.rows], event[self.rows], strata[self.rows]
        self.s = unit * weights[self.rows]
        new_stratum = np.append(True, strata[1:] != strata[:-1])[: time.size]
        new_time = new_stratum | np.append(True, time[1:] != time[:-1])[: time.size]
        self.strata = Strata(new_stratum, new_time)
        self.events = np.flatnonzero(event)
        block = np.cumsum(new_time)[self.events] - 1
        used, self._first, counts = np.unique(block, return_index=True, return_counts=True)
        self.times = time[self.strata.blocks[used]]
        self.stratum = strata[self.strata.blocks[used]]
        self.fallen = self.s[self.events] / unit
        self.last = self.strata.ends[used]  # of those at risk at each time
        self._which = np.repeat(np.arange(used.size), counts)  # the time of every event
        self.d, self.of = self.sums_of_events(self.fallen), np.arange(used.size)  # the time of τ
        self.several = ties == "efron" and bool(np.any(counts > 1))
        if self.several:
            self._taus = np.cumsum(counts) - counts
            self.of = self._which
            self.d = (self.d / counts)[self.of]
            self.left_out = (np.arange(self.of.size) - self._taus[self.of]) / counts[self.of]  # l/m

    def at(self, z: Array) -> RiskSetsAt:
        return RiskSetsAt(self, z)

    def sums_of_events(self, v: Array) -> Array:
        """Σ over the events of each time, for v in the order of `events`."""
        return np.add.reduceat(v, self._first, axis=0) if self._first.size else v[:0]

    def sums_of_taus(self, v: Array) -> Array:
        """Σ over the τ of each time."""
        return np.add.reduceat(v, self._taus, axis=0) if self.several else v

    def to_events(self, v: Array) -> Array:
        """What belongs to a time, for each of its events."""
        return np.asarray(v[self._which])


class RiskSetsAt:
    """L and its derivatives at one z, (n,). Directions are (n,), or (n, m) for m of them."""

    def __init__(self, sets: RiskSets, z: Array) -> None:
        self.sets, self.z = sets, z[sets.rows]
        self._running = Running(sets.strata, self.z)
        self._shift = self._running.shift
        with np.errstate(under="ignore"):
            self._e = sets.s * np.exp(self.z - self._shift)
        self._sums = self._in_sets(self._e)

    # ---- Π and Πᵀ

    def _in_sets(self, v: Array) -> Array:
        """Σ_j ω_τj v_j for every τ, v with the weights and e^z in it."""
        sets = self.sets
        total: Array = self._running.forward(v)[sets.last]
        if not sets.several:
            return total
        events = sets.sums_of_events(v[sets.events])
        return np.asarray(total[sets.of] - _times(sets.left_out, events[sets.of]))

    def mean(self, v: Array) -> Array:
        """Π v for v in the order of the sort."""
        return _times(1.0 / self._sums, self._in_sets(_times(self._e, v)))

    def spread(self, a: Array) -> Array:
        """Πᵀ a, in the order of the sort."""
        sets, b = self.sets, _times(1.0 / self._sums, a)
        total = np.zeros((self.z.size, *a.shape[1:]))
        total[sets.last] = sets.sums_of_taus(b)
        total = self._running.backward(total)
        if sets.several:
            total[sets.events] -= sets.to_events(sets.sums_of_taus(_times(sets.left_out, b)))
        return _times(self._e, total)

    # ---- L and its derivatives

    @cached_property
    def value(self) -> float:
        sets = self.sets
        logs = np.log(self._sums) + self._shift[sets.last][sets.of]
        return float(sets.d @ logs - sets.fallen @ self.z[sets.events])

    @cached_property
    def w(self) -> Array:
        """Πᵀd, the diagonal part of ∇²L, in the order of the sort."""
        return self.spread(self.sets.d)

    @cached_property
    def slope(self) -> Array:
        r = self.w.copy()
        r[self.sets.events] -= self.sets.fallen
        return self._placed(r)

    @property
    def hazards(self) -> Array:
        """d/Σ_j ω_j e^{z_j} for every τ: what Breslow's baseline grows by."""
        sets = self.sets
        return np.asarray(sets.d / self._sums * np.exp(-self._shift[sets.last][sets.of]))

    @property
    def weights(self) -> Array:
        """w for every row: ∇²L ⪯ diag(w)."""
        return self._placed(self.w)

    def hvp(self, v: Array) -> Array:
        """∇²L v."""
        v = v[self.sets.rows]
        return self._placed(_times(self.w, v) - self.spread(_times(self.sets.d, self.mean(v))))

    def third(self, u: Array, v: Array) -> Array:
        """d/dt ∇²L(z + tu) v; u is one direction."""
        sets, d = self.sets, self.sets.d
        u, v = u[sets.rows], v[sets.rows]
        u_mean, v_mean, both = self.mean(u), self.mean(v), self.mean(_times(u, v))
        first = _times(self.w * u - self.spread(d * u_mean), v)
        second = _times(u, self.spread(_times(d, v_mean)))
        rest = self.spread(_times(d, 2.0 * _times(u_mean, v_mean) - both))
        return self._placed(first - second + rest)

    def means(self, rows: Any) -> Array:
        """√d∘ΠA, (τ, columns), for the rows of a model: ∇²L is Aᵀdiag(w)A less its square."""
        root, found = np.sqrt(self.sets.d), np.empty((self.sets.d.size, rows.shape[1]))
        for columns, part in rows.dense_columns():
            found[:, columns] = root[:, None] * self.mean(part[self.sets.rows])
        return found

    def _placed(self, v: Array) -> Array:
        """What is in the order of the sort, in that of the rows."""
        found = np.zeros((self.sets.n, *v.shape[1:]))
        found[self.sets.rows] = v
        return found


def _times(a: Array, v: Array) -> Array:
    """a∘v, for v of one direction or many."""
    return np.asarray(a * v if v.ndim == 1 else a[:, None] * v)
