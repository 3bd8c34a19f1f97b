"""What a tuned model is told about: one dict, said in sentences, as a table and as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np

import hoag
from hoag._core.words import LOSSES, listed, sized
from hoag.cli.columns import DATE
from hoag.cli.families import is_additive, linear, plain
from hoag.cli.judge import settings, standard_error

FILLED = {
    **dict.fromkeys(("number", "date"), "numbers become the mean, and a column says where"),
    "flag": "flags become the more frequent one, and a column says where",
    "category": "categories have one more, for what is missing",
    "words": "texts are empty",
}
SHOWN = 5  # strongest and weakest penalties in the table
CHOSEN = {"reml": "the marginal likelihood (reml)", "gcv": "generalised cross-validation (gcv)",
          "alo": "approximate leave-one-out (alo)", "loo": "leaving each row out once",
          "aic": "AIC", "bic": "BIC"}  # fmt: skip
SCORES = {"r2": "R²", "d2": "D²", "roc_auc": "ROC AUC",
          "d2_absolute_error_score": "D² of absolute errors"}  # fmt: skip
Lines = list[tuple[str, str]]


def summary(
    args: Any,
    data: Any,
    tuned: Any,
    seconds: float,
    told: list[str],
    jury: Any,
    compared: dict[str, Any],
) -> dict[str, Any]:
    """Everything, as plain numbers, text and lists."""
    result, core, additive = tuned.result_, linear(tuned), is_additive(data.model)
    baseline, each = compared["baseline"], dict(jury.scores)
    if not each:  # the share of a constant's loss that is explained, fold by fold
        losses = baseline["folds"] or [baseline["loss"]]
        gains = zip(baseline["gains"] or [baseline["gain"]], losses, strict=True)
        each = {"d2": [gain / loss if loss > 0 else math.nan for gain, loss in gains]}
    scores = [
        {"name": name, "mean": float(np.mean(folds)), "standard_error": standard_error(folds),
         "folds": folds} for name, folds in each.items()
    ]  # fmt: skip
    table = tuned.summary() if additive else None
    found = {
        "hoag": hoag.__version__,
        "file": args.file,
        "rows": data.X.shape[0],
        "columns": data.X.shape[1] if data.kinds is None else len(data.kinds),
        "features": data.X.shape[1],
        "target": data.targets[0] if len(data.targets) == 1 else data.targets,
        **{name: getattr(data, name) for name in ("model", "why", "kinds", "left_out", "blocks")},
        "penalties": (args.widths if data.model == "kernel-ridge" else args.penalties) or "shared",
        "read_as": data.dialect,
        "missing": {"how": args.missing, "columns": data.missing, "rows_left_out": data.dropped},
        "scaled": data.columns is not None and not args.no_scale,
        **{name: getattr(args, name) for name in ("cv", "chosen_by", "rule", "scale", "bounds")},
        "seed": None if args.splitter is None else args.seed,
        "family": _of_family(data, core, jury),
        "criterion": settings(data.model, tuned)["criterion"],
        "formula": args.terms,
        "terms": None if table is None else [
            {name: row[name].item() for name in row.dtype.names} | {"test": table.statistic}
            for row in table.table
        ],
        "held_out_loss": baseline["loss"] - baseline["gain"] if args.nested else tuned.criterion_,
        "held_out_losses": compared["folds"],
        "held_out_loss_error": compared["standard_error"],
        "error": compared["error"],
        "baseline": baseline,
        "score": scores[0],
        "scores": scores,
        "lam": tuned.lam_.tolist(),
        "names": lam_names(tuned, data),
        "lam_interval": tuned.lam_interval_.tolist(),
        "plateaus": list(map(str, vars(core).get("plateaus_", [""] * tuned.lam_.size))),
        **{name: np.asarray(vars(core)[f"{name}_"]).tolist()
           for name in ("C", "alpha", "gamma") if f"{name}_" in vars(core)},
        "certificate": args.certificate or "auto",
        "gradient": result.grad.tolist(),
        "gradient_error": result.evaluation.error,
        "gradient_bound": result.evaluation.bound,
        "tol": float(core.tol),
        "steps": tuned.n_iter_,
        **{name: getattr(result.cost, name) for name in ("passes", "grams", "reads")},
        "seconds": seconds,
        "status": str(result.status.reason),
        "converged": result.status.converged,
        "sentence": str(result.status),
        "notes": list(result.status.notes),
        "explained": result.explain(),
        "warnings": [*told, *_stopped(args, tuned)],
        "saved": args.save,
        "report": args.report,
    }  # fmt: skip
    baseline["sentence"] = verdict(found, data)
    return found


def _stopped(args: Any, tuned: Any) -> list[str]:
    """Why a search ended before it had converged, and what to do."""
    status, steps = tuned.result_.status, _count(tuned.n_iter_, "step")
    if status.converged:
        return []
    what = {
        "max_iter": f"after {steps}, as many as --max-iter allows: raise that, or --tol.",
        "time_budget": f"after {steps}, when its time was used: raise --time-budget.",
        "interrupted": f"after {steps}, for it was interrupted.",
    }.get(str(status.reason), f"after {steps}. {status.ended}")
    file = f" The same again with --checkpoint {args.checkpoint} goes on from here."
    return [f"The search stopped before it had converged, {what}{file if args.checkpoint else ''}"]


def lam_names(tuned: Any, data: Any) -> list[str]:
    """The name of every λ: of its feature, class, target or term."""
    size = tuned.lam_.size
    if is_additive(data.model):
        return list(map(str, tuned.result_.names))
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


# ---- what only one family has to say


def _of_family(data: Any, core: Any, jury: Any) -> dict[str, Any]:
    found, model = dict[str, Any](data.roles), plain(data.model)
    if model == "tweedie":
        found |= {"power": core.power_, "dispersion": vars(core).get("dispersion_")}
    if model == "quantile":
        found |= {"quantile": core.quantile, "share_below": None}
        if jury.seen:
            truth, said, weights = jury.together()
            found["share_below"] = float(weights @ (truth < said) / weights.sum())
    if model == "huber":
        found |= {"epsilon": core.epsilon, "spread": core.scale_}
        found["outliers"] = int(core.outliers_.sum())
    if model == "ordinal":
        found["thresholds"] = core.thresholds_.tolist()
    if model == "cox":
        found["events"] = int(np.sum(data.y["event"]))
        if "strata" in data.given:
            found["number_of_strata"] = len(np.unique(data.given["strata"]))
    return found


def _family_lines(found: dict[str, Any]) -> Lines:
    told = {name.replace("_", " "): np.atleast_1d(value) for name, value in found.items()
            if value is not None}  # fmt: skip
    shown = {name: [one if isinstance(one, str) else f"{one:.4g}" for one in values]
             for name, values in told.items()}  # fmt: skip
    return [(name, ", ".join(each)) for name, each in shown.items()]


# ---- the answer, in sentences


def verdict(found: dict[str, Any], data: Any) -> str:
    """How good the model is on held-out rows, and how sure that is: no more than the test says."""
    base, alone = found["baseline"], found["baseline"]["one_for_all"]
    gain, error, loss = (base[name] for name in ("gain", "standard_error", "loss"))
    lost, what = LOSSES[found["criterion"]], base["what"]
    held = f"{lost} is {loss - gain:.4g}, against {loss:.4g} for {what}"
    one = "" if not alone else (
        f" With one penalty for all the gain is {brief(alone['gain'], 3)} ± "
        f"{brief(alone['standard_error'])}; {len(found['lam'])} are tuned on the folds that judge "
        "them, and gain on noise, too."
    )  # fmt: skip
    if base["learnt"]:
        times = f", {gain / error:.2g} times its standard error" if error > 0 else ""
        times += "; noise gains as much in one table of 40" if gain < 3 * error else ""
        return f"{_explains(found, data)} Its {held}: a gain of {brief(gain, 3)}{times}.{one}"
    return (
        f"Held-out rows do not show that the model is better than {what}: "
        f"{score(found['score'])}; its {held}, a gain of {brief(gain)} ± {brief(error)}.{one} "
        "Few rows or a weak effect look the same, so it is no proof that the columns say nothing."
    )


def _explains(found: dict[str, Any], data: Any) -> str:
    first, base = found["score"], found["baseline"]
    name, percent, shown = first["name"], f"{100 * first['mean']:.3g} %", score(first)
    if name == "accuracy":
        counts = np.unique(data.y, return_counts=True)[1]
        return (
            f"The model is right about {percent} of held-out rows ({shown}); naming the most "
            f"frequent class is right about {100 * counts.max() / counts.sum():.3g} %."
        )
    if name == "concordance":
        return (
            "Of two held-out rows the model gives the higher risk to the one whose event comes "
            f"first in {percent} of pairs ({shown}); chance does in 50 %."
        )
    like = name in ("r2", "d2", "d2_absolute_error_score")
    percent = percent if like else f"{100 * base['gain'] / base['loss']:.3g} %"
    scored = f" ({shown} on held-out rows)" if like else ""
    others = "" if like else f" On held-out rows: {', '.join(map(score, found['scores']))}."
    squares = name == "r2" or found["criterion"] == "squared_error"
    what = "variance" if squares else LOSSES[found["criterion"]]
    what = "absolute error" if name == "d2_absolute_error_score" else what
    return f"The model explains {percent} of the {what}{scored}; a constant explains 0 %.{others}"


def sentences(found: dict[str, Any]) -> list[str]:
    """The answer, the error, the penalty and how sure it is, and what was written."""
    why = f", for {found['why'].partition(';')[0]}" if found["why"] else ""
    ended = "converged" if found["converged"] else "not converged"
    return [
        found["baseline"]["sentence"],
        *filter(None, [off(found)]),
        " ".join([penalty(found), *found["notes"]]),
        f"Model: {found['model']}{why}; {found['rows']} rows, "
        f"{_count(found['columns'], 'column')}; {ended} after {_count(found['steps'], 'step')}.",
        *(f"{what}: {found[name]}" for what, name in (("Model file", "saved"), ("Page", "report"))
          if found[name]),
    ]  # fmt: skip


def off(found: dict[str, Any]) -> str:
    """How far predictions are off, in the target's units."""
    error = found["error"]
    if not error:
        return ""
    kinds = [kind for kind in (("rmse", "root mean square"), ("mae", "mean")) if kind[0] in error]
    each = " or ".join(f"{error[name]:.4g} ({what})" for name, what in kinds)
    than = " or ".join(f"{error[f'constant_{name}']:.4g}" for name, _ in kinds)
    return (
        f"On held-out rows predictions are off by {each}, in units of '{found['target']}'; those "
        f"of a constant by {than}."
    )


def penalty(found: dict[str, Any]) -> str:
    """The penalty as scikit-learn counts it, and which others are as good."""
    how = CHOSEN.get(found["chosen_by"], f"{found['chosen_by']} folds")
    how += ", the strongest within one standard error" if found["rule"] == "1se" else ""
    if len(found["lam"]) > 1 or found["terms"] is not None:
        words = Counter(filter(None, found["plateaus"] if found["terms"] is None else ()))
        more = "".join(f", {count} {word}" for word, count in words.items())
        return f"Penalties: {len(found['lam'])}, chosen by {how}{more}."
    name, sign = ("C", -1) if "C" in found else ("alpha", 1)
    value, away = float(np.ravel(found[name])[0]), np.subtract(found["lam_interval"], found["lam"])
    low, high = sorted(value * np.exp(sign * away[0]))
    same = f"; from {low:.3g} to {high:.3g} the loss is the same to {100 * found['tol']:g} %"
    known = np.all(np.isfinite(found["lam_interval"])) and found["rule"] != "1se"
    return f"Penalty: {name} = {value:.4g}, chosen by {how}{same if known else ''}."


def brief(value: float, digits: int = 2) -> str:
    """So many digits, and no exponent where a number is still read without: 220 and not 2.2e+02."""
    return f"{float(f'{value:.{digits}g}'):.10g}"


def score(one: dict[str, Any]) -> str:
    name = SCORES.get(one["name"], one["name"].replace("_", " "))
    return f"{name} {one['mean']:.4g}{_spread(one['standard_error'])}"


def _spread(error: float) -> str:
    return f" ± {brief(error)}" if math.isfinite(error) else ""


def _count(number: float, what: str) -> str:
    return f"{number:.0f} {what}{'' if round(number) == 1 else 's'}"


def blocks(name: str, why: str, facts: dict[str, Any]) -> str:
    where = f"its cache {facts['cache']} takes {sized(facts['cache_bytes'])}"
    return f"{name} is read in blocks{why}; {where}."


# ---- the table


def rows(found: dict[str, Any]) -> Lines:
    """The lines of the table: what was read, what was tuned, and how the search says it went."""
    shape = f"{found['rows']} × {found['columns']}"
    if found["features"] != found["columns"] and found["terms"] is None:
        shape += f", {found['features']} columns of numbers made of them"
    per = "event" if found["criterion"] == "partial_likelihood" else "row"
    loss = f"{found['held_out_loss']:.5g}{_spread(found['held_out_loss_error'])} per {per}"
    how = f"mean of {found['cv']} folds (shuffled, seed {found['seed']}) ± its standard error"
    kind = "widths" if found["model"] == "kernel-ridge" else "penalties"
    kind = "" if found["penalties"] == "shared" else f", {found['penalties']} {kind}"
    others = " (other scores need all rows in memory: --no-blocks)" if found["blocks"] else ""
    explained = (line.partition(": ") for line in found["explained"].splitlines())
    return [
        ("rows × columns", shape),
        *([("read as", found["read_as"])] if found["read_as"] else []),
        *_columns(found),
        ("target", ", ".join(np.atleast_1d(found["target"]))),
        ("model", found["model"] + kind + (f" ({found['why']})" if found["why"] else "")),
        *_family_lines(found["family"]),
        *(_penalties(found) if found["terms"] is None else _curves(found)),
        ("held-out loss", f"{LOSSES[found['criterion']]} {loss}, {CHOSEN.get(found['cv'], how)}"),
        ("held-out score", ", ".join(map(score, found["scores"])) + others),
        *((name.lower(), line) for name, _, line in explained),
    ]


def _columns(found: dict[str, Any]) -> Lines:
    """What the columns hold, what is missing in them, and which were left out."""
    kinds, missing, lines = found["kinds"] or {}, found["missing"], list[tuple[str, str]]()
    counts = Counter(kinds.values())
    if len(counts) > 1 or DATE in counts:
        lines.append(("columns", ", ".join(f"{kind}: {count}" for kind, count in counts.items())))
    if missing["columns"]:
        most = sorted(missing["columns"].items(), key=lambda one: -one[1])
        lacking = {kinds[name] for name, _ in most}
        filled = dict.fromkeys(how for kind, how in FILLED.items() if kind in lacking)
        how = f" ({'; '.join(filled)})" if missing["how"] == "impute" else ""
        lines.append(("missing", listed([f"{name} {count}" for name, count in most], "{}") + how))
    if missing["rows_left_out"]:
        lines.append(("rows left out", f"{missing['rows_left_out']}, with missing values"))
    if found["left_out"]:
        lines.append(("left out", listed(found["left_out"])))
    return lines


def _penalties(found: dict[str, Any]) -> Lines:
    """Every λ, or the strongest and the weakest, by their size; and how well they are known."""
    lams = sorted(zip(found["lam"], found["names"], found["plateaus"], strict=True), reverse=True)
    ranked = [f"{name}: {lam:.4g}" + (f" ({word})" if word else "") for lam, name, word in lams]
    lines: Lines = [(name, f"{np.ravel(found[name])[0]:.4g}") for name in ("C", "alpha", "gamma")
                    if name in found and np.size(found[name]) == 1]  # fmt: skip
    if len(ranked) <= 2 * SHOWN:
        lines.append(("λ", ", ".join(ranked).removeprefix("λ: ")))
        lines.append(("λ interval", ", ".join(
            f"{low:.3g} to {high:.3g}" if math.isfinite(low + high) else "not known"
            for low, high in found["lam_interval"])))  # fmt: skip
    else:
        lines.append(("λ", f"{len(ranked)} of them, median {np.median(found['lam']):.4g}"))
        lines.append(("strongest", ", ".join(ranked[:SHOWN])))
        lines.append(("weakest", ", ".join(ranked[: -SHOWN - 1 : -1])))
    for word in sorted(set(filter(None, found["plateaus"])), reverse=True):
        own = [name for _, name, one in lams if one == word]
        lines.append((word, f"{len(own)} of {len(ranked)}: {listed(own, '{}')}"))
    return lines


def _curves(found: dict[str, Any]) -> Lines:
    """What the terms are worth together, and which are straight or gone."""
    worth = sum(one["edf"] for one in found["terms"])
    lines = [
        ("terms", f"{len(found['terms'])}, with {worth:.1f} effective degrees of freedom together")
    ]
    for word in ("straight", "gone"):
        own = [one["term"] for one in found["terms"] if one["plateau"] == word]
        lines += [(word, listed(own, "{}"))] if own else []
    return lines


def terms(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of terms."""

    def shown(number: float, text: str) -> str:
        return text if math.isfinite(number) else "–"

    def small(p: float) -> str:
        return shown(p, f"{p:.3f}" if p >= 1e-3 else f"{p:.1g}" if p > 1e-16 else "< 1e-16")

    rows = [
        [one["term"], f"{one['edf']:.2f}", str(one["size"]),
         shown(one["statistic"], f"{one['statistic']:.4g}"), small(one["p_value"]),
         one["plateau"] or " "]
        for one in found["terms"]
    ]  # fmt: skip
    return ["term", "edf", "of", found["terms"][0]["test"], "p-value", "at infinity"], rows


def as_json(found: dict[str, Any]) -> str:
    """JSON, with null for the numbers that it has no word for: not a number, and the infinite."""
    finite = json.loads(json.dumps(found), parse_constant=lambda word: None)
    return json.dumps(finite, indent=1, allow_nan=False)
