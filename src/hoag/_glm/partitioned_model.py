"""One fold of a linear model whose rows are in partitions, as a problem: h and g at a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hoag._core.numeric import Array
from hoag._glm.design import Sums
from hoag._glm.model import LinearModel
from hoag._glm.partitioned import PartitionedDesign
from hoag._glm.penalties import Penalty, Ridge
from hoag._glm.term import DataTerm, DataTermAt
from hoag.problems import Charger, Ledger


@dataclass(eq=False)
class PartitionedFold:
    """One fold of some design; what all rows said at the last x is remembered."""

    design: PartitionedDesign
    last: tuple[Array, Sums] | None = field(default=None, repr=False)

    def at(self, x: Array) -> Sums:
        """h, ∇h, g and ∇g by one pass over the data."""
        if self.last is None or not np.array_equal(self.last[0], x):
            self.last = (x, self.design.sums(x[None]))
        return self.last[1]

    def charge(self, *_: Any) -> None:
        """What a term costs is counted where its sums are asked for."""


class PartitionedTerm(DataTerm):
    """Σᵢ sᵢ loss(yᵢ, zᵢ) over the training rows of a fold, or those that are `held` out, by sums
    over partitions.

    What single rows have, y, weights and products with them, is gathered by a pass over the data
    when somebody asks for it.
    """

    def __init__(self, fold: PartitionedFold, held: bool) -> None:
        self.fold, self.held, design = fold, held, fold.design
        self.loss = design.outer if held else design.loss
        self.design, self.charge = design.predictor, fold.charge
        self._members = (design.test if held else design.train)[0]

    @cached_property
    def _sides(self) -> tuple[npt.NDArray[Any], Array]:
        y, weights, cells = self.fold.design.sides()
        return y, weights * np.append(self._members, False)[cells]

    @property
    def y(self) -> npt.NDArray[Any]:  # type: ignore[override]
        return self._sides[0]

    @property
    def weights(self) -> Array:  # type: ignore[override]
        return self._sides[1]

    @property
    def total_weight(self) -> float:
        return float(self.fold.design.weights[self._members].sum())

    def softened(self) -> None:
        """None: partitions are prepared for one loss."""
        return

    def at(self, x: Array) -> DataTermAt:
        return (PartitionedTermAt if self.held else TrainingTermAt)(self, x.copy())

    def _spend(self, passes: float, grams: float = 0.0) -> None:
        self.fold.design.ledger.charge(**{"held_out" if self.held else "passes": passes}, reads=1.0)

    @cached_property
    def constant_gram(self) -> Array:
        design = self.fold.design
        several = design.predictor.outputs > 1
        one = design.of_targets(np.zeros(1, dtype=np.intp)) if several else design
        return np.asarray(replace(one, ledger=design.ledger).hessian_of_squares[0])


class PartitionedTermAt(DataTermAt):
    """The term at one x."""

    term: PartitionedTerm

    @cached_property
    def value(self) -> float:
        sums = self.term.fold.at(self.x)
        return float((sums.g if self.term.held else sums.value)[0])

    @cached_property
    def gradient(self) -> Array:
        sums = self.term.fold.at(self.x)
        return np.asarray((sums.g_x if self.term.held else sums.gradient)[0])


class TrainingTermAt(PartitionedTermAt):
    """The same with ∇² of the training rows."""

    def hvp(self, v: Array) -> Array:
        return np.asarray(self.term.fold.design.hessian_at(self.x[None]).times(v[None])[0])

    @cached_property
    def hessian(self) -> Array:
        found = self.term.fold.design.sums(self.x[None], curved=True, valued=False)
        return np.asarray(found.hessian[0])

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self.term.fold.design.diagonals(self.x[None])[0])


class PartitionedModel(LinearModel):
    """A linear model whose rows are in partitions."""

    in_memory = False
    judged_alike = False  # z of a row is not kept, so nothing of it is shared

    def __init__(self, fold: PartitionedFold, penalty: Penalty) -> None:
        self.fold = fold
        train, test = PartitionedTerm(fold, held=False), PartitionedTerm(fold, held=True)
        super().__init__(train, test, penalty, fold.design.ledger)

    def folded(self, models: Sequence[LinearModel]) -> PartitionedDesign:
        designs = [cast(PartitionedModel, model).fold.design for model in models]
        train = np.concatenate([design.train for design in designs])
        return self.fold.design.of_folds(train, np.concatenate([own.test for own in designs]))

    def with_penalty(self, penalty: Penalty) -> PartitionedModel:
        return PartitionedModel(self.fold, penalty)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> PartitionedModel:
        assert isinstance(self.penalty, Ridge)
        design = self.fold.design.of_targets(targets)
        intercepts = design.predictor.size - design.predictor.slopes
        penalty = self.penalty.of_targets(self.groups, targets, intercepts)
        return PartitionedModel(PartitionedFold(design), penalty)

    def brought(self) -> LinearModel:
        """On the sample in memory, where that is all rows; else as it is."""
        design = self.fold.design
        return sample_models(design, [self])[0] if design.whole else self

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


def partitioned_models(design: PartitionedDesign, penalties: list[Penalty]) -> list[LinearModel]:
    """One for each fold."""
    models: list[LinearModel] = []
    for k, penalty in enumerate(penalties):
        alone = design.of_folds(design.train[k : k + 1], design.test[k : k + 1])
        models.append(PartitionedModel(PartitionedFold(alone), penalty))
    return models


def sample_models(design: PartitionedDesign, models: Sequence[LinearModel]) -> list[LinearModel]:
    """The same folds on the rows of the sample, with the weights that these have."""
    few = design.in_sample(1.0)
    (own,) = few.sets
    found = []
    for k, model in enumerate(models):
        ledger = Ledger()
        inside, outside = (
            own.weights * part[k][own.labels] for part in (design.train, design.test)
        )
        predictor = few.predictor.on(own.rows)
        train = DataTerm(predictor, few.loss, own.y, inside, Charger(ledger, "passes"))
        test = DataTerm(predictor, few.outer, own.y, outside, Charger(ledger, "held_out"))
        found.append(LinearModel(train, test, model.penalty, ledger))
    return found
