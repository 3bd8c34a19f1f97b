"""Many penalties, and which of them do anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hoag._core.errors import InvalidParameterError
from hoag._core.numeric import Array
from hoag.plot import _style as style
from hoag.plot._display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

ROW = 0.15  # inches, for a name
# How penalties on a plateau are marked.
MARKS = {"switched off": "X", "free": "o"}


class PenaltiesDisplay(Display):
    """Penalties by name, strongest first; by feature and class where there are such; an image.

    Bars end at λ; a line through the end is where f stays within tol. Of more than `most` the
    strongest and the weakest are shown. Penalties on a plateau, "switched off" or "free", are
    marked.

    Parameters
    ----------
    lam : array (s,)
        The hyperparameters.
    names : list of str
        What each of them is called.
    interval : array (s, 2) or None, default=None
        Where f stays within tol of its least.
    plateaus : array of str (s,) or None, default=None
        "switched off", "free" or "" for each.
    columns : list of str or None, default=None
        The classes or targets, where each feature has a penalty for each of them: names are then
        those of the features, and `lam` is laid out feature by feature.
    image_shape : tuple of int (height, width) or None, default=None
        Where the features are the pixels of an image.
    most : int, default=20
        Penalties that are drawn.
    label : str, default="λ"
        What is drawn.
    sign : float or None, default=None
        λ is written as exp(sign·λ): 1 for α, −1 for C. As it is where the sign is None.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure, after `plot`
    ax_ : matplotlib.axes.Axes, after `plot`

    Examples
    --------
    >>> from hoag import RidgeCV
    >>> from hoag.plot import PenaltiesDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(penalties="per-feature", cv=5).fit(X, y)
    >>> display = PenaltiesDisplay.from_estimator(model)
    >>> len(display.ax_.get_yticklabels())
    10
    """

    def __init__(
        self,
        lam: Array,
        names: list[str],
        *,
        interval: Array | None = None,
        plateaus: ArrayLike | None = None,
        columns: list[str] | None = None,
        image_shape: tuple[int, int] | None = None,
        most: int = 20,
        label: str = "λ",
        sign: float | None = None,
    ) -> None:
        self.lam, self.names, self.interval = np.asarray(lam), names, interval
        self.plateaus = np.full(self.lam.size, "") if plateaus is None else np.asarray(plateaus)
        self.columns, self.image_shape, self.most = columns, image_shape, most
        self.label, self.sign = label, sign

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        ax: Axes | None = None,
        image_shape: tuple[int, int] | None = None,
        most: int = 20,
    ) -> PenaltiesDisplay:
        """Draw the penalties, or the widths of a kernel, of a fitted estimator.

        Parameters
        ----------
        estimator : a fitted estimator of hoag
        X, y : not needed
        ax : matplotlib.axes.Axes or None, default=None
        image_shape : tuple of int (height, width) or None, default=None
            Where the features are the pixels of an image.
        most : int, default=20
            Penalties that are drawn.

        Returns
        -------
        display : PenaltiesDisplay
        """
        estimator = style.checked(estimator)
        names, lam = style.lam_names(estimator), estimator._lam_of_features()
        widths, columns = style.has_widths(estimator), None
        word, sign = style.strength(estimator)
        if np.ndim(estimator.alpha_) == 2:  # one for each coefficient
            names = style.feature_names(estimator)
            outputs = range(lam.size // len(names))
            columns = [str(one) for one in vars(estimator).get("classes_", outputs)]
            columns = None if lam.size == len(names) else columns
        elif widths:
            names = style.feature_names(estimator) if lam.size > 1 else ["all features"]
        if image_shape is not None:
            _check_image(estimator, lam, image_shape)
        display = cls(
            lam,
            names[: lam.size],
            interval=estimator.lam_interval_[: lam.size],
            plateaus=vars(estimator).get("plateaus_"),
            columns=columns,
            image_shape=image_shape,
            most=most,
            label="γ (smooth → wiggly)" if widths else word,
            sign=sign,
        )
        return display.plot(ax)

    def _size(self) -> tuple[float, float]:
        rows = min(len(self.names), self.most) if self.image_shape is None else 14
        return style.SIZE[0], max(2.4, 0.21 * rows + 1.1)

    def _rows(self, ax: Axes) -> int:
        """How many have room for their names."""
        return min(self.most, max(4, 2 * int(0.5 * style.inches(ax.yaxis) / ROW)))

    def _draw(self, ax: Axes) -> None:
        if self.image_shape is not None:
            self._image(ax, self.image_shape)
        elif self.columns is not None:
            self._heat_map(ax, self.columns)
        else:
            self._bars(ax)

    def _bars(self, ax: Axes) -> None:
        lam = self.lam
        order = _ends(np.argsort(-lam, kind="stable"), self._rows(ax))
        at = np.arange(order.size, dtype=float)
        left_out = lam.size - order.size
        if left_out:
            at[order.size // 2 :] += 1
            ax.text(0.02, at[order.size // 2] - 1, f"… {left_out} between them",
                    va="center", fontsize="small", transform=ax.get_yaxis_transform())  # fmt: skip
        low, high = float(lam[order].min()), float(lam[order].max())
        start = low - (0.08 * (high - low) or 1.0)
        ax.barh(at, lam[order] - start, left=start, height=0.62, color=style.PATH, alpha=0.45)
        if self.interval is not None:
            for place, (least, most) in zip(at, self.interval[order], strict=True):
                ax.plot((max(least, start), most), (place, place), "-", color=style.ink(), lw=1,
                        label="" if place else "within tol of the best")  # fmt: skip
        plain = self.plateaus[order] == ""
        ax.plot(lam[order][plain], at[plain], "o", color=style.PATH, ms=4)
        self._mark(lam[order], at, self.plateaus[order], 6.0)
        ax.set_yticks(at, [style.short(self.names[j]) for j in order], fontsize="small")
        ax.set_ylim(at[-1] + 0.6, -0.6)
        most = high if self.interval is None else np.nanmax([high, *self.interval[order, 1]])
        ax.set_xlim(start, most + 0.05 * (most - start))
        style.logs(ax.xaxis, self.sign)
        ax.set_xlabel(self.label)
        self._legend(34.0)

    def _heat_map(self, ax: Axes, columns: list[str]) -> None:
        lam = self.lam.reshape(len(self.names), -1)
        order = _ends(np.argsort(-lam.mean(axis=1), kind="stable"), self._rows(ax))
        picture = ax.imshow(lam[order], aspect="auto", interpolation="nearest")
        style.bar(ax, picture, self.label, self.sign)
        words = self.plateaus.reshape(lam.shape)[order]
        rows, across = np.indices(words.shape)
        self._mark(across.ravel(), rows.ravel(), words.ravel(), 3.5)
        ax.set_yticks(range(order.size), [style.short(self.names[j]) for j in order],
                      fontsize="small")  # fmt: skip
        ax.set_xticks(range(len(columns)), [style.short(one, 10) for one in columns],
                      fontsize="small")  # fmt: skip
        if len(order) < len(self.names):
            half = len(order) // 2
            ax.axhline(half - 0.5, color="white", lw=3)
            ax.set_ylabel(f"the {half} strongest and the {half} weakest of {len(self.names)}")
        self._legend(24.0)

    def _image(self, ax: Axes, shape: tuple[int, int]) -> None:
        pixels = int(np.prod(shape))

        def images(values: Any) -> Any:
            return values.reshape(pixels, -1).T.reshape(-1, *shape)

        picture = ax.imshow(_tiled(images(self.lam), np.nan), interpolation="nearest")
        style.bar(ax, picture, self.label, self.sign)
        ax.set(xticks=[], yticks=[])
        tiles = _tiled(images(self.plateaus), "")
        y, x = np.indices(tiles.shape)
        self._mark(x.ravel(), y.ravel(), tiles.ravel(), min(6.0, 120 / len(tiles)))
        self._legend(8.0)

    def _mark(self, x: Array, y: Array, words: Any, size: float) -> None:
        for word, marker in MARKS.items():
            which = words == word
            if np.any(which):
                face = style.BEST if word == "switched off" else "white"
                ax, many = self.ax_, int(np.sum(self.plateaus == word))
                ax.plot(x[which], y[which], marker, color=face, mec=style.DARK, mew=size / 8,
                        ms=size, label=f"{word} ({many})", ls="none", zorder=4)  # fmt: skip

    def _legend(self, below: float) -> None:
        """Under the axes, with marks of one size however small they are drawn."""
        if self.ax_.get_legend_handles_labels()[0]:
            told = style.legend(self.ax_, columns=2, below=below)
            for mark in told.legend_handles:
                if mark.get_marker() in MARKS.values():
                    mark.set(markersize=6, markeredgewidth=0.8)


def _ends(order: Any, most: int) -> Any:
    """The first and the last, where there are more."""
    if order.size <= most:
        return order
    return np.concatenate([order[: most // 2], order[-(most // 2) :]])


def _tiled(images: Any, blank: Any) -> Any:
    """Images side by side, in about as many rows as columns, with a blank line between them."""
    columns = int(np.ceil(np.sqrt(len(images))))
    missing = np.full((-len(images) % columns, *images.shape[1:]), blank)
    tiles = np.concatenate([images, missing])
    tiles = np.pad(tiles, ((0, 0), (0, 1), (0, 1)), constant_values=blank)
    rows = [np.hstack(list(tiles[k : k + columns])) for k in range(0, len(tiles), columns)]
    return np.vstack(rows)[:-1, :-1]


def _check_image(estimator: Any, lam: Array, shape: tuple[int, int]) -> None:
    pixels = int(np.prod(shape))
    if lam.size % pixels or estimator.n_features_in_ != pixels:
        raise InvalidParameterError(
            f"image_shape={shape} has {pixels} pixels; the model has {estimator.n_features_in_} "
            f"features and {lam.size} hyperparameters. It needs one for each feature or each "
            "coefficient.",
            "image_shape",
            shape,
        )
