"""Where a section writes: tables and remarks on the terminal, figures as PNG in one folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from appell.motion.pictures.legends import covered
from appell.motion.pictures.look import WIDE, new_figure, save, styled

AGREES = "agrees"
Row = tuple[str, float, str]  # what it is, our number, the printed one as it is printed


@dataclass
class Tally:
    """What a section came to: tables, printed numbers that ours round to, those that they do not, and figures."""

    tables: int = 0
    agreed: int = 0
    differed: int = 0
    figures: int = 0


class Page:
    """The output of `appell reproduce`."""

    def __init__(self, console: Console, folder: Path):
        self.console = console
        self.folder = folder
        self.tally = Tally()
        self.titles: list[str] = []

    def title(self, text: str) -> None:
        """The heading of a section, whose tally and titles begin here."""
        self.tally = Tally()
        self.titles = []
        self.console.rule(f"[bold]{text}", align="left")
        self.console.print()

    def note(self, text: str) -> None:
        """A remark, such as why a printed number is not reached."""
        self.console.print(Padding(text, (0, 2)), highlight=False)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> None:
        """Text cells as they are, numbers to six digits."""
        self.tally.tables += 1
        self.titles.append(title)
        table = Table(title=f"[bold]{title}", title_justify="left", title_style="", box=box.SIMPLE_HEAD)
        for k, column in enumerate(columns):
            table.add_column(column, justify="left" if k == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*(cell if isinstance(cell, str) else _number(cell) for cell in row))
        self.console.print(table)
        if note:
            self.note(f"[dim]{escape(note)}[/]")
            self.console.print()

    def compare(self, title: str, rows: Sequence[Row], note: str = "", against: str = "printed") -> None:
        """Our numbers beside printed ones, with a verdict: agreement to the printed digits, or by how much it fails."""
        verdicts = [verdict(ours, printed) for _, ours, printed in rows]
        if against != "reference":  # which is a computation of somebody's, not a print
            self.tally.agreed += (agreed := sum(AGREES in found for found in verdicts))
            self.tally.differed += len(rows) - agreed
        cells = [[label, ours, printed, found] for (label, ours, printed), found in zip(rows, verdicts, strict=True)]
        self.table(title, ["", "appell", against, ""], cells, note)

    def figure(self, name: str, draw: Callable) -> None:
        """Save what `draw(figure)` draws as `name`.png; without matplotlib, say so and go on."""
        self.titles.append(name)
        try:
            import matplotlib  # noqa: F401 - only asked for
        except ImportError:
            self.note(f"[yellow]{name}.png is not drawn: pip install 'appell\\[plots]'")
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with styled():
            figure = new_figure(WIDE, 5.5)
            draw(figure)
            hidden = covered(figure)
            path = save(figure, self.folder / f"{name}.png")
        self.tally.figures += 1
        self.note(f"figure  [bold]{escape(str(path))}[/]")
        if hidden:
            self.note(f"[red]its legend covers {escape(', '.join(hidden))}[/]")
        self.console.print()


def verdict(ours: float, printed: str) -> str:
    """Whether a number rounds to the printed one, or how far it is away."""
    value = Decimal(printed)
    half_unit = 0.5 * 10.0 ** int(value.as_tuple().exponent)
    if abs(ours - float(value)) <= half_unit * (1.0 + 1e-9):
        return f"[green]{AGREES}[/]"
    if value == 0:
        return f"[yellow]{ours:+.1e}[/]"
    return f"[yellow]{100.0 * (ours / float(value) - 1.0):+.2g} %[/]"


def _number(cell: object) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
