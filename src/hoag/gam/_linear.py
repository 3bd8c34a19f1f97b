"""What an additive model asks of the linear model of its bases, beside what is public."""

from __future__ import annotations

from typing import Any

from hoag._core.numeric import Array
from hoag.gam._posterior import Posterior
from hoag.linear_model import PoissonRegressorCV
from hoag.linear_model._linear import LinearEstimator


def fit(
    model: LinearEstimator, B: Any, y: Any, sample_weight: Any, params: dict[str, Any]
) -> Posterior:
    """Fit it, and say what is known of its last fit, that on all rows."""
    refits = list[tuple[Any, ...]]()
    model._on_refit = lambda *refit: refits.append(refit)  # type: ignore[method-assign]
    model.fit(B, y, sample_weight, **params)
    del model._on_refit
    _, u, *_ = refits[0]
    return Posterior.of(*refits[0], unit=u.gain / u.y_scale**2)


def usual_cv(model: LinearEstimator) -> Any:
    """The marginal likelihood where the loss has one, else folds."""
    return "reml" if "reml" in model._words else 5


def takes_offsets(model: LinearEstimator) -> bool:
    """Whether its link is the logarithm."""
    return "offset" in model._of_rows


def mean(model: LinearEstimator, z: Array) -> Array:
    """The mean of y where η is z."""
    return model._from_predictor(z)


def estimate_dispersion(model: LinearEstimator) -> None:
    """Of counts, too, which are taken for Poisson's else."""
    if isinstance(model, PoissonRegressorCV):
        model._dispersion = None
