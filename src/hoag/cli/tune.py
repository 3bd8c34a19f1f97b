"""Tune the penalties of a model by the gradient of its cross-validated loss.

FILE is a CSV, TSV, svmlight or Parquet file, plain or packed (.gz, .bz2, .xz), "-" for CSV on
standard input, or one of scikit-learn's own: breast_cancer, diabetes, digits, iris, wine.

  hoag tune iris
  hoag tune houses.csv --target price --save houses.skops --report houses.html
  hoag tune patients.csv --target ill --drop id --penalties per-feature --json
  hoag tune claims.csv --target claims --model poisson --exposure years
  hoag tune houses.csv --target price --model gam --terms "s(size) + te(lat, lon) + kind"

Numbers are standardised, categories become columns of 0 and 1, dates days; what is missing is
filled in, and said. A gam reads columns as they are: a curve for each of numbers, a level for
each category. How a text file is written (--sep, --decimal, --encoding) is found out. The
rows are shuffled before they are split into folds. Exit code 3: done, but not converged.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoag.cli import dialect
from hoag.cli.families import (
    FAMILIES,
    GAM,
    LIKE,
    MODELS,
    WITHOUT_FOLDS,
    check_options,
    is_additive,
    power,
)

if TYPE_CHECKING:
    from hoag.cli.held_out import Judge
    from hoag.cli.progress import Progress
    from hoag.cli.rows import Data

PENALTIES = ("shared", "per-feature", "per-class", "per-coefficient", "per-target")
CRITERIA = ("log_loss", "brier", "squared_error", "huber")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the rows to tune on")
    data = parser.add_argument_group("data")
    data.add_argument("--target", action="append", metavar="COLUMN",
                      help="what to predict; a,b or repeated for several (ridge)")  # fmt: skip
    for option, does in (("drop", "leave columns out; a,b or repeated for several"),
                         ("category", "take numbers, or many values, for categories"),
                         ("text", "make numbers of the words of a column (tf-idf)")):  # fmt: skip
        data.add_argument(f"--{option}", action="append", default=[], metavar="COLUMN", help=does)
    data.add_argument("--weights", metavar="COLUMN", help="the column of sample weights")
    data.add_argument("--missing", choices=("impute", "drop", "error"), default="impute",
                      help="fill values in (default), leave rows out, or stop")  # fmt: skip
    dialect.add(data)
    data.add_argument("--no-scale", action="store_true", help="leave number columns as they are")
    data.add_argument("--blocks", action=argparse.BooleanOptionalAction,
                      help="read the file in blocks, or as a whole (blocks if it would take more "
                           "than a quarter of the free memory)")  # fmt: skip
    data.add_argument("--cache", metavar="FOLDER",
                      help="for the cache of partitions (beside the file)")  # fmt: skip
    model = parser.add_argument_group("model")
    model.add_argument("--model", choices=("auto", *MODELS), default="auto",
                       help="auto: logistic or ridge, by the target; gam: curves, each with its "
                            "own penalty")  # fmt: skip
    model.add_argument("--family", choices=tuple(LIKE),
                       help="what the target of a gam is like (by the target: classes or "
                            "gaussian)")  # fmt: skip
    model.add_argument("--terms", metavar="FORMULA",
                       help='what a gam is made of, as in mgcv: "s(age) + te(lat, lon) + site" '
                            "(all columns)")  # fmt: skip
    model.add_argument("--scale", choices=("family", "pearson"),
                       help="the dispersion of a gam of counts: 1, or estimated "
                            "(family: 1)")  # fmt: skip
    model.add_argument("--penalties", choices=PENALTIES, default="shared",
                       help="which coefficients share a penalty (shared: all)")  # fmt: skip
    model.add_argument("--standardize", action="store_true",
                       help="scale every column by the training rows of each fold")  # fmt: skip
    model.add_argument("--widths", choices=("shared", "per-feature"), default="shared",
                       help="of the kernel (kernel-ridge)")  # fmt: skip
    for option, does in (
            ("exposure", "what the mean is proportional to, such as years at risk "
                         "(poisson, gamma, tweedie)"),
            ("offset", "what is added to the log of the mean (poisson, gamma, tweedie)"),
            ("event", "1 where the time is that of an event, 0 where it is censored (cox)"),
            ("strata", "groups with a baseline hazard of their own (cox)")):  # fmt: skip
        model.add_argument(f"--{option}", metavar="COLUMN", help=does)
    model.add_argument("--power", type=power, metavar="P",
                       help="of the mean in the variance, from 1 to 2 (1.5), or tuned "
                            "(tweedie)")  # fmt: skip
    model.add_argument("--quantile", type=float, metavar="Q",
                       help="which one to predict, between 0 and 1 (0.5: the median)")  # fmt: skip
    model.add_argument("--epsilon", type=float, metavar="E",
                       help="how many spreads away an outlier begins (1.35; huber)")  # fmt: skip
    search = parser.add_argument_group("search")
    search.add_argument("--cv", type=_folds, metavar="N",
                        help="folds (5), or loo for ridge; of a gam what chooses penalties: "
                             "reml (as usual), gcv, alo, aic, bic, or folds")  # fmt: skip
    search.add_argument("--seed", type=int, default=0, help="of the shuffled folds (0)")
    search.add_argument("--criterion", choices=CRITERIA,
                        help="the held-out loss (log_loss or squared_error)")  # fmt: skip
    search.add_argument("--scoring", metavar="NAMES",
                        help="held-out scores, such as roc_auc,accuracy")  # fmt: skip
    search.add_argument("--bounds", nargs=2, type=float, metavar=("LOW", "HIGH"),
                        help="of λ, the log of the penalty (from the data)")  # fmt: skip
    search.add_argument("--tol", type=float, help="gain to stop at (1e-4; cox 1e-5)")
    search.add_argument("--starts", type=int, metavar="N",
                        help="descents, with several penalties (2 if cheap)")  # fmt: skip
    search.add_argument("--max-iter", type=int, default=100, help="most steps (100)")
    search.add_argument("--time-budget", type=float, metavar="SECONDS", help="for the search")
    search.add_argument("--checkpoint", metavar="PATH",
                        help="a file that the search goes on from if it is killed")  # fmt: skip
    search.add_argument("--certificate", choices=("auto", "none", "estimate", "bound"),
                        default="auto", help="the gradient's error (auto: if cheap)")  # fmt: skip
    search.add_argument("--jobs", type=int, metavar="N", help="folds at a time (1)")
    output = parser.add_argument_group("output")
    output.add_argument("--save", metavar="MODEL.skops", help="write the fitted pipeline")
    output.add_argument("--report", metavar="PAGE.html", help="write a page with figures")
    output.add_argument("--json", action="store_true", help="print JSON in place of the table")
    output.add_argument("-q", "--quiet", action="store_true", help="print warnings and errors only")


def run(args: argparse.Namespace) -> int:
    from hoag.cli import NOT_CONVERGED, blocks, held_out, page, rows, saved, summary, text
    from hoag.cli.progress import Progress

    told = _check_outputs(args)
    if args.model == GAM and args.family is not None:
        check_options(args, f"{GAM} {args.family}")
    elif args.model not in ("auto", GAM):
        check_options(args, args.model)
    why = blocks.asked(args)
    if why is not None:
        blocks.check(args, why)
    usual = 5 if args.family in ("huber", "quantile") else WITHOUT_FOLDS[0]  # no likelihoods
    args.chosen_by = (args.cv or usual) if args.model == GAM else None
    if not isinstance(args.cv, int) and args.cv != "loo":
        args.cv = 5  # a gam without folds of its own is judged on these, too
    with Progress(3 + bool(args.save or args.report), args.quiet) as progress:
        progress.stage(f"reading {args.file}{'' if why is None else ' in blocks'}")
        data = rows.read(args) if why is None else blocks.read(args, why)
        if data.blocks is not None:
            progress.say(blocks.sentence(args.file, why or "", data.blocks))
        progress.stage(f"tuning and refit on {data.X.shape[0]} × {data.X.shape[1]}")
        family = FAMILIES[data.model]
        scores = held_out.check_names(args.scoring, family, data.y) if why is None else []
        judge = held_out.Judge(scores, family)
        tuned, seconds, warned = _fit(_estimator(args, data, judge, progress), data)
        progress.stage("comparing with a constant")
        compared = _compared(args, data, tuned, judge)
        told = [*data.told, *told, *judge.told.values(), *warned]
        found = summary.summary(args, data, tuned, seconds, told, judge, compared)
        if args.save or args.report:
            progress.stage("writing")
        if args.save:
            saved.write(args.save, data, tuned, found)
        if args.report:
            page.page(found, tuned, data, judge.seen).write(args.report)
    for message in found["warnings"]:
        text.warn(message)
    if args.json:
        print(summary.as_json(found))
    elif not args.quiet:
        print(text.table((), summary.rows(found)))
        if found["terms"]:
            print("\n" + text.table(*summary.terms(found)))
    return 0 if tuned.result_.status.converged else NOT_CONVERGED


def _compared(args: argparse.Namespace, data: Data, tuned: Any, judge: Judge) -> dict[str, Any]:
    """The model beside a constant, fold by fold.

    Penalties of their own are tuned on the folds that judge them, and gain on noise: what one for
    all learns is asked too, which costs little beside them.
    """
    from sklearn.base import clone

    from hoag.cli import additive, blocks, held_out

    splits = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small classes: the fit has said so
        if data.blocks is not None:
            splits = blocks.folds(_splitter(args, data), data.y)
        elif args.cv != "loo":
            splits = list(_splitter(args, data).split(data.X, _strata(data)))
    if is_additive(data.model):
        additive.judged(tuned, data, judge, splits or [])
    compared = held_out.compared(judge, data, tuned, splits)
    kind = "widths" if data.model == "kernel-ridge" else "penalties"
    one, baseline = None, compared["baseline"]
    if baseline["learnt"] and getattr(args, kind) != "shared":
        alone = held_out.Judge([], judge.family)
        scoring = alone if data.blocks is None else None
        plain = {kind: "shared", "scoring": scoring, "callback": None, "checkpoint": None}
        again = clone(tuned).set_params(**plain)
        _fit(again, data)
        one = held_out.compared(alone, data, again, splits)["baseline"]
        one = {name: one[name] for name in ("gain", "standard_error", "learnt")}
    learnt = baseline["learnt"] and (one is None or one["learnt"])
    return compared | {"baseline": baseline | {"one_for_all": one, "learnt": learnt}}


def _folds(value: str) -> int | str:
    if value == "loo" or value in WITHOUT_FOLDS:
        return value
    if not value.isdigit() or int(value) < 2:
        raise argparse.ArgumentTypeError(f"{value!r}: give a number of folds from 2 on, or loo")
    return int(value)


def _check_outputs(args: argparse.Namespace) -> list[str]:
    """Whatever would fail at the end had better fail now; also what to say about names."""
    from hoag.cli import outputs
    from hoag.cli.tables import need

    if args.save:
        need("skops.io")
    if args.report:
        need("matplotlib.figure")
    names = ("save", "report", "checkpoint")
    files = {f"--{name}": getattr(args, name) for name in names}
    outputs.check({"FILE": args.file}, files, {"--cache": args.cache})
    if args.save and Path(args.save).suffix.lower() in (".pkl", ".pickle", ".joblib"):
        return [
            f"{args.save} is in the format of skops, whatever its name: load it with "
            "skops.io.load, and not with pickle or joblib."
        ]
    return []


def _estimator(args: argparse.Namespace, data: Data, judge: Judge, progress: Progress) -> Any:
    """The estimator that the options ask for, not fitted."""
    import hoag
    from hoag.cli import additive, families

    curves = is_additive(data.model)
    options: dict[str, Any] = {
        "bounds": "auto" if args.bounds is None else tuple(args.bounds),
        "max_iter": args.max_iter,
        "time_budget": args.time_budget,
        "n_jobs": args.jobs,
        "checkpoint": args.checkpoint,
        "callback": _steps(progress, args.max_iter, "loss" if curves else "held-out loss"),
        **families.given(args, ("tol", "starts")),
    }
    if curves:
        cv = args.chosen_by if isinstance(args.chosen_by, str) else _splitter(args, data)
        return additive.estimator(args, data, judge, {"cv": cv, **options})
    options |= {
        "cv": None if args.cv == "loo" else _splitter(args, data),
        "scoring": judge if data.blocks is None else None,
        "certificate": args.certificate,
        **families.given(args, ("criterion", *judge.family.settings)),
    }
    kernel = data.model == "kernel-ridge"
    if kernel and args.widths == "per-feature" and data.columns is None:
        raise ValueError("--widths per-feature needs named columns, not an svmlight file.")
    shared = {"widths": args.widths} if kernel else {"penalties": args.penalties}
    if not kernel:
        shared["standardize"] = args.standardize
    return getattr(hoag, judge.family.estimator)(**shared, **options)


def _strata(data: Data) -> Any:
    """What folds are stratified by, where they are: classes, or events."""
    return data.y["event"].astype(int) if data.model == "cox" else data.y


def _splitter(args: argparse.Namespace, data: Data) -> Any:
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    rows, classes = len(data.y), FAMILIES[data.model].classifies
    most = int(np.unique(data.y, return_counts=True)[1].max()) if classes else rows
    if data.model == "cox":
        most = int(data.y["event"].sum())
    if most < args.cv:
        whose = "the largest class has" if classes else f"{args.file} has"
        raise ValueError(
            f"--cv {args.cv} needs {args.cv} rows or more, and {whose} {most}: "
            + ("give more rows." if most < 2 else f"--cv {most} is the most.")
        )
    kind = StratifiedKFold if classes or data.model == "cox" else KFold
    return kind(args.cv, shuffle=True, random_state=args.seed)


def _steps(progress: Progress, most: int, what: str) -> Any:
    def tell(step: Any) -> None:
        loss = step.evaluation.value
        progress.step(f"step {step.k} of ≤ {most}, {what} {loss:.4g}")

    return tell


def _fit(estimator: Any, data: Data) -> tuple[Any, float, list[str]]:
    """The estimator fitted, the seconds that took, and the warnings."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", kind)
        if data.blocks is None:
            estimator.fit(data.X, data.y, sample_weight=data.weights, **data.given)
        else:
            estimator.fit(data.X)
    told = dict.fromkeys(str(warning.message) for warning in caught)
    return estimator, time.perf_counter() - start, list(told)
