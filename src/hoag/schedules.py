"""Deprecated: sequences of tolerances are in `hoag.solvers`."""

from hoag._core.deprecated import moved

__getattr__ = moved(
    "hoag.schedules",
    "hoag.solvers",
    {"Quadratic": "QuadraticDecay", "Cubic": "CubicDecay", "Exponential": "ExponentialDecay"},
)
