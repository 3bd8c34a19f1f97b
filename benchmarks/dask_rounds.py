"""Milliseconds a round on workers: 20 000 numbers go out, four blocks are added, as many come back.

Bare actors send the same bytes there and back and know nothing of partitions, faults or hung
workers: what Dask itself takes for such a round on this machine.

python benchmarks/dask_rounds.py [--workers 2] [--rounds 300]
"""

from __future__ import annotations

import argparse
import pickle
import time
from functools import partial

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import hoag
import hoag.dask


def count(i, partition):
    return partition.rows


class Bare:
    """An actor that adds twice, as a worker with two blocks does."""

    def run(self, sent: bytes) -> bytes:
        v = pickle.loads(sent)
        return pickle.dumps((v + 1000) + (v + 1000), protocol=5)


def bare(actors, v):
    sent = pickle.dumps(v, protocol=5)
    answers = [actor.run(sent) for actor in actors]
    return sum(pickle.loads(answer.result()) for answer in answers)


def tasks(client, v):
    """The same round by tasks of dask."""
    there = client.scatter(v, broadcast=True, hash=False)
    parts = [client.submit(np.add, there, i, pure=False) for i in range(4)]
    return client.submit(sum, parts, pure=False).result()


def timed(call, rounds):
    call()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        took.append(1e3 * (time.perf_counter() - began))
    return f"{np.median(took):6.2f} ms, the fastest {min(took):.2f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=300)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    A, v = rng.normal(size=(4000, 20)), rng.normal(size=20_000)
    t = A[:, 0] + rng.normal(size=4000) > 0
    X, y = da.from_array(A, chunks=(1000, 20)), da.from_array(t, chunks=1000)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=given.workers, **options) as cluster, Client(cluster) as client:
        with Client(cluster, direct_to_workers=True, set_as_default=False) as direct:
            there = list(direct.scheduler_info()["workers"])
            made = [direct.submit(Bare, actor=True, workers=[w], pure=False) for w in there]
            actors = [future.result() for future in made]
            print(f"bare actors                    {timed(partial(bare, actors, v), given.rounds)}")
        with hoag.dask.engine(X, y) as engine:
            found = timed(lambda: engine.total(partial(np.add, v), count), given.rounds)
            print(f"actors, straight to workers    {found}")
        with hoag.dask.engine(X, y) as engine:
            engine.cluster.close()
            engine.cluster.fast = client
            found = timed(lambda: engine.total(partial(np.add, v), count), given.rounds)
            print(f"actors, through the scheduler  {found}")
        print(
            f"tasks                          {timed(lambda: tasks(client, v), given.rounds // 10)}"
        )
        for name, data in (("in memory", (A, t)), ("on workers", (X, y))):
            found = timed(partial(hoag.LogisticRegressionCV().fit, *data), 5)
            print(f"a fit of 4000 × 20, {name:<11}{found}")


if __name__ == "__main__":
    main()
