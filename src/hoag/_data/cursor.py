"""Streams without a cache: parsed at every pass, from the beginning."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from hoag._core.errors import InvalidInput
from hoag._data.raw import Raw, Reader, Stream
from hoag._data.tally import Tally


class Cursor(Reader):
    """Pieces in their order as they are parsed; to go back is to begin again."""

    checked = True

    def __init__(self, stream: Stream, tally: Tally) -> None:
        self.stream, self.summary, self.own = stream, tally.summary(), bool(stream.paths)
        stream.settled(self.summary)
        self.moments = tally.columns(self.summary)
        self.heights = self.summary["heights"]
        self.pieces, self.rows = len(self.heights), self.summary["rows"]
        self.features, self.sparse = self.summary["features"], self.summary["sparse"]
        self.nbytes = sum(path.stat().st_size for path in stream.paths) or None
        self._begin()

    def _begin(self) -> None:
        self._lock, self._next = threading.Lock(), 0
        self._pieces: Iterator[Raw] | None = None

    def read(self, i: int, rows: bool = True) -> Raw:
        with self._lock:
            if self._pieces is None or i < self._next:
                self._pieces, self._next = iter(self.stream), 0
            while True:
                raw = next(self._pieces, None)
                if raw is None or len(raw.y) != self.heights[self._next]:
                    self._pieces = None
                    raise InvalidInput(
                        f"A pass over {self.stream.kind} found {self.pieces} pieces, and another "
                        f"pass found others from piece {self._next} on: rows have to be the same "
                        "each time they are read. An iterator that is used up after one pass "
                        "cannot be read again: give a function that begins a new one."
                    )
                self._next += 1
                if self._next == i + 1:
                    break
            if self._next == self.pieces:
                self._pieces = None
            return raw

    def fingerprint(self) -> str:
        return self.stream.fingerprint()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()
