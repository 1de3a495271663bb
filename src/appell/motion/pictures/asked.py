"""The pictures that a command is asked for: looked at before the work, written and shown after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path as FilePath

from appell.motion.pictures.look import check_picture, opened
from appell.motion.pictures.movie import check_movie
from appell.motion.record import Record

Pictures = tuple[FilePath | None, FilePath | None]  # a plot and a movie


def check_pictures(plot: FilePath | None, movie: FilePath | None, *, overwrite: bool = True) -> Pictures:
    """The same, or an error if one of them cannot be written."""
    return (
        None if plot is None else check_picture(plot, overwrite=overwrite),
        None if movie is None else check_movie(movie, overwrite=overwrite),
    )


def write_pictures(record: Record, pictures: Pictures, view: bool = False) -> Iterator[str]:
    """Write them and say so in sentences; `view` shows them on a screen, or a plot if none was asked for."""
    plot, movie = pictures
    if view and plot is None and movie is None:
        plot = FilePath(tempfile.mkdtemp(prefix="appell-")) / f"{record.about.get('robot', 'record')}.png"
    if plot is not None:
        record.plot(plot)
        yield f"drawn {plot}"
    if movie is not None:
        record.movie(movie)
        yield f"drawn {movie}"
    for path in filter(None, (plot, movie)):
        if view and not opened(path):
            yield f"There is no screen to show {path} on."
