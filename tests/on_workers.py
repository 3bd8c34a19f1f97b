"""What the tests of hoag.dask run on workers: apart, so that workers import no more than this."""

from __future__ import annotations

import gc
import time

import numpy as np


def normal(partition, v):
    """XᵀW(Xv − y), the weighted loss, and the rows."""
    rest = partition.X @ v - partition.y
    return (
        partition.X.T @ (partition.weights * rest),
        float(partition.weights @ rest**2),
        partition.rows,
    )


def slowly(partition, v, seconds):
    time.sleep(seconds)
    return normal(partition, v)


class Centred:
    """X − mean; counts how often it is pickled, and writes a line whenever it is called."""

    pickled = 0

    def __init__(self, log):
        self.log = log

    def __call__(self, i, partition):
        with self.log.open("a") as file:
            file.write(f"{i}\n")
        return i, partition.X - partition.X.mean(axis=0)

    def __reduce__(self):
        Centred.pickled += 1
        return Centred, (self.log,)


def number(state):
    return state[0] + 0 * np.ones(3)


def fail(partition):
    if partition.rows == 40:
        raise KeyError("no such thing")
    return partition.rows


class Unreadable(Exception):
    """Can be pickled, and not read again."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def fail_unreadably(partition):
    raise Unreadable(1, 2)


def states():
    from hoag.dask._holder import _holders

    (holder,) = _holders.values()
    return sorted(holder.states)


def holders():
    from hoag.dask._holder import _holders

    gc.collect()
    return len(_holders)


def clients(dask_scheduler):
    return [name for name in dask_scheduler.clients if not name.startswith("fire-and-forget")]


def listening():
    """The ports on which this process listens."""
    import psutil

    process = psutil.Process()
    return [c.laddr.port for c in process.net_connections() if c.status == psutil.CONN_LISTEN]
