"""A scene as a picture at one time, and as a film of its whole time in a file."""

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

FILMS, ENDINGS = (".gif", ".mp4"), (".gif", ".mp4", ".png")
SIZE = (800, 600)
SMALLEST, LARGEST = 120, 4096  # pixels a side
EXAMPLES = 5  # frames from which the colours of a GIF are taken, besides those at marks


def image(
    scene: Scene,
    t: float | None = None,
    size: tuple[int, int] = SIZE,
    *,
    layers: Sequence[str] = DEFAULT_LAYERS,
    slower: float = 1.0,
) -> np.ndarray:
    """The scene at a time, its first if None: (height, width, 3) of bytes; the pace is only written on it."""
    check_size(size)
    check_layers(layers)
    return _Shots(scene, size, layers, slower).at(scene.span[0] if t is None else _time(t))


def write_movie(
    scene: Scene,
    path: str | Path,
    *,
    size: tuple[int, int] = SIZE,
    slower: float | None = None,
    at: float | None = None,
    layers: Sequence[str] = DEFAULT_LAYERS,
    progress: bool | None = None,
    overwrite: bool = False,
) -> Path:
    """The whole time of a scene as GIF, or as MP4 where ffmpeg is installed, or its picture `at` one time as PNG.

        write_movie(scene, "swing.mp4", size=(1280, 720))
        write_movie(scene, "swing.png", at=0.3)

    `slower` than life by a factor; if None, so that the film lasts 2 to 20 s. A PNG is of the first time unless `at`
    says otherwise. A file that exists already is replaced only with `overwrite=True`.
    """
    target = check_movie(path, size, overwrite=overwrite)
    check_layers(layers)
    kind = target.suffix.lower()
    if at is not None and kind != ".png":
        raise ArgumentError(f"at is {at!r}, and '{target.name}' shows all times.", hint="a name that ends in .png")
    first, last = scene.span
    if kind == ".png":
        picture = image(scene, at, size, layers=layers)
        with replacing(target, "the film") as part:
            needed_package("PIL.Image", "a PNG", "appell[plots]").fromarray(picture).save(part, format="PNG")
        return target
    slower = slowdown(last - first, slower)
    times = frame_times(first, last, slower)
    shots = _Shots(scene, size, layers, slower)

    def frames() -> Iterator[np.ndarray]:
        return (shots.at(t) for t in counted(times.tolist(), "film", "frames", enabled=progress))

    with replacing(target, "the film") as part:
        if kind == ".mp4":
            write_mp4(frames(), size, part)
        else:
            write_gif(frames(), [shots.at(t) for t in _examples(scene, times)], part)
    return target


def check_movie(
    path: str | Path, size: tuple[int, int] = SIZE, endings: Sequence[str] = ENDINGS, overwrite: bool = False
) -> Path:
    """Check the target of a film before the work, and the programs that write it; see `files.check_target`."""
    target = check_target(path, endings, overwrite)
    needed_package("PIL.Image", "a film", "appell[plots]")
    check_size(size)
    if target.suffix.lower() == ".mp4":
        if any(side % 2 for side in size):
            raise ArgumentError(f"the size is {tuple(size)}.", expected="even numbers of pixels, as MP4 wants them")
        ffmpeg()
    return target


class _Shots:
    """Pictures of a scene with what is written on them."""

    def __init__(self, scene: Scene, size: tuple[int, int], layers: Sequence[str], slower: float):
        self.renderer = Renderer(scene, size, layers, slower)
        ground = self.renderer.ground
        self.captions = Captions(scene, size, None if ground is None else ground.step, slower)

    def at(self, t: float) -> np.ndarray:
        return self.captions.write(self.renderer.at(t), t)


def check_size(size: tuple[int, int]) -> None:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise ArgumentError(f"the size is {size!r}.", expected="(width, height) in pixels") from None
    for name, side in (("width", width), ("height", height)):
        if not isinstance(side, (int, np.integer)) or not SMALLEST <= side <= LARGEST:
            raise ArgumentError(
                f"the {name} is {side!r}.", expected=f"a whole number from {SMALLEST} to {LARGEST} pixels"
            )


def check_layers(layers: Sequence[str]) -> None:
    for layer in layers:
        if layer not in LAYERS:
            raise ArgumentError(unknown_name("layer", str(layer), LAYERS, "a scene"))


def _time(t: float) -> float:
    check_number("the time", t)
    return float(t)


def _examples(scene: Scene, times: np.ndarray) -> list[float]:
    """Times whose pictures have all colours: some from beginning to end, and one mark of every kind."""
    some = times[np.linspace(0, len(times) - 1, EXAMPLES).astype(int)].tolist()
    return sorted({*some, *{mark.kind: mark.time for mark in marks_of(scene)}.values()})
