"""The gallery: figures that are drawn at each build by the lines beside them, and figures that are kept.

    ```{exhibits} motions
    ```

shows a chapter of exhibits.py, `scripts` what the scripts of this repository draw, and `papers` the figures of
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

DRAWN = "drawn"  # the folder of what the lines draw, in docs/


def draw(app) -> None:
    """Run all lines; an error in one ends the build."""
    folder = Path(app.srcdir) / DRAWN
    folder.mkdir(exist_ok=True)
    for exhibit in EXHIBITS:
        save(exhibit.figure(), folder / f"{exhibit.name}.png", overwrite=True)


class Exhibits(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        wanted = self.arguments[0]
        if wanted == "papers":
            return [node for section in SECTIONS for node in self.section(section)]
        if wanted == "scripts":
            return [*self.kept(SCRIPTS)]
        if wanted not in CHAPTERS:
            raise self.error(f"no exhibits are called '{wanted}': {', '.join(CHAPTERS)}, scripts or papers")
        found: list[nodes.Node] = []
        for exhibit in CHAPTERS[wanted]:
            lines = nodes.literal_block(exhibit.lines.rstrip(), exhibit.lines.rstrip(), language="python")
            found += [picture(f"{DRAWN}/{exhibit.name}.png", exhibit.caption), lines]
        return found

    def kept(self, figures: Iterable[KeptFigure]) -> Iterator[nodes.Node]:
        for figure in figures:
            command = nodes.literal_block(figure.command, figure.command, language="text")
            yield from (picture(f"images/{figure.file}", figure.caption), command)

    def section(self, name: str) -> Iterator[nodes.Node]:
        """The command of a section, and all of its figures side by side."""
        command = f"appell reproduce {name}"
        yield nodes.rubric(text=f"{name}: {SECTIONS[name].shows}")
        yield nodes.literal_block(command, command, language="text")
        beside = nodes.container(classes=["exhibits"])
        beside += [picture(f"images/{figure.file}", figure.caption) for figure in paper_figures(name)]
        yield beside


def picture(path: str, caption: str) -> nodes.figure:
    """A picture that a click shows in its own size; paths count from docs/."""
    figure = nodes.figure()
    figure += nodes.image(uri=f"/{path}", alt=caption, width="100%")
    figure += nodes.caption(text=caption)
    return figure


def setup(app):
    app.connect("builder-inited", draw)
    app.add_directive("exhibits", Exhibits)
    return {"parallel_read_safe": True}
