"""All triangles of a scene at a time: static ones and moving ones.

Meshes are converted to triangles with a normal at each corner, so that all parts on one body are joined and transformed
together.

Between two frames of a motion, positions are interpolated linearly and orientations along the shorter rotation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from appell.show.scene.poses import pose_along, rotations, slerp
from appell.show.scene.scene import AT_ORIGIN, WORLD, Actor, Color, Mark, Mesh, Scene, Strut, mark_colors, marks_of
from appell.show.scene.solids import arrow, cylinder

ARROW_DURATION_S = 0.3  # playback time for which the arrows of a mark are shown
MAX_WALL_DISTANCE = 2.5  # in radii of the actors: walls farther away need not be in the picture
ARROW_RADIUS = 0.05  # relative to the longest arrow
MAX_ARROW_RADIUS = 0.25  # relative to the length of the arrow itself
MAX_EXTENT_TIMES = 500  # approximate number of frames at which the extent of a motion is evaluated


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles with a normal at each corner and a colour."""

    corners: np.ndarray  # (n, 3, 3)
    normals: np.ndarray  # (n, 3, 3), of unit length
    colors: np.ndarray  # (n, 4)
    closed: np.ndarray  # (n), whether it is part of a closed surface, whose back faces are hidden

    def placed(self, pose: np.ndarray | Sequence[float]) -> Triangles:
        """Return the triangles transformed by a pose (7)."""
        pose = np.asarray(pose, float)
        R = rotations(pose)
        corners, normals = ((part.reshape(-1, 3) @ R.T).reshape(-1, 3, 3) for part in (self.corners, self.normals))
        return Triangles(corners + pose[:3], normals, self.colors, self.closed)

    @property
    def box(self) -> np.ndarray:
        """Corners (8, 3) of the bounding box."""
        ends = np.stack([self.corners.min(axis=(0, 1)), self.corners.max(axis=(0, 1))])
        return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def triangles_of(mesh: Mesh, color: Color) -> Triangles:
    """Return the triangles of a mesh; the corners of a smooth mesh have the mean normal of the adjacent faces."""
    vertices, faces = np.asarray(mesh.vertices, float).reshape(-1, 3), np.asarray(mesh.faces, int).reshape(-1, 3)
    corners = vertices[faces]
    across = np.cross(
        corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    )  # length twice the area, which weights the mean
    if mesh.smooth:
        sums = np.zeros_like(vertices)
        for k in range(3):
            np.add.at(sums, faces[:, k], across)
        normals = _unit(sums)[faces]
    else:
        normals = np.repeat(_unit(across)[:, None], 3, axis=1)
    colors = np.tile(np.array(color, np.float32), (len(corners), 1))
    return Triangles(corners, normals, colors, np.full(len(corners), color[3] >= 1.0 and is_closed(corners, faces)))


def is_closed(corners: np.ndarray, faces: np.ndarray) -> bool:
    """Whether a mesh is closed, consistently oriented and faces outwards."""
    count = int(faces.max()) + 1
    forward = np.sort(np.concatenate([faces[:, k] * count + faces[:, (k + 1) % 3] for k in range(3)]))
    backward = np.sort(np.concatenate([faces[:, (k + 1) % 3] * count + faces[:, k] for k in range(3)]))
    volume = np.einsum("ni,ni->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    return bool(np.array_equal(forward, backward) and (np.diff(forward) > 0).all() and volume > 0.0)


def joined(solids: Iterable[Triangles]) -> Triangles:
    """Concatenate triangles."""
    parts = list(solids)
    return Triangles(
        np.concatenate([np.empty((0, 3, 3)), *(part.corners for part in parts)]),
        np.concatenate([np.empty((0, 3, 3)), *(part.normals for part in parts)]),
        np.concatenate([np.empty((0, 4), np.float32), *(part.colors for part in parts)]),
        np.concatenate([np.empty(0, bool), *(part.closed for part in parts)]),
    )


class SceneTriangles:
    """The triangles of a scene in world coordinates: `static`, and moving ones by `at(t)`."""

    def __init__(self, scene: Scene, layers: Sequence[str], slower: float = 1.0):
        self.scene, self.arrow_duration, (self.first, self.last) = scene, ARROW_DURATION_S / slower, scene.span
        groups: dict[tuple[int, int], list[Triangles]] = defaultdict(list)
        for owner, parts in ((WORLD, scene.parts), *((k, actor.parts) for k, actor in enumerate(scene.actors))):
            for part in parts:
                if part.layer in layers and part.color[3] > 0.0 and len(part.mesh.faces):
                    body = WORLD if owner == WORLD else part.body
                    groups[owner, body].append(triangles_of(part.mesh, part.color).placed(part.pose))
        is_moving, start = [moves(actor) for actor in scene.actors], self._poses(self.first)
        moving = {(k, body) for k, body in groups if body != WORLD and is_moving[k][body]}
        static = {key: joined(group).placed(start[key]) for key, group in groups.items() if key not in moving}
        self.static = joined(static.values())
        # bounding boxes of static bodies of actors, and of each wall
        self.static_boxes = [solid.box for (owner, _), solid in static.items() if owner != WORLD]
        self.wall_boxes = [solid.box for solid in groups[WORLD, WORLD]]
        self.moving = {key: joined(groups[key]) for key in sorted(moving)}
        struts = [(k, strut) for k, actor in enumerate(scene.actors) for strut in actor.struts]
        self.struts = [
            (k, strut, triangles_of(cylinder(strut.radius, 1.0), strut.color))  # of unit length, scaled later
            for k, strut in struts
            if strut.layer in layers and strut.color[3] > 0.0
        ]
        with_arrows = [mark for mark in marks_of(scene) if mark.arrows]
        longest = max((float(np.linalg.norm(vector)) for mark in with_arrows for _, vector in mark.arrows), default=0.0)
        colors = mark_colors(scene)
        self.arrows = [(mark.time, _arrows(mark, ARROW_RADIUS * longest, colors[mark.kind])) for mark in with_arrows]

    def at(self, t: float) -> Triangles:
        """Return the moving triangles at a time."""
        poses = self._poses(t)
        solids = [solid.placed(poses[key]) for key, solid in self.moving.items()]
        return joined([*solids, *(_rod(rod, _ends(k, strut, poses)) for k, strut, rod in self.struts)])

    def arrows_at(self, t: float) -> Triangles:
        """Return the arrows of the marks that have just passed."""
        return joined(arrows for time, arrows in self.arrows if time <= t < time + self.arrow_duration)

    def extent(self) -> np.ndarray:
        """Return points (n, 3) that bound the actors at all times, and walls that are not much larger."""
        bounds = [np.empty((0, 3)), *self.static_boxes]
        boxes = {key: solid.box for key, solid in self.moving.items()}
        for t in np.unique(np.concatenate([np.empty(0), *map(self._times, self.scene.actors)])):
            poses = self._poses(t)
            bounds += [box @ rotations(poses[key]).T + poses[key][:3] for key, box in boxes.items()]
            bounds += [_ends(k, strut, poses) for k, strut, _ in self.struts]
        points = np.concatenate(bounds)
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return np.concatenate([points, *self.wall_boxes])
        middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
        far = MAX_WALL_DISTANCE * float(np.linalg.norm(points - middle, axis=1).max())
        near = [box for box in self.wall_boxes if (np.linalg.norm(box - middle, axis=1) < far).all()]
        return np.concatenate([points, *near])

    def _times(self, actor: Actor) -> np.ndarray:
        """Return times at which the extent of an actor is evaluated."""
        if actor.motion is None or not len(actor.motion.t):
            return np.array([self.first])
        return np.asarray(actor.motion.t, float)[:: max(1, len(actor.motion.t) // MAX_EXTENT_TIMES)]

    def _poses(self, t: float) -> dict[tuple[int, int], np.ndarray]:
        """Return the poses of all bodies of all actors and of the world, by actor and body."""
        poses = {(k, WORLD): np.array(AT_ORIGIN) for k in range(WORLD, len(self.scene.actors))}
        for k, actor in enumerate(self.scene.actors):
            poses |= {(k, body): pose for body, pose in enumerate(poses_at(actor, t))}
        return poses


def _rod(rod: Triangles, ends: np.ndarray) -> Triangles:
    """Scale a rod of unit length along z to two ends; return nothing if these coincide or are not finite."""
    direction = ends[1] - ends[0]
    length = float(np.linalg.norm(direction))
    if not (np.isfinite(length) and length > 0.0):
        return joined([])
    return replace(rod, corners=rod.corners * [1.0, 1.0, length]).placed(_aimed(ends.mean(axis=0), direction))


def _ends(actor: int, strut: Strut, poses: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """Return the ends (2, 3) of a strut in the world."""
    bodies = [poses[actor, body] for body in strut.bodies]
    return np.array(
        [rotations(pose) @ end + pose[:3] for pose, end in zip(bodies, np.asarray(strut.ends), strict=True)]
    )


def _arrows(mark: Mark, radius: float, color: Color) -> Triangles:
    arrows = []
    for start, vector in mark.arrows:
        length = float(np.linalg.norm(vector))
        if np.isfinite(length) and length > 0.0:
            mesh = arrow(length, min(radius, MAX_ARROW_RADIUS * length))
            arrows.append(triangles_of(mesh, color).placed(_aimed(np.asarray(start, float), vector)))
    return joined(arrows)


def _aimed(origin: np.ndarray, direction: np.ndarray) -> tuple[float, ...]:
    """Return the pose with this origin whose z axis points along a direction."""
    return (*origin.tolist(), *pose_along(direction)[3:])


def _unit(vectors: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(size > 0.0, size, 1.0)


def poses_at(actor: Actor, t: float) -> np.ndarray:
    """Return the poses (bodies, 7) of an actor at a time.

    At a discontinuity the later poses are returned; outside the time span of the motion its first or last poses.
    """
    if actor.motion is None or not len(actor.motion.t):
        return np.asarray(actor.poses, float).reshape(-1, 7)
    times, poses = np.asarray(actor.motion.t, float), np.asarray(actor.motion.poses, float)
    after = int(np.searchsorted(times, t, side="right"))
    if after == 0 or after == len(times):
        return poses[min(after, len(times) - 1)]
    before = after - 1
    share = (t - times[before]) / (times[after] - times[before])
    a, b = poses[before], poses[after]
    position = a[:, :3] + share * (b[:, :3] - a[:, :3])
    return np.concatenate([position, slerp(a[:, 3:], b[:, 3:], share)[0]], axis=1)


def moves(actor: Actor) -> np.ndarray:
    """Return for each body whether its pose changes."""
    if actor.motion is None or not len(actor.motion.t):
        return np.zeros(len(actor.bodies), bool)
    poses = np.asarray(actor.motion.poses, float)
    return ~(poses == poses[0]).all(axis=(0, 2))
