"""Collision shapes in a scene: the shapes, the closest pair with its distance, and marks where shapes touch.

Shapes are drawn as they are compared: meshes and other shapes without a closed form as the capsules around them, hulls
without the radius around them.
"""

from __future__ import annotations

import numpy as np

from appell.describe.covers import COVERED, mesh_of
from appell.dynamics import Dynamics
from appell.dynamics.distances import PairDistances, cached_cover
from appell.dynamics.margins import distance_text
from appell.model.collision import shapes_named
from appell.model.robot import Robot
from appell.motion.collision_check import collisions
from appell.motion.record import Record
from appell.show.scene.scene import WORLD, Chart, Mark, ScenePart, paint
from appell.show.stage.links import SOLIDS, pose_numbers

SHAPE_COLOR = "#d55e00"
SHAPE_OPACITY = 0.35
MAX_PAIRS = 6  # in the chart of distances: those that come nearest


def collision_parts(robot: Robot, index: dict[str, int]) -> list[ScenePart]:
    """Return the collision shapes of a robot except half-spaces; `index` maps bodies to their numbers."""
    if not robot.collisions:
        shapes_named(robot, "")  # raises
    shapes = [
        each
        for shape in robot.collisions
        for each in (cached_cover(shape) if shape.shape in COVERED and shape.shape != "hull" else [shape])
    ]
    return [
        ScenePart(
            SOLIDS[shape.shape](*map(float, shape.size)) if shape.shape != "hull" else mesh_of(shape),
            WORLD if shape.body is None else index[shape.body],
            pose_numbers(shape.pose),
            paint(SHAPE_COLOR, SHAPE_OPACITY),
            "collisions",
            shape.name,
        )
        for shape in shapes
        if shape.shape != "plane"
    ]


def closest_text(distances: PairDistances, q: np.ndarray) -> str:
    """Return a sentence on the closest pair of collision shapes at q (nq)."""
    (distance,) = distances(q[None])
    k = int(np.argmin(distance))
    return f"{distance_text(distances.pairs[k], float(distance[k]))}, the closest pair"


def collision_marks(record: Record, dyn: Dynamics) -> tuple[list[Mark], Chart]:
    """Return marks where pairs begin to touch and where they are closest, and the distances of the nearest pairs."""
    result = collisions(dyn, record)
    marks = [
        Mark(each.start, "collision", f"{each.pair[0]} and {each.pair[1]} touch until {each.end:.4g} s")
        for each in result.intervals
    ]
    distance = np.where(np.isfinite(result.distance), result.distance, np.inf)
    row, pair = np.unravel_index(int(np.argmin(distance)), distance.shape)
    ends = result.pairs[pair]
    q = record["q"][row, [record.names("q").index(name) for name in dyn.system.coordinate_names]]
    _, point1, point2, _ = dyn.distance(*ends, gradient=False)(q)
    text = f"{distance_text(ends, float(distance[row, pair]))}, the smallest distance of the record"
    marks.append(Mark(float(result.t[row]), "closest", text, ((np.asarray(point2), np.asarray(point1 - point2)),)))
    nearest = np.argsort(distance.min(axis=0))[:MAX_PAIRS]
    names = tuple(" and ".join(result.pairs[k]) for k in nearest)
    return marks, Chart("distances", "m", names, result.t, result.distance[:, nearest])
