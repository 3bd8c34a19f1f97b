"""Criteria without folds: how near approximate leave-one-out is, how long it takes, and a rival.

    python benchmarks/without_folds.py [--only loss seconds risk rival] [--problems 20]

loss     of every kind of y 20 small problems: f by cv="alo" beside n fits without one row each, and
         how much of the true leave-one-out loss is lost by the λ that it chooses
seconds  cv="alo" beside cv=5, the faster of two runs
risk     what the λ chosen by folds, "alo", "aic", "bic" and "reml" cost on new rows, above what the
         true coefficients do: 100 to 500 rows, 5 to 50 columns in three groups
rival    bbai's LogisticRegression, which minimises the same criterion (pip install bbai)

One thread; tables go to stdout, progress to stderr. It takes about five minutes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from _measure import alone, say, timed
from scipy import sparse
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import LeaveOneOut
from sklearn.preprocessing import scale

import hoag
from hoag._core.numeric import Array
from hoag._glm import losses
from hoag._glm.folds import linear_folds
from hoag._glm.rows import ArrayRows
from hoag._glm.targets import Target, binary, multiclass, ordered, regression, robust
from hoag.criteria import without_folds
from hoag.optimize import Auto


class Kind(NamedTuple):
    """A loss, and y made of scores, (n, 3), and a generator."""

    name: str
    y: Callable[[Array, np.random.Generator], Any]
    target: Callable[[Any], Target]


def by(make: Callable[[float], Any]) -> Callable[[Any], Target]:
    """Numbers with a loss whose scale is ½ where it fits and 1 where it judges rows left out."""
    return lambda y: replace(regression(y, True), loss=make(0.5), outer=make(1.0))


def positive(z: Array, rng: np.random.Generator) -> Array:
    return np.exp(z[:, 0] / 2) * rng.gamma(4.0, 0.25, size=len(z))


KINDS = (
    Kind("Squared", lambda z, rng: z[:, 0], lambda y: regression(y, True)),
    Kind("Logistic", lambda z, rng: z[:, 0] > 0, lambda y: binary(y, None, True)),
    Kind("Multinomial", lambda z, rng: z.argmax(axis=1), lambda y: multiclass(y, None, True)),
    Kind("Poisson", lambda z, rng: 1.0 * rng.poisson(np.exp(z[:, 0] / 2)), by(losses.Poisson)),
    Kind("Gamma", positive, by(losses.Gamma)),
    Kind("Tweedie", lambda z, rng: positive(z, rng) * rng.poisson(1.0, len(z)),
         by(lambda scale: losses.Tweedie(1.5, scale))),
    Kind("InverseGaussian", positive, by(losses.InverseGaussian)),
    Kind("Ordinal", lambda z, rng: np.digitize(z[:, 0], [-1.0, 0.0, 1.0]),
         lambda y: ordered(y, None)),
    Kind("Huber", lambda z, rng: z[:, 0] + rng.standard_t(2, size=len(z)),
         lambda y: robust(y, 1.35, 1.0, True)),
    Kind("Quantile", lambda z, rng: z[:, 0], by(lambda scale: losses.SmoothQuantile(0.5, 0.3))),
    Kind("SquaredHinge", lambda z, rng: np.sign(z[:, 0]), by(lambda scale: losses.SquaredHinge())),
)  # fmt: skip
SHAPES = ((60, 5), (100, 20), (60, 60), (50, 120))


def problem(kind: Kind, seed: int) -> tuple[Array, Target]:
    rng, (n, p) = np.random.default_rng(seed), SHAPES[seed % len(SHAPES)]
    A = rng.normal(size=(n, p)) @ np.diag(rng.uniform(0.3, 1.5, p))
    B = rng.normal(size=(p, 3)) * (rng.random((p, 1)) < 0.5) / np.sqrt(p)
    return A, kind.target(kind.y(2 * A @ B + rng.normal(size=(n, 3)), rng))


def lost(kind: Kind, seed: int) -> tuple[float, float, float]:
    """Relative error of f at the λ chosen, the distance in λ, and the share of loss lost by it."""
    A, target = problem(kind, seed)
    n, rows, every = len(A), ArrayRows(A), np.arange(len(A))
    (whole,) = linear_folds(rows, target, [(every, every[:0])], np.ones(n))
    found = hoag.minimize(without_folds(whole, "alo"), bounds=(-6, 10), search=Auto(1e-6))
    left_out = hoag.plan(linear_folds(rows, target, LeaveOneOut().split(A), np.ones(n)))
    true = hoag.minimize(left_out, bounds=(-6, 10), search=Auto(1e-6))
    there = left_out.verify(left_out.value(found.lam, 1e-6 * true.value), 1e-6 * true.value).value
    away = float(abs(found.lam - true.lam)[0])
    return abs(found.value / there - 1), away, max(there / true.value - 1, 0.0)


def losses_lost(problems: int) -> None:
    print("| loss | shape | error of f: median (most) | distance in λ | true loss lost |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        found = []
        for seed in range(problems):
            found.append(lost(kind, seed))
            say(kind.name, SHAPES[seed % len(SHAPES)], *(f"{number:.2e}" for number in found[-1]))
        for k, shape in enumerate(SHAPES):
            some = np.array(found[k :: len(SHAPES)])
            cells = [f"{np.median(c):.1e} ({c.max():.1e})" for c in some.T]
            print(f"| {kind.name} | {shape[0]}×{shape[1]} | {' | '.join(cells)} |", flush=True)


def text(n: int = 5000, p: int = 20000, words: int = 80) -> tuple[Any, Any]:
    """Rows like those of tf-idf: word frequencies fall like 1/rank, rows have norm 1."""
    rng, ranks = np.random.default_rng(0), 1 / np.arange(1, p + 1)
    columns = rng.choice(p, size=n * words, p=ranks / ranks.sum())
    A = sparse.csr_matrix((np.ones(n * words), (np.repeat(np.arange(n), words), columns)), (n, p))
    A.data = 1 + np.log(A.data)
    A = A @ sparse.diags(np.log(n / (1 + np.bincount(A.indices, minlength=p))))
    norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1))).ravel()
    A = (sparse.diags(1 / norms) @ A).tocsr()
    weights = 6 * rng.normal(size=p) * (rng.random(p) < 0.05)
    return A, A @ weights + 0.5 * rng.normal(size=n) > 0


def dense(n: int, p: int) -> tuple[Any, Any]:
    return make_classification(
        n, p, n_informative=p // 2, n_redundant=0, flip_y=0.1, random_state=0
    )


def seconds() -> None:
    print('\n| data | cv="alo": s, λ, loss | cv=5: s, λ, loss | times |\n|---|---|---|---|')
    tables = [(f"{n}×{p}", dense(n, p)) for n, p in ((500, 20), (2000, 50), (300, 300))]
    X, y = make_classification(600, 20, n_informative=10, n_classes=5, random_state=0)
    tables += [("600×20, 5 classes", (X, y)), ("sparse 5000×20000", text())]
    for name, (X, y) in tables:
        cells, spent = [], []
        for cv in ("alo", 5):
            fits = [timed(hoag.LogisticRegressionCV(cv=cv).fit, X, y) for _ in range(2)]
            spent.append(min(one.seconds for one in fits))
            fit = fits[0].result
            cells.append(f"{spent[-1]:.3f}, {fit.lam_[0]:.2f}, {fit.criterion_:.4f}")
        print(f"| {name} | {' | '.join(cells)} | {spent[0] / spent[1]:.1f} |", flush=True)


def drawn(kind: str, seed: int) -> tuple[Array, Any, Any, Callable[[Any], float]]:
    """Rows, y, groups and the risk of a fit above that of the true coefficients.

    Coefficients of group k are normal with a spread that falls by 3 from group to group; in every
    other problem two thirds of them are zero.
    """
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(100, 501)), int(rng.integers(5, 51))
    A, groups = rng.normal(size=(n, p)), np.arange(p) % 3
    w = rng.normal(size=p) * 3.0**-groups * (rng.random(p) < (1 / 3 if seed % 2 else 1.0))
    w *= 1.5 / (np.linalg.norm(w) or 1.0)
    if kind == "squares":
        y = A @ w + 1.5 * rng.normal(size=n)
        return A, y, groups, lambda fit: float(np.sum((fit.coef_ - w) ** 2) + fit.intercept_**2)
    new = rng.normal(size=(20000, p))
    chance = 1 / (1 + np.exp(-(new @ w)))

    def risk(fit: Any) -> float:
        p = np.clip(fit.predict_proba(new)[:, 1], 1e-12, 1 - 1e-12)
        ratio = chance * np.log(chance / p) + (1 - chance) * np.log((1 - chance) / (1 - p))
        return float(np.mean(ratio))

    return A, (A @ w > rng.logistic(size=n)).astype(int), groups, risk


def risks(problems: int) -> None:
    words = (5, "alo", "aic", "bic", "reml")
    print("\n| y | penalties |" + "".join(f" {word} |" for word in words) + "\n" + "|---" * 7 + "|")
    for kind, make in (("squares", hoag.RidgeCV), ("logistic", hoag.LogisticRegressionCV)):
        for name in ("one", "one for each group", "one for each column"):
            found = []
            for seed in range(problems):
                A, y, groups, risk = drawn(kind, seed)
                own = {"one": "shared", "one for each group": groups}.get(name, "per-feature")
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fits = [make(cv=word, penalties=own).fit(A, y) for word in words]
                found.append([risk(fit) for fit in fits])
                say(kind, name, seed, A.shape, *(f"{own:.4f}" for own in found[-1]))
            each = np.array(found)
            share = np.exp(np.mean(np.log(each / each[:, :1]), axis=0))
            worst = np.max(each / each[:, :1], axis=0)
            cells = "".join(f" {a:.2f} ({b:.1f}) |" for a, b in zip(share, worst, strict=True))
            print(f"| {kind} | {name} |{cells}", flush=True)


def rival() -> None:
    try:
        from bbai.glm import LogisticRegression
    except ImportError as error:
        say(f"bbai is not there: {error}")
        return
    print("\n| data | method | s | C | approximate leave-one-out loss | as hoag computes it |")
    print("|---|---|---|---|---|---|")
    X, y = load_breast_cancer(return_X_y=True)
    tables = [("breast_cancer", (scale(X), y))]
    tables += [(f"{n}×{p}", dense(n, p)) for n, p in ((500, 20), (2000, 50), (300, 300))]
    for name, (X, y) in tables:
        ours = [timed(hoag.LogisticRegressionCV(cv="alo").fit, X, y) for _ in range(3)]
        fit = ours[0].result
        theirs = [timed(LogisticRegression().fit, X, y) for _ in range(3)]
        other = theirs[0].result
        at = fit.criterion_at(-np.log(other.C_), X, y)
        for method, runs, C, f, again in (
            ("hoag", ours, fit.C_, fit.criterion_, fit.criterion_),
            ("bbai", theirs, other.C_, other.aloocv_, at),
        ):
            fastest = min(one.seconds for one in runs)
            print(f"| {name} | {method} | {fastest:.3f} | {C:.4g} | {f:.7f} | {again:.7f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["loss", "seconds", "risk", "rival"])
    parser.add_argument("--problems", type=int, default=20, help="of every kind")
    args = parser.parse_args()
    with alone():
        if "loss" in args.only:
            losses_lost(args.problems)
        if "seconds" in args.only:
            seconds()
        if "risk" in args.only:
            risks(args.problems)
        if "rival" in args.only:
            rival()


if __name__ == "__main__":
    main()
