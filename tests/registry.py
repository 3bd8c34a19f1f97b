"""Every kind of problem the library makes, small: contract tests run over all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

import hoag
from hoag import models

FORMATS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda A: A,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_array,
}
PENALTIES = ("shared", "per-class", "per-feature", "per-coefficient", "groups", "partly-free")
MODELS = ("logistic", "multinomial", "ridge", "ridge-2", "kernel-ridge", "kernel-widths")


def rows(rng: np.random.Generator, n: int, d: int) -> Any:
    """Random rows with zeros among them, so that sparse formats differ from dense ones."""
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)


def targets(model: str, A: Any, rng: np.random.Generator) -> Any:
    n, d = A.shape
    if model == "logistic":
        y = np.where(A @ rng.normal(size=d) + 1.5 * rng.normal(size=n) > 0, 1, -1)
        y[:2] = (1, -1)  # every class is seen in training: an intercept needs that
        return y
    if model == "multinomial":
        y = np.argmax(A @ rng.normal(size=(d, 3)) + rng.normal(size=(n, 3)), axis=1)
        y[:3] = (0, 1, 2)
        return y
    if model == "ridge-2":
        return A @ rng.normal(size=(d, 2)) + rng.normal(size=(n, 2))
    return A @ rng.normal(size=d) + rng.normal(size=n)


def penalty(name: str, d: int, outputs: int) -> Any:
    if name == "groups":
        return np.arange(d) % 2
    if name == "partly-free":  # the first feature is not penalised
        return np.arange(d) - 1
    return name


def data(
    model: str, weighted: bool, seed: int = 0, n: int = 30, d: int = 4, scale: float = 1.0
) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]:
    """Rows, targets and weights, to fit and held out."""
    rng = np.random.default_rng(seed)
    A = rows(rng, 2 * n, d)
    y = targets(model, A, rng)
    weights = rng.uniform(0.2, 2.0, size=2 * n) if weighted else np.ones(2 * n)
    fit, held_out = ((scale * A[k], y[k], weights[k]) for k in (slice(n), slice(n, None)))
    return fit, held_out


def make(
    model: str,
    fmt: str = "dense",
    penalties: str = "shared",
    weighted: bool = False,
    intercept: bool = False,
    seed: int = 0,
    n: int = 30,
    d: int = 4,
    scale: float = 1.0,
) -> Any:
    train, test = data(model, weighted, seed, n, d, scale)
    parts: dict[str, Any] = {}
    if weighted:
        parts = {"sample_weight": train[2], "test_weight": test[2]}
    outputs = {"multinomial": 3, "ridge-2": 2}.get(model, 1)
    if model == "kernel-widths":
        parts |= {"widths": "per-feature"}
    elif model != "kernel-ridge":
        parts |= {"penalties": penalty(penalties, d, outputs), "intercept": intercept}
    factory = {
        "logistic": models.logistic,
        "multinomial": models.multinomial,
        "ridge": models.ridge,
        "ridge-2": models.ridge,
        "kernel-ridge": models.kernel_ridge,
        "kernel-widths": models.kernel_ridge,
    }[model]
    to = FORMATS[fmt]
    return factory(to(train[0]), train[1], to(test[0]), test[1], **parts)


def settings() -> Iterator[dict[str, Any]]:
    for model in MODELS:
        kernel = model.startswith("kernel")
        for fmt, penalties, weighted, intercept in itertools.product(
            ("dense",) if model == "kernel-widths" else FORMATS,
            ("shared",) if kernel else PENALTIES,
            (False, True),
            (False,) if kernel else (False, True),
        ):
            yield {
                "model": model,
                "fmt": fmt,
                "penalties": penalties,
                "weighted": weighted,
                "intercept": intercept,
            }


def name(setting: dict[str, Any]) -> str:
    flags = ["weighted"] * setting["weighted"] + ["intercept"] * setting["intercept"]
    return "-".join([setting["model"], setting["fmt"], setting["penalties"], *flags])


ALL = list(settings())
NAMES = [name(setting) for setting in ALL]

# One of each model, for the tests that take longer.
ONE_EACH = [
    {"model": "logistic"},
    {"model": "multinomial", "penalties": "per-class"},
    {"model": "ridge", "penalties": "groups"},
    {"model": "kernel-ridge"},
    {"model": "kernel-widths"},
]
ONE_EACH_NAMES = [setting["model"] for setting in ONE_EACH]


def random_point(problem: Any, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    lam = problem.lam0 + rng.uniform(-1.5, 1.5, size=problem.lam0.size)
    return rng.normal(size=problem.x0.size), lam


def text(n: int = 200, d: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Sparse rows of unit length with columns as frequent as words, and two classes."""
    rng, words = np.random.default_rng(seed), 12
    frequency = 1 / np.arange(1, d + 1)
    columns = rng.choice(d, n * words, p=frequency / frequency.sum())
    places = (np.repeat(np.arange(n), words), columns)
    A = sparse.csr_matrix((np.ones(n * words), places), shape=(n, d))
    A = sparse.csr_matrix(A.multiply(1 / np.sqrt(A.multiply(A).sum(axis=1))))
    return A, np.where(A @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1, -1)


def exact(problem: Any, lam: Any) -> Any:
    """f and its gradient to rounding, by factors."""
    solver = hoag.solvers.Cholesky()
    newton = hoag.solvers.Newton(solver)
    criterion = hoag.criteria.Implicit(problem, newton, solver, certificate=False)
    return criterion.evaluate(np.atleast_1d(lam), 1e-12)


class CountedMatrix:
    """A matrix that counts its own products, from outside the library."""

    def __init__(self, A, counter, column):
        self.A, self.counter, self.column = A, counter, column

    def __matmul__(self, v):
        self.counter[self.column] += 0.5
        return self.A @ v
