"""Translation along one axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.model.joints.motion import Motion, Partial, unit_axis


@dataclass(frozen=True)
class Prismatic(Motion):
    name: ClassVar[str] = "prismatic"
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    axis: Vec3 = UNITS[2]  # any three numbers with a direction; kept as a unit vector

    def __post_init__(self):
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def pose(self, q) -> Pose:
        return Pose(IDENTITY, q[0] * self.axis)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(ZERO, self.axis),)

    def rate(self, q, v):
        return list(v)

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0,)

    def step(self, q, v):
        return q + v

    def random(self, rng):
        return rng.uniform(-1.0, 1.0, 1)
