"""The data sets of the paper, and a few that scikit-learn brings along.

    X, y = hoag.datasets.load("20news").X_y

Files are looked for in the folder HOAG_DATA, then in a cache, then downloaded into the cache.

>>> from hoag import datasets
>>> datasets.load("diabetes").X.shape
(442, 10)
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag._core.errors import InvalidInput
from hoag.datasets import files
from hoag.datasets.catalogue import CATALOGUE, Entry, Kind
from hoag.datasets.files import DataNotFound, Progress, cache, folders
from hoag.datasets.read import DataDamaged

__all__ = [
    "CATALOGUE",
    "DataDamaged",
    "DataNotFound",
    "Dataset",
    "Entry",
    "cache",
    "centred_by",
    "check",
    "describe",
    "fetch",
    "folders",
    "load",
    "names",
    "paths",
    "present",
    "standardised_by",
    "thirds",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows X and their targets y; `source` is where they came from, `description` the recipe.

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
        return self.X, self.y


def names() -> tuple[str, ...]:
    """The names that `load` knows.

    >>> from hoag import datasets
    >>> datasets.names()[:2]
    ('20news', 'real-sim')
    """
    return tuple(CATALOGUE)


def describe(name: str) -> Entry:
    """What the catalogue says about a data set: title, recipe, shape, files; nothing is read.

    >>> from hoag import datasets
    >>> datasets.describe("20news").columns
    173762
    """
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInput(
            f"There is no data set {name!r}: choose from {', '.join(names())}.{meant}"
        )
    return CATALOGUE[name]


def load(name: str, *, seed: int = 0, download: bool = True) -> Dataset:
    """Read a data set; its files are downloaded where they are in no folder.

    `seed` chooses which ten groups of "20news" are positive and matters to no other set.
    Raises `DataNotFound` where a file cannot be had, `DataDamaged` where one cannot be read.

    >>> from hoag import datasets
    >>> X, y = datasets.load("breast_cancer").X_y
    >>> X.shape
    (569, 30)
    """
    entry = describe(name)
    where = [files.get(file, download) for file in entry.files]
    X, y = entry.read(where, seed)
    source = ", ".join(map(str, where)) or "bundled with scikit-learn"
    return Dataset(name, X, y, entry.kind, entry.title, entry.description, source)


def fetch(name: str, progress: Progress | None = None) -> tuple[Path, ...]:
    """Have all files of a data set here: the paths, after downloading what is in no folder.

    `progress` is called with a file's name, its bytes so far and in the end (None if unknown).

    >>> from hoag import datasets
    >>> datasets.fetch("digits")  # scikit-learn has it: there is nothing to download
    ()
    """
    entry = describe(name)
    return tuple(files.get(file, progress=progress) for file in (*entry.files, *entry.extra))


def paths(name: str) -> tuple[Path, ...]:
    """The files that `load` would read and that are here; nothing is read or downloaded.

    >>> from hoag import datasets
    >>> datasets.paths("diabetes")  # no file of its own
    ()
    """
    found = [files.find(file) for file in describe(name).files]
    return tuple(where[0] for where in found if where)


def present(name: str) -> bool:
    """Whether `load` needs no download.

    >>> from hoag import datasets
    >>> datasets.present("diabetes")
    True
    """
    return len(paths(name)) == len(describe(name).files)


def check(name: str) -> list[str]:
    """What is wrong with a data set's files, in sentences: checksums, reading, shape.

    Raises `DataNotFound` where a file is not here.

    >>> from hoag import datasets
    >>> datasets.check("wine")
    []
    """
    entry = describe(name)
    wrong = []
    for file in (*entry.files, *entry.extra):
        found = files.find(file)
        if found and found[1].sha256 and files.digest(found[0]) != found[1].sha256:
            wrong.append(f"{found[0]} has the wrong checksum: delete it and fetch it again.")
    try:
        X = load(name, download=False).X
    except DataDamaged as error:
        return [*wrong, str(error)]
    if X.shape != (entry.rows, entry.columns):
        wrong.append(f"{name} has the shape {X.shape} in place of {(entry.rows, entry.columns)}.")
    return wrong


def thirds(X: Any, y: Any, seed: int) -> tuple[Any, ...]:
    """Train, test and validation rows, a third each, as (X, y, X′, y′, X″, y″).

    >>> from hoag import datasets
    >>> X, y, X_test, *_ = datasets.thirds(*datasets.load("iris").X_y, seed=0)
    >>> X.shape, X_test.shape
    ((50, 4), (50, 4))
    """
    n = len(y) // 3
    order = np.random.default_rng(seed).permutation(len(y))
    train, test, validation = (order[k * n : (k + 1) * n] for k in range(3))
    return X[train], y[train], X[test], y[test], X[validation], y[validation]


def standardised_by(X_train: npt.ArrayLike, *others: npt.ArrayLike) -> tuple[Any, ...]:
    """X_train with columns of mean 0 and variance 1, and the others shifted and scaled alike.

    A constant column becomes zeros. For dense rows.

    >>> from hoag import datasets
    >>> train, test = datasets.standardised_by([[1.0], [3.0]], [[5.0]])
    >>> train.ravel(), test.ravel()
    (array([-1.,  1.]), array([3.]))
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X_train)
    return tuple(scaler.transform(X) for X in (X_train, *others))


def centred_by(y_train: npt.ArrayLike, *others: npt.ArrayLike) -> tuple[Any, ...]:
    """y_train less its mean, and the others less the same.

    >>> from hoag import datasets
    >>> datasets.centred_by([1.0, 3.0], [5.0])
    (array([-1.,  1.]), array([3.]))
    """
    mean = np.asarray(y_train, dtype=float).mean(axis=0)
    return tuple(np.asarray(y, dtype=float) - mean for y in (y_train, *others))
