"""A tree in link frames that suit a loop: the axis of every one-axis joint is the z axis of its link.

The frame of such a link can be any frame whose z axis is the joint axis. With A the new frame in the old one, T the
placement of a link on its parent and J the motion of its joint,

    A_p⁻¹ T J_axis(q) A = (A_p⁻¹ T A) J_z(q)                                A = U Rz(γ),  U e_z = axis               (1)

so that inertias, frames and placements are transformed to the new frame and q, v and tau do not change. γ is free. It
is chosen so that the axis of one child is perpendicular to x: the placement of that child is then a rotation about x,
followed by a rotation about its own z, which combines with q. These are the angles of Denavit and Hartenberg:

    A_p⁻¹ T A = Rx(b) Rz(c)                                                                                         (2)

The world may have another frame as well, in which gravity is expressed. Links on joints of several axes keep their
frames, because their v is given in these axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose, about_z
from appell.algebra.scalar import atan2, cos, sin, snap
from appell.algebra.vector import UNITS, Vec3
from appell.formulate.tree import Tree
from appell.model.frame import WORLD
from appell.model.joints import Motion, OneAxis


@dataclass(frozen=True)
class AlignedTree:
    """A tree in its new frames, and the poses of these in the old ones, by link."""

    tree: Tree
    frames: Mapping[str | None, Pose]


def aligned(tree: Tree) -> AlignedTree:
    """Transform a tree so that every one-axis joint moves about or along z of its link."""
    frames = _frames(tree)
    links = []
    for link in tree.links:
        old, new = link.placement, frames[link.name]
        placement = frames[link.parent].inverse @ Pose(old.rotation, old.translation) @ new
        moved = link.inertia if new.rotation == IDENTITY else link.inertia.moved(new.inverse)
        joint = replace(link.joint, motion=_along_z(link.joint.motion), placement=placement)
        links.append(replace(link, joint=joint, placement=placement, inertia=moved))
    gravity = frames[WORLD].rotation.T @ tree.gravity
    return AlignedTree(replace(tree, links=tuple(links), gravity=gravity), frames)


def _along_z(motion: Motion) -> Motion:
    return replace(motion, axis=UNITS[2]) if isinstance(motion, OneAxis) else motion


def _frames(tree: Tree) -> dict[str | None, Pose]:
    """A for every link and for the world. The first child whose axis is not parallel to z determines γ."""
    axes = {link.name: link.joint.motion.axis for link in tree.links if isinstance(link.joint.motion, OneAxis)}
    rotations: dict[str | None, Mat3] = {link.name: IDENTITY for link in tree.links}
    rotations |= {name: rotation_to_axis(axis) for name, axis in axes.items()}
    rotations[WORLD] = IDENTITY
    frames = {name: Pose(rotation) for name, rotation in rotations.items()}
    undetermined: set[str | None] = {WORLD, *axes}  # links whose γ is still free
    for link in tree.links:
        if link.parent not in undetermined or link.name not in axes:
            continue
        axis = rotations[link.parent].T @ link.placement.rotation @ axes[link.name]
        x, y = snap(axis.x), snap(axis.y)
        if x or y:
            angle = atan2(-x, y)
            frames[link.parent] = Pose(rotations[link.parent] @ about_z(snap(cos(angle)), snap(sin(angle))))
            undetermined.remove(link.parent)
    return frames


def rotation_to_axis(axis: Vec3) -> Mat3:
    """Smallest rotation that takes z to a unit axis; for axes that point down, smallest after a half turn about x."""
    if axis.z < 0.0:
        return rotation_to_axis(-axis) @ Mat3.of([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
    x, y, z = axis
    k = 1.0 / (1.0 + z)
    return Mat3.of([[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]])
