"""What the paper says, and whether these rows agree; every number comes from the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from paper.cases import CASES
from paper.claim import CUBIC, EXACT, HOAG, LEVEL, QUADRATIC, Claim, Judged, each, over_cases
from paper.claims_on_methods import methods
from paper.methods import METHODS, PAPERS, SEQUENCES
from paper.rows import Rows, first_below, rises


def check(rows: Rows, figures: list[str]) -> list[Claim]:
    """All claims of the figures, in their order."""
    return [claim for name in figures for claim in CHECKS[name](rows)]


def tolerance(rows: Rows) -> Iterator[Claim]:
    """Of the first split, which is the one drawn."""
    yield over_cases(
        "tolerance",
        "Sequences that are not exact have cheaper steps, and converge faster overall.",
        f"Until the suboptimality is {LEVEL:g}, first split.",
        _cheaper_steps(rows),
    )
    judged, exponential = [], []
    for case in rows.text_sets(*SEQUENCES):
        runs = rows.first_split(case, SEQUENCES)
        ups = {m: float(rises(run.suboptimality)) for m, run in runs.items()}
        steps = {m: float(len(run)) for m, run in runs.items()}
        finding = f"{case}: {each(ups)} in {each(steps)} steps"
        judged.append((ups[QUADRATIC] > 0 and ups[CUBIC] > 0, finding))
        exponential.append(ups[HOAG] > ups[QUADRATIC])
    oscillates = exponential and all(exponential)
    yield over_cases(
        "tolerance",
        "The quadratic sequence, and to some extent the cubic, oscillates on the two text sets.",
        "How often the suboptimality of a step went up by more than 5 % while above 1e-6, first "
        "split.",
        judged,
        " The exponential sequence oscillates more than these." if oscillates else " ",
    )


def _cheaper_steps(rows: Rows) -> Judged:
    for case in rows.few(*SEQUENCES):
        runs = rows.first_split(case, SEQUENCES)
        passes, seconds, k = (
            {m: first_below(run[by], run.answer, LEVEL) for m, run in runs.items()}
            for by in ("passes", "seconds", "k")
        )
        if min(passes.values()) == np.inf:
            continue
        loose = [m for m in SEQUENCES if m != EXACT]
        steps = {m: passes[m] / k[m] for m in SEQUENCES if k[m] < np.inf}
        yield (
            all(cost[m] < cost[EXACT] for m in loose for cost in (passes, seconds)),
            f"{case}: {each(passes)} passes; {each(seconds)} seconds; {each(steps)} passes a step",
        )


def many(rows: Rows) -> Iterator[Claim]:
    for case in rows.many():
        runs = rows.first_split(case, METHODS)
        if HOAG in runs:
            yield _only_gradients(case, runs)
            yield _ahead(case, runs)
            yield _turns_up(case, runs[HOAG])


def _losses(values: dict[str, float]) -> str:
    return ", ".join(f"{METHODS[m].label} {loss:.5g}" for m, loss in values.items())


def _only_gradients(case: str, runs: dict[str, Any]) -> Claim:
    line = 0.95 * float(runs[HOAG].value[0])
    end = {m: float(run.answer_value.iloc[-1]) for m, run in runs.items()}
    good = {m for m in runs if end[m] < line}
    below = ", ".join(METHODS[m].label for m in runs if m in good)
    judged = {m for m in PAPERS if m in runs}
    gradient = {m for m in judged if METHODS[m].gradient}
    capped = "".join(
        f" {METHODS[m].label} had {n} evaluations only: one more takes longer than all the time."
        for m, n in CASES[case].evaluations.items()
        if m in runs
    )
    return Claim(
        "many",
        "Only methods with gradients give satisfactory results in so many dimensions.",
        HOAG in good and not good & (judged - gradient) if judged > gradient else None,
        f"{case}: the test loss at λ = 0, less 5 %, is {line:.5g}. Best of each method: "
        f"{_losses(end)}. Below it: {below or 'none'}.{capped}",
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
    first = float(runs[HOAG].value[0])
    holds = None
    if HOAG in at and "iterdiff" in judged:
        holds = all(first - at[HOAG] > 1.1 * (first - at[m]) for m in at if m != HOAG)
    return Claim(
        "many",
        "HOAG gives much better results than any other method.",
        holds,
        f"{case}: test losses after {time:.3g} s: {_losses(at)}; from {first:.5g} at λ = 0, a "
        "tenth more of the way down is taken for much.",
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
    yield over_cases(
        "costs",
        "With one penalty the cost function has a unique minimum.",
        "Local minima inside [−12, 12]:",
        _minima(rows),
    )
    for case in rows.kernel_sets():
        if len(rows.drawn(case)):
            yield _flat(rows, case)


def _minima(rows: Rows) -> Judged:
    for case in [name for name in rows.text_sets() if len(rows.drawn(name))]:
        f = rows.drawn(case).sort_values("lam_0").f.to_numpy()
        moves = np.diff(f)
        signs = np.sign(moves[np.abs(moves) > 1e-7 * f[1:]])  # flat ends wiggle by rounding
        minima = int(np.sum((signs[:-1] < 0) & (signs[1:] > 0)))
        yield minima == 1, f"{case} has {minima}"


def _flat(rows: Rows, case: str) -> Claim:
    """The set around the minimum where f is within 10 % of f*, as far as the grid shows it."""
    from scipy.ndimage import label

    table = rows.drawn(case).pivot(index="lam_1", columns="lam_0", values="f")
    f, limit = table.to_numpy(), 1.1 * rows.f_star(case)
    number, _ = label(f <= limit)
    within = bool(f.min() <= limit)
    here = within & (number == number.flat[f.argmin()])
    spans = (table.columns[here.any(axis=0)], table.index[here.any(axis=1)])
    wide = [float(np.ptp(span)) if within else 0.0 for span in spans]
    return Claim(
        "costs",
        "Around its solution Parkinsons' cost function is almost flat.",
        max(wide) >= 5 if within else None,
        f"{case}: f is within 10 % of f* on {100 * here.mean():.1f} % of the "
        f"domain around the solution, a set that spans {wide[0]:.1f} in log γ and {wide[1]:.1f} in "
        "log α; almost flat is taken to mean 5 in some direction.",
    )


def gradient(rows: Rows) -> Iterator[Claim]:
    for case in rows.text_sets("certified"):
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


CHECKS = {figure.__name__: figure for figure in (gradient, tolerance, methods, many, costs)}
