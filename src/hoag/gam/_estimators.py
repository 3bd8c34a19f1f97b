"""GAMRegressorCV and GAMClassifierCV: a curve for each column, each with its own penalty."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import compute_sample_weight

from hoag._core.errors import InvalidInput
from hoag.gam._model import AdditiveModel
from hoag.linear_model._gamma import GammaRegressorCV
from hoag.linear_model._huber import HuberRegressorCV
from hoag.linear_model._linear import LinearEstimator
from hoag.linear_model._logistic import LogisticRegressionCV
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._poisson import PoissonRegressorCV
from hoag.linear_model._quantile import QuantileRegressorCV
from hoag.linear_model._rating import Classifier, Regressor
from hoag.linear_model._ridge import RidgeCV
from hoag.linear_model._tweedie import TweedieRegressorCV

# What y is like, and the linear model that is made of the curves.
FAMILIES: dict[str, Any] = {
    "gaussian": RidgeCV,
    "poisson": PoissonRegressorCV,
    "gamma": GammaRegressorCV,
    "tweedie": TweedieRegressorCV,
    "inverse-gaussian": TweedieRegressorCV,
    "huber": HuberRegressorCV,
    "quantile": QuantileRegressorCV,
}


@parameters
class GAMRegressorCV(Regressor, AdditiveModel):
    """An additive model of numbers: a smooth curve for each column, each with its own penalty.

        g(E y) = b + Σⱼ fⱼ(xⱼ),   fⱼ = Σₖ βⱼₖBₖ,   penalty Σⱼ exp(λⱼ) ½ βᵀSⱼβ

    λ, one for how much each curve bends and one for its straight part, are tuned by gradient, all
    together. A curve may end straight, or vanish; `plateaus_` says so.

    >>> import numpy as np
    >>> from hoag import GAMRegressorCV
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(size=(300, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=300)
    >>> model = GAMRegressorCV().fit(X, y)
    >>> for label, edf, word in zip(model.labels_, model.edf_, model.plateaus_):
    ...     print(f"{label} {edf:.1f}", word or "curved")
    s(x0) 7.9 curved
    s(x1) 1.0 straight
    s(x2) 0.0 gone

    Parameters
    ----------
    terms : None, list of terms, or a formula
        What hoag.gam makes: smooth, tensor, linear, category; or "y ~ s(age) + te(lat, lon) + site"
        as in R's mgcv, where X has these columns. None is a curve for every column of numbers, and
        a level for each category of the others; with as many knots as there are rows for each
        column, 20 at most. With fewer than 5 rows for each column these are lines.
    family : {"gaussian", "poisson", "gamma", "tweedie", "inverse-gaussian", "huber", "quantile"}
        What y is like: "gaussian" has the identity as its link g, and so have "huber" and
        "quantile"; the others the logarithm. Or a linear estimator of this library with settings
        of its own, such as hoag.QuantileRegressorCV(quantile=0.9).
    scale : {"family", "pearson"}
        φ of the variance φV(μ). "family" is 1 for "poisson", and estimated for the others, which do
        not know theirs. "pearson" estimates it for counts, too (quasi-likelihood): standard errors,
        bands and tests have it, and the choice of λ does not rely on 1.
    cv : None, "reml", "gcv", "alo", "aic", "bic", int, splitter or iterable
        How λ is chosen: the marginal likelihood, which is smooth and seldom bends too much;
        generalised cross-validation; approximate leave-one-out; or folds. None is "reml", and five
        folds for "huber" and "quantile", which are no likelihoods. criterion_ is that of the words,
        see hoag.without_folds: of "reml" it is known up to a number that depends on y.
    tol : float or "auto"
        As in LogisticRegressionCV, a share of the criterion. "auto" is 0.02/n, what a hundredth of
        a degree of freedom changes it by, and at most 1e-4.
    scoring, rule, search, starts, bounds, max_iter, time_budget, n_jobs, random_state, verbose,
    callback, checkpoint : as in LogisticRegressionCV

    Attributes
    ----------
    terms_ : list of terms
    labels_ : list of str, what each curve is called
    edf_ : array, how many coefficients each curve is worth
    plateaus_ : array of str, "straight" or "gone" where penalties are as good as infinite, and
        leave less than 0.02 degrees of freedom of what they reach; else ""
    intercept_ : float, η where every curve and line is at its mean over the rows, for a category
        that is as the mean of all
    coef_ : array, of all terms, one after another as in labels_: of a line its slope, for each unit
        of the column as it was given; of a category its levels, in the order of their names, of
        mean 0; of a curve those of its basis
    covariance_ : array, of coef_ and intercept_, the last, given y
    dispersion_ : float, Pearson's Σ(y − μ)²/V(μ) over n − edf: far above 1, counts vary more than
        Poisson's, of which a warning is given above 2
    scale_ : float, the φ that standard errors, bands and tests have: dispersion_, or 1 where the
        family says so
    lam_, lam_interval_, penalties_, criterion_, result_, n_iter_ : as in LogisticRegressionCV
    model_ : the linear estimator that was fitted to the bases
    """

    terms: Any = field(default=None, kw_only=False)
    family: Any = "gaussian"
    scale: Literal["family", "pearson"] = "family"

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        **params: Any,
    ) -> Self:
        """Tune the penalties and fit the curves; `groups` for the splitter go in params.

        offset and exposure are for families with the logarithm as their link. With a formula that
        has a left side y may be left out.
        """
        return self._tune(X, y, sample_weight, params | self._offsets(offset, exposure))

    def _linear_model(self) -> Any:
        if self.scale not in ("family", "pearson"):
            raise InvalidInput(f"scale={self.scale!r}: use 'family' or 'pearson'.")
        model = self._of_family()
        if self.scale == "pearson" and isinstance(model, PoissonRegressorCV):
            model._dispersion = None
        return model

    def _of_family(self) -> Any:
        if isinstance(self.family, LinearEstimator):
            return clone(self.family)
        if not isinstance(self.family, str) or self.family not in FAMILIES:
            raise InvalidInput(
                f"family={self.family!r}: use one of {', '.join(FAMILIES)}, or a linear estimator "
                "of hoag."
            )
        kind = FAMILIES[self.family]
        return kind(power=3.0) if self.family == "inverse-gaussian" else kind()

    @property
    def _family_name(self) -> str:
        return self.family if isinstance(self.family, str) else type(self.family).__name__

    def _share_explained(self, B: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> str:
        own = {name: params[name] for name in self.model_._of_rows if name in params}
        share = self.model_.score(B, y, sample_weight, **own)
        return f"{'R²' if isinstance(self.model_, RidgeCV) else 'D²'} {share:.3f}"

    def predict(
        self,
        X: Any,
        offset: Any = None,
        exposure: Any = None,
        *,
        terms: bool = False,
        interval: float | None = None,
    ) -> Any:
        """The mean of y, for rows with an offset or exposure where these were fitted.

        terms     fⱼ of every row in place of it, (n, terms), each of mean 0 over the rows that were
                  fitted, levels over the categories: with intercept_ they add up to g(E y)
        interval  0.95, say: (prediction, lower, upper), a band for the mean of y, or for each fⱼ,
                  point by point; not for single y
        """
        params = self._offsets(offset, exposure)
        if terms:
            if params:
                raise InvalidInput("terms=True: offsets are no part of the terms.")
            return self._by_term(X, interval)
        B, unseen = self._design(X)
        mean = self.model_.predict(B, **params)
        if interval is None:
            return mean
        # Offsets shift η, and so multiply what the log link makes of it.
        z, *ends = self._predictor_band(B, unseen, interval)
        ratio = mean / self.model_._from_predictor(z) if params else 1.0
        return mean, *(ratio * self.model_._from_predictor(end) for end in ends)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> float:
        """R² of squares, else the share of the deviance that is explained, D²."""
        own, (B, _) = self._offsets(offset, exposure), self._design(X)
        return float(self.model_.score(B, y, sample_weight, **own))

    def _offsets(self, offset: Any, exposure: Any) -> dict[str, Any]:
        """Those that are given, for families that have such."""
        found = {"offset": offset, "exposure": exposure}
        found = {name: value for name, value in found.items() if value is not None}
        if found and not set(found) <= set(self._linear_model()._of_rows):
            raise InvalidInput(
                f"{next(iter(found))} is for families with the logarithm as their link, and "
                f"family={self._family_name!r} has another: subtract it from y."
            )
        return found


@parameters
class GAMClassifierCV(Classifier, AdditiveModel):
    """An additive model of classes: logistic regression on smooth curves, each with its penalty.

        log odds = b + Σⱼ fⱼ(xⱼ)

    For several classes each has curves of its own, which share λ. Parameters and attributes are
    those of GAMRegressorCV, but for `family` and `scale`: the variance of one y that is 0 or 1 is
    p(1 − p), and cannot be more. dispersion_ far from 1 says that p are wrong.

    >>> from hoag import GAMClassifierCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GAMClassifierCV("s(mean_radius) + s(mean_texture)")
    >>> model = model.fit(X.rename(columns=lambda name: name.replace(" ", "_")), y)
    >>> model.labels_
    ['s(mean_radius)', 's(mean_texture)']
    """

    terms: Any = field(default=None, kw_only=False)
    class_weight: Any = None

    classes_: npt.NDArray[Any] = fitted()

    def _linear_model(self) -> Any:
        return LogisticRegressionCV(class_weight=self.class_weight)

    @property
    def _family_name(self) -> str:
        return "binomial" if len(self.classes_) == 2 else f"{len(self.classes_)} classes"

    def _share_explained(self, B: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> str:
        codes = np.searchsorted(self.classes_, np.asarray(y))
        chance = np.clip(self.model_.predict_proba(B), np.finfo(float).tiny, 1.0)
        each = compute_sample_weight(self.class_weight, np.asarray(y))
        sample_weight = each if sample_weight is None else each * sample_weight
        loss = np.average(-np.log(chance[np.arange(codes.size), codes]), weights=sample_weight)
        share = np.bincount(codes, sample_weight)
        share = share[share > 0] / share.sum()
        least = -float(np.sum(share * np.log(share)))
        return f"deviance explained {1 - loss / least:.3f}" if least > 0 else "one class"

    def decision_function(
        self, X: Any, *, terms: bool = False, interval: float | None = None
    ) -> Any:
        """The log odds of the second class, or a number for each of several.

        terms and interval are those of GAMRegressorCV.predict.
        """
        if terms:
            return self._by_term(X, interval)
        B, unseen = self._design(X)
        return self._predictor(B) if interval is None else self._predictor_band(B, unseen, interval)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class."""
        B, _ = self._design(X)
        return np.asarray(self.model_.predict(B))

    def predict_proba(self, X: Any, *, interval: float | None = None) -> Any:
        """The probability of each class; with `interval` (probability, lower, upper)."""
        B, unseen = self._design(X)
        chance = self.model_.predict_proba(B)
        if interval is None:
            return chance
        _, low, high = (expit(end) for end in self._predictor_band(B, unseen, interval))
        both = [np.stack(ends, axis=1) for ends in ((1 - high, low), (1 - low, high))]
        return chance, *both
