"""Forward dynamics by articulated bodies, with all quantities about the world's origin and in world axes.

The recursion is that of `articulated_body`, but without transforms from link to link: inertias, partials and external
wrenches are transformed to the world once, and the terms that a joint passes inward are simply added.

    A_p += A - U D⁻¹ Uᵀ          p_p += p + Aᵃ c + U D⁻¹ (τ - Sᵀ p)                                              (1)
    a' = a_p + c                 v̇ = D⁻¹ (τ - Sᵀ p - Uᵀ a')            a = a' + S v̇                            (2)

It takes more work, and far from the origin large terms cancel: its float32 errors resemble those of the papers'
stability study. Featherstone 1983.
"""

from __future__ import annotations

from appell.algebra.rotation import Pose, Rotation, Twist
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.kinematics import world_poses
from appell.formulate.newton_euler.articulated_body import JointResponse
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Wrench
from appell.formulate.recursion import ExternalWrenches, link_transforms
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import WORLD


def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """a(q, v, τ)."""
    pose = world_poses(tree, link_transforms(tree, q))
    velocity: dict[str | None, Twist] = {WORLD: Twist()}
    partials, drift, body, bias = {}, {}, {}, {}
    for link in tree.links:
        R, x = pose[link.name].rotation, pose[link.name].translation
        partials[link.name] = S = _partials_in_world(link, pose[link.name])
        along = sum((rate * twist for rate, twist in zip(tree.velocity(link, v), S, strict=True)), start=Twist())
        velocity[link.name] = V = velocity[link.parent] + along
        drift[link.name] = V.cross(along)
        body[link.name] = ArticulatedInertia.of(link.inertia).to_parent(Rotation((R,)), x)
        bias[link.name] = (body[link.name] @ V).crossed_by(V)
    for name, (force, moment) in (wrenches or {}).items():
        R, x = pose[name].rotation, pose[name].translation
        bias[name] = bias[name] - Wrench(force, moment).to_parent(Rotation((R,)), x)

    response = {}
    for link in reversed(tree.links):
        A, p, S = body[link.name], bias[link.name], partials[link.name]
        response[link.name] = JointResponse.of(A, p, S, link.rotor, tree.velocity(link, tau))
        if link.parent is not None:
            rest, wrench = response[link.name].passed_inward(A, p, drift[link.name])
            body[link.parent] += rest  # (1)
            bias[link.parent] += wrench

    acceleration: dict[str | None, Twist] = {WORLD: Twist(ZERO, -tree.gravity)}
    along_joints = {}
    for link in tree.links:
        carried = acceleration[link.parent] + drift[link.name]
        along_joints[link.name] = response[link.name].joint_acceleration(carried)  # (2)
        acceleration[link.name] = response[link.name].link_acceleration(carried, along_joints[link.name])
    return tree.gather(along_joints)


def _partials_in_world(link: TreeLink, pose: Pose) -> list[Twist]:
    twists = []
    for p in link.partials:
        b = pose.rotation @ p.angular
        twists.append(Twist(b, pose.rotation @ p.linear + pose.translation.cross(b)))
    return twists
