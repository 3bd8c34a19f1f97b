"""Clusters of dask on this machine."""

from __future__ import annotations

import logging
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

# Workers are forked from one process that has imported what they need, as in dask's own tests: to
# start one, or another in place of one that was killed, takes no seconds of imports.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
get_mp_context().set_forkserver_preload(["distributed", "hoag.dask", "hoag.linear_model", "pandas"])


@contextmanager
def cluster(workers, **options):
    """A client of a cluster of real processes, which is gone at the end whatever happens."""
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", **options}
    local = LocalCluster(
        n_workers=workers, processes=True, host="127.0.0.1", silence_logs=logging.CRITICAL,
        **options,
    )  # fmt: skip
    client = Client(local, set_as_default=False)
    processes = {nanny.process.process._process for nanny in local.workers.values()}
    try:
        yield client
    finally:
        client.close()
        local.close()
        assert not any(process.is_alive() for process in processes)


def settled(client, workers):
    """Whether so many workers answer before long: those that were killed are started again."""
    try:
        client.wait_for_workers(workers, timeout=20)
    except TimeoutError:
        return False
    return True
