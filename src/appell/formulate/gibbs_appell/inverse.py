"""Inverse dynamics: joint forces are the gradient of the Gibbs function (tensor form).

    S = Σᵢ ½ ∫ |s̈ᵢ + Wᵢ r|² dm            τₖ = ∂S/∂aₖ = Σᵢ ∫ ∂(s̈ᵢ + Wᵢ r)/∂aₖ · (s̈ᵢ + Wᵢ r) dm              (1)

    fᵢ = m s̈ᵢ + Wᵢ h                       nᵢ = h × s̈ᵢ + axial(Wᵢ J)                                       (2)

with h = ∫ r dm and J = ∫ r rᵀ dm about the link's origin, and axial(X) the vector of X - Xᵀ. aₖ moves all links
outboard of its joint as one rigid body, so the sums of (1) are gathered by one inward pass:

    F_p += R F                             X_p += R X + s × R F                                            (3)
    τₖ = angularₖ·X + linearₖ·F                                                                            (4)

Cost O(n). Mata et al. 2002, §4.1, written about the joint origins so that base parameters cost nothing.
"""

from __future__ import annotations

from appell.algebra.matrix import axial_of_product
from appell.algebra.scalar import Scalar, Vector
from appell.formulate.recursion import Acceleration, OfLinks, Outside, Wrench, accelerations, joint_forces, steps
from appell.formulate.tree import Tree
from appell.model.body import Inertia


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> list[Scalar]:
    """τ(q, v, a): the force every degree of freedom must supply, with outside wrenches acting on some links."""
    step = steps(tree, q)
    return joint_forces(tree, step, asked_by_all(tree, accelerations(tree, step, v, a)), wrenches)  # (3), (4)


def asked_by_all(tree: Tree, motion: OfLinks[Acceleration]) -> dict[str, Wrench]:
    """(2) for every link."""
    return {link.name: asked(link.inertia, motion[link.name]) for link in tree.links}


def asked(body: Inertia, motion: Acceleration) -> Wrench:
    """(2): the force and the moment about the origin that a link's matter asks for."""
    acc, W = motion.acc, motion.W
    return body.mass * acc + W @ body.first, body.first.cross(acc) + axial_of_product(W, body.second)


def bias(tree: Tree, q: Vector, v: Vector, wrenches=None) -> list[Scalar]:
    """τ at a = 0: what velocities, gravity and outside wrenches ask for."""
    return inverse_dynamics(tree, q, v, [0.0] * len(v), wrenches)


def gravity(tree: Tree, q: Vector) -> list[Scalar]:
    """τ at v = a = 0: what it takes to stand still."""
    rest = [0.0] * tree.robot.nv
    return inverse_dynamics(tree, q, rest, rest)
