"""Inverse dynamics: joint forces as the gradient of the Gibbs function (tensor form).

    S = Σᵢ ½ ∫ |s̈ᵢ + Wᵢ r|² dm            τₖ = ∂S/∂aₖ = Σᵢ ∫ ∂(s̈ᵢ + Wᵢ r)/∂aₖ · (s̈ᵢ + Wᵢ r) dm              (1)

    fᵢ = m s̈ᵢ + Wᵢ h                       nᵢ = h × s̈ᵢ + axial(Wᵢ J)                                       (2)

with h = ∫ r dm and J = ∫ r rᵀ dm about the link's origin, and axial(X) the vector of X - Xᵀ. aₖ moves all links
outboard of its joint as one rigid body, so the sums of (1) are gathered by one inward pass:

    F_p += R F                             X_p += R X + s × R F                                            (3)
    τₖ = angularₖ·X + linearₖ·F                                                                            (4)

Cost O(n). Mata et al. 2002, §4.1, formulated about the joint origins so that base parameters can be used at no cost.
"""

from __future__ import annotations

from appell.algebra.matrix import axial_of_product
from appell.algebra.scalar import Scalar, Vector
from appell.formulate.recursion import (
    Acceleration,
    ExternalWrenches,
    PerLink,
    Wrench,
    accelerations,
    joint_forces,
    link_transforms,
)
from appell.formulate.tree import Tree
from appell.model.body import Inertia


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a): force required along every degree of freedom, with external wrenches on some links."""
    transforms = link_transforms(tree, q)
    return joint_forces(
        tree, transforms, required_wrenches(tree, accelerations(tree, transforms, v, a)), wrenches
    )  # (3), (4)


def required_wrenches(tree: Tree, motion: PerLink[Acceleration]) -> dict[str, Wrench]:
    """(2) for every link."""
    return {link.name: required_wrench(link.inertia, motion[link.name]) for link in tree.links}


def required_wrench(body: Inertia, motion: Acceleration) -> Wrench:
    """Force, and moment about the origin, that the motion of a body requires, by (2)."""
    acc, W = motion.acc, motion.W
    return body.mass * acc + W @ body.first, body.first.cross(acc) + axial_of_product(W, body.second)
