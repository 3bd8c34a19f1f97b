"""How good the model is on rows that it was not fitted to, and whether that is better than nothing.

    gain = loss of a constant prediction − loss of the model,   both on the same held-out rows

A target of noise has a best λ, too, and only this comparison tells. Of 180 tables of noise one in
seven gained more than the standard error of the gain over five folds, and one in forty more than
two: where it is not twice its error, nothing is said to be learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hoag.cli.yardsticks import Yardstick, settings, yardstick

if TYPE_CHECKING:
    from hoag.cli.families import Family

# What scorers raise that cannot judge such rows, or such a model.
UNFIT = (ValueError, TypeError, AttributeError)


@dataclass(frozen=True, eq=False)
class Seen:
    """One held-out part: the truth, what the model of its fold said, and the weights of the rows.

    `said` are probabilities, a column a class, decision values, predictions, or with a spread
    (huber) both beside each other. `coef` are the coefficients of that fold's model.
    """

    truth: Any
    said: Any
    weights: Any
    coef: Any = None


class Judge:
    """A scorer for scikit-learn that also keeps what it saw of every fold.

    names   of scikit-learn's scorers, or concordance
    family  of the model
    """

    def __init__(self, names: list[str], family: Family) -> None:
        self.names, self.family = names, family
        self.seen: list[Seen] = []
        self.scores: dict[str, list[float]] = {name: [] for name in names}
        self.told: dict[str, str] = {}
        self._scorers = {name: _scorer(name) for name in names}

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        said = getattr(model, self.family.says)(X)
        if "scale_" in vars(model) and not self.family.classifies:
            said = np.column_stack([said, np.full(len(y), model.scale_)])
        self.seen.append(Seen(y, said, weights, vars(model).get("coef_")))
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        for name, scorer in self._scorers.items():
            try:
                value = float(scorer(model, X, y, **extra))
            except UNFIT as error:
                value = float("nan")
                told = " ".join(str(error).split()).split(". ")[0].rstrip(".")
                self.told[name] = f"--scoring {name} cannot be computed here: {told}."
            self.scores[name].append(value)
        return {name: self.scores[name][-1] for name in self.names}


def _scorer(name: str) -> Any:
    from sklearn.metrics import get_scorer, make_scorer

    if name != "concordance":
        return get_scorer(name)
    from hoag.linear_model import concordance

    return make_scorer(concordance)


def check_names(given: str | None, family: Family, y: Any) -> list[str]:
    """The scorers that --scoring names, or the usual one; an error for one that cannot serve.

    None for d2, which is what the comparison with a constant gives.
    """
    from sklearn.metrics import get_scorer_names

    from hoag._core.words import nearest

    if given is None:
        return [] if family.score == "d2" else [family.score]
    if family.score == "concordance":
        raise ValueError(
            "--scoring is for scikit-learn's scores, which know of no censored times; cox is told "
            "by its concordance."
        )
    classes, outputs = family.classifies, len(np.unique(y)) if family.classifies else 1
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


def compared(judge: Judge, data: Any, tuned: Any, splits: Any) -> dict[str, Any]:
    """The loss of every fold, of the model and of a constant, and what is gained.

    splits  training and held-out rows; None if each row was left out once
    """
    y, weights = data.y, np.ones(len(data.y)) if data.weights is None else data.weights
    if judge.family.score == "concordance":
        from hoag.cli.survival import losses

        each = losses(judge.seen[-len(splits) :], data, weights, splits)
        return _judgement("the same risk", *each, tol_of(tuned), True)
    rule = yardstick(settings(data.model, tuned), y, bool(data.given))
    if splits is None:
        (seen,) = judge.seen[-1:]
        said = _without_each(seen.truth, seen.weights)
        own, base = rule.losses(seen.truth, seen.said), rule.losses(seen.truth, said)
        return _judgement(rule.what, seen.weights, own, base, tol_of(tuned), False)
    if data.blocks is not None:
        return _judgement(rule.what, *_from_losses(rule, data, tuned, splits), tol_of(tuned), True)
    exposure, parts = exposures(data.given, len(y)), []
    for (train, test), seen in zip(splits, judge.seen[-len(splits) :], strict=True):
        constant = rule.constant(y[train], weights[train], exposure[train])
        said = rule.said(constant, exposure[test])
        judged: Any = slice(None)
        if judge.family.classifies:  # by the few classes: of strings all pairs are compared
            judged = np.isin(seen.truth, np.unique(y[train]))
        pair = [rule.losses(seen.truth, each)[judged] for each in (seen.said, said)]
        part = seen.weights[judged]
        if part.sum() > 0:
            parts.append((part.sum(), *(part @ each / part.sum() for each in pair)))
    sizes, own, base = np.array(parts).T
    return _judgement(rule.what, sizes, own, base, tol_of(tuned), True)


def _from_losses(rule: Yardstick, data: Any, tuned: Any, splits: Any) -> tuple[Any, Any, Any]:
    """The weight of each fold, its loss, and that of a constant: of y alone, without the rows."""
    y, every, parts = data.y, np.ones(len(data.y)), []
    weights = every if data.weights is None else data.weights
    classes = np.unique(y) if y.dtype.kind != "f" else None
    for train, test in splits:
        constant = rule.constant(y[train], weights[train], every[train])
        judged, truth = weights[test], y[test]
        if classes is not None and (known := np.unique(y[train])).size < classes.size:
            judged = np.where(np.isin(truth, known), judged, 0.0)
        lost = rule.losses(truth, rule.said(constant, every[test]))
        lost = np.where(judged > 0, lost, 0.0)  # a class without training rows has no finite loss
        parts.append((judged.sum(), judged @ lost))
    sizes, base = np.array(parts).T
    some = sizes > 0
    own = np.asarray(tuned.result_.evaluation.folds) * sizes.sum()  # from shares of the mean
    return sizes[some], own[some] / sizes[some], base[some] / sizes[some]


def exposures(given: dict[str, Any], n: int) -> Any:
    """What the mean of each row is proportional to."""
    if "offset" in given:
        return np.exp(given["offset"])
    return given.get("exposure", np.ones(n))


def _judgement(
    what: str, sizes: Any, own: Any, base: Any, tol: float, folds: bool
) -> dict[str, Any]:
    """The losses of parts of so much weight; a gain below the share `tol` of the loss is none."""
    gains = base - own
    gain, loss = float(sizes @ gains / sizes.sum()), float(sizes @ base / sizes.sum())
    error = standard_error(gains)
    return {
        "folds": own.tolist() if folds else None,
        "standard_error": standard_error(own),
        "baseline": {
            "what": what,
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


def deviance_residuals(truth: Any, said: Any, rule: Yardstick) -> Any:
    """sign(y − μ) √d(y, μ): what is left, each in units in which such rows vary alike."""
    return np.sign(truth - said) * np.sqrt(np.maximum(rule.losses(truth, said), 0.0))


def _without_each(y: Any, weights: Any) -> Any:
    """The mean of all other rows."""
    own = weights if y.ndim == 1 else weights[:, None]
    return (weights @ y - own * y) / (weights.sum() - own)


def tol_of(tuned: Any) -> float:
    """The tolerance that was searched with; of an additive model that of what it is made of."""
    return float(vars(tuned).get("model_", tuned).tol)
