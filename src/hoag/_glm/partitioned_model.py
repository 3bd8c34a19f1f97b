"""One fold of a linear model whose rows are elsewhere, as a problem: h and g at a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._glm.design import Sums
from hoag._glm.model import LinearModel
from hoag._glm.moments import Moments
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
        """h, ∇h, g and ∇g by one read."""
        if self.last is None or not np.array_equal(self.last[0], x):
            self.last = (x, self.design.sums(x[None]))
        return self.last[1]


class PartitionedTerm(DataTerm):
    """Σᵢ sᵢ loss(yᵢ, zᵢ) over the training rows of a fold, or over those it is judged on."""

    def __init__(self, fold: PartitionedFold, judged: bool) -> None:
        design = fold.design
        self.fold, self.judged, self.design = fold, judged, design.predictor
        self.loss = design.outer if judged else design.loss
        self.y, self.charge = np.empty(0), _charged_by_blocks
        self.members = (design.test if judged else design.train)[0]

    @property
    def far(self) -> PartitionedDesign:
        return self.fold.design

    @property
    def total_weight(self) -> float:
        return float(self.fold.design.weights[self.members].sum())

    def at(self, x: Array) -> PartitionedTermAt:
        return PartitionedTermAt(self, x.copy())

    @cached_property
    def constant_gram(self) -> Array:
        nothing = np.zeros(1) if self.design.width == 1 else np.zeros((1, self.design.width))
        curvature = float(self.fold.design.loss.at(nothing, nothing).curvature_bound[0])
        design = self.fold.design
        every = design.moments(np.zeros(self.design.features), np.zeros(self.design.outputs))
        none = Moments.none(self.design.features, self.design.outputs)
        own = reduce(Moments.plus, (every[b] for b in np.flatnonzero(self.members)), none)
        if self.design.Q is None:
            return np.asarray(curvature * own.gram)
        corner = np.array([[own.total]])
        border = own.a[:, None]
        return np.asarray(curvature * np.block([[own.gram, border], [border.T, corner]]))


class PartitionedTermAt(DataTermAt):
    """The term at one x, by sums over all rows."""

    term: PartitionedTerm

    @cached_property
    def value(self) -> float:
        at = self.term.fold.at(self.x)
        return float((at.g if self.term.judged else at.value)[0])

    @cached_property
    def gradient(self) -> Array:
        at = self.term.fold.at(self.x)
        return np.asarray((at.g_x if self.term.judged else at.gradient)[0])

    def hvp(self, v: Array) -> Array:
        return np.asarray(self._fit.hessian_at(self.x[None]).times(v[None])[0])

    @cached_property
    def hessian(self) -> Array:
        return np.asarray(self._fit.sums(self.x[None], curved=True, valued=False).hessian[0])

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self._fit.diagonals(self.x[None])[0])

    @property
    def _fit(self) -> PartitionedDesign:
        if self.term.judged:
            raise InvalidInput("How held-out rows bend is not known where rows are elsewhere.")
        return self.term.fold.design


class PartitionedModel(LinearModel):
    """A linear model on rows that are elsewhere."""

    judged_alike = False  # z of a row is nowhere kept, so nothing of it is shared

    def __init__(self, fold: PartitionedFold, penalty: Penalty) -> None:
        ledger = fold.design.ledger
        super().__init__(PartitionedTerm(fold, False), PartitionedTerm(fold, True), penalty, ledger)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> PartitionedModel:
        assert isinstance(self.penalty, Ridge)
        design: PartitionedDesign = self.train.far.of_targets(targets)
        intercepts = design.predictor.size - design.predictor.slopes
        penalty = self.penalty.of_targets(self.groups, targets, intercepts)
        return PartitionedModel(PartitionedFold(design), penalty)

    def floor(self, point: Any) -> Array | None:
        """As where rows are here, with the diagonal of ∇² for the curvature: one read."""
        assert isinstance(self.penalty, Ridge)
        floor, free, slopes = point.penalty.alpha.copy(), self.penalty.unpenalised, self.groups.size
        if free.size:
            diagonal = point.train.diagonal
            floor[free[free < slopes]] = np.mean(diagonal[:slopes])
            floor[free[free >= slopes]] = diagonal[free[free >= slopes]]
        return floor if np.all(floor > 0) else None

    def bound(self, point: Any, q: Array, r: Array) -> float:
        raise InvalidInput(
            "certificate='bound' needs the rows at hand, and these are elsewhere: use 'estimate'."
        )


def partitioned_models(design: PartitionedDesign, penalties: list[Penalty]) -> list[LinearModel]:
    """One for each fold."""
    models: list[LinearModel] = []
    for k, penalty in enumerate(penalties):
        alone = design.of_folds(design.train[k : k + 1], design.test[k : k + 1])
        models.append(PartitionedModel(PartitionedFold(alone), penalty))
    return models


def _charged_by_blocks(*_: Any) -> None:
    """What a far term costs is counted where its sums are asked for."""


def near_models(design: PartitionedDesign, models: Sequence[LinearModel]) -> list[LinearModel]:
    """The same folds on the rows at hand, with the weights that these have."""
    few = design.at_hand(1.0)
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
