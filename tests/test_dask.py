"""Rows on the workers of a cluster: sums, bits, and what is done when workers die or hang."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest
from on_workers import (
    Centred,
    clients,
    fail,
    fail_unreadably,
    holders,
    listening,
    normal,
    number,
    slowly,
    states,
)
from scipy import sparse

import hoag
from hoag import data as out_of_core
from hoag._data.engine import TreeSum
from hoag.errors import InvalidInputError

pytest.importorskip("distributed")
pytest.importorskip("dask.dataframe")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from clusters import cluster, settled
from distributed import wait

from hoag.dask import engine
from hoag.dask._engine import DaskSource, Workers
from hoag.errors import ClusterLostError

pytestmark = pytest.mark.usefixtures("kept_clusters")


def data(n=203, d=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)


def blocks(X, y, weight=None, sizes=(31, 50, 1, 40, 41, 40)):
    """Dask arrays of uneven blocks, the columns in two."""
    half = X.shape[1] // 2
    columns = (half, X.shape[1] - half)
    return (
        da.from_array(X, chunks=(sizes, columns)),
        da.from_array(y, chunks=70),
        None if weight is None else da.from_array(weight, chunks=(sizes,)),
    )


def here(engine):
    """The same partitions in this process."""
    return out_of_core.LocalEngine(DaskSource(engine.loader.recipes))


def same(found, other):
    assert all(np.array_equal(a, b) for a, b in zip(found, other, strict=True))


def pids(client):
    return client.run(os.getpid)


def holder_pid(client, engine):
    address = min(engine.loader.held)
    return pids(client)[address]


V = np.linspace(-1.0, 1.0, 7)


# ---------------------------------------------------------------- sums, and their bits


def test_sums_agree_with_numpy_and_bit_for_bit_with_this_process(one_worker, two_workers):
    X, y, w = data()
    wanted = normal(out_of_core.Partition(X, y, w), V)
    found = []
    for client in (one_worker, two_workers):
        with engine(*blocks(X, y, w), client=client) as there:
            assert isinstance(there, Workers)
            assert (there.partitions, there.features, there.names) == (6, 7, None)
            assert len(there.cluster.hands) == 0  # nothing is loaded before somebody asks
            found.append(there.total(partial(normal, v=V)))
            assert set().union(*there.loader.held.values()) == set(range(6))
            assert len(there.loader.held) == len(pids(client))
            assert there.reads == 1.0
            assert there.gathered(lambda partition: partition.rows, rows=False) == [
                31,
                50,
                1,
                40,
                41,
                40,
            ]
            assert there.reads == 1.0
            same(found[-1], here(there).total(partial(normal, v=V)))
            assert there.fingerprint() == here(there).fingerprint()
    for a, b, c in zip(*found, wanted, strict=True):
        assert np.array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-12)


def test_bits_do_not_tell_who_holds_what(two_workers):
    X, y, w = data()
    with engine(*blocks(X, y, w), client=two_workers) as there:
        first = there.total(partial(normal, v=V))
        a, b = there.cluster.hands
        for left in ({0, 2, 4}, {0, 5}, {1, 2, 3, 4, 5}):
            there.loader.drop([a, b])
            there.cluster.hire()
            a, b = there.cluster.hands
            for address, share in ((a, sorted(left)), (b, sorted(set(range(6)) - left))):
                _, loads = there.loader._sent(address, share)
                there.loader._take({address: share}, {address: loads})
            same(there.total(partial(normal, v=V)), first)


@pytest.mark.parametrize("to", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_blocks(two_workers, to):
    X, y, _ = data()
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    rows, target, _ = blocks(X, y)
    with engine(rows.rechunk({1: -1}).map_blocks(to), target, client=two_workers) as there:
        assert (
            there.gathered(lambda partition: sparse.issparse(partition.X) and partition.X.format)
            == ["csr"] * 6
        )
        found = there.total(partial(normal, v=V))
        same(found, here(there).total(partial(normal, v=V)))
        assert there.fingerprint() == here(there).fingerprint()
    np.testing.assert_allclose(found[0], normal(out_of_core.Partition(X, y), V)[0], rtol=1e-11)


def test_frames_keep_their_names_and_labels(two_workers):
    X, y, w = data()
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(label=np.where(y > 0, "yes", "no"))
    frame["a"], frame["weight"] = (X[:, 0] > 0), w
    table = dd.from_pandas(frame, npartitions=4)
    rows = table[list("abcdefg")]
    with engine(rows, table["label"], table["weight"], client=two_workers) as there:
        assert there.names == list("abcdefg")
        labels = there.gathered(
            lambda partition: (sorted(set(partition.y)), partition.weight.sum())
        )
        assert [each[0] for each in labels] == [["no", "yes"]] * 4
        assert sum(each[1] for each in labels) == pytest.approx(w.sum())
        sums = there.total(lambda partition: partition.X.sum(axis=0))
        np.testing.assert_allclose(sums, frame[list("abcdefg")].sum(), rtol=1e-12)
        assert there.fingerprint() == here(there).fingerprint()
    with pytest.raises(InvalidInputError, match="Columns label of X are no numbers"):
        engine(table, y, client=two_workers)


def test_blocks_of_unknown_sizes(two_workers):
    X, y, _ = data()
    rows, target, _ = blocks(X, y)
    many = rows[rows[:, 0] > 0]  # nobody knows how many these are
    left = target.rechunk({0: rows.chunks[0]})[rows[:, 0].rechunk((rows.chunks[0],)) > 0]
    wanted = normal(out_of_core.Partition(X[X[:, 0] > 0], y[X[:, 0] > 0]), V)
    for ys in (left, y[X[:, 0] > 0], da.from_array(y[X[:, 0] > 0], chunks=20)):
        with engine(many, ys, client=two_workers) as there:
            found = there.total(partial(normal, v=V))
            np.testing.assert_allclose(found[0], wanted[0], rtol=1e-11)
            assert found[2] == wanted[2]
    wrong = target.rechunk({0: rows.chunks[0]})[rows[:, 1].rechunk((rows.chunks[0],)) > 0]
    with (
        engine(many, wrong, client=two_workers) as there,
        pytest.raises(InvalidInputError, match=r"Block \d of X has \d+ rows and block \d of y"),
    ):
        there.total(partial(normal, v=V))
    with pytest.raises(InvalidInputError, match="y has 200 rows and X has 203"):
        engine(rows, y[:200], client=two_workers)
    with pytest.raises(InvalidInputError, match="blocks of unknown sizes and X has 6"):
        engine(rows, da.concatenate([left, left]), client=two_workers)


def test_without_a_client_dask_computes_blocks_here():
    X, y, w = data()
    there = engine(*blocks(X, y, w))
    assert isinstance(there, out_of_core.LocalEngine)
    np.testing.assert_allclose(
        there.total(partial(normal, v=V))[0],
        normal(out_of_core.Partition(X, y, w), V)[0],
        rtol=1e-11,
    )
    assert there.gathered(lambda partition: partition.X is None, rows=False) == [True] * 6
    with pytest.raises(InvalidInputError, match="X is a ndarray"):
        engine(X, y)


# ---------------------------------------------------------------- where data are


def test_blocks_stay_where_they_are_and_are_held_once(two_workers):
    a, b = sorted(two_workers.nthreads())
    recipe = da.random.default_rng(0).normal(size=(120_000, 20), chunks=(20_000, 20))
    left = two_workers.persist(recipe[:40_000], workers=[a])
    right = two_workers.persist(recipe[40_000:], workers=[b])
    X = da.concatenate([left, right])
    two_workers.gather(two_workers.compute([left.sum(), right.sum()]))
    with engine(X, da.zeros(120_000, chunks=20_000), client=two_workers) as there:
        there.total(lambda partition: partition.X.sum())
        assert there.loader.held == {a: {0, 1}, b: {2, 3, 4, 5}}
        made = ("hoag-partition", "hoag-keep")  # dask lets go of what it made for us
        until(lambda: not any(str(key).startswith(made) for key in two_workers.who_has()))


def test_nothing_is_left_after_close():
    X, y, _ = data()
    # Of its own, for a worker that was stopped elsewhere may hold something; and started as dask
    # starts workers unless told otherwise.
    spawned = dask.config.set({"distributed.worker.multiprocessing-method": "spawn"})
    with spawned, cluster(2) as client:
        there = engine(*blocks(X, y), client=client)
        there.total(partial(normal, v=V))
        assert any("hoag-holder" in str(key) for key in client.who_has())
        there.close()
        with pytest.raises(RuntimeError, match="This engine is closed"):
            there.total(partial(normal, v=V))
        gone = engine(*blocks(X, y), client=client)
        gone.total(partial(normal, v=V))
        del gone
        until(lambda: not any("hoag" in str(key) for key in client.who_has()))
        until(lambda: set(client.run(holders).values()) == {0})
        until(lambda: len(client.run_on_scheduler(clients)) == 1)


def until(true, seconds=10):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    assert true()


# ---------------------------------------------------------------- prepared states, failing calls


def test_what_prepares_is_sent_once_and_the_two_last_are_kept(two_workers, tmp_path):
    X, y, _ = data()
    Centred.pickled = 0
    first, second, third = (Centred(tmp_path / name) for name in "abc")
    with engine(*blocks(X, y), client=two_workers) as there:
        for prepare in (first, first, second, first, third, second):
            assert there.total(number, prepare)[0] == 15
        lines = {p.log.name: sorted(p.log.read_text().split()) for p in (first, second, third)}
        each = [str(i) for i in range(6)]
        assert lines == {"a": each, "b": sorted(each * 2), "c": each}
        assert Centred.pickled == 2 * 4  # to each of two workers; `second` was dropped for `third`
        kept = two_workers.run(states)
        assert all(len(keys) == 2 for keys in kept.values())


def test_what_a_call_raises_comes_through(two_workers):
    X, y, _ = data()
    with engine(*blocks(X, y), client=two_workers) as there:
        with pytest.raises(KeyError, match="no such thing") as caught:
            there.total(fail)
        assert "In partition 3, on a worker" in caught.value.__notes__[0]
        with pytest.raises(RuntimeError, match="1 and 2"):
            there.total(fail_unreadably)
        assert there.total(lambda partition: partition.rows) == 203
        assert there.rebuilt == 6
    broken = blocks(X, y)[0].map_blocks(
        lambda block: np.linalg.cholesky(-block.T @ block), dtype=float
    )
    with (
        engine(broken, y, client=two_workers) as there,
        pytest.raises(np.linalg.LinAlgError) as caught,
    ):
        there.total(fail)
    assert any("While block" in note for note in caught.value.__notes__)


# ---------------------------------------------------------------- workers that die or hang


def test_a_worker_killed_between_rounds_and_one_during_a_round(two_workers):
    X, y, w = data()
    with engine(*blocks(X, y, w), client=two_workers) as there:
        first = there.total(partial(normal, v=V))
        os.kill(holder_pid(two_workers, there), signal.SIGKILL)
        same(there.total(partial(normal, v=V)), first)
        settled(two_workers, 2)
        victim = holder_pid(two_workers, there)
        threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
        same(there.total(partial(slowly, v=V, seconds=0.2)), first)
        assert there.rebuilt > 6
        settled(two_workers, 2)


def test_a_worker_that_hangs_and_wakes_up_again(two_workers):
    X, y, w = data()
    with engine(*blocks(X, y, w), client=two_workers, patience=1.0) as there:
        first = there.total(partial(normal, v=V))
        victim = holder_pid(two_workers, there)
        began = time.monotonic()
        threading.Timer(0.2, os.kill, (victim, signal.SIGSTOP)).start()
        try:
            same(there.total(partial(slowly, v=V, seconds=0.2)), first)
            took = time.monotonic() - began
            same(there.total(partial(normal, v=V)), first)
        finally:
            os.kill(victim, signal.SIGCONT)
        assert took < 10.0
        assert len(there.loader.held) == 1
        same(there.total(partial(normal, v=V)), first)


def test_a_worker_that_only_takes_long_is_waited_for(two_workers):
    X, y, _ = data()
    with engine(*blocks(X, y, sizes=(100, 103)), client=two_workers, patience=0.5) as there:
        there.total(partial(slowly, v=V, seconds=2.0))
        assert there.rebuilt == 2


def test_a_cluster_that_vanishes_is_told():
    X, y, _ = data()
    with cluster(2) as client:
        there = engine(*blocks(X, y), client=client, patience=1.0)
        first = there.total(partial(normal, v=V))
        for nanny in client.cluster.workers.values():
            nanny.process.on_exit = lambda code: None  # else it starts another
        alive = pids(client)
        os.kill(alive[min(alive)], signal.SIGKILL)
        same(there.total(partial(normal, v=V)), first)  # by the one that is left
        for pid in pids(client).values():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(ClusterLostError, match="No worker of the cluster is left") as caught:
            there.total(partial(normal, v=V))
        assert "call fit with the same checkpoint" in str(caught.value)
    with pytest.raises(ClusterLostError, match="The client is closed"):
        there.total(partial(normal, v=V))
    there.close()


def test_blocks_that_dask_kept_are_computed_again_and_given_ones_cannot_be(two_workers):
    X, y, _ = data()
    settled(two_workers, 2)
    rows, target, _ = blocks(X, y)
    kept = two_workers.persist(rows + 0.0)
    with two_workers.as_current():
        wait([kept])
    with engine(kept, target, client=two_workers) as there:
        first = there.total(partial(normal, v=V))
        os.kill(holder_pid(two_workers, there), signal.SIGKILL)
        same(there.total(partial(normal, v=V)), first)
    settled(two_workers, 2)
    halves = two_workers.scatter([X[:100], X[100:]], direct=False)
    given = da.concatenate(
        [da.from_delayed(half, (n, 7), float) for half, n in zip(halves, (100, 103), strict=True)]
    )
    with engine(given, y, client=two_workers) as there:
        there.total(partial(normal, v=V))
        os.kill(holder_pid(two_workers, there), signal.SIGKILL)
        with pytest.raises(ClusterLostError, match=r"Block \d was in the memory of"):
            there.total(partial(normal, v=V))
    settled(two_workers, 2)


def test_no_port_is_opened(two_workers):
    def ports():
        # of this process, and of the workers
        yield sorted(listening())
        yield from (sorted(each) for each in two_workers.run(listening).values())

    X, y, _ = data()
    before = list(ports())
    with engine(*blocks(X, y), client=two_workers) as there:
        there.total(partial(normal, v=V))
        assert list(ports()) == before


class Unreachable:
    """Connections from here to workers, none of which comes about."""

    def __init__(self, pool):
        self.pool = pool

    def __call__(self, address):
        raise OSError(f"{address} is behind a wall")

    def __getattr__(self, name):
        return getattr(self.pool, name)


def test_workers_that_cannot_be_reached_are_asked_through_the_scheduler(two_workers):
    X, y, w = data()
    with engine(*blocks(X, y, w), client=two_workers) as there:
        assert there.cluster.fast is not two_workers
        first = there.total(partial(normal, v=V))
    with (
        dask.config.set({"hoag.patience": 2.0}),
        engine(*blocks(X, y, w), client=two_workers) as there,
    ):
        assert there.cluster.patience == 2.0
        there.cluster.fast.rpc = Unreachable(there.cluster.fast.rpc)
        same(there.total(partial(normal, v=V)), first)
        assert there.cluster.fast is two_workers


# ---------------------------------------------------------------- memory, told before


def test_the_memory_is_told_before_blocks_are_loaded(two_workers):
    plan = hoag.data.plan_memory((10**6, 500), workers=4, folds=5)
    assert plan.blocks == 250_000 * (500 + 2) * 8
    assert plan.matrices == 5 * 500 * 500 * 8
    assert hoag.data.plan_memory((10**6, 2000), outputs=3).matrices == 0
    assert str(plan).splitlines()[-1].startswith("a worker needs  1.0")
    X, y, _ = data()
    assert hoag.data.plan_memory(da.from_array(X), y).blocks == 203 * 9 * 8
    for other in (hoag.partitions((X, y)), 5):
        with pytest.raises(InvalidInputError, match="Give a Dask array or frame, or"):
            hoag.data.plan_memory(other)
    assert hoag.data.plan_memory(sparse.csr_matrix(X)).blocks == X.size * 12 + 204 * 4 + 203 * 16
    with pytest.raises(InvalidInputError, match="How many rows X has is not known"):
        hoag.data.plan_memory(da.from_array(X)[da.from_array(y) > 0])
    huge = da.zeros((10**9, 1000), chunks=(10**8, 1000)).map_blocks(lambda block: block[:0])
    with (
        engine(huge, da.zeros(10**9, chunks=10**8), client=two_workers) as there,
        pytest.warns(UserWarning, match="A worker needs about 4e\\+03 GB for its share"),
    ):
        there.loader._workers()


def test_nodes_of_the_tree_arrive_in_any_order():
    values = np.random.default_rng(0).normal(size=11)
    whole, split = TreeSum(), TreeSum()
    for i, value in enumerate(values):
        whole.add((0, i), value)
    for share in ([1, 4, 7, 10], [0, 2, 3, 5, 6], [8, 9]):
        part = TreeSum()
        for i in share:
            part.add((0, i), values[i])
        for node, value in part.nodes.items():
            split.add(node, value)
    assert whole.total == split.total


def test_the_old_name_of_a_lost_cluster_is_deprecated():
    with pytest.warns(DeprecationWarning, match=r"use hoag\.errors\.ClusterLostError"):
        assert hoag.dask.ClusterLost is ClusterLostError
