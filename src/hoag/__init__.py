"""Continuous hyperparameters tuned by gradient, each gradient with a bound on its error.

The public names are listed in `__init__.pyi`, and imported when they are first asked for, so that
`hoag --help` answers at once.
"""

from importlib import import_module as _import

from hoag._core.lazy import attach as _attach

__version__ = "0.2.0.dev0"

_find, __dir__, _public = _attach("hoag")
# Without those that need what may not be installed: `from hoag import *` imports the others.
__all__ = [name for name in _public if name not in ("dask", "jax", "torch")]

_OLD_MODULES = ("estimators", "far", "inner", "linear", "schedules", "search", "unrolled")
_MOVED = {
    "hoag.criteria": "Ask Cost Criterion Evaluation Implicit Sum Traits Unrolled without_folds",
    "hoag.data": "MemoryPlan plan_memory",
    "hoag.domains": "Domain Scale",
    "hoag.optimize": "Step",
    "hoag.solvers": "Solve",
    "hoag.testing": "check_problem",
}
_HOMES = {name: f"{home}.{name}" for home, names in _MOVED.items() for name in names.split()}
_HOMES |= {
    "blocks": "hoag.partitions",
    "InvalidInput": "hoag.errors.InvalidInputError",
    "InnerProblemError": "hoag.errors.SingularProblemError",
}


def __getattr__(name: str) -> object:
    if name in _OLD_MODULES:
        return _import(f"hoag.{name}")
    if name in _HOMES:
        from hoag._core.deprecated import warn

        warn(f"hoag.{name}", _HOMES[name])
        home, _, there = _HOMES[name].rpartition(".")
        return getattr(_import(home), there)
    return _find(name)
