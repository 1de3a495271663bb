"""Kinds of joints: the motion of a link relative to the joint's placement on the parent link.

The partials are the columns of the joint's motion subspace: angular and linear velocity of the link relative to its
parent for a unit of each v, in link coordinates. They are constant for all joints here, which keeps algorithms short.

    revolute, continuous, prismatic    one axis: q is an angle or a length, v its rate
    spherical    q is a quaternion (x, y, z, w), v the angular velocity in link axes: q̇ = ½ q ⊗ (ω, 0)
    floating     q is position and quaternion, v the linear and angular velocity, both in link axes
    planar       q = (x, y, angle) in the x-y plane of the joint, v two linear and the angular velocity in link axes
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.linalg import norm

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose, Twist, about_axis, of_quaternion
from appell.algebra.scalar import Scalar, cos, real_array, sin, snap
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.errors import ModelError, value_text

AXIS_TOLERANCE = 1e-14  # components of a unit axis below this are set to 0
UNIT_TOLERANCE = 4e-16  # an axis this close to unit length is not rescaled


Partial = Twist  # relative velocity of the link for one unit of one generalised velocity


@dataclass(frozen=True)
class Motion(ABC):
    """Base of all kinds of joints."""

    name: ClassVar[str]
    coordinates: ClassVar[tuple[tuple[str, str], ...]]  # for each q: suffix of the joint's name, and unit
    velocities: ClassVar[
        tuple[tuple[str, str], ...]
    ]  # for each v: suffix of the joint's name, and unit of its integral
    nq: ClassVar[int]
    nv: ClassVar[int]

    def __init_subclass__(cls) -> None:
        if "coordinates" in vars(cls):
            cls.nq, cls.nv = len(cls.coordinates), len(cls.velocities)

    @abstractmethod
    def pose(self, q: Sequence[Scalar]) -> Pose:
        """Pose of the link relative to the joint's placement."""

    @property
    @abstractmethod
    def partials(self) -> tuple[Partial, ...]:
        """One partial per v, in link coordinates."""

    @abstractmethod
    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """Rate q̇ for a given v."""

    @property
    @abstractmethod
    def neutral(self) -> tuple[float, ...]:
        """The q at which the link coincides with the joint's placement."""

    @abstractmethod
    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The q (..., nq) reached from q by the constant velocity v (..., nv) after unit time."""

    @abstractmethod
    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The smallest constant velocity (..., nv) that leads from q0 to q1 in unit time."""

    def bracket(self, v: np.ndarray) -> np.ndarray:
        """Matrix of the Lie bracket [v, ·] = (ω × u' + u × ω', ω × ω') of velocities (u, ω) in link axes.

        Rows and columns refer to the partials.
        """
        twists = [(np.array([*p.linear], float), np.array([*p.angular], float)) for p in self.partials]
        u, w = (sum((x * twist[k] for x, twist in zip(v, twists, strict=True)), np.zeros(3)) for k in (0, 1))
        columns = [(np.cross(w, linear) + np.cross(u, angular), np.cross(w, angular)) for linear, angular in twists]
        return np.array([[a @ linear + b @ angular for linear, angular in columns] for a, b in twists])

    @abstractmethod
    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Random configuration: lengths within ±1 m, angles within ±π, rotations uniform."""


def unit_axis(axis: Iterable[float]) -> Vec3:
    """Normalise an axis given by three numbers that are not all zero."""
    try:
        x, y, z = real_array(list(axis)).tolist()
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"a joint has axis {value_text(axis)}.", expected="three numbers, for example (0, 0, 1)"
        ) from None
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0 or not all(map(math.isfinite, (x, y, z))):
        problem = f"a joint has axis ({x:g}, {y:g}, {z:g}), which has no direction."
        raise ModelError(problem, expected="a non-zero 3-vector, for example (0, 0, 1)")
    if abs(math.hypot(x, y, z) - 1.0) > UNIT_TOLERANCE:
        x, y, z = x / largest, y / largest, z / largest
        length = math.hypot(x, y, z)
        x, y, z = x / length, y / length, z / length
    x, y, z = (0.0 if abs(component) < AXIS_TOLERANCE else component for component in (x, y, z))
    return Vec3(snap(x), snap(y), snap(z))


@dataclass(frozen=True)
class OneAxis(Motion):
    """Base of joints with one axis. `axis` is any sequence of three numbers, not all 0; it is normalised."""

    unit: ClassVar[str]
    random_range: ClassVar[float]  # largest absolute value of a random position
    axis: Vec3 = UNITS[2]

    def __post_init__(self):
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def __init_subclass__(cls) -> None:
        cls.coordinates = cls.velocities = (("", cls.unit),)
        super().__init_subclass__()

    def rate(self, q, v):
        return list(v)

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0,)

    def integrate(self, q, v):
        return q + v

    def difference(self, q0, q1):
        return q1 - q0

    def random(self, rng):
        return rng.uniform(-self.random_range, self.random_range, 1)


@dataclass(frozen=True)
class Revolute(OneAxis):
    """Rotation about an axis: `Revolute(axis=(0, 0, 1))`; q in rad."""

    name: ClassVar[str] = "revolute"
    unit: ClassVar[str] = "rad"
    random_range: ClassVar[float] = math.pi

    def pose(self, q) -> Pose:
        return Pose(about_axis(self.axis, q[0]), ZERO)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(self.axis, ZERO),)


@dataclass(frozen=True)
class Continuous(Revolute):
    """Unlimited rotation about an axis: `Continuous(axis=(0, 1, 0))`; q in rad."""

    name: ClassVar[str] = "continuous"


@dataclass(frozen=True)
class Prismatic(OneAxis):
    """Translation along an axis: `Prismatic(axis=(1, 0, 0))`; q in m."""

    name: ClassVar[str] = "prismatic"
    unit: ClassVar[str] = "m"
    random_range: ClassVar[float] = 1.0

    def pose(self, q) -> Pose:
        return Pose(IDENTITY, q[0] * self.axis)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(ZERO, self.axis),)


@dataclass(frozen=True)
class Spherical(Motion):
    """Rotation about a point: q is a quaternion (x, y, z, w), v the angular velocity in link axes, rad/s."""

    name: ClassVar[str] = "spherical"
    coordinates: ClassVar = (("qx", "1"), ("qy", "1"), ("qz", "1"), ("qw", "1"))
    velocities: ClassVar = (("wx", "rad"), ("wy", "rad"), ("wz", "rad"))

    def pose(self, q) -> Pose:
        return Pose(of_quaternion(*q), ZERO)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return tuple(Partial(unit, ZERO) for unit in UNITS)

    def rate(self, q, v):
        return quaternion_rate(q, v)

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, 1.0)

    def integrate(self, q, v):
        return quaternion_step(q, v)

    def difference(self, q0, q1):
        return quaternion_difference(q0, q1)

    def random(self, rng):
        return random_quaternion(rng)


def quaternion_rate(q, omega):
    """Rate q̇ of a quaternion for an angular velocity in body axes."""
    x, y, z, w = q
    wx, wy, wz = omega
    return [
        0.5 * (w * wx + y * wz - z * wy),
        0.5 * (w * wy + z * wx - x * wz),
        0.5 * (w * wz + x * wy - y * wx),
        -0.5 * (x * wx + y * wy + z * wz),
    ]


def quaternion_step(q: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """q ⊗ exp(rotation / 2), of unit length; `rotation` is a rotation vector in body axes, rad."""
    angle = norm(rotation, axis=-1, keepdims=True)
    scaled = 0.5 * np.sinc(angle / (2 * np.pi)) * rotation
    return unit_quaternion(_product(unit_quaternion(q), np.concatenate([scaled, np.cos(0.5 * angle)], axis=-1)))


def quaternion_difference(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Rotation vector from q0 to q1, in body axes and of length up to π."""
    inverse = unit_quaternion(q0) * [-1.0, -1.0, -1.0, 1.0]
    relative = _product(inverse, unit_quaternion(q1))
    relative = np.where(relative[..., 3:] < 0.0, -relative, relative)
    sine = norm(relative[..., :3], axis=-1, keepdims=True)
    safe = np.where(sine == 0.0, 1.0, sine)
    return np.where(sine == 0.0, 2.0, 2.0 * np.arctan2(sine, relative[..., 3:]) / safe) * relative[..., :3]


def unit_quaternion(q: np.ndarray) -> np.ndarray:
    """Normalise a quaternion of any non-zero length without overflow or underflow."""
    q = q / np.abs(q).max(axis=-1, keepdims=True)
    return q / norm(q, axis=-1, keepdims=True)


def _product(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Quaternion product q ⊗ p."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    dx, dy, dz, dw = np.moveaxis(p, -1, 0)
    return np.stack(
        [
            w * dx + x * dw + y * dz - z * dy,
            w * dy - x * dz + y * dw + z * dx,
            w * dz + x * dy - y * dx + z * dw,
            w * dw - x * dx - y * dy - z * dz,
        ],
        axis=-1,
    )


def random_quaternion(rng: np.random.Generator) -> np.ndarray:
    quaternion = rng.normal(size=4)
    return quaternion / norm(quaternion)


@dataclass(frozen=True)
class Floating(Motion):
    """Free motion: q is position and quaternion, v the linear and angular velocity in link axes, m/s and rad/s."""

    name: ClassVar[str] = "floating"
    coordinates: ClassVar = (("x", "m"), ("y", "m"), ("z", "m"), *Spherical.coordinates)
    velocities: ClassVar = (("vx", "m"), ("vy", "m"), ("vz", "m"), *Spherical.velocities)

    def pose(self, q) -> Pose:
        return Pose(of_quaternion(*q[3:]), Vec3.of(q[:3]))

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (*(Partial(ZERO, unit) for unit in UNITS), *(Partial(unit, ZERO) for unit in UNITS))

    def rate(self, q, v):
        return [*(of_quaternion(*q[3:]) @ Vec3.of(v[:3])), *quaternion_rate(q[3:], v[3:])]

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    def integrate(self, q, v):
        position, quaternion = q[..., :3], unit_quaternion(q[..., 3:])
        moved = position + rotate_vector(quaternion, screw_translation(v[..., :3], v[..., 3:]))
        return np.concatenate([moved, quaternion_step(quaternion, v[..., 3:])], axis=-1)

    def difference(self, q0, q1):
        rotation = quaternion_difference(q0[..., 3:], q1[..., 3:])
        inverse = unit_quaternion(q0[..., 3:]) * [-1.0, -1.0, -1.0, 1.0]
        displacement = rotate_vector(inverse, q1[..., :3] - q0[..., :3])
        return np.concatenate([screw_velocity(displacement, rotation), rotation], axis=-1)

    def random(self, rng):
        return np.concatenate([rng.uniform(-1.0, 1.0, 3), random_quaternion(rng)])


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Vector product along the last axis; several times faster than `np.cross` for single vectors."""
    return a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]


def rotate_vector(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """R(q) x for quaternions and vectors along the last axis."""
    axis, w = quaternion[..., :3], quaternion[..., 3:]
    once = _cross(axis, vector)
    return vector + 2.0 * (w * once + _cross(axis, once))


def screw_translation(linear: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Displacement after unit time of a body with constant velocity in its own axes: the integral of exp(t ω̃) v."""
    angle = np.linalg.norm(rotation, axis=-1, keepdims=True)
    use_series = angle < 1e-4
    safe = np.where(use_series, 1.0, angle)
    first = np.where(use_series, 0.5 - angle**2 / 24, (1.0 - np.cos(safe)) / safe**2)
    second = np.where(use_series, 1.0 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    once = _cross(rotation, linear)
    return linear + first * once + second * _cross(rotation, once)


def screw_velocity(displacement: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Linear velocity whose `screw_translation` is `displacement`; the rotation must be less than 2π."""
    half = 0.5 * np.linalg.norm(rotation, axis=-1, keepdims=True)
    use_series = half < 1e-3
    safe = np.where(use_series, 1.0, half)
    second = np.where(use_series, 1.0 / 12 + half**2 / 180, (1.0 - safe / np.tan(safe)) / (4.0 * safe**2))
    once = _cross(rotation, displacement)
    return displacement - 0.5 * once + second * _cross(rotation, once)


@dataclass(frozen=True)
class Planar(Motion):
    """Motion in the x-y plane: q = (x, y, angle), v the two linear and the angular velocity in link axes."""

    name: ClassVar[str] = "planar"
    coordinates: ClassVar = (("x", "m"), ("y", "m"), ("angle", "rad"))
    velocities: ClassVar = (("vx", "m"), ("vy", "m"), ("w", "rad"))

    def pose(self, q) -> Pose:
        return Pose(about_axis(UNITS[2], q[2]), Vec3(q[0], q[1], 0.0))

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(ZERO, UNITS[0]), Partial(ZERO, UNITS[1]), Partial(UNITS[2], ZERO))

    def rate(self, q, v):
        c, s = cos(q[2]), sin(q[2])
        return [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0)

    def integrate(self, q, v):
        zero = np.zeros((*v.shape[:-1], 1))
        moved = screw_translation(np.concatenate([v[..., :2], zero], -1), np.concatenate([zero, zero, v[..., 2:]], -1))
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        x = q[..., 0] + c * moved[..., 0] - s * moved[..., 1]
        y = q[..., 1] + s * moved[..., 0] + c * moved[..., 1]
        return np.stack([x, y, q[..., 2] + v[..., 2]], axis=-1)

    def difference(self, q0, q1):
        c, s, d = np.cos(q0[..., 2]), np.sin(q0[..., 2]), q1 - q0
        angle, zero = np.remainder(d[..., 2] + np.pi, 2.0 * np.pi) - np.pi, np.zeros_like(c)
        moved = np.stack([c * d[..., 0] + s * d[..., 1], c * d[..., 1] - s * d[..., 0], zero], axis=-1)
        velocity = screw_velocity(moved, np.stack([zero, zero, angle], axis=-1))
        return np.concatenate([velocity[..., :2], angle[..., None]], axis=-1)

    def random(self, rng):
        return np.concatenate([rng.uniform(-1.0, 1.0, 2), rng.uniform(-np.pi, np.pi, 1)])


@dataclass(frozen=True)
class Fixed(Motion):
    """No motion: the link is fixed to a flexible link, or to one of its nodes. Rigid bodies are combined instead."""

    name: ClassVar[str] = "fixed"
    coordinates: ClassVar = ()
    velocities: ClassVar = ()

    def pose(self, q) -> Pose:
        return Pose()

    @property
    def partials(self) -> tuple[Partial, ...]:
        return ()

    def rate(self, q, v):
        return []

    @property
    def neutral(self) -> tuple[float, ...]:
        return ()

    def integrate(self, q, v):
        return q + v

    def difference(self, q0, q1):
        return q1 - q0

    def bracket(self, v):
        return np.zeros((0, 0))

    def random(self, rng):
        return np.empty(0)


KINDS: dict[str, type[Motion]] = {
    kind.name: kind for kind in (Revolute, Continuous, Prismatic, Spherical, Floating, Planar)
}

__all__ = [
    "KINDS",
    "Continuous",
    "Fixed",
    "Floating",
    "Motion",
    "Partial",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
]
