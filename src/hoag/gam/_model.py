"""What additive models share: from terms to a linear model of their bases, and back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.base import is_classifier
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from hoag import penalties
from hoag._core.errors import InvalidInput, check_given
from hoag._core.numeric import Array
from hoag._data.files import check_distinct
from hoag.gam._columns import Table, framed
from hoag.gam._design import Additive, Part
from hoag.gam._formula import from_formula
from hoag.gam._observed import Seen
from hoag.gam._posterior import Posterior
from hoag.gam._summary import Summary, summary
from hoag.gam._terms import Term
from hoag.linear_model._base import SearchParameters
from hoag.linear_model._linear import LinearEstimator
from hoag.linear_model._out_of_core import is_out_of_core
from hoag.linear_model._parameters import fitted, parameters

STRAIGHT, GONE = "straight", "gone"

# Settings that are handed on to the linear model.
_HANDED_ON = (
    *("cv", "scoring", "rule", "search", "starts", "bounds", "tol", "max_iter", "time_budget"),
    *("n_jobs", "random_state", "verbose", "callback", "checkpoint"),
)


@parameters
class AdditiveModel(SearchParameters):
    """η = b + Σⱼ fⱼ, by a linear model of the curves' bases whose penalties are the curves'."""

    tol: float | Literal["auto"] = "auto"  # type: ignore[assignment]
    starts: int | Literal["auto"] = "auto"

    # Degrees of freedom that are as good as none.
    _nothing = 0.02

    # Counts whose variance is more than so many times what it is taken for are told.
    _dispersed = 2.0

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Tune the penalties and fit the curves; `groups` for the splitter go in params."""
        return self._tune(X, y, sample_weight, params)

    def _linear_model(self) -> Any:
        """The estimator that is fitted to the bases, with settings of its own alone."""
        raise NotImplementedError

    def _tune(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        check_given(y=y, sample_weight=sample_weight, **params)
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
        roughness = penalties.quadratic(forms, names=names, centred=centred)
        settings = self.get_params(deep=False)
        handed_on = {name: settings[name] for name in _HANDED_ON} | {"cv": self._chosen_cv(model)}
        if isinstance(self.tol, str):
            handed_on["tol"] = self._usual_tol(table.shape[0])
        model.set_params(penalties=roughness, **handed_on)
        B = self._additive.design(table)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, B, dtype=np.float64)
        model._on_refit = lambda *seen: last.append(seen)
        model.fit(B, y, sample_weight, **params)
        del model._on_refit
        weights = np.ones(B.shape[0]) if sample_weight is None else sample_weight
        means = np.asarray(weights @ B) / float(weights.sum())
        self._additive = replace(self._additive, means=means)
        self.model_ = model
        self._grams = [_gram(B, weights, self._additive, part) for part in self._parts]
        self._read_off(last[0])
        self._explained = self._share_explained(B, y, sample_weight, params)
        self._warn_of_noise()
        self._warn_of_dispersion()
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

    def _warn_of_dispersion(self) -> None:
        """Where counts vary much more than their family says, every error is too small."""
        if self._posterior.counts and self.dispersion_ > self._dispersed * self.scale_:
            times = self.dispersion_ / self.scale_
            warnings.warn(
                f"The counts vary {times:.1f} times as much about their mean as the Poisson "
                "distribution has it (Pearson's dispersion): standard errors, bands and p-values "
                "are too small, and curves bend too much. Use scale='pearson', which estimates "
                "the dispersion and takes it for all of these.",
                UserWarning,
                stacklevel=4,
            )

    def _read_off(self, last: tuple[Any, ...]) -> None:
        """The fitted attributes, from the linear model's."""
        model, flat = self.model_, np.ndim(self.model_.coef_) == 1
        raw = np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])
        shown = raw @ self._additive.shown.T
        self.coef_ = shown[0, :-1] if flat else shown[:, :-1]
        self.intercept_ = float(shown[0, -1]) if flat else shown[:, -1]
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
        self._posterior = Posterior.of(whole, u, target, x, lam, model._loss_unit)
        self.covariance_ = self._additive.covariance(
            self._posterior.covariance, self._posterior.spreads, self._outputs
        )
        self.dispersion_, self.scale_ = self._posterior.dispersion, self._posterior.scale
        self.edf_ = np.array([self._of(part, self._posterior.shares).sum() for part in self._parts])
        self.plateaus_ = np.array([self._word(part) for part in self._parts], dtype="U8")
        said = self._named_plateaus()
        status = model.result_.status
        self.result_ = replace(model.result_, status=status.noted(said))

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
        X = framed(X)
        if "columns" not in dir(X):
            raise InvalidInput(f"X is no frame, and has no column {left!r}: give y.")
        return Table(X, [str(name) for name in X.columns]).column(left)

    def _table(self, X: Any, reset: bool) -> Table:
        """X, checked; of a frame only the columns that are asked for, by whatever terms name them.

        So a frame may have others, the target among them, and in any order.
        """
        if is_out_of_core(X):
            raise InvalidInput(
                f"{type(self).__name__} needs its rows in memory: give X as an array or a frame."
            )
        X = framed(X)
        if "columns" in dir(X) and not isinstance(X, np.ndarray):
            check_distinct("X", X.columns)
            names = self._named_columns()
            if names is not None:
                whole = Table(X, [str(name) for name in X.columns])
                X = X[[X.columns[whole.place(name)] for name in names]]
            validate_data(self, X, reset=reset, skip_check_array=True)
            return Table(X, [str(name) for name in X.columns])
        check_given(X=X)
        least = 2 if reset else 1
        X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=least)
        return Table(X, None)

    # ---- what is asked of a fitted model

    def _predictor(self, B: Any) -> Array:
        """η without an offset, (n,) or (n, classes)."""
        z = np.asarray(B @ np.atleast_2d(self.model_.coef_).T + self.model_.intercept_)
        return z[:, 0] if z.shape[1] == 1 else z

    def _predictor_band(self, B: Any, unseen: Sequence[Array], interval: float) -> Any:
        """η and its band."""
        self._check_interval(interval)
        parts = [self._additive.rows(part, B[:, part.columns]) for part in self._parts]
        rows = np.hstack([*parts, np.ones((B.shape[0], 1))])
        square = _forms(rows, self.covariance_) + np.sum(unseen, axis=0)
        return band(self._predictor(B), np.sqrt(square), interval)

    def _design(self, X: Any) -> tuple[Any, list[Array]]:
        """B, and for every part how far rows of a level that was not fitted may be off, squared.

        Such levels are told.
        """
        check_is_fitted(self)
        table, unseen = self._table(X, reset=False), []
        for part in self._parts:
            strange = part.basis.strange(table.values(part.term))
            spread = 0.0
            if np.any(strange):  # of one more level, about a mean that the others show
                own = self._posterior.spreads[part.penalties.start]
                spread = own * (1.0 + 1.0 / part.basis.size)
            unseen.append(np.where(strange, spread, 0.0))
            if np.any(strange):
                warnings.warn(
                    f"{int(strange.sum())} of {strange.size} rows have a category of {part.label} "
                    "that was not there in fit: the mean of the others is taken for it.",
                    UserWarning,
                    stacklevel=4,
                )
        return self._additive.design(table), unseen

    def _by_term(self, X: Any, interval: float | None) -> Any:
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
        errors = [
            np.sqrt(self._with_mean(part, own) + spread)
            for (own, part), spread in zip(pairs, unseen, strict=True)
        ]
        return band(values, np.stack(errors, axis=1), interval)

    def _with_mean(self, part: Part, rows: Array) -> Array:
        """The variance of fⱼ beside the other terms at their means over the rows fitted."""
        mean = np.append(self._additive.means - self._additive.centres, 1.0)  # of shown rows
        base, about = self.covariance_ @ mean, rows - mean[part.columns]
        square = _forms(about, self.covariance_[part.columns, part.columns])
        return np.asarray(np.maximum(mean @ base + 2 * about @ base[part.columns] + square, 0.0))

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


def band(values: Array, errors: Array, interval: float) -> tuple[Array, Array, Array]:
    width = float(ndtri(0.5 + interval / 2)) * errors
    return values, values - width, values + width


def _gram(B: Any, weights: Array, additive: Additive, part: Part) -> Array:
    """Σᵢ sᵢ(bᵢ − m)(bᵢ − m)ᵀ for the columns of a part, in their units."""
    own, m = B[:, part.columns], additive.means[part.columns]
    unit = additive.units[part.columns]
    square = (own.T @ own.multiply(weights[:, None])).toarray()
    return np.asarray((square - float(weights.sum()) * np.outer(m, m)) * np.outer(unit, unit))


def _forms(rows: Array, M: Array) -> Array:
    """aᵢᵀMaᵢ for every row, not below 0."""
    return np.asarray(np.maximum(np.einsum("ij,ij->i", rows @ M, rows), 0.0))
