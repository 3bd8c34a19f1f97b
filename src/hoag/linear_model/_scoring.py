"""Scores: of fitted models, on arrays and partitions alike; and of folds' models on their rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag._core.warn import warn
from hoag._data.out_of_core import with_own_y
from hoag.linear_model._tuning import Attributes, Tuning


class Regressor(RegressorMixin):  # type: ignore[misc]
    """scikit-learn's, whose score needs no y where rows have it with them."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R², the share of the squares about the mean that is explained; at most 1.

        Partitions have y and weights with them: score(source).
        """
        return float(super().score(*with_own_y(X, y, sample_weight)))


class Classifier(ClassifierMixin):  # type: ignore[misc]
    """Likewise."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy. Partitions have y and weights with them: score(source)."""
        return float(super().score(*with_own_y(X, y, sample_weight)))


@dataclass(frozen=True, eq=False)
class Judge:
    """What scores are computed from: an estimator, its data, and what was tuned."""

    estimator: Any
    data: Any
    tuning: Tuning

    def scores(self, lam: Array, x: Any) -> dict[str, Array]:
        """By scorer, one for each held-out part; x is that of all folds at λ.

        For a criterion without folds one score, over the predictions of all rows.
        """
        known = self.tuning.fits.held_out(lam)
        if known is not None:
            kept, predictions = known
            rows = [self._score(self.predicted(predictions), kept)]
        else:
            rows = [self._of_fold(*fold) for fold in self.folds(lam, x)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def over(self, lams: Array, xs: Sequence[Any]) -> Array:
        """Those of one scorer, of every fold at every λ, (F, G), in scikit-learn's order."""
        pairs = list(zip(lams[:, None], xs, strict=True))
        if self.data.splits is None:
            each = [self.scores(*pair) for pair in pairs]
            return np.array([[float(value) for row in each for (value,) in row.values()]])
        folds = zip(*(self.folds(*pair) for pair in pairs), strict=True)
        rows = [[self._of_fold(*one) for one in fold] for fold in folds]
        return np.array([[value for row in fold for value in row.values()] for fold in rows])

    def folds(self, lam: Array, x: Any) -> Iterator[tuple[Any, Any, Attributes]]:
        """The held-out rows of each fold, its model, and what that was given for these rows."""
        data = self.data
        for (_, test), model in zip(data.splits, self.tuning.fits.models(x), strict=True):
            fold = copy.copy(self.estimator)
            fold.__dict__.pop("feature_names_in_", None)  # X is an array by now
            fold.scoring = None  # so that a scorer may call fold.score
            fold._set(self.estimator._named(lam) | model)
            yield test, fold, {key: np.asarray(own)[test] for key, own in data.given.items()}

    def _of_fold(self, test: Any, fold: Any, own: Attributes) -> dict[str, float]:
        return self._score(fold._facing(self.data.X[test], own), test)

    def predicted(self, predictions: Array) -> Any:
        """A model whose predictions are known already."""
        if not is_classifier(self.estimator):
            return Predicted(predictions)
        kind = PredictedOdds if "predict_proba" in dir(self.estimator) else PredictedClasses
        return kind(predictions, self.estimator)

    def score_of_each_target(self, lam: Array) -> Array:
        """For leave-one-out and one scorer: each target by itself."""
        known, data = self.tuning.fits.held_out(lam), self.data
        assert known is not None
        kept, predictions = known
        return np.array(
            [
                score
                for k, column in enumerate(predictions.T)
                for score in replace(self, data=replace(data, y=data.y[:, k]))
                ._score(Predicted(column), kept)
                .values()
            ]
        )

    def _score(self, model: Any, rows: Any) -> dict[str, float]:
        scoring, data = self.estimator._scoring, self.data
        name = scoring if isinstance(scoring, str) else "score"
        X, y, n = data.X[rows], data.y[rows], data.X.shape[0]
        own = {key: _rows_of(value, rows, n) for key, value in data.scoring.items()}
        try:
            found = self.estimator._scorer_of_folds()(model, X, y, **own)
        except TypeError as error:
            raise InvalidParameterError(
                f"scoring={scoring!r} failed where it was called with (estimator, X, y): {error}.",
                parameter="scoring",
                value=scoring,
                hint="Give the name of a scorer, or one that sklearn.metrics.make_scorer makes.",
            ) from error
        except ValueError as error:  # of a scorer that cannot judge these rows; the model is fine
            warn(f"Scoring failed on {X.shape[0]} held-out rows, and is nan there: {error}")
            names = [name] if self.estimator._one_scorer or scoring is None else list(scoring)
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


class PredictedOdds(PredictedClasses):
    """The same for one whose decision values have probabilities."""

    def predict_proba(self, X: Any) -> Array:
        return np.asarray(self.estimator._odds(self.decision))


def _rows_of(value: Any, rows: npt.NDArray[Any], n: int) -> Any:
    """The part of a per-row argument that belongs to some rows."""
    array = np.asarray(value) if value is not None else None
    return array[rows] if array is not None and array.shape[:1] == (n,) else value
