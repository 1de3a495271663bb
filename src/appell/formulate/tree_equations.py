"""The equations of motion of a tree, by the methods of a formulation.

A method that never asks for a centre of mass is given base parameters instead of the bodies (see `regroup`): the same
forces for less work. Every joint has a drive, a mimic joint too: it acts on its leader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self

from appell.algebra.loops import Loops
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.formulate import energy, kinematics, points
from appell.formulate.derivatives.inverse import Derivatives, inverse_dynamics_derivatives
from appell.formulate.drive_equations import DrivesAtActuators
from appell.formulate.equations import Driven, Equations, Matrix, Vector, Wrenches
from appell.formulate.formulations import Formulation
from appell.formulate.gibbs import gibbs_function
from appell.formulate.gibbs_appell.coriolis import coriolis
from appell.formulate.inward import Wrench
from appell.formulate.looped import energy as looped_energy
from appell.formulate.looped.aligned import Aligned, aligned
from appell.formulate.looped.arranged import Arranged
from appell.formulate.looped.choice import NO_LOOPS, Looping
from appell.formulate.looped.forward import forward_dynamics
from appell.formulate.looped.inverse import inverse_dynamics
from appell.formulate.methods import Method
from appell.formulate.regressor import regressor
from appell.formulate.regroup import regroup
from appell.formulate.regular import check_regular, idle_joints, undetermined
from appell.formulate.tree import Tree
from appell.model.actuator import IDEAL
from appell.model.body import Inertia
from appell.model.frame import Frame
from appell.model.robot import Joint, Robot


class TreeEquations(DrivesAtActuators, Equations):
    """`inertias` replace those of some links, as scalars; `looping` says what is written as loops over links."""

    def __init__(
        self,
        robot: Robot,
        formulation: Formulation,
        inertias: Mapping[str, Inertia],
        *,
        friction: bool = False,
        rotors: bool = False,
        reference: str = "LOCAL",
        looping: Looping = NO_LOOPS,
    ):
        self.system, self.robot, self.formulation = robot, robot, formulation
        self.looping = looping
        self.friction, self.rotors, self.reference = friction, rotors, reference
        tree = Tree.of(robot).with_inertias(inertias)
        self.tree = tree.with_rotors() if rotors else tree
        self.drives = tuple(drive for link in self.tree.links for drive in _drives(robot, link.joint))

    @cached_property
    def regrouped(self) -> Tree:
        return regroup(self.tree)

    @cached_property
    def aligned(self) -> Aligned:
        return aligned(self.tree)

    @cached_property
    def arranged(self) -> Arranged:
        """The tree as loops go over it."""
        return Arranged.of(regroup(self.aligned.tree))

    @cached_property
    def whole(self) -> Arranged:
        """The same with the bodies as they are."""
        return Arranged.of(self.aligned.tree)

    def run_by(self, loops: Loops) -> Self:
        if self.looping.functions:
            _ = self.arranged  # made once for all ways
        return super().run_by(loops)

    def _tree(self, method: Method) -> Tree:
        return self.regrouped if method.regroup else self.tree

    # ---- bodies

    def body_gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        return gibbs_function(self.tree, q, v, a)

    def body_forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        if self.looping.inverse:
            return inverse_dynamics(self.arranged, self.loops, q, v, a, self._on_aligned(q, wrenches))
        method = self.formulation.inverse_dynamics
        tree = self._tree(method)
        return method(tree, q, v, a, self._on_links(tree, q, wrenches))

    def body_force_derivatives(
        self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches, *, apart: bool = False
    ) -> Derivatives:
        """The derivatives of `body_forces` by q, v and a, along the tree."""
        on_links = self._on_links(self.regrouped, q, wrenches)
        return inverse_dynamics_derivatives(self.regrouped, q, v, a, on_links, apart=apart)

    def body_mass_matrix(self, q: Vector) -> Matrix:
        method = self.formulation.mass_matrix
        return method(self._tree(method), q)

    def body_coriolis(self, q: Vector, v: Vector) -> Matrix:
        return coriolis(self.regrouped, q, v)

    def body_regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        return regressor(self.tree, q, v, a, columns)

    def body_kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        if self.looping.inverse:
            return looped_energy.kinetic_energy(self.whole, self.loops, q, v)
        return energy.kinetic_energy(self.tree, q, v)

    def body_potential_energy(self, q: Vector) -> Scalar:
        if self.looping.inverse:
            return looped_energy.potential_energy(self.whole, self.loops, q)
        return energy.potential_energy(self.tree, q)

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        return energy.momentum(self.tree, q, v)

    def center_of_mass(self, q: Vector) -> Vec3:
        return energy.center_of_mass(self.tree, q)

    def pose(self, frame: Frame, q: Vector) -> Pose:
        return kinematics.frame_pose(self.tree, frame, q)

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        return kinematics.frame_jacobian(self.tree, frame, reference, q)

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        return kinematics.frame_velocity(self.tree, frame, reference, q, v)

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        return points.positions(self.tree, frames, q)

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[points.PointMotion]:
        return points.point_motions(self.tree, frames, q, v)

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        if not self.is_regular:
            return undetermined(forces)
        try:
            return self._solved(q, v, forces, wrenches)
        except (ZeroDivisionError, ValueError):  # a constant pivot of an indefinite matrix is 0, or has no root
            if self.robot.physical:
                raise
            return undetermined(forces)

    def _solved(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        if self.looping.forward:
            return forward_dynamics(self.arranged, self.loops, q, v, forces, self._on_aligned(q, wrenches))
        method = self.formulation.forward_dynamics
        tree = self._tree(method)
        return method(tree, q, v, forces, self._on_links(tree, q, wrenches))

    def inverse_mass_matrix(self, q: Vector) -> Matrix:
        n, regular = self.system.nv, self.is_regular
        try:
            return super().inverse_mass_matrix(q) if regular else [undetermined([q[0]] * n)] * n
        except ZeroDivisionError:
            if self.robot.physical:
                raise
            return [undetermined([q[0]] * n)] * n

    @property
    def coupled(self) -> int:
        """How many entries of the lower half of M are not zero for every q."""
        sizes = {link.name: len(link.partials) for link in self.tree.links}
        inboard = {link.name: sum(sizes[other.name] for other in self.tree.ancestors(link)) for link in self.tree.links}
        return sum(size * inboard[name] + size * (size + 1) // 2 for name, size in sizes.items())

    @property
    def is_regular(self) -> bool:
        """Whether forces determine the accelerations; an error if they do not, unless that was asked for."""
        if self.robot.physical:
            check_regular(self.tree)
            return True
        return not idle_joints(self.tree)

    def _on_links(self, tree: Tree, q: Vector, wrenches: Wrenches) -> dict[str, Wrench]:
        """The wrenches on frames as wrenches on their links' origins."""
        found: dict[str, Wrench] = {}
        for frame, wrench in wrenches.items():
            if frame.body is None:
                continue
            force, moment = kinematics.frame_wrench(tree, frame, self.reference, q, wrench)
            if frame.body in found:
                force, moment = force + found[frame.body][0], moment + found[frame.body][1]
            found[frame.body] = force, moment
        return found

    def _on_aligned(self, q: Vector, wrenches: Wrenches) -> dict[str, Wrench]:
        """The wrenches on frames as wrenches on their links' origins, in the axes that loops give the links."""
        turned = {}
        for name, (force, moment) in self._on_links(self.tree, q, wrenches).items():
            back = self.aligned.frames[name].rotation.T
            turned[name] = back @ force, back @ moment
        return turned

    # ---- drives

    def actuator_positions(self, q: Vector) -> list[Scalar]:
        for link in self.robot.moving:
            if link.joint.motion.nv != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of {self.system.owner} is {link.joint.motion.name}: "
                    "no numbers measure its position one by one.",
                    expected="joints of one axis",
                )
        return list(q)

    def actuator_positions_near(self, q: Vector, theta: Vector) -> list[Scalar]:
        return self.actuator_positions(q)

    def to_coordinates(self, q: Vector, rates: Vector) -> list[Scalar]:
        return list(rates)

    def actuator_jacobian(self, q: Vector) -> Matrix:
        n = self.system.nv
        return [[float(i == k) for k in range(n)] for i in range(n)]

    def along_coordinates(self, q: Vector, tau: Vector) -> list[Scalar]:
        return list(tau)

    def at_actuators(self, q: Vector, forces: Matrix) -> Matrix:
        return forces

    def drive_positions(self, q: Vector) -> list[Scalar]:
        driven = [link for link in self.tree.links if _is_driven(link.joint)]
        flat = {link.name: self.tree.position(link, q) for link in driven if link.joint.motion.nv == 1}
        return [x for link in driven for x in flat.get(link.name, [0.0] * link.joint.motion.nv)]

    def drive_rates(self, q: Vector, v: Vector) -> list[Scalar]:
        driven = (link for link in self.tree.links if _is_driven(link.joint))
        return [rate for link in driven for rate in self.tree.velocity(link, v)]

    def drive_accelerations(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        return self.drive_rates(q, a)

    def drive_drift(self, q: Vector, v: Vector) -> Matrix:
        return [[0.0] * self.system.nv for _ in self.drives]

    def on_actuators(self, forces: Vector) -> list[Scalar]:
        given = iter(forces)
        return self.tree.gather(
            {
                link.name: [next(given) if _is_driven(link.joint) else 0.0 for _ in link.partials]
                for link in self.tree.links
            }
        )


def _is_driven(joint: Joint) -> bool:
    """Joints of one axis, and whatever else has friction."""
    return joint.motion.nv == 1 or joint.actuator != IDEAL


def _drives(robot: Robot, joint: Joint) -> list[Driven]:
    """A drive for each component of a joint's velocity, numbered like v; a mimic's bears its own name."""
    start = robot.span(joint)[1].start + 1
    labels = [f"_{joint.name}"] if joint.mimic else [str(start + k) for k in range(joint.motion.nv)]
    return [Driven(joint.name, label, joint.actuator) for label in labels] if _is_driven(joint) else []
