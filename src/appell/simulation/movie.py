"""A robot as lines between its joints and points, drawn at times of a record or as a moving picture.

Every link with matter is drawn from its joint to the joints and named frames that it carries; two coordinates of the
world are shown, by default x and y.
"""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError
from appell.model.robot import Robot

if TYPE_CHECKING:
    from appell.motion.record import Record

FRAMES_A_SECOND = 25
OUTLINE = 400  # points along each side at which a wall is evaluated


class Skeleton:
    """The lines of a robot."""

    def __init__(self, dyn: Dynamics):
        robot = dyn.system
        if not isinstance(robot, Robot):
            raise ModelError(f"{robot.owner} has no tree of links to draw.", hint="motion.drawing.draw")
        self.names = list(robot.frame_names)
        index = {name: k for k, name in enumerate(self.names)}
        carried = [(link.parent, link.name) for link in robot.links] + [(f.body, f.name) for f in robot.frames]
        solid = {link.name for link in robot.links if link.body is not None}
        self.lines = [(index[a], index[b]) for a, b in carried if a in solid]
        frames, equations = [robot.frame(name) for name in self.names], dyn.equations

        def body(q):
            return {"x": [list(p) for p in equations.positions(frames, q)]}

        self.points = Function.of("points", {"q": robot.nq}, body, "Where all frames are.", robot.owner)

    def segments(self, q: np.ndarray, axes: tuple[int, int] = (0, 1)) -> np.ndarray:
        """(..., lines, 2, 2): both ends of every line."""
        x = self.points(q)[..., list(axes)]
        return x[..., np.array(self.lines), :]


def draw_wall(axis, contact, axes: tuple[int, int], low: np.ndarray, high: np.ndarray) -> None:
    """The line where a wall's gap is zero, in the plane of two axes through the world's origin."""
    gap = Function.of("gap", {"x": 3}, lambda x: {"gap": contact.surface.gap(*x)})
    first, second = (np.linspace(low[k], high[k], OUTLINE) for k in range(2))
    grid = np.zeros((OUTLINE, OUTLINE, 3))
    grid[..., axes[0]], grid[..., axes[1]] = np.meshgrid(first, second)
    axis.contour(first, second, gap(grid), levels=[0.0], colors="0.35", linewidths=1.5)


def animate(
    record: Record,
    dyn: Dynamics,
    path: str | FilePath,
    contacts=(),
    axes: tuple[int, int] = (0, 1),
    slower: float = 1.0,
) -> FilePath:
    """Write the motion as GIF, or as MP4 where ffmpeg is installed; `slower` than life by a factor."""
    from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    path = FilePath(path)
    video = path.suffix == ".mp4"
    if path.suffix not in (".gif", ".mp4"):
        raise ArgumentError(
            f"an animation cannot be written to '{path.name}'.", expected="a name that ends in .gif or .mp4"
        )
    if video and not FFMpegWriter.isAvailable():
        raise ArgumentError("no ffmpeg is installed to write MP4.", hint="a .gif")
    skeleton = Skeleton(dyn)
    t = np.linspace(record.t[0], record.t[-1], 1 + int(slower * np.ptp(record.t) * FRAMES_A_SECOND))
    segments = skeleton.segments(record(t)[0], axes)
    flat = segments.reshape(-1, 2)
    margin = (0.3 if contacts else 0.1) * np.ptp(flat, axis=0).max() + 0.05  # walls are further out
    low, high = flat.min(axis=0) - margin, flat.max(axis=0) + margin
    figure = Figure(figsize=(5, 5))
    axis = figure.subplots()
    axis.set_aspect("equal")
    axis.set_xlim(low[0], high[0])
    axis.set_ylim(low[1], high[1])
    for contact in contacts:
        draw_wall(axis, contact, axes, low, high)
    lines = LineCollection(list(segments[0]), colors="#2463a6", linewidths=2.5)
    axis.add_collection(lines)
    title = axis.set_title("")

    def frame(k: int):
        lines.set_segments(list(segments[k]))
        title.set_text(f"t = {t[k]:.3f} s")
        return lines, title

    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    writer = (FFMpegWriter if video else PillowWriter)(fps=FRAMES_A_SECOND)
    path.parent.mkdir(parents=True, exist_ok=True)
    FuncAnimation(figure, frame, frames=len(t)).save(path, writer=writer, dpi=80)
    return path
