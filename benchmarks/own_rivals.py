"""The same two functions in JAX, tuned by hoag, jaxopt, optimistix and an unrolled loop.

    python benchmarks/own_rivals.py

Logistic regression with ten groups of features, a penalty each. Every rival gets its own implicit
or unrolled derivative of X(λ), at an inner tolerance (or a number of iterations) as its users set
it, and SciPy's L-BFGS-B as the outer loop, for none of them has one; each inner solve starts at the
last x. Printed for each: how often h was evaluated (a value, a gradient and a Hessian product are
one each; an unrolled step counts three, its gradient and the way back), seconds to compile and
seconds after that, the true error of the first hypergradient that the loop went by and of the
last one, as shares of the first, the true loss above the least that any of them found, and the
lines that a user writes. Needs jaxopt and optimistix: pip install jaxopt optimistix.
"""

from __future__ import annotations

import argparse
import inspect
import time
import warnings
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jaxopt
import numpy as np
import optimistix
from scipy.optimize import minimize

import hoag

jax.config.update("jax_enable_x64", True)

GROUPS = 10


@dataclass
class Data:
    A: np.ndarray
    y: np.ndarray
    B: np.ndarray
    z: np.ndarray


def simulated(seed: int, n: int, p: int) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, p))
    truth = rng.normal(size=p) * np.repeat(np.logspace(0, -2, GROUPS), p // GROUPS)
    y = np.sign(X @ truth + rng.logistic(size=2 * n))
    return Data(X[:n], y[:n], X[n:], y[n:])


def functions(data: Data, counted: bool):
    """h and g: all rivals get these, and so do we."""
    A, y, B, z = (jnp.asarray(v) for v in (data.A, data.y, data.B, data.z))
    group = jnp.arange(A.shape[1]) // (A.shape[1] // GROUPS)

    def h(x, lam):
        if counted:
            jax.debug.callback(COUNTER.tick, lam[0])
        return jnp.sum(jnp.logaddexp(0, -y * (A @ x))) + 0.5 * jnp.sum(jnp.exp(lam)[group] * x**2)

    def g(x, lam):
        return jnp.sum(jnp.logaddexp(0, -z * (B @ x)))

    return h, g


class Counter:
    """How often h was evaluated, and when the work began after compilation."""

    def __init__(self):
        self.count, self.compiled = 0, 0.0

    def tick(self, _):
        self.count += 1

    def begin(self):
        jax.effects_barrier()
        self.count, self.compiled = 0, time.perf_counter()


COUNTER = Counter()


# ---- what a user writes; the lines of each function are counted


def with_hoag(h, g, x0, lam0):
    problem = hoag.jax.problem(h, g, x0, lam0)
    COUNTER.begin()  # not counted as a line
    return hoag.minimize(problem)


def with_jaxopt(h, g, x0, lam0, tol=1e-3):
    solver = jaxopt.LBFGS(fun=h, tol=tol, maxiter=1000)

    def f(lam, x):
        x = solver.run(x, lam).params
        return g(x, lam), x

    return outer(jax.jit(jax.value_and_grad(f, has_aux=True)), x0, lam0)


def with_jaxopt_tight(h, g, x0, lam0):
    return with_jaxopt(h, g, x0, lam0, tol=1e-8)


def with_optimistix(h, g, x0, lam0, tol=1e-3):
    solver = optimistix.BFGS(rtol=tol, atol=tol)

    def f(lam, x):
        x = optimistix.minimise(h, solver, x, args=lam, max_steps=1000, throw=False).value
        return g(x, lam), x

    return outer(jax.jit(jax.value_and_grad(f, has_aux=True)), x0, lam0)


def with_optimistix_tight(h, g, x0, lam0):
    return with_optimistix(h, g, x0, lam0, tol=1e-8)


def with_unrolled(h, g, x0, lam0, n_iter=100):
    def f(lam, x):
        step = 1 / (0.25 * SPREAD + jnp.exp(jnp.max(lam)))
        x, _ = jax.lax.scan(lambda x, _: (x - step * jax.grad(h)(x, lam), None), x, length=n_iter)
        return g(x, lam), x

    return outer(jax.jit(jax.value_and_grad(f, has_aux=True)), x0, lam0)


def outer(value_and_gradient, x0, lam0):
    """L-BFGS-B on λ, each inner solve started at the last x; what it evaluated first and last."""
    seen, x = [], [x0]

    def call(lam):
        (value, x[0]), slope = value_and_gradient(jnp.asarray(lam), x[0])
        seen.append((np.array(lam), np.array(slope, dtype=float)))
        return float(value), np.array(slope, dtype=float)

    value_and_gradient(jnp.asarray(lam0), x0)  # compiles; not counted as a line
    COUNTER.begin()
    found = minimize(call, lam0, jac=True, method="L-BFGS-B", bounds=[(-12, 12)] * len(lam0))
    return found, seen


SPREAD = 0.0  # the largest eigenvalue of AᵀA, which the unrolled loop needs for its step

WAYS = {
    "hoag": with_hoag,
    "jaxopt LBFGS, tol 1e-3": with_jaxopt,
    "jaxopt LBFGS, tol 1e-8": with_jaxopt_tight,
    "optimistix BFGS, tol 1e-3": with_optimistix,
    "optimistix BFGS, tol 1e-8": with_optimistix_tight,
    "unrolled, 100 steps": with_unrolled,
}


def truth(data: Data):
    """λ ↦ f(λ) and ∇f(λ), by our NumPy model solved to rounding."""
    p = data.A.shape[1]
    groups = np.arange(p) // (p // GROUPS)
    model = hoag.models.logistic(data.A, data.y, data.B, data.z, penalties=groups)
    linear = hoag.solvers.Cholesky()
    criterion = hoag.criteria.Implicit(
        model, hoag.solvers.Newton(linear, np.inf), linear, certificate=False
    )

    def at(lam):
        found = criterion.evaluate(np.asarray(lam), 1e-10)
        return found.value, found.grad

    return at


def lines(way) -> int:
    """What the user writes, with the outer loop where it takes one; not what we measure by."""
    same = {"with_jaxopt_tight": with_jaxopt, "with_optimistix_tight": with_optimistix}
    used = [same.get(way.__name__, way)] + ([] if way is with_hoag else [outer])
    code = [line for one in used for line in inspect.getsource(one).splitlines() if line.strip()]
    ours = ("def with", "def outer", '"""', "seen", "compiles", "COUNTER")
    return sum(1 for line in code if not any(word in line for word in ours))


def measured(way, data: Data, f) -> list[float]:
    """Count, seconds to compile and to run, errors of two hypergradients, the true loss."""
    x0, lam0 = jnp.zeros(data.A.shape[1]), np.zeros(GROUPS)
    begun = time.perf_counter()
    found = way(*functions(data, counted=False), x0, lam0)
    to_compile, seconds = COUNTER.compiled - begun, time.perf_counter() - COUNTER.compiled
    if isinstance(found, hoag.Result):
        count = found.cost.passes
        solved = [step.evaluation for step in found.trace if np.isfinite(step.evaluation.f_error)]
        pairs = [(solved[0].lam, solved[0].grad), (found.evaluation.lam, found.evaluation.grad)]
    else:
        pairs = [found[1][0], found[1][-1]]
        if way is with_unrolled:
            count = 3 * 100 * len(found[1])
        else:
            way(*functions(data, counted=True), x0, lam0)
            jax.effects_barrier()
            count = COUNTER.count
    size = np.linalg.norm(f(lam0)[1])
    errors = [np.linalg.norm(slope - f(lam)[1]) / size for lam, slope in pairs]
    return [count, to_compile, seconds, *errors, f(pairs[1][0])[0]]


def main() -> None:
    global SPREAD
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    print(
        f"{args.rows}×{args.columns} rows, {GROUPS} penalties, λ₀ = 0, {args.seeds} seeds: "
        "medians, of errors the largest"
    )
    head = ("", "h evaluated", "compile s", "run s", "first error", "last error", "above", "lines")
    print(("{:27}" + "{:>13}" * 7).format(*head))
    table: dict[str, list[list[float]]] = {name: [] for name in WAYS}
    for seed in range(args.seeds):
        data = simulated(seed, args.rows, args.columns)
        SPREAD = float(np.linalg.norm(data.A, 2) ** 2)
        f = truth(data)
        rows = {name: measured(way, data, f) for name, way in WAYS.items()}
        least = min(row[-1] for row in rows.values())
        for name, row in rows.items():
            table[name].append([*row[:-1], row[-1] / least - 1])
    for name, found in table.items():
        count, to_compile, seconds, first, last, above = np.array(found).T
        numbers = [f"{np.median(count):.0f}", f"{np.median(to_compile):.1f}"]
        numbers += [f"{np.median(seconds):.2f}", f"{first.max():.1e}", f"{last.max():.1e}"]
        numbers += [f"{above.max():.1e}", str(lines(WAYS[name]))]
        print(("{:27}" + "{:>13}" * 7).format(name, *numbers))


if __name__ == "__main__":
    main()
