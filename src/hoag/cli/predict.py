"""Predict with a model that `hoag tune --save` wrote.

FILE needs the model's columns by name; others are left alone. The predictions are printed as CSV.
If FILE has the target, too, a line on stderr tells how good they are.

  hoag predict houses.skops new-houses.csv --out prices.csv
  hoag predict iris.skops iris --proba
  hoag predict houses.skops new-houses.csv --explain 3

--explain says why: what a column contributes is its coefficient times how much its value differs
from the mean, in units of the target, or for classes in log-odds of the one that is predicted.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from hoag.cli import dialect

FORMAT = 2
NOTES = {
    *("format", "model", "targets", "target_kind", "kinds", "days", "features", "first"),
    *("names", "sources", "means", "missing"),
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL.skops", help="a model saved by hoag tune")
    parser.add_argument("file", metavar="FILE", help="the rows, as hoag tune reads them")
    parser.add_argument("--out", metavar="PREDICTIONS.csv", help="write there, print nothing")
    parser.add_argument("--proba", action="store_true", help="probabilities, a column a class")
    parser.add_argument("--explain", type=int, default=0, metavar="N",
                        help="also the N largest contributions to each prediction")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="JSON in place of CSV")
    dialect.add(parser.add_argument_group("text files"))


def run(args: argparse.Namespace) -> int:
    from hoag.cli import explain, tables
    from hoag.report import write_whole

    known = dialect.given(args)
    model, notes = load(args.model)
    kinds = notes["kinds"]
    if args.proba and notes["model"] != "logistic":
        raise ValueError(f"--proba is for classes, and {args.model} is a {notes['model']} model.")
    explain.check(args.explain, notes, args.model)
    text = [name for name, kind in (kinds or {}).items() if kind in ("category", "words")]
    if notes["target_kind"] == "text":
        text += notes["targets"]
    table = tables.read(args.file, text, known)
    X = _numbered(table, notes, args.model) if kinds is None else _named(table, notes, args.model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown categories are told by name
        rows = model[:-1].transform(X) if kinds is not None else X
        predictions = model[-1].predict(rows)
        chances = model[-1].predict_proba(rows) if notes["model"] == "logistic" else None
    if kinds is not None:
        _tell_unknown(model, X, table.rows, notes)
    classes = None if chances is None else model[-1].classes_.tolist()
    score = _score(table, notes, predictions, chances, classes)
    if score:
        told = ", ".join(f"{name} {value:.4g}" for name, value in score.items() if name != "rows")
        print(f"hoag: {told} on {score['rows']} rows with a known target", file=sys.stderr)
    names = notes["targets"]
    frames = (table.rows, X) if kinds is not None else (None, None)
    why = explain.reasons(model[-1], rows, predictions, frames, notes, args.explain)
    if args.json:
        found = {
            "target": names[0] if len(names) == 1 else names,
            "predictions": predictions.tolist(),
            "classes": classes,
            "probabilities": None if chances is None else chances.tolist(),
            "score": score or None,
            **({"contributions": why} if args.explain else {}),
        }
        output = json.dumps(found) + "\n"
    else:
        values, header = (chances, classes) if args.proba else (predictions, names)
        frame = tables.need("pandas").DataFrame(values, columns=header)
        for k in range(args.explain):
            frame[f"reason {k + 1}"] = ["".join(map(explain.shown, row[k : k + 1])) for row in why]
        output = frame.to_csv(index=False, lineterminator="\n")
    if args.out:
        write_whole(Path(args.out), output.encode())
    else:
        sys.stdout.write(output)
    return 0


def load(path: str) -> tuple[Any, dict[str, Any]]:
    """A pipeline and the notes of `hoag tune`; nothing but known types is made."""
    from hoag.cli.tables import need

    io = need("skops.io")
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {path}: hoag tune … --save makes one.")
    data = Path(path).read_bytes()
    try:
        unknown = io.get_untrusted_types(data=data)
        model = None if unknown else io.loads(data, trusted=[])
    except Exception as error:  # skops has no error of its own for a file that is none
        raise ValueError(
            f"{path} is not a model file of hoag tune, or it is damaged "
            f"({type(error).__name__}: {error})."
        ) from None
    if unknown:
        raise ValueError(
            f"{path} holds types that are not known to be safe, and is not loaded: "
            f"{', '.join(sorted(unknown))}."
        )
    notes = vars(model).get("hoag_")
    if not isinstance(notes, dict) or notes.get("format") != FORMAT or not notes.keys() >= NOTES:
        raise ValueError(f"{path} was not written by this version of hoag tune: tune it again.")
    return model, notes


def _named(table: Any, notes: dict[str, Any], model: str) -> Any:
    """The model's columns of a frame, as its transformer takes them."""
    from hoag.cli import columns
    from hoag.cli.text import listed

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


def _tell_unknown(model: Any, frame: Any, given: Any, notes: dict[str, Any]) -> None:
    """A warning for each column with values that the model has not seen, or lacks for once."""
    from hoag.cli.text import listed, warn

    known = model["columns"].named_transformers_.get("categories")
    if known is not None:
        for name, categories in zip(known.feature_names_in_, known.categories_, strict=True):
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


def _score(
    table: Any, notes: dict[str, Any], predictions: Any, chances: Any, classes: list[Any] | None
) -> dict[str, Any]:
    """How good the predictions are on the rows whose target is known; {} without any."""
    import numpy as np
    import pandas as pd
    from sklearn.metrics import log_loss, r2_score

    names = notes["targets"]
    if not table.named:
        truth = pd.DataFrame({names[0]: table.labels})
    elif set(names) <= set(table.rows.columns):
        truth = table.rows[names].astype(object)
    else:
        return {}
    kind: Any = object
    if notes["target_kind"] != "text":  # whatever is no number counts as not known
        kind = float
        truth = truth.apply(pd.to_numeric, errors="coerce").astype(kind)
    known = truth.notna().all(axis=1).to_numpy()
    truth, predictions = truth[known], predictions[known]
    if len(truth) == 0 or (classes is None and len(truth) < 2):
        return {}
    if classes is None:
        return {"R²": float(r2_score(truth, predictions)), "rows": len(truth)}
    labels, truth = np.array(classes, dtype=kind), truth.iloc[:, 0].to_numpy(dtype=kind)
    score = {"accuracy": float(np.mean(truth == predictions.astype(kind)))}
    if set(truth) <= set(labels):
        score["log loss"] = float(log_loss(truth, chances[known], labels=labels))
    return {**score, "rows": len(truth)}
