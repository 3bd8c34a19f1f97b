"""Predict with a model that `hoag tune --save` wrote.

FILE needs the model's columns by name; others are left alone. The predictions are printed as CSV.
If FILE has the target, too, a line on stderr tells how good they are.

  hoag predict houses.skops new-houses.csv --out prices.csv
  hoag predict iris.skops iris --proba
  hoag predict houses.skops new-houses.csv --explain 3
  hoag predict patients.skops new-patients.csv --survival-at 1,2,5

--explain says why: what a column contributes is its coefficient times how much its value differs
from the mean, in units of the target, or for classes in log-odds of the one that is predicted; of
poisson, gamma and tweedie models in logs of the mean, of cox in logs of the risk.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from typing import Any

from hoag.cli import dialect


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.skops", help="a model saved by hoag tune")
    parser.add_argument("file", metavar="FILE", help="the rows, as hoag tune reads them")
    parser.add_argument("--out", metavar="PREDICTIONS.csv", help="write there, print nothing")
    parser.add_argument("--proba", action="store_true", help="probabilities, a column a class")
    parser.add_argument("--survival-at", metavar="TIMES", type=_times,
                        help="of a cox model: the probability to outlast each of these times, "
                             "such as 1,2,5")  # fmt: skip
    parser.add_argument("--explain", type=int, default=0, metavar="N",
                        help="also the N largest contributions to each prediction")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="JSON in place of CSV")
    dialect.add(parser.add_argument_group("text files"))


def run(args: argparse.Namespace) -> int:
    from hoag._core.writing import write_atomically
    from hoag.cli import explain, outputs, saved, tables
    from hoag.cli.families import FAMILIES

    outputs.check({"MODEL": args.model, "FILE": args.file}, {"--out": args.out})
    known = dialect.given(args)
    pipeline, notes = saved.load(args.model)
    kinds, family = notes["kinds"], FAMILIES[notes["model"]]
    if args.proba and not family.chances:
        raise ValueError(
            f"--proba is for classes with probabilities, and the model of {args.model}, "
            f"{notes['model']}, gives none."
        )
    if args.survival_at and notes["model"] != "cox":
        raise ValueError(f"--survival-at is for cox, and the model is {notes['model']}.")
    explain.check(args.explain, notes, args.model)
    text = [name for name, kind in (kinds or {}).items() if kind in ("category", "words")]
    if notes["target_kind"] == "text":
        text += notes["targets"]
    table = tables.read(args.file, text, known)
    with saved.used(args.model):
        output = _predicted(args, pipeline, notes, table)
    if args.out:
        write_atomically(args.out, output.encode())
    else:
        sys.stdout.write(output)
    return 0


def _predicted(args: argparse.Namespace, pipeline: Any, notes: dict[str, Any], table: Any) -> str:
    """What is written; what is to be said of the rows is said."""
    from hoag.cli import explain, saved, scores, tables
    from hoag.cli.families import FAMILIES, is_additive

    kinds, family = notes["kinds"], FAMILIES[notes["model"]]
    X = _numbered(table, notes, args.model) if kinds is None else _named(table, notes, args.model)
    given = _given(table, notes, args.model, bool(args.survival_at))
    model = saved.predictor(pipeline, notes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown categories are told by name
        if is_additive(notes["model"]):
            from hoag.cli import additive

            rows = additive.filled(X, notes["attributes"]["columns"])
        else:
            rows = pipeline[:-1].transform(X) if kinds is not None else X
        predictions = model.predict(rows)
        chances = model.predict_proba(rows) if family.chances else None
    if "exposure" in given:
        predictions = predictions * given["exposure"]
    if kinds is not None:
        _tell_unknown(pipeline, X, table.rows, notes)
    classes = None if chances is None else model.classes_.tolist()
    score = scores.score(table, notes, predictions, chances, classes, given)
    if score:
        told = ", ".join(f"{name} {value:.4g}" for name, value in score.items() if name != "rows")
        print(f"hoag: {told} on {score['rows']} rows with a known target", file=sys.stderr)
    names = ["log risk"] if notes["model"] == "cox" else notes["targets"]
    frames = (table.rows, X) if kinds is not None else (None, None)
    why = explain.reasons(model, rows, predictions, frames, notes, args.explain)
    lasting = None
    if args.survival_at:
        strata = given.get("strata")
        lasting = model.predict_survival_function(rows, args.survival_at, strata=strata)
    if args.json:
        found = {
            "target": names[0] if len(names) == 1 else names,
            "predictions": predictions.tolist(),
            "classes": classes,
            "probabilities": None if chances is None else chances.tolist(),
            "score": score or None,
            **_lasting(args.survival_at, lasting),
            **({"contributions": why} if args.explain else {}),
        }
        return json.dumps(found) + "\n"
    header: Any = classes if args.proba else names
    values = chances if args.proba else predictions
    frame = tables.need("pandas").DataFrame(values, columns=[plain(str(h)) for h in header])
    if args.proba and args.explain:  # contributions are for the class that is predicted
        frame.insert(0, plain(names[0]), predictions, allow_duplicates=True)
    for k, when in enumerate(args.survival_at or ()):
        assert lasting is not None
        frame[f"survival at {when:g}"] = lasting[:, k]
    for k in range(args.explain):
        frame[f"reason {k + 1}"] = [
            "".join(plain(explain.shown(one)) for one in row[k : k + 1]) for row in why
        ]
    return str(frame.to_csv(index=False, lineterminator="\n"))


def plain(cell: str) -> str:
    """Text that no spreadsheet takes for a formula, as it would what begins with = + - or @."""
    try:
        float(cell)  # a class that is a number, which stays one
    except ValueError:
        return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
    return cell


def _lasting(times: Any, lasting: Any) -> dict[str, Any]:
    return {} if lasting is None else {"times": times, "survival": lasting.tolist()}


def _times(value: str) -> list[float]:
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r}: give numbers, such as 1,2,5") from None


def _given(table: Any, notes: dict[str, Any], model: str, survival: bool) -> dict[str, Any]:
    """What the model needs for each row beside its columns: exposures, and strata if asked for."""
    import numpy as np

    from hoag.cli.rows import given_column

    roles, given = notes["roles"], dict[str, Any]()
    for option in ("exposure", "offset", *(["strata"] if survival else [])):
        if option not in roles:
            continue
        if roles[option] not in table.rows.columns:
            raise ValueError(
                f"{table.name} lacks the column '{roles[option]}', the {option} of {model}."
            )
        given[option] = given_column(option, table.rows[roles[option]], table.name)
    if "offset" in given:
        given["exposure"] = np.exp(given.pop("offset"))
    return given


def _named(table: Any, notes: dict[str, Any], model: str) -> Any:
    """The model's columns of a frame, as its transformer takes them."""
    from hoag._core.words import listed
    from hoag.cli import columns

    kinds = notes["kinds"]
    if not table.named:
        raise ValueError(
            f"{model} needs columns by name, and {table.name} is an svmlight file without names."
        )
    lacking = [name for name in kinds if name not in table.rows.columns]
    if lacking:
        raise ValueError(
            f"{table.name} lacks {len(lacking)} of the {len(kinds)} columns of {model}: "
            f"{listed(lacking)}. It has {listed(table.rows.columns)}."
        )
    frame = table.rows[list(kinds)]
    if notes["missing"]["how"] == "error":
        advice = "the model was tuned with --missing error, so fill them"
        columns.check_missing(frame, table.name, advice)
    return columns.converted(frame, kinds, notes["days"], table.name)


def _numbered(table: Any, notes: dict[str, Any], model: str) -> Any:
    """The rows of an svmlight file, as wide as the model."""
    import numpy as np
    from scipy import sparse

    if table.named:
        raise ValueError(f"{model} was tuned on an svmlight file; {table.name} is none.")
    rows, first, wanted = table.rows, notes["first"], notes["features"]
    end = table.first + rows.shape[1]
    if table.first < first or end > first + wanted:
        raise ValueError(
            f"{table.name} has features {table.first} to {end - 1}; "
            f"{model} knows {first} to {first + wanted - 1}."
        )
    if not np.all(np.isfinite(rows.data)):
        raise ValueError(f"{table.name} has numbers that are not finite: correct them.")
    # A file that happens not to use the first feature begins with the second.
    indices = rows.indices + (table.first - first)
    return sparse.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], wanted))


def _categories(model: Any, notes: dict[str, Any]) -> dict[str, Any]:
    """Those that the model has seen, by column."""
    from hoag.cli.families import is_additive

    if is_additive(notes["model"]):
        return dict(notes["attributes"]["columns"]["categories"])
    known = model["columns"].named_transformers_.get("categories")
    if known is None:
        return {}
    return dict(zip(known.feature_names_in_, known.categories_, strict=True))


def _tell_unknown(model: Any, frame: Any, given: Any, notes: dict[str, Any]) -> None:
    """A warning for each column with values that the model has not seen, or lacks for once."""
    from hoag._core.words import listed
    from hoag.cli.text import warn

    for name, categories in _categories(model, notes).items():
        new = sorted(set(frame[name].dropna()) - set(categories))
        if new:
            warn(f"Column '{name}' has values that the model has not seen: {listed(new)}. They "
                 "count as none of its categories.")  # fmt: skip
    lacks = given[list(notes["kinds"])].isna().sum()
    for name, count in lacks[lacks > 0].items():
        if name not in notes["missing"]["columns"] or notes["missing"]["how"] != "impute":
            filled = "count as none of its categories"
            if notes["kinds"][name] in ("number", "flag", "date"):
                filled = "are filled with the usual value"
            warn(f"Column '{name}' lacks {count} values, and lacked none in the rows that the "
                 f"model was fitted to: they {filled}.")  # fmt: skip
