"""A fixed ratio between joints: Σ cₖ qₖ = c₀, of gears, belts, racks and differentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from appell.errors import unknown_name
from appell.model.constraint.constraint import Constraint, is_finite
from appell.model.robot import Robot
from appell.model.validate import Flaw


@dataclass(frozen=True)
class Gear(Constraint):
    """Joints of one axis that move in a fixed ratio: Gear({"roll": 1.0, "yaw": -0.5}) keeps roll = yaw / 2.

    A rack is a gear between a joint that turns and one that slides, its ratio a length. One joint alone is held at
    `offset` over its ratio. The multiplier λ is a torque cₖ λ at every joint; a mimic joint stands for its leader.
    """

    kind: ClassVar[str] = "gear"
    ratios: Mapping[str, float]
    offset: float = 0.0

    def __post_init__(self):
        if isinstance(self.ratios, Mapping):
            object.__setattr__(self, "ratios", dict(self.ratios))
        super().__post_init__()

    def __hash__(self) -> int:
        return hash((self.name, frozenset(self.ratios.items()), self.offset))

    @property
    def usual_name(self) -> str:
        return "-".join(map(str, self.ratios))

    @property
    def row_labels(self) -> tuple[str, ...]:
        return ("ratio",)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",)

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.row_labels

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        joints = {link.joint.name: link.joint for link in robot.links}
        if not isinstance(self.ratios, Mapping) or not self.ratios:
            expected = 'ratios by the names of joints, such as {"roll": 1.0, "yaw": -0.5}'
            yield Flaw(self.culprit, f"{self.owner} has ratios {self.ratios!r}.", expected)
            return
        for name, ratio in self.ratios.items():
            if name not in joints:
                sentence = unknown_name("joint", str(name), joints, robot.owner)
                yield Flaw(self.culprit, f"{self.owner} couples '{name}'. {sentence}")
            elif joints[name].motion.nv != 1:
                problem = f"{self.owner} couples joint '{name}', which is {joints[name].motion.name}."
                yield Flaw(self.culprit, problem, "joints of one axis", "Velocities for a ratio of several axes")
            if not is_finite(ratio) or ratio == 0.0:
                problem = f"{self.owner} couples joint '{name}' by the ratio {ratio!r}."
                yield Flaw(self.culprit, problem, "a finite number that is not 0")
        if not is_finite(self.offset):
            yield Flaw(self.culprit, f"{self.owner} has offset {self.offset!r}.", "a finite number")
