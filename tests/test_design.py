"""What docs/design.md says of the code: the walk through one fit, the layers, no probing."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest
import registry
from sklearn.datasets import load_breast_cancer

import hoag

ROOT = Path(hoag.__file__).parent
DESIGN = (ROOT.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
FILES = {str(path.relative_to(ROOT)): path for path in ROOT.rglob("*.py")}

# The borders where what others made comes in: a problem, the Hessian that its points hold, and the
# domain of λ, which may be any object with `project`.
BORDERS = {"problems.py", "_linalg/operator.py", "domains.py"}
# getattr by a name that the line itself makes: modules, options, members under test.
BY_NAME = {"__init__.py", "_core/lazy.py", "_core/settings.py", "_core/deprecated.py", "testing.py"}
OUTSIDE = ("datasets.py", "_data/dialect.py", "cli/")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(path: Path, name: str) -> list[int]:
    tree = parsed(path)
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def test_no_collaborator_is_probed():
    probing = {
        file: lines
        for file, path in FILES.items()
        if file not in BORDERS and (lines := calls(path, "hasattr"))
    }
    assert not probing
    reading = {
        file: lines
        for file, path in FILES.items()
        if file not in BORDERS | BY_NAME
        and not file.startswith(OUTSIDE)
        and (lines := calls(path, "getattr"))
    }
    assert not reading


# Overrides that refuse, and why that is an answer.
REFUSALS = {
    # a Lipschitz constant of g that no bounded slope gives: the caller is asked for a number
    ("LeaveOneOut", "outer_lipschitz"),
    # the partial likelihood is no sum over rows, and has a term of its own
    ("PartialLikelihood", "at"),
}


def refuses(function: ast.FunctionDef) -> bool:
    """Whether all that it does, but for a docstring, is to raise one of these two."""
    body = [node for node in function.body if not isinstance(node, ast.Expr)]
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    return (
        ast.unparse(body[0])
        .removeprefix("raise ")
        .startswith(("NotImplementedError", "InvalidInputError"))
    )


def test_a_subclass_answers_everything_that_its_base_promises():
    """No override in the core is there to refuse what was inherited."""
    classes = {
        node.name: node
        for file, path in FILES.items()
        if file.startswith(("_glm/", "_data/", "_criteria/"))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
    }

    def inherited(name: str) -> set[str]:
        """The names of all that the bases of a class, as far as they are ours, define."""
        bases = [ast.unparse(base).split("[")[0].split(".")[-1] for base in classes[name].bases]
        ours = [base for base in bases if base in classes and base != name]
        own = [node.name for base in ours for node in classes[base].body
               if isinstance(node, ast.FunctionDef)]  # fmt: skip
        return {*own, *(method for base in ours for method in inherited(base))}

    refused = {
        (name, node.name)
        for name, found in classes.items()
        for node in found.body
        if isinstance(node, ast.FunctionDef)
        and refuses(node)
        and (node.name in inherited(name) or (name, node.name) in REFUSALS)
    }
    assert not refused - REFUSALS
    assert not [file for file, path in FILES.items() if attribute(path, "far")]


def attribute(path: Path, name: str) -> list[int]:
    """Where anybody asks whether something is far; Huber's loss has residuals that are."""
    if path.name == "pairs.py":
        return []
    return [
        node.lineno
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr == name
    ]


# From the lowest: whatever stands in hoag, a file or a folder, has its place.
LAYERS = (
    *("_core", "_schedules errors", "domains", "track", "_linalg", "problems", "_data", "datasets"),
    *("_linear", "_kinks", "_inner", "solvers", "_glm", "models", "_criteria", "criteria glm"),
    *("data", "dask"),
    *("optimize", "autodiff", "_minimize", "jax", "torch", "testing"),
    "linear_model penalties",  # what penalties= takes is made for estimators, and made by some
    *(
        "gam",
        "_explain",
        "plot",
        "cli",
        "estimators search far inner linear schedules unrolled",
        "__main__",
    ),
)


def layer(module: str) -> int | None:
    parts = module.split(".")
    unit = parts[1] if parts[0] == "hoag" and len(parts) > 1 else None
    return next((k for k, units in enumerate(LAYERS) if unit in units.split()), None)


def test_every_unit_has_its_layer():
    units = {file.split("/")[0].removesuffix(".py") for file in FILES} - {"__init__"}
    assert sorted(units) == sorted(" ".join(LAYERS).split())


def test_imports_point_one_way():
    """At import time: what a function imports when it is called is its own affair."""
    wrong = []
    for file, path in FILES.items():
        own = layer("hoag." + file.removesuffix(".py").replace("/", "."))
        for node in parsed(path).body:
            if own is not None and isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                theirs = [layer(name) for name in [node.module, *names]]
                wrong += [(file, node.module) for other in theirs if other and other > own]
    assert not wrong


# What factors, decomposes or solves: in SciPy's names, and as attributes of numpy.linalg.
FACTORISATIONS = {
    *("cholesky", "cholesky_banded", "cho_factor", "cho_solve", "cho_solve_banded", "dpotrf"),
    *("dpotrs", "dgetrf", "dgetrs", "dtrtrs", "dgejsv", "ldl", "lu", "lu_factor", "lu_solve"),
    *("solve", "solve_triangular", "solve_banded", "solveh_banded", "solve_toeplitz", "inv"),
    *("pinv", "pinvh", "lstsq", "eig", "eigh", "eigvals", "eigvalsh", "eigh_tridiagonal"),
    *("qr", "rq", "svd", "svdvals", "orth", "null_space", "slogdet", "det", "matrix_rank"),
    *("cond", "tensorsolve", "spsolve", "splu", "spilu", "factorized", "eigsh", "eigs", "svds"),
    *("lobpcg", "cg", "minres", "gmres", "lsmr", "lsqr"),
}
# Where they still stand outside of _linalg.
ELSEWHERE = {"optimize/_newton.py"}
# Other packages' arrays, and pictures.
FOREIGN = ("_linalg/", "jax/", "torch/", "autodiff/", "plot/")


def factorisations(path: Path) -> list[str]:
    """Names imported from scipy.linalg and its like, and attributes of np.linalg, by line."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and "linalg" in (node.module or ""):
            ours = str(node.module).startswith("hoag")
            found += [a.name for a in node.names if a.name in FACTORISATIONS and not ours]
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.endswith("linalg")]
        elif isinstance(node, ast.Attribute) and node.attr in FACTORISATIONS:
            value = node.value
            found += [node.attr] * (getattr(value, "attr", getattr(value, "id", "")) == "linalg")
    return found


def test_factorisations_are_only_in_linalg():
    found = {
        file: names
        for file, path in FILES.items()
        if not file.startswith(FOREIGN) and (names := factorisations(path))
    }
    assert not {file: names for file, names in found.items() if file not in ELSEWHERE}
    assert set(found) == ELSEWHERE  # what has moved is no exception any more


# ---- one file chooses

SELECT = "_criteria/select.py"
# What is affordable: whoever compares a size with one of them chooses by it.
AFFORDABLE = {"FEW", "DIRECT", "DIRECT_WIDE", "CHEAP", "DECOMPOSED", "SAMPLE", "sample_size"}
# Classes of criteria that are asked for outside of `select`.
ASKING = {
    ("_criteria/folds.py", "Criterion"),  # what may be added
}


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def in_criteria() -> list[tuple[str, ast.Module]]:
    return [(f, parsed(path)) for f, path in FILES.items() if f.startswith("_criteria/")]


def subclasses(names: set[str]) -> set[str]:
    """These classes and all that derive from them, by name, in the files of criteria."""
    classes = [
        n for _, tree in in_criteria() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)
    ]
    while True:
        more = {c.name for c in classes if set().union(*map(names_in, c.bases)) & names}
        if more <= names:
            return names
        names = names | more


def test_only_one_file_compares_sizes_to_choose():
    comparing = {
        file
        for file, tree in in_criteria()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and names_in(node) & AFFORDABLE
    }
    assert comparing == {"_criteria/affordable.py"}


def test_no_other_file_asks_which_criterion_or_curvature_there_is():
    kinds = subclasses({"Criterion", "Preconditioner"})
    assert {"Spectral", "FoldedFits", "SharedCurvature", "Sketch", "Rescaled"} <= kinds
    asking = {
        (file, name)
        for file, tree in in_criteria()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and names_in(node.func) == {"isinstance"}
        for name in names_in(node.args[1]) & kinds
    }
    assert {each for each in asking if each[0] != SELECT} <= ASKING


def classes_asked_for(tree: ast.Module) -> set[str]:
    """The names in the second argument of isinstance, and in the patterns of match."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "isinstance":
                found |= {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
        elif isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            found.add(node.cls.id)
    return found


def test_no_search_asks_for_the_class_of_a_criterion_and_no_archive_knows_one():
    for file, path in FILES.items():
        if not file.startswith("optimize/"):
            continue
        tree = parsed(path)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        of_criteria = [one for one in imports if (one.module or "").startswith("hoag._criteria")]
        names = {alias.asname or alias.name for one in of_criteria for alias in one.names}
        assert not names & classes_asked_for(tree), file
        if file == "optimize/_storage.py":
            assert not of_criteria


def named_files() -> list[tuple[str, str]]:
    """(page, file) for every file and folder that the map, the glossary and the notes name."""
    docs = ROOT.parent.parent / "docs"
    pages = [docs / "design.md", docs / "glossary.md", *sorted((docs / "notes").glob("*.md"))]
    return [
        (page.name, name)
        for page in pages
        for name in re.findall(r"`([\w./]+/[\w.]*|[\w]+\.py)`", page.read_text(encoding="utf-8"))
    ]


def test_the_files_that_the_map_and_the_notes_name_are_there():
    homes = (ROOT, ROOT.parent.parent, ROOT / "_criteria", ROOT / "_glm" / "losses")
    found = named_files()
    assert len(found) > 100
    assert not [each for each in found if not any((home / each[1]).exists() for home in homes)]


WALKS = {"sparse": "## One fit, from array to result", "dense": "### The same on few dense columns"}


def walked(kind: str) -> list[tuple[str, str]]:
    """The (file, function) of a walk in design.md, in its order."""
    text = DESIGN.split(f"\n{WALKS[kind]}\n")[1].split("\n#")[0]
    return re.findall(r"^    ([a-z_/]+\.py) +([A-Za-z_.]+)", text, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", WALKS)
def test_a_default_fit_goes_the_way_of_the_walk(kind):
    A, y = registry.text() if kind == "sparse" else load_breast_cancer(return_X_y=True)
    hoag.LogisticRegressionCV().fit(A, y)  # so that nothing is imported while we look
    called: dict[tuple[str, str], None] = {}

    def look(frame, event, arg):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(ROOT)):
            file = Path(path).relative_to(ROOT).as_posix()
            called.setdefault((file, frame.f_code.co_qualname))

    sys.setprofile(look)
    try:
        hoag.LogisticRegressionCV().fit(A, y)
    finally:
        sys.setprofile(None)
    wanted = walked(kind)
    assert len(wanted) > {"sparse": 20, "dense": 10}[kind]
    assert [step for step in called if step in wanted] == wanted


def named_numbers() -> set[str]:
    """Every number in the core that has a name in capitals, but for those made of others."""
    found = set()
    for file, path in FILES.items():
        if file.startswith((*OUTSIDE, "plot/")) or file in ("report.py", "testing.py"):
            continue
        module = file.removesuffix(".py").replace("/", ".")
        tree = parsed(path)
        homes = {module: tree.body}
        homes |= {f"{module}.{n.name}": n.body for n in tree.body if isinstance(n, ast.ClassDef)}
        for home, body in homes.items():
            for node in body:
                if isinstance(node, ast.Assign):
                    found |= {f"{home}.{name}" for name in numbers_in(node)}
    return found


def numbers_in(node: ast.Assign) -> list[str]:
    target = node.targets[0]
    pairs = [(target, node.value)]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(target.elts, node.value.elts, strict=True))
    return [
        name.id
        for name, value in pairs
        if isinstance(name, ast.Name) and name.id.isupper() and is_number(value)
    ]


def is_number(value: ast.expr) -> bool:
    """A number, or a sum, a product or a tuple of numbers."""
    if isinstance(value, ast.Tuple):
        return all(map(is_number, value.elts))
    if isinstance(value, ast.BinOp):
        return is_number(value.left) and is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    return isinstance(value, ast.Constant) and isinstance(value.value, (int, float))


def test_every_tuned_constant_is_halved_and_doubled_in_a_benchmark():
    pytest.importorskip("threadpoolctl")
    import constants

    tuned = {each.label.split("[")[0] for each in constants.CONSTANTS}
    assert all(each.value is not None for each in constants.CONSTANTS)
    assert not tuned & set(constants.NOT_TUNED)
    known = tuned | set(constants.NOT_TUNED)
    assert not named_numbers() - known
    # the rest are made of others: of the weight, or of rounding
    assert known - named_numbers() <= {"linear_model._kernel.RIDGES", "linear_model._kernel.START"}
    assert len(known) <= 90


def test_what_is_private_in_scikit_learn_is_imported_in_one_place():
    private = {
        file
        for file, path in FILES.items()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn")
        for name in [*node.module.split("."), *(alias.name for alias in node.names)]
        if name.startswith("_")
    }
    assert private == {"linear_model/_compat.py"}
