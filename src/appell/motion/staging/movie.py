"""A record as a film of the scene that its page shows: GIF, or MP4 where ffmpeg is installed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from appell.display.film.film import FILMS, check_film, write_film
from appell.display.scene import SHOWN
from appell.dynamics import Dynamics
from appell.model.system import System
from appell.motion.record import Record
from appell.motion.staging.stage import staged_record


def write_movie(
    record: Record,
    path: str | FilePath,
    robot: System | Dynamics | None,
    walls: Iterable[Any] | None,
    slower: float | None,
    view: tuple[float, float] | None,
    inertia: bool,
    size: tuple[int, int],
    progress: bool | None,
) -> FilePath:
    """See `Record.movie`."""
    target = check_film(path, size, FILMS)
    layers = (*SHOWN, "inertia") if inertia else SHOWN
    scene = staged_record(record, robot=robot, walls=walls, layers=layers)
    return write_film(replace(scene, view=view), target, size=size, slower=slower, layers=layers, progress=progress)
