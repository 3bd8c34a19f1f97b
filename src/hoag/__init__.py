"""Continuous hyperparameters tuned by gradient, each gradient with a bound on its error."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoag import datasets, estimators, inner, linear, models, plot, schedules, search
    from hoag.api import minimize
    from hoag.check import check_problem
    from hoag.criterion import Implicit, Sum
    from hoag.estimators import KernelRidgeCV, LogisticRegressionCV, RidgeCV
    from hoag.unrolled import Unrolled
    from hoag.values import (
        Box,
        Cost,
        Evaluation,
        InnerProblemError,
        InvalidInput,
        Result,
        Solve,
        Status,
        Step,
    )

__version__ = "0.1.0"

__all__ = [
    "Box",
    "Cost",
    "Evaluation",
    "Implicit",
    "InnerProblemError",
    "InvalidInput",
    "KernelRidgeCV",
    "LogisticRegressionCV",
    "Result",
    "RidgeCV",
    "Solve",
    "Status",
    "Step",
    "Sum",
    "Unrolled",
    "check_problem",
    "datasets",
    "estimators",
    "inner",
    "linear",
    "minimize",
    "models",
    "plot",
    "schedules",
    "search",
]

# Everything is imported when it is first asked for, so that `hoag --help` answers at once.
_MODULES = ("datasets", "estimators", "inner", "linear", "models", "plot", "schedules", "search")
_HOMES = {
    "hoag.api": ("minimize",),
    "hoag.check": ("check_problem",),
    "hoag.criterion": ("Implicit", "Sum"),
    "hoag.estimators": ("KernelRidgeCV", "LogisticRegressionCV", "RidgeCV"),
    "hoag.unrolled": ("Unrolled",),
    "hoag.values": (
        *("Box", "Cost", "Evaluation", "InnerProblemError", "InvalidInput", "Result", "Solve"),
        *("Status", "Step"),
    ),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"hoag.{name}")
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module 'hoag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
