"""Clusters of real processes for the tests of hoag.dask, started where these tests run."""

from __future__ import annotations

from contextlib import ExitStack

import pytest


@pytest.fixture(scope="session")
def kept_clusters():
    """By their number of workers: the client, and what closes its cluster."""
    yield _kept
    _close()


# A cluster that waits keeps its processes busy for a twentieth of the time, each of them: it is
# closed before the first test of a file that has no use for it.
_kept = {}


def _close():
    while _kept:
        _kept.popitem()[1][1].close()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    if _kept and "kept_clusters" not in getattr(nextitem, "fixturenames", ()):
        _close()


def _of(kept, workers):
    """A cluster with so many workers that answer; a new one where a test has left fewer."""
    from clusters import cluster, settled

    if workers in kept and not settled(kept[workers][0], workers):
        kept.pop(workers)[1].close()
    if workers not in kept:
        closing = ExitStack()
        kept[workers] = (closing.enter_context(cluster(workers)), closing)
    return kept[workers][0]


@pytest.fixture
def two_workers(kept_clusters):
    return _of(kept_clusters, 2)


@pytest.fixture
def one_worker(kept_clusters):
    return _of(kept_clusters, 1)


@pytest.fixture
def out_of_core(monkeypatch):
    """Rows of small data stay where they are, and the search goes as it does in memory.

    As of data of which a sample alone is kept in memory, and without a search on that first.
    """
    from hoag._criteria import select
    from hoag._glm.partitioned import PartitionedDesign

    said = select.said

    def unrehearsed(criterion, own):
        found = said(criterion, own)
        found.surrogate = None
        return found

    monkeypatch.setattr(PartitionedDesign, "whole", False)
    monkeypatch.setattr(select, "said", unrehearsed)
