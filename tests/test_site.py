"""The site's own machinery: the list of public names, docstrings as pages, the walk of links."""

import doctest
import importlib.util
import inspect
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


public, plain = (loaded(DOCS / "_ext" / f"{name}.py") for name in ("public", "plain"))
links = loaded(DOCS / "links.py")


def listed():
    """Every public name that the reference lists, and what it stands for."""
    return {name: thing for _, group in public.public().values() for name, thing in group.items()}


# Not yet of what a family of estimators is made of.
@pytest.mark.parametrize("name", sorted(listed()))
def test_every_public_object_has_an_example(name):
    assert doctest.DocTestParser().get_examples(inspect.getdoc(listed()[name]) or "")


def test_the_reference_lists_everything_public_once_and_nothing_else():
    assert sorted(listed()) == sorted(public.named())
    assert all(group for _, group in public.public().values())
    assert not [name for name in listed() if "._" in name]


def test_a_docstring_becomes_what_sphinx_reads():
    written = """f* is |p| for lam_ and `x`, or ``y``.

        a formula * of its own

    eps    how precise
           p is
    rows   of how many

    >>> 1 + 1
    2

    Parameters
    ----------
    tol : float
        Stop there.
    scores_, alpha_,
    lam_ : as elsewhere
    """
    made = plain.marked(inspect.cleandoc(written).splitlines())
    assert made[0] == r"f\* is \|p\| for lam\_ and \ ``x``\ , or \ ``y``\ ."
    assert made[made.index(".. code-block:: none") + 2] == "   a formula * of its own"
    assert made[made.index("``eps``") + 1] == "   how precise p is"
    assert made[made.index(">>> 1 + 1") + 1] == "2"
    assert made[made.index("``tol``") + 1 :][:3] == ["   float", "", "   Stop there."]
    assert made[made.index("``scores_, alpha_, lam_``") + 1] == "   as elsewhere"


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a> <a href="b.html#gone">2</a> <img src="no.png">'
        '<a href="https://elsewhere">3</a> <script src="https://elsewhere/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="c.html">4</a></p>')
    assert links.wrong(tmp_path) == [
        "a.html links to b.html#gone, where nothing has that name.",
        "a.html links to no.png, which is not there.",
        "a.html loads https://elsewhere/x.js from elsewhere.",
        "b.html links to c.html, which is not there.",
    ]
    assert links.wrong(tmp_path / "nowhere")


def test_pictures_are_drawn_from_the_tables(tmp_path):
    pytest.importorskip("matplotlib")
    figures = loaded(DOCS / "_ext" / "figures.py")
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    rows = figures.table(text, "The estimators beside scikit-learn's and Optuna")
    assert [row["method"] for row in rows[:2]] == ["hoag", "LogisticRegressionCV(Cs=10)"]
    assert rows[1]["data"] == rows[0]["data"] == "breast_cancer"
    assert [figures.number(cell) for cell in ("1.2 to 2.0 s", "*7*".strip("*"))] == [1.6, 7.0]
    figures.draw(DOCS / "benchmarks.md", tmp_path)
    assert len(list(tmp_path.glob("*.svg"))) == 6


def test_bold_marks_our_figures():
    """In tables of methods no other's figure is bold."""
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    methods = [block.splitlines() for block in tables if "| method |" in block.splitlines()[0]]
    assert len(methods) > 1
    for header, _, *rows in methods:
        place = header.split("|").index(" method ")
        others = [row for row in rows if "hoag" not in row.split("|")[place].lower()]
        assert [row for row in others if "**" in row] == []
