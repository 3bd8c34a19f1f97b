"""The public names of hoag, read from the package itself, and the reference pages made of them."""

import importlib
import inspect
import types
from pathlib import Path

import hoag


def members(module):
    """(name, object) for what a module offers: its __all__, or what is defined in it."""
    names = vars(module).get("__all__")
    if names is None:
        names = [
            name
            for name, thing in vars(module).items()
            if not name.startswith("_") and vars_module(thing) == module.__name__
        ]
    things = [(name, getattr(module, name)) for name in names]
    return [(n, t) for n, t in things if inspect.isclass(t) or inspect.isfunction(t)]


def vars_module(thing):
    return thing.__module__ if inspect.isclass(thing) or inspect.isfunction(thing) else None


def is_protocol(thing):
    return inspect.isclass(thing) and thing.__dict__.get("_is_protocol", False)


def installed(name):
    """hoag.dask, hoag.jax or hoag.torch, where what it needs is installed."""
    try:
        return importlib.import_module(f"hoag.{name}")
    except ImportError:
        return None


def public():
    """Sections of the reference: {title: (module or None, {dotted name: object})}.

    An object is told once, under the shortest of its names.
    """
    from sklearn.base import BaseEstimator

    top = {name: getattr(hoag, name) for name in hoag.__all__}
    optional = ("dask", "jax", "torch")
    top |= {name: module for name in optional if (module := installed(name)) is not None}
    modules = {name: t for name, t in top.items() if isinstance(t, types.ModuleType)}
    things = {f"hoag.{name}": t for name, t in top.items() if name not in modules}
    kinds = {
        "Estimators": lambda t: inspect.isclass(t) and issubclass(t, BaseEstimator),
        "Functions": inspect.isfunction,
        "Criteria": lambda t: issubclass(t, (hoag.criteria.Criterion, hoag.criteria.Traits)),
        "Values and errors": lambda t: True,
    }
    sections, told = {}, set()
    for title, belongs in kinds.items():
        own = {n: t for n, t in things.items() if id(t) not in told and belongs(t)}
        told |= {id(t) for t in own.values()}
        sections[title] = (None, own)
    for name, module in modules.items():
        found = members(module)
        own = {n: t for n, t in found if id(t) not in told and not is_protocol(t)}
        sections[f"hoag.{name}"] = (module, {f"{module.__name__}.{n}": t for n, t in own.items()})
        told |= {id(t) for t in own.values()}
    return sections


def write(folder: Path):
    """One page that lists everything; autosummary makes one for each object."""
    lines = ["Reference", "=========", ""]
    lines += ["Every example below is run when the library is tested.", ""]
    for title, (module, things) in public().items():
        lines += [title, "-" * len(title), ""]
        if module is not None:
            lines += [f".. automodule:: {module.__name__}", "   :no-members:", "   :no-index:", ""]
        if things:
            lines += [".. autosummary::", "   :toctree: .", "   :nosignatures:", ""]
            inside = "" if module is None else f"{module.__name__}."  # the module is current
            lines += [f"   {name.removeprefix(inside)}" for name in things] + [""]
    folder.mkdir(exist_ok=True)
    page, text = folder / "index.rst", "\n".join(lines)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def skip(app, what, name, thing, skipping, options):
    """What comes from scikit-learn or Python itself is documented there."""
    home = thing.__module__ if inspect.isfunction(thing) else None
    if inspect.isroutine(thing) and not (home or "").startswith("hoag"):
        return True
    return skipping
