"""Output of all commands: results as tables or JSON, messages, progress bars and reports of compilations.

    out = Printer(json)
    out.answer(data, table(data["rows"], {"name": "body", "mass": ("mass, kg", ".4g")}, "Bodies"))
    out.say("wrote swing.csv")

With `--json` the data go to stdout and all messages to stderr, so that the result can be piped; otherwise tables, lines
and messages go to stdout. Numbers in the data are in SI units and full precision; `units` beside them, or `unit` in
their row, gives the unit. JSON has null for numbers that are not finite.

Tables are never truncated: they are printed at their natural width if it fits, otherwise with cells wrapped between
words and, if even that does not fit, as a list with one cell per line.
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

PAGE_WIDTH = 100  # columns, if the output is a file or a pipe
MIN_REPORTED_COMPILATION_S = 0.3  # longer compilations are reported
UNLIMITED_WIDTH = 10_000  # columns; wider than any table

Heads = Mapping[str, Any]  # key of a row -> heading, or heading and format: "name", ("mass, kg", ".4g")


class Printer:
    """Prints the result of a command, as tables or JSON, and messages."""

    def __init__(self, json: bool = False):
        self.json, self.console = json, screen(aside=json)

    def answer(self, data: Any, *shown: RenderableType) -> None:
        """Print the result: with --json the data, otherwise `shown`, which are tables, and strings as single lines."""
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
        """Print lines of text."""
        say(self.console, *lines)

    def files(self, record: Any, output: Path | None, plot: Path | None = None, movie: Path | None = None) -> None:
        """Write the requested files of a record, which `check_target` has checked before the computation."""
        if output is not None:
            record.write(output, overwrite=True)
            self.say(f"wrote {output}, {len(record)} samples")
        if plot is not None:
            record.plot(plot, overwrite=True)
            self.say(f"wrote {plot}")
        if movie is not None:
            record.movie(movie, overwrite=True)
            self.say(f"wrote {movie}")

    def page(self, viewer: Any) -> None:
        """Print the address of a web page, and serve it until Ctrl-C."""
        with viewer, suppress(KeyboardInterrupt):
            self.say(f"serving at {viewer.url}", "Press Ctrl-C to stop.")
            viewer.wait()


def say(console: Console, *lines: str) -> None:
    """Print lines unchanged: without markup, highlighting or wrapping."""
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def verdict(text: str, good: bool) -> Text:
    """Return a final message in green if `good`, otherwise in red."""
    return Text(text, style="green" if good else "red")


def as_data(thing: Any) -> Any:
    """Convert to JSON types: NumPy numbers to Python numbers, non-finite ones to None, other objects to strings."""
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
    """A table cell with rich markup."""


def table(
    rows: Iterable[Mapping[str, Any]], heads: Heads, title: str = "", caption: str = "", hide_empty: bool = False
) -> Table:
    """Return a table: columns with a format are right-aligned, text columns left-aligned.

    Parameters
    ----------
    rows : iterable of mappings
    heads : key of a row -> heading, or (heading, format) for numbers
    title, caption : texts above and below the table
    hide_empty : whether to omit columns without content
    """
    formats = {key: head if isinstance(head, tuple) else (head, None) for key, head in heads.items()}
    columns = {key: [_cell(row.get(key), form) for row in rows] for key, (_, form) in formats.items()}
    result = Table(box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", caption_justify="left")
    result.title, result.caption = escape(title) or None, escape(caption) or None
    shown = {key: cells for key, cells in columns.items() if any(cells) or not hide_empty}
    for k, key in enumerate(shown):
        heading, form = formats[key]
        result.add_column(escape(heading), justify="left" if form is None else "right", style="" if k else "bold")
    for cells in zip(*shown.values(), strict=True):
        result.add_row(*cells)
    return result


def _cell(value: Any, form: str | None) -> str:
    if value is None or isinstance(value, Markup):
        return value or ""
    return escape(str(value)) if form is None or isinstance(value, str) else format(value, form)


def fitted(table: Table, console: Console) -> RenderableType:
    """Return a table that fits the width of the console, without truncated words."""
    free = console.options.update(max_width=UNLIMITED_WIDTH)
    natural = Measurement.get(console, free, table).maximum
    if natural <= console.width or not table.columns:
        return table
    spans = [_span(table, k, console) for k in range(len(table.columns))]
    available = console.width - (natural - sum(span.maximum for span in spans))
    if sum(span.minimum for span in spans) > available:
        return _listed(table, console)
    narrow = copy.copy(table)
    narrow.columns = [copy.copy(column) for column in table.columns]
    for column, width in zip(narrow.columns, _column_widths(spans, available), strict=True):
        column.width, column.ratio = width, None
    return narrow


def _span(table: Table, k: int, console: Console) -> Measurement:
    """Return the widths of the longest word and of the longest line of a column."""
    free = console.options.update(max_width=UNLIMITED_WIDTH)
    column = table.columns[k]
    cells = [*([column.header] if table.show_header else []), *column.cells]
    cells += [column.footer] if table.show_footer else []
    measured = [Measurement.get(console, free, console.render_str(x) if isinstance(x, str) else x) for x in cells]
    widest = max((each.maximum for each in measured), default=0)
    return Measurement(widest if column.no_wrap else max((each.minimum for each in measured), default=0), widest)


def _column_widths(spans: list[Measurement], available: int) -> list[int]:
    """Distribute the width: every column gets its longest word, then columns that need least get the rest first."""
    widths = [span.minimum for span in spans]
    spare = available - sum(widths)
    waiting = sorted(range(len(spans)), key=lambda k: spans[k].maximum - spans[k].minimum)
    for done, k in enumerate(waiting):
        more = min(spans[k].maximum - spans[k].minimum, spare // (len(waiting) - done))
        widths[k] += more
        spare -= more
    return widths


def _listed(table: Table, console: Console) -> RenderableType:
    """Return a table as a list: per row its first cell, followed by the other cells with their headings."""
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
    """A console that never truncates tables and pauses the progress bar while it prints."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; tables are fitted to the width."""
        with paused():
            for each in objects or ("",):
                super().print(fitted(each, self) if isinstance(each, Table) else each, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Replace characters that the terminal cannot show, before the width of a string is measured."""
        if not self.encoding.startswith("utf"):
            text = text.encode(self.encoding, SIMILAR).decode(self.encoding)
        return super().render_str(text, **options)

    def rule(self, title: Any = "", **options: Any) -> None:
        """Print a horizontal rule with a title, or only the title if it is too long."""
        if isinstance(title, str) and self.render_str(title).cell_len > self.width - 4:
            self.print(title)
        else:
            super().rule(title, **options)


def screen(aside: bool = False) -> Screen:
    """Return the console for stdout, or for stderr if `aside`; files and pipes have `PAGE_WIDTH` columns."""
    console = Screen(stderr=aside)
    return console if console.is_terminal or "COLUMNS" in os.environ else Screen(stderr=aside, width=PAGE_WIDTH)


# ---- progress


@contextmanager
def watched(ticks: int) -> Iterator[Callable[[str], Callable[[], None]]]:
    """Show a progress bar of `ticks` steps with the title of the current task."""
    with Bar("", ticks, "steps") as bar:

        def watch(title: str) -> Callable[[], None]:
            bar.say(title)
            return bar.advance

        yield watch


class CompilationReport(logging.Handler):
    """Logging handler that shows a bar while a function is compiled, and a line for long compilations.

    compiling inverse_dynamics of robot 'talos' ... 0.38 s (cached for later runs)

    The compiler logs to the logger "appell"; functions from the cache are not reported.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.console = Console(stderr=True)
        self.bar: Bar | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Show the start or the end of a compilation."""
        about = vars(record)
        if "work" not in about:
            return
        self.close_bar()
        what = f"{about['work']} {about['function']}" + (f" of {about['owner']}" if about["owner"] else "")
        if record.levelno == logging.DEBUG:
            self.bar = Bar(what, delay=0.0, console=self.console).__enter__()
        elif about["made"] and about["seconds"] >= MIN_REPORTED_COMPILATION_S:
            from appell.compile.cache.object_cache import find

            cached = " (cached for later runs)" if find(about["key"]) is not None else ""
            with paused():
                say(self.console, f"{what} ... {about['seconds']:.2f} s{cached}")

    def close_bar(self) -> None:
        """Remove the progress bar."""
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
