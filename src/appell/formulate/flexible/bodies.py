"""Dynamics and kinematics of the bodies of a tree with flexible links: the interface of `TreeBodies`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, final

from appell.algebra.derivative import value_and_rate
from appell.algebra.loops import Loops
from appell.algebra.rotation import Pose, Twist
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO, Vec3
from appell.errors import ModelError
from appell.formulate.flexible import dynamics
from appell.formulate.flexible.articulated import forward_dynamics
from appell.formulate.flexible.kinematics import Configuration
from appell.formulate.flexible.regressor import Terms, regressor, terms_of_links
from appell.formulate.kinematics import REFERENCES, FrameKinematics, PointMotion, Wrenches
from appell.formulate.recursion import Wrench
from appell.formulate.regular import idle_joints
from appell.formulate.tree import Tree
from appell.model.frame import Frame

FORWARD = ("ldl", "articulated-body")


@final
class FlexibleBodies:
    """The links of a tree, some of them flexible; `differentiated` computes forces as the gradient of S."""

    def __init__(
        self, tree: Tree, reference: str = "LOCAL", forward: str | None = None, *, differentiated: bool = False
    ):
        self.tree, self.robot, self.reference, self.differentiated = tree, tree.robot, reference, differentiated
        mimics = any(link.joint.mimic for link in tree.links)  # articulated bodies require independent joints
        self.by_matrix = forward == "ldl" or mimics or (forward is None and len(tree.links) == 1)

    def run_by(self, loops: Loops) -> FlexibleBodies:
        return self

    def weighed(self, factor: Scalar) -> FlexibleBodies:
        """Copy with gravity times a factor."""
        other = copy(self)
        other.tree = self.tree.with_gravity(factor * self.tree.gravity)
        return other

    # ---- forces and inertia

    def gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        return dynamics.gibbs_function(self.tree, q, v, a)

    def forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        if not self.differentiated:
            return self._plus_frames(dynamics.forces(self.tree, q, v, a), q, wrenches)
        return self._plus_frames(dynamics.gibbs_gradient(self.tree, q, v, a), q, wrenches)

    def _plus_frames(self, forces: Vector, q: Vector, wrenches: Wrenches) -> list[Scalar]:
        """Forces minus those of wrenches on frames, Jᵀ wrench."""
        total = list(forces)
        for frame, wrench in wrenches.items():
            J = self.jacobian(frame, self.reference, q)
            total = [
                x - sum((row[k] * w for row, w in zip(J, wrench, strict=True)), start=0.0) for k, x in enumerate(total)
            ]
        return total

    def damping_forces(self, q: Vector, v: Vector) -> list[Scalar]:
        """D δ̇ along all velocities."""
        return self._along_modes(q, v, lambda body, rates: body.damping_forces(rates))

    def _along_modes(self, q: Vector, v: Vector, force: Any) -> list[Scalar]:
        configuration = Configuration(self.tree, q)
        forces: dict[str, list[Scalar]] = {link.name: [0.0] * len(link.partials) for link in self.tree.links}
        for name, body in configuration.deformation.items():
            forces[name] += force(body, configuration.modal(name, v))
        return self.tree.gather(forces)

    def mass_matrix(self, q: Vector) -> Matrix:
        return dynamics.mass_matrix(self.tree, q)

    def coriolis(self, q: Vector, v: Vector) -> Matrix:
        """C = ½ ∂(h - D δ̇)/∂v + ½ M [v, ·].

        The velocity terms of h are quadratic in v. Half their derivative is C where dq/dt = v; the Lie bracket of the
        velocities of joints with several axes adds the rest, so that dM/dt - 2C is skew.
        """
        n, weightless = len(v), self.tree.with_gravity(ZERO)
        rest = [0.0] * n
        M = self.mass_matrix(q) if any(len(link.partials) > 1 for link in self.tree.links) else None
        columns = []
        for k in range(n):
            unit = [float(i == k) for i in range(n)]
            rate = value_and_rate(lambda w: dynamics.forces(weightless, q, w, rest), v, unit)[1]
            column = [0.5 * (x - d) for x, d in zip(rate, self.damping_forces(q, unit), strict=True)]
            if M is not None:
                bracket = self._bracket(v, unit)
                column = [
                    x + 0.5 * sum((m * b for m, b in zip(row, bracket, strict=True)), start=0.0)
                    for x, row in zip(column, M, strict=True)
                ]
            columns.append(column)
        return [[column[i] for column in columns] for i in range(n)]

    def _bracket(self, v: Vector, w: Vector) -> list[Scalar]:
        """Lie bracket [v, w] of velocities of joints with several axes; 0 for others."""
        entries = {}
        for link in self.tree.links:
            S = link.partials
            one, other = (
                sum((x * p for x, p in zip(self.tree.velocity(link, u), S, strict=True)), start=Twist()) for u in (v, w)
            )
            crossed = one.cross(other)
            along = (
                [p.angular.dot(crossed.angular) + p.linear.dot(crossed.linear) for p in S]
                if len(S) > 1
                else [0.0] * len(S)
            )
            entries[link.name] = [*along, *(0.0 for _ in self.robot.link(link.name).modes)]
        return self.tree.gather(entries)

    def regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        return regressor(self.tree, self._terms, q, v, a, columns)

    @cached_property
    def _terms(self) -> Terms:
        return terms_of_links(self.tree)

    def force_derivatives(self, *arguments: Any, apart: bool) -> Any:
        raise ModelError(f"{self.robot.owner} has flexible links: derivatives of its forces are those of the tape.")

    # ---- energy and momentum

    def _momenta(self, q: Vector, v: Vector) -> tuple[Configuration, list[tuple[str, Wrench, Scalar]]]:
        """For every body: its name, momentum and angular momentum about the link's origin, and twice its energy."""
        configuration = Configuration(self.tree, q)
        velocity, momenta = configuration.velocities(v), []
        for link in self.tree.links:
            body = dynamics.FlexibleComposite.of(link, configuration.deformation.get(link.name))
            rates, twist = configuration.modal(link.name, v), velocity[link.name]
            (p, L), modal = body.impulse(twist, rates)
            energy = twist.linear.dot(p) + twist.angular.dot(L)
            energy = sum((x * y for x, y in zip(modal, rates, strict=True)), start=energy)
            momenta.append((link.name, (p, L), energy))
        return configuration, momenta

    def kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        return 0.5 * sum((energy for _, _, energy in self._momenta(q, v)[1]), start=0.0)

    def potential_energy(self, q: Vector) -> Scalar:
        configuration = Configuration(self.tree, q)
        U = -self.tree.gravity.dot(self._first_moment(configuration))
        for body in configuration.deformation.values():
            U = sum((0.5 * (x * f) for x, f in zip(body.modal, body.elastic_forces(), strict=True)), start=U)
        return U

    def _first_moment(self, configuration: Configuration) -> Vec3:
        first = ZERO
        for link in self.tree.links:
            body, pose = configuration.deformation.get(link.name), configuration.poses[link.name]
            inertia = link.inertia if body is None else body.inertia
            first = first + inertia.mass * pose.translation + pose.rotation @ inertia.first
        return first

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        configuration, momenta = self._momenta(q, v)
        linear, angular = ZERO, ZERO
        for name, (p, L), _ in momenta:
            pose = configuration.poses[name]
            in_world = pose.rotation @ p
            linear, angular = linear + in_world, angular + pose.rotation @ L + pose.translation.cross(in_world)
        return linear, angular - ((1.0 / self.robot.mass) * self._first_moment(configuration)).cross(linear)

    def centroidal_matrix(self, q: Vector) -> Matrix:
        units = [[float(i == k) for i in range(self.robot.nv)] for k in range(self.robot.nv)]
        columns = [[x for vector in self.momentum(q, unit) for x in vector] for unit in units]
        return [[column[i] for column in columns] for i in range(6)]

    def center_of_mass(self, q: Vector) -> Vec3:
        return (1.0 / self.robot.mass) * self._first_moment(Configuration(self.tree, q))

    # ---- frames

    def pose(self, frame: Frame, q: Vector) -> Pose:
        return Configuration(self.tree, q).frame_pose(frame)

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        configuration = Configuration(self.tree, q)
        pose, change = configuration.frame_pose(frame), REFERENCES[reference]
        columns = {
            name: [[*(changed := change(pose, p)).linear, *changed.angular] for p in partials]
            for name, partials in configuration.frame_partials(frame).items()
        }
        return self.tree.gather_columns(columns, rows=6)

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        configuration = Configuration(self.tree, q)
        twist = REFERENCES[reference](configuration.frame_pose(frame), configuration.frame_velocity(frame, v))
        return [*twist.linear, *twist.angular]

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        configuration = Configuration(self.tree, q)
        return [configuration.frame_pose(frame).translation for frame in frames]

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
        motions = self.frame_motions(frames, q, v)
        return [PointMotion(m.pose.translation, m.velocity, m.drift, m.J[:3]) for m in motions]

    def frame_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[FrameKinematics]:
        configuration = Configuration(self.tree, q)
        motion = configuration.accelerations(v, configuration.zero, ZERO)
        motions = []
        for frame in frames:
            pose, axes = configuration.frame_pose(frame), configuration.poses[frame.body].rotation
            columns = {
                name: [[*(pose.rotation @ p.linear), *(pose.rotation @ p.angular)] for p in partials]
                for name, partials in configuration.frame_partials(frame).items()
            }
            velocity = configuration.frame_velocity(frame, v)
            drift, alpha = configuration.frame_acceleration(frame, motion, v)
            motions.append(
                FrameKinematics(
                    pose=pose,
                    velocity=pose.rotation @ velocity.linear,
                    omega=pose.rotation @ velocity.angular,
                    drift=axes @ drift,
                    alpha=axes @ alpha,
                    J=self.tree.gather_columns(columns, rows=6),
                )
            )
        return motions

    # ---- forward dynamics

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        if not self.by_matrix:
            zero = [0.0] * len(forces)
            return forward_dynamics(
                self.tree, q, v, [x - y for x, y in zip(forces, self._plus_frames(zero, q, wrenches), strict=True)]
            )
        bias = self.forces(q, v, [0.0] * len(v), wrenches)
        matrix = self.tree.plus_rotors(self.mass_matrix(q))
        return LDL.of(matrix).solve([x - y for x, y in zip(forces, bias, strict=True)])

    def inverse(self, mass_matrix: Matrix, q: Vector) -> Matrix:
        return LDL.of(mass_matrix).inverse()

    @property
    def coupled(self) -> int:
        return self.robot.nv * (self.robot.nv + 1) // 2

    @property
    def idle_joints(self) -> tuple[str, ...]:
        """Joints that can move without moving any inertia."""
        return idle_joints(Tree.of(self.robot.rigid))

    @property
    def is_regular(self) -> bool:
        """Whether forces determine the accelerations: the integrals of a flexible body are positive definite."""
        return not self.idle_joints
