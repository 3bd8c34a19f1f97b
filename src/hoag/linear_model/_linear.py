"""What the linear estimators share: how y is read, folds, solvers, coefficients."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from hoag._core.domain import Box
from hoag._core.errors import InvalidDataError, InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag._core.result import Evaluation, Result
from hoag._core.warn import warn
from hoag._core.words import nearest
from hoag._criteria.base import Criterion
from hoag._criteria.without_folds import without_folds
from hoag._criteria.wrapped import Loads
from hoag._data.engine import Engine
from hoag._data.fold_rule import FoldRule, rule_of
from hoag._data.out_of_core import adopt, predicted
from hoag._data.target import ArrayColumn, Column, PartitionedColumn, Weigh
from hoag._glm.first_pass import first_pass
from hoag._glm.folds import linear_folds
from hoag._glm.model import LinearModel
from hoag._glm.targets import Target
from hoag._glm.units import Units, units, warn_hidden
from hoag.linear_model._base import FitData, TunedEstimator, with_features
from hoag.linear_model._families import Family, Reading
from hoag.linear_model._fits import FoldFits, OneFit
from hoag.linear_model._interval import plateaus
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._penalties import Groups, Moved, Quadratics, Shares, Structure, numbered
from hoag.linear_model._shrinkage import Part, Shared, Shrinkage, check_shrink, put_aside
from hoag.linear_model._tuning import Attributes, Fits, GivenValues, Reported, Tuning
from hoag.optimize import Auto, Search
from hoag.optimize._auto import check_starts

# The models of all folds, and what makes that of all rows.
Made = tuple[list[LinearModel], Callable[[], LinearModel]]


@parameters
class LinearEstimator(TunedEstimator):
    """A linear model: coef_, intercept_ and the linear predictor; `_family` is the rest of it.

    Parameters
    ----------
    penalties : str, array-like of int, dict or Structure, default="shared"
        Which coefficients share a penalty: "shared", "per-feature", and of several classes
        "per-class" and "per-coefficient". An array gives the group number of each feature, shape
        (n_features,), or of each coefficient, shape (n_features, n_classes); −1: not penalised. A
        dict gives labels to columns, by name or number: {"age": "free", "income": "money",
        "savings": "money"}; "free" is not penalised, columns that are not named share a penalty.
        Or what hoag.penalties makes: from_features(Z), a few numbers in place of many penalties, or
        quadratic(…), penalties that are no groups, such as the roughness of a curve.
    shrink : float or "auto", default=None
        With several penalties: f(λ) + ½τ(f₀/n) Σⱼ(λⱼ − λ̄)² is minimised, so that they fit less of
        the noise of held-out rows; f₀ is the criterion of the best shared penalty, n the number of
        rows: one penalty that is off the mean by one costs half the loss of τ rows. 0 and None
        leave them free, inf is one penalty for all. "auto" tries τ from 30 to 0.03: rows are put
        aside, λ(τ) is tuned on the others, and the loss of those put aside, each once, decides;
        one penalty stays where the gain is within its standard error. That took 3 to 18 times as
        long as free penalties on small tables. criterion_ is the held-out loss alone, and so is
        result_; where the search has converged, it has for the sum.
    standardize : bool, default=False
        Divide every column by its standard deviation before it is penalised: in each fold by that
        of its own training rows, weighted by sample_weight, so that held-out rows have no part in
        the fit that they judge. The same as a search over make_pipeline(StandardScaler(), …), for
        no copies of X. λ is the penalty of standardised columns; coef_ is for X as it was given.
        The intercept does what centring would; without one columns are scaled and not centred.
        Constant columns have scale 1. Where no rows are held out, and for the fit that is returned,
        the scales are those of all rows.
    starts : int or "auto", default="auto"
        Deprecated: give search=hoag.optimize.Auto(starts=4).

    Attributes
    ----------
    plateaus_ : ndarray of str of shape (n_penalties,)
        "switched off" where the criterion is within `tol` up to the upper bound and nothing of the
        group is left in the model, "free" where it is so down to the lower bound and the penalty no
        longer acts, else "".
    dof_ : float
        The effective degrees of freedom, intercepts too, where cv is an analytic criterion.
    shrink_ : float
        With `shrink`: τ; inf where one penalty serves as well.
    """

    penalties: Any = "shared"
    shrink: float | Literal["auto"] | None = None
    standardize: bool = False
    starts: int | Literal["auto"] = "auto"

    coef_: Array = fitted()
    intercept_: Any = fitted()
    alpha_: Any = fitted()
    plateaus_: npt.NDArray[np.str_] = fitted()
    dof_: float = fitted()
    shrink_: float = fitted()

    _family: ClassVar[Family]

    # The criteria of `_words` that predict rows which they leave out.
    _left_out_words: ClassVar[tuple[str, ...]] = ("alo",)

    # Words for `penalties`.
    _sharing: ClassVar[tuple[str, ...]] = ("shared", "per-class", "per-feature", "per-coefficient")

    # The way from what was moved to λ, where a search does not move λ itself.
    _loads: Loads | None = field(default=None, init=False)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        family = cls.__dict__.get("_family")
        if family is not None:
            cls._words, cls._loss = family.criteria, family.held_out

    # ---- checks

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_starts(self.starts)
        check_shrink(self.shrink)
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise InvalidParameterError.of("standardize", self.standardize, "use True or False.")
        if self.standardize and isinstance(self.penalties, Quadratics):
            raise InvalidParameterError.of(
                "standardize",
                self.standardize,
                "it is for penalties on single coefficients, and the matrices of "
                "hoag.penalties.quadratic are for columns as they are: leave one of the two out.",
            )
        if isinstance(self.search, Search) and self.starts not in (1, "auto"):
            raise InvalidParameterError.of(
                "starts",
                self.starts,
                "it is for the default search, and search is given: give one of the two, such as "
                "search=hoag.optimize.Auto(starts=4).",
            )

    def _check_word(self) -> None:
        super()._check_word()
        held_out = self._scoring is not None or self.rule != "best"
        if held_out and isinstance(self.cv, str) and self.cv not in self._left_out_words:
            raise InvalidParameterError.of(
                "cv",
                self.cv,
                "scoring and rule='1se' need predictions of held-out rows, and this criterion has "
                f"none: use cv={self._left_out_words[0]!r}, or folds.",
            )

    def _check_out_of_core(self, params: dict[str, Any]) -> None:
        """Refuse what needs the rows in memory."""
        given = sorted(name for name, value in params.items() if value is not None)
        others = ", ".join(given)
        shapes = "use_legacy_attributes"
        legacy = vars(self).get(shapes)
        for wrong, name, asked, instead in (
            (self._closed_form(), "cv", f"cv={self.cv!r}", "give a number of folds, such as cv=5"),
            (
                *(self._scoring is not None, "scoring", "scoring"),
                "score the fitted model on rows you hold",
            ),
            (self.shrink is not None, "shrink", "shrink", "leave it out"),
            (self.search == "grid", "search", "search='grid'", "leave it out"),
            (isinstance(legacy, bool), shapes, f"{shapes}={legacy}", "leave it out"),
            (
                *(isinstance(self.penalties, Structure), "penalties", "penalties of forms"),
                "give groups",
            ),
            (bool(set(given) - {"groups"}), others, f"fit(..., {others}=)", "leave it out"),
        ):
            if wrong:
                raise NotSupportedError(
                    f"{asked} needs the rows in memory, and this is out-of-core data:",
                    parameter=name,
                    hint=f"{instead}.",
                )

    # ---- y

    def _reading(self, column: Column, **given: Any) -> Reading:
        """How y is read."""
        return self._family.read(self, column, self._class_weights(column), **given)

    def _class_weights(self, column: Column) -> Weigh | None:
        """What weights become by the classes of their rows; None where there are none."""
        return None

    def _know_partitions(self, engine: Engine, column: PartitionedColumn) -> None:
        """What `_read` keeps of the data, for partitions."""
        if column.empty.ndim > 1:
            raise InvalidDataError(
                "y has several columns: give one number or label for each row.", parameter="y"
            )
        self._know_features(engine)

    def _know_features(self, engine: Engine) -> None:
        self.n_features_in_ = engine.features
        self.__dict__.pop("feature_names_in_", None)
        if engine.names is not None:
            self.feature_names_in_ = np.asarray(engine.names, dtype=object)

    # ---- what is searched

    def _tuning(self, X: Any, y: Any, weights: Array, splits: Any, **given: Any) -> Tuning:
        """For rows in memory."""
        reading = self._reading(ArrayColumn(y, weights), **given)
        u = self._units(reading, X, y, weights)
        return self._tuning_in_memory(u, reading.target(y), splits, reading.curvature)

    def _units(self, reading: Reading, X: Any, y: Any, weights: Array) -> Units:
        """X in the library's units; the weights of classes do not count in spreads of columns."""
        by = weights if self.standardize else None
        return reading.units(units(X, reading.weights(y, weights), reading.centre, by))

    def _tuning_out_of_core(
        self, engine: Engine, params: dict[str, Any]
    ) -> tuple[Tuning, float, FoldRule]:
        column = PartitionedColumn.of(engine, is_classifier(self))
        self._know_partitions(engine, column)
        self._check_out_of_core(params)
        reading = self._reading(column)
        stratified = self._split_by(column.empty)[1]
        rule = rule_of(self.cv, column, stratified, params.get("groups"))
        about = (reading.target, reading.weigh, reading.centre, self.standardize)
        data = first_pass(engine, column, rule, *about)
        u = reading.units(data.units)

        def folds(shares: Shares) -> Made:
            return data.folds(shares.penalties, u.log_shift)

        tuning = self._tuning_of_folds(u, data.target, reading.curvature, folds)
        return tuning, data.passes, rule

    def _tuning_in_memory(self, u: Units, target: Target, splits: Any, curvature: float) -> Tuning:
        """The folds of a linear model; `curvature` is that of its loss at z = 0, about."""
        if splits is None:
            return self._tuning_of_one_fit(u, target, curvature)

        def folds(shares: Shares) -> Made:
            options = (u.weights, shares.penalties, u.log_shift)
            rows = np.arange(u.weights.size)

            def whole() -> LinearModel:  # whose spreads the units have
                return linear_folds(u.rows, target, [(rows, rows[:0])], *options)[0]

            return linear_folds(u.rows, target, splits, *options, u.standard), whole

        return self._tuning_of_folds(u, target, curvature, folds)

    def _tuning_of_folds(
        self, u: Units, target: Target, curvature: float, folds: Callable[[Shares], Made]
    ) -> Tuning:
        """For rows wherever they are: `folds` makes the models of all folds, and of all rows."""
        shares = self._shares(u, target, curvature)
        problems, whole = folds(shares)
        moved = self._moved(shares, self._plan(problems), u, curvature)
        fits = FoldFits(self, u, target, problems=problems, whole=whole)
        per_row = self._per_row(u, target, float(fits.weights.sum()))
        return self._tuning_of(moved, shares, fits, Reported(per_row))

    def _tuning_of_one_fit(
        self, u: Units, target: Target, curvature: float, noise: float | None = None
    ) -> Tuning:
        """By an analytic criterion, `cv`; `noise` is in the units of y as it was given."""
        word = "alo" if self.cv in (None, "loo") else self.cv  # the same for squares
        if word != "alo" and type(target.outer) is not type(target.loss):
            raise InvalidParameterError.of(
                "cv",
                word,
                "it judges by the loss that is fitted, and holds out no rows for another "
                "criterion: leave criterion as it is, or use cv='alo' or folds.",
            )
        shares, every = self._shares(u, target, curvature), np.arange(u.weights.size)
        options = (u.weights, shares.penalties, u.log_shift)
        (whole,) = linear_folds(u.rows, target, [(every, every[:0])], *options)
        variance = None if noise is None else noise / u.y_scale**2
        criterion = without_folds(whole, word, noise=variance, unit=u.gain)
        moved = self._moved(shares, criterion, u, curvature)
        fits = OneFit(self, u, target, whole=whole, criterion=criterion, to_lam=moved.lam)
        return self._tuning_of(moved, shares, fits, fits.reported)

    def _tuning_of(self, moved: Moved, shares: Shares, fits: Fits, reported: Reported) -> Tuning:
        own = (moved.criterion, moved.box, moved.start, moved.stronger)
        return Tuning(*own, fits, reported, shares=shares)

    def _moved(self, shares: Shares, criterion: Criterion, u: Units, curvature: float) -> Moved:
        """What a search moves, and within which bounds; the way to λ is kept."""
        box, start = self._box(*shares.box(criterion.traits.least))
        own = isinstance(self.bounds, str) and not self._grids()
        if own and not isinstance(self.penalties, Structure):  # which columns the bounds hide
            warn_hidden(u, curvature, box)
        moved = shares.over(criterion, box, start)
        self._loads = moved.loads
        return moved

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        """From the criterion to the mean loss of a held-out row."""
        return self._family.per_row * u.gain / (judged or np.nan)

    def _cautions(self, tuning: Tuning) -> Iterator[str]:
        yield from super()._cautions(tuning)
        many = tuning.box.size
        if many > 4 and not self._scores_one_fit and self.shrink is None:
            yield (
                f"{many} penalties are tuned on the rows that judge them, and gain on noise, too: "
                "judge them on other rows, or give shrink='auto'."
            )

    def _on_refit(self, whole: LinearModel, u: Units, target: Target, x: Array, lam: Array) -> None:
        """Called with the fit on all rows, in its own units; for those who ask more of it."""

    # ---- the search

    @property
    def _starts(self) -> int | Literal["auto"]:
        return self.starts

    def _searched(
        self, tuning: Tuning, search: Search, data: FitData, on_step: Any
    ) -> tuple[Tuning, Result]:
        if self.shrink is None:
            return super()._searched(tuning, search, data, on_step)
        for wrong, why in (
            (
                self._loads is not None,
                "it is for penalties of their own, and from_features tunes a few numbers in their "
                "place: leave one of the two out.",
            ),
            (
                tuning.box.size == 1,
                "it draws several penalties to their mean, and there is one: give "
                "penalties='per-feature', or groups, or leave shrink out.",
            ),
        ):
            if wrong:
                raise InvalidParameterError.of("shrink", self.shrink, why)
        weights, splits = data.weights, data.splits
        held_out = np.arange(weights.size) if splits is None else _held_out(splits)
        rows = int(np.sum(weights[held_out] > 0))
        one = partial(self._with_one, tuning, search, data)
        shrinkage = Shrinkage(tuning, rows, search, self.tol, self.max_iter, one)
        tuning, found, self.shrink_ = shrinkage.run(
            self.shrink, partial(self._put_aside, data, tuning.box), on_step
        )
        return tuning, found

    def _with_one(self, tuning: Tuning, search: Search, data: FitData) -> Shared | None:
        """What one penalty for all that are penalised is tuned to; None where bounds differ."""
        groups = None if tuning.shares is None else tuning.shares.groups
        box, own = tuning.box, not isinstance(self.bounds, str)
        if groups is None or (own and np.ptp([box.lower, box.upper], axis=1).any()):
            return None
        free = groups.numbers < 0
        if np.any(free.any(axis=1) != free.all(axis=1)):
            return None
        other = copy.copy(self)
        other.shrink = None
        other.penalties = np.where(free[:, 0], -1, 0) if free.any() else "shared"
        if own:
            other.bounds = (float(box.lower[0]), float(box.upper[0]))
        alone = other._tuning_on(data)
        found = search.minimize(alone.criterion, alone.box, alone.start, certificate="none")
        return Shared(np.full(box.size, found.lam[0]), found)

    def _put_aside(self, data: FitData, box: Box, search: Auto) -> Iterator[Part]:
        """What is tuned on some of the rows, each with what judges on the others."""
        y, stratified = self._split_by(data.y)
        every, other = np.arange(len(y)), copy.copy(self)  # reading leaves notes on its estimator
        for aside, left in put_aside(data.splits, y, stratified):
            others = np.setdiff1d(every, aside)
            if not np.any(data.weights[aside] > 0) or not np.any(data.weights[others] > 0):
                continue
            if left is None:
                weights = np.where(np.isin(every, aside), 0.0, data.weights)
                tuned, count = replace(data, weights=weights), int(np.sum(weights > 0))
            else:
                count = int(np.sum(data.weights[_held_out(left)] > 0)) if left else 0
                tuned = replace(data, splits=left)
            if not count:
                continue
            judged = other._tuning_on(replace(data, splits=[(others, aside)]))
            yield Part(other._tuning_on(tuned), judged, box, count, search)

    def _finish(
        self, tuning: Tuning, result: Result, chosen: Evaluation
    ) -> tuple[Result, Attributes]:
        search = self._search()
        starts = search.starts if isinstance(search, Auto) else "auto"
        followed = starts in (1, "auto") or tuning.criterion.traits.has_hessian
        if result.lam.size > 1 and not followed:
            warn(
                f"starts={starts} was not followed: there was one start. More are for models "
                "whose second derivatives are cheap, and not for many coefficients."
            )
        degrees = tuning.fits.degrees(chosen)
        if degrees is not None:
            self.dof_ = degrees
        shares, best = tuning.shares, result.evaluation
        result, made = super()._finish(tuning, result, chosen)
        ends = self.lam_interval_
        assert shares is not None
        start, found = time.perf_counter(), (tuning.criterion, tuning.box, best, ends, self.tol)
        self.plateaus_, cost = plateaus(shares, made["coef_"], *found)
        seconds = result.seconds + time.perf_counter() - start
        return replace(result, cost=result.cost + cost, seconds=seconds), made

    # ---- penalties

    def _shares(self, u: Units, target: Target, curvature: float) -> Shares:
        """Which coefficients the penalties reach, in the units of the rows."""
        if isinstance(self.penalties, Structure):
            return self.penalties.shares(u, target, curvature)
        return Groups.of(self._penalties(), u, target, curvature)

    def _penalties(self) -> Any:
        """As the models take them: a word, or an array of group numbers."""
        if isinstance(self.penalties, Mapping):
            return self._grouped()[0]
        words = self.penalties
        if not isinstance(words, str):
            return words
        if words not in self._sharing:
            raise InvalidParameterError.of(
                "penalties",
                words,
                f"use {', '.join(map(repr, self._sharing))}, an array of group numbers, or a dict "
                f"from columns to labels.{nearest(words, self._sharing)}",
            )
        if words == "per-coefficient" and not {"per-class", "per-target"} & {*self._sharing}:
            return "per-feature"  # of one output
        return words

    def _grouped(self) -> tuple[Any, list[str]]:
        """Group numbers and labels, of penalties by the names of columns."""
        return numbered(
            self.penalties, vars(self).get("feature_names_in_"), int(self.n_features_in_)
        )

    def _parameters(self, names: list[str]) -> str | list[str]:
        return names if self._loads is not None else super()._parameters(names)

    def _shown(self, lam: Array) -> Array:
        return lam if self._loads is not None else super()._shown(lam)

    def _lam_names(self) -> list[str]:
        """Of each penalty: its feature, class, target, both, group or label."""
        if isinstance(self.penalties, Structure):
            return list(self.penalties.names)
        if isinstance(self.penalties, Mapping):
            return self._grouped()[1]
        size, penalties = self.lam_.size, self._penalties()
        features = [str(name) for name in vars(self).get("feature_names_in_", ())]
        features = features or [f"x{j}" for j in range(self.n_features_in_)]
        outputs = [str(name) for name in vars(self).get("classes_", ())]
        if size == 1:
            return ["all"]
        if not isinstance(penalties, str):
            return [f"group {j}" for j in range(size)]
        if penalties == "per-feature":
            return features
        count = size if penalties == "per-class" else size // len(features)
        each = outputs if len(outputs) == count else [f"y{k}" for k in range(count)]
        if penalties == "per-class":
            return each
        return [f"{name} → {output}" for name in features for output in each]

    # ---- the fitted model

    def _attributes(self, u: Units, target: Target, x: Array) -> Attributes:
        coef, intercept = u.coefficients(x, target.outputs, target.basis)
        return {"coef_": coef, "intercept_": intercept}

    def _named(self, lam: Array) -> Attributes:
        """exp(λ): a number, or an array in the order of the groups, or in the shape of coef_."""
        with np.errstate(over="ignore"):
            alpha = np.exp(lam if self._loads is None else self._loads.lam(lam)) * self._unit
        alpha = self._as_given("alphas", lam, alpha)
        penalties = self._penalties()
        if isinstance(penalties, str) and penalties == "shared":
            return {"alpha_": float(alpha[0])}
        if isinstance(penalties, str) and penalties == "per-coefficient":
            return {"alpha_": alpha.reshape(self.n_features_in_, -1).T}
        return {"alpha_": alpha}

    @property
    def _unit(self) -> float:
        """What α is told in."""
        return 1.0

    def _as_given(self, name: str, lam: Array, values: Array) -> Array:
        """Where λ are values that were given by this name, these to the last digit."""
        for grid in self._grids():
            if grid.name == name and values.size == lam.size:
                same = lam[:, None] == grid.lam
                values = np.where(same.any(axis=1), grid.values[same.argmax(axis=1)], values)
        return values

    def _linear_predictor(self, X: Any) -> Array:
        check_is_fitted(self)
        engine = adopt(X)
        if engine is not None:
            return predicted(engine, self.coef_, self.intercept_)
        X = self._validate(X, reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_)

    def _from_predictor(self, z: Array) -> Array:
        """What `predict`, or of a classifier `decision_function`, makes of aᵀw + b."""
        return z if is_classifier(self) else self._family.mean(self, z)

    def _twin(self, kind: str = "", alpha: Any = None, **more: Any) -> Any:
        """scikit-learn's plain model with the coefficients, and the one penalty, if there is one.

        `kind` is a class of sklearn.linear_model in place of the family's, with this penalty.
        """
        check_is_fitted(self)
        family = self._family
        module, name = family.twin.split(":") if not kind else ("sklearn.linear_model", kind)
        given = {"alpha": alpha, "fit_intercept": self.fit_intercept} if kind else {}
        for parameter in () if kind else family.shared:
            value = vars(self).get(f"{parameter}_", vars(self).get(parameter))
            if parameter in ("alpha", "C"):
                strength = self._named(self.lam_)[f"{parameter}_"]
                value = strength if np.ndim(strength) == 0 else 1.0
            given[parameter] = value
        model = vars(import_module(module))[name](**given)
        own = {"coef_": self.coef_, "intercept_": self.intercept_, "n_iter_": self.n_iter_} | more
        for attribute, value in own.items():
            setattr(model, attribute, copy.copy(value))
        return with_features(model, self)


def _held_out(splits: Any) -> npt.NDArray[np.intp]:
    """The rows that some split holds out."""
    return np.unique(np.concatenate([np.asarray(test, dtype=np.intp) for _, test in splits]))


def check_grid(name: str, grid: Any) -> Array:
    try:
        values = np.atleast_1d(np.asarray(grid, dtype=float))
    except (TypeError, ValueError):
        values = np.empty(0)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if wrong.size == 0 < values.size and values.ndim == 1:
        return np.asarray(values)
    given = np.asarray(grid, dtype=object).ravel()
    first = f"{name}[{wrong[0]}] == {given[wrong[0]]}, must be > 0.0: " if wrong.size else ""
    raise InvalidParameterError(
        f"{first}{name} must be positive, finite numbers; their range is searched.", parameter=name
    )


def alpha_grid(name: str, alphas: Any, part: slice = slice(None)) -> list[GivenValues]:
    """α in scikit-learn's manner, a list or a number; none where it is None."""
    if alphas is None:
        return []
    values = check_grid(name, alphas)
    return [GivenValues(name, values, np.log(values), part)]


def several(name: str, values: Any) -> None:
    """Refuse one value, for which there is nothing to tune."""
    if values is not None and np.ndim(values) == 0:
        raise InvalidParameterError.of(
            name,
            values,
            "give several values, of which the range counts, or leave it out; for one α there is "
            "nothing to tune.",
        )
