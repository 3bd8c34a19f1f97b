"""Claims about the comparison of methods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from paper.claim import HOAG, LEVEL, Claim, Judged, each, number, over_cases
from paper.methods import METHODS, PAPERS
from paper.rows import Rows, first_below

RIVALS = PAPERS[1:]


def methods(rows: Rows) -> Iterator[Claim]:
    yield _first(rows, HOAG, "HOAG is the first to come close to the optimum on both text sets.")
    if any(method == "hoag-secant" for _, method, _ in rows.runs):
        says = "HOAG with this library's secant start is the first on both text sets."
        yield _first(rows, "hoag-secant", says, ours=True)
    yield over_cases(
        "methods",
        "Step for step, HOAG and Iterdiff behave alike.",
        "Steps until the suboptimality is 1e-2, median of splits.",
        _alike(rows),
    )
    yield over_cases(
        "methods",
        "A step of HOAG is cheaper than one of Iterdiff, because it starts from the last solution.",
        "Passes a step, median of splits.",
        _cheaper(rows),
    )
    yield _flat_region(rows)
    yield over_cases(
        "methods",
        "On Parkinsons the methods have difficulty to get beyond a suboptimality of 1e-2.",
        "At the end, median of splits; the claim holds if none is below 5e-3.",
        _beyond(rows),
    )
    yield _validation(rows)
    yield _fastest_on_validation(rows)


def _first(rows: Rows, champion: str, says: str, ours: bool = False) -> Claim:
    judged, on_the_way = [], []
    for case in rows.text_sets(champion, *RIVALS):
        seconds = {m: rows.first(case, m, LEVEL, "seconds") for m in (champion, *RIVALS)}
        first = min(seconds[m] for m in RIVALS)
        decided = min(first, seconds[champion]) < np.inf
        n = len(rows.of(case, HOAG))
        finding = f"{case} ({n} split{'s' if n > 1 else ''}): {each(seconds, ' s')}"
        judged.append((seconds[champion] < first if decided else None, finding))
        for level in (1e-1, 1e-2):
            at = {m: rows.first(case, m, level, "seconds") for m in (champion, *RIVALS)}
            leader = min(at, key=lambda m: at[m])
            if leader != champion and at[leader] < np.inf:
                on_the_way.append(
                    f"at {level:g} {METHODS[leader].label} leads on {case} "
                    f"({number(at[leader], ' s')} for {number(at[champion], ' s')})"
                )
    return over_cases(
        "methods",
        says,
        f"Seconds until the suboptimality is {LEVEL:g}, median of splits, the grid ascending from "
        "−12.",
        judged,
        f" On the way there {'; '.join(on_the_way)}." if on_the_way else "",
        ours,
    )


def _alike(rows: Rows) -> Judged:
    for case in rows.few(HOAG, "iterdiff"):
        steps = {m: rows.first(case, m, 1e-2, "k") for m in (HOAG, "iterdiff")}
        most, least = max(steps.values()), min(steps.values())
        yield most <= 1.5 * least if most < np.inf else None, f"{case}: {each(steps)}"


def _cheaper(rows: Rows) -> Judged:
    for case in rows.few(HOAG, "iterdiff"):
        passes = {
            m: rows.median(case, m, lambda run: run.passes.iloc[-1] / len(run))
            for m in (HOAG, "iterdiff")
        }
        yield passes[HOAG] < passes["iterdiff"], f"{case}: {each(passes)}"


def _beyond(rows: Rows) -> Judged:
    for case in rows.kernel_sets(HOAG):
        present = [m for m in PAPERS if rows.of(case, m)]
        ends = {m: rows.median(case, m, lambda run: run.answer.iloc[-1]) for m in present}
        least = min(ends.values())  # above 0.1 there was no time to get anywhere
        yield least > 5e-3 if least <= 0.1 else None, f"{case}: {each(ends)}"


def _flat_region(rows: Rows) -> Claim:
    found, parts = [], []
    for case in rows.kernel_sets(HOAG, "smbo"):
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


def _validation(rows: Rows) -> Claim:
    """What one split more or less changes is what cannot be seen."""
    found, parts = [], []
    for case in rows.few(HOAG):
        changes, ends = [], []
        for run in rows.of(case, HOAG):
            loss, reached = run.answer_validation.to_numpy(), np.flatnonzero(run.answer <= 1e-2)
            if reached.size and run.answer.iloc[-1] <= LEVEL:
                changes.append(abs(loss[reached[0]] / loss[-1] - 1))
                ends.append(loss[-1])
        if len(ends) > 2:
            change, spread = float(np.median(changes)), float(np.std(ends, ddof=1) / np.mean(ends))
            found.append(change < spread)
            parts.append(f"{case} {100 * change:.2f} % ({100 * spread:.2f} %)")
    return Claim(
        "methods",
        "Beyond a suboptimality of 1e-2 nothing shows in the validation loss.",
        all(found) if found else None,
        "How much HOAG's validation loss changes from the step that reaches 1e-2 to its last, "
        f"median of splits, where that is below {LEVEL:g}; in brackets the spread between splits, "
        f"below which nothing can show: {', '.join(parts)}."
        if parts
        else "This takes three splits, to know how much the loss differs between them.",
    )


def _fastest_on_validation(rows: Rows) -> Claim:
    """The time until the validation loss is, and stays, within 1 % of the best at the end."""
    judged = []
    for case in rows.few(*PAPERS):
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
        fastest = median[HOAG] < min(median[m] for m in RIVALS)
        judged.append((fastest, f"{case}: {each(median, ' s')}"))
    wins = sum(fastest for fastest, _ in judged)
    claim = over_cases(
        "methods",
        "By the validation loss HOAG is the fastest in two of the three sets.",
        "Seconds until the validation loss stays within 1 % of the best, median of splits: "
        f"fastest in {wins} of {len(judged)}.",
        judged,
    )
    return replace(claim, holds=wins >= 2 if len(judged) == 3 else None)
