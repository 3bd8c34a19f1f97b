"""Data sets to try things on: those of the paper, and a few that scikit-learn brings along.

    X, y = hoag.datasets.load("20news").X_y

Files are looked for in the folder HOAG_DATA, then in a cache, then downloaded into the cache.

>>> from hoag import datasets
>>> datasets.load("diabetes").X.shape
(442, 10)
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
import re
import struct
import tarfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoag._core.deprecated import moved
from hoag._core.errors import DataDamagedError, DataNotFoundError, InvalidParameterError
from hoag._core.words import nearest
from hoag._core.writing import cache_folder
from hoag._data.files import PACKED

__all__ = [
    *("Dataset", "Entry", "describe", "fetch", "load"),
]

Kind = Literal["binary", "multiclass", "regression"]
Reader = Callable[[Sequence[Path], int], tuple[Any, Any]]

# Image sizes of MNIST, and the columns of the Parkinsons table that are not inputs.
SIDE = 28
COLUMNS = 22
TARGET = "total_UPDRS"
NOT_INPUTS = ("subject#", "motor_UPDRS", TARGET)
# Only these members of the archive are posts; everything else in it is left alone.
POST = re.compile(r"(?:\./)?20news-bydate-(train|test)/([a-z.\-]+)/(\d+)")


@dataclass(frozen=True)
class File:
    """A file as distributed: how many bytes, and where it is, as far as that is known.

    forms   its name, and the names of others that hold the same and will do; each with its sha256
    """

    forms: dict[str, str]
    size: int = 0
    addresses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return next(iter(self.forms))

    def here(self) -> Path | None:
        tried = (folder / name for folder in folders() for name in self.forms)
        return next((path for path in tried if path.is_file()), None)


@dataclass(frozen=True)
class Entry:
    """What is known about a data set before it is read.

    Attributes
    ----------
    title, description : str
        Its name, and the recipe by which rows and targets are made.
    kind : {"binary", "multiclass", "regression"}
        Of its targets.
    rows, columns : int
        The shape of X.
    read : callable
        (paths, seed) ↦ X, y.
    files : tuple of File
        The files that it is read from.

    Examples
    --------
    >>> from hoag import datasets
    >>> entry = datasets.describe("mnist")
    >>> entry.rows, entry.columns, entry.kind
    (60000, 144, 'multiclass')
    """

    title: str
    description: str
    kind: Kind
    rows: int
    columns: int
    read: Reader
    files: tuple[File, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """Those of its files that are here."""
        return tuple(path for path in (file.here() for file in self.files) if path)

    @property
    def present(self) -> bool:
        """Whether all of its files are here."""
        return len(self.paths) == len(self.files)

    @property
    def downloadable(self) -> bool:
        """Whether somebody has its files to download."""
        return all(file.addresses for file in self.files)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows X and their targets y, and where they come from.

    Attributes
    ----------
    name : str
        What `load` calls it.
    X : array or sparse matrix of shape (n, d)
        The rows.
    y : array of shape (n,)
        The targets.
    kind : {"binary", "multiclass", "regression"}
        Of the targets.
    title, description : str
        Its name, and the recipe by which rows and targets are made.
    source : str
        Where it came from.

    Examples
    --------
    >>> from hoag import datasets
    >>> found = datasets.load("iris")
    >>> found.kind, found.source, found.X.shape
    ('multiclass', 'bundled with scikit-learn', (150, 4))
    """

    name: str
    X: Any = field(repr=False)
    y: Any = field(repr=False)
    kind: Kind
    title: str
    description: str = field(repr=False)
    source: str

    @property
    def X_y(self) -> tuple[Any, Any]:
        """Both, as (X, y)."""
        return self.X, self.y


def describe(name: str) -> Entry:
    """What is known about a data set: title, recipe, shape, files; nothing is read.

    Parameters
    ----------
    name : str
        Such as "20news".

    Returns
    -------
    Entry
        What is known.

    Raises
    ------
    InvalidParameterError
        Where there is no such data set.

    Examples
    --------
    >>> from hoag import datasets
    >>> datasets.describe("20news").columns
    173762
    """
    if name not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        raise InvalidParameterError(
            f"There is no data set {name!r}.\nChoose from {known}.{nearest(name, CATALOGUE)}",
            "name",
            name,
        )
    return CATALOGUE[name]


def load(name: str, *, seed: int = 0, download: bool = True) -> Dataset:
    """Read a data set; its files are downloaded where they are in no folder.

    Parameters
    ----------
    name : str
        Such as "20news".
    seed : int, default=0
        Which ten groups of "20news" are positive; it matters to no other set.
    download : bool, default=True
        Whether files may be downloaded.

    Returns
    -------
    Dataset
        Rows and targets.

    Raises
    ------
    DataNotFoundError
        Where a file cannot be had.
    DataDamagedError
        Where one cannot be read.

    Examples
    --------
    >>> from hoag import datasets
    >>> X, y = datasets.load("breast_cancer").X_y
    >>> X.shape
    (569, 30)
    """
    entry = describe(name)
    where = [_get(file, download) for file in entry.files]
    X, y = entry.read(where, seed)
    source = ", ".join(map(str, where)) or "bundled with scikit-learn"
    return Dataset(name, X, y, entry.kind, entry.title, entry.description, source)


def fetch(name: str) -> tuple[Path, ...]:
    """Have all files of a data set here: download what is in no folder.

    Parameters
    ----------
    name : str
        Such as "20news".

    Returns
    -------
    tuple of path
        Where the files are.

    Raises
    ------
    DataNotFoundError
        Where a file cannot be had.

    Examples
    --------
    >>> from hoag import datasets
    >>> datasets.fetch("digits")  # scikit-learn has it: there is nothing to download
    ()
    """
    return tuple(_get(file) for file in describe(name).files)


def present(name: str) -> bool:
    """Whether `load` needs no download.

    Parameters
    ----------
    name : str
        Such as "20news".

    Returns
    -------
    bool
        Whether all files are here.

    Examples
    --------
    >>> from hoag import datasets
    >>> datasets.present("diabetes")
    True
    """
    return describe(name).present


def folders() -> tuple[Path, ...]:
    """Where files are looked for: the folder HOAG_DATA, if it is set, and the cache.

    Returns
    -------
    tuple of path
        The folders, in their order.

    Examples
    --------
    >>> from hoag import datasets
    >>> datasets.folders()[-1].is_absolute()
    True
    """
    given = os.environ.get("HOAG_DATA")
    return (*([Path(given).expanduser()] if given else []), cache_folder())


def _get(file: File, download: bool = True) -> Path:
    """The file's path; it is downloaded into the cache where it is in no folder."""
    path = file.here()
    if path:
        return path
    unset = "" if os.environ.get("HOAG_DATA") else " (HOAG_DATA is not set)"
    looked = f"{' or '.join(file.forms)} is not in {' nor in '.join(map(str, folders()))}{unset}."
    put = f"put {file.name} into a folder and set the environment variable HOAG_DATA to it."
    if not file.addresses:
        raise DataNotFoundError(f"{looked} It is not distributed anywhere.\nP{put[1:]}")
    if not download:
        raise DataNotFoundError(
            f"{looked} Its home is {file.addresses[0]}.\nLet it be downloaded "
            f"(`hoag data fetch`, or download=True), or {put}"
        )
    reasons = []
    for address in file.addresses:
        try:
            return _downloaded(address, file)
        except PermissionError as error:
            raise DataNotFoundError(
                f"{looked} It cannot be downloaded, since the cache {cache_folder()} cannot be "
                f"written to ({error.strerror}).\nSet HOAG_CACHE to a folder that can, or {put}"
            ) from error
        except (OSError, HTTPException) as error:
            reasons.append(f"{address}: {error}")
    raise DataNotFoundError(
        f"{looked} It could not be downloaded either. {'; '.join(reasons)}.\nTry again when these "
        f"addresses can be reached, or {put}"
    )


def _downloaded(address: str, file: File) -> Path:
    """By scikit-learn: beside its place first, tried a second time, its checksum compared."""
    from sklearn.datasets import fetch_file

    folder, sha256 = cache_folder(), file.forms[file.name] or None
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is tried again
        return Path(fetch_file(address, folder, file.name, sha256, n_retries=1))


# Readers: from files to (X, y), all called as read(paths, seed).


@contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Whatever a reader stumbles over becomes one sentence that names the file."""
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, struct.error,
            ValueError, LookupError, TypeError) as error:  # fmt: skip
        if isinstance(error, OSError) and error.errno:  # the system's: no such file, no permission
            raise
        raise DataDamagedError(
            f"{path} is damaged: {str(error).rstrip('.')}.\nDelete it, and fetch it again with "
            "`hoag data fetch`, or put a whole copy in its place."
        ) from error


def _news(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
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


def _svmlight(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """Sparse rows with labels −1 and 1; plain, or packed as .gz, .bz2 or .xz."""
    from sklearn.datasets import load_svmlight_file

    with _intact(paths[0]), PACKED.get(paths[0].suffix, open)(paths[0], "rb") as file:
        X, y = load_svmlight_file(file)
    return X, np.where(y > 0, 1, -1)


def _parkinsons(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """total_UPDRS from the 19 columns that are neither the subject nor a score."""
    with _intact(paths[0]):
        header, *rows = paths[0].read_text(encoding="utf-8").splitlines()
        names = header.split(",")
        table = np.array([row.split(",") for row in rows], dtype=float).reshape(len(rows), -1)
        if {len(names), table.shape[1]} != {COLUMNS} or not set(NOT_INPUTS) <= set(names):
            raise ValueError(f"it has no {COLUMNS} columns of numbers, named, with {TARGET}")
    keep = [j for j, name in enumerate(names) if name not in NOT_INPUTS]
    return table[:, keep], table[:, names.index(TARGET)]


def _mnist(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
    """Digits as 12 × 12 pixels in [0, 1]: crop 28 → 24, then the mean over 2 × 2."""
    pixels, labels = _idx(paths[0], (SIDE, SIDE)), _idx(paths[1], ())
    with _intact(paths[0]):
        if len(pixels) != len(labels):
            raise ValueError(f"it has {len(pixels)} images, and {paths[1]} {len(labels)} labels")
    blocks = pixels[:, 2:26, 2:26].reshape(-1, 12, 2, 12, 2) / 255.0
    return blocks.mean(axis=(2, 4)).reshape(-1, 144), labels.astype(int)


def _idx(path: Path, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Bytes of an idx.gz file, each item of this shape.

    The header is two zeros, 8 for bytes, the number of dimensions, and then the dimensions.
    """
    with _intact(path), gzip.open(path) as file:
        content = file.read()
        magic, n, *sizes = struct.unpack_from(f">{2 + len(shape)}I", content)
        if (magic, *sizes) != (0x801 + len(shape), *shape):
            raise ValueError(f"its header is of {magic} and {sizes}, not {shape} bytes an item")
        values = np.frombuffer(content, np.uint8, offset=8 + 4 * len(shape))
        if values.size != n * np.prod(shape):
            raise ValueError(f"its header promises {n} items, and {values.size} bytes follow")
    return values.reshape(n, *shape)


def _bundled(name: str, title: str, kind: Kind, rows: int, columns: int) -> Entry:
    """A data set that scikit-learn brings along."""

    def read(paths: Sequence[Path], seed: int) -> tuple[Any, Any]:
        from sklearn import datasets

        X, y = vars(datasets)[f"load_{name}"](return_X_y=True)
        return X, y

    return Entry(title, "As scikit-learn brings it.", kind, rows, columns, read)


_splits = moved(
    "hoag.datasets",
    "hoag._core.splits",
    instead={
        "thirds": "sklearn.model_selection.train_test_split",
        "standardised_by": "sklearn.preprocessing.StandardScaler",
        "centred_by": "y - y_train.mean()",
    },
)

CATALOGUE = {
    "20news": Entry(
        "20 newsgroups, by date",
        "tf-idf of all 18846 posts (TfidfVectorizer with its defaults), training posts first; the "
        "20 groups are split at random, by the seed, into two classes of ten, −1 and 1.",
        "binary", 18846, 173762, _news,
        (File({"20news-bydate.tar.gz":
               "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
               "20news-bydate.jsonl.gz":
               "c79fad20a2e71bb99f97d6d0f62d844fcd100036b63b1612f2db17e432660bfa"}, 14_464_277,
              ("http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
               "https://ndownloader.figshare.com/files/5975967")),),
    ),
    "real-sim": Entry(
        "real-sim, articles real and simulated",
        "tf-idf rows of norm 1 as distributed by libsvmtools, which has 72309 rows where the paper "
        "says 73218; labels −1 and 1.",
        "binary", 72309, 20958, _svmlight,
        (File({"real-sim.bz2": "7cd52374f55ce62e803ef33ca1c44689427c23d481eff64026f8ba9f53b8cc27",
               "real-sim": "0fd9b12b6dc60dab7885a7367b286a53aac5d92057dc1083ab13ade275120270",
               "real-sim.gz": "", "real-sim.xz": ""}, 0,
              ("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/real-sim.bz2",)),),
    ),
    "imdb": Entry(
        "IMDB reviews",
        "tf-idf rows of norm 1, labels −1 and 1, sorted by label inside each half: shuffle before "
        "splitting. Not a data set of the paper: it stands in for real-sim where that cannot be "
        "had, and figures made with it should say so.",
        "binary", 50000, 21043, _svmlight,
        (File({"imdb_tfidf.svm.bz2":
               "a8669d20e70ee8147ab8e452821fc4a0318604e646cf987b8abeacf7c24661f1",
               "imdb_tfidf.svm": "", "imdb_tfidf.svm.gz": "", "imdb_tfidf.svm.xz": ""},
              27_363_854),),
    ),
    "parkinsons": Entry(
        "Parkinsons telemonitoring",
        "total_UPDRS from the 19 columns left without subject#, motor_UPDRS and total_UPDRS. "
        "Standardise the columns and centre the target by the training rows.",
        "regression", 5875, 19, _parkinsons,
        (File({"parkinsons_updrs.data":
               "f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39"}, 911_261,
              ("https://archive.ics.uci.edu/ml/machine-learning-databases/parkinsons/"
               "telemonitoring/parkinsons_updrs.data",)),),
    ),
    "mnist": Entry(
        "MNIST, handwritten digits",
        "The 60000 training images as 12 × 12 pixels: divided by 255, cropped from 28 to 24, mean "
        "over 2 × 2. The paper says only that they are subsampled.",
        "multiclass", 60000, 144, _mnist,
        (File({"train-images-idx3-ubyte.gz":
               "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"}, 9_912_422,
              ("https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz",)),
         File({"train-labels-idx1-ubyte.gz":
               "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"}, 28_881,
              ("https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz",))),
    ),
    "breast_cancer": _bundled("breast_cancer", "Breast cancer Wisconsin", "binary", 569, 30),
    "digits": _bundled("digits", "Handwritten digits, 8 × 8", "multiclass", 1797, 64),
    "diabetes": _bundled("diabetes", "Diabetes", "regression", 442, 10),
    "iris": _bundled("iris", "Iris", "multiclass", 150, 4),
    "wine": _bundled("wine", "Wine", "multiclass", 178, 13),
}  # fmt: skip
_ERRORS = {"DataNotFound": "DataNotFoundError", "DataDamaged": "DataDamagedError"}
_errors = moved(
    *("hoag.datasets", "hoag.errors", _ERRORS),
    instead={old: f"hoag.errors.{new}" for old, new in _ERRORS.items()},
)


def __getattr__(name: str) -> Any:
    return (_errors if name in _ERRORS else _splits)(name)
