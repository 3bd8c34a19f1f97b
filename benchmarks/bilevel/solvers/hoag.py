"""hoag as a solver of benchopt's bilevel benchmark; this file belongs into its folder `solvers`.

The benchmark's inner function is our h, its outer function our g, its outer variable our λ.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import NoCriterion
from jax.flatten_util import ravel_pytree

import hoag
import hoag.jax


class Solver(BaseSolver):
    """min over λ of g(X(λ), λ), X(λ) = argmin over x of h(x, λ), by `hoag.minimize`.

    tol    the search ends where the loss can fall by no more than this share of itself
    bound  no |λ| is larger; the other solvers have no bounds

    Every evaluation is on all rows. hoag computes in double precision, here inside a context that
    ends with each call, so that the other solvers, and the benchmark's measures of our results,
    stay in the single precision that JAX has by default.
    """

    name = "HOAG"
    stopping_criterion = NoCriterion(strategy="callback")  # the search knows when to stop
    requirements = ["pip::hoag", "pip::jax"]  # noqa: RUF012
    parameters = {"tol": [1e-8], "bound": [1e3]}  # noqa: RUF012

    @staticmethod
    def get_next(stop_val):
        return stop_val + 1

    def set_objective(
        self, f_inner, f_outer, n_inner_samples, n_outer_samples, inner_var0, outer_var0
    ):
        h = partial(f_inner, start=0, batch_size=n_inner_samples)
        g = partial(f_outer, start=0, batch_size=n_outer_samples)
        self.start = inner_var0, outer_var0
        self.unflat = [ravel_pytree(part)[1] for part in self.start]
        with jax.enable_x64(True):
            x0, lam0 = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), self.start)
            self.problem = hoag.jax.problem(h, g, x0, lam0, scale="linear")
        self.run_once(2)  # as the other solvers do: compilation is not timed

    def run(self, callback):
        self.best, self.least = self.start, float("inf")
        self.stopped = not callback()
        if self.stopped:
            return

        def told(step):
            self._keep(step.evaluation)
            with jax.enable_x64(False):
                self.stopped = not callback()
            return self.stopped

        with jax.enable_x64(True):
            result = hoag.minimize(
                self.problem,
                bounds=(-self.bound, self.bound),
                search=hoag.optimize.Auto(tol=self.tol, max_iter=1000),
                callback=told,
                certificate="none",
            )
        if not self.stopped:
            self._keep(result.evaluation)
            callback()

    def _keep(self, now):
        """The λ whose f is surely lowest so far, in the types that the benchmark has."""
        if now.highest <= self.least and np.isfinite(now.highest):
            self.least = now.highest
            with jax.enable_x64(False):
                pairs = zip(self.unflat, (now.x, now.lam), strict=True)
                self.best = tuple(unflat(jnp.asarray(flat)) for unflat, flat in pairs)

    def get_result(self):
        inner_var, outer_var = self.best
        return {"inner_var": inner_var, "outer_var": outer_var}
