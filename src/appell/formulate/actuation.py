"""Actuators and drives: their forces on the bodies, and their motion.

A drive is a joint with its rotor, friction, offset and spring; an actuator is a joint at which tau acts. Every joint of
a tree has a drive; if some joints have no motor, or follow another joint, there are more drives than actuators. Both
are expressed in the velocities w of the bodies (`model.system.Map`). With the Jacobian J of the actuators, θ̇ = J v:

    Q = Jᵀτ                τ = J⁻ᵀQ                              as many actuators as velocities               (1)
                           τ = W⁻¹ J (Jᵀ W⁻¹ J)⁻¹ Q              more actuators: the solution of least τᵀWτ    (2)

and conversely v = J⁻¹θ̇, or the least-squares solution for inconsistent rates. If the condition number of J exceeds its
limit, all results are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from appell.algebra.scalar import Matrix, Scalar, Vector, dot, nearest
from appell.algebra.solve import LDL, solve
from appell.errors import ModelError
from appell.formulate.closed_form import PoseFunctions
from appell.formulate.tree import Tree
from appell.model.actuator import IDEAL, Actuator
from appell.model.robot import Joint, Robot
from appell.model.system import Map

CONDITION_LIMIT = 1e10  # condition number of a constrained robot's actuator Jacobian above which torques are NaN
FULL_TURN_RAD = 2.0 * math.pi


@dataclass(frozen=True)
class Drive:
    """A drive at a joint; `label` is the suffix of the names of its parameters."""

    name: str
    label: str
    actuator: Actuator


@dataclass(frozen=True)
class Transmission:
    """Jacobian of the actuators at one configuration; `weights` are the diagonal of W in (2), 1 if empty."""

    J: Matrix
    limit: float
    owner: str
    weights: Sequence[float] = ()

    @property
    def _columns(self) -> Matrix:
        return [list(column) for column in zip(*self.J, strict=True)]

    def forces(self, tau: Vector) -> list[Scalar]:
        """Q = Jᵀτ."""
        return [dot(column, tau) for column in self._columns]

    def velocity(self, rates: Vector) -> list[Scalar]:
        """v for given rates of the actuators."""
        if len(self.J) == len(self._columns):
            return [row[0] for row in solve(self.J, [[x] for x in rates], self.limit)]
        return self._gram([1.0] * len(self.J)).solve(self.forces(rates))

    def torques(self, forces: Matrix) -> Matrix:
        """τ for Q, column by column, by (1) or (2)."""
        columns = self._columns
        if len(self.J) == len(columns):
            return solve(columns, forces, self.limit)
        if len(self.J) < len(columns):
            raise ModelError(
                f"{self.owner} is underactuated: {len(self.J)} actuators for {len(columns)} degrees of freedom.",
                expected="at least as many actuators as degrees of freedom",
                hint="Use generalized_forces(q, v, a) for the forces along the velocities; for flexible links, "
                "joint_inversion(q, v, a_joints) or ap.quasi_static(dyn, q).",
            )
        inverse_weights = [1.0 / weight for weight in self.weights] or [1.0] * len(self.J)
        gram = self._gram(inverse_weights)
        inner = [gram.solve(column) for column in zip(*forces, strict=True)]
        return [[inverse_weights[k] * dot(row, column) for column in inner] for k, row in enumerate(self.J)]

    def _gram(self, inverse_weights: Sequence[float]) -> LDL:
        """Jᵀ W⁻¹ J, factorised."""
        columns = self._columns
        weighted = [[w * x for w, x in zip(inverse_weights, column, strict=True)] for column in columns]
        return LDL.of([[dot(x, y) for y in columns] for x in weighted], self.limit * self.limit)


@final
class TreeActuation:
    """Joints of a tree: a force acts along every velocity w, or along those with a name in `weights`."""

    def __init__(self, tree: Tree, owner: str, weights: Mapping[str, float] | None = None):
        self.tree, self.robot, self.owner, self.weights = tree, tree.robot, owner, weights
        names = self.robot.velocity_names
        self.actuated = tuple(range(len(names))) if weights is None else tuple(names.index(name) for name in weights)
        self.drives = tuple(drive for link in tree.links for drive in _drives(self.robot, link.joint))

    # ---- actuators

    def positions(self, q: Vector) -> list[Scalar]:
        """θ(q) of the actuators."""
        if self.weights is None:
            self._check_axes()
            return list(q)
        positions = []
        for name, k in zip(self.weights, self.actuated, strict=True):
            coordinate = self.robot.coordinate_of(k)
            if coordinate is None:
                raise ModelError(
                    f"actuator '{name}' of {self.owner} has no position: its joint has several axes.",
                    expected="actuated joints of one axis",
                    hint="Name such joints in with_loops(..., actuated=[...]).",
                )
            positions.append(q[coordinate])
        return positions

    def _check_axes(self) -> None:
        for link in self.robot.moving:
            if link.joint.motion.nv != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of {self.owner} is {link.joint.motion.name}: "
                    "its velocities are not the rates of actuator positions.",
                    expected="joints of one axis",
                )

    def positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        return self.positions(q)

    def transmission(self, q: Vector, velocity_map: Map) -> Transmission | None:
        """Transmission at q; None if a force acts along every independent velocity, so that J = 1."""
        if velocity_map.is_identity and len(self.actuated) == self.robot.nv:
            return None
        N = velocity_map.basis(q)
        weights = () if self.weights is None else tuple(self.weights.values())
        return Transmission([N[k] for k in self.actuated], CONDITION_LIMIT, self.owner, weights)

    def on_bodies(self, q: Vector, tau: Vector) -> list[Scalar]:
        """Forces of tau along w."""
        if self.weights is None:
            return list(tau)
        forces: list[Scalar] = [0.0] * self.robot.nv
        for k, force in zip(self.actuated, tau, strict=True):
            forces[k] = force
        return forces

    # ---- drives

    def drive_positions(self, q: Vector) -> list[Scalar]:
        """θ of every drive; 0 for a joint of several axes, which has no spring."""
        driven = [link for link in self.tree.links if _has_drive(link.joint)]
        one_axis = {link.name: self.tree.position(link, q) for link in driven if link.joint.motion.nv == 1}
        return [x for link in driven for x in one_axis.get(link.name, [0.0] * link.joint.motion.nv)]

    def drive_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        """θ̇ of every drive."""
        driven = (link for link in self.tree.links if _has_drive(link.joint))
        return [rate for link in driven for rate in self.tree.velocity(link, w)]

    def drive_accelerations(self, q: Vector, w: Vector, w_dot: Vector) -> list[Scalar]:
        """θ̈ of every drive."""
        return self.drive_rates(q, w_dot)

    def drive_jacobian(self, q: Vector, velocity_map: Map) -> Matrix:
        """D, with θ̇ = D v + const of every drive."""
        return self._drive_rows(q, velocity_map.basis(q))

    def drive_drift(self, q: Vector, v: Vector, velocity_map: Map) -> Matrix:
        """dD/dt."""
        if velocity_map.is_identity:
            return [[0.0] * self.robot.nv for _ in self.drives]
        return self._drive_rows(q, velocity_map.basis_rate(q, v))

    def _drive_rows(self, q: Vector, matrix: Matrix) -> Matrix:
        columns = [self.drive_rates(q, column) for column in zip(*matrix, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def at_joints(self, forces: Vector) -> list[Scalar]:
        """Forces of the drives along w; those of mimic joints act on their leaders."""
        remaining = iter(forces)
        return self.tree.gather(
            {
                link.name: [next(remaining) if _has_drive(link.joint) else 0.0 for _ in link.partials]
                for link in self.tree.links
            }
        )

    def drives_on_bodies(self, q: Vector, forces: Vector) -> list[Scalar]:
        """Forces of the drives along w."""
        return self.at_joints(forces)

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        """Forces of tau along w minus those of the drives."""
        pairs = zip(self.on_bodies(q, tau), self.at_joints(passive), strict=True)
        return [x - y for x, y in pairs]


@final
class ClosedFormActuation:
    """Driven joints of a mechanism, whose positions are functions of its coordinates; one drive per actuator.

    `explicit` provides a formula for the Jacobian of the actuators (`formulate.spherical`).
    """

    def __init__(self, pose_functions: PoseFunctions, explicit: Any = None):
        self.mechanism, self.pose_functions, self.explicit = pose_functions.mechanism, pose_functions, explicit
        driven = enumerate(self.mechanism.driven, start=1)
        self.drives = tuple(Drive(joint.name, str(k), joint.actuator) for k, joint in driven)

    def positions(self, q: Vector) -> list[Scalar]:
        return self.pose_functions.drives.value(q)

    def positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        rows = zip(self.positions(q), theta, self.mechanism.actuator_units, strict=True)
        return [
            x + FULL_TURN_RAD * nearest((near - x) / FULL_TURN_RAD) if unit == "rad" else x for x, near, unit in rows
        ]

    def jacobian(self, q: Vector) -> Matrix:
        return self.explicit.actuator_jacobian(q) if self.explicit else self.pose_functions.drives.partials(q)

    def transmission(self, q: Vector, velocity_map: Map) -> Transmission:
        return Transmission(self.jacobian(q), self.mechanism.condition_limit, self.mechanism.owner)

    def on_bodies(self, q: Vector, tau: Vector) -> list[Scalar]:
        columns = zip(*self.jacobian(q), strict=True)
        return [dot(column, tau) for column in columns]

    def drive_positions(self, q: Vector) -> list[Scalar]:
        return self.positions(q)

    def drive_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        return self.pose_functions.drives.rate(q, w)

    def drive_accelerations(self, q: Vector, w: Vector, w_dot: Vector) -> list[Scalar]:
        return self.pose_functions.drives.second_rate(q, w, w_dot)

    def drive_jacobian(self, q: Vector, velocity_map: Map) -> Matrix:
        return self.jacobian(q)

    def drive_drift(self, q: Vector, v: Vector, velocity_map: Map) -> Matrix:
        return self.pose_functions.drives.partial_rates(q, v)

    def at_joints(self, forces: Vector) -> list[Scalar]:
        return list(forces)

    def drives_on_bodies(self, q: Vector, forces: Vector) -> list[Scalar]:
        return self.on_bodies(q, forces)

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        return self.on_bodies(q, [x - y for x, y in zip(tau, passive, strict=True)])


def _has_drive(joint: Joint) -> bool:
    """Whether a joint has drives: all joints of one axis, and others whose actuator is not ideal."""
    return joint.motion.nv == 1 or joint.actuator != IDEAL


def _drives(robot: Robot, joint: Joint) -> list[Drive]:
    """One drive per component of a joint's velocity, labelled with its number in v or the name of a mimic joint."""
    start = robot.span(joint)[1].start + 1
    labels = [f"_{joint.name}"] if joint.mimic else [str(start + k) for k in range(joint.motion.nv)]
    return [Drive(joint.name, label, joint.actuator) for label in labels] if _has_drive(joint) else []
