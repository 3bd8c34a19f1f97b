"""The file that keeps the runs of a search while it goes on, so that it outlives its process.

    with kept("run.ckpt", fingerprint): every Run that is made takes the next slot in the file

A run that had ended is answered by its result; one that had not goes on from its journal, bit by
bit as it would have; those after it begin. The file is written whole: beside it, to the disk, and
then in its place, so that whoever is killed at any instant leaves the last file or the next one.
"""

from __future__ import annotations

import dataclasses
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

from hoag._core.errors import CheckpointMismatchError, InvalidInputError, InvalidParameterError
from hoag._core.result import Reason, Result, Status
from hoag._core.writing import destination, write_atomically
from hoag.optimize import _storage as storage
from hoag.optimize._fingerprint import Fingerprint, difference
from hoag.optimize._journal import Journal

# Ends of a run that somebody may wish to go on from: the journal is kept, and not the result.
OPEN = (Reason.CALLBACK, Reason.TIME_BUDGET, Reason.INTERRUPTED, Reason.FAILED)

_current: ContextVar[Checkpoint | None] = ContextVar("checkpoint", default=None)


def current() -> Checkpoint | None:
    """The checkpoint in which the next run takes its slot."""
    return _current.get()


def kept(path: Any, fingerprint: Callable[[], Fingerprint]) -> AbstractContextManager[Any]:
    """A checkpoint at a path; nothing without one, and nothing new inside another one."""
    if path is None or current() is not None:
        return nullcontext()
    return _entered(Checkpoint(path, fingerprint()))


@contextmanager
def _entered(checkpoint: Checkpoint | None) -> Iterator[Checkpoint | None]:
    before = _current.set(checkpoint)
    try:
        yield checkpoint
    finally:
        _current.reset(before)


def told(checkpoint: Checkpoint | None, result: Result) -> Result:
    """The result, whose status says so where all of it was read and nothing was searched for."""
    if checkpoint is None or not checkpoint.only_read:
        return result
    why = (
        f"This was read from the checkpoint '{checkpoint.path}', where the same search had ended, "
        "with what it cost then: delete the file to search afresh."
    )
    return dataclasses.replace(result, status=result.status.noted(why))


def alone() -> AbstractContextManager[Any]:
    """What is searched for inside an evaluation or a callback has no slot in the file."""
    return _entered(None)


class Slot:
    """One run in a checkpoint: what it began with, and its journal or its result.

    `ended` is whether it was answered by its result.
    """

    def __init__(self, checkpoint: Checkpoint, known: storage.Stored | None) -> None:
        self.checkpoint, self.packed, self.ended = checkpoint, known, False

    def begun(self, about: str) -> Journal | Result | None:
        """What the file knows of a run that begins like this; None where it is another one."""
        self._about = about
        try:
            known = None if self.packed is None else storage.unpack(self.packed)
        except (KeyError, TypeError) as error:
            self.checkpoint.refuse(f"holds what this version of hoag does not know ({error})")
        if known is None:
            return None
        if known["about"] == about:
            found: Journal | Result = known["run"]
            self.ended = type(found) is Result
            return found
        self.checkpoint.forget_from(self)
        return None

    def keep(self, run: Journal | Result) -> None:
        """Into the file with it."""
        start = time.perf_counter()
        try:
            self.packed = storage.pack({"run": run, "about": self._about})
        except storage.UnstorableError as kind:
            self.packed = None
            self.checkpoint.warn(
                f"{self.checkpoint.path} cannot keep what this search goes on from: {kind} is no "
                "array, number, text, tuple, list or dict. Called again, it begins anew."
            )
        self.checkpoint.write(start)


class Checkpoint:
    """The runs of one search in a file.

    path         where; an npz archive, see hoag.optimize._storage
    fingerprint  what the search is of. A file with another one is refused

    `interrupted` is whether Ctrl-C has ended a run: those that follow end after one evaluation.
    """

    version = 3
    share = 0.1  # of the time, that may be spent on packing and writing

    def __init__(self, path: Any, fingerprint: Fingerprint) -> None:
        from hoag import __version__

        try:
            self.path = Path(os.fspath(path))
        except TypeError:
            raise InvalidParameterError.of(
                "checkpoint", path, "give the path of a file, or None."
            ) from None
        self.fingerprint = fingerprint | {"hoag": {"version": (__version__, __version__)}}
        self.interrupted, self.next_write = False, 0.0
        self._slots, self._taken = [Slot(self, known) for known in self._read()], 0
        self._lock, self._warned = Lock(), False
        if not self._slots:
            self.write(time.perf_counter())

    def interruption(self, so_far: str) -> Status:
        """Of a run that Ctrl-C has ended."""
        told = f"Interrupted {so_far}: this is the best so far."
        again = f"The same again with checkpoint='{self.path}' goes on from here."
        return Status(Reason.INTERRUPTED, f"{told} {again}")

    @property
    def only_read(self) -> bool:
        """Whether every run was answered by its result."""
        return self._taken > 0 and all(slot.ended for slot in self._slots[: self._taken])

    def slot(self) -> Slot | None:
        """For the next run."""
        if self.interrupted:
            return None
        if self._taken == len(self._slots):
            self._slots.append(Slot(self, None))
        self._taken += 1
        return self._slots[self._taken - 1]

    def forget_from(self, slot: Slot) -> None:
        """What comes after a run that begins otherwise is of other runs, too."""
        for other in self._slots[self._slots.index(slot) :]:
            other.packed = None

    # ---- reading

    def refuse(self, why: str) -> NoReturn:
        raise CheckpointMismatchError(
            f"{self.path} {why}.\nGive another path, or delete it to start afresh."
        ) from None

    def _read(self) -> list[storage.Stored]:
        target = destination(self.path)
        if not target.parent.is_dir():
            raise InvalidParameterError.of(
                "checkpoint", str(self.path), f"there is no folder {str(target.parent)!r}."
            )
        if not target.exists():
            return []
        try:
            head, values = storage.opened(target.read_bytes())
        except storage.DamagedError:
            self.refuse(
                "is no checkpoint, or a damaged one: some of its bytes are missing or are not "
                "those that were written"
            )
        version = head.get("hoag_checkpoint")
        if version != self.version:
            self.refuse(
                f"is a checkpoint in format {version}, and this version of hoag reads format "
                f"{self.version}"
            )
        self._compare(head["fingerprint"])
        return values

    def _compare(self, theirs: Fingerprint) -> None:
        what = {"hoag": "the version of hoag differs"}
        wrong = []
        for part, ours in self.fingerprint.items():
            their = theirs.get(part, {})
            found = [difference(n, their.get(n), ours.get(n)) for n in {**their, **ours}]
            names = [told for told in found if told is not None]
            if names:
                told = [name for name in names if name][:3]
                shown = f" ({', '.join(told)})" if told else ""
                differs = "differs" if part == "problem" else "differ"
                wrong.append(what.get(part, f"the {part} {differs}") + shown)
        if wrong:
            self.refuse(f"is the checkpoint of another search: {'; '.join(wrong)}")

    # ---- writing

    @property
    def due(self) -> bool:
        """Whether one more write is within the share of the time that writing may take."""
        return time.perf_counter() >= self.next_write

    def write(self, start: float) -> None:
        """All runs, whole; what that took since `start` sets when the next may come."""
        with self._lock:
            head = {"hoag_checkpoint": self.version, "fingerprint": self.fingerprint}
            runs = [slot.packed or storage.pack(None) for slot in self._slots]
            try:
                whole = storage.archive(head, runs)
                write_atomically(self.path, whole)
            except (OSError, InvalidInputError) as error:  # full, or somebody else's by now
                self.warn(f"The checkpoint: {error} The search goes on, and tries again later.")
            now = time.perf_counter()
            self.next_write = now + (now - start) * (1 / self.share - 1)

    def warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(message, UserWarning, stacklevel=2)
