"""The models of the command line: what each needs of its target, and which options are its own."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

# What a target has to hold.
CLASSES, ORDERED, NUMBERS = "classes", "ordered classes", "numbers"
NOT_NEGATIVE, POSITIVE, TIMES = "numbers from 0 on", "numbers above 0", "times from 0 on"

SLOPES = ("shared", "per-feature")
SEVERAL = ("shared", "per-feature", "per-class", "per-coefficient")
SHARES, MEAN = "the shares of the classes", "the mean of the target"


@dataclass(frozen=True)
class ModelKind:
    """What the commands have to know of a model.

    estimator  its class in hoag
    target     what its target holds
    loss       what is lost on held-out rows, where no --criterion is given
    says       the method whose answers for held-out rows are kept and judged
    score      what is told beside the loss: a scorer of scikit-learn, d2 or concordance
    constant   what is said of every row by a model that knows no column
    penalties  the words that --penalties may have
    settings   options that are parameters of the estimator
    columns    options that name a column with something of its own for each row
    criteria   the words that --criterion may have
    untuned    what scikit-learn's class has where nobody tunes it, and its λ
    adds       what coefficients are in units of
    """

    estimator: str
    target: str
    loss: str
    says: str = "predict"
    score: str = "d2"
    constant: str = MEAN
    penalties: tuple[str, ...] = SLOPES
    settings: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    untuned: tuple[str, float] | None = field(default=("alpha = 1", 0.0))
    adds: str = ""

    @property
    def classifies(self) -> bool:
        return self.target in (CLASSES, ORDERED)

    @property
    def chances(self) -> bool:
        """Whether it gives every class a probability."""
        return self.says == "predict_proba"


EXPOSED, LOG = ("exposure", "offset"), "the log of the mean"

FAMILIES = {
    "logistic": ModelKind("LogisticRegressionCV", CLASSES, "log_loss", "predict_proba", "accuracy",
                       SHARES, SEVERAL, criteria=("log_loss", "brier"), untuned=("C = 1", 0.0),
                       adds="log odds"),
    "ridge": ModelKind("RidgeCV", NUMBERS, "squared_error", score="r2",
                    penalties=(*SLOPES, "per-target", "per-coefficient"),
                    criteria=("squared_error", "huber")),
    "kernel-ridge": ModelKind("KernelRidgeCV", NUMBERS, "squared_error", score="r2",
                           penalties=("shared",), untuned=("alpha = 1, gamma = 1/p", 0.0)),
    "poisson": ModelKind("PoissonRegressorCV", NOT_NEGATIVE, "deviance", columns=EXPOSED, adds=LOG),
    "gamma": ModelKind("GammaRegressorCV", POSITIVE, "deviance", columns=EXPOSED, adds=LOG),
    "tweedie": ModelKind("TweedieRegressorCV", NOT_NEGATIVE, "deviance", settings=("power",),
                      columns=EXPOSED, adds=LOG),
    "huber": ModelKind("HuberRegressorCV", NUMBERS, "huber_and_spread",
                    score="d2_absolute_error_score", constant="the middle of the target",
                    settings=("epsilon",), untuned=("alpha = 0.0001", math.log(1e-4))),
    "quantile": ModelKind("QuantileRegressorCV", NUMBERS, "pinball", settings=("quantile",),
                       constant="the same quantile for all rows", untuned=None),
    "svc": ModelKind("LinearSVCCV", CLASSES, "squared_hinge", "decision_function", "accuracy",
                  "a constant", SEVERAL, untuned=("C = 1", 0.0),
                  adds="the distance from the boundary, in margins"),
    "ordinal": ModelKind("OrdinalLogisticCV", ORDERED, "log_loss", "predict_proba", "accuracy",
                      SHARES, untuned=None, adds="log odds of a higher class"),
    "cox": ModelKind("CoxRegressionCV", TIMES, "partial_likelihood", score="concordance",
                  constant="the same risk for all rows", columns=("event", "strata"),
                  untuned=None, adds="the log of the hazard"),
}  # fmt: skip

# What --family may say of the target of an additive model, and the linear model that it is like.
LIKE = {"gaussian": "ridge", "classes": "logistic", "poisson": "poisson", "gamma": "gamma",
        "tweedie": "tweedie", "inverse-gaussian": "gamma", "huber": "huber",
        "quantile": "quantile"}  # fmt: skip
GAM, MODELS = "gam", (*FAMILIES, "gam")
FAMILIES |= {
    f"{GAM} {word}": replace(
        FAMILIES[like],
        estimator="GAMClassifierCV" if like == "logistic" else "GAMRegressorCV",
        penalties=("shared",),
        criteria=(),
        untuned=None,
    )
    for word, like in LIKE.items()
}
# The power of the mean in the variance, where it is no option.
POWERS = {"poisson": 1.0, "gamma": 2.0, "inverse-gaussian": 3.0}

# What chooses penalties without folds of its own; the first is usual for a gam.
WITHOUT_FOLDS = ("reml", "gcv", "alo", "aic", "bic")
LINEAR = tuple(name for name in MODELS if name not in ("kernel-ridge", GAM))

OWN = ("exposure", "offset", "power", "quantile", "epsilon", "event", "strata")
# Options that only some models take, beside those that are a family's own.
SOME = {
    **dict.fromkeys(("penalties", "standardize", "shrink", "no_scale", "text"), LINEAR),
    **dict.fromkeys(("no_scale", "text", "certificate"), (*LINEAR, "kernel-ridge")),
    "starts": (*LINEAR, GAM),
    "widths": ("kernel-ridge",),
    **dict.fromkeys(("family", "terms", "scale"), (GAM,)),
}


def is_additive(model: str) -> bool:
    return model.partition(" ")[0] == GAM


def plain(model: str) -> str:
    """poisson, for poisson and gam poisson alike."""
    return model.removeprefix(f"{GAM} ")


def given(args: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Those of these options that are given."""
    options = {name: getattr(args, name) for name in names}
    return {name: value for name, value in options.items() if value is not None}


def linear(tuned: object) -> Any:
    """The linear model that an additive one is made of; others are theirs."""
    return vars(tuned).get("model_", tuned)


def check_options(args: argparse.Namespace, model: str) -> None:
    """An error for options that do not go with the model, or with each other."""
    for option in (*SOME, *OWN, "criterion"):
        if getattr(args, option) not in (None, False, []) and not _takes(model, option):
            having = [name for name in MODELS if _takes(name, option)]
            raise ValueError(
                f"--{option.replace('_', '-')} is for {_listed(having)}, and the model is {model}."
            )
    for option in ("penalties", "criterion"):
        value, allowed = getattr(args, option), _words(model, option)
        if value is not None and value not in allowed:
            having = [name for name in MODELS if value in _words(name, option)]
            raise ValueError(
                f"--{option} {value} is for {_listed(having)}; {model} has {', '.join(allowed)}."
            )
    if args.cv == "loo" and model != "ridge":
        raise ValueError(f"--cv loo is for ridge, and the model is {model}: --cv alo is like it.")
    if args.criterion in ("brier", "huber") and args.cv in set(WITHOUT_FOLDS) - {"alo"}:
        raise ValueError(
            f"--criterion {args.criterion} judges held-out rows: --cv {args.cv} has none."
        )
    if args.scale is not None and plain(model) == "classes":
        raise ValueError("--scale is for numbers: the dispersion of classes is 1.")
    if args.exposure is not None and args.offset is not None:
        raise ValueError("--exposure is --offset with the logarithm taken: give one of the two.")
    if model == "cox" and args.event is None:
        raise ValueError("--model cox needs --event COLUMN: 1 for an event at that time, else 0.")
    if args.bounds and not args.bounds[0] <= args.bounds[1]:
        raise ValueError("--bounds LOW HIGH: the first number must not be above the second.")


def _takes(model: str, option: str) -> bool:
    if option in SOME:
        return (GAM if is_additive(model) else model) in SOME[option]
    return model != GAM and (
        option in FAMILIES[model].settings + FAMILIES[model].columns
        or (option == "criterion" and bool(FAMILIES[model].criteria))
    )


def _words(model: str, option: str) -> tuple[str, ...]:
    """What the option may say for the model."""
    if model == GAM:
        return ()
    return FAMILIES[model].penalties if option == "penalties" else FAMILIES[model].criteria


def _listed(names: list[str]) -> str:
    if set(LINEAR) <= set(names):
        names = ["linear models", *(name for name in names if name not in LINEAR)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def needs(args: argparse.Namespace, model: str) -> str:
    """What the target has to hold; that of a Tweedie regression depends on its power."""
    if plain(model) == "tweedie" and isinstance(args.power, float) and args.power >= 2:
        return POSITIVE
    return FAMILIES[model].target


def power(value: str) -> float | str:
    """A number, or the word that has it tuned."""
    try:
        return value if value == "tuned" else float(value)
    except ValueError:
        told = f"{value!r}: give a number from 1 to 2, or tuned"
        raise argparse.ArgumentTypeError(told) from None
