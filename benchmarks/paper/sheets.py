"""What the reproduction writes on: the command line's page and Markdown, both with claims and PNGs.

section, text, table    as on any page
claim(holds, sentence, finding)
picture(data, caption, name)    a PNG; Markdown has it in a file of that name
"""

from __future__ import annotations

import base64
import html
import io
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hoag._core.writing import write_atomically
from hoag.cli.report import Page

# "This run …"
VERDICTS = {True: "agrees", False: "disagrees", None: "does not decide"}


class Sheet(Page):
    """One HTML page, pictures and all."""

    suffix = ".html"
    style = """.does { color: var(--soft); }
figure img { max-width: 100%; height: auto; background: white; }
"""

    def claim(self, holds: bool | None, sentence: str, finding: str) -> None:
        """What somebody says, whether it holds, and what was found."""
        word = VERDICTS[holds]
        self._parts.append(
            f'<p><em>{html.escape(sentence)}</em> <strong class="{word}">This run {word}.</strong> '
            f"{html.escape(finding)}</p>"
        )

    def picture(self, data: bytes, caption: str, name: str) -> None:
        told, coded = html.escape(caption), base64.b64encode(data).decode()
        drawn = f'<img alt="{told}" src="data:image/png;base64,{coded}">'
        self._parts.append(f"<figure>{drawn}<figcaption>{told}</figcaption></figure>")


class Markdown:
    """The same as a Markdown page, with its pictures in a folder beside it that has its name."""

    suffix = ".md"

    def __init__(self, title: str, lead: str = "") -> None:
        self._parts = [f"# {title}"]
        self._pictures: dict[str, bytes] = {}
        if lead:
            self.text(lead)

    def section(self, heading: str) -> None:
        self._parts.append(f"## {heading}")

    def text(self, sentence: str, kind: str = "") -> None:
        self._parts.append(
            textwrap.fill(sentence, 100, break_on_hyphens=False, break_long_words=False)
        )

    def claim(self, holds: bool | None, sentence: str, finding: str) -> None:
        self.text(f"*{sentence}* **This run {VERDICTS[holds]}.** {finding}")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        lines = [header, ["---"] * len(header), *rows]
        cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
        self._parts.append("\n".join(f"| {' | '.join(line)} |" for line in cells))

    def picture(self, data: bytes, caption: str, name: str) -> None:
        self._pictures[f"{name}.png"] = data
        self._parts.append(f"![{caption}]({{folder}}/{name}.png)")

    def write(self, path: Path) -> None:
        text = "\n\n".join(self._parts).replace("({folder}/", f"({path.stem}/")
        write_atomically(path, f"{text}\n".encode())
        for name, data in self._pictures.items():
            write_atomically(path.with_suffix("") / name, data)


def png(figure: Any) -> bytes:
    """A matplotlib figure as PNG, the same bytes for the same picture."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130, metadata={"Software": None})
    return buffer.getvalue()
