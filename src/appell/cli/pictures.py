"""The pictures that a command is asked for: written and told of, or shown in the browser until Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from appell.cli.screen import say
from appell.display.viewer import Viewer
from appell.motion.record import Record


def write_pictures(record: Record, plot: Path | None, movie: Path | None) -> Iterator[str]:
    """Write them and say so in sentences."""
    if plot is not None:
        record.plot(plot)
        yield f"drawn {plot}"
    if movie is not None:
        record.movie(movie)
        yield f"drawn {movie}"


def stay(viewer: Viewer, console: Console) -> None:
    """Say where a page is, and keep it there until Ctrl-C."""
    with viewer, suppress(KeyboardInterrupt):
        say(console, f"shown at {viewer.url}")
        say(console, "Ctrl-C ends it.")
        viewer.wait()
