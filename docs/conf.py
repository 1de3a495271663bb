"""Configuration of the documentation site: `make docs` builds it into docs/_build/html and fails on any warning."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "site"))

import appell

project, author = "appell", "the authors of appell"
version = release = appell.__version__
html_title = f"appell {version}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "chapters",
    "commands",
    "embed",
    "gallery",
    "mathml",
    "prose",
]
html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_static_path = ["site/static"]
html_css_files = ["appell.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "header_links_before_dropdown": 10,
}
html_sidebars = {"index": []}
exclude_patterns = ["_build", "site", "**/.*"]

# Pages are Markdown. The build runs the code cells of pages and stops at an error.
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
nitpicky = False
