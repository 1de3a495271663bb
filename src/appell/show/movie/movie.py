"""Files of a scene: a picture at one time, or a movie of its complete motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from appell.errors import ArgumentError, check_number, needed_package, unknown_name
from appell.files import check_target, replacing
from appell.progress import counted
from appell.show.movie.captions import Captions
from appell.show.movie.renderer import Renderer
from appell.show.movie.video import ffmpeg, frame_times, slowdown, write_gif, write_mp4
from appell.show.scene.scene import DEFAULT_LAYERS, LAYERS, Scene, marks_of

MOVIE_SUFFIXES, SUFFIXES = (".gif", ".mp4"), (".gif", ".mp4", ".png")
DEFAULT_SIZE_PX = (800, 600)
MIN_SIDE_PX, MAX_SIDE_PX = 120, 4096
PALETTE_FRAMES = 5  # frames that determine the colours of a GIF, in addition to those at marks


def image(
    scene: Scene,
    t: float | None = None,
    size: tuple[int, int] = DEFAULT_SIZE_PX,
    *,
    layers: Sequence[str] = DEFAULT_LAYERS,
    slower: float = 1.0,
) -> np.ndarray:
    """Render a scene at one time.

    Parameters
    ----------
    scene : the scene to draw
    t : time in s; the first time of the scene by default
    size : width and height in pixels
    layers : layers to draw, of `scene.LAYERS`
    slower : factor relative to real time that is written in the caption

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)

    Examples
    --------
    >>> import appell as ap
    >>> from appell.show.stage.scenes import robot_scene
    >>> image(robot_scene(ap.load("planar-2r")), size=(160, 120)).shape
    (120, 160, 3)
    """
    check_size(size)
    check_layers(layers)
    return _Pictures(scene, size, layers, slower).at(scene.span[0] if t is None else _time(t))


def write_movie(
    scene: Scene,
    path: str | Path,
    *,
    size: tuple[int, int] = DEFAULT_SIZE_PX,
    slower: float | None = None,
    at: float | None = None,
    layers: Sequence[str] = DEFAULT_LAYERS,
    progress: bool | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a scene as a movie (GIF, or MP4 if ffmpeg is installed) or its picture at one time (PNG).

    Parameters
    ----------
    scene : the scene to draw
    path : file with the suffix .gif, .mp4 or .png
    size : width and height in pixels; even numbers for MP4
    slower : float, optional
        Factor by which the movie is slower than real time. By default the movie lasts 2 to 20 s.
    at : time of a PNG in s; the first time of the scene by default
    layers : layers to draw, of `scene.LAYERS`
    progress : show a progress bar; by default in a terminal only
    overwrite : replace an existing file

    Returns
    -------
    Path

    Raises
    ------
    ArgumentError
        If the file exists, an option is invalid, or Pillow or ffmpeg is missing.

    Examples
    --------
    >>> import tempfile
    >>> import appell as ap
    >>> from appell.show.stage.scenes import record_scene
    >>> scene = record_scene(ap.simulate(ap.load("planar-2r"), until=0.1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_movie(scene, f"{folder}/swing.png", at=0.05, size=(160, 120)).name
    'swing.png'
    """
    target = check_movie(path, size, overwrite=overwrite)
    check_layers(layers)
    kind = target.suffix.lower()
    if at is not None and kind != ".png":
        raise ArgumentError(
            f"at is {at!r}, but '{target.name}' is a movie of all times.", hint="Use a file name that ends with .png."
        )
    first, last = scene.span
    if kind == ".png":
        picture = image(scene, at, size, layers=layers)
        with replacing(target, "the picture") as part:
            needed_package("PIL.Image", "a PNG", "appell[plots]").fromarray(picture).save(part, format="PNG")
        return target
    slower = slowdown(last - first, slower)
    times = frame_times(first, last, slower)
    pictures = _Pictures(scene, size, layers, slower)

    def frames() -> Iterator[np.ndarray]:
        return (pictures.at(t) for t in counted(times.tolist(), "movie", "frames", enabled=progress))

    with replacing(target, "the movie") as part:
        if kind == ".mp4":
            write_mp4(frames(), size, part)
        else:
            write_gif(frames(), [pictures.at(t) for t in _palette_times(scene, times)], part)
    return target


def check_movie(
    path: str | Path,
    size: tuple[int, int] = DEFAULT_SIZE_PX,
    endings: Sequence[str] = SUFFIXES,
    overwrite: bool = False,
) -> Path:
    """Check the file, the size and the required programs before a movie is rendered; see `files.check_target`."""
    target = check_target(path, endings, overwrite)
    needed_package("PIL.Image", "a movie", "appell[plots]")
    check_size(size)
    if target.suffix.lower() == ".mp4":
        if any(side % 2 for side in size):
            raise ArgumentError(f"size is {tuple(size)}.", expected="even numbers of pixels for MP4")
        ffmpeg()
    return target


class _Pictures:
    """Pictures of a scene with captions."""

    def __init__(self, scene: Scene, size: tuple[int, int], layers: Sequence[str], slower: float):
        self.renderer = Renderer(scene, size, layers, slower)
        ground = self.renderer.ground
        self.captions = Captions(scene, size, None if ground is None else ground.step, slower)

    def at(self, t: float) -> np.ndarray:
        return self.captions.write(self.renderer.at(t), t)


def check_size(size: tuple[int, int]) -> None:
    """Raise ArgumentError unless `size` is a width and a height in pixels within the limits."""
    try:
        width, height = size
    except (TypeError, ValueError):
        raise ArgumentError(f"size is {size!r}.", expected="(width, height) in pixels") from None
    for name, side in (("width", width), ("height", height)):
        if not isinstance(side, (int, np.integer)) or not MIN_SIDE_PX <= side <= MAX_SIDE_PX:
            raise ArgumentError(
                f"the {name} is {side!r}.", expected=f"an integer from {MIN_SIDE_PX} to {MAX_SIDE_PX} pixels"
            )


def check_layers(layers: Sequence[str]) -> None:
    """Raise ArgumentError if a layer does not exist."""
    for layer in layers:
        if layer not in LAYERS:
            raise ArgumentError(unknown_name("layer", str(layer), LAYERS, "a scene"))


def _time(t: float) -> float:
    check_number("the time", t)
    return float(t)


def _palette_times(scene: Scene, times: np.ndarray) -> list[float]:
    """Return times whose pictures contain all colours: evenly spaced ones, and one mark of every kind."""
    even = times[np.linspace(0, len(times) - 1, PALETTE_FRAMES).astype(int)].tolist()
    return sorted({*even, *{mark.kind: mark.time for mark in marks_of(scene)}.values()})
