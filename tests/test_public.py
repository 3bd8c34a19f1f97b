"""What a public project has beside its code: files that are there, valid, and true."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hoag

HOME = Path(__file__).parent.parent


def text(name):
    return (HOME / name).read_text(encoding="utf-8")


KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_changelog_is_in_the_form_of_keep_a_changelog():
    head, *versions = re.split(r"^## ", text("CHANGELOG.md"), flags=re.M)
    assert head.startswith("# Changes\n")
    titles = [version.split("\n", 1)[0] for version in versions]
    dated = r"\d+\.\d+\.\d+ (- \d{4}-\d\d-\d\d|\(not published\))"
    assert titles[0] == "Unreleased"
    assert [title for title in titles[1:] if not re.fullmatch(dated, title)] == []
    assert len(set(titles)) == len(titles)
    for version in versions:
        before, *sections = re.split(r"^### ", version, flags=re.M)
        assert "\n- " not in before, f"entries without a kind: {before[:80]}"
        kinds = [section.split("\n", 1)[0] for section in sections]
        assert kinds == [kind for kind in KINDS if kind in kinds]
        for section in sections:
            lines = section.split("\n", 1)[1].strip("\n").split("\n")
            assert lines[0].startswith("- ")
            assert [line for line in lines if line and not line.startswith(("- ", "  "))] == []


PAGES = ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "GOVERNANCE.md", "CHANGELOG.md"]
DOCS = ["install", "the-2016-package", "project", "checklists", "deprecations"]
WORKFLOWS = sorted((HOME / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((HOME / ".github").rglob("*.yml"))
FILES = [
    *(HOME / name for name in [*PAGES, "CITATION.cff", "pyproject.toml", "Makefile"]),
    *(HOME / "docs" / f"{name}.md" for name in DOCS),
    *(HOME / ".github").rglob("*.*"),
    *[HOME / ".pre-commit-config.yaml", HOME / "recipe" / "recipe.yaml"],
]
PROJECT = tomllib.loads(text("pyproject.toml"))["project"]


def loaded(path):
    return pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_of_one_machine_and_no_host_of_packages_is_in_a_file(path):
    private = re.compile(
        r"/(work|root|home|tmp|Users|opt|mnt)/|localhost|127\.0\.0\.1|file://|"
        r"pypi\.org|pythonhosted|anaconda\.(org|com)|registry\.npmjs|[\w.]+@[\w-]+\.[a-z]{2,}"
    )
    assert private.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", [*PAGES, "README.md", *(f"docs/{name}.md" for name in DOCS)])
def test_links_lead_to_files_and_headings_that_are_there(name):
    made = ("reference/", "gallery/")  # when the site is built
    for link in re.findall(r"\]\(([^)\s]+)\)", text(name)):
        path, _, heading = link.partition("#")
        if link.startswith("https://") or path.startswith(made):
            continue
        target = (HOME / name).parent / path
        assert target.exists(), link
        included = re.search(r"{include} (\S+)", target.read_text(encoding="utf-8"))
        page = (target.parent / included[1] if included else target).read_text(encoding="utf-8")
        titles = [title.lower() for title in re.findall(r"^#+ (.*)", page, flags=re.M)]
        slugs = [re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles]
        assert not heading or heading in slugs, link


def test_every_page_about_the_project_is_on_the_site():
    about = [re.search(r"^[a-z-]+$", line) for line in text("docs/project.md").splitlines()]
    pages = {found[0] for found in about if found}
    included = {(HOME / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in pages}
    for name in set(PAGES) - {"CHANGELOG.md"}:
        assert f"```{{include}} ../{name}\n```\n" in included
    assert {"checklists", "deprecations"} <= pages


def test_the_makefile_has_the_targets_that_pages_speak_of():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), flags=re.M))
    pages = [
        *PAGES[:4],
        ".github/pull_request_template.md",
        "docs/install.md",
        "docs/checklists.md",
    ]
    spoken = "".join(map(text, pages)) + "".join(path.read_text("utf-8") for path in WORKFLOWS)
    commands = re.findall(r"(?:`|run: |^ {4})make ([a-z -]+?)(?:`|\s{2,}|\n)", spoken, flags=re.M)
    assert len(commands) > 15
    assert {target for command in commands for target in command.split()} <= targets


def test_files_that_the_map_of_contributing_names_are_there():
    named = re.findall(r"`((?:src|tests|recipe)/[\w/.]+)`", text("CONTRIBUTING.md"))
    assert len(named) > 10
    assert [name for name in named if not (HOME / name).exists()] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_only_and_runs_pinned_actions_for_a_limited_time(path):
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_workflows_test_what_is_promised():
    tests = loaded(HOME / ".github" / "workflows" / "tests.yml")
    matrix = tests["jobs"]["newest"]["strategy"]["matrix"]
    assert {system.split("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    versions = [f"Programming Language :: Python :: {python}" for python in matrix["python"]]
    assert set(versions) == {
        line for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)
    }
    least = min(matrix["python"], key=lambda python: int(python.split(".")[1]))
    assert PROJECT["requires-python"] == f">={least}"
    weekly = loaded(HOME / ".github" / "workflows" / "weekly.yml")
    assert weekly[True]["schedule"][0]["cron"].split()[4] != "*"  # `on` is read as a truth value
    runs = "".join(step.get("run", "") for step in weekly["jobs"]["nightly"]["steps"])
    assert "--pre" in runs
    assert "scikit-learn" in runs


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_and_settings_are_valid(path):
    content = loaded(path)
    if path.parent.name == "ISSUE_TEMPLATE" and path.name != "config.yml":
        assert {"name", "description", "body"} <= set(content)
        asked = [field["id"] for field in content["body"] if field["type"] != "markdown"]
        assert len(asked) == len(set(asked)) >= 3
        assert all(field["attributes"]["label"] for field in content["body"] if "id" in field)


def test_hooks_before_a_commit_are_the_checks_that_make_runs():
    [repo] = loaded(HOME / ".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"] for hook in repo["hooks"]]
    for tool in ("ruff check", "ruff format", "mypy", "codespell"):
        assert any(tool in entry for entry in entries)
        assert f"$(BIN)/{tool}" in text("Makefile")
    files = re.findall(r"tests/\w+\.py", " ".join(entries))
    assert files == ["tests/test_docstrings.py", "tests/test_public.py"]
    assert [name for name in files if not (HOME / name).exists()] == []


def test_extras_are_documented():
    table = text("docs/install.md").split("## Extras")[1].split("## Versions")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, flags=re.M)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    assert sorted(named) == sorted(PROJECT["optional-dependencies"])


def test_the_recipe_requires_what_the_package_requires():
    recipe = loaded(HOME / "recipe" / "recipe.yaml")
    context = recipe["context"]
    assert context["version"] == hoag.__version__
    assert PROJECT["requires-python"] == f">={context['python_min']}"
    python, *others = recipe["requirements"]["run"]
    assert python == "python >=${{ python_min }}"
    assert [one.replace(" ", "") for one in others] == PROJECT["dependencies"]
    entry = f"hoag = {PROJECT['scripts']['hoag']}"
    assert recipe["build"]["python"]["entry_points"] == [entry]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_the_citation_is_of_the_paper():
    citation = loaded(HOME / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["license"] == PROJECT["license"]
    assert citation["preferred-citation"]["authors"][0]["family-names"] == "Pedregosa"


def test_builds_are_the_same_byte_for_byte(tmp_path, monkeypatch):
    """From two copies, as `make check-public` does from two clones."""
    pytest.importorskip("hatchling")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    digests = []
    for name in ("one", "another"):
        copy = tmp_path / name
        kept = shutil.ignore_patterns(".*", "build", "dist", "_build", "__pycache__", "results")
        shutil.copytree(HOME, copy, ignore=kept)
        shutil.copy(HOME / ".gitignore", copy)
        for path in copy.rglob("*.py"):
            os.utime(path, (len(digests), len(digests)))
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / f"{name}-dist")],
            cwd=copy, check=True, capture_output=True,
        )  # fmt: skip
        built = sorted((tmp_path / f"{name}-dist").iterdir())
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in built})
    assert digests[0] == digests[1]
    assert {Path(name).suffix for name in digests[0]} == {".whl", ".gz"}
