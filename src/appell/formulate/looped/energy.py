"""Kinetic and potential energy as loops over the links: the text of `energy`, a link a turn.

For the potential, gravity is carried outward: with g in the axes of a link and L = g·x of its origin x,

    g = Rᵀ g_p            L = L_p + g_p·s            U = -Σ (m L + g·h)                                         (1)

Base parameters would lose the constant part of U, so this takes the bodies themselves.
"""

from __future__ import annotations

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import Vec3
from appell.formulate.energy import doubled_energy
from appell.formulate.looped.arranged import Arranged, begin
from appell.formulate.looped.inverse import body_of
from appell.formulate.looped.turns import Parts, Turn
from appell.formulate.recursion import Velocity, next_velocity


def kinetic_energy(arranged: Arranged, loops: Loops, q: Vector, v: Vector) -> Scalar:
    """T(q, v)."""
    reads = {"q": arranged.positions(loops, q), "v": arranged.velocities(loops, v)}
    return 0.5 * _total(arranged, loops, _add_kinetic, reads, [0.0] * 6)


def potential_energy(arranged: Arranged, loops: Loops, q: Vector) -> Scalar:
    """U(q), zero where the centre of mass is level with the world's origin."""
    start = [*arranged.tree.gravity, 0.0]
    return -_total(arranged, loops, _add_potential, {"q": arranged.positions(loops, q)}, start)


def _total(arranged: Arranged, loops: Loops, turn: Turn, reads: Parts, start: Vector) -> Scalar:
    """The sum that a pass outward adds up, with what it passes on from link to link."""
    parent, passed = arranged.passed(loops, len(start), start)
    table = loops.table(1, 1)
    begin(loops, table, 0, [0.0])
    total = [Rows(table, [0] * len(arranged.links))]
    own = {"placement": arranged.placements, "matter": arranged.matter(loops), "parent": parent, "total": total}
    arranged.outward(loops, turn, {**own, **reads}, {"passed": passed, "total": total})
    return loops.values(table)[0][0]


def _step(mount, given):
    return mount.step(given["placement"], mount.keep(given["placement"], given["q"]))


def _add_kinetic(mount, given):
    """The velocity of the link, and 2 T of all links so far."""
    parent = Velocity(Vec3.of(given["parent"][:3]), Vec3.of(given["parent"][3:]))
    rates = mount.share(given["placement"], given["v"])
    velocity = next_velocity(_step(mount, given), mount.partials, parent, rates)
    total = given["total"][0] + doubled_energy(body_of(given["matter"]), velocity)
    return {"passed": [*velocity.omega, *velocity.linear], "total": [total]}


def _add_potential(mount, given):
    """(1)."""
    (*gravity, level), body, step = given["parent"], body_of(given["matter"]), _step(mount, given)
    own, height = step.R.T @ Vec3.of(gravity), level + Vec3.of(gravity).dot(step.s)
    total = given["total"][0] + (body.mass * height + own.dot(body.first))
    return {"passed": [*own, height], "total": [total]}
