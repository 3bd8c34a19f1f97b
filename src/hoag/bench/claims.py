"""What the paper says, and whether these rows agree; every number comes from the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hoag.bench.cases import CASES
from hoag.bench.claim import (
    CUBIC,
    EXACT,
    HOAG,
    LEVEL,
    PAPERS,
    QUADRATIC,
    Claim,
    each,
    every,
    few,
    kernel_sets,
    text_sets,
    told,
)
from hoag.bench.claims_on_methods import methods
from hoag.bench.methods import METHODS, SEQUENCES
from hoag.bench.rows import Rows, first_below, rises


def check(rows: Rows, figures: list[str]) -> list[Claim]:
    """All claims of the figures, in their order."""
    return [claim for name in figures for claim in CHECKS[name](rows)]


def tolerance(rows: Rows) -> Iterator[Claim]:
    """Of the first split, which is the one drawn."""
    found, parts = [], []
    for case in few(rows, *SEQUENCES):
        runs = {m: rows.run(case, m, 0) for m in SEQUENCES}
        cost = {
            by: {m: first_below(run[by], run.answer, LEVEL) for m, run in runs.items()}
            for by in ("passes", "seconds", "k")
        }
        if min(cost["passes"].values()) == np.inf:
            continue
        loose = [m for m in SEQUENCES if m != EXACT]
        found.append(
            all(cost[by][m] < cost[by][EXACT] for m in loose for by in ("passes", "seconds"))
        )
        steps = {m: cost["passes"][m] / cost["k"][m] for m in SEQUENCES if cost["k"][m] < np.inf}
        parts.append(
            f"{case}: {each(cost['passes'])} passes; {each(cost['seconds'])} seconds; "
            f"{each(steps)} passes a step"
        )
    yield Claim(
        "tolerance",
        "Sequences that are not exact have cheaper steps, and converge faster overall.",
        every(found),
        f"Until the suboptimality is {LEVEL:g}, first split. {told(parts)}.",
    )
    found, parts, exponential = [], [], []
    for case in text_sets(rows, *SEQUENCES):
        ups = {m: rises(rows.run(case, m, 0).suboptimality) for m in SEQUENCES}
        found.append(ups[QUADRATIC] > 0 and ups[CUBIC] > 0)
        exponential.append(ups[HOAG] > ups[QUADRATIC])
        steps = {m: float(len(rows.run(case, m, 0))) for m in SEQUENCES}
        parts.append(
            f"{case}: {each({m: float(n) for m, n in ups.items()})} in {each(steps)} steps"
        )
    more = "The exponential sequence oscillates more than these." if every(exponential) else ""
    yield Claim(
        "tolerance",
        "The quadratic sequence, and to some extent the cubic, oscillates on the two text sets.",
        every(found),
        "How often the suboptimality of a step went up by more than 5 % while above 1e-6, first "
        f"split. {told(parts)}. {more}",
    )


def many(rows: Rows) -> Iterator[Claim]:
    for case in [name for name in rows.cases() if CASES[name].many]:
        runs = {m: rows.run(case, m) for m in METHODS if rows.run(case, m) is not None}
        if HOAG in runs:
            yield _only_gradients(case, runs)
            yield _ahead(case, runs)
            yield _turns_up(case, runs[HOAG])


def _only_gradients(case: str, runs: dict[str, Any]) -> Claim:
    line = 0.95 * float(runs[HOAG].value[0])
    end = {m: float(run.answer_value.iloc[-1]) for m, run in runs.items()}
    good = {m for m in runs if end[m] < line}
    judged = {m for m in PAPERS if m in runs}
    gradient = {m for m in judged if METHODS[m].gradient}
    limits = CASES[case].evaluations
    capped = "".join(
        f" {METHODS[m].label} had {n} evaluations only: one more takes longer than all the time."
        for m, n in limits.items()
        if m in runs
    )
    return Claim(
        "many",
        "Only methods with gradients give satisfactory results in so many dimensions.",
        HOAG in good and not good & (judged - gradient) if judged > gradient else None,
        f"{case}: the test loss at λ = 0, less 5 %, is {line:.5g}. Best of each method: "
        f"{', '.join(f'{METHODS[m].label} {value:.5g}' for m, value in end.items())}. Below it: "
        f"{', '.join(METHODS[m].label for m in runs if m in good) or 'none'}.{capped}",
    )


def _ahead(case: str, runs: dict[str, Any]) -> Claim:
    """At the time when the first of HOAG and Iterdiff ended; much is a tenth of the way down."""
    judged = {m: runs[m] for m in PAPERS if m in runs}
    time = min(runs[m].seconds.iloc[-1] for m in (HOAG, "iterdiff") if m in runs)
    at = {
        m: float(run.answer_value[run.seconds <= time].iloc[-1])
        for m, run in judged.items()
        if run.seconds[0] <= time
    }
    first, rest = float(runs[HOAG].value[0]), [value for m, value in at.items() if m != HOAG]
    holds = None
    if HOAG in at and "iterdiff" in judged:
        holds = all(first - at[HOAG] > 1.1 * (first - value) for value in rest)
    numbers = ", ".join(f"{METHODS[m].label} {value:.5g}" for m, value in at.items())
    return Claim(
        "many",
        "HOAG gives much better results than any other method.",
        holds,
        f"{case}: test losses after {time:.3g} s: {numbers}; from {first:.5g} at λ = 0, a tenth "
        "more of the way down is taken for much.",
    )


def _turns_up(case: str, run: Any) -> Claim:
    least = int(run.validation.idxmin())
    rise = float(run.validation.iloc[-1] / run.validation[least] - 1)
    fall = float(1 - run.value.iloc[-1] / run.value[least])
    return Claim(
        "many",
        "The validation loss goes up while the test loss goes down: the penalties overfit.",
        rise > 2e-3 and fall > 0 if least < len(run) - 1 else None,
        f"{case}: HOAG's validation loss is least ({run.validation[least]:.5g}) at step "
        f"{int(run.k[least])}, and {100 * rise:.2f} % higher at its last step, "
        f"{int(run.k.iloc[-1])}, by when the test loss has fallen another {100 * fall:.1f} % to "
        f"{run.value.iloc[-1]:.5g}.",
    )


def costs(rows: Rows) -> Iterator[Claim]:
    found, parts = [], []
    for case in [name for name in rows.cases() if CASES[name].curve and len(rows.drawn(name))]:
        f = rows.drawn(case).sort_values("lam_0").f.to_numpy()
        moves = np.diff(f)
        signs = np.sign(moves[np.abs(moves) > 1e-7 * f[1:]])  # flat ends wiggle by rounding
        minima = int(np.sum((signs[:-1] < 0) & (signs[1:] > 0)))
        found.append(minima == 1)
        parts.append(f"{case} has {minima}")
    yield Claim(
        "costs",
        "With one penalty the cost function has a unique minimum.",
        every(found),
        f"Local minima inside [−12, 12]: {told(parts)}.",
    )
    for case in kernel_sets(rows):
        if len(rows.drawn(case)):
            yield _flat(rows, case)


def _flat(rows: Rows, case: str) -> Claim:
    """The set around the minimum where f is within 10 % of f*, as far as the grid shows it."""
    from scipy.ndimage import label

    table = rows.drawn(case).pivot(index="lam_1", columns="lam_0", values="f")
    f, limit = table.to_numpy(), 1.1 * rows.f_star(case, 0)
    number, _ = label(f <= limit)
    here = number == number[np.unravel_index(np.argmin(f), f.shape)]
    within = bool(f.min() <= limit)
    ridge, width = np.nonzero(here)
    sides = (np.asarray(table.columns)[width], np.asarray(table.index)[ridge])
    wide = [float(np.ptp(side)) if within else 0.0 for side in sides]
    return Claim(
        "costs",
        "Around its solution Parkinsons' cost function is almost flat.",
        max(wide) >= 5 if within else None,
        f"{case}: f is within 10 % of f* on {100 * here.mean() if within else 0:.1f} % of the "
        f"domain around the solution, a set that spans {wide[0]:.1f} in log γ and {wide[1]:.1f} in "
        "log α; almost flat is taken to mean 5 in some direction.",
    )


def gradient(rows: Rows) -> Iterator[Claim]:
    for case in text_sets(rows, "certified"):
        run = rows.run(case, "certified")
        error = np.abs(run.grad_0 - run.true_slope)
        falls = [
            float(values.iloc[-3:].max()) < 0.1 * float(values.iloc[:5].max())
            for values in (error, run.bound)
        ]
        far = error > 1e-6 * np.abs(run.true_slope).max()
        within = ((run.error <= 2 * error) & (run.error >= error / 2))[far]
        below = int(np.sum(error <= run.bound))
        finite = bool(np.all(np.isfinite(run.bound)))
        yield Claim(
            "gradient",
            "The error of the gradient decreases, under a bound that decreases too.",
            below == len(run) and finite and all(falls) if len(run) >= 8 else None,
            f"{case}: in {len(run)} steps the true error falls from {error.iloc[:5].max():.1g} to "
            f"{error.iloc[-3:].max():.1g}, the rigorous bound from {run.bound.iloc[:5].max():.1g} "
            f"to {run.bound.iloc[-3:].max():.1g}; the error is below the bound at {below} of them, "
            f"and within a factor 2 of the estimate at {int(within.sum())} of the {len(within)} "
            "where it is above 1e-6 of the steepest slope.",
        )


CHECKS: dict[str, Callable[[Rows], Iterator[Claim]]] = {
    "gradient": gradient,
    "tolerance": tolerance,
    "methods": methods,
    "many": many,
    "costs": costs,
}
