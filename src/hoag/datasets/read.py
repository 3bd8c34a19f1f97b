"""From files to (X, y): one reader for each data set, all called as read(paths, seed).

A file that cannot be read as what its name says raises `DataDamaged`.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Reader = Callable[[Sequence[Path], int], tuple[Any, Any]]

# Image sizes of MNIST, and the columns of the Parkinsons table that are not inputs.
SIDE = 28
COLUMNS = 22
TARGET = "total_UPDRS"
NOT_INPUTS = ("subject#", "motor_UPDRS", TARGET)

# Only these members of the archive are posts; everything else in it is left alone.
POST = re.compile(r"(?:\./)?20news-bydate-(train|test)/([a-z.\-]+)/(\d+)")

PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class DataDamaged(OSError):
    """A file is not what its name says; the message names it and what to do.

    >>> from hoag import datasets
    >>> issubclass(datasets.DataDamaged, OSError)
    True
    """


def news(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """tf-idf of all posts; the 20 groups are split at random into two classes of ten."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, labels = posts(paths[0])
    positive = np.random.default_rng(seed).permutation(20)[:10]
    return TfidfVectorizer().fit_transform(texts), np.where(np.isin(labels, positive), 1, -1)


def posts(path: Path) -> tuple[list[str], list[int]]:
    """The texts and the numbers of their groups: training posts, then test posts."""
    found = _posts_of_archive if path.name.endswith(".tar.gz") else _posts_of_lines
    with _intact(path):
        rows = found(path)
        if not rows:
            raise ValueError("it holds no posts")
        return [text for text, _ in rows], [label for _, label in rows]


def _posts_of_lines(path: Path) -> list[tuple[str, int]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [(post["text"], post["label"]) for post in map(json.loads, lines)]


def _posts_of_archive(path: Path) -> list[tuple[str, int]]:
    """In the order of the file of lines: by split, group and number, the latter as text."""
    found: dict[tuple[bool, str, str], str] = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = POST.fullmatch(member.name)
            content = archive.extractfile(member) if name and member.isreg() else None
            if name and content:
                split, group, number = name.groups()
                found[split == "test", group, number] = content.read().decode("latin-1")
    groups = sorted({group for _, group, _ in found})
    return [(found[key], groups.index(key[1])) for key in sorted(found)]


def svmlight(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """Sparse rows with labels −1 and 1; plain, or packed as .gz, .bz2 or .xz."""
    from sklearn.datasets import load_svmlight_file

    opened = PACKED.get(paths[0].suffix, open)
    with _intact(paths[0]), opened(paths[0], "rb") as file:
        X, y = load_svmlight_file(file)
    return X, np.where(y > 0, 1, -1)


def parkinsons(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """total_UPDRS from the 19 columns that are neither the subject nor a score."""
    with _intact(paths[0]):
        header, *rows = paths[0].read_text(encoding="utf-8").splitlines()
        names = header.split(",")
        if len(names) != COLUMNS or not set(NOT_INPUTS) <= set(names):
            raise ValueError(f"its first line does not name {COLUMNS} columns with {TARGET}")
        if not rows:
            raise ValueError("it has no rows")
        table = np.loadtxt(rows, delimiter=",", ndmin=2)
        if table.shape[1] != COLUMNS:
            raise ValueError(f"its rows have {table.shape[1]} columns in place of {COLUMNS}")
    keep = [j for j, name in enumerate(names) if name not in NOT_INPUTS]
    return table[:, keep], table[:, names.index(TARGET)]


def mnist(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """Digits as 12 × 12 pixels in [0, 1]: crop 28 → 24, then the mean over 2 × 2."""
    pixels, labels = idx(paths[0], (SIDE, SIDE)), idx(paths[1], ())
    if len(pixels) != len(labels):
        raise DataDamaged(
            f"{paths[0]} has {len(pixels)} images and {paths[1]} has {len(labels)} labels: they "
            "do not belong together. Delete both, and fetch them again with `hoag data fetch`."
        )
    blocks = pixels[:, 2:26, 2:26].reshape(-1, 12, 2, 12, 2) / 255.0
    return blocks.mean(axis=(2, 4)).reshape(-1, 144), labels.astype(int)


def idx(path: Path, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Bytes of an idx.gz file, each item of this shape.

    The header is two zeros, 8 for bytes, the number of dimensions, and then the dimensions.
    """
    with _intact(path):
        with gzip.open(path) as file:
            content = file.read()
        dimensions = 1 + len(shape)
        (magic,) = struct.unpack_from(">I", content)
        if magic != 0x800 + dimensions:
            raise ValueError(f"its magic number is {magic} in place of {0x800 + dimensions}")
        sizes = struct.unpack_from(f">{dimensions}I", content, offset=4)
        if sizes[1:] != shape:
            raise ValueError(f"its items have the shape {sizes[1:]} in place of {shape}")
        values = np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions)
        if values.size != np.prod(sizes):
            raise ValueError(f"its header promises {np.prod(sizes)} bytes and {values.size} follow")
        return values.reshape(sizes)


def bundled(loader: str, paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """A data set that scikit-learn brings along."""
    from sklearn import datasets

    X, y = getattr(datasets, loader)(return_X_y=True)
    return X, y


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Whatever a reader stumbles over becomes one sentence that names the file."""
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, struct.error,
            ValueError, LookupError, TypeError) as error:  # fmt: skip
        if getattr(error, "errno", None):  # the system's: no such file, no permission
            raise
        raise DataDamaged(
            f"{path} is damaged: {str(error).rstrip('.')}. Delete it, and fetch it again with "
            "`hoag data fetch`, or put a whole copy in its place."
        ) from error
