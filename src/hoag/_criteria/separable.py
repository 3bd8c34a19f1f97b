"""Criteria of hyperparameters that have nothing to do with each other.

    f(λ) = Σ_t f_t(λ_t)

The targets of a ridge regression, each with penalties of its own: given the factors, no target
mixes with another, so a search may take one after the other, in a few dimensions each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from hoag._core.domain import Box
from hoag._core.numeric import Array
from hoag._core.result import Ask, Cost, Evaluation, Solve
from hoag._criteria.base import Criterion, Traits
from hoag._criteria.folds import added
from hoag._glm.groups import separable
from hoag._glm.model import LinearModel
from hoag._inner import InnerSolver
from hoag.problems import Problem

Index = npt.NDArray[np.intp]
# Targets that share no λ with the others, and their λ.
Sets = Sequence[tuple[Index, Index]]


class SharedTargets(Protocol):
    """Many targets of the same rows: makes the criteria of some, and does their common work once.

    `joined` lays out one x of all targets from one for each set of them; `least` is log of the
    least curvature of the rows in any direction, or None.
    """

    @property
    def least(self) -> float | None: ...

    def of_targets(self, targets: Index) -> Criterion:
        """The criterion of some targets, with the λ that reach them."""

    def values_alike(self, targets: Index, lams: Sequence[float]) -> tuple[Array, Cost]:
        """f of targets that leave the same columns free, at λ that are the same for all penalties.

        Shape (targets, L), ∞ where there is no factor; and the cost.
        """

    def profiles_alike(
        self, sets: Sequence[Index], lam: Array, places: Array
    ) -> tuple[Array | None, Cost]:
        """f along every axis from λ, of sets of targets with the same groups, (sets, s, L).

        None where it is no less work for all than for each.
        """

    def joined(self, sets: Sequence[Index], parts: Sequence[Array]) -> Array: ...


class Separable(Criterion):
    """Σ_t f_t, each of some targets and the λ that reach them.

    whole    all targets together
    groups   of all slopes, (features, targets), and as `sets` what is `separable` of them: the
             numbers of the targets of each part, and of their λ
    n_jobs   how many parts a search may take at a time, through joblib
    """

    separable = True

    def __init__(
        self, whole: SharedTargets, groups: Index, sets: Sets, n_jobs: int | None = None
    ) -> None:
        self.targets, self.owns = [targets for targets, _ in sets], [own for _, own in sets]
        self.whole, self.groups, self.n_jobs = whole, groups, n_jobs

    @cached_property
    def parts(self) -> list[Criterion]:
        """The criterion of each set of targets."""
        return [self.whole.of_targets(targets) for targets in self.targets]

    @property
    def lam0(self) -> Array:
        return np.zeros(int(self.groups.max()) + 1)

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.lam0.size)
        # Known where each part has one λ, for all of its columns.
        one = blocks.size == len(self.targets) and bool(np.all(self.groups >= 0))
        least = self.whole.least if one else None
        return Traits(has_hessian=True, exact=True, least=least, blocks=blocks)

    # ---- what parts share

    def alike(self, lams: Sequence[float]) -> tuple[Array, Cost]:
        """f of every part at λ that are the same for all its penalties, (parts, L); the cost.

        One factor serves all targets that leave the same columns free.
        """
        values, cost = np.zeros((len(self.targets), len(lams))), Cost()
        for some in _alike([self.groups[:, targets[0]] < 0] for targets in self.targets):
            sizes = [self.targets[t].size for t in some]
            each, spent = self.whole.values_alike(
                np.concatenate([self.targets[t] for t in some]), lams
            )
            values[some] = np.add.reduceat(each, np.cumsum([0, *sizes[:-1]]), axis=0)
            cost = cost + spent
        return values, cost

    def axes_alike(
        self, lams: Sequence[Array], places: Sequence[Array]
    ) -> tuple[Sequence[Array | None], Cost]:
        """f of every part along its axes, at places of shape (s, L), from a λ of each; the cost.

        None where no work is shared by parts with the same groups that are at the same λ.
        """
        values: list[Array | None] = [None] * len(lams)
        cost, own = Cost(), [self._own_groups(t) for t in range(len(lams))]
        for some in _alike(zip(own, lams, places, strict=True)):
            sets, first = [self.targets[t] for t in some], some[0]
            profiles, spent = self.whole.profiles_alike(sets, lams[first], places[first])
            cost = cost + spent
            for k, t in enumerate(some):
                values[t] = None if profiles is None else profiles[k]
        return values, cost

    def _own_groups(self, t: int) -> Index:
        """The number of each column's λ among those of its part; −1 for none."""
        groups = self.groups[:, self.targets[t][0]]
        return np.where(groups < 0, -1, np.searchsorted(self.owns[t], groups))

    # ---- of all from those of parts

    def _evaluate(self, lam: Array, ask: Ask, warm: Any) -> Evaluation:
        each = zip(self.parts, self.owns, strict=True)
        return self.joined([part.evaluate(lam[own], ask) for part, own in each])

    def joined(self, found: Sequence[Evaluation]) -> Evaluation:
        """One evaluation of all from one of each part."""
        lam, grad = np.zeros(self.lam0.size), np.full(self.lam0.size, np.nan)
        for own, part in zip(self.owns, found, strict=True):
            lam[own], grad[own] = part.lam, part.grad
        total = added(lam, [replace(part, grad=np.zeros(0)) for part in found])
        x = None if total.x is None else self._joined_x(total.x)
        each = [part.folds for part in found if part.folds is not None]
        folds = np.sum(each, axis=0) if len(each) == len(found) else None
        return replace(total, grad=grad, x=x, warm=None, parts=tuple(found), folds=folds)

    def verify(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        own = tol / np.sqrt(len(self.parts))
        each = zip(self.parts, found.parts, strict=True)
        return self.joined([part.verify(piece, own, deadline) for part, piece in each])

    def certify(self, found: Evaluation, bound: bool = False) -> Evaluation:
        each = zip(self.parts, found.parts, strict=True)
        return self.joined([part.certify(piece, bound) for part, piece in each])

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        each = zip(self.parts, found.parts, strict=True)
        return self._joined_x([part.solution(piece)[0] for part, piece in each]), Cost()

    def _joined_x(self, parts: Sequence[Any]) -> Any:
        """x of all targets; one for each fold, where parts have as many."""
        if not isinstance(parts[0], tuple):
            return self.whole.joined(self.targets, parts)
        return tuple(self.whole.joined(self.targets, fold) for fold in zip(*parts, strict=True))

    def _refit_near(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float, inner: InnerSolver
    ) -> tuple[Solve, Cost]:
        """Every set of targets by itself."""
        whole, (found,) = cast(LinearModel, problem), parts
        each = zip(self.parts, self.targets, found.parts, strict=True)
        known = [p._refit(whole.of_targets(targets), [own], tol) for p, targets, own in each]
        solves = [solve for solve, _ in known]
        x = self.whole.joined(self.targets, [solve.x for solve in solves])
        residual = float(np.linalg.norm([solve.residual for solve in solves]))
        last = Solve(x, residual, max(solve.iterations for solve in solves), "precision")
        return last, sum((cost for _, cost in known), Cost())

    def f_of_each(self, found: Evaluation) -> Array:
        """For every λ the f of its part, (s,)."""
        values = np.zeros(self.lam0.size)
        for own, part in zip(self.owns, found.parts, strict=True):
            values[own] = part.value
        return values

    def boxes(self, domain: Box) -> list[Box]:
        """The sides of the box that each part has."""
        return [Box(domain.lower[own], domain.upper[own]) for own in self.owns]


def separated(whole: SharedTargets, groups: Index, n_jobs: int | None) -> Separable | None:
    """The targets one by one, where that is possible and each is searched by ∇²f or in one λ."""
    sets = separable(groups)
    if len(sets) == 1 or not by_columns(groups, sets):
        return None
    found = Separable(whole, groups, sets, n_jobs)
    known = all(part.lam0.size == 1 or part.traits.has_hessian for part in found.parts)
    return found if known else None


def by_columns(groups: Index, sets: Sets) -> bool:
    """Whether the targets of each set have penalties, and these alike."""
    alike = (groups[:, targets] == groups[:, targets[:1]] for targets, _ in sets)
    return all(own.size for _, own in sets) and all(map(np.all, alike))


def _alike(keys: Iterable[Sequence[npt.NDArray[Any]]]) -> list[list[int]]:
    """The numbers of those whose arrays are the same."""
    found: dict[tuple[bytes, ...], list[int]] = {}
    for t, arrays in enumerate(keys):
        found.setdefault(tuple(array.tobytes() for array in arrays), []).append(t)
    return list(found.values())
