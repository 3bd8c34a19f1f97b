"""The options about how the text of a table is written; hoag._data.dialect finds them out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoag._data.dialect import Dialect

WRITTEN = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}


def add(parser: argparse._ArgumentGroup) -> None:
    """The options; all of them are found out when they are not given."""
    parser.add_argument("--sep", metavar="CHARACTER",
                        help="between the cells, such as ';' or tab (found out)")  # fmt: skip
    parser.add_argument("--decimal", choices=(".", ","), help="the decimal sign (found out)")
    parser.add_argument("--na", action="append", default=[], metavar="WORD",
                        help="what else stands for a missing value, such as ?")  # fmt: skip
    parser.add_argument("--encoding", metavar="NAME",
                        help="such as latin-1 (UTF-8, else Windows-1252)")  # fmt: skip


def given(args: argparse.Namespace) -> Dialect:
    from hoag._data.dialect import Dialect

    sep = WRITTEN.get(args.sep, args.sep)
    if sep is not None and len(sep) != 1:
        raise ValueError(f"--sep '{sep}': give one character, such as ';', or the word tab.")
    if sep is not None and sep == args.decimal:
        raise ValueError(f"--sep and --decimal are both '{sep}': cells cannot be told apart.")
    return Dialect(sep, args.decimal, args.encoding, tuple(args.na))
