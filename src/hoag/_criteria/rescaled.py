"""A criterion whose x is in other units than its model's: x = scale·x′.

A ridge penalty ½e^λ Σⱼ wⱼxⱼ² treats all directions of x′ = √w·x alike, and criteria that need that
(small spaces, the span of few rows) see the model in x′.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Solve
from hoag._criteria.base import Criterion
from hoag._criteria.wrapped import Wrapped
from hoag._glm.model import LinearModel
from hoag._glm.penalties import Ridge
from hoag._glm.scaled_rows import ScaledRows
from hoag._glm.term import Predictor
from hoag.problems import Problem


class Rescaled(Wrapped):
    """f of a criterion in x′, with x as its model has it."""

    same_x = False

    def __init__(self, inner: Criterion, scale: Array) -> None:
        super().__init__(inner)
        self.scale = scale

    @property
    def lam0(self) -> Array:
        return self.inner.lam0

    def _around(self, inner: Criterion) -> Self:
        return type(self)(inner, self.scale)

    def _seen(self, lam: Array, found: Evaluation) -> Evaluation:
        x, t = found.x, found.tangents
        return replace(
            found,
            x=None if x is None else self.scale * x,
            tangents=None if t is None else self.scale[:, None] * t,
        )

    def solution(self, found: Evaluation) -> tuple[Any, Cost]:
        x, cost = super().solution(found)
        return self.scale * x, cost

    def _refit(
        self, problem: Problem, parts: Sequence[Evaluation], tol: float
    ) -> tuple[Solve, Cost]:
        """By what would be chosen for this problem alone: folds have other columns."""
        from hoag._criteria.select import plan  # which knows all criteria

        return plan(problem)._refit(problem, [replace(part, warm=None) for part in parts], tol)


def unweighted(model: LinearModel) -> tuple[LinearModel, Array]:
    """The model in x′, on the same rows with columns scaled, and x = scale·x′."""
    penalty, design = model.penalty, model.train.design
    assert isinstance(penalty, Ridge)
    weights = penalty.weights[: design.slopes].reshape(design.features, design.outputs)
    scale = 1.0 / np.sqrt(weights[:, 0])

    def turned(own: Predictor) -> Predictor:
        return own.on(ScaledRows(own.rows, scale))

    train = turned(design)
    test = train if model.test.design is design else turned(model.test.design)
    terms = model.train.seen_by(train), model.test.seen_by(test)
    every = np.append(np.repeat(scale, design.outputs), np.ones(design.size - design.slopes))
    return LinearModel(*terms, penalty.unweighted(), model.ledger), every
