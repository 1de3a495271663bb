"""A scene as a picture at one time, and as a film of its whole time in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from appell.display.bar import counted
from appell.display.film.gif import write_gif
from appell.display.film.letters import Letters
from appell.display.film.marks import marks
from appell.display.film.mp4 import ffmpeg, write_mp4
from appell.display.film.pace import frame_times, pace
from appell.display.film.studio import Studio
from appell.display.scene import LAYERS, SHOWN, Scene
from appell.display.target import check_target, replacing
from appell.errors import ArgumentError, check_number, needed_package, unknown_name

FILMS, ENDINGS = (".gif", ".mp4"), (".gif", ".mp4", ".png")
SIZE = (800, 600)
SMALLEST, LARGEST = 120, 4096  # pixels a side
EXAMPLES = 5  # frames from which the colours of a GIF are taken, besides those at marks


def image(
    scene: Scene,
    t: float | None = None,
    size: tuple[int, int] = SIZE,
    *,
    layers: Sequence[str] = SHOWN,
    slower: float = 1.0,
) -> np.ndarray:
    """The scene at a time, its first if None: (height, width, 3) of bytes; the pace is only written on it."""
    check_size(size)
    check_layers(layers)
    return _Shots(scene, size, layers, slower).at(scene.span[0] if t is None else _time(t))


def write_film(
    scene: Scene,
    path: str | Path,
    *,
    size: tuple[int, int] = SIZE,
    slower: float | None = None,
    at: float | None = None,
    layers: Sequence[str] = SHOWN,
    progress: bool | None = None,
) -> Path:
    """The whole time of a scene as GIF, or as MP4 where ffmpeg is installed, or its picture `at` one time as PNG.

        write_film(scene, "swing.mp4", size=(1280, 720))
        write_film(scene, "swing.png", at=0.3)

    `slower` than life by a factor; if None, so that the film lasts 2 to 20 s. A PNG is of the first time unless `at`
    says otherwise. A file that is there is replaced.
    """
    target = check_film(path, size)
    check_layers(layers)
    kind = target.suffix.lower()
    if at is not None and kind != ".png":
        raise ArgumentError(f"at is {at!r}, and '{target.name}' shows all times.", hint="a name that ends in .png")
    first, last = scene.span
    if kind == ".png":
        picture = image(scene, at, size, layers=layers)
        with replacing(target) as part:
            needed_package("PIL.Image", "a PNG", "appell[plots]").fromarray(picture).save(part, format="PNG")
        return target
    slower = pace(last - first, slower)
    times = frame_times(first, last, slower)
    shots = _Shots(scene, size, layers, slower)

    def frames() -> Iterator[np.ndarray]:
        return (shots.at(t) for t in counted(times.tolist(), "film", "frames", enabled=progress))

    with replacing(target) as part:
        if kind == ".mp4":
            write_mp4(frames(), size, part)
        else:
            write_gif(frames(), [shots.at(t) for t in _examples(scene, times)], part)
    return target


def check_film(path: str | Path, size: tuple[int, int] = SIZE, endings: tuple[str, ...] = ENDINGS) -> Path:
    """The path of a film, or an error if none can be written there; worth asking before the work."""
    target = check_target(path, endings)
    needed_package("PIL.Image", "a film", "appell[plots]")
    check_size(size)
    if target.suffix.lower() == ".mp4":
        ffmpeg()
        if any(side % 2 for side in size):
            raise ArgumentError(f"the size is {tuple(size)}.", expected="even numbers of pixels, as MP4 wants them")
    return target


class _Shots:
    """Pictures of a scene with what is written on them."""

    def __init__(self, scene: Scene, size: tuple[int, int], layers: Sequence[str], slower: float):
        self.studio = Studio(scene, size, layers, slower)
        ground = self.studio.ground
        self.letters = Letters(scene, size, None if ground is None else ground.step, slower)

    def at(self, t: float) -> np.ndarray:
        return self.letters.write(self.studio.at(t), t)


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
    return sorted({*some, *{mark.kind: mark.time for mark in marks(scene)}.values()})
