"""Inverse dynamics as two loops over the links: the text of `gibbs_appell.inverse`, a link a turn.

    outward      motion of the parent, q, v, a          ->   motion of the link, what its matter asks for
    inward       what is asked for at the link          ->   added to what is asked for at its parent, and τ

What the joints' poses are kept as is computed once and read again on the way back. Cost O(n), and code as long as one
step for each kind of joint.
"""

from __future__ import annotations

from collections.abc import Mapping

from appell.algebra.loops import Loops, Rows
from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.gibbs_appell.inverse import asked
from appell.formulate.looped.arranged import Arranged, begin
from appell.formulate.looped.turns import Part
from appell.formulate.recursion import Acceleration, Wrench, along, next_acceleration, on_parent
from appell.model.body import Inertia


def inverse_dynamics(
    arranged: Arranged, loops: Loops, q: Vector, v: Vector, a: Vector, outside: Mapping[str, Wrench]
) -> list[Scalar]:
    """τ(q, v, a), with outside wrenches on some links, in their aligned frames."""
    parent, motion = arranged.passed(loops, 18, _left(Acceleration(ZERO, ZERO, -arranged.tree.gravity)))
    kept = arranged.by_mount(loops, lambda mount: mount.kept)
    needed = loops.table(len(arranged.links) + 1, 6)  # the world's row is the last
    arranged.outward(
        loops,
        _move,
        {
            "placement": arranged.placements,
            "matter": arranged.matter(loops),
            "parent": parent,
            "q": arranged.positions(loops, q),
            "v": arranged.velocities(loops, v),
            "a": arranged.velocities(loops, a),
        },
        {"kept": kept, "motion": motion, "needed": arranged.every(needed)},
    )
    _push(arranged, loops, needed, outside)
    return _gather(arranged, loops, kept, needed)


def _move(mount, given):
    """The pose of the joint, the motion of the link, and the force and moment its matter asks for."""
    placement, left = given["placement"], given["parent"]
    kept = mount.keep(placement, given["q"])
    omega, alpha, acc, *W = (Vec3.of(left[k : k + 3]) for k in range(0, 18, 3))
    motion = next_acceleration(
        mount.step(placement, kept),
        mount.partials,
        Acceleration(omega, alpha, acc),
        mount.share(placement, given["v"]),
        mount.share(placement, given["a"]),
        lambda _, s: Mat3.of(W) @ s,
    )
    force, moment = asked(body_of(given["matter"]), motion)
    return {"kept": kept, "motion": _left(motion), "needed": [*force, *moment]}


def _left(motion: Acceleration) -> list[Scalar]:
    """What the children of a link need of its motion; W too, which is not to be made twice."""
    return [*motion.omega, *motion.alpha, *motion.acc, *(x for row in motion.W.rows for x in row)]


def body_of(matter: Vector) -> Inertia:
    """The body of a row of ten numbers."""
    return Inertia(matter[0], Vec3.of(matter[1:4]), Mat3.symmetric(*matter[4:10]))


def pushed_forces(arranged: Arranged, loops: Loops, kept: Part, outside: Mapping[str, Wrench]) -> list[Scalar]:
    """The share of outside wrenches in τ, with the poses of the joints as they were kept."""
    needed = loops.given([[0.0] * 6 for _ in range(len(arranged.links) + 1)])
    _push(arranged, loops, needed, outside)
    return _gather(arranged, loops, kept, needed)


def _push(arranged: Arranged, loops: Loops, needed, outside: Mapping[str, Wrench]) -> None:
    """Take wrenches from outside off what their links ask for."""
    pushed = [k for k, link in enumerate(arranged.links) if link.name in outside]
    if pushed:
        wrenches = loops.given(
            [[*force, *moment] for force, moment in (outside[arranged.links[k].name] for k in pushed)]
        )
        rows = Rows(needed, pushed)
        loops.each([_less], [0] * len(pushed), [rows, Rows(wrenches, range(len(pushed)))], [rows])


def _less(needed, wrench):
    return [[x - y for x, y in zip(needed, wrench, strict=True)]]


def _gather(arranged: Arranged, loops: Loops, kept: Part, needed) -> list[Scalar]:
    """τ for what the links ask for, by one pass inward."""
    n = len(arranged.links)
    begin(loops, needed, n, [0.0] * 6)
    parents = [Rows(needed, [k if k >= 0 else n for k in arranged.parents])]
    tau = arranged.at_joints(loops)
    arranged.inward(
        loops,
        _ask,
        {"placement": arranged.placements, "kept": kept, "needed": arranged.every(needed), "parent": parents},
        {"parent": parents, "tau": tau},
    )
    return arranged.gathered(loops, tau)


def _ask(mount, given):
    """τ of the joint, and what the parent is asked for from now on."""
    wrench = Vec3.of(given["needed"][:3]), Vec3.of(given["needed"][3:])
    force, moment = on_parent(mount.step(given["placement"], given["kept"]), wrench)
    parent = [x + y for x, y in zip(given["parent"], (*force, *moment), strict=True)]
    return {"parent": parent, "tau": along(mount.partials, wrench)}
