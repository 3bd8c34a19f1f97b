"""RidgeClassifierCV."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag._data.engine import Engine
from hoag.linear_model._base import with_features
from hoag.linear_model._classes import class_weights
from hoag.linear_model._column import Column, OfRows, PartitionedColumn, Weigh
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._rating import Classifier
from hoag.linear_model._ridge import RidgeEstimator


@parameters
class RidgeClassifierCV(Classifier, RidgeEstimator):
    """A classifier by ridge regression on ±1, its penalties tuned by gradient.

        Σᵢ sᵢ Σ_c (y_ic − aᵢᵀw_c − b_c)² + Σ_c Σⱼ αⱼ w_cj²,   y_ic = 1 or −1

    y_ic is 1 where row i is of class c. The class with the largest value is predicted; two classes
    have one column, and a label of a multi-label y is a column too, predicted where its value is
    positive. A drop-in replacement for scikit-learn's class of this name. With cv=None the
    criterion is the leave-one-out error in closed form, and its gradient is exact.

    >>> from hoag import RidgeClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RidgeClassifierCV().fit(X, y)
    >>> print(f"{model.alpha_:.2g}, accuracy {model.score(X, y):.2f}")
    1.4, accuracy 0.85

    Parameters
    ----------
    alphas, criterion, store_cv_results : as in RidgeCV
    cv : None, "loo", "alo", "gcv", int, splitter or iterable
        As in RidgeCV; the other words are for numbers.
    penalties : {"shared", "per-class", "per-feature", "per-coefficient"} or array of int
        As in RidgeCV, with classes for targets.
    class_weight : dict, "balanced" or None
        As in scikit-learn; for a multi-label y "balanced" or a list of dicts, one a label. With
        sample_weight "balanced" counts rows by it, as scikit-learn's LogisticRegression does and
        its RidgeClassifier does not, so that a row of weight two is two rows.
        Multiplies sample_weight, so it counts in training and in the criterion.
    store_cv_values : scikit-learn 1.6's, and does nothing
    shrink, standardize : as in LogisticRegressionCV
    fit_intercept, scoring, select, rule, search, starts, bounds, tol, max_iter, time_budget, refit,
    n_jobs, certificate, random_state, verbose, callback, checkpoint : as in LogisticRegressionCV

    Attributes
    ----------
    coef_, intercept_, classes_ : as in scikit-learn's RidgeClassifierCV
    alpha_ : exp(λ); a number for "shared", one for each class or group, or the shape of coef_
    best_score_, cv_results_, lam_, criterion_, lam_interval_, plateaus_, result_, scores_,
    n_iter_, shrink_ : as in RidgeCV
    """

    _per_output = "per-class"

    classes_: npt.NDArray[Any] = fitted()

    alphas: Any = field(default=None, kw_only=False)
    fit_intercept: bool = True
    class_weight: Any = None
    criterion: Literal["squared_error", "huber"] = "squared_error"
    store_cv_results: bool | None = False
    store_cv_values: bool | str = False

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        X, y = self._validate(X, y, multi_output=True, ensure_min_samples=2)
        check_classification_targets(y)
        self._know(y)
        return X, y if self._multilabel else column_or_1d(y, warn=True)

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        super()._know_partitions(engine, column)
        if column.nothing.ndim > 1:
            raise InvalidInput("Several labels for each row need the rows in memory.")
        check_classification_targets(column.classes)
        self._know(column.classes)

    def _know(self, y: npt.NDArray[Any]) -> None:
        """Keep the classes: all that y shows."""
        self._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(y)
        self.classes_ = self._label_binarizer.classes_
        if not self._multilabel and len(self.classes_) < 2:
            raise InvalidInput(
                f"A classifier needs two classes or more; y has only one class: {self.classes_[0]}."
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
        return self._linear_predictor(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        return self._labels(self.decision_function(X))

    def _labels(self, decision: Array) -> npt.NDArray[Any]:
        if self._multilabel:
            signs = np.where(decision.reshape(len(decision), -1) > 0, 1, -1)
            return np.asarray(self._label_binarizer.inverse_transform(signs))
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _plain_score(self, y: npt.NDArray[Any], predictions: Array) -> float:
        """The accuracy."""
        right = self._labels(predictions) == y
        return float(np.mean(right if right.ndim == 1 else right.all(axis=1)))

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.linear_model.RidgeClassifier."""
        from sklearn.linear_model import RidgeClassifier

        check_is_fitted(self)
        alpha = self.alpha_ if np.ndim(self.alpha_) == 0 else 1.0
        model = RidgeClassifier(
            alpha=alpha, fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )
        model._label_binarizer = copy.deepcopy(self._label_binarizer)
        with contextlib.suppress(AttributeError):  # before 1.7 it is a property of the binarizer's
            model.classes_ = self.classes_.copy()
        model.coef_, model.intercept_ = self.coef_.copy(), copy.copy(self.intercept_)
        model.n_iter_, model.solver_ = None, "auto"
        return with_features(model, self)

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
