"""What is affordable: the one place where sizes are compared with what machines bear.

The tables of `hoag._criteria.select` are written in these words, and so is what a criterion can do
for a search.
"""

from __future__ import annotations

from hoag._core.numeric import ROUNDOFF
from hoag._glm.basis import FEW
from hoag.problems import Problem

# What takes at most so many products of numbers is cheap enough to scan with.
CHEAP = 3e7
# Up to so many rows or columns, whichever are fewer, squares with one penalty are decomposed; up to
# the square of it entries are held as an array.
DECOMPOSED = 3 * FEW
# Up to so many coefficients a Newton step by a factor is faster than by conjugate gradients; with
# a squared loss the matrix is formed once, which pays for longer (up to FEW).
DIRECT = 300
# With fewer rows than coefficients conjugate gradients ends after as many steps as rows.
DIRECT_WIDE = 100
# So many rows for each coefficient, and for a hundred of them at least, say where to start.
SAMPLE = 20


def factorable(size: int) -> bool:
    """Whether a factor of such a matrix is affordable at every step."""
    return size <= FEW


def decomposable(size: int) -> bool:
    """Whether one decomposition of it is, for every λ."""
    return size <= DECOMPOSED


def storable(rows: int, columns: int) -> bool:
    """Whether such rows may be kept as an array, where they are wide, or sparse."""
    return rows * columns <= DECOMPOSED**2


def cheap(products: float) -> bool:
    """Whether evaluations of so many products of numbers may scan the whole box."""
    return products <= CHEAP


def sample_size(coefficients: int) -> int:
    """How many rows say where a search had better begin."""
    return SAMPLE * max(coefficients, 100)


def tall(rows: int, coefficients: int) -> bool:
    """Whether rows are so many that folds hardly differ in their Hessians."""
    return rows >= 2 * sample_size(coefficients)


def by_factors(problem: Problem) -> bool:
    """Whether the linear systems of one problem are solved by a factor of the Hessian."""
    facts = problem.facts
    if facts is None:
        return False
    if facts.quadratic:
        return facts.formed or factorable(facts.side)
    return facts.side <= (DIRECT if facts.side <= facts.rows else DIRECT_WIDE)


def to_rounding(problem: Problem) -> bool:
    """Whether factors solve it to rounding at no further cost."""
    facts = problem.facts
    if facts is None or not by_factors(problem) or problem.inner is not None:
        return False
    if not facts.convex or problem.roundoff > ROUNDOFF:
        return False
    return facts.side <= DIRECT if facts.quadratic else cheap(facts.rows * facts.side**2)
