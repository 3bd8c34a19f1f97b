"""Model files: what `hoag tune` writes and `hoag predict` reads, of types that skops trusts.

A fitted Pipeline of scikit-learn's own classes, with notes in `hoag_`. An ordinal, a Cox
and an additive regression have no class there: the pipeline ends with the columns as numbers
("passthrough"), and the notes have the fitted attributes, of an additive one the knots of its
curves and what fills its columns. A Tweedie regression keeps a loss that skops does not know,
and is written as a PoissonRegressor, whose exp(aᵀw + b) is the same mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hoag._core.words import listed
from hoag.cli.families import is_additive

FORMAT = 2
OF_DATA = (
    *("model", "targets", "target_kind", "roles", "kinds", "days", "first", "names", "sources"),
)
OF_FOUND = ("features", "hoag", "lam", "criterion", "held_out_loss", "penalties", "missing")
# What predictions are made by, and of which type.
NOTES: dict[str, Any] = {
    "model": str,
    "target_kind": str,
    "kinds": (dict, type(None)),
    **dict.fromkeys(("first", "features"), int),
    **dict.fromkeys(("targets", "names", "sources", "means"), list),
    **dict.fromkeys(("roles", "days", "missing", "judged", "attributes"), dict),
}

# The fitted attributes of models that scikit-learn has no class for.
ATTRIBUTES = {
    "ordinal": ("coef_", "thresholds_", "classes_", "order_"),
    "cox": ("coef_", "means_", "event_times_", "baseline_cumulative_hazard_", "strata_"),
}


def write(path: str, data: Any, tuned: Any, found: dict[str, Any]) -> None:
    """Write the columns' transformer and the model, fitted."""
    from sklearn.pipeline import Pipeline

    from hoag._core.writing import write_atomically
    from hoag.cli.tables import need
    from hoag.cli.yardsticks import settings

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
    from sklearn.pipeline import Pipeline

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
    notes = vars(model).get("hoag_") if isinstance(model, Pipeline) else None
    if not isinstance(notes, dict) or notes.get("format") != FORMAT or not _complete(notes):
        raise ValueError(f"{path} was not written by this version of hoag tune: tune it again.")
    _check_attributes(path, notes)
    return model, notes


def _complete(notes: dict[str, Any]) -> bool:
    from hoag.cli.families import FAMILIES

    typed = all(isinstance(notes.get(name, ...), kind) for name, kind in NOTES.items())
    if not typed or notes["model"] not in FAMILIES:
        return False
    return all(isinstance(name, str) for name in (*notes["targets"], *(notes["kinds"] or ())))


def _check_attributes(path: str, notes: dict[str, Any]) -> None:
    """An error for attributes that the model's class has not: nothing else is set."""
    own = ("model", "columns") if is_additive(notes["model"]) else ATTRIBUTES.get(notes["model"])
    other = sorted(str(name) for name in notes["attributes"] if name not in (own or ()))
    if other:
        raise ValueError(
            f"{path} has attributes that a model of kind {notes['model']} has not, and is not "
            f"used: {listed(other)}. hoag tune does not write such files: tune it again."
        )


@contextmanager
def used(path: str) -> Iterator[None]:
    """What a model that does not fit together raises, as a sentence about its file."""
    try:
        yield
    except (LookupError, AttributeError, TypeError, AssertionError, RecursionError) as error:
        raise ValueError(
            f"The model of {path} cannot be used ({type(error).__name__}: {error}): it was not "
            "written by this version of hoag tune, or was changed since. Tune it again; --debug "
            "shows where."
        ) from error


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
