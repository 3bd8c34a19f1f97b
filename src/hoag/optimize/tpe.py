"""Optuna's tree-structured Parzen estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag._core.domain import Box
from hoag.optimize.blackbox import Proposals, Sampled


class TPE(Sampled):
    """The λ that is likeliest among the good and unlikeliest among the bad so far.

    >>> from hoag.optimize import TPE
    >>> TPE(n=20)  # needs the package optuna when it is run
    TPE(n=20)
    """

    def proposals(self, domain: Box) -> Proposals:
        optuna = _package()
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        try:
            study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=self.seed))
        finally:
            optuna.logging.set_verbosity(before)
        sides = {
            f"lam_{j}": optuna.distributions.FloatDistribution(low, high)
            for j, (low, high) in enumerate(zip(domain.lower, domain.upper))
        }
        for _ in range(self.n):
            trial = study.ask(sides)
            value = yield np.array([trial.params[name] for name in sides])
            study.tell(trial, value)


def _package() -> Any:
    try:
        import optuna
    except ImportError:
        raise ImportError(
            "hoag.optimize.TPE needs optuna: pip install 'hoag[reproduce]'."
        ) from None
    return optuna
