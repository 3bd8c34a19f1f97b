"""Where to begin: f is looked at all over the box, on a sample of the rows.

f is flat where a kernel is so narrow that K is the identity, where it is so wide that K is
constant, and where a penalty leaves nothing of the fit: no gradient leads out of there. On a share
of the rows a factor costs the cube of that share, so that looking at the whole box costs about as
much as one evaluation on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from hoag.criteria.base import Traits
from hoag.search.asks import ACCURACY, Asking, Look
from hoag.values import Array, Ask, Box

# A sixth of the rows makes a factor cost 1/216, so that all places together cost less than one. Of
# fewer rows than LEAST a sample has basins of its own (150 of 1958 on Parkinsons, one in three).
SHARE, LEAST = 1 / 6, 200
# Places of the grid are at most so far apart, in λ: a kernel goes from constant to the identity
# within about 8.
SPACING = 4.0
# So many of the lowest places, no two of them neighbours, are followed downhill ...
BASINS = 3
# ... by steps of the spacing, halved so often; after each the highest of them is given up. Shorter
# steps are not worth it: the minimum of all rows is elsewhere by about as much.
HALVINGS = 3
# λ₀ stays if it is this near to the lowest place, as a share of the way up to the median one: a
# sample does not tell better. A flat region is up there, however little f varies.
AS_GOOD = 0.05

# For each axis, how many of the shortest steps from the lower bound.
Place = tuple[int, ...]


def survey(domain: Box, lam0: Array, traits: Traits, rows: int | None = None) -> Asking[Array]:
    """argmin of f on a sample of the rows, or λ₀ where that is as good.

    Only values are asked for. Of a criterion that cannot be evaluated on a sample λ₀ is returned,
    for nothing. `rows` is the size of the sample, by default a sixth of all.
    """
    if traits.rows is None or np.all(domain.lower == domain.upper):
        return lam0
    rows = rows or max(LEAST, int(SHARE * traits.rows))
    plane = _Plane(domain, traits.blocks, rows)
    values = yield from plane.values(list(plane.grid()))
    places = _basins(values, apart=plane.finest)
    step = plane.finest
    while step > 1:
        step //= 2
        ends = set()
        for place in places:
            ends.add((yield from plane.descend(place, step)))
        places = sorted(ends, key=plane.known.__getitem__)[: max(len(places) - 1, 1)]
    best, usual = plane.known[places[0]], float(np.median(list(values.values())))
    good_enough = best + AS_GOOD * max(usual - best, 0.0)
    if not np.isfinite(best):
        return lam0
    (start,) = yield from plane.measured([lam0])
    return lam0 if start <= good_enough else plane.lam(places[0])


class _Plane:
    """Values of a criterion at places of the box, each asked for once.

    Every block of hyperparameters is one axis. Place k of its N is lower + (k/N)(upper − lower),
    for each of the block in its own bounds.
    """

    def __init__(self, domain: Box, blocks: npt.NDArray[np.intp], rows: int) -> None:
        self.domain, self.blocks, self.rows = domain, blocks, rows
        self.finest = 2**HALVINGS
        span = domain.upper - domain.lower
        widest = [float(np.max(span[blocks == k])) for k in np.unique(blocks)]
        self.axes: Place = tuple(self.finest * int(np.ceil(w / SPACING)) for w in widest)
        self.known: dict[Place, float] = {}

    def lam(self, place: Place) -> Array:
        shares = np.array([k / max(n, 1) for k, n in zip(place, self.axes, strict=True)])
        lower, upper = self.domain.lower, self.domain.upper
        return self.domain.project(lower + shares[self.blocks] * (upper - lower))

    def grid(self) -> Iterator[Place]:
        """Places one spacing apart, the last axis fastest: a ridge does not change its kernel."""
        yield from product(*(range(0, n + 1, self.finest) for n in self.axes))

    def values(self, places: Sequence[Place]) -> Asking[dict[Place, float]]:
        fresh = [place for place in places if place not in self.known]
        found = yield from self.measured([self.lam(place) for place in fresh])
        self.known.update(zip(fresh, found, strict=True))
        return {place: self.known[place] for place in places}

    def measured(self, lams: Sequence[Array]) -> Asking[list[float]]:
        """f at some λ, or infinity where it cannot be computed.

        A solve that stalled counts: where the ridge is below rounding no tolerance can be met, and
        f is known well enough all the same.
        """
        ask = Ask(ACCURACY, gradient=False, rows=self.rows)
        found = yield [Look(lam, ask) for lam in lams]
        return [now.value if np.isfinite(now.value) else np.inf for now in found]

    def descend(self, place: Place, step: int) -> Asking[Place]:
        """Where steps of so many of the shortest lead to, each to the lowest place around."""
        while True:
            values = yield from self.values([place, *self._around(place, step)])
            lowest = min(values, key=values.__getitem__)
            if lowest == place:
                return place
            place = lowest

    def _around(self, place: Place, step: int) -> Iterator[Place]:
        for axis, n in enumerate(self.axes):
            for k in (place[axis] - step, place[axis] + step):
                if 0 <= k <= n:
                    yield (*place[:axis], k, *place[axis + 1 :])


def _basins(values: dict[Place, float], apart: int) -> list[Place]:
    """The lowest places, none of them within `apart` of a lower one."""
    taken: list[Place] = []
    for place in sorted(values, key=values.__getitem__):
        near = any(np.max(np.abs(np.subtract(place, other))) <= apart for other in taken)
        if not near and len(taken) < BASINS:
            taken.append(place)
    return taken
