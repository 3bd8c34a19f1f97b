"""Additive models on the command line: the columns as they read them, and the model as numbers.

A curve reads a column itself: numbers are not standardised, and categories stay words. What is
missing is filled as for other models: numbers by the mean, beside a column of 0 and 1 that says
where; flags by the more frequent one; categories have one more.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

from hoag._core.words import nearest
from hoag.cli.columns import CATEGORY, FLAG
from hoag.gam._bases import Basis, Levels, Line, Recipe, Spline, Surface, Times
from hoag.gam._design import Additive, FittedTerm
from hoag.gam._terms import Column, Term, linear, smooth

if TYPE_CHECKING:
    from hoag.cli.held_out import Judge
    from hoag.cli.rows import Data

MISSING = "missing"
Notes = dict[str, Any]


def left_side(formula: str | None) -> list[str]:
    """The target, where a formula names one: y ~ …"""
    from hoag.gam import from_formula

    left = None if formula is None else from_formula(formula)[0]
    return [] if left is None else [left]


def used(formula: str, names: list[str], where: str) -> list[str]:
    """The columns that a formula names, each of which must be one of these."""
    from hoag.gam import from_formula

    found = dict.fromkeys(str(name) for term in from_formula(formula)[1] for name in term.needs)
    for name in found:
        if name not in names:
            raise ValueError(
                f"{where} has no column '{name}', which --terms asks for.{nearest(name, names)}"
            )
    return list(found)


def columns(frame: Any, pieces: dict[str, str], lacking: set[str]) -> Notes:
    """What is known of columns: what fills them, where that is said, and their categories."""
    usual = {}
    for name, kind in pieces.items():
        if kind != CATEGORY:
            mean = float(frame[name].mean())
            usual[name] = float(round(mean)) if kind == FLAG else mean
    words = [name for name, kind in pieces.items() if kind == CATEGORY]
    return {
        "usual": usual,
        "told": [name for name in usual if name in lacking],
        "categories": {name: sorted(set(frame[name].fillna(MISSING))) for name in words},
    }


def filled(frame: Any, known: Notes) -> Any:
    """The columns as terms read them."""
    import pandas as pd

    made = {name: frame[name].fillna(value) for name, value in known["usual"].items()}
    for name in known["categories"]:
        made[name] = frame[name].fillna(MISSING).astype(str).astype("category")
    made |= {f"{name} missing": frame[name].isna().astype(float) for name in known["told"]}
    return pd.DataFrame(made, index=frame.index)


def terms(formula: str | None, known: Notes) -> list[Term] | None:
    """Those of --terms, with one for each column that says what is missing; None for all."""
    from hoag.gam import from_formula

    if formula is None:
        return None
    found = from_formula(formula, lambda name: name not in known["categories"])[1]
    return [*found, *(linear(f"{name} missing", vanish=True) for name in known["told"])]


def estimator(args: Any, data: Data, judge: Judge, options: dict[str, Any]) -> Any:
    """The model that the options ask for, not fitted; `options` are those of every model."""
    import hoag
    from hoag.cli.families import FAMILIES, given, plain

    options = {"terms": terms(args.terms, data.known), **options}
    word, own = plain(data.model), given(args, judge.family.settings)
    if judge.family.classifies:
        return hoag.GAMClassifierCV(**options)
    family = getattr(hoag, FAMILIES[word].estimator)(**own) if own else word
    return hoag.GAMRegressorCV(family=family, scale=args.scale or "family", **options)


def judged(tuned: Any, data: Data, judge: Judge, splits: list[Any]) -> None:
    """Show the judge rows that were held out, each fold's penalties chosen on its other rows."""
    from sklearn.base import clone

    from hoag.linear_model._judge import Predicted

    for train, test in splits:
        weights = None if data.weights is None else data.weights[train]
        own = {name: values[train] for name, values in data.given.items()}
        fold = clone(tuned).set_params(callback=None, checkpoint=None)
        with warnings.catch_warnings():  # of all rows the same was said
            warnings.filterwarnings("ignore", "The counts vary", UserWarning)
            fold.fit(data.X.iloc[train], data.y[train], sample_weight=weights, **own)
        X, shown = data.X.iloc[test], fold
        if not judge.family.classifies:
            own = {name: values[test] for name, values in data.given.items()}
            shown = Predicted(fold.predict(X, **own))
            if "scale_" in vars(fold.model_):
                shown.scale_ = vars(fold.model_)["scale_"]
        elif len(fold.classes_) < len(np.unique(data.y)):
            rare, many = _rarest(data.y)
            raise ValueError(
                f"The class '{rare}' has {many} row{'s' if many > 1 else ''}, too few to be in "
                "every fold: leave such rows out, or join classes."
            )
        given = {} if data.weights is None else {"sample_weight": data.weights[test]}
        judge(shown, X, data.y[test], **given)


def _rarest(y: Any) -> tuple[Any, int]:
    classes, counts = np.unique(y, return_counts=True)
    return classes[np.argmin(counts)], int(counts.min())


# ---- the model as plain numbers and text, for a file


def written(tuned: Any) -> Notes:
    """Everything that predictions need."""
    loss = tuned.model_._loss
    return {
        "parts": [
            {
                "label": part.label,
                "columns": [_name(tuned, column) for column in part.reads],
                "basis": _basis(part.basis),
            }
            for part in tuned._parts
        ],
        "means": tuned._additive.centres,
        "coef": np.atleast_2d(tuned.coef_) * tuned._additive.units,
        "intercept": np.ravel(tuned.intercept_),
        "classes": vars(tuned).get("classes_"),
        "link": "classes" if "classes_" in vars(tuned) else "log" if loss == "deviance" else "",
    }


def _name(tuned: Any, column: Column) -> str:
    return str(tuned._seen.names[column])


def _basis(basis: Basis) -> Notes:
    if isinstance(basis, Spline):
        inner = basis.splines.bsplines_[0]
        degree = int(inner.k)
        knots = np.asarray(inner.t)[degree : len(inner.t) - degree]
        around = basis.splines.extrapolation == "periodic"
        return {"kind": "spline", "knots": knots, "degree": degree, "cyclic": around}
    if isinstance(basis, Surface):
        return {"kind": "surface", "sides": [_basis(side) for side in basis.sides]}
    if isinstance(basis, Line):
        return {"kind": "line", "mean": basis.mean, "spread": basis.spread}
    if isinstance(basis, Levels):
        return {"kind": "levels", "levels": [str(level) for level in basis.levels]}
    if isinstance(basis, Times):
        level = None if basis.level is None else str(basis.level)
        means = None if basis.means is None else basis.means.tolist()
        return {"kind": "times", "basis": _basis(basis.basis), "level": level, "means": means}
    raise ValueError(f"A term of kind {type(basis).__name__} cannot be written to a file.")


def _read(label: str, notes: Notes) -> Basis:
    """The basis again; its penalties, which are for fitting, are any."""
    kind, none = notes["kind"], ()
    if kind == "spline":
        recipe = Recipe(tuple(map(float, notes["knots"])), notes["degree"], 1, notes["cyclic"])
        return Spline.of(label, np.asarray(notes["knots"]), recipe, False)
    if kind == "surface":
        sides = [_read(label, side) for side in notes["sides"]]
        return Surface.of(label, sides, False)  # type: ignore[arg-type]
    if kind == "line":
        mean, spread = notes["mean"], notes["spread"]
        return Line(label=label, size=1, penalties=none, mean=mean, spread=spread)
    if kind == "levels":
        levels = np.array(notes["levels"])
        return Levels(label=label, size=len(levels), penalties=none, levels=levels)
    if kind == "last":  # the levels of a curve by category, as files before 0.2 have them
        return _read(label, notes["basis"])
    inner, level = _read(label, notes["basis"]), notes["level"]
    means = None if notes["means"] is None else np.asarray(notes["means"])
    return Times(label=label, size=inner.size, penalties=none, kind=inner.kind, basis=inner,
                 level=level, means=means)  # fmt: skip


class SavedAdditive:
    """An additive model that was read from a file: it predicts, and says what terms contribute."""

    def __init__(self, notes: Notes) -> None:
        parts, first = [], 0
        for one in notes["parts"]:
            basis = _read(one["label"], one["basis"])
            own = slice(first, first := first + basis.size)
            reads = one["columns"] if one["basis"]["kind"] != "last" else one["columns"][-1:]
            parts.append(FittedTerm(smooth(reads[0]), basis, tuple(reads), own, slice(0, 0)))
        self._additive = Additive(tuple(parts), np.asarray(notes["means"]))
        self.columns = [list(part.reads) for part in parts]
        self.labels = [str(one["label"]) for one in notes["parts"]]
        self._coef, self._intercept = np.asarray(notes["coef"]), np.asarray(notes["intercept"])
        self._link = notes["link"]
        if notes["classes"] is not None:
            self.classes_ = np.asarray(notes["classes"])

    def terms(self, X: Any) -> Any:
        """fⱼ of every row, (n, terms, outputs)."""
        found = []
        for part, names in zip(self._additive.parts, self.columns, strict=True):
            values = [_values(X[name]) for name in names]
            rows = part.basis.design(values).toarray() - self._additive.means[part.columns]
            found.append(rows @ self._coef[:, part.columns].T)
        return np.stack(found, axis=1)

    def _predictor(self, X: Any) -> Any:
        return self.terms(X).sum(axis=1) + self._intercept

    def predict_proba(self, X: Any) -> Any:
        z = self._predictor(X)
        if z.shape[1] > 1:
            return softmax(z, axis=1)
        return np.column_stack([expit(-z[:, 0]), expit(z[:, 0])])

    def predict(self, X: Any) -> Any:
        if self._link == "classes":
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        z = self._predictor(X)[:, 0]
        return np.exp(z) if self._link == "log" else z


def _values(column: Any) -> Any:
    """Numbers, or words."""
    values = column.to_numpy()
    return values if values.dtype.kind == "f" else values.astype(str)
