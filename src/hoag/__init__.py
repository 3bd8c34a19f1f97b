"""Continuous hyperparameters tuned by gradient, each gradient with a bound on its error."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoag import (
        criteria,
        datasets,
        domains,
        estimators,
        gam,
        glm,
        inner,
        linear,
        models,
        penalties,
        plot,
        schedules,
        search,
        testing,
        track,
    )
    from hoag.api import minimize
    from hoag.criteria import unrolled
    from hoag.criteria.base import Criterion, Traits
    from hoag.criteria.folds import Sum
    from hoag.criteria.implicit import Implicit
    from hoag.criteria.plan import plan
    from hoag.criteria.unrolled import Unrolled
    from hoag.estimators import (
        CoxRegressionCV,
        GAMClassifierCV,
        GammaRegressorCV,
        GAMRegressorCV,
        HuberRegressorCV,
        KernelRidgeCV,
        LinearSVCCV,
        LogisticRegressionCV,
        OrdinalLogisticCV,
        PoissonRegressorCV,
        QuantileRegressorCV,
        RidgeClassifierCV,
        RidgeCV,
        TweedieRegressorCV,
    )
    from hoag.far.blocks import blocks
    from hoag.far.memory import MemoryPlan, plan_memory
    from hoag.own.implicit import implicit
    from hoag.own.plain import problem
    from hoag.own.scales import Scale
    from hoag.testing import check_problem
    from hoag.values import (
        Ask,
        Box,
        Cost,
        Domain,
        Evaluation,
        InnerProblemError,
        InvalidInput,
        Result,
        Solve,
        Status,
        Step,
    )

__version__ = "0.2.0.dev0"

# Everything is imported when it is first asked for, so that `hoag --help` answers at once.
_MODULES = {
    **{
        name: f"hoag.{name}"
        for name in ("criteria", "datasets", "domains", "estimators", "gam", "glm", "inner")
    },
    **{
        name: f"hoag.{name}"
        for name in (
            "linear",
            "models",
            "penalties",
            "plot",
            "schedules",
            "search",
            "testing",
            "track",
        )
    },
    **{name: f"hoag.{name}" for name in ("dask", "far", "jax", "torch")},
    "unrolled": "hoag.criteria.unrolled",
}
_HOMES = {
    "hoag.api": ("minimize",),
    "hoag.criteria.base": ("Criterion", "Traits"),
    "hoag.criteria.folds": ("Sum",),
    "hoag.criteria.implicit": ("Implicit",),
    "hoag.criteria.plan": ("plan",),
    "hoag.criteria.unrolled": ("Unrolled",),
    "hoag.estimators": (
        *(
            "CoxRegressionCV",
            "GAMClassifierCV",
            "GAMRegressorCV",
            "GammaRegressorCV",
            "HuberRegressorCV",
            "KernelRidgeCV",
        ),
        *("LinearSVCCV", "LogisticRegressionCV", "OrdinalLogisticCV", "PoissonRegressorCV"),
        *("QuantileRegressorCV", "RidgeCV", "RidgeClassifierCV", "TweedieRegressorCV"),
    ),
    "hoag.far.blocks": ("blocks",),
    "hoag.far.memory": ("MemoryPlan", "plan_memory"),
    "hoag.own.implicit": ("implicit",),
    "hoag.own.plain": ("problem",),
    "hoag.own.scales": ("Scale",),
    "hoag.testing": ("check_problem",),
    "hoag.values": (
        *("Ask", "Box", "Cost", "Domain", "Evaluation", "InnerProblemError", "InvalidInput"),
        *("Result", "Solve", "Status", "Step"),
    ),
}

__all__ = [
    "Ask",
    "Box",
    "Cost",
    "CoxRegressionCV",
    "Criterion",
    "Domain",
    "Evaluation",
    "GAMClassifierCV",
    "GAMRegressorCV",
    "GammaRegressorCV",
    "HuberRegressorCV",
    "Implicit",
    "InnerProblemError",
    "InvalidInput",
    "KernelRidgeCV",
    "LinearSVCCV",
    "LogisticRegressionCV",
    "MemoryPlan",
    "OrdinalLogisticCV",
    "PoissonRegressorCV",
    "QuantileRegressorCV",
    "Result",
    "RidgeCV",
    "RidgeClassifierCV",
    "Scale",
    "Solve",
    "Status",
    "Step",
    "Sum",
    "Traits",
    "TweedieRegressorCV",
    "Unrolled",
    "blocks",
    "check_problem",
    "criteria",
    "datasets",
    "domains",
    "estimators",
    "gam",
    "glm",
    "implicit",
    "inner",
    "linear",
    "minimize",
    "models",
    "penalties",
    "plan",
    "plan_memory",
    "plot",
    "problem",
    "schedules",
    "search",
    "testing",
    "track",
    "unrolled",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module 'hoag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
