"""What a kind of system gives of its drives: how actuators and joints see its coordinates.

Actuators stand at θ(q), with θ̇ = Bᵀv and Q = B τ. Every joint has a drive; where some joints carry no motor, or follow
another, there are more drives than actuators, and forces of drives reach the coordinates by the ways named here.
"""

from __future__ import annotations

from abc import abstractmethod

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.body_equations import BodyEquations, Matrix


class DriveEquations(BodyEquations):
    """The coordinates as actuators and drives see them."""

    @abstractmethod
    def actuator_positions(self, q: Vector) -> list[Scalar]: ...

    @abstractmethod
    def actuator_positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        """θ(q), where an angle that is known up to whole turns only is the one nearest to theta."""

    @abstractmethod
    def actuator_jacobian(self, q: Vector) -> Matrix:
        """Bᵀ, with θ̇ = Bᵀv at the actuators."""

    def actuator_rates(self, q: Vector, v: Vector) -> list[Scalar]:
        """θ̇ = Bᵀv."""
        return [sum((x * rate for x, rate in zip(row, v, strict=True)), start=0.0) for row in self.actuator_jacobian(q)]

    @abstractmethod
    def to_coordinates(self, q: Vector, rates: Vector) -> list[Scalar]:
        """v with Bᵀv = rates, or as near to them as it can be with more actuators than coordinates."""

    @abstractmethod
    def along_coordinates(self, q: Vector, tau: Vector) -> list[Scalar]:
        """B τ."""

    @abstractmethod
    def at_actuators(self, q: Vector, forces: Matrix) -> Matrix:
        """The columns of τ with B τ = forces."""

    @abstractmethod
    def drive_positions(self, q: Vector) -> list[Scalar]:
        """θ of every drive; 0 for one of several axes, which has no spring."""

    @abstractmethod
    def drive_rates(self, q: Vector, v: Vector) -> list[Scalar]:
        """θ̇ of every drive."""

    @abstractmethod
    def drive_accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """θ̈ of every drive."""

    @abstractmethod
    def drive_drift(self, q: Vector, v: Vector) -> Matrix:
        """The columns of θ̈ at a = 0 in v: dBᵀ/dt."""

    @abstractmethod
    def drives_along(self, q: Vector, forces: Vector) -> list[Scalar]:
        """Forces of every drive, along the coordinates."""

    @abstractmethod
    def drives_at_actuators(self, q: Vector, forces: Vector) -> list[Scalar]:
        """What the actuators must add to bring about forces of every drive."""

    @abstractmethod
    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        """Forces along the coordinates: B τ, less those of every drive."""


class DrivesAtActuators(DriveEquations):
    """Where every drive acts at an actuator."""

    @abstractmethod
    def on_actuators(self, forces: Vector) -> list[Scalar]:
        """Forces of every drive, gathered where tau acts."""

    def drives_along(self, q: Vector, forces: Vector) -> list[Scalar]:
        return self.along_coordinates(q, self.on_actuators(forces))

    def drives_at_actuators(self, q: Vector, forces: Vector) -> list[Scalar]:
        return self.on_actuators(forces)

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        return self.along_coordinates(q, [x - y for x, y in zip(tau, self.on_actuators(passive), strict=True)])
