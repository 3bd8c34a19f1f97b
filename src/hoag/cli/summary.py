"""What a tuned model is told about: one dict, shown as a table and as JSON, and on a page."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np

import hoag
from hoag._core.words import listed
from hoag.cli import facts
from hoag.cli.columns import DATE
from hoag.cli.families import is_additive, linear
from hoag.cli.held_out import standard_error, tol_of
from hoag.cli.words import spoken
from hoag.plot._style import LOSSES, judged_by

KINDS = {"number": ("number", "numbers"), "flag": ("flag", "flags"), "date": ("date", "dates"),
         "category": ("category", "categories"), "words": ("text", "texts")}  # fmt: skip
FILLED = {
    **dict.fromkeys(("number", "date"), "numbers become the mean, and a column says where"),
    "flag": "flags become the more frequent one, and a column says where",
    "category": "categories have one more, for what is missing",
    "words": "texts are empty",
}
NAMED = 12  # penalties on a plateau in the table
SHOWN = 5  # strongest and weakest penalties in the table


def summary(
    args: Any,
    data: Any,
    tuned: Any,
    seconds: float,
    told: list[str],
    judge: Any,
    compared: dict[str, Any],
) -> dict[str, Any]:
    """Everything, as plain numbers, text and lists."""
    result, names, core = tuned.result_, lam_names(tuned, data), linear(tuned)
    each, baseline = dict(judge.scores), compared["baseline"]
    if not each:  # the share of a constant's loss that is explained, fold by fold
        gains = zip(baseline["gains"], baseline["folds"], strict=True)
        each = {"d2": [gain / loss if loss > 0 else math.nan for gain, loss in gains]}
    scores = [
        {"name": name, "mean": float(np.mean(folds)), "standard_error": standard_error(folds),
         "folds": folds} for name, folds in each.items()
    ]  # fmt: skip
    strengths = core._named(tuned.lam_)
    kind = args.widths if data.model == "kernel-ridge" else args.penalties
    criterion, many = judged_by(core), tuned.lam_.size if kind != "shared" else 1
    return {
        "hoag": hoag.__version__,
        "file": args.file,
        "rows": data.X.shape[0],
        "columns": data.X.shape[1] if data.kinds is None else len(data.kinds),
        "features": data.X.shape[1],
        "target": data.targets[0] if len(data.targets) == 1 else data.targets,
        "model": data.model,
        "why": data.why,
        "penalties": kind,
        "kinds": data.kinds,
        "read_as": data.dialect,
        "missing": {"how": args.missing, "columns": data.missing, "rows_left_out": data.dropped},
        "left_out": data.left_out,
        "scaled": data.columns is not None and not args.no_scale,
        "cv": args.cv,
        "seed": None if args.cv == "loo" else args.seed,
        "family": facts.of(data, tuned, judge.seen),
        "criterion": criterion,
        "chosen_by": args.chosen_by,
        "formula": args.terms,
        "scale": args.scale,
        "terms": _terms(tuned) if is_additive(data.model) else None,
        "held_out_loss": _held_out_loss(data, tuned, compared),
        "held_out_losses": compared["folds"],
        "held_out_loss_error": compared["standard_error"],
        "baseline": {**baseline, "sentence": verdict(baseline, criterion, many)},
        "score": scores[0],
        "scores": scores,
        "lam": tuned.lam_.tolist(),
        "names": names,
        "lam_interval": tuned.lam_interval_.tolist(),
        "plateaus": list(map(str, vars(core).get("plateaus_", [""] * tuned.lam_.size))),
        "bounds": args.bounds,
        **{name.rstrip("_"): np.asarray(value).tolist() for name, value in strengths.items()},
        "certificate": args.certificate,
        "gradient": result.grad.tolist(),
        "gradient_error": result.evaluation.error,
        "gradient_bound": result.evaluation.bound,
        "tol": tol_of(tuned),
        "steps": tuned.n_iter_,
        "passes": result.cost.passes,
        "grams": result.cost.grams,
        "reads": result.cost.reads,
        "blocks": data.blocks,
        "seconds": seconds,
        "status": result.status.reason,
        "sentence": spoken(result.status.sentence, names),
        "converged": result.status.converged,
        "warnings": [spoken(message, names, data.names) for message in told],
        "saved": args.save,
        "report": args.report,
    }


def _held_out_loss(data: Any, tuned: Any, compared: dict[str, Any]) -> float:
    """That which was minimised; where penalties were chosen otherwise, the mean of the folds."""
    if not is_additive(data.model):
        return float(tuned.criterion_)
    return float(compared["baseline"]["loss"] - compared["baseline"]["gain"])


def _terms(tuned: Any) -> list[dict[str, Any]]:
    """The table of tuned.summary()."""
    table = tuned.summary()
    names = [name for name in table.table.dtype.names if name != "statistic"]
    return [
        {name: row[name].item() for name in names}
        | {"statistic": float(row["statistic"]), "test": table.statistic}
        for row in table.table
    ]


def terms(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of terms."""

    def small(p: float) -> str:
        if not math.isfinite(p):
            return "–"
        return f"{p:.3f}" if p >= 1e-3 else f"{p:.1g}" if p > 1e-16 else "< 1e-16"

    rows = [
        [
            *(one["term"], f"{one['edf']:.2f}", str(one["size"])),
            f"{one['statistic']:.4g}" if math.isfinite(one["statistic"]) else "–",
            *(small(one["p_value"]), one["plateau"] or " "),
        ]
        for one in found["terms"]
    ]
    return ["term", "edf", "of", found["terms"][0]["test"], "p-value", "at infinity"], rows


def _grams(found: dict[str, Any]) -> str:
    grams = f"{found['grams']:.0f}"
    return "" if grams == "0" else f" and {grams} Gram {'matrix' if grams == '1' else 'matrices'}"


def _reads(found: dict[str, Any]) -> str:
    reads = "1 read" if round(found["reads"]) == 1 else f"{found['reads']:.0f} reads"
    return f", {reads} of the file's blocks" if found["blocks"] else ""


def _others(found: dict[str, Any]) -> str:
    return " (other scores need all rows in memory: --no-blocks)" if found["blocks"] else ""


def lam_names(tuned: Any, data: Any) -> list[str]:
    """The name of every λ: of its feature, class or target."""
    size = tuned.lam_.size
    if is_additive(data.model):
        return [str(name) for name in linear(tuned)._lam_names()]
    if data.model == "kernel-ridge":
        each = ["log γ"] if tuned.widths == "shared" else [f"log γ of {n}" for n in data.names]
        return [*each, "log α"]
    if size == 1:
        return ["λ"]
    outputs = [str(name) for name in vars(tuned).get("classes_", data.targets)]
    if tuned.penalties == "per-feature" or size == len(data.names):
        return list(data.names)
    if tuned.penalties == "per-coefficient":
        return [f"{name} → {output}" for name in data.names for output in outputs]
    return outputs


def verdict(baseline: dict[str, Any], criterion: str, tuned: int) -> str:
    """Whether anything was learnt, in a sentence with the figures; `tuned` hyperparameters."""
    gain, error, loss = (baseline[name] for name in ("gain", "standard_error", "loss"))
    of = f"that of predicting {baseline['what']} for every row ({loss:.4g})"
    over, one = "standard error" + (" over folds" if baseline["folds"] else ""), ""
    figures = f"the gain is {brief(gain)}, with a {over} of {brief(error)}"
    if alone := baseline["one_for_all"]:
        one = (
            f" One hyperparameter for all gains {brief(alone['gain'], 3)} ± "
            f"{brief(alone['standard_error'])}; {tuned} of them are tuned on the folds that judge "
            "them, and gain on noise, too."
        )
    if baseline["learnt"]:
        times = f", {gain / error:.{int(gain < 10 * error)}f} times its {over}" if error > 0 else ""
        return (
            f"The {LOSSES[criterion]} is {100 * gain / loss:.3g} % below {of}: a gain of "
            f"{brief(gain, 3)}{times}.{one}"
        )
    if one:
        return f"It is not clear that anything was learnt. Against {of}, {figures}.{one}"
    if error < gain < 2 * error:
        return (
            f"It is not clear that anything was learnt: the {LOSSES[criterion]} is hardly below "
            f"{of}: {figures}. Noise gains as much in one table of ten."
        )
    return (
        f"Nothing was learnt: the {LOSSES[criterion]} is not below {of} by more than chance: "
        f"{figures}."
    )


def brief(value: float, digits: int = 2) -> str:
    """So many digits, and no exponent where a number is still read without: 220 and not 2.2e+02."""
    return f"{float(f'{value:.{digits}g}'):.10g}"


def rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of the table."""
    shape = f"{found['rows']} × {found['columns']}"
    if found["features"] != found["columns"] and found["terms"] is None:
        shape += f", {found['features']} columns of numbers made of them"
    spread = _spread(found["held_out_loss_error"])
    per = "event" if found["criterion"] == "partial_likelihood" else "row"
    loss = f"{LOSSES[found['criterion']]} {found['held_out_loss']:.5g}{spread} per {per}"
    mean = f"mean of {found['cv']} folds (shuffled, seed {found['seed']}) ± its standard error"
    kernel = found["model"] == "kernel-ridge"
    kind = "" if found["penalties"] == "shared" else f", {found['penalties']} "
    kind += ("widths" if kernel else "penalties") if kind else ""
    target = found["target"]
    return [
        ("rows × columns", shape),
        *(("read as", found["read_as"]) for _ in [0] if found["read_as"]),
        *_columns(found),
        ("target", target if isinstance(target, str) else ", ".join(target)),
        ("model", found["model"] + kind + (f" ({found['why']})" if found["why"] else "")),
        *facts.lines(found["family"]),
        *(_strengths(found) + _plateaus(found) if found["terms"] is None else _curves(found)),
        ("held-out loss", f"{loss}, {'each row left out once' if found['cv'] == 'loo' else mean}"),
        ("held-out score", ", ".join(map(score, found["scores"])) + _others(found)),
        ("what was learnt", found["baseline"]["sentence"]),
        *([] if found["terms"] else [("certificate", _certificate(found))]),
        ("cost", f"{found['passes']:.0f} passes over the data{_grams(found)}{_reads(found)}, "
                 f"{found['steps']} "
                 f"step{'' if found['steps'] == 1 else 's'}, {found['seconds']:.2f} s"),
        ("stopped", found["sentence"]),
        *((what, found[name]) for what, name in (("model file", "saved"), ("page", "report"))
          if found[name]),
    ]  # fmt: skip


def _columns(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What the columns hold, what is missing in them, and which were left out."""
    kinds, missing, lines = found["kinds"] or {}, found["missing"], []
    counts = Counter(kinds.values())
    if len(counts) > 1 or DATE in counts:
        shown = [f"{count} {KINDS[kind][count > 1]}" for kind, count in counts.items()]
        lines.append(("columns", ", ".join(shown)))
    if missing["columns"]:
        most = sorted(missing["columns"].items(), key=lambda one: -one[1])
        each = ", ".join(f"{name} {count}" for name, count in most[:NAMED])
        each += f" and {len(most) - NAMED} more columns" if len(most) > NAMED else ""
        lacking = {kinds[name] for name, _ in most}
        filled = dict.fromkeys(how for kind, how in FILLED.items() if kind in lacking)
        how = f" ({'; '.join(filled)})" if missing["how"] == "impute" else ""
        lines.append(("missing", each + how))
    if missing["rows_left_out"]:
        lines.append(("rows left out", f"{missing['rows_left_out']}, with missing values"))
    if found["left_out"]:
        lines.append(("left out", listed(found["left_out"])))
    return lines


def _spread(error: float) -> str:
    return f" ± {brief(error)}" if math.isfinite(error) else ""


def score(score: dict[str, Any]) -> str:
    words = {"r2": "R²", "d2": "D²", "roc_auc": "ROC AUC",
             "d2_absolute_error_score": "D² of absolute errors"}  # fmt: skip
    name = words.get(score["name"], score["name"].replace("_", " "))
    return f"{name} {score['mean']:.4g}{_spread(score['standard_error'])}"


def _strengths(found: dict[str, Any]) -> list[tuple[str, str]]:
    """λ and what scikit-learn calls it, with its interval; the extremes where there are many."""
    names = found["names"]
    ends = [_between(*pair) for pair in found["lam_interval"]]
    if found["model"] == "kernel-ridge" and len(names) == 2:
        also = [f"γ = {found['gamma']:.4g}", f"α = {found['alpha']:.4g}"]
        ends = [f"{name} {end}" for name, end in zip(names, ends, strict=True)]
    elif len(names) == 1:
        words = [word for word in ("C", "alpha") if word in found]
        also = [", ".join(f"{word} = {np.ravel(found[word])[0]:.4g}" for word in words)]
    else:
        return _many(found)
    within = f" (the loss is within {100 * found['tol']:g} % of this)"
    if not found["converged"]:
        within = " (estimated where the search stopped, before it had converged)"
    if not np.all(np.isfinite(found["lam_interval"])):
        within = ""
    each = zip(names, found["lam"], also, strict=True)
    lines = [(name, f"{value:.4g} ({strength})") for name, value, strength in each]
    return [*lines, ("λ interval", f"{', '.join(ends)}{within}")]


def _between(low: float, high: float) -> str:
    known = math.isfinite(low) and math.isfinite(high)
    return f"{low:.3g} to {high:.3g}" if known else "not known"


def _plateaus(found: dict[str, Any]) -> list[tuple[str, str]]:
    """How many penalties are switched off, how many free, and which."""
    words, told = found["plateaus"], list[str]()
    for word in dict.fromkeys(sorted(filter(None, words), reverse=True)):
        names = [name for name, own in zip(found["names"], words, strict=True) if own == word]
        of = "" if told else f" of {len(words)} penalties" if len(words) > 1 else " penalty"
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        which = f": {', '.join(names[:NAMED])}{more}" if len(words) > 1 else ""
        told.append(f"{len(names)}{of} {'is' if len(names) == 1 else 'are'} {word}{which}")
    return [("plateaus", "; ".join(told))] if told else []


def _many(found: dict[str, Any]) -> list[tuple[str, str]]:
    each = zip(found["lam"], found["names"], found["plateaus"], strict=True)
    ranked = sorted(each, key=lambda one: one[0])
    lines, what, low, high = [], "λ", "weakest", "strongest"
    if found["model"] == "kernel-ridge":
        what, low, high = "log γ", "small γ", "large γ"
        lines.append(("log α", f"{found['lam'][-1]:.4g} (α = {found['alpha']:.4g})"))
        widths = [one for one in ranked if one[1] != "log α"]
        ranked = [(value, name.removeprefix("log γ of "), "") for value, name, _ in widths]
    shown = [f"{n}: {value:.4g}" + (f" ({word})" if word else "") for value, n, word in ranked]
    if len(shown) <= 2 * SHOWN:
        return [*lines, (what, ", ".join(shown))]
    least, median, most = (ranked[place][0] for place in (0, len(ranked) // 2, -1))
    spread = f"least {least:.4g}, median {median:.4g}, most {most:.4g}"
    return [
        *lines,
        (what, f"{len(ranked)} of them: {spread}"),
        (high, ", ".join(shown[: -SHOWN - 1 : -1])),
        (low, ", ".join(shown[:SHOWN])),
    ]


CHOSEN = {
    "reml": "the marginal likelihood (reml)",
    "gcv": "generalised cross-validation (gcv)",
    "alo": "approximate leave-one-out (alo)",
    "aic": "AIC",
    "bic": "BIC",
}


def _curves(found: dict[str, Any]) -> list[tuple[str, str]]:
    """How many terms there are, how their penalties were chosen, and which are straight or gone."""
    each, by = found["terms"], found["chosen_by"]
    worth = sum(one["edf"] for one in each)
    lines = [("terms", f"{len(each)}, worth {worth:.1f} coefficients together")]
    how = CHOSEN.get(by, f"{by} folds")
    lines.append(("penalties", f"{len(found['lam'])}, chosen by {how}"))
    for word in ("straight", "gone"):
        own = [one["term"] for one in each if one["plateau"] == word]
        if own:
            more = f" and {len(own) - NAMED} more" if len(own) > NAMED else ""
            lines.append((word, ", ".join(own[:NAMED]) + more))
    return lines


def _certificate(found: dict[str, Any]) -> str:
    size = math.hypot(*found["gradient"])
    if found["cv"] == "loo":
        return f"gradient {size:.1e}, exact up to rounding"
    error, bound = found["gradient_error"], found["gradient_bound"]
    measured = "its error was not measured" if math.isnan(error) else f"estimated error {error:.1e}"
    proved = ""
    if found["certificate"] == "bound":
        weak = "no rigorous bound: a penalty is too weak for one"
        proved = f", rigorous bound {bound:.1e}" if math.isfinite(bound) else f", {weak}"
    return f"gradient {size:.1e}, {measured}{proved}"


def as_json(found: dict[str, Any]) -> str:
    """JSON, with null for the numbers that it has no word for: not a number, and the infinite."""
    finite = json.loads(json.dumps(found), parse_constant=lambda word: None)
    return json.dumps(finite, indent=1, allow_nan=False)
