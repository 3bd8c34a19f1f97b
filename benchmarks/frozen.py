"""Sixty fits whose results are kept in frozen.json, so that a change of structure changes nothing.

    python benchmarks/frozen.py [--only ridge] [--freeze]

Compares with the table, or with --freeze writes it anew. A fit is an estimator on data with
penalties and cv, in memory, in blocks of rows or on a Dask cluster. Of each are kept the criterion
at three fixed λ, which must agree to 1e-9, and at the λ that was chosen, not to be higher by
more than 1e-5; passes and seconds are printed beside those of the table. Exit status 1 where a
promise is broken.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import scale

import hoag

TABLE = Path(__file__).with_name("frozen.json")
SAME, HIGHER = 1e-9, 1e-5
FIXED = (-4.0, 0.0, 4.0)


def rows(name: str) -> tuple[Any, Any]:
    """X and y of data that every machine makes alike."""
    rng = np.random.default_rng(list(name.encode()))
    if name in ("breast_cancer", "diabetes", "digits"):
        load = {"breast_cancer": load_breast_cancer, "diabetes": load_diabetes}
        X, y = load.get(name, load_digits)(return_X_y=True)
        return (X / 16 if name == "digits" else scale(X)), y
    n, p = {"small": (80, 6), "wide": (50, 200), "tall": (20_000, 12), "text": (400, 900)}[name]
    X = rng.normal(size=(n, p))
    if name == "text":
        X = np.where(rng.random((n, p)) < 0.03, np.abs(X), 0.0)
    z = X[:, :20] @ rng.normal(size=min(p, 20))
    y = z + 0.7 * np.std(z) * rng.normal(size=n)
    return (sparse.csr_array(X) if name == "text" else X), y


def outcome(kind: str, y: Any) -> Any:
    """y as an estimator wants it, from one of numbers."""
    z, rng = (y - np.mean(y)) / np.std(y), np.random.default_rng(0)
    if kind == "classes":
        return z > np.median(z)
    if kind == "three":
        return np.digitize(z, np.quantile(z, [0.33, 0.67]))
    if kind == "counts":
        return rng.poisson(np.exp(0.5 * z)).astype(float)
    if kind == "positive":
        return np.exp(0.5 * z) * rng.gamma(3.0, size=len(z))
    if kind == "times":
        T = np.exp(-0.5 * z) * rng.exponential(size=len(z))
        return np.array(list(zip(rng.random(len(z)) < 0.7, T, strict=True)), dtype="?,f8")
    if kind == "targets":
        return np.c_[z, z**2, rng.normal(size=len(z))]
    return y


CLASSIFIERS = ("LogisticRegressionCV", "LinearSVCCV", "RidgeClassifierCV")
KINDS = {
    "PoissonRegressorCV": "counts",
    "GammaRegressorCV": "positive",
    "TweedieRegressorCV": "counts",
    "OrdinalLogisticCV": "three",
    "CoxRegressionCV": "times",
} | dict.fromkeys(CLASSIFIERS, "classes")


def fits() -> Iterator[tuple[str, str, dict[str, Any], str, str]]:
    """Estimator, data, options, kind of y, and where the rows are."""
    for name in ("RidgeCV", "LogisticRegressionCV"):
        kind = KINDS.get(name, "numbers")
        for data in ("small", "wide", "tall", "text"):
            for penalties in ("shared", "per-feature"):
                if (data, penalties) != ("text", "per-feature"):
                    yield name, data, {"penalties": penalties, "cv": 5}, kind, "memory"
        yield name, "small", {"standardize": True, "cv": 5}, kind, "memory"
        yield name, "small", {"cv": 5, "fit_intercept": False, "rule": "1se"}, kind, "memory"
        for where in ("blocks", "dask"):
            yield name, "tall", {"cv": 5}, kind, where
            yield name, "tall", {"cv": 5, "penalties": [0] * 6 + [1] * 6}, kind, where
    for word in (None, "gcv", "aic", "bic", "sure", "reml", "alo"):
        yield "RidgeCV", "diabetes", {"cv": word}, "numbers", "memory"
    for word in ("gcv", "sure", "reml", None):
        yield "RidgeCV", "diabetes", {"cv": word, "penalties": "per-feature"}, "numbers", "memory"
    yield "RidgeCV", "diabetes", {"cv": 5, "penalties": "per-target"}, "targets", "memory"
    for word in ("alo", "aic", "reml"):
        yield "LogisticRegressionCV", "breast_cancer", {"cv": word}, "given", "memory"
    yield "LogisticRegressionCV", "breast_cancer", {"criterion": "brier"}, "given", "memory"
    groups = {"penalties": [0] * 10 + [1] * 10 + [2] * 10}
    yield "LogisticRegressionCV", "breast_cancer", groups, "given", "memory"
    yield "LogisticRegressionCV", "digits", {"cv": 3}, "given", "memory"
    yield "LogisticRegressionCV", "small", {"penalties": "per-class"}, "three", "memory"
    others = ("PoissonRegressorCV", "GammaRegressorCV", "TweedieRegressorCV", "HuberRegressorCV")
    others += ("QuantileRegressorCV", "LinearSVCCV", "OrdinalLogisticCV", "CoxRegressionCV")
    for name in others:
        for penalties in ("shared", "per-feature"):
            given = {"penalties": penalties, "cv": 5}
            yield name, "small", given, KINDS.get(name, "numbers"), "memory"
    yield "RidgeClassifierCV", "digits", {"cv": 5}, "given", "memory"
    yield "KernelRidgeCV", "small", {"cv": 5}, "numbers", "memory"
    yield "KernelRidgeCV", "small", {"cv": 5, "widths": "per-feature"}, "numbers", "memory"


def given(X: Any, y: Any, where: str) -> tuple[Any, ...]:
    """The rows where they are to be; y is with those in blocks."""
    if where == "blocks":
        return (hoag.partitions((X, y), rows=3000),)
    if where == "dask":
        import dask.array as da

        return da.from_array(X, chunks=(5000, -1)), da.from_array(y, chunks=5000)
    return X, y


def fitted(name: str, data: str, options: dict[str, Any], kind: str, where: str) -> dict[str, Any]:
    X, y = rows(data)
    y = y if kind == "given" else outcome(kind, y)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(hoag, name)(**options).fit(*given(X, y, where))
    seconds = time.perf_counter() - start
    chosen = np.ravel(model.lam_)

    def at(lam: Any) -> float:
        return float(model.criterion_at(lam, X, y))

    return {
        "fixed": [at(np.full(chosen.size, lam)) for lam in FIXED],
        "chosen": at(chosen),
        "reported": float(model.criterion_),
        "reason": model.result_.status.reason,
        "passes": round(float(model.result_.cost.passes), 1),
        "seconds": round(seconds, 3),
    }


def compared(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """Which promises are broken."""
    scale_ = max(abs(then["chosen"]), 1e-12)
    apart = max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(now["fixed"], then["fixed"]))
    broken = [f"fixed λ differ by {apart:.1e}"] if not apart <= SAME else []
    if now["chosen"] > then["chosen"] + HIGHER * scale_:
        broken.append(f"higher by {(now['chosen'] - then['chosen']) / scale_:.1e}")
    if now["reason"] != then["reason"]:
        broken.append(f"{then['reason']} → {now['reason']}")
    return broken


def each(only: str) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    for one in fits():
        label = " ".join(map(str, one))
        if only.lower() in label.lower():
            yield label, lambda one=one: fitted(*one)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--freeze", action="store_true")
    args = parser.parse_args()
    kept = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    broken = 0
    from dask.distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as _:
        for label, fit in each(args.only):
            now, then = fit(), kept.get(label)
            if args.freeze or then is None:
                kept[label], told = now, "kept" if args.freeze else "not in the table"
                broken += not args.freeze
            else:
                told = "; ".join(compared(now, then)) or "same"
                told += f", passes {then['passes']} → {now['passes']}"
                told += f", {then['seconds']} → {now['seconds']} s"
                broken += not told.startswith("same")
            print(f"{label}: {told}", flush=True)
    if args.freeze:
        TABLE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(kept)} in the table, {broken} broken")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
