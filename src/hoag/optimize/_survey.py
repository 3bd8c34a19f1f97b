"""Where to begin: f is surveyed all over the box, on a sample of the rows.

f is flat where a kernel is so narrow that K is the identity, where it is so wide that K is
constant, and where a penalty leaves nothing of the fit: no gradient leads out of there. On a share
of the rows a factor costs the cube of that share, so that surveying the whole box costs about as
much as one evaluation on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._core.result import Ask, Evaluation
from hoag._criteria.base import Traits
from hoag.optimize._asks import ACCURACY, Asking, Evaluate, Profile, Steps
from hoag.optimize._quasi_newton import descend

# A sixth of the rows makes a factor cost 1/216, so that all places together cost less than one. Of
# fewer rows than LEAST a sample has basins of its own (150 of 1958 on Parkinsons, one in three).
SHARE, LEAST = 1 / 6, 200
# Places of the grid are at most so far apart, in λ, where rows are few and all of them are
# used: with 70 rows f has narrow basins. A sample does not show as much, and has widths 16 times as
# far apart, and ridges, with which f changes half as fast, 32 times.
SPACING = 0.25
# So many of the lowest places, no two of them neighbours, are followed downhill ...
BASINS = 5
# ... by steps of the spacing, halved so often; after each the highest of them is given up. Shorter
# steps are not worth it: the minimum of all rows is elsewhere by about as much.
HALVINGS = 3
# λ₀ stays if it is this near to the lowest place, as a share of the way up to the median one: a
# sample does not tell better. A flat region is up there, however little f varies.
AS_GOOD = 0.05

# For each axis, how many of the shortest steps from the lower bound.
Index = tuple[int, ...]


def survey(
    domain: Box, lam0: Array, traits: Traits, rows: int | None = None, few: int = 1000
) -> Asking[Array]:
    """argmin of f on a sample of the rows, or λ₀ where that is as good.

    Only values are asked for. Of a criterion that cannot be evaluated on a sample λ₀ is returned,
    for nothing; and of one whose samples stand for f, to which other searches go. `rows` is the
    size of the sample, by default a sixth of all; with `few` rows all are used as well.
    """
    if traits.rows is None or traits.fewest is not None or np.all(domain.lower == domain.upper):
        return lam0
    rows = rows or max(LEAST, int(SHARE * traits.rows))
    everything = rows >= traits.rows
    plane = _Plane(
        domain, traits.blocks, rows, (SPACING,) * 2 if everything else (16 * SPACING, 32 * SPACING)
    )
    values = yield from plane.values(list(plane.grid()))
    places = plane.basins(values)
    if not places or not np.isfinite(values[places[0]]):
        return lam0
    step, kept = plane.finest, len(places)
    while step > 1:
        step //= 2
        ends = set()
        for place in places:
            ends.add((yield from plane.descend(place, step)))
        kept = kept if everything else max(kept - 1, 1)
        places = sorted(ends, key=plane.known.__getitem__)[:kept]
    if everything:
        lowest = [(plane.known[place], plane.lam(place)) for place in places]
        lowest += yield from _ends(domain, [lam for _, lam in lowest], rows, 50)
        return min(lowest, key=lambda end: end[0])[1]
    best, usual = plane.known[places[0]], float(np.median(list(values.values())))
    good_enough = best + AS_GOOD * max(usual - best, 0.0)
    (start,) = yield from plane.measured([lam0])
    begin = lam0 if start <= good_enough else plane.lam(places[0])
    if traits.rows > few:
        return begin
    return (yield from _verified(domain, begin, traits))


def _verified(
    domain: Box, begin: Array, traits: Traits, apart: float = 1.5, basins: int = 3, steps: int = 10
) -> Asking[Array]:
    """The lowest of the basins that a coarse grid on all rows shows, and of where to begin.

    A sample does not show what near neighbours have in common, for few of it have theirs beside
    them: kernels so narrow look useless there. Widths are so far `apart`; of each one decomposition
    gives all ridges. So many basins are followed, by so many steps each.
    """
    assert traits.rows is not None
    everything = 2 * traits.rows  # no fold has more
    plane = _Plane(domain, traits.blocks, everything, (apart, 2 * SPACING))
    values = yield from plane.values(list(plane.grid()))
    starts = [begin, *(plane.lam(place) for place in plane.valleys(values))]
    known = yield from plane.measured(starts)
    order = np.argsort(known)[:basins]
    starts = [starts[k] for k in order if np.isfinite(known[k])]
    ends = yield from _ends(domain, starts, everything, steps)
    return min(ends, key=lambda end: end[0])[1] if ends else begin


def _ends(
    domain: Box, starts: Sequence[Array], rows: int, most: int
) -> Asking[list[tuple[float, Array]]]:
    """f and λ where so many steps lead from each start, on a sample of the rows."""
    ends = []
    for lam in starts:
        end, _ = yield from lowest_of(descend(domain, lam, 10 * ACCURACY, most), rows)
        ends.append((end.highest, end.lam))
    return ends


def lowest_of(steps: Steps, rows: int | None = None) -> Asking[tuple[Evaluation, int]]:
    """The lowest that a descent comes to, on a sample of the rows or on all, and of how many."""
    best: Evaluation | None = None
    answer, count = None, 0
    while True:
        try:
            asked = steps.send(answer)
        except StopIteration:
            assert best is not None
            return best, count
        match asked:
            case Evaluate():
                answer = yield Evaluate(asked.lam, replace(asked.ask, rows=rows), asked.start)
                best = answer if best is None or answer.highest < best.highest else best
                count += 1
            case _ if rows is None:
                answer = yield asked
            case Profile():
                answer = asked.start  # no model of f on a sample
            case _:
                answer = None


class _Plane:
    """Values of a criterion at places of the box, each asked for once.

    Every block of hyperparameters is one axis. Place k of its N is lower + (k/N)(upper − lower),
    for each of the block in its own bounds.
    """

    def __init__(
        self, domain: Box, blocks: npt.NDArray[np.intp], rows: int, spacing: tuple[float, float]
    ) -> None:
        self.domain, self.blocks, self.rows = domain, blocks, rows
        self.finest = 2**HALVINGS
        span = domain.upper - domain.lower
        widest = [float(np.max(span[blocks == k])) for k in np.unique(blocks)]
        # The last is a ridge; of all rows, one decomposition has every one of them.
        apart = np.full(len(widest), spacing[0])
        apart[-1] = spacing[1]
        self.axes: Index = tuple(
            self.finest * int(np.ceil(w / a)) for w, a in zip(widest, apart, strict=True)
        )
        self.known: dict[Index, float] = {}

    def lam(self, place: Index) -> Array:
        shares = np.array([k / max(n, 1) for k, n in zip(place, self.axes, strict=True)])
        lower, upper = self.domain.lower, self.domain.upper
        return self.domain.project(lower + shares[self.blocks] * (upper - lower))

    def grid(self) -> Iterator[Index]:
        """Places one spacing apart, the last axis fastest: a ridge does not change its kernel."""
        yield from product(*(range(0, n + 1, self.finest) for n in self.axes))

    def values(self, places: Sequence[Index]) -> Asking[dict[Index, float]]:
        fresh = sorted({place for place in places if place not in self.known})
        found = yield from self.measured([self.lam(place) for place in fresh])
        self.known.update(zip(fresh, found, strict=True))
        return {place: self.known[place] for place in places}

    def measured(self, lams: Sequence[Array]) -> Asking[list[float]]:
        """f at some λ, or infinity where it cannot be computed.

        A solve that stalled counts: where the ridge is below rounding no tolerance can be met, and
        f is known well enough all the same.
        """
        ask = Ask(ACCURACY, gradient=False, rows=self.rows)
        found = (yield [Evaluate(lam, ask) for lam in lams]) if lams else []
        return [now.value if np.isfinite(now.value) else np.inf for now in found]

    def descend(self, place: Index, step: int) -> Asking[Index]:
        """Where steps of so many of the shortest lead to, each to the lowest place around.

        The place is the lowest among those twice as far apart, so a few steps are enough.
        """
        for _ in range(3):
            values = yield from self.values([place, *self._around(place, step)])
            lowest = min(values, key=values.__getitem__)
            if lowest == place:
                break
            place = lowest
        return place

    def _around(self, place: Index, step: int) -> Iterator[Index]:
        """The places next to it, across corners too: valleys run askew."""
        near = (
            [k + move for move in (-step, 0, step) if 0 <= k + move <= n]
            for k, n in zip(place, self.axes, strict=True)
        )
        return (other for other in product(*near) if other != place)

    def basins(self, values: dict[Index, float]) -> list[Index]:
        """The lowest places of the grid that have no lower one next to them, none beside another.

        On a plateau every place is the lowest around: one stands for its neighbours.
        """
        taken: list[Index] = []
        for place in sorted(values, key=values.__getitem__):
            value = values[place]
            if any(values[other] < value for other in self._around(place, self.finest)):
                continue
            if not set(self._around(place, self.finest)).intersection(taken):
                taken.append(place)
            if len(taken) == BASINS:
                break
        return taken

    def valleys(self, values: dict[Index, float]) -> list[Index]:
        """The lowest place of each width that has no lower one among the widths next to it.

        The best ridge of one width need not be near that of the next, and valleys run askew.
        """
        best: dict[Index, Index] = {}
        for place in values:
            known = best.setdefault(place[:-1], place)
            if values[place] < values[known]:
                best[place[:-1]] = place
        floor = {width: values[place] for width, place in best.items()}
        step = self.finest
        near = ((width, (width[0] + move, *width[1:])) for width in floor for move in (-step, step))
        higher = {width for width, other in near if floor.get(other, np.inf) < floor[width]}
        return [best[width] for width in floor if width not in higher]
