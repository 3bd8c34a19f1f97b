"""How the site is built: `make docs`, or `make docs-check` without running the gallery."""

import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import figures  # noqa: E402
import plain  # noqa: E402
import public  # noqa: E402

import hoag  # noqa: E402

project, author = "hoag", "The hoag developers"
project_copyright = author
version = release = hoag.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "_ext",
    "**/*.ipynb",
    "**/*.py",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
]
highlight_language = "none"
templates_path = ["_templates"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}

# Matplotlib's own warnings, of a screen that is not there, are none of the reader's business.
warnings.filterwarnings("ignore", message=".*non-interactive.*")
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": "gallery/used",
    "doc_module": ("hoag",),
    "image_srcset": ["2x"],
    "thumbnail_size": (640, 448),  # twice what is shown, for fine screens
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "hoag"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_sphinx = False
# Stories need the width for their code, and have their downloads at the end; so does theory.
START = "gallery/plot_00_getting_started"
STORIES = {f"gallery/{path.stem}" for path in HERE.glob("../examples/gallery/plot_*.py")}
WIDE = ("index", "gallery/index", "theory", "design")
SIDEBAR = {"**": ["page-toc"]} | {name: [] for name in (*WIDE, *STORIES - {START})}

html_theme_options = {
    "logo": {"text": "hoag"},
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": SIDEBAR,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
# Pages without neighbours have no list of them.
html_sidebars = {name: [] for name in ("index", "choose", "benchmarks", "faq", START)}


def prepare(app, config):
    """What pages are made of that nobody writes by hand: lists of names, and pictures of tables."""
    public.write(HERE / "reference")
    figures.draw(HERE / "benchmarks.md", HERE / "_figures")


# Files about the project stand where the platform that hosts it looks for them, and are pages here.
ABOUT = {
    "CHANGELOG.md": "changes.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "GOVERNANCE.md": "governance.md",
    "SECURITY.md": "security.md",
}


def from_here(app, path, page, content):
    """Links of a file that is included from above docs/, as they are from the page it is."""
    if path.name in ABOUT:
        text = content[0].replace("](docs/", "](")
        content[0] = re.sub(r"\]\(([A-Z_]+\.md)", lambda link: f"]({ABOUT[link[1]]}", text)


def setup(app):
    app.connect("include-read", from_here)
    app.connect("config-inited", prepare)
    app.connect("autodoc-process-docstring", plain.process)
    app.connect("autodoc-skip-member", public.skip)
