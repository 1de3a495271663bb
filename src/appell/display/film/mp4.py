"""MP4: frames handed one by one to ffmpeg, where it is installed, which writes H.264 that every player knows."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from appell.display.film.pace import FRAMES_A_SECOND
from appell.errors import ArgumentError

QUALITY = 20  # ffmpeg's constant rate factor: 0 keeps all, 51 the least; from 18 on films look as they are
COLORS = "bt709"


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
    tags = ["-colorspace", COLORS, "-color_primaries", COLORS, "-color_trc", COLORS]
    video = ["-vf", f"scale=out_color_matrix={COLORS}:out_range=tv", "-pix_fmt", "yuv420p", "-crf", str(QUALITY)]
    rate = ["-framerate", str(FRAMES_A_SECOND)]
    quiet = ["-hide_banner", "-loglevel", "error", "-y"]
    web = ["-movflags", "+faststart", "-f", "mp4"]
    return [ffmpeg(), *quiet, *raw, *rate, "-i", "-", "-c:v", "libx264", *video, *tags, *web, str(path)]
