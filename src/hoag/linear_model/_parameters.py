"""Parameters of estimators: declared once, by the class that knows them, and documented there.

    @parameters
    class HuberRegressorCV(LinearEstimator):
        epsilon: float = 1.35

A class has the parameters of its bases and its own, as keywords of its constructor, each with the
paragraph in which the class that declares it describes it.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast, dataclass_transform

Class = TypeVar("Class", bound=type)

# The sections of a docstring that bases have a part in, and how an entry of them begins.
INHERITED = ("Parameters", "Attributes")
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def fitted(*, init: Literal[False] = False) -> Any:
    """What `fit` sets, and no parameter."""
    return field(init=init)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, fitted))
def parameters(cls: Class) -> Class:
    """The annotated attributes of a class as parameters of its constructor, kept as they are."""
    made: Any = dataclass(eq=False, repr=False, kw_only=True)
    return cast(Class, made(cls))


def sections(doc: str) -> dict[str, str]:
    """The text of each section of a docstring in numpydoc's form; what comes before them is ""."""
    parts = SECTION.split(doc)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> dict[str, str]:
    """The paragraphs of a section, by the names that they describe."""
    found = [entry for entry in ENTRY.split(section) if entry.strip()]
    return {name: entry for entry in found for name in entry.split(" :")[0].split(", ")}


def inherit_docs(cls: type) -> None:
    """Add to the docstring of a class what its bases say of the parameters that they declare."""
    if cls.__doc__ is None:  # also under python -OO
        return
    own = sections(inspect.cleandoc(cls.__doc__))
    for base in cls.__mro__[1:]:
        theirs = sections(inspect.cleandoc(base.__dict__.get("__doc__") or ""))
        for name in INHERITED:
            known, more = entries(own.get(name, "")), entries(theirs.get(name, ""))
            added = {k: text for k, text in more.items() if k not in known}
            if added:
                text = own.get(name, "").rstrip("\n")
                told = "".join(dict.fromkeys(added.values()))
                own[name] = (f"{text}\n{told}" if text else told).rstrip("\n") + "\n\n"
    order = ["", *INHERITED, *(name for name in own if name and name not in INHERITED)]
    shown = [f"{name}\n{'-' * len(name)}\n{own[name]}" if name else own[name]
             for name in order if own.get(name)]  # fmt: skip
    cls.__doc__ = "\n".join(part.rstrip("\n") + "\n" for part in shown)
