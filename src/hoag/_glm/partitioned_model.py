"""One fold of a linear model whose rows are in partitions, as a problem: h and g at a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.model import LinearModel
from hoag._glm.partitioned import PartitionedDesign
from hoag._glm.penalties import Penalty, Ridge
from hoag._glm.term import DataTerm, DataTermAt
from hoag.problems import Charger, Ledger


class PartitionedTerm(DataTerm):
    """Σᵢ sᵢ loss(yᵢ, zᵢ) over the training rows of a fold, or those that are `held` out, by sums
    over partitions.

    What single rows have, y, weights and products with them, is gathered by a pass over the data
    when somebody asks for it.
    """

    def __init__(self, fold: PartitionedDesign, held: bool) -> None:
        self.fold, self.held = fold, held
        self.loss = fold.outer if held else fold.loss
        self.design, self.charge = fold.predictor, _charged_by_design
        self._members = (fold.test if held else fold.train)[0]

    @cached_property
    def _sides(self) -> tuple[npt.NDArray[Any], Array]:
        y, weights, cells = self.fold.sides()
        return y, weights * np.append(self._members, False)[cells]

    @property
    def y(self) -> npt.NDArray[Any]:  # type: ignore[override]
        return self._sides[0]

    @property
    def weights(self) -> Array:  # type: ignore[override]
        return self._sides[1]

    @property
    def total_weight(self) -> float:
        return float(self.fold.weights[self._members].sum())

    def softened(self) -> None:
        """None: partitions are prepared for one loss."""
        return

    def at(self, x: Array) -> DataTermAt:
        return (PartitionedTermAt if self.held else TrainingTermAt)(self, x.copy())

    def _spend(self, passes: float, grams: float = 0.0) -> None:
        self.fold.ledger.charge(**{"held_out" if self.held else "passes": passes}, reads=1.0)

    @cached_property
    def constant_gram(self) -> Array:
        one, several = self.fold, self.fold.predictor.outputs > 1
        if several:
            one = replace(one.of_targets(np.zeros(1, dtype=np.intp)), ledger=one.ledger)
        return np.asarray(one.hessian_of_squares[0])


class PartitionedTermAt(DataTermAt):
    """The term at one x."""

    term: PartitionedTerm

    @cached_property
    def value(self) -> float:
        sums = self.term.fold.alone(self.x)
        return float((sums.g if self.term.held else sums.value)[0])

    @cached_property
    def gradient(self) -> Array:
        sums = self.term.fold.alone(self.x)
        return np.asarray((sums.g_x if self.term.held else sums.gradient)[0])


class TrainingTermAt(PartitionedTermAt):
    """The same with ∇² of the training rows."""

    def hvp(self, v: Array) -> Array:
        return np.asarray(self.term.fold.hessian_at(self.x[None]).times(v[None])[0])

    @cached_property
    def hessian(self) -> Array:
        found = self.term.fold.sums(self.x[None], curved=True, valued=False)
        return np.asarray(found.hessian[0])

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self.term.fold.diagonals(self.x[None])[0])


class PartitionedModel(LinearModel):
    """A linear model whose rows are in partitions."""

    in_memory = False
    judged_alike = False  # z of a row is not kept, so nothing of it is shared

    def __init__(self, fold: PartitionedDesign, penalty: Penalty) -> None:
        self.fold = fold
        train, test = PartitionedTerm(fold, held=False), PartitionedTerm(fold, held=True)
        super().__init__(train, test, penalty, fold.ledger)

    def folded(self, models: Sequence[LinearModel]) -> PartitionedDesign:
        folds = [cast(PartitionedModel, model).fold for model in models]
        train = np.concatenate([own.train for own in folds])
        return self.fold.of_folds(train, np.concatenate([own.test for own in folds]))

    def with_penalty(self, penalty: Penalty) -> PartitionedModel:
        return PartitionedModel(self.fold, penalty)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> PartitionedModel:
        fold = self.fold.of_targets(targets)
        intercepts = fold.predictor.size - fold.predictor.slopes
        penalty = cast(Ridge, self.penalty).of_targets(self.groups, targets, intercepts)
        return PartitionedModel(fold, penalty)

    def brought(self) -> LinearModel:
        """On the sample in memory, where that is all rows; else as it is."""
        return sample_models(self.fold, [self])[0] if self.fold.whole else self

    def floor(self, point: Any) -> Array | None:
        """As in memory, with the diagonal of ∇² for the curvature: one pass over the data."""
        if not isinstance(self.penalty, Ridge):
            return super().floor(point)
        floor, free, slopes = point.penalty.alpha.copy(), self.penalty.unpenalised, self.groups.size
        if free.size:
            diagonal = point.train.diagonal
            floor[free[free < slopes]] = np.mean(diagonal[:slopes])
            floor[free[free >= slopes]] = diagonal[free[free >= slopes]]
        return floor if np.all(floor > 0) else None


def partitioned_models(
    design: PartitionedDesign, penalties: Sequence[Penalty]
) -> list[LinearModel]:
    """One for each fold."""
    splits = zip(design.train[:, None], design.test[:, None], penalties, strict=True)
    return [PartitionedModel(design.of_folds(*split), penalty) for *split, penalty in splits]


def _charged_by_design(*_: Any) -> None:
    """What a term costs is counted where its sums are asked for."""


def sample_models(design: PartitionedDesign, models: Sequence[LinearModel]) -> list[LinearModel]:
    """The same folds on the rows of the sample, with the weights that these have."""
    few = design.in_sample(1.0)
    (own,), cells, found = few.sets, (design.train, design.test), []
    for k, model in enumerate(models):
        ledger = Ledger()
        inside, outside = (own.weights * part[k][own.labels] for part in cells)
        predictor = few.predictor.on(own.rows)
        train = DataTerm(predictor, few.loss, own.y, inside, Charger(ledger, "passes"))
        test = DataTerm(predictor, few.outer, own.y, outside, Charger(ledger, "held_out"))
        found.append(LinearModel(train, test, model.penalty, ledger))
    return found
