"""Inverse dynamics from Kane's equations, after Angeles, Ma and Rojas.

    τₖ = Σᵢ  (∂ċᵢ/∂vₖ)·mᵢc̈ᵢ + (∂ωᵢ/∂vₖ)·(Iᵢω̇ᵢ + ωᵢ × Iᵢωᵢ)                                                     (1)

The partial velocities of joint k are those of one rigid body that turns and slides along its partial, so that the sums
over i ≥ k are gathered by one inward pass. Accelerations of points are taken from the tensor W = ω̇~ + ω~ω~,

    c̈ = s̈ + W c                                                                                              (2)

while Euler's moment stays a vector expression. Cost O(n). Angeles, Ma, Rojas 1989.
"""

from __future__ import annotations

from appell.algebra.scalar import Scalar, Vector
from appell.formulate.centred import centred
from appell.formulate.inward import Outside, joint_forces
from appell.formulate.link_motion import accelerations, steps
from appell.formulate.tree import Tree


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: Outside = None) -> list[Scalar]:
    """τ(q, v, a)."""
    step = steps(tree, q)
    motion = accelerations(tree, step, v, a)
    inertia_forces = {}
    for link in tree.links:
        body, m = centred(link.inertia), motion[link.name]
        force = body.mass * (m.acc + m.W @ body.com)  # (2)
        moment = body.inertia @ m.alpha + m.omega.cross(body.inertia @ m.omega)
        inertia_forces[link.name] = force, moment + body.com.cross(force)
    return joint_forces(tree, step, inertia_forces, wrenches)  # (1)
