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

from hoag.cli import tables
from hoag.cli.families import FAMILIES, is_additive, plain

CELLS = 1_000_000  # of contributions at a time


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
    tables.add(parser.add_argument_group("text files"))


def run(args: argparse.Namespace) -> int:
    from hoag._core.writing import write_atomically
    from hoag.cli import saved

    tables.check_outputs({"MODEL": args.model, "FILE": args.file}, {"--out": args.out})
    known = tables.dialect(args)
    pipeline, notes = saved.load(args.model)
    _check(args, notes)
    kinds = notes["kinds"] or {}
    text = [name for name, kind in kinds.items() if kind in ("category", "words")]
    text += notes["targets"] if notes["target_kind"] == "text" else []
    table = tables.read(args.file, text, known)
    with saved.used(args.model):
        output = _predicted(args, pipeline, notes, table)
    if args.out:
        write_atomically(args.out, output.encode())
    else:
        sys.stdout.write(output)
    return 0


def _check(args: argparse.Namespace, notes: dict[str, Any]) -> None:
    """An error for options that do not go with the model."""
    model, count, targets = notes["model"], args.explain, len(notes["targets"])
    for wrong, told in (
        (args.proba and not FAMILIES[model].chances,
         f"--proba is for classes with probabilities, and {args.model}, {model}, gives none."),
        (args.survival_at and model != "cox",
         f"--survival-at is for cox, and the model is {model}."),
        (count < 0, f"--explain {count}: give how many contributions, from 1 on."),
        (count and model == "kernel-ridge",
         f"--explain is for linear models, and {args.model} is a kernel-ridge model."),
        (count and targets > 1, f"--explain is for one target, and {args.model} has {targets}."),
    ):  # fmt: skip
        if wrong:
            raise ValueError(told)


def _predicted(args: argparse.Namespace, pipeline: Any, notes: dict[str, Any], table: Any) -> str:
    """What is written; what is to be said of the rows is said."""
    from hoag.cli import saved

    kinds, family = notes["kinds"], FAMILIES[notes["model"]]
    X = _numbered(table, notes, args.model) if kinds is None else _named(table, notes, args.model)
    given = _given(table, notes, args.model, bool(args.survival_at))
    model, rows = saved.predictor(pipeline, notes), X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown categories are told by name
        if is_additive(notes["model"]):
            from hoag.cli.rows import filled

            rows = filled(X, notes["attributes"]["columns"])
        elif kinds is not None:
            rows = pipeline[:-1].transform(X)
        predictions = model.predict(rows)
        chances = model.predict_proba(rows) if family.chances else None
    if "exposure" in given:
        predictions = predictions * given["exposure"]
    if kinds is not None:
        _tell_unknown(pipeline, X, table.rows, notes)
    classes = None if chances is None else model.classes_.tolist()
    score = _score(table, notes, predictions, chances, classes, given)
    if score:
        told = ", ".join(f"{name} {value:.4g}" for name, value in score.items() if name != "rows")
        print(f"hoag: {told} on {score['rows']} rows with a known target", file=sys.stderr)
    names = ["log risk"] if notes["model"] == "cox" else notes["targets"]
    frames = [] if kinds is None else [table.rows, X]
    why = _reasons(model, rows, predictions, frames, notes, args.explain) if args.explain else []
    found = {
        "target": names[0] if len(names) == 1 else names,
        "predictions": predictions.tolist(),
        "classes": classes,
        "probabilities": None if chances is None else chances.tolist(),
        "score": score or None,
    }
    if args.survival_at:
        strata = given.get("strata")
        lasting = model.predict_survival_function(rows, args.survival_at, strata=strata)
        found |= {"times": args.survival_at, "survival": lasting.tolist()}
    if args.json:
        return json.dumps({**found, **({"contributions": why} if args.explain else {})}) + "\n"
    values, header = (chances, classes or names) if args.proba else (predictions, names)
    frame = tables.need("pandas").DataFrame(values, columns=[_cell(str(one)) for one in header])
    if args.proba and args.explain:  # contributions are for the class that is predicted
        frame.insert(0, _cell(names[0]), predictions, allow_duplicates=True)
    for k, when in enumerate(args.survival_at or ()):
        frame[f"survival at {when:g}"] = lasting[:, k]
    for k in range(args.explain):
        frame[f"reason {k + 1}"] = [_cell(_shown(row[k])) if row[k:] else "" for row in why]
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula, as it would what begins with = + - or @."""
    try:
        float(text)  # a class that is a number, which stays one
    except ValueError:
        return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
    return text


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
            lacks = f"lacks the column '{roles[option]}', the {option} of {model}"
            raise ValueError(f"{table.name} {lacks}.")
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
        raise ValueError(f"{model} needs columns by name, and {table.name} is an svmlight file.")
    lacking = [name for name in kinds if name not in table.rows.columns]
    if lacking:
        lacks = f"lacks {len(lacking)} of the {len(kinds)} columns of {model}: {listed(lacking)}"
        raise ValueError(f"{table.name} {lacks}. It has {listed(table.rows.columns)}.")
    frame = table.rows[list(kinds)]
    if notes["missing"]["how"] == "error":
        advice = "the model was tuned with --missing error, so fill them"
        columns.check_missing(frame, table.name, advice)
    return columns.converted(frame, kinds, notes["days"], table.name)


def _numbered(table: Any, notes: dict[str, Any], model: str) -> Any:
    """The rows of an svmlight file, as wide as the model."""
    from scipy import sparse

    from hoag.cli.rows import check_svmlight

    if table.named:
        raise ValueError(f"{model} was tuned on an svmlight file; {table.name} is none.")
    rows, first, wanted = table.rows, notes["first"], notes["features"]
    end = table.first + rows.shape[1]
    if table.first < first or end > first + wanted:
        knows = f"{model} knows {first} to {first + wanted - 1}"
        raise ValueError(f"{table.name} has features {table.first} to {end - 1}; {knows}.")
    check_svmlight(table)
    # A file that happens not to use the first feature begins with the second.
    indices = rows.indices + (table.first - first)
    return sparse.csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], wanted))


def _tell_unknown(model: Any, frame: Any, given: Any, notes: dict[str, Any]) -> None:
    """A warning for each column with values that the model has not seen, or lacks for once."""
    from hoag._core.words import listed
    from hoag.cli import warn

    known = {}
    if is_additive(notes["model"]):
        known = notes["attributes"]["columns"]["categories"]
    elif encoder := model["columns"].named_transformers_.get("categories"):
        known = dict(zip(encoder.feature_names_in_, encoder.categories_, strict=True))
    for name, categories in known.items():
        new = sorted(set(frame[name].dropna()) - set(categories))
        if new:
            unseen = f"values that the model has not seen: {listed(new)}"
            warn(f"Column '{name}' has {unseen}. They count as none of its categories.")
    lacks = given[list(notes["kinds"])].isna().sum()
    for name, count in lacks[lacks > 0].items():
        if name not in notes["missing"]["columns"] or notes["missing"]["how"] != "impute":
            usual = notes["kinds"][name] in ("number", "flag", "date")
            filled = "are filled with the usual value" if usual else "count as no category"
            warn(f"Column '{name}' lacks {count} values, and lacked none before: they {filled}.")


# ---- how good predictions are on rows whose target is known


def _score(
    table: Any, notes: dict[str, Any], predictions: Any, chances: Any, classes: Any, given: Any
) -> dict[str, Any]:
    """By names, with the number of rows; {} without any that could be judged."""
    import numpy as np
    import pandas as pd

    names, family = notes["targets"], FAMILIES[notes["model"]]
    needed = [*names, *([notes["roles"]["event"]] if notes["model"] == "cox" else [])]
    rows = table.rows if table.named else pd.DataFrame({names[0]: table.labels})
    if not set(needed) <= set(rows.columns):
        return {}
    truth, kind = rows[needed].astype(object), object
    if notes["target_kind"] != "text":  # whatever is no number counts as not known
        truth, kind = truth.apply(pd.to_numeric, errors="coerce").astype(float), float
    known = truth.notna().all(axis=1).to_numpy()
    truth, predictions = truth[known].to_numpy(dtype=kind), predictions[known]
    if len(truth) < (1 if family.classifies else 2):
        return {}
    if family.classifies:
        from sklearn.metrics import log_loss

        found = {"accuracy": float(np.mean(truth[:, 0] == predictions.astype(kind)))}
        if classes is not None and set(truth[:, 0]) <= set(np.array(classes, dtype=kind)):
            labels = np.array(classes, dtype=kind)
            found["log loss"] = float(log_loss(truth[:, 0], chances[known], labels=labels))
    else:
        exposure = given["exposure"][known] if "exposure" in given else np.ones(len(truth))
        strata = notes["roles"].get("strata")
        strata = None if strata not in rows.columns else rows[strata][known].astype(str)
        found = _of_numbers(notes, truth, predictions, exposure, strata)
    return {**found, "rows": len(truth)} if found else {}


def _of_numbers(
    notes: dict[str, Any], truth: Any, predictions: Any, exposure: Any, strata: Any
) -> dict[str, float]:
    from sklearn import metrics

    model, judged, y = plain(notes["model"]), notes["judged"], truth[:, 0]
    if model == "cox":
        from hoag._core.errors import HoagError
        from hoag.linear_model import concordance

        try:
            return {"concordance": concordance(truth, predictions, strata=strata)}
        except HoagError:  # no pair of rows, no event, or events that are no 0 and 1
            return {}
    if judged["criterion"] == "deviance":
        power = judged["power"]
        if (y < 0).any() or (power >= 2 and (y == 0).any()):
            return {}
        rate = y @ exposure ** (1 - power) / (exposure ** (2 - power)).sum()
        own, base = (
            float(metrics.mean_tweedie_deviance(y, said, power=power))
            for said in (predictions, rate * exposure)
        )
        return {"D²": 1 - own / base if base > 0 else float("nan"), "deviance": own}
    if model == "quantile":
        share = float((y < predictions).mean())
        return {"D²": metrics.d2_pinball_score(y, predictions, alpha=judged["quantile"]),
                "share below": share}  # fmt: skip
    if model == "huber":
        return {"D² of absolute errors": metrics.d2_absolute_error_score(y, predictions)}
    return {"R²": float(metrics.r2_score(truth, predictions))}


# ---- why: contributions that add up to how a prediction differs from the mean one


def _reasons(
    model: Any, X: Any, predictions: Any, frames: list[Any], notes: dict[str, Any], count: int
) -> list[list[dict[str, Any]]]:
    """For each row the `count` largest of coefⱼ(xⱼ − meanⱼ), with the value of the column.

    Terms of columns that were made of one column of the file are added up; words of a text stay
    apart. Of an additive model they are its terms, of mean 0 where it was fitted. `frames` are the
    columns of the file, and those that were made of them; svmlight has none.
    """
    import numpy as np

    outputs = np.zeros(X.shape[0], dtype=int)
    classed = "classes_" in vars(model) and notes["model"] != "ordinal"
    if classed:
        outputs = np.searchsorted(model.classes_, predictions)
    if is_additive(notes["model"]):
        terms = model.terms(X)
        if terms.shape[2] == 1 and classed:
            terms = np.concatenate([-terms, terms], axis=2)
        each = zip(model.labels, model.columns, strict=True)
        values = [_values(frames, own[0]) if len(own) == 1 else None for own in model.columns]
        names = [own[0] if one else label for (label, own), one in zip(each, values, strict=True)]
        return _largest(terms[np.arange(len(terms)), :, outputs], names, values, count)
    sources = list(dict.fromkeys(notes["sources"]))
    place = {name: j for j, name in enumerate(sources)}
    groups = np.array([place[name] for name in notes["sources"]])
    coef = np.atleast_2d(model.coef_)
    if len(coef) == 1 and classed:
        coef = np.vstack([-coef, coef])
    values = [_values(frames, name) for name in sources]
    told, size = list[list[dict[str, Any]]](), max(1, CELLS // X.shape[1])
    for start in range(0, X.shape[0], size):
        here = slice(start, start + size)
        rows = X[here] if isinstance(X, np.ndarray) else X[here].toarray()
        terms = coef[outputs[here]] * (rows - notes["means"])
        sums = np.zeros((len(rows), len(sources)))
        np.add.at(sums.T, groups, terms.T)
        told += _largest(sums, sources, values, count, start)
    return told


def _largest(
    contributions: Any, names: list[str], values: list[Any], count: int, first: int = 0
) -> list[list[dict[str, Any]]]:
    """The `count` largest of each row, which are those of the file from the first on."""
    import numpy as np

    best = np.argsort(-np.abs(contributions), axis=1, kind="stable")[:, :count]
    return [
        [
            {
                "column": names[j],
                "value": None if values[j] is None else values[j][i],
                "contribution": float(own[j]),
            }
            for j in chosen
        ]
        for i, (own, chosen) in enumerate(zip(contributions, best, strict=True), first)
    ]


def _shown(reason: dict[str, Any]) -> str:
    """age = 63: +1.2."""
    value = reason["value"]
    value = f"{value:.10g}" if isinstance(value, float) else value
    value = "" if value is None else f" = {value}"
    return f"{reason['column']}{value}: {reason['contribution']:+.4g}"


def _values(frames: list[Any], name: str) -> list[Any] | None:
    """A column of the file, or a part of a date; None for a word and svmlight's features."""
    for frame in frames:
        if name in frame.columns:
            cells = zip(frame[name].tolist(), frame[name].isna(), strict=True)
            plain = (str, int, float, bool)
            return ["missing" if no else cell if isinstance(cell, plain) else str(cell)
                    for cell, no in cells]  # fmt: skip
    return None
