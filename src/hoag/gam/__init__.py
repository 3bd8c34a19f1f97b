"""Additive models: terms, and formulas for people who come from mgcv."""

from hoag.gam.formula import from_formula
from hoag.gam.terms import Term, category, linear, smooth, tensor

__all__ = ["Term", "category", "from_formula", "linear", "smooth", "tensor"]
