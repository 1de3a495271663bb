"""A drawing of a mechanism at one pose: the outlines of its bodies, flat if all of them lie in the xy plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.model.mechanism import Mechanism
from appell.motion.mechanisms.pose_check import check_pose


def outlines(dyn: Dynamics, mechanism: Mechanism, q) -> dict[str, np.ndarray]:
    """The points of every body that has an outline, in the world."""
    found = {}
    for body in mechanism.parts:
        if len(body.outline):
            pose = dyn.pose(body.name)(q)
            found[body.name] = np.asarray(body.outline, float) @ pose[:3, :3].T + pose[:3, 3]
    return found


def draw(dyn: Dynamics, q=None, axes: Any = None) -> Any:
    """Draw the mechanism at a pose, home if None; returns the axes. One out of reach is an error that names the leg."""
    mechanism = dyn.system
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"{mechanism.owner} has no outlines to draw.", expected="a mechanism")
    q = mechanism.start if q is None else q
    check_pose(dyn, q, np.inf)
    moving = outlines(dyn, mechanism, q)
    fixed = [np.asarray(line, float) for line in mechanism.outlines]
    points = np.concatenate([*moving.values(), *fixed])
    flat = bool(np.ptp(points[:, 2]) < 1e-12)
    if axes is None:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 6), layout="constrained")
        axes = figure.add_subplot() if flat else figure.add_subplot(projection="3d")
    pick = slice(2) if flat else slice(3)
    for line in fixed:
        axes.plot(*line[:, pick].T, color="black", linewidth=3)
    for name, line in moving.items():
        axes.plot(*line[:, pick].T, marker="o" if len(line) < 9 else None, linewidth=2, label=name)
    _square(axes, points, flat)
    numbers = ", ".join(f"{name} {x:g}" for name, x in zip(dyn.system.coordinate_names, q, strict=True))
    axes.set_title(f"{dyn.system.name} at {numbers}", fontsize="medium")
    return axes


def _square(axes: Any, points: np.ndarray, flat: bool) -> None:
    """The same scale on all axes."""
    middle, half = (points.max(0) + points.min(0)) / 2, 0.55 * float(np.ptp(points, axis=0).max())
    axes.set(
        xlim=(middle[0] - half, middle[0] + half),
        ylim=(middle[1] - half, middle[1] + half),
        xlabel="x, m",
        ylabel="y, m",
    )
    if flat:
        axes.set_aspect("equal")
    else:
        axes.set(zlim=(middle[2] - half, middle[2] + half), zlabel="z, m")
        axes.set_box_aspect((1, 1, 1))
        axes.locator_params(nbins=4)
