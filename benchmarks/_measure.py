"""What default_search.py measures with: figures beside their targets, clocks, memory, a cache."""

from __future__ import annotations

import gc
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from ctypes import CDLL
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from paper.claim import number
from threadpoolctl import threadpool_limits

from hoag._core.numeric import Array

T = TypeVar("T")
CACHE = Path(tempfile.gettempdir()) / "hoag-default-search"
HEADER = "| data | figure | median (least to most) | target | |\n|---|---|---|---|---|"


class Aim(NamedTuple):
    """A value that should be ≤, <, ≥ or > its target."""

    value: float
    sign: str
    target: float

    def __repr__(self) -> str:
        return repr(self.value)

    def verdict(self) -> str:
        """By how much it misses is a factor, or a difference where one side is zero."""
        value, sign, target = self
        within = value < target if sign in "≤<" else value > target
        if within or (sign in "≤≥" and value == target):
            return "reached"
        least, most = sorted((value, target))
        by = f"a factor of {most / least:.2f}" if least > 0 else f"{most - least:.2g}"
        return f"not reached, by {by}"


def record(data: str, what: str, samples: Sequence[float | Aim]) -> dict[str, Any]:
    """One figure; of its samples, one for each seed or repetition, the median counts."""
    first = samples[0]
    values = [float(s.value if isinstance(s, Aim) else s) for s in samples]
    median = float(np.median(values))
    found = {"data": data, "figure": what, "samples": values, "median": median}
    if not isinstance(first, Aim):
        return found | {"target": "", "verdict": ""}
    target = f"{first.sign} {number(first.target)}"
    return found | {"target": target, "verdict": first._replace(value=median).verdict()}


def row(found: dict[str, Any]) -> str:
    least, most = min(found["samples"]), max(found["samples"])
    spread = f" ({number(least)} to {number(most)})" if least < most else ""
    cells = (found["data"], found["figure"], number(found["median"]) + spread)
    return f"| {' | '.join((*cells, found['target'], found['verdict']))} |"


def say(*words: Any) -> None:
    print(*words, file=sys.stderr, flush=True)


class Timed(NamedTuple):
    seconds: float
    result: Any


def timed(call: Callable[..., Any], *args: Any) -> Timed:
    gc.collect()
    start = time.perf_counter()
    result = call(*args)
    return Timed(time.perf_counter() - start, result)


@contextmanager
def alone() -> Iterator[None]:
    """One thread, and no warnings: what did not converge shows in the figures."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def in_child(call: Callable[..., T], *args: Any) -> T:
    """The same in a new process, whose memory is its own."""
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_called, call, args).result()


def _called(call: Callable[..., T], args: tuple[Any, ...]) -> T:
    with alone():
        return call(*args)


def measured(call: Callable[..., Any], *args: Any) -> tuple[Timed, float, float]:
    """A call with the bytes that the process held before it, and at most during it.

    Not by ru_maxrss where it can be helped: a child inherits that of its parent, and it does not
    forget how the data were made.
    """
    gc.collect()
    if sys.platform == "linux":
        CDLL(None).malloc_trim(0)  # what was freed shall not be handed out again unseen
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is held now
        except OSError as error:
            say(f"    The peak is that since the process began: {error}")
    before = _held("VmRSS")
    return timed(call, *args), before, _held("VmHWM")


def _held(field: str) -> float:
    """A line of /proc/self/status, in bytes; elsewhere than on Linux the peak so far."""
    if sys.platform != "linux":
        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def cached(name: str, compute: Callable[[], Array]) -> Array:
    """An array computed once on this machine, and then read from a temporary directory."""
    path = CACHE / f"{name}.npy"
    if not path.exists():
        say(f"    solving {name}, outside every count")
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = CACHE / f"{name}.{os.getpid()}.npy"
        np.save(unfinished, compute())
        unfinished.replace(path)
    return np.asarray(np.load(path))
