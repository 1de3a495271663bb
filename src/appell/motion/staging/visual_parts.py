"""How a robot's own description says that it looks: primitive shapes, and meshes of files.

All meshes together have at most so many triangles, shared out by their surfaces. A file that is missing or cannot be
read is told, and its link drawn as the box with its mass and moments.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from appell.algebra.rotation import Pose
from appell.compile.native.cache import fetch
from appell.display import solids
from appell.display.mesh_shelf import Wanted, read_thinned
from appell.display.poses import poses
from appell.display.scene import WORLD, Color, Mesh, ScenePart
from appell.model.robot import Robot
from appell.model.visual import Visual, VisualMesh
from appell.motion.pictures.shape import Ellipsoid
from appell.motion.staging.blocks import block
from appell.motion.staging.paint import GROUND, paint
from appell.motion.staging.proportions import Proportions

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
    proportions: Proportions,
    color_of: Callable[[str | None], Color],
    color: Color | None = None,
) -> tuple[list[ScenePart], list[str]]:
    """The parts of all visuals, and notes on files that are not there; `color` paints over what was described."""
    index = {name: k for k, name in enumerate(robot.link_names)}
    meshes, flaws = _meshes(robot.visuals)
    found: list[ScenePart] = []
    boxed: dict[str | None, Visual] = {}
    for k, visual in enumerate(robot.visuals):
        if visual.shape == "mesh" and not meshes[k]:
            boxed.setdefault(visual.body, visual)
        body = WORLD if visual.body is None else index[visual.body]
        usual = paint(GROUND) if visual.body is None else color_of(visual.body)
        for mesh, own in meshes.get(k) or (
            [] if visual.shape == "mesh" else [(_solid(visual, proportions.least), None)]
        ):
            shown = color or visual.color or own or usual
            name = visual.name or visual.body or "world"
            found.append(ScenePart(mesh, body, pose_numbers(visual.pose), shown, name=name))
    found += _boxes(boxed, ellipsoids, index, proportions, color_of)
    return [part for part in found if part.color[3] > 0.0], _told(flaws)


def pose_numbers(pose: Pose) -> tuple[float, ...]:
    """A pose as seven numbers."""
    R = np.array([list(row) for row in pose.rotation.rows], float)
    return tuple(poses(R, np.array([*pose.translation], float)).tolist())


def _solid(visual: Visual, least: float) -> Mesh:
    """A primitive shape; one without thickness is a thin one."""
    return SOLIDS[visual.shape](*(max(size, least) for size in visual.size))


def _meshes(visuals: tuple[Visual, ...]) -> tuple[dict[int, Painted], list[str]]:
    """The meshes of visuals by their number, none where a file cannot be read, and a sentence about each such file."""
    held: dict[tuple[int, tuple[float, ...]], Mesh] = {}
    wanted: dict[int, Wanted] = {}
    for k, visual in enumerate(visuals):
        if visual.shape == "mesh" and visual.triangles is not None:
            key = id(visual.triangles), tuple(visual.size)
            held[key] = wanted[k] = held.get(key) or _scaled(visual.triangles, visual.size)
        elif visual.shape == "mesh":
            wanted[k] = visual.file, visual.size
    found, flaws = read_thinned(list(wanted.values()), keep=fetch)
    return dict(zip(wanted, found, strict=True)), flaws


def _scaled(triangles: VisualMesh, size: tuple[float, ...]) -> Mesh:
    """A mesh in memory at its scale; one that mirrors turns the triangles round, so that outside stays outside."""
    faces = triangles.faces[:, ::-1] if np.prod(size) < 0.0 else triangles.faces
    return Mesh(triangles.vertices * np.array(size, float), faces)


def _boxes(
    boxed: dict[str | None, Visual],
    ellipsoids: list[Ellipsoid],
    index: dict[str, int],
    proportions: Proportions,
    color_of: Callable[[str | None], Color],
) -> list[ScenePart]:
    """A box for every link whose mesh is missing; one of a tenth of the robot where a link has no mass."""
    known = {solid.body: solid for solid in ellipsoids if solid.axes.any()}
    found = []
    for body, visual in boxed.items():
        if body in known:
            found.append(block(known[body], index, proportions, color_of(body)))
        else:
            cube, at = solids.box(*(0.1 * proportions.size,) * 3), pose_numbers(visual.pose)
            found.append(ScenePart(cube, WORLD if body is None else index[body], at, color_of(body), name=visual.name))
    return found


def _told(flaws: list[str]) -> list[str]:
    """One note for all files that could not be read, the first few by name, those with the same flaw together."""
    if not flaws:
        return []
    files: dict[str, list[str]] = {}
    for sentence in flaws[:LISTED]:
        problem, _, source = sentence.rstrip(".").partition(" (")
        files.setdefault(problem, []).append(source.removesuffix(")"))
    told = [f"{problem}: {', '.join(own)}" if any(own) else problem for problem, own in files.items()]
    more = f"; and {len(flaws) - LISTED} more" if len(flaws) > LISTED else ""
    return [f"links whose mesh cannot be shown are boxes; {'; '.join(told)}{more}."]
