"""One HTML page that holds everything it shows: text, tables and pictures, no other file.

Figures are drawn in the page's own ink: what is black in them has the colour of the text around
them, light or dark, and nothing is behind them.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hoag._core.writing import write_atomically

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fdfdfb; --rule: #cfcfc8;
  --soft: #5d5d58; --yes: #0b6b3a; --no: #a33a00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e1; --paper: #17181a; --rule: #44464a; --soft: #a3a39c; --yes: #6fd29b;
    --no: #ffab73; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 62rem; color: var(--ink);
  background: var(--paper); font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { margin-top: 2.4rem; font-size: 1.25rem; }
p, li { max-width: 46rem; }
nav a { margin-right: 1rem; }
a { color: inherit; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
td.number, th.number { text-align: right; }
figure { margin: 1.2rem 0; }
figure svg { display: block; width: 100%; height: auto; fill: currentColor; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr));
  gap: 0 2.4rem; align-items: start; } .pair figure { max-width: 33rem; min-width: 0; }
.lead { font-size: 1.15rem; line-height: 1.45; padding-left: .9rem;
  border-left: .3rem solid var(--rule); }
.lead.agrees { border-color: var(--yes); } .lead.disagrees { border-color: var(--no); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .8rem 1rem;
  border: 1px solid var(--rule); border-radius: .3rem;
  font: .88rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
figcaption, .soft { color: var(--soft); font-size: .92rem; max-width: 46rem; }
.agrees { color: var(--yes); } .disagrees { color: var(--no); }
@media (min-width: 40rem) { td:first-child { white-space: nowrap; } }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
"""


class Page:
    """An HTML page, written top to bottom; `write` saves it."""

    style = STYLE

    def __init__(self, title: str, lead: str = "") -> None:
        self.title = title
        self._parts: list[str] = [f"<h1>{html.escape(title)}</h1>"]
        self._sections: list[tuple[str, str]] = []
        if lead:
            self.text(lead)

    def section(self, heading: str) -> None:
        name = f"s{len(self._sections) + 1}"
        self._sections.append((name, heading))
        self._parts.append(f'<h2 id="{name}">{html.escape(heading)}</h2>')

    def text(self, sentence: str, kind: str = "") -> None:
        """A paragraph; `kind` "soft" is an aside."""
        mark = f' class="{kind}"' if kind else ""
        self._parts.append(f"<p{mark}>{html.escape(sentence)}</p>")

    def lead(self, sentence: str, good: bool) -> None:
        """What matters most, and whether it is good news."""
        self.text(sentence, f"lead {'agrees' if good else 'disagrees'}")

    def code(self, block: str) -> None:
        self._parts.append(f"<pre><code>{html.escape(block)}</code></pre>")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Columns whose every cell starts like a number are set flush right."""
        body = [[str(cell) for cell in row] for row in rows]
        right = [all(numeric(row[j]) for row in body) for j in range(len(header))]
        marks = [' class="number"' if flush else "" for flush in right]

        def line(tag: str, cells: Sequence[str]) -> str:
            marked = zip(marks, map(html.escape, cells), strict=True)
            return f"<tr>{''.join(f'<{tag}{mark}>{cell}</{tag}>' for mark, cell in marked)}</tr>"

        lines = "".join(line("td", row) for row in body)
        head = f"<thead>{line('th', header)}</thead>"
        self._parts.append(f'<div class="wide"><table>{head}<tbody>{lines}</tbody></table></div>')

    def figure(self, picture: Any, caption: str) -> None:
        """A matplotlib figure."""
        told = html.escape(caption)
        self._parts.append(
            f"<figure>{svg(picture, caption)}<figcaption>{told}</figcaption></figure>"
        )

    def figures(self, pairs: Iterable[tuple[Any, str]]) -> None:
        """Figures with their captions, side by side where there is room."""
        self._parts.append('<div class="pair">')
        for picture, caption in pairs:
            self.figure(picture, caption)
        self._parts.append("</div>")

    def html(self) -> str:
        links = "".join(f'<a href="#{name}">{html.escape(h)}</a>' for name, h in self._sections)
        nav = f"<nav>{links}</nav>" if len(self._sections) > 2 else ""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{self.style}</style></head>\n<body>"
            + "\n".join([self._parts[0], nav, *self._parts[1:]])
            + "</body></html>\n"
        )

    def write(self, path: str | Path) -> None:
        write_atomically(path, self.html().encode())


def svg(figure: Any, caption: str) -> str:
    """A matplotlib figure as an element of a page, the same text for the same picture.

    Text is outlines, so that it looks the same everywhere; black is left to the page.
    """
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "hoag"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    whole = buffer.getvalue()
    whole = whole[whole.index("<svg") :].replace("#000000", "currentColor")
    whole = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", whole, flags=re.DOTALL)
    whole = re.sub(r' d="[^"]*"', lambda path: _rounded(path[0]), whole)
    size = re.search(r'viewBox="([^"]*)"', whole)
    assert size is not None
    label = html.escape(caption, quote=True)
    opening = f'<svg viewBox="{size[1]}" role="img" aria-label="{label}">'
    return re.sub(r"\s*\n\s*", " ", opening + whole[whole.index(">") + 1 :]).strip()


def _rounded(path: str) -> str:
    """Hundredths of a point are enough for lines; transforms need all of their digits."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", path)


def numeric(cell: str) -> bool:
    """Whether a cell of a table reads as a number."""
    return cell.lstrip("-−<≤>~ ")[:1].isdigit() or cell in ("", "-", "–", "inf", "nan", "never")
