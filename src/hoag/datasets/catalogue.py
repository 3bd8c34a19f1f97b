"""What there is: for each data set its shape, its files, where they come from and their reader."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from hoag.datasets import read

Kind = Literal["binary", "multiclass", "regression"]


@dataclass(frozen=True)
class File:
    """A file as distributed: where, its checksum and its size, as far as they are known.

    `instead` are files that hold the same; one of them will do, but is never downloaded.
    """

    name: str
    sha256: str = ""
    size: int = 0
    addresses: tuple[str, ...] = ()
    instead: tuple[File, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One data set. `files` are read, `extra` are only fetched and checked along with them.

    >>> from hoag import datasets
    >>> entry = datasets.describe("mnist")
    >>> entry.rows, entry.columns, entry.kind
    (60000, 144, 'multiclass')
    """

    name: str
    title: str
    description: str
    kind: Kind
    rows: int
    columns: int
    read: read.Reader
    files: tuple[File, ...] = ()
    extra: tuple[File, ...] = ()

    @property
    def bundled(self) -> bool:
        return not self.files

    @property
    def downloadable(self) -> bool:
        return all(file.addresses for file in self.files)


def _packed(name: str) -> tuple[File, ...]:
    return File(name), File(f"{name}.gz"), File(f"{name}.xz")


def _mnist(name: str, sha256: str, size: int) -> File:
    homes = ("http://yann.lecun.com/exdb/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/")
    return File(name, sha256, size, tuple(home + name for home in homes))


NEWS = File(
    "20news-bydate.tar.gz",
    "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    14_464_277,
    (
        "http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz",
        "https://ndownloader.figshare.com/files/5975967",
    ),
    instead=(
        File(
            "20news-bydate.jsonl.gz",
            "c79fad20a2e71bb99f97d6d0f62d844fcd100036b63b1612f2db17e432660bfa",
            13_702_967,
        ),
    ),
)
REAL_SIM = File(
    "real-sim.bz2",
    "7cd52374f55ce62e803ef33ca1c44689427c23d481eff64026f8ba9f53b8cc27",
    0,
    ("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/real-sim.bz2",),
    instead=(
        File(
            "real-sim",
            "0fd9b12b6dc60dab7885a7367b286a53aac5d92057dc1083ab13ade275120270",
            90_377_515,
        ),
        *_packed("real-sim")[1:],
    ),
)
IMDB = File(
    "imdb_tfidf.svm.bz2",
    "a8669d20e70ee8147ab8e452821fc4a0318604e646cf987b8abeacf7c24661f1",
    27_363_854,
    instead=_packed("imdb_tfidf.svm"),
)
PARKINSONS = File(
    "parkinsons_updrs.data",
    "f2c7d5025dec4e92e7feae367a5f7ccf58789a10ac6b54bdf15976c599f9dd39",
    911_261,
    (
        "https://archive.ics.uci.edu/ml/machine-learning-databases/parkinsons/telemonitoring/"
        "parkinsons_updrs.data",
    ),
)
MNIST = (
    _mnist(
        "train-images-idx3-ubyte.gz",
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        9_912_422,
    ),
    _mnist(
        "train-labels-idx1-ubyte.gz",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        28_881,
    ),
    _mnist(
        "t10k-images-idx3-ubyte.gz",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        1_648_877,
    ),
    _mnist(
        "t10k-labels-idx1-ubyte.gz",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        4_542,
    ),
)


def _bundled(name: str, title: str, kind: Kind, rows: int, columns: int) -> Entry:
    reader = partial(read.bundled, f"load_{name}")
    return Entry(name, title, "As scikit-learn brings it.", kind, rows, columns, reader)


_ENTRIES = (
    Entry(
        "20news",
        "20 newsgroups, by date",
        "tf-idf of all 18846 posts (TfidfVectorizer with its defaults), training posts first; the "
        "20 groups are split at random, by the seed, into two classes of ten, −1 and 1.",
        "binary", 18846, 173762, read.news, (NEWS,),
    ),
    Entry(
        "real-sim",
        "real-sim, articles real and simulated",
        "tf-idf rows of norm 1 as distributed by libsvmtools, which has 72309 rows where the paper "
        "says 73218; labels −1 and 1.",
        "binary", 72309, 20958, read.svmlight, (REAL_SIM,),
    ),
    Entry(
        "imdb",
        "IMDB reviews",
        "tf-idf rows of norm 1, labels −1 and 1, sorted by label inside each half: shuffle before "
        "splitting. Not a data set of the paper: it stands in for real-sim where that cannot be "
        "had, and figures made with it should say so.",
        "binary", 50000, 21043, read.svmlight, (IMDB,),
    ),
    Entry(
        "parkinsons",
        "Parkinsons telemonitoring",
        "total_UPDRS from the 19 columns left without subject#, motor_UPDRS and total_UPDRS. "
        "Standardise the columns and centre the target by the training rows: "
        "hoag.datasets.standardised_by, hoag.datasets.centred_by.",
        "regression", 5875, 19, read.parkinsons, (PARKINSONS,),
    ),
    Entry(
        "mnist",
        "MNIST, handwritten digits",
        "The 60000 training images as 12 × 12 pixels: divided by 255, cropped from 28 to 24, mean "
        "over 2 × 2. The paper says only that they are subsampled.",
        "multiclass", 60000, 144, read.mnist, MNIST[:2], MNIST[2:],
    ),
    _bundled("breast_cancer", "Breast cancer Wisconsin", "binary", 569, 30),
    _bundled("digits", "Handwritten digits, 8 × 8", "multiclass", 1797, 64),
    _bundled("diabetes", "Diabetes", "regression", 442, 10),
    _bundled("iris", "Iris", "multiclass", 150, 4),
    _bundled("wine", "Wine", "multiclass", 178, 13),
)  # fmt: skip

CATALOGUE = {entry.name: entry for entry in _ENTRIES}
