"""Deprecated: the methods of `Unrolled` are in `hoag.criteria`."""

from hoag._core.deprecated import moved

__getattr__ = moved(
    "hoag.unrolled",
    "hoag.criteria",
    {
        "GradientDescent": "UnrolledGradientDescent",
        "LBFGS": "UnrolledLBFGS",
        "ConjugateGradient": "UnrolledCG",
    },
)
