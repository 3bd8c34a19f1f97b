"""The paper's data sets from the folder HOAG_DATA, split in thirds as in the paper."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

Split = tuple[Any, Any, Any, Any, Any, Any]


def folder() -> Path | None:
    """HOAG_DATA, or None when it is unset."""
    name = os.environ.get("HOAG_DATA")
    return Path(name) if name else None


def thirds(A: Any, y: Any, seed: int) -> Split:
    """Train, test and validation rows, a third each, as (A, y, A′, y′, A″, y″)."""
    n = len(y) // 3
    order = np.random.default_rng(seed).permutation(len(y))
    parts = [order[k * n : (k + 1) * n] for k in range(3)]
    return tuple(piece for part in parts for piece in (A[part], y[part]))  # type: ignore[return-value]


def news(root: Path, seed: int = 0) -> tuple[Any, Any]:
    """20 newsgroups: tf-idf of all posts, the groups split at random into two classes of ten."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    with gzip.open(root / "20news-bydate.jsonl.gz", "rt", encoding="utf-8") as lines:
        posts = [json.loads(line) for line in lines]
    A = TfidfVectorizer().fit_transform([post["text"] for post in posts])
    positive = np.random.default_rng(seed).permutation(20)[:10]
    return A, np.where(np.isin([post["label"] for post in posts], positive), 1, -1)


def imdb(root: Path, seed: int = 0) -> tuple[Any, Any]:
    """IMDB reviews, row-normalised tf-idf; it stands in for real-sim."""
    from sklearn.datasets import load_svmlight_file

    with bz2.open(root / "imdb_tfidf.svm.bz2") as file:
        A, y = load_svmlight_file(file)
    return A, np.where(y > 0, 1, -1)


def parkinsons(root: Path, seed: int = 0) -> tuple[Any, Any]:
    """total_UPDRS from the 19 other columns; standardise by the training rows afterwards."""
    with open(root / "parkinsons_updrs.data") as file:
        names = file.readline().strip().split(",")
        table = np.loadtxt(file, delimiter=",")
    out = ("subject#", "motor_UPDRS", "total_UPDRS")
    keep = [j for j, name in enumerate(names) if name not in out]
    return table[:, keep], table[:, names.index("total_UPDRS")]


def mnist(root: Path, seed: int = 0) -> tuple[Any, Any]:
    """60000 digits as 12 × 12 pixels: crop 28 → 24, mean over 2 × 2, scale to [0, 1]."""
    with gzip.open(root / "train-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(root / "train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    blocks = pixels[:, 2:26, 2:26].reshape(-1, 12, 2, 12, 2) / 255.0
    return blocks.mean(axis=(2, 4)).reshape(-1, 144), labels.astype(int)
