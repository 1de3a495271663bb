"""The inertia matrix by composite bodies after Walker and Orin, each about its own centre of mass.

All links outboard of joint j move as one body of mass M, centre c and inertia E about the centre:

    M = m + Σ M_c         M c = m c_own + Σ M_c x_c,   x_c = s_c + R_c c_c                                       (1)
    E = I + m d(c_own - c) + Σ (R_c E_c R_cᵀ + M_c d(x_c - c))          d(r) = r·r 1 - r rᵀ                      (2)

A unit acceleration along a partial (b, e) of j requires the force and the moment about O_j

    f = M (e + b × c)     n = E b + c × f                                                                       (3)

They are carried inward; their components along the partials of each joint on the way are column j of the matrix. Cost
O(n²). Walker, Orin 1982, method 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, Vector, is_number
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.centred import Centred, centred
from appell.formulate.recursion import LinkTransform, LinkTransforms, columns_from_wrenches, link_transforms
from appell.formulate.tree import Tree


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q)."""
    transforms = link_transforms(tree, q)
    composite = composites(tree, transforms)
    wrenches = {}
    for link in tree.links:
        body = composite[link.name]
        forces = [body.mass * (p.linear + p.angular.cross(body.com)) for p in link.partials]  # (3)
        moments = [body.inertia @ p.angular + body.com.cross(f) for p, f in zip(link.partials, forces, strict=True)]
        wrenches[link.name] = list(zip(forces, moments, strict=True))
    return columns_from_wrenches(tree, transforms, wrenches)


def composites(tree: Tree, transforms: LinkTransforms) -> dict[str, Centred]:
    """Composite body of each link, about its centre of mass, by (1) and (2)."""
    children: dict[str | None, list[str]] = {}
    bodies: dict[str, Centred] = {}
    for link in reversed(tree.links):
        children.setdefault(link.parent, []).append(link.name)
        body = centred(link.inertia)
        parts = [body] + [_on_parent(bodies[name], transforms[name]) for name in children.get(link.name, ())]
        mass: Scalar = sum((part.mass for part in parts), start=0.0)
        com = ZERO if is_number(mass) and mass == 0.0 else _centre(parts, mass)  # (1)
        inertia = body.inertia + _point_inertia(body.mass, body.com - com)
        for part in parts[1:]:
            inertia = inertia + part.inertia + _point_inertia(part.mass, part.com - com)  # (2)
        bodies[link.name] = Centred(mass, com, inertia)
    return bodies


def _on_parent(body: Centred, transform: LinkTransform) -> Centred:
    return Centred(body.mass, transform.s + transform.R @ body.com, transform.R.conjugate(body.inertia))


def _centre(parts: Sequence[Centred], mass: Scalar) -> Vec3:
    return sum(((part.mass / mass) * part.com for part in parts), start=ZERO)


def _point_inertia(mass: Scalar, arm: Vec3) -> Mat3:
    """m (r·r 1 - r rᵀ), every entry computed once."""
    x, y, z = arm
    scaled = mass * arm
    xx, yy, zz = scaled.x * x, scaled.y * y, scaled.z * z
    return Mat3.symmetric(yy + zz, -(scaled.x * y), -(scaled.x * z), xx + zz, -(scaled.y * z), xx + yy)
