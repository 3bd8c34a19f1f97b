"""What a model loses on a row, and what is said of every row by a constant that knows no column.

    constant = argmin over c of Σᵢ sᵢ loss(yᵢ, c)    on the training rows

Where rows have exposures eᵢ the mean is c·eᵢ, and c = Σ sᵢyᵢeᵢ^(1−power) / Σ sᵢeᵢ^(2−power).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Yardstick:
    """The losses of rows, by what is said of them, and what a constant says.

    what      the constant in words
    losses    truth, said ↦ the loss of every row
    constant  y, weights and exposures of training rows ↦ what is said of a row of exposure 1
    exposed   whether exposures multiply what is said
    """

    what: str
    losses: Callable[[Any, Any], Any]
    constant: Callable[[Any, Any, Any], Any]
    exposed: bool = False

    def said(self, constant: Any, exposure: Any) -> Any:
        return constant * exposure if self.exposed else constant


def settings(model: str, tuned: Any) -> dict[str, Any]:
    """The numbers that a loss depends on, by name; for a model file, too."""
    from hoag.cli.families import linear, plain
    from hoag.plot._style import judged_by

    model, tuned = plain(model), linear(tuned)
    found: dict[str, Any] = {"criterion": judged_by(tuned)}
    known = {"poisson": 1.0, "gamma": 2.0, "inverse-gaussian": 3.0}.get(model)
    if found["criterion"] == "deviance":
        found["power"] = tuned.power_ if known is None else known
    if model == "quantile":
        found |= {"quantile": tuned.quantile, "width": tuned.width_}
    if model == "huber":
        found |= {"epsilon": tuned.epsilon}
    return found


def yardstick(known: dict[str, Any], y: Any, exposed: bool = False) -> Yardstick:
    """That of a loss with its numbers; y are the targets of all rows, which may have exposures."""
    criterion = known["criterion"]
    if criterion in ("log_loss", "brier"):
        return _of_chances(criterion, np.unique(y))
    if criterion == "squared_hinge":
        return _of_margins(np.unique(y))
    if criterion == "deviance":
        return _of_means(known["power"], "the mean rate" if exposed else "the mean of the target")
    if criterion == "pinball":
        return _of_quantiles(known["quantile"], known["width"])
    if criterion == "huber_and_spread":
        return _of_spreads(known["epsilon"])
    return _of_numbers(criterion, y)


def _of_chances(criterion: str, classes: Any) -> Yardstick:
    """Probabilities, a column a class, and the shares of the classes."""

    def losses(truth: Any, chances: Any) -> Any:
        chances = np.broadcast_to(chances, (len(truth), len(classes)))
        hits = truth[:, None] == classes
        right = chances[hits]
        if criterion == "log_loss":
            return -np.log(np.maximum(right, np.finfo(float).tiny))
        return (1 - right) ** 2 if len(classes) == 2 else np.sum((chances - hits) ** 2, axis=1)

    return Yardstick("the shares of the classes", losses, _shares(classes))


def _shares(classes: Any) -> Any:
    return lambda y, weights, exposure: weights @ (y[:, None] == classes) / weights.sum()


def _of_margins(classes: Any) -> Yardstick:
    """Decision values; Σ s (1 − yb)² of y = ±1 is least where b is the mean of y."""
    which = slice(None) if len(classes) > 2 else slice(1, None)

    def losses(truth: Any, decision: Any) -> Any:
        signs = np.where(truth[:, None] == classes[which], 1.0, -1.0)
        decision = np.reshape(decision, (-1, signs.shape[1]))
        return np.sum(np.maximum(1 - signs * decision, 0.0) ** 2, axis=1)

    shares = _shares(classes[which])
    return Yardstick("a constant", losses, lambda *rows: 2 * shares(*rows) - 1)


def _of_numbers(criterion: str, y: Any) -> Yardstick:
    """Predictions, of several targets too, and the mean."""
    from hoag.linear_model._regression import outer_loss

    loss, outputs = outer_loss(criterion, y), 1 if y.ndim == 1 else y.shape[1]

    def losses(truth: Any, said: Any) -> Any:
        return loss.at(truth, np.broadcast_to(said, truth.shape)).value / outputs

    def mean(y: Any, weights: Any, exposure: Any) -> Any:
        return weights @ y / weights.sum()

    return Yardstick("the mean of the target", losses, mean)


def _of_means(power: float, what: str) -> Yardstick:
    """The deviance of means; in the units of y, whatever they are."""
    from hoag.linear_model._tweedie import TweedieRegressorCV

    family = TweedieRegressorCV(power=power)._family(1.0)

    def losses(truth: Any, said: Any) -> Any:
        return family.at(truth, np.broadcast_to(np.log(said), truth.shape)).value

    def rate(y: Any, weights: Any, exposure: Any) -> Any:
        return (weights * y) @ exposure ** (1 - power) / (weights @ exposure ** (2 - power))

    return Yardstick(what, losses, rate, exposed=True)


def _of_quantiles(quantile: float, width: float) -> Yardstick:
    from scipy.optimize import brentq

    from hoag._glm.losses import SmoothQuantile

    loss = SmoothQuantile(quantile, width)

    def constant(y: Any, weights: Any, exposure: Any) -> Any:
        ends = (float(y.min()) - 50 * width, float(y.max()) + 50 * width)
        return brentq(lambda c: float(weights @ loss.slope(y, c)), *ends, xtol=1e-9 * width)

    return Yardstick(f"the {quantile:g} quantile of the target", loss.value, constant)


def _of_spreads(epsilon: float) -> Yardstick:
    """σ + σH(r/σ) of predictions with a spread beside them, (n, 2); H is linear beyond ε."""

    def losses(truth: Any, said: Any) -> Any:
        middle, sigma = np.broadcast_to(said, (len(truth), 2)).T
        away = np.abs(truth - middle) / sigma
        near = np.minimum(away, epsilon)
        return sigma * (1 + near * (2 * away - near))

    def constant(y: Any, weights: Any, exposure: Any) -> Any:
        from sklearn.linear_model import HuberRegressor

        middle = np.median(y)
        unit = np.median(np.abs(y - middle)) or np.mean(np.abs(y - middle)) or 1.0
        plain = HuberRegressor(epsilon=epsilon, alpha=0.0, tol=1e-9, max_iter=1000)
        plain.fit(np.zeros((len(y), 1)), (y - middle) / unit, sample_weight=weights)
        return np.array([middle + unit * plain.intercept_, unit * plain.scale_])

    return Yardstick("the middle of the target", losses, constant)
