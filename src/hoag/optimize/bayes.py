"""Sequential model-based search: a Gaussian process, by the package bayesian-optimization."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hoag._core.domain import Box
from hoag.optimize.asks import ACCURACY
from hoag.optimize.blackbox import Proposals, Sampled, _at_least_one


class Bayes(Sampled):
    """The λ of most expected improvement, under a Gaussian process fitted to the values so far.

    It begins at `starts` points equally spaced from the lower corner of the domain to the upper.

    >>> from hoag.optimize import Bayes
    >>> Bayes(n=20)  # needs the package bayesian-optimization when it is run
    Bayes(n=20)
    """

    def __init__(
        self,
        n: int = 50,
        starts: int = 4,
        seed: int = 0,
        eps: float = ACCURACY,
        time_budget: float | None = None,
    ) -> None:
        super().__init__(n, seed, eps, time_budget)
        self.starts = _at_least_one("starts", starts)

    def proposals(self, domain: Box) -> Proposals:
        bayes_opt = _package()
        names = [f"lam_{j:06d}" for j in range(domain.size)]
        model = bayes_opt.BayesianOptimization(
            f=None,
            pbounds=dict(zip(names, zip(domain.lower, domain.upper))),
            acquisition_function=bayes_opt.acquisition.ExpectedImprovement(xi=0.0),
            random_state=self.seed,
            verbose=0,
            allow_duplicate_points=True,
        )
        corners = np.linspace(domain.lower, domain.upper, self.starts)
        for k in range(self.n):
            if k < self.starts:
                lam = corners[k]
            else:
                with warnings.catch_warnings():  # of the process's own fit, which users cannot mend
                    warnings.simplefilter("ignore")
                    found = model.suggest()
                lam = domain.project(np.array([found[name] for name in names], dtype=float))
            value = yield lam
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.register(params=dict(zip(names, lam)), target=-value)


def _package() -> Any:
    try:
        import bayes_opt
    except ImportError:
        raise ImportError(
            "hoag.optimize.Bayes needs bayesian-optimization: pip install 'hoag[reproduce]'."
        ) from None
    return bayes_opt
