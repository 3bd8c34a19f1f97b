"""Samples that grow against all rows: passes until λ is good, and where both end.

python benchmarks/growing.py                 simulated logistic problems of 10⁵ rows, in JAX
HOAG_DATA=... python benchmarks/growing.py   and MNIST, 0–4 against 5–9

A column "to 1e-2" has the passes after which every λ of the trace is within 1e-2 of the least loss,
relatively. f(λ) is solved for on all rows, outside the count. A row of Growing is the median over
its seeds, with the largest behind it. "covered": evaluations on samples whose value is within
three f_error of f(λ), and whose p is within three error of ∇f(λ); these share a few samples, so
that a second table has many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hoag
import hoag.jax
from hoag import datasets

jax.config.update("jax_enable_x64", True)

Pair = tuple[np.ndarray, np.ndarray]


def simulated(p: int, n: int = 100_000, held_out: int = 20_000) -> tuple[Pair, Pair]:
    """Columns that matter less and less, the last half of them not at all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + held_out, p))
    w = np.where(np.arange(p) < p // 2, rng.normal(size=p) * np.exp(-4 * np.arange(p) / p), 0.0)
    y = np.sign(X @ w / np.linalg.norm(w) * 2 + rng.logistic(size=len(X)))
    return (X[:n], y[:n]), (X[n:], y[n:])


def mnist() -> tuple[Pair, Pair]:
    X, y = datasets.load("mnist").X_y
    X, y = np.asarray(X, dtype=float), np.where(np.asarray(y) < 5, 1.0, -1.0)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:50000], order[50000:]
    return (X[train], y[train]), (X[test], y[test])


def logistic(train: Pair, test: Pair, groups: int) -> Any:
    """h a mean over rows with its penalty, from a penalty that is far too strong."""
    p = train[0].shape[1]
    which = np.arange(p) * groups // p

    def g(x: Any, lam: Any, data: Any) -> Any:
        return jnp.mean(jnp.logaddexp(0.0, -data[1] * (data[0] @ x)))

    def h(x: Any, lam: Any, data: Any) -> Any:
        return g(x, lam, data) + 0.5 * jnp.sum(jnp.exp(lam)[which] * x**2)

    return hoag.jax.problem(h, g, jnp.zeros(p), jnp.zeros(groups), train=train, test=test)


class Truth:
    """f and ∇f on all rows, each λ once."""

    def __init__(self, problem: Any) -> None:
        self._criterion, self._warm = hoag.criteria.Implicit(problem, certificate=False), None
        self._known: dict[bytes, Any] = {}

    def __call__(self, lam: Any) -> Any:
        key = np.asarray(lam).tobytes()
        if key not in self._known:
            found = self._criterion.evaluate(np.asarray(lam), hoag.criteria.Ask(1e-5), self._warm)
            self._warm, self._known[key] = found.warm, found.light()
        return self._known[key]


def passes_to(result: Any, truth: Truth, least: float, share: float) -> float:
    """Passes after which no λ of the trace is further from the least loss."""
    spent = np.inf
    for step in reversed(result.trace):
        if truth(step.lam).value > (1 + share) * least:
            break
        spent = step.cost.passes
    return spent


def covered(results: Sequence[Any], truth: Truth) -> str:
    seen = [
        (
            abs(found.value - truth(found.lam).value) <= 3 * found.f_error,
            np.linalg.norm(found.grad - truth(found.lam).grad) <= 3 * found.error,
        )
        for result in results
        for found in (step.evaluation for step in result.trace)
        if found.on_sample is not None and np.isfinite(found.f_error)
    ]
    f, p = np.mean(seen, axis=0)
    return f"{100 * f:.0f} %, {100 * p:.0f} % of {len(seen)}"


def compare(name: str, problem: Any, seeds: int) -> None:
    truth = Truth(problem)
    full = hoag.minimize(problem)
    grown = [hoag.minimize(problem, search=hoag.optimize.Growing(seed=k)) for k in range(seeds)]
    least = min(truth(result.evaluation.lam).value for result in (full, *grown))
    for search, results in (("Auto", [full]), ("Growing", grown)):
        cells = [name, search]
        for share in (1e-2, 1e-3):
            spent = [passes_to(result, truth, least, share) for result in results]
            cells.append(f"{np.median(spent):.3g} ({max(spent):.3g})")
        cells.append(f"{np.median([result.cost.passes for result in results]):.4g}")
        losses = [result.value for result in results]
        cells.append(f"{np.median(losses):.6f} ({max(losses) / least - 1:.0e})")
        cells.append(f"{np.median([result.seconds for result in results]):.2g}")
        cells.append(covered(results, truth) if search == "Growing" else "")
        print(f"| {' | '.join(cells)} |", flush=True)


def coverage(train: Pair, test: Pair, draws: int = 40, rows: int = 1000) -> None:
    """What samples say of their errors, at three λ, against the truth."""
    print("\n| 1000 of 10⁵ rows × 50 | within three errors: f | p | true/said, median: f | p |")
    print("|---|---|---|---|---|")
    for groups in (1, 2, 20):
        criterion = hoag.criteria.Implicit(logistic(train, test, groups), certificate=False)
        off = []
        for lam in (-9.0, -6.0, -3.0):
            true = criterion.evaluate(np.full(groups, lam), hoag.criteria.Ask(1e-7))
            for seed in range(draws):
                found = criterion.evaluate(true.lam, hoag.criteria.Ask(1e-5, rows=rows, seed=seed))
                apart = float(np.linalg.norm(found.grad - true.grad))
                off.append((abs(found.value - true.value) / found.f_error, apart / found.error))
        inside, middle = 100 * np.mean(np.array(off) < 3, axis=0), np.median(off, axis=0)
        cells = f"{inside[0]:.0f} % | {inside[1]:.0f} % | {middle[0]:.2f} | {middle[1]:.2f}"
        print(f"| {groups} λ, {len(off)} draws | {cells} |", flush=True)


def main() -> None:
    print("| problem | search | to 1e-2 | to 1e-3 | in all | loss (above least) | s | covered |")
    print("|---|---|---|---|---|---|---|---|")
    for p in (50, 320):
        train, test = simulated(p)
        for groups in (1, 20):
            how = "factors" if p <= 300 else "CG"
            name = f"10⁵ × {p}, {how}, {groups} λ"
            compare(name, logistic(train, test, groups), seeds=3 if p <= 300 else 2)
    if datasets.present("mnist"):
        compare("MNIST, 50 000 × 144, 1 λ", logistic(*mnist(), 1), seeds=2)
    coverage(*simulated(50))


if __name__ == "__main__":
    main()
