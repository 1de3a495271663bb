"""Actuators and drives: how forces at the joints act on the bodies, and how the joints see their motion.

A drive is a joint with its rotor, friction, offset and spring; an actuator is a place where tau acts. Every joint of a
tree has a drive; where some joints carry no motor, or follow another, there are more drives than actuators. Both see
the velocities w of the bodies (`model.map`). With the actuators' Jacobian J, θ̇ = J v:

    Q = Jᵀτ                τ = J⁻ᵀQ                              as many actuators as coordinates              (1)
                           τ = W⁻¹ J (Jᵀ W⁻¹ J)⁻¹ Q              more of them: the smallest τᵀWτ that does     (2)

and the other way v = J⁻¹θ̇, or the v that comes nearest to rates that do not fit together. Beyond the limit of J's
condition number everything is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from appell.algebra.scalar import Matrix, Scalar, Vector, dot, nearest
from appell.algebra.solve import LDL, solve
from appell.errors import ModelError
from appell.formulate.closed_form import Curves
from appell.formulate.tree import Tree
from appell.model.actuator import IDEAL, Actuator
from appell.model.robot import Joint, Robot
from appell.model.system import Map

CONDITION_LIMIT = 1e10  # of the actuators' Jacobian of a constrained robot; beyond it, torques are NaN
FULL_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class Driven:
    """An actuator at its joint; `label` is what its parameters are numbered by."""

    name: str
    label: str
    actuator: Actuator


@dataclass(frozen=True)
class Transmission:
    """The actuators' Jacobian at one configuration; `weights` are W of (2), 1 if none are given."""

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
        """v."""
        if len(self.J) == len(self._columns):
            return [row[0] for row in solve(self.J, [[x] for x in rates], self.limit)]
        return self._gram([1.0] * len(self.J)).solve(self.forces(rates))

    def torques(self, forces: Matrix) -> Matrix:
        """The columns of τ for columns of Q, by (1) or (2)."""
        columns = self._columns
        if len(self.J) == len(columns):
            return solve(columns, forces, self.limit)
        if len(self.J) < len(columns):
            raise ModelError(
                f"{self.owner} has {len(self.J)} actuators for {len(columns)} freedoms, too few to drive them.",
                expected="at least as many actuators as freedoms",
                hint="generalized_forces(q, v, a) for the forces along the velocities",
            )
        easy = [1.0 / weight for weight in self.weights] or [1.0] * len(self.J)
        gram = self._gram(easy)
        inner = [gram.solve(column) for column in zip(*forces, strict=True)]
        return [[easy[k] * dot(row, column) for column in inner] for k, row in enumerate(self.J)]

    def _gram(self, easy: Sequence[float]) -> LDL:
        """Jᵀ W⁻¹ J, factorised."""
        columns = self._columns
        weighted = [[w * x for w, x in zip(easy, column, strict=True)] for column in columns]
        return LDL.of([[dot(x, y) for y in columns] for x in weighted], self.limit * self.limit)


@final
class TreeActuation:
    """The joints of a tree: a force acts along every velocity w, or along those that `weights` name."""

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
        found = []
        for name, k in zip(self.weights, self.actuated, strict=True):
            coordinate = self.robot.coordinate_of(k)
            if coordinate is None:
                raise ModelError(
                    f"actuator '{name}' of {self.owner} moves a joint of several axes: "
                    "no number measures its position.",
                    expected="actuated joints of one axis",
                    hint="with_loops(..., actuated=[names of joints])",
                )
            found.append(q[coordinate])
        return found

    def _check_axes(self) -> None:
        for link in self.robot.moving:
            if link.joint.motion.nv != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of {self.owner} is {link.joint.motion.name}: "
                    "no numbers measure its position one by one.",
                    expected="joints of one axis",
                )

    def positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        return self.positions(q)

    def transmission(self, q: Vector, motions: Map) -> Transmission | None:
        """None if a force acts along every independent velocity: J = 1."""
        if motions.is_identity:
            return None
        N = motions.basis(q)
        weights = () if self.weights is None else tuple(self.weights.values())
        return Transmission([N[k] for k in self.actuated], CONDITION_LIMIT, self.owner, weights)

    def on_bodies(self, q: Vector, tau: Vector) -> list[Scalar]:
        """Forces along w of tau."""
        if self.weights is None:
            return list(tau)
        forces: list[Scalar] = [0.0] * self.robot.nv
        for k, force in zip(self.actuated, tau, strict=True):
            forces[k] = force
        return forces

    # ---- drives

    def drive_positions(self, q: Vector) -> list[Scalar]:
        """θ of every drive; 0 for one of several axes, which has no spring."""
        driven = [link for link in self.tree.links if _is_driven(link.joint)]
        flat = {link.name: self.tree.position(link, q) for link in driven if link.joint.motion.nv == 1}
        return [x for link in driven for x in flat.get(link.name, [0.0] * link.joint.motion.nv)]

    def drive_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        """θ̇ of every drive."""
        driven = (link for link in self.tree.links if _is_driven(link.joint))
        return [rate for link in driven for rate in self.tree.velocity(link, w)]

    def drive_accelerations(self, q: Vector, w: Vector, w_dot: Vector) -> list[Scalar]:
        """θ̈ of every drive."""
        return self.drive_rates(q, w_dot)

    def drive_jacobian(self, q: Vector, motions: Map) -> Matrix:
        """D, with θ̇ = D v + const of every drive."""
        return self._of_columns(q, motions.basis(q))

    def drive_drift(self, q: Vector, v: Vector, motions: Map) -> Matrix:
        """dD/dt."""
        if motions.is_identity:
            return [[0.0] * self.robot.nv for _ in self.drives]
        return self._of_columns(q, motions.basis_rate(q, v))

    def _of_columns(self, q: Vector, matrix: Matrix) -> Matrix:
        columns = [self.drive_rates(q, column) for column in zip(*matrix, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def at_joints(self, forces: Vector) -> list[Scalar]:
        """Forces of every drive along w; those of mimic joints act on their leaders."""
        given = iter(forces)
        return self.tree.gather(
            {
                link.name: [next(given) if _is_driven(link.joint) else 0.0 for _ in link.partials]
                for link in self.tree.links
            }
        )

    def drives_on_bodies(self, q: Vector, forces: Vector) -> list[Scalar]:
        """Forces of every drive along w."""
        return self.at_joints(forces)

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        """Forces along w of tau, less those of every drive."""
        taken = zip(self.on_bodies(q, tau), self.at_joints(passive), strict=True)
        return [x - y for x, y in taken]


@final
class ClosedFormActuation:
    """The driven joints of a mechanism, whose positions are functions of its coordinates; one drive per actuator.

    `explicit` has the actuators' Jacobian written out (`formulate.spherical`).
    """

    def __init__(self, curves: Curves, explicit: Any = None):
        self.mechanism, self.curves, self.explicit = curves.mechanism, curves, explicit
        driven = enumerate(self.mechanism.driven, start=1)
        self.drives = tuple(Driven(joint.name, str(k), joint.actuator) for k, joint in driven)

    def positions(self, q: Vector) -> list[Scalar]:
        return self.curves.drives.value(q)

    def positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        rows = zip(self.positions(q), theta, self.mechanism.actuator_units, strict=True)
        return [x + FULL_TURN * nearest((near - x) / FULL_TURN) if unit == "rad" else x for x, near, unit in rows]

    def jacobian(self, q: Vector) -> Matrix:
        return self.explicit.actuator_jacobian(q) if self.explicit else self.curves.drives.partials(q)

    def transmission(self, q: Vector, motions: Map) -> Transmission:
        return Transmission(self.jacobian(q), self.mechanism.condition_limit, self.mechanism.owner)

    def on_bodies(self, q: Vector, tau: Vector) -> list[Scalar]:
        columns = zip(*self.jacobian(q), strict=True)
        return [dot(column, tau) for column in columns]

    def drive_positions(self, q: Vector) -> list[Scalar]:
        return self.positions(q)

    def drive_rates(self, q: Vector, w: Vector) -> list[Scalar]:
        return self.curves.drives.rate(q, w)

    def drive_accelerations(self, q: Vector, w: Vector, w_dot: Vector) -> list[Scalar]:
        return self.curves.drives.second_rate(q, w, w_dot)

    def drive_jacobian(self, q: Vector, motions: Map) -> Matrix:
        return self.jacobian(q)

    def drive_drift(self, q: Vector, v: Vector, motions: Map) -> Matrix:
        return self.curves.drives.partial_rates(q, v)

    def at_joints(self, forces: Vector) -> list[Scalar]:
        return list(forces)

    def drives_on_bodies(self, q: Vector, forces: Vector) -> list[Scalar]:
        return self.on_bodies(q, forces)

    def net(self, q: Vector, tau: Vector, passive: Vector) -> list[Scalar]:
        return self.on_bodies(q, [x - y for x, y in zip(tau, passive, strict=True)])


def _is_driven(joint: Joint) -> bool:
    """Joints of one axis, and whatever else has friction."""
    return joint.motion.nv == 1 or joint.actuator != IDEAL


def _drives(robot: Robot, joint: Joint) -> list[Driven]:
    """A drive for each component of a joint's velocity, numbered like v; a mimic's bears its own name."""
    start = robot.span(joint)[1].start + 1
    labels = [f"_{joint.name}"] if joint.mimic else [str(start + k) for k in range(joint.motion.nv)]
    return [Driven(joint.name, label, joint.actuator) for label in labels] if _is_driven(joint) else []
