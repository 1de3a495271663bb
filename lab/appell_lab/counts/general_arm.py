"""The general arm of operation counts: n joints, with a symbol for every length, angle and inertial parameter.

The placement of link i in its parent follows Craig's convention, R = Rx(twist) Rz(q), s = (length, -offset sin twist,
offset cos twist). The sine and cosine of every twist, the three components of s and the ten inertial parameters are
inputs of the tape; operations among them alone are computed off-line and not counted. Frame 0 is on the first joint,
whose axis is vertical, so gravity is along the first axis.
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

SYMBOLS = 15  # per link: cos and sin of its twist, s, and ten inertial parameters
_BODY = Body(1.0, Vec3(0.0, 0.0, 0.0), Mat3.symmetric(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))  # placeholder for symbols


def general_arm(n: int) -> Robot:
    """Return a chain of n revolute joints; its numbers are placeholders that `with_symbols` replaces."""
    return _robot([f"link{i}" for i in range(n)], [None, *(f"link{i}" for i in range(n - 1))], [Revolute()] * n)


def branched_robot(branches: int, links: int) -> Robot:
    """Return a tree like Shafei's: chains of revolute links that start at one point, which moves in a plane."""
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
    """Return the tree with `SYMBOLS` scalars per link; placements of first links and massless links do not change."""
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
