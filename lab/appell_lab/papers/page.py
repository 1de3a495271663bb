"""Output of a section: tables and remarks on the terminal, figures as PNG files in a folder, and all of it as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import SupportsFloat

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from appell.errors import ArgumentError
from appell.show.plot.style import DPI, FIGURE_WIDTH_IN, new_figure, save, styled
from appell_lab.papers.shown import Listed, Remark, Shown, ShownFigure, ShownTable, Tally
from appell_lab.references.figure_flaws import flaws

AGREES = "agrees"
TEXT_CELL = 40  # characters; columns with longer cells are text
Row = tuple[str, float, str]  # label, computed number, printed number as text


class Page:
    """The output of `appell reproduce`: content is printed at once and collected in `shown`."""

    def __init__(self, console: Console, folder: Path):
        self.console = console
        self.folder = folder
        self.tally = Tally()
        self.shown: list[Shown] = []
        self.titles: list[str] = []  # of all tables and figures of this section, drawn or not
        self.measures: dict[str, float] = {}  # quantities that the ledgers judge

    def title(self, text: str) -> None:
        """Start a section: print its heading and reset tally, contents and measures."""
        self.tally = Tally()
        self.shown, self.titles, self.measures = [], [], {}
        self.console.rule(f"[bold]{text}", align="left")
        self.console.print()

    def measure(self, quantity: str, value: SupportsFloat) -> None:
        """Record a quantity by which the ledgers judge items of the papers."""
        if quantity in self.measures:
            raise ArgumentError(f"the quantity '{quantity}' is measured twice.")
        self.measures[quantity] = float(value)

    def note(self, text: str) -> None:
        """Show a remark, for example why a printed number is not reproduced."""
        self.shown.append(Remark(text))
        self._say(text)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> None:
        """Show a table: text cells as they are, numbers with six digits."""
        self.tally.tables += 1
        self.titles.append(title)
        cells = tuple(tuple(cell if isinstance(cell, str) else _number(cell) for cell in row) for row in rows)
        self.shown.append(ShownTable(title, tuple(columns), cells, note))
        table = Table(title=f"[bold]{title}", title_justify="left", title_style="", box=box.SIMPLE_HEAD)
        for k, column in enumerate(columns):
            left = k == 0 or any(len(row[k]) > TEXT_CELL for row in cells)
            table.add_column(column, justify="left" if left else "right", overflow="fold")
        for row in cells:
            table.add_row(*row)
        self.console.print(table)
        if note:
            self._say(f"[dim]{escape(note)}[/]")
            self.console.print()

    def compare(self, title: str, rows: Sequence[Row], note: str = "", against: str = "printed") -> None:
        """Show computed numbers beside printed ones: agreement to the printed digits, or the difference."""
        verdicts = [verdict(ours, printed) for _, ours, printed in rows]
        if against != "reference":  # a reference is a computation, not a printed number
            self.tally.agreed += (agreed := sum(AGREES in text for text in verdicts))
            self.tally.differed += len(rows) - agreed
        cells = [[label, ours, printed, text] for (label, ours, printed), text in zip(rows, verdicts, strict=True)]
        self.table(title, ["", "appell", against, ""], cells, note)

    def figure(self, name: str, draw: Callable) -> None:
        """Save what `draw(figure)` draws as `name`.png; without matplotlib show a remark instead."""
        self.titles.append(name)
        try:
            import matplotlib  # noqa: F401 - checks that it is installed
        except ImportError:
            self.note(f"[yellow]{name}.png is not drawn: pip install 'appell\\[plots]'[/]")
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with styled():
            figure = new_figure(FIGURE_WIDTH_IN, 5.5)
            draw(figure)
            wrong = flaws(figure)
            path = save(figure, self.folder / f"{name}.png", overwrite=True)
        self.measure(f"figure {name}", 1.0)
        width, height = (round(DPI * inches) for inches in figure.get_size_inches())
        self._picture(ShownFigure(name, path.name, (width, height)), path)
        for flaw in wrong:
            self.note(f"[red]{escape(flaw)}[/]")
        self.console.print()

    def movie(self, name: str, write: Callable[[Path], Path]) -> None:
        """Save what `write(path)` writes as `name`.gif; if a program or package is missing show a remark instead."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            path = write(self.folder / f"{name}.gif")
        except ArgumentError as error:
            self.note(f"[yellow]{name}.gif is not drawn: {escape(str(error))}[/]")
        else:
            self._picture(ShownFigure(name, path.name), path)

    def listed(self, heading: str, entries: Sequence[tuple[str, str, str]]) -> None:
        """Show a list at the end of a section: paper, text and reason of each entry, or "none"."""
        self.shown.append(Listed(heading, tuple(entries)))
        self.console.print(f"[bold]{heading}[/]" + ("" if entries else ": none"), highlight=False)
        for paper, text, reason in entries:
            self.console.print(Padding(escape(f"{paper}: {text}. {reason}"), (0, 2, 0, 4)), highlight=False)

    def _picture(self, shown: ShownFigure, path: Path) -> None:
        self.tally.figures += 1
        self.shown.append(shown)
        self._say(f"figure  [bold]{escape(str(path))}[/]")

    def _say(self, text: str) -> None:
        self.console.print(Padding(text, (0, 2)), highlight=False)


def verdict(ours: float, printed: str) -> str:
    """Return "agrees" if a number rounds to the printed one, else the difference."""
    value = Decimal(printed)
    half_unit = 0.5 * 10.0 ** int(value.as_tuple().exponent)
    if abs(ours - float(value)) <= half_unit * (1.0 + 1e-9):
        return f"[green]{AGREES}[/]"
    if value == 0:
        return f"[yellow]{ours:+.1e}[/]"
    return f"[yellow]{100.0 * (ours / float(value) - 1.0):+.2g} %[/]"


def _number(cell: object) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
