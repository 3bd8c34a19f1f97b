"""GAMRegressorCV and GAMClassifierCV: a curve for each column, each with its own penalty."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import d2_log_loss_score
from sklearn.utils import compute_sample_weight

from hoag import linear_model
from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag.gam import _linear
from hoag.gam._model import AdditiveModel
from hoag.linear_model._linear import LinearEstimator
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._scoring import Classifier, Regressor

# What y is like, and the linear model that is made of the curves.
FAMILIES: dict[str, Any] = {
    "gaussian": linear_model.RidgeCV,
    "poisson": linear_model.PoissonRegressorCV,
    "gamma": linear_model.GammaRegressorCV,
    "tweedie": linear_model.TweedieRegressorCV,
    "inverse-gaussian": lambda: linear_model.TweedieRegressorCV(power=3.0),
    "huber": linear_model.HuberRegressorCV,
    "quantile": linear_model.QuantileRegressorCV,
}


@parameters
class GAMRegressorCV(Regressor, AdditiveModel):
    """An additive model of numbers: a smooth curve for each column, each with its own penalty.

        g(E y) = b + Σⱼ fⱼ(xⱼ),   fⱼ = Σₖ βⱼₖBₖ,   penalty Σⱼ exp(λⱼ) ½ βᵀSⱼβ

    λ, one for how much each curve bends and one for its straight part, are tuned by gradient, all
    together. A curve may end straight, or vanish; `plateaus_` says so.

    Parameters
    ----------
    family : str or linear estimator, default="gaussian"
        What y is like: "gaussian", "huber" and "quantile" have the identity as their link g,
        "poisson", "gamma", "tweedie" and "inverse-gaussian" the logarithm. Or a linear estimator of
        this library with settings of its own, such as hoag.QuantileRegressorCV(quantile=0.9).
    scale : {"family", "pearson"}, default="family"
        φ of the variance φV(μ). "family" is 1 for "poisson", and estimated for the others, which do
        not know theirs. "pearson" estimates it for counts, too, as mgcv's quasipoisson: standard
        errors, bands and tests have it, and the choice of λ does not rely on 1.
    cv : None, str, int, splitter or iterable, default=None
        How λ is chosen: "reml", the marginal likelihood, which is smooth and seldom bends too much;
        "gcv", "alo", "aic" or "bic", see `hoag.criteria.without_folds`; or folds. None is "reml",
        and five folds for "huber" and "quantile", which are no likelihoods.

    Attributes
    ----------
    criterion_ : float
        That of cv, at lam_; of "reml" it is known up to a number that depends on y.

    See Also
    --------
    GAMClassifierCV : The same for classes.
    hoag.gam.smooth, hoag.gam.tensor, hoag.gam.linear, hoag.gam.category : Terms.
    hoag.gam.from_formula : Terms in the manner of mgcv.

    Notes
    -----
    H = G + S, G the curvature of the loss and S = Σⱼ exp(λⱼ)Sⱼ, gives

        edf = tr(H⁻¹G) over the coefficients of a term,   covariance_ = φH⁻¹

    the latter the posterior covariance where the penalty is read as a prior. Wood (2017),
    Generalized Additive Models: An Introduction with R, 2nd edition, chapter 6.

    Examples
    --------
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
    """

    family: str | LinearEstimator = "gaussian"
    scale: Literal["family", "pearson"] = "family"

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        offset: npt.ArrayLike | None = None,
        exposure: npt.ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Tune the penalties and fit the curves.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Of a frame only the columns that terms name are read.
        y : array of shape (n_samples,), default=None
            May be left out where terms are a formula with a left side, and X has that column.
        sample_weight : array of shape (n_samples,), default=None
            Weights of rows, of which only the ratios count.
        offset : array of shape (n_samples,), default=None
            What η has beside the terms; for families with the logarithm as their link.
        exposure : array of shape (n_samples,), default=None
            What the mean is multiplied by: offset = log(exposure).
        **params : dict
            `groups` for the splitter of cv.

        Returns
        -------
        self
            The fitted model.
        """
        return self._tune(X, y, sample_weight, params | self._offsets(offset, exposure))

    def _linear_model(self) -> LinearEstimator:
        if self.scale not in ("family", "pearson"):
            raise InvalidParameterError.of("scale", self.scale, "use 'family' or 'pearson'.")
        if isinstance(self.family, LinearEstimator):
            model: LinearEstimator = clone(self.family)
        elif isinstance(self.family, str) and self.family in FAMILIES:
            model = FAMILIES[self.family]()
        else:
            hint = f"use one of {', '.join(FAMILIES)}, or a linear estimator of hoag."
            raise InvalidParameterError.of("family", self.family, hint)
        if self.scale == "pearson":
            _linear.estimate_dispersion(model)
        return model

    @property
    def _family_name(self) -> str:
        name = self.family if isinstance(self.family, str) else type(self.family).__name__
        link = "log" if _linear.takes_offsets(self.model_) else "identity"
        return f"{name}, {link} link"

    def _share_explained(self, B: Any, y: Any, weights: Array, params: dict[str, Any]) -> float:
        own = {name: params[name] for name in ("offset", "exposure") if name in params}
        return float(self.model_.score(B, y, weights, **own))

    def predict(
        self,
        X: npt.ArrayLike,
        offset: npt.ArrayLike | None = None,
        exposure: npt.ArrayLike | None = None,
        *,
        terms: bool = False,
        interval: float | None = None,
    ) -> Any:
        """The mean of y, or what each term contributes, with a band where it is asked for.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            With the columns that terms name.
        offset : array of shape (n_samples,), default=None
            Of these rows, where one was fitted.
        exposure : array of shape (n_samples,), default=None
            Likewise.
        terms : bool, default=False
            fⱼ of every row in place of the mean, each of mean 0 over the rows that were fitted,
            levels over the categories: with intercept_ they add up to g(E y).
        interval : float or None, default=None
            The probability of a band for the mean of y, or for each fⱼ, point by point; not for
            single y.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_terms)
            With `interval` three of these: prediction, lower and upper end.
        """
        params = self._offsets(offset, exposure)
        if terms:
            if params:
                hint = "leave offset and exposure out, which are no part of the terms."
                raise InvalidParameterError.of("terms", terms, hint)
            return self._by_term(X, interval)
        B, unseen = self._design(X)
        mean = self.model_.predict(B, **params)
        if interval is None:
            return mean
        # Offsets shift η, and so multiply what the log link makes of it.
        z, *ends = self._predictor_band(B, unseen, interval)
        ratio = mean / _linear.mean(self.model_, z) if params else 1.0
        return mean, *(ratio * _linear.mean(self.model_, end) for end in ends)

    def score(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        exposure: npt.ArrayLike | None = None,
    ) -> float:
        """R² of squares, else the share of the deviance that is explained, D².

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            With the columns that terms name.
        y : array of shape (n_samples,)
            The numbers that were observed.
        sample_weight : array of shape (n_samples,), default=None
            Weights of rows.
        offset : array of shape (n_samples,), default=None
            Of these rows, where one was fitted.
        exposure : array of shape (n_samples,), default=None
            Likewise.

        Returns
        -------
        float
            At most 1; 0 for a constant.
        """
        own, (B, _) = self._offsets(offset, exposure), self._design(X)
        return float(self.model_.score(B, y, sample_weight, **own))

    def _offsets(self, offset: Any, exposure: Any) -> dict[str, Any]:
        """Those that are given, for families that have such."""
        found = {"offset": offset, "exposure": exposure}
        found = {name: value for name, value in found.items() if value is not None}
        if found and not _linear.takes_offsets(self._linear_model()):
            name, family = next(iter(found)), f"family={self.family!r}"
            what = (
                f"{name} is for families with the logarithm as their link, which {family} is not:"
            )
            raise NotSupportedError(what, parameter=name, hint="subtract it from y.")
        return found


@parameters
class GAMClassifierCV(Classifier, AdditiveModel):
    """An additive model of classes: logistic regression on smooth curves, each with its penalty.

        log odds = b + Σⱼ fⱼ(xⱼ)

    For several classes each has curves of its own, which share λ.

    Parameters
    ----------
    class_weight : None, "balanced" or dict, default=None
        Weights of classes, as in LogisticRegressionCV.
    cv : None, str, int, splitter or iterable, default=None
        How λ is chosen: "reml", the marginal likelihood, which None is, too; "gcv", "alo", "aic" or
        "bic", see `hoag.criteria.without_folds`; or folds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        In order.
    dispersion_ : float
        Pearson's, which far from 1 says that probabilities are wrong: the variance of one y that is
        0 or 1 is p(1 − p), and cannot be more.
    criterion_ : float
        That of cv, at lam_.

    See Also
    --------
    GAMRegressorCV : The same for numbers; its notes are true here, too.
    hoag.gam.smooth, hoag.gam.tensor, hoag.gam.linear, hoag.gam.category : Terms.

    Notes
    -----
    Wood (2017), Generalized Additive Models: An Introduction with R, 2nd edition, chapter 6.

    Examples
    --------
    >>> from hoag import GAMClassifierCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GAMClassifierCV("s(mean_radius) + s(mean_texture)")
    >>> model = model.fit(X.rename(columns=lambda name: name.replace(" ", "_")), y)
    >>> model.labels_
    ['s(mean_radius)', 's(mean_texture)']
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None

    classes_: npt.NDArray[Any] = fitted()

    def _linear_model(self) -> LinearEstimator:
        return linear_model.LogisticRegressionCV(class_weight=self.class_weight)

    @property
    def _family_name(self) -> str:
        many = len(self.classes_)
        return "binomial, logit link" if many == 2 else f"multinomial, {many} classes"

    def _share_explained(self, B: Any, y: Any, weights: Array, params: dict[str, Any]) -> float:
        weights = weights * compute_sample_weight(self.class_weight, np.asarray(y))
        labels, chance = self.classes_, self.model_.predict_proba(B)
        return float(d2_log_loss_score(y, chance, sample_weight=weights, labels=labels))

    def decision_function(
        self, X: npt.ArrayLike, *, terms: bool = False, interval: float | None = None
    ) -> Any:
        """The log odds of the second class, or a number for each of several.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            With the columns that terms name.
        terms : bool, default=False
            fⱼ of every row in their place; with intercept_ they add up to these.
        interval : float or None, default=None
            The probability of a band, point by point; for two classes.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) of several classes
            With `terms` (n_samples, n_terms), or (n_samples, n_terms, n_classes); with `interval`
            three of these: value, lower and upper end.
        """
        if terms:
            return self._by_term(X, interval)
        B, unseen = self._design(X)
        return self._predictor(B) if interval is None else self._predictor_band(B, unseen, interval)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest class.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            With the columns that terms name.

        Returns
        -------
        array of shape (n_samples,)
            Of classes_.
        """
        B, _ = self._design(X)
        return np.asarray(self.model_.predict(B))

    def predict_proba(self, X: npt.ArrayLike, *, interval: float | None = None) -> Any:
        """The probability of each class, with a band where it is asked for.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            With the columns that terms name.
        interval : float or None, default=None
            The probability of a band, point by point; for two classes.

        Returns
        -------
        array of shape (n_samples, n_classes)
            With `interval` three of these: probability, lower and upper end.
        """
        B, unseen = self._design(X)
        chance = self.model_.predict_proba(B)
        if interval is None:
            return chance
        _, low, high = (expit(end) for end in self._predictor_band(B, unseen, interval))
        return chance, np.stack((1 - high, low), axis=1), np.stack((1 - low, high), axis=1)
