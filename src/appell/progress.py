"""Progress bars for long computations: what is done, at which rate, and the time left.

    with Bar("simulate", until, "s") as bar: bar(t)

A bar is drawn on stderr if that is a terminal, one second after the start, and is erased at the end. One bar is visible
at a time: an inner bar hides the outer one. Code that prints in the meantime does so inside `paused()`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import Self, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

Item = TypeVar("Item")
DELAY_S = 1.0  # wall-clock time before a bar is drawn
MAX_BAR_WIDTH = 40  # columns of the terminal, without the text
RATE_WINDOW_S = 60.0  # time over which the rate is averaged
_active: list[Bar] = []  # outer bars first; the last one is visible


class Bar:
    """A progress bar: `with Bar(label, total, unit) as bar:`, then `bar(done)`, `bar.advance()`, `bar.say(label)`.

    Parameters
    ----------
    label : text in front of the bar
    total : value of `done` at the end; None: unknown, and the bar shows the elapsed time instead of the time left
    unit : unit of `done`, such as "s" or "jobs"; empty: no numbers are shown
    start : value of `done` at the start of the bar
    done : value of `done` when the bar is created
    enabled : whether the bar is drawn; None: if stderr is a terminal
    delay : seconds before the bar is drawn, 1 by default; 0 draws it at once, for work that does not report progress
    console : where the bar is drawn; None: stderr
    """

    def __init__(
        self,
        label: str,
        total: float | None = None,
        unit: str = "",
        *,
        start: float = 0.0,
        done: float = 0.0,
        enabled: bool | None = None,
        delay: float | None = None,
        console: Console | None = None,
    ):
        self.label, self.total, self.unit, self.start = label, total, unit, start
        self.done = done
        self.enabled, self.delay = enabled, DELAY_S if delay is None else delay
        self._console = console
        self.start_time = time.monotonic()
        self.progress: Progress | None = None
        self.task = TaskID(0)

    @cached_property
    def console(self) -> Console:
        """Where the bar is drawn."""
        return self._console or Console(stderr=True)

    def __enter__(self) -> Self:
        if self.delay <= 0.0:
            self._draw()
        return self

    def __call__(self, done: float) -> None:
        """Set the progress, a value between `start` and `total`."""
        self.done = done
        self._draw()

    def advance(self, by: float = 1.0) -> None:
        """Increase the progress by `by`."""
        self(self.done + by)

    def say(self, label: str) -> None:
        """Change the label."""
        self.label = label
        self._draw()

    def _draw(self) -> None:
        if self.progress is None:
            if self.enabled is False or time.monotonic() - self.start_time < self.delay:
                return
            if self.enabled is None:
                self.enabled = self.console.is_terminal and not self.console.is_dumb_terminal
            if not self.enabled:
                return
            self._create()
        assert self.progress is not None
        total = None if self.total is None else self.total - self.start
        label = escape(self.label)
        self.progress.update(self.task, completed=self.done - self.start, total=total, description=label)

    def _create(self) -> None:
        clock = TimeElapsedColumn() if self.total is None else TimeRemainingColumn()
        width = max(5, min(MAX_BAR_WIDTH, self.console.width // 4))
        columns = (TextColumn("{task.description}"), BarColumn(width), _Count(self.unit), _Rate(self.unit), clock)
        self.progress = Progress(*columns, console=self.console, transient=True, speed_estimate_period=RATE_WINDOW_S)
        self.task = self.progress.add_task(escape(self.label), total=None)
        for outer in _active[-1:]:
            outer.hide()
        _active.append(self)
        self.progress.start()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.progress is not None:
            was_visible = _active[-1] is self
            self.hide()
            _active.remove(self)
            self.progress = None
            for outer in _active[-1:] if was_visible else ():
                outer.show()

    def hide(self) -> None:
        """Erase the bar until `show` is called."""
        if self.progress is not None:
            self.progress.stop()

    def show(self) -> None:
        """Draw a hidden bar again."""
        if self.progress is not None:
            self.progress.start()


def counted(
    items: Sequence[Item],
    label: str = "",
    unit: str = "",
    delay: float | None = None,
    enabled: bool | None = None,
) -> Iterator[Item]:
    """Yield the items and count them in a bar. Without a label, the bar shows the current item.

    Parameters
    ----------
    items : the items
    label, unit, delay, enabled : see `Bar`
    """
    with Bar(label, len(items), unit, delay=delay, enabled=enabled) as bar:
        for item in items:
            if not label:
                bar.say(str(item))
            yield item
            bar.advance()


@contextmanager
def paused() -> Iterator[None]:
    """Hide the visible bar inside the `with` block, so that lines can be printed."""
    visible = _active[-1:]
    for bar in visible:
        bar.hide()
    try:
        yield
    finally:
        for bar in visible:
            bar.show()


class _Count(ProgressColumn):
    """The column "12 of 40 jobs"."""

    def __init__(self, unit: str):
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        if not self.unit:
            return Text("")
        of_total = "" if task.total is None else f" of {_number(task.total)}"
        return Text(f"{_number(task.completed)}{of_total} {self.unit}")


class _Rate(ProgressColumn):
    """The column "53 jobs/s" or "1.9 s/job"."""

    def __init__(self, unit: str):
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        return Text(rate_text(task.finished_speed or task.speed or 0.0, self.unit))


def rate_text(speed: float, unit: str) -> str:
    """Return a rate as text: "53 jobs/s", "1.9 s/job"; empty if the rate or its unit is unknown."""
    if not unit or speed <= 0.0:
        return ""
    if speed >= 1.0 or unit == "s":  # simulated seconds per second
        return f"{_number(speed)} {unit}/s"
    return f"{1.0 / speed:.3g} s/{unit.removesuffix('s')}"


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 1000.0 or x == round(x) else f"{x:.3g}"
