"""The default search against its targets: passes, seconds, memory, and where it ends.

    HOAG_DATA=... python benchmarks/default_search.py [--only 1,2] [--seeds 5] [--out FILE.json]

One thread; medians over the splits of seeds 0 to 4 or, where there is one data set, over as many
repetitions in which the competitors take turns. Passes are over the training rows and do not depend
on the machine. f is solved tightly outside every count, and kept in a temporary directory: delete
hoag-default-search there to solve it anew. The tables go to stdout, progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import platform
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import _data
import numpy as np
import sklearn
from _measure import HEADER, Aim, alone, cached, in_child, measured, record, row, say, timed
from paper.cases import PAPER_SHIFT, Setting, case
from paper.methods import METHODS, STARTS, random_start
from paper.truth import Curve
from scipy import sparse
from scipy.special import expit
from sklearn import linear_model
from sklearn.preprocessing import scale

import hoag
from hoag import LogisticRegressionCV, datasets, minimize, models
from hoag._core.domain import Box
from hoag._core.errors import SingularProblemError
from hoag._core.numeric import Array
from hoag._core.result import Result, Step
from hoag._criteria.select import plan
from hoag.optimize import Auto

# Reading the text takes half a minute: once is enough, also for paper.cases.
datasets.load = cache(datasets.load)

# Suboptimality, relatively, at which λ counts as found: of one, and of a kernel's two.
LEVEL, KERNEL_LEVEL = 1e-3, 1e-4
# The paper's passes over ours.
FEWER = {"20news": 15, "imdb": 5}

# scikit-learn's solvers, by name, and whether of the dual problem.
SOLVERS = (("newton-cg", False), ("lbfgs", False), ("liblinear", False), ("liblinear", True))
TOLS = (100, 30, 10, 3, 1, 0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
MAX_ITER = 1000  # of scikit-learn's solvers, whose default of 100 ends some of them early

# Test losses on MNIST, in how many passes, and where the search is stopped.
MNIST, MNIST_END = {5666: 600, 5550: 1500}, 2500
BUDGET = 1200.0  # seconds for a search with a penalty for each feature
PLACES = 25  # starts on a grid over the box
# Rows for the growth: of one distribution, with some labels flipped.
SIZES, COLUMNS, NONZEROS, FLIPPED = (10**3, 10**4, 10**5, 10**6), 2000, 30, 0.05

Run = dict[str, float | Aim]  # the figures of one seed or repetition, by name
Tols = dict[tuple[str, bool], float]  # by solver


@dataclass(frozen=True)
class Known:
    """A case, f solved tightly, and the least of it that is known."""

    setting: Setting
    least: float
    lam: float = np.nan  # where, for one hyperparameter

    def excess(self, *lams: Array) -> Array:
        assert self.setting.truth is not None
        return self.setting.truth.f(np.array(lams)) / self.least - 1

    def until(self, result: Result, level: float) -> tuple[float, float]:
        """Passes and distinct λ until the first step of a search whose λ is as good as that."""
        there = np.flatnonzero(self.excess(*(step.lam for step in result.trace)) <= level)
        if not there.size:
            return np.inf, np.inf
        trace = result.trace[: there[0] + 1]
        return trace[-1].cost.passes, len({step.lam.tobytes() for step in trace})


def known(name: str, seed: int) -> Known:
    """A case with problems of its own, so that nothing is warm from an earlier run."""
    setting = case(name).make(seed)
    truth, box = setting.truth, setting.domain
    if isinstance(truth, Curve):
        truth.restore(cached(f"{name}-{seed}", truth.knots))
        fine = np.linspace(box.lower, box.upper, 240_001)
        values = truth.f(fine)
        return Known(setting, float(values.min()), float(fine[values.argmin(), 0]))
    assert truth is not None

    def best_of_starts() -> Array:
        made = (random_start(setting, seed, k) for k in range(STARTS))
        ends = [minimize(each, lam0, box, search).lam for lam0, (each, search) in made]
        return np.array(truth.f(np.array(ends)).min())

    return Known(setting, float(cached(f"{name}-{seed}", best_of_starts)))


def criterion(setting: Setting) -> Any:
    """As the default search sees it."""
    return plan(setting.problem)


def thirds(name: str, seed: int) -> Any:
    return _data.thirds(*datasets.load(name).X_y, seed)


def two_thirds(name: str, seed: int) -> tuple[Any, Any, Any]:
    """Rows, labels, and one split of them: the thirds to train on and to tune on."""
    A, y, A_test, y_test, *_ = thirds(name, seed)
    split = np.split(np.arange(len(y) + len(y_test)), [len(y)])
    return sparse.vstack([A, A_test], format="csr"), np.concatenate([y, y_test]), [split]


def log_loss(model: Any, X: Any, y: Any) -> float:
    """Summed over the rows; y is −1 or 1."""
    return float(np.logaddexp(0, -y * model.decision_function(X)).sum())


def plain(solver: str, dual: bool, C: float, tol: float) -> Any:
    options = {"fit_intercept": False, "max_iter": MAX_ITER, "random_state": 0}
    return linear_model.LogisticRegression(C=C, solver=solver, dual=dual, tol=tol, **options)


def fastest(X: Any, y: Any, C: float, tols: Tols) -> float:
    """Seconds of scikit-learn's fastest solver for one C."""
    runs = {which: timed(plain(*which, C, tol).fit, X, y).seconds for which, tol in tols.items()}
    say("   ", {which: round(seconds, 3) for which, seconds in runs.items()})
    return min(runs.values())


def grid(**options: Any) -> Any:
    """scikit-learn's ten values of C."""
    options = {"cv": 5, "max_iter": MAX_ITER, "use_legacy_attributes": False} | options
    return linear_model.LogisticRegressionCV(Cs=10, scoring="neg_log_loss", **options)


@cache
def loosest(name: str, seed: int) -> tuple[float, Tols]:
    """The best C of a split, and each solver's first of TOLS that is good enough for f(λ*)."""
    truth, (A, y, A_test, y_test, *_) = known(name, seed), thirds(name, seed)
    C, found = float(np.exp(PAPER_SHIFT - truth.lam)), Tols()
    for which in SOLVERS:
        for tol in TOLS:
            loss = log_loss(plain(*which, C, tol).fit(A, y), A_test, y_test)
            if abs(loss / truth.least - 1) <= LEVEL:
                found[which] = tol
                break
    say(f"    C = {C:.4g}, tolerances {found}")
    return C, found


def one_penalty(name: str, seed: int) -> Run:
    """One penalty: from λ = 0, and through the estimator on one split."""
    truth = known(name, seed)
    setting, box = truth.setting, truth.setting.domain
    ours = minimize(criterion(setting), 0.0, box, Auto())
    paper, search = METHODS["hoag-exponential"].make(setting, seed)
    found = minimize(paper, 0.0, box, search, lambda s: bool(truth.excess(s.lam)[0] <= LEVEL))
    passes, papers = truth.until(ours, LEVEL)[0], truth.until(found, LEVEL)[0]

    A, y, A_test, y_test, *_ = thirds(name, seed)
    X, labels, cv = two_thirds(name, seed)
    C, tols = loosest(name, seed)
    options: dict[str, Any] = {"cv": cv, "fit_intercept": False, "refit": False}
    estimator = timed(LogisticRegressionCV(**options).fit, X, labels)
    plain_fit = fastest(A, y, C, tols)
    ten = timed(grid(**options).fit, X, labels)
    loss, loss_of_ten = (
        log_loss(run.result, A_test, y_test) / truth.least - 1 for run in (estimator, ten)
    )
    return {
        "passes to 1e-3": Aim(passes, "≤", 45),
        "the paper's passes to 1e-3": papers,
        "the paper's passes over ours": Aim(papers / passes, "≥", FEWER[name]),
        "passes at the end": ours.cost.passes,
        "seconds at the end": ours.trace[-1].seconds,
        "suboptimality at the end": float(truth.excess(ours.lam)[0]),
        "estimator: seconds": estimator.seconds,
        "estimator: test loss above f*, relatively": loss,
        "fastest plain fit at the best C: seconds": plain_fit,
        "estimator over plain fit, seconds (aim: 0.5)": Aim(estimator.seconds / plain_fit, "≤", 1),
        "grid of ten over estimator, seconds": Aim(ten.seconds / estimator.seconds, "≥", 3),
        "estimator's test loss less the grid's, relatively": Aim(loss - loss_of_ten, "<", 0),
    }


@cache
def shuffled(name: str) -> tuple[Any, Any]:
    X, y = datasets.load(name).X_y
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@cache
def grid_seconds(name: str) -> float:
    """Once: it is slow."""
    return timed(grid(fit_intercept=False).fit, *shuffled(name)).seconds


def five_folds(name: str, repetition: int) -> Run:
    """Five folds and a fit on all rows; plain fits at our C, with the tolerances of split 0."""
    (X, y), (_, tols) = shuffled(name), loosest(name, 0)
    ours = timed(LogisticRegressionCV(fit_intercept=False).fit, X, y)
    plain_fit, ten = fastest(X, y, ours.result.C_, tols), grid_seconds(name)
    return {
        "estimator: seconds": ours.seconds,
        "estimator: passes of the search": ours.result.result_.cost.passes,
        "fastest plain fit: seconds": plain_fit,
        "estimator over plain fit, seconds": Aim(ours.seconds / plain_fit, "≤", 4),
        "grid of ten: seconds": ten,
        "grid of ten over estimator, seconds": Aim(ten / ours.seconds, "≥", 10),
    }


def kernel_ridge(name: str, seed: int) -> Run:
    """Kernel ridge: one width, then one for each feature."""
    truth = known(name, seed)
    setting, box = truth.setting, truth.setting.domain
    one = minimize(criterion(setting), None, box, Auto())
    A, y, A_test, y_test, A_val, y_val = thirds(name, seed)
    A, A_test, A_val = _data.standardised_by(A, A_test, A_val)
    y, y_test, y_val = _data.centred_by(y, y_test, y_val)
    problem = models.kernel_ridge(A, y, A_test, y_test, widths="per-feature")
    judge = models.kernel_ridge(A, y, A_val, y_val, widths="per-feature")
    wide = Box(box.lower[0], box.upper[0], size=problem.lam0.size)
    each = minimize(plan(problem), None, wide, Auto())
    say(f"    one width: {one.status}\n    each its own: {each.status}")
    # A factor is n/6 passes. What was spent before the first evaluation is scouting.
    factor, first, last = len(y) / 6, one.trace[0], one.trace[-1]
    scouting = (first.cost.passes - first.evaluation.cost.passes) / factor
    passes, distinct = truth.until(one, KERNEL_LEVEL)
    seconds = each.trace[-1].seconds / last.seconds
    validation = float(judge.at(each.x, each.lam).g) / setting.validation(one.x, one.lam)
    return {
        "factors until 1e-4 of the best start, with scouting": Aim(distinct + scouting, "≤", 12),
        "of which scouting": scouting,
        "all passes until then, in factors": passes / factor,
        "f at the end above the best start, relatively": float(truth.excess(one.lam)[0]),
        "one width: factors at the end": len({step.lam.tobytes() for step in one.trace}),
        "one width: seconds": last.seconds,
        "widths per feature over one, seconds": Aim(seconds, "<", 5),
        "widths per feature over one, test loss": Aim(each.value / one.value, "<", 1),
        "widths per feature over one, validation loss": Aim(validation, "<", 1),
    }


def progress(step: Step) -> None:
    passes, loss = step.cost.passes, step.evaluation.value
    say(f"    step {step.k}: {step.seconds:.0f} s, {passes:.0f} passes, {loss:.6g}")


def pixels(name: str, seed: int) -> Run:
    """1440 penalties; the losses aimed at are those of split 0."""
    setting, found = case(name).make(seed), Run()

    def enough(step: Step) -> bool:
        progress(step)
        return bool(step.evaluation.value <= min(MNIST) or step.cost.passes > MNIST_END)

    search = Auto(tol=1e-6, max_iter=1000)
    result = minimize(criterion(setting), None, setting.domain, search, enough)
    for loss, wanted in MNIST.items():
        there = [step for step in result.trace if step.evaluation.value <= loss]
        passes, seconds = (there[0].cost.passes, there[0].seconds) if there else (np.inf, np.inf)
        found[f"passes to a test loss of {loss}"] = Aim(passes, "≤", wanted)
        found[f"seconds to a test loss of {loss}"] = seconds
    least = min(step.evaluation.value for step in result.trace)
    return found | {"least test loss": least, "passes at the end": result.cost.passes}


def penalised(name: str, seed: int, penalties: str) -> tuple[Any, Any, float, float]:
    """Two folds of two thirds: the result, seconds, peak memory, and the loss on the last third."""
    (X, y, _), (*_, A_val, y_val) = two_thirds(name, seed), thirds(name, seed)
    options: dict[str, Any] = {"time_budget": BUDGET, "callback": progress}
    model = LogisticRegressionCV(penalties=penalties, cv=2, fit_intercept=False, **options)
    run, _, peak = measured(model.fit, X, y)
    return model.result_, run.seconds, peak, log_loss(model, A_val, y_val)


def per_feature(name: str, seed: int) -> Run:
    """A penalty for each of 173762 features, two folds, beside one for all of them."""
    (one, _, _, usual), (each, seconds, peak, loss) = (
        in_child(penalised, name, seed, penalties) for penalties in ("shared", "per-feature")
    )
    say(f"    one: {one.status}\n    each its own: {each.status}")
    return {
        "each its own over one, loss on the third part": Aim(loss / usual, "<", 1),
        "each its own over one, criterion": each.value / one.value,
        "peak memory of the process, GB": Aim(peak / 2**30, "<", 2),
        "share of runs that converged": Aim(float(each.converged), "≥", 1),
        "seconds": seconds,
        "passes": each.cost.passes,
    }


def starts(name: str, seed: int) -> Run:
    """The default search from 25 places on a grid over the box."""
    truth = known(name, seed)
    setting, box = truth.setting, truth.setting.domain
    usual, ends = minimize(criterion(setting), None, box, Auto()), []
    for lam0 in box.grid(round(PLACES ** (1 / box.size))):
        try:
            ends.append(minimize(criterion(setting), lam0, box, Auto()))
            say(f"    {lam0} to {ends[-1].lam}: {ends[-1].status}")
        except SingularProblemError as error:
            say(f"    {lam0}: {error}")
    excess = truth.excess(*(end.lam for end in ends))
    best = min(0.0, float(excess.min()))  # one of them may find better than was known
    good = float(np.sum((1 + excess) / (1 + best) <= 1 + LEVEL))
    costs = [end.cost.passes / usual.cost.passes for end in ends]
    return {
        "of 25 starts, those that end within 1e-3 of the best f": Aim(good, "≥", PLACES),
        "median passes over those of the default start": Aim(float(np.median(costs)), "≤", 2),
        "most passes over those of the default start": max(costs),
    }


def sparse_rows(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([seed, n])
    columns = rng.integers(COLUMNS, size=n * NONZEROS, dtype=np.int32)
    values = rng.standard_normal(n * NONZEROS) / np.sqrt(NONZEROS)
    ends = np.arange(0, n * NONZEROS + 1, NONZEROS)
    X = sparse.csr_matrix((values, columns, ends), shape=(n, COLUMNS))
    X.sum_duplicates()
    z = 3 * (X @ np.random.default_rng(0).standard_normal(COLUMNS))
    flip = np.where(rng.random(n) < FLIPPED, -1, 1)
    return X, np.where(rng.random(n) < expit(z), flip, -flip)


def grown(n: int, seed: int) -> Run:
    """The estimator on n rows; first on a few, so that everything is imported."""
    for rows in (min(SIZES), n):
        X, y = sparse_rows(rows, seed)
        cv = [np.array_split(np.arange(rows), 2)]
        model = LogisticRegressionCV(cv=cv, fit_intercept=False, refit=False)
        run, before, peak = measured(model.fit, X, y)
    vector, data = 8 * n, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {
        "passes": model.result_.cost.passes,
        "seconds": run.seconds,
        "seconds for a million nonzeros": run.seconds / (X.nnz / 1e6),
        "peak memory beyond the data, in vectors of all rows": (peak - before) / vector,
        "the data, in vectors of all rows": data / vector,
        "share of runs that converged": float(model.result_.status.converged),
    }


def growth(rows: str, seed: int) -> Run:
    """Rows of about 30 nonzeros among 2000 columns, half to train on and half to tune on."""
    return in_child(grown, int(rows), seed)


def small(name: str, repetition: int) -> Run:
    """Small data: five folds and a fit on all rows."""
    X, y = datasets.load(name).X_y
    X = X / 16 if name == "digits" else scale(X)
    model = LogisticRegressionCV()
    ours, ten = timed(model.fit, X, y), timed(grid().fit, X, y)
    mine, its = (model.criterion_at(lam, X, y) for lam in (model.lam_, -np.log(ten.result.C_)))
    return {
        "estimator: seconds": ours.seconds,
        "grid of ten: seconds": ten.seconds,
        "grid of ten over estimator, seconds": Aim(ten.seconds / ours.seconds, "≥", 4),
        "criterion over that of the grid": Aim(mine / its, "≤", 1),
    }


# A function of data and a seed, or a repetition; the data; whether one seed is all there is.
SECTIONS: dict[int, tuple[Any, tuple[str, ...], bool]] = {
    1: (one_penalty, ("20news", "imdb"), False),
    2: (five_folds, ("20news", "imdb"), False),
    3: (kernel_ridge, ("parkinsons",), False),
    4: (pixels, ("mnist",), True),
    5: (per_feature, ("20news",), True),
    6: (starts, ("20news", "imdb", "parkinsons"), True),
    7: (growth, tuple(map(str, SIZES)), False),
    8: (small, ("breast_cancer", "digits"), False),
}


def figures(key: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Everything a section measures; what fails leaves out its data, and nothing else."""
    run, data, once = SECTIONS[key]
    for name in data:
        runs: list[Run] = []
        try:
            for seed in range(1 if once else seeds):
                say(f"  {name}, {seed}")
                runs.append(run(name, seed))
                say("   ", runs[-1])
        except Exception as error:
            traceback.print_exc()
            yield {"data": name, "error": f"{type(error).__name__}: {error}"}
        for what in runs[0] if runs else ():
            yield record(name, what, [found[what] for found in runs])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = ",".join(map(str, SECTIONS))
    parser.add_argument("--only", default=every, help=f"numbers of sections; default: {every}")
    parser.add_argument("--seeds", type=int, default=5, help="splits, or repetitions")
    parser.add_argument("--out", help="a JSON file with every sample")
    options = parser.parse_args()
    versions = f"hoag {hoag.__version__}, scikit-learn {sklearn.__version__}"
    results: dict[str, Any] = {"machine": platform.platform(), "versions": versions}
    for key in map(int, options.only.split(",")):
        title = SECTIONS[key][0].__doc__.rstrip(".")
        print(f"\n### {key}. {title}\n\n{HEADER}", flush=True)
        with alone():
            found = timed(show, figures(key, options.seeds))
        say(f"section {key}: {found.seconds:.0f} s")
        results[f"{key}. {title}"] = found.result
        if options.out:
            with open(options.out, "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1, ensure_ascii=False)


def show(found: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print the rows as they come."""
    kept = []
    for figure in found:
        kept.append(figure)
        failed = " ".join(figure.get("error", "").split())
        text = f"| {figure['data']} | failed: {failed} | | | |" if failed else row(figure)
        print(text, flush=True)
    return kept


if __name__ == "__main__":
    main()
