"""What the linear estimators share: folds, solvers, coefficients."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from hoag._core.domain import Box
from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Result
from hoag._criteria.base import REFIT_TOL, Criterion
from hoag._criteria.wrapped import Loads
from hoag._data.engine import Engine
from hoag._glm.fold_rule import FoldRule
from hoag._glm.folds import linear_folds
from hoag._glm.model import LinearModel
from hoag._glm.targets import Target
from hoag.linear_model._base import Data, TunedEstimator
from hoag.linear_model._column import ArrayColumn, Column, PartitionedColumn
from hoag.linear_model._names import numbered
from hoag.linear_model._out_of_core import adopt, predicted
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._partition_units import first_pass, rule_of
from hoag.linear_model._plateaus import plateaus
from hoag.linear_model._reading import Reading
from hoag.linear_model._scored import scored_task
from hoag.linear_model._sharing import Groups, Moved, Quadratics, Shares, Structure
from hoag.linear_model._shrinkage import Part, Shared, Shrinkage, check_shrink, put_aside
from hoag.linear_model._task import LEVEL, Grid, Task, warn_refit
from hoag.linear_model._units import Units, units, warn_hidden
from hoag.optimize import Auto, Search
from hoag.optimize._auto import check_starts

# Words for the coefficients that share a penalty; others are of the outputs.
Sharing = Literal["shared", "per-feature", "per-coefficient"]


# The models of all folds, and what makes that of all rows.
Made = tuple[list[LinearModel], Callable[[], LinearModel]]


@parameters
class LinearEstimator(TunedEstimator):
    """A linear model: coef_, intercept_ and the linear predictor."""

    penalties: Any = "shared"
    shrink: float | Literal["auto"] | None = None
    standardize: bool = False
    starts: int | Literal["auto"] = "auto"

    coef_: Array = fitted()
    intercept_: Any = fitted()
    alpha_: Any = fitted()
    plateaus_: npt.NDArray[np.str_] = fitted()
    dof_: float = fitted()
    shrink_: float = fitted()

    _words: ClassVar[tuple[str, ...]] = ("alo", "gcv", "aic", "bic", "reml")
    _left_out_words: ClassVar[tuple[str, ...]] = ("alo",)  # those that predict rows they leave out

    # What the loss is multiplied by to be that of y as it was given, not in units of its own.
    _loss_unit: float = field(default=1.0, init=False)

    # The way from what was moved to λ, where a search does not move λ itself.
    _loads: Loads | None = field(default=None, init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_starts(self.starts)
        check_shrink(self.shrink)
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise InvalidInput(f"standardize={self.standardize!r}: use True or False.")
        if self.standardize and isinstance(self.penalties, Quadratics):
            raise InvalidInput(
                "standardize=True is for penalties on single coefficients, and the matrices of "
                "hoag.penalties.quadratic are for columns as they are: leave one of the two out."
            )
        if self.search is not None and self.starts not in (1, "auto"):
            raise InvalidInput(
                f"Both search and starts={self.starts} are given, and starts is for the default "
                "search: give one of the two, such as search=hoag.optimize.Auto(starts=4)."
            )

    def _search(self) -> Search:
        if self.search is None:
            return Auto(self.tol, self.max_iter, self.time_budget, self.starts)
        return super()._search()

    def _searched(
        self, task: Task, search: Search, data: Data, on_step: Any
    ) -> tuple[Task, Result]:
        if self.shrink is None:
            return super()._searched(task, search, data, on_step)
        if self._loads is not None:
            raise InvalidInput(
                "shrink is for penalties of their own, and from_features tunes a few numbers in "
                "their place: leave one of the two out."
            )
        if task.box.size == 1:
            raise InvalidInput(
                f"shrink={self.shrink!r} draws several penalties to their mean, and there is one: "
                "give penalties='per-feature', or groups, or leave shrink out."
            )
        weights, splits = data.weights, data.splits
        held_out = np.arange(weights.size) if splits is None else _held_out(splits)
        asked = None if self.search is None else search
        limits = (self.tol, self.max_iter, self.time_budget, self.starts, self.certificate)
        rows = int(np.sum(weights[held_out] > 0))
        one = partial(self._with_one, task, search, data)
        task, found, self.shrink_ = Shrinkage(task, rows, asked, *limits, one).run(
            self.shrink, partial(self._put_aside, data, task.box), on_step
        )
        return task, found

    def _with_one(self, task: Task, search: Search, data: Data) -> Shared | None:
        """What one penalty for all that are penalised is tuned to; None where bounds differ."""
        groups = None if task.groups is None else task.groups.groups
        own = not isinstance(self.bounds, str)
        if groups is None or (own and np.ptp([task.box.lower, task.box.upper], axis=1).any()):
            return None
        free = groups.numbers < 0
        if np.any(free.any(axis=1) != free.all(axis=1)):
            return None
        other = copy.copy(self)
        other.shrink, other.penalties = (
            None,
            np.where(free[:, 0], -1, 0) if free.any() else "shared",
        )
        if own:
            other.bounds = (float(task.box.lower[0]), float(task.box.upper[0]))
        alone = other._task_on(data)
        found = search.minimize(alone.criterion, alone.box, alone.start, certificate="none")
        return Shared(np.full(task.box.size, found.lam[0]), found)

    def _put_aside(self, data: Data, box: Box, search: Auto) -> Iterator[Part]:
        """Tasks on some of the rows, each with one that judges on the others."""
        y, stratified = self._split_by(data.y)
        every, other = np.arange(len(y)), copy.copy(self)  # tasks leave notes on their estimator
        for aside, left in put_aside(data.splits, y, stratified):
            others = np.setdiff1d(every, aside)
            if not np.any(data.weights[aside] > 0) or not np.any(data.weights[others] > 0):
                continue
            if left is None:
                weights = np.where(np.isin(every, aside), 0.0, data.weights)
                tuned, count = data._replace(weights=weights), int(np.sum(weights > 0))
            else:
                count = int(np.sum(data.weights[_held_out(left)] > 0)) if left else 0
                tuned = data._replace(splits=left)
            if not count:
                continue
            judged = other._task_on(data._replace(splits=[(others, aside)]))
            yield Part(other._task_on(tuned), judged, box, count, search)

    def _closed(
        self, task: Task, result: Result, chosen: Evaluation
    ) -> tuple[Result, dict[str, Any]]:
        followed = self.starts in (1, "auto") or task.criterion.traits.has_hessian
        if result.lam.size > 1 and not followed:
            warnings.warn(
                f"starts={self.starts} was not followed: there was one start. More are for models "
                "whose second derivatives are cheap, and not for many coefficients.",
                UserWarning,
                stacklevel=LEVEL,
            )
        if task.degrees is not None:
            self.dof_ = task.degrees(chosen)
        groups, best = task.groups, result.evaluation
        result, fitted = super()._closed(task, result, chosen)
        ends = self.lam_interval_
        assert groups is not None
        start, found = time.perf_counter(), (task.criterion, task.box, best, ends, self.tol)
        self.plateaus_, cost = plateaus(groups, fitted["coef_"], *found)
        seconds = result.seconds + time.perf_counter() - start
        return replace(result, cost=result.cost + cost, seconds=seconds), fitted

    def _check_word(self) -> None:
        super()._check_word()
        held_out = self._scoring is not None or self.rule != "best"
        if held_out and isinstance(self.cv, str) and self.cv not in self._left_out_words:
            raise InvalidInput(
                f"scoring and rule='1se' need predictions of held-out rows, and cv={self.cv!r} has "
                f"none: use cv={self._left_out_words[0]!r}, or folds."
            )

    def _on_refit(self, whole: LinearModel, u: Units, target: Target, x: Array, lam: Array) -> None:
        """Told of the fit on all rows, in its own units; for those who ask more of it."""

    def _reading(self, column: Column) -> Reading:
        """How y is read."""
        raise NotImplementedError

    def _task(self, X: Any, y: Any, weights: Array, splits: Any) -> Task:
        return self._task_by(self._reading(ArrayColumn(y, weights)), X, y, weights, splits)

    def _task_by(self, reading: Reading, X: Any, y: Any, weights: Array, splits: Any) -> Task:
        """For rows in memory."""
        u = self._units(reading, X, y, weights)
        return self._linear_task(u, reading.target(y), splits, reading.curvature)

    def _units(self, reading: Reading, X: Any, y: Any, weights: Array) -> Units:
        """X in the library's units; the weights of classes do not count in spreads of columns."""
        by = weights if self.standardize else None
        return reading.units(units(X, reading.weights(y, weights), reading.centre, by))

    def _out_of_core_task(
        self, engine: Engine, params: dict[str, Any]
    ) -> tuple[Task, float, FoldRule]:
        column = PartitionedColumn.of(engine, is_classifier(self))
        self._know_partitions(engine, column)
        self._check_out_of_core(params)
        reading = self._reading(column)
        stratified = self._split_by(column.nothing)[1]
        rule = rule_of(self.cv, column, stratified, params.get("groups"))
        about = (reading.target, reading.weigh, reading.centre, self.standardize)
        data = first_pass(engine, column, rule, *about)
        u = reading.units(data.units)

        def folds(shares: Shares) -> Made:
            return data.folds(shares.penalties, u.log_shift)

        task = self._folds_task(u, data.target, reading.curvature, folds)
        return task, data.passes, rule

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        """What `_read` keeps of the data, for partitions."""
        self.n_features_in_ = engine.features
        self.__dict__.pop("feature_names_in_", None)
        if engine.names is not None:
            self.feature_names_in_ = np.asarray(engine.names, dtype=object)

    def _check_out_of_core(self, params: dict[str, Any]) -> None:
        """Refuse what needs the rows in memory."""
        given = sorted(name for name, value in params.items() if value is not None)
        for wrong, asked, instead in (
            (self._closed_form(), f"cv={self.cv!r}", "give a number of folds, such as cv=5"),
            (self._scoring is not None, "scoring", "score the fitted model on rows you hold"),
            (self.shrink is not None, "shrink", "leave it out"),
            (isinstance(self.penalties, Structure), "penalties of forms", "give groups"),
            (bool(set(given) - {"groups"}), f"fit(..., {', '.join(given)}=)", "leave it out"),
        ):
            if wrong:
                raise InvalidInput(
                    f"{asked} needs the rows in memory, and this is out-of-core data: {instead}."
                )

    def _from_predictor(self, z: Array) -> Array:
        """What `predict`, or of a classifier `decision_function`, makes of aᵀw + b."""
        return z

    def _linear_task(self, u: Units, target: Target, splits: Any, curvature: float) -> Task:
        """The folds of a linear model; `curvature` is that of its loss at z = 0, about."""
        if splits is None:
            return scored_task(self, u, target, curvature)

        def folds(shares: Shares) -> Made:
            options = (u.weights, shares.penalties, u.log_shift)
            rows = np.arange(u.weights.size)

            def whole() -> LinearModel:  # whose spreads the units have
                return linear_folds(u.rows, target, [(rows, rows[:0])], *options)[0]

            return linear_folds(u.rows, target, splits, *options, u.standard), whole

        return self._folds_task(u, target, curvature, folds)

    def _folds_task(
        self, u: Units, target: Target, curvature: float, folds: Callable[[Shares], Made]
    ) -> Task:
        """For rows wherever they are: `folds` makes the models of all folds, and of all rows."""
        shares = self._shares(u, target, curvature)
        problems, all_rows = folds(shares)
        moved = self._moved(shares, self._plan(problems), u, curvature)
        judged = np.array([p.test.total_weight for p in problems])
        if not np.any(judged):
            raise InvalidInput("No held-out row of cv has a positive weight and a known class.")

        def models(x: Any) -> list[dict[str, Any]]:
            return [self._attributes(u, target, part) for part in x]

        def refit(result: Result) -> tuple[dict[str, Any], Cost]:
            whole = all_rows()
            solve, cost = moved.criterion.refit(whole, result.evaluation, REFIT_TOL)
            warn_refit(solve)
            self._on_refit(whole, u, target, solve.x, result.lam)
            return self._attributes(u, target, solve.x), cost

        per_row = self._per_row(u, target, float(judged.sum()))

        def lost(x: Any) -> Array:
            """Of every row, in the order of X; more than once held out, the sum."""
            each = [p.test.weights * p.test.at(part).loss.value for p, part in zip(problems, x)]
            return np.asarray(np.sum(each, axis=0))

        about = (per_row, models, refit, judged, moved.stronger)
        test = problems[0].test
        by_row = lost if test.row_by_row and problems[0].in_memory else None
        return Task(moved.criterion, moved.box, moved.start, *about, groups=shares, lost=by_row)

    def _moved(
        self,
        shares: Shares,
        criterion: Criterion,
        u: Units,
        curvature: float,
    ) -> Moved:
        """What a search moves, and within which bounds; the way to λ is kept."""
        box, start = self._box(*shares.box(criterion.traits.least))
        self._warn_hidden(u, curvature, box)
        moved = shares.over(criterion, box, start)
        self._loads = moved.loads
        return moved

    def _warn_hidden(self, u: Units, curvature: float, box: Box) -> None:
        """Where the bounds come from the data: say which columns they hide."""
        given = self._grids() or isinstance(self.penalties, Structure)
        if isinstance(self.bounds, str) and not given:
            warn_hidden(u, curvature, box)

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        """From the criterion to the mean loss of a held-out row, and target."""
        outputs = target.outputs if target.classes is None else 1
        return u.y_scale**2 / judged / outputs

    def _shares(self, u: Units, target: Target, curvature: float) -> Shares:
        """Which coefficients the penalties reach, in the units of the rows."""
        if isinstance(self.penalties, Structure):
            return self.penalties.shares(u, target, curvature)
        return Groups.of(self._penalties(), u, target, curvature)

    def _penalties(self) -> Any:
        """As the models take them: a word, or an array of group numbers."""
        return self._grouped()[0] if isinstance(self.penalties, Mapping) else self.penalties

    def _grouped(self) -> tuple[Any, list[str]]:
        """Group numbers and labels, of penalties by the names of columns."""
        return numbered(
            self.penalties, vars(self).get("feature_names_in_"), int(self.n_features_in_)
        )

    def _lam_names(self) -> list[str]:
        """Of each penalty: its feature, class, target, both, group or label."""
        if isinstance(self.penalties, Structure):
            return list(self.penalties.names)
        size, penalties = self.lam_.size, self._penalties()
        features = [str(name) for name in vars(self).get("feature_names_in_", ())]
        features = features or [f"x{j}" for j in range(self.n_features_in_)]
        outputs = [str(name) for name in vars(self).get("classes_", ())]
        if isinstance(self.penalties, Mapping):
            return self._grouped()[1]
        if size == 1:
            return ["all"]
        if isinstance(penalties, str) and penalties == "per-feature":
            return features
        if isinstance(penalties, str) and penalties == "per-class":
            return outputs if len(outputs) == size else [f"y{k}" for k in range(size)]
        if isinstance(penalties, str):
            count = size // len(features)
            each = outputs if len(outputs) == count else [f"y{k}" for k in range(count)]
            return [f"{name} → {output}" for name in features for output in each]
        return [f"group {j}" for j in range(size)]

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        return {"coef_": coef, "intercept_": intercept}

    def _named(self, lam: Array) -> dict[str, Any]:
        """exp(λ): a number, or an array in the order of the groups, or in the shape of coef_."""
        with np.errstate(over="ignore"):
            alpha = np.exp(lam if self._loads is None else self._loads.lam(lam))
        penalties = self._penalties()
        if isinstance(penalties, str) and penalties == "shared":
            return {"alpha_": float(alpha[0])}
        if isinstance(penalties, str) and penalties == "per-coefficient":
            return {"alpha_": alpha.reshape(self.n_features_in_, -1).T}
        return {"alpha_": alpha}

    def _linear_predictor(self, X: Any) -> Array:
        check_is_fitted(self)
        engine = adopt(X)
        if engine is not None:
            return predicted(engine, self.coef_, self.intercept_)
        X = self._validate(X, reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_)


def _held_out(splits: Any) -> npt.NDArray[np.intp]:
    """The rows that some split holds out."""
    return np.unique(np.concatenate([np.asarray(test, dtype=np.intp) for _, test in splits]))


def check_grid(name: str, grid: Any) -> Array:
    try:
        grid = np.atleast_1d(np.asarray(grid, dtype=float))
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.size == 0 or not np.all(np.isfinite(grid) & (grid > 0)):
        raise InvalidInput(f"{name} must be positive, finite numbers; their range is searched.")
    return np.asarray(grid)


def alpha_grid(name: str, alphas: Any, part: slice = slice(None)) -> list[Grid]:
    """α in scikit-learn's manner, a list or a number; none where it is None."""
    if alphas is None:
        return []
    values = check_grid(name, alphas)
    return [Grid(name, values, np.log(values), part)]
