"""Which points may meet which walls, and the compiled functions that say how they do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.splice import inline
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.formulate.equations import Equations
from appell.formulate.points import wall_motion
from appell.model.frame import Frame
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


def chosen_frames(dyn: Dynamics, points: tuple[str, ...]) -> list[Frame]:
    """The frames of points by their names."""
    system = dyn.system
    if points == ("all",):
        return every_point(dyn)
    for name in points:
        if name not in system.frame_names:
            raise ArgumentError(unknown_name("point", str(name), system.frame_names, system.owner))
        if system.frame(name).body is None:
            raise ArgumentError(f"point '{name}' of {system.owner} is fixed to the world and meets no wall.")
    return [system.frame(name) for name in dict.fromkeys(points)]


def every_point(dyn: Dynamics) -> list[Frame]:
    """Every joint and end point that moves, each place once; a named frame stands for the joint in the same place.

    The joint of a link without matter, such as one slide of a base of two, is no place on the robot.
    """
    system, rng = dyn.system, np.random.default_rng(0)
    bodies = (system.frame(name) for name, body in system.bodies.items() if body is not None)
    frames = [frame for frame in (*system.frames, *bodies) if frame.body is not None]
    tries = [system.random_configuration(rng, within_limits=False).tolist() for _ in range(3)]
    places = np.array([[list(x) for x in dyn.equations.positions(frames, q)] for q in tries]).swapaxes(0, 1)
    kept: list[int] = []
    for k, place in enumerate(places):
        moves = np.ptp(place, axis=0).max() > 1e-9
        if moves and all(np.abs(place - places[j]).max() > 1e-9 for j in kept):
            kept.append(k)
    return [frames[k] for k in kept]


class Contacts:
    """All pairs of a point and a wall, with their compiled functions and their laws of impact."""

    def __init__(self, dyn: Dynamics, contacts: Contact | Iterable[Contact]):
        self.contacts = [contacts] if isinstance(contacts, Contact) else list(contacts)
        for contact in self.contacts:
            if not isinstance(contact, Contact):
                raise ArgumentError(f"contacts holds {contact!r}.", expected="Contact(points, surface, ...)")
        pairs = compiled(dyn, tuple((tuple(contact.points), contact.surface) for contact in self.contacts))
        self.frames, self.names, self.point, self.wall = pairs.frames, pairs.names, pairs.point, pairs.wall
        self.gaps, self.motion = pairs.gaps, pairs.motion
        self.restitution = np.array([self.contacts[k].restitution for k in self.wall], float)
        self.friction = np.array([self.contacts[k].friction for k in self.wall], float)

    def __len__(self) -> int:
        return len(self.names)

    def describe(self, k: int) -> str:
        surface = self.contacts[self.wall[k]].surface
        return f"point '{self.names[k]}' and {getattr(surface, 'title', f'the {type(surface).__name__.lower()}')}"


Walls = tuple[tuple[tuple[str, ...], Surface], ...]
_KNOWN: WeakKeyDictionary[Dynamics, dict[Walls, Pairs]] = WeakKeyDictionary()


def compiled(dyn: Dynamics, walls: Walls) -> Pairs:
    """The pairs of points and walls of a catalogue, traced once for all runs with them."""
    known = _KNOWN.setdefault(dyn, {})
    if walls not in known:
        known[walls] = Pairs(dyn, walls)
    return known[walls]


class Pairs:
    """Points of a system against walls: which, and the functions of their motion."""

    def __init__(self, dyn: Dynamics, walls: Walls):
        pairs = [(frame, k) for k, (points, _) in enumerate(walls) for frame in chosen_frames(dyn, points)]
        if not pairs:
            raise ArgumentError(f"no point of {dyn.system.owner} can meet a wall.")
        self.system, self.surfaces = dyn.system, [surface for _, surface in walls]
        self.frames = list({frame.name: frame for frame, _ in pairs}.values())
        index = {frame.name: k for k, frame in enumerate(self.frames)}
        self.names = [frame.name for frame, _ in pairs]
        self.point = np.array([index[frame.name] for frame, _ in pairs])
        self.wall = np.array([k for _, k in pairs])
        self.gaps = self._gaps(dyn.equations)
        self.motion = self._motion(dyn.equations)

    def _gaps(self, equations: Equations) -> Function:
        """gap(q) of every pair, for batches."""

        def body(q):
            place = equations.positions(self.frames, q)
            return {"gap": [self.surfaces[w].gap(*place[p]) for p, w in zip(self.point, self.wall, strict=True)]}

        doc = "The gap between every point and its wall."
        return Function.of("gaps", {"q": self.system.nq}, body, doc, self.system.owner)

    def _motion(self, equations: Equations) -> Function:
        """The points' motion and the walls' normals at (q, v), for one sample; see `appell.formulate.points`."""
        derivatives = [surface.derivatives() for surface in self.surfaces]

        def body(q, v):
            points = equations.point_motions(self.frames, q, v)
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

        inputs, doc = {"q": self.system.nq, "v": self.system.nv}, "How points move towards their walls."
        return Function.of("contact", inputs, body, doc, self.system.owner)
