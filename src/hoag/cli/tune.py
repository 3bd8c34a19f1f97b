"""Tune the penalties of a model by the gradient of its cross-validated loss.

FILE is a CSV, TSV, svmlight or Parquet file, plain or packed (.gz, .bz2, .xz), "-" for CSV on
standard input, or one of scikit-learn's own: breast_cancer, diabetes, digits, iris, wine.

  hoag tune iris
  hoag tune houses.csv --target price --save houses.skops --report houses.html
  hoag tune patients.csv --target ill --drop id --penalties per-feature --json
  hoag tune claims.csv --target claims --model poisson --exposure years
  hoag tune houses.csv --target price --model gam --terms "s(size) + te(lat, lon) + kind"
  hoag predict houses.skops new-houses.csv --explain 3

The answer comes first: how good the model is on rows that it was not fitted to. Numbers are
standardised, categories become columns of 0 and 1, dates days; what is missing is filled in, and
said. A gam reads columns as they are: a curve for each of numbers, a level for each category.
How a text file is written (--sep, --decimal, --encoding) is found out. The rows are shuffled
before they are split into folds. Exit code 3: done, but not converged.
"""

from __future__ import annotations

import argparse
import shlex
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoag.cli import families, tables
from hoag.cli.families import FAMILIES, GAM, LIKE, MODELS, WITHOUT_FOLDS, is_additive, plain, power

if TYPE_CHECKING:
    from hoag.cli import Progress
    from hoag.cli.judge import Jury
    from hoag.cli.rows import Data

PENALTIES = ("shared", "per-feature", "per-class", "per-coefficient", "per-target")
CRITERIA = ("log_loss", "brier", "squared_error", "huber")
CERTIFICATES = ("none", "estimate", "bound")
EACH_ROW = ("loo", "alo")  # each row is left out once


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the rows to tune on")
    data = parser.add_argument_group("data")
    some: dict[str, Any] = {"action": "append", "default": [], "metavar": "COLUMN"}
    add = data.add_argument
    add("--target", action="append", metavar="COLUMN", help="what to predict; several for ridge")
    add("--drop", **some, help="leave columns out; a,b or repeated for several")
    add("--category", **some, help="take numbers, or many values, for categories")
    add("--text", **some, help="make numbers of the words of a column (tf-idf)")
    add("--weights", metavar="COLUMN", help="the column of sample weights")
    add("--missing", choices=("impute", "drop", "error"), default="impute",
        help="fill values in (default), leave rows out, or stop")  # fmt: skip
    tables.add(data)
    add("--no-scale", action="store_true", help="leave number columns as they are")
    add("--blocks", action=argparse.BooleanOptionalAction, help="read the file in blocks, or as a "
        "whole (blocks if it would take more than a quarter of the free memory)")  # fmt: skip
    add("--cache", metavar="FOLDER", help="for the cache of partitions (beside the file)")
    add = parser.add_argument_group("model").add_argument
    add("--model", choices=("auto", *MODELS), default="auto", help="auto: logistic or ridge, by "
        "the target; gam: curves, each with its own penalty")  # fmt: skip
    add("--family", choices=tuple(LIKE), help="what the target of a gam is like (by the target)")
    add("--terms", metavar="FORMULA", help="what a gam is made of, as in mgcv: "
        '"s(age) + te(lat, lon) + site" (all columns)')  # fmt: skip
    add("--scale", choices=("family", "pearson"), help="the dispersion of a gam of counts: 1, or "
        "estimated (family: 1)")  # fmt: skip
    add("--penalties", choices=PENALTIES, help="which coefficients share a penalty (shared: all)")
    add("--shrink", type=_shrink, metavar="STRENGTH", help="draw several penalties towards their "
        "mean: a number, or auto")  # fmt: skip
    add("--standardize", action="store_true", help="scale columns by the training rows of folds")
    add("--widths", choices=("shared", "per-feature"), help="of the kernel (kernel-ridge; shared)")
    add("--exposure", metavar="COLUMN", help="what the mean is proportional to, such as years at "
        "risk (poisson, gamma, tweedie)")  # fmt: skip
    add("--offset", metavar="COLUMN", help="what is added to the log of the mean (the same)")
    add("--event", metavar="COLUMN", help="1 where the time is that of an event, 0 where it is "
        "censored (cox)")  # fmt: skip
    add("--strata", metavar="COLUMN", help="groups with a baseline hazard of their own (cox)")
    add("--power", type=power, metavar="P", help="of the mean in the variance, from 1 to 2 (1.5), "
        "or tuned (tweedie)")  # fmt: skip
    add(
        "--quantile",
        type=float,
        metavar="Q",
        help="which to predict, from 0 to 1 (0.5: the median)",
    )
    add("--epsilon", type=float, metavar="E", help="spreads from where on rows are outliers (1.35)")
    add = parser.add_argument_group("search").add_argument
    add("--cv", type=_folds, metavar="N", help="what chooses the penalties: a number of folds (5), "
        "loo (ridge), or without folds alo, gcv, aic, bic or reml (usual of a gam)")  # fmt: skip
    add("--rule", choices=("best", "1se"), default="best", help="the least loss (best), or the "
        "strongest penalty within one standard error of it")  # fmt: skip
    add("--seed", type=int, default=0, help="of the shuffled folds (0)")
    add("--criterion", choices=CRITERIA, help="the held-out loss (log_loss or squared_error)")
    add("--scoring", metavar="NAMES", help="held-out scores, such as roc_auc,accuracy")
    add("--bounds", nargs=2, type=float, metavar=("LOW", "HIGH"), help="of λ, the log of the "
        "penalty (from the data)")  # fmt: skip
    add("--tol", type=float, help="gain to stop at (1e-4; cox 1e-5)")
    add("--starts", type=int, metavar="N", help="descents, with several penalties (2 if cheap)")
    add("--max-iter", type=int, default=100, help="most steps (100)")
    add("--time-budget", type=float, metavar="SECONDS", help="for the search")
    add("--checkpoint", metavar="PATH", help="a file that the search goes on from if it is killed")
    add("--certificate", choices=CERTIFICATES, help="the gradient's error (if cheap)")
    add("--jobs", type=int, metavar="N", help="folds at a time (1)")
    add = parser.add_argument_group("output").add_argument
    add("--save", metavar="MODEL.skops", help="write the fitted pipeline")
    add("--report", metavar="PAGE.html", help="write a page with figures")
    add("--json", action="store_true", help="print JSON in place of sentences")
    add("-v", "--verbose", action="store_true", help="print all numbers, too")
    add("-q", "--quiet", action="store_true", help="print warnings and errors only")


def run(args: argparse.Namespace) -> int:
    from hoag import cli
    from hoag.cli import judge, report, rows, saved, summary

    told = _check_outputs(args)
    asked = f"{GAM} {args.family}" if args.model == GAM and args.family else args.model
    if asked not in ("auto", GAM):
        families.check_options(args, asked)
    why = rows.why_blocks(args)
    with cli.Progress(3 + bool(args.save or args.report), args.quiet) as progress:
        progress.stage(f"reading {args.file}{'' if why is None else ' in blocks'}")
        data = rows.read(args) if why is None else rows.read_blocks(args, why)
        if data.blocks is not None:
            progress.say(summary.blocks(args.file, why or "", data.blocks))
        progress.stage(f"tuning and refit on {data.X.shape[0]} × {data.X.shape[1]}")
        family = FAMILIES[data.model]
        scores = judge.check_names(args.scoring, family, data.y) if why is None else []
        _settle_folds(args, data)
        jury = judge.Jury(scores, family)
        tuned, seconds, warned = _fit(_estimator(args, data, jury, progress), data)
        progress.stage("comparing with a constant")
        compared = _compared(args, data, tuned, jury)
        told = [*data.told, *told, *jury.told.values(), *warned]
        found = {"command": _again(args)} | summary.summary(
            args, data, tuned, seconds, told, jury, compared
        )
        if args.save or args.report:
            progress.stage("writing")
        if args.save:
            saved.write(args.save, data, tuned, found)
        if args.report:
            report.page(found, tuned, data, jury).write(args.report)
    for message in found["warnings"]:
        cli.warn(message)
    if args.json:
        print(summary.as_json(found))
    elif not args.quiet:
        print("\n".join(summary.sentences(found)))
        if args.verbose:
            print("\n" + cli.table((), summary.rows(found)))
        if args.verbose and found["terms"]:
            print("\n" + cli.table(*summary.terms(found)))
    return 0 if tuned.result_.status.converged else cli.NOT_CONVERGED


def _again(args: argparse.Namespace) -> str:
    """The command as it was given, but for where it wrote."""
    outputs = ("--save", "--report", "--json", "--quiet", "-q", "--verbose", "-v")
    words = [word for k, word in enumerate(args.given)
             if word not in outputs and args.given[k - 1] not in outputs[:2]]  # fmt: skip
    return f"hoag {shlex.join(words)}"


def _settle_folds(args: argparse.Namespace, data: Data) -> None:
    """What chooses the penalties, and what judges: a number of folds, or each row left out."""
    additive = is_additive(data.model)
    usual = 5 if plain(data.model) in ("huber", "quantile") else WITHOUT_FOLDS[0]
    args.chosen_by = args.cv or (usual if additive else 5)
    args.nested = additive or args.chosen_by in set(WITHOUT_FOLDS) - set(EACH_ROW)
    if args.nested and not isinstance(args.cv, int):
        args.cv = 5  # rows are judged on these
    args.cv = args.cv or 5
    args.splitter = None if args.cv in EACH_ROW else _splitter(args, data)


def _splitter(args: argparse.Namespace, data: Data) -> Any:
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    classes, kind, most = FAMILIES[data.model].classifies, KFold, len(data.y)
    if classes or data.model == "cox":
        kind = StratifiedKFold
        counts = np.unique(data.y, return_counts=True)[1] if classes else data.y["event"].sum()
        most = int(np.max(counts))
    if most < args.cv:
        whose = "the largest class has" if classes else f"{args.file} has"
        more = "give more rows." if most < 2 else f"--cv {most} is the most."
        raise ValueError(f"--cv {args.cv} needs that many rows, and {whose} {most}: {more}")
    return kind(args.cv, shuffle=True, random_state=args.seed)


def _compared(args: argparse.Namespace, data: Data, tuned: Any, jury: Jury) -> dict[str, Any]:
    """The model beside a constant, fold by fold.

    Penalties of their own are tuned on the folds that judge them, and gain on noise: what one for
    all learns is asked too, which costs little beside them.
    """
    from sklearn.base import clone

    from hoag.cli import judge

    splits = _splits(args, data)
    cv = (None if args.cv == "loo" else args.cv) if splits is None else args.splitter

    def judged(model: Any, own: Jury) -> dict[str, Any]:
        if args.nested:
            judge.nested(model, data, own, splits)
        return judge.compared(own, data, model, cv, splits, not args.nested)

    compared = judged(tuned, jury)
    kind = "widths" if data.model == "kernel-ridge" else "penalties"
    one, baseline = None, compared["baseline"]
    if baseline["learnt"] and (getattr(args, kind) or "shared") != "shared":
        other = judge.Jury([], jury.family)
        options: dict[str, Any] = {kind: "shared", "callback": None, "checkpoint": None}
        options |= {} if kind == "widths" else {"shrink": None}
        options |= {} if tuned.scoring is None else {"scoring": other}
        alone, _, _ = _fit(clone(tuned).set_params(**options), data)
        one = judged(alone, other)["baseline"]
        one = {name: one[name] for name in ("gain", "standard_error", "learnt")}
        baseline |= {"learnt": bool(one["learnt"])}
    return compared | {"baseline": {**baseline, "one_for_all": one}}


def _splits(args: argparse.Namespace, data: Data) -> Any:
    """Training and held-out rows of every fold; None where each row is left out once."""
    import numpy as np

    if args.splitter is None:
        return None
    strata = data.y["event"].astype(int) if data.model == "cox" else data.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small classes: the fit has said so
        if data.blocks is None:
            return list(args.splitter.split(data.X, strata))
        held = np.empty(len(strata), dtype=np.int16)  # masks: numbers of rows take eight times that
        for k, (_, test) in enumerate(args.splitter.split(np.zeros(len(strata)), strata)):
            held[test] = k
    return [(held != k, held == k) for k in range(args.cv)]


def _check_outputs(args: argparse.Namespace) -> list[str]:
    """What would fail or be lost at the end fails now; returns what is to be said of names."""
    tables.check_outputs(
        {"FILE": args.file},
        {"--save": args.save, "--report": args.report, "--checkpoint": args.checkpoint},
        {"--cache": args.cache},
    )
    if args.save:
        tables.need("skops.io")
    if args.report:
        tables.need("matplotlib")
    if args.save and Path(args.save).suffix in (".pkl", ".pickle", ".joblib"):
        return [f"{args.save} is in the format of skops, whatever its name: skops.io reads it."]
    return []


def _folds(value: str) -> int | str:
    if value in ("loo", *WITHOUT_FOLDS):
        return value
    if not value.isdigit() or int(value) < 2:
        words = ", ".join(WITHOUT_FOLDS)
        raise argparse.ArgumentTypeError(f"{value!r}: give a number from 2 on, loo, or {words}")
    return int(value)


def _shrink(value: str) -> float | str:
    try:
        return value if value == "auto" else float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{value!r}: give a number from 0 on, or auto") from None


def _estimator(args: argparse.Namespace, data: Data, jury: Jury, progress: Progress) -> Any:
    """The model that the options ask for, not fitted."""
    import hoag

    what = "loss" if is_additive(data.model) else "held-out loss"

    def tell(step: Any) -> None:
        progress.step(f"step {step.k} of ≤ {args.max_iter}, {what} {step.evaluation.value:.4g}")

    by_word = isinstance(args.chosen_by, str)
    cv = None if args.chosen_by == "loo" else args.chosen_by if by_word else args.splitter
    options: dict[str, Any] = {
        "cv": cv,
        "bounds": "auto" if args.bounds is None else tuple(args.bounds),
        "max_iter": args.max_iter,
        "n_jobs": args.jobs,
        "checkpoint": args.checkpoint,
        "callback": tell,
        **families.given(args, ("tol", "rule")),
    }
    limits = families.given(args, ("time_budget", "starts", "certificate"))
    if limits:
        limits |= {"max_iter": args.max_iter, **families.given(args, ("tol",))}
        options["search"] = hoag.optimize.Auto(**limits)
    own = families.given(args, jury.family.settings)
    if is_additive(data.model):
        from hoag.cli import rows

        options["terms"] = rows.terms(args.terms, data.known)
        if jury.family.classifies:
            return hoag.GAMClassifierCV(**options)
        word = plain(data.model)
        family = getattr(hoag, FAMILIES[LIKE[word]].estimator)(**own) if own else word
        return hoag.GAMRegressorCV(family=family, scale=args.scale or "family", **options)
    names = ["widths"] if data.model == "kernel-ridge" else ["penalties", "shrink"]
    options |= families.given(args, (*names, "criterion")) | own
    if args.standardize:
        options["standardize"] = True
    options["scoring"] = jury if data.blocks is None and not args.nested else None
    return getattr(hoag, jury.family.estimator)(**options)


def _fit(estimator: Any, data: Data) -> tuple[Any, float, list[str]]:
    """The estimator fitted, the seconds that took, and the warnings.

    That a search stopped is told from its status.
    """
    from sklearn.exceptions import ConvergenceWarning

    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", kind)
        if data.blocks is None:
            estimator.fit(data.X, data.y, sample_weight=data.weights, **data.given)
        else:
            estimator.fit(data.X)
    stopped = estimator.result_.status.ended
    told = dict.fromkeys(
        str(one.message) for one in caught
        if not (issubclass(one.category, ConvergenceWarning) and stopped in str(one.message))
    )  # fmt: skip
    return estimator, time.perf_counter() - start, list(told)
