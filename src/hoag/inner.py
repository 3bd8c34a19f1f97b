"""Deprecated: solvers of the inner problem are in `hoag.solvers`."""

from hoag._core.deprecated import moved

__getattr__ = moved(
    "hoag.inner",
    "hoag.solvers",
    {"CG": "LinearSystem", "Own": "UserSolver", "Continued": "Continuation"},
)
