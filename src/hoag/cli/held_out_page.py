"""The rows held out, on the page: what fits the model's family."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag.cli.families import FAMILIES, linear, plain

# Rows that may be out of a picture where the target has outliers, and how that is said.
OUTSIDE, FAR = 0.04, "Up to one row of 25 is further out than the picture is high."


def figure(height: float = 3.7, width: float = 5.2) -> Any:
    """Axes of a figure of its own, without pyplot, which would keep it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def held_out_rows(page: Any, found: dict[str, Any], data: Any, tuned: Any, seen: list[Any]) -> None:
    """Pictures of what the folds' models said of the rows that they were not fitted to."""
    truth, said, weights = (
        np.concatenate([np.asarray(getattr(one, name)) for one in seen])
        for name in ("truth", "said", "weights")
    )
    kept = weights > 0
    truth, said, weights = truth[kept], said[kept], weights[kept]
    model = plain(found["model"])
    if model == "cox":
        page.figures(_survival(found["target"], truth, said, weights))
    elif FAMILIES[found["model"]].classifies:
        page.figures(_classes(model, list(np.unique(data.y)), truth, said, weights))
    elif found["criterion"] == "deviance":
        page.figures(_means(data, tuned, truth, said, weights))
    elif model == "quantile":
        page.figures(_quantiles(linear(tuned).quantile, truth, said, weights))
    elif model == "huber":
        page.figures(_robust(truth, said[:, 0]))
    else:
        page.figures(_numbers(truth, said))


def _classes(model: str, classes: list[Any], truth: Any, said: Any, weights: Any) -> list[Any]:
    from hoag.plot import ConfusionDisplay
    from hoag.plot import _held_out as held_out

    left, right = figure(4.2), figure(4.2)
    if model == "svc" and said.ndim == 1:
        said = np.column_stack([-said, said])
    if model == "ordinal":
        held_out.calibration(left, truth, said, weights, classes)
        first = ("How often it happened, by the probability that the model gave: on the line it "
                 "means what it says.")  # fmt: skip
    else:
        held_out.roc(left, truth, said, weights, classes)
        first = "How many of a class are found, by how many others are taken for it."
    if model in ("logistic", "classes"):
        held_out.calibration(right, truth, said, weights, classes)
        second = ("How often it happened, by the probability that the model gave: on the line it "
                  "means what it says.")  # fmt: skip
    else:
        predicted = np.array(classes)[np.argmax(said, axis=1)]
        ConfusionDisplay(truth, predicted, classes, weights).plot(right)
        second = "Rows by their class and the one that was predicted, shaded by their share."
    return [(left.figure, first), (right.figure, second)]


def _means(data: Any, tuned: Any, truth: Any, said: Any, weights: Any) -> list[Any]:
    from hoag.cli.held_out import deviance_residuals
    from hoag.cli.yardsticks import settings, yardstick
    from hoag.plot import DevianceResidualsDisplay, TenthsDisplay

    left, right = figure(4.2), figure(4.2)
    residuals = deviance_residuals(truth, said, yardstick(settings(data.model, tuned), data.y))
    DevianceResidualsDisplay(said, residuals).plot(left)
    TenthsDisplay(truth, said, weights).plot(right)
    return [
        (left.figure, "What is left of the truth, by the prediction, in units in which rows of "
                      "small and large means vary alike. Those of skewed targets are below 0 on "
                      "the average; a bend in the squares says that something was missed."),
        (right.figure, "The mean that came by the mean that was predicted, in tenths of the rows "
                       "by their prediction, with standard errors."),
    ]  # fmt: skip


def _quantiles(quantile: float, truth: Any, said: Any, weights: Any) -> list[Any]:
    from hoag.plot import BelowDisplay
    from hoag.plot import _held_out as held_out

    left, right = figure(4.2), figure(4.2)
    BelowDisplay(truth, said, quantile, weights).plot(left)
    held_out.truths(right, truth, said, OUTSIDE)
    return [
        (left.figure, f"How many rows are below what was predicted, in tenths by the prediction: "
                      f"on the line it is the {quantile:g} quantile, for small and for large."),
        (right.figure, f"The truth, by the prediction. {FAR}"),
    ]  # fmt: skip


def _survival(name: str, truth: Any, risk: Any, weights: Any) -> list[Any]:
    from hoag.plot import SurvivalDisplay

    ax = figure(4.4)
    SurvivalDisplay(truth["time"], truth["event"], risk, weights).plot(ax)
    ax.set_xlabel(name)
    return [
        (ax.figure, "How many outlast each time (Kaplan and Meier), in three groups by the risk "
                    "that models gave them which had not seen them; bands are one standard "
                    "error. The further the curves are apart, the more the risk tells."),
    ]  # fmt: skip


def _robust(truth: Any, said: Any) -> list[Any]:
    from hoag.plot import _held_out as held_out

    left, right = figure(4.2), figure(4.2)
    held_out.residuals(left, truth, said, OUTSIDE)
    held_out.truths(right, truth, said, OUTSIDE)
    return [
        (left.figure, "What is left of the truth, by the prediction; the squares are means, which "
                      f"outliers move. {FAR}"),
        (right.figure, "The truth, by the prediction."),
    ]  # fmt: skip


def _numbers(truth: Any, said: Any) -> list[Any]:
    from hoag.plot import _held_out as held_out

    left, right = figure(4.2), figure(4.2)
    held_out.residuals(left, truth, said)
    caption = (
        "What is left of the truth, by the prediction: where the squares leave the line, something "
        "was missed."
    )
    if truth.ndim == 2:
        return [(left.figure, f"{caption} All targets, in standard deviations.")]
    held_out.truths(right, truth, said)
    return [(left.figure, caption), (right.figure, "The truth, by the prediction.")]
