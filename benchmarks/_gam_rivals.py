"""Who fits additive models beside us: pyGAM, statsmodels, and mgcv through Rscript.

A rival takes rows to fit on, the covariates of fresh rows and a family, and gives a `Fit`; what it
cannot do, or not within the limit, is a `Failed` with the reason. Seconds are the processor's, of
the search and the fit alone: neither imports, nor files, nor predictions.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from _gam_data import Rows
from scipy.special import logit

from hoag._core.numeric import Array

SCRIPT = Path(__file__).with_name("gam.R")
NORMAL = 1.959964  # half of what a band of 95 % is wide, in standard errors
LINKS: dict[str, Callable[[Array], Array]] = {
    "gaussian": np.asarray,
    "binomial": logit,
    "poisson": np.log,
}


class Band(NamedTuple):
    """Values and pointwise limits, of the linear predictor (n) or of its terms (n, terms)."""

    value: Array
    lower: Array
    upper: Array

    def holds(self, truth: Array) -> Array:
        return np.asarray((self.lower <= truth) & (truth <= self.upper))


class Fit(NamedTuple):
    """Fresh rows' linear predictor; bands, edf, penalties and what else there is to tell."""

    seconds: float
    score: Array
    score_band: Band | None = None
    terms: Band | None = None
    edf: Sequence[float] = ()
    penalties: Sequence[float] = ()
    gone: Sequence[bool] = ()
    more: Mapping[str, Any] = MappingProxyType({})


class Failed(Exception):
    """A sentence for the table in place of figures."""


Method = Callable[[Rows, Array, str], Fit]


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Stops Python code that has used that many of the processor's seconds."""

    def stop(*_: Any) -> None:
        raise Failed(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def pygam(points: int | None = None, basis: int = 20) -> Method:
    """Its grid of 11, the same for all terms; or that many random points, as its notebook shows."""

    def fit(rows: Rows, fresh: Array, family: str) -> Fit:
        import pygam as package

        classes = {"gaussian": "LinearGAM", "binomial": "LogisticGAM", "poisson": "PoissonGAM"}
        p = rows.X.shape[1]
        terms = reduce(add, [package.s(j, n_splines=basis) for j in range(p)])
        rng, given = np.random.default_rng(0), {}
        if points:
            given["lam"] = 10 ** (6 * rng.uniform(size=(points, p)) - 3)
        start = time.process_time()
        model = getattr(package, classes[family])(terms)
        model.gridsearch(rows.X, rows.y, progress=False, **given)
        seconds = time.process_time() - start
        penalties = np.ravel(model.lam)[:p].astype(float).tolist()
        # Its edf by coefficient are by singular vector: they cannot be told apart by term.
        edf = [float(model.statistics_["edof"])]
        score = LINKS[family](model.predict_mu(fresh))
        return Fit(seconds, score, edf=edf, penalties=penalties)

    return fit


def statsmodels(basis: int = 20) -> Method:
    """select_penweight by its default criterion, AIC, with scipy's BFGS.

    Its default, basin hopping, takes a hundred times as many fits; its k folds need a grid, of
    11 to the power of the number of terms by default.
    """

    def fit(rows: Rows, fresh: Array, family: str) -> Fit:
        from statsmodels.gam.api import BSplines, GLMGam
        from statsmodels.genmod import families

        kinds = {"gaussian": "Gaussian", "binomial": "Binomial", "poisson": "Poisson"}
        p, ends = rows.X.shape[1], {"lower_bound": 0.0, "upper_bound": 1.0}
        start = time.process_time()
        splines = BSplines(rows.X, df=[basis] * p, degree=[3] * p, knot_kwds=[ends] * p)
        ones = np.ones((len(rows.y), 1))
        kind = getattr(families, kinds[family])()
        model = GLMGam(rows.y, ones, smoother=splines, family=kind)
        model.fit()  # select_penweight reads a scale that only a fit leaves
        alphas, *_ = model.select_penweight(method="minimize")
        model.alpha = list(alphas)
        found = model.fit()
        seconds = time.process_time() - start
        score = found.predict(np.ones((len(fresh), 1)), fresh, which="linear")
        edf = [float(np.sum(found.edf[1:][mask])) for mask in splines.mask]
        return Fit(seconds, np.asarray(score), edf=edf, penalties=np.asarray(alphas).tolist())

    return fit


class Mgcv(NamedTuple):
    """One call of mgcv: gam, bam, or "discrete", bam on rounded covariates."""

    term: str = "s({}, k = 20)"
    engine: str = "gam"
    criterion: str = "REML"
    select: bool = False
    limit: float = 600.0
    sp: tuple[float, ...] = ()

    def __call__(self, rows: Rows, fresh: Array, family: str) -> Fit:
        names = [f"x{j}" for j in range(rows.X.shape[1])]
        formula = "y ~ " + " + ".join(self.term.format(name) for name in names)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            _write(folder / "rows.csv", ["y", *names], np.column_stack([rows.y, rows.X]))
            _write(folder / "fresh.csv", names, fresh)
            told = (self.engine, family, self.criterion, str(self.select).upper(), formula)
            command = ["Rscript", str(SCRIPT), place, *told, *(repr(float(s)) for s in self.sp)]
            run(command, self.limit)
            return self.read(folder, len(names))

    def read(self, folder: Path, p: int) -> Fit:
        values = _read(folder / "fit.csv")
        score, error, terms, errors = np.split(values, [1, 2, 2 + p], axis=1)
        info = (folder / "info.csv").read_text().splitlines()[1].split(",", 3)
        edf = _read(folder / "edf.csv")[:, 0]
        sp, scale = _read(folder / "penalties.csv").T
        more = {"sp": sp.tolist(), "score": float(info[1]), "dispersion": float(info[2])}
        more |= {"S.scale": scale.tolist(), "converged": info[3].strip('"')}
        if (folder / "knots.csv").exists():
            more["knots"] = _read(folder / "knots.csv").T.tolist()
        return Fit(
            float(info[0]),
            score[:, 0],
            Band(score, score - NORMAL * error, score + NORMAL * error),
            Band(terms, terms - NORMAL * errors, terms + NORMAL * errors),
            edf.tolist(),
            (sp / scale).tolist(),
            (edf < 0.1).tolist(),
            more,
        )


def run(command: Sequence[str], limit: float) -> None:
    """A program with one thread; what it says when it fails is the reason."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, env=os.environ | threads, capture_output=True, text=True, timeout=limit
        )
    except FileNotFoundError:
        raise Failed("R is not installed") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {limit:g} s") from None
    if done.returncode:
        missing = "there is no package called" in done.stderr
        told = " ".join(done.stderr[done.stderr.find("Error") :].split())
        raise Failed("mgcv is not installed" if missing else told[:120])


def _write(path: Path, names: Sequence[str], values: Array) -> None:
    np.savetxt(path, values, fmt="%.17g", delimiter=",", header=",".join(names), comments="")


def _read(path: Path) -> Array:
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
