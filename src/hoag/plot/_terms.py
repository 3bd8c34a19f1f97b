"""The terms of an additive model, one panel each, on one scale."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from hoag._core.errors import InvalidParameterError, NotSupportedError
from hoag._core.numeric import Array
from hoag.gam._columns import ModelFrame
from hoag.plot import _style as style
from hoag.plot._term_panels import Panel, panels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

WIDTH, HEIGHT = 2.7, 2.3  # inches of a panel
ACROSS = 5  # panels in a row, at most
NAMED = 14  # categories that are named, at most
SOME = 12  # panels whose axes are named beside their titles, at most
PALE = 1.3  # how much further the colours of surfaces go than is drawn: lines read on them
ROWS = 2000  # whose residuals are drawn, at most


class TermsDisplay:
    """fⱼ with its band, a panel for each term, all on one scale, so that sizes compare.

    Curves and lines have a rug of rows below them. Surfaces are filled contours, with the rows as
    dots and white where there are none near. Categories are points with bars, by their size.
    Terms that are gone are named under the picture. The scale holds every curve where there are
    rows; between rows that are far apart it may leave the picture.

    Parameters
    ----------
    panels : list of panels
        What there is to draw of each term, as `of` makes them.
    adds : str
        What the terms are added to.
    gone : list of str or None, default=None
        Terms that are named only.
    classes : list of str or None, default=None
        Of the columns of the panels' values, where they are several.
    share_y : bool, default=True
        One scale for all panels, and one of colours for all surfaces.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes, in the order of the panels, after `plot`
    figure_ : matplotlib.figure.Figure, after `plot`

    Examples
    --------
    >>> import numpy as np
    >>> from hoag import GAMRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 2))
    >>> y = np.sin(6 * X[:, 0]) + 0.3 * rng.normal(size=300)
    >>> display = GAMRegressorCV().fit(X, y).plot_terms()
    >>> [ax.get_title(loc="left") for ax in display.axes_][0]
    's(x0)'
    """

    axes_: list[Axes]
    figure_: Figure

    def __init__(
        self,
        panels: list[Panel],
        adds: str,
        *,
        gone: list[str] | None = None,
        classes: list[str] | None = None,
        share_y: bool = True,
    ) -> None:
        self.panels, self.adds, self.gone = panels, adds, gone or []
        self.classes, self.share_y = classes or [], share_y

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        axes: Axes | Sequence[Axes] | None = None,
        **options: Any,
    ) -> TermsDisplay:
        """Draw the terms of a fitted additive model.

        Parameters
        ----------
        estimator : a fitted GAMRegressorCV or GAMClassifierCV
        X, y : rows to draw, by default some of those that were fitted; residuals need both
        axes : matplotlib.axes.Axes, one or several, or None, default=None
            As many as there are panels; by default those of a new figure.
        **options : as in `of`

        Returns
        -------
        display : TermsDisplay
        """
        return cls.of(estimator, X, y, **options).plot(axes)

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        terms: str | int | Sequence[str | int] | None = None,
        interval: float | None = 0.95,
        residuals: bool = False,
        share_y: bool = True,
        **params: Any,
    ) -> TermsDisplay:
        """The terms of a fitted additive model, before they are drawn.

        Parameters
        ----------
        estimator : a fitted GAMRegressorCV or GAMClassifierCV
        X, y : rows to draw, by default some of those that were fitted; residuals need both
        terms : str, int, sequence of these or None, default=None
            Which, by label or number; by default all but those that are gone.
        interval : float or None, default=0.95
            The probability of the bands, point by point; None for none.
        residuals : bool, default=False
            Also what is left of the rows' y, with the term added.
        share_y : bool, default=True
            One scale for all, so that sizes compare.
        **params : offset or exposure of the rows, for residuals

        Returns
        -------
        display : TermsDisplay
        """
        model = _checked(estimator)
        if interval is not None and not 0 < interval < 1:
            raise InvalidParameterError.of(
                "interval", interval, "give a probability, such as 0.95, or None."
            )
        if residuals and (X is None or y is None):
            raise InvalidParameterError(
                "residuals=True is about rows.\nGive X and y.", "residuals", residuals
            )
        if params and not residuals:
            raise InvalidParameterError(
                f"{', '.join(params)} only matter for residuals=True.", "residuals", residuals
            )
        if model._outputs > 1 or not model._posterior.likely:
            interval = None  # no band is known there
        seen = model._seen
        if X is not None:
            table = model._frame(X, reset=False)
            seen = ModelFrame.of(table, model.terms_, ROWS)
        left = _working(model, X, y, params)[seen.rows] if residuals else None
        chosen, gone = _chosen(model, terms)
        found = [panel for j in chosen for panel in panels(model, j, seen, interval, left)]
        classes = [str(one) for one in model.classes_] if model._outputs > 1 else None
        return cls(found, _adds(model), gone=gone, share_y=share_y, classes=classes)

    def plot(
        self, axes: Axes | Sequence[Axes] | None = None, figure: Figure | None = None
    ) -> TermsDisplay:
        """Draw.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, one or several, or None, default=None
            As many as there are panels.
        figure : matplotlib.figure.Figure or None, default=None
            One that gets the size it needs, in place of a new one.

        Returns
        -------
        display : this object, with figure_ and axes_
        """
        self.axes_ = self._axes(axes, figure)
        self.figure_ = self.axes_[0].figure  # type: ignore[assignment]
        ends = self._ends()
        for ax, panel in zip(self.axes_, self.panels, strict=True):
            _frame(ax, panel, len(self.panels) <= SOME)
            own = ends if self.share_y and not panel.unit else _limits([panel])
            if panel.kind == "surface":
                _surface(ax, panel, max(-own[0], own[1]))
                continue
            _rows(ax, panel)
            (_levels if panel.kind == "levels" else _curve)(ax, panel)
            ax.set_ylim(own)
            style.numbers(ax.yaxis)
            ax.set_ylabel(panel.unit, fontsize="small", labelpad=1)
        if axes is None:
            self._around()
        return self

    def _axes(self, axes: Any, figure: Any) -> list[Any]:
        many = len(self.panels)
        if axes is not None:
            given = np.ravel(np.asarray(axes, dtype=object)).tolist()
            if len(given) < many:
                raise InvalidParameterError(
                    f"There are {many} panels, and axes for {len(given)} of them.", "ax"
                )
            return [*given[:many]]
        rows, columns = _grid(many)
        wide, high = (WIDTH * columns, HEIGHT * rows) if many > 1 else style.SIZE
        tilted = {k // columns for k, panel in enumerate(self.panels) if _tilted(panel)}
        high += 0.4 * len(tilted) + 0.2 * len(self._footnote(wide)) + 0.3 * bool(self.classes)
        figure = style.pyplot().figure(layout="constrained") if figure is None else figure
        figure.set_size_inches(wide, high)
        figure.set_layout_engine("constrained")
        made = np.ravel(figure.subplots(rows, columns, squeeze=False)).tolist()
        for ax in made[many:]:
            ax.remove()
        self._columns = columns
        return [*made[:many]]

    def _ends(self) -> tuple[float, float]:
        """The scale that panels have in common."""
        return _limits([panel for panel in self.panels if not panel.unit] or self.panels)

    def _around(self) -> None:
        """What is said once for all panels: the scale, the classes, and what is not drawn."""
        written = set[int]()  # rows of panels where the scale has its numbers already
        for k, (ax, panel) in enumerate(zip(self.axes_, self.panels, strict=True)):
            if panel.kind == "surface" or panel.unit or not self.share_y:
                continue
            row = k // self._columns
            ax.tick_params(labelleft=row not in written)
            written.add(row)
        figure = self.figure_
        flat = [panel for panel in self.panels if panel.kind != "surface"]
        what = "" if flat else " (colours and contours)"
        figure.supylabel(f"added to {self.adds}{what}", fontsize="small")
        if said := self._footnote(figure.get_figwidth()):
            figure.supxlabel("\n".join(said), fontsize="small", x=0.06, ha="left")
        if self.classes and flat:
            handles = [
                self.axes_[0].plot([], [], color=color, ls=dash, label=style.short(name))[0]
                for name, (color, dash) in zip(
                    self.classes, style.looks(len(self.classes)), strict=True
                )
            ]
            figure.legend(handles=handles, loc="outside upper center", frameon=False,
                          ncols=min(len(handles), 4), fontsize="small")  # fmt: skip

    def _footnote(self, wide: float) -> list[str]:
        """Lines that are so many inches wide, about."""
        if not self.gone:
            return []
        return textwrap.wrap(f"Gone, and not drawn: {', '.join(self.gone)}.", int(14.5 * wide - 6))


def _checked(estimator: Any) -> Any:
    from hoag.gam._model import AdditiveModel

    name = type(estimator).__name__
    if "result_" not in vars(estimator):
        raise InvalidParameterError(
            f"This {name} has no terms.\nFit it first, with an additive model.", "estimator"
        )
    if not isinstance(estimator, AdditiveModel):
        raise InvalidParameterError(
            f"Terms are those of an additive model, and this is a {name}.", "estimator"
        )
    return estimator


def _chosen(model: Any, terms: Any) -> tuple[list[int], list[str]]:
    """The numbers of the terms to draw, and the labels of those that are gone."""
    labels = model.labels_
    if terms is None:
        gone = [j for j, word in enumerate(model.plateaus_) if word == "gone"]
        left = [j for j in range(len(labels)) if j not in gone]
        return (left, [labels[j] for j in gone]) if left else (gone, [])
    found = []
    for term in [terms] if isinstance(terms, (str, int, np.integer)) else terms:
        if isinstance(term, (int, np.integer)) and -len(labels) <= term < len(labels):
            found.append(int(term) % len(labels))
        elif term in labels:
            found.append(labels.index(term))
        else:
            told = ", ".join(labels[:8]) + (", …" if len(labels) > 8 else "")
            raise InvalidParameterError(
                f"There is no term {term!r}: the model has {told}.", "terms", term
            )
    if not found:
        raise InvalidParameterError("terms is empty.\nName one, or leave it out for all.", "terms")
    return found, []


def _adds(model: Any) -> str:
    if is_classifier(model):
        two = len(model.classes_) == 2
        return f"the log odds of {model.classes_[1]}" if two else "the log odds of each class"
    linear = model.model_
    return "the log of the mean" if linear._loss == "deviance" else "the prediction"


def _working(model: Any, X: Any, y: Any, params: dict[str, Any]) -> Array:
    """(y − μ) dη/dμ, what is left of y on the scale of the terms."""
    if model._outputs > 1:
        raise NotSupportedError(
            "Residuals are for one linear predictor, not for several classes.",
            "residuals",
            True,
        )
    y = np.asarray(y)
    if is_classifier(model):
        mean = model.predict_proba(X)[:, 1]
        return np.asarray(((y == model.classes_[1]) - mean) / (mean * (1 - mean)))
    mean = model.predict(X, **params)
    return np.asarray((y - mean) / (mean if model.model_._loss == "deviance" else 1.0))


def _grid(many: int) -> tuple[int, int]:
    """Rows and columns: up to three side by side, then about as many rows as columns."""
    columns = many if many <= 3 else min(int(np.ceil(np.sqrt(many))), ACROSS)
    return -(-many // columns), columns


def _limits(panels: list[Panel]) -> tuple[float, float]:
    """From the least to the largest, with a little room; rows may be out of it, one in fifty."""
    ends = [panel.heights for panel in panels]
    ends += [np.quantile(panel.rows[1], [0.01, 0.99]) for panel in panels if panel.rows]
    whole = np.concatenate([*ends, [0.0]])
    low, high = float(whole.min()), float(whole.max())
    room = 0.06 * (high - low) or 1.0
    return low - 1.5 * room, high + room


def _frame(ax: Any, panel: Panel, named: bool) -> None:
    """Title, what the term is worth, and the names along the axes."""
    ax.set_title(style.short(panel.label, 36), loc="left", fontsize=9.5, pad=15)
    ax.text(0.0, 1.02, panel.told, transform=ax.transAxes, fontsize=8, color=style.SOFT,
            va="bottom")  # fmt: skip
    ax.tick_params(labelsize=8, length=3)
    if panel.kind == "surface" or (named and panel.kind != "levels"):
        ax.set_xlabel(style.short(panel.columns[0], 30), fontsize="small", labelpad=2)
    if panel.kind == "surface":
        ax.set_ylabel(style.short(panel.columns[1], 24), fontsize="small", labelpad=2)


def _curve(ax: Any, panel: Panel) -> None:
    ax.axhline(0.0, color=style.SOFT, lw=0.6, zorder=0)
    if panel.low is not None and panel.high is not None:
        ax.fill_between(panel.x, panel.low[:, 0], panel.high[:, 0], color=style.PATH, alpha=0.22,
                        lw=0)  # fmt: skip
    for own, (color, dash) in zip(panel.values.T, style.looks(panel.values.shape[1]), strict=True):
        ax.plot(panel.x, own, color=color, ls=dash, lw=1.6)
    rug = panel.rug[0].astype(float)
    ax.plot(rug, np.full(rug.size, 0.025), "|", color=style.ink(), ms=5, mew=0.5,
            alpha=float(np.clip(70 / max(rug.size, 1), 0.05, 0.4)), scaley=False,
            transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xlim(float(panel.x[0]), float(panel.x[-1]))
    style.numbers(ax.xaxis)


def _levels(ax: Any, panel: Panel) -> None:
    """Categories by their size, named where they are few."""
    order = np.argsort(panel.values[:, 0], kind="stable")
    names, values = panel.x[order], panel.values[order]
    at, many = np.arange(len(order)), values.shape[1]
    ax.axhline(0.0, color=style.SOFT, lw=0.6, zorder=0)
    few = len(order) <= NAMED
    for k, (color, _) in enumerate(style.looks(many)):
        place = at + (0.0 if many == 1 else 0.5 * (k / (many - 1) - 0.5))
        error = None
        if panel.low is not None and panel.high is not None:
            error = [values[:, k] - panel.low[order, k], panel.high[order, k] - values[:, k]]
        ax.errorbar(place, values[:, k], yerr=error, fmt="o", ms=3.5 if few else 2, color=color,
                    elinewidth=1.2 if few else 0.5)  # fmt: skip
    ax.set_xlim(-0.6, len(order) - 0.4)
    if few:
        ax.set_xticks(at, _words(names))
        if _tilted(panel):
            ax.set_xticklabels(_words(names), rotation=40, ha="right", rotation_mode="anchor")
    else:
        ax.set_xticks([])
        ax.set_xlabel(f"{style.short(panel.columns[0], 16)}: {len(order)} categories",
                      fontsize="small", labelpad=4)  # fmt: skip


def _words(names: Any) -> list[str]:
    return [style.short(str(name), 14) for name in names]


def _tilted(panel: Panel) -> bool:
    """Whether the names of categories need more room than there is side by side."""
    if panel.kind != "levels" or len(panel.x) > NAMED:
        return False
    return sum(len(word) + 2 for word in _words(panel.x)) > 34


def _rows(ax: Any, panel: Panel) -> None:
    """What is left of rows; beside their category, each a little to the side of the other."""
    if panel.rows is None:
        return
    places, values = panel.rows
    if panel.kind == "levels":
        order = np.argsort(panel.values[:, 0], kind="stable")
        rank = np.argsort(order)
        code = np.searchsorted(panel.x, places.astype(str)).clip(max=len(panel.x) - 1)
        known = panel.x[code] == places.astype(str)
        beside = np.random.default_rng(0).uniform(-0.22, 0.22, int(known.sum()))
        places, values = rank[code[known]] + beside, values[known]
    ax.plot(np.asarray(places, dtype=float), values, ".", color=style.SOFT, ms=3.5, mew=0,
            alpha=float(np.clip(120 / max(len(values), 1), 0.15, 0.7)), zorder=0.5)  # fmt: skip


def _surface(ax: Any, panel: Panel, top: float) -> None:
    """Colours about 0, lines with their heights, and the rows."""
    known = np.ma.masked_invalid(panel.values)
    x, z = panel.x
    filled = ax.contourf(x, z, known, levels=np.linspace(-top, top, 25), cmap="RdBu_r",
                         vmin=-PALE * top, vmax=PALE * top)  # fmt: skip
    style.bar(ax, filled).ax.tick_params(labelsize=8, length=3)
    if known.count() and float(np.ptp(known.compressed())) > 0:
        lines = ax.contour(x, z, known, 6, colors=style.DARK, linewidths=0.6,
                           negative_linestyles="dashed")  # fmt: skip
        ax.clabel(lines, fontsize=7, fmt=style.number)
    ax.plot(*(one.astype(float) for one in panel.rug), ".", color=style.DARK, ms=1.5, alpha=0.3,
            mew=0)  # fmt: skip
    ax.set(xlim=(x[0], x[-1]), ylim=(z[0], z[-1]))
    style.numbers(ax.xaxis, ax.yaxis)
