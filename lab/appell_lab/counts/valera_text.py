"""The six steps of Valera 2003 as written, for a chain of n revolute joints of symbols, in two conventions of frames.

    1  R_i, s_i                                                                  rotations and translations
    2  ω_i, ω̇_i, r̈_i                                                             velocities and accelerations
    3  z_i = ∂ω̇_i/∂q̈_i                                                           the joint's axis in link coordinates
    4  α_i = N_i + R_{i+1} α_{i+1},      N_i = I_i ω̇_i + ω_i × I_i ω_i,           A_i = z_i·α_i
    5  β_i = m_i r̈_i × ρ_i + φ_i × s_{i+1} + R_{i+1} β_{i+1},                    B_i = -z_i·β_i
       φ_i = R_{i+1} (m_{i+1} r̈_{i+1} + φ_{i+1})
    6  τ_i = A_i + B_i

Craig places frame i on joint i: R = Rx(twist) Rz(q), z_i = (0, 0, 1), ρ_i = c_i the centre of mass from O_i, s_{i+1}
constant in frame i. Paul places it on joint i + 1: R = Rz(q) Rx(twist), z_i = Rᵀ(0, 0, 1) = (0, sin, cos), s_i constant
in frame i, moments about O_{i-1}, so that ρ_i = s_i + c_i and φ_i × s_i. `together` accumulates α - β as one vector,
since both are rotated by the same R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Rotation, about_axis
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.recursion import Acceleration, by_crosses

SYMBOLS = 15  # per link: cos and sin of its twist, s, mass, centre of mass, inertia about it
GRAVITY = 9.81  # m/s²
Z = UNITS[2]


@dataclass(frozen=True)
class SymbolLink:
    """A link of symbols: rotation by its twist, translation, and inertial parameters."""

    twist: Mat3
    s: Vec3
    mass: Scalar
    com: Vec3
    inertia: Mat3

    @staticmethod
    def of(symbols: Vector) -> SymbolLink:
        """Return the link of `SYMBOLS` scalars."""
        c, s, x, y, z, mass, cx, cy, cz, *inertia = symbols
        twist = Mat3.of([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        return SymbolLink(twist, Vec3(x, y, z), mass, Vec3(cx, cy, cz), Mat3.symmetric(*inertia))


@dataclass(frozen=True)
class LinkMotion:
    """The motion of a link of step 2, and the acceleration of its centre of mass."""

    motion: Acceleration
    acc_com: Vec3


@dataclass(frozen=True)
class Craig:
    """Craig's convention: frame i on joint i; the first frame is that of the base, rotated."""

    name: str = "Craig"

    def links(self, symbols: Vector, n: int) -> list[SymbolLink]:
        """Return the links; the first has no twist and no translation."""
        links = [SymbolLink.of(symbols[SYMBOLS * i : SYMBOLS * (i + 1)]) for i in range(n)]
        first = links[0]
        return [SymbolLink(IDENTITY, ZERO, first.mass, first.com, first.inertia), *links[1:]]

    def rotation(self, link: SymbolLink, q: Scalar) -> Rotation:
        """Return the rotation from link to parent coordinates."""
        return Rotation((link.twist, about_axis(Z, q)))

    def axis(self, link: SymbolLink) -> Vec3:
        """Return the joint axis in link coordinates."""
        return Z

    def motion(self, link: SymbolLink, R: Rotation, parent: Acceleration, v: Scalar, a: Scalar) -> Acceleration:
        """Return the motion of a link from that of its parent."""
        parent_omega = R.T @ parent.omega
        alpha = R.T @ parent.alpha + parent_omega.cross(v * Z) + a * Z
        return Acceleration(parent_omega + v * Z, alpha, R.T @ (parent.acc + by_crosses(parent, link.s)))

    def arms(self, links: Sequence[SymbolLink], i: int) -> tuple[Vec3, Vec3]:
        """Return the vectors from the reference point of link i to its centre of mass and to the next link."""
        return links[i].com, links[i + 1].s if i + 1 < len(links) else ZERO


@dataclass(frozen=True)
class Paul:
    """Paul's convention: frame i on joint i + 1; every link has a twist, a length and an offset."""

    name: str = "Paul"

    def links(self, symbols: Vector, n: int) -> list[SymbolLink]:
        """Return the links."""
        return [SymbolLink.of(symbols[SYMBOLS * i : SYMBOLS * (i + 1)]) for i in range(n)]

    def rotation(self, link: SymbolLink, q: Scalar) -> Rotation:
        """Return the rotation from link to parent coordinates."""
        return Rotation((about_axis(Z, q), link.twist))

    def axis(self, link: SymbolLink) -> Vec3:
        """Return the joint axis in link coordinates."""
        return link.twist.T @ Z

    def motion(self, link: SymbolLink, R: Rotation, parent: Acceleration, v: Scalar, a: Scalar) -> Acceleration:
        """Return the motion of a link from that of its parent."""
        omega = R.T @ (parent.omega + v * Z)
        alpha = R.T @ (parent.alpha + parent.omega.cross(v * Z) + a * Z)
        at_parent = Acceleration(omega, alpha, R.T @ parent.acc)
        return Acceleration(omega, alpha, at_parent.acc + by_crosses(at_parent, link.s))

    def arms(self, links: Sequence[SymbolLink], i: int) -> tuple[Vec3, Vec3]:
        """Return the vectors from the reference point of link i to its centre of mass and to the next link."""
        return links[i].s + links[i].com, links[i].s


Convention = Craig | Paul


@dataclass(frozen=True)
class Steps:
    """The results of the steps."""

    matrices: list[Mat3]
    motions: list[LinkMotion]
    moments: list[Vec3]  # N_i
    A: list[Scalar]
    B: list[Scalar]
    tau: list[Scalar]


def valera(convention: Convention, together: bool, symbols: Vector, q: Vector, v: Vector, a: Vector) -> Steps:
    """Compute the six steps.

    Parameters
    ----------
    convention : convention of frames
    together : whether α - β is accumulated as one vector; A is then zero and B contains everything
    symbols : `SYMBOLS` scalars per link
    q, v, a : joint positions, velocities and accelerations
    """
    links = convention.links(symbols, len(q))
    rotations = [convention.rotation(link, x) for link, x in zip(links, q, strict=True)]  # 1
    motions, motion = [], Acceleration(ZERO, ZERO, Vec3(0.0, 0.0, GRAVITY))
    for link, R, speed, acceleration in zip(links, rotations, v, a, strict=True):  # 2
        motion = convention.motion(link, R, motion, speed, acceleration)
        motions.append(LinkMotion(motion, motion.acc + by_crosses(motion, link.com)))
    moments = [
        link.inertia @ m.motion.alpha + m.motion.omega.cross(link.inertia @ m.motion.omega)
        for link, m in zip(links, motions, strict=True)
    ]
    A, B, tau = [], [], []
    alpha, beta, phi = ZERO, ZERO, ZERO  # of the next link outboard, in the coordinates of this link
    for i in reversed(range(len(links))):
        to_com, to_next = convention.arms(links, i)
        force = links[i].mass * motions[i].acc_com
        beta = force.cross(to_com) + phi.cross(to_next) + beta  # 5
        if together:
            beta = beta - moments[i]
        else:
            alpha = moments[i] + alpha  # 4
        axis = convention.axis(links[i])  # 3
        A.append(axis.dot(alpha))
        B.append(-axis.dot(beta))
        tau.append(A[-1] + B[-1])  # 6
        R = rotations[i]
        alpha, beta, phi = R @ alpha, R @ beta, R @ (force + phi)
    return Steps([R.matrix for R in rotations], motions, moments, A[::-1], B[::-1], tau[::-1])
