"""How fast a film shows what happens, and at which times its frames are.

At the speed of life if that lasts some seconds; else slower or faster by a round factor, which the picture says.

GIF: frames with one palette for all of them, made of the colours of some of them.

Of every frame after the first, only the rectangle is written in which something has changed, and in it what has not is
left clear; colours are not dithered, so that little does. Frames are written as they come, and none is kept.

MP4: frames handed one by one to ffmpeg, where it is installed, which writes H.264 that every player knows.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import ArgumentError, check_number, needed_package

FRAMES_A_SECOND = 25
SHORTEST_S, LONGEST_S = 2.0, 20.0  # seconds of a film whose speed nobody chose
MOST_FRAMES = 10_000  # frames


def slowdown(span: float, slower: float | None) -> float:
    """How much slower than life, as asked for or so that the film lasts some seconds."""
    if slower is not None:
        check_number("slower", slower, least=0.0, above=True)
        if slower * span * FRAMES_A_SECOND > MOST_FRAMES:
            raise ArgumentError(
                f"the film would have {slower * span * FRAMES_A_SECOND:.0f} frames.",
                expected=f"at most {MOST_FRAMES}",
                hint="a smaller `slower`, or record.part(rows)",
            )
        return float(slower)
    if span == 0.0 or SHORTEST_S <= span <= LONGEST_S:
        return 1.0
    wanted = SHORTEST_S / span if span < SHORTEST_S else span / LONGEST_S
    power = 10.0 ** math.floor(math.log10(wanted))
    nice = power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power >= wanted * (1.0 - 1e-9))
    return nice if span < SHORTEST_S else 1.0 / nice


def frame_times(first: float, last: float, slower: float) -> np.ndarray:
    """Of all frames, evenly from the first time on; the last frame is at the last time."""
    step = 1.0 / (slower * FRAMES_A_SECOND)
    frames = 1 + math.ceil((last - first) / step - 1e-6)
    return np.minimum(first + step * np.arange(frames), last)


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


MP4_QUALITY = 20  # ffmpeg's constant rate factor: 0 keeps all, 51 the least; from 18 on films look as they are
COLOR_SPACE = "bt709"


def ffmpeg() -> str:
    """The program, or an error if there is none."""
    found = shutil.which("ffmpeg")
    if found is None:
        raise ArgumentError("no ffmpeg is installed to write MP4.", hint="a .gif, which needs none")
    return found


def write_mp4(frames: Iterable[np.ndarray], size: tuple[int, int], path: Path) -> None:
    """Frames (height, width, 3) of even numbers of pixels to a file; what ffmpeg complains of is told."""
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(_command(size, path), stdin=subprocess.PIPE, stderr=complaints)
        assert process.stdin is not None
        try:
            for frame in frames:
                process.stdin.write(np.ascontiguousarray(frame).data)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended before its time, and says why
        except BaseException:
            process.kill()
            raise
        finally:
            process.wait()
        if process.returncode:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip().splitlines()
            why = said[-1] if said else f"it ended with {process.returncode}"
            raise ArgumentError(f"ffmpeg could not write the film: {why}", hint="a .gif, which needs no ffmpeg")


def _command(size: tuple[int, int], path: Path) -> list[str]:
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-video_size", f"{size[0]}x{size[1]}"]
    tags = ["-colorspace", COLOR_SPACE, "-color_primaries", COLOR_SPACE, "-color_trc", COLOR_SPACE]
    video = [
        "-vf",
        f"scale=out_color_matrix={COLOR_SPACE}:out_range=tv",
        "-pix_fmt",
        "yuv420p",
        "-crf",
        str(MP4_QUALITY),
    ]
    rate = ["-framerate", str(FRAMES_A_SECOND)]
    quiet = ["-hide_banner", "-loglevel", "error", "-y"]
    web = ["-movflags", "+faststart", "-f", "mp4"]
    return [ffmpeg(), *quiet, *raw, *rate, "-i", "-", "-c:v", "libx264", *video, *tags, *web, str(path)]
