"""Inverse dynamics from Kane's equations, and the inertia matrix by the natural orthogonal complement.

Inverse dynamics, after Angeles, Ma and Rojas:

    τₖ = Σᵢ  (∂ċᵢ/∂vₖ)·mᵢc̈ᵢ + (∂ωᵢ/∂vₖ)·(Iᵢω̇ᵢ + ωᵢ × Iᵢωᵢ)                                                     (1)

The partial velocities of joint k are those of one rigid body that moves along its partial, so that the sums over i ≥ k
are gathered by one inward pass. Accelerations of points are computed with the tensor W = ω̇~ + ω~ω~,

    c̈ = s̈ + W c                                                                                              (2)

and Euler's moment as a vector expression. Cost O(n). Angeles, Ma, Rojas 1989.

The inertia matrix, after Angeles and Ma: the twists of all bodies, tᵢ = (ωᵢ, ċᵢ), are linear in v, tᵢ = Tᵢ v. The
matrix T is the natural orthogonal complement of the constraint equations of the joints, and

    M = Σᵢ Tᵢᵀ diag(Iᵢ, mᵢ 1) Tᵢ                                                                               (3)

The columns of Tᵢ are the partials, carried outward to the link and then to its centre of mass,

    b ← Rᵀ b        u ← Rᵀ (u + b × s)        ċ: u + b × c                                                      (4)

Each body contributes to every pair of joints inboard of it: cost O(n³). Angeles, Ma 1988.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.centred import centred
from appell.formulate.recursion import ExternalWrenches, accelerations, carried_partials, joint_forces, link_transforms
from appell.formulate.tree import Tree


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a)."""
    transforms = link_transforms(tree, q)
    motion = accelerations(tree, transforms, v, a)
    inertia_forces = {}
    for link in tree.links:
        body, m = centred(link.inertia), motion[link.name]
        force = body.mass * (m.acc + m.W @ body.com)  # (2)
        moment = body.inertia @ m.alpha + m.omega.cross(body.inertia @ m.omega)
        inertia_forces[link.name] = force, moment + body.com.cross(force)
    return joint_forces(tree, transforms, inertia_forces, wrenches)  # (1)


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q)."""
    partials = carried_partials(tree, link_transforms(tree, q))  # (4)
    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        body = centred(link.inertia)
        twists = {
            name: [(p.angular, p.linear + p.angular.cross(body.com)) for p in inboard]
            for name, inboard in partials[link.name].items()
        }
        momenta = {name: [(body.inertia @ b, body.mass * u) for b, u in columns] for name, columns in twists.items()}
        names = list(twists)
        for k, first in enumerate(names):
            for second in names[: k + 1]:
                block = [[b.dot(n) + u.dot(f) for n, f in momenta[second]] for b, u in twists[first]]  # (3)
                blocks[first, second] = _sum(blocks.get((first, second)), block)
    for first, second in list(blocks):
        blocks[second, first] = [list(row) for row in zip(*blocks[first, second], strict=True)]
    return tree.gather_symmetric(blocks)


def _sum(left: list[list[Scalar]] | None, right: list[list[Scalar]]) -> list[list[Scalar]]:
    if left is None:
        return right
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(left, right, strict=True)]
