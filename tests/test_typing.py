"""Scripts as users write them have no type errors: mypy --strict, and pyright in basic mode."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hoag

ROOT = Path(hoag.__file__).parent
SAMPLES = Path(__file__).parent / "typing_samples"
SCRIPTS = sorted(SAMPLES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_samples_run(script, tmp_path):
    told = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr


def test_mypy_finds_nothing_in_the_samples():
    pytest.importorskip("mypy")
    line = [sys.executable, "-m", "mypy", "--strict", "--disable-error-code=import-untyped"]
    found = subprocess.run(
        [*line, str(SAMPLES)], cwd=ROOT.parents[1], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout


def test_pyright_finds_nothing_in_the_samples(tmp_path):
    pytest.importorskip("pyright")
    settings = {
        "include": ["samples"],
        "extraPaths": [str(ROOT.parent)],
        "typeCheckingMode": "basic",
        "pythonVersion": "3.11",
    }
    shutil.copytree(SAMPLES, tmp_path / "samples", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    line = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(tmp_path)]
    line += ["--pythonpath", sys.executable]
    told = subprocess.run(line, env=os.environ, capture_output=True, text=True)
    if not told.stdout.strip().startswith("{"):
        pytest.skip("pyright is there, and what it fetches when it first runs is not")
    found = json.loads(told.stdout)
    assert found["summary"]["filesAnalyzed"] == len(SCRIPTS)
    wrong = found["generalDiagnostics"]
    assert not [(one["file"], one["range"]["start"]["line"] + 1, one["message"]) for one in wrong]


# Any in the signature of what is listed in __init__.pyi and in criteria, models and solvers.
HELD = (
    *("_minimize.py", "_linear.py", "_inner.py", "_schedules.py", "domains.py", "_glm/make.py"),
    *("_core/domain.py", "_core/scaling.py", "_criteria/base.py", "_criteria/select.py"),
)


@pytest.mark.parametrize("file", HELD)
def test_public_functions_take_no_any(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    loose = [
        (function.name, argument.arg)
        for function in public_functions(tree)
        for argument in (
            *function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs
        )
        if argument.annotation is not None and ast.unparse(argument.annotation) == "Any"
    ]  # fmt: skip
    assert not loose


def public_functions(tree: ast.AST) -> list[ast.FunctionDef]:
    """At the top, and in public classes."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found += public_functions(node)
        if isinstance(node, ast.FunctionDef) and (
            not node.name.startswith("_") or node.name == "__init__"
        ):
            found.append(node)
    return found
