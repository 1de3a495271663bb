"""How a robot's own description says that it looks: primitive shapes, and meshes of files.

All meshes together have at most so many triangles, shared out by their surfaces. A file that is missing or cannot be
read is told, and its link drawn as the box with its mass and moments.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.algebra.rotation import Pose
from appell.display import solids
from appell.display.mesh_file import read_mesh
from appell.display.poses import poses
from appell.display.scene import WORLD, Color, Mesh, Part
from appell.display.thinning import shares, thinned
from appell.errors import AppellError
from appell.model.robot import Robot
from appell.model.visual import Visual
from appell.motion.pictures.blocks import block
from appell.motion.pictures.measure import Measure
from appell.motion.pictures.paint import GROUND, paint
from appell.motion.pictures.shape import Ellipsoid

SOLIDS: dict[str, Callable[..., Mesh]] = {
    "box": solids.box,
    "sphere": solids.sphere,
    "cylinder": solids.cylinder,
    "capsule": solids.capsule,
    "ellipsoid": solids.ellipsoid,
}
LISTED = 6  # files that a note names

Painted = list[tuple[Mesh, Color | None]]


def visual_parts(
    robot: Robot,
    ellipsoids: list[Ellipsoid],
    measure: Measure,
    color_of: Callable[[str | None], Color],
    color: Color | None = None,
) -> tuple[list[Part], list[str]]:
    """The parts of all visuals, and notes on files that are not there; `color` paints over what was described."""
    index = {name: k for k, name in enumerate(robot.link_names)}
    files, flaws = _files(robot.visuals)
    found: list[Part] = []
    boxed: dict[str | None, Visual] = {}
    for visual in robot.visuals:
        if visual.shape == "mesh" and _key(visual) in flaws:
            boxed.setdefault(visual.body, visual)
            continue
        body = WORLD if visual.body is None else index[visual.body]
        usual = paint(GROUND) if visual.body is None else color_of(visual.body)
        meshes = files[_key(visual)] if visual.shape == "mesh" else [(SOLIDS[visual.shape](*visual.size), None)]
        for mesh, own in meshes:
            shown = color or visual.color or own or usual
            found.append(Part(mesh, body, pose_numbers(visual.pose), shown, name=visual.name or visual.body or "world"))
    found += _boxes(boxed, ellipsoids, index, measure, color_of)
    return found, _told(flaws)


def pose_numbers(pose: Pose) -> tuple[float, ...]:
    """A pose as seven numbers."""
    R = np.array([list(row) for row in pose.rotation.rows], float)
    return tuple(poses(R, np.array([*pose.translation], float)).tolist())


def _key(visual: Visual) -> tuple[str, tuple[float, ...]]:
    return visual.file, tuple(visual.size)


def _files(visuals: tuple[Visual, ...]) -> tuple[dict, dict]:
    """What the files hold, by path and scale, thinned out to what all may have; and what is wrong with the others."""
    files: dict[tuple[str, tuple[float, ...]], Painted] = {}
    flaws: dict[tuple[str, tuple[float, ...]], str] = {}
    for key in dict.fromkeys(_key(visual) for visual in visuals if visual.shape == "mesh"):
        try:
            files[key] = read_mesh(key[0], key[1])
        except AppellError as error:
            flaws[key] = f"{key[0]} ({error.problem.rstrip('.')})"
    most = iter(shares([mesh for meshes in files.values() for mesh, _ in meshes]))
    return {key: [(thinned(mesh, next(most)), own) for mesh, own in meshes] for key, meshes in files.items()}, flaws


def _boxes(
    boxed: dict[str | None, Visual],
    ellipsoids: list[Ellipsoid],
    index: dict[str, int],
    measure: Measure,
    color_of: Callable[[str | None], Color],
) -> list[Part]:
    """A box for every link whose mesh is missing; one of a tenth of the robot where a link has no mass."""
    known = {solid.body: solid for solid in ellipsoids if solid.axes.any()}
    found = []
    for body, visual in boxed.items():
        if body in known:
            found.append(block(known[body], index, measure, color_of(body)))
        else:
            cube, at = solids.box(*(0.1 * measure.size,) * 3), pose_numbers(visual.pose)
            found.append(Part(cube, WORLD if body is None else index[body], at, color_of(body), name=visual.name))
    return found


def _told(flaws: dict) -> list[str]:
    """One note for all files that could not be read, the first few by name."""
    if not flaws:
        return []
    first = list(flaws.values())[:LISTED]
    more = f"; and {len(flaws) - LISTED} more" if len(flaws) > LISTED else ""
    return [f"links whose mesh cannot be shown are boxes: {'; '.join(first)}{more}."]
