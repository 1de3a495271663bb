"""Which points may meet which walls, and during which spans of time; compiled functions of their gaps and speeds.

Joint limits are stops: each is a contact of one row, with the gap q - lower or upper - q.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.formulate.equations import Equations
from appell.formulate.kinematics import wall_motion
from appell.model.frame import Frame
from appell.model.robot import Robot
from appell.model.system import System
from appell.simulation.contact.surface import Surface

Spans = tuple[tuple[float, float], ...]
ALWAYS: Spans = ((-math.inf, math.inf),)


@dataclass(frozen=True)
class Contact:
    """Points of a robot against a wall.

    `points` are frame names, or "all": every joint and every named frame, each place once. `restitution` is Newton's
    coefficient, 0 to 1; `friction` is Coulomb's. `during` is when the wall is there: always, or from t0 until t1 in
    seconds, or several such pairs.
    """

    points: str | Iterable[str]
    surface: Surface
    restitution: float = 1.0
    friction: float = 0.0
    during: Any = None

    def __post_init__(self):
        if not isinstance(self.surface, Surface):
            raise ArgumentError(
                f"a contact has the surface {self.surface!r}.", expected="Plane, Sphere, Circle, Cylinder or Implicit"
            )
        points = (self.points,) if isinstance(self.points, str) else tuple(self.points)
        if not points:
            raise ArgumentError("a contact has no points.", expected='frame names, or "all"')
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "during", windows(self.during))
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
    """All pairs of a point and a wall and all stops, with their compiled functions and their laws of impact."""

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Contact | Iterable[Contact] = (),
        stops: float | Mapping[str, float] | None = None,
    ):
        self.contacts = [contacts] if isinstance(contacts, Contact) else list(contacts)
        for contact in self.contacts:
            if not isinstance(contact, Contact):
                raise ArgumentError(f"contacts holds {contact!r}.", expected="Contact(points, surface, ...)")
        ends = chosen_stops(dyn.system, stops)
        walls = tuple((tuple(contact.points), contact.surface) for contact in self.contacts)
        pairs = compiled(dyn, walls, tuple(ends))
        self.frames, self.names, self.point, self.wall = pairs.frames, pairs.names, pairs.point, pairs.wall
        self.stops, self.pairs = pairs.stops, pairs
        of_walls = [self.contacts[k] for k in self.wall[self.wall >= 0]]
        self.restitution = np.array([contact.restitution for contact in of_walls] + list(ends.values()), float)
        self.friction = np.array([contact.friction for contact in of_walls] + [0.0] * len(ends), float)
        self.windows = [*(contact.during or ALWAYS for contact in of_walls), *(ALWAYS for _ in ends)]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def gaps(self) -> Function:
        return self.pairs.gaps

    @property
    def motion(self) -> Function:
        return self.pairs.motion

    def active(self, t: float) -> np.ndarray:
        """Which there are at a time: a wall that comes at t is there, one that goes is not."""
        return np.array([any(low <= t < high for low, high in spans) for spans in self.windows], bool)

    @cached_property
    def edges(self) -> list[float]:
        """When walls come or go."""
        return sorted({edge for spans in self.windows for span in spans for edge in span if math.isfinite(edge)})

    def describe(self, k: int) -> str:
        if self.wall[k] < 0:
            stop = self.stops[k - len(self.names) + len(self.stops)]
            return f"joint '{stop.joint}' and its {'lower' if stop.sign > 0 else 'upper'} limit {stop.limit:g}"
        surface = self.contacts[self.wall[k]].surface
        return f"point '{self.names[k]}' and {getattr(surface, 'title', f'the {type(surface).__name__.lower()}')}"


Walls = tuple[tuple[tuple[str, ...], Surface], ...]
_KNOWN: WeakKeyDictionary[Dynamics, dict[tuple[Walls, tuple[JointStop, ...]], Pairs]] = WeakKeyDictionary()


def compiled(dyn: Dynamics, walls: Walls, stops: tuple[JointStop, ...]) -> Pairs:
    """The pairs of points and walls of a catalogue and its stops, traced once for all runs with them."""
    known = _KNOWN.setdefault(dyn, {})
    if (walls, stops) not in known:
        known[walls, stops] = Pairs(dyn, walls, stops)
    return known[walls, stops]


class Pairs:
    """Points of a system against walls, then stops of its joints: which, and the functions of their motion."""

    def __init__(self, dyn: Dynamics, walls: Walls, stops: tuple[JointStop, ...]):
        pairs = [(frame, k) for k, (points, _) in enumerate(walls) for frame in chosen_frames(dyn, points)]
        if walls and not pairs:
            raise ArgumentError(f"no point of {dyn.system.owner} can meet a wall.")
        self.system, self.stops, self.surfaces = dyn.system, stops, [surface for _, surface in walls]
        self.frames = list({frame.name: frame for frame, _ in pairs}.values())
        index = {frame.name: k for k, frame in enumerate(self.frames)}
        self.names = [frame.name for frame, _ in pairs] + [stop.joint for stop in stops]
        self.point = np.array([index[frame.name] for frame, _ in pairs] + [-1] * len(stops), int)
        self.wall = np.array([k for _, k in pairs] + [-1] * len(stops), int)  # -1: a stop
        self.pairs = [(p, w) for p, w in zip(self.point, self.wall, strict=True) if w >= 0]
        self.equations: Equations = dyn.equations

    @cached_property
    def gaps(self) -> Function:
        """gap(q) of every pair and every stop, for batches."""
        equations = self.equations

        def body(q):
            place = equations.positions(self.frames, q)
            walls = [self.surfaces[w].gap(*place[p]) for p, w in self.pairs]
            return {"gap": walls + [stop.gap(q) for stop in self.stops]}

        doc = "The gap between every point and its wall, and of every stop."
        return Function.of("gaps", {"q": self.system.nq}, body, doc, self.system.owner)

    @cached_property
    def motion(self) -> Function:
        """The points' motion seen from their walls at (q, v), for one sample; see `appell.formulate.kinematics`.

        `rows` are Jacobians along normal, first and second tangent, which are the rows of `frame`; `speed` and `drift`
        are velocity, and acceleration at a = 0, along them. A stop has a normal row, and no tangents.
        """
        derivatives = [surface.derivatives() for surface in self.surfaces]
        equations, nv = self.equations, self.system.nv

        def body(q, v):
            points = equations.point_motions(self.frames, q, v)
            found: dict[str, list] = {name: [] for name in ("gap", "slope", "frame", "rows", "speed", "drift")}
            for p, w in self.pairs:
                own = points[p]
                gap, gradient, hessian = (inline(tape, own.position)[0] for tape in derivatives[w])
                seen = wall_motion(gap, Vec3.of(gradient), [Vec3.of(row) for row in hessian], own.velocity)
                axes, columns = seen.frame, [Vec3.of(column) for column in zip(*own.J, strict=True)]
                drift = [axis.dot(own.drift) for axis in axes]
                found["gap"].append(seen.gap)
                found["slope"].append(seen.slope)
                found["frame"].append([list(axis) for axis in axes])
                found["rows"].append([[axis.dot(column) for column in columns] for axis in axes])
                found["speed"].append([axis.dot(own.velocity) for axis in axes])
                found["drift"].append([drift[0] + seen.bend, *drift[1:]])
            for stop in self.stops:
                row = stop.row(nv)
                found["gap"].append(stop.gap(q))
                found["slope"].append(1.0)
                found["frame"].append([[0.0] * 3] * 3)
                found["rows"].append([row, [0.0] * nv, [0.0] * nv])
                found["speed"].append([row[stop.velocity] * v[stop.velocity], 0.0, 0.0])
                found["drift"].append([0.0] * 3)
            if points:
                found["position"] = [list(p.position) for p in points]
                found["velocity"] = [list(p.velocity) for p in points]
            return found

        inputs, doc = {"q": self.system.nq, "v": nv}, "How points move towards their walls."
        return Function.of("contact", inputs, body, doc, self.system.owner)


def windows(given: Any) -> Spans | None:
    """The spans that a user gave: none (always), one pair, or several in their order."""
    if given is None:
        return None
    wrong = ArgumentError(
        f"a contact is there during {given!r}.",
        expected="(t0, t1) in seconds with t0 < t1, or several such pairs, one after the other",
    )
    try:
        pairs = list(given)
        if len(pairs) == 2 and all(isinstance(x, (int, float)) for x in pairs):
            pairs = [pairs]
        spans = tuple((float(low), float(high)) for low, high in pairs)
    except (TypeError, ValueError):
        raise wrong from None
    edges = [edge for span in spans for edge in span]
    grow = all(a < b for a, b in spans) and all(a <= b for a, b in pairwise(edges))
    if not spans or not grow or any(math.isnan(edge) for edge in edges):
        raise wrong
    return spans


@dataclass(frozen=True)
class JointStop:
    """gap = sign (scale q[coordinate] + offset - limit), which grows with sign scale v[velocity]."""

    joint: str
    coordinate: int
    velocity: int
    limit: float
    sign: float
    scale: float = 1.0
    offset: float = 0.0

    def gap(self, q):
        return self.sign * (self.scale * q[self.coordinate] + (self.offset - self.limit))

    def row(self, nv: int) -> list[float]:
        return [self.sign * self.scale if k == self.velocity else 0.0 for k in range(nv)]


def limited_joints(system: System) -> tuple[JointStop, ...]:
    """The stops of all joints of one axis with limits, lower before upper; of a mechanism's coordinates likewise."""
    if isinstance(system, Robot):
        joints = [link.joint for link in system.links if link.joint.motion.nv == 1]
        places = [
            (
                joint.name,
                *(span.start for span in system.span(joint)),
                (joint.limits.lower, joint.limits.upper),
                (joint.scale, joint.mimic.offset if joint.mimic else 0.0),
            )
            for joint in joints
        ]
    else:
        places = [
            (name, k, k, system.ranges[k], (1.0, 0.0)) for k, name in enumerate(system.coordinate_names[: system.nv])
        ]
    return tuple(
        JointStop(name, q, v, limit, sign, *law)
        for name, q, v, limits, law in places
        for limit, sign in zip(limits, (1.0, -1.0), strict=True)
        if limit is not None and math.isfinite(limit)
    )


def chosen_stops(system: System, stops: float | Mapping[str, float] | None) -> dict[JointStop, float]:
    """The stops of a run with their restitution: of all limited joints, or of those that are named."""
    if stops is None:
        return {}
    known = limited_joints(system)
    names = list(dict.fromkeys(stop.joint for stop in known))
    given = stops if isinstance(stops, Mapping) else dict.fromkeys(names, stops)
    for name, e in given.items():
        if name not in names:
            raise ArgumentError(unknown_name("joint with limits", str(name), names, system.owner))
        if isinstance(e, bool) or not isinstance(e, (int, float)) or not 0.0 <= e <= 1.0:
            raise ArgumentError(
                f"the stops of joint '{name}' have restitution {e!r}.",
                expected="a number from 0 (no bounce) to 1 (no loss)",
            )
    if not isinstance(stops, Mapping) and not names:
        raise ArgumentError(
            f"{system.owner} has no joint with limits that could stop it.", hint="Limits(lower, upper), or stops=None"
        )
    return {stop: float(given[stop.joint]) for stop in known if stop.joint in given}
