"""Model files: what `hoag tune` writes and `hoag predict` reads, of types that skops trusts.

A fitted Pipeline of scikit-learn's own classes, with notes in `hoag_`. An ordinal, a Cox
and an additive regression have no class there: the pipeline ends with the columns as numbers
("passthrough"), and the notes have the fitted attributes, of an additive one the knots of its
curves and what fills its columns. A Tweedie regression keeps a loss that skops does not know,
and is written as a PoissonRegressor, whose exp(aᵀw + b) is the same mean.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hoag.cli.families import is_additive

FORMAT = 2
OF_DATA = (
    *("model", "targets", "target_kind", "roles", "kinds", "days", "first", "names", "sources"),
)
OF_FOUND = ("features", "hoag", "lam", "criterion", "held_out_loss", "penalties", "missing")
NOTES = {*OF_DATA, "format", "features", "means", "missing", "judged", "attributes"}

# The fitted attributes of models that scikit-learn has no class for.
ATTRIBUTES = {
    "ordinal": ("coef_", "thresholds_", "classes_", "order_"),
    "cox": ("coef_", "means_", "event_times_", "baseline_cumulative_hazard_", "strata_"),
}


def write(path: str, data: Any, tuned: Any, found: dict[str, Any]) -> None:
    """Write the columns' transformer and the model, fitted."""
    from sklearn.pipeline import Pipeline

    from hoag.cli.tables import need
    from hoag.cli.yardsticks import settings
    from hoag.writing import write_atomically

    columns = [] if data.columns is None else [("columns", data.columns)]
    pipeline = Pipeline([*columns, ("model", _plain(data.model, tuned))])
    if is_additive(data.model):
        from hoag.cli import additive

        attributes, means = {"model": additive.written(tuned), "columns": data.known}, []
    else:
        own = [name for name in ATTRIBUTES.get(data.model, ()) if name in vars(tuned)]
        attributes = {name: getattr(tuned, name) for name in own}
        means = np.asarray(data.X.mean(axis=0)).ravel().tolist()
    pipeline.hoag_ = {
        "format": FORMAT,
        **{name: getattr(data, name) for name in OF_DATA},
        **{name: found[name] for name in OF_FOUND},
        "lam_names": found["names"],
        "means": means,
        "judged": settings(data.model, tuned),
        "attributes": attributes,
    }
    write_atomically(path, need("skops.io").dumps(pipeline))


def _plain(model: str, tuned: Any) -> Any:
    """The last step of the pipeline."""
    from sklearn.linear_model import PoissonRegressor

    if without_class(model):
        return "passthrough"
    plain = tuned.to_sklearn()
    if model != "tweedie":
        return plain
    same = PoissonRegressor(alpha=plain.alpha, fit_intercept=plain.fit_intercept)
    for name in ("coef_", "intercept_", "n_iter_", "n_features_in_"):
        setattr(same, name, getattr(plain, name))
    same._base_loss = same._get_loss()
    return same


def without_class(model: str) -> bool:
    """Whether scikit-learn has no class for it, so that it is in the notes."""
    return model in ATTRIBUTES or is_additive(model)


def load(path: str) -> tuple[Any, dict[str, Any]]:
    """A pipeline and the notes of `hoag tune`; nothing but known types is made."""
    from hoag.cli.tables import need

    io = need("skops.io")
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model file {path}: hoag tune … --save makes one.")
    data = Path(path).read_bytes()
    try:
        unknown = io.get_untrusted_types(data=data)
        model = None if unknown else io.loads(data, trusted=[])
    except Exception as error:  # skops has no error of its own for a file that is none
        raise ValueError(
            f"{path} is not a model file of hoag tune, or it is damaged "
            f"({type(error).__name__}: {error})."
        ) from None
    if unknown:
        raise ValueError(
            f"{path} holds types that are not known to be safe, and is not loaded: "
            f"{', '.join(sorted(unknown))}."
        )
    notes = vars(model).get("hoag_")
    if not isinstance(notes, dict) or notes.get("format") != FORMAT or not notes.keys() >= NOTES:
        raise ValueError(f"{path} was not written by this version of hoag tune: tune it again.")
    return model, notes


def predictor(pipeline: Any, notes: dict[str, Any]) -> Any:
    """What predicts from numbers: the pipeline's last step, or a model made of the notes."""
    if not without_class(notes["model"]):
        return pipeline[-1]
    if is_additive(notes["model"]):
        from hoag.cli.additive import SavedAdditive

        return SavedAdditive(notes["attributes"]["model"])
    import hoag
    from hoag.cli.families import FAMILIES

    model = getattr(hoag, FAMILIES[notes["model"]].estimator)()
    model.n_features_in_ = notes["features"]
    for name, value in notes["attributes"].items():
        setattr(model, name, value)
    return model
