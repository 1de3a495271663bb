"""What the Appendix starts from: the matrices of one branch (equation numbers of the paper).

    A   joint i, and E   from link i - 1 to it: the link stands in the one before it by E A                    (4) (5)
    U₁ = ∂A/∂q           U₂ = ∂²A/∂q²           Ȧ = U₁ q̇           Ä = U₁ q̈ + U₂ q̇²                            (7) (8)
    E₀(X)                U₃ = ∂E₀/∂X, constant: the base slides and does not turn                              (10) (11)
    B₁ = ½ ∫ r rᵀ dm, r = (η, 0, 0, 1) along the link          B₂ = ∫ J dη, what is left of it                (15) (16)
    c = ∫ r dm                                                                                                     (20)

The paper has revolute joints on straight links. Here the text is for any joint: a joint of several v has a U₁ for each
and a U₂ for each two of them, with A ξ and A ξ ξ for its derivatives, and E may turn. For a body that is no straight
rod, the 4x4 matrix B₁ takes the mass, the first moment and ∫ x² dm, and the 3x3 matrix B₂ the inertia of the rest. The
slides without matter that a branch begins with are its base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from appell.algebra.matrix import ZEROS, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Vector, is_number
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.homogeneous import IDENTITY, Mat4, twist
from appell.formulate.link_motion import combine
from appell.formulate.tree import Tree, TreeLink
from appell.model.body import Inertia, rotational_of
from appell.model.joints import Prismatic


@dataclass(frozen=True)
class ChainLink:
    """Joint and matter of one link: A with its derivatives, E that leads to it, B₁, B₂ and c; axes of ω, rates v."""

    name: str
    E: Mat4
    A: Mat4
    U1: Sequence[Mat4]
    U2: Sequence[Sequence[Mat4]]
    B1: Mat4
    B2: Mat3
    c: Vector
    axes: Sequence[Vec3]
    v: Vector


@dataclass(frozen=True)
class Chain:
    """One branch: its links, the slides of its base by name with U₃ of each, gravity as (g, 0)."""

    links: tuple[ChainLink, ...]
    base: tuple[str, ...]
    U3: tuple[Mat4, ...]
    gravity: Vector
    A0: Mat4 = IDENTITY


def chain(branch: Tree, q: Vector, v: Vector) -> Chain:
    """The matrices of a branch at (q, v)."""
    slides = _base(branch)
    place, U3 = Pose(), []
    for link in slides:
        place = place @ link.placement
        axis = place.rotation @ link.partials[0].linear
        U3.append(Mat4.of(ZEROS, axis, ZERO, 0.0))
        place = place @ link.joint.motion.pose(branch.position(link, q))
    links: list[ChainLink] = []
    for link in branch.links[len(slides) :]:
        E = link.placement if links else place @ link.placement
        links.append(_chain_link(link, E, branch.position(link, q), branch.velocity(link, v)))
    return Chain(tuple(links), tuple(link.name for link in slides), tuple(U3), (*branch.gravity, 0.0))


def _base(branch: Tree) -> list[TreeLink]:
    """The slides without matter at the root; the tip is never one of them."""
    found: list[TreeLink] = []
    for link in branch.links[:-1]:
        if not isinstance(link.joint.motion, Prismatic) or not _is_nothing(link.inertia):
            break
        found.append(link)
    return found


def _is_nothing(body: Inertia) -> bool:
    """Whether there is no matter, and no parameter that may become some."""
    return all(is_number(x) and x == 0.0 for row in body.pseudo for x in row)


def _chain_link(link: TreeLink, E: Pose, q: Vector, v: Vector) -> ChainLink:
    A = _transformation(link.joint.motion.pose(q))
    xi = [twist(p.angular, p.linear) for p in link.partials]
    body = link.inertia
    B1, B2 = split(body)
    U1, U2 = [A @ x for x in xi], [[A @ x @ y for y in xi] for x in xi]
    axes = [p.angular for p in link.partials]
    return ChainLink(link.name, _transformation(E), A, U1, U2, B1, B2, (*body.first, body.mass), axes, v)


def split(body: Inertia) -> tuple[Mat4, Mat3]:
    """B₁ and B₂ of a body: a line along x, and what is beside it."""
    xx, xy, xz, yy, yz, zz = body.second.upper
    line, beside = Mat3.symmetric(xx, 0.0, 0.0, 0.0, 0.0, 0.0), Mat3.symmetric(0.0, xy, xz, yy, yz, zz)
    return 0.5 * Mat4.of(line, body.first, body.first, body.mass), rotational_of(beside)


def _transformation(pose: Pose) -> Mat4:
    return Mat4.of(pose.rotation, pose.translation, ZERO, 1.0)


def rate(link: ChainLink) -> Mat4:
    """Ȧ, (7)."""
    return _sum([x * U for x, U in zip(link.v, link.U1, strict=True)])


def swing(link: ChainLink) -> Mat4:
    """What of Ä does not depend on accelerations, (8)."""
    return _sum([(x * y) * link.U2[k][m] for k, x in enumerate(link.v) for m, y in enumerate(link.v)])


def spin(link: ChainLink) -> Vec3:
    """The joint's own angular velocity, x₃ q̇."""
    return combine(link.axes, link.v)


def _sum(terms: Sequence[Mat4]) -> Mat4:
    return reduce(Mat4.__add__, terms)
