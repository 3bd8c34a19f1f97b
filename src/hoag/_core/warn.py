"""Warnings that point at the line that called the library."""

from __future__ import annotations

import sys
import warnings

# Packages whose lines are nobody's who calls `fit`.
INSIDE = ("hoag", "sklearn")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """From the line that called the library, however deep inside it this is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
