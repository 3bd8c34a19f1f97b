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
from hoag._glm.blocks import Sums
from hoag._glm.far import FarBlocks
from hoag._glm.model import LinearModel
from hoag._glm.moments import Moments
from hoag._glm.penalties import Penalty, Ridge
from hoag._glm.term import DataTerm, DataTermAt
from hoag.problems import Charger, Ledger


@dataclass(eq=False)
class FarFold:
    """One fold of some blocks; what all rows said at the last x is remembered."""

    blocks: FarBlocks
    last: tuple[Array, Sums] | None = field(default=None, repr=False)

    def at(self, x: Array) -> Sums:
        """h, ∇h, g and ∇g by one read."""
        if self.last is None or not np.array_equal(self.last[0], x):
            self.last = (x, self.blocks.sums(x[None]))
        return self.last[1]


class FarTerm(DataTerm):
    """Σᵢ sᵢ loss(yᵢ, zᵢ) over the training rows of a fold, or over those it is judged on."""

    def __init__(self, fold: FarFold, judged: bool) -> None:
        blocks = fold.blocks
        self.fold, self.judged, self.design = fold, judged, blocks.design
        self.loss = blocks.outer if judged else blocks.loss
        self.y, self.charge = np.empty(0), _charged_by_blocks
        self.members = (blocks.test if judged else blocks.train)[0]

    @property
    def far(self) -> FarBlocks:
        return self.fold.blocks

    @property
    def total_weight(self) -> float:
        return float(self.fold.blocks.weights[self.members].sum())

    def at(self, x: Array) -> FarTermAt:
        return FarTermAt(self, x.copy())

    @cached_property
    def constant_gram(self) -> Array:
        nothing = np.zeros(1) if self.design.width == 1 else np.zeros((1, self.design.width))
        curvature = float(self.fold.blocks.loss.at(nothing, nothing).ceiling[0])
        blocks = self.fold.blocks
        every = blocks.moments(np.zeros(self.design.features), np.zeros(self.design.outputs))
        none = Moments.none(self.design.features, self.design.outputs)
        own = reduce(Moments.plus, (every[b] for b in np.flatnonzero(self.members)), none)
        if self.design.Q is None:
            return np.asarray(curvature * own.gram)
        corner = np.array([[own.total]])
        border = own.a[:, None]
        return np.asarray(curvature * np.block([[own.gram, border], [border.T, corner]]))


class FarTermAt(DataTermAt):
    """The term at one x, by sums over all rows."""

    term: FarTerm

    @cached_property
    def value(self) -> float:
        at = self.term.fold.at(self.x)
        return float((at.g if self.term.judged else at.value)[0])

    @cached_property
    def gradient(self) -> Array:
        at = self.term.fold.at(self.x)
        return np.asarray((at.g_x if self.term.judged else at.gradient)[0])

    def curve(self, v: Array) -> Array:
        return np.asarray(self._fit.bends_at(self.x[None]).times(v[None])[0])

    @cached_property
    def hessian(self) -> Array:
        return np.asarray(self._fit.sums(self.x[None], curved=True, valued=False).hessian[0])

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self._fit.diagonals(self.x[None])[0])

    @property
    def _fit(self) -> FarBlocks:
        if self.term.judged:
            raise InvalidInput("How held-out rows bend is not known where rows are elsewhere.")
        return self.term.fold.blocks


class FarModel(LinearModel):
    """A linear model on rows that are elsewhere."""

    judged_alike = False  # z of a row is nowhere kept, so nothing of it is shared

    def __init__(self, fold: FarFold, penalty: Penalty) -> None:
        ledger = fold.blocks.ledger
        super().__init__(FarTerm(fold, False), FarTerm(fold, True), penalty, ledger)

    def of_targets(self, targets: npt.NDArray[np.intp]) -> FarModel:
        assert isinstance(self.penalty, Ridge)
        blocks: FarBlocks = self.train.far.of_targets(targets)
        intercepts = blocks.design.size - blocks.design.slopes
        penalty = self.penalty.of_targets(self.groups, targets, intercepts)
        return FarModel(FarFold(blocks), penalty)

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


def far_models(blocks: FarBlocks, penalties: list[Penalty]) -> list[LinearModel]:
    """One for each fold."""
    models: list[LinearModel] = []
    for k, penalty in enumerate(penalties):
        alone = blocks.of_folds(blocks.train[k : k + 1], blocks.test[k : k + 1])
        models.append(FarModel(FarFold(alone), penalty))
    return models


def _charged_by_blocks(*_: Any) -> None:
    """What a far term costs is counted where its sums are asked for."""


def near_models(blocks: FarBlocks, models: Sequence[LinearModel]) -> list[LinearModel]:
    """The same folds on the rows at hand, with the weights that these have."""
    few = blocks.at_hand(1.0)
    (source,) = few.sources
    found = []
    for k, model in enumerate(models):
        ledger = Ledger()
        inside, outside = (
            source.weights * part[k][source.labels] for part in (blocks.train, blocks.test)
        )
        design = few.design.on(source.rows)
        train = DataTerm(design, few.loss, source.y, inside, Charger(ledger, "passes"))
        test = DataTerm(design, few.outer, source.y, outside, Charger(ledger, "held_out"))
        found.append(LinearModel(train, test, model.penalty, ledger))
    return found
