"""The bar of a sweep: jobs done and failed, their rate, and the time that is left; shown on terminals alone."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


class SweepBar:
    """`with SweepBar(total, stored) as bar: bar(done, failed)`."""

    def __init__(self, total: int, stored: int, enabled: bool | None = None, console: Console | None = None):
        console = console or Console(stderr=True)
        columns = (
            TextColumn("sweep"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} jobs"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("{task.fields[failed]}", style="red"),
        )
        shown = console.is_terminal if enabled is None else enabled
        self.progress = Progress(
            *columns, console=console, transient=True, disable=not shown, speed_estimate_period=120.0
        )
        self.failed = 0
        self.task = self.progress.add_task("sweep", total=total, completed=stored, rate="", failed="")

    def __enter__(self) -> SweepBar:
        self.progress.start()
        return self

    def __call__(self, done: int, failed: int) -> None:
        """So many jobs more, and so many failed among them."""
        self.failed += failed
        self.progress.update(self.task, advance=done, failed=f"{self.failed:,} failed" if self.failed else "")
        speed = self.progress.tasks[0].speed
        self.progress.update(self.task, rate=f"{speed:.3g} a second" if speed else "")

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.progress.stop()
