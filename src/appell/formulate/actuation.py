"""Actuators and drives: their forces on the bodies, and their motion.

A drive is a joint with its rotor, friction, offset and spring; an actuator is a joint at which tau acts. Every joint of
a tree has a drive; if some joints have no motor, or follow another joint, there are more drives than actuators. An
elastic joint has two: its motor, whose position is a coordinate after those of the bodies, and the spring between the
motor and the joint, whose position is the deflection. Drives and actuators are expressed in the velocities w of the
bodies (`model.system.Map`) and of these motors. With the Jacobian J of the actuators, θ̇ = J v:

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
from appell.formulate.tree import Tree, TreeLink
from appell.model.actuator import IDEAL, Actuator, Elasticity
from appell.model.mechanism import Mechanism
from appell.model.robot import Joint, Robot
from appell.model.system import Map

CONDITION_LIMIT = 1e10  # condition number of a constrained robot's actuator Jacobian above which torques are NaN
FULL_TURN_RAD = 2.0 * math.pi
ELASTIC_HINT = "Use feedforward(q, v, a, jerk, snap) for the torques of motors that move joints through springs."
FLEXIBLE_HINT = "Use joint_inversion(q, v, a_joints), ap.quasi_static(dyn, q) or generalized_forces(q, v, a)."


@dataclass(frozen=True)
class Drive:
    """A drive at a joint; `label` is the suffix of the names of its parameters.

    `motor` marks the motor of an elastic joint, `elasticity` its spring, which has an ideal actuator.
    """

    name: str
    label: str
    actuator: Actuator
    motor: bool = False
    elasticity: Elasticity | None = None

    def rotor(self, enabled: bool) -> float:
        """Inertia of the rotor on the joint side; that of the motor of an elastic joint always counts."""
        return self.actuator.reflected_inertia if enabled or self.motor else 0.0

    @property
    def has_spring(self) -> bool:
        return bool(self.actuator.stiffness or self.elasticity)

    def deflection(self, position: Scalar) -> Scalar:
        """Deflection of the spring; 0 without a spring."""
        if self.elasticity:
            return position
        return position - self.actuator.rest if self.actuator.stiffness else 0.0

    def spring_force(self, deflection: Scalar, rate: Scalar) -> Scalar:
        """Force of the spring, with its damping."""
        return self.elasticity.force(deflection, rate) if self.elasticity else self.actuator.stiffness * deflection

    def spring_energy(self, deflection: Scalar) -> Scalar:
        """Potential energy of the spring."""
        if self.elasticity:
            return self.elasticity.energy(deflection)
        return 0.5 * (deflection * (self.actuator.stiffness * deflection))

    def friction_force(self, deflection: Scalar, rate: Scalar, enabled: bool) -> Scalar:
        """Force of friction, if enabled, or of the damping of an elastic joint's spring."""
        if self.elasticity:
            return self.elasticity.damping * self.elasticity.columns(deflection, rate).get("damping", 0.0)
        return self.actuator.friction.force(rate) if enabled else 0.0

    def regressor_factors(
        self, deflection: Scalar, rate: Scalar, acceleration: Scalar, *, rotors: bool, friction: bool
    ) -> dict[str, Scalar]:
        """Factors of the parameters in the force of the drive, by kind."""
        if self.elasticity:
            return self.elasticity.columns(deflection, rate)
        rotor = {"motor": acceleration} if self.motor else {"rotor": acceleration} if rotors else {}
        levels = {**self.actuator.friction.columns(rate), "offset": 1.0} if friction else {}
        return rotor | levels | ({"stiffness": deflection} if self.actuator.stiffness else {})

    @property
    def parameter_values(self) -> dict[str, float]:
        """Values of the parameters, by kind."""
        if self.elasticity:
            return vars(self.elasticity)
        inertia = self.actuator.reflected_inertia
        return {**vars(self.actuator), **vars(self.actuator.friction), "rotor": inertia, "motor": inertia}


@dataclass(frozen=True)
class Transmission:
    """Jacobian of the actuators at one configuration; `weights` are the diagonal of W in (2), 1 if empty.

    `hint` states how to obtain the forces of an underactuated system.
    """

    J: Matrix
    limit: float
    owner: str
    weights: Sequence[float] = ()
    hint: str = "Use generalized_forces(q, v, a) for the forces along the velocities."

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
                hint=self.hint,
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
        names = self.robot.actuator_names
        self.actuated = tuple(
            self.robot.actuated[names.index(name)] for name in (names if weights is None else weights)
        )
        self.drives = tuple(drive for link in tree.links for drive in _drives(self.robot, link.joint))
        self.motors = {name: self.robot.link_nv + k for k, name in enumerate(self.robot.elastic_joints)}
        self.elastic = bool(self.motors)

    # ---- actuators

    def positions(self, q: Vector) -> list[Scalar]:
        """θ(q) of the actuators."""
        if self.weights is None:
            self._check_axes()
        if self.weights is None and not self.elastic:
            return list(q)
        positions = []
        for name, k in zip(self.weights or self.robot.actuator_names, self.actuated, strict=True):
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
        if velocity_map.is_identity and len(self.actuated) == self.robot.nv and not self.elastic:
            return None
        N = velocity_map.basis(q)
        weights = () if self.weights is None else tuple(self.weights.values())
        rows = [N[k] for k in self.actuated]
        hint = ELASTIC_HINT if self.elastic else FLEXIBLE_HINT if self.robot.flexible else Transmission.hint
        return Transmission(rows, CONDITION_LIMIT, self.owner, weights, hint)

    def on_bodies(self, q: Vector, tau: Vector) -> list[Scalar]:
        """Forces of tau along w."""
        if self.weights is None and not self.elastic:
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
        shift = len(q) - self.robot.nv  # of a motor's coordinate from its velocity
        positions = (one_axis.get(link.name, [0.0] * link.joint.motion.nv) for link in driven)
        return [
            x for link, joint in zip(driven, positions, strict=True) for x in self._drive_values(link, joint, q, shift)
        ]

    def drive_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        """θ̇ of every drive."""
        driven = (link for link in self.tree.links if _has_drive(link.joint))
        return [x for link in driven for x in self._drive_values(link, self.tree.velocity(link, w), w)]

    def _drive_values(self, link: TreeLink, joint: Vector, values: Vector, shift: int = 0) -> list[Scalar]:
        """Values at the drives of a joint: those of the joint, or of the motor and the spring of an elastic joint."""
        if link.joint.name not in self.motors:
            return list(joint)
        motor = values[self.motors[link.joint.name] + shift]
        return [motor, motor - joint[0]]

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
        at_links: dict[str, list[Scalar]] = {}
        at_motors: dict[int, Scalar] = {}
        for link in self.tree.links:
            if link.joint.name in self.motors:
                motor, spring = next(remaining), next(remaining)
                at_links[link.name], at_motors[self.motors[link.joint.name]] = [-spring], motor + spring
            else:
                at_links[link.name] = [next(remaining) if _has_drive(link.joint) else 0.0 for _ in link.partials]
        gathered = self.tree.gather(at_links)
        return [at_motors.get(k, force) for k, force in enumerate(gathered)]

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

    def __init__(self, mechanism: Mechanism, pose_functions: PoseFunctions, explicit: Any = None):
        self.mechanism, self.pose_functions, self.explicit = mechanism, pose_functions, explicit
        driven = enumerate(self.mechanism.driven, start=1)
        self.drives = tuple(drive for k, joint in driven for drive in _with_spring(joint.name, str(k), joint.actuator))
        self.n = len(self.mechanism.coordinates)
        elastic = [k for k, joint in enumerate(self.mechanism.driven) if joint.actuator.elasticity]
        self.motors = {k: self.n + i for i, k in enumerate(elastic)}  # driven joint -> index of its motor in q and v

    def _at_actuators(self, joints: Vector, values: Vector) -> list[Scalar]:
        """Values at the actuators: those of the driven joints, or of the motors of elastic joints."""
        return [values[self.motors[k]] if k in self.motors else x for k, x in enumerate(joints)]

    def _at_drives(self, joints: Vector, values: Vector) -> list[Scalar]:
        """Values at the drives: those of the driven joints, or of the motors and springs of elastic joints."""
        at_drives: list[Scalar] = []
        for k, (x, motor) in enumerate(zip(joints, self._at_actuators(joints, values), strict=True)):
            at_drives += [motor, motor - x] if k in self.motors else [x]
        return at_drives

    def _drive_rows(self, rows: Matrix, motor: float = 1.0) -> Matrix:
        """Rows of the drives over all velocities, from those of the driven joints over the velocities of the bodies.

        `motor` is the entry of a motor along its own velocity.
        """
        if not self.motors:
            return rows
        size = self.n + len(self.motors)
        padded = [[*row, *[0.0] * len(self.motors)] for row in rows]
        columns = [
            self._at_drives([row[i] for row in padded], [motor * (i == k) for k in range(size)]) for i in range(size)
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def positions(self, q: Vector) -> list[Scalar]:
        return self._at_actuators(self.pose_functions.drives.value(q[: self.n]), q)

    def positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        rows = zip(self.positions(q), theta, self.mechanism.actuator_units, strict=True)
        return [
            x + FULL_TURN_RAD * nearest((near - x) / FULL_TURN_RAD) if unit == "rad" else x for x, near, unit in rows
        ]

    def joint_jacobian(self, q: Vector) -> Matrix:
        """Rates of the driven joints per velocity of the bodies."""
        q = q[: self.n]
        return self.explicit.actuator_jacobian(q) if self.explicit else self.pose_functions.drives.partials(q)

    def jacobian(self, q: Vector) -> Matrix:
        rows = self._drive_rows(self.joint_jacobian(q))
        return [row for drive, row in zip(self.drives, rows, strict=True) if drive.elasticity is None]

    def transmission(self, q: Vector, velocity_map: Map) -> Transmission:
        owner, limit = self.mechanism.owner, self.mechanism.condition_limit
        hint = ELASTIC_HINT if self.motors else Transmission.hint
        return Transmission(self.jacobian(q), limit, owner, hint=hint)

    def on_bodies(self, q: Vector, tau: Vector) -> list[Scalar]:
        columns = zip(*self.jacobian(q), strict=True)
        return [dot(column, tau) for column in columns]

    def drive_positions(self, q: Vector) -> list[Scalar]:
        return self._at_drives(self.pose_functions.drives.value(q[: self.n]), q)

    def drive_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        return self._at_drives(self.pose_functions.drives.rate(q[: self.n], w[: self.n]), w)

    def drive_accelerations(self, q: Vector, w: Vector, w_dot: Vector) -> list[Scalar]:
        n = self.n
        return self._at_drives(self.pose_functions.drives.second_rate(q[:n], w[:n], w_dot[:n]), w_dot)

    def drive_jacobian(self, q: Vector, velocity_map: Map) -> Matrix:
        return self._drive_rows(self.joint_jacobian(q))

    def drive_drift(self, q: Vector, v: Vector, velocity_map: Map) -> Matrix:
        return self._drive_rows(self.pose_functions.drives.partial_rates(q[: self.n], v[: self.n]), motor=0.0)

    def at_joints(self, forces: Vector) -> list[Scalar]:
        return list(forces)

    def drives_on_bodies(self, q: Vector, forces: Vector) -> list[Scalar]:
        columns = zip(*self.drive_jacobian(q, self.mechanism.map), strict=True)
        return [dot(column, forces) for column in columns]

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        at_drives, remaining = [], iter(tau)
        for drive, force in zip(self.drives, passive, strict=True):
            at_drives.append(-force if drive.elasticity else next(remaining) - force)
        return self.drives_on_bodies(q, at_drives)


def _has_drive(joint: Joint) -> bool:
    """Whether a joint has drives: all joints of one axis, and others whose actuator is not ideal."""
    return joint.motion.nv == 1 or joint.actuator != IDEAL


def _drives(robot: Robot, joint: Joint) -> list[Drive]:
    """One drive per component of a joint's velocity, labelled with its number in v or the name of a mimic joint."""
    start = robot.span(joint)[1].start + 1
    labels = [f"_{joint.name}"] if joint.mimic else [str(start + k) for k in range(joint.motion.nv)]
    if not _has_drive(joint):
        return []
    return [drive for label in labels for drive in _with_spring(joint.name, label, joint.actuator)]


def _with_spring(name: str, label: str, actuator: Actuator) -> list[Drive]:
    """The drive of a joint; the motor and the spring of an elastic joint."""
    if actuator.elasticity is None:
        return [Drive(name, label, actuator)]
    return [Drive(name, label, actuator, motor=True), Drive(name, label, IDEAL, elasticity=actuator.elasticity)]
