"""Moved to hoag._glm.first_pass, and rule_of to hoag._data.fold_rule."""

from hoag._data.fold_rule import rule_of as rule_of
from hoag._glm.first_pass import first_pass as first_pass
