"""The examples of the README and of the site's pages run as they stand, one after the other."""

import re
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent
PAGES = [HOME / "README.md", *sorted((HOME / "docs").glob("*.md"))]
BLOCKS = {
    page: re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), flags=re.DOTALL | re.M)
    for page in PAGES
}


# Left out of a page where it is run quickly: 284 fits of each model, beside six other criteria.
SHORTER = {"criteria.md": " LeaveOneOut(),"}


def pages():
    """Every page as it stands; one that takes long is quick without a part of it."""
    for page in PAGES:
        if BLOCKS[page]:
            long = page.name in SHORTER
            marks = [pytest.mark.slow] * long
            yield pytest.param(page, None, id=page.name, marks=marks)
            if long:
                yield pytest.param(page, SHORTER[page.name], id=f"{page.name}, shorter")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("page", "without"), list(pages()))
def test_the_examples_run(page, without, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert without is None or sum(block.count(without) for block in BLOCKS[page]) == 1
    for optional in re.findall(r"^import (jax|torch|optuna)$", "".join(BLOCKS[page]), flags=re.M):
        pytest.importorskip(optional)
    names: dict = {}
    for block in BLOCKS[page]:
        exec(compile(block.replace(without, "") if without else block, str(page), "exec"), names)
    assert re.search("onverged|halved|cannot improve", capsys.readouterr().out)


def test_most_pages_have_examples():
    assert sum(map(len, BLOCKS.values())) >= 9


def test_the_readme_links_to_what_is_there():
    links = re.findall(r"\]\((?!https:)([^)#]+)\)", PAGES[0].read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (HOME / link).exists()] == []
