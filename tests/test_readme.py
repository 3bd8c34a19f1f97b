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


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", [p for p in PAGES if BLOCKS[p]], ids=lambda page: page.name)
def test_the_examples_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for optional in re.findall(r"^import (jax|torch|optuna)$", "".join(BLOCKS[page]), flags=re.M):
        pytest.importorskip(optional)
    names: dict = {}
    for block in BLOCKS[page]:
        exec(compile(block, str(page), "exec"), names)
    assert re.search("Converged|converged|halved", capsys.readouterr().out)


def test_most_pages_have_examples():
    assert sum(map(len, BLOCKS.values())) >= 9


def test_the_readme_links_to_what_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", PAGES[0].read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (HOME / link).exists()] == []
