"""Kill a search of twenty steps with SIGKILL, again and again, and see where it ends afterwards.

    python kills.py FOLDER KILLS SEED

Every search, and every one that goes on, is a process of its own, forked from this one. Prints one
line of JSON: how often the process was killed before it had ended, how many of the searches that
went on ended with other bits, and, as a control, how many did so without their warm starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import registry

import hoag
from hoag import models
from hoag.optimize import Hoag
from hoag.optimize._checkpoint import Checkpoint, Slot


def searched(path: Path | None) -> str:
    """A digest of all bits of λ, f, p, x and the trace."""
    folds = models.folds(models.logistic, *registry.text(60, 20), cv=2, penalties="per-feature")
    result = hoag.minimize(
        folds,
        search=Hoag(max_iter=20),
        callback=lambda step: time.sleep(0.002),
        checkpoint=path,
    )
    assert len(result.trace) == 20
    told = [result.lam, np.array([result.value]), result.grad, *result.x]
    for step in result.trace:
        told += [step.lam, step.evaluation.value, step.evaluation.grad, step.eps]
    return hashlib.sha256(b"".join(np.asarray(one).tobytes() for one in told)).hexdigest()


def forked(path: Path | None, out: Path, share: float, forget: bool = False) -> int:
    """The number of a process that searches and writes its digest."""
    number = os.fork()
    if number:
        return number
    Checkpoint.share = share
    begun = Slot.begun

    def without_warm_starts(slot, about):
        known = begun(slot, about)
        if isinstance(known, hoag.optimize.Journal):
            held = known.held.items()
            known.held = {
                k: replace(one, warm=None, parts=tuple(replace(p, warm=None) for p in one.parts))
                for k, one in held
            }
        return known

    if forget:
        Slot.begun = without_warm_starts
    code = 1
    try:
        out.write_text(searched(path))
        code = 0
    finally:
        os._exit(code)


def ended(number: int) -> int:
    return os.waitpid(number, 0)[1]


def main(folder: Path, kills: int, seed: int) -> dict[str, int]:
    rng = np.random.default_rng(seed)
    told, path, copy = folder / "told", folder / "run.ckpt", folder / "copy.ckpt"
    searched(None)  # what is imported late is imported now
    start = time.perf_counter()
    assert ended(forked(path, told, 0.5)) == 0
    takes, whole = time.perf_counter() - start, told.read_text()
    found = {"killed": 0, "other": 0, "control": 0, "controls": 0}
    for _ in range(kills):
        path.unlink(missing_ok=True)
        share = float(rng.choice([0.1, 0.9]))
        number = forked(path, told, share)
        time.sleep(float(rng.uniform(0.0, 1.05 * takes)))
        os.kill(number, signal.SIGKILL)
        found["killed"] += os.WIFSIGNALED(ended(number))
        begun = path.exists()
        if begun:
            copy.write_bytes(path.read_bytes())
        same = ended(forked(path, told, share)) == 0 and told.read_text() == whole
        found["other"] += not same
        if begun and found["controls"] < 4:
            found["controls"] += 1
            failed = ended(forked(copy, told, share, forget=True)) != 0
            found["control"] += failed or told.read_text() != whole
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201
