"""`hoag`: the command line. Nothing else in the library prints.

A command is a module here with two functions, `add(parser)` and `run(args) -> int`; what it needs
beyond argparse is imported inside `run`, so that help answers at once.

Exit codes: 0 done; 1 something is wrong with what was given, said in one line; 2 wrong usage;
3 done, but the search stopped before it had converged; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

import hoag

FAILED, USAGE, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130

COMMANDS = {
    "tune": "tune the penalties of a model on a table, and save it",
    "predict": "predict with a saved model",
    "data": "show, fetch and check the data sets",
}

# The options that are not called like the parameters of the library, and what to do about one.
OPTIONS = {"n_jobs": "jobs", "sample_weight": "weights", "columns": "drop",
           "categories": "category", "dialect": "na"}  # fmt: skip
HINTS = {
    "category": "--category takes each value for a category, --drop leaves the column out.",
    "na": "--na names words for missing values, --drop leaves the column out.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="hoag",
        description="Hyperparameters tuned by gradient, each gradient with a bound on its error.",
        epilog="hoag COMMAND --help tells more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"hoag {hoag.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"hoag.cli.{name}")
        command = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add(command)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        command.set_defaults(run=module.run)
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["reproduce"]:  # a command until 0.2
        parser.error("the paper's experiments are run from hoag's sources now: make reproduce")
    args = parser.parse_args(given)
    args.given = given
    return answer(args)


def answer(args: argparse.Namespace) -> int:
    """The exit code of args.run(args); what is wrong is said in one line."""
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        print("hoag: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    except Exception as error:
        if args.debug:
            traceback.print_exc()
        print(f"hoag: error: {_one_line(error, vars(args))}", file=sys.stderr)
        return FAILED


def _one_line(error: Exception, asked: dict[str, Any]) -> str:
    """What is wrong; the kind of error, too, where the message was not written for users.

    An error of the library about a parameter is one about the option of that name.
    """
    from hoag._core.errors import HoagError

    message = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return _no_memory(message, asked)
    if isinstance(error, HoagError) and error.parameter:
        name = OPTIONS.get(error.parameter, error.parameter)
        if name in asked:
            told = error.message.removeprefix(f"{error.parameter}={error.value!r}:").strip()
            option = f"--{name.replace('_', '-')} {error.value}:"
            parts = ["" if error.value is None else option, told, HINTS.get(name, error.hint)]
            message = " ".join(filter(None, parts))
    meant = isinstance(error, (HoagError, ValueError, OSError, ImportError, ArithmeticError))
    return message if meant and message else f"{type(error).__name__}: {message}".rstrip(": ")


def _no_memory(message: str, asked: dict[str, Any]) -> str:
    """What did not fit, and what takes less; Python itself says nothing."""
    what = f"{asked['file']} and what is computed of it" if asked.get("file") else "What was asked"
    advice = ""
    if asked.get("command") == "predict":
        advice = " Predict some of its rows at a time."
    elif asked.get("command") == "tune" and not asked["blocks"]:
        advice = " --blocks reads a file in pieces, and takes less."
    told = f" ({message})" if message else ""
    return f"{what} does not fit into the memory that there is{told}.{advice}"


# ---- on a terminal


def warn(message: str) -> None:
    """One line on stderr."""
    print(f"hoag: warning: {' '.join(message.split())}", file=sys.stderr)


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


def numeric(cell: str) -> bool:
    """Whether a cell of a table reads as a number."""
    return cell.lstrip("-−<≤>~ ")[:1].isdigit() or cell in ("", "-", "–", "inf", "nan", "never")


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
        self.step("")

    def step(self, more: str) -> None:
        """Something within the stage."""
        if not self._quiet:
            seconds = time.perf_counter() - self._start
            doing = f"{self._doing}, {more}" if more else self._doing
            write_over(f"[{self._now} of {self.total}, {seconds:.0f} s] {doing}")

    def say(self, sentence: str) -> None:
        """A line that stays."""
        if not self._quiet:
            write_over("")
            print(f"hoag: {sentence}", file=sys.stderr, flush=True)
            self.step("")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        if not self._quiet:
            write_over("")
