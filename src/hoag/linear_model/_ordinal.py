"""OrdinalLogisticCV."""

from __future__ import annotations

import warnings
from dataclasses import field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from hoag._core.numeric import Array
from hoag._glm.losses.ordinal import cuts, probabilities
from hoag._glm.targets import Target, binary, ordered
from hoag.linear_model._classes import ClassReader, ordered_categories
from hoag.linear_model._column import Column
from hoag.linear_model._out_of_core import adopt, predicted
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._rating import Classifier
from hoag.linear_model._reading import Reading
from hoag.linear_model._settings import WithSettings
from hoag.linear_model._task import LEVEL
from hoag.linear_model._units import Units


@parameters
class OrdinalLogisticCV(Classifier, ClassReader, WithSettings):
    """Logistic regression of ordered classes, whose ℓ₂ penalties minimise the held-out log loss.

        −Σᵢ sᵢ log P(yᵢ) + ½ Σⱼ αⱼ wⱼ²,   P(y > class k) = 1/(1 + exp(θ_k − aᵢᵀw))

    One set of slopes, and a threshold θ_k between each two classes: proportional odds. The classes
    are in the order of their values, or of an ordered pandas Categorical. The thresholds are not
    penalised.

    >>> import numpy as np
    >>> from hoag import OrdinalLogisticCV
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OrdinalLogisticCV().fit(X, np.digitize(y, [80, 140, 220]))
    >>> print(f"alpha = {model.alpha_:.4f}, held-out log loss {model.criterion_:.3f}")
    alpha = 0.0182, held-out log loss 1.070
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.03, 0.12, 0.41, 0.45]])

    Parameters
    ----------
    alphas : array of float or None
        Only the range counts, and becomes the bounds: log α.
    penalties : {"shared", "per-feature"}, array of int or dict
        Which coefficients share a penalty, as in LogisticRegressionCV.
    cv : int, splitter, iterable, None, or a word: "alo", "gcv", "aic", "bic", "reml"
        None is 5-fold. Int, None: stratified, not shuffled. Words are scores of one fit on all
        rows, without folds: see hoag.without_folds.
    class_weight : dict, "balanced" or None
        Multiplies sample_weight, so it counts in training and in the criterion.
    shrink, standardize : as in LogisticRegressionCV
    scoring, select, rule, search, starts, bounds, tol, max_iter, time_budget, refit, n_jobs,
    certificate, random_state, verbose, callback, checkpoint : as in LogisticRegressionCV

    Attributes
    ----------
    order_ : array, the classes in their order
    classes_ : array, the classes in the order of their values: the columns of predict_proba
    coef_ : array (n_features,); a larger aᵢᵀw speaks for a higher class
    thresholds_ : array (n_classes − 1,), rising, between the classes of order_
    alpha_ : exp(λ); a number for "shared", else one for each group
    criterion_ : float, the mean log loss of held-out rows
    lam_, lam_min_, lam_interval_, plateaus_, penalties_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    """

    _loss = "log_loss"
    _probable = True
    _missing: ClassVar = {"to_sklearn": "scikit-learn has no model of ordered classes."}

    order_: npt.NDArray[Any] = fitted()
    thresholds_: Array = fitted()

    alphas: Any = field(default=None, kw_only=False)
    class_weight: Any = None

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        self._order = ordered_categories(y)
        return super()._read(X, y)

    def _know(self, classes: npt.NDArray[Any]) -> None:
        super()._know(classes)
        order, self._order = vars(self).get("_order"), None
        self.order_ = self.classes_ if order is None else order[np.isin(order, self.classes_)]
        if order is None and self.classes_.dtype.kind in "OUS":
            shown = " < ".join(map(str, self.classes_[:4])) + (
                " < …" if len(self.classes_) > 4 else ""
            )
            warnings.warn(
                f"The classes are text, and in the order of the alphabet: {shown}. Give numbers, "
                "or an ordered pandas Categorical, for another order.",
                UserWarning,
                stacklevel=LEVEL + 1,
            )

    def _reading(self, column: Column) -> Reading:
        several = len(self.classes_) > 2
        shares = column.counts(self.classes_)[np.searchsorted(self.classes_, self.order_)]
        self._cuts = cuts(shares.astype(float)) if several else np.zeros(1)
        place = np.argsort(self.order_)
        target = partial(_ordered, classes=self.classes_, place=place, like=self._cuts)
        return Reading(target, True, 0.25, self._class_weights(column))

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        size = u.mean.size
        coef = u.coefficients(x[:size], 1, None)[0][0]
        return {"coef_": coef, "thresholds_": u.mean @ coef - x[size:] - self._cuts}

    def _from_predictor(self, z: Array) -> Array:
        """aᵢᵀw − θ_k of rows left out, (n, thresholds)."""
        return np.asarray(z.reshape(len(z), -1) + self._cuts)

    def _probabilities(self, z: Array) -> Array:
        """By the columns of classes_, which scikit-learn has in the order of their values."""
        return np.asarray(probabilities(z)[:, np.argsort(self.order_)])

    def _scores(self, X: Any) -> Array:
        """aᵢᵀw − θ_k, (n, thresholds)."""
        check_is_fitted(self)
        engine = adopt(X)
        if engine is not None:
            return np.asarray(predicted(engine, self.coef_, 0.0)[:, None] - self.thresholds_)
        X = self._validate(X, reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_)[:, None] - self.thresholds_)

    def predict_proba(self, X: Any) -> Array:
        return self._probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class."""
        return self._labels(self._scores(X))

    def _labels(self, z: Array) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self._probabilities(z), axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # where classes are in no order
        return tags


def _ordered(
    y: npt.NDArray[Any], classes: npt.NDArray[Any], place: npt.NDArray[np.intp], like: Array
) -> Target:
    """The place of every row's class in their order, with thresholds counted from some cuts."""
    codes, known = place[np.searchsorted(classes, y)], np.arange(len(classes))
    return binary(codes, known, True) if len(known) == 2 else ordered(codes, known, like)
