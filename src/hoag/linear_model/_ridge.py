"""RidgeCV, and what it shares with the classifier."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._core.result import Cost, Result
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag._criteria.separable import separated
from hoag._data.engine import Engine
from hoag._glm.folds import FREE
from hoag._glm.groups import NAMES
from hoag._glm.losses import Squared
from hoag._glm.penalties import Ridge
from hoag._glm.targets import Target
from hoag.linear_model._base import with_features
from hoag.linear_model._column import ArrayColumn, Column, OfRows, PartitionedColumn, Weigh
from hoag.linear_model._compatible import RIDGE, RIDGE_ATTRIBUTES
from hoag.linear_model._judge import Judge
from hoag.linear_model._linear import LinearEstimator, alpha_grid
from hoag.linear_model._parameters import parameters
from hoag.linear_model._rating import Regressor
from hoag.linear_model._reading import Reading
from hoag.linear_model._regression import check_criterion, of_units, outer_loss, standard
from hoag.linear_model._scored import scored_task
from hoag.linear_model._sharing import Groups, Shares
from hoag.linear_model._task import Grid, Task
from hoag.linear_model._units import Units


class RidgeEstimator(LinearEstimator):
    """Σᵢ sᵢ (yᵢ − aᵢᵀw − b)² + Σⱼ αⱼ wⱼ²: leave-one-out in closed form, or folds."""

    _accepted = RIDGE
    _missing = RIDGE_ATTRIBUTES
    _left_out_words = ("loo", "alo", "gcv")
    _words: ClassVar[tuple[str, ...]] = _left_out_words
    # The variance of y about its mean, where it is known; see cv="sure".
    noise: float | None = None
    # What the penalties of an output's own are called.
    _per_output = "per-target"

    best_score_: Any
    cv_results_: Array
    scores_: dict[str, Array]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.store_cv_results and not self._leaves_one_out:
            raise InvalidInput(
                "store_cv_results=True is for leave-one-out, cv=None: with folds, scoring= gives "
                "scores_, and result_.to_frame() the steps of the search."
            )

    def _named(self, lam: Array) -> dict[str, Any]:
        alpha = super()._named(lam)["alpha_"]
        return {"alpha_": alpha[0] if self._flat and np.ndim(alpha) == 2 else alpha}

    def _closed_form(self) -> bool:
        return self.cv is None or super()._closed_form()

    @property
    def _leaves_one_out(self) -> bool:
        """Whether the criterion is leave-one-out in closed form, or generalised."""
        return self.cv is None or (isinstance(self.cv, str) and self.cv in self._left_out_words)

    def _reading(self, column: Column) -> Reading:
        check_criterion(self.criterion)
        weigh = self._class_weights(column)
        as_numbers = partial(_numbered, numbers=self._numbers, flat=self._flat)
        numbers = column.seen(as_numbers, weigh)
        if numbers.positive < 2:
            raise InvalidInput("Only one sample has a positive weight; two are needed.")
        intercept = bool(self.fit_intercept)
        own = standard(numbers, intercept)
        outer = outer_loss(self.criterion, own(numbers.some()[0]))
        squares = partial(of_units, units=own, loss=Squared(0.5), outer=outer, intercept=intercept)
        target = partial(_regressed, numbers=as_numbers, model=squares)
        return Reading(target, intercept, 1.0, weigh, own.mean, own.biggest * own.spread)

    def _task_by(self, reading: Reading, X: Any, y: Any, weights: Array, splits: Any) -> Task:
        if splits is not None:
            return super()._task_by(reading, X, y, weights, splits)
        kept = np.flatnonzero(reading.weights(y, weights) > 0)
        if kept.size < len(y):
            X, y, weights = X[kept], y[kept], weights[kept]
        u, target = self._units(reading, X, y, weights), reading.target(y)
        shares = self._shares(u, target, 1.0)
        if self._leaves_one_out and shares.groups is not None:
            return self._leave_one_out(u, target, kept, shares, shares.groups)
        return scored_task(self, u, target, 1.0, self.noise)

    def _leave_one_out(
        self, u: Units, target: Target, kept: Any, shares: Shares, groups: Groups
    ) -> Task:
        intercept = target.basis is not None
        floor = FREE * float(u.weights.sum()) if np.any(groups.numbers < 0) else 0.0
        loo = LeaveOneOut(
            u.rows,
            target.y,
            u.weights,
            Ridge(groups.numbers.ravel(), floor, u.log_shift),
            intercept=intercept,
            gcv=_is(self.cv, "gcv"),
            outer=target.outer,
        )
        loo.at_once = self.n_jobs
        criterion = separated(loo, loo.groups, self.n_jobs) or loo
        criterion.chosen = loo.chosen
        moved = self._moved(shares, self._plan(criterion), u, 1.0)

        def models(x: Array) -> list[dict[str, Any]]:
            whole = np.append(x, loo.intercept(x)) if intercept else x.ravel()
            return [self._attributes(u, target, whole)]

        def predictions(lam: Array) -> tuple[Any, Array]:
            own = lam if moved.loads is None else moved.loads.lam(lam)
            return kept, np.asarray(loo.predictions(own) * u.y_scale + u.y_mean)

        def refit(result: Result) -> tuple[dict[str, Any], Cost]:
            return models(moved.criterion.solution(result.evaluation)[0])[0], Cost()

        return Task(
            moved.criterion,
            moved.box,
            moved.start,
            self._per_row(u, target, float(u.weights.sum())),
            models,
            refit,
            u.weights,
            moved.stronger,
            predictions=predictions,
            groups=shares,
        )

    def _penalties(self) -> Any:
        if _is(self.penalties, self._per_output):
            return "per-class"  # whose classes are the targets
        if isinstance(self.penalties, str) and self.penalties not in NAMES:
            raise InvalidInput(
                f"penalties={self.penalties!r}: use 'shared', '{self._per_output}', 'per-feature', "
                "'per-coefficient', or an array of group numbers."
            )
        return super()._penalties()

    def _grids(self) -> list[Grid]:
        return alpha_grid("alphas", self.alphas)

    def _judged(self, judge: Judge, result: Result) -> dict[str, Any]:
        """best_score_ as in scikit-learn, and cv_results_ where it is asked for.

        best_score_ is the mean score of the held-out parts; without `scoring` that of leave-one-out
        is −1/n Σ sᵢ(loss of row i), and of folds R², or the accuracy.
        """
        found = super()._judged(judge, result)
        if self._scoring is not None and len(found["scores_"]) == 1:
            (scores,) = found["scores_"].values()
            found["best_score_"] = float(np.mean(scores))
        elif self._scoring is None and judge.splits is None and not self._leaves_one_out:
            found["best_score_"] = -self.criterion_
        elif self._scoring is None and self._closed_form():
            weights = self._weighted(judge.y, judge.weights)
            found["best_score_"] = -float(result.value * judge.task.per_row * weights.mean())
        elif self._scoring is None and judge.X is not None:
            models = zip(judge.splits, judge.task.models(result.x), strict=True)
            scores = [
                self._plain_score(judge.y[test], judge.X[test] @ m["coef_"].T + m["intercept_"])
                for (_, test), m in models
            ]
            found["best_score_"] = float(np.mean(scores))
        if self.store_cv_results:
            grids, best = self._grids(), result.lam
            lams = [np.full(best.size, lam) for lam in grids[0].lam] if grids else [best]
            found["cv_results_"] = self._left_out(judge, lams)
        return found

    def _left_out(self, judge: Judge, lams: list[Array]) -> Array:
        """sᵢ(yᵢ − its prediction held out)² of every row at every λ; with `scoring` predictions.

        Shape (n, number of λ), or (n, n_targets, number of λ) where y has two axes.
        """
        assert judge.task.predictions is not None
        y, weights = self._numbers(judge.y), self._weighted(judge.y, judge.weights)
        results = np.zeros((*y.shape, len(lams)))
        for place, lam in enumerate(lams):
            kept, predictions = judge.task.predictions(lam)
            found = predictions.reshape(-1, *y.shape[1:])
            if self._scoring is None:
                each = weights[kept].reshape(-1, *(1,) * (y.ndim - 1))
                found = each * (y[kept] - found) ** 2
            results[kept, ..., place] = found
        return results

    def _plain_score(self, y: npt.NDArray[Any], predictions: Array) -> float:
        """What `score` says of held-out rows, without scikit-learn's checks of them.

        These take longer than all the rest of a small fit.
        """
        raise NotImplementedError

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        super()._know_partitions(engine, column)
        shape = column.nothing.shape
        self._flat, self._column = len(shape) == 1 or shape[1] == 1, len(shape) == 2

    @property
    def _numbers(self) -> OfRows:
        """y ↦ y as it is fitted."""
        return np.asarray

    def _class_weights(self, column: Column) -> Weigh | None:
        """What weights become by the classes of their rows; None where there are none."""
        return None

    def _weighted(self, y: npt.NDArray[Any], weights: Array) -> Array:
        """The weights of the rows, with those of their classes."""
        weigh = self._class_weights(ArrayColumn(y, weights))
        return weights if weigh is None else weigh(y, weights)

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        if self._flat:
            level = intercept if self._column and self.fit_intercept else float(intercept[0])
            return {"coef_": coef[0], "intercept_": level}
        return {"coef_": coef, "intercept_": intercept if self.fit_intercept else 0.0}


@parameters
class RidgeCV(MultiOutputMixin, Regressor, RidgeEstimator):  # type: ignore[misc]
    """Ridge regression whose penalties minimise the cross-validated squared error, by gradient.

        Σᵢ sᵢ (yᵢ − aᵢᵀw − b)² + Σⱼ αⱼ wⱼ²,   αⱼ = exp(λ[group(j)])

    A drop-in replacement for scikit-learn's class of this name. With cv=None the criterion is the
    leave-one-out error in closed form, and its gradient is exact.

    >>> from hoag import RidgeCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV().fit(X, y)
    >>> print(f"alpha = {model.alpha_:.4f}, leave-one-out error {model.criterion_:.1f}")
    alpha = 0.0042, leave-one-out error 2999.8
    >>> RidgeCV(penalties="per-feature").fit(X, y).alpha_.shape
    (10,)

    Parameters
    ----------
    alphas : array of float or None
        As in scikit-learn; only the range counts, and becomes the bounds: log α.
    penalties : {"shared", "per-target", "per-feature", "per-coefficient"} or array of int
        Which coefficients share a penalty; an array gives the group number of each feature, or of
        each coefficient, shape (n_features, n_targets); −1: not penalised. Or a dict from columns
        to labels, or hoag.penalties.quadratic(...), as in LogisticRegressionCV.
    cv : None, "loo", "gcv", "aic", "bic", "sure", "reml", int, splitter or iterable
        None and "loo" are leave-one-out in closed form, as is "alo"; "gcv" is generalised
        cross-validation. "aic", "bic" and "sure" (Mallows' Cp) are scores of the fit on all rows:
        see hoag.without_folds. criterion_ is then n log(Σ squares/n) + 2 df, or log(n) df,
        or (Σ squares + 2σ²df)/n, the squared error that is to be expected on new y of these rows.
        "reml", for one target, is −2 log of the restricted likelihood, up to a constant.
    noise : float or None
        The variance σ² of y about its mean, for cv="sure"; None: estimated from the fit with the
        weakest penalties that leave half of the rows' degrees of freedom.
    criterion : {"squared_error", "huber"}
        What is minimised over λ: the squared error of held-out rows, or the same up to 1.35 times
        the spread of y and linear beyond, so that few outliers do not decide.
    alpha_per_target : bool
        True is scikit-learn's word for penalties="per-target".
    store_cv_results : bool
        For leave-one-out: keep `cv_results_`.
    gcv_mode, store_cv_values : scikit-learn's, and do nothing
    shrink, standardize : as in LogisticRegressionCV
    fit_intercept, scoring, select, rule, search, starts, bounds, tol, max_iter, time_budget, refit,
    n_jobs, certificate, random_state, verbose, callback, checkpoint : as in LogisticRegressionCV

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn's Ridge
    alpha_ : exp(λ); a number for "shared", one for each target or group, or the shape of coef_
    best_score_ : float, or one for each target with alpha_per_target: as in scikit-learn, the mean
        score of held-out rows: by scoring, or −criterion_ for leave-one-out, or R² of folds
    cv_results_ : array (n, n_alphas) or (n, n_targets, n_alphas), with store_cv_results: squared
        errors of rows left out, times their weights, or with scoring their predictions, at each of
        alphas, or at alpha_ alone
    lam_, criterion_, lam_interval_, plateaus_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    dof_ : float, how many coefficients the fit is worth, where cv is "aic", "bic", "sure" or
        "reml"
    """

    _words = ("loo", "alo", "gcv", "aic", "bic", "sure", "reml")

    alphas: Any = field(default=None, kw_only=False)
    fit_intercept: bool = True
    criterion: Literal["squared_error", "huber"] = "squared_error"
    alpha_per_target: bool = False
    store_cv_results: bool | None = False
    gcv_mode: Literal["auto", "svd", "eigen"] | None = None
    store_cv_values: bool | str = False
    noise: float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.noise is not None and not _is(self.cv, "sure"):
            raise InvalidInput(f"noise={self.noise!r} is for cv='sure': leave it out.")
        if self.alpha_per_target and not _is(self.penalties, "shared"):
            raise InvalidInput(
                "Both alpha_per_target=True and penalties are given, and both say which "
                "coefficients share a penalty: leave one out."
            )

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        self._flat, self._column = y.ndim == 1 or y.shape[1] == 1, y.ndim == 2
        return X, np.asarray(y, dtype=np.float64)

    def _penalties(self) -> Any:
        if self.alpha_per_target and not self._flat:
            return "per-class"
        return super()._penalties()

    def _judged(self, judge: Judge, result: Result) -> dict[str, Any]:
        found = super()._judged(judge, result)
        if self.alpha_per_target and self._leaves_one_out and not self._flat:
            if self._scoring is None:
                found["best_score_"] = -self._left_out(judge, [result.lam]).mean(axis=0)[:, 0]
            elif "best_score_" in found:
                found["best_score_"] = judge.score_of_each_target(result.lam)
        return found

    def _plain_score(self, y: Array, predictions: Array) -> float:
        """R², the mean over targets; nan for less than two rows, of which it says nothing."""
        if len(y) < 2:
            return float("nan")
        y = y.reshape(len(y), -1)
        rest = np.sum((y - predictions.reshape(y.shape)) ** 2, axis=0)
        spread = np.sum((y - y.mean(axis=0)) ** 2, axis=0)
        ratio = np.divide(rest, spread, out=np.where(rest > 0, 1.0, 0.0), where=spread > 0)
        return float(np.mean(1 - ratio))

    def predict(self, X: Any) -> Array:
        return self._linear_predictor(X)

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.Ridge."""
        from sklearn.linear_model import Ridge as PlainRidge

        check_is_fitted(self)
        plain = np.ndim(self.alpha_) == 0 or _is(self._penalties(), "per-class")
        model = PlainRidge(alpha=self.alpha_ if plain else 1.0, fit_intercept=self.fit_intercept)
        model.coef_, model.intercept_ = self.coef_.copy(), copy.copy(self.intercept_)
        model.n_iter_, model.solver_ = None, "auto"
        return with_features(model, self)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name


def _numbered(y: npt.NDArray[Any], numbers: OfRows, flat: bool) -> Array:
    """y as it is fitted; one target alone is flat."""
    found = np.asarray(numbers(y))
    return found.ravel() if flat else found


def _regressed(y: npt.NDArray[Any], numbers: OfRows, model: Callable[[Array], Target]) -> Target:
    return model(numbers(y))
