"""Pictures of a search, in the manner of scikit-learn's Display objects; needs matplotlib.

>>> from hoag import RidgeCV, plot
>>> from sklearn.datasets import load_diabetes
>>> model = RidgeCV(cv=5).fit(*load_diabetes(return_X_y=True))
>>> len(plot.TuningDisplay(model.result_).steps) >= 1
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from hoag.values import Array, InvalidInput, Result

PATH, BEST, BAND = "#0072B2", "#D55E00", "#56B4E9"

# Up to so many hyperparameters each is a line; more are a heat map.
LINES = 12

# How penalties on a plateau are marked: a marker, and the style of a line.
MARKS = {"switched off": ("X", "--"), "free": ("o", ":")}


class TuningDisplay:
    """How λ was found: its path, the held-out loss with its certificate, the loss by passes.

    One hyperparameter: the loss over λ, as the values and slopes of the steps give it, in a band
    of what those may be off. Two: contours with the path. Many: a heat map, or an image when the
    features form one.

    >>> from hoag import RidgeCV
    >>> from hoag.plot import TuningDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> model = RidgeCV(cv=5).fit(*load_diabetes(return_X_y=True))
    >>> display = TuningDisplay(model.result_, interval=model.lam_interval_)  # .plot() draws it
    >>> display.result.converged
    True

    Parameters
    ----------
    result : hoag.Result
    interval : array (s, 2) or None
        Where the criterion is within tol of its best (`lam_interval_`).
    names : list of str
        The hyperparameters' names.
    image : array (images, height, width) or None
        The penalties found, as images.
    surface : tuple (x, y, values) or None
        The criterion on a grid, for contours of two hyperparameters; without it the contours are
        those of a quadratic fitted to the steps.
    plateaus : array of str (s,) or None
        Which hyperparameters are "switched off" or "free" (`plateaus_`): they are marked.

    Attributes
    ----------
    figure_, axes_ : the figure and its three axes, after `plot`
    """

    def __init__(
        self,
        result: Result,
        *,
        interval: Array | None = None,
        names: list[str] | None = None,
        image: Array | None = None,
        surface: tuple[Array, Array, Array] | None = None,
        plateaus: Any = None,
    ) -> None:
        self.result, self.interval, self.image, self.surface = result, interval, image, surface
        # A search may begin with a look at x₀, where nothing is solved for: f is not known there.
        solved = [step for step in result.trace if np.isfinite(step.evaluation.highest)]
        self.steps = solved or list(result.trace)
        size = result.lam.size
        self.names = names or (["λ"] if size == 1 else [f"λ[{j}]" for j in range(size)])
        self.plateaus = np.full(size, "") if plateaus is None else np.asarray(plateaus)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        image_shape: tuple[int, int] | None = None,
        axes: Any = None,
        grid: int = 15,
        **params: Any,
    ) -> TuningDisplay:
        """Plot the search of a fitted estimator of this library.

        X, y         for two hyperparameters: evaluate the true criterion on a grid × grid of
                     points around the path, for its contours
        image_shape  (height, width), when the features are the pixels of an image
        axes         three matplotlib axes to draw on
        params       sample_weight and groups, as they were given to fit, for the true criterion
        """
        from hoag.estimators.base import TunedEstimator

        if not isinstance(estimator, TunedEstimator) or "result_" not in vars(estimator):
            raise InvalidInput(
                f"This {type(estimator).__name__} has no result_: fit it first, with an estimator "
                "of hoag."
            )
        contours = X is not None and estimator.lam_.size == 2
        display = cls(
            estimator.result_,
            interval=estimator.lam_interval_,
            names=_labels(estimator),
            image=None if image_shape is None else _images(estimator, image_shape),
            surface=_surface(estimator, X, y, grid, params) if contours else None,
            plateaus=vars(estimator).get("plateaus_"),
        )
        return display.plot(axes)

    def plot(self, axes: Any = None) -> TuningDisplay:
        """Draw on three axes, or on a new figure."""
        if axes is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError:
                raise ImportError("hoag.plot needs matplotlib: pip install 'hoag[plot]'.") from None
            _, axes = plt.subplots(1, 3, figsize=(13.5, 3.9), layout="constrained")
        axes = np.ravel(axes)
        if axes.size != 3:
            raise InvalidInput(f"plot() draws on three axes; {axes.size} were given.")
        self.axes_, self.figure_ = axes, axes[0].figure
        lam = np.array([step.lam for step in self.steps])
        if self.image is not None:
            self._draw_image(axes[0])
        elif lam.shape[1] == 2:
            self._draw_contours(axes[0], lam)
        elif lam.shape[1] <= LINES:
            self._draw_lines(axes[0], lam)
        else:
            self._draw_heat_map(axes[0], lam)
        if lam.shape[1] == 1:
            self._draw_curve(axes[1], lam[:, 0])
        else:
            self._draw_loss_by_step(axes[1])
        self._draw_passes(axes[2])
        return self

    def _loss(self) -> tuple[Array, Array]:
        """The loss of every step, and its estimated error."""
        found = [step.evaluation for step in self.steps]
        loss = np.array([evaluation.value for evaluation in found])
        return loss, np.nan_to_num([evaluation.f_error for evaluation in found])

    def _draw_lines(self, ax: Any, lam: Array) -> None:
        one = lam.shape[1] == 1
        steps, color = np.arange(1, len(lam) + 1), PATH if one else None
        for j, path in enumerate(lam.T):
            style = MARKS.get(self.plateaus[j], ("", "-"))[1]
            ax.plot(steps, path, style, marker="o", ms=4, lw=1.2, color=color, label=self.names[j])
        if not one:
            self._mark(ax, np.full(lam.shape[1], steps[-1]), lam[-1], self.plateaus, rows=1)
        if one and self.interval is not None:
            low, high = self.interval[0]
            ax.axhspan(low, high, color=PATH, alpha=0.15, lw=0)
            told = f"within tol of the best:\n{low:.3g} to {high:.3g}"
            ax.text(0.98, 0.95, told, transform=ax.transAxes, ha="right", va="top",
                    fontsize="small")  # fmt: skip
        if not one:
            ax.legend(fontsize="x-small", ncols=2)
        _by_step(ax, ylabel="λ", title="Path of λ")

    def _draw_heat_map(self, ax: Any, lam: Array) -> None:
        order = np.argsort(lam[-1], kind="stable")
        extent = (0.5, len(lam) + 0.5, 0, lam.shape[1])
        picture = ax.imshow(
            lam.T[order], aspect="auto", origin="lower", extent=extent, interpolation="nearest"
        )
        ax.figure.colorbar(picture, ax=ax, label="λ")
        _by_step(ax, ylabel="hyperparameters, by their last λ", title="Path of λ")
        if np.any(self.plateaus != ""):  # beside the map, at its right
            ax.set_xlim(0.5, 0.5 + 1.08 * len(lam))
            beside = np.full(order.size, 0.5 + 1.04 * len(lam))
            rows = np.arange(0.5, order.size)
            self._mark(ax, beside, rows, self.plateaus[order], rows=order.size)
            ax.set_xticks([tick for tick in ax.get_xticks() if 1 <= tick <= len(lam)])
            _legend(ax, below=0.14)

    def _draw_image(self, ax: Any) -> None:
        images = np.asarray(self.image)
        picture = ax.imshow(_tiled(images, np.nan))
        ax.figure.colorbar(picture, ax=ax, label="λ")
        ax.set(xticks=[], yticks=[], title="λ of every feature")
        if self.plateaus.size == images.size and np.any(self.plateaus != ""):
            words = self.plateaus.reshape(images[0].size, -1).T.reshape(images.shape)
            tiles = _tiled(words, "")
            y, x = np.indices(tiles.shape)
            self._mark(ax, x.ravel(), y.ravel(), tiles.ravel(), rows=len(tiles))
            _legend(ax, below=0.02)

    def _mark(self, ax: Any, x: Array, y: Array, words: Any, rows: int) -> None:
        """A mark for every hyperparameter on a plateau, and a line of the legend for each word.

        Marks are small where there are so many `rows` that they would hide one another.
        """
        size = min(6.0, 120 / rows)
        for word, (marker, _) in MARKS.items():
            which = words == word
            if np.any(which):
                face = BEST if word == "switched off" else "white"
                ax.plot(x[which], y[which], marker, color=face, mec="black", mew=size / 8, ms=size,
                        label=f"{word} ({np.sum(which)})", ls="none")  # fmt: skip

    def _draw_contours(self, ax: Any, lam: Array) -> None:
        x, y, values = self.surface if self.surface is not None else self._quadratic(lam)
        rise = values - np.nanmin(values)
        top = float(np.nanmax(rise)) or 1.0
        levels = np.geomspace(top / 500, top, 12)
        contours = ax.contourf(x, y, rise, levels=levels, cmap="viridis_r", extend="min")
        bar = ax.figure.colorbar(contours, ax=ax, format="%.1e")
        bar.set_label("loss above the least" + ("" if self.surface is not None else ", modelled"))
        ax.plot(lam[:, 0], lam[:, 1], "o-", color="white", mec="black", ms=5, lw=1.2)
        ax.plot(*self.result.lam, "*", color=BEST, ms=14, mec="black")
        both = [f"{n}, {word}" if word else n for n, word in zip(self.names, self.plateaus)]
        ax.set(xlabel=both[0], ylabel=both[1], title="Path of λ")

    def _quadratic(self, lam: Array) -> tuple[Array, Array, Array]:
        """c + bᵀd + ½ dᵀHd by least squares from losses and gradients, near ones weighing more."""
        best = self.result.lam
        rows, right = [], []
        for step in self.steps:
            d, found = step.lam - best, step.evaluation
            weight = 1.0 / (0.3 + float(d @ d))
            u, v = d
            rows += [
                [weight * t for t in (1.0, u, v, 0.5 * u * u, u * v, 0.5 * v * v)],
                [weight * t for t in (0.0, 1.0, 0.0, u, v, 0.0)],
                [weight * t for t in (0.0, 0.0, 1.0, 0.0, u, v)],
            ]
            right += [weight * found.value, *(weight * found.grad)]
        c, b0, b1, h00, h01, h11 = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
        x, y = _around(lam)
        u, v = np.meshgrid(x - best[0], y - best[1])
        values = c + b0 * u + b1 * v + 0.5 * (h00 * u**2 + 2 * h01 * u * v + h11 * v**2)
        return x, y, values

    def _draw_curve(self, ax: Any, lam: Array) -> None:
        loss, off = self._loss()
        slopes = np.array([step.evaluation.grad[0] for step in self.steps])
        errors = np.nan_to_num([step.evaluation.error for step in self.steps], posinf=0.0)
        # Where a step returned to a λ, the last and most precise evaluation counts.
        x, from_end = np.unique(lam[::-1], return_index=True)
        last = len(lam) - 1 - from_end
        if x.size > 1:
            t = np.linspace(x[0], x[-1], 400)
            curve = CubicHermiteSpline(x, loss[last], slopes[last])(t)
            nearest = np.argmin(np.abs(t[:, None] - x), axis=1)
            reach = np.abs(t - x[nearest])
            band = off[last][nearest] + errors[last][nearest] * reach
            ax.fill_between(t, curve - band, curve + band, color=BAND, alpha=0.4, lw=0,
                            label=_error_label(band))  # fmt: skip
            ax.plot(t, curve, color=PATH, lw=1)
        ax.errorbar(lam, loss, yerr=off, fmt="o", ms=4, color=PATH, label="steps")
        best = self.result.evaluation
        ax.plot(best.lam, best.value, "*", color=BEST, ms=13, mec="black", label="chosen")
        if self.interval is not None:
            ax.axvspan(*self.interval[0], color=BEST, alpha=0.12, lw=0)
        ax.legend(fontsize="small")
        ax.set(xlabel=self.names[0], ylabel="mean held-out loss", title="Held-out loss")

    def _draw_loss_by_step(self, ax: Any) -> None:
        loss, off = self._loss()
        steps = np.arange(1, len(loss) + 1)
        ax.fill_between(steps, loss - off, loss + off, color=BAND, alpha=0.4, lw=0,
                        label=_error_label(off))  # fmt: skip
        ax.plot(steps, loss, "o-", ms=4, lw=1.2, color=PATH, label="steps")
        ax.legend(fontsize="small")
        _by_step(ax, ylabel="mean held-out loss", title="Held-out loss")

    def _draw_passes(self, ax: Any) -> None:
        loss, _ = self._loss()
        passes = np.array([step.cost.passes + step.cost.grams for step in self.steps])
        grams = any(step.cost.grams for step in self.steps)
        highest = np.array([step.evaluation.highest for step in self.steps])
        least = np.minimum.accumulate(highest)
        best = np.maximum.accumulate(np.where(highest == least, np.arange(len(loss)), 0))
        ax.step(passes, loss[best], where="post", color="0.6", lw=1.2, label="best so far")
        ax.plot(passes, loss, "o", ms=4, color=PATH, label="steps")
        ax.legend(fontsize="small")
        label = "passes over the data" + (" and Gram matrices" if grams else "")
        ax.set(xlabel=label, ylabel="mean held-out loss", title="Loss by cost")


def _error_label(band: Array) -> str:
    return f"± estimated error, ≤ {band.max():.0e}" if band.max() > 0 else "no error but rounding"


def _by_step(ax: Any, **labels: str) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set(xlabel="step", **labels)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _legend(ax: Any, below: float) -> None:
    """Under the axes, with marks of one size however small they are drawn."""
    told = ax.legend(loc="upper center", bbox_to_anchor=(0.5, -below), ncols=2, fontsize="small")
    for mark in told.legend_handles:
        mark.set(markersize=6, markeredgewidth=0.8)


def _tiled(images: Any, blank: Any) -> Any:
    """Images side by side, in about as many rows as columns, with a blank line between them."""
    columns = int(np.ceil(np.sqrt(len(images))))
    missing = np.full((-len(images) % columns, *images.shape[1:]), blank)
    tiles = np.concatenate([images, missing])
    tiles = np.pad(tiles, ((0, 0), (0, 1), (0, 1)), constant_values=blank)
    rows = [np.hstack(list(tiles[k : k + columns])) for k in range(0, len(tiles), columns)]
    return np.vstack(rows)[:-1, :-1]


def _labels(estimator: Any) -> list[str]:
    names = estimator._lam_names()
    return ["λ = log α"] if len(names) == 1 else [f"λ[{name}]" for name in names]


def _images(estimator: Any, shape: tuple[int, int]) -> Array:
    pixels = int(np.prod(shape))
    lam = estimator._lam_of_features()
    if lam.size % pixels or estimator.n_features_in_ != pixels:
        raise InvalidInput(
            f"image_shape={shape} has {pixels} pixels; the model has {estimator.n_features_in_} "
            f"features and {lam.size} hyperparameters. It needs one for each feature or each "
            "coefficient."
        )
    return np.asarray(lam.reshape(pixels, -1).T.reshape(-1, *shape))


def _around(lam: Array, margin: float = 0.15, points: int = 80) -> tuple[Array, Array]:
    low, high = lam.min(axis=0), lam.max(axis=0)
    room = np.maximum(margin * (high - low), 0.3)
    x, y = np.linspace(low - room, high + room, points).T
    return x, y


def _surface(
    estimator: Any, X: Any, y: Any, grid: int, params: dict[str, Any]
) -> tuple[Array, Array, Array]:
    lam = np.array([step.lam for step in estimator.result_.trace])
    x_axis, y_axis = _around(lam, points=grid)
    values = [[estimator.criterion_at((u, v), X, y, **params) for u in x_axis] for v in y_axis]
    return x_axis, y_axis, np.array(values)
