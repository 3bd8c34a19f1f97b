"""What is tuned on: from a file and the options about it to numbers, with what there is to say."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

ROLES = ("exposure", "offset", "event", "strata")  # options that name a column of their own


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


def read(args: argparse.Namespace) -> Data:
    from hoag._core.words import listed
    from hoag.cli import additive, columns, dialect, families, prepare, tables, targets

    given = dialect.given(args)
    as_text = [part for name in args.category + args.text for part in (name, *name.split(","))]
    table = tables.read(args.file, as_text, given)
    if not table.named:
        return _svmlight(args, table)
    named, weights, roles, out, asked = asked_for(args, table)
    rows, told = _with_target(table.rows, named, args.missing, table.name)
    frame = rows.drop(columns=out + named + weights + list(roles.values()))
    if args.terms is not None:
        frame = frame[additive.used(args.terms, list(frame.columns), table.name)]
    if frame.shape[1] == 0:
        raise ValueError(f"Nothing of {table.name} is left to predict the target from.")
    values, found, model, why = targets.read(rows[named], args, table.name)
    own = {option: given_column(option, rows[name], table.name) for option, name in roles.items()}
    frame, known = columns.understood(frame, asked, table.codes, table.name)
    if not known.kinds:
        raise ValueError(
            f"Nothing of {table.name} is left to predict the target from: {' '.join(known.told)}"
        )
    check_copies(rows, named, known.kinds)
    if known.missing and args.missing == "error":
        columns.check_missing(
            rows[list(known.kinds)], table.name,
            "--missing impute fills them, --missing drop leaves these rows out, --drop COLUMN the "
            "column")  # fmt: skip
    kept = np.ones(len(frame), dtype=bool)
    if known.missing and args.missing == "drop":
        kept = rows[list(known.kinds)].notna().all(axis=1).to_numpy()
        if kept.sum() < 2:
            raise ValueError(
                f"--missing drop leaves {kept.sum()} of {len(kept)} rows of {table.name}, for "
                f"values are missing in {listed(known.missing)}: use --missing impute, or --drop "
                "the columns that lack most."
            )
    lacking = set(frame.columns[frame[kept].isna().any()])
    filling: dict[str, Any] = {}
    if families.is_additive(model):
        transformer, filling = None, additive.columns(frame[kept], known.pieces(), lacking)
        X = additive.filled(frame[kept], filling)
        made = [(name, name.removesuffix(" missing")) for name in X.columns]
    else:
        dense = model == targets.KERNEL_RIDGE
        transformer = prepare.transformer(known.pieces(), lacking, not args.no_scale, dense)
        X = prepare.fitted(transformer, frame[kept])
        made = prepare.features(transformer)
    own = {option: column[kept] for option, column in own.items()}
    y = values[kept]
    if model == "cox":
        y = times(y, own.pop("event"))
    return Data(
        X,
        [name for name, _ in made],
        [source for _, source in made],
        y,
        found,
        model,
        why,
        named,
        _numbers(rows[weights[0]], "weights", table.name)[kept] if weights else None,
        own,
        roles,
        known.kinds,
        known.days,
        filling,
        transformer,
        dialect=str(table.dialect or ""),
        missing=known.missing,
        left_out=known.left_out,
        dropped=len(table.rows) - int(kept.sum()),
        told=(*told, *known.told),
    )


class Asked(NamedTuple):
    """The columns that options name; `kinds` are those whose kind is said."""

    named: list[str]
    weights: list[str]
    roles: dict[str, str]
    out: list[str]
    kinds: dict[str, str]


def asked_for(args: argparse.Namespace, table: Any) -> Asked:
    from hoag._core.words import listed
    from hoag.cli import additive, columns, tables

    wanted = args.target or additive.left_side(args.terms)
    wanted = wanted or ([table.target] if table.target else [])
    if not wanted:
        raise ValueError(
            f"Which column is the target? Name it with --target; {table.name} has "
            f"{listed(table.rows.columns)}."
        )
    named = tables.columns(table, wanted, "--target")
    if twice := [name for name in named if wanted.count(name) > 1]:
        raise ValueError(f"--target names {listed(twice)} twice: once is enough.")
    weights = tables.columns(table, [args.weights] if args.weights else [], "--weights")
    roles = {
        option: tables.column(table, getattr(args, option), f"--{option}").name
        for option in ROLES
        if getattr(args, option) is not None
    }
    out = tables.columns(table, args.drop, "--drop")
    asked = {
        **dict.fromkeys(tables.columns(table, args.category, "--category"), columns.CATEGORY),
        **dict.fromkeys(tables.columns(table, args.text, "--text"), columns.WORDS),
    }
    _check_roles(named, weights, roles, out, asked)
    return Asked(named, weights, roles, out, asked)


def _check_roles(
    named: list[str],
    weights: list[str],
    roles: dict[str, str],
    out: list[str],
    asked: dict[str, str],
) -> None:
    """An error where one column is asked for as two things."""
    own = {f"--{option}": [name] for option, name in roles.items()}
    asking = {"--target": named, "--weights": weights, **own, "--drop": out}
    seen: dict[str, str] = {}
    for option, names in (asking | {"--category or --text": list(asked)}).items():
        for name in names:
            if name in seen:
                raise ValueError(
                    f"Column '{name}' is asked for by {seen[name]} and by {option}: leave one out."
                )
            seen[name] = option


def _with_target(rows: Any, named: list[str], missing: str, where: str) -> tuple[Any, list[str]]:
    """The rows whose target is known, and what to say of the others."""
    from hoag.cli import columns

    if missing == "error":
        advice = "--missing drop leaves those rows out, for there is nothing to learn from them"
        columns.check_missing(rows[named], f"The target in {where}", advice)
    known = rows[named].notna().all(axis=1)
    lost = int((~known).sum())
    if lost == len(rows):
        raise ValueError(f"The target in {where} is missing in every row.")
    if not lost:
        return rows, []
    return rows[known], [
        f"{lost} of {len(rows)} rows have no target and are left out: there is nothing to learn "
        "from them."
    ]


def check_copies(rows: Any, named: list[str], kinds: dict[str, str]) -> None:
    """An error for a column that is the target under another name: it would predict itself."""
    for target in named:
        for name in kinds:
            if _same(rows[name], rows[target]):
                raise ValueError(
                    f"Column '{name}' is a copy of the target '{target}', which would be predicted "
                    f"from itself: leave it out with --drop '{name}'."
                )


def _same(one: Any, other: Any) -> bool:
    import pandas as pd

    if one.iloc[0] is pd.NA or one.iloc[0] != other.iloc[0]:
        return False
    numbers = all(pd.api.types.is_numeric_dtype(column.dtype) for column in (one, other))
    return bool((one == other).all()) if numbers else bool(one.equals(other))


def _svmlight(args: argparse.Namespace, table: Any) -> Data:
    from hoag.cli import columns, targets
    from hoag.cli.tables import need

    check_no_names(args, table.name)
    if args.model == "gam":
        raise ValueError(
            f"--model gam needs columns with names, and {table.name} is an svmlight file."
        )
    pd = need("pandas")
    if not np.all(np.isfinite(table.rows.data)):
        raise ValueError(f"{table.name} has numbers that are not finite: correct them.")
    if table.rows.shape[1] == 0:
        raise ValueError(f"{table.name} has labels and no features.")
    y = pd.DataFrame({"label": table.labels})
    columns.check_missing(y, f"The target in {table.name}", "remove those rows")
    values, found, model, why = targets.read(y, args, table.name)
    names = [f"feature {j + table.first}" for j in range(table.rows.shape[1])]
    return Data(table.rows, names, names, values, found, model, why, ["label"], first=table.first)


def check_no_names(args: argparse.Namespace, where: str) -> None:
    """An error for options that name columns, about a file whose columns have no names."""
    for option in ("target", "drop", "weights", "category", "text", *ROLES):
        if getattr(args, option):
            raise ValueError(
                f"--{option} names a column, and {where} has none with a name: in an svmlight "
                "file the label is the target."
            )


def given_column(option: str, column: Any, where: str) -> Any:
    """What an option's column has for each row: numbers, events, or the labels of strata."""
    from hoag.cli import columns

    if option == "strata":
        columns.check_missing(column.to_frame(), f"The column of strata in {where}", "fill them")
        return columns.strings(column, "").to_numpy(dtype=str)
    values = _numbers(column, option, where)
    bad = column <= 0 if option == "exposure" else ~column.isin((0, 1))
    if option == "offset" or not bad.any():
        return values
    needed = "numbers above 0" if option == "exposure" else "1 for an event and 0 for none"
    raise ValueError(
        f"--{option} needs {needed}; row {columns.row(bad)} below the header has "
        f"{column[bad].iloc[0]:g} in '{column.name}'."
    )


def times(y: Any, events: Any) -> Any:
    """Times and events as Cox regression takes them."""
    both = np.zeros(len(y), dtype=[("time", np.float64), ("event", np.bool_)])
    both["time"], both["event"] = y, events == 1
    if not both["event"].any():
        raise ValueError(
            "--event has no event: every row is censored, and there is nothing to learn."
        )
    return both


def _numbers(column: Any, what: str, where: str) -> Any:
    """The numbers of a column that has one for each row, true and false as 1 and 0."""
    from hoag.cli import columns

    frame = column.to_frame()
    columns.check_missing(frame, f"The column of {what} in {where}", "fill them")
    kinds = (columns.NUMBER, columns.FLAG) if what == "event" else (columns.NUMBER,)
    if columns.kind(column.name, column) not in kinds:
        _, value, at = columns.first_text(column)
        raise ValueError(
            f"--{what} needs numbers; row {at} below the header has '{value}' in '{column.name}'."
        )
    columns.check_finite(frame, where)
    return column.to_numpy(dtype="float64")
