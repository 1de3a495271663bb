"""What a joint lets its link do, seen from the joint's placement on the parent.

The partials are the columns of the joint's motion: angular and linear velocity of the link relative to its parent for a
unit of each v, in link coordinates. They are constant for every joint here, which is what keeps the algorithms short.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, snap
from appell.algebra.vector import Vec3
from appell.errors import ModelError

AXIS_TOLERANCE = 1e-14  # components of a unit axis below this are meant to be 0
UNIT_TOLERANCE = 4e-16  # an axis this near to unit length is left as it is


@dataclass(frozen=True, slots=True)
class Partial:
    """Relative velocity of the link for one unit of one generalised velocity."""

    angular: Vec3
    linear: Vec3


@dataclass(frozen=True)
class Motion(ABC):
    """A kind of joint."""

    name: ClassVar[str]
    coordinates: ClassVar[tuple[tuple[str, str], ...]]  # of each q: what is added to the joint's name, and its unit
    velocities: ClassVar[tuple[tuple[str, str], ...]]  # of each v: the same, the unit that of its integral
    nq: ClassVar[int]
    nv: ClassVar[int]

    def __init_subclass__(cls) -> None:
        if "coordinates" in vars(cls):
            cls.nq, cls.nv = len(cls.coordinates), len(cls.velocities)

    @abstractmethod
    def pose(self, q: Sequence[Scalar]) -> Pose:
        """Where the link stands relative to the joint's placement."""

    @property
    @abstractmethod
    def partials(self) -> tuple[Partial, ...]:
        """One partial for each v, in link coordinates."""

    @abstractmethod
    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """q̇ for a given v."""

    @property
    @abstractmethod
    def neutral(self) -> tuple[float, ...]:
        """The q at which the link stands on the joint's placement."""

    @abstractmethod
    def step(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The q reached from q by the constant velocity v in unit time; last axes (nq) and (nv), any batch."""

    @abstractmethod
    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The smallest constant velocity that leads from q0 to q1 in unit time."""

    def bracket(self, v: np.ndarray) -> np.ndarray:
        """[v, ·] = (ω × u' + u × ω', ω × ω') of velocities (u, ω) in link axes, in terms of the partials."""
        twists = [(np.array([*p.linear], float), np.array([*p.angular], float)) for p in self.partials]
        u, w = (sum((x * twist[k] for x, twist in zip(v, twists, strict=True)), np.zeros(3)) for k in (0, 1))
        columns = [(np.cross(w, linear) + np.cross(u, angular), np.cross(w, angular)) for linear, angular in twists]
        return np.array([[a @ linear + b @ angular for linear, angular in columns] for a, b in twists])

    @abstractmethod
    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A configuration drawn from all that the joint can reach; lengths within ±1 m, angles within ±π."""


def unit_axis(axis: Iterable[float]) -> Vec3:
    """The direction of an axis given by any three numbers that have one."""
    try:
        x, y, z = (float(component) for component in axis)
    except (TypeError, ValueError):
        raise ModelError(f"a joint has axis {axis!r}.", expected="three numbers, for example (0, 0, 1)") from None
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
