"""Degenerate data and foreign options for every estimator: what comes out, and whether it is true.

    python benchmarks/torture.py [--seeds 1] [--options 60] [--only RidgeCV] [--markdown]

A case is an estimator with a kind of data, a setting and a seed, or with one or two parameters of
values that were drawn from a list of foreign ones. It ends as one of

    true        converged, criterion_ is criterion_at(lam_) to 1e-3, predictions are finite
    told        a model with a status or a warning that says what is wrong with it
    refused     a sentence that hoag or scikit-learn raised for people
    wrong       converged, and the loss is another one; or predictions are not finite
    raw         any other exception
    late        ended after LIMIT seconds; every case is a process of its own

beside scikit-learn's estimator of the same model at its defaults, where there is one: finite, not
finite (predictions), refused, raw, late. Exit status 1 where anything of ours is wrong, raw, late.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
from scipy import sparse
from sklearn import kernel_ridge, linear_model, svm

import hoag

LIMIT = 30.0
FORK = get_context("fork")


def numbers(rng, z):
    return z


def classes(rng, z):
    return (z > np.median(z)).astype(int) if np.ptp(z) > 0 else np.zeros(len(z), int)


def levels(rng, z):
    return np.digitize(z, np.quantile(z, [0.33, 0.67]))


def sizes(z):
    with np.errstate(all="ignore"):
        return np.exp(0.5 * np.clip(np.nan_to_num(z / np.std(z)), -3, 3))


def counts(rng, z):
    return rng.poisson(sizes(z)).astype(float)


def positive(rng, z):
    return sizes(z) * rng.gamma(3.0, size=len(z))


def times(rng, z):
    event = rng.random(len(z)) < 0.7
    return np.array(list(zip(event, positive(rng, z), strict=True)), dtype="?,f8")


ESTIMATORS = {
    "RidgeCV": (hoag.RidgeCV, linear_model.Ridge, numbers),
    "RidgeClassifierCV": (hoag.RidgeClassifierCV, linear_model.RidgeClassifier, classes),
    "LogisticRegressionCV": (hoag.LogisticRegressionCV, linear_model.LogisticRegression, classes),
    "LinearSVCCV": (hoag.LinearSVCCV, svm.LinearSVC, classes),
    "PoissonRegressorCV": (hoag.PoissonRegressorCV, linear_model.PoissonRegressor, counts),
    "GammaRegressorCV": (hoag.GammaRegressorCV, linear_model.GammaRegressor, positive),
    "TweedieRegressorCV": (hoag.TweedieRegressorCV, linear_model.TweedieRegressor, counts),
    "HuberRegressorCV": (hoag.HuberRegressorCV, linear_model.HuberRegressor, numbers),
    "QuantileRegressorCV": (hoag.QuantileRegressorCV, linear_model.QuantileRegressor, numbers),
    "OrdinalLogisticCV": (hoag.OrdinalLogisticCV, None, levels),
    "CoxRegressionCV": (hoag.CoxRegressionCV, None, times),
    "KernelRidgeCV": (hoag.KernelRidgeCV, kernel_ridge.KernelRidge, numbers),
}

SETTINGS = (
    {},
    {"standardize": True},
    {"penalties": "per-feature"},
    {"rule": "1se"},
    {"cv": 3, "fit_intercept": False},
)

FOREIGN = (None, True, -1, 0, 1, 2, 3.5, 1e-300, 1e300, np.nan, np.inf, "", "auto", "loo", "reml")
FOREIGN += ("zz", [], [0, 1, 2, 0, 1], (1.0, -1.0), (-3.0, 3.0), ("a", "b"), {}, {0: 2.0}, object())
FOREIGN += (
    np.ones(5),
    np.full(5, -1),
    np.ones((2, 2)),
    np.float32(0.5),
    np.array("auto"),
    1j,
    repr,
)
WRITTEN = {"checkpoint", "verbose", "n_jobs"}  # a file, and what changes no result

KINDS = {
    "plain": lambda X, z, rng: (X, z),
    "constant column": lambda X, z, rng: (np.c_[np.full(len(X), 3.0), X], z),
    "all constant": lambda X, z, rng: (np.ones_like(X), z),
    "equal columns": lambda X, z, rng: (np.c_[X, X], z),
    "near twins": lambda X, z, rng: (np.c_[X, X + 1e-9 * rng.normal(size=X.shape)], z),
    "columns of zeros": lambda X, z, rng: (X * [0, 0, 1, 1, 1], z),
    "far row": lambda X, z, rng: (np.r_[1e6 * X[:1], X[1:]], z),
    "leverage one": lambda X, z, rng: (np.c_[50.0 * (np.arange(len(X)) == 3), X], z),
    "scales 1e±8": lambda X, z, rng: (X * 10.0 ** rng.uniform(-8, 8, size=X.shape[1]), z),
    "tiny, 1e-150": lambda X, z, rng: (X * 1e-150, z),
    "huge, 1e150": lambda X, z, rng: (X * 1e150, z),
    "beyond, 1e300": lambda X, z, rng: (X * 1e300, z),
    "shifted by 1e8": lambda X, z, rng: (X + 1e8, z),
    "sparse, shifted": lambda X, z, rng: (sparse.csr_array(X + 1e6), z),
    "sparse": lambda X, z, rng: (sparse.csr_array(X * (rng.random(X.shape) < 0.2)), z),
    "sparse, empty": lambda X, z, rng: (sparse.csr_array(X.shape), z),
    "rare categories": lambda X, z, rng: (np.c_[X, np.eye(len(X))[:, :6]], z),
    "counts in X": lambda X, z, rng: (np.floor(np.exp(2 * X)), z),
    "wide": lambda X, z, rng: (np.c_[X, rng.normal(size=(len(X), 100))], z),
    "six rows": lambda X, z, rng: (X[:6], z[:6]),
    "two rows": lambda X, z, rng: (X[:2], z[:2]),
    "one row": lambda X, z, rng: (X[:1], z[:1]),
    "no column": lambda X, z, rng: (X[:, :0], z),
    "NaN": lambda X, z, rng: (np.where(np.arange(X.size).reshape(X.shape) == 7, np.nan, X), z),
    "infinite": lambda X, z, rng: (np.where(np.arange(X.size).reshape(X.shape) == 7, np.inf, X), z),
    "masked": lambda X, z, rng: (np.ma.masked_array(X, mask=rng.random(X.shape) < 0.1), z),
    "complex": lambda X, z, rng: (X + 1j, z),
    "words": lambda X, z, rng: (np.where(X > 2, "two", X.astype(str)).astype(object), z),
    "constant y": lambda X, z, rng: (X, np.zeros_like(z)),
    "separable": lambda X, z, rng: (X, 100 * X[:, 0]),
    "huge y, 1e150": lambda X, z, rng: (X, z * 1e150),
    "sorted y": lambda X, z, rng: (X[np.argsort(z)], np.sort(z)),
    "outlier in y": lambda X, z, rng: (X, np.where(np.arange(len(z)) == 0, 1e8, z)),
}


def data(kind, seed, target):
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    X = rng.normal(size=(40, 5))
    X, z = KINDS[kind](X, X @ rng.normal(size=5) + 0.5 * rng.normal(size=40), rng)
    return X, target(rng, z)


def written(error):
    """Whether an exception has a sentence, and a line of ours or of scikit-learn's raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    package = any(f"{name}/" in last.filename for name in ("hoag", "sklearn"))
    kind = isinstance(error, ValueError | TypeError | hoag.errors.SingularProblemError)
    return kind and package and "raise" in (last.line or "") and len(str(error)) > 15


def ours(make, setting, X, y):
    """How the case ends, and why."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = make(**setting).fit(X, y)
            again = model.criterion_at(model.lam_, X, y)
        except Exception as error:
            return "refused" if written(error) else "raw", repr(error)
        if not np.all(np.isfinite(np.asarray(model.predict(X), dtype=float))):
            return "wrong", "predictions are not finite"
        if not model.result_.converged:
            return "told", str(model.result_.status)
        if abs(model.criterion_ - again) > 1e-3 * abs(again) + 1e-12:
            return "wrong", f"criterion_ {model.criterion_:.6g}, again {again:.6g}"
        return ("told", str(said[0].message)) if said else ("true", "")


def theirs(make, X, y):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            predicted = np.asarray(make().fit(X, y).predict(X), dtype=float)
        except (ValueError, TypeError):
            return "refused"
        except Exception:
            return "raw"
    return "finite" if np.all(np.isfinite(predicted)) else "not finite"


def limited(function, *arguments):
    """What a function gives in a process of its own, ended after LIMIT, and its seconds."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=lambda: sender.send(function(*arguments)))
    start = time.perf_counter()
    process.start()
    sender.close()
    try:
        found = receiver.recv() if receiver.poll(LIMIT) else None
    except EOFError:
        found = "raw", "the process died"
    process.kill()
    process.join()
    return found, time.perf_counter() - start


def foreign(name, seed):
    """One or two parameters of an estimator, with values from a list of foreign ones."""
    rng = np.random.default_rng([seed, list(ESTIMATORS).index(name)])
    given = sorted(ESTIMATORS[name][0]().get_params(deep=False))
    chosen = rng.choice([each for each in given if each not in WRITTEN], 2, replace=False)
    return {str(each): FOREIGN[rng.integers(len(FOREIGN))] for each in chosen[: 1 + seed % 2]}


def ended(name, kind, setting, seed):
    """How one case of ours ends, its seconds and why."""
    make, _, target = ESTIMATORS[name]
    found, seconds = limited(ours, make, setting, *data(kind, seed, target))
    end, why = found or ("late", f"after {LIMIT:.0f} s")
    return end, seconds, why


def twin_ended(name, kind, seed):
    _, twin, target = ESTIMATORS[name]
    return limited(theirs, twin, *data(kind, seed, target))[0] or "late"


def table(own, other):
    columns, others = ("true", "told", "refused", "wrong", "raw", "late"), Counter()
    print("| | " + " | ".join(columns) + " | scikit-learn's |")
    print("|---" * (2 + len(columns)) + "|")
    for name in own:
        cells = [str(own[name][column]) for column in columns]
        cells.append(", ".join(f"{n} {end}" for end, n in other[name].most_common()) or "–")
        print(f"| {name} | " + " | ".join(cells) + " |")
        others.update(other[name])
    sums = [str(sum(own[name][column] for name in own)) for column in columns]
    sums.append(", ".join(f"{n} {end}" for end, n in others.most_common()))
    print("| all | " + " | ".join(sums) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--options", type=int, default=60, help="draws of options an estimator")
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="a line for each case, as it ends")
    args = parser.parse_args()
    names = [name for name in ESTIMATORS if args.only in name]
    seeds = range(args.seeds)
    cases = [
        (name, kind, setting, seed)
        for name in names
        for kind in KINDS
        for setting in SETTINGS
        if setting.keys() <= ESTIMATORS[name][0]().get_params().keys()
        for seed in seeds
    ]
    drawn = [(name, "plain", foreign(name, k), k) for name in names for k in range(args.options)]
    twins = [
        (name, kind, k) for name in names if ESTIMATORS[name][1] for kind in KINDS for k in seeds
    ]
    bad = []
    with ThreadPoolExecutor(2) as pool:
        for title, group in (("degenerate data", cases), ("foreign options", drawn)):
            own = defaultdict(Counter)
            for each, (end, seconds, why) in zip(group, pool.map(lambda c: ended(*c), group)):
                own[each[0]][end] += 1
                if end in ("wrong", "raw", "late"):
                    bad.append(f"{each}: {end}: {why[:200]}")
                if args.verbose:
                    print(f"{seconds:6.2f} s", *each, end, why[:120], flush=True)
            other = defaultdict(Counter)
            if title == "degenerate data":
                for each, end in zip(twins, pool.map(lambda c: twin_ended(*c), twins)):
                    other[each[0]][end] += 1
            print(f"{title}: {len(group)} cases")
            if args.markdown:
                table(own, other)
    print(f"{len(cases) + len(drawn)} cases, {len(bad)} bad")
    print("\n".join(bad))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
