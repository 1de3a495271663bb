"""The arm that operation counts are about: n joints, every length, angle and inertial parameter a symbol.

Link i stands in its parent by Craig's convention, R = Rx(twist) Rz(q), s = (length, -offset sin twist, offset cos
twist). The sine and cosine of every twist, the three components of s and the ten inertial parameters are inputs of
the tape, and operations among them alone are off-line work that is not counted. Frame 0 stands on the first joint
with its axis upright, as the convention has it, so that gravity is along the first axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.algebra.vector import UNITS, Vec3
from appell.formulate.tree import Tree
from appell.model.body import Body, Inertia
from appell.model.joints import Motion, Prismatic, Revolute
from appell.model.robot import Joint, Link, Robot

SYMBOLS = 15  # a link: cos and sin of its twist, s, and ten inertial parameters
_BODY = Body(1.0, Vec3(0.0, 0.0, 0.0), Mat3.symmetric(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))  # stands for the symbols


def general_arm(n: int) -> Robot:
    """A chain of n revolute joints; its numbers are of no account, `with_symbols` puts symbols there."""
    return _robot([f"link{i}" for i in range(n)], [None, *(f"link{i}" for i in range(n - 1))], [Revolute()] * n)


def branched_robot(branches: int, links: int) -> Robot:
    """Shafei's kind of tree: chains of revolute links that meet in one point, which moves in a plane."""
    names: list[str] = ["x", "y"]
    parents: list[str | None] = [None, "x"]
    motions: list[Motion] = [Prismatic(UNITS[0]), Prismatic(UNITS[1])]
    for b in range(branches):
        for i in range(links):
            names.append(f"branch{b}.{i}")
            parents.append(f"branch{b}.{i - 1}" if i else "y")
            motions.append(Revolute())
    return _robot(names, parents, motions)


def _robot(names: Sequence[str], parents: Sequence[str | None], motions: Sequence[Motion]) -> Robot:
    links = [
        Link(name, parent, Joint(f"joint of {name}", motion), _BODY if isinstance(motion, Revolute) else None)
        for name, parent, motion in zip(names, parents, motions, strict=True)
    ]
    return Robot("general arm", tuple(links))


def with_symbols(robot: Robot, symbols: Sequence[Scalar]) -> Tree:
    """The tree with `SYMBOLS` scalars a link; first links keep their placement, links without matter keep all."""
    tree, links = Tree.of(robot), []
    for i, link in enumerate(tree.links):
        cosine, sine, x, y, z, *parameters = symbols[SYMBOLS * i : SYMBOLS * (i + 1)]
        turn = Mat3.of([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        inertia = link.inertia
        if link.parent is not None and inertia.mass:
            link = replace(link, placement=Pose(turn, Vec3(x, y, z)))
        if inertia.mass:
            link = replace(link, inertia=Inertia.from_parameters(parameters))
        links.append(link)
    return replace(tree, links=tuple(links))
