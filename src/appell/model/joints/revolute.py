"""Rotation about one axis; continuous is the same without limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from appell.algebra.rotation import Pose, about_axis
from appell.algebra.vector import ZERO
from appell.model.joints.motion import Partial
from appell.model.joints.one_axis import OneAxis


@dataclass(frozen=True)
class Revolute(OneAxis):
    """Turns about an axis: Revolute(axis=(0, 0, 1)); q in rad."""

    name: ClassVar[str] = "revolute"
    unit: ClassVar[str] = "rad"
    spread: ClassVar[float] = math.pi

    def pose(self, q) -> Pose:
        return Pose(about_axis(self.axis, q[0]), ZERO)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(self.axis, ZERO),)


@dataclass(frozen=True)
class Continuous(Revolute):
    """Turns about an axis without end: Continuous(axis=(0, 1, 0))."""

    name: ClassVar[str] = "continuous"
