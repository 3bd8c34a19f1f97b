"""What the estimators share: reading the data, tuning, reporting."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy.exceptions import DTypePromotionError
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from hoag._core.domain import Box
from hoag._core.errors import InvalidInput, check_given
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Result, Step
from hoag._criteria.base import Criterion, Explanation
from hoag._criteria.select import plan
from hoag._data.engine import Engine
from hoag._glm.fold_rule import FoldRule
from hoag._glm.folds import check_sparse
from hoag.linear_model._beyond import search_beyond
from hoag.linear_model._callbacks import CallbackSupportMixin, Listeners, with_callbacks
from hoag.linear_model._columns import not_a_number
from hoag.linear_model._compatible import Compatible
from hoag.linear_model._interval import interval
from hoag.linear_model._judge import Judge
from hoag.linear_model._names import table
from hoag.linear_model._out_of_core import adopt, is_out_of_core
from hoag.linear_model._parameters import fitted, inherit_docs, parameters
from hoag.linear_model._path import Path, by_score, flat_beyond, one_standard_error, path
from hoag.linear_model._splits import splitter
from hoag.linear_model._task import Grid, Task, translated, warn_about
from hoag.optimize import Auto, Search
from hoag.optimize._asks import ACCURACY
from hoag.optimize._checkpoint import kept, told
from hoag.optimize._fingerprint import Fingerprint, of_fit

# criterion_at solves for f to this share of itself.
TIGHT = 1e-9

# Parameters that may be arrays, or lists of numbers; of others NumPy makes no truth value.
MAY_BE_ARRAYS = {"Cs", "alpha", "alphas", "bounds", "cv", "gamma", "l1_ratios", "penalties"}

# Parameters that change nothing of the way that a search goes, but when it ends and who is told.
_NO_MATTER = (
    *("callback", "checkpoint", "verbose", "n_jobs", "time_budget", "random_state"),
    *("scoring", "select", "rule", "refit"),
)


class OutOfCore(NamedTuple):
    """Out-of-core data, with y and weights, and which rows are held out."""

    rows: Engine
    splits: FoldRule


class Data(NamedTuple):
    """What fit was given, as it is read: rows, their weights, splits, and the model's own.

    Out-of-core data are `partitions`, and there is nothing in the others.
    """

    X: Any
    y: Any
    weights: Array
    splits: Any
    given: dict[str, Any]
    partitions: OutOfCore | None = None


@parameters
class SearchParameters(BaseEstimator):  # type: ignore[misc]
    """How λ is searched for, judged and told."""

    cv: Any = None
    scoring: Any = None
    rule: Literal["best", "1se"] = "best"
    search: Search | None = None
    bounds: Literal["auto"] | tuple[Any, Any] | Box = "auto"
    tol: float = 1e-4
    max_iter: int = 100
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    callback: Callable[[Step], Any] | None = None
    checkpoint: Any = None
    time_budget: float | None = None

    lam_: Array = fitted()
    lam_interval_: Array = fitted()
    criterion_: float = fitted()
    penalties_: npt.NDArray[Any] = fitted()
    result_: Result = fitted()
    n_iter_: Any = fitted()
    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[Any] = fitted()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherit_docs(cls)


@parameters
class TunedEstimator(Compatible, CallbackSupportMixin, SearchParameters):  # type: ignore[misc]
    """fit: make a criterion of the data, minimise it over λ, fit the model at the best λ.

    A subclass says what its model is: `_read` checks the data, `_task` makes the criterion.
    """

    select: Literal["criterion", "scoring"] = "criterion"
    refit: bool = True
    certificate: Literal["auto", "none", "estimate", "bound"] = "auto"

    lam_min_: Array = fitted()
    refit_cost_: Cost = fitted()

    # The words that cv may be, for criteria that hold out no rows; see hoag.without_folds.
    _words: ClassVar[tuple[str, ...]] = ()

    # Whether a classifier makes probabilities of its decision values, by `_probabilities`.
    _probable: ClassVar[bool] = False

    # What is tuned, by scikit-learn's name.
    _called: ClassVar[str] = "alpha"

    # Who computed the loss in the last fit, and why.
    _chosen: Explanation | None = fitted()

    # What held-out rows are judged by, where there is no choice of a criterion.
    _loss: ClassVar[str] = ""

    # Arguments of fit, with a number for each row, that are the model's and not the splitter's.
    _of_rows: ClassVar[tuple[str, ...]] = ()

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Tune the penalties and fit the model; `groups` for the splitter go in params."""
        return self._tune(X, y, sample_weight, params)

    def _tune(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        self._check_parameters()
        earlier = ("scores_", "refit_cost_", "dof_", "shrink_")
        for name in (*earlier, *self._missing):  # of an earlier fit
            self.__dict__.pop(name, None)
        check_given(**params)
        engine = adopt(X, y, sample_weight)
        if engine is not None:
            task, passes, rule = self._out_of_core_task(engine, params)
            data = Data(None, None, np.empty(0), (), {}, OutOfCore(engine, rule))
            return self._tuned(task, data, {}, Cost(reads=passes))
        X, y = self._read(X, y)
        if self._scoring is not None:
            self._scorer()  # a wrong name is an error before the work, not after it
        weights = _row_weights(sample_weight, X)
        given, params = self._given(params)
        splits, scoring_params = self._splits(X, y, sample_weight, params)
        data = Data(X, y, weights, splits, given)
        return self._tuned(self._task_on(data), data, scoring_params)

    def _tuned(
        self, task: Task, data: Data, scoring_params: dict[str, Any], before: Cost | None = None
    ) -> Self:
        """Search, choose, fit, report; `before` is what the first pass has cost."""
        self._chosen = task.criterion.chosen
        X, y, weights, splits, given, _ = data
        search = self._search()
        listeners = Listeners(
            self,
            {"X": X, "y": y},
            search.most_steps,
            lambda step: (
                self._named(step.lam) | task.averaged(task.criterion.solution(step.evaluation)[0])
            ),
        )

        def on_step(step: Step) -> bool:
            return listeners.on_step(step, translated(step, task))

        with self._threads(splits):
            try:
                with kept(self.checkpoint, lambda: self._fingerprint(data, search)) as file:
                    task, result = self._searched(task, search, data, on_step)
                    result = told(file, result)
            except BaseException as error:
                if isinstance(error.__dict__.get("result"), Result):
                    error.result = translated(error.result, task)  # type: ignore[attr-defined]
                raise
            finally:
                listeners.close()
            self.n_iter_, self.lam_min_ = len(result.trace), result.lam
            judge = Judge(self, X, y, weights, splits, task, scoring_params, given)
            least, (result, chosen, scored) = result, self._ruled(judge, result)
            result, fitted = self._closed(task, result, chosen)
        result = replace(result, cost=result.cost + (before or Cost()))
        self.result_ = translated(result, task)
        self.lam_, self.criterion_ = self.result_.lam, self.result_.value
        for name, value in fitted.items():
            setattr(self, name, value)
        names = self._lam_names()
        status = self.result_.status
        if X is not None and self.refit:
            status = status.noted(self._run_away(X, y))
        self.result_ = replace(self.result_, names=tuple(names), status=status)
        plateaus = vars(self).get("plateaus_", "")
        self.penalties_ = table(names, self.lam_, self.lam_interval_, plateaus)
        for name, value in (scored | self._judged(judge, result)).items():
            setattr(self, name, value)
        listeners.finish(fitted)
        bounded = not isinstance(self.bounds, str)
        what = "criterion" if self._scores_one_fit else "held-out loss"
        warn_about(task, least, self._grids(), bounded, names, what)
        return self

    def _out_of_core_task(
        self, engine: Engine, params: dict[str, Any]
    ) -> tuple[Task, float, FoldRule]:
        """What is searched on out-of-core data, the passes that took, and who is held out."""
        raise _in_memory(self)

    def _fingerprint(self, data: Data, search: Search) -> Fingerprint:
        """What a checkpoint is known again by: the data, and what decides how λ is searched for."""
        settings = self.get_params(deep=False)
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        own = {name: value for name, value in settings.items() if name not in (*_NO_MATTER, "cv")}
        own |= {"search": None if self.search is None else search}
        given = {"X": data.X, "y": data.y, "weights": data.weights, **data.given}
        splits = data.splits
        if data.partitions is not None:
            given, splits = {"rows": data.partitions.rows}, data.partitions.splits
        return of_fit(kind, given, splits, self.cv, own)

    def _task_on(self, data: Data) -> Task:
        task: Task = self._task(data.X, data.y, data.weights, data.splits, **data.given)
        return task

    def _searched(
        self, task: Task, search: Search, data: Data, on_step: Any
    ) -> tuple[Task, Result]:
        """What the search found, and the task with what it minimised."""
        criterion, how = task.criterion, {"on_step": on_step, "certificate": self.certificate}
        found = search.minimize(criterion, task.box, task.start, **how)
        own = self._own_bounds(task)
        box, found = search_beyond(search, criterion, task.box, found, own, self.tol, **how)
        return replace(task, box=box), found

    def _own_bounds(self, task: Task) -> npt.NDArray[np.bool_]:
        """Which λ have bounds that were made from the data, and not given."""
        own = np.full(task.box.size, isinstance(self.bounds, str))
        for grid in self._grids():
            own[grid.part] = False
        if task.groups is not None:  # side information moves within the penalties' own box
            own &= task.stronger > 0
        return own

    def _ruled(self, judge: Judge, result: Result) -> tuple[Result, Evaluation, dict[str, Any]]:
        """The result, told what the rule did; the evaluation that it chooses; and scores."""
        start, chosen, cost = time.perf_counter(), result.evaluation, Cost()
        scored: dict[str, Any] = {}
        if self.select == "scoring":
            chosen, status, cost, cv_results = by_score(judge, result)
            result, scored = replace(result, status=status), {"cv_results_": cv_results}
        elif self.rule == "1se":
            chosen, status, cost = one_standard_error(judge.task, result)
            result = replace(result, status=status)
        seconds = result.seconds + time.perf_counter() - start
        return replace(result, cost=result.cost + cost, seconds=seconds), chosen, scored

    def _closed(
        self, task: Task, result: Result, chosen: Evaluation
    ) -> tuple[Result, dict[str, Any]]:
        """What comes after the search, counted: the interval, while there is time, and the refit.

        The interval is about the least; the fit, and what is reported, where the rule chose. Also
        the fitted attributes.
        """
        start, spent, best = time.perf_counter(), Cost(), result.evaluation
        self.lam_interval_ = np.full((best.lam.size, 2), np.nan)
        late = self._no_time_left(result)
        if not late:
            eps = result.trace[-1].eps
            self.lam_interval_, spent = interval(task.criterion, task.box, best, eps, self.tol)
            if self.rule == "best" and self.select == "criterion":
                late, looked = flat_beyond(task, best, self.lam_interval_, self.tol)
                spent = spent + looked
        status = result.status.noted(late)
        result = replace(result, evaluation=chosen, status=status)
        fitted = self._named(result.lam)
        if self.refit:
            made, self.refit_cost_ = task.refit(result)
            fitted, spent = fitted | made, spent + self.refit_cost_
        else:
            fitted |= task.averaged(task.criterion.solution(chosen)[0])
        seconds = result.seconds + time.perf_counter() - start
        return replace(result, cost=result.cost + spent, seconds=seconds), fitted

    def _run_away(self, X: Any, y: Any) -> str:
        """Which coefficients only the penalty holds, as a sentence."""
        return ""

    def _no_time_left(self, result: Result) -> str:
        """Why the interval is left out, as a sentence; "" where there is time for it."""
        none = "There was no time for lam_interval_."
        late = self.time_budget is not None and result.seconds >= self.time_budget
        if result.status.reason == "interrupted" or (late and not result.status.converged):
            return none
        return f"The time budget of {self.time_budget:g} s is used up. {none}" if late else ""

    def _threads(self, splits: Any) -> AbstractContextManager[Any]:
        """How many of them BLAS may use while λ is searched for."""
        return nullcontext()

    def _named(self, lam: Array) -> dict[str, Any]:
        """λ by the names that scikit-learn has for it: alpha_, C_, gamma_."""
        raise NotImplementedError

    def _lam_names(self) -> list[str]:
        """What each hyperparameter is called, in tables and pictures."""
        return [f"λ[{j}]" for j in range(self.lam_.size)]

    def _lam_of_features(self) -> Array:
        """Those λ that belong to features, where such there are."""
        return np.asarray(self.lam_)

    def criterion_at(
        self, lam: Any, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
    ) -> float:
        """The criterion at another λ, solved tightly: the mean held-out loss on these data.

        Give sample_weight and groups as they were given to fit.
        """
        task = self._task_of(X, y, sample_weight, params)
        found = task.criterion.value(np.atleast_1d(np.asarray(lam, dtype=float)), TIGHT)
        return float(task.told(task.criterion.verify(found, TIGHT * abs(found.value)).value))

    def path(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        around: float = 4.0,
        points: int = 25,
        **params: Any,
    ) -> Path:
        """The criterion where all penalties are moved together, at places from −around to around.

        Every place is solved for and settled: see hoag.linear_model.Path. Give the data, the
        weights and groups as they were given to fit.
        """
        check_is_fitted(self)
        if points < 3 or not around > 0:
            raise InvalidInput(
                f"around={around}, points={points}: give a width above 0 and three points or more."
            )
        task = self._task_of(X, y, sample_weight, params)
        begin = task.criterion.value(self.lam_, ACCURACY * abs(self.criterion_) / task.per_row)
        return path(task, begin, np.linspace(-around, around, points))

    def _task_of(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Task:
        """What `fit` would search, for data that are given again."""
        reader = clone(self)
        engine = adopt(X, y, sample_weight)
        if engine is not None:
            found: Task = reader._out_of_core_task(engine, params)[0]
            return found
        X, y = reader._read(X, y)
        if X.shape[1] != vars(self).get("n_features_in_", X.shape[1]):
            raise InvalidInput(
                f"X has {X.shape[1]} features, and the model was fitted on {self.n_features_in_}."
            )
        weights = _row_weights(sample_weight, X)
        given, params = reader._given(params)
        splits, _ = reader._splits(X, y, sample_weight, params)
        task: Task = reader._task(X, y, weights, splits, **given)
        return task

    def _chosen_for(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> Explanation | None:
        """What would compute the loss if these were fitted."""
        clone(self)._check_parameters()
        return self._task_of(X, y, sample_weight, params).criterion.chosen

    def _given(self, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments of fit that are the model's own, where they are given, and the others."""
        own = {name: params[name] for name in self._of_rows if params.get(name) is not None}
        return own, {name: value for name, value in params.items() if name not in self._of_rows}

    def _facing(self, X: Any, given: dict[str, Any]) -> Any:
        """What a scorer is handed for some rows: this model, or what it says of them.

        `given` are the arguments that the model has for these rows.
        """
        return self

    def _judged(self, judge: Judge, result: Result) -> dict[str, Any]:
        """Attributes that say how good the best λ is, beside its criterion."""
        if self._scoring is None:
            return {}
        return {"scores_": judge.scores(result.lam, result.x)}

    @property
    def _scoring(self) -> Any:
        """As given; scikit-learn 1.9 has a word for not given."""
        return None if isinstance(self.scoring, str) and self.scoring == "warn" else self.scoring

    def _scorer(self) -> Any:
        scoring = self._scoring
        if isinstance(scoring, tuple):
            scoring = list(scoring)
        return check_scoring(self, scoring=scoring)

    def _splits(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The splits of the rows, and what the scorers are called with."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **weight, **params)
            splitting = routed.splitter.split
            scoring = routed.scorer.score if self._scoring is not None else {}
        else:
            unknown = set(params) - {"groups"}
            if unknown:
                raise TypeError(
                    f"{type(self).__name__}.fit got {sorted(unknown)}: without metadata routing it "
                    f"takes {', '.join(['X', 'y', 'sample_weight', *self._of_rows])} and groups. "
                    "Switch routing on with "
                    "sklearn.set_config(enable_metadata_routing=True)."
                )
            splitting, scoring = params, weight
        if self._closed_form():
            return None, scoring
        y, stratified = self._split_by(y)
        cv = splitter(self.cv, y, stratified)
        return _checked_splits(cv.split(X, y, **splitting), X.shape[0]), scoring

    def _split_by(self, y: Any) -> tuple[Any, bool]:
        """What splitters see of y, and whether a number of folds is stratified by it."""
        return y, is_classifier(self)

    @property
    def _scores_one_fit(self) -> bool:
        """Whether the criterion is a score of one fit, and no row is held out, or left out."""
        return isinstance(self.cv, str) and self.cv not in ("alo", "loo")

    def _closed_form(self) -> bool:
        """Whether the criterion needs no splits."""
        return isinstance(self.cv, str)

    def _check_word(self) -> None:
        """Whether cv is a word that says something here, and what else is asked goes with it."""
        if not isinstance(self.cv, str):
            return
        if self.cv == "loo" and self.cv not in self._words and "alo" in self._words:
            raise InvalidInput(
                "cv='loo': leave-one-out has no closed form for this loss. Use cv='alo', which "
                "approximates it by one fit, or cv=sklearn.model_selection.LeaveOneOut(), which "
                "fits a model for each row."
            )
        if self.cv not in self._words:
            known = "".join(f"{word!r}, " for word in self._words)
            raise InvalidInput(
                f"cv={self.cv!r}: use {known}a number of folds, a splitter or an iterable of "
                "(train, test) rows."
            )

    def get_metadata_routing(self) -> Any:
        router = MetadataRouter(owner=self).add_self_request(self)
        # A number or an iterable stands for a splitter that asks for nothing.
        router.add(
            splitter=self.cv
            if isinstance(self.cv, _Splitter) and not isinstance(self.cv, str)
            else check_cv(),
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )
        if self._scoring is not None:
            mapping = MethodMapping().add(caller="fit", callee="score")
            router.add(scorer=self._scorer(), method_mapping=self._scored_by(mapping))
        return router

    def _scored_by(self, mapping: MethodMapping) -> MethodMapping:
        """Which methods call the scorer, beside fit."""
        return mapping

    def _search(self) -> Search:
        """The search that was given, with the seed that was given, or the default one."""
        if self.search is None:
            return Auto(self.tol, self.max_iter, self.time_budget)
        if not isinstance(self.search, Search):
            raise InvalidInput(
                f"search={self.search!r}: give an instance, such as hoag.optimize.Hoag()."
            )
        if self.random_state is None:
            return self.search
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return self.search.seeded(int(seed))

    def _plan(self, problems: Any) -> Criterion:
        """How the folds are evaluated."""
        search = self._search()
        return plan(
            problems, by_steps=search.by_steps, certificate=self.certificate, n_jobs=self.n_jobs
        )

    def _box(self, auto: Box, start: Array) -> tuple[Box, Array]:
        """The bounds that the user gave, or those from the data."""
        bounds, grids = self.bounds, self._grids()
        if grids:
            if not (isinstance(bounds, str) and bounds == "auto"):
                names = " and ".join(grid.name for grid in grids)
                raise InvalidInput(
                    f"Both {names} and bounds are given, and both say where to look: leave one out."
                )
            lower, upper = auto.lower.copy(), auto.upper.copy()
            for grid in grids:
                lower[grid.part], upper[grid.part] = grid.lam.min(), grid.lam.max()
            box = Box(lower, upper)
            return box, box.project(start)
        if isinstance(bounds, str):
            if bounds != "auto":
                raise InvalidInput(f"bounds={bounds!r}: use 'auto' or a pair (lower, upper).")
            return auto, start
        box = Box.of(bounds, auto.size)
        largest = float(np.log(np.finfo(float).max))
        if max(-float(box.lower.min()), float(box.upper.max())) > largest:
            raise InvalidInput(
                f"bounds={bounds!r}: they are logs of penalties, and exp(±{largest:.0f}) is the "
                "most that a number holds."
            )
        return box, box.project(start)

    def _grids(self) -> list[Grid]:
        """What was given in scikit-learn's manner, and becomes bounds."""
        return []

    def _check_parameters(self) -> None:
        given = self.get_params(deep=False)
        for name, value in given.items():
            if isinstance(value, np.ndarray) and value.ndim and name not in MAY_BE_ARRAYS:
                raise InvalidInput(f"{name}={value!r}: give one value, and not an array of them.")
        self._check_compatible(given)
        self._check_word()
        if not (isinstance(self.tol, Real) and float(self.tol) > 0):
            raise InvalidInput(f"tol={self.tol!r}: give a positive number, such as 1e-4.")
        if not (isinstance(self.max_iter, Integral) and int(self.max_iter) >= 1):
            raise InvalidInput(f"max_iter={self.max_iter!r}: give a whole number, at least one.")
        budget = self.time_budget
        if budget is not None and not (isinstance(budget, Real) and float(budget) >= 0):
            raise InvalidInput(f"time_budget={budget!r}: give seconds, or None.")
        if self.rule not in ("best", "1se"):
            raise InvalidInput(f"rule={self.rule!r}: use 'best' or '1se'.")
        if self.select not in ("criterion", "scoring"):
            raise InvalidInput(f"select={self.select!r}: use 'criterion' or 'scoring'.")
        one = isinstance(self._scoring, str) or callable(self._scoring)
        if self.select == "scoring" and not (one and self.rule == "best"):
            raise InvalidInput(
                "select='scoring' needs one scorer, such as scoring='roc_auc', and rule='best': "
                "what it selects is the best score."
            )
        if self.callback is not None and not callable(self.callback):
            raise InvalidInput(f"callback={self.callback!r} is not callable.")

    def _validate(self, X: Any, y: Any = "no_validation", **options: Any) -> Any:
        if is_out_of_core(X):
            raise _in_memory(self)
        check_given(X=X)
        X = check_sparse(X, "X")
        try:
            return validate_data(
                self, X, y, accept_sparse="csr", dtype=np.float64, order="C", **options
            )
        except (ValueError, DTypePromotionError) as error:
            found = not_a_number(X)
            if found is None:
                raise
            raise InvalidInput(
                f"X has {found[1]!r} in {found[0]}, and models take numbers: encode categories in "
                "a pipeline, for instance by sklearn.preprocessing.OneHotEncoder, and give times "
                "as numbers."
            ) from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _in_memory(estimator: Any) -> InvalidInput:
    return InvalidInput(
        f"{type(estimator).__name__} needs its rows in memory: give X as an array, a frame or a "
        "sparse matrix."
    )


def _row_weights(sample_weight: Any, X: Any) -> Array:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if np.any(weights < 0):
        raise InvalidInput("sample_weight must not be negative.")
    if not np.any(weights > 0):
        raise InvalidInput("sample_weight is zero for every row: there is nothing to fit.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 1e-300 < total < 1e300:
        raise InvalidInput("sample_weight is too large or too small to add up: rescale it.")
    return np.asarray(weights)


def _checked_splits(splits: Any, n: int) -> list[tuple[Any, Any]]:
    """The splits as row numbers."""
    checked = []
    for k, (train, test) in enumerate(splits, start=1):
        try:
            parts = tuple(
                np.arange(n)[rows if rows.size else slice(0)]
                for rows in map(np.asarray, (train, test))
            )
        except IndexError:
            raise InvalidInput(
                f"Split {k} of cv names rows that X, of {n} rows, has not."
            ) from None
        if parts[0].size == 0:
            raise InvalidInput(f"Split {k} of cv has no training rows.")
        checked.append((parts[0], parts[1]))
    return checked


@runtime_checkable
class _Splitter(Protocol):
    """What scikit-learn takes for a splitter; a str has a split, too."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any: ...


def with_features(model: Any, estimator: Any) -> Any:
    model.n_features_in_ = estimator.n_features_in_
    if "feature_names_in_" in vars(estimator):
        model.feature_names_in_ = estimator.feature_names_in_
    return model
