"""Words for people: lists of names, suggestions, sizes. Imports nothing that takes time."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


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
