"""Drawings of a system at one configuration: lines, joints and ellipsoids, walls or a grid, and the world axes.

Under a parallel projection P an ellipsoid with half axes A (as columns) is an ellipse with the matrix P A Aᵀ Pᵀ, so
that outlines are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.show.plot.style import COLORS, GREY, INK, SMALL_PT, check_picture, label, new_figure, save, styled
from appell.show.scene.camera import grid_step, parallel_camera
from appell.show.stage.shape import PlacedShape, Shape, checked_configuration, dynamics_of
from appell.show.stage.walls import extent, floor_lines, wall_lines

MAX_COORDINATES_IN_TITLE = 4


def draw(
    robot: System | Dynamics,
    q=None,
    path: str | FilePath | None = None,
    *,
    axes: Any = None,
    walls: Iterable[Any] = (),
    view: tuple[float, float] | None = None,
    inertia: bool = False,
    overwrite: bool = False,
) -> Any:
    """Draw a robot or a mechanism at one configuration with matplotlib.

    Bodies are drawn as lines between their joints and frames, or as the outlines in the description of a mechanism.
    Bodies without lines are drawn as their inertia ellipsoids. Up is opposite to gravity; a planar system is seen face
    on.

    Parameters
    ----------
    robot : robot or mechanism to draw
    q : array_like, shape (nq,), optional
        Configuration; `robot.start` by default.
    path : file to write; its suffix selects the format (.png, .pdf, .svg, ...)
    axes : axes to draw into; a new figure by default
    walls : surfaces of a simulation, such as ``ap.Plane()``
    view : azimuth and elevation of the viewpoint in degrees
    inertia : draw the inertia ellipsoids of all bodies
    overwrite : replace an existing file

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ArgumentError
        If q is invalid, out of reach of a leg, or if the file exists.

    Examples
    --------
    >>> import appell as ap
    >>> figure = ap.draw(ap.load("planar-2r"), [0.3, -0.5])
    >>> figure.axes[0].get_title(loc="left")
    'planar-2r at shoulder 0.3, elbow -0.5'
    """
    if path is not None:
        check_picture(path, overwrite)
    dyn = dynamics_of(robot)
    system, q = dyn.system, checked_configuration(dyn, q)
    with styled():
        alone = axes is None
        axes = new_figure(LONG_SIDE_IN, LONG_SIDE_IN).add_subplot() if alone else axes
        figure = axes.figure
        picture = Picture(axes, Shape(dyn).at(q), system.gravity, tuple(walls), view, inertia)
        if alone:
            picture.fit(figure)
        numbers = ", ".join(f"{name} {x:.4g}" for name, x in zip(system.coordinate_names, q, strict=True))
        axes.set_title(f"{system.name} at {numbers}" if system.nq <= MAX_COORDINATES_IN_TITLE else system.name)
    if path is not None:
        save(figure, path, overwrite)
    return figure


ELLIPSE_ANGLES_RAD = np.linspace(0.0, 2.0 * np.pi, 49)
GROUND, SHADE, WALL = "#4d4d4d", "#d5d9de", "#b9bfc7"
MARGIN = 0.06  # relative to the size of the drawing
LONG_SIDE_IN, MIN_SHORT_SIDE_IN, TITLE_SPACE_IN = 6.4, 3.2, 0.6
TRIAD_SIZE_IN = 0.75


class Picture:
    """The drawing of a system at one configuration on matplotlib axes, with walls or a grid."""

    def __init__(
        self,
        axes: Any,
        shape: PlacedShape,
        gravity,
        walls: Sequence[Any] = (),
        view: tuple[float, float] | None = None,
        inertia: bool = False,
    ):
        from matplotlib.collections import LineCollection, PolyCollection

        self.axes, self.shape = axes, shape
        self.solid = np.ones(len(shape.bare), bool) if inertia else shape.bare
        points = shape.points(self.solid)
        if not len(shape.key_points):
            raise ArgumentError("nothing to draw: no body, joint or frame has a finite position.")
        self.camera = parallel_camera(shape.key_points, gravity, view)
        self.level = float((points @ self.camera.up).min())
        self.shaded = not walls and not self.camera.flat
        step = grid_step(1.2 * extent(points, walls))
        still = [line for wall in walls for line in wall_lines(wall, points, self.camera, step)]
        if self.shaded:
            still += floor_lines(points, self.camera, step)
        flat = [self.camera.project(line)[:, :2] for line in still]
        axes.add_collection(LineCollection(flat, colors=WALL if walls else SHADE, linewidths=0.8, zorder=0))
        self._frame(np.concatenate([self.camera.project(points)[:, :2], *flat]), gravity, step)
        anchors = self.camera.project(shape.anchors)
        axes.scatter(anchors[:, 0], anchors[:, 1], s=70, marker="s", color=GROUND, zorder=2)
        project, segments = self.camera.project, shape.segments
        fall = (segments @ self.camera.up - self.level)[..., None] * self.camera.up
        shadow = list(project(segments - fall)[..., :2]) if self.shaded else []
        axes.add_collection(LineCollection(shadow, colors=SHADE, linewidths=2.5, zorder=1))
        centers, half = project(shape.centers)[self.solid, :2], self.camera.axes[:2] @ shape.axes[self.solid]
        colors = [COLORS[k % len(COLORS)] for k in np.flatnonzero(self.solid)]
        outlines = [_ellipse(c, h) for c, h in zip(centers, half, strict=True)]
        self.bodies = axes.add_collection(PolyCollection(outlines, alpha=0.35, linewidths=1.0, zorder=2))
        self.bodies.set_color(colors)
        projected = project(segments)
        order = np.argsort(projected[..., 2].mean(axis=-1))  # draw from far to near
        style: dict[str, Any] = {"colors": [_color(k) for k in shape.branches[order]], "capstyle": "round", "zorder": 3}
        widths = np.where(shape.thin[order], 1.2, 3.0)
        axes.add_collection(LineCollection(list(projected[order][..., :2]), linewidths=widths, **style))
        axes.scatter(*centers.T, s=14, color=colors, zorder=4)
        joints = project(shape.joints)[:, :2]
        axes.scatter(*joints.T, s=14, color="white", edgecolors=INK, linewidths=0.9, zorder=5)

    def fit(self, figure: Any) -> None:
        """Adapt the size of a figure that contains only this drawing."""
        (left, right), (low, high) = self.axes.get_xlim(), self.axes.get_ylim()
        wide, tall = LONG_SIDE_IN * np.array([right - left, high - low]) / max(right - left, high - low)
        width = round(max(wide, MIN_SHORT_SIDE_IN + TITLE_SPACE_IN), 1)
        figure.set_size_inches(width, round(max(tall, MIN_SHORT_SIDE_IN) + TITLE_SPACE_IN, 1))

    def _frame(self, projected: np.ndarray, gravity, step: float) -> None:
        """Set equal scales and limits; label the axes of a planar view, else draw the world axes in a corner."""
        axes = self.axes
        low, high = projected.min(axis=0), projected.max(axis=0)
        margin = MARGIN * max(float((high - low).max()), 0.1)
        below = margin if self.camera.flat else 2.0 * margin  # space for the world axes and the grid label
        axes.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - below, high[1] + margin), aspect="equal")
        right, up = self.camera.labels
        if self.camera.flat and right and up:
            axes.set(xlabel=label(right, "m"), ylabel=label(up, "m"))
            axes.locator_params(nbins=6)
            return
        axes.set_axis_off()
        axes.text(0.99, 0.01, f"grid {step:g} m", transform=axes.transAxes, ha="right", va="bottom", color=GREY)
        self._triad(gravity)

    def _triad(self, gravity) -> None:
        box, size = self.axes.get_position(), self.axes.figure.get_size_inches()
        width, height = (min(TRIAD_SIZE_IN / inches, 0.4) for inches in (size[0] * box.width, size[1] * box.height))
        corner = self.axes.inset_axes((0.0, 0.0, width, height))
        corner.set_axis_off()
        corner.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal")
        arrows = dict(zip("xyz", np.eye(3), strict=True))
        if np.any(np.array([*gravity], float)):
            arrows["g"] = -1.2 * self.camera.up
        for name, direction in arrows.items():
            tip, color = self.camera.project(direction)[:2], COLORS[1] if name == "g" else GROUND
            corner.annotate("", tip, (0.0, 0.0), arrowprops={"arrowstyle": "->", "color": color, "linewidth": 0.9})
            corner.text(*(1.25 * tip), name, ha="center", va="center", fontsize=SMALL_PT, color=color)


def _color(branch: int) -> str:
    return GROUND if branch < 0 else COLORS[branch % len(COLORS)]


def _ellipse(center: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return the outline of an ellipsoid whose projected half axes are the columns of `half` (2, 3)."""
    sizes, axes = np.linalg.eigh(half @ half.T)
    root = axes * np.sqrt(np.maximum(sizes, 0.0))
    return center + np.column_stack([np.cos(ELLIPSE_ANGLES_RAD), np.sin(ELLIPSE_ANGLES_RAD)]) @ root.T
