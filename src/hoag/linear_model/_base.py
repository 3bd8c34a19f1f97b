"""What the estimators share: reading the data, tuning, reporting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from numpy.exceptions import DTypePromotionError
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from hoag._core.deprecated import sentence
from hoag._core.domain import Box
from hoag._core.errors import (
    InvalidDataError,
    InvalidParameterError,
    NotSupportedError,
    check_given,
)
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation, Reason, Result, Status, Step
from hoag._core.warn import warn
from hoag._core.words import CRITERIA, LEFT_OUT, LOSSES, nearest
from hoag._criteria.base import Criterion, Explanation
from hoag._criteria.select import plan
from hoag._data.checks import not_a_number
from hoag._data.engine import Engine
from hoag._data.fold_rule import FoldRule
from hoag._data.out_of_core import adopt, is_out_of_core
from hoag._glm.folds import check_sparse
from hoag.linear_model._accepted import Accepted
from hoag.linear_model._beyond import search_beyond
from hoag.linear_model._callbacks import Listeners
from hoag.linear_model._compat import (
    CallbackSupportMixin,
    _check_sample_weight,
    with_callbacks,
)
from hoag.linear_model._grid import OverGrid, over_grid
from hoag.linear_model._interval import interval
from hoag.linear_model._parameters import fitted, inherit_docs, parameters
from hoag.linear_model._path import (
    Path,
    Walk,
    by_score,
    flat_beyond,
    one_standard_error,
    path,
)
from hoag.linear_model._penalties import table
from hoag.linear_model._scoring import Judge
from hoag.linear_model._splits import asks_for_routing, checked, routed, splitter
from hoag.linear_model._tuning import Attributes, GivenValues, Tuning
from hoag.optimize import Auto, Search
from hoag.optimize._asks import ACCURACY
from hoag.optimize._checkpoint import kept, told
from hoag.optimize._fingerprint import Fingerprint, of_fit

# criterion_at solves for f to this share of itself.
TIGHT = 1e-9

# Statuses that the user asked for: no warning.
ASKED = ("converged", "callback", "finished")

# Parameters that may be arrays, or lists of numbers; of others NumPy makes no truth value.
MAY_BE_ARRAYS = {"Cs", "alpha", "alphas", "bounds", "cv", "gamma", "l1_ratios", "penalties"}

# Parameters that change nothing of the way that a search goes, but when it ends and who is told.
_NO_MATTER = (
    *("callback", "checkpoint", "verbose", "n_jobs", "time_budget", "random_state"),
    *("scoring", "select", "rule", "refit", "starts", "certificate"),  # the search has the last two
)


# scikit-learn's parameters that do nothing here.
IDLE = ("solver", "dual", "intercept_scaling", "gcv_mode", "degree", "coef0", "kernel_params")

# Parameters that are settings of the search now, and what they are where nobody gives them.
DEPRECATED = {"starts": "auto", "time_budget": None, "certificate": "auto"}


class OutOfCore(NamedTuple):
    """Out-of-core data, with y and weights, and which rows are held out."""

    rows: Engine
    splits: FoldRule


@dataclass(frozen=True, eq=False)
class FitData:
    """What fit was given, as it is read: rows, their weights, splits, and the model's own.

    Out-of-core data are `partitions`, and there is nothing in the others. `scoring` is what scorers
    are called with, and `cost` what reading has cost.
    """

    X: Any = None
    y: Any = None
    weights: Array = field(default_factory=lambda: np.empty(0))
    splits: Any = ()
    given: Attributes = field(default_factory=dict)
    scoring: Attributes = field(default_factory=dict)
    partitions: OutOfCore | None = None
    cost: Cost = field(default_factory=Cost)


@parameters
class SearchParameters(BaseEstimator):  # type: ignore[misc]
    """How λ is searched for, judged and reported.

    Parameters
    ----------
    cv : int, splitter, iterable or str, default=None
        Which rows are held out: a number of folds, a splitter of sklearn.model_selection, or pairs
        of training and held-out rows. None is 5 folds, stratified for classes, not shuffled. Or an
        analytic criterion of the fit on all rows, without folds, see
        hoag.criteria.without_folds: "alo", approximate leave-one-out, and "gcv" are in the units of
        held-out losses; "aic" is 2 Σᵢ sᵢ loss + 2 df, "bic" has log(n) df, with weights of mean 1;
        "reml" is −2 log of the likelihood of y with the coefficients integrated out, up to a
        constant.
    scoring : str, callable, list or dict, default=None
        Scorers evaluated on the held-out folds at the best λ, in `scores_`. They do not select,
        unless select="scoring".
    rule : {"best", "1se"}, default="best"
        "1se": the strongest penalties whose criterion is within one standard error over the folds
        of the least, all moved together from there. `lam_min_` keeps the least.
    search : hoag.optimize.Search or "grid", default=None
        How to search, such as hoag.optimize.Auto(starts=4, time_budget=60) or
        hoag.optimize.Hoag(); its own limits then replace tol and max_iter. "grid" is scikit-learn's
        search, for those who come from there: each of Cs or alphas is solved for in every fold, and
        the one with the best mean score is taken, by `scoring`, else as its classes do.
    bounds : "auto", pair (lower, upper) or hoag.Box, default="auto"
        Where λ = log α is searched. "auto" follows the scale of the data.
    tol : float, default=1e-4
        Stop when the criterion can fall by no more than this share of itself.
    max_iter : int, default=100
        The most steps of the search.
    n_jobs : int, default=None
        Folds evaluated at a time, through joblib; threads unless its configuration says otherwise.
    random_state : int or RandomState, default=None
        For searches that draw random numbers; the default one does not.
    verbose : int, default=0
        A progress bar.
    callback : callable, default=None
        Called with every hoag.criteria.Step, in the units of this estimator; return True to stop.
    checkpoint : path, default=None
        A file in which the search is kept while it runs. Killed at any instant, the same fit goes
        on from there, to the same result bit by bit; Ctrl-C ends it with the best so far. A file of
        other data or settings is refused. See the guide.
    time_budget : float, default=None
        Deprecated: give search=hoag.optimize.Auto(time_budget=60).

    Attributes
    ----------
    lam_ : ndarray of shape (n_penalties,)
        The λ that was chosen.
    lam_interval_ : ndarray of shape (n_penalties, 2)
        Between which λ the criterion is within `tol` of its best, one λ at a time; about lam_min_.
        nan where there was no time for it.
    criterion_ : float
        The mean held-out loss at lam_, or the analytic criterion.
    penalties_ : ndarray of records of shape (n_penalties,)
        name, lam, value = exp(λ), lower and upper end of the interval, plateau;
        pandas.DataFrame(penalties_) is a table.
    result_ : hoag.Result
        Trace, status, cost, gradients with their errors; result_.to_frame(), result_.explain().
    n_iter_ : int
        The steps of the search.
    n_features_in_ : int
        The columns of X in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are all strings.
    """

    cv: Any = None
    scoring: Any = None
    rule: Literal["best", "1se"] = "best"
    search: Search | Literal["grid"] | None = None
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
class TunedEstimator(CallbackSupportMixin, SearchParameters):  # type: ignore[misc]
    """fit: make a criterion of the data, minimise it over λ, fit the model at the best λ.

    A subclass says what its model is: `_read` checks the data, `_tuning` makes the criterion.

    Parameters
    ----------
    select : {"criterion", "scoring"}, default="criterion"
        What chooses λ. "scoring": of a fine path around the λ whose criterion is least, all moved
        together, the one with the best mean score; `cv_results_` has the scores.
    refit : bool, default=True
        Fit on all rows at the best λ; else the mean of the folds' models is kept.
    certificate : {"auto", "none", "estimate", "bound"}, default="auto"
        Deprecated: give search=hoag.optimize.Auto(certificate="bound").

    Attributes
    ----------
    lam_min_ : ndarray of shape (n_penalties,)
        λ where the criterion is least; lam_, unless a rule chose.
    scores_ : dict of ndarray of shape (n_folds,)
        With `scoring`, by scorer.
    refit_cost_ : hoag.criteria.Cost
        What the fit on all rows has cost.
    """

    select: Literal["criterion", "scoring"] = "criterion"
    refit: bool = True
    certificate: Literal["auto", "none", "estimate", "bound"] = "auto"

    lam_min_: Array = fitted()
    refit_cost_: Cost = fitted()

    # Who computed the loss in the last fit, and why.
    _chosen: Explanation | None = fitted()

    # The words that cv may be, for analytic criteria; see hoag.criteria.without_folds.
    _words: ClassVar[tuple[str, ...]] = ()

    # What is tuned, by scikit-learn's name.
    _called: ClassVar[str] = "alpha"

    # What held-out rows are judged by, where there is no choice of a criterion.
    _loss: ClassVar[str] = ""

    # Arguments of fit, with a number for each row, that are the model's and not the splitter's.
    _of_rows: ClassVar[tuple[str, ...]] = ()

    # scikit-learn's parameters with values that are refused, and attributes that are not there.
    _accepted: ClassVar[dict[str, Accepted]] = {}
    _missing: ClassVar[dict[str, str]] = {}

    # The link in the HTML box: a section of the page about the estimators.
    _doc_link_module = "hoag"
    _doc_link_template = "docs/estimators.md#{section}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"section": type(self).__name__.lower()}

    def __getattr__(self, name: str) -> Any:
        """Asked for what is not there: an attribute of scikit-learn's has a sentence of its own."""
        kind = type(self)
        instead = f": {kind._missing[name]}" if name in kind._missing else "."
        raise AttributeError(
            f"{kind.__name__!r} object has no attribute {name!r}{instead}", name=name, obj=self
        )

    # ---- fit

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Tune the penalties and fit the model; `groups` for the splitter go in params."""
        return self._tune(X, y, sample_weight, params)

    def _tune(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        """Read, search, choose, fit, report."""
        self._check_parameters()
        self._warn_of_ignored()
        for name in ("scores_", "refit_cost_", "dof_", "shrink_", *self._missing):
            self.__dict__.pop(name, None)  # of an earlier fit
        data, tuning = self._prepare(X, y, sample_weight, params)
        self._chosen, search = tuning.criterion.chosen, self._search()
        listeners = Listeners(
            self,
            {"X": data.X, "y": data.y},
            search.most_steps,
            lambda step: self._named(step.lam) | self._average(tuning, step.evaluation),
        )

        def on_step(step: Step) -> bool:
            return listeners.on_step(step, tuning.step(step))

        with self._threads(data.splits):
            try:
                with kept(self.checkpoint, lambda: self._fingerprint(data, search)) as file:
                    tuning, result = self._searched(tuning, search, data, on_step)
                    result = told(file, result)
            except BaseException as error:
                if isinstance(error.__dict__.get("result"), Result):
                    error.result = tuning.result(error.result)  # type: ignore[attr-defined]
                raise
            finally:
                listeners.close()
            self.n_iter_, self.lam_min_ = len(result.trace), result.lam
            judge = Judge(self, data, tuning)
            least, (result, chosen, scored) = result, self._choose(judge, result)
            result, made = self._finish(tuning, result, chosen)
        result = replace(result, cost=result.cost + data.cost)
        self._report(judge, result, made, scored)
        listeners.finish(made)
        self._warn_of_ends(tuning, least)
        return self

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[FitData, Tuning]:
        """What was given as it is read, and what is searched."""
        check_given(**params)
        engine = adopt(X, y, sample_weight)
        if engine is not None:
            tuning, passes, rule = self._tuning_out_of_core(engine, params)
            return FitData(partitions=OutOfCore(engine, rule), cost=Cost(reads=passes)), tuning
        X, y = self._read(X, y)
        if self._scoring is not None:
            self._scorer()  # a wrong name is an error before the work, not after it
        weights = _row_weights(sample_weight, X)
        own = {name: params[name] for name in self._of_rows if params.get(name) is not None}
        others = {name: value for name, value in params.items() if name not in self._of_rows}
        splits, scoring = self._splits(X, y, sample_weight, others)
        data = FitData(X, y, weights, splits, own, scoring)
        return data, self._tuning_on(data)

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        """X and y, checked."""
        raise NotImplementedError

    def _tuning_on(self, data: FitData) -> Tuning:
        """What is searched on rows in memory."""
        return self._tuning(data.X, data.y, data.weights, data.splits, **data.given)

    def _tuning(self, X: Any, y: Any, weights: Array, splits: Any, **given: Any) -> Tuning:
        raise NotImplementedError

    def _tuning_out_of_core(
        self, engine: Engine, params: dict[str, Any]
    ) -> tuple[Tuning, float, FoldRule]:
        """What is searched on out-of-core data, the passes that took, and who is held out."""
        raise _in_memory(self)

    def _average(self, tuning: Tuning, found: Evaluation) -> Attributes:
        return tuning.average or tuning.fits.average(tuning.criterion.solution(found)[0])

    def _fingerprint(self, data: FitData, search: Search) -> Fingerprint:
        """What a checkpoint is known again by: the data, and what decides how λ is searched for."""
        settings = self.get_params(deep=False)
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        own = {name: value for name, value in settings.items() if name not in (*_NO_MATTER, "cv")}
        own["search"] = untimed = copy(search)
        untimed.time_budget, own["grid"] = None, self.search == "grid"
        given = {"X": data.X, "y": data.y, "weights": data.weights, **data.given}
        splits = data.splits
        if data.partitions is not None:
            given, splits = {"rows": data.partitions.rows}, data.partitions.splits
        return of_fit(kind, given, splits, self.cv, own)

    def _searched(
        self, tuning: Tuning, search: Search, data: FitData, on_step: Any
    ) -> tuple[Tuning, Result]:
        """What the search found, and what it was that it minimised."""
        if self.search == "grid":
            return self._on_grid(tuning, search, data, on_step)
        criterion, own = tuning.criterion, self._own_bounds(tuning)
        found = search.minimize(criterion, tuning.box, tuning.start, on_step)
        box, found = search_beyond(search, criterion, tuning.box, found, own, self.tol, on_step)
        return replace(tuning, box=box), found

    def _on_grid(
        self, tuning: Tuning, search: Search, data: FitData, on_step: Any
    ) -> tuple[Tuning, Result]:
        """scikit-learn's choice among the values that were given."""
        start, grids = time.perf_counter(), self._grids()
        if len(grids) != 1:
            raise InvalidParameterError.of(
                "search", "grid", "it is for one grid, Cs or alphas: give it."
            )
        (grid,) = grids
        over = self._over_grid(Judge(self, data, tuning), grid.lam, TIGHT)
        lam, average = over.best, None
        if not self.refit and over.models:
            lam, average = over.fold_by_fold(inverse=grid.name == "Cs")
        tuning = replace(tuning, box=Box(lam, lam), start=lam, grid=over, average=average)
        seconds = time.perf_counter() - start
        found = search.minimize(tuning.criterion, tuning.box, lam, on_step, certificate="none")
        ends = np.tile([grid.lam.min(), grid.lam.max()], (lam.size, 1))
        status = Status(
            Reason.FINISHED,
            f"Of the values of {grid.name} the one with the best mean score is taken: "
            "search='grid'.",
        )
        seconds += found.seconds
        made: Any = {"status": status, "searched": ends, "seconds": seconds}
        return tuning, replace(found, cost=found.cost + over.cost, **made)

    def _over_grid(self, judge: Judge, lams: Array, eps: float) -> OverGrid:
        if judge.tuning.box.size > 1:
            raise InvalidParameterError.of(
                "search",
                "grid",
                f"it is for one penalty, and there are {judge.tuning.box.size}: leave it out.",
            )
        return over_grid(judge, lams, eps)

    def _own_bounds(self, tuning: Tuning) -> npt.NDArray[np.bool_]:
        """Which λ have bounds that were made from the data, and not given."""
        own = np.full(tuning.box.size, isinstance(self.bounds, str))
        for grid in self._grids():
            own[grid.part] = False
        if tuning.shares is not None:  # side information moves within the penalties' own box
            own &= tuning.stronger > 0
        return own

    def _choose(self, judge: Judge, result: Result) -> tuple[Result, Evaluation, Attributes]:
        """The result, with what the rule did; the evaluation that it chooses; and scores."""
        start, chosen, cost = time.perf_counter(), result.evaluation, Cost()
        scored: Attributes = {}
        if self.select == "scoring":
            chosen, status, cost, cv_results = by_score(judge, result)
            result, scored = replace(result, status=status), {"cv_results_": cv_results}
        elif self.rule == "1se":
            chosen, status, cost = one_standard_error(judge.tuning, result)
            result = replace(result, status=status)
        seconds = result.seconds + time.perf_counter() - start
        return replace(result, cost=result.cost + cost, seconds=seconds), chosen, scored

    def _finish(
        self, tuning: Tuning, result: Result, chosen: Evaluation
    ) -> tuple[Result, Attributes]:
        """What comes after the search, counted: the interval, while there is time, and the refit.

        The interval is about the least; the fit, and what is reported, where the rule chose. Also
        the fitted attributes.
        """
        start, spent, best = time.perf_counter(), Cost(), result.evaluation
        self.lam_interval_ = np.full((best.lam.size, 2), np.nan)
        late = _no_time_left(result, self._search().time_budget)
        if not late and self.search != "grid":
            eps = result.trace[-1].eps
            self.lam_interval_, spent = interval(tuning.criterion, tuning.box, best, eps, self.tol)
            if self.rule == "best" and self.select == "criterion":
                late, cost = flat_beyond(tuning, best, self.lam_interval_, self.tol)
                spent = spent + cost
        result = replace(result, evaluation=chosen, status=result.status.noted(late))
        made = self._named(result.lam)
        if self.refit:
            model, self.refit_cost_ = tuning.refit(chosen)
            made, spent = made | model, spent + self.refit_cost_
        else:
            made |= self._average(tuning, chosen)
        seconds = result.seconds + time.perf_counter() - start
        return replace(result, cost=result.cost + spent, seconds=seconds), made

    def _report(self, judge: Judge, result: Result, made: Attributes, scored: Attributes) -> None:
        """Set the fitted attributes."""
        shown, data = judge.tuning.result(result), judge.data
        self.lam_, self.criterion_ = shown.lam, shown.value
        self._set(made)
        names = self._lam_names()
        status = shown.status
        if data.X is not None and self.refit:
            status = status.noted(self._separated(data))
        status = status.noted(*self._cautions(judge.tuning))
        self.result_ = replace(shown, names=tuple(names), status=status).worded(
            self._parameters(names),
            self._shown,
            self._judged_by(),
            _spread(judge.tuning, result),
            bounded=~self._own_bounds(judge.tuning),
        )
        plateaus = vars(self).get("plateaus_", "")
        self.penalties_ = table(names, self.lam_, self.lam_interval_, plateaus)
        self._set(scored | self._judged(judge, result))

    def _cautions(self, tuning: Tuning) -> Iterator[str]:
        """What the loss does not say."""
        if isinstance(self._scoring, str) and self.select == "criterion" and self.search != "grid":
            yield f"{self._scoring} was computed and did not choose: that takes select='scoring'."

    def _set(self, attributes: Attributes) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)

    def _judged(self, judge: Judge, result: Result) -> Attributes:
        """Attributes that say how good the best λ is, beside its criterion."""
        if self._scoring is None:
            return {}
        return {"scores_": judge.scores(result.lam, result.x)}

    def _separated(self, data: FitData) -> str:
        """Which coefficients only the penalty holds, as a sentence."""
        return ""

    def _threads(self, splits: Any) -> AbstractContextManager[Any]:
        """How many of them BLAS may use while λ is searched for."""
        return nullcontext()

    # ---- λ as the user knows it

    def _named(self, lam: Array) -> Attributes:
        """λ by the names that scikit-learn has for it: alpha_, C_, gamma_."""
        raise NotImplementedError

    def _parameters(self, names: list[str]) -> str | list[str]:
        """What λ are called in sentences: one name for all, or one each."""
        return self._called

    def _shown(self, lam: Array) -> Array:
        """λ as the user knows them: C, or alpha."""
        with np.errstate(over="ignore"):
            return np.exp(-lam if self._called == "C" else lam)

    def _judged_by(self) -> str:
        """What criterion_ is, in words."""
        word = self.cv if isinstance(self.cv, str) else "loo" if self._closed_form() else ""
        name = str(vars(self).get("criterion", self._loss))
        folds = f"{LEFT_OUT.get(word, 'cross-validated')} {LOSSES.get(name, name)}"
        return CRITERIA.get(word, folds)

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
        tuning = self._tuning_for(X, y, sample_weight, params)
        found = tuning.criterion.value(np.atleast_1d(np.asarray(lam, dtype=float)), TIGHT)
        known = tuning.criterion.verify(found, TIGHT * abs(found.value))
        return float(tuning.reported.value(known.value))

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

        Every place is solved for and verified: see hoag.linear_model.Path. Give the data, the
        weights and groups as they were given to fit.
        """
        check_is_fitted(self)
        if points < 3 or not around > 0:
            raise InvalidParameterError(
                f"around={around}, points={points}:",
                parameter="points",
                value=points,
                hint="give a width above 0 and three points or more.",
            )
        tuning = self._tuning_for(X, y, sample_weight, params)
        tol = ACCURACY * abs(self.criterion_) / tuning.reported.per_row
        begin = tuning.criterion.value(self.lam_, tol)
        return path(tuning, begin, np.linspace(-around, around, points))

    def _tuning_for(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Tuning:
        """What `fit` would search, for data that are given again."""
        data, tuning = self._reader()._prepare(X, y, sample_weight, params)
        features = vars(self).get("n_features_in_")
        if data.X is not None and data.X.shape[1] != (features or data.X.shape[1]):
            raise InvalidDataError(
                f"X has {data.X.shape[1]} features, and the model was fitted on {features}.",
                parameter="X",
            )
        return tuning

    def _reader(self) -> TunedEstimator:
        """One of the same parameters, to which reading may leave its notes."""
        found: TunedEstimator = clone(self)
        return found

    def _chosen_for(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> Explanation | None:
        """What would compute the loss if these were fitted."""
        self._reader()._check_parameters()
        return self._tuning_for(X, y, sample_weight, params).criterion.chosen

    # ---- scores and splits

    def _facing(self, X: Any, given: Attributes) -> Any:
        """What a scorer is handed for some rows: this model, or what it predicts for them.

        `given` are the arguments that the model has for these rows.
        """
        return self

    @property
    def _scoring(self) -> Any:
        """As given; scikit-learn 1.9 has a word for not given."""
        return None if isinstance(self.scoring, str) and self.scoring == "warn" else self.scoring

    @property
    def _one_scorer(self) -> bool:
        return isinstance(self._scoring, str) or callable(self._scoring)

    def _scorer(self) -> Any:
        scoring, known = self._scoring, get_scorer_names()
        if isinstance(scoring, str) and scoring not in known:
            hint = f"give one of sklearn.metrics.get_scorer_names().{nearest(scoring, known)}"
            raise InvalidParameterError.of("scoring", scoring, hint)
        return check_scoring(self, scoring=list(scoring) if isinstance(scoring, tuple) else scoring)

    def _scorer_of_folds(self) -> Any:
        return self._scorer()

    def _splits(
        self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The splits of the rows, and what the scorers are called with."""
        splitting, scoring = routed(self, sample_weight, params)
        if self._closed_form():
            return None, scoring
        y, stratified = self._split_by(y)
        cv = splitter(self.cv, y, stratified)
        return checked(cv.split(X, y, **splitting), X.shape[0]), scoring

    def _split_by(self, y: Any) -> tuple[Any, bool]:
        """What splitters see of y, and whether a number of folds is stratified by it."""
        return y, is_classifier(self)

    @property
    def _scores_one_fit(self) -> bool:
        """Whether the criterion judges one fit, and no row is held out, or left out."""
        return isinstance(self.cv, str) and self.cv not in ("alo", "loo")

    def _closed_form(self) -> bool:
        """Whether the criterion needs no splits."""
        return isinstance(self.cv, str)

    def get_metadata_routing(self) -> Any:
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=asks_for_routing(self.cv), method_mapping=mapping)
        if self._scoring is not None:
            mapping = MethodMapping().add(caller="fit", callee="score")
            router.add(scorer=self._scorer(), method_mapping=self._scored_by(mapping))
        return router

    def _scored_by(self, mapping: MethodMapping) -> MethodMapping:
        """Which methods call the scorer, beside fit."""
        return mapping

    # ---- the search

    def _search(self) -> Search:
        """The search that was given, with the seed that was given, or the default one."""
        if isinstance(self.search, Search):
            found = self.search
            if self.random_state is not None:
                seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
                found = found.seeded(int(seed))
        else:
            found = own = Auto(self.tol, self.max_iter)
            own.time_budget, own.starts = self.time_budget, self._starts
        if self.certificate != "auto":
            found = copy(found)
            found.certificate = self.certificate
        return found

    @property
    def _starts(self) -> int | Literal["auto"]:
        """How many descents, of what has several penalties."""
        return "auto"

    def _plan(self, problems: Any) -> Criterion:
        """How the folds are evaluated."""
        search = self._search()
        how = search.by_steps, search.certificate
        return plan(problems, by_steps=how[0], certificate=how[1], n_jobs=self.n_jobs)

    def _box(self, auto: Box, start: Array) -> tuple[Box, Array]:
        """The bounds that the user gave, or those from the data."""
        bounds, grids = self.bounds, self._grids()
        if grids:
            if not (isinstance(bounds, str) and bounds == "auto"):
                names = " and ".join(grid.name for grid in grids)
                raise InvalidParameterError(
                    f"Both {names} and bounds are given, and both say where to look:",
                    parameter="bounds",
                    value=bounds,
                    hint="leave one out.",
                )
            lower, upper = auto.lower.copy(), auto.upper.copy()
            for grid in grids:
                lower[grid.part], upper[grid.part] = grid.lam.min(), grid.lam.max()
            box = Box(lower, upper)
            return box, box.project(start)
        if isinstance(bounds, str):
            if bounds != "auto":
                raise InvalidParameterError.of(
                    "bounds", bounds, "use 'auto' or a pair (lower, upper)."
                )
            return auto, start
        box = Box.of(bounds, auto.size)
        largest = float(np.log(np.finfo(float).max))
        if max(-float(box.lower.min()), float(box.upper.max())) > largest:
            raise InvalidParameterError.of(
                "bounds",
                bounds,
                f"they are logs of penalties, and exp(±{largest:.0f}) is the most that a number "
                "holds.",
            )
        return box, box.project(start)

    def _grids(self) -> list[GivenValues]:
        """What was given in scikit-learn's manner, and becomes bounds."""
        return []

    def _warn_of_ends(self, tuning: Tuning, result: Result) -> None:
        """Say that the search did not converge, or which bound it ran into.

        Only of bounds that somebody gave, as a grid or as bounds: those that were made from the
        data have been moved as far as the loss falls.
        """
        if result.status.reason not in ASKED:
            warn(str(result.status), ConvergenceWarning)
        best, box = result.evaluation, tuning.box
        moves = ~self._own_bounds(tuning) & (box.lower < box.upper)
        if tuning.shares is not None:
            moves &= tuning.stronger > 0
        low = np.flatnonzero(moves & (best.lam <= box.lower) & (best.grad > 0.0))
        high = np.flatnonzero(moves & (best.lam >= box.upper) & (best.grad < 0.0))
        at = [(int(j), "lower") for j in low] + [(int(j), "upper") for j in high]
        if not at:
            return
        j, side = at[0]
        others = f" (and {len(at) - 1} more of {best.lam.size})" if len(at) > 1 else ""
        names, larger, widen = self.result_.names, side == "upper", "bounds"
        called = f" ({names[j]})" if len(names) > 1 else ""
        where = f"lam_[{j}] = {best.lam[j]:.4g}{called} is on its {side} bound{others}"
        for grid in self._grids():
            if j in np.arange(best.lam.size)[grid.part]:
                value = grid.values[np.argmin(np.abs(grid.lam - best.lam[j]))]
                larger, widen = bool(value == grid.values.max()), grid.name
                extreme, name = "largest" if larger else "smallest", grid.name.removesuffix("s")
                where = f"{name} = {value:.4g}, the {extreme} of {widen}, is chosen{others}"
        what = "criterion" if self._scores_one_fit else "held-out loss"
        warn(
            f"{where}, and the {what} still falls beyond it: the best value is "
            f"{'larger' if larger else 'smaller'}. To look there, widen {widen}."
        )

    # ---- checks

    def _check_parameters(self) -> None:
        given = self.get_params(deep=False)
        for name, value in given.items():
            if isinstance(value, np.ndarray) and value.ndim and name not in MAY_BE_ARRAYS:
                raise InvalidParameterError.of(name, value, "give one value, and no array of them.")
        for name, accepted in self._accepted.items():
            if name in given and not accepted.harmless(given[name]):
                raise InvalidParameterError.of(name, given[name], accepted.otherwise)
        self._check_word()
        one, budget = self._one_scorer, self.time_budget
        for name, right, hint in (
            ("tol", is_number(self.tol, above=0), "give a positive number, such as 1e-4."),
            (
                "max_iter",
                isinstance(self.max_iter, Integral) and int(self.max_iter) >= 1,
                "give a whole number, at least one.",
            ),
            ("time_budget", budget is None or is_number(budget, least=0), "give seconds, or None."),
            (
                "search",
                self.search in (None, "grid") or isinstance(self.search, Search),
                "give an instance, such as hoag.optimize.Auto(), or 'grid'.",
            ),
            ("rule", self.rule in ("best", "1se"), "use 'best' or '1se'."),
            ("select", self.select in ("criterion", "scoring"), "use 'criterion' or 'scoring'."),
            (
                "select",
                self.select != "scoring" or (one and self.rule == "best"),
                "it needs one scorer, such as scoring='roc_auc', and rule='best': what it selects "
                "is the best score.",
            ),
            ("callback", self.callback is None or callable(self.callback), "it is not callable."),
        ):
            if not right:
                raise InvalidParameterError.of(name, given[name], hint)
        if self.search == "grid":
            self._check_grid("search", "grid")
            for other, usual in (("rule", "best"), ("select", "criterion"), ("shrink", None)):
                if given.get(other, usual) != usual:
                    raise InvalidParameterError.of(
                        "search",
                        "grid",
                        f"scikit-learn's grid has no {other}: leave one of the two out.",
                    )

    def _warn_of_ignored(self) -> None:
        """Of parameters that are deprecated; with verbose also of those that do nothing here."""
        given, usually = self.get_params(deep=False), vars(type(self))
        idle = [name for name in IDLE if name in given and given[name] != usually.get(name)]
        if idle and self.verbose:
            warn(f"{', '.join(idle)}: accepted for scikit-learn's sake, and without effect here.")
        for name, usual in DEPRECATED.items():
            if given.get(name, usual) != usual:
                value = f"{name}={given[name]!r}"
                instead = f"search=hoag.optimize.Auto({value})"
                warn(sentence(value, instead), DeprecationWarning)

    def _check_grid(self, name: str, value: object, shared: bool = True) -> None:
        """Refuse a grid that was asked for where it says nothing."""
        several = self._scoring is not None and not self._one_scorer
        for wrong, why in (
            (isinstance(self.cv, str), f"it is for folds, cv={self.cv!r} has none: leave it out."),
            (not shared, "it is for one penalty, and there are several penalties: leave it out."),
            (several, "it is for one scorer: leave it out, and scores_ has several by name."),
        ):
            if wrong:
                raise InvalidParameterError.of(name, value, why)

    def _check_word(self) -> None:
        """Whether cv is a word that says something here, and what else is asked goes with it."""
        if not isinstance(self.cv, str) or self.cv in self._words:
            return
        hint = "".join(f"{word!r}, " for word in self._words)
        hint = f"use {hint}a number of folds, a splitter or an iterable of (train, test) rows."
        if self.cv == "loo" and "alo" in self._words:
            hint = (
                "leave-one-out has no closed form for this loss. Use cv='alo', which approximates "
                "it by one fit, or cv=sklearn.model_selection.LeaveOneOut(), which fits a model "
                "for each row."
            )
        raise InvalidParameterError.of("cv", self.cv, hint)

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
            if found is None and options.get("y_numeric") and not_a_number(np.reshape(y, (-1, 1))):
                raise InvalidDataError(
                    "y is text, and this is a regression:",
                    parameter="y",
                    hint="give numbers, or a classifier, such as hoag.LogisticRegressionCV.",
                ) from error
            if found is None:
                raise
            raise InvalidDataError(
                f"X has {found[1]!r} in {found[0]}, and models take numbers:",
                parameter="X",
                where=found[0],
                hint="encode categories in a pipeline, for instance by "
                "sklearn.preprocessing.OneHotEncoder, and give times as numbers.",
            ) from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _spread(tuning: Tuning, result: Result) -> float:
    """The standard error of the loss over folds, as it is reported; nan for one split."""
    best = result.evaluation
    return tuning.reported.slope(best.value) * Walk(tuning, best).standard_error(best)


def _no_time_left(result: Result, budget: float | None) -> str:
    """Why the interval is left out, as a sentence; "" where there is time for it."""
    none = "There was no time for lam_interval_."
    late = budget is not None and result.seconds >= budget
    if result.status.reason == "interrupted" or (late and not result.status.converged):
        return none
    return f"The time budget of {budget:g} s is used up. {none}" if late else ""


def is_number(value: Any, above: float = -np.inf, least: float = -np.inf) -> bool:
    return isinstance(value, Real) and float(value) > above and float(value) >= least


def _in_memory(estimator: Any) -> NotSupportedError:
    return NotSupportedError(
        f"{type(estimator).__name__} needs its rows in memory:",
        parameter="X",
        hint="give X as an array, a frame or a sparse matrix.",
    )


def _row_weights(sample_weight: Any, X: Any) -> Array:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    for wrong, why in (
        (np.any(weights < 0), "must not be negative."),
        (not np.any(weights > 0), "is zero for every row: there is nothing to fit."),
        (not 1e-300 < total < 1e300, "is too large or too small to add up: rescale it."),
    ):
        if wrong:
            raise InvalidDataError(f"sample_weight {why}", parameter="sample_weight")
    return np.asarray(weights)


def with_features(model: Any, estimator: Any) -> Any:
    """A model of scikit-learn with the features that an estimator was fitted to."""
    model.n_features_in_ = estimator.n_features_in_
    if "feature_names_in_" in vars(estimator):
        model.feature_names_in_ = estimator.feature_names_in_
    return model
