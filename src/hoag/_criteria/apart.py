"""Criteria of hyperparameters that have nothing to do with each other.

    f(λ) = Σ_t f_t(λ_t)

The targets of a ridge regression, each with penalties of its own: given the factors, no target
mixes with another, so a search may take one after the other, in a few dimensions each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError

from hoag._core.domain import Box
from hoag._core.errors import InnerProblemError
from hoag._core.numeric import ROUNDING, Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.bands import Bands, Squares
from hoag._criteria.base import Criterion, Traits
from hoag._criteria.folds import added
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag._glm.design import RowwiseDesign
from hoag._glm.groups import separable
from hoag._glm.model import LinearModel
from hoag._glm.span import Span
from hoag.problems import Problem

Index = npt.NDArray[np.intp]
# Targets that share no λ with the others, and their λ.
Sets = Sequence[tuple[Index, Index]]


class Apart(Criterion):
    """Σ_t f_t, each of some targets and the λ that reach them.

    targets  the numbers of the targets of each part
    owns     the numbers of their λ
    n_jobs   how many parts a search may take at a time, through joblib
    """

    separable = True

    def __init__(self, groups: Index, sets: Sets, n_jobs: int | None = None) -> None:
        """`groups` of all slopes, (features, targets), and what is `separable` of them."""
        self.targets, self.owns = [targets for targets, _ in sets], [own for _, own in sets]
        self.groups, self.n_jobs = groups, n_jobs

    @property
    @abstractmethod
    def parts(self) -> Sequence[Criterion]:
        """The criterion of each set of targets."""

    @abstractmethod
    def alike(self, lams: Sequence[float]) -> tuple[Array, Cost]:
        """f of every part at λ that are the same for all its penalties, (parts, L); the cost."""

    def axes_alike(
        self, lams: Sequence[Array], places: Sequence[Array]
    ) -> tuple[Sequence[Array | None], Cost]:
        """f of every part along its axes, at places of shape (s, L), from a λ of each; the cost.

        None where no work is shared by parts that are at the same λ.
        """
        return [None] * len(lams), Cost()

    @abstractmethod
    def _laid_out(self, parts: Sequence[Any]) -> Any:
        """x of all targets from those of the parts."""

    @property
    def lam0(self) -> Array:
        return np.zeros(int(self.groups.max()) + 1)

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.lam0.size)
        return Traits(has_hessian=True, exact=True, least=self._least, blocks=blocks)

    @property
    def _least(self) -> float | None:
        return None

    def _patterns(self) -> Iterator[tuple[npt.NDArray[np.bool_], Index, Index]]:
        """Parts that leave the same columns free: which columns, which parts, and their targets."""
        free = np.stack([self.groups[:, targets[0]] < 0 for targets in self.targets])
        for pattern in np.unique(free, axis=0):
            some = np.flatnonzero(np.all(free == pattern, axis=1))
            yield pattern, some, np.concatenate([self.targets[t] for t in some])

    def _by_part(self, some: Index, each: Array) -> Array:
        """Σ over the targets of each of some parts, from one number for every target of them."""
        sizes = [self.targets[t].size for t in some]
        return np.asarray(np.add.reduceat(each, np.cumsum([0, *sizes[:-1]])))

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        each = zip(self.parts, self.owns, strict=True)
        return self.joined([part.evaluate(lam[own], ask) for part, own in each])

    def joined(self, found: Sequence[Evaluation]) -> Evaluation:
        """One evaluation of all from one of each part."""
        lam, grad = np.zeros(self.lam0.size), np.full(self.lam0.size, np.nan)
        for own, part in zip(self.owns, found, strict=True):
            lam[own], grad[own] = part.lam, part.grad
        total = added(lam, [replace(part, grad=np.zeros(0)) for part in found])
        x = None if total.x is None else self._laid_out(total.x)
        each = [part.folds for part in found if part.folds is not None]
        folds = np.sum(each, axis=0) if len(each) == len(found) else None
        return replace(total, grad=grad, x=x, warm=None, parts=tuple(found), folds=folds)

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        own = tol / np.sqrt(len(self.parts))
        each = zip(self.parts, self._whole(found), strict=True)
        return self.joined([part.verify(piece, own, deadline) for part, piece in each])

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        each = zip(self.parts, found.parts, strict=True)
        return self.joined([part.certify(piece, bound) for part, piece in each])

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        each = zip(self.parts, self._whole(found), strict=True)
        return self._laid_out([part.solution(piece)[0] for part, piece in each]), Cost()

    def _whole(self, found: Evaluation) -> list[Evaluation]:
        """The evaluations of all parts; those of which only f is known are made."""
        each = zip(self.parts, found.parts, strict=True)
        return [piece if piece.warm is not None else part.value(piece.lam) for part, piece in each]

    def f_of_each(self, found: Evaluation) -> Array:
        """For every λ the f of its part, (s,)."""
        values = np.zeros(self.lam0.size)
        for own, part in zip(self.owns, found.parts, strict=True):
            values[own] = part.value
        return values

    def boxes(self, domain: Box) -> list[Box]:
        """The sides of the box that each part has."""
        return [Box(domain.lower[own], domain.upper[own]) for own in self.owns]


def by_columns(groups: Index, sets: Sets) -> bool:
    """Whether the targets of each set have penalties, and these alike."""
    alike = (groups[:, targets] == groups[:, targets[:1]] for targets, _ in sets)
    return all(own.size for _, own in sets) and all(map(np.all, alike))


class BandsApart(Apart):
    """The targets of a ridge regression with folds; one matrix of squares a fold serves all."""

    def __init__(
        self,
        models: Sequence[LinearModel],
        design: RowwiseDesign,
        sets: Sets,
        plain: Callable[[Sequence[LinearModel]], Criterion],
        several: bool,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(models[0].groups, sets, n_jobs)
        self._models, self._design = models, design
        self._plain, self._several, self._told = plain, several, Cost()

    @cached_property
    def parts(self) -> list[Bands]:
        return [self._part(targets) for targets in self.targets]

    def _part(self, targets: Index) -> Bands:
        models = [model.of_targets(targets) for model in self._models]
        design = self._design.of_targets(targets)
        part = Bands(models, design, lambda: self._plain(models), self._several)
        part.span = self._span
        part.squares = self._squares.only(targets, part.work)
        return part

    @cached_property
    def _span(self) -> Span:
        return Span.of(self._models[0], self._design)

    @cached_property
    def _squares(self) -> Squares:
        return Squares.of(self._span.written(self._design), self._span)

    def _squares_of(self, targets: Index) -> Squares:
        """Those of some targets, with what is spent on them counted apart."""
        return self._squares.only(targets, self._squares.sums.design.of_targets(targets))

    @cached_property
    def _least(self) -> float | None:
        """log of the least curvature in any direction, where each part has one λ for all of them.

        None where it is below what a matrix of squares shows.
        """
        if self.lam0.size > len(self.parts) or np.any(self.groups < 0):
            return None
        e = np.linalg.eigvalsh(self._squares.G)
        least = float(e[:, 0].min())
        if least <= ROUNDING * float(e.max()):
            return None
        return float(np.log(self.parts[0].bend * least)) + self.parts[0].shift

    def alike(self, lams: Sequence[float]) -> tuple[Array, Cost]:
        """One factor of each fold serves all targets that leave the same columns free."""
        values = np.zeros((len(self.parts), len(lams)))
        before, self._told = self._told, self._design.ledger.cost
        cost = self._told - before  # of forming the squares, if nobody has been told of it
        for _, some, targets in self._patterns():
            first, own = self.parts[some[0]], self._squares_of(targets)
            for j, lam in enumerate(lams):
                alike = np.full(first.lam0.size, lam)
                try:
                    errors = own.fitted(own.factors(first.alpha(alike), alike))[1].sum(axis=0)
                except InnerProblemError:
                    values[some, j] = np.inf  # too weak for a factor
                    continue
                values[some, j] = first.outer_scale * self._by_part(some, errors)
            cost = cost + own.sums.design.ledger.cost
        return values, cost

    def axes_alike(
        self, lams: Sequence[Array], places: Sequence[Array]
    ) -> tuple[Sequence[Array | None], Cost]:
        """One factor, inverse and decomposition for all parts with the same bands and λ."""
        alike: dict[tuple[bytes, ...], list[int]] = {}
        for t, part in enumerate(self.parts):
            key = tuple(own.tobytes() for own in (part.groups, lams[t], places[t]))
            alike.setdefault(key, []).append(t)
        values: list[Array | None] = [None] * len(lams)
        cost = Cost()
        for some in alike.values():
            first, lam = self.parts[some[0]], lams[some[0]]
            own = self._squares_of(np.concatenate([self.targets[t] for t in some]))
            ends = np.cumsum([0, *(self.targets[t].size for t in some)])
            sets = [slice(*pair) for pair in pairwise(ends)]
            try:
                factors = own.factors(first.alpha(lam), lam)
            except InnerProblemError:
                continue  # too weak for a factor
            W, changes = own.fitted(factors)[0], first.changes(lam, places[some[0]])
            squares = own.along(factors, W, first.groups, changes, first.roots, sets)
            for t, each in zip(some, squares, strict=True):
                values[t] = first.outer_scale * each
            cost = cost + own.sums.design.ledger.cost
        return values, cost

    def _laid_out(self, parts: Sequence[Any]) -> Any:
        """The x of every fold as the model of all targets lays it out."""
        if not self._several:
            return self._of_all(parts)
        return tuple(map(self._of_all, zip(*parts, strict=True)))

    def _of_all(self, parts: Sequence[Array]) -> Array:
        """The x of one fold."""
        design = self._models[0].train.design
        W, b = np.zeros((design.features, design.outputs)), np.zeros(design.outputs)
        for targets, x in zip(self.targets, parts, strict=True):
            slopes = design.features * targets.size
            W[:, targets] = x[:slopes].reshape(design.features, -1)
            b[targets] = x[slopes:] if design.Q is not None else 0.0
        return W.ravel() if design.Q is None else np.concatenate([W.ravel(), b])

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """Every set of targets by itself."""
        whole, (found,) = cast(LinearModel, problem), parts
        each = zip(self.parts, self.targets, found.parts, strict=True)
        known = [p._refit(whole.of_targets(targets), [own], tol) for p, targets, own in each]
        solves = [solve for solve, _ in known]
        x = self._of_all([solve.x for solve in solves])
        residual = float(np.linalg.norm([solve.residual for solve in solves]))
        last = Solve(x, residual, max(solve.iterations for solve in solves), "precision")
        return last, sum((cost for _, cost in known), Cost())


class LeftOutApart(Apart):
    """The targets of a ridge regression whose rows are left out one by one."""

    def __init__(self, whole: LeaveOneOut, sets: Sets, n_jobs: int | None = None) -> None:
        super().__init__(whole.groups, sets, n_jobs)
        self._whole_of_all = whole

    @cached_property
    def parts(self) -> list[LeaveOneOut]:
        return [self._whole_of_all.of_targets(targets) for targets in self.targets]

    @property
    def _least(self) -> float | None:
        """That of any part with one λ: they have the same rows."""
        return self.parts[0].traits.least

    def alike(self, lams: Sequence[float]) -> tuple[Array, Cost]:
        """One factor serves all targets that leave the same columns free."""
        whole, values = self._whole_of_all, np.zeros((len(self.targets), len(lams)))
        cost = Cost()
        for free, some, targets in self._patterns():
            for j, lam in enumerate(lams):
                try:
                    each, spent = whole.errors_alike(targets, lam, free)
                except LinAlgError:
                    values[some, j] = np.inf  # too weak for a factor
                    continue
                values[some, j], cost = self._by_part(some, each), cost + spent
        return values, cost

    def _laid_out(self, parts: Sequence[Any]) -> Any:
        theta = np.zeros(self.groups.shape)
        for targets, x in zip(self.targets, parts, strict=True):
            theta[:, targets] = x
        return theta


def left_out(whole: LeaveOneOut, n_jobs: int | None) -> Criterion:
    """The same with its targets apart, where that is possible and each has factors of its own."""
    sets, whole.at_once = separable(whole.groups), n_jobs
    if len(sets) == 1 or not by_columns(whole.groups, sets):
        return whole
    apart = LeftOutApart(whole, sets, n_jobs)
    known = all(part.lam0.size == 1 or part.traits.has_hessian for part in apart.parts)
    return apart if known else whole
