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

from collections.abc import Mapping

from appell.algebra.matrix import axial_of_product
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.inward import Outside
from appell.formulate.link_motion import Acceleration, Step, accelerations, steps
from appell.formulate.tree import Tree
from appell.model.frame import WORLD


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> list[Scalar]:
    """τ(q, v, a): the force every degree of freedom must supply, with outside wrenches acting on some links."""
    step = steps(tree, q)
    force, moment = outboard_forces(tree, step, accelerations(tree, step, v, a), wrenches)
    tau = {}
    for link in tree.links:
        f, n = force[link.name], moment[link.name]
        tau[link.name] = [p.angular.dot(n) + p.linear.dot(f) for p in link.partials]  # (4)
    return tree.gather(tau)


def outboard_forces(
    tree: Tree, step: dict[str, Step], motion: Mapping[str | None, Acceleration], wrenches: Outside
) -> tuple[dict[str | None, Vec3], dict[str | None, Vec3]]:
    """F and X of every link: what the matter at it and outboard of it asks for, less what acts on it from outside."""
    force: dict[str | None, Vec3] = {WORLD: ZERO}  # the world's entry ends as the force on the ground
    moment: dict[str | None, Vec3] = {WORLD: ZERO}
    for link in tree.links:
        body, acc, W = link.inertia, motion[link.name].acc, motion[link.name].W
        force[link.name] = body.mass * acc + W @ body.first  # (2)
        moment[link.name] = body.first.cross(acc) + axial_of_product(W, body.second)
    for name, (outside_force, outside_moment) in (wrenches or {}).items():
        force[name], moment[name] = force[name] - outside_force, moment[name] - outside_moment

    for link in reversed(tree.links):
        R, s = step[link.name].R, step[link.name].s
        f_parent = R @ force[link.name]
        force[link.parent] += f_parent  # (3)
        moment[link.parent] += R @ moment[link.name] + s.cross(f_parent)
    return force, moment


def bias(tree: Tree, q: Vector, v: Vector, wrenches=None) -> list[Scalar]:
    """τ at a = 0: what velocities, gravity and outside wrenches ask for."""
    return inverse_dynamics(tree, q, v, [0.0] * len(v), wrenches)


def gravity(tree: Tree, q: Vector) -> list[Scalar]:
    """τ at v = a = 0: what it takes to stand still."""
    rest = [0.0] * tree.robot.nv
    return inverse_dynamics(tree, q, rest, rest)
