"""A derivative checker for problems that people write themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hoag.problem import Problem, priced
from hoag.values import Array, InvalidInput

# Central differences are right to about roundoff^(2/3); a wrong derivative is off by far more.
TOLERANCE = 1e-5
STEPS = 10.0 ** -np.arange(1, 8)


def check_problem(
    problem: Problem,
    x: npt.ArrayLike | None = None,
    lam: npt.ArrayLike | None = None,
    seed: int = 0,
    directions: int = 3,
) -> dict[str, float]:
    """Compare every derivative with central differences, at (x, λ) and along random directions.

    Returns the relative discrepancy of each member; raises `InvalidInput` that names the wrong
    ones. Without x and λ, random points near problem.x0 and problem.lam0 are taken.
    """
    if isinstance(problem, type):
        raise InvalidInput(
            f"{problem.__name__} is a class: give an instance, {problem.__name__}()."
        )
    problem = priced(problem)
    rng = np.random.default_rng(seed)
    x0, lam0 = np.asarray(problem.x0, dtype=float), np.asarray(problem.lam0, dtype=float)
    x = x0 + rng.normal(size=x0.size) if x is None else np.array(x, dtype=float)
    lam = lam0 + rng.normal(size=lam0.size) / 2 if lam is None else np.array(lam, dtype=float)
    found: dict[str, float] = {}
    report: list[str] = []
    for _ in range(directions):
        v, w = _unit(rng, x.size), _unit(rng, lam.size)
        for name, off, sentence in _comparisons(problem, x, lam, v, w, rng):
            if off > TOLERANCE and not found.get(name, 0.0) > TOLERANCE:
                report.append(f"{name} {sentence} (off by {off:.1e}, relatively)")
            found[name] = max(found.get(name, 0.0), off)
    if report:
        raise InvalidInput(
            "The problem's derivatives are wrong at the point that was checked: "
            + "; ".join(report)
            + "."
        )
    return found


def _comparisons(
    problem: Problem, x: Array, lam: Array, v: Array, w: Array, rng: np.random.Generator
) -> list[tuple[str, float, str]]:
    """(member, relative discrepancy, what it disagrees with) along the directions v and w."""
    x_before, lam_before = x.copy(), lam.copy()
    point = problem.at(x, lam)
    hessian, cross = point.hessian, point.cross
    u = _unit(rng, x.size)

    def along_x(name: str) -> Callable[[float], Any]:
        return lambda t: getattr(problem.at(x + t * v, lam), name)

    def along_lam(name: str) -> Callable[[float], Any]:
        return lambda t: getattr(problem.at(x, lam + t * w), name)

    Hv = hessian.matvec(v)
    symmetric = _relative(float(u @ Hv), float(v @ hessian.matvec(u)), _size(Hv))
    Dw = cross.matvec(w)
    adjoint = _relative(float(v @ Dw), float(w @ cross.rmatvec(v)), _size(Dw))
    mu = point.strong_convexity
    convex = 0.0
    if mu is not None:
        convex = max(float(mu) - float(v @ Hv), 0.0) / max(abs(float(mu)), 1e-300)
    touched = not (np.array_equal(x, x_before) and np.array_equal(lam, lam_before))
    return [
        ("h_x", _differences(along_x("h"), float(point.h_x @ v)), "is not the gradient of h in x"),
        ("hessian", _differences(along_x("h_x"), Hv), "is not the derivative of h_x in x"),
        ("hessian", symmetric, "is not symmetric"),
        ("cross", _differences(along_lam("h_x"), Dw), "is not the derivative of h_x in lam"),
        ("cross", adjoint, "has an rmatvec that is not the transpose of its matvec"),
        ("g_x", _differences(along_x("g"), float(point.g_x @ v)), "is not the gradient of g in x"),
        (
            "g_lam",
            _differences(along_lam("g"), float(point.g_lam @ w)),
            "is not the gradient of g in lam at fixed x",
        ),
        ("strong_convexity", convex, "exceeds a curvature of h"),
        ("at", 1.0 if touched else 0.0, "changes its arguments"),
    ]


def _differences(function: Callable[[float], Any], claimed: Any) -> float:
    """The least relative distance of `claimed` to a central difference, over several steps."""
    claimed = np.asarray(claimed, dtype=float)
    best = np.inf
    for t in STEPS:
        plus, minus = np.asarray(function(t), dtype=float), np.asarray(function(-t), dtype=float)
        difference = (plus - minus) / (2 * t)
        # What the difference cannot see: rounding of the values, and zeros of the derivative.
        noise = 1e-9 * (_size(plus) + _size(minus))
        scale = max(_size(claimed), _size(difference), noise)
        off = 0.0 if scale == 0 else _size(difference - claimed) / scale
        best = min(best, off if np.isfinite(off) else np.inf)
    return best


def _relative(a: float, b: float, scale: float) -> float:
    off = 0.0 if scale == 0 else abs(a - b) / scale
    return off if np.isfinite(off) else np.inf


def _size(v: Any) -> float:
    return float(np.linalg.norm(np.atleast_1d(v)))


def _unit(rng: np.random.Generator, size: int) -> Array:
    v = rng.normal(size=size)
    return np.asarray(v / np.linalg.norm(v))
