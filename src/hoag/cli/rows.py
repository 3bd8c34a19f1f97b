"""What is tuned on: from a file and the options about it to numbers, with what there is to say.

A file that would take too much memory is read in blocks: its columns are those of hoag.partitions,
read again and again; the target and the weights stay in memory, for models are chosen by the one
and folds are made of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hoag._core.words import listed, nearest, sized
from hoag.cli import columns as cols
from hoag.cli import families, tables
from hoag.cli.columns import CATEGORY, DATE, FLAG, NUMBER, TEXT, WORDS

ROLES = ("exposure", "offset", "event", "strata")  # options that name a column of their own
MOST_CLASSES = 20  # so many whole numbers are classes, more are a quantity
HEAD = 20_000  # rows that are looked at before all are read
WHOLE = ("kernel-ridge", "cox", "gam")  # models whose fits need all rows in memory
MISSING = "missing"
NOTHING = "Nothing of {} is left to predict the target from."


@dataclass(frozen=True, eq=False)
class Data:
    """The rows as numbers, and all that is known about their columns."""

    X: Any
    names: list[str]  # of the columns of X
    sources: list[str]  # what each is made of: a column of the file, or a word of a text
    y: Any
    target_kind: str
    model: str
    why: str
    targets: list[str]
    weights: Any = None
    given: dict[str, Any] = field(default_factory=dict)  # what the model has of its own for rows
    roles: dict[str, str] = field(default_factory=dict)  # options, and the columns they name
    kinds: dict[str, str] | None = None  # of the columns; svmlight has none
    days: dict[str, dict[str, Any]] = field(default_factory=dict)  # how dates are read
    known: dict[str, Any] = field(default_factory=dict)  # of columns that are read as they are
    columns: Any = None  # the fitted transformer that made X; svmlight has none
    first: int = 0  # the index of svmlight's first feature
    dialect: str = ""  # how a text file is written
    missing: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # columns, and why
    dropped: int = 0  # rows
    told: tuple[str, ...] = ()
    blocks: dict[str, Any] | None = None  # where the rows are, if they are not in memory


class Asked(NamedTuple):
    """What the options ask of columns."""

    named: list[str]  # the targets
    weights: list[str]
    roles: dict[str, str]
    out: list[str]
    kinds: dict[str, str]


def read(args: argparse.Namespace) -> Data:
    """The rows of a file, all of them in memory."""
    as_text = [part for name in args.category + args.text for part in (name, *name.split(","))]
    table = tables.read(args.file, as_text, tables.dialect(args))
    if not table.named:
        return _svmlight(args, table)
    wanted = _asked(args, table)
    named, roles, where = wanted.named, wanted.roles, table.name
    rows, told = _with_target(table.rows, named, args.missing, where)
    frame = rows.drop(columns=[*wanted.out, *named, *wanted.weights, *roles.values()])
    if args.terms is not None:
        frame = frame[_used(args.terms, list(frame.columns), where)]
    known = cols.understood(frame, wanted.kinds, table.codes)
    if not known.kinds:
        raise ValueError(" ".join([NOTHING.format(where), *known.told]))
    y, found, model, why = _target(rows[named], args, where)
    own = {option: given_column(option, rows[name], where) for option, name in roles.items()}
    check_copies(rows, named, known.kinds)
    frame = cols.converted(frame, known.kinds, known.days, where)
    kept = _kept(rows[list(known.kinds)], known.missing, args.missing, where)
    lacking = set(frame.columns[frame[kept].isna().any()])
    filling: dict[str, Any] = {}
    if families.is_additive(model):
        transformer, filling = None, _usual(frame[kept], known.pieces(), lacking)
        X = filled(frame[kept], filling)
        made = [(name, name.removesuffix(f" {MISSING}")) for name in X.columns]
    else:
        dense = model == "kernel-ridge"
        transformer = cols.transformer(known.pieces(), lacking, not args.no_scale, dense)
        X = cols.fitted(transformer, frame[kept])
        made = cols.features(transformer)
    own, y = {option: column[kept] for option, column in own.items()}, y[kept]
    if model == "cox":
        y = _times(y, own.pop("event"))
    weights = _numbers(rows[wanted.weights[0]], "weights", where)[kept] if wanted.weights else None
    return Data(
        X, [name for name, _ in made], [source for _, source in made], y, found, model, why, named,
        weights, own, roles, known.kinds, known.days, filling, transformer,
        dialect=str(table.dialect or ""), missing=known.missing, left_out=known.left_out,
        dropped=len(table.rows) - int(kept.sum()), told=(*told, *known.told),
    )  # fmt: skip


def _kept(cells: Any, missing: dict[str, int], how: str, where: str) -> Any:
    """Which rows are used, whatever they lack."""
    if missing and how == "error":
        advice = (
            "--missing impute fills them, --missing drop leaves the rows out, --drop the column"
        )
        cols.check_missing(cells, where, advice)
    kept = cells.notna().all(axis=1).to_numpy() | (how != "drop")
    if kept.sum() < 2:
        few = f"--missing drop leaves {kept.sum()} of {len(kept)} rows of {where}, for values lack"
        raise ValueError(f"{few} in {listed(missing)}: use --missing impute, or --drop columns.")
    return kept


def _asked(args: argparse.Namespace, table: tables.Table) -> Asked:
    wanted = args.target or _left_side(args.terms) or ([table.target] if table.target else [])
    if not wanted:
        has = f"{table.name} has {listed(table.rows.columns)}"
        raise ValueError(f"Which column is the target? Name it with --target; {has}.")
    named = table.columns(wanted, "--target")
    if twice := [name for name in named if wanted.count(name) > 1]:
        raise ValueError(f"--target names {listed(twice)} twice: once is enough.")
    weights = table.columns([args.weights] if args.weights else [], "--weights")
    roles = {
        option: table.column(getattr(args, option), f"--{option}").name
        for option in ROLES
        if getattr(args, option) is not None
    }
    out = table.columns(args.drop, "--drop")
    kinds = {
        **dict.fromkeys(table.columns(args.category, "--category"), CATEGORY),
        **dict.fromkeys(table.columns(args.text, "--text"), WORDS),
    }
    asking = {"--target": named, "--weights": weights, "--drop": out,
              **{f"--{option}": [name] for option, name in roles.items()},
              "--category or --text": list(kinds)}  # fmt: skip
    seen: dict[str, str] = {}
    for option, names in asking.items():
        for name in names:
            if name in seen:
                both = f"by {seen[name]} and by {option}"
                raise ValueError(f"Column '{name}' is asked for {both}: leave one out.")
            seen[name] = option
    return Asked(named, weights, roles, out, kinds)


def _left_side(formula: str | None) -> list[str]:
    """The target, where a formula names one: y ~ …"""
    if formula is None:
        return []
    from hoag.gam import from_formula

    left = from_formula(formula)[0]
    return [] if left is None else [left]


def _used(formula: str, names: list[str], where: str) -> list[str]:
    """The columns that a formula names, each of which must be one of these."""
    from hoag.gam import from_formula

    found = dict.fromkeys(str(name) for term in from_formula(formula)[1] for name in term.needs)
    for name in found:
        if name not in names:
            near = nearest(name, names)
            raise ValueError(f"{where} has no column '{name}', which --terms asks for.{near}")
    return list(found)


def _with_target(rows: Any, named: list[str], missing: str, where: str) -> tuple[Any, list[str]]:
    """The rows whose target is known, and what to say of the others."""
    if missing == "error":
        cols.check_missing(rows[named], f"The target in {where}", "--missing drop leaves them out")
    known = rows[named].notna().all(axis=1)
    lost = int((~known).sum())
    if lost == len(rows):
        raise ValueError(f"The target in {where} is missing in every row.")
    told = f"{lost} of {len(rows)} rows have no target and are left out: they teach nothing."
    return (rows[known], [told]) if lost else (rows, [])


def check_copies(rows: Any, named: list[str], names: Iterable[str]) -> None:
    """An error for a column that is the target under another name: it would predict itself."""
    for target in named:
        for name in names:
            if _same(rows[name], rows[target]):
                copy = f"Column '{name}' is a copy of the target '{target}', which would predict"
                raise ValueError(f"{copy} itself: leave it out with --drop '{name}'.")


def _same(one: Any, other: Any) -> bool:
    import pandas as pd

    if one.iloc[0] is pd.NA or one.iloc[0] != other.iloc[0]:
        return False
    numbers = all(pd.api.types.is_numeric_dtype(column.dtype) for column in (one, other))
    return bool((one == other).all()) if numbers else bool(one.equals(other))


def _svmlight(args: argparse.Namespace, table: tables.Table) -> Data:
    _check_no_names(args, table.name)
    check_svmlight(table)
    if table.rows.shape[1] == 0:
        raise ValueError(f"{table.name} has labels and no features.")
    frame = tables.need("pandas").DataFrame({"label": table.labels})
    cols.check_missing(frame, f"The target in {table.name}", "remove those rows")
    y, found, model, why = _target(frame, args, table.name)
    names = [f"feature {j + table.first}" for j in range(table.rows.shape[1])]
    return Data(table.rows, names, names, y, found, model, why, ["label"], first=table.first)


def check_svmlight(table: tables.Table) -> None:
    if not np.all(np.isfinite(table.rows.data)):
        raise ValueError(f"{table.name} has numbers that are not finite: correct them.")


def _check_no_names(args: argparse.Namespace, where: str) -> None:
    """An error for options that name columns, about a file whose columns have no names."""
    for option in ("target", "drop", "weights", "category", "text", *ROLES):
        if getattr(args, option):
            none = f"{where} has none with a name: in an svmlight file the label is the target."
            raise ValueError(f"--{option} names a column, and {none}")
    if args.model == families.GAM or args.widths == "per-feature":
        option = f"--model {families.GAM}" if args.model == families.GAM else "--widths per-feature"
        raise ValueError(f"{option} needs columns with names, and {where} is an svmlight file.")


# ---- columns that have something of their own for each row


def given_column(option: str, column: Any, where: str) -> Any:
    """What an option's column has for each row: numbers, events, or the labels of strata."""
    if option == "strata":
        cols.check_missing(column.to_frame(), f"The column of strata in {where}", "fill them")
        return cols.strings(column, "").to_numpy(dtype=str)
    values = _numbers(column, option, where)
    bad = column <= 0 if option == "exposure" else ~column.isin((0, 1))
    if option == "offset" or not bad.any():
        return values
    needed = "numbers above 0" if option == "exposure" else "1 for an event and 0 for none"
    raise ValueError(f"--{option} needs {needed}; {cols.first_bad(column, bad)}")


def _times(y: Any, events: Any) -> Any:
    """Times and events as Cox regression takes them."""
    both = np.zeros(len(y), dtype=[("time", np.float64), ("event", np.bool_)])
    both["time"], both["event"] = y, events == 1
    if not both["event"].any():
        raise ValueError("--event has no event: every row is censored, and nothing can be learnt.")
    return both


def _numbers(column: Any, what: str, where: str) -> Any:
    """The numbers of a column that has one for each row, true and false as 1 and 0."""
    frame = column.to_frame()
    cols.check_missing(frame, f"The column of {what} in {where}", "fill them")
    kinds = (NUMBER, FLAG) if what == "event" else (NUMBER,)
    if cols.kind(column.name, column) not in kinds:
        _, value, at = cols.first_text(column)
        raise ValueError(
            f"--{what} needs numbers; row {at} below the header has '{value}' in '{column.name}'."
        )
    cols.check_finite(frame, where)
    return column.to_numpy(dtype="float64")


# ---- an additive model reads its columns itself: numbers as they are, categories as words


def _usual(frame: Any, pieces: dict[str, str], lacking: set[str]) -> dict[str, Any]:
    """What is known of columns: what fills them, where that is said, and their categories."""
    numbers = [name for name, kind in pieces.items() if kind != CATEGORY]
    usual = {
        name: float(mean.round() if pieces[name] == FLAG else mean)
        for name, mean in frame[numbers].mean().items()
    }
    words = [name for name, kind in pieces.items() if kind == CATEGORY]
    return {
        "usual": usual,
        "told": [name for name in usual if name in lacking],
        "categories": {name: sorted(set(frame[name].fillna(MISSING))) for name in words},
    }


def terms(formula: str | None, known: dict[str, Any]) -> Any:
    """Those of --terms, with one for each column that says what is missing; None for all."""
    if formula is None:
        return None
    from hoag.gam import from_formula, linear

    found = from_formula(formula, lambda name: name not in known["categories"])[1]
    return [*found, *(linear(f"{name} {MISSING}", vanish=True) for name in known["told"])]


def filled(frame: Any, known: dict[str, Any]) -> Any:
    """The columns as terms read them; one of 0 and 1 beside each that lacks some."""
    import pandas as pd

    made = {name: frame[name].fillna(value) for name, value in known["usual"].items()}
    for name in known["categories"]:
        made[name] = frame[name].fillna(MISSING).astype(str).astype("category")
    made |= {f"{name} {MISSING}": frame[name].isna().astype(float) for name in known["told"]}
    return pd.DataFrame(made, index=frame.index)


# ---- the target, and the model that it asks for


def _target(frame: Any, args: Any, where: str) -> tuple[Any, str, str, str]:
    """y as an array, what it holds, the model it is for, and why: "" when that was asked for."""
    found = _kind(frame, where)
    model, why = _choose(args, frame, found)
    families.check_options(args, model)
    return _values(model, families.needs(args, model), frame, found), found, model, why


def _kind(frame: Any, where: str) -> str:
    """What the targets hold, without missing values; several must all be numbers."""
    kinds = {name: cols.kind(name, frame[name]) for name in frame.columns}
    for name, found in kinds.items():
        if found == DATE:
            first = frame[name].iloc[0]
            raise ValueError(f"The target '{name}' holds dates, such as {first}: make numbers.")
    cols.check_finite(frame, where)
    for name in frame.columns:
        if frame[name].nunique() < 2:
            first = frame[name].iloc[0]
            raise ValueError(f"The target '{name}' has only one value in {where}, '{first}'.")
    others = [name for name in kinds if kinds[name] != NUMBER]
    if others and len(kinds) > 1:
        raise ValueError(f"Several targets must all be numbers; {listed(others)} are not.")
    return kinds[frame.columns[0]]


def _choose(args: Any, frame: Any, found: str) -> tuple[str, str]:
    """The model, and why: "" when it was asked for."""
    many, gam = frame.shape[1] > 1, args.model == families.GAM
    if many and args.model not in ("auto", "ridge"):
        raise ValueError(f"--model {args.model} has one target; several are for --model ridge.")
    if args.model not in ("auto", families.GAM):
        return args.model, ""
    if gam and args.family is not None:
        return f"{families.GAM} {args.family}", ""
    classes, why = (False, f"there are {frame.shape[1]} targets") if many else _like(frame, found)
    if gam:
        word = "classes" if classes else "gaussian"
        return f"{families.GAM} {word}", f"{why}; --family can say otherwise"
    return "logistic" if classes else "ridge", why


def _like(frame: Any, found: str) -> tuple[bool, str]:
    """Whether a target is of classes, and why."""
    distinct = frame.iloc[:, 0].nunique()
    if found == TEXT:
        return True, f"the target is text with {distinct} values"
    if found == FLAG:
        return True, "the target is true or false"
    whole = _whole(frame)
    if whole and distinct <= MOST_CLASSES:
        return True, f"the target has {distinct} distinct values, all whole numbers"
    return False, f"the target has {distinct} distinct {'whole ' if whole else ''}numbers"


def _values(model: str, needed: str, frame: Any, found: str) -> Any:
    """y as an array: classes as text, truth values or whole numbers, quantities as floats."""
    name, rows, first = frame.columns[0], frame.shape[0], frame.iloc[0, 0]
    additive = families.is_additive(model)
    option = "--family" if additive else "--model"
    classes = f"{option} {'classes' if additive else 'logistic'}"
    numbers = f"{option} {'gaussian' if additive else 'ridge'}"
    asked = f"{option} {families.plain(model)}"
    if needed == families.ORDERED and found == TEXT:
        text = f"'{name}' is text, such as '{first}': number its values, the lowest with 1."
        raise ValueError(f"{asked} needs classes in the order of their numbers; {text}")
    if needed not in (families.CLASSES, families.ORDERED):
        if found == TEXT:
            text = f"'{name}' is text, such as '{first}': use {classes}."
            raise ValueError(f"{asked} needs a target of numbers; {text}")
        bad = frame[name] <= 0 if needed == families.POSITIVE else frame[name] < 0
        if needed != families.NUMBERS and bad.any():
            told = cols.first_bad(frame[name], bad)
            raise ValueError(f"{asked} needs {needed} as its target; {told}")
        y = frame.to_numpy(dtype=np.float64)
        return y[:, 0] if y.shape[1] == 1 else y
    distinct = frame[name].nunique()
    if found == NUMBER and not _whole(frame):
        many = f"'{name}' has {distinct} different numbers that are not whole: use {numbers}."
        raise ValueError(f"{asked} needs classes; {many}")
    if cols.is_too_many(distinct, rows):
        use = "." if found == TEXT else f": use {numbers}."
        many = f"{distinct} different values in {rows} rows, too many for classes{use}"
        raise ValueError(f"The target '{name}' has {many}")
    if found == TEXT:
        return frame[name].astype(str).to_numpy(dtype=object)
    return frame[name].to_numpy(dtype=bool if found == FLAG else np.int64)


def _whole(frame: Any) -> bool:
    numbers = frame.to_numpy(dtype=np.float64)
    return bool(np.all((numbers == np.round(numbers)) & (np.abs(numbers) < 2.0**53)))


# ---- rows in blocks


def why_blocks(args: argparse.Namespace) -> str | None:
    """Why the file is read in blocks, to follow its name in a sentence; None if it is not."""
    if args.blocks is False:
        return None
    if args.file == "-" or args.file in tables.BUNDLED:
        if args.blocks:
            raise ValueError(f"--blocks is for files, and not for {args.file}: leave it out.")
        return None
    if args.blocks:
        return ""
    needed, there = tables.needed(*tables.found(args.file)), tables.free()
    if there is None or needed <= tables.SHARE * there:
        return None
    return f", for it would take about {sized(needed)} of memory, where {sized(there)} are free"


def read_blocks(args: argparse.Namespace, why: str) -> Data:
    """The rows of a file, in partitions that are read again and again."""
    own = {f"--{name}": getattr(args, name) for name in ("scoring", "exposure", "offset", "text",
                                                         "report")}  # fmt: skip
    own |= {
        f"--model {args.model}": args.model in WHOLE,
        f"--cv {args.cv}": isinstance(args.cv, str),
        "--power tuned": args.power == "tuned",
        "--missing drop": args.missing == "drop",
        "More than one --target": len(args.target or ()) > 1,
    }
    for option, wrong in own.items():
        if wrong:
            told = f"{args.file} is read in blocks{why}: --no-blocks reads it as a whole."
            raise ValueError(f"{option} needs all rows in memory, and {told}")
    path, suffix, _ = tables.found(args.file)
    if suffix in tables.SVMLIGHT:
        return _svmlight_blocks(args, path)
    return _table_blocks(args, path)


def _table_blocks(args: argparse.Namespace, path: Path) -> Data:
    import hoag

    tables.need("pandas")
    dialect = tables.dialect(args)
    table = _head(args, path, dialect)
    wanted = _asked(args, table)
    (target,) = wanted.named[:1]
    head = table.rows.drop(columns=[*wanted.out, target, *wanted.weights])
    known = cols.understood(head, wanted.kinds, table.codes, blocks=True)
    if not known.kinds:
        raise ValueError(" ".join([NOTHING.format(args.file), *known.told]))
    used = list(known.kinds)
    check_copies(table.rows, [target], used)
    source = hoag.partitions(
        path,
        target,
        weight=wanted.weights[0] if wanted.weights else None,
        columns=used,
        cache=args.cache or "auto",
        standardise=not args.no_scale,
        categories=list(wanted.kinds) or "auto",
        dialect=vars(dialect),
    )
    encoding = source.encoding
    numbers = [*encoding["numbers"], *encoding["flags"]]
    kinds = {**dict.fromkeys(encoding["numbers"], NUMBER), **dict.fromkeys(encoding["flags"], FLAG),
             **dict.fromkeys(encoding["categories"], CATEGORY)}  # fmt: skip
    lacks = {**dict(zip(numbers, encoding["missing"], strict=True)), **encoding["lacking"]}
    missing = {name: int(lacks[name]) for name in used if lacks[name]}
    if missing and args.missing == "error":
        each = ", ".join(f"'{name}' ({count})" for name, count in missing.items())
        raise ValueError(f"{args.file} has missing values in {each}: --missing impute fills them.")
    # A second cache would be needed without the columns of one value.
    spans = zip(numbers, encoding["least"], encoding["most"], strict=True)
    alone = [name for name, least, most in spans if least == most and not lacks[name]]
    alone += [name for name, own in encoding["categories"].items() if len(own) + lacks[name] == 1]
    same = [f"Column '{name}' has one value only, and tells nothing: --drop saves time."
            for name in alone]  # fmt: skip
    transformer = cols.of_encoding(encoding, not args.no_scale)
    made = cols.features(transformer)
    return _of_source(
        args, source, target, bool(wanted.weights), [name for name, _ in made],
        [of for _, of in made], kinds={name: kinds[name] for name in used}, columns=transformer,
        dialect=str(table.dialect or ""), missing=missing, left_out=known.left_out,
        told=(*known.told, *same),
    )  # fmt: skip


def _svmlight_blocks(args: argparse.Namespace, path: Path) -> Data:
    import hoag

    _check_no_names(args, args.file)
    source = hoag.partitions(path, cache=args.cache or "auto")
    first = source.encoding["first"]
    names = [f"feature {j + first}" for j in range(source.features)]
    return _of_source(args, source, "label", False, names, names, first=first)


def _of_source(
    args: Any, source: Any, target: str, weighted: bool, names: Any, sources: Any, **known: Any
) -> Data:
    """The target of all rows, its model, and the partitions with y as that takes it."""
    import pandas as pd

    partitions = [source.read(i, rows=False) for i in range(source.partitions)]
    y = np.concatenate([partition.y for partition in partitions])
    if y.dtype.kind == "U":  # one string for each class, and not for each row
        classes, codes = np.unique(y, return_inverse=True)
        y = classes.astype(object)[codes]
    weights = np.concatenate([partition.weights for partition in partitions]) if weighted else None
    y, found, model, why = _target(pd.DataFrame({target: y}), args, args.file)
    y = y.astype(str) if y.dtype.hasobject else y  # NumPy's strings are sorted faster
    ends = np.cumsum([partition.rows for partition in partitions])
    cache = source.cached
    facts = {"partitions": source.partitions, "cache": str(cache.path), "cache_bytes": cache.bytes}
    X = _with_y(source, y, ends)
    return Data(X, names, sources, y, found, model, why, [target], weights, blocks=facts, **known)


def _with_y(source: Any, y: Any, ends: Any) -> Any:
    """The partitions of a source with y as the model takes it; has what others ask of X."""
    from hoag._data.engine import LocalEngine
    from hoag._data.source import Partition, Source

    class WithTarget(Source):
        partitions, features, names = source.partitions, source.features, source.names
        shape = len(y), source.features

        def read(self, i: int, rows: bool = True) -> Partition:
            own = source.read(i, rows)
            return Partition(own.X, y[ends[i] - own.rows : ends[i]], own.weight)

        def fingerprint(self) -> str:
            return str(source.fingerprint())

        def mean(self, axis: int) -> Any:
            engine = LocalEngine(self)
            return engine.total(lambda own: np.asarray(own.X.sum(axis=axis))) / len(y)

    return WithTarget()


def _head(args: argparse.Namespace, path: Path, dialect: Any) -> tables.Table:
    """The first rows, as the table that they are of."""
    from hoag._data.arrow import opened

    file = opened(path, dialect)
    names = [str(name) for name in file.schema.names]
    first = next(file.tables(names, HEAD), None)
    if first is None:
        raise ValueError(f"{args.file} has no rows.")
    known = vars(file)
    codes = known.get("codes", frozenset())
    return tables.Table(args.file, first.to_pandas(), dialect=known.get("dialect"), codes=codes)
