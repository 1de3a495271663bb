"""Forward dynamics by articulated bodies, with every quantity about the world's origin in the world's axes.

The recursion is that of `articulated_body`, but nothing is carried from link to link: inertias, partials and outside
wrenches are brought to the world once, and what a joint hands inward is simply added.

    A_p += A - U D⁻¹ Uᵀ          p_p += p + Aᵃ c + U D⁻¹ (τ - Sᵀ p)                                              (1)
    a' = a_p + c                 v̇ = D⁻¹ (τ - Sᵀ p - Uᵀ a')            a = a' + S v̇                            (2)

More work at a distance from the origin, where large terms cancel: this is the version whose float32 errors the papers'
stability study resembles. Featherstone 1983.
"""

from __future__ import annotations

from appell.algebra.rotation import Pose, Rotation
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO
from appell.formulate.kinematics import world_poses
from appell.formulate.newton_euler.articulated_body import Answer
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Twist, Wrench
from appell.formulate.recursion import Outside, steps
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import WORLD


def forward_dynamics(tree: Tree, q: Vector, v: Vector, tau: Vector, wrenches: Outside = None) -> list[Scalar]:
    """a(q, v, τ)."""
    pose = world_poses(tree, steps(tree, q))
    velocity: dict[str | None, Twist] = {WORLD: Twist()}
    partials, drift, body, bias = {}, {}, {}, {}
    for link in tree.links:
        place = pose[link.name]
        partials[link.name] = S = _partials_in_world(link, place)
        along = sum((rate * twist for rate, twist in zip(tree.velocity(link, v), S, strict=True)), start=Twist())
        velocity[link.name] = V = velocity[link.parent] + along
        drift[link.name] = V.cross(along)
        body[link.name] = ArticulatedInertia.of(link.inertia).to_parent(Rotation((place.rotation,)), place.translation)
        bias[link.name] = V.cross_wrench(body[link.name] @ V)
    for name, (force, moment) in (wrenches or {}).items():
        place = pose[name]
        outside = Wrench(force, moment).to_parent(Rotation((place.rotation,)), place.translation)
        bias[name] = bias[name] - outside

    answer = {}
    for link in reversed(tree.links):
        A, p, S = body[link.name], bias[link.name], partials[link.name]
        answer[link.name] = Answer.of(A, p, S, link.rotor, tree.velocity(link, tau))
        if link.parent is not None:
            rest, pushed = answer[link.name].handed_on(A, p, drift[link.name])
            body[link.parent] += rest  # (1)
            bias[link.parent] += pushed

    acceleration: dict[str | None, Twist] = {WORLD: Twist(ZERO, -tree.gravity)}
    found = {}
    for link in tree.links:
        carried = acceleration[link.parent] + drift[link.name]
        found[link.name] = answer[link.name].gains(carried)  # (2)
        acceleration[link.name] = answer[link.name].accelerated(carried, found[link.name])
    return tree.gather(found)


def _partials_in_world(link: TreeLink, place: Pose) -> list[Twist]:
    found = []
    for p in link.partials:
        b = place.rotation @ p.angular
        found.append(Twist(b, place.rotation @ p.linear + place.translation.cross(b)))
    return found
