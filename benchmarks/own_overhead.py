"""What a pass costs in JAX and in PyTorch, beside the NumPy model: logistic regression, dense rows.

    python benchmarks/own_overhead.py

Gradients of h and products with its Hessian, as solvers ask for them (NumPy vectors in and
out), in milliseconds, medians of `--repeats`, and as ratios to NumPy's in the same run; and what it
took to trace and compile. All of them use the threads that they choose by themselves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hoag


def in_jax(A: Any, y: Any, B: Any, z: Any) -> Any:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def loss(x: Any, A: Any, y: Any) -> Any:
        return jnp.sum(jnp.logaddexp(0, -y * (A @ x)))

    return hoag.jax.problem(
        lambda x, lam, data: loss(x, *data) + 0.5 * jnp.exp(lam[0]) * x @ x,
        lambda x, lam, data: loss(x, *data),
        np.zeros(A.shape[1]),
        np.zeros(1),
        train=(A, y),
        test=(B, z),
    )


def in_torch(A: Any, y: Any, B: Any, z: Any) -> Any:
    import torch

    def loss(x: Any, A: Any, y: Any) -> Any:
        return torch.nn.functional.softplus(-y * (A @ x)).sum()

    A, y, B, z = (torch.from_numpy(v) for v in (A, y, B, z))
    return hoag.torch.problem(
        lambda x, lam, data: loss(x, *data) + 0.5 * torch.exp(lam[0]) * x @ x,
        lambda x, lam, data: loss(x, *data),
        torch.zeros(A.shape[1], dtype=torch.float64),
        torch.zeros(1, dtype=torch.float64),
        train=(A, y),
        test=(B, z),
    )


MAKERS: dict[str, Callable[..., Any]] = {
    "NumPy": hoag.models.logistic,
    "JAX": in_jax,
    "PyTorch": in_torch,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=16000)
    parser.add_argument("--columns", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    A = rng.normal(size=(args.rows, args.columns))
    y = np.sign(A[:, 0] + rng.normal(size=args.rows))
    held_out = 100
    data = A[held_out:], y[held_out:], A[:held_out], y[:held_out]
    print(f"{args.rows}×{args.columns} dense rows, milliseconds, medians of {args.repeats}")
    print(f"{'':9}{'made in s':>11}{'gradient':>11}{'ratio':>8}{'product':>11}{'ratio':>8}")
    base: list[float] = []
    for name, make in MAKERS.items():
        begun = time.perf_counter()
        problem = make(*data)
        made = time.perf_counter() - begun
        times = [1e3 * t for t in timed(problem, args.columns, args.repeats)]
        base = base or times
        row = "".join(f"{t:11.1f}{t / b:8.2f}" for t, b in zip(times, base, strict=True))
        print(f"{name:9}{made:11.2f}{row}", flush=True)


def timed(problem: Any, p: int, repeats: int) -> tuple[float, float]:
    """Median seconds of a gradient at a new x, and of a product with the Hessian there."""
    rng, lam = np.random.default_rng(1), np.zeros(1)
    gradients, products = [], []
    for k in range(repeats + 1):
        x, v = rng.normal(size=p) / 100, rng.normal(size=p)
        begun = time.perf_counter()
        point = problem.at(x, lam)
        _ = point.h_x
        between = time.perf_counter()
        _ = point.hessian @ v
        if k > 0:  # the first may compile
            gradients.append(between - begun)
            products.append(time.perf_counter() - between)
    return float(np.median(gradients)), float(np.median(products))


if __name__ == "__main__":
    main()
