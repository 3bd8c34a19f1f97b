"""What there is to say of one family of models and of no other: its own settings and findings."""

from __future__ import annotations

from typing import Any

import numpy as np

from hoag.cli.families import linear, plain


def of(data: Any, tuned: Any, seen: list[Any]) -> dict[str, Any]:
    """As plain numbers and text; `seen` are the rows held out."""
    found: dict[str, Any] = dict(data.roles)
    model, tuned = plain(data.model), linear(tuned)
    if model == "tweedie":
        found |= {"power": tuned.power_, "dispersion": vars(tuned).get("dispersion_")}
    if model == "quantile":
        below = [float(one.weights @ (one.truth < one.said)) for one in seen]
        share = sum(below) / sum(float(one.weights.sum()) for one in seen) if seen else None
        found |= {"quantile": tuned.quantile, "share_below": share}
    if model == "huber":
        outliers = int(tuned.outliers_.sum())
        found |= {"epsilon": tuned.epsilon, "spread": tuned.scale_, "outliers": outliers}
    if data.model == "ordinal":
        found["thresholds"] = tuned.thresholds_.tolist()
    if data.model == "cox":
        found |= {"events": int(np.sum(data.y["event"])), "rows": len(data.y)}
        if "strata" in data.given:
            found["number_of_strata"] = len(np.unique(data.given["strata"]))
    return found


def lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as lines of the table."""
    told = list[tuple[str, str]]()
    for option in ("exposure", "offset"):
        if option in found:
            told.append((option, found[option]))
    if "power" in found:
        tuned = found["dispersion"]
        how = "" if tuned is None else f", at which held-out rows are likeliest, φ = {tuned:.4g}"
        told.append(("power", f"{found['power']:.4g}{how}"))
    if "quantile" in found:
        share = found["share_below"]
        what = "of held-out rows are below what is predicted"
        below = "" if share is None else f"; {100 * share:.3g} % {what}"
        told.append(("quantile", f"{found['quantile']:g}{below}"))
    if "outliers" in found:
        rows = f"{found['outliers']} row{'' if found['outliers'] == 1 else 's'}"
        told.append(("outliers", f"{rows} further than {found['epsilon']:g} spreads of "
                                 f"{found['spread']:.4g} from the prediction"))  # fmt: skip
    if "thresholds" in found:
        told.append(("thresholds", ", ".join(f"{value:.4g}" for value in found["thresholds"])))
    if "events" in found:
        strata = f", in {found['number_of_strata']} strata" if "strata" in found else ""
        told.append(("events", f"{found['events']} in {found['rows']} rows{strata}"))
    return told
