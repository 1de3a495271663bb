"""The same tree in link frames that suit a loop: every joint of one axis turns about z, or slides along it.

A link of such a joint may bear any frame whose z is the axis. With A the new frame in the old one, T the placement of a
link on its parent and J the motion of its joint,

    A_p⁻¹ T J_axis(q) A = (A_p⁻¹ T A) J_z(q)                                A = U Rz(γ),  U e_z = axis               (1)

so that matter, frames and placements move to the new frame and nothing else changes: q, v and tau are what they were.
γ is free. It is chosen so that the axis of one child is perpendicular to x: the placement of that child turns about x
alone, but for a turn about its own z, which goes with q. These are the angles of Denavit and Hartenberg:

    A_p⁻¹ T A = Rx(b) Rz(c)                                                                                         (2)

The world may bear another frame too, with gravity in it. Links on joints of several axes keep theirs, in whose axes
their v is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.algebra.vector import UNITS, Vec3
from appell.formulate.tree import Tree
from appell.model.frame import WORLD
from appell.model.joints import Motion, OneAxis


@dataclass(frozen=True)
class Aligned:
    """A tree in its new frames, and where these stand in the old ones, by link."""

    tree: Tree
    frames: Mapping[str | None, Pose]


def aligned(tree: Tree) -> Aligned:
    """Every joint of one axis about or along z of its link."""
    frames = _frames(tree)
    links = []
    for link in tree.links:
        old, new = link.placement, frames[link.name]
        placement = frames[link.parent].inverse @ Pose(old.rotation, old.translation) @ new
        moved = link.inertia if new.rotation == IDENTITY else link.inertia.seen_from(new.inverse)
        joint = replace(link.joint, motion=_along_z(link.joint.motion), placement=placement)
        links.append(replace(link, joint=joint, placement=placement, inertia=moved))
    gravity = frames[WORLD].rotation.T @ tree.gravity
    return Aligned(replace(tree, links=tuple(links), gravity=gravity), frames)


def _along_z(motion: Motion) -> Motion:
    return replace(motion, axis=UNITS[2]) if isinstance(motion, OneAxis) else motion


def _frames(tree: Tree) -> dict[str | None, Pose]:
    """A for every link and for the world; the first child whose axis is not parallel decides on γ."""
    axes = {link.name: link.joint.motion.axis for link in tree.links if isinstance(link.joint.motion, OneAxis)}
    turned: dict[str | None, Mat3] = {link.name: IDENTITY for link in tree.links}
    turned |= {name: upright(axis) for name, axis in axes.items()}
    turned[WORLD] = IDENTITY
    frames = {name: Pose(rotation) for name, rotation in turned.items()}
    open_to_choice: set[str | None] = {WORLD, *axes}
    for link in tree.links:
        if link.parent not in open_to_choice or link.name not in axes:
            continue
        axis = turned[link.parent].T @ link.placement.rotation @ axes[link.name]
        x, y = snap(axis.x), snap(axis.y)
        if x or y:
            frames[link.parent] = Pose(turned[link.parent] @ _about_z(math.atan2(-x, y)))
            open_to_choice.remove(link.parent)
    return frames


def upright(axis: Vec3) -> Mat3:
    """A rotation that takes z to a unit axis: the smallest one, for axes that point down that after a half turn."""
    if axis.z < 0.0:
        return upright(-axis) @ Mat3.of([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
    x, y, z = axis
    k = 1.0 / (1.0 + z)
    return Mat3.of([[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]])


def _about_z(angle: float) -> Mat3:
    c, s = snap(math.cos(angle)), snap(math.sin(angle))
    return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
