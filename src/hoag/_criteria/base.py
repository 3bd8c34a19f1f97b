"""What a search minimises: f(λ) with an approximate gradient, and what is known about both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core import clock
from hoag._core.errors import NotSupportedError
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._core.types import PyTree, Warm
from hoag._criteria.affordable import by_factors
from hoag._inner import InnerSolver
from hoag.problems import Counted, Problem, checked_lam

# A value is settled when its error is at most so many times the tolerance on what can be gained:
# to know a minimum's value to 1e-4 takes far more passes than to know that no other is lower by it.
SETTLED = 5.0

# How far apart values of f are looked at where each takes a solve: basins are seldom narrower.
SPACING = 3.0

# The last fit, on all rows, is solved to this ‖∇₁h‖ in the estimators' units, a hundredth of what
# scikit-learn's default asks for; by factors the last digits cost nothing.
REFIT_TOL = 1e-3


@dataclass(frozen=True, eq=False)
class Traits:
    """What a criterion can do for a search, declared and not found out.

    Parameters
    ----------
    scan_spacing : float, default=None
        How far apart the box is scanned, where `Ask(free=True)` is answered anywhere in it without
        a pass, or by a small factor; None where it is not.
    has_hessian : bool, default=False
        `Ask(hessian=True)` is answered with ∇²f.
    exact : bool, default=False
        p is the gradient of f as it is computed, to rounding, whatever ε is: nothing to refine.
    batched : bool, default=False
        Values at many λ, by `values`, take little longer than one, and need no start.
    rows : int, default=None
        How many training rows there are, where `Ask(rows=...)` is answered on a sample of them.
    fewest : int, default=None
        Of how many of these a sample should be, where f on it is an estimate of f, and says how
        good a one; None where a sample only shows where f is low.
    sample : int, default=None
        Of how many rows a sample should be on which a whole descent ends near that on all rows, for
        a share of its price; None where there is no such sample.
    modelled : bool, default=False
        Free answers are of models of f about one x, good enough all over the box to begin by.
    begun : bool, default=False
        Free answers are good near an evaluation alone, and the search begins where it shall: the
        box was scanned before.
    least : float, default=None
        Log of the least curvature of the data in any direction, in units of λ, where it is known: a
        penalty far below it does nothing.
    blocks : array of shape (s,), default=empty
        The number of each hyperparameter's block; a block moves as one when the box is scanned, so
        that a width for each of a hundred features is one axis.
    alike : array of shape (s,), default=None
        The direction in which all penalties grow alike; None where λ are penalties themselves:
        (1, …, 1).

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> hoag.plan(folds).traits.scan_spacing  # how far apart the box is scanned
    1.0
    """

    scan_spacing: float | None = None
    has_hessian: bool = False
    exact: bool = False
    batched: bool = False
    rows: int | None = None
    fewest: int | None = None
    sample: int | None = None
    modelled: bool = False
    begun: bool = False
    least: float | None = None
    blocks: npt.NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    alike: Array | None = None


@dataclass(frozen=True)
class Explanation:
    """What computes the loss, and why, as `hoag.explain` returns it; `str` has it as sentences.

    Attributes
    ----------
    data : str
        What it is computed of.
    used : str
        The criterion, with what solves its linear systems.
    why : str
        What decided, with the numbers.
    work : str
        What one evaluation takes.
    end : str
        What follows the search.
    spent : str
        What the search took, where there was one.

    Examples
    --------
    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True), cv=3)
    >>> hoag.explain(folds).data
    '3 folds of 442 rows × 10 columns, 1 hyperparameter'
    """

    data: str
    used: str
    why: str
    work: str = ""
    end: str = ""
    spent: str = ""

    def __str__(self) -> str:
        lines = {
            "Used": self.used + ".",
            "Why": self.why,
            "One evaluation": self.work,
            "In the end": self.end,
            "Spent": self.spent,
        }
        said = [f"{name}: {sentence}" for name, sentence in lines.items() if sentence]
        return "\n".join([self.data + ".", *said])


class Criterion(ABC):
    """f(λ), its approximate gradient p, and how wrong both are.

    Derive from it, and write `lam0` and `_evaluate(lam, ask, warm)`, which returns an `Evaluation`;
    the rest follows. An evaluation goes out with `warm`, from which the next may start, and no
    criterion keeps anything else: evaluations may run in another order, or in another process.

    Attributes
    ----------
    lam0 : array of shape (s,)
        Where a search starts when nobody says otherwise.
    traits : Traits
        What it can do for a search.

    Examples
    --------
    >>> import hoag
    >>> import numpy as np
    >>> class Bowl(hoag.criteria.Criterion):
    ...     lam0 = np.zeros(1)
    ...     def _evaluate(self, lam, ask, warm):
    ...         return hoag.criteria.Evaluation(lam, float(1 + (lam[0] - 2) ** 2), 2 * (lam - 2))
    >>> print(f"{hoag.minimize(Bowl()).lam[0]:.3f}")
    2.000
    """

    # Makes the criterion of the same f where one λ stands for all; None where there is no such way.
    shared: Callable[[], Criterion] | None = None
    # Makes a criterion whose minimum is about that of this one, for a share of its price: where a
    # search had better begin. None where there is no such way.
    surrogate: Callable[[], Criterion] | None = None
    # Who chose it, and why; None where somebody made it.
    chosen: Explanation | None = None
    # How many evaluations may run at a time, in threads; None where they would share what is kept.
    at_once: int | None = None
    # Whether f = Σ_t f_t(λ_t), which is searched part by part: it is a `Separable`.
    separable: bool = False

    @property
    @abstractmethod
    def lam0(self) -> Array:
        """Where a search starts when nobody says otherwise, (s,)."""

    @abstractmethod
    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        """f and p at λ, shape (s,), on all rows."""

    def evaluate(self, lam: npt.ArrayLike, ask: Ask | float = 0.0, warm: Warm = None) -> Evaluation:
        """f(λ) ± f_error and p ± error, as precise as asked.

        Parameters
        ----------
        lam : float or array-like of shape (s,)
            Where; a number stands for every hyperparameter.
        ask : Ask or float, default=0
            How precise, and what of it; a number is short for `Ask(eps)`.
        warm : object, default=None
            The `warm` of an earlier evaluation of this criterion, on the same rows; None starts
            afresh.

        Returns
        -------
        Evaluation
            λ, f, p, their errors, what it cost, and where the next may start.
        """
        clock.check()
        ask, lam = Ask.of(ask), checked_lam(lam, np.size(self.lam0))
        if ask.rows is not None:
            return self.sampled(ask.rows, ask.seed)._evaluate(lam, replace(ask, rows=None), warm)
        return self._evaluate(lam, ask, warm)

    def values(self, lams: Sequence[Array], ask: Ask) -> list[Evaluation]:
        """At many λ, each as if asked for by itself; together they may cost less."""
        if ask.rows is not None:
            return self.sampled(ask.rows, ask.seed).values(lams, replace(ask, rows=None))
        known = None if ask.gradient else self.levels(lams)
        if known is None:
            return [self.evaluate(lam, ask) for lam in lams]
        values, cost = known
        each = Cost(*(part / len(lams) for part in astuple(cost)))
        return [
            Evaluation(lam, f, no_gradient(lam), f_error=ROUNDING * abs(f), cost=each)
            for lam, f in zip(lams, values.tolist(), strict=True)
        ]

    def levels(self, lams: Sequence[Array]) -> tuple[Array, Cost] | None:
        """f at many λ, exact, and what all of them cost; None where no work is shared."""
        return None

    def profile(self, found: Evaluation, places: Array) -> tuple[Array | None, Cost]:
        """f along every axis from an evaluation, at places of shape (s, L), by a model; its cost.

        Places that are nan are not asked for. None where no model of f reaches so far.
        """
        return None, Cost()

    def value(self, lam: npt.ArrayLike, eps: float = 0.0, warm: Warm = None) -> Evaluation:
        """f(λ) alone."""
        return self.evaluate(lam, Ask(eps, gradient=False), warm)

    @property
    def traits(self) -> Traits:
        """What it can do for a search."""
        return Traits(blocks=np.arange(np.size(self.lam0)))

    @property
    def stands_on(self) -> Problem | None:
        """The problem behind it, or the first of several; None where there is no such problem.

        It knows how x and λ look to the user, in what unit costs are, and whether h is convex.
        """
        return None

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        """The same λ, with f known to ± tol by its definition, and outside any approximation.

        What was found is measured again in any case; what is not good enough is mended while
        time.perf_counter() is below `deadline`. `cost` is that of verifying, and x is made.
        """
        again = self.evaluate(found.lam, Ask(tol, gradient=False))
        return replace(
            found,
            value=again.value,
            g=again.g,
            f_error=abs(again.value - found.value) if again.converged else np.inf,
            x=again.x,
            cost=again.cost,
            converged=again.converged,
            note=again.note,
            parts=(),
        )

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        """The evaluation with the error of its p measured, and a rigorous bound if asked.

        `cost` is that of certifying. A criterion that cannot measure it returns what was found.
        """
        return replace(found, cost=Cost())

    def solution(self, found: Evaluation) -> tuple[PyTree, Cost]:
        """The x of an evaluation, which may be made only when it is asked for, and its cost."""
        return found.x, Cost()

    def refit(self, problem: Problem, found: Evaluation, tol: float) -> tuple[Solve, Cost]:
        """X(λ) of the problem on all rows, at the λ that was found on parts of them; and its cost.

        ‖∇₁h‖ ≤ tol, from what the parts have found; but by factors, where these are cheap, from 0
        and to rounding, so that what is left of the parts' errors does not show.
        """
        return self._refit(problem.brought(), [self.rebind(found)], tol)

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """The same from one evaluation, or those of all parts of a sum; on rows in memory if any.

        Their `warm` is None where they are another criterion's.
        """
        from hoag._criteria.select import solvers  # which knows all criteria

        inner = solvers(problem)[0]
        if not by_factors(problem):
            return self._refit_near(problem, parts, tol, inner)
        counted, lam, start = Counted(problem), parts[0].lam, np.zeros(problem.x0.size)
        scale = max(float(np.linalg.norm(counted.at(start, lam).h_x)), 1.0)
        return inner.solve(counted, lam, start, EXACT * scale), counted.cost

    def _refit_near(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float, inner: InnerSolver
    ) -> tuple[Solve, Cost]:
        """The same where factors are expensive: from the mean of the parts' solutions."""
        counted = Counted(problem)
        return inner.solve(counted, parts[0].lam, mean_solution(parts), tol), counted.cost

    def rebind(self, found: Evaluation) -> Evaluation:
        """An evaluation that comes from a file, its `warm` with what it had of the problem's own.

        That is nothing where `warm` is arrays and numbers.
        """
        return found

    def outer_lipschitz(self) -> tuple[float, Cost]:
        """The Lipschitz constant of g in x, and what finding it cost."""
        raise NotSupportedError(
            "This criterion knows no Lipschitz constant.\nGive C a number.", "C"
        )

    @cached_property
    def _samples(self) -> dict[tuple[int, int], Criterion]:
        return {}

    def sampled(self, rows: int, seed: int = 0) -> Criterion:
        """The same on a sample of the rows; made once for each size."""
        if (rows, seed) not in self._samples:
            self._samples[rows, seed] = self._on_sample(rows, seed)
        return self._samples[rows, seed]

    def _on_sample(self, rows: int, seed: int) -> Criterion:
        raise NotSupportedError(
            f"{type(self).__name__} cannot be evaluated on a sample of its rows."
        )


class OfProblem(Criterion):
    """A criterion of one problem, which says where λ begins, and how steep g is."""

    problem: Problem

    @property
    def lam0(self) -> Array:
        return self.problem.lam0

    @property
    def stands_on(self) -> Problem:
        return self.problem

    def outer_lipschitz(self) -> tuple[float, Cost]:
        counted = Counted(self.problem)
        return float(self.problem.outer_lipschitz()), counted.cost


def unsolved(decrement: float, size: float) -> float:
    """What to add to the error of f where a fit stopped short, with rᵀH⁻¹r left of it: 0 or ∞.

    From a small step on, h falls by about that, and f is where the fit says. After a large one
    nobody knows: the curvature at x tells nothing of so far away, and may be anything.
    """
    return 0.0 if decrement <= EXACT * size else np.inf


def no_gradient(lam: Array) -> Array:
    return np.full(lam.size, np.nan)


def mean_solution(parts: Sequence[Evaluation]) -> Array:
    """The mean of all x that some evaluations have: one of each, or one of every fold."""
    each = [part.x if isinstance(part.x, tuple) else (part.x,) for part in parts]
    return np.asarray(np.mean([x for own in each for x in own], axis=0))
