"""Valera's six steps as they are written, for a chain of n revolute joints of symbols, in two conventions of frames.

    1  R_i, s_i                                                                  rotations and translations
    2  ω_i, ω̇_i, r̈_i                                                             velocities and accelerations
    3  z_i = ∂ω̇_i/∂q̈_i                                                           the joint's axis in link coordinates
    4  α_i = N_i + R_{i+1} α_{i+1},      N_i = I_i ω̇_i + ω_i × I_i ω_i,           A_i = z_i·α_i
    5  β_i = m_i r̈_i × ρ_i + φ_i × s_{i+1} + R_{i+1} β_{i+1},                    B_i = -z_i·β_i
       φ_i = R_{i+1} (m_{i+1} r̈_{i+1} + φ_{i+1})
    6  τ_i = A_i + B_i

Craig puts frame i on joint i: R = Rx(twist) Rz(q), z_i = (0, 0, 1), ρ_i = c_i the centre of mass from O_i, s_{i+1}
constant in frame i. Paul puts it on joint i + 1: R = Rz(q) Rx(twist), z_i = Rᵀ(0, 0, 1) = (0, sin, cos), s_i constant
in frame i, moments about O_{i-1}, so that ρ_i = s_i + c_i and φ_i × s_i. `together` gathers α - β, which turn with the
same R, as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Rotation, about_axis
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.recursion import Acceleration, by_crosses

SYMBOLS = 15  # a link: cos and sin of its twist, s, mass, centre of mass, inertia about it
GRAVITY = 9.81
Z = UNITS[2]


@dataclass(frozen=True)
class SymbolLink:
    """A link of symbols: its rotation, its translation, its body."""

    twist: Mat3
    s: Vec3
    mass: Scalar
    com: Vec3
    inertia: Mat3

    @staticmethod
    def of(symbols: Vector) -> SymbolLink:
        c, s, x, y, z, mass, cx, cy, cz, *inertia = symbols
        twist = Mat3.of([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        return SymbolLink(twist, Vec3(x, y, z), mass, Vec3(cx, cy, cz), Mat3.symmetric(*inertia))


@dataclass(frozen=True)
class Moved:
    """A link in motion: step 2, and the acceleration of its centre of mass."""

    motion: Acceleration
    acc_com: Vec3


@dataclass(frozen=True)
class Craig:
    """Frame i on joint i; the first frame is the base's, turned."""

    name: str = "Craig"

    def parts(self, symbols: Vector, n: int) -> list[SymbolLink]:
        own = [SymbolLink.of(symbols[SYMBOLS * i : SYMBOLS * (i + 1)]) for i in range(n)]
        first = own[0]
        return [SymbolLink(IDENTITY, ZERO, first.mass, first.com, first.inertia), *own[1:]]

    def rotation(self, part: SymbolLink, q: Scalar) -> Rotation:
        return Rotation((part.twist, about_axis(Z, q)))

    def axis(self, part: SymbolLink) -> Vec3:
        return Z

    def moved(self, part: SymbolLink, R: Rotation, parent: Acceleration, v: Scalar, a: Scalar) -> Acceleration:
        carried = R.T @ parent.omega
        alpha = R.T @ parent.alpha + carried.cross(v * Z) + a * Z
        return Acceleration(carried + v * Z, alpha, R.T @ (parent.acc + by_crosses(parent, part.s)))

    def arms(self, parts: Sequence[SymbolLink], i: int) -> tuple[Vec3, Vec3]:
        """From the point about which link i's moments are taken: its centre of mass, and the link outboard."""
        return parts[i].com, parts[i + 1].s if i + 1 < len(parts) else ZERO


@dataclass(frozen=True)
class Paul:
    """Frame i on joint i + 1; every link has a twist, a length and an offset."""

    name: str = "Paul"

    def parts(self, symbols: Vector, n: int) -> list[SymbolLink]:
        return [SymbolLink.of(symbols[SYMBOLS * i : SYMBOLS * (i + 1)]) for i in range(n)]

    def rotation(self, part: SymbolLink, q: Scalar) -> Rotation:
        return Rotation((about_axis(Z, q), part.twist))

    def axis(self, part: SymbolLink) -> Vec3:
        return part.twist.T @ Z

    def moved(self, part: SymbolLink, R: Rotation, parent: Acceleration, v: Scalar, a: Scalar) -> Acceleration:
        omega = R.T @ (parent.omega + v * Z)
        alpha = R.T @ (parent.alpha + parent.omega.cross(v * Z) + a * Z)
        turned = Acceleration(omega, alpha, R.T @ parent.acc)
        return Acceleration(omega, alpha, turned.acc + by_crosses(turned, part.s))

    def arms(self, parts: Sequence[SymbolLink], i: int) -> tuple[Vec3, Vec3]:
        return parts[i].s + parts[i].com, parts[i].s


Convention = Craig | Paul


@dataclass(frozen=True)
class Steps:
    """What each step leaves behind."""

    matrices: list[Mat3]
    moved: list[Moved]
    own: list[Vec3]  # N_i
    A: list[Scalar]
    B: list[Scalar]
    tau: list[Scalar]


def valera(convention: Convention, together: bool, symbols: Vector, q: Vector, v: Vector, a: Vector) -> Steps:
    """The six steps; with `together`, A holds nothing and B all."""
    parts = convention.parts(symbols, len(q))
    rotations = [convention.rotation(part, x) for part, x in zip(parts, q, strict=True)]  # 1
    moved, at = [], Acceleration(ZERO, ZERO, Vec3(0.0, 0.0, GRAVITY))
    for part, R, speed, gain in zip(parts, rotations, v, a, strict=True):  # 2
        at = convention.moved(part, R, at, speed, gain)
        moved.append(Moved(at, at.acc + by_crosses(at, part.com)))
    own = [
        part.inertia @ m.motion.alpha + m.motion.omega.cross(part.inertia @ m.motion.omega)
        for part, m in zip(parts, moved, strict=True)
    ]
    A, B, tau = [], [], []
    alpha, beta, phi = ZERO, ZERO, ZERO  # of the link outboard, in this link's coordinates
    for i in reversed(range(len(parts))):
        to_com, to_next = convention.arms(parts, i)
        force = parts[i].mass * moved[i].acc_com
        beta = force.cross(to_com) + phi.cross(to_next) + beta  # 5
        if together:
            beta = beta - own[i]
        else:
            alpha = own[i] + alpha  # 4
        axis = convention.axis(parts[i])  # 3
        A.append(axis.dot(alpha))
        B.append(-axis.dot(beta))
        tau.append(A[-1] + B[-1])  # 6
        R = rotations[i]
        alpha, beta, phi = R @ alpha, R @ beta, R @ (force + phi)
    return Steps([R.matrix for R in rotations], moved, own, A[::-1], B[::-1], tau[::-1])
