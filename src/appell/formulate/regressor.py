"""The regressor: joint forces are linear in the inertial parameters, τ = Y(q, v, a) π.

π has ten parameters per link, [m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the link's origin. With f = m s̈ + W h and
n = h × s̈ + I ω̇ + ω × I ω, their columns are

    m:    f = s̈,     n = 0            h_x:  f = W x,   n = x × s̈           I_ab:  f = 0,  n = E ω̇ + ω × E ω         (1)

with E the symmetric unit matrix of ab. The entry of a joint k at the link or inboard of it, whose unit motion at the
link is (b, u), is u·f + b·n. Cost O(n²). Valera et al. 2003, §5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.recursion import Acceleration, accelerations, carried_partials, link_transforms
from appell.formulate.tree import Tree

SYMBOLS = {
    **{"rotor": "Ia", "coulomb": "fc", "static": "fs", "viscous": "fv", "offset": "fo", "stiffness": "k"},
    **{"motor": "Im", "damping": "d", "hardening": "k3"},  # of elastic joints
}
UNIT_INERTIAS = tuple(
    Mat3.of([[1.0 if (a, b) in ((i, j), (j, i)) else 0.0 for b in range(3)] for a in range(3)])
    for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
)


@dataclass(frozen=True)
class Parameter:
    """A column of the regressor: name and kind of the parameter, its body or joint, and its value."""

    name: str  # Izz2, fv3: symbol of the kind, and number of the body or drive, from 1
    kind: str
    owner: str
    value: float

    def __str__(self) -> str:
        return f"{self.name} ('{self.owner}')"


def regressor(tree: Tree, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> list[list[Scalar]]:
    """Y(q, v, a) with nv rows and ten columns per link, or some of its columns."""
    transforms = link_transforms(tree, q)
    motion, partials = accelerations(tree, transforms, v, a), carried_partials(tree, transforms)
    selected = set(range(10 * len(tree.links)) if columns is None else columns)
    rows: list[list[Scalar]] = [[] for _ in range(tree.robot.nv)]
    for index, link in enumerate(tree.links):
        for k, (f, n) in enumerate(columns_of_body(motion[link.name])):
            if 10 * index + k not in selected:
                continue
            forces = {
                name: [p.linear.dot(f) + p.angular.dot(n) for p in inboard]
                for name, inboard in partials[link.name].items()
            }
            absent = {other.name: [0.0] * len(other.partials) for other in tree.links if other.name not in forces}
            for row, entry in zip(rows, tree.gather(forces | absent), strict=True):
                row.append(entry)
    return rows


def columns_of_body(motion: Acceleration) -> list[tuple[Vec3, Vec3]]:
    """f and n of (1), in the order of the parameters."""
    omega, alpha, acc = motion.omega, motion.alpha, motion.acc
    mass = [(acc, ZERO)]
    first = [(motion.W @ unit, unit.cross(acc)) for unit in UNITS]
    inertia = [(ZERO, E @ alpha + omega.cross(E @ omega)) for E in UNIT_INERTIAS]
    return mass + first + inertia
