"""Where commands write: tables on stdout, remarks beside JSON and bars on stderr, so that the one can be piped.

A screen prints a table so that nothing in it is cut: as wide as it is, if that fits; else with cells broken between
words; and where even that does not fit, as a list, one entry below the other.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from appell.cli.letters import in_letters_of
from appell.display.bar import Bar, paused

PAGE = 100  # columns of a file or a pipe


class Screen(Console):
    """A console that cuts no table, and prints above a bar."""

    def print(self, *objects: Any, **options: Any) -> None:
        with paused():
            for each in objects or ("",):
                super().print(fitted(each, self) if isinstance(each, Table) else each, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """A string in letters that the terminal has, before it is measured for a column."""
        return super().render_str(in_letters_of(self.encoding, text), **options)

    def rule(self, title: Any = "", **options: Any) -> None:
        """A line with a title in it; a title that is too long for that stands alone."""
        if isinstance(title, str) and self.render_str(title).cell_len > self.width - 4:
            self.print(title)
        else:
            super().rule(title, **options)


def screen(aside: bool = False) -> Screen:
    """The terminal at its width; a file or a pipe has no width of its own, and gets a comfortable one.

    `aside` is for remarks of a command whose answer is JSON: they go to stderr.
    """
    console = Screen(stderr=aside)
    return console if console.is_terminal or "COLUMNS" in os.environ else Screen(stderr=aside, width=PAGE)


def say(console: Console, text: str) -> None:
    """A line as it is: names in it are no markup, and nothing breaks it."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def fitted(table: Table, console: Console) -> RenderableType:
    """The table at the console's width, with no word of it cut."""
    free = console.options.update(max_width=10_000)
    natural = Measurement.get(console, free, table).maximum
    if natural <= console.width or not table.columns:
        return table
    spans = [_span(table, k, console) for k in range(len(table.columns))]
    room = console.width - (natural - sum(span.maximum for span in spans))
    if sum(span.minimum for span in spans) > room:
        return _listed(table, console)
    narrow = copy.copy(table)
    narrow.columns = [copy.copy(column) for column in table.columns]
    for column, width in zip(narrow.columns, _shared(spans, room), strict=True):
        column.width, column.ratio = width, None
    return narrow


def _span(table: Table, k: int, console: Console) -> Measurement:
    """The longest word and the longest line of a column."""
    free = console.options.update(max_width=10_000)
    column = table.columns[k]
    cells = [*([column.header] if table.show_header else []), *column.cells]
    cells += [column.footer] if table.show_footer else []
    found = [Measurement.get(console, free, console.render_str(x) if isinstance(x, str) else x) for x in cells]
    widest = max((each.maximum for each in found), default=0)
    return Measurement(widest if column.no_wrap else max((each.minimum for each in found), default=0), widest)


def _shared(spans: list[Measurement], room: int) -> list[int]:
    """Widths that fill the room: every column its longest word, then whoever wants least first."""
    widths = [span.minimum for span in spans]
    spare = room - sum(widths)
    waiting = sorted(range(len(spans)), key=lambda k: spans[k].maximum - spans[k].minimum)
    for done, k in enumerate(waiting):
        more = min(spans[k].maximum - spans[k].minimum, spare // (len(waiting) - done))
        widths[k] += more
        spare -= more
    return widths


def _listed(table: Table, console: Console) -> RenderableType:
    """Every row as a paragraph: what it is, then what is said of it, cell by cell."""
    rows = [list(row) for row in zip(*(column.cells for column in table.columns), strict=True)]
    if table.show_footer:
        rows.append([column.footer for column in table.columns])
    heads = [_text(column.header, console).plain.replace("\n", ", ").strip() for column in table.columns]
    listing = Table.grid(padding=0)
    listing.add_column(overflow="fold")
    if table.title:
        listing.add_row(_text(table.title, console))
    for row in rows:
        listing.add_row("")
        for k, (head, cell) in enumerate(zip(heads, row, strict=True)):
            line = _text(cell, console)
            if line.plain.strip():
                named = head and (k or table.columns[0].justify == "right")  # a number does not say what it is
                shown = Text.assemble((f"{head}  " if named else "", "dim"), line, overflow="fold")
                listing.add_row(shown if k == 0 else Padding(shown, (0, 0, 0, 2)))
    if table.caption:
        listing.add_row(Padding(_text(table.caption, console), (1, 0, 0, 0)))
    listing.add_row("")
    return listing


def _text(cell: Any, console: Console) -> Text:
    return cell if isinstance(cell, Text) else console.render_str(str(cell))


@contextmanager
def watched(ticks: int) -> Iterator[Callable[[str], Callable[[], None]]]:
    """A bar of so many turns; it shows the title of the task that is under way."""
    with Bar("", ticks, "turns") as bar:

        def watch(title: str) -> Callable[[], None]:
            bar.say(title)
            return bar.advance

        yield watch
