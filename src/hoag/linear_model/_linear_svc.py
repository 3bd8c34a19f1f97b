"""LinearSVCCV."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils.validation import check_is_fitted

from hoag._core.numeric import Array
from hoag._glm.losses import Loss, SquaredHinge
from hoag._glm.targets import Target
from hoag.linear_model._base import with_features
from hoag.linear_model._classes import ClassReader
from hoag.linear_model._column import Column
from hoag.linear_model._linear import check_grid
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._rating import Classifier
from hoag.linear_model._reading import Reading
from hoag.linear_model._settings import WithSettings
from hoag.linear_model._task import Grid
from hoag.linear_model._units import Units


@parameters
class LinearSVCCV(Classifier, SparseCoefMixin, ClassReader, WithSettings):  # type: ignore[misc]
    """A linear support vector machine whose ℓ₂ penalties minimise the held-out squared hinge loss.

        Σᵢ sᵢ Σ_k max(0, 1 − yᵢₖ(aᵢᵀw_k + b_k))² + ½ Σⱼ αⱼ wⱼ²,   C = 1/α

    One y = ±1 for two classes, else one for each class against the rest. scikit-learn's LinearSVC
    with its C tuned; the intercept is not penalised here, as it is there.

    >>> from hoag import LinearSVCCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVCCV().fit(scale(X), y)
    >>> print(f"C = {model.C_:.4f}, held-out squared hinge loss {model.criterion_:.4f}")
    C = 0.0412, held-out squared hinge loss 0.1009

    Parameters
    ----------
    penalties : {"shared", "per-class", "per-feature", "per-coefficient"}, array of int or dict
        Which coefficients share a penalty, as in LogisticRegressionCV.
    Cs : array of float or None
        Only the range counts, and becomes the bounds: −log C.
    cv : int, splitter, iterable, None, or a word: "alo", "gcv"
        None is 5-fold. Int, None: stratified, not shuffled. Words are scores of one fit on all
        rows, without folds: see hoag.without_folds.
    class_weight : dict, "balanced" or None
        Multiplies sample_weight, so it counts in training and in the criterion.
    shrink, standardize : as in LogisticRegressionCV
    fit_intercept, scoring, select, rule, search, starts, bounds, tol, max_iter, time_budget, refit,
    n_jobs, certificate, random_state, verbose, callback, checkpoint : as in LogisticRegressionCV

    Attributes
    ----------
    coef_, intercept_, classes_ : as in scikit-learn's LinearSVC
    alpha_, C_ : exp(λ) and exp(−λ); a number for "shared", the shape of coef_ for
        "per-coefficient", else one for each group
    criterion_ : float, the mean squared hinge loss of held-out rows, summed over classes
    lam_, lam_min_, lam_interval_, plateaus_, penalties_, result_, scores_, n_iter_, shrink_ : as in
        LogisticRegressionCV
    """

    _words = ("alo", "gcv")
    _called = "C"
    _sharing = ("shared", "per-class", "per-feature", "per-coefficient")
    _loss = "squared_hinge"

    C_: Any = fitted()

    Cs: Any = None
    fit_intercept: bool = True
    class_weight: Any = None

    def _reading(self, column: Column) -> Reading:
        intercept = bool(self.fit_intercept)
        target = partial(_signs, classes=self.classes_, intercept=intercept)
        return Reading(target, intercept, 1.0, self._class_weights(column))

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        return 1.0 / judged

    def _grids(self) -> list[Grid]:
        if self.Cs is None:
            return []
        values = check_grid("Cs", self.Cs)
        return [Grid("Cs", values, -np.log(values))]

    def _named(self, lam: Array) -> dict[str, Any]:
        alpha = super()._named(lam)["alpha_"]
        with np.errstate(divide="ignore"):
            C = 1.0 / np.asarray(alpha)
        return {"alpha_": alpha, "C_": float(C) if np.ndim(alpha) == 0 else C}

    def decision_function(self, X: Any) -> Array:
        z = self._linear_predictor(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def predict(self, X: Any) -> npt.NDArray[Any]:
        return self._labels(self.decision_function(X))

    def _labels(self, z: Array) -> npt.NDArray[Any]:
        codes = (z > 0).astype(np.intp) if z.ndim == 1 else np.argmax(z, axis=1)
        return np.asarray(self.classes_[codes])

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn.svm.LinearSVC."""
        from sklearn.svm import LinearSVC

        check_is_fitted(self)
        C = self.C_ if np.ndim(self.C_) == 0 else 1.0
        model = LinearSVC(C=C, fit_intercept=self.fit_intercept, class_weight=self.class_weight)
        model.classes_ = self.classes_.copy()
        model.coef_, model.intercept_ = self.coef_.copy(), self.intercept_.copy()
        model.n_iter_ = self.n_iter_
        return with_features(model, self)


def _signs(y: npt.NDArray[Any], classes: npt.NDArray[Any], intercept: bool) -> Target:
    """1 for the class, or for each class, and −1 for the others."""
    signs, several = np.where(y[:, None] == classes, 1.0, -1.0), len(classes) > 2
    loss: Loss = SquaredHinge()
    outputs = len(classes) if several else 1
    basis = np.eye(outputs) if intercept else None
    return Target(signs if several else signs[:, 1], loss, loss, outputs, basis)
