"""A claim, and what checks of claims share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hoag.bench.cases import CASES
from hoag.bench.methods import METHODS
from hoag.bench.rows import Rows

HOAG, EXACT = "hoag-exponential", "hoag-exact"
QUADRATIC, CUBIC = "hoag-quadratic", "hoag-cubic"
PAPERS = (HOAG, "grid", "random", "smbo", "iterdiff")
LEVEL = 1e-3


@dataclass(frozen=True)
class Claim:
    """A statement under a figure, whether it holds here, and what was found.

    holds   None where these rows cannot tell
    ours    it is about a method of this library, and no claim of the paper
    """

    figure: str
    says: str
    holds: bool | None
    finding: str
    ours: bool = False


def few(rows: Rows, *methods: str) -> list[str]:
    """The cases with few hyperparameters in which all these methods were run."""
    return [name for name in rows.few() if all(rows.of(name, method) for method in methods)]


def text_sets(rows: Rows, *methods: str) -> list[str]:
    """Those with one hyperparameter, as the paper's text sets."""
    return [name for name in few(rows, *methods) if CASES[name].curve]


def kernel_sets(rows: Rows, *methods: str) -> list[str]:
    return [name for name in few(rows, *methods) if not CASES[name].curve]


def told(parts: list[str]) -> str:
    """The findings on each case, as the end of a sentence."""
    return "; ".join(parts) or "no run here can tell"


def every(found: list[bool]) -> bool | None:
    return all(found) if found else None


def number(value: float, unit: str = "") -> str:
    """Three digits, or "never"."""
    if not np.isfinite(value):
        return "never"
    return f"{value:.0f}{unit}" if 1e3 <= value < 1e6 else f"{value:.3g}{unit}"


def each(values: dict[str, float], unit: str = "") -> str:
    """name value, name value, …; sequences go by their own names."""
    return ", ".join(f"{_label(m, values)} {number(v, unit)}" for m, v in values.items())


def _label(method: str, beside: dict[str, float]) -> str:
    return method.removeprefix("hoag-") if EXACT in beside else METHODS[method].label


def splits(rows: Rows, case: str) -> str:
    n = len(rows.of(case, HOAG))
    return f"{case} ({n} split{'s' if n > 1 else ''})"
