"""Cox's partial likelihood as a function of the scores z, in O(n) from a sort that is made once.

    L(s; z) = Σ_τ d_τ log Σ_j ω_τj e^{z_j} − Σ_events sᵢzᵢ

τ goes over the times at which something happens, stratum by stratum. Breslow: d is the weight of
the events at that time, and ω_τj = s_j for all who are still at risk then, 0 for all others. Efron:
of m events at one time there is a τ for each l = 0 … m − 1, of d/m each, in which those m count by
the share 1 − l/m. With π_τj = ω_τj e^{z_j} / Σ_k ω_τk e^{z_k} and v̄_τ = Σ_j π_τj v_j,

    ∇L = Πᵀd − (sᵢ of events)
    ∇²L v = w∘v − Πᵀ(d∘v̄),   w = Πᵀd
    D³L[u] v = w∘u∘v − u∘Πᵀ(d∘v̄) − v∘Πᵀ(d∘ū) + Πᵀ(d∘(2ū∘v̄ − (uv)‾))

Π and Πᵀ are running sums over the rows of a stratum, the latest first, in one direction and the
other. They are taken in units of e^shift: everything is positive and grows, so that no sum is lost
by rounding, wherever the others are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.values import Array

Index = npt.NDArray[np.intp]

TIES = ("breslow", "efron")
# Half of what the exponent of a number spans: scores of one unit e^shift differ by no more, as far
# as any sum can tell.
SPAN = float(np.log(np.finfo(np.float64).max) / 2)


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
        self.strata = _slices(np.flatnonzero(new_stratum), time.size)
        self.blocks = np.flatnonzero(new_time)  # where the rows of another time begin
        self.ends = np.append(self.blocks[1:], time.size) - 1
        self.events = np.flatnonzero(event)
        block = np.cumsum(new_time)[self.events] - 1
        used, self._first, counts = np.unique(block, return_index=True, return_counts=True)
        self.times = time[self.blocks[used]]
        self.stratum = strata[self.blocks[used]]
        self.fallen = self.s[self.events] / unit
        d = self.sums_of_events(self.fallen)
        several = ties == "efron" and bool(np.any(counts > 1))
        self.of = np.repeat(np.arange(used.size), counts) if several else np.arange(used.size)
        first = np.cumsum(counts) - counts
        self._taus = first if several else self.of
        self.left_out = (np.arange(self.of.size) - first[self.of]) / counts[self.of]  # l/m
        if not several:
            self.left_out = np.zeros(used.size)
        self.several, self.last = several, self.ends[used]
        self.d = d[self.of] / counts[self.of] if several else d
        self._which = np.repeat(np.arange(used.size), counts)  # the time of every event

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
        self._pieces, self._shift = [], np.empty(self.z.size)
        for start, stop, shift, carried in self._units():
            self._pieces.append((slice(start, stop), carried))
            self._shift[start:stop] = shift
        with np.errstate(under="ignore"):
            self._e = sets.s * np.exp(self.z - self._shift)
        self._sums = self._in_sets(self._e)

    def _units(self) -> Iterator[tuple[int, int, float, float]]:
        """Pieces of each stratum, their shifts, and what the sums before weigh in the new unit.

        A shift is the largest score so far; another begins where that has grown by SPAN.
        """
        sets = self.sets
        for some in sets.strata:
            top, pieces = float(self.z[some].max()), [(some.start, some.stop)]
            if not top - float(self.z[some].min()) <= SPAN:
                pieces = self._split(some)
            before = np.inf
            for start, stop in pieces:
                shift = top if len(pieces) == 1 else float(self.z[some.start : stop].max())
                yield start, stop, shift, float(np.exp(before - shift)) if start > some.start else 0.0
                before = shift

    def _split(self, some: slice) -> list[tuple[int, int]]:
        """Where the largest score so far, at the end of a time, has grown by SPAN since the last."""
        sets = self.sets
        inside = (sets.blocks >= some.start) & (sets.blocks < some.stop)
        largest = np.maximum.accumulate(self.z[some])[sets.ends[inside] - some.start]
        with np.errstate(invalid="ignore", over="ignore"):
            level = np.floor((largest - largest[0]) / SPAN)
        cuts = sets.blocks[inside][np.flatnonzero(level[1:] != level[:-1]) + 1]
        edges = [some.start, *(int(cut) for cut in cuts), some.stop]
        return list(zip(edges[:-1], edges[1:], strict=True))

    # ---- Π and Πᵀ

    def _in_sets(self, v: Array) -> Array:
        """Σ_j ω_τj v_j for every τ, v with the weights and e^z in it."""
        sets, total = self.sets, np.empty_like(v)
        for some, carried in self._pieces:
            np.cumsum(v[some], axis=0, out=total[some])
            if carried > 0:
                total[some] += carried * total[some.start - 1]
        total = total[sets.last]
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
        carried = 0.0
        for some, share in reversed(self._pieces):
            part = total[some]
            part[:] = np.cumsum(part[::-1], axis=0)[::-1]
            if carried > 0:
                part += carried * total[some.stop]
            carried = share
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

    def curve(self, v: Array) -> Array:
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


def _slices(starts: Index, n: int) -> list[slice]:
    return [slice(int(a), int(b)) for a, b in zip(starts, np.append(starts[1:], n), strict=True)]


def _times(a: Array, v: Array) -> Array:
    """a∘v, for v of one direction or many."""
    return np.asarray(a * v if v.ndim == 1 else a[:, None] * v)
