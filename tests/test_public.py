"""What a public project has beside its code: files that are there, valid, and true."""

from __future__ import annotations

import re
from pathlib import Path

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
