"""What a kind of system gives of its rigid bodies, friction, rotors and springs of its drives apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.formulate.points import PointMotion
from appell.model.frame import Frame

Matrix = list[list[Scalar]]
Wrenches = Mapping[Frame, Vector]  # frame -> six numbers (force, moment)


class BodyEquations(ABC):
    """The equations of motion of bodies alone, along the coordinates, and where their frames are."""

    @abstractmethod
    def body_gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar: ...

    @abstractmethod
    def body_forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]: ...

    @abstractmethod
    def body_mass_matrix(self, q: Vector) -> Matrix: ...

    @abstractmethod
    def body_coriolis(self, q: Vector, v: Vector) -> Matrix: ...

    @abstractmethod
    def body_regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        """Ten columns a body, or some of them, in order."""

    @abstractmethod
    def body_kinetic_energy(self, q: Vector, v: Vector) -> Scalar: ...

    @abstractmethod
    def body_potential_energy(self, q: Vector) -> Scalar: ...

    @abstractmethod
    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        """Linear momentum of the bodies, and angular momentum about their centre of mass, in world axes."""

    @abstractmethod
    def center_of_mass(self, q: Vector) -> Vec3: ...

    @abstractmethod
    def pose(self, frame: Frame, q: Vector) -> Pose:
        """Of a frame in the world."""

    @abstractmethod
    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        """J with (linear, angular) velocity of the frame = J v."""

    @abstractmethod
    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        """(linear, angular) velocity of the frame."""

    @abstractmethod
    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        """Where the frames' origins are in the world."""

    @abstractmethod
    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
        """Position, velocity, drift and Jacobian of the frames' origins."""

    @abstractmethod
    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        """a for forces along the coordinates on bodies and rotors, friction apart."""
