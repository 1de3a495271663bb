"""Translation along one axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import ZERO
from appell.model.joints.motion import Partial
from appell.model.joints.one_axis import OneAxis


@dataclass(frozen=True)
class Prismatic(OneAxis):
    """Slides along an axis: Prismatic(axis=(1, 0, 0)); q in m."""

    name: ClassVar[str] = "prismatic"
    unit: ClassVar[str] = "m"
    spread: ClassVar[float] = 1.0

    def pose(self, q) -> Pose:
        return Pose(IDENTITY, q[0] * self.axis)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(ZERO, self.axis),)
