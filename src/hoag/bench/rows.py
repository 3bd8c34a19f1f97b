"""Reading the rows: suboptimality, what a method would have answered at any time, who was first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hoag.bench.cases import CASES
from hoag.values import DOUBT, Array

# Measured from the best f known; below this, two λ are not told apart.
LEAST = 1e-8


class Rows:
    """All rows of a folder, with `suboptimality` and `answer` added to those of the searches.

    suboptimality  (f(λ_k) − f*)/f* at every step
    answer         the same at the best step so far, by the method's own account: ranked as the
                   run of every search ranks, by f plus what its error may be
    answer_validation   the validation loss there
    """

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        searched = frame[~frame.method.isin(["curve", "surface"])]
        self.starts = searched[searched.start >= 0]
        self.runs = {
            key: self._judged(run.sort_values("k").reset_index(drop=True))
            for key, run in searched[searched.start < 0].groupby(["case", "method", "seed"])
        }

    def cases(self) -> list[str]:
        """In the order in which they are listed."""
        return [name for name in CASES if name in set(self.frame.case)]

    def few(self) -> list[str]:
        """Those with few hyperparameters."""
        return [name for name in self.cases() if not CASES[name].many]

    def seeds(self, case: str) -> list[int]:
        return sorted({int(seed) for seed in self.frame[self.frame.case == case].seed})

    def run(self, case: str, method: str, seed: int = 0) -> Any:
        """The rows of one run, or None."""
        return self.runs.get((case, method, seed))

    def of(self, case: str, method: str) -> list[Any]:
        """The runs of a method, one a split."""
        found = [self.run(case, method, seed) for seed in self.seeds(case)]
        return [run for run in found if run is not None]

    def drawn(self, case: str, seed: int = 0) -> Any:
        """f itself over the domain."""
        frame = self.frame
        return frame[
            (frame.case == case) & frame.method.isin(["curve", "surface"]) & (frame.seed == seed)
        ]

    def f_star(self, case: str, seed: int) -> float:
        """The least f seen anywhere, by any method."""
        here = self.frame[(self.frame.case == case) & (self.frame.seed == seed)]
        return float(here.f.min())

    def f_star_of_starts(self, case: str, seed: int) -> float:
        """f* as in the paper: the best of the random starts of HOAG; nan where there are none."""
        here = self.starts[(self.starts.case == case) & (self.starts.seed == seed)]
        return float(here.f.min()) if len(here) else np.nan

    def first(self, case: str, method: str, level: float, by: str) -> float:
        """Passes or seconds until the answer is within `level` of f*, median of splits.

        inf if it never was; nan if the method was not run.
        """
        found = [first_below(run[by], run.answer, level) for run in self.of(case, method)]
        return float(np.median(found)) if found else np.nan

    def _judged(self, run: Any) -> Any:
        f_star = self.f_star(run.case[0], run.seed[0])
        run["suboptimality"] = np.maximum((run.f - f_star) / f_star, LEAST)
        rank = (run.corrected + DOUBT * run.f_error.fillna(0.0)).to_numpy()
        best = best_so_far(np.where(np.isfinite(rank), rank, np.inf))
        run["answer"] = run.suboptimality.to_numpy()[best]
        run["answer_validation"] = run.validation.to_numpy()[best]
        run["answer_value"] = run.value.to_numpy()[best]
        return run


def best_so_far(values: Array) -> Any:
    """For every k the index of the least of the first k values."""
    least = np.minimum.accumulate(values)
    fresh = np.r_[True, values[1:] < least[:-1]]
    return np.maximum.accumulate(np.where(fresh, np.arange(len(values)), 0))


def first_below(cost: Any, values: Any, level: float) -> float:
    reached = np.flatnonzero(np.asarray(values) <= level)
    return float(np.asarray(cost)[reached[0]]) if reached.size else np.inf


def rises(values: Iterable[float], floor: float = 1e-6, share: float = 0.05) -> int:
    """How often a sequence goes up by more than `share`, above `floor`: oscillation."""
    values = np.asarray(list(values))
    up = values[1:] > (1 + share) * values[:-1]
    return int(np.sum(up & (values[1:] > floor)))


def rate(run: Any, above: float = 1e-7, below: float = 0.3) -> tuple[float, float]:
    """Fitted rates: what one step multiplies the suboptimality by, and passes for a tenth of it.

    Least squares for log₁₀ of the suboptimality against k and against passes, on its way from
    `below` until it is first under `above`; nan with fewer than four points there. What it does
    after that, oscillations among it, is no part of the way.
    """
    arrived = np.flatnonzero(run.suboptimality < above)
    way = run.iloc[: arrived[0] if arrived.size else len(run)]
    way = way[way.suboptimality <= below]
    if len(way) < 4:
        return np.nan, np.nan
    log = np.log10(way.suboptimality)
    by_step = float(np.polyfit(way.k, log, 1)[0])
    by_pass = float(np.polyfit(way.passes, log, 1)[0])
    return 10**by_step, -1 / by_pass if by_pass < 0 else np.inf
