"""`hoag`: the command line. Nothing else in the library prints.

A command is a module here with two functions, `add(parser)` and `run(args) -> int`; what it needs
beyond argparse is imported inside `run`, so that help answers at once.

Exit codes: 0 done; 1 something is wrong with what was given, said in one line; 2 wrong usage;
3 done, but the search stopped before it had converged; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence

import hoag

FAILED, USAGE, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 130

COMMANDS = {
    "tune": "tune the penalties of a model on a table, and save it",
    "predict": "predict with a saved model",
    "data": "show, fetch and check the data sets",
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
    return answer(parser.parse_args(given))


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
        told = _no_memory(error, args) if isinstance(error, MemoryError) else _one_line(error)
        print(f"hoag: error: {told}", file=sys.stderr)
        return FAILED


def _no_memory(error: MemoryError, args: argparse.Namespace) -> str:
    """What did not fit, and what takes less; Python itself says nothing."""
    asked = vars(args)
    what = f"{asked['file']} and what is computed of it" if asked.get("file") else "What was asked"
    told = f" ({error})" if str(error) else ""
    advice = ""
    if asked.get("command") == "predict":
        advice = " Predict some of its rows at a time."
    elif asked.get("command") == "tune" and not asked["blocks"]:
        advice = " --blocks reads a file in pieces, and takes less."
    return f"{what} does not fit into the memory that there is{told}.{advice}"


def _one_line(error: Exception) -> str:
    """The message; the kind of error, too, where the message was not written for users."""
    from hoag.cli.words import spoken

    message = spoken(str(error))
    meant = isinstance(error, (ValueError, OSError, ImportError, ArithmeticError))
    return message if meant and message else f"{type(error).__name__}: {message}".rstrip(": ")
