"""y ~ s(age) + te(lat, lon) + site: terms in the manner of R's mgcv.

    s(x, k=, bs=, by=, m=)   smooth(); bs="cc" and "cp" are cyclic, others are as they are here
    te(x, z, k=, bs=, by=)   tensor()
    x                        linear(), or category() where the column holds no numbers

Python's own grammar reads the right side, so that nothing has to be installed for it, and no code
of a formula is run. A name that is none in Python is quoted, s("body mass"), or in backticks, as in
R. `k` is the number of coefficients, as in mgcv.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from hoag.gam.terms import Column, Term, category, linear, smooth, tensor
from hoag.values import InvalidInput

_CYCLIC = ("cc", "cp")
_KNOWN = ("ps", "cr", "bs", "tp", "ts", "cs", *_CYCLIC)


def from_formula(
    formula: str, numeric: Callable[[Column], bool] = lambda column: True
) -> tuple[str | None, list[Term]]:
    """The name on the left, None where there is none, and the terms on the right.

    `numeric` says whether a column holds numbers: for columns that stand alone.

    >>> from hoag.gam import from_formula
    >>> target, terms = from_formula("y ~ s(age, k=10) + te(lat, lon) + dose")
    >>> target, [term.columns for term in terms]
    ('y', [('age',), ('lat', 'lon'), ('dose',)])
    """
    left, tilde, right = formula.partition("~")
    if not tilde:
        left, right = "", formula
    try:
        tree = ast.parse(right.strip().replace(":", "*").replace("`", '"'), mode="eval").body
    except SyntaxError:
        raise InvalidInput(
            f"The formula {formula!r} cannot be read: write y ~ s(x) + te(u, v) + z."
        ) from None
    terms = [_term(node, numeric, formula) for node in _summands(tree, formula)]
    found = [term for term in terms if term is not None]
    if not found:
        raise InvalidInput(f"The formula {formula!r} has no term.")
    return left.strip().strip("`\"'") or None, found


def _summands(node: ast.expr, formula: str) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_summands(node.left, formula), *_summands(node.right, formula)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        raise InvalidInput(
            f"{formula!r}: nothing can be taken away; there is always an intercept, and a term "
            "that is not wanted is left out."
        )
    if isinstance(node, ast.BinOp):
        raise InvalidInput(
            f"In {formula!r} terms are added, with +: for a surface write te(u, v), for a "
            "coefficient that varies s(x, by=u)."
        )
    return [node]


def _term(node: ast.expr, numeric: Callable[[Column], bool], formula: str) -> Term | None:
    if isinstance(node, ast.Constant) and node.value == 1:
        return None  # the intercept, which is always there
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return linear(node.value) if numeric(node.value) else category(node.value)
    if isinstance(node, ast.Constant):
        raise InvalidInput(f"{formula!r}: there is always an intercept; leave {node.value!r} out.")
    if isinstance(node, ast.Name):
        return linear(node.id) if numeric(node.id) else category(node.id)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise InvalidInput(f"{ast.unparse(node)!r} in {formula!r} is no term: use s(x), te(u, v).")
    columns = [_column(part, formula) for part in node.args]
    options = {str(part.arg): _option(part, formula) for part in node.keywords}
    kind = node.func.id
    if kind in ("category", "factor", "linear") and len(columns) == 1 and not options:
        return linear(columns[0]) if kind == "linear" else category(columns[0])
    if kind == "s" and len(columns) == 1 and options.get("bs") == "re":
        return category(columns[0])
    if kind == "s" and len(columns) == 1:
        return smooth(columns[0], **_arguments(options, "s", formula))
    if kind in ("te", "s") and len(columns) > 1:
        if kind == "s" and isinstance(options.get("k"), int) and options["k"] > 0:
            options["k"] = round(options["k"] ** (1 / len(columns)))  # of s(u, v) k is of all
        return tensor(*columns, **_arguments(options, kind, formula))
    raise InvalidInput(
        f"{ast.unparse(node)!r} in {formula!r}: known are s(x), te(u, v), factor(x) and names of "
        "columns; what else is wanted is computed before."
    )


def _arguments(options: dict[str, Any], kind: str, formula: str) -> dict[str, Any]:
    """mgcv's k, bs, by and m as ours."""
    unknown = set(options) - {"k", "bs", "by", "m"}
    if unknown:
        raise InvalidInput(
            f"{formula!r}: {kind}() has no {sorted(unknown)[0]!r} here; known are k, bs, by and m."
        )
    found: dict[str, Any] = {}
    bases = options.get("bs", "ps")
    for one in bases if isinstance(bases, tuple) else (bases,):
        if one not in _KNOWN:
            raise InvalidInput(f"{formula!r}: bs={one!r} is not known; {', '.join(_KNOWN)} are.")
    around = tuple(one in _CYCLIC for one in bases) if isinstance(bases, tuple) else None
    cyclic = around if around is not None else bases in _CYCLIC
    if cyclic:
        found["cyclic"] = cyclic
    if isinstance(options.get("k"), int) and options["k"] < 0:
        del options["k"]  # mgcv's word for its default
    if "k" in options:
        found["knots"] = _knots(options["k"], cyclic)
    if "by" in options:
        found["by"] = options["by"]
    if "m" in options:
        found["order"] = options["m"]
    return found


def _knots(k: Any, cyclic: Any) -> Any:
    """So many knots as k coefficients have, of cubic pieces; around, one more than those."""
    if isinstance(k, tuple):
        around = cyclic if isinstance(cyclic, tuple) else (cyclic,) * len(k)
        return tuple(_knots(one, c) for one, c in zip(k, around, strict=True))
    return max(int(k) + 1 if cyclic else int(k) - 2, 2)


def _column(node: ast.expr, formula: str) -> Column:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, str)):
        return node.value
    raise InvalidInput(f"{ast.unparse(node)!r} in {formula!r} is no column: compute it before.")


def _option(part: ast.keyword, formula: str) -> Any:
    """A number, a word, the name of a column, or c(…) of such."""
    node = part.value
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.literal_eval(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "c":
        return tuple(_option(ast.keyword(part.arg, one), formula) for one in node.args)
    raise InvalidInput(f"{part.arg}={ast.unparse(node)} in {formula!r}: give a number or a word.")
