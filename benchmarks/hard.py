"""Hard problems for several penalties: how often the default search ends at the lowest loss known.

Small random problems, logistic and ridge in turn, five folds: nearly as many features as rows,
columns that are nearly copies of others, groups of pure noise, scales from 0.01 to 100, and a
penalty for each feature or for each of 3 to 8 groups drawn at random. The lowest loss known is that
of L-BFGS-B from random starts and of both searches; "basins" counts the different losses at which
they end. CPU seconds with making the criterion, without a refit, on one thread.

    python benchmarks/hard.py [--problems 60] [--starts 20] [--first 0]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import hoag

LOWER, UPPER = -14.0, 14.0  # of λ
CLOSE = 1e-3  # of the lowest loss, relatively: as good as found; further apart: another basin
HONEST = 1e-6  # how far the value reported may be from f computed anew, relatively
SPREADS = (0.0, 0.1, 0.3, 1.0, 3.0)  # of the coefficients of a group; 0: pure noise

# The searches, and the share of problems on which each is asked to come close.
SEARCHES: dict[str, tuple[Callable[[], hoag.optimize.Auto], float]] = {
    "Auto()": (hoag.optimize.Auto, 0.8),
    "Auto(starts=4)": (lambda: hoag.optimize.Auto(starts=4), 0.9),
}


class Hard(NamedTuple):
    """A problem: its model, rows, what they should give, and the group of each column."""

    make: Any
    X: Any
    y: Any
    groups: Any

    @property
    def kind(self) -> str:
        (n, p), many = self.X.shape, int(self.groups.max()) + 1
        each = "per feature" if many == p else f"{many} groups"
        return f"{self.make.__name__} {n}×{p}, {each}"

    def criterion(self) -> Any:
        options = {"cv": 5, "intercept": True, "penalties": self.groups}
        return hoag.plan(hoag.models.folds(self.make, self.X, self.y, **options))


def hard(seed: int) -> Hard:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 151))
    p = int(rng.uniform(0.3, 1) * min(60, n))
    X = rng.normal(size=(n, p))
    copies = rng.permutation(p)[: 2 * (p // 5)].reshape(2, -1)
    X[:, copies[0]] = X[:, copies[1]] + 10 ** rng.uniform(-3, -0.5) * X[:, copies[0]]
    many = int(rng.integers(3, 9))
    groups = rng.permutation(np.arange(p) % many) if rng.random() < 0.5 else np.arange(p)
    spreads = rng.choice(SPREADS, size=int(groups.max()) + 1)
    signal = X @ (rng.normal(size=p) * spreads[groups])
    y = signal + rng.uniform(0.3, 2) * (signal.std() + 0.1) * rng.normal(size=n)
    if rng.random() < 0.5:
        X = X * 10 ** rng.uniform(-2, 2, size=p)
    if seed % 2:
        return Hard(hoag.models.ridge, X, y, groups)
    return Hard(hoag.models.logistic, X, (y > np.median(y)).astype(int), groups)


def random_ends(problem: Hard, starts: int, seed: int) -> list[float]:
    """Where L-BFGS-B ends, from λ far apart (half of the starts) or around one level."""
    rng, size = np.random.default_rng(seed), int(problem.groups.max()) + 1
    wide = rng.uniform(-8, 8, size=(starts // 2, size))
    level = rng.uniform(-6, 8, size=(starts - starts // 2, 1))
    near = level + rng.uniform(-3, 3, size=(level.size, size))
    criterion, ends = problem.criterion(), []
    for start in (*wide, *near):
        warm = None

        def f(lam: Any) -> tuple[float, Any]:
            nonlocal warm
            now = criterion.evaluate(lam, warm=warm)
            warm = now.warm
            return now.value, now.grad

        ends.append(float(minimize(f, start, jac=True, bounds=[(LOWER, UPPER)] * size).fun))
    return ends


def searched(problem: Hard, search: Any) -> tuple[float, Any]:
    size = int(problem.groups.max()) + 1
    begin = time.process_time()
    result = search.minimize(problem.criterion(), hoag.Box(LOWER, UPPER, size=size), np.zeros(size))
    return time.process_time() - begin, result


def basins(ends: list[float]) -> int:
    ordered = np.sort(ends)
    return 1 + int(np.sum(np.diff(ordered) > CLOSE * ordered[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--starts", type=int, default=20, help="of L-BFGS-B")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    args = parser.parse_args()
    excesses: dict[str, list[float]] = {name: [] for name in SEARCHES}
    seconds, counts = dict.fromkeys(SEARCHES, 0.0), []
    print("| seed | problem | search | above the lowest | basins | CPU seconds | |")
    print("|---|---|---|---|---|---|---|")
    for seed in range(args.first, args.first + args.problems):
        problem = hard(seed)
        found = {name: searched(problem, build()) for name, (build, _) in SEARCHES.items()}
        anew = {name: problem.criterion().evaluate(r.lam).value for name, (_, r) in found.items()}
        ends = [*random_ends(problem, args.starts, seed), *anew.values()]
        counts.append(basins(ends))
        for name, (took, result) in found.items():
            excess = anew[name] / min(ends) - 1
            excesses[name].append(excess)
            seconds[name] += took
            told = [] if result.converged else [result.status.reason]
            if abs(result.value / anew[name] - 1) > HONEST:
                told.append(f"reported {result.value:.8g}, is {anew[name]:.8g}")
            if excess > CLOSE or told:
                print(
                    f"| {seed} | {problem.kind} | {name} | {excess:.1e} | {counts[-1]} | "
                    f"{took:.2f} | {', '.join(told)} |",
                    flush=True,
                )
    print(f"\nBasins: {np.median(counts):g} by the median, at most {max(counts)}.\n")
    print("| search | within 1e-3 | asked | median above | worst above | CPU seconds |")
    print("|---|---|---|---|---|---|")
    for name, (_, asked) in SEARCHES.items():
        above = np.array(excesses[name])
        print(
            f"| {name} | {np.sum(above <= CLOSE)} of {above.size} | {asked:.0%} | "
            f"{np.median(above):.1e} | {above.max():.1e} | {seconds[name]:.1f} |"
        )


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
