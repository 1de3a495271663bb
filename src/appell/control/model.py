"""What a controller must know of a robot, and a plant must be: the same questions for an arm and for a parallel robot.

`Arm` answers them from a tree, `ParallelArm` from a closed form; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from appell.algebra.scalar import Scalar
from appell.control.arm import Arm
from appell.control.axes import Axes
from appell.control.parallel_arm import ParallelArm
from appell.errors import ArgumentError
from appell.model.robot import Robot
from appell.parallel.mechanism import Mechanism


class Model(Protocol):
    """A robot by its formulas over abstract scalars; `tau` is at the actuators, everything else along coordinates."""

    @property
    def robot(self) -> Any: ...

    @property
    def coordinates(self) -> Axes: ...

    @property
    def actuators(self) -> Axes: ...

    @property
    def viscous(self) -> Sequence[float]:
        """Of friction that grows with v."""

    def check(self, q) -> None:
        """Raise if the robot cannot stand at q."""

    def inverse_dynamics(self, q: Sequence, v: Sequence, a: Sequence) -> list[Scalar]:
        """tau of a motion; dry friction apart."""

    def bias(self, q: Sequence, v: Sequence) -> list[Scalar]:
        """h of M a + h, without friction."""

    def mass_matrix(self, q: Sequence) -> list[list[Scalar]]: ...

    def at_actuators(self, q: Sequence, forces: Sequence) -> list[Scalar]:
        """tau that amounts to forces along the coordinates."""

    def along_coordinates(self, q: Sequence, tau: Sequence) -> list[Scalar]:
        """What tau amounts to along the coordinates."""

    def dry_friction(self, v: Sequence) -> list[Scalar]:
        """The bound of friction that sticks."""

    def friction_ahead(self, v: Sequence) -> list[Scalar]:
        """tau against the dry friction of a motion to come."""


def model_of(given: Model | Robot | Mechanism) -> Model:
    """A model as it is; a tree or a mechanism without further drives."""
    if isinstance(given, Robot):
        return Arm(given)
    if isinstance(given, Mechanism):
        return ParallelArm(given)
    if not all(hasattr(given, name) for name in ("coordinates", "actuators", "inverse_dynamics")):
        raise ArgumentError(
            f"{given!r} is no robot that can be controlled.", expected="an Arm, a Robot or a parallel.Mechanism"
        )
    return given
