"""Dynamics and kinematics of the bodies of a tree, by the methods of a formulation.

Methods that never use a centre of mass are given base parameters instead of the bodies (see `regroup`): the same forces
for less work.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import final

from appell.algebra.loops import UNROLLED, Loops
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.formulate import energy, kinematics
from appell.formulate.derivatives.inverse import Derivatives, inverse_dynamics_derivatives
from appell.formulate.formulations import NO_LOOPS, Formulation, Looping, Method
from appell.formulate.gibbs import gibbs_function
from appell.formulate.gibbs_appell.coriolis import coriolis
from appell.formulate.kinematics import Wrenches
from appell.formulate.looped import energy as looped_energy
from appell.formulate.looped.aligned import AlignedTree, aligned
from appell.formulate.looped.forward import forward_dynamics
from appell.formulate.looped.inverse import inverse_dynamics
from appell.formulate.looped.loop_tree import LoopTree
from appell.formulate.recursion import Wrench
from appell.formulate.regressor import regressor
from appell.formulate.regular import check_regular, idle_joints, undetermined
from appell.formulate.tree import Tree, regroup
from appell.model.frame import Frame


@final
class TreeBodies:
    """The links of a tree; `looping` states which functions are loops over them."""

    loops: Loops = UNROLLED

    def __init__(self, tree: Tree, formulation: Formulation, reference: str = "LOCAL", looping: Looping = NO_LOOPS):
        self.tree, self.robot, self.formulation = tree, tree.robot, formulation
        self.reference, self.looping = reference, looping

    @cached_property
    def regrouped(self) -> Tree:
        return regroup(self.tree)

    @cached_property
    def aligned(self) -> AlignedTree:
        return aligned(self.tree)

    @cached_property
    def loop_tree(self) -> LoopTree:
        """The tree with base parameters, laid out for loops."""
        return LoopTree.of(regroup(self.aligned.tree))

    @cached_property
    def loop_tree_of_bodies(self) -> LoopTree:
        """The tree with its actual bodies, laid out for loops."""
        return LoopTree.of(self.aligned.tree)

    def run_by(self, loops: Loops) -> TreeBodies:
        """Copy in which `loops` runs the loops."""
        if self.looping.functions:
            _ = self.loop_tree  # computed here, so that all copies share it
        other = copy(self)
        other.loops = loops
        return other

    def weighed(self, factor: Scalar) -> TreeBodies:
        """Copy with gravity times a factor, for functions that are not loops."""
        other, gravity = copy(self), factor * self.tree.gravity
        other.regrouped = self.regrouped.with_gravity(gravity)
        other.tree = self.tree.with_gravity(gravity)
        return other

    def _tree(self, method: Method) -> Tree:
        return self.regrouped if method.regroup else self.tree

    # ---- bodies

    def gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        return gibbs_function(self.tree, q, v, a)

    def forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        if self.looping.inverse:
            return inverse_dynamics(self.loop_tree, self.loops, q, v, a, self._on_aligned(q, wrenches))
        method = self.formulation.inverse_dynamics
        tree = self._tree(method)
        return method(tree, q, v, a, self._on_links(tree, q, wrenches))

    def force_derivatives(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches, *, apart: bool) -> Derivatives:
        """Derivatives of `forces` with respect to q, v and a."""
        on_links = self._on_links(self.regrouped, q, wrenches)
        return inverse_dynamics_derivatives(self.regrouped, q, v, a, on_links, apart=apart)

    def mass_matrix(self, q: Vector) -> Matrix:
        method = self.formulation.mass_matrix
        return method(self._tree(method), q)

    def coriolis(self, q: Vector, v: Vector) -> Matrix:
        return coriolis(self.regrouped, q, v)

    def regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        return regressor(self.tree, q, v, a, columns)

    def kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        if self.looping.inverse:
            return looped_energy.kinetic_energy(self.loop_tree_of_bodies, self.loops, q, v)
        return energy.kinetic_energy(self.tree, q, v)

    def potential_energy(self, q: Vector) -> Scalar:
        if self.looping.inverse:
            return looped_energy.potential_energy(self.loop_tree_of_bodies, self.loops, q)
        return energy.potential_energy(self.tree, q)

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        return energy.momentum(self.tree, q, v)

    def centroidal_matrix(self, q: Vector) -> Matrix:
        return energy.centroidal_matrix(self.tree, q)

    def center_of_mass(self, q: Vector) -> Vec3:
        return energy.center_of_mass(self.tree, q)

    def pose(self, frame: Frame, q: Vector) -> Pose:
        return kinematics.frame_pose(self.tree, frame, q)

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        return kinematics.frame_jacobian(self.tree, frame, reference, q)

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        return kinematics.frame_velocity(self.tree, frame, reference, q, v)

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        return kinematics.positions(self.tree, frames, q)

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[kinematics.PointMotion]:
        return kinematics.point_motions(self.tree, frames, q, v)

    def frame_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[kinematics.FrameKinematics]:
        return kinematics.frame_motions(self.tree, frames, q, v)

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        if not self.is_regular:
            return undetermined(forces)
        try:
            return self._solved(q, v, forces, wrenches)
        except ZeroDivisionError:  # a constant pivot of an indefinite matrix is 0 or negative
            if self.robot.physical:
                raise
            return undetermined(forces)

    def _solved(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> list[Scalar]:
        if self.looping.forward:
            return forward_dynamics(self.loop_tree, self.loops, q, v, forces, self._on_aligned(q, wrenches))
        method = self.formulation.forward_dynamics
        tree = self._tree(method)
        return method(tree, q, v, forces, self._on_links(tree, q, wrenches))

    def inverse(self, mass_matrix: Matrix, q: Vector) -> Matrix:
        """M⁻¹ by LDLᵀ, leaves first, so that the factor has no entries between different branches."""
        n = len(mass_matrix)
        try:
            return LDL.of(mass_matrix).inverse() if self.is_regular else [undetermined([q[0]] * n)] * n
        except ZeroDivisionError:
            if self.robot.physical:
                raise
            return [undetermined([q[0]] * n)] * n

    @property
    def coupled(self) -> int:
        """Number of entries in the lower half of M, with the diagonal, that are not structurally zero."""
        sizes = {link.name: len(link.partials) for link in self.tree.links}
        inboard = {link.name: sum(sizes[other.name] for other in self.tree.ancestors(link)) for link in self.tree.links}
        return sum(size * inboard[name] + size * (size + 1) // 2 for name, size in sizes.items())

    @property
    def idle_joints(self) -> tuple[str, ...]:
        """Joints that can move without moving any inertia."""
        return idle_joints(self.tree)

    @property
    def is_regular(self) -> bool:
        """Whether forces determine the accelerations. If not, raise a ModelError unless `robot.physical` is False."""
        if self.robot.physical:
            check_regular(self.tree)
            return True
        return not idle_joints(self.tree)

    def _on_links(self, tree: Tree, q: Vector, wrenches: Wrenches) -> dict[str, Wrench]:
        """Transform wrenches on frames to the origins of their links, and add them up."""
        on_links: dict[str, Wrench] = {}
        for frame, wrench in wrenches.items():
            if frame.body is None:
                continue
            force, moment = kinematics.frame_wrench(tree, frame, self.reference, q, wrench)
            if frame.body in on_links:
                force, moment = force + on_links[frame.body][0], moment + on_links[frame.body][1]
            on_links[frame.body] = force, moment
        return on_links

    def _on_aligned(self, q: Vector, wrenches: Wrenches) -> dict[str, Wrench]:
        """Transform wrenches on frames to the origins of their links, in the axes of the aligned tree."""
        rotated = {}
        for name, (force, moment) in self._on_links(self.tree, q, wrenches).items():
            inverse = self.aligned.frames[name].rotation.T
            rotated[name] = inverse @ force, inverse @ moment
        return rotated
