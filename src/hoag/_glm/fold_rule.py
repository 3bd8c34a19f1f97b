"""Moved to hoag._data.fold_rule."""

from hoag._data.fold_rule import FoldRule as FoldRule
