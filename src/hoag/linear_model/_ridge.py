"""RidgeCV and RidgeClassifierCV."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import MultiOutputMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from hoag._core.errors import InvalidDataError, InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._core.warn import warn
from hoag._criteria.leave_one_out import LeaveOneOut
from hoag._criteria.separable import separated
from hoag._data.engine import Engine
from hoag._data.target import ArrayColumn, Column, OfRows, PartitionedColumn, Weigh
from hoag._glm.folds import FREE
from hoag._glm.penalties import Ridge
from hoag._glm.targets import Target
from hoag._glm.units import Units
from hoag.linear_model._accepted import RIDGE as RIDGE_ACCEPTED
from hoag.linear_model._accepted import RIDGE_ATTRIBUTES
from hoag.linear_model._classifiers import class_weights
from hoag.linear_model._families import RIDGE, Reading
from hoag.linear_model._fits import LeaveOneOutFits
from hoag.linear_model._grid import OverGrid
from hoag.linear_model._linear import LinearEstimator, alpha_grid
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._penalties import Groups, Shares
from hoag.linear_model._scoring import Classifier, Judge, Regressor
from hoag.linear_model._tuning import Attributes, GivenValues, Reported, Tuning


@parameters
class RidgeEstimator(LinearEstimator):
    """Σᵢ sᵢ (yᵢ − aᵢᵀw − b)² + Σⱼ αⱼ wⱼ²: leave-one-out in closed form, or folds.

    Parameters
    ----------
    alphas : array-like of float, default=None
        As in scikit-learn; only the range counts, and becomes the bounds: log α.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    cv : int, splitter, iterable or str, default=None
        None and "loo" are leave-one-out in closed form, as is "alo"; "gcv" is generalised
        cross-validation. For numbers "aic", "bic" and "sure" (Mallows' Cp) judge the fit on all
        rows: see hoag.criteria.without_folds. criterion_ is then n log(Σ squares/n) + 2 df, or
        log(n) df, or (Σ squares + 2σ²df)/n, the squared error to expect on new y of these
        rows. "reml", for one target, is −2 log of the restricted likelihood, up to a constant.
    criterion : {"squared_error", "huber"}, default="squared_error"
        What is minimised over λ: the squared error of held-out rows, or the same up to 1.35 times
        the spread of y and linear beyond, so that few outliers do not decide.
    store_cv_results : bool, default=False
        For leave-one-out: keep `cv_results_`.
    store_cv_values : bool, default=False
        scikit-learn 1.6's, and does nothing.

    Attributes
    ----------
    alpha_ : float or ndarray
        exp(λ): a number for "shared", one for each target or group, or the shape of coef_.
    best_score_ : float or ndarray of shape (n_targets,)
        As in scikit-learn, the mean score of held-out rows: by scoring, or −criterion_ for
        leave-one-out, or R² of folds, or the accuracy.
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        With store_cv_results: squared errors of rows left out, times their weights, or with
        scoring their predictions, at each of alphas, or at alpha_ alone.
    """

    alphas: Any = field(default=None, kw_only=False)
    fit_intercept: bool = True
    criterion: Literal["squared_error", "huber"] = "squared_error"
    store_cv_results: bool | None = False
    store_cv_values: bool | str = False

    best_score_: Any = fitted()
    cv_results_: Array = fitted()
    scores_: dict[str, Array] = fitted()
    # Whether y is one number for each row, and whether it came as a column.
    _flat: bool = fitted()
    _column: bool = fitted()

    _family = RIDGE
    _accepted = RIDGE_ACCEPTED
    _missing = RIDGE_ATTRIBUTES
    _left_out_words = ("loo", "alo", "gcv")
    # The variance of y about its mean, where it is known; see cv="sure".
    noise: ClassVar[float | None] = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.store_cv_results and not self._leaves_one_out:
            raise InvalidParameterError.of(
                "store_cv_results",
                self.store_cv_results,
                "cv!=None and store_cv_results=True are incompatible: it has the errors of "
                "leave-one-out. With folds scoring= gives scores_, and result_.to_frame() the "
                "steps of the search.",
            )

    def _named(self, lam: Array) -> Attributes:
        alpha = super()._named(lam)["alpha_"]
        return {"alpha_": alpha[0] if self._flat and np.ndim(alpha) == 2 else alpha}

    def _closed_form(self) -> bool:
        return self.cv is None or super()._closed_form()

    @property
    def _leaves_one_out(self) -> bool:
        """Whether the criterion is leave-one-out in closed form, or generalised."""
        return self.cv is None or (isinstance(self.cv, str) and self.cv in self._left_out_words)

    def _reading(self, column: Column, **given: Any) -> Reading:
        weigh = self._class_weights(column)
        encode = partial(_encoded, encode=self._numbers, flat=self._flat)
        numbers = column.encoded(encode, weigh)
        if numbers.positive < 2:
            raise InvalidDataError(
                "Only one sample has a positive weight; two are needed.", parameter="sample_weight"
            )
        found = self._family.read(self, numbers, weigh)
        return replace(found, target=partial(_target, encode=encode, target=found.target))

    def _tuning(self, X: Any, y: Any, weights: Array, splits: Any, **given: Any) -> Tuning:
        if splits is not None:
            return super()._tuning(X, y, weights, splits)
        reading = self._reading(ArrayColumn(y, weights))
        kept = np.flatnonzero(reading.weights(y, weights) > 0)
        if kept.size < len(y):
            X, y, weights = X[kept], y[kept], weights[kept]
        u, target = self._units(reading, X, y, weights), reading.target(y)
        shares = self._shares(u, target, 1.0)
        if self._leaves_one_out and shares.groups is not None:
            return self._leave_one_out(u, target, kept, shares, shares.groups)
        return self._tuning_of_one_fit(u, target, 1.0, self.noise)

    def _leave_one_out(
        self, u: Units, target: Target, kept: Any, shares: Shares, groups: Groups
    ) -> Tuning:
        floor = FREE * float(u.weights.sum()) if np.any(groups.numbers < 0) else 0.0
        loo = LeaveOneOut(
            *(u.rows, target.y, u.weights),
            Ridge(groups.numbers.ravel(), floor, u.log_shift),
            intercept=target.basis is not None,
            gcv=isinstance(self.cv, str) and self.cv == "gcv",
            outer=target.outer,
        )
        loo.at_once = self.n_jobs
        criterion = separated(loo, loo.groups, self.n_jobs) or loo
        criterion.chosen = loo.chosen
        moved = self._moved(shares, self._plan(criterion), u, 1.0)
        fits = LeaveOneOutFits(self, u, target, criterion=loo, kept=kept, to_lam=moved.lam)
        per_row = self._per_row(u, target, float(u.weights.sum()))
        return self._tuning_of(moved, shares, fits, Reported(per_row))

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        """Of the mean over targets."""
        return super()._per_row(u, target, judged) / target.outputs

    def _grids(self) -> list[GivenValues]:
        return alpha_grid("alphas", self.alphas)

    def _judged(self, judge: Judge, result: Result) -> Attributes:
        """best_score_ as in scikit-learn, and cv_results_ where it is asked for.

        best_score_ is the mean score of the held-out parts; without `scoring` that of leave-one-out
        is −1/n Σ sᵢ(loss of row i), and of folds R², or the accuracy.
        """
        found, data, tuning = super()._judged(judge, result), judge.data, judge.tuning
        if self._scoring is not None:
            if len(found["scores_"]) == 1:
                (scores,) = found["scores_"].values()
                found["best_score_"] = float(np.mean(scores))
        elif data.splits is None and not self._leaves_one_out:
            found["best_score_"] = -self.criterion_
        elif self._closed_form():
            weights = self._weighted(data.y, data.weights)
            found["best_score_"] = -float(tuning.reported.value(result.value) * weights.mean())
        elif data.X is not None:
            weights = data.scoring.get("sample_weight")
            weights = np.ones(len(data.y)) if weights is None else np.asarray(weights)
            models = zip(data.splits, tuning.fits.models(result.x), strict=True)
            scores = [
                self._plain_score(
                    data.y[test], data.X[test] @ m["coef_"].T + m["intercept_"], weights[test]
                )
                for (_, test), m in models
            ]
            found["best_score_"] = float(np.mean(scores))
        if self.store_cv_results:
            grids, best = self._grids(), result.lam
            lams = [np.full(best.size, lam) for lam in grids[0].lam] if grids else [best]
            found["cv_results_"] = self._left_out(judge, lams)
        return found

    def _over_grid(self, judge: Judge, lams: Array, eps: float) -> OverGrid:
        """Of rows left out, by squared errors where there is no scoring."""
        size, penalties = judge.tuning.box.size, self._penalties()
        if sparse.issparse(judge.data.X) and vars(self).get("gcv_mode") == "svd":
            warn("The 'svd' mode is not supported for sparse X, and does nothing.", FutureWarning)
        apart = isinstance(penalties, str) and penalties == "per-class"
        if self._leaves_one_out and (size == 1 or apart):
            each = [np.full(size, lam) for lam in lams]
            if self._scoring is None:
                errors = -self._left_out(judge, each).mean(axis=0)
                scores = errors if size > 1 else errors.reshape(-1, lams.size).mean(axis=0)[None]
            elif size > 1:
                scores = np.stack([judge.score_of_each_target(lam) for lam in each], axis=1)
            else:
                scores = judge.over(lams, [None] * lams.size)
            return OverGrid(lams, scores, apart=size > 1)
        return super()._over_grid(judge, lams, eps)

    def _left_out(self, judge: Judge, lams: list[Array]) -> Array:
        """sᵢ(yᵢ − its prediction held out)² of every row at every λ; with `scoring` predictions.

        Shape (n, number of λ), or (n, n_targets, number of λ) where y has two axes.
        """
        y, weights = self._numbers(judge.data.y), self._weighted(judge.data.y, judge.data.weights)
        results = np.zeros((*y.shape, len(lams)))
        for place, lam in enumerate(lams):
            known = judge.tuning.fits.held_out(lam)
            assert known is not None
            kept, found = known[0], known[1].reshape(-1, *y.shape[1:])
            if self._scoring is None:
                each = weights[kept].reshape(-1, *(1,) * (y.ndim - 1))
                found = each * (y[kept] - found) ** 2
            results[kept, ..., place] = found
        return results

    def _plain_score(self, y: npt.NDArray[Any], predictions: Array, weights: Array) -> float:
        """What `score` says of held-out rows, without scikit-learn's checks of them.

        These take longer than all the rest of a small fit.
        """
        raise NotImplementedError

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        self._know_features(engine)
        shape = column.empty.shape
        self._flat, self._column = len(shape) == 1 or shape[1] == 1, len(shape) == 2

    @property
    def _numbers(self) -> OfRows:
        """y ↦ y as it is fitted."""
        return np.asarray

    def _weighted(self, y: npt.NDArray[Any], weights: Array) -> Array:
        """The weights of the rows, with those of their classes."""
        weigh = self._class_weights(ArrayColumn(y, weights))
        return weights if weigh is None else weigh(y, weights)

    def _attributes(self, u: Units, target: Target, x: Array) -> Attributes:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        if self._flat:
            level = intercept if self._column and self.fit_intercept else intercept[0]
            return {"coef_": coef[0], "intercept_": level}
        return {"coef_": coef, "intercept_": intercept if self.fit_intercept else 0.0}

    def _plain(self, kind: Any, alpha: Any, **more: Any) -> Any:
        """A model of scikit-learn's, of this class and penalty."""
        model = self._twin(kind=kind, alpha=alpha, n_iter_=None, **more)
        model.solver_ = "auto"
        return model


def _encoded(y: npt.NDArray[Any], encode: OfRows, flat: bool) -> Array:
    """y as it is fitted; one target alone is flat."""
    found = np.asarray(encode(y))
    return found.ravel() if flat else found


def _target(y: npt.NDArray[Any], encode: OfRows, target: OfRows) -> Target:
    found: Target = target(encode(y))
    return found


@parameters
class RidgeCV(MultiOutputMixin, Regressor, RidgeEstimator):  # type: ignore[misc]
    """Ridge regression whose penalties minimise the cross-validated squared error, by gradient.

        Σᵢ sᵢ (yᵢ − aᵢᵀw − b)² + Σⱼ αⱼ wⱼ²,   αⱼ = exp(λ[group(j)])

    A drop-in replacement for scikit-learn's class of this name. With cv=None the criterion is the
    leave-one-out error in closed form, and its gradient is exact.

    Parameters
    ----------
    penalties : str, array-like of int, dict or Structure, default="shared"
        As in LogisticRegressionCV, with targets for classes: "shared", "per-target", "per-feature",
        "per-coefficient", or group numbers, labels, or what hoag.penalties makes.
    noise : float, default=None
        The variance σ² of y about its mean, for cv="sure"; None: estimated from the fit with the
        weakest penalties that leave half of the rows' degrees of freedom.
    alpha_per_target : bool, default=False
        True is scikit-learn's word for penalties="per-target".
    gcv_mode : str, default=None
        scikit-learn's, and does nothing.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0 without one.

    See Also
    --------
    RidgeClassifierCV : For classes.
    KernelRidgeCV : For what is not linear.
    sklearn.linear_model.RidgeCV : Over a grid.

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV().fit(X, y)
    >>> print(f"alpha = {model.alpha_:.4f}, leave-one-out error {model.criterion_:.1f}")
    alpha = 0.0042, leave-one-out error 2999.8
    >>> RidgeCV(penalties="per-feature").fit(X, y).alpha_.shape
    (10,)
    """

    alpha_per_target: bool = False
    gcv_mode: Literal["auto", "svd", "eigen"] | None = None
    noise: float | None = None  # type: ignore[misc]

    _words = ("loo", "alo", "gcv", "aic", "bic", "sure", "reml")
    _sharing = ("shared", "per-target", "per-class", "per-feature", "per-coefficient")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.noise is not None and not (isinstance(self.cv, str) and self.cv == "sure"):
            raise InvalidParameterError.of(
                "noise", self.noise, "it is for cv='sure': leave it out."
            )
        if self.alpha_per_target and self.search == "grid" and self.cv is not None:
            raise InvalidParameterError.of(
                "alpha_per_target",
                True,
                "cv!=None and alpha_per_target=True are incompatible with search='grid': leave one "
                "of the three out.",
            )
        shared = isinstance(self.penalties, str) and self.penalties == "shared"
        if self.alpha_per_target and not shared:
            raise InvalidParameterError(
                "Both alpha_per_target=True and penalties are given, and both say which "
                "coefficients share a penalty:",
                parameter="alpha_per_target",
                value=True,
                hint="leave one out.",
            )

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        self._flat, self._column = y.ndim == 1 or y.shape[1] == 1, y.ndim == 2
        return X, np.asarray(y, dtype=np.float64)

    def _penalties(self) -> Any:
        found = super()._penalties()
        per_target = isinstance(found, str) and found == "per-target"
        if per_target or (self.alpha_per_target and not self._flat):
            return "per-class"  # whose classes are the targets
        return found

    def _judged(self, judge: Judge, result: Result) -> Attributes:
        found = super()._judged(judge, result)
        if self.alpha_per_target and self._leaves_one_out and not self._flat:
            if self._scoring is None:
                found["best_score_"] = -self._left_out(judge, [result.lam]).mean(axis=0)[:, 0]
            elif "best_score_" in found:
                found["best_score_"] = judge.score_of_each_target(result.lam)
        return found

    def _plain_score(self, y: Array, predictions: Array, weights: Array) -> float:
        """R², the mean over targets; nan for less than two rows, of which it says nothing."""
        if np.sum(weights > 0) < 2:
            return float("nan")
        y, share = y.reshape(len(y), -1), weights / weights.sum()
        rest = share @ (y - predictions.reshape(y.shape)) ** 2
        spread = share @ (y - share @ y) ** 2
        ratio = np.divide(rest, spread, out=np.where(rest > 0, 1.0, 0.0), where=spread > 0)
        return float(np.mean(1 - ratio))

    def predict(self, X: Any) -> Array:
        """What is predicted of y, of the shape that y had in fit."""
        return self._linear_predictor(X)

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.Ridge."""
        penalties = self._penalties()
        each = isinstance(penalties, str) and penalties == "per-class"
        alpha = self.alpha_ if np.ndim(self.alpha_) == 0 or each else 1.0
        return self._plain("Ridge", alpha)


@parameters
class RidgeClassifierCV(Classifier, RidgeEstimator):
    """A classifier by ridge regression on ±1, its penalties tuned by gradient.

        Σᵢ sᵢ Σ_c (y_ic − aᵢᵀw_c − b_c)² + Σ_c Σⱼ αⱼ w_cj²,   y_ic = 1 or −1

    y_ic is 1 where row i is of class c. The class with the largest value is predicted; two classes
    have one column, and a label of a multi-label y is a column too, predicted where its value is
    positive. A drop-in replacement for scikit-learn's class of this name. With cv=None the
    criterion is the leave-one-out error in closed form, and its gradient is exact.

    Parameters
    ----------
    class_weight : dict, list of dict or "balanced", default=None
        As in scikit-learn; for a multi-label y "balanced" or a list of dicts, one a label. With
        sample_weight "balanced" counts rows by it, as scikit-learn's LogisticRegression does and
        its RidgeClassifier does not, so that a row of weight two is two rows.
        Multiplies sample_weight, so it counts in training and in the criterion.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The coefficients.
    intercept_ : float or ndarray
        The intercepts; 0 without.
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of their values.

    See Also
    --------
    LogisticRegressionCV : With probabilities.
    sklearn.linear_model.RidgeClassifierCV : Over a grid.

    Examples
    --------
    >>> from hoag import RidgeClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RidgeClassifierCV().fit(X, y)
    >>> print(f"{model.alpha_:.2g}, accuracy {model.score(X, y):.2f}")
    1.4, accuracy 0.85
    """

    class_weight: Any = None

    classes_: npt.NDArray[Any] = fitted()
    _label_binarizer: LabelBinarizer = fitted()

    _words = ("loo", "alo", "gcv")

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, y, multi_output=True, ensure_min_samples=2)
        check_classification_targets(y)
        self._know(y)
        return X, y if self._multilabel else column_or_1d(y, warn=True)

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        self._know_features(engine)
        if column.empty.ndim > 1:
            raise NotSupportedError(
                "Several labels for each row need the rows in memory.", parameter="y"
            )
        check_classification_targets(column.classes)
        self._know(column.classes)

    def _know(self, y: npt.NDArray[Any]) -> None:
        """Keep the classes: all that y shows."""
        self._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(y)
        self.classes_ = self._label_binarizer.classes_
        if not self._multilabel and len(self.classes_) < 2:
            raise InvalidDataError(
                "A classifier needs two classes or more; y has only one class: "
                f"{self.classes_[0]}.",
                parameter="y",
            )
        self._flat, self._column = self._numbers(y).shape[1] == 1, True

    @property
    def _multilabel(self) -> bool:
        return bool(self._label_binarizer.y_type_.startswith("multilabel"))

    @property
    def _numbers(self) -> OfRows:
        return partial(_signs, binarizer=self._label_binarizer)

    def _class_weights(self, column: Column) -> Weigh | None:
        if not self._multilabel:
            return class_weights(self.class_weight, self.classes_, column)
        return None if self.class_weight is None else partial(_weighed, each=self.class_weight)

    def decision_function(self, X: Any) -> Array:
        """aᵢᵀw + b of every row, and of every class where there are more than two."""
        return self._linear_predictor(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class with the largest decision value; of labels, those with positive ones."""
        return self._labels(self.decision_function(X))

    def _labels(self, decision: Array) -> npt.NDArray[Any]:
        if self._multilabel:
            signs = np.where(decision.reshape(len(decision), -1) > 0, 1, -1)
            return np.asarray(self._label_binarizer.inverse_transform(signs))
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _plain_score(self, y: npt.NDArray[Any], predictions: Array, weights: Array) -> float:
        """The accuracy; nan for rows without a weight."""
        if not np.any(weights):
            return float("nan")
        right = self._labels(predictions) == y
        return float(np.average(right if right.ndim == 1 else right.all(axis=1), weights=weights))

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.RidgeClassifier."""
        alpha = self.alpha_ if np.ndim(self.alpha_) == 0 else 1.0
        binarizer = copy.deepcopy(self._label_binarizer)
        model = self._plain("RidgeClassifier", alpha, _label_binarizer=binarizer)
        model.class_weight = self.class_weight
        with contextlib.suppress(AttributeError):  # before 1.7 it is a property of the binarizer's
            model.classes_ = self.classes_.copy()
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _signs(y: npt.NDArray[Any], binarizer: LabelBinarizer) -> Array:
    """1 for the class, or for each class, and −1 for the others."""
    if len(y) == 0:
        columns = len(binarizer.classes_)
        return np.zeros((0, 1 if columns == 2 and np.ndim(y) == 1 else columns))
    return np.asarray(binarizer.transform(y), dtype=np.float64)


def _weighed(y: npt.NDArray[Any], weights: Array, each: Any) -> Array:
    return np.asarray(weights * compute_sample_weight(each, y))
