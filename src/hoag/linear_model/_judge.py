"""Scorers on held-out rows, for the models of the folds at some λ."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier

from hoag._core.errors import InvalidInput
from hoag._core.numeric import Array
from hoag.linear_model._task import Task


@dataclass(frozen=True, eq=False)
class Judge:
    """What scores are computed from: an estimator, its data and splits, and what scorers take."""

    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    weights: Array
    splits: Any
    task: Task
    params: dict[str, Any]
    given: dict[str, Any] = field(default_factory=dict)  # what the model has for each row

    def scores(self, lam: Array, x: Any) -> dict[str, Array]:
        """By scorer, one for each held-out part; x is that of all folds at λ.

        For a criterion without folds one score, over the predictions of all rows.
        """
        rows: list[dict[str, float]] = []
        if self.task.predictions is not None:
            kept, predictions = self.task.predictions(lam)
            rows.append(self._score(self.predicted(predictions), kept))
        else:
            for test, fold, own in self.folds(lam, x):
                rows.append(self._score(fold._facing(self.X[test], own), test))
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def folds(self, lam: Array, x: Any) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
        """The held-out rows of each fold, its model, and what that was given for these rows."""
        for (_, test), model in zip(self.splits, self.task.models(x), strict=True):
            fold = copy.copy(self.estimator)
            fold.__dict__.pop("feature_names_in_", None)  # X is an array by now
            fold.scoring = None  # so that a scorer may call fold.score
            for name, value in (self.estimator._named(lam) | model).items():
                setattr(fold, name, value)
            yield test, fold, {key: np.asarray(own)[test] for key, own in self.given.items()}

    def predicted(self, predictions: Array) -> Any:
        """A model whose predictions are known already."""
        if not is_classifier(self.estimator):
            return Predicted(predictions)
        if self.estimator._probable:
            return PredictedProbabilities(predictions, self.estimator)
        return PredictedClasses(predictions, self.estimator)

    def score_of_each_target(self, lam: Array) -> Array:
        """For a criterion without folds and one scorer: each target by itself."""
        assert self.task.predictions is not None
        kept, predictions = self.task.predictions(lam)
        return np.array(
            [
                score
                for k, column in enumerate(predictions.T)
                for score in replace(self, y=self.y[:, k])._score(Predicted(column), kept).values()
            ]
        )

    def _score(self, model: Any, rows: Any) -> dict[str, float]:
        scoring = self.estimator._scoring
        name = scoring if isinstance(scoring, str) else "score"
        X, y, n = self.X[rows], self.y[rows], self.X.shape[0]
        own = {key: _rows_of(value, rows, n) for key, value in self.params.items()}
        try:
            found = self.estimator._scorer()(model, X, y, **own)
        except TypeError as error:
            raise InvalidInput(
                f"scoring={scoring!r} failed where it was called with (estimator, X, y): {error}. "
                "Give the name of a scorer, or one that sklearn.metrics.make_scorer makes."
            ) from error
        except ValueError as error:  # of a scorer that cannot judge these rows; the model is fine
            warnings.warn(
                f"Scoring failed on {X.shape[0]} held-out rows, and is nan there: {error}",
                UserWarning,
                stacklevel=2,
            )
            several = scoring is not None and not isinstance(scoring, str) and not callable(scoring)
            names = list(scoring) if several else [name]
            return dict.fromkeys(names, float("nan"))
        return found if isinstance(found, dict) else {name: found}


class Predicted(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor whose predictions are known already."""

    def __init__(self, predictions: Array) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def predict(self, X: Any) -> Array:
        return self.predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True


class PredictedClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision values are known already; an estimator makes classes of them."""

    def __init__(self, decision: Array, estimator: Any) -> None:
        self.decision = decision
        self.estimator = estimator
        self.classes_ = estimator.classes_

    def fit(self, X: Any, y: Any) -> Any:
        return self

    def decision_function(self, X: Any) -> Array:
        return self.decision

    def predict(self, X: Any) -> npt.NDArray[Any]:
        return np.asarray(self.estimator._labels(self.decision))

    def __sklearn_is_fitted__(self) -> bool:
        return True


class PredictedProbabilities(PredictedClasses):
    """The same for one whose decision values have probabilities."""

    def predict_proba(self, X: Any) -> Array:
        return np.asarray(self.estimator._probabilities(self.decision))


def _rows_of(value: Any, rows: npt.NDArray[Any], n: int) -> Any:
    """The part of a per-row argument that belongs to some rows."""
    array = np.asarray(value) if value is not None else None
    return array[rows] if array is not None and array.shape[:1] == (n,) else value
