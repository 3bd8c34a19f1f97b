"""Continuous hyperparameters tuned by gradient, each gradient with a bound on its error."""

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

__version__ = "0.1.0"

__all__ = [
    "Box",
    "Cost",
    "Evaluation",
    "Implicit",
    "InnerProblemError",
    "InvalidInput",
    "Result",
    "Solve",
    "Status",
    "Step",
    "Sum",
    "Unrolled",
    "check_problem",
    "inner",
    "linear",
    "minimize",
    "models",
    "schedules",
    "search",
]
