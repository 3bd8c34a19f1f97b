"""How good the model is on rows that it was not fitted to, and whether that is better than nothing.

    gain = loss of a constant prediction − loss of the model,   both on the same held-out rows

A target of noise has a best λ, too, and only this comparison tells. Of 180 tables of noise one in
seven gained more than the standard error of the gain over five folds, and one in forty more than
two: where it is not twice its error, nothing is said to be learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Losses = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Seen:
    """One held-out part: the truth, what the model of its fold said, and the weights of the rows.

    `said` are probabilities, a column a class, or predictions.
    """

    truth: Any
    said: Any
    weights: Any


class Judge:
    """A scorer for scikit-learn that also keeps what it saw of every fold.

    names    of scikit-learn's scorers
    classes  whether the model predicts classes
    """

    def __init__(self, names: list[str], classes: bool) -> None:
        from sklearn.metrics import get_scorer

        self.names, self.classes = names, classes
        self.seen: list[Seen] = []
        self.scores: dict[str, list[float]] = {name: [] for name in names}
        self.told: dict[str, str] = {}
        self._scorers = {name: get_scorer(name) for name in names}

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        said = model.predict_proba(X) if self.classes else model.predict(X)
        self.seen.append(Seen(y, said, weights))
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        for name, scorer in self._scorers.items():
            try:
                value = float(scorer(model, X, y, **extra))
            except (ValueError, TypeError) as error:  # of a scorer that cannot judge such rows
                value = float("nan")
                told = " ".join(str(error).split()).split(". ")[0].rstrip(".")
                self.told[name] = f"--scoring {name} cannot be computed here: {told}."
            self.scores[name].append(value)
        return {name: self.scores[name][-1] for name in self.names}


def check_names(given: str | None, classes: bool, outputs: int) -> list[str]:
    """The scorers that --scoring names, or the usual one; an error for one that cannot serve."""
    from sklearn.metrics import get_scorer_names

    from hoag.cli.text import nearest

    if given is None:
        return ["accuracy" if classes else "r2"]
    names = [name.strip() for name in given.split(",") if name.strip()]
    known = get_scorer_names()
    for name in names:
        if name not in known:
            some = "accuracy, roc_auc, f1_macro" if classes else "r2, neg_mean_absolute_error"
            raise ValueError(
                f"--scoring {name} is not a score that scikit-learn has.{nearest(name, known)} "
                f"Some of them are {some}."
            )
        if name in ("roc_auc", "average_precision") and outputs > 2:
            raise ValueError(
                f"--scoring {name} is for two classes, and there are {outputs}: use roc_auc_ovr."
            )
    if not names:
        raise ValueError("--scoring needs a name, such as roc_auc,accuracy.")
    return names


def compared(
    judge: Judge, y: Any, weights: Any, splits: Any, criterion: str, tol: float
) -> dict[str, Any]:
    """The loss of every fold, of the model and of a constant, and what is gained.

    y, weights  of all rows
    splits      training and held-out rows; None if each row was left out once
    tol         the share of the loss that the search left; a smaller gain is none
    """
    weights = np.ones(len(y)) if weights is None else weights
    losses, constant = (_of_classes if judge.classes else _of_numbers)(criterion, y)
    if splits is None:
        (seen,) = judge.seen[-1:]
        said = _without_each(seen.truth, seen.weights)
        sizes, own, base = seen.weights, losses(seen.truth, seen.said), losses(seen.truth, said)
    else:
        parts = []
        for (train, _), seen in zip(splits, judge.seen[-len(splits) :], strict=True):
            said = constant(y[train], weights[train])
            judged = np.isin(seen.truth, y[train]) if judge.classes else slice(None)
            pair = [losses(seen.truth, each)[judged] for each in (seen.said, said)]
            part = seen.weights[judged]
            if part.sum() > 0:
                parts.append((part.sum(), *(part @ each / part.sum() for each in pair)))
        sizes, own, base = np.array(parts).T
    gains = base - own
    gain, loss = float(sizes @ gains / sizes.sum()), float(sizes @ base / sizes.sum())
    error = standard_error(gains)
    folds = splits is not None
    return {
        "folds": own.tolist() if folds else None,
        "standard_error": standard_error(own),
        "baseline": {
            "what": "the shares of the classes" if judge.classes else "the mean of the target",
            "loss": loss,
            "folds": base.tolist() if folds else None,
            "gain": gain,
            "gains": gains.tolist() if folds else None,
            "standard_error": error,
            "learnt": bool(gain > max(2 * error, tol * loss)),
        },
    }


def standard_error(values: Any) -> float:
    """That of the mean of values that are taken for independent."""
    values = np.asarray(values, dtype=float)
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def _of_classes(criterion: str, y: Any) -> tuple[Losses, Losses]:
    """The loss of probabilities, and the probabilities that a constant gives."""
    classes = np.unique(y)

    def losses(truth: Any, chances: Any) -> Any:
        chances = np.broadcast_to(chances, (len(truth), len(classes)))
        hits = truth[:, None] == classes
        right = chances[hits]
        if criterion == "log_loss":
            return -np.log(np.maximum(right, np.finfo(float).tiny))
        return (1 - right) ** 2 if len(classes) == 2 else np.sum((chances - hits) ** 2, axis=1)

    def shares(y: Any, weights: Any) -> Any:
        return weights @ (y[:, None] == classes) / weights.sum()

    return losses, shares


def _of_numbers(criterion: str, y: Any) -> tuple[Losses, Losses]:
    """The loss of predictions, per target, and the constant."""
    from hoag.estimators.regression import outer_loss

    loss, outputs = outer_loss(criterion, y), 1 if y.ndim == 1 else y.shape[1]

    def losses(truth: Any, said: Any) -> Any:
        return loss.at(truth, np.broadcast_to(said, truth.shape)).value / outputs

    return losses, lambda y, weights: weights @ y / weights.sum()


def _without_each(y: Any, weights: Any) -> Any:
    """The mean of all other rows."""
    own = weights if y.ndim == 1 else weights[:, None]
    return (weights @ y - own * y) / (weights.sum() - own)
