"""A system at one configuration, as a still picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.mechanism import Mechanism
from appell.model.system import System
from appell.motion.mechanisms.pose_check import check_pose
from appell.motion.pictures.look import check_picture, new_figure, save, styled
from appell.motion.pictures.picture import LARGE, Picture
from appell.motion.pictures.shape import Shape

LISTED = 4  # coordinates that a title has room for


def draw(
    robot: System | Dynamics,
    q=None,
    path: str | FilePath | None = None,
    *,
    axes: Any = None,
    walls: Iterable[Any] = (),
    view: tuple[float, float] | None = None,
    inertia: bool = False,
) -> Any:
    """A robot or a mechanism at q, its start if None: upright against gravity, face on if it lies in one plane.

        ap.draw(ap.load("puma"), [0.3, -0.5, 0, 0, 0.2, 0], "puma.png")

    Bodies are the lines between their joints and frames, or the outlines that a mechanism was given; those without
    either are their ellipsoids of inertia, and with `inertia=True` all are. `walls` are surfaces of a simulation,
    `view` is (azimuth, elevation) in degrees. Returns the matplotlib figure. A pose out of reach is an error that names
    the leg.
    """
    if path is not None:
        check_picture(path)
    dyn = catalogue_of(robot)
    system = dyn.system
    q = system.sized("q", system.start if q is None else q, system.nq)
    if q.ndim != 1 or not np.isfinite(q).all():
        raise ArgumentError(f"q is {q}.", expected=f"{system.nq} finite numbers, one configuration of {system.owner}")
    if isinstance(system, Mechanism):
        check_pose(dyn, q, np.inf)
    with styled():
        alone = axes is None
        axes = new_figure(LARGE, LARGE).add_subplot() if alone else axes
        figure = axes.figure
        picture = Picture(axes, Shape(dyn).at(q), system.gravity, tuple(walls), view, inertia)
        picture.show()
        if alone:
            picture.fit(figure)
        numbers = ", ".join(f"{name} {x:.4g}" for name, x in zip(system.coordinate_names, q, strict=True))
        axes.set_title(f"{system.name} at {numbers}" if system.nq <= LISTED else system.name)
    if path is not None:
        save(figure, path)
    return figure


def catalogue_of(robot: Any) -> Dynamics:
    """The functions of what is to be drawn."""
    if isinstance(robot, Dynamics):
        return robot
    if not isinstance(robot, System):
        raise ArgumentError(f"{robot!r} cannot be drawn.", expected="a robot, a mechanism or their Dynamics")
    return Dynamics(robot)
