"""Reading the rows: suboptimality, what a method would have answered at any time, who was first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hoag._core.numeric import DOUBT, Array
from paper.cases import CASES

# Measured from the best f known; below this, two λ are not told apart.
LEAST = 1e-8
# In place of a method: f itself, solved tightly.
DRAWN = ("curve", "surface")


class Rows:
    """All rows of a folder, with `suboptimality` and `answer` added to those of the searches.

    suboptimality  (f(λ_k) − f*)/f* at every step
    answer         the same at the best step so far, by the method's own account: ranked as the
                   run of every search ranks, by f plus what its error may be
    answer_validation   the validation loss there
    """

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        searched = frame[~frame.method.isin(DRAWN) & (frame.start < 0)]
        self.runs = {
            key: self._judged(run.sort_values("k").reset_index(drop=True))
            for key, run in searched.groupby(["case", "method", "seed"])
        }

    def cases(self) -> list[str]:
        """In the order in which they are listed."""
        return [name for name in CASES if name in set(self.frame.case)]

    def many(self) -> list[str]:
        """Those with more hyperparameters than can be drawn."""
        return [name for name in self.cases() if CASES[name].many]

    def few(self, *methods: str) -> list[str]:
        """Those with few hyperparameters in which all these methods were run."""
        names = [name for name in self.cases() if not CASES[name].many]
        return [name for name in names if all(self.of(name, method) for method in methods)]

    def text_sets(self, *methods: str) -> list[str]:
        """Those with one hyperparameter, as the paper's text sets."""
        return [name for name in self.few(*methods) if CASES[name].curve]

    def kernel_sets(self, *methods: str) -> list[str]:
        return [name for name in self.few(*methods) if not CASES[name].curve]

    def seeds(self, case: str) -> list[int]:
        return sorted({int(seed) for seed in self.frame[self.frame.case == case].seed})

    def run(self, case: str, method: str, seed: int = 0) -> Any:
        """The rows of one run, or None."""
        return self.runs.get((case, method, seed))

    def first_split(self, case: str, methods: Iterable[str]) -> dict[str, Any]:
        """The runs there of these methods, without those that were not run."""
        runs = {method: self.run(case, method) for method in methods}
        return {method: run for method, run in runs.items() if run is not None}

    def of(self, case: str, method: str) -> list[Any]:
        """The runs of a method, one a split."""
        return [run for key, run in self.runs.items() if key[:2] == (case, method)]

    def drawn(self, case: str) -> Any:
        """f itself over the domain, of the first split."""
        here = self._split(case, 0)
        return here[here.method.isin(DRAWN)]

    def f_star(self, case: str, seed: int = 0) -> float:
        """The least f seen anywhere, by any method."""
        return float(self._split(case, seed).f.min())

    def f_star_of_starts(self, case: str) -> float:
        """f* as in the paper: the best of the random starts of HOAG; nan where there are none."""
        here = self._split(case, 0)
        return float(here[here.start >= 0].f.min())

    def _split(self, case: str, seed: int) -> Any:
        return self.frame[(self.frame.case == case) & (self.frame.seed == seed)]

    def first(self, case: str, method: str, level: float, by: str) -> float:
        """Passes or seconds until the answer is within `level` of f*, median of splits.

        inf if it never was; nan if the method was not run.
        """
        return self.median(case, method, lambda run: first_below(run[by], run.answer, level))

    def median(self, case: str, method: str, value: Callable[[Any], float]) -> float:
        """Of the value of a run, over splits; nan if the method was not run."""
        found = [value(run) for run in self.of(case, method)]
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


def rises(suboptimality: Any) -> int:
    """How often it goes up by more than 5 %, above 1e-6: oscillation."""
    values = np.asarray(suboptimality)
    return int(np.sum((values[1:] > 1.05 * values[:-1]) & (values[1:] > 1e-6)))


def rate(run: Any) -> tuple[float, float]:
    """Fitted rates: what one step multiplies the suboptimality by, and passes for a tenth of it.

    Least squares for log₁₀ of the suboptimality against k and against passes, on its way from 0.3
    until it is first under 1e-7; nan with fewer than four points there. What it does after that,
    oscillations among it, is no part of the way.
    """
    arrived = np.flatnonzero(run.suboptimality < 1e-7)
    way = run.iloc[: arrived[0] if arrived.size else len(run)]
    way = way[way.suboptimality <= 0.3]
    if len(way) < 4:
        return np.nan, np.nan
    log = np.log10(way.suboptimality)
    by_step = float(np.polyfit(way.k, log, 1)[0])
    by_pass = float(np.polyfit(way.passes, log, 1)[0])
    return 10**by_step, -1 / by_pass if by_pass < 0 else np.inf
