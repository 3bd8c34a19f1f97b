"""What the paper says, and whether these rows agree; every number comes from the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag.bench.cases import CASES
from hoag.bench.methods import METHODS, SEQUENCES
from hoag.bench.rows import Rows, first_below, rises

HOAG, EXACT, QUADRATIC = "hoag-exponential", "hoag-exact", "hoag-quadratic"
PAPERS = (HOAG, "grid", "random", "smbo", "iterdiff")
LEVEL = 1e-3


@dataclass(frozen=True)
class Claim:
    """A statement under a figure, whether it holds here, and what was found.

    holds   None where these rows cannot tell
    ours    it is about a method of this library, and no claim of the paper
    """

    figure: str
    says: str
    holds: bool | None
    finding: str
    ours: bool = False


def check(rows: Rows, figures: list[str]) -> list[Claim]:
    """All claims of the figures, in their order."""
    return [claim for name in figures for claim in CHECKS[name](rows)]


def _few(rows: Rows, *methods: str) -> list[str]:
    """The cases with few hyperparameters in which all these methods were run."""
    return [
        name
        for name in rows.cases()
        if not CASES[name].many and all(rows.of(name, method) for method in methods)
    ]


def _text(rows: Rows, *methods: str) -> list[str]:
    """Those with one hyperparameter, as the paper's text sets."""
    return [name for name in _few(rows, *methods) if CASES[name].curve]


def _kernel(rows: Rows, *methods: str) -> list[str]:
    return [name for name in _few(rows, *methods) if not CASES[name].curve]


def _all(found: list[bool]) -> bool | None:
    return all(found) if found else None


def _number(value: float, unit: str = "") -> str:
    return f"{value:.3g}{unit}" if np.isfinite(value) else "never"


def _each(values: dict[str, float], unit: str = "") -> str:
    """name value, name value, …; sequences go by their own names."""
    return ", ".join(f"{_label(m, values)} {_number(v, unit)}" for m, v in values.items())


def _label(method: str, beside: dict[str, float]) -> str:
    return method.removeprefix("hoag-") if EXACT in beside else METHODS[method].label


def _splits(rows: Rows, case: str) -> str:
    n = len(rows.of(case, HOAG))
    return f"{case} ({n} split{'s' if n > 1 else ''})"


def tolerance(rows: Rows) -> Iterator[Claim]:
    """Of the first split, which is the one drawn."""
    found, parts = [], []
    for case in _few(rows, *SEQUENCES):
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
            f"{case}: {_each(cost['passes'])} passes; {_each(cost['seconds'])} seconds; "
            f"{_each(steps)} passes a step"
        )
    yield Claim(
        "tolerance",
        "Sequences that are not exact have cheaper steps, and converge faster overall.",
        _all(found),
        f"Until the suboptimality is {LEVEL:g}, first split. {'. '.join(parts)}.",
    )
    found, parts = [], []
    for case in _text(rows, *SEQUENCES):
        ups = {m: rises(rows.run(case, m, 0).suboptimality) for m in SEQUENCES}
        found.append(ups[QUADRATIC] > 0 and ups[QUADRATIC] >= ups[HOAG])
        parts.append(f"{case}: {_each({m: float(n) for m, n in ups.items()})}")
    yield Claim(
        "tolerance",
        "The quadratic sequence, and to some extent the cubic, oscillates on the two text sets; "
        "the exponential one does not.",
        _all(found),
        "How often the suboptimality of a step went up by more than 5 % while above 1e-6. "
        f"{'; '.join(parts)}.",
    )


def methods(rows: Rows) -> Iterator[Claim]:
    yield _first(rows, HOAG, "In the figure HOAG is the first to come close to the optimum on both "
                             "text sets.")  # fmt: skip
    if any(method == "hoag-secant" for _, method, _ in rows.runs):
        says = "HOAG with this library's secant start is the first on both text sets."
        yield _first(rows, "hoag-secant", says, ours=True)
    yield _alike(rows)
    yield _cheaper(rows)
    yield _flat_region(rows)
    yield _beyond(rows)
    yield _validation(rows)
    yield _fastest_on_validation(rows)


def _first(rows: Rows, champion: str, says: str, ours: bool = False) -> Claim:
    rivals = [m for m in PAPERS if m != HOAG]
    found, parts, on_the_way = [], [], []
    for case in _text(rows, champion, *rivals):
        seconds = {m: rows.first(case, m, LEVEL, "seconds") for m in (champion, *rivals)}
        if min(seconds.values()) < np.inf:
            found.append(seconds[champion] < min(seconds[m] for m in rivals))
        parts.append(f"{_splits(rows, case)}: {_each(seconds, ' s')}")
        for level in (1e-1, 1e-2):
            at = {m: rows.first(case, m, level, "seconds") for m in (champion, *rivals)}
            leader = min(at, key=lambda m: at[m])
            if leader != champion and at[leader] < np.inf:
                on_the_way.append(
                    f"at {level:g} {METHODS[leader].label} leads on {case} "
                    f"({_number(at[leader], ' s')} for {_number(at[champion], ' s')})"
                )
    return Claim(
        "methods",
        says,
        _all(found),
        f"Seconds until the suboptimality is {LEVEL:g}, median of splits, the grid ascending from "
        f"−12. {'; '.join(parts)}."
        + (f" On the way there {'; '.join(on_the_way)}." if on_the_way else ""),
        ours,
    )


def _alike(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _few(rows, HOAG, "iterdiff"):
        steps = {m: rows.first(case, m, 1e-2, "k") for m in (HOAG, "iterdiff")}
        if max(steps.values()) < np.inf:
            found.append(max(steps.values()) <= 1.5 * min(steps.values()))
        parts.append(f"{case}: {_each(steps)}")
    return Claim(
        "methods",
        "Step for step, HOAG and Iterdiff behave alike.",
        _all(found),
        f"Steps until the suboptimality is 1e-2, median of splits. {'; '.join(parts)}.",
    )


def _cheaper(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _few(rows, HOAG, "iterdiff"):
        each = {
            m: float(np.median([run.passes.iloc[-1] / len(run) for run in rows.of(case, m)]))
            for m in (HOAG, "iterdiff")
        }
        found.append(each[HOAG] < each["iterdiff"])
        parts.append(f"{case}: {_each(each)}")
    return Claim(
        "methods",
        "A step of HOAG is cheaper than one of Iterdiff, because it starts from the last solution.",
        _all(found),
        f"Passes a step, median of splits. {'; '.join(parts)}.",
    )


def _flat_region(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _kernel(rows, HOAG, "smbo"):
        for run in rows.of(case, "smbo"):
            hoag = rows.run(case, HOAG, int(run.seed[0]))
            if hoag is None or len(run) < 8 or hoag.seconds[0] > run.seconds[3]:
                continue
            starts, last, by = float(run.answer[3]), float(run.answer.iloc[-1]), run.seconds[3]
            there = float(hoag.answer[hoag.seconds <= by].iloc[-1])
            found.append(starts <= 0.1 and starts <= there and last > starts / 2)
            parts.append(
                f"SMBO is at {starts:.2g} after its four starts ({by:.2g} s), where HOAG is at "
                f"{there:.2g}, and ends at {last:.2g} after {len(run)} evaluations"
            )
    first = f"{parts[0]} (first of {len(parts)} splits)." if parts else "No split can tell."
    return Claim(
        "methods",
        "On Parkinsons SMBO, which begins at the extremes, is at once in the flat region around "
        "the solution, and does not improve on that.",
        bool(np.mean(found) > 0.5) if found else None,
        first + (f" The claim holds in {sum(found)} of them." if found else ""),
    )


def _beyond(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _kernel(rows, HOAG):
        least = {
            m: float(np.median([run.answer.iloc[-1] for run in rows.of(case, m)]))
            for m in PAPERS
            if rows.of(case, m)
        }
        if min(least.values()) <= 0.1:  # else there was no time to get anywhere
            found.append(min(least.values()) > 5e-3)
        parts.append(f"{case}: {_each(least)}")
    return Claim(
        "methods",
        "On Parkinsons the methods have difficulty to get beyond a suboptimality of 1e-2.",
        _all(found),
        f"At the end, median of splits; the claim holds if none is below 5e-3. {'; '.join(parts)}.",
    )


def _validation(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _few(rows, HOAG):
        changes = []
        for run in rows.of(case, HOAG):
            loss, reached = run.answer_validation.to_numpy(), np.flatnonzero(run.answer <= 1e-2)
            if reached.size and run.answer.iloc[-1] <= LEVEL:
                changes.append(abs(loss[reached[0]] / loss[-1] - 1))
        if changes:
            found.append(float(np.median(changes)) <= 5e-3)
            parts.append(f"{case} {100 * float(np.median(changes)):.2f} %")
    return Claim(
        "methods",
        "Beyond a suboptimality of 1e-2 nothing shows in the validation loss.",
        _all(found),
        "How much HOAG's validation loss changes from the step that reaches 1e-2 to its last, "
        f"where that is below {LEVEL:g}; nothing is taken to mean 0.5 %: "
        f"{', '.join(parts) or 'no run came so far'}.",
    )


def _fastest_on_validation(rows: Rows) -> Claim:
    """The time until the validation loss is, and stays, within 1 % of the best at the end."""
    wins, parts = 0, []
    cases = _few(rows, *PAPERS)
    for case in cases:
        times: dict[str, list[float]] = {m: [] for m in PAPERS}
        for seed in rows.seeds(case):
            runs = {m: rows.run(case, m, seed) for m in PAPERS}
            if any(run is None for run in runs.values()):
                continue
            least = min(run.answer_validation.iloc[-1] for run in runs.values())
            for m, run in runs.items():
                # A loss that only passes through the band on its way is not there yet.
                worst_to_come = np.maximum.accumulate(run.answer_validation.to_numpy()[::-1])[::-1]
                times[m].append(first_below(run.seconds, worst_to_come, 1.01 * least))
        median = {m: float(np.median(t)) for m, t in times.items()}
        wins += median[HOAG] < min(median[m] for m in PAPERS if m != HOAG)
        parts.append(f"{case}: {_each(median, ' s')}")
    return Claim(
        "methods",
        "By the validation loss HOAG is the fastest in two of the three sets.",
        wins >= 2 if len(cases) == 3 else None,
        f"Seconds until the validation loss stays within 1 % of the best, median of splits: "
        f"fastest in {wins} of {len(cases)}. {'; '.join(parts)}.",
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
        f"{case}: test losses after {time:.0f} s: {numbers}; from {first:.5g} at λ = 0, a tenth "
        "more of the way down is taken for much.",
    )


def _turns_up(case: str, run: Any) -> Claim:
    least = int(run.validation.idxmin())
    rise = float(run.validation.iloc[-1] / run.validation[least] - 1)
    fall = float(1 - run.value.iloc[-1] / run.value[least])
    return Claim(
        "many",
        "The validation loss goes up while the test loss goes down: the penalties overfit.",
        rise > 2e-3 and fall > 0 if len(run) > 3 else None,
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
        _all(found),
        f"Local minima inside [−12, 12]: {', '.join(parts)}.",
    )
    for case in _kernel(rows):
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
    for case in _text(rows, "certified"):
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
