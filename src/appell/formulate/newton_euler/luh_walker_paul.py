"""Inverse dynamics after Luh, Walker and Paul: Newton's and Euler's equations of every link, in link coordinates.

    r̈ = s̈ + ω̇ × c + ω × (ω × c)                                                                             (1)
    F = m r̈                      N = I ω̇ + ω × I ω                about the centre of mass                    (2)

Forces and moments between the links follow from the tips inward,

    f_p += R f                   n_p += R n + s × R f             f = F + …,   n = N + c × F + …               (3)

and the actuator of a joint supplies their component along its axis. Cost O(n). Luh, Walker, Paul 1980, with vector
products throughout.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.centred import centred
from appell.formulate.recursion import ExternalWrenches, accelerations, by_crosses, joint_forces, link_transforms
from appell.formulate.tree import Tree


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a)."""
    transforms = link_transforms(tree, q)
    motion = accelerations(tree, transforms, v, a, by_crosses)
    required = {}
    for link in tree.links:
        body, m = centred(link.inertia), motion[link.name]
        force = body.mass * (m.acc + by_crosses(m, body.com))  # (1), (2)
        moment = body.inertia @ m.alpha + m.omega.cross(body.inertia @ m.omega)
        required[link.name] = force, moment + body.com.cross(force)
    return joint_forces(tree, transforms, required, wrenches)  # (3)
