"""What the paper says, and whether these rows agree; every number comes from the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hoag.bench.cases import CASES
from hoag.bench.methods import METHODS, SEQUENCES
from hoag.bench.rows import Rows, first_below, rate, rises

LEVEL = 1e-3
PAPERS = ("hoag-exponential", "grid", "random", "smbo", "iterdiff")
HOAG = "hoag-exponential"


@dataclass(frozen=True)
class Claim:
    """A statement under a figure: what the paper says, whether it holds here, and the finding.

    holds   None where these rows cannot tell, or where the paper says nothing
    """

    figure: str
    paper: str
    holds: bool | None
    finding: str

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "no", None: "open"}[self.holds]


def check(rows: Rows, figures: list[str]) -> list[Claim]:
    """All claims of the figures, in their order."""
    return [claim for name in figures for claim in CHECKS[name](rows)]


def _few(rows: Rows, *methods: str) -> list[str]:
    """The cases with few hyperparameters in which all these methods were run."""
    return [
        name
        for name in rows.cases()
        if not CASES[name].many and all(rows.run(name, m) is not None for m in methods)
    ]


def _text(rows: Rows, *methods: str) -> list[str]:
    return [name for name in _few(rows, *methods) if CASES[name].curve]


def _number(value: float, unit: str = "") -> str:
    return f"{value:.3g}{unit}" if np.isfinite(value) else "never"


def _all(found: list[bool]) -> bool | None:
    return all(found) if found else None


def tolerance(rows: Rows) -> Iterator[Claim]:
    loose = [name for name in SEQUENCES if name != "hoag-exact"]
    found, parts = [], []
    for case in _few(rows, *SEQUENCES):
        passes = {m: rows.median_first(case, m, LEVEL, "passes") for m in SEQUENCES}
        found.append(all(passes[m] < passes["hoag-exact"] for m in loose))
        numbers = ", ".join(f"{m.removeprefix('hoag-')} {_number(passes[m])}" for m in SEQUENCES)
        parts.append(f"{case}: {numbers}")
    yield Claim(
        "tolerance",
        "Sequences that are not exact have cheaper steps and converge faster on all three sets.",
        _all(found),
        f"Passes until the suboptimality is {LEVEL:g}, median of seeds. {'; '.join(parts)}.",
    )
    found, parts = [], []
    for case in _text(rows, *SEQUENCES):
        ups = {m: rises(rows.run(case, m).suboptimality) for m in SEQUENCES}
        found.append(ups["hoag-quadratic"] > 0)
        parts.append(
            f"{case}: " + ", ".join(f"{m.removeprefix('hoag-')} {n}" for m, n in ups.items())
        )
    yield Claim(
        "tolerance",
        "The quadratic sequence, and to some extent the cubic, oscillates on the two text sets.",
        _all(found),
        "How often the suboptimality of a step went up by more than 5 % while above 1e-6. "
        f"{'; '.join(parts)}.",
    )
    parts = []
    for case in _few(rows, *SEQUENCES):
        for method in SEQUENCES:
            step, tenth = rate(rows.run(case, method))
            if np.isfinite(step):
                parts.append(
                    f"{case}, {method.removeprefix('hoag-')}: ×{step:.2f} a step, a tenth for "
                    f"{_number(tenth)} passes"
                )
    yield Claim(
        "tolerance",
        "The paper leaves rates of convergence open.",
        None,
        "Fitted on the way from 0.3 to 1e-7, as a linear rate: what a step multiplies the "
        "suboptimality by, and the passes for a tenth of it. "
        f"{'; '.join(parts) or 'Too few steps'}.",
    )


def methods(rows: Rows) -> Iterator[Claim]:
    yield _first(rows, HOAG, "HOAG is the first to come close to the optimum on the text sets.")
    if any(method == "hoag-secant" for _, method, _ in rows.runs):
        yield _first(
            rows,
            "hoag-secant",
            "Ours, not the paper's: HOAG with the secant start is the first to come close to the "
            "optimum on the text sets.",
        )
    yield from (_cheaper(rows), _flat_region(rows), _beyond(rows))
    yield from (_validation(rows), _fastest_on_validation(rows))


def _first(rows: Rows, champion: str, paper: str) -> Claim:
    rivals = [m for m in PAPERS if m != HOAG]
    found, parts, on_the_way = [], [], []
    for case in _text(rows, champion, *rivals):
        seconds = {m: rows.median_first(case, m, LEVEL, "seconds") for m in (champion, *rivals)}
        found.append(seconds[champion] < min(seconds[m] for m in rivals))
        numbers = ", ".join(f"{METHODS[m].label} {_number(t, ' s')}" for m, t in seconds.items())
        parts.append(f"{case}: {numbers}")
        for level in (1e-1, 1e-2):
            at = {m: rows.median_first(case, m, level, "seconds") for m in (champion, *rivals)}
            leader = min(at, key=lambda m: at[m])
            if leader != champion and np.isfinite(at[leader]):
                on_the_way.append(
                    f"at {level:g} {METHODS[leader].label} leads on {case} "
                    f"({_number(at[leader], ' s')} for {_number(at[champion], ' s')})"
                )
    splits = max((len(rows.seeds(case)) for case in rows.cases()), default=0)
    return Claim(
        "methods",
        paper,
        _all(found),
        f"Seconds until the suboptimality is {LEVEL:g}, median of {splits} splits, the grid "
        f"ascending from −12. {'; '.join(parts)}."
        + (f" On the way there {'; '.join(on_the_way)}." if on_the_way else ""),
    )


def _cheaper(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _few(rows, HOAG, "iterdiff"):
        each = {
            m: [
                float(run.passes.iloc[-1] / len(run))
                for seed in rows.seeds(case)
                if (run := rows.run(case, m, seed)) is not None
            ]
            for m in (HOAG, "iterdiff")
        }
        ours, theirs = (float(np.median(each[m])) for m in (HOAG, "iterdiff"))
        found.append(ours < theirs)
        parts.append(f"{case}: {ours:.0f} and {theirs:.0f}")
    return Claim(
        "methods",
        "A step of HOAG is cheaper than one of Iterdiff, because it starts from the last solution.",
        _all(found),
        f"Passes a step, HOAG and Iterdiff, median of seeds. {'; '.join(parts)}.",
    )


def _flat_region(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _kernel(rows, HOAG, "smbo"):
        for seed in rows.seeds(case):
            run, hoag = rows.run(case, "smbo", seed), rows.run(case, HOAG, seed)
            if run is None or hoag is None or len(run) < 5:
                continue
            starts, last = float(run.answer[3]), float(run.answer.iloc[-1])
            by = float(run.seconds[3])
            index = np.flatnonzero(hoag.seconds <= by)
            there = float(hoag.answer[index[-1]]) if index.size else np.inf
            found.append(starts <= there and last > starts / 2)
            if seed == 0:
                parts.append(
                    f"{case}, first seed: SMBO is at {starts:.2g} after its four starts "
                    f"({by:.2g} s), where HOAG is at {there:.2g}; it ends at {last:.2g} after "
                    f"{len(run)} evaluations"
                )
    holds = bool(np.mean(found) > 0.5) if found else None
    return Claim(
        "methods",
        "On Parkinsons SMBO, which begins at the extremes, is at once in the flat region around "
        "the solution, and does not improve on that.",
        holds,
        f"{'; '.join(parts)}. So in {sum(found)} of {len(found)} splits.",
    )


def _kernel(rows: Rows, *methods: str) -> list[str]:
    return [name for name in _few(rows, *methods) if not CASES[name].curve]


def _beyond(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _kernel(rows, HOAG):
        least = {
            METHODS[m].label: float(
                np.median(
                    [
                        run.answer.iloc[-1]
                        for seed in rows.seeds(case)
                        if (run := rows.run(case, m, seed)) is not None
                    ]
                )
            )
            for m in PAPERS
            if rows.run(case, m) is not None
        }
        found.append(min(least.values()) > 5e-3)
        parts.append(f"{case}: " + ", ".join(f"{m} {value:.1g}" for m, value in least.items()))
    return Claim(
        "methods",
        "On Parkinsons no method gets much beyond a suboptimality of 1e-2.",
        _all(found),
        f"At the end, median of seeds. {'; '.join(parts)}.",
    )


def _validation(rows: Rows) -> Claim:
    found, parts = [], []
    for case in _few(rows, HOAG):
        changes = []
        for seed in rows.seeds(case):
            run = rows.run(case, HOAG, seed)
            if run is None:
                continue
            reached = np.flatnonzero(run.answer <= 1e-2)
            if reached.size:
                loss = run.answer_validation.to_numpy()
                changes.append(abs(loss[reached[0]] / loss[-1] - 1))
        if changes:
            found.append(float(np.median(changes)) <= 1e-2)
            parts.append(f"{case} {100 * float(np.median(changes)):.2f} %")
    return Claim(
        "methods",
        "Beyond a suboptimality of 1e-2 nothing shows in the validation loss.",
        _all(found),
        "How much HOAG's validation loss changes from the step that reaches 1e-2 to its last, "
        f"median of seeds: {', '.join(parts)}.",
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
        parts.append(
            f"{case}: "
            + ", ".join(f"{METHODS[m].label} {_number(t, ' s')}" for m, t in median.items())
        )
    return Claim(
        "methods",
        "By the validation loss HOAG is the fastest in two of the three sets.",
        wins >= 2 if len(cases) == 3 else None,
        f"Seconds until the validation loss stays within 1 % of the best, median of seeds: fastest "
        f"in {wins} of {len(cases)}. {'; '.join(parts)}.",
    )


def many(rows: Rows) -> Iterator[Claim]:
    for case in [name for name in rows.cases() if CASES[name].many]:
        runs = {m: rows.run(case, m) for m in METHODS if rows.run(case, m) is not None}
        if HOAG not in runs:
            continue
        at_zero = float(runs[HOAG].value[0])
        end = {m: float(run.answer_value.iloc[-1]) for m, run in runs.items()}
        good = {m for m, value in end.items() if value < 0.95 * at_zero}
        gradient = {m for m in runs if METHODS[m].gradient}
        ends = ", ".join(f"{METHODS[m].label} {value:.5g}" for m, value in end.items())
        yield Claim(
            "many",
            "Only methods with gradients give satisfactory results in so many dimensions.",
            bool(good) and good <= gradient,
            f"{case}: at λ = 0 the test loss is {at_zero:.5g}, less 5 % {0.95 * at_zero:.5g}. "
            f"Best of each method: {ends}. Below it: "
            f"{', '.join(METHODS[m].label for m in runs if m in good) or 'none'}.",
        )
        yield _ahead(case, runs)
        yield _turns_up(case, runs[HOAG])


def _ahead(case: str, runs: dict[str, Any]) -> Claim:
    hoag, other = runs[HOAG], runs.get("iterdiff")
    if other is None:
        return Claim("many", "HOAG is well ahead of Iterdiff.", None, "Iterdiff was not run.")
    time = min(hoag.seconds.iloc[-1], other.seconds.iloc[-1])
    at = [float(run.answer_value[run.seconds <= time].iloc[-1]) for run in (hoag, other)]
    return Claim(
        "many",
        "HOAG gives much better results than any other method.",
        at[0] < at[1],
        f"{case}: after {time:.0f} s HOAG's test loss is {at[0]:.5g} and Iterdiff's {at[1]:.5g}.",
    )


def _turns_up(case: str, run: Any) -> Claim:
    least = int(run.validation.idxmin())
    rise = float(run.validation.iloc[-1] / run.validation[least] - 1)
    fall = float(1 - run.value.iloc[-1] / run.value[least])
    return Claim(
        "many",
        "The validation loss goes up while the test loss goes down: the penalties overfit.",
        rise > 2e-3 and fall > 0,
        f"{case}: HOAG's validation loss is least ({run.validation[least]:.5g}) at step "
        f"{int(run.k[least])}, and {100 * rise:.2f} % higher at its last step, "
        f"{int(run.k.iloc[-1])}, by when the test loss has fallen another {100 * fall:.1f} % to "
        f"{run.value.iloc[-1]:.5g}.",
    )


def costs(rows: Rows) -> Iterator[Claim]:
    found, parts = [], []
    for case in [name for name in rows.cases() if CASES[name].curve and len(rows.drawn(name))]:
        f = rows.drawn(case).sort_values("lam_0").f.to_numpy()
        # Flat ends wiggle by rounding, which is no minimum.
        moves = np.diff(f)
        signs = np.sign(moves[np.abs(moves) > 1e-7 * f[1:]])
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
        drawn = rows.drawn(case)
        if not len(drawn):
            continue
        near = drawn[drawn.f <= 1.1 * rows.f_star(case, 0)]
        wide = [float(near[name].max() - near[name].min()) for name in ("lam_0", "lam_1")]
        yield Claim(
            "costs",
            "Around its solution Parkinsons' cost function is almost flat.",
            bool(max(wide) >= 5),
            f"{case}: f is within 10 % of f* on {100 * len(near) / len(drawn):.1f} % of the "
            f"domain, a set that spans {wide[0]:.1f} in log γ and {wide[1]:.1f} in log α; almost "
            "flat is taken to mean 5 in some direction.",
        )


def gradient(rows: Rows) -> Iterator[Claim]:
    for case in _few(rows, "certified"):
        run = rows.run(case, "certified")
        error = np.abs(run.grad_0 - run.true_slope)
        inside = bool(np.all(error <= run.bound))
        falls = bool(error.iloc[-3:].max() < 0.1 * error.iloc[:5].max())
        far = error > 1e-6 * np.abs(run.true_slope).max()
        within = ((run.error <= 2 * error) & (run.error >= error / 2))[far]
        yield Claim(
            "gradient",
            "The error of the gradient decreases, under a bound that decreases too.",
            inside and falls,
            f"{case}: the true error falls from {error.iloc[:5].max():.1g} to "
            f"{error.iloc[-3:].max():.1g} in {len(run)} steps; it is below the rigorous bound at "
            f"{int(np.sum(error <= run.bound))} of them, and within a factor 2 of the estimate at "
            f"{int(within.sum())} of the {len(within)} where it is above 1e-6 of the first slope.",
        )


CHECKS: dict[str, Callable[[Rows], Iterator[Claim]]] = {
    "gradient": gradient,
    "tolerance": tolerance,
    "methods": methods,
    "many": many,
    "costs": costs,
}
