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
def parameters(kind: Class) -> Class:
    """The annotated attributes of a class as parameters of its constructor, kept as they are.

    Parameters
    ----------
    kind : type
        A class derived from an estimator of hoag. What `fit` sets is annotated with `= fitted()`.

    Returns
    -------
    type
        The same class, whose constructor takes its parameters and those of its bases by name.

    Examples
    --------
    >>> from hoag.linear_model import RegressorCV, parameters
    >>> @parameters
    ... class Scaled(RegressorCV):
    ...     scale: float = 1.0
    >>> Scaled(scale=2.0).get_params()["scale"]
    2.0
    """
    made: Any = dataclass(eq=False, repr=False, kw_only=True)(kind)
    inherit_docs(made)  # once more, in the order of the constructor
    return cast(Class, made)


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
    own, order = sections(inspect.cleandoc(cls.__doc__)), [*inspect.signature(cls).parameters]
    for name in INHERITED:
        known = entries(own.get(name, ""))
        for base in cls.__mro__[1:]:
            theirs = sections(inspect.cleandoc(base.__dict__.get("__doc__") or ""))
            known = entries(theirs.get(name, "")) | known
        names = sorted(known, key=lambda k: order.index(k) if k in order else len(order))
        told = dict.fromkeys(known[k].rstrip("\n") for k in names)
        own[name] = "\n".join(told) + "\n"
    parts = ["", *INHERITED, *(name for name in own if name and name not in INHERITED)]
    shown = [f"{name}\n{'-' * len(name)}\n{own[name]}" if name else own[name] for name in parts]
    cls.__doc__ = "\n".join(part.rstrip("\n") + "\n" for part in shown if part.strip())
