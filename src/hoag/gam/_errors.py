"""What is wrong with the terms of an additive model, and with the columns that they read."""

from __future__ import annotations

from typing import Any

from hoag._core.errors import InvalidDataError, InvalidParameterError


def bad_terms(message: str, value: Any, hint: str, where: str = "") -> InvalidParameterError:
    """The error for what is wrong with the parameter `terms`."""
    return InvalidParameterError(message, parameter="terms", value=value, hint=hint, where=where)


def bad_column(label: str, what: str, hint: str) -> InvalidDataError:
    """The error for a column of the term with this label."""
    where = f"the column of {label}"
    return InvalidDataError(f"T{where[1:]} {what}:", hint=hint, where=where)
