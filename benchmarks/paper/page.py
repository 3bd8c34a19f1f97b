"""What a person reads: verdicts, figures with their claims, tables, and what was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.cases import CASES, INNER_ITERATIONS
from paper.claim import LEVEL, Claim, number
from paper.figures import TITLES
from paper.methods import COMPARED, MANY_STEPS, METHODS, SEQUENCES, STARTS, STEPS
from paper.rows import Rows, rate, rises
from paper.sheets import VERDICTS

TITLE = "Hyperparameter optimization with approximate gradient: its experiments, run again"

CAPTIONS = {
    "gradient": "HOAG with the exponential sequence. Left: f and the approximate slopes at the "
    "steps. Middle: approximate and true slopes, with the certificate's band. Right: the error of "
    "the slope, its estimate and its bound.",
    "tolerance": "Relative suboptimality of every step for four tolerance sequences, against "
    "seconds (above) and passes over the training rows (below); first split.",
    "methods": "Above, the relative suboptimality of what each method would answer at a time; "
    "below, the loss of that answer on validation rows. Medians of splits.",
    "many": "Test loss and validation loss of what each method would answer at a time, with one "
    "penalty for each coefficient.",
    "costs": "The cost function f over the domain, with the points that HOAG and SMBO looked at.",
}

WORDS = (
    "A model is fitted on training rows. The test loss, f, is its loss on rows held out from that, "
    "and is what every method minimises over λ, the log of the penalties; the validation loss is "
    "on rows that neither fitting nor tuning saw. The suboptimality of λ is how far f is above its "
    "least value f*, relatively.",
    "HOAG is the paper's method; Iterdiff differentiates through the iterations of the inner "
    "solver; SMBO models f by a Gaussian process. What was chosen for each, and what a pass is, "
    "stands at the end. Runs that were given more time may decide more, and otherwise.",
)

CHOICES = (
    "Rows are split at random into three parts of a third each; the seed of the split is the seed "
    "of the run. Tolerance sequences, random starts and many penalties are of the first split.",
    "HOAG: Algorithm 1 from λ = 0 (log of the RBF width: −log of the number of features), with the "
    "sequences as printed and k from 1, so that the exponential one begins at 0.09; first L = "
    "‖p₁‖, M = 1, steps halved or made 1.05 times longer. The test has (L/2)Δ², as the proof gives "
    "it; with the LΔ² that is displayed, the exact sequence and Iterdiff stall. C is ‖A′‖₂√m for "
    "the logistic losses; the squared loss has no global constant, so there it is 2‖K′‖₂‖y′‖ at "
    "the first width. The kernel is exp(−γ‖a − a′‖²), which the paper prints without the square.",
    f"Gradient methods go on for {STEPS} steps or until the time is over, with many penalties for "
    f"{MANY_STEPS} steps, or until MNIST's test loss is below 5600: the paper's algorithm has no "
    "end of its own. The warm start is the last x and q; “HOAG, secant start” is the same with "
    "this library's warm start, on the secant of the last two solutions.",
    f"Inner problems: L-BFGS (SciPy's) for the logistic losses, conjugate gradients for kernel "
    f"ridge, at most {INNER_ITERATIONS} iterations, stopped at ‖∇₁h‖/μ ≤ ε. The linear system: "
    "conjugate gradients, at most 1000 iterations; preconditioned by the diagonal with a penalty "
    "for each coefficient.",
    "Grid, random search, SMBO and TPE: every evaluation is a fit from x = 0 with the same inner "
    "algorithm, at ε = 1e-4. The grid has 10 values a dimension and ascends from −12. SMBO is the "
    "package bayesian-optimization with expected improvement (ξ = 0); its four equally spaced "
    "starts lie on the diagonal of the domain.",
    f"Iterdiff: reverse mode through {INNER_ITERATIONS} iterations of L-BFGS (conjugate gradients "
    "for kernel ridge) from x = 0, with the same step rule at ε = 0. The pairs of L-BFGS are taken "
    "for constants: differentiated through, they give gradients that are wrong by factors of up "
    "to a million on 20news.",
    "hoag's default: hoag.optimize.Auto, which the estimators of this library use: one penalty in "
    "a small space of coefficients, several hyperparameters by quasi-Newton steps with Newton's "
    "method inside (a Cholesky factor for kernel ridge, scouted on a sample). Optuna's TPE at "
    "its defaults. Both are ours to show, not the paper's.",
    "Text sets and other binary ones run in the paper's λ, whose penalty is exp(λ)‖x‖². Dense "
    "columns are standardised by the training rows, but for pixels, and the target of kernel ridge "
    "is centred.",
    "The suboptimality of λ is that of f solved tightly, outside every count; for one λ by "
    "interpolation of tight values and slopes, right to 1e-7 of f near the minimum and to 1e-3 of "
    "the way down from elsewhere. f* is the least f seen by any run. With many penalties f is not "
    "solved: losses are those of each method's own x.",
    "A method's answer at a time is the best of its steps so far by its own account. Seconds are "
    "one thread, and without what measuring takes. A pass is one product with the training rows "
    "and one with their transpose, for kernel ridge one product with the kernel. f* of the random "
    "starts is HOAG with the exponential sequence and this library's step rule, which ends.",
)


def write(
    page: Any, rows: Rows, figures: list[str], found: list[Claim], pictures: dict[str, bytes]
) -> None:
    """Fill a page; `page` is a Sheet or a Markdown."""
    papers = [claim for claim in found if not claim.ours]
    decided = [claim.holds for claim in papers if claim.holds is not None]
    page.text(
        f"{sum(decided)} of the {len(decided)} claims that this run decides hold. "
        f"{_provenance(rows)}"
    )
    stand_ins = [name for name in rows.cases() if CASES[name].is_stand_in]
    if stand_ins:
        pairs = ", ".join(f"{name} for {CASES[name].stands_for}" for name in stand_ins)
        page.text(f"Other data stand in for some of the paper's: {pairs}.")
    for sentence in WORDS:
        page.text(sentence)
    page.section("Verdicts")
    page.table(
        ["figure", "what the paper says", "this run"],
        [[TITLES[claim.figure], claim.says, VERDICTS[claim.holds]] for claim in papers],
    )
    for name in figures:
        page.section(TITLES[name])
        page.picture(pictures[name], CAPTIONS[name], name)
        for claim in found:
            if claim.figure == name:
                ours = "Ours, not the paper's: " if claim.ours else ""
                page.claim(claim.holds, f"{ours}{claim.says}", claim.finding)
    if {"tolerance", "methods"} & set(figures):
        _tables(page, rows)
    page.section("What was run, and what was chosen where the paper is silent")
    _data(page, rows)
    for choice in CHOICES:
        page.text(choice)


def _provenance(rows: Rows) -> str:
    """By what, where and for how long the rows were made."""
    frame = rows.frame
    versions, machines = (" and ".join(sorted(set(frame[c]))) for c in ("version", "machine"))
    times = sorted({float(b) for b in frame.budget if np.isfinite(b)})
    budgets = ", ".join(f"{time:g}" for time in times)
    return f"hoag {versions}; {machines}; seconds for one run: {budgets or 'no limit'}."


def _tables(page: Any, rows: Rows) -> None:
    few = rows.few()
    page.section("Until the suboptimality is 1e-3")
    page.text("Passes and seconds, medians of splits; “never” is not in the time or steps given.")
    columns = [(name, by) for name in few for by in ("passes", "seconds")]
    page.table(
        ["method", *(f"{name}, {'s' if by == 'seconds' else by}" for name, by in columns)],
        [
            [_called(m), *(_cell(rows.first(name, m, LEVEL, by)) for name, by in columns)]
            for m in dict.fromkeys((*SEQUENCES, *COMPARED))
        ],
    )
    page.section("Rates of the sequences")
    page.text(
        "Linear rates fitted to the suboptimality on its way from 0.3 to 1e-7, first split: what "
        "a step multiplies it by, the passes for a tenth of it, and how often it went up by more "
        "than 5 %. The paper leaves rates open."
    )
    body = [
        [name, method.removeprefix("hoag-"), *map(_cell, rate(run)), rises(run.suboptimality)]
        for name in few
        for method, run in rows.first_split(name, SEQUENCES).items()
    ]
    page.table(["data", "sequence", "factor a step", "passes for a tenth", "rises"], body)


def _called(method: str) -> str:
    if method in SEQUENCES:
        return f"HOAG, {method.removeprefix('hoag-')}"
    return METHODS[method].label + (" (ours)" if METHODS[method].ours else "")


def _data(page: Any, rows: Rows) -> None:
    header = ["data", "stands for", "model", "splits", f"f* of {STARTS} starts", "least f seen"]
    body = []
    for case in [CASES[name] for name in rows.cases()]:
        stands_for = case.stands_for if case.is_stand_in else "itself"
        least = [f"{f:.7g}" for f in (rows.f_star_of_starts(case.name), rows.f_star(case.name))]
        body.append([case.name, stands_for, case.model, len(rows.seeds(case.name)), *least])
    page.table(header, body)


def _cell(value: float) -> str:
    return "–" if np.isnan(value) else number(value)
