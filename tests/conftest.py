"""Clusters of real processes for the tests of hoag.dask, started once where these tests run."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def two_workers():
    from clusters import cluster

    with cluster(2) as client:
        yield client


@pytest.fixture(scope="session")
def one_worker():
    from clusters import cluster

    with cluster(1) as client:
        yield client
