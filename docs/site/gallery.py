"""The gallery: figures drawn at each build by the lines beside them, and stored figures.

    ```{exhibits} motions
    ```

shows a chapter of exhibits.py, `scripts` the figures drawn by scripts of this repository, and `papers` those of
`appell reproduce`. All lines together take some ten seconds of processor time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from docutils import nodes
from exhibits import CHAPTERS, EXHIBITS, SCRIPTS, KeptFigure, paper_figures
from sphinx.util.docutils import SphinxDirective

from appell.show.plot.style import save
from appell_lab.papers import SECTIONS

DRAWN = "drawn"  # folder in docs/ for the figures that the lines draw


def draw(app) -> None:
    """Draw all figures; an error stops the build."""
    folder = Path(app.srcdir) / DRAWN
    folder.mkdir(exist_ok=True)
    for exhibit in EXHIBITS:
        save(exhibit.figure(), folder / f"{exhibit.name}.png", overwrite=True)


class Exhibits(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapter = self.arguments[0]
        if chapter == "papers":
            return [node for section in SECTIONS for node in self.section(section)]
        if chapter == "scripts":
            return [*self.kept(SCRIPTS)]
        if chapter not in CHAPTERS:
            raise self.error(f"unknown exhibits '{chapter}'; expected {', '.join(CHAPTERS)}, scripts or papers")
        shown: list[nodes.Node] = []
        for exhibit in CHAPTERS[chapter]:
            lines = nodes.literal_block(exhibit.lines.rstrip(), exhibit.lines.rstrip(), language="python")
            shown += [picture(f"{DRAWN}/{exhibit.name}.png", exhibit.caption), lines]
        return shown

    def kept(self, figures: Iterable[KeptFigure]) -> Iterator[nodes.Node]:
        for figure in figures:
            command = nodes.literal_block(figure.command, figure.command, language="text")
            yield from (picture(f"images/{figure.file}", figure.caption), command)

    def section(self, name: str) -> Iterator[nodes.Node]:
        """Yield the command of a section and all of its figures side by side."""
        command = f"appell reproduce {name}"
        yield nodes.rubric(text=f"{name}: {SECTIONS[name].shows}")
        yield nodes.literal_block(command, command, language="text")
        beside = nodes.container(classes=["exhibits"])
        beside += [picture(f"images/{figure.file}", figure.caption) for figure in paper_figures(name)]
        yield beside


def picture(path: str, caption: str) -> nodes.figure:
    """Return a picture with its caption; the path is relative to docs/."""
    figure = nodes.figure()
    figure += nodes.image(uri=f"/{path}", alt=caption, width="100%")
    figure += nodes.caption(text=caption)
    return figure


def setup(app):
    app.connect("builder-inited", draw)
    app.add_directive("exhibits", Exhibits)
    return {"parallel_read_safe": True}
