"""Words for people: lists of names, suggestions, sizes. Imports nothing that takes time."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

# What losses of held-out rows and analytic criteria are called, wherever they are spoken of.
LOSSES = {
    "log_loss": "log loss",
    "brier": "Brier loss",
    "squared_error": "squared error",
    "huber": "Huber loss",
    "deviance": "deviance",
    "pinball": "pinball loss",
    "huber_and_spread": "Huber loss with spread",
    "squared_hinge": "squared hinge loss",
    "partial_likelihood": "deviance of the partial likelihood",
}
CRITERIA = {"gcv": "GCV", "aic": "AIC", "bic": "BIC", "sure": "Mallows' Cp", "reml": "REML"}
LEFT_OUT = {"alo": "approximate leave-one-out", "loo": "leave-one-out"}


def listed(names: Iterable[Any], each: str = "'{}'") -> str:
    """'a', 'b', 'c' and 20 more."""
    shown = [each.format(name) for name in names]
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return ", ".join(shown[:12]) + more


def nearest(name: str, names: Iterable[Any]) -> str:
    """A question for a misspelt name, or nothing."""
    close = difflib.get_close_matches(name, [str(other) for other in names], n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(other) for other in close)}?" if close else ""


def sized(nbytes: float) -> str:
    """Bytes for people: 12 kB, 3.4 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} TB"


def one_line(error: Exception) -> str:
    """What another library says is wrong: its class, and its message without line breaks."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def brief(number: float, digits: int = 4) -> str:
    """So many digits, and short exponents: 0.63, 4e5, 1e-6."""
    return f"{number:.{digits}g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def percent(share: float) -> str:
    """0.008 %, 36 %; what is smaller than 1e-6 % is not told apart."""
    return f"{brief(100 * max(share, 1e-8), 2 if share < 1 else 4)} %"


def about(number: float) -> str:
    """22, 4500, 3.1e7, 3e8."""
    return f"{number:.0f}" if number < 1e5 else brief(number, 2)


def counted(number: int, what: str) -> str:
    """1 fold, 5 folds, 5 passes, 2 matrices, 3 minima."""
    if number == 1:
        return f"1 {what}"
    for one, many in (("ix", "ices"), ("um", "a")):
        if what.endswith(one):
            return f"{number} {what.removesuffix(one)}{many}"
    return f"{number} {what}es" if what.endswith("s") else f"{number} {what}s"
