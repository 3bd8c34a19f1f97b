"""Continuous hyperparameters tuned by gradient, each gradient with a bound on its error."""

import importlib
from typing import TYPE_CHECKING, Any

from hoag import inner, linear, models, schedules, search
from hoag.api import minimize
from hoag.check import check_problem
from hoag.criterion import Implicit, Sum
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

if TYPE_CHECKING:
    from hoag import estimators, plot
    from hoag.estimators import KernelRidgeCV, LogisticRegressionCV, RidgeCV

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
    "estimators",
    "inner",
    "linear",
    "minimize",
    "models",
    "plot",
    "schedules",
    "search",
]


def __getattr__(name: str) -> Any:
    """The estimators and the plots are imported when they are first asked for."""
    if name in ("estimators", "plot"):
        return importlib.import_module(f"hoag.{name}")
    if name in ("KernelRidgeCV", "LogisticRegressionCV", "RidgeCV"):
        return getattr(importlib.import_module("hoag.estimators"), name)
    raise AttributeError(f"module 'hoag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
