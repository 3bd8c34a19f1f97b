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
from hoag._core.errors import InvalidInput
from hoag._core.numeric import EXACT, ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
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

    scan_spacing   how far apart the box is scanned, where Ask(free=True) is answered anywhere in it
            for no pass, or by a small factor; None where it is not
    has_hessian   Ask(hessian=True) is answered with ∇²f
    exact   p is the gradient of f as it is computed, to rounding, whatever ε is: nothing to refine
    batched   values at many λ, by `values`, take little longer than one, and need no start
    rows    how many training rows there are, where Ask(rows=...) is answered on a sample of them
    fewest  of how many of these a sample should be, where f on it is an estimate of f, and says how
            good a one; None where a sample only shows where f is low
    sample  of how many rows a sample should be on which a whole descent ends near that on all rows,
            for a share of its price; None where there is no such sample
    modelled   looks are at models of f about one x, good enough all over the box to begin by
    begun   looks are good near an evaluation alone, and the search begins where it shall: the box
            was looked over before
    least   log of the least curvature of the data in any direction, in units of λ, where it is
            known: a penalty far below it does nothing
    blocks  the number of each hyperparameter's block, shape (s,); a block moves as one when the box
            is looked over, so that a width for each of a hundred features is one axis
    alike   the direction in which all penalties grow alike, shape (s,); None where λ are penalties
            themselves: (1, …, 1)

    >>> import hoag
    >>> from sklearn.datasets import load_diabetes
    >>> folds = hoag.models.folds(hoag.models.ridge, *load_diabetes(return_X_y=True))
    >>> hoag.plan(folds).traits.scan_spacing  # how far apart the box is looked over
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
    """What computes the loss, as `hoag._criteria.select` chose it; `str` has it as sentences.

    data   what it is computed of
    used   the criterion, with what solves its linear systems
    why    what decided, with the numbers
    work   what one evaluation takes
    end    what follows the search
    spent  what the search took, where there was one

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

    `lam0` is where a search starts when nobody says otherwise. An evaluation goes out with `warm`,
    from which the next may start, and no criterion keeps anything else: evaluations may run in
    another order, or in another process.

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
    def lam0(self) -> Array: ...

    @abstractmethod
    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        """f and p at λ, shape (s,), on all rows."""

    def evaluate(self, lam: Any, ask: Ask | float = 0.0, warm: Any = None) -> Evaluation:
        """f(λ) ± f_error and p ± error, as precise as asked; a number is short for Ask(eps).

        `warm` is the `warm` of an earlier evaluation of this criterion, on the same rows; None
        starts afresh.
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

    def value(self, lam: Any, eps: float = 0.0, warm: Any = None) -> Evaluation:
        """f(λ) alone."""
        return self.evaluate(lam, Ask(eps, gradient=False), warm)

    @property
    def traits(self) -> Traits:
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
        time.perf_counter() is below `deadline`. `cost` is that of settling, and x is made.
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

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
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
        raise InvalidInput("This criterion knows no Lipschitz constant: give C a number.")

    @cached_property
    def _samples(self) -> dict[tuple[int, int], Criterion]:
        return {}

    def sampled(self, rows: int, seed: int = 0) -> Criterion:
        """The same on a sample of the rows; made once for each size."""
        if (rows, seed) not in self._samples:
            self._samples[rows, seed] = self._on_sample(rows, seed)
        return self._samples[rows, seed]

    def _on_sample(self, rows: int, seed: int) -> Criterion:
        raise InvalidInput(f"{type(self).__name__} cannot be evaluated on a sample of its rows.")


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
