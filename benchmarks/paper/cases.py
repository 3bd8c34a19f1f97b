"""Data sets as problems: three parts, a model, a domain, and the paper's solvers for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from _data import centred_by, standardised_by, thirds

from hoag import criteria, datasets, models, solvers
from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._glm.penalties import Ridge
from hoag.errors import InvalidParameterError
from paper.truth import Curve, Solved

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
    truth: Curve | Solved | None
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


def _thirds(name: str, seed: int) -> tuple[Any, Any]:
    """Three parts of the rows, and three of the labels: to train, to tune and to judge."""
    parts = thirds(*datasets.load(name).X_y, seed)
    return parts[::2], parts[1::2]


def _setting(
    model: Callable[..., Any], A: Any, y: Any, truth: Callable[[Any], Any] | None, **solvers: Any
) -> Setting:
    """Of thirds; f is solved on a problem of its own, so that nothing of it is counted."""

    def problem(k: int) -> Any:
        return model(A[0], y[0], A[k], y[k])

    made, judge = problem(1), problem(2)
    return Setting(
        problem=made,
        validation=lambda x, lam: float(judge.at(x, lam).g),
        truth=None if truth is None else truth(problem(1)),
        domain=Box(*DOMAIN, size=made.lam0.size),
        **solvers,
    )


def _text(name: str, seed: int, relabel: Callable[[Any], Any] | None = None) -> Setting:
    """ℓ₂-regularised logistic regression, one λ, L-BFGS inside."""
    A, y = _thirds(name, seed)
    penalty = Ridge(np.zeros(A[0].shape[1], dtype=np.intp), shift=PAPER_SHIFT)
    return _setting(
        partial(models.logistic, penalties=penalty),
        standardised_by(*A) if isinstance(A[0], np.ndarray) else A,
        y if relabel is None else [relabel(part) for part in y],
        partial(Curve, domain=Box(*DOMAIN, size=1)),
        inner=solvers.LBFGS(INNER_ITERATIONS),
        linear=solvers.CG(),
        unrolled=criteria.UnrolledLBFGS(frozen=True),
    )


def _kernel(name: str, seed: int) -> Setting:
    """Kernel ridge regression, λ = (log γ, log α), conjugate gradients inside."""
    A, y = _thirds(name, seed)
    return _setting(
        models.kernel_ridge,
        standardised_by(*A),
        centred_by(*y),
        Solved,
        inner=solvers.LinearSystem(solvers.CG(max_iter=INNER_ITERATIONS)),
        linear=solvers.CG(),
        unrolled=criteria.UnrolledCG(),
    )


def _pixels(name: str, seed: int, scale: float = 1.0) -> Setting:
    """Multinomial logistic regression with one λ for each coefficient."""
    A, y = _thirds(name, seed)
    return _setting(
        partial(models.multinomial, penalties="per-coefficient"),
        [scale * part for part in A],
        y,
        None,
        inner=solvers.LBFGS(INNER_ITERATIONS),
        linear=solvers.CG(preconditioner=solvers.jacobi),
        unrolled=criteria.UnrolledLBFGS(frozen=True),
    )


def _odd(digits: Any) -> Any:
    return np.where(digits % 2 == 1, 1, -1)


LOGISTIC, KERNEL = "logistic regression, 1 penalty", "kernel ridge regression, width and ridge"
MULTINOMIAL = "multinomial logistic regression, {} penalties"

CASES = {
    case.name: case
    for case in (
        Case("20news", "20news", LOGISTIC, partial(_text, "20news"), curve=True),
        Case("real-sim", "real-sim", LOGISTIC, partial(_text, "real-sim"), curve=True),
        Case("imdb", "real-sim", LOGISTIC, partial(_text, "imdb"), curve=True),
        Case("parkinsons", "parkinsons", KERNEL, partial(_kernel, "parkinsons")),
        # One suggestion of the Gaussian process takes a minute in 640 dimensions, and five to ten
        # in 1440: there SMBO has its starts only.
        Case(
            "mnist",
            "mnist",
            MULTINOMIAL.format(1440),
            partial(_pixels, "mnist"),
            many=True,
            target=5600.0,
            longer=7,
            evaluations={"smbo": 4},
        ),
        Case("breast_cancer", "20news", LOGISTIC, partial(_text, "breast_cancer"), curve=True),
        Case(
            "odd-digits", "real-sim", LOGISTIC, partial(_text, "digits", relabel=_odd), curve=True
        ),
        Case("diabetes", "parkinsons", KERNEL, partial(_kernel, "diabetes")),
        Case(
            "digits",
            "mnist",
            MULTINOMIAL.format(640),
            partial(_pixels, "digits", scale=1 / 16),
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
        raise InvalidParameterError(f"There is no case {name!r}: choose from {', '.join(CASES)}.")
    return CASES[name]
