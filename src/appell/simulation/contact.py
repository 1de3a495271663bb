"""Which points may meet which walls, and the compiled functions that say how they do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.splice import inline
from appell.errors import ArgumentError, unknown_name
from appell.formulate.points import point_motions, positions, wall_motion
from appell.formulate.tree import Tree
from appell.model.frame import Frame
from appell.model.robot import Robot
from appell.simulation.surface import Surface


@dataclass(frozen=True)
class Contact:
    """Points of a robot against a wall.

    `points` are frame names, or "all": every joint and every named frame, each place once. `restitution` is Newton's
    coefficient, 0 to 1; `friction` is Coulomb's.
    """

    points: str | Iterable[str]
    surface: Surface
    restitution: float = 1.0
    friction: float = 0.0

    def __post_init__(self):
        if not isinstance(self.surface, Surface):
            raise ArgumentError(
                f"a contact has the surface {self.surface!r}.", expected="Plane, Sphere, Circle, Cylinder or Implicit"
            )
        points = (self.points,) if isinstance(self.points, str) else tuple(self.points)
        if not points:
            raise ArgumentError("a contact has no points.", expected='frame names, or "all"')
        object.__setattr__(self, "points", points)
        e, mu = self.restitution, self.friction
        if not isinstance(e, (int, float)) or not 0.0 <= e <= 1.0:
            raise ArgumentError(
                f"a contact has restitution {e!r}.", expected="a number from 0 (no bounce) to 1 (no loss)"
            )
        if not isinstance(mu, (int, float)) or not 0.0 <= mu < math.inf:
            raise ArgumentError(f"a contact has friction {mu!r}.", expected="a number from 0 up")


def chosen_frames(robot: Robot, points: tuple[str, ...]) -> list[Frame]:
    """The frames of points by their names."""
    if points == ("all",):
        return every_point(robot)
    known = robot.frame_names
    for name in points:
        if name not in known:
            raise ArgumentError(unknown_name("point", str(name), known, f"robot '{robot.name}'"))
        if robot.frame(name).link is None:
            raise ArgumentError(f"point '{name}' of robot '{robot.name}' is fixed to the world and meets no wall.")
    return [robot.frame(name) for name in dict.fromkeys(points)]


def every_point(robot: Robot) -> list[Frame]:
    """Every joint and end point that moves, each place once; a named frame stands for the joint in the same place.

    The joint of a link without matter, such as one slide of a base of two, is no place on the robot.
    """
    frames = [*robot.frames, *(robot.frame(link.name) for link in robot.links if link.body is not None)]
    frames = [frame for frame in frames if frame.body is not None]
    rng = np.random.default_rng(0)
    tree = Tree.of(robot)
    places = np.stack(
        [[list(p) for p in positions(tree, frames, robot.random_configuration(rng).tolist())] for _ in range(3)], axis=1
    )
    kept: list[int] = []
    for k, place in enumerate(places):
        moves = np.ptp(place, axis=0).max() > 1e-9
        if moves and all(np.abs(place - places[j]).max() > 1e-9 for j in kept):
            kept.append(k)
    return [frames[k] for k in kept]


class Contacts:
    """All pairs of a point and a wall, with their compiled functions and their laws of impact."""

    def __init__(self, robot: Robot, contacts: Contact | Iterable[Contact]):
        self.contacts = [contacts] if isinstance(contacts, Contact) else list(contacts)
        for contact in self.contacts:
            if not isinstance(contact, Contact):
                raise ArgumentError(f"contacts holds {contact!r}.", expected="Contact(points, surface, ...)")
        pairs = compiled(robot, tuple((tuple(contact.points), contact.surface) for contact in self.contacts))
        self.frames, self.names, self.point, self.wall = pairs.frames, pairs.names, pairs.point, pairs.wall
        self.gaps, self.motion = pairs.gaps, pairs.motion
        self.restitution = np.array([self.contacts[k].restitution for k in self.wall], float)
        self.friction = np.array([self.contacts[k].friction for k in self.wall], float)

    def __len__(self) -> int:
        return len(self.names)

    def describe(self, k: int) -> str:
        surface = self.contacts[self.wall[k]].surface
        return f"point '{self.names[k]}' and {getattr(surface, 'title', f'the {type(surface).__name__.lower()}')}"


@lru_cache(maxsize=16)
def compiled(robot: Robot, walls: tuple[tuple[tuple[str, ...], Surface], ...]) -> Pairs:
    """The pairs of points and walls of a robot, traced once for all runs with them."""
    return Pairs(robot, walls)


class Pairs:
    """Points of a robot against walls: which, and the functions of their motion."""

    def __init__(self, robot: Robot, walls: tuple[tuple[tuple[str, ...], Surface], ...]):
        pairs = [(frame, k) for k, (points, _) in enumerate(walls) for frame in chosen_frames(robot, points)]
        if not pairs:
            raise ArgumentError(f"no point of robot '{robot.name}' can meet a wall.")
        self.robot, self.surfaces = robot, [surface for _, surface in walls]
        self.frames = list({frame.name: frame for frame, _ in pairs}.values())
        index = {frame.name: k for k, frame in enumerate(self.frames)}
        self.names = [frame.name for frame, _ in pairs]
        self.point = np.array([index[frame.name] for frame, _ in pairs])
        self.wall = np.array([k for _, k in pairs])
        self.gaps = self._gaps()
        self.motion = self._motion()

    def _gaps(self) -> Function:
        """gap(q) of every pair, for batches."""
        tree = Tree.of(self.robot)

        def body(q):
            place = positions(tree, self.frames, q)
            return {"gap": [self.surfaces[w].gap(*place[p]) for p, w in zip(self.point, self.wall, strict=True)]}

        doc = "The gap between every point and its wall."
        return Function.of("gaps", {"q": self.robot.nq}, body, doc, f"robot '{self.robot.name}'")

    def _motion(self) -> Function:
        """The points' motion and the walls' normals at (q, v), for one sample; see `appell.formulate.points`."""
        tree = Tree.of(self.robot)
        derivatives = [surface.derivatives() for surface in self.surfaces]

        def body(q, v):
            points = point_motions(tree, self.frames, q, v)
            walls = []
            for p, w in zip(self.point, self.wall, strict=True):
                gap, gradient, hessian = (inline(tape, points[p].position)[0] for tape in derivatives[w])
                rows = [Vec3.of(row) for row in hessian]
                walls.append(wall_motion(gap, Vec3.of(gradient), rows, points[p].velocity))
            return {
                "gap": [w.gap for w in walls],
                "slope": [w.slope for w in walls],
                "normal": [list(w.normal) for w in walls],
                "bend": [w.bend for w in walls],
                "position": [list(p.position) for p in points],
                "velocity": [list(p.velocity) for p in points],
                "drift": [list(p.drift) for p in points],
                "J": [p.J for p in points],
            }

        inputs, doc = {"q": self.robot.nq, "v": self.robot.nv}, "How points move towards their walls."
        return Function.of("contact", inputs, body, doc, f"robot '{self.robot.name}'")
