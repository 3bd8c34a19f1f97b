"""Model files: what `hoag tune` writes and `hoag predict` reads, of types that skops trusts.

A fitted Pipeline of scikit-learn's own classes, with notes in `hoag_`. An ordinal, a Cox and an
additive regression have no class there: the pipeline ends with the columns as numbers
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
from hoag.cli.families import FAMILIES, is_additive

FORMAT = 3
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
    from hoag.cli.judge import settings
    from hoag.cli.tables import need

    columns = [] if data.columns is None else [("columns", data.columns)]
    pipeline = Pipeline([*columns, ("model", _plain(data.model, tuned))])
    if is_additive(data.model):
        attributes, means = {"model": _additive(tuned), "columns": data.known}, []
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
        told = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is not a model file of hoag tune, or damaged ({told}).") from None
    if unknown:
        told = f"not known to be safe, and is not loaded: {', '.join(sorted(unknown))}."
        raise ValueError(f"{path} holds types that are {told}")
    notes = vars(model).get("hoag_") if isinstance(model, Pipeline) else None
    if not isinstance(notes, dict) or notes.get("format") != FORMAT or not _complete(notes):
        raise ValueError(f"{path} was not written by this version of hoag tune: tune it again.")
    own = ("model", "columns") if is_additive(notes["model"]) else ATTRIBUTES.get(notes["model"])
    other = sorted(str(name) for name in notes["attributes"] if name not in (own or ()))
    if other:  # nothing else is set
        has = f"attributes that a model of kind {notes['model']} has not: {listed(other)}"
        raise ValueError(f"{path} has {has}. hoag tune writes no such files, and it is not used.")
    return model, notes


def _complete(notes: dict[str, Any]) -> bool:
    typed = all(isinstance(notes.get(name, ...), kind) for name, kind in NOTES.items())
    if not typed or notes["model"] not in FAMILIES:
        return False
    return all(isinstance(name, str) for name in (*notes["targets"], *(notes["kinds"] or ())))


@contextmanager
def used(path: str) -> Iterator[None]:
    """What a model that does not fit together raises, as a sentence about its file."""
    try:
        yield
    except (LookupError, AttributeError, TypeError, AssertionError, RecursionError) as error:
        told = f"({type(error).__name__}: {error}): it is another version's, or was changed"
        raise ValueError(f"The model of {path} cannot be used {told}. Tune it again.") from error


def predictor(pipeline: Any, notes: dict[str, Any]) -> Any:
    """What predicts from numbers: the pipeline's last step, or a model made of the notes."""
    if not without_class(notes["model"]):
        return pipeline[-1]
    if is_additive(notes["model"]):
        return SavedAdditive(notes["attributes"]["model"])
    import hoag

    model = getattr(hoag, FAMILIES[notes["model"]].estimator)()
    model.n_features_in_ = notes["features"]
    for name, value in notes["attributes"].items():
        setattr(model, name, value)
    return model


# ---- an additive model as plain numbers and text


def _additive(tuned: Any) -> dict[str, Any]:
    """Everything that predictions need."""
    shown, classes = tuned._additive, vars(tuned).get("classes_")
    log = tuned.model_.__class__.__name__ in LOG_LINKS
    return {
        "parts": [
            {
                "columns": [str(tuned._seen.names[column]) for column in part.reads],
                "basis": _written(part.basis),
            }
            for part in shown.parts
        ],
        "means": shown.centres,
        "coef": np.atleast_2d(tuned.coef_) * shown.units,
        "intercept": np.ravel(tuned.intercept_),
        "classes": classes,
        "link": "classes" if classes is not None else "log" if log else "",
    }


LOG_LINKS = [FAMILIES[word].estimator for word in ("poisson", "gamma", "tweedie")]
BASES = ("Spline", "Surface", "Line", "Levels", "Times")  # and no other class is made


def _written(value: Any) -> Any:
    """A basis as its fields, but for its penalties, which are for fitting."""
    if type(value).__name__ in BASES:
        own = {name: _written(part) for name, part in vars(value).items() if name != "penalties"}
        return {"kind of basis": type(value).__name__, **own}
    if type(value).__name__ == "SplineTransformer":
        inner = value.bsplines_[0]
        degree = int(inner.k)
        knots = np.asarray(inner.t)[degree : len(inner.t) - degree]
        return {"knots": knots, "degree": degree, "extrapolation": value.extrapolation}
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    return value.astype(str) if isinstance(value, np.ndarray) and value.dtype.hasobject else value


def _read(value: Any) -> Any:
    """The same again."""
    from sklearn.preprocessing import SplineTransformer

    from hoag.gam import _bases

    if isinstance(value, list):
        return tuple(map(_read, value))
    if not isinstance(value, dict):
        return value
    own = {name: _read(part) for name, part in value.items() if name != "kind of basis"}
    if "kind of basis" in value:
        if value["kind of basis"] not in BASES:
            raise TypeError(f"there is no basis {value['kind of basis']}")
        return vars(_bases)[value["kind of basis"]](penalties=(), **own)
    knots = np.asarray(own["knots"])[:, None]
    return SplineTransformer(**{**own, "knots": knots}, sparse_output=True).fit(knots)


class SavedAdditive:
    """An additive model that was read from a file: it predicts, and says what terms contribute."""

    def __init__(self, notes: dict[str, Any]) -> None:
        self._bases = [_read(one["basis"]) for one in notes["parts"]]
        self.columns = [list(one["columns"]) for one in notes["parts"]]
        self.labels = [str(basis.label) for basis in self._bases]
        self._means, self._coef = np.asarray(notes["means"]), np.asarray(notes["coef"])
        self._intercept, self._link = np.asarray(notes["intercept"]), notes["link"]
        if notes["classes"] is not None:
            self.classes_ = np.asarray(notes["classes"])

    def terms(self, X: Any) -> Any:
        """fⱼ of every row, (n, terms, outputs)."""
        found, first = [], 0
        for basis, names in zip(self._bases, self.columns, strict=True):
            own = slice(first, first := first + basis.size)
            values = [X[name].to_numpy() for name in names]  # numbers, or words
            values = [one if one.dtype.kind == "f" else one.astype(str) for one in values]
            rows = basis.design(values).toarray() - self._means[own]
            found.append(rows @ self._coef[:, own].T)
        return np.stack(found, axis=1)

    def predict_proba(self, X: Any) -> Any:
        from scipy.special import softmax

        z = self.terms(X).sum(axis=1) + self._intercept
        z = np.column_stack([np.zeros(len(z)), z]) if z.shape[1] == 1 else z
        return softmax(z, axis=1)

    def predict(self, X: Any) -> Any:
        if self._link == "classes":
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        z = (self.terms(X).sum(axis=1) + self._intercept)[:, 0]
        return np.exp(z) if self._link == "log" else z
