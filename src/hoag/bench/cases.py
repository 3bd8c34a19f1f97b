"""Data sets as problems: three parts, a model, a domain, and the paper's solvers for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hoag import datasets, inner, linear, models
from hoag.bench.truth import Curve, Solved, Truth
from hoag.criteria import unrolled
from hoag.glm.penalties import Ridge
from hoag.values import Array, Box, InvalidInput

# The paper's binary model has exp(λ)‖x‖², ours ½ exp(λ)‖x‖².
PAPER_SHIFT = -float(np.log(2.0))
DOMAIN = (-12.0, 12.0)

# "The number of iterations used in the inner optimization algorithm is set to 100."
INNER_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class Setting:
    """A case at one seed: the problem, what it is judged by, and how it is solved.

    validation  (x, λ) ↦ the loss on the third part, which neither training nor tuning saw
    truth       f(λ) solved tightly; None where that would take longer than the search
    inner, linear, unrolled   as in the paper: for HOAG, grid, random and SMBO, and for Iterdiff
    """

    problem: Any
    validation: Callable[[Array, Array], float]
    truth: Truth | None
    inner: Any
    linear: Any
    unrolled: Any
    domain: Box


@dataclass(frozen=True)
class Case:
    """A data set in an experiment.

    stands_for  the data set of the paper that it is, or stands in for
    model       in words
    make        seed ↦ Setting
    curve       f of one λ, which can be solved beforehand on the whole domain
    many        more hyperparameters than can be drawn; no grid, and no tight f
    target      gradient methods go on until the test loss is below this, or the time is over
    longer      how much more time than other cases it has
    evaluations the most evaluations of a method, by name
    """

    name: str
    stands_for: str
    model: str
    make: Callable[[int], Setting] = field(repr=False)
    curve: bool = False
    many: bool = False
    target: float | None = None
    longer: float = 1.0
    evaluations: dict[str, int] = field(default_factory=dict)

    @property
    def is_stand_in(self) -> bool:
        return self.name != self.stands_for


def _thirds(name: str, seed: int, relabel: Callable[[Any], Any] | None = None) -> Any:
    data = datasets.load(name)
    y = data.y if relabel is None else relabel(data.y)
    return datasets.thirds(data.X, y, seed)


def _text(name: str, relabel: Callable[[Any], Any] | None = None) -> Callable[[int], Setting]:
    """ℓ₂-regularised logistic regression, one λ, L-BFGS inside."""

    def make(seed: int) -> Setting:
        A, y, A_test, y_test, A_val, y_val = _thirds(name, seed, relabel)
        if isinstance(A, np.ndarray):
            A, A_test, A_val = datasets.standardised_by(A, A_test, A_val)

        def problem(A_held_out: Any, y_held_out: Any) -> Any:
            groups = np.zeros(A.shape[1], dtype=np.intp)
            penalty = Ridge(groups, shift=PAPER_SHIFT)
            return models.logistic(A, y, A_held_out, y_held_out, penalties=penalty)

        judge, domain = problem(A_val, y_val), Box(*DOMAIN, size=1)
        return Setting(
            problem=problem(A_test, y_test),
            validation=lambda x, lam: float(judge.at(x, lam).g),
            truth=Curve(problem(A_test, y_test), domain),
            inner=inner.LBFGS(INNER_ITERATIONS),
            linear=linear.CG(),
            unrolled=unrolled.LBFGS(frozen=True),
            domain=domain,
        )

    return make


def _kernel(name: str) -> Callable[[int], Setting]:
    """Kernel ridge regression, λ = (log γ, log α), conjugate gradients inside."""

    def make(seed: int) -> Setting:
        A, y, A_test, y_test, A_val, y_val = _thirds(name, seed)
        A, A_test, A_val = datasets.standardised_by(A, A_test, A_val)
        y, y_test, y_val = datasets.centred_by(y, y_test, y_val)

        def problem(A_held_out: Any, y_held_out: Any) -> Any:
            return models.kernel_ridge(A, y, A_held_out, y_held_out)

        judge = problem(A_val, y_val)
        return Setting(
            problem=problem(A_test, y_test),
            validation=lambda x, lam: float(judge.at(x, lam).g),
            truth=Solved(problem(A_test, y_test)),
            inner=inner.CG(linear.CG(max_iter=INNER_ITERATIONS)),
            linear=linear.CG(),
            unrolled=unrolled.ConjugateGradient(),
            domain=Box(*DOMAIN, size=2),
        )

    return make


def _pixels(name: str, scale: float = 1.0) -> Callable[[int], Setting]:
    """Multinomial logistic regression with one λ for each coefficient."""

    def make(seed: int) -> Setting:
        A, y, A_test, y_test, A_val, y_val = _thirds(name, seed)

        def problem(A_held_out: Any, y_held_out: Any) -> Any:
            return models.multinomial(
                scale * A, y, scale * A_held_out, y_held_out, penalties="per-coefficient"
            )

        judge, jacobi = problem(A_val, y_val), linear.CG(preconditioner=linear.jacobi)
        made = problem(A_test, y_test)
        return Setting(
            problem=made,
            validation=lambda x, lam: float(judge.at(x, lam).g),
            truth=None,
            inner=inner.LBFGS(INNER_ITERATIONS),
            linear=jacobi,
            unrolled=unrolled.LBFGS(frozen=True),
            domain=Box(*DOMAIN, size=made.lam0.size),
        )

    return make


def _odd(digits: Any) -> Any:
    return np.where(digits % 2 == 1, 1, -1)


LOGISTIC, KERNEL = "logistic regression, 1 penalty", "kernel ridge regression, width and ridge"
MULTINOMIAL = "multinomial logistic regression, {} penalties"

CASES = {
    case.name: case
    for case in (
        Case("20news", "20news", LOGISTIC, _text("20news"), curve=True),
        Case("real-sim", "real-sim", LOGISTIC, _text("real-sim"), curve=True),
        Case("imdb", "real-sim", LOGISTIC, _text("imdb"), curve=True),
        Case("parkinsons", "parkinsons", KERNEL, _kernel("parkinsons")),
        # One suggestion of the Gaussian process takes a minute in 640 dimensions, and five to ten
        # in 1440: there SMBO has its starts only.
        Case(
            "mnist",
            "mnist",
            MULTINOMIAL.format(1440),
            _pixels("mnist"),
            many=True,
            target=5600.0,
            longer=7,
            evaluations={"smbo": 4},
        ),
        Case("breast_cancer", "20news", LOGISTIC, _text("breast_cancer"), curve=True),
        Case("odd-digits", "real-sim", LOGISTIC, _text("digits", _odd), curve=True),
        Case("diabetes", "parkinsons", KERNEL, _kernel("diabetes")),
        Case(
            "digits",
            "mnist",
            MULTINOMIAL.format(640),
            _pixels("digits", 1 / 16),
            many=True,
            longer=3,
            evaluations={"smbo": 4},
        ),
    )
}
SMALL = ("breast_cancer", "odd-digits", "diabetes", "digits")
PAPER = ("20news", "real-sim", "parkinsons", "mnist")


def case(name: str) -> Case:
    if name not in CASES:
        raise InvalidInput(f"There is no case {name!r}: choose from {', '.join(CASES)}.")
    return CASES[name]
