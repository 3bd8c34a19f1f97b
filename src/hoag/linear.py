"""Deprecated: solvers of linear systems are in `hoag.solvers`."""

from hoag._core.deprecated import moved

__getattr__ = moved("hoag.linear", "hoag.solvers")
