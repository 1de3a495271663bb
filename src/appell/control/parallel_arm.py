"""A parallel robot as a controller sees it: led along its coordinates q, driven at actuators elsewhere.

    τ = J⁻ᵀ Q(q, v, u)          Q = Jᵀτ                                                                         (1)

So a law's acceleration u becomes actuator torques, a torque law's forces along the coordinates likewise, and what a
limit takes from an actuator is felt along the coordinates through Jᵀ. Drives are bodies of the mechanism like any other
part; friction is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar
from appell.control.axes import Axes
from appell.parallel.assembly import Assembly
from appell.parallel.mechanism import Mechanism


@dataclass(frozen=True)
class ParallelArm:
    """What `Arm` is for a tree, for a `Mechanism`; formulas take traced scalars."""

    mechanism: Mechanism

    @property
    def robot(self) -> Assembly:
        return self.mechanism.robot

    @property
    def coordinates(self) -> Axes:
        return Axes(self.robot.owner, "coordinate", self.robot.coordinates)

    @property
    def actuators(self) -> Axes:
        return Axes(self.robot.owner, "actuator", self.robot.actuator_names)

    @property
    def viscous(self) -> tuple[float, ...]:
        return (0.0,) * self.robot.nv

    def check(self, q) -> None:
        """Raise if a leg does not reach, or if the actuators have no hold on the coordinates there."""
        self.mechanism.check(q)

    def inverse_dynamics(self, q: Sequence, v: Sequence, a: Sequence) -> list[Scalar]:
        return self.at_actuators(q, self.mechanism.terms.forces(q, v, a))  # (1)

    def bias(self, q: Sequence, v: Sequence) -> list[Scalar]:
        return self.mechanism.terms.forces(q, v, [0.0] * self.robot.nv)

    def mass_matrix(self, q: Sequence) -> list[list[Scalar]]:
        return self.mechanism.terms.mass_matrix(q)

    def at_actuators(self, q: Sequence, forces: Sequence) -> list[Scalar]:
        return [row[0] for row in self.mechanism.terms.at_actuators(q, [[x] for x in forces])]

    def along_coordinates(self, q: Sequence, tau: Sequence) -> list[Scalar]:
        columns = zip(*self.mechanism.terms.jacobian(q), strict=True)
        return [sum((x * force for x, force in zip(column, tau, strict=True)), start=0.0) for column in columns]

    def dry_friction(self, v: Sequence) -> list[Scalar]:
        return [0.0] * self.robot.nv

    def friction_ahead(self, v: Sequence) -> list[Scalar]:
        return [0.0] * self.robot.nu
