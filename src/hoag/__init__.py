"""Continuous hyperparameters tuned by gradient, each gradient with a bound on its error."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoag import data as data
    from hoag import datasets as datasets
    from hoag import domains as domains
    from hoag import gam as gam
    from hoag import glm as glm
    from hoag import inner as inner
    from hoag import linear as linear
    from hoag import linear_model as linear_model
    from hoag import models as models
    from hoag import optimize as optimize
    from hoag import penalties as penalties
    from hoag import plot as plot
    from hoag import schedules as schedules
    from hoag import testing as testing
    from hoag import track as track
    from hoag._core.domain import Box as Box
    from hoag._core.domain import Domain as Domain
    from hoag._core.errors import CheckpointMismatchError as CheckpointMismatchError
    from hoag._core.errors import ClusterLostError as ClusterLostError
    from hoag._core.errors import HoagError as HoagError
    from hoag._core.errors import InnerProblemError as InnerProblemError
    from hoag._core.errors import InvalidDataError as InvalidDataError
    from hoag._core.errors import InvalidInput as InvalidInput
    from hoag._core.errors import InvalidParameterError as InvalidParameterError
    from hoag._core.errors import NotSupportedError as NotSupportedError
    from hoag._core.errors import SingularProblemError as SingularProblemError
    from hoag._core.result import Ask as Ask
    from hoag._core.result import Cost as Cost
    from hoag._core.result import Evaluation as Evaluation
    from hoag._core.result import Result as Result
    from hoag._core.result import Solve as Solve
    from hoag._core.result import Status as Status
    from hoag._core.result import Step as Step
    from hoag._criteria import unrolled as unrolled
    from hoag._criteria.base import Criterion as Criterion
    from hoag._criteria.base import Traits as Traits
    from hoag._criteria.folds import Sum as Sum
    from hoag._criteria.implicit import Implicit as Implicit
    from hoag._criteria.select import plan as plan
    from hoag._criteria.unrolled import Unrolled as Unrolled
    from hoag._criteria.without_folds import without_folds as without_folds
    from hoag._data.memory import MemoryPlan as MemoryPlan
    from hoag._data.memory import plan_memory as plan_memory
    from hoag._data.partitions import partitions as partitions
    from hoag._explain import explain as explain
    from hoag._minimize import minimize as minimize
    from hoag.autodiff._implicit import implicit as implicit
    from hoag.autodiff._problem import problem as problem
    from hoag.autodiff._scaling import Scale as Scale
    from hoag.gam import GAMClassifierCV as GAMClassifierCV
    from hoag.gam import GAMRegressorCV as GAMRegressorCV
    from hoag.linear_model import CoxRegressionCV as CoxRegressionCV
    from hoag.linear_model import GammaRegressorCV as GammaRegressorCV
    from hoag.linear_model import HuberRegressorCV as HuberRegressorCV
    from hoag.linear_model import KernelRidgeCV as KernelRidgeCV
    from hoag.linear_model import LinearSVCCV as LinearSVCCV
    from hoag.linear_model import LogisticRegressionCV as LogisticRegressionCV
    from hoag.linear_model import OrdinalLogisticCV as OrdinalLogisticCV
    from hoag.linear_model import PoissonRegressorCV as PoissonRegressorCV
    from hoag.linear_model import QuantileRegressorCV as QuantileRegressorCV
    from hoag.linear_model import RidgeClassifierCV as RidgeClassifierCV
    from hoag.linear_model import RidgeCV as RidgeCV
    from hoag.linear_model import TweedieRegressorCV as TweedieRegressorCV
    from hoag.testing import check_problem as check_problem

__version__ = "0.2.0.dev0"

# Everything is imported when it is first asked for, so that `hoag --help` answers at once.
_MODULES = (
    *("data", "datasets", "domains", "gam", "glm", "inner", "linear", "linear_model", "models"),
    *("optimize", "penalties", "plot", "schedules", "testing", "track"),
)
# Not in __all__, for what they need may not be installed; or deprecated.
_OTHERS = ("criteria", "dask", "far", "jax", "search", "torch")
_HOMES = {
    "hoag._core.domain": "Box Domain",
    "hoag._core.errors": (
        "CheckpointMismatchError ClusterLostError HoagError InnerProblemError InvalidDataError "
        "InvalidInput InvalidParameterError NotSupportedError SingularProblemError"
    ),
    "hoag._core.result": "Ask Cost Evaluation Result Solve Status Step",
    "hoag._criteria.base": "Criterion Traits",
    "hoag._criteria.folds": "Sum",
    "hoag._criteria.implicit": "Implicit",
    "hoag._criteria.select": "plan",
    "hoag._criteria.without_folds": "without_folds",
    "hoag._criteria.unrolled": "Unrolled",
    "hoag._data.memory": "MemoryPlan plan_memory",
    "hoag._data.partitions": "partitions",
    "hoag.linear_model": (
        "CoxRegressionCV GammaRegressorCV HuberRegressorCV KernelRidgeCV LinearSVCCV "
        "LogisticRegressionCV OrdinalLogisticCV PoissonRegressorCV QuantileRegressorCV "
        "RidgeCV RidgeClassifierCV TweedieRegressorCV"
    ),
    "hoag.gam": "GAMClassifierCV GAMRegressorCV",
    "hoag._explain": "explain",
    "hoag._minimize": "minimize",
    "hoag.autodiff._implicit": "implicit",
    "hoag.autodiff._problem": "problem",
    "hoag.autodiff._scaling": "Scale",
    "hoag.testing": "check_problem",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_MODULES, *_HOME_OF, "unrolled"])


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = globals()[name] = getattr(importlib.import_module(_HOME_OF[name]), name)
        return value
    if name in (*_MODULES, *_OTHERS):
        return importlib.import_module(f"hoag.{name}")
    if name == "blocks":
        from hoag._core.deprecated import moved

        return moved("hoag", "hoag", {"blocks": "partitions"})(name)
    if name == "unrolled":
        return importlib.import_module("hoag._criteria.unrolled")
    raise AttributeError(f"module 'hoag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
