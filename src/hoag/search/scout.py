"""Where to begin: f is looked at all over the box, on a sample of the rows.

f is flat where a kernel is so narrow that K is the identity, where it is so wide that K is
constant, and where a penalty leaves nothing of the fit: no gradient leads out of there. On a share
of the rows a factor costs the cube of that share, so that looking at the whole box costs about as
much as one evaluation on all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hoag.criterion import Criterion
from hoag.values import Array, Box, Cost, InnerProblemError

# A quarter of the rows makes a factor cost 1/64, so that all places together cost about one. Of
# fewer rows than LEAST a sample has basins of its own (150 of 1958 on Parkinsons, one sample in
# three), and more than MOST find no better places to start.
SHARE, LEAST, MOST = 1 / 4, 200, 300
# Places of the grid are at most so far apart, in λ: a kernel goes from constant to the identity
# within about 8. No axis has more than so many of them.
SPACING, MOST_PLACES = 4.0, 9
# So many of the lowest places, no two of them neighbours, are followed downhill ...
BASINS = 3
# ... by steps of these shares of the spacing; after each the highest of them is given up. Shorter
# steps are not worth it: the minimum of all rows is elsewhere by about as much.
STEPS = (1 / 2, 1 / 4, 1 / 8)
# λ₀ stays if it is this near to the lowest place, as a share of the way up to the median one: a
# sample does not tell better. A flat region is up there, however little f varies.
AS_GOOD = 0.05
# The tolerance at which values are compared.
EPS = 1e-3

# For each axis, how many of the shortest steps from the lower bound.
Place = tuple[int, ...]


def scout(
    criterion: Criterion, domain: Box, lam0: Array, rows: int | None = None
) -> tuple[Array, Cost]:
    """argmin of f on a sample of the rows, or λ₀ where that is as good; and what looking cost.

    Only values are computed. A criterion that can be scouted offers

    rows           how many training rows there are; None where it cannot be scouted
    coarse(rows)   the same criterion on so many of them, its cost in units of the whole
    blocks         the number of each hyperparameter's block, shape (s,); a block is moved as one,
                   so that a width for each of a hundred features is looked for along one axis

    Of any other criterion λ₀ is returned, for nothing. `rows` is the size of the sample, by default
    a quarter of all within bounds.
    """
    offered = cast(Any, criterion)
    available = getattr(criterion, "rows", None)
    if available is None or np.all(domain.lower == domain.upper):
        return lam0, Cost()
    if rows is None:
        rows = int(np.clip(SHARE * available, LEAST, MOST))
    survey = Survey(offered.coarse(rows), domain, offered.blocks)
    values = {place: survey.value(place) for place in survey.grid()}
    places = _basins(values, apart=survey.finest)
    for share in STEPS:
        ends = {survey.descend(place, share) for place in places}
        places = sorted(ends, key=survey.value)[: max(len(places) - 1, 1)]
    best, usual = survey.value(places[0]), float(np.median(list(values.values())))
    good_enough = best + AS_GOOD * max(usual - best, 0.0)
    if not np.isfinite(best) or survey.measure(lam0) <= good_enough:
        return lam0, survey.cost
    return survey.lam(places[0]), survey.cost


class Survey:
    """Values of a criterion at places of the box, each computed once, and what they cost.

    Every block of hyperparameters is one axis. Place k of its N is lower + (k/N)(upper − lower),
    for each of the block in its own bounds.
    """

    def __init__(self, criterion: Criterion, domain: Box, blocks: npt.NDArray[np.intp]) -> None:
        self.criterion, self.domain, self.blocks = criterion, domain, blocks
        self.cost = Cost()
        self.finest = round(1 / min(STEPS))
        span = domain.upper - domain.lower
        widest = [float(np.max(span[blocks == k])) for k in np.unique(blocks)]
        intervals = [min(int(np.ceil(w / SPACING)), MOST_PLACES - 1) for w in widest]
        self.axes: Place = tuple(self.finest * n for n in intervals)
        self._values: dict[Place, float] = {}

    def lam(self, place: Place) -> Array:
        shares = np.array([k / max(n, 1) for k, n in zip(place, self.axes, strict=True)])
        lower, upper = self.domain.lower, self.domain.upper
        return self.domain.project(lower + shares[self.blocks] * (upper - lower))

    def grid(self) -> Iterator[Place]:
        """Places one spacing apart, the last axis fastest: a ridge does not change its kernel."""
        yield from product(*(range(0, n + 1, self.finest) for n in self.axes))

    def value(self, place: Place) -> float:
        if place not in self._values:
            self._values[place] = self.measure(self.lam(place))
        return self._values[place]

    def measure(self, lam: Array) -> float:
        """f(λ), or infinity where it cannot be computed.

        A solve that stalled counts: where the ridge is below rounding no tolerance can be met, and
        f is known well enough all the same.
        """
        try:
            found = self.criterion.value(lam, EPS)
        except InnerProblemError:
            return np.inf
        self.cost = self.cost + found.cost
        return found.value if np.isfinite(found.value) else np.inf

    def descend(self, place: Place, share: float) -> Place:
        """Where steps of this share of the spacing lead to, each to the lowest place around."""
        step = round(share * self.finest)
        while True:
            lowest = min([place, *self._around(place, step)], key=self.value)
            if lowest == place:
                return place
            place = lowest

    def _around(self, place: Place, step: int) -> Iterable[Place]:
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
