"""The page of a tuned model: the answer first, then the pictures it rests on, then what to do."""

from __future__ import annotations

import copy
import math
import platform
import shlex
from pathlib import Path
from typing import Any

import numpy as np

import hoag
from hoag.cli.families import FAMILIES, GAM, is_additive, linear, plain
from hoag.cli.held_out_page import figure, held_out_rows
from hoag.cli.saved import without_class
from hoag.cli.summary import brief, rows, score, terms
from hoag.plot._style import LOSSES, loss_name

ON_PAGE = 40  # penalties in the table
PLACES, AROUND = 13, 4.0  # of the curve
NEAR = 1e-3  # a path about one place
SOME = 100  # columns that may have a penalty each


def page(found: dict[str, Any], tuned: Any, data: Any, seen: list[Any]) -> Any:
    """Everything about a tuned model; `seen` is what its folds said of the rows held out."""
    import scipy
    import sklearn

    from hoag.cli.report import Page

    additive = is_additive(found["model"])
    if not additive:
        tuned = _named(tuned, data)
    path = None if additive else _path(tuned, data)
    target = found["target"] if isinstance(found["target"], str) else ", ".join(found["target"])
    page = Page(f"{target}, by {found['model']} on {Path(found['file']).name}")
    page.lead(found["baseline"]["sentence"], found["baseline"]["learnt"])
    page.text(_scores(found))
    if FAMILIES[found["model"]].untuned is not None:
        page.text(_against_untuned(found, tuned, data, path))
    for message in found["warnings"]:
        page.text(f"Warning: {message}")
    if additive:
        page.section("The terms")
        _terms(page, found, tuned)
    page.section("The loss")
    _loss(page, found, tuned, path)
    if found["model"] != "kernel-ridge" and not additive:
        page.section("The coefficients")
        if not found["baseline"]["learnt"]:
            page.text("What chance has left in them: they say nothing about the columns.")
        _coefficients(page, FAMILIES[found["model"]].adds, tuned, data, path)
    if len(found["lam"]) > 1 and not additive:
        page.section("The penalties" if found["model"] != "kernel-ridge" else "The kernel")
        _penalties(page, found, tuned)
    page.section("Rows held out")
    held_out_rows(page, found, data, tuned, seen)
    page.section("What to do next")
    _next(page, found, data.kinds is not None)
    page.section("In numbers")
    page.table(("", ""), rows(found))
    page.section("Versions")
    page.text(
        f"hoag {hoag.__version__}, scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}",
        "soft",
    )
    return page


def _named(tuned: Any, data: Any) -> Any:
    """The model with the names of its columns; it was fitted to an array."""
    model = copy.copy(tuned)
    model.feature_names_in_ = np.array(data.names, dtype=object)
    return model


def _path(tuned: Any, data: Any) -> Any:
    """f along one penalty, measured; of many all the folds would have to be solved for anew."""
    kernel = tuned._lam_of_features().size < tuned.lam_.size
    if tuned.lam_.size > 1 + kernel:
        return None
    flat = np.abs(tuned.lam_interval_ - tuned.lam_[:, None])[-1]
    around = max(AROUND, 1.5 * float(np.nan_to_num(flat).max()))
    return tuned.path(data.X, data.y, data.weights, around=around, points=PLACES, **data.given)


def _scores(found: dict[str, Any]) -> str:
    how = "each row left out once" if found["cv"] == "loo" else f"{found['cv']} folds"
    return f"On rows held out ({how}): {', '.join(map(score, found['scores']))}."


def _against_untuned(found: dict[str, Any], tuned: Any, data: Any, here: Any) -> str:
    """What tuning gains over scikit-learn's defaults, with its standard error over the folds.

    `here` is the path whose middle is the model, where it was measured.
    """
    from hoag.linear_model._path import standard_error

    untuned = FAMILIES[found["model"]].untuned
    assert untuned is not None
    words, lam = untuned
    plain = copy.copy(tuned)
    plain.lam_ = np.full(tuned.lam_.size, lam)
    if found["model"] == "kernel-ridge":
        plain.lam_[:-1] = -math.log(found["features"])
    there = plain.path(data.X, data.y, data.weights, around=NEAR, points=3, **data.given)
    if not np.array_equal(there.lam[1], plain.lam_):
        return "An untuned model is outside the bounds that were searched."
    if here is None:
        here = tuned.path(data.X, data.y, data.weights, around=NEAR, points=3, **data.given)
    middle = here.loss.size // 2
    worse, gain = float(there.loss[1]), float(there.loss[1] - here.loss[middle])
    told = (
        f"The {LOSSES[found['criterion']]} of an untuned model ({words}, as in "
        f"scikit-learn) is {worse:.5g}"
    )
    if not found["baseline"]["learnt"]:
        constant = found["baseline"]["loss"]
        return f"{told}: {'worse than' if worse > constant else 'hardly better than'} a constant."
    if there.folds is None or here.folds is None:
        return f"{told}: tuning gains {brief(gain)}."
    each = there.folds[1] - here.folds[middle]
    error = float(standard_error(each[None], there.weights)[0])
    more = "more" if gain > error else "not more"
    return (
        f"{told}: tuning gains {brief(gain)}, {more} than the standard error of that, "
        f"{brief(error)}."
    )


def _loss(page: Any, found: dict[str, Any], tuned: Any, path: Any) -> None:
    from hoag.plot import CostDisplay, CriterionDisplay
    from hoag.plot import _held_out as held_out

    pictures = []
    if path is not None:
        shown = CriterionDisplay.from_estimator(tuned, path=path, ax=figure())
        pictures.append((
            shown.figure_,
            f"The held-out loss at {path.loss.size} penalties, each solved for, with straight "
            "lines between them; grey lines are the folds. The dashed line is one standard error "
            "above the least.",
        ))  # fmt: skip
    losses, baseline = found["held_out_losses"], found["baseline"]
    if losses:
        ax = figure()
        name = f"held-out {LOSSES[found['criterion']]}"
        held_out.folds(ax, losses, baseline["folds"], name, "constant")
        pictures.append((
            ax.figure,
            f"Every fold: the model, and predicting {baseline['what']} for every row. Dashed are "
            "the means.",
        ))  # fmt: skip
    if len(pictures) < 2:
        cost = CostDisplay.from_estimator(linear(tuned), ax=figure())
        if isinstance(found["chosen_by"], str):  # what is minimised is no loss of rows held out
            above = cost.ax_.get_ylabel().replace(loss_name(linear(tuned)), found["chosen_by"])
            cost.ax_.set_ylabel(above)
        pictures.append((cost.figure_, "What every step of the search had cost, and its loss."))
    page.figures(pictures)


def _terms(page: Any, found: dict[str, Any], tuned: Any) -> None:
    from matplotlib.figure import Figure

    from hoag.plot import TermsDisplay

    if not found["baseline"]["learnt"]:
        page.text("What chance has left in them: they say nothing about the columns.")
    shown = TermsDisplay.of(tuned)
    bands = any(panel.low is not None for panel in shown.panels)
    page.figure(
        shown.plot(figure=Figure()).figure_,
        f"What each term adds to {shown.adds}, all on one scale; 0 is its mean. "
        + ("Bands and bars are where it is with a probability of 95 %, point by point. " if bands
           else "")
        + "Below are the rows.",
    )  # fmt: skip
    page.table(*terms(found))
    page.text(
        "edf is how many coefficients a term is worth, of as many as its basis has: 1 is a "
        "straight line. The p-value is that of the term being nothing, with penalties taken as "
        "known, though the same rows chose them. A term is straight, or gone, where its penalty "
        "is infinite.",
        "soft",
    )


def _coefficients(page: Any, adds: str, tuned: Any, data: Any, path: Any) -> None:
    from hoag.plot import CoefficientPathDisplay
    from hoag.plot import _held_out as held_out
    from hoag.plot._coefficients import coefficient_names, deviations

    names = coefficient_names(tuned)
    scaled = tuned.coef_ * deviations(data.X)
    many = min(14, scaled.size)
    ax = figure(height=max(2.2, 0.21 * many + 1.0))
    held_out.largest(ax, scaled, names, many)
    pictures = [(
        ax.figure,
        f"The {many} largest of {scaled.size} coefficients: what one standard deviation of the "
        f"column adds to {adds or 'the prediction'}.",
    )]  # fmt: skip
    if path is not None and path.coef is not None:
        shown = CoefficientPathDisplay.from_estimator(tuned, data.X, path=path, ax=figure())
        pictures.append((
            shown.figure_,
            "The same as the penalty grows, the mean of the folds' models. The dashed line is "
            "where the model is.",
        ))  # fmt: skip
    page.figures(pictures)


def _penalties(page: Any, found: dict[str, Any], tuned: Any) -> None:
    from hoag.plot import ContourDisplay, PenaltiesDisplay, StepsDisplay

    if len(found["lam"]) == 2:
        ways = [(ContourDisplay.from_estimator(tuned, ax=figure()).figure_,
                 "The way of the search, with the loss where it began and ended.")]  # fmt: skip
    else:
        height = max(2.4, 0.21 * min(len(found["lam"]), 20) + 1.1)
        strengths = PenaltiesDisplay.from_estimator(tuned, ax=figure(height))
        steps = StepsDisplay.from_estimator(tuned, ax=figure())
        ways = [(strengths.figure_, "By strength; along the lines the loss is within tol."),
                (steps.figure_, "As they were searched for.")]  # fmt: skip
    page.figures(ways)
    words = any(found["plateaus"])
    each = zip(found["lam"], found["names"], found["plateaus"], strict=True)
    ranked = sorted(each, reverse=True)
    if len(ranked) > ON_PAGE:
        half = ON_PAGE // 2
        page.text(f"The {half} largest and the {half} smallest of {len(ranked)}.")
        ranked = [*ranked[:half], *ranked[-half:]]
    lines = [
        (name, f"{lam:.4g}", f"{math.exp(min(lam, 700.0)):.4g}", *([word] if words else []))
        for lam, name, word in ranked
    ]
    page.table(("name", "λ", "exp(λ)", *(["plateau"] if words else [])), lines)


def _next(page: Any, found: dict[str, Any], named: bool) -> None:
    """In words that can be copied."""
    again = f"hoag tune {shlex.quote(found['file'])}"
    targets = [found["target"]] if isinstance(found["target"], str) else found["target"]
    again += "".join(f" --target {shlex.quote(one)}" for one in targets if named)
    short, again = again, again + _own(found)
    if not found["baseline"]["learnt"]:
        page.text(
            "Do not predict with this model: a constant does as well. The columns may say nothing "
            "about the target, the rows may be too few, or a linear model may not see what "
            "is there. Other columns, more rows or another model may help; another penalty will "
            "not."
        )
        if found["model"] == "ridge" and len(targets) == 1:
            page.code(f"# models that bend\n{short} --model gam\n{short} --model kernel-ridge")
        return
    if found["saved"]:
        line = f"hoag predict {shlex.quote(found['saved'])} FILE --out predictions.csv"
        rows = "a pandas frame with the same columns" if named else "a matrix"
        if without_class(found["model"]):
            page.text("Predict on the command line:")
            page.code(line + (" --survival-at 1,2,5" if found["model"] == "cox" else ""))
        else:
            page.text("Predict on the command line, or in Python with scikit-learn and skops:")
            page.code(
                f"{line}\n\nimport skops.io\nmodel = skops.io.load({found['saved']!r})\n"
                f"model.predict(rows){_exposed(found['family'])}  # {rows}"
            )
    else:
        page.text("The model was not saved. To keep it, and to predict with it:")
        page.code(f"{again} --save model.skops\nhoag predict model.skops FILE")
    each = found["model"] == "kernel-ridge" or is_additive(found["model"])
    few = not each and found["features"] <= SOME
    if few and found["penalties"] == "shared" and found["cv"] != "loo":
        page.text("To see whether columns deserve penalties of their own:")
        page.code(f"{again} --penalties per-feature --report each.html")


def _own(found: dict[str, Any]) -> str:
    """The options that make this model, where it was asked for."""
    family, known = FAMILIES[found["model"]], found["family"]
    if found["why"] and found["terms"] is None:
        return ""
    options = {name: known[name] for name in family.columns if name in known}
    options |= {name: f"{known[name]:.4g}" for name in family.settings}
    if found["terms"] is not None:
        options = {"family": plain(found["model"]), **options}
        if found["formula"] is not None:
            options["terms"] = found["formula"]
        if found["scale"] is not None:
            options["scale"] = found["scale"]
    told = [f"--{name} {shlex.quote(str(value))}" for name, value in options.items()]
    model = GAM if is_additive(found["model"]) else found["model"]
    return " ".join(["", f"--model {model}", *told])


def _exposed(known: dict[str, Any]) -> str:
    """What predictions of scikit-learn's class are multiplied with."""
    if "exposure" in known:
        return f" * rows[{known['exposure']!r}]"
    return f" * numpy.exp(rows[{known['offset']!r}])" if "offset" in known else ""
