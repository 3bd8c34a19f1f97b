"""Every sentence that the library may say, in a file that is reviewed: tests/messages.txt.

    python tests/messages.py    writes the file again; `make messages` does it

Errors, warnings and statuses are found in the source. {…} is filled in when it is said, and what is
after → is the hint: what to do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "hoag"
FILE = Path(__file__).with_name("messages.txt")

# Whoever is called so says a sentence; or makes an error or a status with one.
SPEAKS = re.compile(
    r"(\w+Error(\.of)?|warnings\.warn|(\w+\.)*(warn\w*|refuse\w*|noted|stalled|out_of_steps)"
    r"|Status|lost|_?left|sentence|_?unverified)"
)
# What is a sentence wherever it is handed on by these names.
FIELDS = ("why", "how", "left", "note", "used", "work", "end")


def text(node: ast.AST, known: dict[str, list[str]]) -> list[str]:
    """What an expression may say: a string, with {…} for what is filled in, or one of several."""
    match node:
        case ast.Constant(value=str(value)):
            return [value]
        case ast.JoinedStr(values=values):
            parts = [
                part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                for part in values
            ]
            return ["".join(map(str, parts))]
        case ast.IfExp(body=body, orelse=orelse):
            return text(body, known) + text(orelse, known)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [a + b for a in text(left, known) for b in text(right, known)]
        case ast.Name(id=name):
            return known.get(name, [])
    return []


def strings(function: ast.AST) -> dict[str, list[str]]:
    """What the names in a function stand for, where they stand for text."""
    known: dict[str, list[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found = text(node.value, {})
            known.setdefault(node.targets[0].id, []).extend(found)
    return known


def said(call: ast.Call, known: dict[str, list[str]]) -> Iterator[str]:
    """The sentences of one call."""
    name = ast.unparse(call.func)
    named = {word.arg: word.value for word in call.keywords}
    if name.endswith("Error.of") and len(call.args) >= 3:
        parameter, _, hint = call.args[:3]
        what = "".join(text(parameter, known)) or f"{{{ast.unparse(parameter)}}}"
        yield from (f"{what}={{…}}: → {one}" for one in text(hint, known))
        return
    hints = [one for one in text(named["hint"], known) if one] if "hint" in named else []
    first = call.args[: 1 + (name == "Status")] if SPEAKS.fullmatch(name) else []
    for argument in (*first, *map(named.get, FIELDS)):
        for one in [] if argument is None else text(argument, known):
            whole = [f"{one} → {hint}" for hint in hints] or [one.replace("\n", " → ")]
            yield from (" ".join(each.split()) for each in whole if " " in each)


def found() -> list[str]:
    """All of them, each with its file, in order."""
    lines = set()
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [
            node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Module)
        ]
        for function in functions:
            known = strings(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    lines |= {f"{file}: {one}" for one in said(node, known)}
    return sorted(lines)


if __name__ == "__main__":
    FILE.write_text("\n".join(found()) + "\n", encoding="utf-8")
