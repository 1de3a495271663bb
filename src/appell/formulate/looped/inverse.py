"""Inverse dynamics as two loops over the links: the algorithm of `gibbs_appell.inverse`, one link per iteration.

    outward      motion of the parent, q, v, a          ->   motion of the link, wrench that its body requires
    inward       wrench required at the link            ->   added to the wrench required at its parent, and τ

The poses of the joints are computed once, stored, and read again in the inward pass. The cost is O(n); the length of
the code is that of one loop body per kind of joint.
"""

from __future__ import annotations

from collections.abc import Mapping

from appell.algebra.loops import Loops, Rows
from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.gibbs_appell.inverse import required_wrench
from appell.formulate.looped.loop_tree import LoopTree, write_row
from appell.formulate.looped.passes import Part
from appell.formulate.recursion import Acceleration, Wrench, along, next_acceleration, on_parent
from appell.model.body import Inertia


def inverse_dynamics(
    loop_tree: LoopTree, loops: Loops, q: Vector, v: Vector, a: Vector, external: Mapping[str, Wrench]
) -> list[Scalar]:
    """τ(q, v, a), with external wrenches on some links, in the aligned frames of the links."""
    world = _motion_row(Acceleration(ZERO, ZERO, -loop_tree.tree.gravity))
    parent, motion = loop_tree.passed_outward(loops, 18, world)
    poses = loop_tree.by_joint_kind(loops, lambda joint: joint.pose_size)
    required = loops.table(len(loop_tree.links) + 1, 6)  # the last row is the world's
    loop_tree.outward(
        loops,
        _move,
        {
            "placement": loop_tree.placements,
            "inertia": loop_tree.inertias(loops),
            "parent": parent,
            "q": loop_tree.positions(loops, q),
            "v": loop_tree.velocities(loops, v),
            "a": loop_tree.velocities(loops, a),
        },
        {"pose": poses, "motion": motion, "required": loop_tree.per_link(required)},
    )
    _subtract_external(loop_tree, loops, required, external)
    return _gather(loop_tree, loops, poses, required)


def _move(joint, given):
    """Pose of the joint, motion of the link, and force and moment that its body requires."""
    placement, row = given["placement"], given["parent"]
    pose = joint.joint_pose(placement, given["q"])
    omega, alpha, acc, *W = (Vec3.of(row[k : k + 3]) for k in range(0, 18, 3))
    motion = next_acceleration(
        joint.transform(placement, pose),
        joint.partials,
        Acceleration(omega, alpha, acc),
        joint.joint_rates(placement, given["v"]),
        joint.joint_rates(placement, given["a"]),
        lambda _, s: Mat3.of(W) @ s,
    )
    force, moment = required_wrench(body_of(given["inertia"]), motion)
    return {"pose": pose, "motion": _motion_row(motion), "required": [*force, *moment]}


def _motion_row(motion: Acceleration) -> list[Scalar]:
    """Motion of a link as its children read it, including W, so that W is computed once."""
    return [*motion.omega, *motion.alpha, *motion.acc, *(x for row in motion.W.rows for x in row)]


def body_of(row: Vector) -> Inertia:
    """Inertia of a row of ten numbers."""
    return Inertia(row[0], Vec3.of(row[1:4]), Mat3.symmetric(*row[4:10]))


def external_joint_forces(
    loop_tree: LoopTree, loops: Loops, poses: Part, external: Mapping[str, Wrench]
) -> list[Scalar]:
    """Contribution of external wrenches to τ, for stored poses of the joints."""
    required = loops.given([[0.0] * 6 for _ in range(len(loop_tree.links) + 1)])
    _subtract_external(loop_tree, loops, required, external)
    return _gather(loop_tree, loops, poses, required)


def _subtract_external(loop_tree: LoopTree, loops: Loops, required, external: Mapping[str, Wrench]) -> None:
    """Subtract external wrenches from those that their links require."""
    loaded = [k for k, link in enumerate(loop_tree.links) if link.name in external]
    if loaded:
        wrenches = loops.given(
            [[*force, *moment] for force, moment in (external[loop_tree.links[k].name] for k in loaded)]
        )
        rows = Rows(required, loaded)
        loops.each([_less], [0] * len(loaded), [rows, Rows(wrenches, range(len(loaded)))], [rows])


def _less(required, wrench):
    return [[x - y for x, y in zip(required, wrench, strict=True)]]


def _gather(loop_tree: LoopTree, loops: Loops, poses: Part, required) -> list[Scalar]:
    """τ for the wrenches that the links require, by one inward pass."""
    n = len(loop_tree.links)
    write_row(loops, required, n, [0.0] * 6)
    parents = [Rows(required, [k if k >= 0 else n for k in loop_tree.parents])]
    tau = loop_tree.joint_table(loops)
    loop_tree.inward(
        loops,
        _ask,
        {"placement": loop_tree.placements, "pose": poses, "required": loop_tree.per_link(required), "parent": parents},
        {"parent": parents, "tau": tau},
    )
    return loop_tree.gather(loops, tau)


def _ask(joint, given):
    """τ of the joint, and the wrench required at the parent with that of the link added."""
    wrench = Vec3.of(given["required"][:3]), Vec3.of(given["required"][3:])
    force, moment = on_parent(joint.transform(given["placement"], given["pose"]), wrench)
    parent = [x + y for x, y in zip(given["parent"], (*force, *moment), strict=True)]
    return {"parent": parent, "tau": along(joint.partials, wrench)}
