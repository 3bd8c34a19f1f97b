"""Moved to hoag._data.checks."""

from hoag._data.checks import not_a_number as not_a_number
from hoag._data.standardize import near_zero as near_zero
