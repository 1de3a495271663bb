"""The sliders of a system, and the conversion between their values and its coordinates q.

A one-axis joint, and a coordinate of a mechanism, has one slider: the coordinate, in rad or m. Joints with several
coordinates have sliders for readable quantities:

    floating     x y z in m, roll pitch yaw in degrees             planar     x y in m, angle in degrees
    spherical    roll pitch yaw in degrees

Roll, pitch and yaw are rotations about the fixed axes x, y, z of the joint's placement, in that order, as in URDF. A
mimic joint has no slider, because it follows another joint. In a constrained robot only the joints that determine the
configuration have sliders; the others close the loops.

The range of a slider is given by the limits of the joint. Without limits it is half a turn about zero, or two metres
about the current value. The range always includes the current value.

A tree moves directly to the slider values. A constrained robot moves there in small steps and closes its loops after
each step, so that it stays on its assembly branch: joints whose velocities are all independent are held, the others
close the loops. A mechanism moves along a straight line in q until a leg is out of reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import Vec3
from appell.describe.rpy import rpy_of
from appell.dynamics import Dynamics
from appell.kinematics.assembly import ConstraintRows
from appell.model.joints import Floating, Motion, Planar, Spherical
from appell.model.system import System
from appell.show.scene.poses import quaternions
from appell.show.scene.scene import SceneSlider

COORDINATE_TOLERANCE = 1e-12  # of coordinates that correspond to the same slider values
UNLIMITED_RANGE_M = 2.0  # on either side of the current value of a coordinate without limits
ROTATION_SLIDERS = (("roll", "deg", 180.0), ("pitch", "deg", 90.0), ("yaw", "deg", 180.0))
POSITION_SLIDERS = (("x", "m", math.inf), ("y", "m", math.inf), ("z", "m", math.inf))


def angles(quaternion: np.ndarray) -> np.ndarray:
    """Return roll, pitch and yaw of a quaternion (4), in degrees."""
    return np.degrees([*rpy_of(of_quaternion(*(float(x) for x in quaternion)))])


def quaternion(angles: np.ndarray) -> np.ndarray:
    """Return the quaternion (4) of roll, pitch and yaw in degrees."""
    rotation = Pose.from_rpy(Vec3.of(np.radians(angles).tolist())).rotation
    return quaternions(np.array([[*row] for row in rotation.rows], float))


@dataclass(frozen=True)
class SliderLayout:
    """The sliders (name, unit, range about zero) of a joint with several coordinates, and the conversions."""

    sliders: tuple[tuple[str, str, float], ...]  # an infinite range is UNLIMITED_RANGE_M about the current value
    values: Callable[[np.ndarray], np.ndarray]
    coordinates: Callable[[np.ndarray], np.ndarray]


SLIDER_LAYOUTS: dict[type[Motion], SliderLayout] = {
    Floating: SliderLayout(
        POSITION_SLIDERS + ROTATION_SLIDERS,
        lambda q: np.concatenate([q[:3], angles(q[3:])]),
        lambda x: np.concatenate([x[:3], quaternion(x[3:])]),
    ),
    Planar: SliderLayout(
        (*POSITION_SLIDERS[:2], ("angle", "deg", 180.0)),
        lambda q: np.array([q[0], q[1], np.degrees(q[2])]),
        lambda x: np.array([x[0], x[1], np.radians(x[2])]),
    ),
    Spherical: SliderLayout(ROTATION_SLIDERS, angles, quaternion),
}


@dataclass(frozen=True)
class SliderGroup:
    """The sliders of one joint, or of one coordinate of a mechanism."""

    name: str
    span: slice  # in q
    layout: SliderLayout | None = None  # None for the coordinate itself


class Sliders:
    """All sliders of a system."""

    def __init__(self, system: System):
        self.system = system
        self.groups = _groups(system)
        self.limits = system.limits

    def at(self, q: np.ndarray) -> tuple[SceneSlider, ...]:
        """Return the sliders with their values at a configuration (nq)."""
        sliders = []
        for group in self.groups:
            layout = group.layout
            if layout is None:
                k = group.span.start
                unit = self.system.coordinate_units[k]
                limits = float(self.limits.lower[k]), float(self.limits.upper[k])
                far = math.pi if unit == "rad" else math.inf
                sliders.append(_slider(group.name, unit, far, float(q[k]), limits))
            else:
                for (label, unit, far), value in zip(layout.sliders, layout.values(q[group.span]), strict=True):
                    sliders.append(_slider(f"{group.name}_{label}", unit, far, float(value)))
        return tuple(sliders)

    def values(self, q: np.ndarray, requested: Sequence[float] = ()) -> list[float]:
        """Return the slider values at a configuration; `requested` angles with equal coordinates are kept."""
        parts = [q[g.span] if g.layout is None else g.layout.values(q[g.span]) for g in self.groups]
        if len(requested):
            for k, (group, part) in enumerate(zip(self.groups, self._by_group(requested), strict=True)):
                layout = group.layout
                if layout is not None and np.allclose(
                    layout.coordinates(part), q[group.span], 0.0, COORDINATE_TOLERANCE
                ):
                    parts[k] = part
        return [float(x) for part in parts for x in part]

    def put(self, values: Sequence[float], q: np.ndarray) -> np.ndarray:
        """Return q with the sliders at these values, within the limits; coordinates without a slider are unchanged."""
        moved = np.array(q, float)
        for group, part in zip(self.groups, self._by_group(values), strict=True):
            moved[group.span] = part if group.layout is None else group.layout.coordinates(part)
        return np.clip(moved, self.limits.lower, self.limits.upper)

    def _by_group(self, values: Sequence[float]) -> list[np.ndarray]:
        counts = [1 if group.layout is None else len(group.layout.sliders) for group in self.groups]
        return np.split(np.array(values, float), np.cumsum(counts)[:-1]) if counts else []


def _slider(
    name: str, unit: str, far: float, value: float, limits: tuple[float, float] = (-math.inf, math.inf)
) -> SceneSlider:
    """Return a slider with its limits, or ±far about zero, or UNLIMITED_RANGE_M about its value if far is infinite."""
    low, high = (-far, far) if math.isfinite(far) else (value - UNLIMITED_RANGE_M, value + UNLIMITED_RANGE_M)
    low, high = (limit if math.isfinite(limit) else end for limit, end in zip(limits, (low, high), strict=True))
    return SceneSlider(name, unit, min(low, value), max(high, value), value)


def _groups(system: System) -> tuple[SliderGroup, ...]:
    tree = system.tree
    if tree is None:
        return tuple(SliderGroup(name, slice(k, k + 1)) for k, name in enumerate(system.coordinate_names))
    positions = system.map.positions
    groups = []
    for link in tree.moving:
        q, v = tree.span(link.joint)
        if {*range(v.start, v.stop)} & {*positions}:
            groups.append(SliderGroup(link.joint.name, q, SLIDER_LAYOUTS.get(type(link.joint.motion))))
    return tuple(groups)


MAX_STEP = 0.1  # rad or m between two configurations with closed loops
MAX_JOINT_STEP = 0.5  # rad or m: a larger change of a joint means another assembly branch
SLIDER_TOLERANCE = 1e-6  # rad or m between a requested and a reached slider value
BISECTIONS = 30  # for the reach of a leg


def follow_sliders(dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the configuration that a system reaches from q (nq) towards `wanted`, and why it is not `wanted`."""
    return (_follow_loops if dyn.system.is_constrained else _follow_legs)(dyn, q, wanted)


def _follow_loops(dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    """Move a constrained robot in small steps, closing its loops after each."""
    system, tree, loops = dyn.system, dyn.system.tree, ConstraintRows(dyn).loops
    positions = {*system.map.positions}
    spans = {link.joint.name: range(tree.nv)[tree.span(link.joint)[1]] for link in tree.moving}
    held = [name for name, span in spans.items() if positions.issuperset(span)]
    moved = [k for span in spans.values() if positions.intersection(span) for k in span]  # joints with sliders
    path = tree.difference(q, wanted)
    count = max(1, int(np.ceil(np.abs(path).max(initial=0.0) / MAX_STEP)))
    for _ in range(count):
        start = tree.integrate(q, path / count)
        root = loops.root(start, held)
        if not loops.is_closed(root):
            name, size, unit = loops.widest_gap(root.gaps)
            return q, f"loop '{name}' cannot be closed beyond this point: a gap of {size:.3g} {unit} would remain"
        if np.abs(tree.difference(start, root.q)).max(initial=0.0) > MAX_JOINT_STEP:
            return q, "beyond this point the loops close on another assembly branch"
        q = root.q
    error = float(np.abs(tree.difference(q, wanted)[moved]).max(initial=0.0))
    return q, "the loops or wheels of the robot prevent this motion" if error > SLIDER_TOLERANCE else ""


def _follow_legs(dyn: Dynamics, q: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, str]:
    """Move a tree anywhere, and a mechanism as far as its legs reach."""
    system = dyn.system
    sentence = system.out_of_reach(wanted.tolist())
    if not sentence:
        return wanted, ""
    near, far = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (near + far)
        if system.out_of_reach((q + middle * (wanted - q)).tolist()):
            far = middle
        else:
            near = middle
    return q + near * (wanted - q), sentence
