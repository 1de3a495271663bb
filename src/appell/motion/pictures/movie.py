"""A record as a moving picture: GIF, or MP4 where ffmpeg is installed.

Shown at the speed of life if that lasts some seconds; else slower or faster by a round factor, which the picture says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.pictures.drawing import catalogue_of
from appell.motion.pictures.look import check_picture, new_figure, replacing, styled
from appell.motion.pictures.picture import LARGE, Picture
from appell.motion.pictures.shape import Shape
from appell.motion.record import Record

FRAMES_A_SECOND = 25
SHORTEST, LONGEST = 2.0, 20.0  # seconds of a movie whose speed nobody chose
MOST = 10_000  # frames
PIXELS = 100  # an inch; with tenths of inches an even number, as MP4 wants it


def write_movie(
    record: Record,
    path: str | FilePath,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    slower: float | None = None,
    view: tuple[float, float] | None = None,
    inertia: bool = False,
    progress: bool | None = None,
) -> FilePath:
    """See `Record.movie`."""
    target = check_movie(path)
    dyn = _moved(record, robot)
    writer = _video if target.suffix.lower() == ".mp4" else _gif
    with styled():
        slower = _factor(record, slower)
        t = _times(record, slower)
        figure = new_figure(LARGE, LARGE)
        scene = Shape(dyn).at(_configurations(record, t, dyn.system))
        shown = record.walls if walls is None else tuple(walls)
        picture = Picture(figure.add_subplot(), scene, dyn.system.gravity, shown, view, inertia)
        picture.fit(figure)
        figure.set_dpi(PIXELS)
        figure.canvas.draw()
        figure.set_layout_engine("none")  # what is laid out once stays where it is
        pace = "" if slower == 1.0 else f", {slower:g} × slower" if slower > 1.0 else f", {1 / slower:g} × faster"

        def frames() -> Iterator[Any]:
            for k in _counted(len(t), progress):
                picture.show((k,))
                picture.axes.set_title(f"{dyn.system.name}   t = {t[k]:.3f} s{pace}", family="monospace")
                yield figure

        with replacing(target) as part:
            writer(figure, frames(), part)
    return target


def check_movie(path: str | FilePath) -> FilePath:
    """The path of a movie, or an error if none can be written there; worth asking before the work."""
    target = check_picture(path, (".gif", ".mp4"))
    with styled():
        from matplotlib.animation import FFMpegWriter

        if target.suffix.lower() == ".mp4" and not FFMpegWriter.isAvailable():
            raise ArgumentError("no ffmpeg is installed to write MP4.", hint="a .gif, which needs none")
    return target


def _moved(record: Record, robot: System | Dynamics | None) -> Dynamics:
    """What the record is of; its coordinates must be those of the record."""
    if not len(record):
        raise ArgumentError("the record has no rows, and there is nothing to show.")
    if robot is None and record.dynamics is None:
        who = record.about.get("robot", "...")
        raise ArgumentError(
            "the record does not know which robot moved: only records of `simulate` do, until they are written.",
            hint=f"record.movie(path, robot), for example with ap.load('{who}')",
        )
    dyn = record.dynamics if robot is None else catalogue_of(robot)
    assert dyn is not None
    names = record.names("q")
    if set(names) != set(dyn.system.coordinate_names):
        raise ArgumentError(
            f"the record moves {len(names)} coordinates: {', '.join(names)}.",
            expected=f"the {dyn.system.nq} of {dyn.system.owner}: {', '.join(dyn.system.coordinate_names)}",
        )
    return dyn


def _factor(record: Record, slower: float | None) -> float:
    """How much slower than life, as asked for or so that the movie lasts some seconds."""
    span = float(np.ptp(record.t))
    if slower is not None:
        if not (math.isfinite(slower) and slower > 0.0):
            raise ArgumentError(f"slower is {slower!r}.", expected="a positive factor, such as 2")
        if slower * span * FRAMES_A_SECOND > MOST:
            raise ArgumentError(
                f"the movie would have {slower * span * FRAMES_A_SECOND:.0f} frames.",
                expected=f"at most {MOST}",
                hint="a smaller `slower`, or record.part(rows)",
            )
        return float(slower)
    if span == 0.0 or SHORTEST <= span <= LONGEST:
        return 1.0
    wanted = SHORTEST / span if span < SHORTEST else span / LONGEST
    power = 10.0 ** math.floor(math.log10(wanted))
    nice = power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power >= wanted * (1.0 - 1e-9))
    return nice if span < SHORTEST else 1.0 / nice


def _times(record: Record, slower: float) -> np.ndarray:
    """Of the frames, evenly from the first row on; the last frame is the last row."""
    first, last, step = record.t[0], record.t[-1], 1.0 / (slower * FRAMES_A_SECOND)
    frames = 1 + math.ceil((last - first) / step - 1e-6)
    return np.minimum(first + step * np.arange(frames), last)


def _configurations(record: Record, t: np.ndarray, system: System) -> np.ndarray:
    """q at these times: of the motion itself, or straight between the rows; quaternions the short way."""
    if record.between is not None:
        names = record.names("q")
        return record(t)[0][:, [names.index(name) for name in system.coordinate_names]]
    rows = np.array(record.block("q", system.coordinate_names))
    for span in system.quaternions:
        turned = np.sign(np.einsum("ti,ti->t", rows[1:, span], rows[:-1, span]))
        rows[1:, span] *= np.cumprod(np.where(turned < 0.0, -1.0, 1.0))[:, None]
    return np.column_stack([np.interp(t, record.t, column) for column in rows.T])


def _counted(frames: int, progress: bool | None) -> Iterable[int]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    hidden = not (console.is_terminal and frames > 2 * FRAMES_A_SECOND) if progress is None else not progress
    return track(range(frames), "movie", console=console, transient=True, disable=hidden)


def _gif(figure: Any, frames: Iterator[Any], path: FilePath) -> None:
    from PIL import Image

    def images() -> Iterator[Any]:
        for frame in frames:
            frame.canvas.draw()
            pixels = Image.frombuffer("RGBA", frame.canvas.get_width_height(), frame.canvas.buffer_rgba(), "raw")
            yield pixels.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=128)

    every = images()
    first = next(every)
    first.save(path, format="GIF", save_all=True, append_images=every, duration=1000 // FRAMES_A_SECOND, loop=0)


def _video(figure: Any, frames: Iterator[Any], path: FilePath) -> None:
    from matplotlib.animation import FFMpegWriter

    writer = FFMpegWriter(fps=FRAMES_A_SECOND)
    first = next(frames)
    with writer.saving(figure, str(path), PIXELS):
        for _ in chain([first], frames):
            writer.grab_frame()
