"""Kinetic and potential energy as loops over the links: the algorithms of `formulate.energy`, one link per iteration.

For the potential energy, gravity is carried outward: with g in the axes of a link and L = g·x of its origin x,

    g = Rᵀ g_p            L = L_p + g_p·s            U = -Σ (m L + g·h)                                         (1)

Base parameters would lose the constant part of U, so this uses the bodies themselves.
"""

from __future__ import annotations

from appell.algebra.loops import Loops, Rows
from appell.algebra.rotation import Twist
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.formulate.energy import doubled_energy
from appell.formulate.looped.inverse import body_of
from appell.formulate.looped.loop_tree import LoopTree, write_row
from appell.formulate.looped.passes import Parts, Visit
from appell.formulate.recursion import next_velocity


def kinetic_energy(loop_tree: LoopTree, loops: Loops, q: Vector, v: Vector) -> Scalar:
    """T(q, v)."""
    reads = {"q": loop_tree.positions(loops, q), "v": loop_tree.velocities(loops, v)}
    return 0.5 * _total(loop_tree, loops, _add_kinetic, reads, [0.0] * 6)


def potential_energy(loop_tree: LoopTree, loops: Loops, q: Vector) -> Scalar:
    """U(q), zero where the centre of mass is level with the world's origin."""
    start = [*loop_tree.tree.gravity, 0.0]
    return -_total(loop_tree, loops, _add_potential, {"q": loop_tree.positions(loops, q)}, start)


def _total(loop_tree: LoopTree, loops: Loops, visit: Visit, reads: Parts, start: Vector) -> Scalar:
    """Sum that the visits of an outward pass accumulate; `start` is the value that the world passes to its children."""
    parent, passed = loop_tree.passed_outward(loops, len(start), start)
    table = loops.table(1, 1)
    write_row(loops, table, 0, [0.0])
    total = [Rows(table, [0] * len(loop_tree.links))]
    common = {
        "placement": loop_tree.placements,
        "inertia": loop_tree.inertias(loops),
        "parent": parent,
        "total": total,
    }
    loop_tree.outward(loops, visit, {**common, **reads}, {"passed": passed, "total": total})
    return loops.values(table)[0][0]


def _transform(joint, given):
    return joint.transform(given["placement"], joint.joint_pose(given["placement"], given["q"]))


def _add_kinetic(joint, given):
    """Velocity of the link, and 2 T of all links so far."""
    parent = Twist(Vec3.of(given["parent"][:3]), Vec3.of(given["parent"][3:]))
    rates = joint.joint_rates(given["placement"], given["v"])
    velocity = next_velocity(_transform(joint, given), joint.partials, parent, rates)
    total = given["total"][0] + doubled_energy(body_of(given["inertia"]), velocity)
    return {"passed": [*velocity.angular, *velocity.linear], "total": [total]}


def _add_potential(joint, given):
    """Equation (1)."""
    (*gravity, level), body, transform = given["parent"], body_of(given["inertia"]), _transform(joint, given)
    link_gravity, height = transform.R.T @ Vec3.of(gravity), level + Vec3.of(gravity).dot(transform.s)
    total = given["total"][0] + (body.mass * height + link_gravity.dot(body.first))
    return {"passed": [*link_gravity, height], "total": [total]}
