"""The library's sentences in the words of the command line: --bounds, and not bounds=.

Every error, warning and status that is shown goes through `spoken`, and nothing else does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

OPTIONS = {
    "max_iter": "--max-iter",
    "time_budget": "--time-budget",
    "n_jobs": "--jobs",
    "sample_weight": "--weights",
    **{
        name: f"--{name}"
        for name in (
            *("tol", "bounds", "starts", "criterion", "penalties", "widths", "certificate"),
            "checkpoint",
        )
    },
    "scoring": "--scoring",
    "cv": "--cv",
}
RULES = (
    (r"give bounds=\(lower, upper\)(, in log units)?", "give --bounds LOW HIGH, logs of penalties"),
    (r"widen bounds\b", "widen --bounds"),
    (r"scale the columns \(standardize=True\)", "leave --no-scale out"),
    (r"Raise max_iter or tol\b", "Raise --max-iter or --tol"),
    (r"^(power|quantile|epsilon)=(\S*?)(\.0)?:", r"--\1 \2:"),
    (r"power 0 is RidgeCV", "power 0 is --model ridge"),
    (r"\blam_interval_", "the λ interval"),
    (r"\blam\b", "λ"),
    (r"\bby columns=\[\.\.\.\]", "with --drop"),
    (r"\bby categories=\[('[^']*'|\.\.\.)\]", r"with --category \1"),
    (r"\bby dialect=\{'na': \[\.\.\.\]\}", "with --na"),
    (r"choose another folder by cache=, or cache=None", "choose another folder with --cache"),
)


def spoken(message: str, lams: Sequence[str] = (), columns: Sequence[str] = ()) -> str:
    """One line for somebody who gave options, and no parameters.

    lams     the names of the hyperparameters, for lam_[3]
    columns  those of the columns, for "column 3 of X"
    """

    def option(match: re.Match[str]) -> str:
        value = match["value"].strip("'")
        return f"{OPTIONS[match['name']]} {value.removesuffix('.0')}"

    def lam(match: re.Match[str]) -> str:
        j = int(match[1])
        several = len(lams) > 1 and j < len(lams)
        return f"λ of {lams[j]}" if several else "λ"

    def column(match: re.Match[str]) -> str:
        j = int(match[2])
        return f"{match[1]}olumn '{columns[j]}'" if j < len(columns) else match[0]

    message = " ".join(message.split())
    message = re.sub(r"\blam_?\[(\d+)\]", lam, message)
    for pattern, words in RULES:
        message = re.sub(pattern, words, message)
    message = re.sub(r"\b([Cc])olumn (\d+)( of X)?", column, message)
    names = "|".join(OPTIONS)
    message = re.sub(
        rf"(?<![-\w])(?P<name>{names}) ?= ?(?P<value>'[^']*'|\([^)]*\)|[-+\w.]*\w)", option, message
    )
    return message.replace(" of X,", ",").replace(" of X ", " ")
