"""A package whose names stand once, in its stub, and are imported when they are asked for."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def attach(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and the names of the `__init__.pyi` beside an `__init__.py`.

    A line `from hoag._minimize import minimize as minimize` there says where a name is; what comes
    from the package itself is one of its modules. What is only declared there is defined already.

    >>> import hoag
    >>> find, names, public = attach("hoag")
    >>> find("Box") is hoag.Box, "Box" in public, "inspect" in names()
    (True, True, False)
    """
    module = sys.modules[package]
    stub = Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {
        alias.name: str(node.module)
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    return find, lambda: sorted([*homes, "__version__"]), sorted(homes)
