"""Partitions brought to workers by their recipes, at first and when a worker is gone."""

from __future__ import annotations

import asyncio
import pickle
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import partial
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import cloudpickle
import dask
import distributed
from dask.optimization import cull

from hoag._data.memory import plan_memory
from hoag.dask._cluster import Cluster, lost, told, value
from hoag.dask._holder import NotHere, keep
from hoag.dask._recipes import Recipes


class Loader:
    """Who holds which partitions: `held`, by address.

    A block is computed by dask on the worker that gets it, handed to the holder there by reference,
    and let go by dask: it is in memory once, and never in this process.
    """

    def __init__(self, made: Recipes, cluster: Cluster) -> None:
        self.recipes, self.cluster = made, cluster
        self.held: dict[str, set[int]] = {}
        self.sizes = [1.0] * len(made.X) if made.rows is None else [n + 1.0 for n in made.rows]
        self.told = False

    def drop(self, addresses: Collection[str]) -> None:
        """These workers are lost, and their partitions with them."""
        for address in addresses:
            self.held.pop(address, None)
            if address in self.cluster.hands:
                self.cluster.drop(address)

    def load(self, attempts: int) -> int:
        """Brings every partition that nobody holds to some worker; how many there were."""
        every = set(range(len(self.recipes.X)))
        orphans = sorted(every.difference(*self.held.values()))
        first = len(orphans)
        for _ in range(attempts):
            if not orphans:
                return first
            self._workers()
            self._bring(orphans)
            orphans = sorted(every.difference(*self.held.values()))
        if orphans:
            raise lost(f"Blocks were loaded {attempts} times, and workers were lost each time.")
        return first

    def _workers(self) -> None:
        """Holders on all workers; waits for one to come, or to come back, as long as `patience`."""
        end = monotonic() + self.cluster.patience
        self.cluster.hire()
        while not self.cluster.hands:
            if monotonic() > end:
                raise lost("No worker of the cluster is left that answers.")
            sleep(min(0.2, self.cluster.patience / 10))
            self.cluster.hire()
        self.drop([address for address in self.held if address not in self.cluster.hands])
        if not self.told:
            self._tell()
            self.told = True

    def _tell(self) -> None:
        """Warns where workers have less memory than these rows are going to need."""
        made = self.recipes
        if made.rows is None or not made.dense:
            return
        plan = plan_memory((sum(made.rows), made.features), workers=len(self.cluster.hands))
        known = self.cluster.client.scheduler_info()["workers"]
        limits = [known[a]["memory_limit"] for a in self.cluster.hands if a in known]
        least = min((limit for limit in limits if limit), default=None)
        if least is not None and least < plan.worker:
            warnings.warn(
                f"A worker needs about {plan.worker / 1e9:.2g} GB for its share of these rows, and "
                f"the smallest may use {least / 1e9:.2g} GB: use more workers, or larger ones. "
                "hoag.data.plan_memory says what is needed for what.",
                stacklevel=2,
            )

    def _bring(self, orphans: Sequence[int]) -> None:
        cluster = self.cluster
        level = {a: sum(self.sizes[i] for i in self.held.get(a, ())) for a in cluster.hands}
        shares = placed(orphans, self.sizes, self._homes(orphans), level)
        sent = {address: self._sent(address, share) for address, share in shares.items()}
        try:
            self._take(shares, {address: loads for address, (_, loads) in sent.items()})
        finally:
            for futures in sent.values():
                for future in (*futures[0], *futures[1]):
                    future.release()

    def _take(
        self, shares: Mapping[str, Sequence[int]], loads: Mapping[str, Sequence[Any]]
    ) -> None:
        """Notes who has what, when it is there."""
        answers, gone = self.cluster.ask({a: partial(came, each) for a, each in loads.items()})
        for address, outcomes in answers.items():
            held = self.held.setdefault(address, set())
            for i, (found, error) in zip(shares[address], outcomes):
                if isinstance(error, NotHere):
                    gone.add(address)
                elif error is not None:
                    raise explained(i, error)
                else:
                    self.sizes[i] = float(found)
                    held.add(i)
        self.drop(gone)

    def _sent(self, address: str, share: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """Tasks that make these partitions near a worker, and tasks on it that keep them."""
        client, name = self.cluster.client, self.cluster.hands[address].name
        tag = uuid4().hex
        recipes = [self.recipes.partition(i, name=f"hoag-partition-{tag}-{i}") for i in share]
        if self.cluster.hung and not distributed.futures_of(recipes):
            # parts of the graph may be on a worker that hangs: nobody but this one is asked
            partitions = [
                client.submit(alone, packed_graph(each), workers=[address]) for each in recipes
            ]
        else:
            partitions = client.compute(recipes, workers=[address], allow_other_workers=True)
        return partitions, [
            client.submit(keep, name, i, partition, key=f"hoag-keep-{tag}-{i}", workers=[address])
            for i, partition in zip(share, partitions)
        ]

    def _homes(self, partitions: Sequence[int]) -> dict[int, list[str]]:
        """The workers that have most of what the blocks of X are made of."""
        blocks = [self.recipes.X[i] for i in partitions]
        kept = {future.key: future for future in distributed.futures_of(blocks)}
        if not kept:
            return {}
        gone = {key for key, future in kept.items() if future.cancelled()}
        who = self.cluster.client.who_has([kept[key] for key in kept if key not in gone])
        graph = dict(blocks[0].__dask_graph__())
        homes = {}
        for i, block in zip(partitions, blocks):
            needed, _ = cull(graph, [block.key])
            if not gone.isdisjoint(needed):
                raise explained(i, CancelledError())
            count = Counter(a for key in needed if key in kept for a in who.get(key, ()))
            homes[i] = [address for address, n in count.items() if n == max(count.values())]
        return homes


def packed_graph(recipe: Any) -> bytes:
    """All that this needs, and nothing else, in a form that dask does not look into."""
    needed, _ = cull(dict(recipe.__dask_graph__()), [recipe.key])
    found: bytes = cloudpickle.dumps((dict(needed), recipe.key), protocol=5)
    return found


def alone(graph: bytes) -> Any:
    """A graph, computed at once, in this process."""
    return dask.get(*pickle.loads(graph))


async def came(futures: Sequence[Any]) -> list[Any]:
    """What became of each load."""
    return [await told(partial(value, future)) for future in futures]


def explained(i: int, error: BaseException) -> BaseException:
    """What is raised where block i could not be had: what its tasks raised, or a sentence."""
    if isinstance(error, distributed.KilledWorker):
        return lost(
            f"Workers died one after another while they computed block {i}, most often for want of "
            "memory: use smaller blocks or larger workers."
        )
    if isinstance(error, (asyncio.CancelledError, CancelledError)):
        return lost(
            f"Block {i} was in the memory of a worker that is gone, and dask does not know how to "
            "compute it again: make the collection by dask, not by client.scatter."
        )
    error.add_note(f"While block {i} was computed on a worker.")
    return error


def placed(
    partitions: Sequence[int],
    sizes: Sequence[float],
    homes: Mapping[int, Collection[str]],
    held: Mapping[str, float],
) -> dict[str, list[int]]:
    """Partitions to workers: to the one that has the data, else in runs that follow each other.

    Neighbours on one worker are added there, and one vector travels for all of them. `held` is
    what each worker has so far; runs fill the workers up to the same level.

    >>> from hoag.dask._loading import placed
    >>> placed([0, 1, 2, 3], [1.0] * 4, {}, {"a": 0.0, "b": 0.0})
    {'a': [0, 1], 'b': [2, 3]}
    >>> placed([0, 1, 2], [1.0] * 3, {2: ["a"]}, {"a": 0.0, "b": 0.0})
    {'a': [0, 2], 'b': [1]}
    """
    found: dict[str, list[int]] = {worker: [] for worker in held}
    level = dict(held)
    rest = []
    for i in partitions:
        near = [worker for worker in homes.get(i, ()) if worker in level]
        if near:
            best = min(near, key=lambda worker: level[worker])
            found[best].append(i)
            level[best] += sizes[i]
        else:
            rest.append(i)
    goal = (sum(level.values()) + sum(sizes[i] for i in rest)) / len(level)
    order = list(level)
    at = 0
    for i in rest:
        while at + 1 < len(order) and level[order[at]] + sizes[i] / 2 > goal:
            at += 1
        found[order[at]].append(i)
        level[order[at]] += sizes[i]
    return {worker: sorted(numbers) for worker, numbers in found.items() if numbers}
