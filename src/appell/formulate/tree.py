"""The tree on which algorithms operate: the links of a robot, with scalars instead of numbers.

Algorithms read the inertia and the placement of a link from a `Tree`. `Dynamics` fills in the numbers of the robot,
traced inputs for parameters that are inputs of a function, or base parameters, which give the same forces for less
work.

**Base parameters.** Inertia that a joint does not move relative to its parent is assigned to the parent. A point r of a
link has velocity ξ (r, 1) relative to the parent, with ξ = [angular~ linear] for each partial. A pseudo-inertia
D = ∫ (r, 1)(r, 1)ᵀ dm does not move with the joint if ξ D = 0, that is, if the columns of D are in the common kernel of
all ξ. With P the projector on that kernel, the parent can carry P Σ P instead, without any change of forces or inertia
matrix:

    revolute about z    kernel (z, 1): mass, first moment along z and Σ_zz move inboard
    prismatic           kernel (x, y, z): all second moments move inboard
    spherical           kernel (1): the mass moves inboard

Inertia that reaches the world has no effect. The remaining links are not physical bodies, but need seven parameters
instead of ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from appell.algebra.matrix import Mat3, skew
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector, is_number, snap
from appell.algebra.vector import Vec3
from appell.model.body import Inertia
from appell.model.joints import Motion, Partial
from appell.model.robot import Joint, Robot


@dataclass(frozen=True)
class TreeLink:
    """A link, its parent's name (None for the world), the joint between them, and its inertia."""

    name: str
    parent: str | None
    joint: Joint
    placement: Pose
    inertia: Inertia
    rotor: Scalar = 0.0  # rotor inertia of its drive, reflected to the joint

    @property
    def partials(self) -> tuple[Partial, ...]:
        """Velocity of the link relative to its parent per unit of each v of its joint, in link coordinates."""
        return self.joint.motion.partials


@dataclass(frozen=True)
class Tree:
    """Links in an order in which parents come before their children."""

    robot: Robot
    links: tuple[TreeLink, ...]
    gravity: Vec3

    @staticmethod
    def of(robot: Robot) -> Tree:
        links = (
            TreeLink(
                link.name,
                link.parent,
                link.joint,
                link.joint.placement,
                link.body.about_origin if link.body else Inertia(),
            )
            for link in robot.links
        )
        return Tree(robot, tuple(links), robot.gravity)

    def with_inertias(self, inertias: Mapping[str, Inertia]) -> Tree:
        return replace(
            self, links=tuple(replace(link, inertia=inertias.get(link.name, link.inertia)) for link in self.links)
        )

    def with_rotors(self) -> Tree:
        """Copy with the rotor inertias of the joints' actuators, for forward dynamics."""
        return replace(
            self, links=tuple(replace(link, rotor=link.joint.actuator.reflected_inertia) for link in self.links)
        )

    def plus_rotors(self, matrix: Sequence[Vector]) -> list[list[Scalar]]:
        """Inertia matrix of the links plus that of the rotors."""
        rows = [list(row) for row in matrix]
        for link in self.links:
            for k, scale, rotor in self._columns(link, [link.rotor] * len(link.partials)):
                rows[k][k] = rows[k][k] + scale * scale * rotor
        return rows

    def with_gravity(self, gravity: Vec3) -> Tree:
        return replace(self, gravity=gravity)

    def position(self, link: TreeLink, q: Vector) -> list[Scalar]:
        """Position of the link's joint."""
        return self.robot.joint_position(link.joint, q)

    def velocity(self, link: TreeLink, v: Vector) -> list[Scalar]:
        """Components of the link's joint in a vector with the layout of v."""
        return self.robot.joint_velocity(link.joint, v)

    @cached_property
    def _by_name(self) -> dict[str, TreeLink]:
        return {link.name: link for link in self.links}

    def ancestors(self, link: TreeLink) -> Iterable[TreeLink]:
        """Links between this one and the world, nearest first."""
        while link.parent is not None:
            link = self._by_name[link.parent]
            yield link

    def path(self, name: str | None) -> Iterator[TreeLink]:
        """A link and all links between it and the world, nearest first; empty for the world itself."""
        if name is not None:
            yield self._by_name[name]
            yield from self.ancestors(self._by_name[name])

    # ---- from joints to generalised velocities; a mimic joint adds to its leader

    def gather(self, forces: Mapping[str, Vector]) -> list[Scalar]:
        """Generalised forces from the forces along every link's partials."""
        gathered: list[Scalar] = [0.0] * self.robot.nv
        for link in self.links:
            for column, scale, force in self._columns(link, forces[link.name]):
                gathered[column] = gathered[column] + scale * force
        return gathered

    def gather_columns(self, columns: Mapping[str, Sequence[Vector]], rows: int) -> list[list[Scalar]]:
        """Matrix with nv columns from the columns of each link, of `rows` entries; absent links give zeros."""
        matrix: list[list[Scalar]] = [[0.0] * self.robot.nv for _ in range(rows)]
        for link in self.links:
            for column, scale, entries in self._columns(link, columns.get(link.name, ())):
                for row, entry in zip(matrix, entries, strict=True):
                    row[column] = row[column] + scale * entry
        return matrix

    def gather_matrix(self, blocks: Mapping[tuple[str, str], Sequence[Vector]]) -> list[list[Scalar]]:
        """Matrix (nv, nv) from blocks for the partials of two links; absent blocks are zero."""
        nv = self.robot.nv
        matrix: list[list[Scalar]] = [[0.0] * nv for _ in range(nv)]
        for (first, second), block in blocks.items():
            for i, row_scale, row in self._columns(self._by_name[first], block):
                for j, column_scale, entry in self._columns(self._by_name[second], row):
                    matrix[i][j] = matrix[i][j] + row_scale * column_scale * entry
        return matrix

    def gather_symmetric(self, blocks: Mapping[tuple[str, str], Sequence[Vector]]) -> list[list[Scalar]]:
        """Symmetric matrix from its blocks, with the upper half copied from the lower."""
        matrix = self.gather_matrix(blocks)
        return [[matrix[max(i, j)][min(i, j)] for j in range(len(matrix))] for i in range(len(matrix))]

    def _columns(self, link: TreeLink, entries: Sequence):
        start = self.robot.span(link.joint)[1].start
        return [(start + k, link.joint.scale, entry) for k, entry in enumerate(entries)]


DEPENDENT_ROW = 1e-12  # relative length below which the rest of a row is a rounding error


def regroup(tree: Tree, known: Callable[[Scalar], bool] = is_number) -> Tree:
    """Move inertia that a joint does not move to the parent (base parameters), where all scalars are `known`."""
    inertias = {link.name: link.inertia for link in tree.links}
    kernels: dict[Motion, np.ndarray] = {}
    for link in reversed(tree.links):
        inboard = inertias.get(link.parent) if link.parent is not None else Inertia()
        if inboard is None or not (_is_constant(inertias[link.name], known) and _is_constant(inboard, known)):
            continue
        sigma = np.array(inertias[link.name].pseudo, dtype=object)  # numbers, or symbols for operation counts
        motion = link.joint.motion
        projector = kernels[motion] if motion in kernels else kernels.setdefault(motion, _kernel(motion))
        idle = projector @ sigma @ projector
        inertias[link.name] = _inertia(sigma - idle)
        if link.parent is not None:
            at_rest = motion.pose(motion.neutral)
            pose = Pose(link.placement.rotation, link.placement.translation) @ at_rest
            inertias[link.parent] = inboard + _inertia(idle).moved(pose)
    return tree.with_inertias(inertias)


def _kernel(motion: Motion) -> np.ndarray:
    """Projector P on the common kernel of a joint's ξ, with rounding errors removed.

    Every row r of ξ removes one direction, P ← P - (P r)(P r)ᵀ / |P r|². Arrays of Python's numbers are multiplied in a
    fixed order, so that P, and with it every constant of the code, has the same bits on all machines; a pseudo-inverse
    by LAPACK has not.
    """
    projector = np.eye(4).astype(object)
    for partial in motion.partials:
        for angular, linear in zip(skew(partial.angular).rows, partial.linear, strict=True):
            row = np.array([*angular, linear], dtype=object)
            rest = projector @ (projector @ row)  # twice: the first leaves rounding errors of cancelled parts
            if (size := rest @ rest) > DEPENDENT_ROW**2 * (row @ row):
                projector = projector - np.outer(rest, rest) / size
    return np.vectorize(snap)(projector, 1e-14).astype(object)


def _inertia(sigma: np.ndarray) -> Inertia:
    return Inertia(sigma[3, 3], Vec3.of(sigma[:3, 3].tolist()), Mat3.of(sigma[:3, :3].tolist()))


def _is_constant(body: Inertia, known: Callable[[Scalar], bool]) -> bool:
    return all(map(known, (body.mass, *body.first, *body.second.upper)))
