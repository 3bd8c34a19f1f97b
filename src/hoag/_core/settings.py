"""Objects that show the settings they were made with."""

from __future__ import annotations

import inspect


class Settings:
    """Settings given to the constructor and kept under their names; shown where they matter."""

    def __repr__(self) -> str:
        shown = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            if parameter.default is inspect.Parameter.empty or value != parameter.default:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"
