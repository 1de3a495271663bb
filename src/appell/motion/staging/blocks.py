"""Boxes of bodies of which little else is seen: what flies, what drives, and links whose mesh is missing.

A body of mass m with principal moments I is drawn as the box with the same mass and moments,

    lᵢ² = 6 (Iⱼ + Iₖ - Iᵢ) / m                                                                               (1)

whose edges are √(12 / 5) times the half axes of its ellipsoid. If points are named on a body that flies, and they span
a box about its centre of mass of about that size, that is the box: its corners are then where it strikes a floor.
"""

from __future__ import annotations

import math

import numpy as np

from appell.display import solids
from appell.display.poses import poses
from appell.display.scene import Color, ScenePart
from appell.model.robot import Robot
from appell.motion.pictures.shape import Ellipsoid
from appell.motion.staging.paint import numbered
from appell.motion.staging.proportions import Proportions

EDGES = math.sqrt(12.0 / 5.0)  # by (1)
POINT = 0.3  # of the robot's size: the cube of a mass without extent
TRUNK = 0.45  # of the robot's size: the longest edge of a base that carries links
ALIKE = 4.0  # the ratio of edges up to which two boxes are of about one size


def boxes(
    ellipsoids: list[Ellipsoid], index: dict[str, int], proportions: Proportions, color: Color | None
) -> list[ScenePart]:
    """Boxes with the mass and moments of bodies, a colour each."""
    return [block(solid, index, proportions, color or numbered(k)) for k, solid in enumerate(ellipsoids)]


def block(
    solid: Ellipsoid, index: dict[str, int], proportions: Proportions, color: Color, most: float = math.inf
) -> ScenePart:
    """The box of one body, no edge longer than `most`."""
    edges = np.maximum(_edges(solid), proportions.least) if solid.axes.any() else np.full(3, POINT * proportions.size)
    edges = edges * min(1.0, most / edges.max())
    return ScenePart(solids.box(*map(_short, edges)), index[solid.body], upright(solid), color, name=solid.body)


def trunk(solid: Ellipsoid, robot: Robot, index: dict[str, int], proportions: Proportions, color: Color) -> ScenePart:
    """The box of a base that flies or drives; one that its named points span, if it carries nothing."""
    if any(link.parent == solid.body for link in robot.links):
        return block(solid, index, proportions, color, TRUNK * proportions.size)
    points = np.array([[*frame.pose.translation] for frame in robot.frames if frame.body == solid.body], float)
    spanned = 2.0 * np.abs(points - solid.center).max(axis=0) if len(points) > 2 else np.zeros(3)
    across = np.abs(right_handed(solid.axes)) @ _edges(solid)
    if (spanned * ALIKE > across).all() and (spanned < ALIKE * across).all():
        pose = (*solid.center.tolist(), 0.0, 0.0, 0.0, 1.0)
        return ScenePart(solids.box(*map(_short, spanned)), index[solid.body], pose, color, name=solid.body)
    return block(solid, index, proportions, color)


def upright(solid: Ellipsoid) -> tuple[float, ...]:
    """The pose of an ellipsoid on its body, its axes along the half axes."""
    return tuple(poses(right_handed(solid.axes), solid.center).tolist())


def right_handed(axes: np.ndarray) -> np.ndarray:
    """Unit vectors along orthogonal columns, some of which may be zero."""
    sizes = np.linalg.norm(axes, axis=0)
    found = np.where(sizes > 0.0, axes / np.where(sizes > 0.0, sizes, 1.0), 0.0)
    if (sizes == 0.0).any():
        left, _, right = np.linalg.svd(found)
        found = left @ right
    found[:, 2] *= np.sign(np.linalg.det(found))
    return found


def _edges(solid: Ellipsoid) -> np.ndarray:
    return EDGES * np.linalg.norm(solid.axes, axis=0)


def _short(number: float) -> float:
    """As many digits as are seen, so that bodies that are alike share a mesh."""
    return float(f"{number:.6g}")
