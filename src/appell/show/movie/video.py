"""Playback speed, frame times, and the GIF and MP4 files of a movie.

A movie is shown in real time if it then lasts 2 to 20 seconds, else slower or faster by a round factor, which is
written in the picture.

GIF: all frames share one palette, which is computed from some of them. Of every frame after the first, only the
rectangle that contains changes is written, and unchanged pixels in it are transparent. Colours are not dithered,
because dithering would change more pixels. Frames are written one by one and not kept in memory.

MP4: frames are piped one by one to ffmpeg, if it is installed, which writes H.264 video.
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
from appell.files import is_closed_pipe

FRAMES_PER_SECOND = 25
MIN_DURATION_S, MAX_DURATION_S = 2.0, 20.0  # of a movie without a given speed
MAX_FRAMES = 10_000


def slowdown(span: float, slower: float | None) -> float:
    """Return the factor by which a movie is slower than real time.

    Parameters
    ----------
    span : duration of the motion in s
    slower : float, optional
        The factor, if given by the user; it is checked. By default a round factor for which the movie lasts from
        MIN_DURATION_S to about MAX_DURATION_S.
    """
    if slower is not None:
        check_number("slower", slower, least=0.0, above=True)
        if slower * span * FRAMES_PER_SECOND > MAX_FRAMES:
            raise ArgumentError(
                f"the movie would have {slower * span * FRAMES_PER_SECOND:.0f} frames.",
                expected=f"at most {MAX_FRAMES}",
                hint="Pass a smaller `slower`, or select rows with record.part(rows).",
            )
        return float(slower)
    if span == 0.0 or MIN_DURATION_S <= span <= MAX_DURATION_S:
        return 1.0
    wanted = MIN_DURATION_S / span if span < MIN_DURATION_S else span / MAX_DURATION_S
    power = 10.0 ** math.floor(math.log10(wanted))
    nice = power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power >= wanted * (1.0 - 1e-9))
    return nice if span < MIN_DURATION_S else 1.0 / nice


def frame_times(first: float, last: float, slower: float) -> np.ndarray:
    """Return evenly spaced frame times from the first to the last time, in s; the last frame is at the last time."""
    step = 1.0 / (slower * FRAMES_PER_SECOND)
    frames = 1 + math.ceil((last - first) / step - 1e-6)
    return np.minimum(first + step * np.arange(frames), last)


WHITE_INDEX, CLEAR_INDEX = 254, 255  # palette indices of the background and of unchanged pixels
MAX_PALETTE_PIXELS = 400_000  # approximate number of pixels from which the palette is computed
KMEANS_ITERATIONS = 3


def write_gif(frames: Iterable[np.ndarray], examples: Iterable[np.ndarray], path: Path) -> None:
    """Write frames (height, width, 3) to a GIF file; the palette is computed from the examples."""
    images = needed_package("PIL.Image", "a GIF", "appell[plots]")
    blocks = needed_package("PIL.GifImagePlugin", "a GIF", "appell[plots]")
    palette = _palette(images, [*examples])
    shown: np.ndarray | None = None
    with open(path, "wb") as file:
        for frame in frames:
            numbers = np.array(images.fromarray(frame).quantize(palette=palette, dither=images.Dither.NONE))
            numbers[(frame == 255).all(axis=-1)] = WHITE_INDEX  # quantize() uses six bits per colour only
            if shown is None:
                height, width = numbers.shape
                first = images.frombytes("P", (width, height), numbers.tobytes())
                first.putpalette(palette.getpalette())
                file.writelines(blocks.getheader(first, info={"loop": 0, "optimize": False})[0])
            new, corner = _change(numbers, shown)
            image = images.frombytes("P", new.shape[::-1], new.tobytes())
            options = {"duration": 1000 // FRAMES_PER_SECOND, "transparency": CLEAR_INDEX, "disposal": 1}
            file.writelines(blocks.getdata(image, corner, **options))
            shown = numbers
        file.write(b";")


def _change(numbers: np.ndarray, shown: np.ndarray | None) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the rectangle of a frame that differs from the shown one, transparent where equal, and its corner."""
    if shown is None:
        return numbers, (0, 0)
    differs = numbers != shown
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if not len(rows):
        return np.full((1, 1), CLEAR_INDEX, np.uint8), (0, 0)
    box = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return np.where(differs[box], numbers[box], np.uint8(CLEAR_INDEX)), (int(columns[0]), int(rows[0]))


def _palette(images: Any, examples: list[np.ndarray]) -> Any:
    """Return a palette of white and 254 colours that approximate those of the examples."""
    pixels = np.concatenate([example.reshape(-1, 3) for example in examples])
    pixels = pixels[(pixels < 255).any(axis=1)]
    pixels = pixels[:: max(1, len(pixels) // MAX_PALETTE_PIXELS)] if len(pixels) else np.zeros((1, 3), np.uint8)
    row = images.fromarray(pixels[None])
    quantized = row.quantize(WHITE_INDEX, method=images.Quantize.MEDIANCUT, kmeans=KMEANS_ITERATIONS)
    colors = quantized.getpalette()[: 3 * WHITE_INDEX]
    palette = images.new("P", (1, 1))
    palette.putpalette([*colors, *[255] * (3 * (CLEAR_INDEX + 1) - len(colors))])
    return palette


MP4_QUALITY = 20  # constant rate factor of ffmpeg: 0 is lossless, 18 visually lossless, 51 the worst
COLOR_SPACE = "bt709"


def ffmpeg() -> str:
    """Return the path of ffmpeg; raise ArgumentError if it is not installed."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise ArgumentError("MP4 needs ffmpeg, which is not installed.", hint="Write a .gif, which needs no ffmpeg.")
    return program


def write_mp4(frames: Iterable[np.ndarray], size: tuple[int, int], path: Path) -> None:
    """Write frames (height, width, 3) with even sides to an MP4 file; an error repeats the last line of ffmpeg."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(_command(size, path), stdin=subprocess.PIPE, stderr=log)
        assert process.stdin is not None
        try:
            for frame in frames:
                process.stdin.write(np.ascontiguousarray(frame).data)
            process.stdin.close()
        except BaseException as error:
            if not (isinstance(error, OSError) and is_closed_pipe(error)):  # else ffmpeg has failed; see its message
                process.kill()
                raise
        finally:
            process.wait()
        if process.returncode:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit status {process.returncode}"
            raise ArgumentError(
                f"ffmpeg could not write the movie: {reason}", hint="Write a .gif, which needs no ffmpeg."
            )


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
    rate = ["-framerate", str(FRAMES_PER_SECOND)]
    quiet = ["-hide_banner", "-loglevel", "error", "-y"]
    web = ["-movflags", "+faststart", "-f", "mp4"]
    return [ffmpeg(), *quiet, *raw, *rate, "-i", "-", "-c:v", "libx264", *video, *tags, *web, str(path)]
