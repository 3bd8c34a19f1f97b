"""Rounds over partitions that workers hold: send one message a worker, add what comes back in a
tree.

The driver has the state of the search, the workers have partitions that can be made again: a round
is pure, and what is missing of it is asked again of others. Leaves and nodes of the tree are added
in the same order whoever sends them, so that no bit tells who did.
"""

from __future__ import annotations

import pickle
import threading
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Any

import cloudpickle
import dask
import distributed

from hoag._core.errors import ClusterLostError
from hoag._data.engine import Call, Engine, LocalEngine, Prepare, TreeSum
from hoag._data.source import Partition, Source
from hoag.dask._cluster import Cluster, lost
from hoag.dask._holder import Failure, Order
from hoag.dask._loading import Loader
from hoag.dask._recipes import Recipes, digest, recipes


def engine(
    X: Any, y: Any = None, sample_weight: Any = None, client: Any = None, patience: Any = None
) -> Engine:
    """Partitions of a dask array or dataframe, a block of rows each, held by workers of a cluster.

    y and the weights are brought to the blocks of X.

    Parameters
    ----------
    X : dask array or dataframe
        The rows.
    y : dask array, series or array-like, default=None
        The targets.
    sample_weight : dask array, series or array-like, default=None
        The weights of the rows.
    client : distributed.Client, default=None
        The cluster; None is the current one, and without any, dask's own scheduler computes blocks
        in this process, again in every round.
    patience : float, default=None
        Seconds: a worker that has not answered anything for so long is given up, and its blocks are
        made again on others. None is what dask.config.set({"hoag.patience": …}) says, or 10.

    Returns
    -------
    Engine
        For `fit(engine)` of the estimators.

    Raises
    ------
    InvalidDataError
        Where X, y and weights do not go together.

    Examples
    --------
    >>> import dask.array as da
    >>> import hoag.dask
    >>> engine = hoag.dask.engine(da.ones((6, 2), chunks=(2, 2)), da.arange(6, chunks=3))
    >>> engine.partitions, engine.gathered(lambda partition: partition.y.tolist())
    (3, [[0, 1], [2, 3], [4, 5]])
    """
    client = client or client_of(X, y, sample_weight)
    if client is None:
        return LocalEngine(
            DaskSource(recipes(X, y, sample_weight, lambda jobs: dask.compute(*jobs)))
        )
    made = recipes(X, y, sample_weight, lambda jobs: client.gather(client.compute(jobs)))
    seconds = dask.config.get("hoag.patience", 10.0) if patience is None else patience
    return Workers(made, client, float(seconds))


def client_of(*collections: Any) -> Any:
    """The client that holds these data, or the one of this process; None where there is none."""
    for collection in collections:
        for future in distributed.futures_of(collection):
            return future.client
    try:
        return distributed.get_client()
    except ValueError:
        return None


class DaskSource(Source):
    """Blocks computed by dask's own scheduler whenever one is read."""

    def __init__(self, made: Recipes) -> None:
        self.recipes = made
        self.partitions, self.features, self.names = len(made.X), made.features, made.names

    def read(self, i: int, rows: bool = True) -> Partition:
        (found,) = dask.compute(self.recipes.partition(i, rows))
        assert isinstance(found, Partition)
        return found

    def fingerprint(self) -> str:
        return together([digest(self.read(i)) for i in range(self.partitions)])


class Workers(Engine, AbstractContextManager["Workers", None]):
    """Partitions in the memory of workers, one actor each; `hoag.dask.engine` makes these.

    with engine: …  lets go of the partitions at the end, as close() does.
    """

    def __init__(self, made: Recipes, client: Any, patience: float, attempts: int = 5) -> None:
        self.partitions, self.features, self.names = len(made.X), made.features, made.names
        self.cluster = Cluster(client, patience)
        self.loader = Loader(made, self.cluster)
        self.attempts = attempts
        self.rebuilt = 0
        self._prepares: dict[int, Prepare] = {}
        self._keys = count()
        self._lock = threading.RLock()
        self._fingerprint: str | None = None
        self._end = weakref.finalize(self, self.cluster.close)
        self._end.atexit = False

    def total(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> Any:
        tree = TreeSum()
        for node, value in self._round(call, prepare, rows, together=True):
            tree.add(node, value)
        return tree.total

    def gathered(self, call: Call, prepare: Prepare | None = None, rows: bool = True) -> list[Any]:
        found = self._round(call, prepare, rows, together=False)
        return [value for _, value in sorted(found, key=lambda pair: pair[0])]

    def fingerprint(self) -> str:
        """A hash of all numbers and of where blocks end; dask's own names may change by run."""
        if self._fingerprint is None:
            self._fingerprint = together(self.gathered(digest, rows=False))
        return self._fingerprint

    def close(self) -> None:
        self._end()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _round(
        self, call: Call, prepare: Prepare | None, rows: bool, together: bool
    ) -> list[tuple[Any, Any]]:
        """(node, value) of all partitions, in any order."""
        if not self._end.alive:
            raise ClusterLostError(
                "This engine is closed.\nMake another by hoag.dask.engine(X, y)."
            )
        sent = cloudpickle.dumps(call, protocol=5)
        found: list[tuple[Any, Any]] = []
        with self._lock:
            key = None if prepare is None else self._key(prepare)
            missing = set(range(self.partitions))
            for _ in range(self.attempts):
                self.rebuilt += self.loader.load(self.attempts)
                missing -= set(self._ask(sent, missing, key, together, found))
                if not missing:
                    self.reads += 1.0 if rows else 0.0
                    return found
        raise lost(f"A round was begun {self.attempts} times, and workers were lost each time.")

    def _ask(
        self, call: bytes, missing: set[int], key: int | None, together: bool, found: list[Any]
    ) -> list[int]:
        """Asks workers for what is missing; the partitions that were answered for."""
        orders = {}
        for address, held in self.loader.held.items():
            if mine := sorted(missing & held):
                prepare = None
                if key is not None and key not in self.cluster.hands[address].sent:
                    prepare = cloudpickle.dumps(self._prepares[key], protocol=5)
                orders[address] = Order(call, mine, together, key, prepare, list(self._prepares))
        hands = self.cluster.hands
        answers, gone = self.cluster.ask(
            {
                address: partial(hands[address].actor.run, pickle.dumps(order, protocol=5))
                for address, order in orders.items()
            }
        )
        done: list[int] = []
        failures = []
        for address, answer in answers.items():
            value = pickle.loads(answer)
            if isinstance(value, Failure):
                failures.append(value)
                continue
            if key is not None:
                hands[address].sent.add(key)
            found += value
            done += orders[address].partitions
        if failures:
            raise min(failures, key=lambda failure: failure.partition).error
        self.loader.drop(gone)
        return done

    def _key(self, prepare: Prepare) -> int:
        """A number for this object; the two most recent are kept."""
        known = [key for key, own in self._prepares.items() if own is prepare]
        key = known[0] if known else next(self._keys)
        others = [pair for pair in self._prepares.items() if pair[0] != key]
        self._prepares = dict([*others[-1:], (key, prepare)])
        return key


def together(digests: Sequence[str]) -> str:
    return blake2b(" ".join(digests).encode(), digest_size=16).hexdigest()
