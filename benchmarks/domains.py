"""The default search on domains that are no box, beside SLSQP with exact values and gradients.

    python benchmarks/domains.py [tol]

20 random problems of each kind. `evaluations` counts those of the search, several ε at one λ too,
`places` the different λ; SLSQP is stopped at the same tolerance. What is left is f above the least
that SLSQP, at 1e-12, finds from where a method ended and from the start. `plain` is the spectral
projected gradient: the same search without pairs.
"""

import sys
import warnings

import numpy as np
from scipy.optimize import minimize

import hoag
from hoag.optimize import _quasi_newton as quasi_newton

sys.path.insert(0, "tests")
from test_domains import Groups, Mixture, exactly

KINDS = {
    "3 views on a simplex": (lambda seed: Mixture(seed, 3, 40, 12), hoag.domains.Simplex()),
    "10 views on a simplex": (lambda seed: Mixture(seed, 10, 60, 12), hoag.domains.Simplex()),
    "6 ordered penalties": (lambda seed: Groups(seed, 6, 6, 60), hoag.domains.Ordered(-12, 12)),
    "20 ordered penalties": (lambda seed: Groups(seed, 20, 4, 150), hoag.domains.Ordered(-12, 12)),
    "8 penalties in a ball": (lambda seed: Groups(seed, 8, 6, 60), hoag.domains.Ball(1.0)),
}


def sequential(f, start, domain, tol):
    size = start.size
    rises = np.diff(np.eye(size), axis=0)
    bounds, held = {
        "Simplex": ([(0, 1)] * size, {"type": "eq", "fun": lambda v: v.sum() - 1}),
        "Ordered": ([(-12, 12)] * size, {"type": "ineq", "fun": lambda v: rises @ v}),
        "Ball": (None, {"type": "ineq", "fun": lambda v: 1 - v @ v}),
    }[type(domain).__name__]
    options = {"ftol": tol, "maxiter": 500}
    found = minimize(
        f, start, jac=True, method="SLSQP", bounds=bounds, constraints=held, options=options
    )
    return domain.project(found.x), found.nfev


def compared(make, domain, tol, seeds=20):
    rows = []
    for seed in range(seeds):
        problem = make(seed)
        f = exactly(problem)
        found = hoag.minimize(problem, bounds=domain, search=hoag.optimize.Auto(tol))
        lam, calls = sequential(f, problem.lam0, domain, tol * f(found.lam)[0])
        ends = [f(found.lam)[0], f(lam)[0]]
        starts = (found.lam, lam, problem.lam0)
        best = min(*ends, *(f(sequential(f, at, domain, 1e-12)[0])[0] for at in starts))
        places = len({tuple(step.lam) for step in found.trace})
        left = [end / best - 1 for end in ends]
        rows.append((len(found.trace), places, calls, found.cost.passes, found.converged, *left))
    return np.array(rows, dtype=float).T


def main(tol):
    print(f"tol = {tol:g}; medians of 20, then what is left of f: median, 90 %, most")
    pairs = quasi_newton.SecantMatrix.__init__
    for name, (make, domain) in KINDS.items():
        for which in ("search", "plain"):
            if which == "plain":  # σ alone
                quasi_newton.SecantMatrix.__init__ = without(pairs)
            evaluations, places, calls, passes, ended, left, left_s = compared(make, domain, tol)
            quasi_newton.SecantMatrix.__init__ = pairs
            told = " ".join(f"{q:.0e}" for q in np.quantile(left, (0.5, 0.9, 1.0)))
            print(
                f"{name:22} {which:6} {np.median(evaluations):5.1f} evaluations at "
                f"{np.median(places):4.1f} λ, {np.median(passes):5.0f} passes, "
                f"{int(ended.sum())} converged, left {told}"
            )
        told = " ".join(f"{q:.0e}" for q in np.quantile(left_s, (0.5, 0.9, 1.0)))
        print(f"{name:22} SLSQP  {np.median(calls):5.1f} exact evaluations, left {told}")


def without(init):
    def plain(self, pairs, sigma):
        init(self, pairs, sigma)
        self.terms = []

    return plain


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # SLSQP leaves the ball
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e-4)
