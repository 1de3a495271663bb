"""What turning about an axis and sliding along it have in common: one coordinate, whose rate is the velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from appell.algebra.vector import UNITS, Vec3
from appell.model.joints.motion import Motion, unit_axis


@dataclass(frozen=True)
class OneAxis(Motion):
    unit: ClassVar[str]
    spread: ClassVar[float]  # how far from 0 a random position is, to either side
    axis: Vec3 = UNITS[2]  # any three numbers with a direction; kept as a unit vector

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

    def step(self, q, v):
        return q + v

    def difference(self, q0, q1):
        return q1 - q0

    def random(self, rng):
        return rng.uniform(-self.spread, self.spread, 1)
