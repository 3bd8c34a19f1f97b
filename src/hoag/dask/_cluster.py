"""The workers of a cluster: who is there, who holds partitions for us, who has not answered.

A worker is lost when its connection breaks, when the scheduler has dropped it, or when its event
loop, which is free while a call is computed, has not answered for `patience` seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from time import monotonic
from typing import Any, NamedTuple
from uuid import uuid4

from distributed import Actor, Client

from hoag._core.errors import ClusterLostError, InvalidParameterError
from hoag.dask._holder import Holder

# What is waited for, made on the event loop.
Job = Callable[[], Awaitable[Any]]


class Hand(NamedTuple):
    """A holder on a worker: its name, the actor, what keeps it alive, which prepares it has."""

    name: str
    actor: Any
    future: Any
    sent: set[int]


class Cluster:
    """Actors on the workers of `client`, asked by a connection that goes to workers directly.

    That connection is a client of its own where the user's is none such: it opens no port, and has
    the user's security. Where it cannot reach the workers, messages go through the scheduler.
    """

    def __init__(self, client: Any, patience: float) -> None:
        if client.asynchronous:
            raise InvalidParameterError(
                "This client is asynchronous, and fit waits for answers.\nMake one by "
                "distributed.Client(address).",
                "client",
            )
        self.client, self.patience = client, patience
        self.hands: dict[str, Hand] = {}
        self.hung: set[str] = set()
        self.fast = client if client.direct_to_workers else directed(client, patience)

    def close(self) -> None:
        """Lets all holders go, with their partitions; any thread may call this, or a finalizer."""
        for address in list(self.hands):
            self.drop(address)
        if self.fast is not self.client and self.fast.status not in ("closing", "closed"):
            self.fast.loop.add_callback(self.fast.close)

    def drop(self, address: str) -> None:
        self.hands.pop(address).future.release()

    def workers(self) -> dict[str, int]:
        """The addresses of the workers that the scheduler knows, with their threads."""
        found: dict[str, int] = self.client.sync(self._workers)
        return found

    async def _workers(self) -> dict[str, int]:
        if self.client.scheduler is None:
            raise lost("The client is closed.")
        try:
            return dict(await asyncio.wait_for(self.client.nthreads(), self.patience))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise lost("The scheduler does not answer.") from error

    def hire(self) -> None:
        """A holder on every worker that has none; on hung ones only where there are no others."""
        there = self.workers()
        new = [address for address in there if address not in {*self.hands, *self.hung}]
        if not new and not self.hands:
            new = list(there)
        came = self.client.sync(self._hired, {address: there[address] for address in new})
        self.hung = (self.hung - set(came)) | (set(new) - set(came))
        self.hands |= came
        silent = self.ask({address: hand.actor.alive for address, hand in self.hands.items()})[1]
        cannot_reach = silent >= set(self.hands) and self.fast is not self.client
        for address in silent:
            self.drop(address)
        if came and cannot_reach:  # not from here: let the scheduler hand messages on
            self.close()
            self.fast = self.client
            self.hung.clear()
            self.hire()

    async def _hired(self, addresses: Mapping[str, int]) -> dict[str, Hand]:
        """Who has a holder within the patience."""
        futures = {}
        for address, threads in addresses.items():
            name = f"hoag-holder-{uuid4().hex}"
            futures[address] = self.fast.submit(
                Holder, name, threads, key=name, actor=True, workers=[address], pure=False
            )  # fmt: skip
        jobs = {a: asyncio.ensure_future(told(partial(value, f))) for a, f in futures.items()}
        await self._came(jobs)
        found = {}
        for address, future in futures.items():
            jobs[address].cancel()
            if future.status == "finished":
                with self.fast.as_current():
                    actor = Actor(Holder, address, future.key)
                found[address] = Hand(future.key, actor, future, set())
            else:
                future.release()
        return found

    async def _came(self, jobs: Mapping[str, asyncio.Future[Any]]) -> None:
        """Waits for new holders: for the first as long as a new worker may take to import hoag,
        for others `patience` more, for workers that the scheduler drops no longer."""
        waiting, end = dict(jobs), monotonic() + max(self.patience, 30.0)
        while waiting and monotonic() < end:
            await asyncio.wait(waiting.values(), timeout=min(0.5, self.patience / 4))
            there = await self._workers()
            left = {a: job for a, job in waiting.items() if not job.done() and a in there}
            if len(left) < len(waiting):
                end = monotonic() + self.patience + 5.0
            waiting = left

    def ask(self, jobs: Mapping[str, Job]) -> tuple[dict[str, Any], set[str]]:
        """What some workers answered, and who of them is lost: an exception means the worker."""
        found: tuple[dict[str, Any], set[str]] = self.client.sync(self._ask, jobs)
        return found

    async def _ask(self, jobs: Mapping[str, Job]) -> tuple[dict[str, Any], set[str]]:
        running = {address: asyncio.ensure_future(told(job)) for address, job in jobs.items()}
        waiting, silent = set(running), set()
        try:
            while waiting:
                beat = min(1.0, self.patience / 4)
                await asyncio.wait([running[address] for address in waiting], timeout=beat)
                waiting = {address for address in waiting if not running[address].done()}
                silent |= await self._silent(waiting)
                waiting -= silent
        finally:
            for job in running.values():
                job.cancel()
        answers = {a: job.result() for a, job in running.items() if a not in silent}
        lost = silent | {a for a, (_, error) in answers.items() if error is not None}
        return {a: value for a, (value, _) in answers.items() if a not in lost}, lost

    async def _silent(self, addresses: Iterable[str]) -> set[str]:
        """Who of them does not answer a question that takes no time."""
        asked = set(addresses)
        if not asked:
            return set()
        there = set(await self._workers())
        pings = {a: asyncio.ensure_future(told(self.hands[a].actor.alive)) for a in asked & there}
        if pings:
            await asyncio.wait(pings.values(), timeout=self.patience)
        late = {a for a, ping in pings.items() if not ping.done()}
        for ping in pings.values():
            ping.cancel()
        self.hung |= late
        broken = {a for a, ping in pings.items() if a not in late and ping.result()[1] is not None}
        return (asked - there) | late | broken


async def told(job: Job) -> tuple[Any, BaseException | None]:
    """What came of a job: its value, or what it raised."""
    try:
        return await job(), None
    except (Exception, asyncio.CancelledError) as error:
        return None, error


async def value(future: Any) -> Any:
    return await future


def directed(client: Any, patience: float) -> Any:
    """A second client of the same scheduler, whose messages go to workers directly."""
    return Client(
        client.scheduler.address,
        direct_to_workers=True,
        security=client.security,
        set_as_default=False,
        loop=client.loop,
        timeout=patience,
        name="hoag",
    )


def lost(what: str) -> ClusterLostError:
    """The search can go on from its checkpoint on another cluster."""
    return ClusterLostError(
        f"{what} The search is as its checkpoint has it, if one was given.\nConnect to a cluster, "
        "and call fit with the same checkpoint to go on."
    )
