"""Which of many parameters `make test` runs; `make test-all` runs them all."""

from __future__ import annotations

import pytest


def quick(values, some):
    """The values as parameters, of which all but some are marked slow."""
    return [one if one in some else pytest.param(one, marks=pytest.mark.slow) for one in values]


def quick_pairs(pairs, true):
    """The same of pairs: those are quick of which `true` holds."""
    return [pair if true(*pair) else pytest.param(*pair, marks=pytest.mark.slow) for pair in pairs]
