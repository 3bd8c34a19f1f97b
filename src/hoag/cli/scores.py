"""How good predictions are on rows of a file whose target is known."""

from __future__ import annotations

from typing import Any

import numpy as np


def score(
    table: Any,
    notes: dict[str, Any],
    predictions: Any,
    chances: Any,
    classes: list[Any] | None,
    given: dict[str, Any],
) -> dict[str, Any]:
    """By names, with the number of rows; {} without any that could be judged."""
    import pandas as pd

    from hoag.cli.families import FAMILIES

    names, family = notes["targets"], FAMILIES[notes["model"]]
    event = [notes["roles"]["event"]] if notes["model"] == "cox" else []
    if not table.named:
        truth = pd.DataFrame({names[0]: table.labels})
    elif {*names, *event} <= set(table.rows.columns):
        truth = table.rows[[*names, *event]].astype(object)
    else:
        return {}
    kind: Any = object
    if notes["target_kind"] != "text":  # whatever is no number counts as not known
        kind = float
        truth = truth.apply(pd.to_numeric, errors="coerce").astype(kind)
    known = truth.notna().all(axis=1).to_numpy()
    truth, predictions = truth[known].to_numpy(dtype=kind), predictions[known]
    if len(truth) == 0 or (not family.classifies and len(truth) < 2):
        return {}
    if family.classifies:
        chances = None if chances is None else chances[known]
        found = _of_classes(truth[:, 0], predictions.astype(kind), chances, classes, kind)
    else:
        exposure = given["exposure"][known] if "exposure" in given else np.ones(len(truth))
        name, labels = notes["roles"].get("strata"), None
        if name is not None and name in table.rows.columns:
            labels = table.rows[name][known].astype(str)
        found = _of_numbers(notes, truth, predictions, exposure, labels)
    return {**found, "rows": len(truth)} if found else {}


def _of_classes(
    truth: Any, predictions: Any, chances: Any, classes: list[Any] | None, kind: Any
) -> dict[str, float]:
    from sklearn.metrics import log_loss

    found = {"accuracy": float(np.mean(truth == predictions))}
    if classes is not None and set(truth) <= set(np.array(classes, dtype=kind)):
        labels = np.array(classes, dtype=kind)
        found["log loss"] = float(log_loss(truth, chances, labels=labels))
    return found


def _of_numbers(
    notes: dict[str, Any], truth: Any, predictions: Any, exposure: Any, strata: Any
) -> dict[str, float]:
    from sklearn.metrics import d2_absolute_error_score, d2_pinball_score, r2_score

    from hoag.cli.families import plain
    from hoag.cli.yardsticks import yardstick

    model, judged, y = plain(notes["model"]), notes["judged"], truth[:, 0]
    if model == "cox":
        from hoag._core.errors import InvalidInput
        from hoag.linear_model import concordance

        try:
            return {"concordance": concordance(truth, predictions, strata=strata)}
        except InvalidInput:  # no pair of rows, no event, or events that are no 0 and 1
            return {}
    if judged["criterion"] == "deviance":
        rule = yardstick(judged, y)
        if np.any(y < 0) or (judged["power"] >= 2 and np.any(y == 0)):
            return {}
        said = rule.said(rule.constant(y, np.ones(len(y)), exposure), exposure)
        own, base = (float(rule.losses(y, each).mean()) for each in (predictions, said))
        return {"D²": 1 - own / base if base > 0 else float("nan"), "deviance": own}
    if model == "quantile":
        share = float(np.mean(y < predictions))
        return {"D²": d2_pinball_score(y, predictions, alpha=judged["quantile"]),
                "share below": share}  # fmt: skip
    if model == "huber":
        return {"D² of absolute errors": d2_absolute_error_score(y, predictions)}
    return {"R²": float(r2_score(truth, predictions))}
