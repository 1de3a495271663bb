"""Contacts of points with walls and of shapes with each other, and compiled functions of gaps and speeds.

A joint limit that acts as a stop is a contact with one row and the gap q - lower or upper - q.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.dynamics.distances import checked_pairs, robot_of
from appell.errors import ArgumentError, is_finite, unknown_name, value_text
from appell.formulate.equations import Equations
from appell.formulate.kinematics import wall_motion
from appell.model.collision import shapes_named
from appell.model.frame import Frame
from appell.model.robot import refuse_flexible
from appell.model.system import System
from appell.simulation.contact.shapes import ContactShape, ShapePairs, shape_of
from appell.simulation.contact.surface import Surface

Spans = tuple[tuple[float, float], ...]
ALWAYS: Spans = ((-math.inf, math.inf),)


@dataclass(frozen=True)
class Contact:
    """Contact between points of a robot and a wall.

    Parameters
    ----------
    points
        Names of frames, or "all": every joint and every named frame that moves, each position once.
    surface
        The wall: a `Plane`, `Sphere`, `Circle`, `Cylinder` or `Implicit`.
    restitution
        Coefficient of restitution, from 0 (no bounce) to 1 (no loss); `simulate(impact_law=...)` selects its meaning.
    friction
        Coulomb's coefficient of friction, at least 0 (a smooth wall).
    during
        Time spans in which the wall exists: (t0, t1) in s, or several such pairs in ascending order. None: always.

    Examples
    --------
    >>> import appell as ap
    >>> wall = ap.Contact("tip", ap.Plane(normal=(-1.0, 0.0, 0.0)), restitution=0.5)
    >>> record = ap.simulate(ap.load("pendulum"), q0=[0.5], until=1.0, contacts=wall)
    >>> [event.kind for event in record.events]
    ['impact']
    """

    points: str | Iterable[str]
    surface: Surface
    restitution: float = 0.0
    friction: float = 0.5
    during: Any = None

    def __post_init__(self):
        if not isinstance(self.surface, Surface):
            raise ArgumentError(
                f"the surface of a contact is {self.surface!r}.", expected="Plane, Sphere, Circle, Cylinder or Implicit"
            )
        points = (self.points,) if isinstance(self.points, str) else tuple(self.points)
        if not points:
            raise ArgumentError("a contact has no points.", expected='frame names, or "all"')
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "during", checked_spans(self.during))
        check_material(self.restitution, self.friction)

    def about(self) -> dict[str, Any]:
        """Return the points and the wall as plain data."""
        return {"points": list(self.points), "surface": getattr(self.surface, "title", repr(self.surface))}


@dataclass(frozen=True)
class BodyContact:
    """Contact of collision shapes of a robot with each other and with walls.

    Spheres, capsules and boxes touch each other; cylinders and arcs touch spheres and planes; all of them touch a
    `Plane`, and spheres, capsules, boxes and arcs other walls. Free bodies are links on floating joints.

    Parameters
    ----------
    pairs
        "all": the pairs of `robot.collision_pairs`. Otherwise pairs of two names of shapes or links, or of a name and a
        wall: [("hand", "box"), ("box", ap.Plane())]. Of several contacts with the same pair, the last one applies.
    restitution, friction, during
        As for `Contact`.

    Examples
    --------
    >>> import appell as ap
    >>> scene = ap.Builder("scene", root=None)
    >>> _ = scene.link("ball", ap.Floating(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    >>> _ = scene.collision("ball", "sphere", (0.1,))
    >>> floor = ap.BodyContact([("ball", ap.Plane())], restitution=0.6)
    >>> record = ap.simulate(scene.build(), q0=[0, 0, 0.6, 0, 0, 0, 1], until=0.5, contacts=floor)
    >>> print(record.events[0])
    t = 0.319275428 s  impact of ball center - plane face, impulse 5.01135 N s
    """

    pairs: str | Iterable[tuple[Any, Any]] = "all"
    restitution: float = 0.0
    friction: float = 0.5
    during: Any = None

    def __post_init__(self):
        if self.pairs != "all":
            pairs = tuple(tuple(pair) if isinstance(pair, (tuple, list)) else pair for pair in self.pairs)
            for pair in pairs:
                names = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
                if not names or not isinstance(pair[1], str | Surface):
                    raise ArgumentError(
                        f"a pair of a body contact is {value_text(pair)}.",
                        expected='two names, or a name and a wall, such as ("box", ap.Plane())',
                    )
            if not pairs:
                raise ArgumentError("a body contact has no pairs.", expected='pairs, or "all"')
            object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "during", checked_spans(self.during))
        check_material(self.restitution, self.friction)

    def about(self) -> dict[str, Any]:
        """Return the pairs as plain data."""
        if self.pairs == "all":
            return {"pairs": "all"}
        return {"pairs": [[x if isinstance(x, str) else repr(x) for x in pair] for pair in self.pairs]}


AnyContact = Contact | BodyContact


def check_material(e: Any, mu: Any) -> None:
    """Raise `ArgumentError` for a restitution or friction coefficient that is not valid."""
    if not isinstance(e, (int, float)) or not 0.0 <= e <= 1.0:
        raise ArgumentError(f"a contact has restitution {e!r}.", expected="a number from 0 (no bounce) to 1 (no loss)")
    if not isinstance(mu, (int, float)) or not (mu >= 0.0 and is_finite(mu)):
        raise ArgumentError(f"a contact has friction {value_text(mu)}.", expected="a finite number, at least 0")


def listed_contacts(given: Any) -> tuple[AnyContact, ...]:
    """Return contacts as a tuple; "all" are the collision pairs of the robot, with default coefficients."""
    expected = 'Contact(points, surface, ...), BodyContact(...), or "all"'
    given = () if given is None else (given,) if isinstance(given, Contact | BodyContact | str) else given
    if not isinstance(given, Iterable):
        raise ArgumentError(f"contacts is {value_text(given)}.", expected=expected)
    contacts = tuple(BodyContact() if isinstance(x, str) and x == "all" else x for x in given)
    for contact in contacts:
        if not isinstance(contact, Contact | BodyContact):
            raise ArgumentError(f"contacts contains {value_text(contact)}.", expected=expected)
    return contacts


def walls_of(contacts: Sequence[AnyContact]) -> tuple[Surface, ...]:
    """Return all walls of contacts, for pictures."""
    pairs = [pair for c in contacts if isinstance(c, BodyContact) and c.pairs != "all" for pair in c.pairs]
    surfaces = [c.surface for c in contacts if isinstance(c, Contact)] + [pair[1] for pair in pairs]
    return tuple(surface for surface in surfaces if isinstance(surface, Surface))


def shape_pairs(dyn: Dynamics, contacts: Sequence[AnyContact]) -> dict[tuple[ContactShape, ContactShape], int]:
    """Return the pairs of shapes that touch, each with the index of its contact."""
    chosen: dict[tuple[ContactShape, ContactShape], int] = {}
    for k, contact in enumerate(contacts):
        if not isinstance(contact, BodyContact):
            continue
        refuse_flexible(dyn.system, "contact of shapes")
        robot = robot_of(dyn)
        pairs: Any = checked_pairs(robot, None) if contact.pairs == "all" else contact.pairs
        for one, other in pairs:
            others = shapes_named(robot, other) if isinstance(other, str) else [other]
            for a, b in product(shapes_named(robot, one), others):
                pair = shape_of(a), shape_of(b)
                if pair[0].body == pair[1].body:
                    raise ArgumentError(f"'{pair[0].name}' and '{pair[1].name}' are fixed to each other.")
                chosen[pair[::-1] if pair[::-1] in chosen else pair] = k
    return chosen


def chosen_frames(dyn: Dynamics, points: tuple[str, ...]) -> list[Frame]:
    """Return the frames of the points of a contact; raise `ArgumentError` for one that does not exist or move."""
    system = dyn.system
    if points == ("all",):
        return every_point(dyn)
    for name in points:
        if name not in system.frame_names:
            raise ArgumentError(unknown_name("point", str(name), system.frame_names, system.owner))
        if system.frame(name).body is None:
            raise ArgumentError(f"point '{name}' of {system.owner} is fixed to the world and cannot meet a wall.")
    return [system.frame(name) for name in dict.fromkeys(points)]


def every_point(dyn: Dynamics) -> list[Frame]:
    """Return the frames of all joints and named frames that move, each position once.

    A named frame is preferred to a joint at the same position. The joints of links without a body, such as the first
    slide of a two-axis base, are left out.
    """
    system, rng = dyn.system, np.random.default_rng(0)
    bodies = (system.frame(name) for name, body in system.bodies.items() if body is not None)
    frames = [frame for frame in (*system.frames, *bodies) if frame.body is not None]
    samples = [system.random_configuration(rng, within_limits=False).tolist() for _ in range(3)]
    positions = np.array([[list(x) for x in dyn.equations.positions(frames, q)] for q in samples]).swapaxes(0, 1)
    distinct: list[int] = []
    for k, position in enumerate(positions):
        moves = np.ptp(position, axis=0).max() > 1e-9
        if moves and all(np.abs(position - positions[j]).max() > 1e-9 for j in distinct):
            distinct.append(k)
    return [frames[k] for k in distinct]


class Contacts:
    """All contacts of a run: pairs of a point and a wall, joint stops, and pairs of features of shapes.

    Arrays have one entry per contact, in this order: `names`, `point` (index into `frames`, or -1), `wall` (index of
    the contact it belongs to, -1 for a stop), `restitution`, `friction` and `spans` (when the contact exists). The
    first `fixed` contacts, points and stops, have one kernel; `shapes` computes the others.
    """

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Any = (),
        stops: float | Mapping[str, float] | None = None,
    ):
        listed = listed_contacts(contacts)
        self.contacts = sorted(listed, key=lambda contact: isinstance(contact, BodyContact))  # as `walls`
        stop_restitutions = chosen_stops(dyn.system, stops)
        walls = tuple(
            (tuple(contact.points), contact.surface) if isinstance(contact, Contact) else None
            for contact in self.contacts
        )
        pairs = compiled_pairs(dyn, walls, tuple(stop_restitutions))
        self.frames, self.stops, self.pairs, self.fixed = pairs.frames, pairs.stops, pairs, len(pairs.names)
        touching = shape_pairs(dyn, self.contacts)
        self.shapes = compiled_shapes(dyn, tuple(touching))
        of_features = np.array([*touching.values()], int)[self.shapes.pair]
        self.names = pairs.names + self.shapes.names
        self.wall = np.concatenate([pairs.wall, of_features])
        self.point = np.concatenate([pairs.point, np.full(len(of_features), -1)])
        e, mu = ([getattr(contact, name) for contact in self.contacts] for name in ("restitution", "friction"))
        self.restitution, self.friction = (np.array([*x, 0.0], float)[self.wall] for x in (e, mu))  # -1: the last
        self.restitution[self.fixed - len(self.stops) : self.fixed] = list(stop_restitutions.values())
        during = [*(contact.during or ALWAYS for contact in self.contacts), ALWAYS]
        self.spans = [during[k] for k in self.wall]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def gaps(self) -> Function:
        return self.pairs.gaps

    @property
    def motion(self) -> Function:
        return self.pairs.motion

    @property
    def walls(self) -> tuple[Surface, ...]:
        """All walls, for pictures."""
        return walls_of(self.contacts)

    def active(self, t: float) -> np.ndarray:
        """Return which walls exist at time t: one that appears at t does, one that disappears at t does not."""
        return np.array([any(low <= t < high for low, high in spans) for spans in self.spans], bool)

    @cached_property
    def switch_times(self) -> list[float]:
        """Times at which walls appear or disappear, s."""
        return sorted({edge for spans in self.spans for span in spans for edge in span if math.isfinite(edge)})

    def about(self) -> dict[str, Any]:
        """Return walls and joint stops as plain data, for the `about` of a record."""
        walls = [
            contact.about()
            | {"restitution": float(contact.restitution), "friction": float(contact.friction)}
            | ({"during": [list(map(str, span)) for span in contact.during]} if contact.during else {})
            for contact in self.contacts
        ]
        of_stops = self.restitution[self.fixed - len(self.stops) : self.fixed].tolist()
        stops = {stop.joint: e for stop, e in zip(self.stops, of_stops, strict=True)}
        return ({"contacts": walls} if walls else {}) | ({"stops": stops} if stops else {})

    def overlaps(self, q: np.ndarray, active: np.ndarray, tolerance: float) -> str:
        """Return the pairs of shapes with active contacts that overlap by more than a tolerance, with depths; or ""."""
        if not active[self.fixed :].any():
            return ""
        shapes, depth = self.shapes, self.shapes.depths(q)
        deep = [k for k in np.unique(shapes.pair[active[self.fixed :]]) if not depth[k] <= tolerance]
        return ", ".join("'{}' and '{}' ({:.3g} m)".format(*(s.name for s in shapes.pairs[k]), depth[k]) for k in deep)

    def describe(self, k: int) -> str:
        """Return a phrase for messages that names the point and the wall, or the joint and its limit."""
        if self.wall[k] < 0:
            stop = self.stops[k - self.fixed + len(self.stops)]
            return f"joint '{stop.joint}' and its {'lower' if stop.sign > 0 else 'upper'} limit {stop.limit:g}"
        if k >= self.fixed:
            return f"shapes {self.names[k]}"
        surface = self.contacts[self.wall[k]].surface
        return f"point '{self.names[k]}' and {getattr(surface, 'title', f'the {type(surface).__name__.lower()}')}"


Walls = tuple[tuple[tuple[str, ...], Surface] | None, ...]  # None: a contact of shapes
_PAIRS: WeakKeyDictionary[Dynamics, dict[tuple[Walls, tuple[JointStop, ...]], Pairs]] = WeakKeyDictionary()


def compiled_pairs(dyn: Dynamics, walls: Walls, stops: tuple[JointStop, ...]) -> Pairs:
    """Return the pairs of a `Dynamics`; they are traced once and shared by all runs with the same walls and stops."""
    cached = _PAIRS.setdefault(dyn, {})
    if (walls, stops) not in cached:
        cached[walls, stops] = Pairs(dyn, walls, stops)
    return cached[walls, stops]


_SHAPES: WeakKeyDictionary[Dynamics, dict[tuple[tuple[ContactShape, ContactShape], ...], ShapePairs]] = (
    WeakKeyDictionary()
)


def compiled_shapes(dyn: Dynamics, pairs: tuple[tuple[ContactShape, ContactShape], ...]) -> ShapePairs:
    """Return the features of pairs of shapes of a `Dynamics`, shared by all runs with the same pairs."""
    cached = _SHAPES.setdefault(dyn, {})
    if pairs not in cached:
        cached[pairs] = ShapePairs(dyn, pairs)
    return cached[pairs]


class Pairs:
    """Pairs of a point and a wall, followed by the stops of joints, and the compiled functions of their motion."""

    def __init__(self, dyn: Dynamics, walls: Walls, stops: tuple[JointStop, ...]):
        pairs = [(frame, k) for k, wall in enumerate(walls) if wall for frame in chosen_frames(dyn, wall[0])]
        if any(walls) and not pairs:
            raise ArgumentError(f"no point of {dyn.system.owner} can meet a wall.")
        self.system, self.stops = dyn.system, stops
        self.surfaces: list[Any] = [wall and wall[1] for wall in walls]  # None: a contact of shapes
        self.frames = list({frame.name: frame for frame, _ in pairs}.values())
        index = {frame.name: k for k, frame in enumerate(self.frames)}
        self.names = [frame.name for frame, _ in pairs] + [stop.joint for stop in stops]
        self.point = np.array([index[frame.name] for frame, _ in pairs] + [-1] * len(stops), int)
        self.wall = np.array([k for _, k in pairs] + [-1] * len(stops), int)  # -1: a stop
        self.pairs = [(p, w) for p, w in zip(self.point, self.wall, strict=True) if w >= 0]
        self.equations: Equations = dyn.equations

    @cached_property
    def gaps(self) -> Function:
        """Function of q: the gap of every pair and every stop, for batches."""
        equations = self.equations

        def body(q):
            positions = equations.positions(self.frames, q)
            walls = [self.surfaces[w].gap(*positions[p]) for p, w in self.pairs]
            return {"gap": walls + [stop.gap(q) for stop in self.stops]}

        doc = "The gap between every point and its wall, and of every stop."
        return Function.of("gaps", {"q": self.system.nq}, body, doc, self.system.owner)

    @cached_property
    def motion(self) -> Function:
        """Function of (q, v): the motion of points relative to their walls; see `appell.formulate.kinematics`.

        `rows` are the Jacobians along normal, first and second tangent, which are the rows of `frame`; `speed` and
        `drift` are the velocities, and the accelerations at a = 0, along them. A stop has a normal row only; its
        tangent rows are zero.
        """
        derivatives = [surface and surface.derivatives() for surface in self.surfaces]
        equations, nv = self.equations, self.system.nv

        def body(q, v):
            points = equations.point_motions(self.frames, q, v)
            outputs: dict[str, list] = {name: [] for name in ("gap", "slope", "frame", "rows", "speed", "drift")}
            for p, w in self.pairs:
                point = points[p]
                gap, gradient, hessian = (inline(tape, point.position)[0] for tape in derivatives[w])
                wall = wall_motion(gap, Vec3.of(gradient), [Vec3.of(row) for row in hessian], point.velocity)
                axes, columns = wall.frame, [Vec3.of(column) for column in zip(*point.J, strict=True)]
                drift = [axis.dot(point.drift) for axis in axes]
                outputs["gap"].append(wall.gap)
                outputs["slope"].append(wall.slope)
                outputs["frame"].append([list(axis) for axis in axes])
                outputs["rows"].append([[axis.dot(column) for column in columns] for axis in axes])
                outputs["speed"].append([axis.dot(point.velocity) for axis in axes])
                outputs["drift"].append([drift[0] + wall.bend, *drift[1:]])
            for stop in self.stops:
                row = stop.row(nv)
                outputs["gap"].append(stop.gap(q))
                outputs["slope"].append(1.0)
                outputs["frame"].append([[0.0] * 3] * 3)
                outputs["rows"].append([row, [0.0] * nv, [0.0] * nv])
                outputs["speed"].append([row[stop.velocity] * v[stop.velocity], 0.0, 0.0])
                outputs["drift"].append([0.0] * 3)
            if points:
                outputs["position"] = [list(p.position) for p in points]
                outputs["velocity"] = [list(p.velocity) for p in points]
            return outputs

        inputs, doc = {"q": self.system.nq, "v": nv}, "Motion of points relative to their walls."
        return Function.of("contact", inputs, body, doc, self.system.owner)


def checked_spans(given: Any) -> Spans | None:
    """Return `Contact.during` as time spans, or None (always); raise `ArgumentError` if they do not ascend."""
    if given is None:
        return None
    error = ArgumentError(
        f"during of a contact is {given!r}.",
        expected="(t0, t1) in seconds with t0 < t1, or several such pairs in ascending order",
    )
    try:
        pairs = list(given)
        if len(pairs) == 2 and all(isinstance(x, (int, float)) for x in pairs):
            pairs = [pairs]
        spans = tuple((float(low), float(high)) for low, high in pairs)
    except (TypeError, ValueError, OverflowError):
        raise error from None
    edges = [edge for span in spans for edge in span]
    ascending = all(a < b for a, b in spans) and all(a <= b for a, b in pairwise(edges))
    if not spans or not ascending or any(math.isnan(edge) for edge in edges):
        raise error
    return spans


@dataclass(frozen=True)
class JointStop:
    """A joint limit: gap = sign (scale q[coordinate] + offset - limit), with velocity sign scale v[velocity]."""

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
    """Return the stops of all single-axis joints (or of a mechanism's coordinates) with limits, lower before upper."""
    if system.rigid.is_tree:
        joints = [link.joint for link in system.tree.links if link.joint.motion.nv == 1]
        joint_limits = [
            (
                joint.name,
                *(span.start for span in system.tree.span(joint)),
                (joint.limits.lower, joint.limits.upper),
                (joint.scale, joint.mimic.offset if joint.mimic else 0.0),
            )
            for joint in joints
        ]
    else:
        joint_limits = [
            (name, k, k, system.ranges[k], (1.0, 0.0)) for k, name in enumerate(system.coordinate_names[: system.nv])
        ]
    return tuple(
        JointStop(name, q, v, limit, sign, *law)
        for name, q, v, limits, law in joint_limits
        for limit, sign in zip(limits, (1.0, -1.0), strict=True)
        if limit is not None and math.isfinite(limit)
    )


def chosen_stops(system: System, stops: float | Mapping[str, float] | None) -> dict[JointStop, float]:
    """Return the stops of a run and their restitution: of all joints with limits, or of those named in `stops`."""
    if stops is None:
        return {}
    all_stops = limited_joints(system)
    names = list(dict.fromkeys(stop.joint for stop in all_stops))
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
            f"stops is given, but {system.owner} has no joint with limits.",
            hint="Describe limits with Limits(lower, upper), or pass stops=None.",
        )
    return {stop: float(given[stop.joint]) for stop in all_stops if stop.joint in given}
