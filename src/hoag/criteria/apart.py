"""Criteria of hyperparameters that have nothing to do with each other.

    f(λ) = Σ_t f_t(λ_t)

The targets of a ridge regression, each with penalties of its own: given the factors, no target
mixes with another, so a search may take one after the other, in a few dimensions each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.criteria.bands import Bands, Squares
from hoag.criteria.base import Criterion, Traits
from hoag.criteria.folds import added
from hoag.glm.blocks import Blocks
from hoag.glm.model import LinearModel
from hoag.values import ROUNDING, Array, Ask, Box, Cost, Evaluation

Index = npt.NDArray[np.intp]


class Apart(Criterion):
    """Σ_t f_t, each of some targets and the λ that reach them.

    parts    the criterion of each set of targets
    targets  their numbers
    owns     the numbers of their λ
    n_jobs   how many a search may take at a time, through joblib
    """

    def __init__(
        self,
        models: Sequence[LinearModel],
        blocks: Blocks,
        plain: Callable[[Sequence[LinearModel]], Criterion],
        several: bool,
        n_jobs: int | None = None,
    ) -> None:
        sets = models[0].separable()
        self.targets, self.owns = [targets for targets, _ in sets], [own for _, own in sets]
        self._models, self._blocks, self.n_jobs = models, blocks, n_jobs
        self._plain, self._several, self._told = plain, several, Cost()

    @cached_property
    def parts(self) -> list[Bands]:
        return [self._part(targets) for targets in self.targets]

    def _part(self, targets: Index) -> Bands:
        models = [model.of_targets(targets) for model in self._models]
        squares = self._squares.only(targets)
        part = Bands(models, squares.sums.blocks, lambda: self._plain(models), self._several)
        part.squares = squares
        return part

    @cached_property
    def _squares(self) -> Squares:
        return Squares.of(self._blocks)

    @property
    def lam0(self) -> Array:
        return self._models[0].lam0

    @property
    def traits(self) -> Traits:
        blocks = np.arange(self.lam0.size)
        return Traits(bends=True, exact=True, least=self._least, blocks=blocks)

    @cached_property
    def _least(self) -> float | None:
        """log of the least curvature in any direction, where each part has one λ for all of them.

        None where it is below what a matrix of squares shows.
        """
        if any(part.lam0.size > 1 or np.any(part.groups < 0) for part in self.parts):
            return None
        e = np.linalg.eigvalsh(self._squares.G)
        least = float(e[:, 0].min())
        if least <= ROUNDING * float(e.max()):
            return None
        return float(np.log(self.parts[0].bend * least)) + self.parts[0].shift

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
        return replace(total, grad=grad, x=x, warm=None, parts=tuple(found))

    def settled(self, found: Evaluation, tol: float, deadline: float = np.inf) -> Evaluation:
        own = tol / np.sqrt(len(self.parts))
        each = zip(self.parts, self._whole(found), strict=True)
        return self.joined([part.settled(piece, own, deadline) for part, piece in each])

    def certified(self, found: Evaluation, bound: bool = False) -> Evaluation:
        each = zip(self.parts, found.parts, strict=True)
        return self.joined([part.certified(piece, bound) for part, piece in each])

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        if found.x is not None:
            return found.x, Cost()
        each = zip(self.parts, self._whole(found), strict=True)
        return self._laid_out([part.solution(piece)[0] for part, piece in each]), Cost()

    def _whole(self, found: Evaluation) -> list[Evaluation]:
        """The evaluations of all parts; those of which only f is known are made."""
        each = zip(self.parts, found.parts, strict=True)
        return [piece if piece.warm is not None else part.value(piece.lam) for part, piece in each]

    def _laid_out(self, parts: Sequence[Any]) -> Any:
        """The x of every fold as the model of all targets lays it out, from those of the parts."""
        design = self._models[0].train.design
        whole = []
        for k in range(len(self._models)):
            W, b = np.zeros((design.features, design.outputs)), np.zeros(design.outputs)
            for targets, x in zip(self.targets, parts, strict=True):
                own = x[k] if self._several else x
                slopes = design.features * targets.size
                W[:, targets] = own[:slopes].reshape(design.features, -1)
                b[targets] = own[slopes:] if design.Q is not None else 0.0
            whole.append(W.ravel() if design.Q is None else np.concatenate([W.ravel(), b]))
        return tuple(whole) if self._several else whole[0]

    def alike(self, lams: Sequence[Array]) -> tuple[Array, Cost]:
        """f of every part at λ that are the same for all its penalties, (parts, L); the cost.

        One factor of each fold serves all targets that leave the same columns free.
        """
        squares, values = self._squares, np.zeros((len(self.parts), len(lams)))
        before, self._told = self._told, self._blocks.ledger.cost
        cost = self._told - before  # of forming the squares, if nobody has been told of it
        free = np.stack([part.groups < 0 for part in self.parts])
        for pattern in np.unique(free, axis=0):
            some = np.flatnonzero(np.all(free == pattern, axis=1))
            first, sizes = self.parts[some[0]], [self.targets[t].size for t in some]
            own = squares.only(np.concatenate([self.targets[t] for t in some]))
            starts = np.cumsum([0, *sizes[:-1]])
            for j, lam in enumerate(lams):
                alpha = first.alpha(np.full(first.lam0.size, lam[0]))
                errors = own.fitted(own.factors(alpha, lam))[1].sum(axis=0)
                values[some, j] = first.outer_scale * np.add.reduceat(errors, starts)
            cost = cost + own.sums.blocks.ledger.cost
        return values, cost

    def f_of_each(self, found: Evaluation) -> Array:
        """For every λ the f of its part, (s,)."""
        values = np.zeros(self.lam0.size)
        for own, part in zip(self.owns, found.parts, strict=True):
            values[own] = part.value
        return values

    def boxes(self, domain: Box) -> list[Box]:
        """The sides of the box that each part has."""
        return [Box(domain.lower[own], domain.upper[own]) for own in self.owns]
