"""The printer of all commands: a command gives it data, and it knows `--json`, the width and the colours.

    out = Printer(json)
    out.answer(data, table(data["rows"], {"name": "body", "mass": ("mass, kg", ".4g")}, "Bodies"))
    out.say("written swing.csv")

With `--json` the data go to stdout and all remarks to stderr, so that the answer can be piped; otherwise tables, lines
and remarks go to stdout. A number in the data is in SI units and in full; `units` beside it, or `unit` in its row,
names the unit. JSON has null where a number is not finite.

Tables are printed so that nothing is cut: at their natural width if that fits; else with cells broken between words;
and where even that does not fit, as a list, one entry below the other.
"""

from __future__ import annotations

import copy
import json as json_format
import logging
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from appell.cli.characters import SIMILAR
from appell.progress import Bar, paused

PAGE_WIDTH = 100  # columns of a file or a pipe
COMPILATION_SHOWN_S = 0.3  # compilations that take longer are reported
UNLIMITED = 10_000  # columns; wider than any table

Heads = Mapping[str, Any]  # key of a row -> heading, or heading and format: "name", ("mass, kg", ".4g")


class Printer:
    """Prints the answer of a command and the remarks beside it."""

    def __init__(self, json: bool = False):
        self.json, self.console = json, screen(aside=json)

    def answer(self, data: Any, *shown: RenderableType) -> None:
        """Print the data as JSON, or what is shown of them: tables, and strings as single lines."""
        if self.json:
            ascii_only = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
            typer.echo(json_format.dumps(as_data(data), indent=1, ensure_ascii=ascii_only, allow_nan=False))
            return
        for each in shown:
            if isinstance(each, str):
                self.say(each)
            else:
                self.console.print(each, highlight=False)

    def say(self, *lines: str) -> None:
        say(self.console, *lines)

    def files(self, record: Any, output: Path | None, plot: Path | None = None, movie: Path | None = None) -> None:
        """Write the files of a record that were asked for; `check_target` has checked them before the work."""
        if output is not None:
            record.write(output, overwrite=True)
            self.say(f"written {output}, {len(record)} samples")
        if plot is not None:
            record.plot(plot, overwrite=True)
            self.say(f"drawn {plot}")
        if movie is not None:
            record.movie(movie, overwrite=True)
            self.say(f"drawn {movie}")

    def page(self, viewer: Any) -> None:
        """Print the address of a page, and serve it until Ctrl-C."""
        with viewer, suppress(KeyboardInterrupt):
            self.say(f"shown at {viewer.url}", "Ctrl-C ends it.")
            viewer.wait()


def say(console: Console, *lines: str) -> None:
    """Print lines as they are: without markup, and without line breaks of our own."""
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def verdict(text: str, good: bool) -> Text:
    """Return a closing sentence in green or red."""
    return Text(text, style="green" if good else "red")


def as_data(thing: Any) -> Any:
    """Convert to what JSON has: NumPy's numbers as Python's, None for what is not finite, all else by its name."""
    match thing:
        case None | bool() | str() | int():
            return thing
        case float() | np.floating():
            return float(thing) if math.isfinite(thing) else None
        case np.bool_() | np.integer():
            return thing.item()
        case complex() | np.complexfloating():
            return {"real": as_data(thing.real), "imaginary": as_data(thing.imag)}
        case np.ndarray():
            return [as_data(each) for each in thing] if thing.ndim else as_data(thing[()])
        case Mapping():
            return {str(key): as_data(value) for key, value in thing.items()}
        case Iterable():
            return [as_data(each) for each in thing]
    return str(thing)


# ---- tables


class Markup(str):
    """A cell with rich's markup."""


def table(
    rows: Iterable[Mapping[str, Any]], heads: Heads, title: str = "", caption: str = "", hide_empty: bool = False
) -> Table:
    """Make a table of rows: text to the left as it is, numbers to the right in the format of their heading.

    `hide_empty` leaves out columns without any text.
    """
    formats = {key: head if isinstance(head, tuple) else (head, None) for key, head in heads.items()}
    columns = {key: [_cell(row.get(key), form) for row in rows] for key, (_, form) in formats.items()}
    made = Table(box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", caption_justify="left")
    made.title, made.caption = escape(title) or None, escape(caption) or None
    shown = {key: cells for key, cells in columns.items() if any(cells) or not hide_empty}
    for k, key in enumerate(shown):
        heading, form = formats[key]
        made.add_column(escape(heading), justify="left" if form is None else "right", style="" if k else "bold")
    for cells in zip(*shown.values(), strict=True):
        made.add_row(*cells)
    return made


def _cell(value: Any, form: str | None) -> str:
    if value is None or isinstance(value, Markup):
        return value or ""
    return escape(str(value)) if form is None or isinstance(value, str) else format(value, form)


def fitted(table: Table, console: Console) -> RenderableType:
    """Fit a table to the console's width without cutting a word."""
    free = console.options.update(max_width=UNLIMITED)
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
    """Measure the longest word and the longest line of a column."""
    free = console.options.update(max_width=UNLIMITED)
    column = table.columns[k]
    cells = [*([column.header] if table.show_header else []), *column.cells]
    cells += [column.footer] if table.show_footer else []
    found = [Measurement.get(console, free, console.render_str(x) if isinstance(x, str) else x) for x in cells]
    widest = max((each.maximum for each in found), default=0)
    return Measurement(widest if column.no_wrap else max((each.minimum for each in found), default=0), widest)


def _shared(spans: list[Measurement], room: int) -> list[int]:
    """Share the room: every column gets its longest word, then the least demanding columns are served first."""
    widths = [span.minimum for span in spans]
    spare = room - sum(widths)
    waiting = sorted(range(len(spans)), key=lambda k: spans[k].maximum - spans[k].minimum)
    for done, k in enumerate(waiting):
        more = min(spans[k].maximum - spans[k].minimum, spare // (len(waiting) - done))
        widths[k] += more
        spare -= more
    return widths


def _listed(table: Table, console: Console) -> RenderableType:
    """Print every row as a paragraph: its first cell, then the other cells with their headings."""
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
                named = head and (k or table.columns[0].justify == "right")  # a number needs its heading
                shown = Text.assemble((f"{head}  " if named else "", "dim"), line, overflow="fold")
                listing.add_row(shown if k == 0 else Padding(shown, (0, 0, 0, 2)))
    if table.caption:
        listing.add_row(Padding(_text(table.caption, console), (1, 0, 0, 0)))
    listing.add_row("")
    return listing


def _text(cell: Any, console: Console) -> Text:
    return cell if isinstance(cell, Text) else console.render_str(str(cell))


# ---- the terminal


class Screen(Console):
    """A console that cuts no table and prints above a progress bar."""

    def print(self, *objects: Any, **options: Any) -> None:
        with paused():
            for each in objects or ("",):
                super().print(fitted(each, self) if isinstance(each, Table) else each, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Replace characters that the terminal lacks before a string is measured for a column."""
        if not self.encoding.startswith("utf"):
            text = text.encode(self.encoding, SIMILAR).decode(self.encoding)
        return super().render_str(text, **options)

    def rule(self, title: Any = "", **options: Any) -> None:
        """Print a line with a title in it, or the title alone if it is too long for that."""
        if isinstance(title, str) and self.render_str(title).cell_len > self.width - 4:
            self.print(title)
        else:
            super().rule(title, **options)


def screen(aside: bool = False) -> Screen:
    """Return the terminal at its width, or a page of `PAGE_WIDTH` columns for a file or a pipe; stderr if `aside`."""
    console = Screen(stderr=aside)
    return console if console.is_terminal or "COLUMNS" in os.environ else Screen(stderr=aside, width=PAGE_WIDTH)


# ---- progress


@contextmanager
def watched(ticks: int) -> Iterator[Callable[[str], Callable[[], None]]]:
    """Show a bar of so many turns with the title of the current task."""
    with Bar("", ticks, "turns") as bar:

        def watch(title: str) -> Callable[[], None]:
            bar.say(title)
            return bar.advance

        yield watch


class CompilationReport(logging.Handler):
    """Shows a bar while a function is compiled, and a line for a compilation that took long.

    compiling inverse_dynamics of robot 'talos' ... 0.38 s (kept for next time)

    The compiler logs its work under the name "appell"; functions from the cache are not reported.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.console = Console(stderr=True)
        self.bar: Bar | None = None

    def emit(self, record: logging.LogRecord) -> None:
        about = vars(record)
        if "work" not in about:
            return
        self.close_bar()
        what = f"{about['work']} {about['function']}" + (f" of {about['owner']}" if about["owner"] else "")
        if record.levelno == logging.DEBUG:
            self.bar = Bar(what, delay=0.0, console=self.console).__enter__()
        elif about["made"] and about["seconds"] >= COMPILATION_SHOWN_S:
            from appell.compile.cache.object_cache import find

            kept = " (kept for next time)" if find(about["key"]) is not None else ""
            with paused():
                say(self.console, f"{what} ... {about['seconds']:.2f} s{kept}")

    def close_bar(self) -> None:
        if self.bar is not None:
            self.bar.__exit__(None, None, None)
            self.bar = None


@contextmanager
def compilation_reported() -> Iterator[None]:
    """Report compilations inside the block on stderr."""
    log, report = logging.getLogger("appell"), CompilationReport()
    level = log.level
    log.addHandler(report)
    log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        report.close_bar()
        log.removeHandler(report)
        log.setLevel(level)
