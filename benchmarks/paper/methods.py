"""The five methods of the paper, and beside them ours; all are a criterion and a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from hoag._criteria.implicit import Implicit
from hoag._criteria.select import plan
from hoag._criteria.unrolled import Unrolled
from hoag._schedules import CubicDecay, Exact, ExponentialDecay, QuadraticDecay, Schedule
from hoag.optimize import TPE, Adaptive, Auto, Bayes, Grid, Hoag, Random
from paper.cases import INNER_ITERATIONS, Setting

# The paper's rule: C from the data, M = 1, α = 0.5, β = 1.05, first L = ‖p₁‖, and without the
# safeguards of ours that keep it from oscillating. (L/2)Δ² where the paper displays LΔ²: with that
# the exact sequence and Iterdiff, whose ε gives no slack, halve their steps to nothing.
PAPER_STEP = Adaptive(C="data", safeguards=False)
# The paper's algorithm has no end of its own.
STEPS, MANY_STEPS = 100, 3000
MOST = 100_000  # evaluations

Made = tuple[Any, Any]  # a criterion and a search


@dataclass(frozen=True)
class Method:
    """name, how it is called on paper, and (setting, seed) ↦ criterion and search."""

    name: str
    label: str
    make: Callable[[Setting, int], Made] = field(repr=False)
    ours: bool = False
    gradient: bool = False


def _hoag(
    schedule: Schedule, setting: Setting, seed: int, certificate: bool = False, secant: bool = False
) -> Made:
    """Algorithm 1. A warm start is the last x and q, as in the paper, unless told otherwise."""
    problem, inner, linear = setting.problem, setting.inner, setting.linear
    criterion = Implicit(problem, inner, linear, certificate=certificate, extrapolate=secant)
    return criterion, _descent(setting, schedule)


def _iterdiff(setting: Setting, seed: int) -> Made:
    criterion = Unrolled(setting.problem, setting.unrolled, INNER_ITERATIONS, certificate=False)
    return criterion, _descent(setting, Exact(0.0))


def _descent(setting: Setting, schedule: Schedule) -> Hoag:
    steps = STEPS if setting.domain.size <= 2 else MANY_STEPS
    return Hoag(schedule, PAPER_STEP, tol=0.0, max_iter=steps)


def _black_box(search: Callable[[int], Any], setting: Setting, seed: int) -> Made:
    """Each evaluation is a fit of its own from x = 0 with the same inner algorithm as HOAG."""
    criterion = Implicit(setting.problem, setting.inner, setting.linear, certificate=False)
    return criterion, search(seed)


def _default(setting: Setting, seed: int) -> Made:
    return plan(setting.problem), Auto(tol=1e-6, max_iter=MANY_STEPS)


def _listed(*methods: Method) -> dict[str, Method]:
    return {method.name: method for method in methods}


# The paper's methods, then ours.
METHODS = _listed(
    Method("hoag-quadratic", "quadratic", partial(_hoag, QuadraticDecay()), gradient=True),
    Method("hoag-cubic", "cubic", partial(_hoag, CubicDecay()), gradient=True),
    Method("hoag-exponential", "HOAG", partial(_hoag, ExponentialDecay()), gradient=True),
    Method("hoag-exact", "exact", partial(_hoag, Exact()), gradient=True),
    Method("grid", "grid", partial(_black_box, lambda seed: Grid(10))),
    Method("random", "random", partial(_black_box, lambda seed: Random(MOST, seed))),
    Method("smbo", "SMBO", partial(_black_box, lambda seed: Bayes(MOST, 4, seed))),
    Method("iterdiff", "Iterdiff", _iterdiff, gradient=True),
    Method(
        "hoag-secant",
        "HOAG, secant start",
        partial(_hoag, ExponentialDecay(), secant=True),
        True,
        True,
    ),
    Method(
        "certified",
        "HOAG, certified",
        partial(_hoag, ExponentialDecay(), certificate=True),
        True,
        True,
    ),
    Method("default", "hoag's default", _default, True, True),
    Method("tpe", "Optuna's TPE", partial(_black_box, lambda seed: TPE(MOST, seed)), True),
)
SEQUENCES = ("hoag-quadratic", "hoag-cubic", "hoag-exponential", "hoag-exact")
PAPERS = ("hoag-exponential", "grid", "random", "smbo", "iterdiff")
COMPARED = (*PAPERS, "hoag-secant", "default", "tpe")
# A grid of 10 values in 1440 dimensions has no end.
COMPARED_ON_MANY = tuple(name for name in COMPARED if name not in ("grid", "hoag-secant"))

# f* is the best of so many random starts of HOAG with the exponential sequence, which stop when
# they have converged.
STARTS = 10


def random_start(setting: Setting, seed: int, number: int) -> tuple[Any, Made]:
    """Where the numbered start lies, uniform in the domain, and what is started there."""
    rng = np.random.default_rng([seed, number])
    criterion, _ = METHODS["hoag-exponential"].make(setting, seed)
    return setting.domain.sample(rng, 1)[0], (criterion, Hoag())
