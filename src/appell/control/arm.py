"""An arm: a robot with its drives, as it is (the plant) or as a controller believes it to be (the model).

Rotors turn Nⱼ times faster than their joints and add Jⱼ Nⱼ² to the diagonal of M. Friction along a joint is

    viscous v + F(v) sign(v)          F(v) = coulomb + (static - coulomb) / (1 + (v / stribeck)²)             (1)

Stribeck's curve falls from the static to the Coulomb level. It is written as a quotient, not as the usual exponential,
as a tape has no exponential: both fall to half of the difference near |v| = stribeck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from appell.algebra.matrix import IDENTITY
from appell.algebra.piecewise import smooth_sign
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.algebra.vector import Vec3
from appell.control.axes import Axes, PerJoint
from appell.errors import ArgumentError, ModelError
from appell.formulate.formulations import choose
from appell.formulate.regroup import regroup
from appell.formulate.tree import Tree
from appell.model.body import Body
from appell.model.robot import Robot

METHOD = choose("gibbs-appell")
SLOW = 0.02  # rad/s or m/s; a model's friction goes through zero over this much velocity
BALL = 0.4 * 0.05**2  # m²; the inertia of a payload is that of a ball of 5 cm

_NUMBERS = ("rotor_inertia", "viscous", "coulomb", "static")


@dataclass(frozen=True)
class Arm:
    """A robot of one-axis joints; one number a joint, at the joint's side of the gear, or one number for all."""

    robot: Robot
    rotor_inertia: PerJoint = 0.0  # J N², kg m²
    viscous: PerJoint = 0.0
    coulomb: PerJoint = 0.0
    static: PerJoint = None  # at rest; None: as when moving
    stribeck: float = 0.05  # rad/s or m/s

    def __post_init__(self):
        for link in self.robot.moving:
            if link.joint.motion.nq != 1 or link.joint.motion.nv != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of robot '{self.robot.name}' is {link.joint.motion.name}.",
                    expected="joints about or along one axis: a controller has one drive a joint",
                )
        if self.robot.free:
            raise ModelError(f"robot '{self.robot.name}' has free inertial parameters.", hint="robot.with_bodies(...)")
        if self.static is None:
            object.__setattr__(self, "static", self.coulomb)
        for name in _NUMBERS:
            object.__setattr__(self, name, self.coordinates.numbers(name, getattr(self, name), least=0.0))
        for joint, moving, resting in zip(self.robot.joint_names, self.coulomb, self.static, strict=True):
            if resting < moving:
                raise ArgumentError(
                    f"static friction {resting:g} of joint '{joint}' is below its Coulomb friction {moving:g}.",
                    expected="static ≥ coulomb",
                )
        if not (np.isfinite(self.stribeck) and self.stribeck > 0.0):
            raise ArgumentError(f"the Stribeck velocity is {self.stribeck:g}.", expected="a positive number")

    @property
    def n(self) -> int:
        return self.robot.nv

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.robot.joint_names

    @cached_property
    def coordinates(self) -> Axes:
        return Axes(f"robot '{self.robot.name}'", "joint", self.joint_names)

    @property
    def actuators(self) -> Axes:
        """The joints: every one has its drive."""
        return self.coordinates

    def check(self, q) -> None:
        """An arm can stand anywhere."""
        self.coordinates.numbers("q", q)

    # ---- other arms like it

    def with_payload(self, mass: float, at: Sequence[float] = (0.0, 0.0, 0.0), frame: str | None = None) -> Arm:
        """The arm with a ball of `mass` kg at a point of a frame; the last link if None."""
        if not (np.isfinite(mass) and mass > 0.0):
            raise ArgumentError(f"the payload has a mass of {mass:g} kg.", expected="a positive number")
        robot = self.robot
        place = robot.frame(frame or robot.links[-1].name)
        if place.link is None:
            raise ModelError(
                f"frame '{place.name}' of robot '{robot.name}' does not move.", expected="a frame on a link"
            )
        ball = Body(mass, Vec3.of([float(x) for x in at]), (BALL * mass) * IDENTITY)
        own = robot.link(place.link).body
        extra = ball.moved(Pose(place.pose.rotation, place.pose.translation)).about_origin
        whole = extra if own is None else own.about_origin + extra
        return replace(self, robot=robot.with_bodies({place.link: Body.from_inertia(whole)}))

    def with_masses(self, factor: float) -> Arm:
        """The arm with every mass and inertia multiplied: a model that is wrong by a known amount."""
        bodies = {
            link.name: Body(factor * link.body.mass, link.body.com, factor * link.body.inertia)
            for link in self.robot.links
            if link.body is not None
        }
        return replace(self, robot=self.robot.with_bodies(bodies))

    def without_friction(self) -> Arm:
        return replace(self, viscous=0.0, coulomb=0.0, static=0.0)

    # ---- formulas over abstract scalars

    @cached_property
    def tree(self) -> Tree:
        return regroup(Tree.of(self.robot))

    def inverse_dynamics(self, q: Sequence, v: Sequence, a: Sequence) -> list[Scalar]:
        """The torques of a motion, rotors and viscous friction included; Coulomb friction apart."""
        tau = METHOD.inverse_dynamics(self.tree, q, v, a, {})
        terms = zip(tau, self.rotor_inertia, a, self.viscous, v, strict=True)
        return [force + rotor * acc + drag * speed for force, rotor, acc, drag, speed in terms]

    def bias(self, q: Sequence, v: Sequence) -> list[Scalar]:
        """The torques at no acceleration, friction apart."""
        return METHOD.inverse_dynamics(self.tree, q, v, [0.0] * self.n, {})

    def mass_matrix(self, q: Sequence) -> list[list[Scalar]]:
        M = METHOD.mass_matrix(self.tree, q)
        for k, rotor in enumerate(self.rotor_inertia):
            M[k][k] = M[k][k] + rotor
        return M

    def at_actuators(self, q: Sequence, forces: Sequence) -> list[Scalar]:
        return list(forces)

    def along_coordinates(self, q: Sequence, tau: Sequence) -> list[Scalar]:
        return list(tau)

    def dry_friction(self, v: Sequence) -> list[Scalar]:
        """F(v) of (1): the bound of dry friction."""
        levels = zip(self.coulomb, self.static, v, strict=True)
        return [
            moving + (resting - moving) / (1.0 + (speed / self.stribeck) * (speed / self.stribeck))
            if resting > moving
            else moving
            for moving, resting, speed in levels
        ]

    def friction_ahead(self, v: Sequence) -> list[Scalar]:
        """Coulomb friction of a motion to come, for feed-forward; it goes smoothly through zero."""
        return [
            level * smooth_sign(speed, SLOW) if level else 0.0 for level, speed in zip(self.coulomb, v, strict=True)
        ]
