"""A bar for films that take some seconds, with the rate of their frames; only on a terminal, unless it is asked for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

PATIENCE = 2.0  # seconds that are left to go before a bar is worth its place

Thing = TypeVar("Thing")


def counted(things: Iterable[Thing], total: int, progress: bool | None = None) -> Iterator[Thing]:
    """The same things, with a bar if the rest of them takes long; `progress` shows it in any case, or never."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("film"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
    task = bar.add_task("film", total=total, rate="")
    begun, shown = time.monotonic(), False
    try:
        for k, thing in enumerate(things):
            yield thing
            rate = (k + 1) / max(time.monotonic() - begun, 1e-9)
            if not shown and (
                progress or (progress is None and console.is_terminal and total - k - 1 > PATIENCE * rate)
            ):
                bar.start()
                shown = True
            bar.update(task, completed=k + 1, rate=f"{rate:.1f} frames/s")
    finally:
        if shown:
            bar.stop()
