"""Text for terminals: aligned tables, warnings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from hoag.cli.report import numeric


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Aligned columns, those of numbers flush right; an empty header leaves its lines out."""
    body = [[str(cell) for cell in row] for row in rows]
    lines = [list(header), *body] if header else body
    if not lines:
        return ""
    widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
    right = [bool(body) and all(numeric(row[j]) for row in body) for j in range(len(widths))]
    if header:
        lines.insert(1, ["-" * width for width in widths])

    def aligned(line: Sequence[str]) -> str:
        cells = zip(line, widths, right, strict=True)
        return "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in cells).rstrip()

    return "\n".join(aligned(line) for line in lines)


def warn(message: str) -> None:
    """One line on stderr."""
    print(f"hoag: warning: {' '.join(message.split())}", file=sys.stderr)
