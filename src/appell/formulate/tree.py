"""The robot as the algorithms see it: the same tree, with scalars where the robot has numbers.

An algorithm reads a link's inertia and placement from here. `Dynamics` puts the robot's own numbers there, or traced
inputs for parameters that are to stay free, or base parameters that give the same forces for less work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.model.body import Inertia
from appell.model.joints import Partial
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
