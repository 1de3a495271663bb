"""The robot as the algorithms see it: the same tree, with scalars where the robot has numbers.

An algorithm reads a link's inertia and placement from here. `Dynamics` puts the robot's own numbers there, or traced
inputs for parameters that are to stay free, or base parameters that give the same forces for less work.

Base parameters: matter that a joint does not move relative to its parent is moved to the parent.

A point r of a link has velocity ξ (r, 1) relative to the parent, with ξ = [angular~ linear] for each partial. Matter
with pseudo-inertia D = ∫ (r, 1)(r, 1)ᵀ dm does not move with the joint where ξ D = 0, so where the columns of D lie
in the common kernel of all ξ. With P the projector on that kernel, P Σ P can be carried by the parent instead,
without any change of forces or inertia matrix:

    revolute about z    kernel (z, 1): mass, first moment along z and Σ_zz go inboard
    prismatic           kernel (x, y, z): all second moments go inboard
    spherical           kernel (1): the mass goes inboard

What reaches the world no longer matters. The links that remain are no real bodies, but seven numbers do for ten.
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
    """A link, its parent's name (None for the world), the joint between them, and the matter it carries."""

    name: str
    parent: str | None
    joint: Joint
    placement: Pose
    inertia: Inertia
    rotor: Scalar = 0.0  # inertia of its drive, as the joint feels it

    @property
    def partials(self) -> tuple[Partial, ...]:
        """Relative velocity of the link for a unit of each of its joint's v, in link coordinates."""
        return self.joint.motion.partials


@dataclass(frozen=True)
class Tree:
    """Links in an order in which parents come first."""

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
        """With the rotors of the joints' actuators, for forward dynamics."""
        return replace(
            self, links=tuple(replace(link, rotor=link.joint.actuator.reflected_inertia) for link in self.links)
        )

    def plus_rotors(self, matrix: Sequence[Vector]) -> list[list[Scalar]]:
        """An inertia matrix of the links with that of the rotors added."""
        rows = [list(row) for row in matrix]
        for link in self.links:
            for k, scale, rotor in self._columns(link, [link.rotor] * len(link.partials)):
                rows[k][k] = rows[k][k] + scale * scale * rotor
        return rows

    def with_gravity(self, gravity: Vec3) -> Tree:
        return replace(self, gravity=gravity)

    def position(self, link: TreeLink, q: Vector) -> list[Scalar]:
        """The coordinates of the link's joint."""
        return self.robot.joint_position(link.joint, q)

    def velocity(self, link: TreeLink, v: Vector) -> list[Scalar]:
        """The joint's share of a vector with the layout of v."""
        return self.robot.joint_velocity(link.joint, v)

    @cached_property
    def _by_name(self) -> dict[str, TreeLink]:
        return {link.name: link for link in self.links}

    def ancestors(self, link: TreeLink) -> Iterable[TreeLink]:
        """The links between this one and the world, nearest first."""
        while link.parent is not None:
            link = self._by_name[link.parent]
            yield link

    def path(self, name: str | None) -> Iterator[TreeLink]:
        """A link and all between it and the world, nearest first; none for the world itself."""
        if name is not None:
            yield self._by_name[name]
            yield from self.ancestors(self._by_name[name])

    # ---- from joints to generalised coordinates; a mimic joint adds to its leader

    def gather(self, forces: Mapping[str, Vector]) -> list[Scalar]:
        """The generalised forces of forces along every link's partials."""
        gathered: list[Scalar] = [0.0] * self.robot.nv
        for link in self.links:
            for column, scale, force in self._columns(link, forces[link.name]):
                gathered[column] = gathered[column] + scale * force
        return gathered

    def gather_columns(self, columns: Mapping[str, Sequence[Vector]], rows: int) -> list[list[Scalar]]:
        """A matrix with nv columns from each link's columns of `rows` entries; absent links give zeros."""
        matrix: list[list[Scalar]] = [[0.0] * self.robot.nv for _ in range(rows)]
        for link in self.links:
            for column, scale, entries in self._columns(link, columns.get(link.name, ())):
                for row, entry in zip(matrix, entries, strict=True):
                    row[column] = row[column] + scale * entry
        return matrix

    def gather_matrix(self, blocks: Mapping[tuple[str, str], Sequence[Vector]]) -> list[list[Scalar]]:
        """An nv x nv matrix from blocks of partials of two links; absent blocks are zero."""
        nv = self.robot.nv
        matrix: list[list[Scalar]] = [[0.0] * nv for _ in range(nv)]
        for (first, second), block in blocks.items():
            for i, row_scale, row in self._columns(self._by_name[first], block):
                for j, column_scale, entry in self._columns(self._by_name[second], row):
                    matrix[i][j] = matrix[i][j] + row_scale * column_scale * entry
        return matrix

    def gather_symmetric(self, blocks: Mapping[tuple[str, str], Sequence[Vector]]) -> list[list[Scalar]]:
        """A symmetric matrix from its blocks, the upper half taken from the lower."""
        matrix = self.gather_matrix(blocks)
        return [[matrix[max(i, j)][min(i, j)] for j in range(len(matrix))] for i in range(len(matrix))]

    def _columns(self, link: TreeLink, entries: Sequence):
        start = self.robot.span(link.joint)[1].start
        return [(start + k, link.joint.scale, entry) for k, entry in enumerate(entries)]


def regroup(tree: Tree, known: Callable[[Scalar], bool] = is_number) -> Tree:
    """The tree with every link's idle matter moved inboard, as far as it is `known` before the robot moves."""
    inertias = {link.name: link.inertia for link in tree.links}
    kernels: dict[Motion, np.ndarray] = {}
    for link in reversed(tree.links):
        inboard = inertias.get(link.parent) if link.parent is not None else Inertia()
        if inboard is None or not (_is_constant(inertias[link.name], known) and _is_constant(inboard, known)):
            continue
        whole = np.array(inertias[link.name].pseudo, dtype=object)  # numbers, or symbols where a count is taken
        motion = link.joint.motion
        projector = kernels[motion] if motion in kernels else kernels.setdefault(motion, _kernel(motion))
        idle = projector @ whole @ projector
        inertias[link.name] = _inertia(whole - idle)
        if link.parent is not None:
            at_rest = motion.pose(motion.neutral)
            pose = Pose(link.placement.rotation, link.placement.translation) @ at_rest
            inertias[link.parent] = inboard + _inertia(idle).seen_from(pose)
    return tree.with_inertias(inertias)


def _kernel(motion: Motion) -> np.ndarray:
    """The projector on the common kernel of a joint's ξ, with the noise of its computation taken off."""
    stack = np.vstack(
        [
            np.hstack([np.array([list(row) for row in skew(p.angular).rows]), np.c_[list(p.linear)]])
            for p in motion.partials
        ]
    )
    projector = np.eye(4) - np.linalg.pinv(stack) @ stack
    return np.vectorize(snap)(projector, 1e-14).astype(object)


def _inertia(sigma: np.ndarray) -> Inertia:
    return Inertia(sigma[3, 3], Vec3.of(sigma[:3, 3].tolist()), Mat3.of(sigma[:3, :3].tolist()))


def _is_constant(body: Inertia, known: Callable[[Scalar], bool]) -> bool:
    return all(map(known, (body.mass, *body.first, *body.second.upper)))
