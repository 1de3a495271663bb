"""The sliders of a system, and how their values and its coordinates q go into each other.

A joint about or along one axis, and a coordinate of a mechanism, has one slider: the coordinate, in rad or m. Joints of
several coordinates have sliders that people can read:

    floating     x y z in m, roll pitch yaw in degrees             planar     x y in m, angle in degrees
    spherical    roll pitch yaw in degrees

Roll, pitch and yaw turn about the fixed axes x, y, z of the joint's placement, in that order, as in URDF. A joint that
mimics another has none: it follows. Of a constrained robot only those joints have sliders in which its configurations
are told apart; the others close the loops.

A slider goes as far as the limits, or where there are none half a turn about zero or two metres about where it stands;
and always as far as the value that it has.

How a system follows its sliders: as far as it can go, and why not farther.

A tree goes where it is told. The loops of a constrained robot are closed on the way there, in small steps, each from
the one before, so that it stays on its branch; joints whose motions are all independent are held, the others are free
to close the loops. A mechanism goes straight there, until a leg does not reach any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import Vec3
from appell.describe.rpy import rpy_of
from appell.dynamics import Dynamics
from appell.kinematics.assembly import ConstraintRows
from appell.model.joints import Floating, Motion, Planar, Spherical
from appell.model.mechanism import Mechanism
from appell.model.robot import ConstrainedRobot
from appell.model.system import System
from appell.show.scene.poses import quaternions
from appell.show.scene.scene import SceneSlider

SAME = 1e-12  # of coordinates that angles mean
AROUND = 2.0  # m about where something without limits stands
TURN = (("roll", "deg", 180.0), ("pitch", "deg", 90.0), ("yaw", "deg", 180.0))
PLACE = (("x", "m", math.inf), ("y", "m", math.inf), ("z", "m", math.inf))


def angles(quaternion: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a quaternion, in degrees."""
    return np.degrees([*rpy_of(of_quaternion(*(float(x) for x in quaternion)))])


def quaternion(angles: np.ndarray) -> np.ndarray:
    """The other way."""
    turn = Pose.from_rpy(Vec3.of(np.radians(angles).tolist())).rotation
    return quaternions(np.array([[*row] for row in turn.rows], float))


@dataclass(frozen=True)
class Readable:
    """How the coordinates of a joint of several are told to people: (name, unit, farthest) of each, there and back."""

    sliders: tuple[tuple[str, str, float], ...]  # infinite: AROUND where it stands
    values: Callable[[np.ndarray], np.ndarray]
    coordinates: Callable[[np.ndarray], np.ndarray]


READABLE: dict[type[Motion], Readable] = {
    Floating: Readable(
        PLACE + TURN,
        lambda q: np.concatenate([q[:3], angles(q[3:])]),
        lambda x: np.concatenate([x[:3], quaternion(x[3:])]),
    ),
    Planar: Readable(
        (*PLACE[:2], ("angle", "deg", 180.0)),
        lambda q: np.array([q[0], q[1], np.degrees(q[2])]),
        lambda x: np.array([x[0], x[1], np.radians(x[2])]),
    ),
    Spherical: Readable(TURN, angles, quaternion),
}


@dataclass(frozen=True)
class SliderGroup:
    """The sliders of one joint, or one coordinate of a mechanism."""

    name: str
    span: slice  # in q
    readable: Readable | None = None  # None: the coordinate itself


class Sliders:
    """All sliders of a system."""

    def __init__(self, system: System):
        self.system = system
        self.groups = _groups(system)
        self.limits = system.limits

    def at(self, q: np.ndarray) -> tuple[SceneSlider, ...]:
        """The sliders, with the values of a configuration."""
        found = []
        for group in self.groups:
            own = group.readable
            if own is None:
                k = group.span.start
                unit = self.system.coordinate_units[k]
                limits = float(self.limits.lower[k]), float(self.limits.upper[k])
                far = math.pi if unit == "rad" else math.inf
                found.append(_slider(group.name, unit, far, float(q[k]), limits))
            else:
                for (label, unit, far), value in zip(own.sliders, own.values(q[group.span]), strict=True):
                    found.append(_slider(f"{group.name}_{label}", unit, far, float(value)))
        return tuple(found)

    def values(self, q: np.ndarray, asked: Sequence[float] = ()) -> list[float]:
        """Where the sliders stand at a configuration; of angles that mean the same, those that were asked for."""
        parts = [q[g.span] if g.readable is None else g.readable.values(q[g.span]) for g in self.groups]
        if len(asked):
            for k, (group, told) in enumerate(zip(self.groups, self._by_group(asked), strict=True)):
                own = group.readable
                if own is not None and np.allclose(own.coordinates(told), q[group.span], 0.0, SAME):
                    parts[k] = told
        return [float(x) for part in parts for x in part]

    def put(self, values: Sequence[float], q: np.ndarray) -> np.ndarray:
        """The configuration with the sliders at some values, within its limits; what has no slider stays."""
        found = np.array(q, float)
        for group, told in zip(self.groups, self._by_group(values), strict=True):
            found[group.span] = told if group.readable is None else group.readable.coordinates(told)
        return np.clip(found, self.limits.lower, self.limits.upper)

    def _by_group(self, values: Sequence[float]) -> list[np.ndarray]:
        counts = [1 if group.readable is None else len(group.readable.sliders) for group in self.groups]
        return np.split(np.array(values, float), np.cumsum(counts)[:-1]) if counts else []


def _slider(
    name: str, unit: str, far: float, value: float, limits: tuple[float, float] = (-math.inf, math.inf)
) -> SceneSlider:
    """Within its limits, or as far as this about zero, AROUND where it stands if that is infinite."""
    low, high = (-far, far) if math.isfinite(far) else (value - AROUND, value + AROUND)
    low, high = (limit if math.isfinite(limit) else end for limit, end in zip(limits, (low, high), strict=True))
    return SceneSlider(name, unit, min(low, value), max(high, value), value)


def _groups(system: System) -> tuple[SliderGroup, ...]:
    tree = system.tree
    if tree is None:
        return tuple(SliderGroup(name, slice(k, k + 1)) for k, name in enumerate(system.coordinate_names))
    told = system.map.positions
    found = []
    for link in tree.moving:
        q, v = tree.span(link.joint)
        if {*range(v.start, v.stop)} & {*told}:
            readable = READABLE.get(type(link.joint.motion))
            found.append(SliderGroup(link.joint.name, q, readable))
    return tuple(found)


STEP = 0.1  # rad or m between two configurations with closed loops
BRANCH = 0.5  # rad or m: a joint that goes farther in a step has changed its branch
MISSED = 1e-6  # rad or m: a slider that is farther from where it was wanted is not there
HALVINGS = 30  # of the way to where a leg ends


@singledispatch
def slid(system: System, dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    """The configuration that a system takes on its way from q to what its sliders want, and why it is another."""
    return wanted, ""


@slid.register
def _(system: ConstrainedRobot, dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    tree, loops = system.tree, ConstraintRows(dyn).loops
    told = {*system.map.positions}
    spans = {link.joint.name: range(tree.nv)[tree.span(link.joint)[1]] for link in tree.moving}
    held = [name for name, span in spans.items() if told.issuperset(span)]
    moved = [k for span in spans.values() if told.intersection(span) for k in span]  # those with sliders
    way = tree.difference(q, wanted)
    count = max(1, int(np.ceil(np.abs(way).max(initial=0.0) / STEP)))
    for _ in range(count):
        start = tree.integrate(q, way / count)
        root = loops.root(start, held)
        if not loops.good(root):
            name, size, unit = loops.remaining(root.gaps)
            return q, f"loop '{name}' cannot be closed beyond: {size:.3g} {unit} would remain"
        if np.abs(tree.difference(start, root.q)).max(initial=0.0) > BRANCH:
            return q, "the loops close on another branch beyond"
        q = root.q
    missed = float(np.abs(tree.difference(q, wanted)[moved]).max(initial=0.0))
    return q, "its loops and wheels do not let it go there" if missed > MISSED else ""


@slid.register
def _(system: Mechanism, dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    sentence = system.out_of_reach(wanted.tolist())
    if not sentence:
        return wanted, ""
    near, far = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (near + far)
        if system.out_of_reach((q + middle * (wanted - q)).tolist()):
            far = middle
        else:
            near = middle
    return q + near * (wanted - q), sentence
