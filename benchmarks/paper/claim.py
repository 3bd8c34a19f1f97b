"""A claim, and what checks of claims share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from paper.methods import METHODS

HOAG, EXACT = "hoag-exponential", "hoag-exact"
QUADRATIC, CUBIC = "hoag-quadratic", "hoag-cubic"
LEVEL = 1e-3

# Of every case: whether a claim holds there, None where that cannot be told, and the finding.
Judged = Iterable[tuple[bool | None, str]]


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


def over_cases(
    figure: str, says: str, how: str, judged: Judged, more: str = "", ours: bool = False
) -> Claim:
    """A claim about several cases, which holds if it does on each that can tell.

    `how` says what is measured, and `more` follows what was found.
    """
    found = list(judged)
    decided = [holds for holds, _ in found if holds is not None]
    told = "; ".join(finding for _, finding in found) or "no run here can tell"
    return Claim(figure, says, all(decided) if decided else None, f"{how} {told}.{more}", ours)


def number(value: float, unit: str = "") -> str:
    """Three digits, or "never"."""
    if not np.isfinite(value):
        return "never"
    return f"{value:.0f}{unit}" if 1e3 <= value < 1e6 else f"{value:.3g}{unit}"


def each(values: dict[str, float], unit: str = "") -> str:
    """name value, name value, …; sequences go by their own names."""
    own = EXACT in values
    names = {m: m.removeprefix("hoag-") if own else METHODS[m].label for m in values}
    return ", ".join(f"{names[m]} {number(value, unit)}" for m, value in values.items())
