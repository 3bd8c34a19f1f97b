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


@dataclass(frozen=True)
class Family:
    """What the commands have to know of a model.

    estimator  its class in hoag
    target     what its target holds
    says       the method whose answers for held-out rows are kept and judged
    score      what is told beside the loss: a scorer of scikit-learn, d2 or concordance
    penalties  the words that --penalties may have
    settings   options that are parameters of the estimator
    columns    options that name a column with something of its own for each row
    criteria   the words that --criterion may have
    untuned    what scikit-learn's class has where nobody tunes it, and its λ
    adds       what coefficients are in units of
    """

    estimator: str
    target: str
    says: str = "predict"
    score: str = "d2"
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
    "logistic": Family("LogisticRegressionCV", CLASSES, "predict_proba", "accuracy", SEVERAL,
                       criteria=("log_loss", "brier"), untuned=("C = 1", 0.0), adds="log odds"),
    "ridge": Family("RidgeCV", NUMBERS, "predict", "r2",
                    (*SLOPES, "per-target", "per-coefficient"),
                    criteria=("squared_error", "huber")),
    "kernel-ridge": Family("KernelRidgeCV", NUMBERS, "predict", "r2", ("shared",),
                           criteria=("squared_error", "huber"),
                           untuned=("alpha = 1, gamma = 1/p", 0.0)),
    "poisson": Family("PoissonRegressorCV", NOT_NEGATIVE, columns=EXPOSED, adds=LOG),
    "gamma": Family("GammaRegressorCV", POSITIVE, columns=EXPOSED, adds=LOG),
    "tweedie": Family("TweedieRegressorCV", NOT_NEGATIVE, settings=("power",), columns=EXPOSED,
                      adds=LOG),
    "huber": Family("HuberRegressorCV", NUMBERS, score="d2_absolute_error_score",
                    settings=("epsilon",), untuned=("alpha = 0.0001", math.log(1e-4))),
    "quantile": Family("QuantileRegressorCV", NUMBERS, settings=("quantile",), untuned=None),
    "svc": Family("LinearSVCCV", CLASSES, "decision_function", "accuracy", SEVERAL,
                  untuned=("C = 1", 0.0), adds="the distance from the boundary, in margins"),
    "ordinal": Family("OrdinalLogisticCV", ORDERED, "predict_proba", "accuracy", untuned=None,
                      adds="log odds of a higher class"),
    "cox": Family("CoxRegressionCV", TIMES, score="concordance", columns=("event", "strata"),
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

# How the curves' penalties are chosen without folds.
WITHOUT_FOLDS = ("reml", "gcv", "alo", "aic", "bic")

OWN = ("exposure", "offset", "power", "quantile", "epsilon", "event", "strata")


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
    family, kernel = FAMILIES[model], model == "kernel-ridge"
    _check_additive(args, model)
    if kernel and args.penalties != "shared":
        raise ValueError("--penalties is for linear models; kernel-ridge has --widths.")
    if not kernel and args.widths != "shared":
        raise ValueError(f"--widths is for kernel-ridge; {model} has --penalties.")
    if args.standardize and (kernel or is_additive(model)):
        raise ValueError(f"--standardize is for linear models, and the model is {model}.")
    if kernel and args.starts is not None:
        raise ValueError("--starts is for linear models; kernel-ridge looks over the whole box.")
    if args.bounds and not args.bounds[0] <= args.bounds[1]:
        raise ValueError("--bounds LOW HIGH: the first number must not be above the second.")
    if args.cv in WITHOUT_FOLDS and not is_additive(model):
        raise ValueError(
            f"--cv {args.cv} is for gam, and the model is {model}: give a number of folds."
        )
    if args.cv == "loo" and model != "ridge":
        raise ValueError(f"--cv loo is for ridge, and the model is {model}: give a number.")
    _check_own(args, model, family)


def _check_additive(args: argparse.Namespace, model: str) -> None:
    """An error for an option of additive models that others lack, or the other way round."""
    if not is_additive(model):
        for option in ("family", "terms", "scale"):
            if getattr(args, option) is not None:
                raise ValueError(f"--{option} is for gam, and the model is {model}.")
        return
    if args.scale is not None and plain(model) == "classes":
        raise ValueError("--scale is for numbers: the dispersion of classes is 1.")
    if args.penalties != "shared":
        raise ValueError("--penalties is for linear models; in a gam every curve has its own.")
    if args.widths != "shared":
        raise ValueError("--widths is for kernel-ridge; in a gam every curve has its own penalty.")
    if args.text:
        raise ValueError(f"--text is for linear models, and the model is {model}: use --drop.")
    if args.certificate != "auto":
        raise ValueError(f"--certificate is for other models, and the model is {model}.")
    if args.cv == "loo":
        raise ValueError("--cv loo is for ridge; a gam has --cv alo, which is much like it.")


def _check_own(args: argparse.Namespace, model: str, family: Family) -> None:
    """An error for an option that another model has, or for one that this model lacks."""
    for option in OWN:
        if getattr(args, option) is not None and option not in family.settings + family.columns:
            having = [name for name in MODELS if name != GAM and option in _options(name)]
            raise ValueError(f"--{option} is for {_listed(having)}, and the model is {model}.")
    if args.exposure is not None and args.offset is not None:
        raise ValueError("--exposure is --offset with the logarithm taken: give one of the two.")
    if model == "cox" and args.event is None:
        raise ValueError(
            "--model cox needs --event COLUMN: 1 or true where the time of --target is that of the "
            "event, 0 or false where the row was last seen then."
        )
    if args.criterion is not None and args.criterion not in family.criteria:
        if not family.criteria:
            raise ValueError(
                f"--criterion is for logistic and ridge; {model} has a loss of its own."
            )
        had = " or ".join(map(repr, family.criteria))
        raise ValueError(f"--criterion {args.criterion} is not for {model}: use {had}.")
    if args.penalties not in family.penalties:
        having = [
            name for name in MODELS if name != GAM and args.penalties in FAMILIES[name].penalties
        ]
        own = [word for word in family.penalties if word not in SLOPES]
        raise ValueError(
            f"--penalties {args.penalties} is for {_listed(having)}; {model} has "
            f"{', '.join(own or family.penalties)}."
        )


def _options(model: str) -> tuple[str, ...]:
    return FAMILIES[model].settings + FAMILIES[model].columns


def needs(args: argparse.Namespace, model: str) -> str:
    """What the target has to hold; that of a Tweedie regression depends on its power."""
    if plain(model) == "tweedie" and isinstance(args.power, float) and args.power >= 2:
        return POSITIVE
    return FAMILIES[model].target


def power(value: str) -> float | str:
    """A number, or the word that has it tuned."""
    if value == "tuned":
        return value
    try:
        return float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{value!r}: give a number from 1 to 2, or tuned"
        ) from None


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
