"""GIF: frames with one palette for all of them, made of the colours of some of them.

Of every frame after the first, only the rectangle is written in which something has changed, and in it what has not is
left clear; colours are not dithered, so that little does. Frames are written as they come, and none is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from appell.display.film.pace import FRAMES_A_SECOND
from appell.errors import needed_package

WHITE, CLEAR = 254, 255  # numbers of colours: the paper, and what shows the frame before
TAKEN = 400_000  # pixels from which the palette is made
ROUNDS = 3  # of bettering it


def write_gif(frames: Iterable[np.ndarray], examples: Iterable[np.ndarray], path: Path) -> None:
    """Frames (height, width, 3) to a file; the examples among them have all the colours that matter."""
    images = needed_package("PIL.Image", "a GIF", "appell[plots]")
    blocks = needed_package("PIL.GifImagePlugin", "a GIF", "appell[plots]")
    palette = _palette(images, [*examples])
    shown: np.ndarray | None = None
    with open(path, "wb") as file:
        for frame in frames:
            numbers = np.array(images.fromarray(frame).quantize(palette=palette, dither=images.Dither.NONE))
            numbers[(frame == 255).all(axis=-1)] = WHITE  # what quantises looks at six bits of a colour only
            if shown is None:
                height, width = numbers.shape
                whole = images.frombytes("P", (width, height), numbers.tobytes())
                whole.putpalette(palette.getpalette())
                file.writelines(blocks.getheader(whole, info={"loop": 0, "optimize": False})[0])
            new, corner = _change(numbers, shown)
            image = images.frombytes("P", new.shape[::-1], new.tobytes())
            told = {"duration": 1000 // FRAMES_A_SECOND, "transparency": CLEAR, "disposal": 1}
            file.writelines(blocks.getdata(image, corner, **told))
            shown = numbers
        file.write(b";")


def _change(numbers: np.ndarray, shown: np.ndarray | None) -> tuple[np.ndarray, tuple[int, int]]:
    """The part of a frame that differs from what is shown, clear where it does not, and its upper left corner."""
    if shown is None:
        return numbers, (0, 0)
    differs = numbers != shown
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if not len(rows):
        return np.full((1, 1), CLEAR, np.uint8), (0, 0)
    box = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return np.where(differs[box], numbers[box], np.uint8(CLEAR)), (int(columns[0]), int(rows[0]))


def _palette(images: Any, examples: list[np.ndarray]) -> Any:
    """White and 254 colours that come near to all others in the examples."""
    pixels = np.concatenate([example.reshape(-1, 3) for example in examples])
    pixels = pixels[(pixels < 255).any(axis=1)]
    pixels = pixels[:: max(1, len(pixels) // TAKEN)] if len(pixels) else np.zeros((1, 3), np.uint8)
    row = images.fromarray(pixels[None])
    colors = row.quantize(WHITE, method=images.Quantize.MEDIANCUT, kmeans=ROUNDS).getpalette()[: 3 * WHITE]
    made = images.new("P", (1, 1))
    made.putpalette([*colors, *[255] * (3 * (CLEAR + 1) - len(colors))])
    return made
