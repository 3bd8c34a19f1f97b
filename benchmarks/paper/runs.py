"""Runs: one is one file of rows, written whole when it is finished, and then not run again."""

from __future__ import annotations

import io
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import hoag
from hoag._core.numeric import Array
from hoag._core.result import Step
from hoag._core.writing import write_atomically
from hoag._criteria.base import Criterion
from hoag._minimize import minimize
from hoag.errors import SingularProblemError
from paper import methods
from paper.cases import Setting, case
from paper.rows import DRAWN
from paper.truth import Curve

# Points a side of the drawn surface of f.
SURFACE = 21
# Up to so many hyperparameters are kept in the rows.
KEPT = 2
# What a row of Curve.knots() is.
CURVE = ["lam_0", "f", "grad_0"]


@dataclass(frozen=True)
class Job:
    """One run: a case, a method, a seed of the split, and maybe the number of a random start.

    The methods "curve" and "surface" are f itself, solved tightly.
    """

    case: str
    method: str
    seed: int
    start: int = -1

    @property
    def stem(self) -> str:
        number = f"-start{self.start}" if self.start >= 0 else ""
        return f"{self.case}/{self.method}-{self.seed}{number}"

    def seconds(self, budget: float) -> float:
        """About how long it may take, for the bar."""
        if self.method in DRAWN:
            return budget
        method = methods.METHODS[self.method]
        ends_early = (method.gradient or method.name == "grid") and not case(self.case).many
        return budget * case(self.case).longer * (0.3 if ends_early else 1.1)


class Store:
    """A folder of rows, as Parquet or CSV."""

    def __init__(self, folder: Path, form: str = "parquet") -> None:
        self.folder, self.form = Path(folder), form

    def path(self, job: Job) -> Path:
        return self.folder / f"{job.stem}.{self.form}"

    def load(self, job: Job) -> Any:
        """The rows of a finished run, or None."""
        import pandas as pd

        path = self.path(job)
        if not path.exists():
            return None
        if self.form == "parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype={"version": str})

    def finished(self, job: Job, budget: float) -> bool:
        """Whether it was run by this version, and not cut short by a smaller budget than this."""
        rows = self.load(job)
        if rows is None or rows.version.iloc[-1] != hoag.__version__:
            return False
        last = rows.iloc[-1]
        return bool(last.status != "time_budget" or last.budget >= budget * case(job.case).longer)

    def save(self, job: Job, rows: Any) -> None:
        buffer = io.BytesIO()
        if self.form == "parquet":
            rows.to_parquet(buffer, index=False)
        else:
            rows.to_csv(buffer, index=False)
        write_atomically(self.path(job), buffer.getvalue())

    def rows(self, wanted: Iterable[Job]) -> Any:
        """All rows of those runs that are finished."""
        import pandas as pd

        frames = [frame for job in wanted if (frame := self.load(job)) is not None]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def jobs(figures: Iterable[str], cases: Iterable[str], seeds: int) -> list[Job]:
    """What has to be run for some figures, the first seed of everything before the second.

    The sequences, the random starts and the case with many hyperparameters are of the first only.
    """
    figures, chosen = set(figures), [case(name) for name in cases]
    few = [c for c in chosen if not c.many]
    first_curve = next((c for c in few if c.curve), None)
    wanted: list[Job] = []
    for seed in range(seeds):
        for c in few:
            names: tuple[str, ...] = ("curve",) if c.curve else ()
            if seed == 0:
                names += ("surface",) if "costs" in figures and not c.curve else ()
                names += methods.SEQUENCES if "tolerance" in figures else ()
                names += ("hoag-exponential", "smbo") if "costs" in figures else ()
                names += ("certified",) if "gradient" in figures and c is first_curve else ()
            names += methods.COMPARED if "methods" in figures else ()
            wanted += [Job(c.name, name, seed) for name in names]
            if figures & {"tolerance", "methods"} and seed == 0:
                wanted += [Job(c.name, "hoag-exponential", seed, k) for k in range(methods.STARTS)]
        if seed == 0 and "many" in figures:
            many = [c.name for c in chosen if c.many]
            wanted += [Job(name, method, 0) for name in many for method in methods.COMPARED_ON_MANY]
    return list(dict.fromkeys(wanted))


def run(
    wanted: list[Job], store: Store, budget: float, progress: Callable[[Job], None]
) -> dict[Job, str]:
    """Run them all, and tell `progress` of each; those that failed, and why."""
    from threadpoolctl import threadpool_limits

    failed = {}
    for job in wanted:
        try:
            with threadpool_limits(1):
                store.save(job, _rows(job, store, budget))
        except SingularProblemError as error:
            failed[job] = str(error)
        progress(job)
    return failed


def _rows(job: Job, store: Store, budget: float) -> Any:
    setting = _setting(job.case, job.seed)
    truth, curve = setting.truth, Job(job.case, "curve", job.seed)
    if isinstance(truth, Curve) and not truth.known and job != curve and store.finished(curve, 0):
        # f solved in an earlier session is not solved again.
        truth.restore(store.load(curve)[CURVE].to_numpy())
    if job.method in DRAWN:
        return _drawn(job, setting)
    return _searched(job, setting, budget * case(job.case).longer)


@lru_cache(maxsize=1)
def _setting(name: str, seed: int) -> Setting:
    return case(name).make(seed)


def _searched(job: Job, setting: Setting, budget: float) -> Any:
    """One run; f at its points is solved afterwards, outside its clock."""
    import pandas as pd

    lam0, c, method = None, case(job.case), methods.METHODS[job.method]
    if job.start >= 0:
        lam0, (criterion, search) = methods.random_start(setting, job.seed, job.start)
    else:
        criterion, search = method.make(setting, job.seed)
    target = c.target if method.gradient else None
    watch = _Watch(setting, criterion, budget, target, c.evaluations.get(job.method))
    result = minimize(criterion, lam0, setting.domain, search, watch)
    if not watch.rows:
        raise SingularProblemError(f"{job.stem}: {result.status}")
    rows = pd.DataFrame(watch.rows)
    rows["f"] = np.nan
    if setting.truth is not None:
        # Of a random start only where it ended counts.
        asked = rows.index if job.start < 0 else rows.index[-1:]
        rows.loc[asked, "f"] = setting.truth.f(np.array(watch.lams)[asked])
    if job.method == "certified" and isinstance(setting.truth, Curve):
        rows["true_slope"] = setting.truth.slopes(np.array(watch.lams))
    return _named(rows, job, watch.ended or result.status.reason, budget)


def _drawn(job: Job, setting: Setting) -> Any:
    """f on the whole domain."""
    import pandas as pd

    if isinstance(setting.truth, Curve):
        rows = pd.DataFrame(setting.truth.knots(), columns=CURVE)
    else:
        assert setting.truth is not None
        lams = np.array(list(setting.domain.grid(SURFACE)))
        rows = pd.DataFrame(lams, columns=["lam_0", "lam_1"]).assign(f=setting.truth.f(lams))
    return _named(rows, job, "finished", np.inf)


def _named(rows: Any, job: Job, status: str, budget: float) -> Any:
    return rows.assign(
        **asdict(job),
        status=status,
        budget=budget,
        version=hoag.__version__,
        machine=f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{platform.system()} {platform.machine()}",
    )


@dataclass
class _Watch:
    """Turns every step into a row, and ends the run; what rows take is not the search's time.

    ended   "time_budget", "target" or "evaluations" once one of them has ended the run, else ""
    """

    setting: Setting
    criterion: Criterion
    budget: float
    target: float | None
    most: int | None
    rows: list[dict[str, float]] = field(default_factory=list)
    lams: list[Array] = field(default_factory=list)
    ended: str = ""
    outside: float = 0.0

    def __call__(self, step: Step) -> bool:
        start, found = time.perf_counter(), step.evaluation
        seconds = step.seconds - self.outside
        x, _ = self.criterion.solution(found)
        row = {
            "k": step.k,
            "seconds": seconds,
            "passes": step.cost.passes,
            "held_out": step.cost.held_out,
            "kernels": step.cost.kernels,
            "eps": step.eps,
            "value": found.g,
            "corrected": found.value,
            "f_error": found.f_error,
            "error": found.error,
            "bound": found.bound,
            "step_size": step.step_size,
            "validation": self.setting.validation(x, step.lam),
        }
        if step.lam.size <= KEPT:
            row |= {f"lam_{j}": value for j, value in enumerate(step.lam)}
            row |= {f"grad_{j}": value for j, value in enumerate(found.grad)}
        self.rows.append(row)
        self.lams.append(step.lam)
        self.outside += time.perf_counter() - start
        if self.target is not None and found.g < self.target:
            self.ended = "target"
        elif step.k == self.most:
            self.ended = "evaluations"
        elif seconds >= self.budget:
            self.ended = "time_budget"
        return bool(self.ended)
