"""Walks the built site: all links, pictures, scripts and styles are there; none is elsewhere.

Run as `python docs/links.py docs/_build/html`.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself; links to click on may lead anywhere.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
HARMLESS = {"canonical", "search", "author", "next", "prev"}


class Page(HTMLParser):
    """The names in a page that links can lead to, and the links that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {value for key in ("id", "name") if (value := given.get(key))}
        loaded = (given.get("rel") or "") not in HARMLESS
        for key in ("href", "src", "xlink:href"):
            if given.get(key) is not None:
                self.links.append((given[key] or "", (tag, key) in LOADED and loaded))
        for part in (given.get("srcset") or "").split(","):
            if part.strip():
                self.links.append((part.split()[0], True))


def wrong(root: Path) -> list[str]:
    """What does not resolve, one sentence for each."""
    root = root.resolve()
    found_here = sorted(set(root.rglob("*.html")) - set(root.glob("_static/**/*.html")))
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in found_here}
    found = []
    for path, page in pages.items():
        here = path.relative_to(root)
        for link, loaded in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("data", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                if loaded:
                    found.append(f"{here} loads {link} from elsewhere.")
                continue
            base = root if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_relative_to(root) or not target.exists():
                found.append(f"{here} links to {link}, which is not there.")
            elif target in pages and unquote(parts.fragment) not in pages[target].names | {""}:
                found.append(f"{here} links to {link}, where nothing has that name.")
    if not pages:
        found.append(f"{root} has no pages.")
    return found


if __name__ == "__main__":
    sentences = wrong(Path(sys.argv[1]))
    print("\n".join(sentences) or "Every link in the site resolves.")  # noqa: T201
    sys.exit(bool(sentences))
