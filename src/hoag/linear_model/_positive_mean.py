"""What regressions of counts, costs and other y with a positive mean share.

    1/(2 Σs) Σᵢ sᵢ d(yᵢ, exp(aᵢᵀw + b + oᵢ)) + ½ Σⱼ αⱼ wⱼ²

with the unit deviance d of a family, as in scikit-learn's PoissonRegressor and its kin, so that α
is theirs; folds share the Σs of all rows, so that α weighs there what it does in the last fit.
Computed in units where the mean of y is 1, y′ = y e^(−level) and z′ = z − level; the
loss is e^(level (2 − power)) times what it is there.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.metrics import mean_tweedie_deviance
from sklearn.utils.validation import check_is_fitted

from hoag._core.errors import InvalidInput, check_given
from hoag._core.numeric import Array
from hoag._glm.losses import LogLink
from hoag._glm.losses.log_link import LARGEST_LOG
from hoag._glm.targets import Target, flat, positive_mean, refuse
from hoag.linear_model._base import with_features
from hoag.linear_model._callbacks import with_callbacks
from hoag.linear_model._column import ArrayColumn, Column
from hoag.linear_model._judge import Predicted
from hoag.linear_model._out_of_core import with_own_y
from hoag.linear_model._rating import Regressor
from hoag.linear_model._reading import Reading
from hoag.linear_model._separated import separated
from hoag.linear_model._settings import WithSettings
from hoag.linear_model._task import Task
from hoag.linear_model._units import Units


class PositiveMeanRegressor(Regressor, WithSettings):
    """A regression with the log link; a subclass names its family."""

    _of_rows = ("offset", "exposure")
    _loss = "deviance"

    def _family(self, scale: float) -> LogLink:
        """The loss: `scale` times the deviance."""
        raise NotImplementedError

    @with_callbacks
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
        """Tune the penalties and fit the model; `groups` for the splitter go in params.

        offset is added to the linear predictor of each row; exposure, such as years at risk, is
        what the mean is proportional to, and the same as the offset log(exposure).
        """
        given = params | {"offset": offset, "exposure": exposure}
        return self._tune(X, y, sample_weight, given)

    def _read(self, X: Any, y: Any) -> tuple[Any, Array]:
        X, y = self._validate(X, y, y_numeric=True, ensure_min_samples=2)
        y, family = np.asarray(y, dtype=np.float64), self._family(0.5)
        refuse(y, family.accepts(y), "y", family.takes)
        return X, y

    def _task(
        self,
        X: Any,
        y: Array,
        weights: Array,
        splits: Any,
        offset: Any = None,
        exposure: Any = None,
    ) -> Task:
        shift = _offset(offset, exposure, len(y))
        reading = self._reading(ArrayColumn(y, weights), shift)
        if self.fit_intercept:
            _check_means(y, weights, splits)
        return self._task_by(reading, X, y, weights, splits)

    def _reading(self, column: Column, shift: Array | None = None) -> Reading:
        """`shift` is what is added to z, for all rows, where these are in memory."""
        mean = float(column.average(_as_it_is))
        if not 0 < mean < np.inf:
            raise InvalidInput(
                f"The mean of y is {mean:g}, and its logarithm no number: there is nothing to fit."
            )
        if mean < np.finfo(float).tiny:
            raise InvalidInput(f"The mean of y is {mean:g}, which has lost digits: rescale y.")
        level, self._usual, intercept = 0.0, 0.0, bool(self.fit_intercept)
        if intercept:
            level = float(np.log(mean))
            if shift is not None:
                self._usual = float(logsumexp(shift, b=column.some()[1] / column.total))
                shift = shift - self._usual
        loss = self._family(0.5)
        gain = (2.0 - loss.power) * level
        self._loss_unit = float(np.exp(gain))
        target = partial(_scaled, level=level, loss=loss, intercept=intercept, shift=shift)
        loss_shift = gain - float(np.log(column.total))
        return Reading(target, intercept, 1.0, None, level, loss_shift=loss_shift)

    def _per_row(self, u: Units, target: Target, judged: float) -> float:
        return 2 * self._loss_unit / judged  # held-out rows are judged by half their deviance, too

    def _attributes(self, u: Units, target: Target, x: Array) -> dict[str, Any]:
        coef, intercept = u.coefficients(x, 1, target.basis)
        return {"coef_": coef[0], "intercept_": float(intercept[0]) - self._usual}

    def _run_away(self, X: Any, y: Array) -> str:
        names = vars(self).get("feature_names_in_")
        return separated(X, y[:, None] > 0, True, self.coef_[None], names)

    def _from_predictor(self, z: Array) -> Array:
        return self._family(0.5).mean(z)

    def _facing(self, X: Any, given: dict[str, Any]) -> Any:
        return Predicted(self.predict(X, **given)) if given else self

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """The mean of y, exp(aᵢᵀw + b + offset)."""
        z = self._linear_predictor(X)
        shift = _offset(offset, exposure, len(z))
        return self._from_predictor(z if shift is None else z + shift)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> float:
        """D², the share of the deviance that is explained, as in scikit-learn; at most 1.

        1 − (deviance of the model)/(least deviance of one rate for all rows, times exposure). Rows
        in pieces have y and weights with them: score(source).
        """
        X, y, sample_weight = with_own_y(X, y, sample_weight)
        predicted, power = self.predict(X, offset, exposure), self._family(0.5).power
        shift = _offset(offset, exposure, len(predicted))
        exposed = np.ones(len(predicted)) if shift is None else np.exp(shift - shift.max())
        y = flat(y, "y")
        # of all rates that of the least deviance: Σ s (μ^(1 − p) y − μ^(2 − p)) = 0
        above = np.average(y * exposed ** (1 - power), weights=sample_weight)
        rate = above / np.average(exposed ** (2 - power), weights=sample_weight)
        model, null = (
            mean_tweedie_deviance(y, mean, sample_weight=sample_weight, power=power)
            for mean in (predicted, rate * exposed)
        )
        return float(1 - model / null) if null > 0 else float(model == 0)

    def _plain(self) -> Any:
        """scikit-learn's class of the plain model, made with the parameters that they share."""
        raise NotImplementedError

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's plain one; offsets are not part of it."""
        check_is_fitted(self)
        model = self._plain()
        model.alpha = self.alpha_ if np.ndim(self.alpha_) == 0 else 1.0
        model.fit_intercept = self.fit_intercept
        model.coef_, model.intercept_ = self.coef_.copy(), self.intercept_
        model.n_iter_, model._base_loss = self.n_iter_, model._get_loss()
        return with_features(model, self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


def _as_it_is(y: Array) -> Array:
    return y


def _scaled(y: Array, level: float, loss: LogLink, intercept: bool, shift: Array | None) -> Target:
    """y e^(−level), whose mean is 1; what is wrong is said of y as it was given."""
    if len(y):
        refuse(y, loss.accepts(y), "y", loss.takes)
    scaled = y * np.exp(-level)
    with np.errstate(divide="ignore"):
        seen = (y == 0) | (np.abs(np.log(scaled)) <= LARGEST_LOG)
    about = "the mean of y" if intercept else "1, where there is no intercept"
    reach = 10.0 ** int(LARGEST_LOG / np.log(10.0))
    refuse(y, seen, "y", f"numbers within a factor of {reach:g} of {about}: rescale y")
    return positive_mean(scaled, loss, loss, intercept, shift)


def _check_means(y: Array, weights: Array, splits: Any) -> None:
    """Where all y that a fold trains on are 0, no finite intercept fits them."""
    for k, (train, _) in enumerate(splits or (), start=1):
        if not np.any((weights[train] > 0) & (y[train] > 0)):
            raise InvalidInput(
                f"Split {k} of cv trains on rows whose y is 0, all of them, and no finite "
                "intercept fits these: shuffle the rows, with cv=KFold(5, shuffle=True), or use "
                "fewer folds."
            )


def _offset(offset: Any, exposure: Any, n: int) -> Array | None:
    """What is added to z, from the one that is given."""
    if offset is not None and exposure is not None:
        raise InvalidInput("Both offset and exposure are given: exposure is offset=log(exposure).")
    name = "offset" if exposure is None else "exposure"
    if offset is None and exposure is None:
        return None
    given = offset if exposure is None else exposure
    if np.ndim(given) == 0:
        raise InvalidInput(f"{name}={given!r}: give one number for each row.")
    check_given(**{name: given})
    known = flat(given, name)
    if known.size != n:
        raise InvalidInput(f"{name} has {known.size} numbers; X has {n} rows.")
    if exposure is None:
        return known
    refuse(known, known > 0, name, "positive exposures")
    return np.log(known)
