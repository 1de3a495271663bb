"""Where commands write: tables on stdout, progress on stderr, so that the one can be piped without the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

PAGE = 100  # columns of a file or a pipe


def screen() -> Console:
    """The terminal at its width; a file or a pipe has no width of its own, and gets a comfortable one."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=PAGE)


def say(console: Console, text: str) -> None:
    """A line as it is: names in it are no markup, and nothing breaks it."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def watched(ticks: int) -> Iterator[Callable[[str], Callable[[], None]]]:
    """A bar of so many ticks; it shows the title of the task that is under way."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=ticks)

        def watch(title: str) -> Callable[[], None]:
            progress.update(bar, description=title)
            return lambda: progress.advance(bar)

        yield watch
