"""The page of a tuned model: the answer first, then the pictures it rests on, then what to do.

One HTML file that holds everything it shows, by the template page.html. Figures are drawn in the
page's own ink: what is black in them has the colour of the text around them, light or dark.
"""

from __future__ import annotations

import copy
import html
import io
import math
import platform
import re
import shlex
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from sklearn.base import clone

import hoag
from hoag._core.words import LOSSES
from hoag._core.writing import write_atomically
from hoag.cli import numeric
from hoag.cli.columns import DATE
from hoag.cli.families import FAMILIES, WITHOUT_FOLDS, is_additive, linear, plain
from hoag.cli.judge import settings, standard_error
from hoag.cli.saved import without_class
from hoag.cli.summary import brief, off, rows, score, terms
from hoag.plot._style import loss_name

ON_PAGE = 40  # penalties in the table
PLACES, AROUND = 13, 4.0  # of the curve
SOME = 100  # columns that may have a penalty each
OUTSIDE = 0.04  # rows that may be out of a picture where the target has outliers
FAR = " Up to one row of 25 is further out than the picture is high."
FOUND = "How many of a class are found, by how many others are taken for it."
CONFUSED = "Rows by their class and the one that was predicted, shaded by their share."
MEANS = "How often it happened, by the probability that it was given: best on the line."
LEFT = "What is left, by the prediction: where the squares leave the line, something was missed."
TRUTH = "The truth, by the prediction."
VARY = ("What is left, by the prediction, in units in which rows of small and large means vary "
        "alike. A bend in the squares says that something was missed.")  # fmt: skip
TENTHS = "The mean that came by the mean that was predicted, in tenths of the rows."
BELOW = "How many rows are below what was predicted, in tenths by that: on the line it is the"


class Page:
    """An HTML page, written top to bottom; `write` saves it. `style` is added to the template's."""

    style = ""

    def __init__(self, title: str, lead: str = "") -> None:
        self.title = title
        self._parts: list[str] = []
        self._sections: list[str] = []
        if lead:
            self.text(lead)

    def section(self, heading: str) -> None:
        self._sections.append(heading)
        self._parts.append(f'<h2 id="s{len(self._sections)}">{html.escape(heading)}</h2>')

    def text(self, sentence: str, kind: str = "") -> None:
        """A paragraph; `kind` "soft" is an aside, "lead agrees" and "lead disagrees" the answer."""
        mark = f' class="{kind}"' if kind else ""
        self._parts.append(f"<p{mark}>{html.escape(sentence)}</p>")

    def code(self, block: str) -> None:
        self._parts.append(f"<pre><code>{html.escape(block)}</code></pre>")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Columns whose every cell starts like a number are set flush right."""
        body = [[str(cell) for cell in row] for row in rows]
        right = [all(numeric(row[j]) for row in body) for j in range(len(header))]
        marks = [' class="number"' if flush else "" for flush in right]

        def line(tag: str, cells: Sequence[str]) -> str:
            marked = zip(marks, map(html.escape, cells), strict=True)
            return f"<tr>{''.join(f'<{tag}{mark}>{cell}</{tag}>' for mark, cell in marked)}</tr>"

        lines = "".join(line("td", row) for row in body)
        head = f"<thead>{line('th', header)}</thead>"
        self._parts.append(f'<div class="wide"><table>{head}<tbody>{lines}</tbody></table></div>')

    def figures(self, pairs: Iterable[tuple[Any, str]]) -> None:
        """Figures with their captions, side by side where there is room."""
        drawn = [
            f"<figure>{svg(picture, told)}<figcaption>{html.escape(told)}</figcaption></figure>"
            for picture, told in pairs
        ]
        self._parts.append(f'<div class="pair">{"".join(drawn)}</div>' if drawn[1:] else drawn[0])

    def html(self) -> str:
        named = enumerate(map(html.escape, self._sections), start=1)
        links = "".join(f'<a href="#s{k}">{heading}</a>' for k, heading in named)
        nav = f"<nav>{links}</nav>" if len(self._sections) > 2 else ""
        template = Template(files("hoag.cli").joinpath("page.html").read_text(encoding="utf-8"))
        title, body = html.escape(self.title), "\n".join(self._parts)
        return template.substitute(title=title, style=self.style, nav=nav, body=body)

    def write(self, path: str | Path) -> None:
        write_atomically(path, self.html().encode())


def svg(figure: Any, caption: str) -> str:
    """A matplotlib figure as an element of a page, the same text for the same picture.

    Text is outlines, so that it looks the same everywhere; black is left to the page. Hundredths of
    a point are enough for lines; transforms need all of their digits.
    """
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "hoag"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    whole = buffer.getvalue()
    whole = whole[whole.index("<svg") :].replace("#000000", "currentColor")
    whole = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", whole, flags=re.DOTALL)
    digits = re.compile(r"\d+\.\d{3,}")
    whole = re.sub(
        r' d="[^"]*"', lambda path: digits.sub(lambda n: f"{float(n[0]):.2f}", path[0]), whole
    )
    size = re.search(r'viewBox="([^"]*)"', whole)
    assert size is not None
    label = html.escape(caption, quote=True)
    opening = f'<svg viewBox="{size[1]}" role="img" aria-label="{label}">'
    return re.sub(r"\s*\n\s*", " ", opening + whole[whole.index(">") + 1 :]).strip()


def figure(height: float = 3.7, width: float = 5.2) -> Any:
    """Axes of a figure of its own, without pyplot, which would keep it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def page(found: dict[str, Any], tuned: Any, data: Any, jury: Any) -> Page:
    """Everything about a tuned model; the jury saw what its folds said of the rows held out."""
    import scipy
    import sklearn

    additive, kernel = is_additive(found["model"]), found["model"] == "kernel-ridge"
    baseline, path = found["baseline"], None
    own = additive or found["chosen_by"] in set(WITHOUT_FOLDS) - {"alo"}  # no held-out loss
    if not additive:
        tuned = copy.copy(tuned)
        tuned.feature_names_in_ = np.array(data.names, dtype=object)  # it was fitted to an array
    if not own and tuned.lam_.size == 1 + kernel:
        path = _path(tuned, data)
    target = found["target"] if isinstance(found["target"], str) else ", ".join(found["target"])
    page = Page(f"{target}, by {found['model']} on {Path(found['file']).name}")
    page.text(baseline["sentence"], f"lead {'agrees' if baseline['learnt'] else 'disagrees'}")
    how = "each row left out once" if isinstance(found["cv"], str) else f"{found['cv']} folds"
    told = f"On rows held out ({how}): {', '.join(map(score, found['scores']))}. {off(found)}"
    page.text(told.rstrip())
    if not own and FAMILIES[found["model"]].untuned is not None:
        page.text(_against_untuned(found, tuned, data))
    for message in found["warnings"]:
        page.text(f"Warning: {message}")
    chance = "These may be chance: the held-out rows do not tell them from nothing."
    if additive:
        page.section("The terms")
        page.text("" if baseline["learnt"] else chance)
        _terms(page, found, tuned)
    page.section("The loss")
    page.figures(_loss(found, tuned, path))
    if not kernel and not additive:
        page.section("The coefficients")
        page.text("" if baseline["learnt"] else chance)
        page.figures(_coefficients(FAMILIES[found["model"]].adds, tuned, data, path))
    if len(found["lam"]) > 1 and not additive:
        page.section("The kernel" if kernel else "The penalties")
        _penalties(page, found, tuned)
    page.section("Rows held out")
    page.figures(_held_out(found, data, tuned, *jury.together()))
    page.section("What to do next")
    _next(page, found, data.kinds)
    page.section("In numbers")
    page.table(("", ""), rows(found))
    page.section("Versions")
    page.text(
        f"hoag {hoag.__version__}, scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}",
        "soft",
    )
    return page


def _path(tuned: Any, data: Any) -> Any:
    """f along one penalty, measured; of many all the folds would have to be solved for anew."""
    flat = np.abs(tuned.lam_interval_ - tuned.lam_[:, None])[-1]
    around = max(AROUND, 1.5 * float(np.nan_to_num(flat).max()))
    return tuned.path(data.X, data.y, data.weights, around=around, points=PLACES, **data.given)


def _against_untuned(found: dict[str, Any], tuned: Any, data: Any) -> str:
    """What tuning gains over scikit-learn's defaults, with its standard error over the folds."""
    words, lam = FAMILIES[found["model"]].untuned or ("", 0.0)
    lams = np.full(tuned.lam_.size, lam)
    if found["model"] == "kernel-ridge":
        lams[:-1] = -math.log(found["features"])
    left = dict.fromkeys(("scoring", "callback", "checkpoint"))
    plain = clone(tuned).set_params(bounds=(lams, lams), rule="best", **left)
    plain.fit(data.X, data.y, sample_weight=data.weights, **data.given)
    worse, gain = plain.criterion_, plain.criterion_ - tuned.criterion_
    told = f"The {LOSSES[found['criterion']]} of an untuned model ({words}, as in scikit-learn) is "
    if not found["baseline"]["learnt"]:
        beside = "worse than" if worse > found["baseline"]["loss"] else "hardly better than"
        return f"{told}{worse:.5g}: {beside} a constant."
    each, own = (model.result_.evaluation.folds for model in (plain, tuned))
    if each is None or own is None:
        return f"{told}{worse:.5g}: tuning gains {brief(gain)}."
    error = standard_error((each - own) * len(own))
    more = f"{'' if gain > error else 'not '}more than the standard error of that, {brief(error)}"
    return f"{told}{worse:.5g}: tuning gains {brief(gain)}, {more}."


def _loss(found: dict[str, Any], tuned: Any, path: Any) -> list[Any]:
    from hoag.plot import CostDisplay, CriterionDisplay
    from hoag.plot import _held_out as held_out

    pictures = []
    if path is not None:
        shown = CriterionDisplay.from_estimator(tuned, path=path, ax=figure())
        told = "grey lines are the folds. The dashed line is one standard error above the least."
        pictures.append((shown.figure_, f"The loss at {path.loss.size} penalties; {told}"))
    if found["held_out_losses"]:
        ax, base = figure(), found["baseline"]
        name = f"held-out {LOSSES[found['criterion']]}"
        held_out.folds(ax, found["held_out_losses"], base["folds"], name, "constant")
        pictures.append((ax.figure, f"Every fold: the model, and {base['what']}; dashed: means."))
    if len(pictures) < 2:
        cost = CostDisplay.from_estimator(linear(tuned), ax=figure())
        if isinstance(found["chosen_by"], str):  # what is minimised is no loss of rows held out
            above = cost.ax_.get_ylabel().replace(loss_name(linear(tuned)), found["chosen_by"])
            cost.ax_.set_ylabel(above)
        pictures.append((cost.figure_, "What every step of the search had cost, and its loss."))
    return pictures


def _terms(page: Page, found: dict[str, Any], tuned: Any) -> None:
    from matplotlib.figure import Figure

    from hoag.plot import TermsDisplay

    shown = TermsDisplay.of(tuned)
    bands = "Bands and bars are where it is with a probability of 95 %, point by point. "
    bands = bands if any(panel.low is not None for panel in shown.panels) else ""
    told = f"What each term adds to {shown.adds}, all on one scale; 0 is its mean. {bands}"
    page.figures([(shown.plot(figure=Figure()).figure_, f"{told}Below are the rows.")])
    page.table(*terms(found))
    page.text(
        "edf are effective degrees of freedom: 1 is a straight line. The p-value is of the "
        "term being nothing, with penalties taken as known, though the same rows chose them.",
        "soft",
    )


def _coefficients(adds: str, tuned: Any, data: Any, path: Any) -> list[Any]:
    from hoag.plot import CoefficientPathDisplay
    from hoag.plot import _held_out as held_out
    from hoag.plot._coefficients import coefficient_names, deviations

    scaled = tuned.coef_ * deviations(data.X)
    many = min(14, scaled.size)
    ax = figure(height=max(2.2, 0.21 * many + 1.0))
    held_out.largest(ax, scaled, coefficient_names(tuned), many)
    told = f"what one standard deviation of the column adds to {adds or 'the prediction'}."
    pictures = [(ax.figure, f"The {many} largest of {scaled.size} coefficients: {told}")]
    if path is not None and path.coef is not None:
        shown = CoefficientPathDisplay.from_estimator(tuned, data.X, path=path, ax=figure())
        told = "The same as the penalty grows, the mean of the folds; the model is at the dashes."
        pictures.append((shown.figure_, told))
    return pictures


def _penalties(page: Page, found: dict[str, Any], tuned: Any) -> None:
    from hoag.plot import ContourDisplay, PenaltiesDisplay, StepsDisplay

    if len(found["lam"]) == 2:
        ways = [(ContourDisplay.from_estimator(tuned, ax=figure()).figure_,
                 "The way of the search, with the loss where it began and ended.")]  # fmt: skip
    else:
        height = max(2.4, 0.21 * min(len(found["lam"]), 20) + 1.1)
        strengths = PenaltiesDisplay.from_estimator(tuned, ax=figure(height))
        ways = [(strengths.figure_, "By strength; along the lines the loss is within tol."),
                (StepsDisplay.from_estimator(tuned, ax=figure()).figure_,
                 "As they were searched for.")]  # fmt: skip
    page.figures(ways)
    each = zip(found["lam"], found["names"], found["plateaus"], strict=True)
    ranked = sorted(each, reverse=True)
    if len(ranked) > ON_PAGE:
        half = ON_PAGE // 2
        page.text(f"The {half} largest and the {half} smallest of {len(ranked)}.")
        ranked = [*ranked[:half], *ranked[-half:]]
    lines = [(name, f"{lam:.4g}", f"{math.exp(min(lam, 700.0)):.4g}", word)
             for lam, name, word in ranked]  # fmt: skip
    page.table(("name", "λ", "exp(λ)", "plateau"), lines)


def _held_out(
    found: dict[str, Any], data: Any, tuned: Any, truth: Any, said: Any, weights: Any
) -> list[Any]:
    """Pictures of what the folds' models said of the rows that they were not fitted to."""
    from hoag import plot
    from hoag.plot import _held_out as held_out

    model, left, right = plain(found["model"]), figure(4.2), figure(4.2)
    if model == "cox":
        plot.SurvivalDisplay(truth["time"], truth["event"], said, weights).plot(left)
        left.set_xlabel(found["target"])
        return [(left.figure, "How many outlast each time (Kaplan and Meier), in three groups by "
                              "the risk that models gave them which had not seen them; bands are "
                              "one standard error.")]  # fmt: skip
    if FAMILIES[found["model"]].classifies:
        classes, ordered = list(np.unique(data.y)), model == "ordinal"
        both = np.column_stack([-said, said]) if said.ndim == 1 else said
        draw, first = (held_out.calibration, MEANS) if ordered else (held_out.roc, FOUND)
        draw(left, truth, both, weights, classes)
        if model in ("svc", "ordinal"):
            answers = np.array(classes)[np.argmax(both, axis=1)]
            plot.ConfusionDisplay(truth, answers, classes, weights).plot(right)
            return [(left.figure, first), (right.figure, CONFUSED)]
        held_out.calibration(right, truth, said, weights, classes)
        return [(left.figure, first), (right.figure, MEANS)]
    if found["criterion"] == "deviance":
        residuals = deviance_residuals(truth, said, settings(found["model"], tuned)["power"])
        plot.DevianceResidualsDisplay(said, residuals).plot(left)
        plot.TenthsDisplay(truth, said, weights).plot(right)
        return [(left.figure, VARY), (right.figure, TENTHS)]
    if model == "quantile":
        plot.BelowDisplay(truth, said, linear(tuned).quantile, weights).plot(left)
        held_out.truths(right, truth, said, OUTSIDE)
        return [
            (left.figure, f"{BELOW} {linear(tuned).quantile:g} quantile."),
            (right.figure, TRUTH + FAR),
        ]
    outside = (OUTSIDE,) if model == "huber" else ()
    said, far = (said[:, 0], FAR) if outside else (said, "")
    held_out.residuals(left, truth, said, *outside)
    if truth.ndim == 2:
        return [(left.figure, f"{LEFT} All targets, in standard deviations.")]
    held_out.truths(right, truth, said, *outside)
    return [(left.figure, LEFT + far), (right.figure, TRUTH)]


def deviance_residuals(y: Any, mean: Any, power: float) -> Any:
    """sign(y − μ) √d(y, μ): what is left, each in units in which such rows vary alike."""
    from scipy.special import xlogy

    if power == 1:
        half = xlogy(y, y / mean) - y + mean
    elif power == 2:
        half = y / mean - 1 - np.log(y / mean)
    else:
        p, q = 1 - power, 2 - power
        half = y**q / (p * q) - y * mean**p / p + mean**q / q
    return np.sign(y - mean) * np.sqrt(np.maximum(2 * half, 0.0))


def _next(page: Page, found: dict[str, Any], kinds: dict[str, str] | None) -> None:
    """In words that can be copied."""
    again, saved = found["command"], found["saved"]
    if not found["baseline"]["learnt"]:
        page.text(
            "Predictions of this model are hardly better than a constant, as far as these rows "
            "tell. More rows, other columns or another model may help; another penalty will not."
        )
        if found["model"] == "ridge" and isinstance(found["target"], str):
            page.code(f"# models that bend\n{again} --model gam\n{again} --model kernel-ridge")
        return
    line = f"hoag predict {shlex.quote(saved or 'model.skops')} FILE --out predictions.csv"
    line += " --survival-at 1,2,5" if found["model"] == "cox" else ""
    if not saved:
        page.text("The model was not saved. To keep it, and to predict with it:")
        page.code(f"{again} --save model.skops\n{line}")
    elif without_class(found["model"]):
        page.text("Predict on the command line:")
        page.code(line)
    else:
        rows = "a matrix" if kinds is None else "a pandas frame with the same columns"
        if kinds is not None and DATE in kinds.values():
            rows += ", and those that were made of dates (docs/command-line.md)"
        page.text("Predict on the command line, or in Python with scikit-learn and skops:")
        page.code(
            f"{line}\n\nimport skops.io\nmodel = skops.io.load({saved!r})\n"
            f"model.predict(rows){_exposed(found['family'])}  # {rows}"
        )
    each = found["model"] == "kernel-ridge" or is_additive(found["model"])
    if not each and found["features"] <= SOME and found["penalties"] == "shared":
        page.text("To see whether columns deserve penalties of their own:")
        page.code(f"{again} --penalties per-feature --report each.html")


def _exposed(known: dict[str, Any]) -> str:
    """What predictions of scikit-learn's class are multiplied with."""
    if "exposure" in known:
        return f" * rows[{known['exposure']!r}]"
    return f" * numpy.exp(rows[{known['offset']!r}])" if "offset" in known else ""
