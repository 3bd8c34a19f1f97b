"""GAMRegressorCV and GAMClassifierCV: a curve for each column, each with its own penalty."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from hoag.estimators.gamma import GammaRegressorCV
from hoag.estimators.huber import HuberRegressorCV
from hoag.estimators.linear import LinearEstimator
from hoag.estimators.logistic import LogisticRegressionCV
from hoag.estimators.poisson import PoissonRegressorCV
from hoag.estimators.posterior import Posterior
from hoag.estimators.quantile import QuantileRegressorCV
from hoag.estimators.ridge import RidgeCV
from hoag.estimators.term_table import Summary, summary
from hoag.estimators.tweedie import TweedieRegressorCV
from hoag.gam.additive import Additive, Part
from hoag.gam.formula import from_formula
from hoag.gam.seen import Seen
from hoag.gam.table import Table
from hoag.gam.terms import Term
from hoag.penalties import quadratic
from hoag.values import Array, Box, InvalidInput, Result

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

STRAIGHT, GONE = "straight", "gone"

# Settings that are handed on to the linear model.
_HANDED_ON = (
    *("cv", "scoring", "rule", "search", "starts", "bounds", "tol", "max_iter", "time_budget"),
    *("n_jobs", "random_state", "verbose", "callback"),
)


class AdditiveModel(BaseEstimator):  # type: ignore[misc]
    """η = b + Σⱼ fⱼ, by a linear model of the curves' bases whose penalties are the curves'."""

    # Degrees of freedom that are as good as none.
    _nothing = 0.02

    model_: LinearEstimator
    terms_: list[Term]
    labels_: list[str]
    coef_: Array
    intercept_: Any
    edf_: Array
    plateaus_: npt.NDArray[np.str_]
    covariance_: Array
    dispersion_: float
    lam_: Array
    result_: Result
    criterion_: float
    n_features_in_: int

    def _linear_model(self) -> Any:
        """The estimator that is fitted to the bases, with settings of its own alone."""
        raise NotImplementedError

    def _tune(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        table = self._table(X, reset=True)
        if y is None:
            y = self._left_side(X)
        y = column_or_1d(y, warn=True)
        if not is_classifier(self) and len(y) > 1 and np.all(y == y[0]):
            raise InvalidInput("y is constant: there is no curve to fit, nor noise to judge it by.")
        check_consistent_length(X, y)
        self.terms_ = self._terms(table)
        self._additive = Additive.of(table, self.terms_)
        self._seen = Seen.of(table, self.terms_)
        model, last = self._linear_model(), []
        forms, names, centred = self._forms()
        penalties = quadratic(forms, names=names, centred=centred)
        settings = self.get_params(deep=False)
        handed_on = {name: settings[name] for name in _HANDED_ON} | {"cv": self._chosen_cv(model)}
        if isinstance(self.tol, str):
            handed_on["tol"] = self._usual_tol(table.shape[0])
        model.set_params(penalties=penalties, **handed_on)
        B = self._additive.design(table)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, B, dtype=np.float64)
        model._on_refit = lambda *seen: last.append(seen)
        model.fit(B, y, sample_weight, **params)
        del model._on_refit
        weights = np.ones(B.shape[0]) if sample_weight is None else sample_weight
        means = np.asarray(weights @ B) / float(weights.sum())
        self._additive = replace(self._additive, means=means)
        self.model_, self._grams = model, [_gram(B, weights, means, part) for part in self._parts]
        self._read_off(last[0])
        self._explained = self._share_explained(B, y, sample_weight, params)
        self._warn_of_noise()
        return self

    def _chosen_cv(self, model: Any) -> Any:
        """The marginal likelihood where there is one, and nobody says otherwise; else folds."""
        if self.cv is None:
            return "reml" if "reml" in model._words else 5
        return self.cv

    def _warn_of_noise(self) -> None:
        """Where curves are worth as much as there are rows, nothing is left to tell them by."""
        rows, degrees = self._posterior.rows, self._posterior.degrees / self._outputs
        if degrees > 0.9 * rows:
            warnings.warn(
                f"The terms are worth {degrees:.1f} degrees of freedom, for {rows} rows: the noise "
                "is fitted with the rest, and no test or band means anything. Use fewer terms or "
                "knots, or judge them by folds, cv=5.",
                UserWarning,
                stacklevel=4,
            )

    def _read_off(self, last: tuple[Any, ...]) -> None:
        """The fitted attributes, from the linear model's."""
        model, means = self.model_, self._additive.means
        self.coef_ = model.coef_
        shift = np.atleast_2d(model.coef_) @ means
        self.intercept_ = model.intercept_ + (shift[0] if np.ndim(model.coef_) == 1 else shift)
        for name in ("lam_", "lam_interval_", "criterion_", "alpha_", "n_iter_", "penalties_"):
            setattr(self, name, vars(model).get(name))
        self.__dict__.pop("scores_", None)
        if "scores_" in vars(model):
            self.scores_ = vars(model)["scores_"]
        if "classes_" in vars(model):
            self.classes_ = vars(model)["classes_"]
        self.labels_ = self._additive.labels
        whole, u, target, x, lam = last
        self._outputs = target.outputs
        self._posterior = Posterior.of(whole, u, x, lam, model._loss_unit)
        self.covariance_ = self._posterior.covariance
        self.dispersion_ = self._posterior.dispersion
        self.edf_ = np.array([self._of(part, self._posterior.shares).sum() for part in self._parts])
        self.plateaus_ = np.array([self._word(part) for part in self._parts], dtype="U8")
        said = self._named_plateaus()
        status = model.result_.status
        told = f"{status.sentence} {said}".strip()
        self.result_ = replace(model.result_, status=replace(status, sentence=told))

    def _usual_tol(self, rows: int) -> float:
        """A hundredth of a degree of freedom, each of which is worth about 2/n of a criterion."""
        if self.tol != "auto":
            raise InvalidInput(f"tol={self.tol!r}: give a positive number, or 'auto'.")
        return min(1e-4, 0.02 / rows)

    @property
    def _parts(self) -> tuple[Part, ...]:
        return self._additive.parts

    def _of(self, part: Part, values: Array) -> Array:
        """Those of a part, of one number for each coefficient."""
        K = self._outputs
        return values[part.columns.start * K : part.columns.stop * K]

    def _word(self, part: Part) -> str:
        """What is left of a term whose penalties leave next to nothing of what they reach."""
        off = self._posterior.left[part.penalties] < self._nothing * self._outputs
        bends = np.array([form.bends for form in part.basis.forms], dtype=bool)
        if off.size and np.all(off) and part.basis.vanishes:
            return GONE
        return STRAIGHT if np.any(bends) and np.all(off[bends]) else ""

    def _named_plateaus(self) -> str:
        """A sentence for the terms whose penalties are as good as infinite."""
        found = []
        for word in (STRAIGHT, GONE):
            own = [part.label for part, one in zip(self._parts, self.plateaus_) if one == word]
            if own:
                found.append(f"{', '.join(own)} {'is' if len(own) == 1 else 'are'} {word}")
        if not found:
            return ""
        less = f"less than {self._nothing} degrees of freedom"
        return f"{' and '.join(found)}: the penalties leave {less} of what they reach."

    def _forms(self) -> tuple[list[Any], list[str], list[slice]]:
        forms, names, centred = [], [], []
        for part in self._parts:
            forms += [(part.columns, form.S) for form in part.basis.forms]
            names += part.basis.names
            if part.basis.centred:
                centred.append(part.columns)
        return forms, names, centred

    def _terms(self, table: Table) -> list[Term]:
        if self.terms is None:
            found, constant = table.every_term()
            if constant:
                warnings.warn(
                    f"Left out, as constant or with a category for every other row: "
                    f"{', '.join(constant)}.",
                    UserWarning,
                    stacklevel=4,
                )
            if not found:
                raise InvalidInput("All columns of X are constant: there is no term to fit.")
            return found
        if isinstance(self.terms, str):
            return from_formula(self.terms, table.numeric)[1]
        return [self.terms] if isinstance(self.terms, Term) else list(self.terms)

    def _named_columns(self) -> list[str] | None:
        """The columns of all terms, each once; None where some are numbered, or none is given."""
        given = self.terms
        if given is None:
            return None
        if isinstance(given, str):
            given = from_formula(given)[1]
        terms = [given] if isinstance(given, Term) else list(given)
        names = [name for term in terms if isinstance(term, Term) for name in term.needs]
        words = [name for name in names if isinstance(name, str)]
        return list(dict.fromkeys(words)) if len(words) == len(names) else None

    def _left_side(self, X: Any) -> Any:
        left = from_formula(self.terms)[0] if isinstance(self.terms, str) else None
        if left is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; or give "
                "a formula with a left side, 'y ~ s(x)', and X that has the column y."
            )
        if "(" in left:
            raise InvalidInput(f"The left side, {left!r}, is no column: compute it, and give y.")
        if "columns" not in dir(X):
            raise InvalidInput(f"X is no frame, and has no column {left!r}: give y.")
        return Table(X, [str(name) for name in X.columns]).column(left)

    def _table(self, X: Any, reset: bool) -> Table:
        """X, checked; of a frame only the columns that are asked for, by whatever terms name them.

        So a frame may have others, the target among them, and in any order.
        """
        if "columns" in dir(X) and not isinstance(X, np.ndarray):
            names = self._named_columns()
            if names is not None:
                whole = Table(X, [str(name) for name in X.columns])
                X = X[[X.columns[whole.place(name)] for name in names]]
            validate_data(self, X, reset=reset, skip_check_array=True)
            return Table(X, [str(name) for name in X.columns])
        least = 2 if reset else 1
        X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=least)
        return Table(X, None)

    # ---- what is asked of a fitted model

    def _predictor(self, X: Any, interval: float | None) -> tuple[Any, Array, Array | None]:
        """B, η without an offset, and its standard error where an interval is asked for."""
        table, B = self._design(X)
        z = np.asarray(B @ np.atleast_2d(self.coef_).T + self.model_.intercept_)
        z = z[:, 0] if z.shape[1] == 1 else z
        if interval is None:
            return B, z, None
        self._check_interval(interval)
        rows = np.hstack([B.toarray(), np.ones((B.shape[0], 1))])
        square = _forms(rows, self.covariance_)
        for part in self._parts:
            square += self._of_strangers(part, table)
        return B, z, np.sqrt(square)

    def _design(self, X: Any) -> tuple[Table, Any]:
        """The columns that are asked for, and B; levels that were not fitted are told."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        for part in self._parts:
            strange = part.basis.strange(table.values(part.term))
            if np.any(strange):
                warnings.warn(
                    f"{int(strange.sum())} of {strange.size} rows have a category of {part.label} "
                    "that was not there in fit: the mean of the others is taken for it.",
                    UserWarning,
                    stacklevel=4,
                )
        return table, self._additive.design(table)

    def _of_strangers(self, part: Part, table: Table) -> Array:
        """How much a level that was not there may be off the mean of the others, squared."""
        strange = part.basis.strange(table.values(part.term))
        if not np.any(strange):
            return np.zeros(strange.size)
        return np.where(strange, self._posterior.spreads[part.penalties.start], 0.0)

    def _by_term(self, X: Any, interval: float | None) -> Any:
        """fⱼ of every row, (n, terms), or with classes (n, terms, classes); and bands about it.

        A band is that of fⱼ and the intercept together: of fⱼ alone it would have no width where a
        straight line crosses 0.
        """
        table, B = self._design(X)
        rows = [self._additive.centred_rows(part, B) for part in self._parts]
        coef = np.atleast_2d(self.coef_)
        pairs = list(zip(rows, self._parts, strict=True))
        values = np.stack([own @ coef[:, part.columns].T for own, part in pairs], axis=1)
        values = values[:, :, 0] if len(coef) == 1 else values
        if interval is None:
            return values
        self._check_interval(interval)
        base, errors = self.covariance_ @ np.append(self._additive.means, 1.0), []
        level = float(np.append(self._additive.means, 1.0) @ base)
        for own, part in pairs:
            square = _forms(own, self.covariance_[part.columns, part.columns])
            square = square + self._of_strangers(part, table)
            errors.append(np.sqrt(np.maximum(level + 2 * own @ base[part.columns] + square, 0.0)))
        return _band(values, np.stack(errors, axis=1), interval)

    def _check_interval(self, interval: float) -> None:
        if not 0 < interval < 1:
            raise InvalidInput(f"interval={interval!r}: give a probability, such as 0.95.")
        if self._outputs > 1:
            raise InvalidInput("Bands are for one linear predictor, not for several classes.")
        if not self._posterior.likely:
            raise InvalidInput("This loss is no likelihood of y, and knows no bands.")

    def summary(self) -> Summary:
        """Each term with its degrees of freedom and an approximate test; print it to read it."""
        check_is_fitted(self)
        return summary(self)

    def plot_terms(
        self,
        X: Any = None,
        y: Any = None,
        *,
        terms: Any = None,
        interval: float | None = 0.95,
        residuals: bool = False,
        share_y: bool = True,
        axes: Any = None,
        **params: Any,
    ) -> Any:
        """Draw every term with its band; needs matplotlib.

        X, y       rows to draw, by default some of those that were fitted; residuals need both
        terms      which, by label or number; by default all but those that are gone
        interval   the probability of the bands, point by point; None for none
        residuals  also what is left of the rows' y, with the term added
        share_y    one scale for all, so that sizes compare
        axes       matplotlib axes to draw on, as many as there are panels
        params     offset or exposure of the rows, for residuals

        Returns hoag.plot.TermsDisplay, with figure_ and axes_.
        """
        from hoag.plot import TermsDisplay

        return TermsDisplay.from_estimator(
            self, X, y, terms=terms, interval=interval, residuals=residuals, share_y=share_y,
            axes=axes, **params,
        )  # fmt: skip

    @property
    def _family_name(self) -> str:
        raise NotImplementedError

    def _share_explained(self, B: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> str:
        """How much of y is explained, in words."""
        raise NotImplementedError


class GAMRegressorCV(RegressorMixin, AdditiveModel):  # type: ignore[misc]
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
    cv : None, "reml", "gcv", "alo", "aic", "bic", int, splitter or iterable
        How λ is chosen: the marginal likelihood, which is smooth and seldom bends too much;
        generalised cross-validation; approximate leave-one-out; or folds. None is "reml", and five
        folds for "huber" and "quantile", which are no likelihoods. criterion_ is that of the words,
        see hoag.criteria.without_folds: of "reml" it is known up to a number that depends on y.
    tol : float or "auto"
        As in LogisticRegressionCV, a share of the criterion. "auto" is 0.02/n, what a hundredth of
        a degree of freedom changes it by, and at most 1e-4.
    scoring, rule, search, starts, bounds, max_iter, time_budget, n_jobs, random_state, verbose,
    callback : as in LogisticRegressionCV

    Attributes
    ----------
    terms_ : list of terms
    labels_ : list of str, what each curve is called
    edf_ : array, how many coefficients each curve is worth
    plateaus_ : array of str, "straight" or "gone" where penalties are as good as infinite, and
        leave less than 0.02 degrees of freedom of what they reach; else ""
    intercept_ : float, η where every curve is at its mean
    coef_ : array, of all bases, one after another
    covariance_ : array, of coef_ and the intercept before curves are centred, given y
    dispersion_ : float, φ
    lam_, lam_interval_, penalties_, criterion_, result_, n_iter_ : as in LogisticRegressionCV
    model_ : the linear estimator that was fitted to the bases
    """

    def __init__(
        self,
        terms: Any = None,
        *,
        family: Any = "gaussian",
        cv: Any = None,
        scoring: Any = None,
        rule: Literal["best", "1se"] = "best",
        search: Any = None,
        starts: int | Literal["auto"] = "auto",
        bounds: Literal["auto"] | tuple[Any, Any] | Box = "auto",
        tol: float | Literal["auto"] = "auto",
        max_iter: int = 100,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.terms = terms
        self.family = family
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.search = search
        self.starts = starts
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

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
                  fitted: with intercept_ they add up to g(E y)
        interval  0.95, say: (prediction, lower, upper), a band for the mean of y, or for each fⱼ,
                  point by point; not for single y
        """
        params = self._offsets(offset, exposure)
        if terms:
            if params:
                raise InvalidInput("terms=True: offsets are no part of the terms.")
            return self._by_term(X, interval)
        B, z, error = self._predictor(X, interval)
        mean = self.model_.predict(B, **params)
        if error is None:
            return mean
        if params:  # offsets shift η, and nothing else
            ones = self.model_._from_predictor(z)
            ratio = mean / ones
        else:
            ratio = 1.0
        _, low, high = _band(z, error, float(interval or 0.0))
        ends = [ratio * self.model_._from_predictor(end) for end in (low, high)]
        return mean, *ends

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> float:
        """R² of squares, else the share of the deviance that is explained, D²."""
        own, (_, B) = self._offsets(offset, exposure), self._design(X)
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


class GAMClassifierCV(ClassifierMixin, AdditiveModel):  # type: ignore[misc]
    """An additive model of classes: logistic regression on smooth curves, each with its penalty.

        log odds = b + Σⱼ fⱼ(xⱼ)

    For several classes each has curves of its own, which share λ. Parameters and attributes are
    those of GAMRegressorCV, but for `family`.

    >>> from hoag import GAMClassifierCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GAMClassifierCV("s(mean_radius) + s(mean_texture)")
    >>> model = model.fit(X.rename(columns=lambda name: name.replace(" ", "_")), y)
    >>> model.labels_
    ['s(mean_radius)', 's(mean_texture)']
    """

    def __init__(
        self,
        terms: Any = None,
        *,
        cv: Any = None,
        class_weight: Any = None,
        scoring: Any = None,
        rule: Literal["best", "1se"] = "best",
        search: Any = None,
        starts: int | Literal["auto"] = "auto",
        bounds: Literal["auto"] | tuple[Any, Any] | Box = "auto",
        tol: float | Literal["auto"] = "auto",
        max_iter: int = 100,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.terms = terms
        self.cv = cv
        self.class_weight = class_weight
        self.scoring = scoring
        self.rule = rule
        self.search = search
        self.starts = starts
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    classes_: npt.NDArray[Any]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Tune the penalties and fit the curves; `groups` for the splitter go in params."""
        return self._tune(X, y, sample_weight, params)

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
        _, z, error = self._predictor(X, interval)
        return z if error is None else _band(z, error, float(interval or 0.0))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class."""
        _, B = self._design(X)
        return np.asarray(self.model_.predict(B))

    def predict_proba(self, X: Any, *, interval: float | None = None) -> Any:
        """The probability of each class; with `interval` (probability, lower, upper)."""
        B, z, error = self._predictor(X, interval)
        chance = self.model_.predict_proba(B)
        if error is None:
            return chance
        _, low, high = (expit(end) for end in _band(z, error, float(interval or 0.0)))
        both = [np.stack(ends, axis=1) for ends in ((1 - high, low), (1 - low, high))]
        return chance, *both


def _band(values: Array, errors: Array, interval: float) -> tuple[Array, Array, Array]:
    width = float(ndtri(0.5 + interval / 2)) * errors
    return values, values - width, values + width


def _gram(B: Any, weights: Array, means: Array, part: Part) -> Array:
    """Σᵢ sᵢ(bᵢ − m)(bᵢ − m)ᵀ for the columns of a part."""
    own, m = B[:, part.columns], means[part.columns]
    square = (own.T @ own.multiply(weights[:, None])).toarray()
    return np.asarray(square - float(weights.sum()) * np.outer(m, m))


def _forms(rows: Array, M: Array) -> Array:
    """aᵢᵀMaᵢ for every row, not below 0."""
    return np.asarray(np.maximum(np.einsum("ij,ij->i", rows @ M, rows), 0.0))
