"""What a tuned model is told about: one dict, shown as a table, as JSON and as a page."""

from __future__ import annotations

import json
import math
import platform
import shlex
from typing import Any

import numpy as np

import hoag

LOSSES = {
    "log_loss": "log loss",
    "brier": "Brier loss",
    "squared_error": "squared error",
    "huber": "Huber loss",
}
SHOWN = 5  # strongest and weakest penalties in the table
ON_PAGE = 40  # on the page


def summary(args: Any, data: Any, tuned: Any, seconds: float, told: list[str]) -> dict[str, Any]:
    """Everything, as plain numbers, text and lists."""
    result = tuned.result_
    scores = tuned.scores_[tuned.scoring]
    strength = {name.rstrip("_"): _plain(value) for name, value in tuned._named(tuned.lam_).items()}
    return {
        "hoag": hoag.__version__,
        "file": args.file,
        "rows": data.X.shape[0],
        "columns": data.X.shape[1] if data.kinds is None else len(data.kinds),
        "features": data.X.shape[1],
        "target": data.targets[0] if len(data.targets) == 1 else data.targets,
        "model": data.model,
        "why": data.why,
        "penalties": args.widths if data.model == "kernel-ridge" else args.penalties,
        "scaled": data.columns is not None and not args.no_scale,
        "cv": args.cv,
        "seed": None if args.cv == "loo" else args.seed,
        "criterion": tuned.criterion,
        "held_out_loss": tuned.criterion_,
        "score": {"name": tuned.scoring, "mean": _plain(scores.mean()), "folds": _plain(scores)},
        "lam": _plain(tuned.lam_),
        "names": lam_names(tuned, data),
        "lam_interval": _plain(tuned.lam_interval_),
        "bounds": args.bounds,
        **strength,
        "gradient": _plain(result.grad),
        "gradient_error": result.evaluation.error,
        "gradient_bound": result.evaluation.bound,
        "tol": args.tol,
        "steps": tuned.n_iter_,
        "passes": result.cost.passes,
        "seconds": seconds,
        "status": result.status.reason,
        "sentence": result.status.sentence,
        "converged": result.status.converged,
        "warnings": told,
        "saved": args.save,
        "report": args.report,
    }


def lam_names(tuned: Any, data: Any) -> list[str]:
    """The name of every λ: of its feature, class or target."""
    size = tuned.lam_.size
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


def rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of the table."""
    made = found["features"] - found["columns"]
    shape = f"{found['rows']} × {found['columns']}"
    loss = f"{LOSSES[found['criterion']]} {_short(found['held_out_loss'], 5)} per row"
    score = {"accuracy": "accuracy", "r2": "R²"}[found["score"]["name"]]
    kernel = found["model"] == "kernel-ridge"
    kind = "" if found["penalties"] == "shared" else f", {found['penalties']} "
    kind += ("widths" if kernel else "penalties") if kind else ""
    target = found["target"]
    return [
        ("rows × columns", shape + (f", {found['features']} after one-hot" if made else "")),
        ("target", target if isinstance(target, str) else ", ".join(target)),
        ("model", found["model"] + kind + (f" ({found['why']})" if found["why"] else "")),
        *_strengths(found),
        ("held-out loss", f"{loss}, {_mean_of(found)}"),
        ("held-out score", f"{score} {_short(found['score']['mean'])}"),
        ("certificate", _certificate(found)),
        ("cost", f"{found['passes']:.0f} passes over the data, {_counted(found['steps'], 'step')}, "
                 f"{found['seconds']:.2f} s"),
        ("stopped", found["sentence"]),
        *((what, found[name]) for what, name in (("model file", "saved"), ("page", "report"))
          if found[name]),
    ]  # fmt: skip


def _mean_of(found: dict[str, Any]) -> str:
    if found["cv"] == "loo":
        return "each row left out once"
    return f"mean of {found['cv']} folds (shuffled, seed {found['seed']})"


def _strengths(found: dict[str, Any]) -> list[tuple[str, str]]:
    """λ and what scikit-learn calls it, with its interval; the extremes where there are many."""
    lam, names, ends = found["lam"], found["names"], found["lam_interval"]
    within = f"(the loss is within {100 * found['tol']:g} % of this)"
    if not found["converged"]:
        within = "(estimated where the search stopped, before it had converged)"
    if found["model"] == "kernel-ridge" and len(lam) == 2:
        words = [("γ", found["gamma"]), ("α", found["alpha"])]
        lines = [
            (name, f"{_short(value)} ({word} = {_short(strength)})")
            for name, value, (word, strength) in zip(names, lam, words, strict=True)
        ]
        where = ", ".join(f"{name} {_between(end)}" for name, end in zip(names, ends, strict=True))
        return [*lines, ("λ interval", f"{where} {within}")]
    if len(lam) == 1:
        first, second = ("C", "alpha") if "C" in found else ("alpha", "")
        also = f", {second} = {_short(_only(found[second]))}" if second else ""
        return [
            ("λ", f"{_short(lam[0])} ({first} = {_short(_only(found[first]))}{also})"),
            ("λ interval", f"{_between(ends[0])} {within}"),
        ]
    return _many(found)


def _many(found: dict[str, Any]) -> list[tuple[str, str]]:
    lam, names = found["lam"], found["names"]
    kernel = found["model"] == "kernel-ridge"
    own = list(zip(names, lam, strict=True))
    lines = []
    if kernel:
        lines.append(("log α", f"{_short(lam[-1])} (α = {_short(found['alpha'])})"))
        own = [(name.removeprefix("log γ of "), value) for name, value in own[:-1]]
    ranked = sorted(own, key=lambda pair: pair[1])
    spread = ", ".join(
        f"{word} {_short(ranked[place][1])}"
        for word, place in (("least", 0), ("median", len(ranked) // 2), ("most", -1))
    )
    what = "log γ" if kernel else "λ"
    if len(ranked) <= 2 * SHOWN:
        shown = ", ".join(f"{name}: {_short(value)}" for name, value in ranked)
        return [*lines, (what, shown)]
    lines.append((what, f"{len(ranked)} of them: {spread}"))
    low, high = ("small γ", "large γ") if kernel else ("weakest", "strongest")
    for word, part in ((high, ranked[: -SHOWN - 1 : -1]), (low, ranked[:SHOWN])):
        lines.append((word, ", ".join(f"{name}: {_short(value)}" for name, value in part)))
    return lines


def _certificate(found: dict[str, Any]) -> str:
    size = math.sqrt(sum(value**2 for value in found["gradient"]))
    if found["cv"] == "loo":
        return f"gradient {size:.1e}, exact up to rounding"
    error, bound = found["gradient_error"], found["gradient_bound"]
    measured = "its error was not measured" if math.isnan(error) else f"estimated error {error:.1e}"
    proved = f", rigorous bound {bound:.1e}" if math.isfinite(bound) else ""
    return f"gradient {size:.1e}, {measured}{proved}"


def as_json(found: dict[str, Any]) -> str:
    return json.dumps(_finite(found), indent=1, allow_nan=False)


def page(found: dict[str, Any], tuned: Any, named: bool) -> Any:
    """The page of a tuned model, whose columns are `named` or numbered."""
    from matplotlib.figure import Figure

    from hoag.plot import TuningDisplay
    from hoag.report import Page

    page = Page(f"{found['model']} tuned on {found['file']}", found["sentence"])
    for message in found["warnings"]:
        page.text(f"Warning: {message}")
    page.section("What was found")
    page.table(("", ""), rows(found))
    page.section("The search")
    figure = Figure(figsize=(13.5, 3.9), layout="constrained")
    one = found["names"] == ["λ"]
    labels = ["λ = log α"] if one else list(found["names"])
    TuningDisplay(tuned.result_, interval=tuned.lam_interval_, names=labels).plot(
        figure.subplots(1, 3)
    )
    page.figure(figure, "The path of λ, the held-out loss, and the loss by passes over the data.")
    if len(found["lam"]) > 1:
        page.section("The penalties")
        _penalties(page, found)
    page.section("How to use it")
    _usage(page, found, named)
    page.section("Versions")
    page.text(versions(), "soft")
    return page


def _penalties(page: Any, found: dict[str, Any]) -> None:
    ranked = sorted(zip(found["lam"], found["names"], strict=True), reverse=True)
    if len(ranked) > ON_PAGE:
        half = ON_PAGE // 2
        page.text(f"The {half} largest and the {half} smallest of {len(ranked)}.")
        ranked = [*ranked[:half], *ranked[-half:]]
    strengths = [math.exp(min(lam, 700.0)) for lam, _ in ranked]
    lines = [(n, _short(lam), _short(a)) for (lam, n), a in zip(ranked, strengths, strict=True)]
    page.table(("name", "λ", "exp(λ)"), lines)


def _usage(page: Any, found: dict[str, Any], named: bool) -> None:
    if not found["saved"]:
        page.text("The model was not saved; hoag tune … --save model.skops does.")
        return
    saved = shlex.quote(found["saved"])
    page.text(f"On the command line: hoag predict {saved} FILE --out predictions.csv")
    page.text(
        "In Python, with scikit-learn and skops alone: "
        f"import skops.io; model = skops.io.load({found['saved']!r}); model.predict(rows), "
        f"where rows is a {'pandas frame with the same columns' if named else 'matrix'}."
    )


def versions() -> str:
    import numpy
    import scipy
    import sklearn

    return (
        f"hoag {hoag.__version__}, scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}, "
        f"NumPy {numpy.__version__}, Python {platform.python_version()}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _only(value: Any) -> float:
    """The number of an array of one."""
    while isinstance(value, list):
        value = value[0]
    return float(value)


def _finite(value: Any) -> Any:
    """The same with None for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _short(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}"


def _between(ends: list[float]) -> str:
    return f"{_short(ends[0], 3)} to {_short(ends[1], 3)}"
