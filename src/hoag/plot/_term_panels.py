"""What there is to draw of a term of an additive model: where, how high, and how well known.

    fⱼ(x) = (b(x) − m)ᵀβ,   its band that of fⱼ and the intercept together

for b the term's basis and m its mean over the rows that were fitted: as predict(terms=True) has it.
A coefficient that varies, f(x)·u, is drawn as f(x), what u is multiplied by: it is no deviation
from a mean, so nothing is subtracted, and its band is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.special import ndtri

from hoag._core.numeric import Array
from hoag.gam._bases import Basis, Spline, Times
from hoag.gam._columns import ModelFrame
from hoag.gam._design import FittedTerm

POINTS = 200  # of a curve
SIDE = 60  # points along each side of a surface
FAR = 0.12  # of a side: places further than this from all rows are left white


@dataclass(frozen=True, eq=False)
class Panel:
    """A term as numbers.

    label    as labels_ has it
    told     its degrees of freedom, and the word of plateaus_
    kind     "curve", "line", "levels" or "surface"
    columns  what is along the axes
    x        places (m,), categories (m,), or the two sides of a surface
    values   (m, outputs), or (m₂, m₁) of a surface, nan where no row is near
    low, high  the ends of the band, as values; None without one
    rug      the rows that are known: their places, one array for each column
    rows     places of rows and what is left of their y with fⱼ added, (places, values); or None
    unit     what the values add to; "" where that is what the figure says
    """

    label: str
    told: str
    kind: str
    columns: tuple[str, ...]
    x: Any
    values: Array
    low: Array | None = None
    high: Array | None = None
    rug: list[npt.NDArray[Any]] = field(default_factory=list)
    rows: tuple[npt.NDArray[Any], Array] | None = None
    unit: str = ""

    @property
    def heights(self) -> Array:
        """What the scale has to hold: f at every row, and its band at nine rows of ten.

        Where there are no rows a curve may go anywhere, and is no measure for the others.
        """
        ends = [] if self.low is None or self.high is None else [self.low, self.high]
        if self.kind in ("surface", "levels") or not self.rug[0].size:
            whole = np.concatenate([end.ravel() for end in (self.values, *ends)])
            return np.asarray(whole[np.isfinite(whole)])
        rows = self.rug[0].astype(float)
        found = [np.interp(rows, self.x, own) for own in self.values.T]
        for end, q in zip(ends, (0.1, 0.9), strict=False):
            found += [np.quantile(np.interp(rows, self.x, own), [q]) for own in end.T]
        return np.concatenate(found)


def panels(model: Any, j: int, seen: ModelFrame, interval: float | None, left: Any) -> list[Panel]:
    """Those of term j: one, or for a surface one for each of several classes.

    left   what is left of y in rows of `seen`, on the scale of η; or None
    """
    part: FittedTerm = model._parts[j]
    word = str(model.plateaus_[j])
    told = f"edf {model.edf_[j]:.1f}" + (f", {word}" if word else "")
    known, kept = seen.of_term(part.term), _kept(part, seen)
    names = tuple(seen.names[column] for column in part.term.columns)
    rug = [values[kept] for values in known[: len(names)]]
    kind = part.basis.kind
    unit = ""
    if isinstance(part.basis, Times) and part.basis.level is None:
        unit = f"times {seen.names[part.reads[-1]]}"
    if kind == "surface":
        return _surfaces(model, part, told, names, rug, unit)
    if kind == "levels":
        names = (seen.names[part.reads[-1]],)  # of a curve by category, too
        rug = [known[-1][kept]]
        x: npt.NDArray[Any] = part.basis.levels  # type: ignore[attr-defined]
    else:
        x = _places(part.basis, rug[0])
    values, low, high = at(model, part, _columns(part, [x]), interval)
    rows = None
    if left is not None and not unit:
        own = at(model, part, [one[kept] for one in known], None)[0][:, 0]
        rows = (rug[0], own + left[kept])
    return [Panel(part.label, told, kind, names, x, values, low, high, rug, rows, unit)]


def at(
    model: Any, part: FittedTerm, values: list[npt.NDArray[Any]], interval: float | None
) -> tuple[Array, Array | None, Array | None]:
    """fⱼ where its columns have these values, (m, outputs), with its band."""
    B = part.basis.design(values).toarray()
    varying = isinstance(part.basis, Times) and part.basis.level is None
    rows = B if varying else model._additive.rows(part, B)
    found = np.asarray(rows @ np.atleast_2d(model.coef_)[:, part.columns].T)
    if interval is None:
        return found, None, None
    if varying:
        own = model.covariance_[part.columns, part.columns]
        square = np.einsum("ij,ij->i", rows @ own, rows)
    else:
        square = model._with_mean(part, rows)
    width = float(ndtri(0.5 + interval / 2)) * np.sqrt(np.maximum(square, 0.0))[:, None]
    return found, found - width, found + width


def _surfaces(
    model: Any,
    part: FittedTerm,
    told: str,
    names: tuple[str, ...],
    rug: list[npt.NDArray[Any]],
    unit: str,
) -> list[Panel]:
    """Over the first two columns, the others at their medians."""
    sides = _inner(part.basis).sides  # type: ignore[attr-defined]
    x, z = (_places(side, rug[k], SIDE) for k, side in enumerate(sides[:2]))
    u, v = (one.ravel() for one in np.meshgrid(x, z))
    held = [float(np.median(one)) for one in rug[2:]]
    values = at(model, part, _columns(part, [u, v, *(np.full(u.size, one) for one in held)]), None)[
        0
    ]
    scale = np.array([np.ptp(x), np.ptp(z)])
    near = cKDTree(np.column_stack(rug[:2]) / scale).query(np.column_stack([u, v]) / scale)[0]
    values[near > FAR] = np.nan
    where = ", ".join(f"{name} = {one:.3g}" for name, one in zip(names[2:], held, strict=True))
    found = []
    for k, own in enumerate(values.T):
        which = f"{model.classes_[k]}" if values.shape[1] > 1 else ""
        label = ", ".join(filter(None, (part.label, which, where and f"at {where}")))
        found.append(
            Panel(label, told, "surface", names[:2], (x, z), own.reshape(z.size, x.size),
                  rug=rug[:2], unit=unit)
        )  # fmt: skip
    return found


def _kept(part: FittedTerm, seen: ModelFrame) -> npt.NDArray[Any]:
    """The rows that a term is of: those of its level, where it is by category."""
    known = seen.of_term(part.term)
    if isinstance(part.basis, Times) and part.basis.level is not None:
        return np.asarray(known[-1].astype(str) == part.basis.level)
    return np.ones(len(known[0]), dtype=bool)


def _columns(part: FittedTerm, places: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """The columns that a basis reads where it is to be drawn: `by` at 1, or at its level."""
    m = len(places[0])
    if isinstance(part.basis, Times):
        return [*places, np.full(m, 1.0 if part.basis.level is None else part.basis.level)]
    return places


def _inner(basis: Basis) -> Basis:
    return basis.basis if isinstance(basis, Times) else basis


def _places(basis: Basis, x: npt.NDArray[Any], many: int = POINTS) -> Array:
    """From end to end of the rows, or once around."""
    own = _inner(basis)
    around = isinstance(own, Spline) and own.splines.extrapolation == "periodic"
    if around:
        ends = own.ends  # type: ignore[attr-defined]
    elif x.size:
        ends = (float(np.min(x.astype(float))), float(np.max(x.astype(float))))
    else:
        ends = own.ends  # type: ignore[attr-defined]
    return np.linspace(ends[0], ends[1], many)
