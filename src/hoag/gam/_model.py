"""What additive models share: from terms to a linear model of their bases, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from hoag._core import errors
from hoag._core.errors import InvalidDataError, InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag._core.warn import warn
from hoag._data.files import check_distinct
from hoag._data.out_of_core import is_out_of_core
from hoag.gam import _linear
from hoag.gam._columns import Frame, ModelFrame, framed, is_frame
from hoag.gam._design import Additive, FittedTerm
from hoag.gam._formula import from_formula
from hoag.gam._summary import Summary, summary
from hoag.gam._terms import Term
from hoag.linear_model._base import SearchParameters
from hoag.linear_model._linear import LinearEstimator
from hoag.linear_model._parameters import fitted, parameters

if TYPE_CHECKING:
    from hoag.plot import TermsDisplay

Band = tuple[Array, Array, Array]

# Attributes of the linear model that are those of the additive one.
_KEPT = ("lam_", "lam_interval_", "criterion_", "alpha_", "n_iter_", "penalties_", "scores_",
         "classes_")  # fmt: skip

# The words of plateaus_.
STRAIGHT, GONE = "straight", "gone"


@parameters
class AdditiveModel(SearchParameters):
    """An additive model: a linear model of the curves' bases, whose penalties are the curves'.

    Parameters
    ----------
    terms : None, str, Term or list of Term, default=None
        What `hoag.gam` makes: `smooth`, `tensor`, `linear`, `category`; or a formula in the manner
        of mgcv, ``"y ~ s(age) + te(lat, lon) + site"``, where X has these columns. None is a curve
        for every column of numbers, and a level for each category of the others, with as many knots
        as there are rows for each column, 20 at most. With fewer than 5 rows for each column these
        are lines.
    tol : float or "auto", default="auto"
        The share of the criterion by which it may still fall. "auto" is 0.02/n, what a hundredth of
        a degree of freedom changes it by, and at most 1e-4.
    time_budget : float or None, default=None
        Seconds after which the search ends, with the best that it has seen.
    starts : int or "auto", default="auto"
        From how many λ the search begins.

    Attributes
    ----------
    terms_ : list of Term
        The terms, also where none were given.
    labels_ : list of str
        What each fitted term is called. One by category is several: the levels, and its curves.
    edf_ : array of shape (n_terms,)
        The effective degrees of freedom of each; 1 is a straight line.
    plateaus_ : array of str, of shape (n_terms,)
        "straight" or "gone" where penalties are as good as infinite, and leave less than 0.02
        degrees of freedom of what they reach; else "".
    coef_ : array of shape (n_coef,), or (n_classes, n_coef) of several classes
        Of all terms, one after another as in labels_: of a line its slope, for each unit of the
        column as it was given; of a category its levels, in the order of their names, of mean 0; of
        a curve the coefficients of its basis.
    intercept_ : float, or array of shape (n_classes,) of several classes
        η where every curve and line is at its mean over the rows, for a category that is as the
        mean of all.
    covariance_ : array of shape (n_coef + 1, n_coef + 1)
        Of coef_ and intercept_, the last, given y.
    dispersion_ : float
        Pearson's Σ(y − μ)²/V(μ) over n − edf.
    scale_ : float
        The φ that standard errors, bands and tests have: dispersion_, or 1 where the family says
        so.
    alpha_ : array of shape (n_penalties,)
        exp(λ), mgcv's `sp` before it scales its matrices.
    model_ : estimator
        The linear estimator that was fitted to the bases.
    """

    terms: str | Term | Sequence[Term] | None = field(default=None, kw_only=False)
    tol: float | Literal["auto"] = "auto"  # type: ignore[assignment]
    starts: int | Literal["auto"] = "auto"

    model_: LinearEstimator = fitted()
    terms_: list[Term] = fitted()
    labels_: list[str] = fitted()
    coef_: Array = fitted()
    intercept_: Any = fitted()
    edf_: Array = fitted()
    plateaus_: npt.NDArray[np.str_] = fitted()
    covariance_: Array = fitted()
    dispersion_: float = fitted()
    scale_: float = fitted()

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
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
        **params : dict
            `groups` for the splitter of cv.

        Returns
        -------
        self
            The fitted model.
        """
        return self._tune(X, y, sample_weight, params)

    # Degrees of freedom that are as good as none.
    _nothing = 0.02

    # Warned of: more degrees of freedom than this share of the rows, and counts whose variance is
    # this many times that of their family.
    _saturated, _overdispersed = 0.9, 2.0

    def _linear_model(self) -> LinearEstimator:
        """The estimator that is fitted to the bases, with settings of its own alone."""
        raise NotImplementedError

    def _tune(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        errors.check_given(y=y, sample_weight=sample_weight, **params)
        frame = self._frame(X, reset=True)
        y = column_or_1d(self._left_side(X) if y is None else y, warn=True)
        if not is_classifier(self) and len(y) > 1 and np.all(y == y[0]):
            what = "y is constant: there is no curve to fit, nor noise to judge it by."
            raise InvalidDataError(what, where="y")
        check_consistent_length(X, y)
        self.terms_ = self._terms(frame)
        design = Additive.of(frame, self.terms_)
        self._seen = ModelFrame.of(frame, self.terms_)
        B = design.design(frame)
        model = self._linear_model()
        handed_on = {one.name for one in fields(AdditiveModel) if one.init} - {"terms"}
        settings = {k: v for k, v in self.get_params(deep=False).items() if k in handed_on}
        if self.cv is None:
            settings["cv"] = _linear.usual_cv(model)
        if isinstance(self.tol, str):
            if self.tol != "auto":
                raise InvalidParameterError.of("tol", self.tol, "give a positive number or 'auto'.")
            # a hundredth of a degree of freedom, which is worth 2/n of a criterion
            settings["tol"] = min(1e-4, 0.02 / frame.rows)
        model.set_params(penalties=design.penalties, **settings)
        self._posterior = _linear.fit(model, B, y, sample_weight, params)
        weights = np.full(frame.rows, 1.0 if sample_weight is None else sample_weight)
        means = np.asarray(weights @ B) / float(weights.sum())
        self.model_, self._additive = model, replace(design, means=means)
        self._grams = [self._additive.gram(part, B, weights) for part in self._parts]
        self._read_off()
        self._explained = self._share_explained(B, y, weights, params)
        self._check_fit()
        return self

    def _check_fit(self) -> None:
        """Warn of noise that is fitted, and of counts that vary more than their family says."""
        rows, edf = self._posterior.rows, self._posterior.total_edf / self._outputs
        if edf > self._saturated * rows:
            warn(
                f"The terms have {edf:.1f} effective degrees of freedom for {rows} rows: the noise "
                "is fitted with the rest, and bands and tests mean nothing. Use fewer terms or "
                "knots, or choose the penalties by folds, cv=5."
            )
        times = self.dispersion_ / self.scale_
        if self._posterior.counts and times > self._overdispersed:
            warn(
                f"The counts vary {times:.1f} times as much as Poisson's (Pearson's dispersion): "
                "standard errors, bands and p-values are too small, and curves too wiggly. Use "
                "scale='pearson', which estimates the dispersion and takes it for all of these."
            )

    def _read_off(self) -> None:
        """The fitted attributes, from the linear model's."""
        model, posterior = self.model_, self._posterior
        raw = np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])
        shown = raw @ self._additive.shown.T
        flat = np.ndim(model.coef_) == 1
        self.coef_ = shown[0, :-1] if flat else shown[:, :-1]
        self.intercept_ = float(shown[0, -1]) if flat else shown[:, -1]
        self.__dict__.pop("scores_", None)  # of an earlier fit
        self.__dict__.update({name: vars(model)[name] for name in _KEPT if name in vars(model)})
        self.labels_, self._outputs = [part.label for part in self._parts], posterior.outputs
        own = posterior.covariance, posterior.variances, self._outputs
        self.covariance_ = self._additive.covariance(*own)
        self.dispersion_, self.scale_ = posterior.dispersion, posterior.scale
        self.edf_ = np.array([self._of(part, posterior.edf).sum() for part in self._parts])
        self.plateaus_ = np.array([self._plateau(part) for part in self._parts], dtype="U8")
        status = model.result_.status
        self.result_ = replace(model.result_, status=status.noted(self._named_plateaus()))

    @property
    def _parts(self) -> tuple[FittedTerm, ...]:
        return self._additive.parts

    def _of(self, part: FittedTerm, values: Array) -> Array:
        """Those of a term, of one number for each coefficient."""
        K = self._outputs
        return values[part.columns.start * K : part.columns.stop * K]

    def _plateau(self, part: FittedTerm) -> str:
        """What is left of a term whose penalties leave next to nothing of what they reach."""
        off = self._posterior.left[part.lam] < self._nothing * self._outputs
        roughness = np.array([one.roughness for one in part.basis.penalties], dtype=bool)
        if off.size and np.all(off) and part.basis.vanishes:
            return GONE
        return STRAIGHT if np.any(roughness) and np.all(off[roughness]) else ""

    def _named_plateaus(self) -> str:
        """A sentence for the terms whose penalties are as good as infinite."""
        found = list[str]()
        for word in (STRAIGHT, GONE):
            own = np.array(self.labels_)[self.plateaus_ == word]
            found += [f"{', '.join(own)} {'is' if own.size == 1 else 'are'} {word}"][: own.size]
        less = f"less than {self._nothing} effective degrees of freedom of what they penalise"
        return f"{' and '.join(found)}: the penalties leave {less}." if found else ""

    def _terms(self, frame: Frame) -> list[Term]:
        if self.terms is None:
            found, left_out = frame.every_term()
            if left_out:
                told = ", ".join(left_out)
                warn(f"Left out, as constant or with a category for every other row: {told}.")
            if not found:
                what = "All columns of X are constant: there is no term to fit."
                raise InvalidDataError(what, where="X")
            return found
        return self._given(frame.numeric)[1]

    def _given(self, numeric: Any = lambda column: True) -> tuple[str | None, list[Term]]:
        """The left side of the formula, if any, and the terms that were given."""
        if isinstance(self.terms, str):
            return from_formula(self.terms, numeric)
        return None, [self.terms] if isinstance(self.terms, Term) else list(self.terms or [])

    def _left_side(self, X: Any) -> Any:
        left, frame = self._given()[0], framed(X)
        if left is None:
            raise InvalidDataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None:",
                hint="give y, or a formula with a left side, 'y ~ s(x)', and X with the column y.",
                where="y",
            )
        if "(" in left or not is_frame(frame):
            why = "is computed" if "(" in left else "is a column, and X is no frame"
            what = f"The left side of the formula, {left!r}, {why}:"
            raise InvalidDataError(what, hint="give y.", where="y")
        return Frame(frame).column(left)

    def _frame(self, X: Any, reset: bool) -> Frame:
        """X, checked; of a frame only the columns that are asked for, by whatever terms name them.

        So a frame may have others, the target among them, and in any order.
        """
        if is_out_of_core(X):
            what = f"{type(self).__name__} needs its rows in memory:"
            raise NotSupportedError(what, parameter="X", hint="give an array or a frame.")
        X = framed(X)
        if not is_frame(X):
            errors.check_given(X=X)
            settings = {"dtype": np.float64, "ensure_min_samples": 2 if reset else 1}
            return Frame(validate_data(self, X, reset=reset, **settings))
        check_distinct("X", X.columns)
        given = [term for term in self._given()[1] if isinstance(term, Term)]
        needs = [column for term in given for column in term.needs]
        if needs and all(isinstance(column, str) for column in needs):
            X = Frame(X).only(list(dict.fromkeys(needs)))
        validate_data(self, X, reset=reset, skip_check_array=True)
        return Frame(X)

    # ---- what is asked of a fitted model

    def _predictor(self, B: Any) -> Array:
        """η without an offset, (n,) or (n, classes)."""
        z = np.asarray(B @ np.atleast_2d(self.model_.coef_).T + self.model_.intercept_)
        return z[:, 0] if z.shape[1] == 1 else z

    def _predictor_band(self, B: Any, unseen: Sequence[Array], interval: float) -> Band:
        """η and its band."""
        self._check_interval(interval)
        parts = [self._additive.rows(part, B[:, part.columns]) for part in self._parts]
        rows = np.hstack([*parts, np.ones((B.shape[0], 1))])
        variance = _quadratic_forms(rows, self.covariance_) + np.sum(unseen, axis=0)
        return band(self._predictor(B), np.sqrt(variance), interval)

    def _design(self, X: Any) -> tuple[Any, list[Array]]:
        """B, and for every term the variance of its rows of a category that was not fitted.

        Such categories are warned of.
        """
        check_is_fitted(self)
        frame, variances = self._frame(X, reset=False), []
        for part in self._parts:
            unseen = part.basis.unseen(frame.values(part.reads))
            variance = 0.0
            if np.any(unseen):  # of one more level, about a mean that the others show
                variance = self._posterior.variances[part.lam.start] * (1 + 1 / part.basis.size)
                warn(
                    f"{int(unseen.sum())} of {unseen.size} rows have a category of {part.label} "
                    "that was not there in fit: the mean of the others is taken for it."
                )
            variances.append(np.where(unseen, variance, 0.0))
        return self._additive.design(frame), variances

    def _by_term(self, X: Any, interval: float | None) -> Array | Band:
        """fⱼ of every row, (n, terms), or with classes (n, terms, classes); and bands about it.

        A band is that of fⱼ and the intercept together: of fⱼ alone it would have no width where a
        straight line crosses 0.
        """
        B, unseen = self._design(X)
        rows = [self._additive.rows(part, B[:, part.columns]) for part in self._parts]
        coef = np.atleast_2d(self.coef_)
        pairs = list(zip(rows, self._parts, strict=True))
        values = np.stack([own @ coef[:, part.columns].T for own, part in pairs], axis=1)
        values = values[:, :, 0] if len(coef) == 1 else values
        if interval is None:
            return values
        self._check_interval(interval)
        variances = [self._with_mean(part, own) for own, part in pairs]
        errors = np.sqrt(np.stack(variances, axis=1) + np.stack(unseen, axis=1))
        return band(values, errors, interval)

    def _with_mean(self, part: FittedTerm, rows: Array) -> Array:
        """The variance of fⱼ beside the other terms at their means over the rows fitted."""
        mean = np.append(self._additive.means - self._additive.centres, 1.0)  # of shown rows
        base, about = self.covariance_ @ mean, rows - mean[part.columns]
        own = _quadratic_forms(about, self.covariance_[part.columns, part.columns])
        return np.asarray(np.maximum(mean @ base + 2 * about @ base[part.columns] + own, 0.0))

    def _check_interval(self, interval: float) -> None:
        if not 0 < interval < 1:
            raise InvalidParameterError.of("interval", interval, "give a probability, as 0.95.")
        why = "" if self._posterior.likely else "the loss is no likelihood of y"
        why = "there are several classes, not one linear predictor" if self._outputs > 1 else why
        if why:
            what, hint = f"There are no bands where {why}:", "leave interval out."
            raise NotSupportedError(what, parameter="interval", value=interval, hint=hint)

    def summary(self) -> Summary:
        """Coefficients and terms with approximate tests, as mgcv's summary has them.

        Returns
        -------
        Summary
            Print it to read it; `table` and `coefficients` are arrays of records.
        """
        check_is_fitted(self)
        return summary(self)

    def plot_terms(
        self,
        X: npt.ArrayLike | None = None,
        y: npt.ArrayLike | None = None,
        *,
        terms: str | int | Sequence[str | int] | None = None,
        interval: float | None = 0.95,
        residuals: bool = False,
        share_y: bool = True,
        axes: Any = None,
        **params: Any,
    ) -> TermsDisplay:
        """Draw every term with its band; needs matplotlib.

        Parameters
        ----------
        X : array or data frame, default=None
            Rows to draw; None is some of those that were fitted. Residuals need X and y.
        y : array of shape (n_samples,), default=None
            Of the same rows, for residuals.
        terms : str, int or a list of these, default=None
            Which, by label or number; None is all but those that are gone.
        interval : float or None, default=0.95
            The probability of the bands, point by point; None for no bands.
        residuals : bool, default=False
            Also partial residuals: what is left of the rows' y, with the term added.
        share_y : bool, default=True
            One scale for all, so that sizes compare.
        axes : matplotlib Axes or array of these, default=None
            To draw on, as many as there are panels.
        **params : dict
            offset or exposure of the rows, for residuals.

        Returns
        -------
        hoag.plot.TermsDisplay
            With figure_ and axes_.
        """
        from hoag.plot import TermsDisplay

        return TermsDisplay.from_estimator(
            self, X, y, terms=terms, interval=interval, residuals=residuals, share_y=share_y,
            axes=axes, **params,
        )  # fmt: skip

    def _share_explained(self, B: Any, y: Any, weights: Array, params: dict[str, Any]) -> float:
        """How much of the deviance is explained."""
        raise NotImplementedError


def band(values: Array, errors: Array, interval: float) -> Band:
    width = float(ndtri(0.5 + interval / 2)) * errors
    return values, values - width, values + width


def _quadratic_forms(rows: Array, M: Array) -> Array:
    """aᵢᵀMaᵢ for every row, not below 0."""
    return np.asarray(np.maximum(np.einsum("ij,ij->i", rows @ M, rows), 0.0))
