"""Files that are written whole: whoever reads one finds the last content or the next, at any time.

    write_atomically(path, content)    a new file beside it, to the disk, and then in its place
    locked(path)                       one process at a time
    cache_folder()                     where files go that can be made again

Links are followed, and stay: what they lead to is replaced. Nothing is ever opened for writing
that was there before, so that a link or a pipe that somebody has put in the way is no matter.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Neither through a link nor, until somebody reads from it, into a pipe; Windows has none of them.
ITSELF = int(vars(os).get("O_NOFOLLOW", 0)) | int(vars(os).get("O_NONBLOCK", 0))


def destination(path: str | os.PathLike[str]) -> Path:
    """The file that is written under this name, at the end of all links; a sentence if none can be.

    It need not be there. A folder, a pipe or a device is left alone.
    """
    from hoag._core.errors import InvalidParameterError

    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        raise _failed(path, error) from error
    if stat.S_ISDIR(mode):
        raise InvalidParameterError(
            f"{path} is a folder.\nGive the name of a file to write.", value=str(path)
        )
    if not stat.S_ISREG(mode):
        raise InvalidParameterError(
            f"{path} is not a regular file, but a pipe or a device.\nGive the name of a file to "
            "write.",
            value=str(path),
        )
    return target


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """The file with these bytes in the place of what it had: all of them, or nothing.

    Permissions stay as they were; those of a new file are the usual ones.
    """
    target = destination(path)
    beside = target.with_name(f".hoag-{secrets.token_hex(8)}.part")
    try:
        mode = _permissions(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            if target.exists() and os.name == "posix":
                os.fchmod(file.fileno(), mode)  # what the umask has taken of them
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
        if os.name == "posix":  # the new name, too, is to be on the disk
            _to_disk(target.parent)
    except OSError as error:
        raise _failed(path, error) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def not_through_links(name: str, flags: int) -> int:
    """The opener of a file whose name is fixed, in a folder that others may write to."""
    return os.open(name, flags | ITSELF, 0o666)


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

            # Some network folders know no locks; there a checksum has to do.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cache_folder() -> Path:
    """HOAG_CACHE, or `hoag` in the user's cache folder."""
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


def _permissions(target: Path) -> int:
    """Of the file, which has to be writable itself: that its folder is would do to replace it."""
    if not target.exists():
        return 0o666
    if not os.access(target, os.W_OK):
        raise PermissionError(None, "it is write-protected")
    return stat.S_IMODE(target.stat().st_mode)


def _to_disk(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _failed(path: str | os.PathLike[str], error: OSError) -> OSError:
    from hoag._core.errors import NotWritableError

    return NotWritableError(f"{path} could not be written ({error.strerror or error}).", where=path)
