"""Where a file is, and how it gets there: HOAG_DATA, the cache, then its home."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from hoag._core.writing import not_through_links
from hoag.datasets.catalogue import File

# Called with the file's name, the bytes that are here and their number in the end, if known.
Progress = Callable[[str, int, int | None], None]

TIMEOUT = 30.0  # seconds without a byte
ROUNDS = 3  # over all addresses of a file
PAUSE = 0.5  # seconds after the first round; twice as long after each further one
CHUNK = 1 << 16


class DataNotFound(FileNotFoundError):
    """A file is in no folder and could not be fetched; the message says where it was looked for.

    >>> from hoag import datasets
    >>> issubclass(datasets.DataNotFound, OSError)
    True
    """


class _Refused(OSError):
    """What an address answered will not be better the next time."""


def folders() -> tuple[Path, ...]:
    """Where files are looked for: the folder HOAG_DATA, if it is set, and the cache.

    >>> from hoag import datasets
    >>> datasets.cache() in datasets.folders()
    True
    """
    given = os.environ.get("HOAG_DATA")
    return (*([Path(given).expanduser()] if given else []), cache())


def cache() -> Path:
    """Where downloads go: HOAG_CACHE, or `hoag` in the user's cache folder.

    >>> from hoag import datasets
    >>> datasets.cache().is_absolute()
    True
    """
    given = os.environ.get("HOAG_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hoag"


def find(file: File) -> tuple[Path, File] | None:
    """Where the file is, or one that holds the same, and which of them it is."""
    for folder in folders():
        for form in (file, *file.instead):
            if (folder / form.name).is_file():
                return folder / form.name, form
    return None


def get(file: File, download: bool = True, progress: Progress | None = None) -> Path:
    """The file's path; it is downloaded into the cache where it is in no folder."""
    found = find(file)
    if found:
        return found[0]
    if not file.addresses:
        raise DataNotFound(f"{_looked(file)} It is not distributed anywhere: {_put(file)}")
    if not download:
        raise DataNotFound(
            f"{_looked(file)} Its home is {file.addresses[0]}. Let it be downloaded "
            f"(`hoag data fetch`, or download=True), or {_put(file)}"
        )
    return fetch(file, progress)


def fetch(file: File, progress: Progress | None = None) -> Path:
    """Download into the cache; a download that broke off goes on where it stopped."""
    target = cache() / file.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(f".{file.name}.lock")):
            if not target.is_file():  # else another process was faster
                part = target.with_name(f"{file.name}.part")
                _receive_from_any(file, part, progress)
                part.replace(target)
    except PermissionError as error:
        raise DataNotFound(
            f"{_looked(file)} It cannot be downloaded, since the cache {target.parent} cannot be "
            f"written to ({error.strerror}). Set HOAG_CACHE to a folder that can, or {_put(file)}"
        ) from error
    return target


def digest(path: Path) -> str:
    """The sha256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _receive_from_any(file: File, part: Path, progress: Progress | None) -> None:
    """The whole file into `part`, from the first address that gives it."""
    reasons: dict[str, str] = {}
    left = list(file.addresses)
    for k in range(ROUNDS):
        if k:
            time.sleep(PAUSE * 2 ** (k - 1))
        for address in tuple(left):
            try:
                return _receive(address, file, part, progress)
            except PermissionError:
                raise
            except _Refused as error:
                reasons[address] = str(error)
                left.remove(address)
            except (OSError, HTTPException) as error:
                reasons[address] = str(getattr(error, "reason", error)) or type(error).__name__
        if not left:
            break
    tried = "; ".join(f"{address}: {reason}" for address, reason in reasons.items())
    raise DataNotFound(
        f"{_looked(file)} It could not be downloaded either. {tried}. Try again when these "
        f"addresses can be reached (what has arrived is kept), or {_put(file)}"
    )


def _receive(address: str, file: File, part: Path, progress: Progress | None) -> None:
    """Append what is missing to `part`, and check the whole."""
    start = part.stat().st_size if part.exists() else 0
    request = Request(address, headers={"User-Agent": "hoag"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        with urlopen(request, timeout=TIMEOUT) as response:
            if response.status not in (200, 206):
                raise _Refused(f"the server answered {response.status}")
            if response.status == 200:  # the whole: it was asked for, or Range is not known there
                start = 0
            length = response.headers.get("Content-Length")
            total = start + int(length) if length else None
            with open(part, "r+b" if start else "wb", opener=not_through_links) as out:
                out.seek(start)
                done = start
                while chunk := response.read(CHUNK):
                    out.write(chunk)
                    done += len(chunk)
                    if progress:
                        progress(file.name, done, total)
        if total is not None and done < total:
            raise ConnectionError(f"the connection was cut after {done} of {total} bytes")
    except HTTPError as error:
        error.close()
        # 416 says that nothing is missing: the checksum will tell.
        if not (start and error.code == 416):
            again = error.code in (408, 429) or error.code >= 500
            kind = OSError if again else _Refused
            raise kind(f"the server answered {error.code} {error.reason}") from None
    if file.sha256 and digest(part) != file.sha256:
        part.unlink()
        # The first bytes may have been another address's: then this one deserves a second try.
        kind = OSError if start else _Refused
        raise kind("what arrived has the wrong checksum and was deleted")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process, and one thread, at a time; the system frees the lock of one that dies."""
    with open(path, "a", opener=not_through_links) as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # tries for ten seconds
                    break
                except OSError as error:
                    if error.errno != errno.EDEADLOCK:
                        raise
        else:
            import fcntl

            # Some network folders know no locks; there the checksum has to do.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _looked(file: File) -> str:
    names = " or ".join(form.name for form in (file, *file.instead))
    unset = "" if os.environ.get("HOAG_DATA") else " (HOAG_DATA is not set)"
    return f"{names} is not in {' nor in '.join(map(str, folders()))}{unset}."


def _put(file: File) -> str:
    return f"put {file.name} into a folder and set the environment variable HOAG_DATA to it."
