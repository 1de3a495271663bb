"""Self-contained HTML pages embedded in the documentation: copied into the build and shown in a frame.

    ```{embed} swing.html
    :height: 420
    record = ap.simulate(ap.load("puma"), until=1.0)
    record.to_html("swing.html")
    ```

The build shows the lines and runs them; they write the file. Without lines the file is read from the page's folder.
"""

from __future__ import annotations

import os
import re
import tempfile
from html import escape
from pathlib import Path
from typing import ClassVar

FOLDER = "_embedded"
HEIGHT = 480  # pixels
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc\s*=\s*["']?(?!data:|blob:|\#)([^"'\s>]+)"""
    r"""|<link\b[^>]*\bhref\s*=\s*["']?(?!data:)([^"'\s>]+)"""
    r"""|@import\s+(?:url\()?["']?(?!data:)([^"')\s;]+)""",
    re.IGNORECASE,
)


def fetched(text: str) -> list[str]:
    """Return the addresses that a page would load; empty if it is self-contained."""
    return [next(filter(None, groups)) for groups in FETCHED.findall(text)]


def written(lines: str, name: str) -> str:
    """Run lines of Python in a temporary folder and return the text of the file that they write there."""
    import numpy as np

    import appell as ap

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile(lines, f"<{name}>", "exec"), {"ap": ap, "np": np})
        finally:
            os.chdir(before)
        target = Path(folder, name)
        if not target.is_file():
            raise FileNotFoundError(f"the lines did not write '{name}'")
        return target.read_text(encoding="utf-8")


def frame(address: str, title: str, height: int) -> str:
    """Return the HTML of a frame with the page, and a link to it."""
    address, title = escape(address), escape(title)
    return (
        f'<iframe class="embedded" src="{address}" title="{title}" loading="lazy" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>\n'
        f'<p class="embedded"><a href="{address}">{title}, full page</a></p>'
    )


def setup(app):
    from docutils import nodes
    from docutils.parsers.rst import directives
    from sphinx.util.docutils import SphinxDirective

    class Embed(SphinxDirective):
        required_arguments, has_content = 1, True
        option_spec: ClassVar = {"height": directives.positive_int, "title": directives.unchanged}

        def run(self) -> list[nodes.Node]:
            name, lines = self.arguments[0], "\n".join(self.content)
            try:
                text = written(lines, name) if lines else self.beside(name)
            except OSError as error:
                raise self.error(f"{name} cannot be embedded: {error}") from None
            if addresses := fetched(text):
                raise self.error(f"{name} is not self-contained: it would fetch {', '.join(addresses[:3])}")
            file = Path(name).name
            target = Path(app.outdir) / FOLDER / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            up = "../" * self.env.docname.count("/")
            title = self.options.get("title", file)
            html = frame(f"{up}{FOLDER}/{file}", title, self.options.get("height", HEIGHT))
            shown = [nodes.literal_block(lines, lines, language="python")] if lines else []
            return [*shown, nodes.raw("", html, format="html")]

        def beside(self, name: str) -> str:
            relative, path = self.env.relfn2path(name)
            self.env.note_dependency(relative)
            return Path(path).read_text(encoding="utf-8")

    app.add_directive("embed", Embed)
    return {"parallel_read_safe": True}
