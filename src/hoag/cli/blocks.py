"""Rows that are not read into memory: what `hoag tune` makes of files that are too large for it.

The columns are those of hoag.partitions, in partitions that are read again and again; the target
and the weights stay in memory, for models are chosen by the one and folds are made of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from hoag._core.words import sized
from hoag._data.source import Partition, Source
from hoag.cli import memory
from hoag.cli.rows import Data, asked_for, check_copies, check_no_names

HEAD = 20_000  # rows that are looked at before all are read

# Models whose fits need all rows at hand.
WHOLE = ("kernel-ridge", "cox", "gam")


def asked(args: argparse.Namespace) -> str | None:
    """Why the file is read in blocks, to follow its name in a sentence; None if it is not."""
    from hoag.cli import tables

    if args.blocks is False:
        return None
    if args.file == "-" or args.file in tables.BUNDLED:
        if args.blocks:
            what = "standard input" if args.file == "-" else f"{args.file}, which is small"
            raise ValueError(f"--blocks is for files, and not for {what}: leave it out.")
        return None
    if args.blocks:
        return ""
    needed, there = memory.needed(*tables.found(args.file)), memory.free()
    if there is None or needed <= memory.SHARE * there:
        return None
    return f", for it would take about {sized(needed)} of memory, where {sized(there)} are free"


def check(args: argparse.Namespace, why: str) -> None:
    """An error for an option that needs all rows in memory."""
    for wrong, option in (
        (args.model in WHOLE, f"--model {args.model}"),
        (args.cv is not None and not isinstance(args.cv, int), f"--cv {args.cv}"),
        (args.scoring is not None, "--scoring"),
        (args.exposure is not None, "--exposure"),
        (args.offset is not None, "--offset"),
        (bool(args.text), "--text"),
        (args.power == "tuned", "--power tuned"),
        (args.missing == "drop", "--missing drop"),
        (args.report is not None, "--report"),
    ):
        if wrong:
            raise ValueError(f"{option} needs all rows in memory, {_is_read(args.file, why)}")


def _is_read(name: str, why: str) -> str:
    return f"and {name} is read in blocks{why}: --no-blocks reads it as a whole."


def read(args: argparse.Namespace, why: str) -> Data:
    from hoag.cli import tables

    path, suffix, _ = tables.found(args.file)
    return _svmlight(args, path) if suffix in tables.SVMLIGHT else _table(args, path, why)


class WithTarget(Source):
    """The partitions of a source with y as the model takes it; has what others ask of X."""

    def __init__(self, source: Any, y: Any, heights: list[int]) -> None:
        self.source, self.y, self.ends = source, y, np.cumsum(heights)
        self.partitions, self.features, self.names = (
            source.partitions,
            source.features,
            source.names,
        )
        self.shape = (len(y), source.features)

    def read(self, i: int, rows: bool = True) -> Partition:
        partition = self.source.read(i, rows)
        return Partition(
            partition.X, self.y[self.ends[i] - partition.rows : self.ends[i]], partition.weight
        )

    def fingerprint(self) -> str:
        return str(self.source.fingerprint())

    def mean(self, axis: int) -> Any:
        from hoag._data.engine import LocalEngine

        return (
            LocalEngine(self).total(lambda partition: np.asarray(partition.X.sum(axis=axis)))
            / self.shape[0]
        )


def _table(args: argparse.Namespace, path: Path, why: str) -> Data:
    import hoag
    from hoag.cli import columns, dialect, prepare, tables, targets

    tables.need("pandas")
    given = dialect.given(args)
    table = _head(args, path, given)
    wanted = asked_for(args, table)
    if len(wanted.named) > 1:
        raise ValueError(f"Several targets need all rows in memory, {_is_read(args.file, why)}")
    left = table.rows.drop(columns=[*wanted.out, *wanted.named, *wanted.weights])
    left_out, told = columns.glanced(left, wanted.kinds, table.codes)
    used = [name for name in left.columns if name not in left_out]
    if not used:
        raise ValueError(
            f"Nothing of {args.file} is left to predict the target from. {' '.join(told)}".strip()
        )
    check_copies(table.rows, wanted.named, dict.fromkeys(used, ""))
    source = hoag.partitions(
        path,
        wanted.named[0],
        weight=wanted.weights[0] if wanted.weights else None,
        columns=used,
        cache=args.cache or "auto",
        standardise=not args.no_scale,
        categories=list(wanted.kinds) or "auto",
        dialect=vars(given),
    )
    encoding = source.encoding
    kinds, missing = _kinds(encoding, used)
    if missing and args.missing == "error":
        each = ", ".join(f"'{name}' ({count})" for name, count in missing.items())
        raise ValueError(
            f"{args.file} has missing values in {each}: --missing impute fills them, --drop COLUMN "
            "leaves the column out."
        )
    frame, weights, heights = _sides(source, wanted.named[0], bool(wanted.weights))
    y, found, model, reason = targets.read(frame, args, args.file)
    y = y.astype(str) if y.dtype.hasobject else y  # NumPy's strings are sorted faster
    transformer = prepare.of_encoding(encoding, not args.no_scale)
    made = prepare.features(transformer)
    assert [name for name, _ in made] == source.names
    return Data(
        WithTarget(source, y, heights), [name for name, _ in made], [of for _, of in made], y,
        found, model, reason, wanted.named, weights, {}, wanted.roles, kinds, columns=transformer,
        dialect=str(table.dialect or ""), missing=missing, left_out=left_out, told=(*told,
        *_constant(encoding)), blocks=_facts(source),
    )  # fmt: skip


def _svmlight(args: argparse.Namespace, path: Path) -> Data:
    import hoag
    from hoag.cli import targets

    check_no_names(args, args.file)
    source = hoag.partitions(path, cache=args.cache or "auto")
    frame, _, heights = _sides(source, "label", weighted=False)
    y, found, model, reason = targets.read(frame, args, args.file)
    first = source.encoding["first"]
    names = [f"feature {j + first}" for j in range(source.features)]
    return Data(
        WithTarget(source, y, heights), names, names, y, found, model, reason, ["label"],
        first=first, blocks=_facts(source),
    )  # fmt: skip


def _head(args: argparse.Namespace, path: Path, given: Any) -> Any:
    """The first rows, as the table that they are of."""
    from hoag._data.arrow import opened
    from hoag.cli import tables

    file = opened(path, given)
    names = [str(name) for name in file.schema.names]
    first = next(file.tables(names, HEAD), None)
    if first is None:
        raise ValueError(f"{args.file} has no rows.")
    known = vars(file)
    codes = known.get("codes", frozenset())
    return tables.Table(args.file, first.to_pandas(), dialect=known.get("dialect"), codes=codes)


def _kinds(encoding: dict[str, Any], used: list[str]) -> tuple[dict[str, str], dict[str, int]]:
    """What columns hold, and how many values they lack, in their order."""
    from hoag.cli.columns import CATEGORY, FLAG, NUMBER

    kinds = {
        **dict.fromkeys(encoding["numbers"], NUMBER),
        **dict.fromkeys(encoding["flags"], FLAG),
        **dict.fromkeys(encoding["categories"], CATEGORY),
    }
    lacks = zip([*encoding["numbers"], *encoding["flags"]], encoding["missing"], strict=True)
    counts = {**dict(lacks), **encoding["lacking"]}
    return {name: kinds[name] for name in used}, {n: int(counts[n]) for n in used if counts[n]}


def _constant(encoding: dict[str, Any]) -> list[str]:
    """A sentence about columns that tell nothing: a second cache would be needed without them."""
    from hoag._core.words import listed

    each = zip([*encoding["numbers"], *encoding["flags"]], encoding["least"], encoding["most"],
               encoding["missing"], strict=True)  # fmt: skip
    names = [name for name, least, most, lacks in each if least == most and not lacks]
    names += [name for name, levels in encoding["categories"].items()
              if len(levels) == 1 and not encoding["lacking"][name]]  # fmt: skip
    if not names:
        return []
    if len(names) == 1:
        return [f"Column {listed(names)} has one value only, and tells nothing: --drop saves time."]
    return [f"Columns {listed(names)} have one value only, and tell nothing: --drop saves time."]


def _sides(source: Any, target: str, weighted: bool) -> tuple[Any, Any, list[int]]:
    """The target of all rows as a frame, their weights, and how many rows each partition has."""
    import pandas as pd

    partitions = [source.read(i, rows=False) for i in range(source.partitions)]
    y = np.concatenate([partition.y for partition in partitions])
    if y.dtype.kind == "U":  # one string for each class, and not for each row
        classes, codes = np.unique(y, return_inverse=True)
        y = classes.astype(object)[codes]
    weights = np.concatenate([partition.weights for partition in partitions]) if weighted else None
    return pd.DataFrame({target: y}), weights, [partition.rows for partition in partitions]


def _facts(source: Any) -> dict[str, Any]:
    cache = source.cached
    return {"partitions": source.partitions, "cache": str(cache.path), "cache_bytes": cache.bytes}


def sentence(name: str, why: str, facts: dict[str, Any]) -> str:
    where = f"its cache {facts['cache']} takes {sized(facts['cache_bytes'])}"
    return f"{name} is read in blocks{why}; {where}."


def folds(splitter: Any, y: Any) -> list[tuple[Any, Any]]:
    """Training and held-out rows of every fold, as masks: numbers of rows take eight times that."""
    held = np.empty(len(y), dtype=np.int8 if splitter.n_splits < 128 else np.int64)
    for k, (_, test) in enumerate(splitter.split(np.zeros(len(y)), y)):
        held[test] = k
    return [(held != k, held == k) for k in range(splitter.n_splits)]
