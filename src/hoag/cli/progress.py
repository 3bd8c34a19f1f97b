"""One line on stderr, if that is a terminal, that says how far a command is."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any


def write_over(text: str) -> None:
    """A line in place of the last such line; nothing where stderr is no terminal."""
    if sys.stderr.isatty():
        shown = text[: shutil.get_terminal_size().columns - 1]  # a line that wraps stays behind
        print(f"\r\033[K{shown}", end="", file=sys.stderr, flush=True)


class Progress:
    """[2 of 4] what is done now; `total` stages, of which each is told when it begins."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total, self._quiet, self._now, self._doing = total, quiet, 0, ""
        self._start = time.perf_counter()

    def stage(self, doing: str) -> None:
        self._now, self._doing = self._now + 1, doing
        self._show("")

    def step(self, more: str) -> None:
        """Something within the stage."""
        self._show(f", {more}")

    def say(self, sentence: str) -> None:
        """A line that stays."""
        if not self._quiet:
            write_over("")
            print(f"hoag: {sentence}", file=sys.stderr, flush=True)
            self._show("")

    def close(self) -> None:
        if not self._quiet:
            write_over("")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _show(self, more: str) -> None:
        if not self._quiet:
            seconds = time.perf_counter() - self._start
            write_over(f"[{self._now} of {self.total}, {seconds:.0f} s] {self._doing}{more}")
