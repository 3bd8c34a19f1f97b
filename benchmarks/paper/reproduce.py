"""Run the experiments of the paper: figures, the rows behind them, and one page to read.

Without options it runs on data sets that scikit-learn brings along, in about a minute and a half.
Finished runs are kept in DIR/rows and not run again, so an interrupted command goes on where it
was. `--data paper` is 20news, real-sim (IMDB where that cannot be had), Parkinsons and MNIST.

    python benchmarks/paper
    python benchmarks/paper --data paper --seeds 5 --budget 60s --out paper
    python benchmarks/paper --figure methods --data 20news --seeds 5
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hoag import cli
from hoag.cli import tables, warn

FIGURES = ("gradient", "tolerance", "methods", "many", "costs")
SMALL_BUDGET, BUDGET = 2.0, 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is asked for; return the exit code, those of `hoag`."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--figure",
        action="append",
        choices=(*FIGURES, "mnist"),
        help="only this one, repeatable: gradient (the paper's first), tolerance, methods, many "
        "(MNIST's, so also mnist), costs",
    )
    parser.add_argument(
        "--data",
        action="append",
        metavar="NAME",
        help="a case, repeatable; 'small' (the default) and 'paper' stand for four each",
    )
    parser.add_argument("--seeds", type=_count, default=1, help="number of random splits (1)")
    parser.add_argument(
        "--budget",
        type=_seconds,
        help="time for one run, such as 30s or 2m (default 60s; 2s for the small ones)",
    )
    parser.add_argument("--out", type=Path, default=Path("reproduction"), metavar="DIR",
                        help="where figures, rows and page go (default: %(default)s)")  # fmt: skip
    parser.add_argument("--format", choices=("parquet", "csv"), help="of the rows")
    parser.add_argument("--draw", action="store_true", help="run nothing: draw what was run before")
    parser.add_argument("--json", action="store_true", help="print the claims as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=run)
    return cli.answer(parser.parse_args(argv))


def run(args: argparse.Namespace) -> int:
    _check_packages()
    from paper import cases, claims, figures, page, runs
    from paper.rows import Rows
    from paper.sheets import VERDICTS, Markdown, Sheet, png

    tables.check_outputs({}, {}, {"--out": str(args.out)})
    names = _cases(args)
    wanted = _figures(args.figure, names)
    small = set(names) <= set(cases.SMALL)
    budget = args.budget or (SMALL_BUDGET if small else BUDGET)
    form = args.format or ("parquet" if importlib.util.find_spec("pyarrow") else "csv")
    store = runs.Store(args.out / "rows", form)
    jobs = runs.jobs(wanted, names, args.seeds)
    if not args.draw:
        left = [job for job in jobs if not store.finished(job, budget)]
        try:
            failed = _run(left, store, budget, args.quiet)
        except KeyboardInterrupt:
            kept = sum(store.finished(job, budget) for job in left)
            warn(
                f"{kept} of {len(left)} runs are kept in {store.folder}: the same command goes on."
            )
            raise
        for job, reason in failed.items():
            warn(f"{job.stem} failed and is left out. {reason}")
    frame = store.rows(jobs)
    if not len(frame):
        raise ValueError(f"There are no rows of {', '.join(names)} in {store.folder}: run them.")
    rows = Rows(frame)
    shown = [name for name in wanted if name in figures.possible(rows)]
    if shown != wanted:
        warn(f"No rows for the figure {', '.join(name for name in wanted if name not in shown)}.")
    found = claims.check(rows, shown)
    pictures = {name: png(figures.FIGURES[name](rows)) for name in shown}
    for document in (Sheet(page.TITLE), Markdown(page.TITLE)):
        page.write(document, rows, shown, found, pictures)
        document.write(args.out / f"reproduction{document.suffix}")
    if args.json:
        print(json.dumps([claim.__dict__ for claim in found], indent=2, ensure_ascii=False))
    else:
        for claim in found:
            ours = "Ours, not the paper's: " if claim.ours else ""
            print(f"{VERDICTS[claim.holds]:>15}  {claim.figure:9}  {ours}{claim.says}")
        print(f"\nThe page is {args.out / 'reproduction.html'}; pictures and rows are beside it.")
    return 0


def _figures(asked: list[str] | None, names: list[str]) -> list[str]:
    """The figures asked for, or all that these cases can give."""
    from paper.cases import CASES

    few = [CASES[name] for name in names if not CASES[name].many]
    can = {
        "gradient": any(case.curve for case in few),
        "many": len(few) < len(names),
        **dict.fromkeys(("tolerance", "methods", "costs"), bool(few)),
    }
    wanted = ["many" if name == "mnist" else name for name in asked or FIGURES]
    cannot = [name for name in wanted if not can[name]]
    if asked and cannot:
        raise ValueError(
            f"{', '.join(names)} cannot give the figure {', '.join(cannot)}: 'many' needs mnist or "
            "digits, 'gradient' a case with one penalty, the others any case but mnist and digits."
        )
    return [name for name in FIGURES if name in wanted and can[name]]


def _run(jobs: list[Any], store: Any, budget: float, quiet: bool) -> dict[Any, str]:
    """What failed, and why; with a bar for the whole, in expected seconds, where somebody looks."""
    from tqdm import tqdm

    from paper import runs

    with tqdm(
        total=sum(job.seconds(budget) for job in jobs),
        bar_format="{percentage:3.0f} % {bar:30} {elapsed} gone, {remaining} left  {desc}",
        disable=quiet or not sys.stderr.isatty(),
    ) as bar:

        def finished(job: Any) -> None:
            bar.set_description_str(job.stem, refresh=False)
            bar.update(job.seconds(budget))

        return runs.run(jobs, store, budget, finished)


def _cases(args: argparse.Namespace) -> list[str]:
    """The names of cases; real-sim's place is taken by IMDB where it cannot be had."""
    from hoag import datasets
    from paper import cases

    names: list[str] = []
    for name in [part for given in args.data or ["small"] for part in given.split(",") if part]:
        names += {"small": cases.SMALL, "paper": cases.PAPER}.get(name, (name,))
    names = list(dict.fromkeys(names))
    for name in names:
        cases.case(name)
    if "real-sim" not in names or "imdb" in names:
        return names
    if args.draw:
        if (args.out / "rows" / "real-sim").exists():
            return names
    else:
        try:
            datasets.fetch("real-sim")
            return names
        except OSError:
            if not datasets.present("imdb"):
                raise
            warn(
                "imdb takes the place of real-sim, which could not be fetched: "
                "`hoag data fetch real-sim` tells why."
            )
    return ["imdb" if name == "real-sim" else name for name in names]


def _check_packages() -> None:
    for name in ("pandas", "matplotlib", "threadpoolctl", "bayes_opt", "optuna", "tqdm"):
        if not importlib.util.find_spec(name):
            raise ImportError(f"The reproduction needs {name}: pip install -e '.[reproduce]'.")


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(s|m|min|h)?", text.strip())
    if not found or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 30s, 2m or 1h")
    return float(found[1]) * {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}[found[2]]


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number, at least 1")
    return int(text)
