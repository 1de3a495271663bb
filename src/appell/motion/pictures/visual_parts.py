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
from appell.motion.pictures.paint import GROUND, paint
from appell.motion.pictures.proportions import Proportions
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
Key = tuple[str | int, tuple[float, ...]]


def visual_parts(
    robot: Robot,
    ellipsoids: list[Ellipsoid],
    proportions: Proportions,
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
        meshes = files[_key(visual)] if visual.shape == "mesh" else [(_solid(visual, proportions.least), None)]
        for mesh, own in meshes:
            shown = color or visual.color or own or usual
            found.append(Part(mesh, body, pose_numbers(visual.pose), shown, name=visual.name or visual.body or "world"))
    found += _boxes(boxed, ellipsoids, index, proportions, color_of)
    return found, _told(flaws)


def pose_numbers(pose: Pose) -> tuple[float, ...]:
    """A pose as seven numbers."""
    R = np.array([list(row) for row in pose.rotation.rows], float)
    return tuple(poses(R, np.array([*pose.translation], float)).tolist())


def _solid(visual: Visual, least: float) -> Mesh:
    """A primitive shape; one without thickness is a thin one."""
    return SOLIDS[visual.shape](*(max(size, least) for size in visual.size))


def _key(visual: Visual) -> Key:
    """What is the same for visuals that share a mesh."""
    return visual.file if visual.triangles is None else id(visual.triangles), tuple(visual.size)


def _read(visual: Visual) -> Painted:
    if visual.triangles is None:
        return read_mesh(visual.file, visual.size)
    turned = np.prod(visual.size) < 0.0
    faces = visual.triangles.faces[:, ::-1] if turned else visual.triangles.faces
    return [(Mesh(visual.triangles.vertices * np.array(visual.size, float), faces), None)]


def _files(visuals: tuple[Visual, ...]) -> tuple[dict[Key, Painted], dict[Key, str]]:
    """What the files hold, by path and scale, thinned out to what all may have; and what is wrong with the others."""
    files: dict[Key, Painted] = {}
    flaws: dict[Key, str] = {}
    for key, visual in {_key(visual): visual for visual in visuals if visual.shape == "mesh"}.items():
        try:
            files[key] = _read(visual)
        except AppellError as error:
            flaws[key] = f"{visual.file} ({error.problem.rstrip('.')})"
    most = iter(shares([mesh for meshes in files.values() for mesh, _ in meshes]))
    return {key: [(thinned(mesh, next(most)), own) for mesh, own in meshes] for key, meshes in files.items()}, flaws


def _boxes(
    boxed: dict[str | None, Visual],
    ellipsoids: list[Ellipsoid],
    index: dict[str, int],
    proportions: Proportions,
    color_of: Callable[[str | None], Color],
) -> list[Part]:
    """A box for every link whose mesh is missing; one of a tenth of the robot where a link has no mass."""
    known = {solid.body: solid for solid in ellipsoids if solid.axes.any()}
    found = []
    for body, visual in boxed.items():
        if body in known:
            found.append(block(known[body], index, proportions, color_of(body)))
        else:
            cube, at = solids.box(*(0.1 * proportions.size,) * 3), pose_numbers(visual.pose)
            found.append(Part(cube, WORLD if body is None else index[body], at, color_of(body), name=visual.name))
    return found


def _told(flaws: dict[Key, str]) -> list[str]:
    """One note for all files that could not be read, the first few by name."""
    if not flaws:
        return []
    first = list(flaws.values())[:LISTED]
    more = f"; and {len(flaws) - LISTED} more" if len(flaws) > LISTED else ""
    return [f"links whose mesh cannot be shown are boxes: {'; '.join(first)}{more}."]
