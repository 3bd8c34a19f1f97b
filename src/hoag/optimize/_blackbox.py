"""Searches by values of f only: a grid, random points, and two packages' own ways."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Generator
from importlib import import_module
from typing import Any

import numpy as np

from hoag._core.domain import Box
from hoag._core.errors import InvalidParameterError, MissingPackageError
from hoag._core.numeric import Array
from hoag._core.result import Ask, Reason, Status
from hoag._criteria.base import Traits
from hoag.optimize._asks import ACCURACY, Evaluate, Note, Steps, whole_number
from hoag.optimize._run import Search

# Yields the next λ and is sent f there; ends where none is left.
Proposals = Generator[Array, float, None]

MOST_POINTS = 10**6


class BlackBox(Search):
    """λ₁, λ₂, … by some rule from the values so far; every f(λ) is a fit of its own, from x0.

    The best of the points is returned; lam0 is not among them.
    """

    eps: float

    @abstractmethod
    def proposals(self, domain: Box) -> Proposals: ...

    def steps(self, domain: Box, lam0: Array, traits: Traits) -> Steps:
        proposals, n = self.proposals(domain), 0
        value: float | None = None
        while True:
            try:
                lam = proposals.send(value)  # type: ignore[arg-type]
            except StopIteration:
                return Status(Reason.FINISHED, f"All {n} points were evaluated.")
            found = yield Evaluate(lam, Ask(self.eps, gradient=False))
            value, n = found.value, n + 1
            if (yield Note()):
                return Status(Reason.FINISHED, f"Stopped after {n} points.")


class Grid(BlackBox):
    """The per_axisˢ points of an equally spaced grid, ascending, the last coordinate fastest.

    Every f(λ) is a fit of its own, and the best of the points is returned; lam0 is not among them.

    Parameters
    ----------
    per_axis : int, default=10
        How many points an axis has, its bounds among them.
    eps : float, default=1e-4
        The error that f may have at every point.
    time_budget : float, default=None
        Seconds; it ends evaluations, too.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> result = hoag.minimize(folds, search=hoag.optimize.Grid(7))
    >>> [float(step.lam[0]) for step in result.trace]
    [-12.0, -8.0, -4.0, 0.0, 4.0, 8.0, 12.0]
    """

    def __init__(
        self, per_axis: int = 10, eps: float = ACCURACY, time_budget: float | None = None
    ) -> None:
        self.per_axis = whole_number("per_axis", per_axis)
        self.eps, self.time_budget = eps, time_budget

    def proposals(self, domain: Box) -> Proposals:
        """The points of the grid, one after another."""
        if domain.size * np.log(self.per_axis) > np.log(MOST_POINTS):
            raise InvalidParameterError(
                f"A grid of {self.per_axis} values for each of {domain.size} hyperparameters has "
                f"more than {MOST_POINTS} points.\nUse Random(), or a search by gradient.",
                "per_axis",
                self.per_axis,
            )
        yield from domain.grid(self.per_axis)


class SampledBlackBox(BlackBox):
    """n points, drawn with a seed."""

    def __init__(
        self, n: int = 50, seed: int = 0, eps: float = ACCURACY, time_budget: float | None = None
    ) -> None:
        self.n = whole_number("n", n)
        self.seed, self.eps, self.time_budget = seed, eps, time_budget


class Random(SampledBlackBox):
    """n points drawn uniformly from the box.

    Every f(λ) is a fit of its own, and the best of the points is returned; lam0 is not among them.

    Parameters
    ----------
    n : int, default=50
        How many points are drawn.
    seed : int, default=0
        Of the random numbers.
    eps : float, default=1e-4
        The error that f may have at every point.
    time_budget : float, default=None
        Seconds; it ends evaluations, too.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> len(hoag.minimize(folds, search=hoag.optimize.Random(8, seed=1)).trace)
    8
    """

    def proposals(self, domain: Box) -> Proposals:
        """The points, drawn one after another."""
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n):
            yield domain.sample(rng, 1)[0]


class Bayes(SampledBlackBox):
    """The λ of most expected improvement, under a Gaussian process fitted to the values so far.

    It needs the package bayesian-optimization. Every f(λ) is a fit of its own, and the best of the
    points is returned; lam0 is not among them.

    Parameters
    ----------
    n : int, default=50
        How many points are evaluated.
    starts : int, default=4
        How many of them come first, equally spaced from the lower corner of the box to the upper.
    seed : int, default=0
        Of the random numbers.
    eps : float, default=1e-4
        The error that f may have at every point.
    time_budget : float, default=None
        Seconds; it ends evaluations, too.

    Examples
    --------
    >>> from hoag.optimize import Bayes
    >>> Bayes(n=20)
    Bayes(n=20)
    """

    def __init__(
        self,
        n: int = 50,
        starts: int = 4,
        seed: int = 0,
        eps: float = ACCURACY,
        time_budget: float | None = None,
    ) -> None:
        super().__init__(n, seed, eps, time_budget)
        self.starts = whole_number("starts", starts)

    def proposals(self, domain: Box) -> Proposals:
        """The points, each chosen from the values of those before."""
        bayes_opt = _package("Bayes", "bayes_opt", "bayesian-optimization")
        names = [f"lam_{j:06d}" for j in range(domain.size)]
        model = bayes_opt.BayesianOptimization(
            f=None,
            pbounds=dict(zip(names, zip(domain.lower, domain.upper))),
            acquisition_function=bayes_opt.acquisition.ExpectedImprovement(xi=0.0),
            random_state=self.seed,
            verbose=0,
            allow_duplicate_points=True,
        )
        corners = np.linspace(domain.lower, domain.upper, self.starts)
        for k in range(self.n):
            if k < self.starts:
                lam = corners[k]
            else:
                with warnings.catch_warnings():  # of the process's own fit, which users cannot mend
                    warnings.simplefilter("ignore")
                    found = model.suggest()
                lam = domain.project(np.array([found[name] for name in names], dtype=float))
            value = yield lam
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.register(params=dict(zip(names, lam)), target=-value)


class TPE(SampledBlackBox):
    """The λ that is likeliest among the good and unlikeliest among the bad so far, by Optuna.

    It needs the package optuna. Every f(λ) is a fit of its own, and the best of the points is
    returned; lam0 is not among them.

    Parameters
    ----------
    n : int, default=50
        How many points are evaluated.
    seed : int, default=0
        Of the random numbers.
    eps : float, default=1e-4
        The error that f may have at every point.
    time_budget : float, default=None
        Seconds; it ends evaluations, too.

    Examples
    --------
    >>> from hoag.optimize import TPE
    >>> TPE(n=20)
    TPE(n=20)
    """

    def proposals(self, domain: Box) -> Proposals:
        """The points, each chosen from the values of those before."""
        optuna = _package("TPE", "optuna", "optuna")
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=self.seed))
        finally:
            optuna.logging.set_verbosity(before)
        sides = {
            f"lam_{j}": optuna.distributions.FloatDistribution(low, high)
            for j, (low, high) in enumerate(zip(domain.lower, domain.upper))
        }
        for _ in range(self.n):
            trial = study.ask(sides)
            value = yield np.array([trial.params[name] for name in sides])
            study.tell(trial, value)


def _package(search: str, module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        needed = "'hoag[reproduce]'"
        raise MissingPackageError.of(f"hoag.optimize.{search}", package, needed) from None
