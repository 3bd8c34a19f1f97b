"""How good a model is on rows that it was not fitted to, and whether a constant is as good.

    gain = loss of a constant − loss of the model,   both on the same held-out rows

A constant is the model's own family with an endless penalty, which knows no column: the mean, the
shares of the classes, one risk for all. A target of noise has a best λ, too, and only this
comparison tells. Of 180 tables of noise one in seven gained more than the standard error of the
gain over five folds, and one in forty more than two: where it is not twice its error, the rows do
not show that anything was learnt. That is no proof of the contrary.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from hoag._core.words import nearest
from hoag.cli.families import EXPOSED, FAMILIES, LIKE, POWERS, ModelKind, is_additive, linear, plain

if TYPE_CHECKING:
    from hoag.cli.rows import Data

ENDLESS = 40.0  # the λ of a penalty that leaves nothing of a coefficient

# What scorers raise that cannot judge such rows, or such a model.
UNFIT = (ValueError, TypeError, AttributeError)


@dataclass(frozen=True, eq=False)
class Held:
    """One held-out part: the truth, what the model of its fold said, and the weights of the rows.

    `said` are probabilities, a column a class, decision values, predictions, or with a spread
    (huber) both beside each other.
    """

    truth: Any
    said: Any
    weights: Any


class Jury:
    """A scorer for scikit-learn that also keeps what it saw of every fold.

    names   of scikit-learn's scorers, or concordance
    family  of the model
    """

    def __init__(self, names: list[str], family: ModelKind) -> None:
        self.names, self.family = names, family
        self.seen: list[Held] = []
        self.scores: dict[str, list[float]] = {name: [] for name in names}
        self.told: dict[str, str] = {}
        self._scorers = {name: _scorer(name) for name in names}

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        said = getattr(model, self.family.says)(X)
        if "scale_" in vars(model) and not self.family.classifies:
            said = np.column_stack([said, np.full(len(y), model.scale_)])
        self.seen.append(Held(y, said, weights))
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

    def together(self) -> tuple[Any, Any, Any]:
        """Truth, what was said, and weights of all held-out rows that count."""
        names = ("truth", "said", "weights")
        truth, said, weights = (
            np.concatenate([np.asarray(vars(one)[name]) for one in self.seen]) for name in names
        )
        kept = weights > 0
        return truth[kept], said[kept], weights[kept]


class Said(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose predictions are known already."""

    def __init__(self, said: Any = None, scale_: Any = None) -> None:
        self.said = said
        if scale_ is not None:
            self.scale_ = scale_

    def predict(self, X: Any) -> Any:
        return self.said


def _scorer(name: str) -> Any:
    from sklearn.metrics import get_scorer, make_scorer

    if name != "concordance":
        return get_scorer(name)
    from hoag.linear_model import concordance

    return make_scorer(concordance)


def check_names(given: str | None, family: ModelKind, y: Any) -> list[str]:
    """The scorers that --scoring names, or the usual one; an error for one that cannot serve.

    None for d2, which is what the comparison with a constant gives.
    """
    from sklearn.metrics import get_scorer_names

    if given is None:
        return [] if family.score == "d2" else [family.score]
    if family.score == "concordance":
        raise ValueError("--scoring knows of no censored times; cox is judged by its concordance.")
    names = [name.strip() for name in given.split(",") if name.strip()]
    known, outputs = get_scorer_names(), len(np.unique(y)) if family.classifies else 1
    for name in names:
        if name not in known:
            near = nearest(name, known)
            raise ValueError(f"--scoring {name} is not a score that scikit-learn has.{near}")
        if name in ("roc_auc", "average_precision") and outputs > 2:
            two = f"is for two classes, and there are {outputs}: use roc_auc_ovr"
            raise ValueError(f"--scoring {name} {two}.")
    if not names:
        raise ValueError("--scoring needs a name, such as roc_auc,accuracy.")
    return names


# ---- losses, by the words for them


def settings(model: str, tuned: Any) -> dict[str, Any]:
    """The numbers that a loss depends on, by name; for a model file, too."""
    word, tuned = plain(model), linear(tuned)
    found: dict[str, Any] = {
        "criterion": tuned.get_params(deep=False).get("criterion", FAMILIES[model].loss)
    }
    if found["criterion"] == "deviance":
        found["power"] = POWERS.get(word) or tuned.power_
    own = [name for name in FAMILIES[model].settings if name != "power"]
    return found | {name: getattr(tuned, name) for name in own}


def loss(known: dict[str, Any], truth: Any, said: Any, weights: Any, classes: Any = None) -> float:
    """The mean loss of rows, by what was said of them; `known` are the `settings`."""
    from sklearn import metrics

    criterion, own = known["criterion"], {"sample_weight": weights}
    if criterion == "log_loss":
        return float(metrics.log_loss(truth, said, labels=classes, **own))
    if criterion == "deviance":
        power = known["power"]
        return float(metrics.mean_tweedie_deviance(truth, said, power=power, **own))
    if criterion == "pinball":
        return float(metrics.mean_pinball_loss(truth, said, alpha=known["quantile"], **own))
    if criterion == "squared_hinge":
        signs = np.where(truth[:, None] == classes[-max(said.ndim, len(classes) % 2) :], 1.0, -1.0)
        margins = np.maximum(1 - signs * said.reshape(len(truth), -1), 0.0)
        return float(np.average(np.sum(margins**2, axis=1), weights=weights))
    if criterion == "huber_and_spread":  # σ + σH(r/σ), linear beyond ε
        middle, spread = said.T
        away = np.abs(truth - middle) / spread
        near = np.minimum(away, known["epsilon"])
        return float(np.average(spread * (1 + near * (2 * away - near)), weights=weights))
    return float(metrics.mean_squared_error(truth, said, **own))


# ---- held-out rows, of the model and of a constant


def nested(tuned: Any, data: Data, jury: Jury, splits: Any) -> None:
    """Show the jury rows that were held out, each fold's penalties chosen on its other rows."""
    classifies = jury.family.classifies
    for train, test in splits:
        own = [None if data.weights is None else data.weights[rows] for rows in (train, test)]
        given = [{name: one[rows] for name, one in data.given.items()} for rows in (train, test)]
        X = [data.X.iloc[rows] if is_additive(data.model) else data.X[rows]
             for rows in (train, test)]  # fmt: skip
        fold = clone(tuned).set_params(callback=None, checkpoint=None)
        with warnings.catch_warnings():  # of all rows the same was said
            warnings.filterwarnings("ignore", category=UserWarning)
            fold.fit(X[0], data.y[train], sample_weight=own[0], **given[0])
        if classifies and len(fold.classes_) < len(np.unique(data.y)):
            classes, counts = np.unique(data.y, return_counts=True)
            rare = f"the class {classes[np.argmin(counts)]}, which has {counts.min()}"
            raise ValueError(f"A fold has no training row of {rare}: give fewer folds by --cv.")
        scale = vars(linear(fold)).get("scale_")
        shown = fold if classifies else Said(fold.predict(X[1], **given[1]), scale)
        jury(shown, X[1], data.y[test], **({} if own[1] is None else {"sample_weight": own[1]}))


def compared(
    jury: Jury, data: Data, tuned: Any, cv: Any, splits: Any, by_folds: bool
) -> dict[str, Any]:
    """The loss of every fold, of the model and of a constant, and what is gained.

    cv        as an estimator takes it, for the constant
    splits    training and held-out rows; None if each row was left out once
    by_folds  whether the model was tuned by what the folds lose: then it knows that itself
    """
    family, known = jury.family, settings(data.model, tuned)
    classes = np.unique(data.y) if family.classifies else None
    other = Jury([], family)
    constant = _constant(data, tuned, cv, other)
    sizes = np.ones(len(data.y)) if data.weights is None else data.weights
    if splits is not None:
        sizes = np.array([_counted(data, sizes, train, test) for train, test in splits])
    some = sizes > 0
    by_folds = by_folds and tuned.result_.evaluation.folds is not None

    def losses(model: Any, seen: list[Held]) -> Any:
        if by_folds:
            shares = np.asarray(model.result_.evaluation.folds)
            return shares[some] * sizes.sum() / sizes[some]
        parts = zip(seen[-len(sizes) :], some, strict=True)
        return np.array([loss(known, held.truth, held.said, held.weights, classes)
                         for held, counts in parts if counts])  # fmt: skip

    own, base, sizes = losses(tuned, jury.seen), losses(constant, other.seen), sizes[some]
    gains, mean = base - own, float(sizes @ base / sizes.sum())
    gain, error = float(sizes @ gains / sizes.sum()), standard_error(gains)
    parts = splits is not None
    return {
        "folds": own.tolist() if parts else None,
        "standard_error": standard_error(own),
        "error": _errors(known, own, base, sizes, data, jury, other),
        "baseline": {
            "what": "the mean rate"
            if data.given and family.columns == EXPOSED
            else family.constant,
            "loss": mean,
            "folds": base.tolist() if parts else None,
            "gain": gain,
            "gains": gains.tolist() if parts else None,
            "standard_error": error,
            "learnt": bool(gain > max(2 * error, float(linear(tuned).tol) * mean)),
        },
    }


def _constant(data: Data, tuned: Any, cv: Any, jury: Jury) -> Any:
    """The family's own linear model with an endless penalty, on a column of no meaning."""
    import hoag

    word = plain(data.model)
    like = "ridge" if word == "kernel-ridge" else LIKE.get(word, word)
    own = settings(data.model, tuned)
    options = {name: own[name] for name in FAMILIES[like].settings}
    if FAMILIES[like].criteria:
        options["criterion"] = own["criterion"]
    model = getattr(hoag, FAMILIES[like].estimator)(
        cv=cv, bounds=(ENDLESS, ENDLESS), **options,
        scoring=jury if data.blocks is None else None,
    )  # fmt: skip
    column = np.linspace(-1.0, 1.0, len(data.y))[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small classes: the fit has said so
        return model.fit(column, data.y, sample_weight=data.weights, **data.given)


def _counted(data: Data, weights: Any, train: Any, test: Any) -> float:
    """The weight of held-out rows that are judged: events, classes that training rows have."""
    if data.model == "cox":
        return float(weights[test] @ data.y["event"][test])
    if FAMILIES[data.model].classifies:
        return float(weights[test] @ np.isin(data.y[test], np.unique(data.y[train])))
    return float(weights[test].sum())


def _errors(
    known: dict[str, Any], own: Any, base: Any, sizes: Any, data: Data, jury: Jury, other: Jury
) -> dict[str, float] | None:
    """How far predictions of one target are off, in its units; None for what has none."""
    if known["criterion"] in ("partial_likelihood", "pinball") or data.y.dtype.kind != "f":
        return None
    if data.y.ndim > 1:
        return None
    found = {}
    for who, losses, seen in (("", own, jury), ("constant_", base, other)):
        if seen.seen:
            truth, said, weights = seen.together()
            off = truth - (said if said.ndim == 1 else said[:, 0])
            found[f"{who}rmse"] = float(np.sqrt(np.average(off**2, weights=weights)))
            found[f"{who}mae"] = float(np.average(np.abs(off), weights=weights))
        elif known["criterion"] == "squared_error":
            found[f"{who}rmse"] = float(np.sqrt(sizes @ losses / sizes.sum()))
    return found or None


def standard_error(values: Any) -> float:
    """That of the mean of values that are taken for independent."""
    values = np.asarray(values, dtype=float)
    return float(np.std(values, ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")
