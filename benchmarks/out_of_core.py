"""Rows past memory: full reads, seconds a read, peak memory, and what others do on a tenth of them.

    python benchmarks/out_of_core.py [--rows 10000000] [--only dense,sparse,rivals] [--folder DIR]

Dense rows are normal with 100 columns, 800 bytes each, in one .npy file; sparse ones have 30 of
100 000 columns, drawn by a power law, in partitions of their own. Both are made block by block and
never whole in one process, and kept in the folder for the next time. Every fit runs in a process of
its own, whose peak memory is told (that of file pages, which the system takes back, is in it). A
plain read goes through the same partitions and multiplies them with as many columns, and back, and
does nothing else: X @ W for ten columns, Xᵀ @ R for nine; the median of two before and two after.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

import hoag
from hoag import data

BLOCK = 20_000  # rows made at a time
COLUMNS, WIDE, FILLED = 100, 100_000, 30
TEST = 100_000  # rows that nobody trains on


def truth(columns: int) -> np.ndarray:
    return np.random.default_rng(99).normal(size=columns)


def dense_block(i: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(i)
    X = rng.normal(size=(BLOCK, COLUMNS))
    z = X @ truth(COLUMNS) / np.sqrt(COLUMNS)
    return X, (z + rng.logistic(size=BLOCK) > 0).astype(np.int8)


def sparse_block(i: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(i)
    columns = (WIDE * rng.random((BLOCK, FILLED)) ** 2.5).astype(np.int32)
    ends = np.arange(0, BLOCK * FILLED + 1, FILLED)
    X = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), ends), (BLOCK, WIDE))
    X.sum_duplicates()
    z = 0.5 * (X @ truth(WIDE))
    return X, (z + rng.logistic(size=BLOCK) > 0).astype(np.int8)


class Parts(Sequence):  # type: ignore[type-arg]
    """Sparse rows in a folder, five blocks a partition."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> tuple[Any, np.ndarray]:
        if not 0 <= i < self.count:
            raise IndexError(i)
        data, indices, ends, y = (
            np.load(self.folder / f"{i:05d}.{name}.npy")
            for name in ("data", "indices", "ends", "y")
        )
        return sparse.csr_matrix((data, indices, ends), (len(y), WIDE)), y


def made_dense(folder: Path, rows: int) -> tuple[Path, Path]:
    X, y = folder / f"dense-{rows}.npy", folder / f"dense-{rows}-y.npy"
    if not y.exists():
        whole = np.lib.format.open_memmap(X, "w+", np.float64, (rows, COLUMNS))
        labels = np.empty(rows, dtype=np.int8)
        for i in range(rows // BLOCK):
            some = slice(i * BLOCK, (i + 1) * BLOCK)
            whole[some], labels[some] = dense_block(i)
        whole.flush()
        np.save(y, labels)
    return X, y


def made_sparse(folder: Path, rows: int) -> Parts:
    own, count = folder / f"sparse-{rows}", rows // (5 * BLOCK)
    if not (own / "ready").exists():
        own.mkdir(parents=True, exist_ok=True)
        for i in range(count):
            blocks = [sparse_block(5 * i + j) for j in range(5)]
            X = sparse.vstack([block for block, _ in blocks], format="csr")
            y = np.concatenate([labels for _, labels in blocks])
            parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32), y)
            for name, part in zip(("data", "indices", "ends", "y"), parts, strict=True):
                np.save(own / f"{i:05d}.{name}.npy", part)
        (own / "ready").touch()
    return Parts(own, count)


def source(kind: str, folder: Path, rows: int) -> data.Source:
    if kind == "dense":
        X, y = made_dense(folder, rows)
        return hoag.partitions((str(X), str(y)))
    return hoag.partitions(made_sparse(folder, rows))


def unseen(kind: str) -> tuple[Any, np.ndarray]:
    make = dense_block if kind == "dense" else sparse_block
    blocks = [make(10**6 + i) for i in range(TEST // BLOCK)]
    stack = np.concatenate if kind == "dense" else sparse.vstack
    return stack([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


class Timed(data.LocalEngine):
    """Which adds up the seconds in which rows are gone through."""

    seconds = 0.0

    def total(self, call: Any, prepare: Any = None, rows: bool = True) -> Any:
        start = time.perf_counter()
        found = super().total(call, prepare, rows)
        self.seconds += time.perf_counter() - start if rows else 0.0
        return found


class Multiply:
    """The same columns forwards and back, and nothing else, some rows at a time as ours are."""

    def __init__(self, columns: int) -> None:
        self.W = np.random.default_rng(0).normal(size=(columns, 10))

    def __call__(self, partition: data.Partition) -> np.ndarray:
        X = partition.X
        height = len(partition.y) if sparse.issparse(X) else 2000
        total = np.zeros((X.shape[1], 9))
        for start in range(0, len(partition.y), height):
            some = X[start : start + height]
            total += some.T @ (some @ self.W)[:, :9]
        return total


def peak() -> float:
    """This process's largest memory, in MB: ru_maxrss would be that of who started it, too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return float(line.split()[1]) / 1024


def fitted(kind: str, folder: Path, rows: int) -> dict[str, float]:
    engine = Timed(source(kind, folder, rows))
    multiply = Multiply(engine.features)

    def plain() -> float:
        start = time.perf_counter()
        data.LocalEngine(engine.source).total(multiply)
        return time.perf_counter() - start

    plain()  # what the system keeps of the file it keeps for all of them
    reads = [plain(), plain()]
    start = time.perf_counter()
    model = hoag.LogisticRegressionCV().fit(engine)
    seconds = time.perf_counter() - start
    reads += [plain(), plain()]
    X, y = unseen(kind)
    return {
        "rows": rows,
        "reads": model.result_.cost.reads,
        "seconds": seconds,
        "in reads": engine.seconds,
        "a read": engine.seconds / engine.reads,
        "plain read": float(np.median(reads)),
        "memory MB": peak(),
        "C": model.C_,
        "criterion": model.criterion_,
        "unseen log loss": log_loss(y, model.predict_proba(X)),
        "converged": float(model.result_.converged),
    }


def by_sgd(kind: str, folder: Path, rows: int, epochs: int = 5) -> dict[str, float]:
    """Ten penalties at once, each read of the rows for all; a fifth of the partitions chooses."""
    rows_of = source(kind, folder, rows)
    start = time.perf_counter()
    models = [
        SGDClassifier(loss="log_loss", alpha=alpha, random_state=0, average=True)
        for alpha in np.logspace(-7, -2, 10)
    ]
    held = max(rows_of.partitions // 5, 1)
    for _ in range(epochs):
        for i in range(rows_of.partitions - held):
            partition = rows_of.read(i)
            for model in models:
                model.partial_fit(partition.X, partition.y, classes=[0, 1])
    losses = np.zeros(len(models))
    for i in range(rows_of.partitions - held, rows_of.partitions):
        partition = rows_of.read(i)
        for j, model in enumerate(models):
            losses[j] += log_loss(partition.y, model.predict_proba(partition.X), normalize=False)
    best = models[int(np.argmin(losses))]
    seconds = time.perf_counter() - start
    X, y = unseen(kind)
    return {
        "rows": rows,
        "reads": epochs * (1 - held / rows_of.partitions) + held / rows_of.partitions,
        "seconds": seconds,
        "memory MB": peak(),
        "unseen log loss": log_loss(y, best.predict_proba(X)),
    }


def by_dask_ml(kind: str, folder: Path, rows: int) -> dict[str, float]:
    """dask-ml's LogisticRegression at ten C, the best on a fifth of the rows."""
    import dask.array as da
    from dask_ml.linear_model import LogisticRegression

    X_path, y_path = made_dense(folder, rows)
    X = da.from_array(np.load(X_path, mmap_mode="r"), chunks=(BLOCK * 5, COLUMNS))
    y = da.from_array(np.load(y_path), chunks=BLOCK * 5)
    start, found = time.perf_counter(), []
    cut = rows - rows // 5
    for C in np.logspace(-4, 4, 10):
        model = LogisticRegression(C=C, solver="lbfgs").fit(X[:cut], y[:cut])
        said = np.asarray(model.predict_proba(X[cut:]))
        found.append((log_loss(np.asarray(y[cut:]), said), model))
    best = min(found, key=lambda pair: pair[0])[1]
    seconds = time.perf_counter() - start
    test, labels = unseen(kind)
    return {
        "rows": rows,
        "seconds": seconds,
        "memory MB": peak(),
        "unseen log loss": log_loss(labels, np.asarray(best.predict_proba(test))),
    }


def alone(run: Any, *given: Any) -> dict[str, float]:
    """In a process of its own, so that its peak memory is told."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return dict(pool.apply(run, given))


def told(name: str, found: dict[str, float]) -> None:
    print(name + ": " + ", ".join(f"{key} {value:.6g}" for key, value in found.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--sparse-rows", type=int, default=2_000_000)
    parser.add_argument("--only", default="dense,sparse,rivals")
    parser.add_argument("--folder", default=None)
    asked = parser.parse_args()
    folder = Path(asked.folder or Path(tempfile.gettempdir()) / "hoag-out-of-core")
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"dense": asked.rows, "sparse": asked.sparse_rows}
    for kind, rows in sizes.items():
        if kind in asked.only:
            source(kind, folder, rows)
            told(f"hoag, {kind}", alone(fitted, kind, folder, rows))
    if "rivals" in asked.only:
        for kind, rows in sizes.items():
            told(f"hoag, {kind}, a tenth", alone(fitted, kind, folder, rows // 10))
            told(f"SGD, {kind}, a tenth", alone(by_sgd, kind, folder, rows // 10))
        try:
            told("dask-ml, dense, a tenth", alone(by_dask_ml, "dense", folder, asked.rows // 10))
        except Exception as error:
            print(f"dask-ml: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
