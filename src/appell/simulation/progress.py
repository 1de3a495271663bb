"""A progress bar for runs that last: it appears after a second, and only on a terminal."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class Bar:
    """`with Bar(start, until) as bar: bar(t)`."""

    PATIENCE = 1.0  # seconds of wall clock before anything is shown

    def __init__(
        self,
        start: float,
        until: float,
        enabled: bool | None = None,
        console: Console | None = None,
        label: str = "simulate",
    ):
        self.start, self.until, self.enabled, self.label = start, until, enabled, label
        self.console = console or Console(stderr=True)
        self.begun = time.monotonic()
        self.progress: Progress | None = None
        self.task = TaskID(0)

    def __enter__(self) -> Bar:
        return self

    def __call__(self, t: float) -> None:
        if self.progress is None:
            if self.enabled is False or time.monotonic() - self.begun < self.PATIENCE:
                return
            columns = (TextColumn(self.label), BarColumn(), TextColumn("{task.completed:.3g} of {task.total:.3g} s"))
            if not self.console.is_terminal and not self.enabled:
                self.enabled = False
                return
            self.progress = Progress(*columns, TimeRemainingColumn(), console=self.console, transient=True)
            self.task = self.progress.add_task(self.label, total=self.until - self.start)
            self.progress.start()
        self.progress.update(self.task, completed=t - self.start)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.progress is not None:
            self.progress.stop()
