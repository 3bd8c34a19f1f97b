"""What is known of the problems whose f are asked for, without a word about what is large.

`hoag._criteria.select` reads it, to choose what computes f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np

from hoag._criteria.base import Criterion
from hoag._criteria.curvature.base import Curvature
from hoag._criteria.risks import Risk
from hoag._criteria.separable import Sets, by_columns
from hoag._glm.coupled import CoupledDesign
from hoag._glm.design import RowwiseDesign
from hoag._glm.groups import separable
from hoag._glm.losses import Squared
from hoag._glm.model import LinearModel
from hoag._glm.partitioned import PartitionedDesign
from hoag._glm.penalties import QuadraticPenalty, Ridge
from hoag._glm.span import narrowed, wide_groups
from hoag.inner import InnerSolver
from hoag.linear import LinearSolver
from hoag.problems import Problem


class Described(Protocol):
    """What a table is asked about."""

    @property
    def data(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Question:
    """Problems whose f are added, or one, and how the search goes: the arguments of `plan`."""

    known: Sequence[Criterion | Problem]
    several: bool
    by_steps: bool = False
    certificate: str = "auto"
    inner: InnerSolver | None = None
    linear: LinearSolver | None = None
    n_jobs: int | None = None
    curvature: Curvature | None = None
    risk: Risk | None = None

    @property
    def chosen(self) -> bool:
        """Whether solvers are to be chosen, and were not given."""
        return self.inner is None and self.linear is None

    @cached_property
    def models(self) -> list[LinearModel]:
        """Those problems that are linear models."""
        return [own for own in self.known if isinstance(own, LinearModel)]

    @property
    def model(self) -> LinearModel:
        """The first, for what all folds have in common."""
        return self.models[0]

    # ---- folds of linear models

    @cached_property
    def together(self) -> bool:
        """Whether they are convex linear models, of which one criterion may take all folds."""
        if self.by_steps or not self.chosen or len(self.models) < len(self.known):
            return False
        return all(model.train.convex for model in self.models)

    @property
    def partitioned(self) -> bool:
        """Whether rows are in files, or on workers."""
        return self.together and not self.model.in_memory

    @property
    def partitions(self) -> PartitionedDesign:
        return cast(PartitionedDesign, self.design)

    @cached_property
    def in_own_units(self) -> bool:
        """Whether no basis serves all folds: that of wide groups needs penalties that are alike."""
        if not self.weighted:
            return False
        return bool(wide_groups(self.model, self.partitions.n if self.partitioned else self.rows))

    @property
    def shared(self) -> bool:
        """Whether all folds may be in one criterion."""
        return self.together and not self.in_own_units

    @property
    def by_rows(self) -> bool:
        """The same, for losses that are sums over rows."""
        return self.shared and self.model.train.row_by_row

    @cached_property
    def design(self) -> RowwiseDesign | None:
        """The rows of all folds; None where they have too little in common."""
        return self.model.folded(self.models)

    @cached_property
    def compared(self) -> CoupledDesign | None:
        """The same for losses that compare rows with each other."""
        if not self.shared or self.model.train.row_by_row or not (self.ridge or self.quadratic):
            return None
        return CoupledDesign.of(self.models, self.dual)

    @property
    def has_design(self) -> bool:
        return self.design is not None

    # ---- sizes

    @property
    def folds(self) -> int:
        return len(self.models)

    @property
    def rows(self) -> int:
        """Of all folds, which share them, training or held out."""
        return int(self.model.facts.rows)

    @property
    def outputs(self) -> int:
        return int(self.model.train.design.outputs)

    @property
    def side(self) -> int:
        """Of the matrices that are factored, with one penalty: fewer of coefficients and rows."""
        return int(min(self.model.facts.side, self.rows * self.outputs))

    @cached_property
    def columns(self) -> int:
        """How many are left once wide groups are written in the span of the rows."""
        return narrowed(self.model, self.rows if self.design is None else self.design.n)

    @cached_property
    def compared_columns(self) -> int:
        return narrowed(self.model, self.rows)

    @property
    def dual(self) -> bool:
        """Whether there are more columns than rows, in the span of the rows too."""
        return self.ridge and self.compared_columns > self.rows

    @property
    def products(self) -> float:
        """Of numbers, for the Hessians of all folds at one λ."""
        return self.folds * self.rows * self.side**2

    # ---- penalties

    @property
    def penalties(self) -> int:
        return int(np.size(self.known[0].lam0))

    @cached_property
    def one_penalty(self) -> bool:
        """Whether one λ penalises all slopes, and nothing else does."""
        return all(map(_one_ridge, self.models))

    @cached_property
    def ridge(self) -> bool:
        return all(isinstance(model.penalty, Ridge) for model in self.models)

    @cached_property
    def quadratic(self) -> bool:
        """Whether penalties are xᵀS(λ)x."""
        return all(isinstance(model.penalty, QuadraticPenalty) for model in self.models)

    @cached_property
    def weighted(self) -> bool:
        """Whether folds weigh their ridge penalties each in its own way."""
        return any(isinstance(m.penalty, Ridge) and m.penalty.weighted for m in self.models)

    @property
    def one_would_do(self) -> bool:
        """Whether several penalties reach all slopes, so that one might."""
        return self.together and all(map(one_would_do, self.models))

    # ---- squares

    @cached_property
    def squares(self) -> bool:
        return all(type(model.train.loss) is Squared for model in self.models)

    @cached_property
    def sets(self) -> Sets:
        """Targets that share no λ with the others."""
        return separable(self.model.groups)

    @cached_property
    def banded(self) -> bool:
        """Whether these are ridge regressions, whose targets have bands of columns alike."""
        if not self.ridge or not self.squares:
            return False
        judged = all(type(model.test.loss) is Squared for model in self.models)
        return judged and by_columns(self.model.groups, self.sets)

    # ---- for people

    @property
    def data(self) -> str:
        number = counted(self.penalties, "hyperparameter")
        if not self.models:
            sizes = {own.x0.size for own in self.known if isinstance(own, Problem)}
            each = f" of up to {counted(max(sizes), 'coefficient')}" if sizes else ""
            return f"{counted(len(self.known), 'problem')}{each}, {number}"
        outputs = f" × {self.outputs} outputs" if self.outputs > 1 else ""
        columns = self.model.train.design.features
        folds = counted(self.folds, "fold")
        return f"{folds} of {self.rows} rows × {columns} columns{outputs}, {number}"


@dataclass(frozen=True, eq=False)
class OneFit:
    """A linear model of whose fit on all rows a risk is taken; None where that is not known yet."""

    model: LinearModel
    risk: Risk | None = None

    @property
    def data(self) -> str:
        number = counted(int(np.size(self.model.lam0)), "hyperparameter")
        return f"{self.rows} rows × {self.columns} columns, none held out, {number}"

    @property
    def rows(self) -> int:
        return int(self.model.train.design.n)

    @property
    def columns(self) -> int:
        return int(self.model.train.design.features)

    @property
    def outputs(self) -> int:
        return int(self.model.train.design.outputs)

    @property
    def size(self) -> int:
        return int(self.model.train.design.size)

    @property
    def slopes(self) -> int:
        return int(self.model.train.design.slopes)

    @property
    def narrowed(self) -> int:
        """Slopes that are left in the span of the rows."""
        return narrowed(self.model, self.rows) * self.outputs

    @property
    def squares(self) -> bool:
        return isinstance(self.model.train.loss, Squared)

    @property
    def by_sums(self) -> bool:
        """Whether a few sums over rows, such as Gram matrices, are all that the risk sees."""
        return self.risk is not None and not self.risk.sees_rows


@dataclass(frozen=True)
class LeftOutRows:
    """A ridge regression whose rows are left out one by one.

    one_penalty  all coefficients have one λ
    penalised    every coefficient has a λ
    """

    rows: int
    columns: int
    hyperparameters: int
    one_penalty: bool
    penalised: bool

    @staticmethod
    def of(rows: int, columns: int, penalty: Ridge) -> LeftOutRows:
        one = penalty.isotropic(penalty.groups.size)
        return LeftOutRows(rows, columns, penalty.n_lam, one, bool(np.all(penalty.groups >= 0)))

    @property
    def data(self) -> str:
        number = counted(self.hyperparameters, "hyperparameter")
        return f"{self.rows} rows, each left out once, × {self.columns} columns, {number}"


def _one_ridge(model: LinearModel) -> bool:
    penalty, slopes = model.penalty, model.train.design.slopes
    return isinstance(penalty, Ridge) and penalty.floor == 0.0 and penalty.shared(slopes)


def one_would_do(model: LinearModel) -> bool:
    """Whether several ridge penalties reach all slopes, so that one might."""
    penalty = model.penalty
    if not isinstance(penalty, Ridge) or penalty.n_lam == 1:
        return False
    return bool(np.all(penalty.groups[: model.train.design.slopes] >= 0))


def with_one_penalty(model: LinearModel) -> LinearModel:
    """The same model with one λ for all slopes."""
    penalty = cast(Ridge, model.penalty)
    one = penalty.with_groups(np.minimum(penalty.groups, 0))
    return model.with_penalty(one)


# ---- numbers in sentences


def about(number: float) -> str:
    """22, 4500, 3.1e7, 3e8."""
    if number < 1e5:
        return f"{number:.0f}"
    return f"{number:.1e}".replace("e+0", "e").replace("e+", "e").replace(".0e", "e")


def square(size: int) -> str:
    return f"{size} × {size}"


def counted(number: int, what: str) -> str:
    """1 fold, 5 folds, 5 passes."""
    if number == 1:
        return f"1 {what}"
    return f"{number} {what}es" if what.endswith("s") else f"{number} {what}s"
