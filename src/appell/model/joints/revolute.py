"""Rotation about one axis; continuous is the same without limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.algebra.rotation import Pose, about_axis
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.model.joints.motion import Motion, Partial, unit_axis


@dataclass(frozen=True)
class Revolute(Motion):
    name: ClassVar[str] = "revolute"
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    axis: Vec3 = UNITS[2]  # any three numbers with a direction; kept as a unit vector

    def __post_init__(self):
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def pose(self, q) -> Pose:
        return Pose(about_axis(self.axis, q[0]), ZERO)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(self.axis, ZERO),)

    def rate(self, q, v):
        return list(v)

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0,)

    def step(self, q, v):
        return q + v

    def random(self, rng):
        return rng.uniform(-np.pi, np.pi, 1)


@dataclass(frozen=True)
class Continuous(Revolute):
    name: ClassVar[str] = "continuous"
