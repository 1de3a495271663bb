"""A bar for work that lasts: how far it is, how fast it goes, how long it will take.

    with Bar("simulate", until, "s") as bar: bar(t)

It is drawn on stderr, on terminals alone, after a second of patience, and leaves nothing behind. One bar is seen at a
time: that of work inside work hides the outer one while it lasts. Whoever prints meanwhile does so inside `paused()`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
PATIENCE = 1.0  # s of wall clock before anything is drawn
WIDEST = 40  # columns of the bar itself
MEMORY = 60.0  # s over which a rate is taken
_up: list[Bar] = []  # outer bars first; the last one is seen


class Bar:
    """`with Bar(label, total, unit) as bar:` then `bar(done)`, `bar.advance()` and `bar.say(label)`.

    Without a total it shows what is done and for how long. `enabled` draws it, or not, whatever stderr is; `patience`
    of 0 draws it at once, for work that does not say how far it is.
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
        patience: float | None = None,
        console: Console | None = None,
    ):
        self.label, self.total, self.unit, self.start = label, total, unit, start
        self.done = done
        self.enabled, self.patience = enabled, PATIENCE if patience is None else patience
        self.console = console or Console(stderr=True)
        self.begun = time.monotonic()
        self.progress: Progress | None = None
        self.task = TaskID(0)

    def __enter__(self) -> Self:
        if self.patience <= 0.0:
            self._draw()
        return self

    def __call__(self, done: float) -> None:
        """It has come so far, from `start` to `total`."""
        self.done = done
        self._draw()

    def advance(self, by: float = 1.0) -> None:
        self(self.done + by)

    def say(self, label: str) -> None:
        """What is under way now."""
        self.label = label
        self._draw()

    def _draw(self) -> None:
        if self.progress is None:
            if self.enabled is None:
                self.enabled = self.console.is_terminal and not self.console.is_dumb_terminal
            if not self.enabled or time.monotonic() - self.begun < self.patience:
                return
            self._put_up()
        assert self.progress is not None
        whole = None if self.total is None else self.total - self.start
        label = escape(self.label)
        self.progress.update(self.task, completed=self.done - self.start, total=whole, description=label)

    def _put_up(self) -> None:
        ends = TimeElapsedColumn() if self.total is None else TimeRemainingColumn()
        wide = max(5, min(WIDEST, self.console.width // 4))
        columns = (TextColumn("{task.description}"), BarColumn(wide), _Count(self.unit), _Rate(self.unit), ends)
        self.progress = Progress(*columns, console=self.console, transient=True, speed_estimate_period=MEMORY)
        self.task = self.progress.add_task(escape(self.label), total=None)
        for outer in _up[-1:]:
            outer.hide()
        _up.append(self)
        self.progress.start()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.progress is not None:
            seen = _up[-1] is self
            self.hide()
            _up.remove(self)
            self.progress = None
            for outer in _up[-1:] if seen else ():
                outer.show()

    def hide(self) -> None:
        if self.progress is not None:
            self.progress.stop()

    def show(self) -> None:
        if self.progress is not None:
            self.progress.start()


def counted(
    items: Sequence[Item],
    label: str = "",
    unit: str = "",
    patience: float | None = None,
    enabled: bool | None = None,
) -> Iterator[Item]:
    """The items, with a bar while one does something with each; without a label it shows the item."""
    with Bar(label, len(items), unit, patience=patience, enabled=enabled) as bar:
        for item in items:
            if not label:
                bar.say(str(item))
            yield item
            bar.advance()


@contextmanager
def paused() -> Iterator[None]:
    """Without the bar that is up, so that lines can be printed; it is drawn again afterwards."""
    seen = _up[-1:]
    for bar in seen:
        bar.hide()
    try:
        yield
    finally:
        for bar in seen:
            bar.show()


class _Count(ProgressColumn):
    """So many of so many."""

    def __init__(self, unit: str):
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        if not self.unit:
            return Text("")
        whole = "" if task.total is None else f" of {_number(task.total)}"
        return Text(f"{_number(task.completed)}{whole} {self.unit}")


class _Rate(ProgressColumn):
    """So many a second, or so many seconds each."""

    def __init__(self, unit: str):
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        return Text(rate_text(task.finished_speed or task.speed or 0.0, self.unit))


def rate_text(speed: float, unit: str) -> str:
    """A speed in words: 53 jobs/s, 1.9 s/job; nothing where it is not known."""
    if not unit or speed <= 0.0:
        return ""
    if speed >= 1.0 or unit == "s":  # seconds of a motion a second
        return f"{_number(speed)} {unit}/s"
    return f"{1.0 / speed:.3g} s/{unit.removesuffix('s')}"


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 1000.0 or x == round(x) else f"{x:.3g}"
