"""Where a section writes: tables and remarks on the terminal, figures as PNG in one folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

Row = tuple[str, float, str]  # what it is, our number, the printed one as it is printed

AGREES = "agrees"
BLUE, RED, GREY = "#2463a6", "#c2452d", "#8a8f98"  # ours, theirs, and what is only there for orientation


@dataclass
class Tally:
    """What a section came to: printed numbers that ours round to, those that they do not, and figures drawn."""

    agreed: int = 0
    differed: int = 0
    figures: int = 0


class Page:
    """The output of `appell reproduce`."""

    def __init__(self, console: Console, folder: Path):
        self.console = console
        self.folder = folder
        self.tally = Tally()

    def title(self, text: str) -> None:
        """The heading of a section, whose tally begins here."""
        self.tally = Tally()
        self.console.rule(f"[bold]{text}", align="left")
        self.console.print()

    def note(self, text: str) -> None:
        """A remark, such as why a printed number is not reached."""
        self.console.print(Padding(text, (0, 2)), highlight=False)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> None:
        """Text cells as they are, numbers to six digits."""
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
        if against == "printed":
            self.tally.agreed += (agreed := sum(AGREES in found for found in verdicts))
            self.tally.differed += len(rows) - agreed
        cells = [[label, ours, printed, found] for (label, ours, printed), found in zip(rows, verdicts, strict=True)]
        self.table(title, ["", "appell", against, ""], cells, note)

    def figure(self, name: str, draw: Callable) -> None:
        """Save what `draw(figure)` draws as `name`.png; without matplotlib, say so and go on."""
        try:
            import matplotlib
            from matplotlib.figure import Figure
        except ImportError:
            self.note(f"[yellow]{name}.png is not drawn: pip install 'appell\\[plots]'")
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=(9, 5.5), layout="constrained")
            draw(figure)
            path = self.folder / f"{name}.png"
            figure.savefig(path, dpi=130)
        self.tally.figures += 1
        self.note(f"figure  [bold]{escape(str(path))}[/]")
        self.console.print()


STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.labelcolor": "#333333",
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "grid.color": "#e6e8eb",
    "legend.frameon": False,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "lines.linewidth": 1.8,
}


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
