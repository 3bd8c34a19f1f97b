"""Sums whose bits do not depend on who adds which summand first.

    Σᵢ vᵢ = (…((v₀ + v₁) + (v₂ + v₃)) + …)

Summands are the leaves of a binary tree: node j of level l is the sum of the leaves from j2ˡ to
(j + 1)2ˡ − 1. What is left over, where their number is no power of two, is added from the right to
the left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# A node of the tree, (level, number).
Node = tuple[int, int]


class Tree:
    """A sum over leaves that come in any order, alone or as nodes that somebody else has added up.

    >>> from hoag._data.tree import Tree
    >>> tree = Tree()
    >>> for leaf in (2, 0, 1):
    ...     tree.add((0, leaf), 10.0**leaf)
    >>> sorted(tree.nodes), tree.total
    ([(0, 2), (1, 0)], 111.0)
    """

    def __init__(self) -> None:
        self.nodes: dict[Node, Any] = {}

    def add(self, node: Node, value: Any) -> None:
        level, number = node
        while (sibling := (level, number ^ 1)) in self.nodes:
            other = self.nodes.pop(sibling)
            value = plus(value, other) if number % 2 == 0 else plus(other, value)
            level, number = level + 1, number // 2
        self.nodes[level, number] = value

    @property
    def total(self) -> Any:
        """All that came, added."""
        ends = sorted(self.nodes, key=lambda node: -(node[1] << node[0]))
        found = self.nodes[ends[0]]
        for node in ends[1:]:
            found = plus(self.nodes[node], found)
        return found


def plus(a: Any, b: Any) -> Any:
    """a + b for numbers and arrays, for tuples of them, and for what has a `plus` of its own."""
    if isinstance(a, (int, float, np.ndarray, np.generic)):
        return a + b
    if isinstance(a, tuple) and "plus" not in dir(type(a)):
        both = [plus(one, other) for one, other in zip(a, b, strict=True)]
        return type(a)(*both) if "_fields" in dir(type(a)) else tuple(both)
    return a.plus(b)
