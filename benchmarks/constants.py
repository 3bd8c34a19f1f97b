"""What the tuned constants are worth: each halved and doubled, where it acts.

    HOAG_DATA=... python benchmarks/constants.py [--only NAME ...] [--quick] [--tight] [--seconds]

For every number a row: the passes of its problems over those with the number as it is (the
geometric mean), by how much f is above the least that any run here found (the worst of them,
relatively), and the share of runs that converged. f is the value that a run reports, or with
--tight f at its λ, solved tightly outside every count. "same": nothing changed at all; "failed": a
run ended in an error. Of a share x near 1, marked †, the odds x/(1 − x) are halved and doubled.

20news, imdb and parkinsons are replaced by rows made up where their files are not at hand. One
thread; the tables go to stdout, progress to stderr. All of it takes ten minutes, and --quick, with
one problem for each number, less than two.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import _data
import numpy as np
from _measure import alone, say, timed
from sklearn.preprocessing import PolynomialFeatures, scale

import hoag
from hoag import KernelRidgeCV, LogisticRegressionCV, RidgeCV, datasets, models
from hoag._core.numeric import Array
from hoag._core.result import Result
from hoag._criteria.select import plan
from hoag.optimize import Adaptive, Auto, Grid, Hoag

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from registry import text

# Seconds for one run: a constant may be so wrong that a search does not end.
BUDGET = 20.0
TIGHT = 1e-8  # to which f is solved, relatively, with --tight
FACTORS = (0.5, 2.0)
PACKAGES = ("_core", "_criteria", "_glm", "_linalg", "linear_model", "optimize")
MODULES = ("_inner", "_kinks", "_linear", "_schedules", "problems")

# ---- the problems: each is solved anew at every call


@cache
def cancer(scaled: bool = True) -> Any:
    X, y = datasets.load("breast_cancer").X_y
    return (scale(X) if scaled else X), y


@cache
def tall() -> Any:
    """Many more rows than columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50000, 20)) @ rng.normal(size=(20, 20))
    return X, (X @ rng.normal(size=20) / 10 + rng.normal(size=50000) > 0).astype(int)


@cache
def digits() -> Any:
    X, y = datasets.load("digits").X_y
    return X[::3] / 16, y[::3]


@cache
def diabetes(degree: int = 1) -> Any:
    X, y = datasets.load("diabetes").X_y
    return scale(PolynomialFeatures(degree, include_bias=False).fit_transform(scale(X))), y


@cache
def words(name: str) -> Any:
    """Training and held-out thirds of real text, or of rows like it."""
    X, y = datasets.load(name).X_y if datasets.present(name) else text(3000, 6000)
    return _data.thirds(X, y, 0)[:4]


@cache
def voices() -> Any:
    """Training and held-out thirds of Parkinsons, or of a smooth function with noise."""
    if datasets.present("parkinsons"):
        X, y = datasets.load("parkinsons").X_y
    else:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5000, 8))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=5000)
    A, b, A_test, b_test = _data.thirds(X, y, 0)[:4]
    A, A_test = _data.standardised_by(A, A_test)
    b, b_test = _data.centred_by(b, b_test)
    return A, b, A_test, b_test


@cache
def waves(columns: int) -> Any:
    """Odd against even digits by many dense features."""
    X, y = digits()
    return np.tanh(X @ np.random.default_rng(0).normal(size=(X.shape[1], columns))), y % 2


@cache
def noisy(n: int, columns: int) -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns))
    return X, X @ rng.normal(size=columns) + 10 * rng.normal(size=n)


def thirds(data: Any) -> Any:
    return _data.thirds(*data, 0)[:4]


class Found(NamedTuple):
    """What a run found, and f at any λ, solved tightly."""

    result: Result
    f: Callable[[Array], float]


def fitted(estimator: Any, data: Any) -> Found:
    search = estimator.search or hoag.optimize.Auto(estimator.tol, estimator.max_iter)
    search.time_budget = BUDGET
    result: Result = estimator.set_params(search=search).fit(*data).result_
    return Found(result, lambda lam: estimator.criterion_at(lam, *data))


def searched(problem: Any, search: Any = None) -> Found:
    search = search or Auto()
    search.time_budget = BUDGET

    def f(lam: Array) -> float:
        criterion = plan(problem)
        found = criterion.value(lam, TIGHT)
        return criterion.verify(found, TIGHT * abs(found.value)).value

    return Found(hoag.minimize(problem, search=search), f)


def groups(estimator: Any, data: Any) -> Found:
    """Two penalties, one for every other feature."""
    return fitted(estimator(cv=5, penalties=np.arange(data[0].shape[1]) % 2), data)


def unseen() -> Found:
    """One of two folds has not seen the last class in training."""
    X, y = digits()
    even = np.arange(len(y)) % 2 == 0
    cv = [(np.flatnonzero(even & (y < 9)), np.flatnonzero(~even)), (~even, even)]
    return fitted(LogisticRegressionCV(cv=[tuple(map(np.asarray, split)) for split in cv]), (X, y))


def free(data: Any) -> Found:
    """Two features that are not penalised, and one penalty for the others."""
    numbers = np.where(np.arange(data[0].shape[1]) < 2, -1, 0)
    return fitted(LogisticRegressionCV(penalties=numbers), data)


def held_out(parts: Any, search: Any = None, two: bool = False) -> Found:
    """Logistic regression with one penalty or two, from λ = 0."""
    penalties = np.arange(parts[0].shape[1]) % 2 if two else "shared"
    return searched(models.logistic(*parts, penalties=penalties), search)


def secants(parts: Any) -> Found:
    """The same where no look is free."""
    return searched(hoag.criteria.Implicit(models.logistic(*parts), corrected=True))


def stalling() -> Found:
    """The paper's displayed test without slack."""
    step = Adaptive(C=0.0, descent="displayed", safeguards=False)
    return held_out(thirds(text(900, 1500)), Hoag(step=step))


def unrolled(method: Any) -> Found:
    criterion = hoag.criteria.Unrolled(models.logistic(*thirds(cancer())), method, n_iter=20)
    return searched(criterion, Hoag(max_iter=15))


PROBLEMS: dict[str, Callable[[], Found]] = {
    "text": lambda: fitted(LogisticRegressionCV(), text(600, 1500)),
    "20news": lambda: held_out(words("20news")),
    "imdb": lambda: held_out(words("imdb")),
    "digits": lambda: fitted(LogisticRegressionCV(), digits()),
    "cancer": lambda: fitted(LogisticRegressionCV(), cancer()),
    "unscaled": lambda: fitted(LogisticRegressionCV(), cancer(scaled=False)),
    "odd": lambda: fitted(LogisticRegressionCV(), (digits()[0], digits()[1] % 2)),
    "tall": lambda: fitted(LogisticRegressionCV(), tall()),
    "waves": lambda: fitted(LogisticRegressionCV(), waves(700)),
    "more waves": lambda: fitted(LogisticRegressionCV(), waves(1500)),
    "unseen class": unseen,
    "free features": lambda: free(cancer()),
    "free, unscaled": lambda: free(cancer(scaled=False)),
    "features": lambda: fitted(LogisticRegressionCV(penalties="per-feature"), cancer()),
    "classes": lambda: fitted(LogisticRegressionCV(penalties="per-class"), digits()),
    "groups": lambda: groups(LogisticRegressionCV, text(600, 200)),
    "more groups": lambda: groups(LogisticRegressionCV, text(900, 450)),
    "few rows": lambda: groups(LogisticRegressionCV, text(80, 90)),
    "fewer rows": lambda: groups(LogisticRegressionCV, text(100, 150)),
    "ridge": lambda: fitted(RidgeCV(cv=5), diabetes(3)),
    "ridge text": lambda: fitted(RidgeCV(cv=5), text(600, 1500)),
    "ridge groups": lambda: groups(RidgeCV, text(600, 700)),
    "more ridge groups": lambda: groups(RidgeCV, text(600, 1500)),
    "ridge features": lambda: fitted(RidgeCV(cv=5, penalties="per-feature"), diabetes()),
    "left out": lambda: fitted(RidgeCV(), noisy(500, 400)),
    "more left out": lambda: fitted(RidgeCV(), noisy(600, 500)),
    "kernel": lambda: fitted(KernelRidgeCV(), diabetes()),
    "widths": lambda: fitted(KernelRidgeCV(widths="per-feature"), diabetes()),
    "parkinsons": lambda: searched(models.kernel_ridge(*voices())),
    "secants": lambda: secants(thirds(cancer())),
    "secants, unscaled": lambda: secants(thirds(cancer(scaled=False))),
    "secants, text": lambda: secants(thirds(text(900, 1500))),
    "secants, 20news": lambda: secants(words("20news")),
    "paper": lambda: held_out(thirds(cancer()), Hoag()),
    "paper, unscaled": lambda: held_out(thirds(cancer(scaled=False)), Hoag()),
    "paper, text": lambda: held_out(thirds(text(900, 1500)), Hoag()),
    "paper, groups": lambda: held_out(thirds(text(900, 450)), Hoag(gain=1e-4), two=True),
    "paper, gain": lambda: held_out(thirds(text(900, 1500)), Hoag(gain=1e-4)),
    "paper, gain, cancer": lambda: held_out(thirds(cancer()), Hoag(gain=1e-4)),
    "paper, stalling": stalling,
    "grid": lambda: held_out(thirds(cancer()), Grid(10)),
    "unrolled": lambda: unrolled(hoag.criteria.UnrolledLBFGS()),
    "unrolled descent": lambda: unrolled(hoag.criteria.UnrolledGradientDescent()),
}

# ---- the constants


@dataclass(frozen=True)
class Constant:
    """One number: where it is, what it means, and the problems where it acts, the quick one first.

    owner     a module under hoag, or a class in it: "optimize._hoag.Hoag"
    member    which of a tuple
    origin    the number is a distance from here
    is_share  its odds are halved and doubled
    """

    owner: str
    name: str
    meaning: str
    problems: tuple[str, ...]
    member: int | None = None
    origin: float = 0.0
    is_share: bool = False

    @property
    def label(self) -> str:
        return f"{self.owner}.{self.name}" + ("" if self.member is None else f"[{self.member}]")

    @property
    def home(self) -> Any:
        """The module or the class."""
        path, _, last = f"hoag.{self.owner}".rpartition(".")
        if last[0].isupper():
            return getattr(importlib.import_module(path), last)
        return importlib.import_module(f"{path}.{last}")

    @property
    def whole(self) -> Any:
        """The number, or the tuple that it is in."""
        return getattr(self.home, self.name)

    @property
    def value(self) -> Any:
        return self.whole if self.member is None else self.whole[self.member]

    def times(self, factor: float) -> Any:
        """The number, its distance from the origin or its odds by a factor; whole if it was."""
        value = self.value
        if self.is_share:
            odds = factor * value / (1 - value)
            return odds / (1 + odds)
        scaled = self.origin + factor * (value - self.origin)
        return max(1, int(scaled + 0.5)) if isinstance(value, int) else scaled

    def with_number(self, value: Any) -> Any:
        """What to set in place of `whole`."""
        if self.member is None:
            return value
        return tuple(value if k == self.member else old for k, old in enumerate(self.whole))


LOOKS = ("text", "20news", "imdb", "digits")
EXACT_SOLVES = ("cancer", "unscaled", "ridge", "20news")
SECANTS = ("secants, text", "secants", "secants, unscaled", "secants, 20news")
STEPS = ("features", "kernel", "widths", "classes")
SURVEY = ("kernel", "widths", "parkinsons")
PAPER = ("paper, text", "paper", "paper, unscaled")
SECOND = ("paper, groups", "paper, text", "secants, text")
GAIN = ("paper, gain", "paper, gain, cancer")
TRACE = float(np.log(1000.0))  # of a kernel, from which ridges are counted

quasi_newton = partial(Constant, "optimize._quasi_newton", problems=STEPS)
looks = partial(Constant, "optimize._root", problems=LOOKS)
sure = partial(Constant, "optimize._root", problems=SECANTS)
scanned = partial(Constant, "optimize._scan", problems=EXACT_SOLVES)
space = partial(Constant, "_criteria.galerkin", problems=LOOKS)
implicit = partial(Constant, "_criteria.implicit")
survey = partial(Constant, "optimize._survey", problems=SURVEY)
paper = partial(Constant, "optimize._hoag.Hoag", problems=PAPER)
size = partial(Constant, "_criteria.affordable")
box = partial(Constant, "_glm.units")
kernel = partial(Constant, "linear_model._kernel", problems=SURVEY[:2])
around = partial(Constant, "linear_model._interval", problems=("kernel", "groups", "widths"))

shared = partial(Constant, "_core.numeric")

CONSTANTS = (
    shared("EXACT", "residual of exact solves", EXACT_SOLVES),
    Constant(
        "_core.numeric", "SUFFICIENT", "Armijo's share", ("paper", "classes", "groups", "unrolled")
    ),
    Constant(
        "_core.numeric",
        "FALLEN",
        "what has fallen",
        ("paper", "more groups", "20news"),
        is_share=True,
    ),
    Constant(
        "_core.numeric", "DOUBT", "errors of values are seldom larger by more", (*STEPS, "grid")
    ),
    Constant("_criteria.base", "SETTLED", "f settled, in tolerances", (*LOOKS, "features")),
    Constant(
        "_criteria.certificate",
        "RELATIVE_RESIDUAL",
        "residual of the certificate's solves",
        ("secants, text", "paper, text", "secants, 20news"),
    ),
    Constant(
        "_criteria.certificate",
        "ROUGH",
        "residual of rough solves",
        ("secants, text", "paper, unscaled", "secants, 20news", "more groups", "classes"),
        is_share=True,
    ),
    Constant("_criteria.galerkin", "FIRST", "directions to begin with", LOOKS),
    Constant("_criteria.galerkin", "GROWTH", "most directions an evaluation adds", LOOKS),
    space("MOST", "most directions kept"),
    space("TANGENT", "every so many-th direction is for the tangent"),
    space("SLOW", "the largest rate at which errors shrink", is_share=True),
    space("QUICK", "the least of these rates", is_share=True),
    space("STEPS_MOVED", "Newton steps after a long move"),
    space("STEPS_LAST", "Newton steps where nothing else is left"),
    space("FAR", "beyond it the tangent misleads"),
    implicit("STRAIGHT", "cosine for the secant of x", SECOND, is_share=True),
    size("CHEAP", "work of exact solves", ("cancer", "odd", "unscaled")),
    Constant("_criteria.base", "SPACING", "distance of looks", (*EXACT_SOLVES, "text")),
    Constant("_criteria.iterative", "SLOW", "a pass is slow", ("tall",), is_share=True),
    Constant("_criteria.affordable", "SAMPLE", "rows for a coefficient", ("tall",)),
    Constant("_criteria.fits", "ROUGH", "how f moves when a scan ends", ("cancer", "unscaled")),
    size("DIRECT", "coefficients for a factor", ("groups", "more groups", "ridge")),
    size("DIRECT_WIDE", "the same for few rows", ("few rows", "fewer rows")),
    Constant("_criteria.base", "REFIT_TOL", "‖∇h‖ of the last fit", ("text", "digits", "classes")),
    Constant(
        "_criteria.unrolled.UnrolledGradientDescent",
        "POWER_ITERATIONS",
        "for the step size",
        ("unrolled descent",),
    ),
    quasi_newton("MEMORY", "pairs kept"),
    quasi_newton("LEAST_SCALE", "least scale beside the mean"),
    paper("LEAST_SCALE", "tol is relative to this share of the loss, at least"),
    paper("STALLED", "stalled: step size, and length", problems=("paper, stalling", "paper, text")),
    paper("STALL_STEPS", "stalled: steps", problems=("paper, stalling", "paper, text")),
    Constant("optimize._steps", "LONGEST", "longest step", (*STEPS, *LOOKS, *SECANTS[:2])),
    Constant("optimize._steps", "AHEAD", "what is ahead, in next steps", (*STEPS, *GAIN)),
    quasi_newton("GOOD", "share of the promise for a longer step"),
    quasi_newton("FAINT", "what is not seen"),
    quasi_newton("DOWN", "least cosine with the gradient"),
    quasi_newton("REFUSALS", "refusals until p is computed again"),
    Constant("optimize._steps", "SHORTEST", "no shorter step is tried", STEPS),
    quasi_newton("LOOSE", "first ε"),
    quasi_newton("AIM", "error wanted, as a share of p"),
    quasi_newton("SHRINK", "ε shrinks at most by"),
    quasi_newton("GROW", "ε grows at most by"),
    quasi_newton("RATE", "rate of the bound on ε", is_share=True),
    quasi_newton("SHOWN", "two p that say nothing"),
    quasi_newton("CERTAIN", "promise that is none"),
    sure("CERTAIN", "error of p to close a side, and wanted next"),
    sure("SHRINK", "ε shrinks at most by"),
    looks("LEAST", "least distance of a look"),
    scanned("RISEN", "loss at which they end", problems=(*EXACT_SOLVES, "text"), origin=1.0),
    scanned("DOUBT", "how wrong they are", problems=(*LOOKS, "cancer")),
    scanned("WHOLE", "error of a cubic that is worth a place"),
    scanned("FINEST", "least width that is halved"),
    Constant("optimize._newton", "NOTHING", "promise of a last step", ("classes", "groups")),
    Constant("optimize._asks", "ACCURACY", "to which f is settled", (*PAPER, "grid", "kernel")),
    Constant(
        "optimize._verification",
        "SHARE",
        "cost of a certificate",
        ("features", "classes", "groups"),
    ),
    survey("SHARE", "rows of the sample"),
    survey("LEAST", "least rows"),
    survey("SPACING", "distance of places"),
    survey("BASINS", "places followed"),
    survey("HALVINGS", "halvings of their steps"),
    survey("AS_GOOD", "λ₀ is as good"),
    Constant(
        "_glm.basis",
        "FEW",
        "columns for a Gram matrix",
        ("waves", "more waves", "ridge groups", "more ridge groups"),
    ),
    Constant("_glm.folds", "MISSING_CLASS", "penalty of an unseen class", ("unseen class",)),
    Constant("_glm.folds", "FREE", "penalty of free features", ("free features", "free, unscaled")),
    around("PROBE", "distance of the probe"),
    around("MOST_PROBES", "most probes", problems=("ridge features", "classes", "features")),
    kernel("WIDTHS", "narrowest width", member=0),
    kernel("WIDTHS", "widest width", member=1),
    kernel("RIDGES", "least ridge", member=0, origin=TRACE),
    kernel("RIDGES", "largest ridge", member=1, origin=TRACE),
    kernel("START", "width to start from", member=0),
    kernel("START", "ridge to start from", member=1, origin=TRACE),
    box("WEIGHT", "sum of the weights", ("digits", "text", "features", "ridge text")),
    box("ABOVE", "upper bound", ("features", "cancer", "text", "ridge features")),
    box("BELOW", "lower bound", ("features", "unscaled", "text", "ridge features")),
)

# What nobody tuned: the paper's, definitions, limits on memory or nonsense, and a seed.
NOT_TUNED = {
    "_schedules.FLOOR": "the paper's",
    "_schedules.FIRST": "the paper's",
    "optimize._steps.M": "the paper's",
    "optimize._hoag.Adaptive.SHRINK": "the paper's",
    "linear_model._families.HUBER": "by definition",
    "linear_model._families.NORMAL_MAD": "by definition",
    "linear_model._regressors.POWER_TOL": "as well as a power is told",
    "linear_model._base.TIGHT": "as tight as f is ever asked for",
    "_core.numeric.BLOCK_ENTRIES": "memory",
    "_glm.partitioned.ENTRIES": "memory",
    "_glm.first_pass.SAMPLE_ENTRIES": "memory",
    "_glm.first_pass.WHOLE": "memory",
    "_criteria.curvature.leverage.TRIED": "places to look for a limit",
    "_criteria.leave_one_out.DELETED": "work that more verification is worth",
    "optimize._scan.HALVED": "work that no scan is worth",
    "linear_model._path.MUCH": "by definition",
    "_glm.bounds.MOST_UNPENALISED": "work that no bound is worth",
    "optimize._blackbox.MOST_POINTS": "a grid that nobody wants",
}

# ---- setting a constant


@cache
def core() -> tuple[ModuleType, ...]:
    """All modules that constants live in, or are imported into."""
    packages = [importlib.import_module(f"hoag.{name}") for name in PACKAGES]
    inside = chain.from_iterable(
        pkgutil.iter_modules(package.__path__, f"{package.__name__}.") for package in packages
    )
    alone = [f"hoag.{name}" for name in MODULES]
    return tuple(importlib.import_module(name) for name in (*alone, *(m.name for m in inside)))


@cache
def imports() -> dict[tuple[str, str], list[tuple[ModuleType, str]]]:
    """By module and name: the modules that say `from ... import NAME`, and how they call it."""
    found: dict[tuple[str, str], list[tuple[ModuleType, str]]] = {}
    for module in core():
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                known = found.setdefault((node.module or "", alias.name), [])
                known.append((module, alias.asname or alias.name))
    return found


def in_defaults(module: ModuleType, value: Any) -> Iterator[tuple[Any, str]]:
    """Where a module took the value when it was read: defaults of arguments, fields of classes.

    Small integers are one object wherever they occur, and no constant among them is a default.
    """
    if isinstance(value, int):
        return
    own = [v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__]
    classes = [v for v in own if inspect.isclass(v)]
    for each in classes:
        for name, held in vars(each).items():
            if held is value and not name.isupper():
                yield each, name
    for function in chain(own, *(vars(each).values() for each in classes)):
        if inspect.isfunction(function):
            if any(default is value for default in function.__defaults__ or ()):
                yield function, "__defaults__"
            if any(default is value for default in (function.__kwdefaults__ or {}).values()):
                yield function, "__kwdefaults__"


def exchanged(held: Any, old: Any, new: Any) -> Any:
    """A value, or the defaults of a function, with new in the place of old."""
    if held is old:
        return new
    if isinstance(held, dict):
        return {key: new if value is old else value for key, value in held.items()}
    return tuple(new if value is old else value for value in held)


@contextmanager
def changed(constant: Constant, factor: float) -> Iterator[None]:
    """The constant with another value, everywhere."""
    value = constant.times(factor)
    old, new = constant.whole, constant.with_number(value)
    copies = imports().get((f"hoag.{constant.owner}", constant.name), [])
    places: list[tuple[Any, str]] = [(constant.home, constant.name), *copies]
    if inspect.ismodule(constant.home):
        modules = {place for place, _ in places}
        places += [found for module in modules for found in in_defaults(module, old)]
    before = [(place, name, getattr(place, name)) for place, name in places]
    for place, name, held in before:
        setattr(place, name, exchanged(held, old, new))
    try:
        assert constant.value == value, f"{constant.label} is still {constant.value}"
        assert all(getattr(place, name) != held for place, name, held in before)
        yield
    finally:
        for place, name, held in before:
            setattr(place, name, held)


# ---- runs and tables


@dataclass(frozen=True)
class Run:
    passes: float
    seconds: float
    value: float
    converged: bool
    found: Found | None = None

    def same(self, other: Run) -> bool:
        return (self.passes, self.value) == (other.passes, other.value)

    def tight(self) -> Run:
        return (
            self if self.found is None else replace(self, value=self.found.f(self.found.result.lam))
        )


def run(problem: str) -> Run:
    """What fails has found nothing."""
    try:
        seconds, found = timed(PROBLEMS[problem])
    except Exception as error:
        say(f"    {problem}: {type(error).__name__}: {error}")
        return Run(np.nan, np.nan, np.inf, False)
    result = found.result
    return Run(result.cost.passes, seconds, result.value, result.converged, found)


@dataclass
class Runs:
    """Every run so far: as it is by problem, and changed by problem, label and factor."""

    options: argparse.Namespace
    usual: dict[str, Run] = field(default_factory=dict)
    changed: dict[tuple[str, str, float], Run] = field(default_factory=dict)

    def problems(self, constant: Constant) -> tuple[str, ...]:
        return constant.problems[:1] if self.options.quick else constant.problems

    def add(self, constant: Constant) -> None:
        for problem in self.problems(constant):
            if problem not in self.usual:
                if self.options.seconds:
                    run(problem)  # so that data are read and modules warm
                self.usual[problem] = self._judged(run(problem))
        for factor in FACTORS:
            if constant.times(factor) == constant.value:
                continue
            with changed(constant, factor):
                found = [(problem, run(problem)) for problem in self.problems(constant)]
            for problem, each in found:
                self.changed[problem, constant.label, factor] = self._judged(each)

    def _judged(self, found: Run) -> Run:
        return replace(found.tight() if self.options.tight else found, found=None)

    def excess(self, problem: str, found: Run) -> float:
        others = [other.value for key, other in self.changed.items() if key[0] == problem]
        return found.value / min([self.usual[problem].value, *others]) - 1

    def cells(self, constant: Constant, factor: float) -> list[str]:
        """To which value, passes, excess, converged."""
        value, names = constant.times(factor), self.problems(constant)
        if value == constant.value:
            return ["–", "", "", ""]
        old = [self.usual[name] for name in names]
        new = [self.changed[name, constant.label, factor] for name in names]
        if all(map(Run.same, old, new)):
            return [f"{value:.4g}", "same", "", ""]
        if not all(np.isfinite(each.value) for each in new):
            return [f"{value:.4g}", "failed", "", ""]
        cost = "seconds" if self.options.seconds else "passes"
        costs = [getattr(after, cost) / getattr(before, cost) for before, after in zip(old, new)]
        excess = max(map(self.excess, names, new))
        share = 100 * np.mean([each.converged for each in new])
        mean = np.exp(np.mean(np.log(costs)))
        return [f"{value:.4g}", f"× {mean:.2f}", f"{excess:.1e}", f"{share:.0f} %"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(runs: Runs, constants: Sequence[Constant]) -> None:
    three = ["seconds" if runs.options.seconds else "passes", "excess", "converged"]
    rows = []
    for each in constants:
        label = f"`{each.label}`{' †' if each.is_share else ''}: {each.meaning}"
        cells = chain.from_iterable(runs.cells(each, factor) for factor in FACTORS)
        rows.append([label, f"{each.value:.4g}", *cells])
    print(table(["constant", "value", "halved", *three, "doubled", *three], rows))
    usual = []
    for name, each in runs.usual.items():
        cost, excess = f"{each.passes:.0f}", f"{runs.excess(name, each):.1e}"
        usual.append([name, cost, f"{each.seconds:.2f}", excess, str(each.converged)])
    print()
    print(table(["problem, as it is", "passes", "seconds", "excess", "converged"], usual))


def chosen(names: Sequence[str]) -> list[Constant]:
    """Constants by their names, by their labels, or by the last parts of these."""
    found = [
        each
        for each in CONSTANTS
        if not names
        or any(f".{each.owner}.{each.name}".endswith(f".{n}") or each.label == n for n in names)
    ]
    if not found:
        raise SystemExit(f"No constant is called {' or '.join(names)}.")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="names, such as root.NEXT")
    parser.add_argument("--quick", action="store_true", help="one problem for each constant")
    parser.add_argument("--tight", action="store_true", help="solve f tightly at the λ found")
    parser.add_argument("--seconds", action="store_true", help="compare seconds, not passes")
    options = parser.parse_args()
    runs, constants = Runs(options), []
    with alone():
        for constant in chosen(options.only):
            took = timed(runs.add, constant)
            say(f"{constant.label}: {took.seconds:.1f} s")
            constants.append(constant)
    show(runs, constants)


if __name__ == "__main__":
    main()
