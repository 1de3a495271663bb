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
from appell.formulate.inward import Wrench, along, on_parent
from appell.formulate.link_motion import Acceleration, next_acceleration
from appell.formulate.looped.layout import Layout, begin
from appell.formulate.looped.turns import Part
from appell.model.body import Inertia


def inverse_dynamics(
    layout: Layout, loops: Loops, q: Vector, v: Vector, a: Vector, outside: Mapping[str, Wrench]
) -> list[Scalar]:
    """τ(q, v, a), with outside wrenches on some links, in their aligned frames."""
    parent, motion = layout.passed(loops, 18, _left(Acceleration(ZERO, ZERO, -layout.tree.gravity)))
    kept = layout.by_mount(loops, lambda mount: mount.kept)
    needed = loops.table(len(layout.links) + 1, 6)  # the world's row is the last
    layout.outward(
        loops,
        _move,
        {
            "placement": layout.placements,
            "matter": layout.matter(loops),
            "parent": parent,
            "q": layout.positions(loops, q),
            "v": layout.velocities(loops, v),
            "a": layout.velocities(loops, a),
        },
        {"kept": kept, "motion": motion, "needed": layout.every(needed)},
    )
    _push(layout, loops, needed, outside)
    return _gather(layout, loops, kept, needed)


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


def pushed_forces(layout: Layout, loops: Loops, kept: Part, outside: Mapping[str, Wrench]) -> list[Scalar]:
    """The share of outside wrenches in τ, with the poses of the joints as they were kept."""
    needed = loops.given([[0.0] * 6 for _ in range(len(layout.links) + 1)])
    _push(layout, loops, needed, outside)
    return _gather(layout, loops, kept, needed)


def _push(layout: Layout, loops: Loops, needed, outside: Mapping[str, Wrench]) -> None:
    """Take wrenches from outside off what their links ask for."""
    pushed = [k for k, link in enumerate(layout.links) if link.name in outside]
    if pushed:
        wrenches = loops.given([[*force, *moment] for force, moment in (outside[layout.links[k].name] for k in pushed)])
        rows = Rows(needed, pushed)
        loops.each([_less], [0] * len(pushed), [rows, Rows(wrenches, range(len(pushed)))], [rows])


def _less(needed, wrench):
    return [[x - y for x, y in zip(needed, wrench, strict=True)]]


def _gather(layout: Layout, loops: Loops, kept: Part, needed) -> list[Scalar]:
    """τ for what the links ask for, by one pass inward."""
    n = len(layout.links)
    begin(loops, needed, n, [0.0] * 6)
    parents = [Rows(needed, [k if k >= 0 else n for k in layout.parents])]
    tau = layout.at_joints(loops)
    layout.inward(
        loops,
        _ask,
        {"placement": layout.placements, "kept": kept, "needed": layout.every(needed), "parent": parents},
        {"parent": parents, "tau": tau},
    )
    return layout.gathered(loops, tau)


def _ask(mount, given):
    """τ of the joint, and what the parent is asked for from now on."""
    wrench = Vec3.of(given["needed"][:3]), Vec3.of(given["needed"][3:])
    force, moment = on_parent(mount.step(given["placement"], given["kept"]), wrench)
    parent = [x + y for x, y in zip(given["parent"], (*force, *moment), strict=True)]
    return {"parent": parent, "tau": along(mount.partials, wrench)}
