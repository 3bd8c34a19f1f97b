"""Every public object says, section by section, what it takes and returns, and how to use it."""

from __future__ import annotations

import importlib
import inspect
import types
from enum import Enum
from functools import cache

import pytest

import hoag

validate = pytest.importorskip("numpydoc.validate")

# What numpydoc asks that is not asked here: where quotes and See Also stand, that summaries begin
# with a verb or a capital letter (formulas do not), and an extended summary.
NOT_ASKED = {"GL01", "GL02", "SS02", "SS05", "ES01", "PR06", "PR08", "RT02", "RT04", "SA01", "SA04"}
# Nobody makes these but the functions that their docstrings name.
MADE_BY_OTHERS = {"Dataset", "Entry", "Explanation", "Fit", "LinearModel", "Partitions", "Result"}


@cache
def public() -> dict[str, object]:
    """{dotted name: object}, each under the shortest of its names."""
    found = {}
    modules = [name for name in dir(hoag) if name != "__version__"]
    for name in modules:
        try:
            thing = getattr(hoag, name)
        except ImportError:  # JAX, PyTorch or Dask is not installed
            continue
        inside = {f"hoag.{name}.{n}": getattr(thing, n) for n in getattr(thing, "__all__", ())}
        found |= inside if isinstance(thing, types.ModuleType) else {f"hoag.{name}": thing}
    shortest: dict[int, str] = {}
    for name in sorted(found, key=lambda name: name.count("."), reverse=True):
        shortest[id(found[name])] = name
    return {name: found[name] for name in sorted(shortest.values())}


HELD = [
    name for name, thing in public().items() if inspect.isclass(thing) or inspect.isfunction(thing)
]


def home(thing: object) -> str:
    """As numpydoc finds it."""
    return f"{thing.__module__}.{thing.__qualname__}"


@pytest.mark.parametrize("name", HELD)
def test_the_docstring_of_every_public_object_is_complete(name):
    thing = public()[name]
    importlib.import_module(thing.__module__)
    wrong = [
        f"{code}: {said}"
        for code, said in validate.validate(home(thing))["errors"]
        if code not in NOT_ASKED and code not in excused(thing)
    ]
    assert not wrong


def excused(thing: object) -> set[str]:
    """What makes no sense here: how to make an error, a protocol, an enum, or what others make."""
    if not inspect.isclass(thing):
        return set()
    if issubclass(thing, Exception) and thing is not hoag.HoagError:
        return {"PR01", "EX01"}
    protocol = vars(thing).get("_is_protocol", False) or issubclass(thing, Enum)
    return {"PR01"} if protocol or thing.__name__ in MADE_BY_OTHERS else set()


@pytest.mark.parametrize("name", HELD)
def test_every_parameter_has_its_default(name):
    thing = public()[name]
    doc = validate.Validator(validate.get_doc_object(thing))
    try:
        parameters = inspect.signature(thing).parameters
    except ValueError:  # of an exception
        return
    without = [
        one
        for one, parameter in parameters.items()
        if parameter.default is not parameter.empty
        and one in doc.doc_all_parameters
        and "default=" not in doc.parameter_type(one)
    ]
    assert not without


@pytest.mark.parametrize("name", [name for name in HELD if inspect.isclass(public()[name])])
def test_every_public_member_of_a_class_says_what_it_is(name):
    """Those that a class defines or inherits from hoag; a property or a method, not a number."""
    thing = public()[name]
    silent = [
        member
        for member, value in inspect.getmembers_static(thing)
        if not member.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, (property, staticmethod, classmethod)))
        and not (inspect.getdoc(getattr(thing, member)) or "").strip()
    ]
    assert not silent


def test_modules_say_what_they_are_for_with_an_example():
    for name in dir(hoag):
        module = getattr(hoag, name) if name not in ("dask", "jax", "torch") else None
        if isinstance(module, types.ModuleType):
            assert ">>>" in (module.__doc__ or ""), name
