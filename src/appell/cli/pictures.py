"""The pictures that a command is asked for: written, told of, and shown on a screen if there is one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from appell.motion.pictures.look import opened
from appell.motion.record import Record


def write_pictures(record: Record, plot: Path | None, movie: Path | None, view: bool = False) -> Iterator[str]:
    """Write them and say so in sentences; `view` shows them on a screen, or a plot if none was asked for."""
    if view and plot is None and movie is None:
        plot = Path(tempfile.mkdtemp(prefix="appell-")) / "record.png"
    if plot is not None:
        record.plot(plot)
        yield f"drawn {plot}"
    if movie is not None:
        record.movie(movie)
        yield f"drawn {movie}"
    for path in filter(None, (plot, movie)):
        if view and not opened(path):
            yield f"There is no screen to show {path} on."
