"""All triangles of a scene: those that stand still, and those that move, at a time.

Meshes are taken apart into triangles with a normal at each corner, so that parts can be joined: all parts on one body
are one solid, which is turned and shifted as a whole.

Between two frames of its motion a body goes straight and turns the short way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from appell.show.scene.poses import pose_along, rotations, slerp
from appell.show.scene.scene import AT_ORIGIN, WORLD, Actor, Color, Mark, Mesh, Scene, Strut, mark_colors, marks_of
from appell.show.scene.solids import arrow, cylinder

LINGER = 0.3  # seconds of the viewer's own time for which the arrows of a mark are seen
WITHIN = 2.5  # of the size of actors: what stands about them further away need not be in the picture
THICK, STOUT = 0.05, 0.25  # radius of all arrows in the longest of them, and the most in the length of one
LOOKED_AT = 500  # times at which it is asked how far everything goes


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles with a normal at each corner and a colour."""

    corners: np.ndarray  # (n, 3, 3)
    normals: np.ndarray  # (n, 3, 3), of unit length
    colors: np.ndarray  # (n, 4)
    closed: np.ndarray  # (n), whether it is part of a surface that hides its own back

    def placed(self, pose: np.ndarray | Sequence[float]) -> Triangles:
        own = np.asarray(pose, float)
        R = rotations(own)
        corners, normals = ((part.reshape(-1, 3) @ R.T).reshape(-1, 3, 3) for part in (self.corners, self.normals))
        return Triangles(corners + own[:3], normals, self.colors, self.closed)

    @property
    def box(self) -> np.ndarray:
        """The corners (8, 3) of the box about all triangles."""
        ends = np.stack([self.corners.min(axis=(0, 1)), self.corners.max(axis=(0, 1))])
        return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def triangles_of(mesh: Mesh, color: Color) -> Triangles:
    """A mesh taken apart; where it is smooth a corner has the mean normal of the faces about it."""
    vertices, faces = np.asarray(mesh.vertices, float).reshape(-1, 3), np.asarray(mesh.faces, int).reshape(-1, 3)
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])  # twice the area: large ones count
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
    """Whether every side of a triangle is one of a neighbour, the other way round, and all of them face outwards."""
    count = int(faces.max()) + 1
    there = np.sort(np.concatenate([faces[:, k] * count + faces[:, (k + 1) % 3] for k in range(3)]))
    back = np.sort(np.concatenate([faces[:, (k + 1) % 3] * count + faces[:, k] for k in range(3)]))
    volume = np.einsum("ni,ni->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    return bool(np.array_equal(there, back) and (np.diff(there) > 0).all() and volume > 0.0)


def joined(solids: Iterable[Triangles]) -> Triangles:
    parts = list(solids)
    return Triangles(
        np.concatenate([np.empty((0, 3, 3)), *(part.corners for part in parts)]),
        np.concatenate([np.empty((0, 3, 3)), *(part.normals for part in parts)]),
        np.concatenate([np.empty((0, 4), np.float32), *(part.colors for part in parts)]),
        np.concatenate([np.empty(0, bool), *(part.closed for part in parts)]),
    )


class SceneTriangles:
    """The solids of a scene in the world: `still`, and `at` a time those that move."""

    def __init__(self, scene: Scene, layers: Sequence[str], slower: float = 1.0):
        self.scene, self.linger, (self.first, self.last) = scene, LINGER / slower, scene.span
        groups: dict[tuple[int, int], list[Triangles]] = defaultdict(list)
        for owner, parts in ((WORLD, scene.parts), *((k, actor.parts) for k, actor in enumerate(scene.actors))):
            for part in parts:
                if part.layer in layers and part.color[3] > 0.0 and len(part.mesh.faces):
                    body = WORLD if owner == WORLD else part.body
                    groups[owner, body].append(triangles_of(part.mesh, part.color).placed(part.pose))
        restless, start = [moves(actor) for actor in scene.actors], self._poses(self.first)
        moving = {(k, body) for k, body in groups if body != WORLD and restless[k][body]}
        still = {key: joined(group).placed(start[key]) for key, group in groups.items() if key not in moving}
        self.still = joined(still.values())
        # boxes of what actors have there, and of each of the walls
        self.resting = [own.box for (owner, _), own in still.items() if owner != WORLD]
        self.about = [own.box for own in groups[WORLD, WORLD]]
        self.moving = {key: joined(groups[key]) for key in sorted(moving)}
        struts = [(k, strut) for k, actor in enumerate(scene.actors) for strut in actor.struts]
        self.struts = [
            (k, strut, triangles_of(cylinder(strut.radius, 1.0), strut.color))  # of unit length, to be stretched
            for k, strut in struts
            if strut.layer in layers and strut.color[3] > 0.0
        ]
        struck = [mark for mark in marks_of(scene) if mark.arrows]
        longest = max((float(np.linalg.norm(vector)) for mark in struck for _, vector in mark.arrows), default=0.0)
        colors = mark_colors(scene)
        self.arrows = [(mark.time, _arrows(mark, THICK * longest, colors[mark.kind])) for mark in struck]

    def at(self, t: float) -> Triangles:
        """All that moves, at a time."""
        poses = self._poses(t)
        found = [own.placed(poses[key]) for key, own in self.moving.items()]
        return joined([*found, *(_rod(rod, _ends(k, strut, poses)) for k, strut, rod in self.struts)])

    def struck(self, t: float) -> Triangles:
        """The arrows of what has just happened."""
        return joined(own for time, own in self.arrows if time <= t < time + self.linger)

    def reach(self) -> np.ndarray:
        """Points (n, 3) about the actors at all times, and about what stands there, unless that is much larger."""
        found = [np.empty((0, 3)), *self.resting]
        boxes = {key: own.box for key, own in self.moving.items()}
        for t in np.unique(np.concatenate([np.empty(0), *map(self._times, self.scene.actors)])):
            poses = self._poses(t)
            found += [box @ rotations(poses[key]).T + poses[key][:3] for key, box in boxes.items()]
            found += [_ends(k, strut, poses) for k, strut, _ in self.struts]
        points = np.concatenate(found)
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return np.concatenate([points, *self.about])
        middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
        far = WITHIN * float(np.linalg.norm(points - middle, axis=1).max())
        near = [box for box in self.about if (np.linalg.norm(box - middle, axis=1) < far).all()]
        return np.concatenate([points, *near])

    def _times(self, actor: Actor) -> np.ndarray:
        """Some at which it is looked how far an actor goes."""
        if actor.motion is None or not len(actor.motion.t):
            return np.array([self.first])
        return np.asarray(actor.motion.t, float)[:: max(1, len(actor.motion.t) // LOOKED_AT)]

    def _poses(self, t: float) -> dict[tuple[int, int], np.ndarray]:
        """Of all bodies of all actors, and of the world."""
        found = {(k, WORLD): np.array(AT_ORIGIN) for k in range(WORLD, len(self.scene.actors))}
        for k, actor in enumerate(self.scene.actors):
            found |= {(k, body): pose for body, pose in enumerate(poses_at(actor, t))}
        return found


def _rod(rod: Triangles, ends: np.ndarray) -> Triangles:
    """A rod of unit length along z, stretched between two ends; nothing if these are in one place, or nowhere."""
    way = ends[1] - ends[0]
    length = float(np.linalg.norm(way))
    if not (np.isfinite(length) and length > 0.0):
        return joined([])
    return replace(rod, corners=rod.corners * [1.0, 1.0, length]).placed(_aimed(ends.mean(axis=0), way))


def _ends(actor: int, strut: Strut, poses: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """Of a strut of an actor, in the world: (2, 3)."""
    own = [poses[actor, body] for body in strut.bodies]
    return np.array([rotations(pose) @ end + pose[:3] for pose, end in zip(own, np.asarray(strut.ends), strict=True)])


def _arrows(mark: Mark, radius: float, color: Color) -> Triangles:
    found = []
    for place, vector in mark.arrows:
        length = float(np.linalg.norm(vector))
        if np.isfinite(length) and length > 0.0:
            found.append(
                triangles_of(arrow(length, min(radius, STOUT * length)), color).placed(
                    _aimed(np.asarray(place, float), vector)
                )
            )
    return joined(found)


def _aimed(place: np.ndarray, direction: np.ndarray) -> tuple[float, ...]:
    """The pose of something along z that stands in a place and points in a direction."""
    return (*place.tolist(), *pose_along(direction)[3:])


def _unit(vectors: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(size > 0.0, size, 1.0)


def poses_at(actor: Actor, t: float) -> np.ndarray:
    """(bodies, 7); at the time of a jump what comes after it, and before and after the motion its first and last."""
    if actor.motion is None or not len(actor.motion.t):
        return np.asarray(actor.poses, float).reshape(-1, 7)
    times, poses = np.asarray(actor.motion.t, float), np.asarray(actor.motion.poses, float)
    after = int(np.searchsorted(times, t, side="right"))
    if after == 0 or after == len(times):
        return poses[min(after, len(times) - 1)]
    before = after - 1
    share = (t - times[before]) / (times[after] - times[before])
    a, b = poses[before], poses[after]
    place = a[:, :3] + share * (b[:, :3] - a[:, :3])
    return np.concatenate([place, slerp(a[:, 3:], b[:, 3:], share)[0]], axis=1)


def moves(actor: Actor) -> np.ndarray:
    """(bodies), whether they are not in one place all the time."""
    if actor.motion is None or not len(actor.motion.t):
        return np.zeros(len(actor.bodies), bool)
    poses = np.asarray(actor.motion.poses, float)
    return ~(poses == poses[0]).all(axis=(0, 2))
