"""KernelRidgeCV."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted, column_or_1d
from threadpoolctl import threadpool_limits

from hoag._core.domain import Box
from hoag._core.errors import InvalidDataError, NotSupportedError
from hoag._core.numeric import Array
from hoag._core.result import Cost, Evaluation
from hoag._criteria.base import REFIT_TOL, Criterion
from hoag._data.standardize import near_zero
from hoag._data.target import ArrayColumn
from hoag._glm.basis import FEW
from hoag._glm.kernel_ridge import KernelRidgeProblem
from hoag._glm.losses import OuterLoss
from hoag._glm.rows import ArrayRows
from hoag._glm.units import WEIGHT, Units, units
from hoag.linear_model._accepted import KERNEL
from hoag.linear_model._base import TunedEstimator, with_features
from hoag.linear_model._families import moments, squared_error
from hoag.linear_model._fits import check_judged, warn_refit
from hoag.linear_model._linear import alpha_grid
from hoag.linear_model._parameters import fitted, parameters
from hoag.linear_model._scoring import Regressor
from hoag.linear_model._tuning import Attributes, Fits, GivenValues, Reported, Tuning

# "auto" bounds, in units where the mean squared distance of two rows is 2 (so that of a row to the
# mean is 1) and the weights sum to WEIGHT, which is then the trace of K. The kernel is flat below
# the first width and nearly the identity above the second; a ridge of the trace times e^−20 is
# none, and of the trace times e² leaves nothing of the fit.
WIDTHS = (-12.0, 6.0)
RIDGES = (np.log(WEIGHT) - 20.0, np.log(WEIGHT) + 2.0)
# Where to start: γ = 1/(mean squared distance), and a ridge well below the trace.
START = (-np.log(2.0), np.log(WEIGHT) - 6.0)


@parameters
class KernelRidgeCV(Regressor, TunedEstimator):
    """Kernel ridge regression whose RBF widths and ridge minimise the cross-validated error.

        (K + α S⁻¹) c = y − b,   K = exp(−Σⱼ γⱼ(aⱼ − bⱼ)²),   λ = (log γ, log α)

    The intercept b is the weighted mean of y over the training rows.

    Rules move the ridge alone: a width is no penalty.

    Parameters
    ----------
    alpha : float or array-like of float, default=None
        None is tuned; a number is kept as it is, as in scikit-learn's KernelRidge; of several only
        the range counts, and becomes the bounds.
    gamma : float or array-like of float, default=None
        γ, likewise.
    widths : {"shared", "per-feature"}, default="shared"
        One γ, or one for each feature (dense rows only): features that do not help get γ near 0.
    fit_intercept : bool, default=True
        False is scikit-learn's KernelRidge, b = 0: for a y whose mean is small beside its spread.
    criterion : {"squared_error", "huber"}, default="squared_error"
        What is minimised over λ: the squared error of held-out rows, or the same up to 1.35 times
        the spread of y and linear beyond.
    bounds : "auto", pair (lower, upper) or hoag.Box, default="auto"
        Of λ = (log γ, …, log α).
    cv : int, splitter or iterable, default=None
        None is 5-fold.
    kernel : {"rbf"}, default="rbf"
        Others are not tuned here, and get a sentence that says what to use.
    degree : float, default=3
        Of another kernel; ignored, as scikit-learn does with this one.
    coef0 : float, default=1
        Likewise.
    kernel_params : dict, default=None
        Likewise.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,)
        The coefficients of the kernel's columns.
    X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
        The rows that were fitted.
    intercept_ : float
        b.
    alpha_ : float
        The ridge.
    gamma_ : float or ndarray of shape (n_features,)
        γ, or one for each feature with widths="per-feature".

    See Also
    --------
    RidgeCV : Without a kernel.
    sklearn.kernel_ridge.KernelRidge : The plain model, for γ and α of one's own.

    Examples
    --------
    >>> from hoag import KernelRidgeCV
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelRidgeCV(cv=3).fit(scale(X), y)
    >>> print(f"log γ = {model.lam_[0]:.1f}, log α = {model.lam_[1]:.1f}")
    log γ = -3.6, log α = -0.0
    """

    _accepted = KERNEL

    dual_coef_: Array = fitted()
    X_fit_: Any = fitted()
    intercept_: float = fitted()
    alpha_: float = fitted()
    gamma_: Any = fitted()
    scores_: dict[str, Array] = fitted()

    _called = "gamma and alpha"

    alpha: Any = field(default=None, kw_only=False)
    widths: Literal["shared", "per-feature"] = "shared"
    fit_intercept: bool = True
    criterion: Literal["squared_error", "huber"] = "squared_error"
    kernel: Literal["rbf"] = "rbf"
    gamma: Any = None
    degree: float = 3
    coef0: float = 1
    kernel_params: Any = None

    def _threads(self, splits: Any) -> AbstractContextManager[Any]:
        # Factors of so few rows are too small for several threads, which wait for each other.
        small = all(len(train) <= FEW for train, _ in splits)
        return threadpool_limits(1, "blas") if small else nullcontext()

    def _named(self, lam: Array) -> Attributes:
        with np.errstate(over="ignore"):
            gamma, alpha = np.exp(lam[:-1]), float(np.exp(lam[-1]))
        return {"gamma_": float(gamma[0]) if self.widths == "shared" else gamma, "alpha_": alpha}

    def _lam_names(self) -> list[str]:
        """Of the widths, and of the ridge."""
        features = vars(self).get("feature_names_in_", [f"x{j}" for j in range(self.lam_.size - 1)])
        one = self.lam_.size == 2
        return [*(["width"] if one else [f"width of {name}" for name in features]), "ridge"]

    def _parameters(self, names: list[str]) -> str | list[str]:
        return ["gamma"] * (len(names) - 1) + ["alpha"]

    def _lam_of_features(self) -> Array:
        return np.asarray(self.lam_[:-1])

    def _grids(self) -> list[GivenValues]:
        widths, ridge = slice(None, -1), slice(-1, None)
        return alpha_grid("gamma", self.gamma, widths) + alpha_grid("alpha", self.alpha, ridge)

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        if y.ndim == 2 and y.shape[1] > 1:
            raise NotSupportedError(
                f"y has {y.shape[1]} columns:",
                parameter="y",
                hint="for several targets, each with widths and ridge of its own, use "
                "sklearn.multioutput.MultiOutputRegressor(KernelRidgeCV()).",
            )
        y = column_or_1d(y, warn=True)
        return X, np.asarray(y, dtype=np.float64)

    def _tuning(self, X: Any, y: Array, weights: Array, splits: Any, **given: Any) -> Tuning:
        if np.sum(weights > 0) < 2:
            raise InvalidDataError(
                "Only one sample has a positive weight; two are needed.", parameter="sample_weight"
            )
        _check_memory(splits)
        self.X_fit_ = X
        u = units(X, weights, centre=True)
        own = moments(self, ArrayColumn(y, u.weights))
        outer = squared_error(self, own(y))
        fits = KernelFits(self, u, own(y), (own.mean, own.scale), splits, outer)
        criterion, shift = self._plan(fits.problems), fits.shift
        widths = fits.problems[0].lam0.size - 1
        # With a width for each feature every squared difference is a share of the whole.
        many = np.log(widths) if widths > 1 else 0.0
        corners = ((WIDTHS[0], RIDGES[0]), (WIDTHS[1] + many, RIDGES[1]), START)
        lower, upper, start = (
            np.append(np.full(widths, width + shift[0]), ridge + shift[1])
            for width, ridge in corners
        )
        box, start = self._box(Box(lower, upper), start)
        reported = Reported(own.gain / float(fits.weights.sum()))
        stronger = np.append(np.zeros(widths), 1.0)  # the ridge; a width is no penalty
        return Tuning(criterion, box, start, stronger, fits, reported)

    def predict(self, X: Any) -> Array:
        """What is predicted of y."""
        check_is_fitted(self)
        X, rows = self._validate(X, reset=False), self.X_fit_
        lens = near_zero(rows)  # far from the origin the distances of rows are lost in their sizes
        X, rows = lens.of(X), lens.of(rows)
        if self.widths == "shared":
            K = rbf_kernel(X, rows, gamma=self.gamma_)
        else:
            root = np.sqrt(self.gamma_)
            K = rbf_kernel(X * root, rows * root, gamma=1.0)
        return np.asarray(K @ self.dual_coef_ + self.intercept_)

    def to_sklearn(self) -> Any:
        """The fitted model as a plain sklearn KernelRidge; behind a scaler for many widths.

        With an intercept it is inside a TransformedTargetRegressor that adds it.
        """
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        check_is_fitted(self)

        def lifted(model: Any) -> Any:
            if not self.fit_intercept:
                return model
            whole = TransformedTargetRegressor(model, transformer=StandardScaler(with_std=False))
            whole.regressor_, whole._training_dim = model, 1
            whole.transformer_ = clone(whole.transformer).fit([[self.intercept_]])
            return whole

        shared = self.widths == "shared"
        gamma = self.gamma_ if shared else 1.0
        model = KernelRidge(alpha=self.alpha_, kernel="rbf", gamma=gamma)
        model.dual_coef_ = self.dual_coef_.copy()
        model.X_fit_ = self.X_fit_ if shared else self.X_fit_ * np.sqrt(self.gamma_)
        if shared:
            return lifted(with_features(model, self))
        model.n_features_in_ = self.n_features_in_
        scaler = StandardScaler(with_mean=False)
        scaler.scale_, scaler.var_ = 1 / np.sqrt(self.gamma_), 1 / self.gamma_
        scaler.mean_, scaler.n_samples_seen_ = np.zeros_like(self.gamma_), len(self.dual_coef_)
        return lifted(make_pipeline(with_features(scaler, self), model))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.widths == "shared"
        return tags


class KernelFits(Fits):
    """Those of the folds' kernels, for rows and y in units of their own."""

    def __init__(
        self,
        model: KernelRidgeCV,
        u: Units,
        y: Array,
        back: tuple[float, float],
        splits: Any,
        outer: OuterLoss,
    ) -> None:
        assert isinstance(u.rows, ArrayRows)
        self.model, self.u, self.y, self.back, self.outer = model, u, y, back, outer
        self.A, self.splits = u.rows.A * u.rows.scale, splits
        self.shift = (-2 * float(np.log(u.c)), float(np.log(u.total / WEIGHT)))
        self.problems = [self.problem(train, test) for train, test in splits]
        self.weights = np.array([p.test_weights.sum() for p in self.problems])
        check_judged(self.weights, model.cv)

    def level(self, train: Any) -> float:
        """b, for some training rows."""
        s = self.u.weights[train]
        return float(s @ self.y[train] / (s.sum() or 1.0)) if self.model.fit_intercept else 0.0

    def problem(self, train: Any, test: Any) -> KernelRidgeProblem:
        A, y, s, b = self.A, self.y, self.u.weights, self.level(train)
        rows = (A[train], y[train] - b, A[test], y[test] - b)
        weights = (s[train], s[test], float(len(y)) ** 2)
        return KernelRidgeProblem(*rows, *weights, self.model.widths, self.outer, self.shift)

    def attributes(self, rows: Any, problem: KernelRidgeProblem, x: Array) -> Attributes:
        (mean, scale), dual = self.back, np.zeros(len(self.y))
        np.add.at(dual, np.arange(dual.size)[rows], scale * problem.dual_coef(x))
        return {"dual_coef_": dual, "intercept_": float(mean + scale * self.level(rows))}

    def models(self, x: Any) -> list[Attributes]:
        parts = zip(self.splits, self.problems, x, strict=True)
        return [self.attributes(train, problem, part) for (train, _), problem, part in parts]

    def refit(self, criterion: Criterion, found: Evaluation) -> tuple[Attributes, Cost]:
        rows = np.flatnonzero(self.u.weights > 0)
        whole = self.problem(rows, rows[:1])
        solve, cost = criterion.refit(whole, found, REFIT_TOL)
        warn_refit(solve)
        return self.attributes(rows, whole, solve.x), cost


def _check_memory(splits: Any) -> None:
    """Each fold holds its distances, kernel and factor, (training rows)² numbers each."""
    wanted = sum(8 * len(train) * (3 * len(train) + 2 * len(test)) for train, test in splits)
    there = _memory()
    if wanted > there:
        rows = len(splits[0][0]) + len(splits[0][1])
        fits = int(rows * np.sqrt(0.5 * there / wanted))
        raise NotSupportedError(
            f"The kernels of {len(splits)} folds of {rows} rows take {wanted / 1e9:.2g} GB, and "
            f"this machine has {there / 1e9:.2g}.",
            parameter="X",
            hint=f"Fit on some {fits} of the rows, or use RidgeCV behind "
            "sklearn.kernel_approximation.Nystroem.",
        )


def _memory() -> float:
    """The machine's, in bytes; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return np.inf
