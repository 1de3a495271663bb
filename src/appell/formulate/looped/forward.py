"""Forward dynamics as three loops over the links, one link per iteration, as in `newton_euler.articulated_body`.

    outward      velocity of the parent, q, v                    ->   velocity of the link
    inward       articulated body of the link, τ                 ->   that of its parent, and the joint's response
    outward      acceleration of the parent, joint's response    ->   acceleration of the link, v̇

An articulated body is passed from link to link in a row that is reused after its link has been visited: the first child
that passes something on writes the row of its parent, others add to it. Cost O(n), without an inertia matrix.
"""

from __future__ import annotations

from collections.abc import Mapping

from appell.algebra.loops import Loops, Rows
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Twist
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.looped.inverse import body_of, external_joint_forces
from appell.formulate.looped.joint_kinds import JointKind
from appell.formulate.looped.loop_tree import LoopTree, write_row
from appell.formulate.looped.passes import Part
from appell.formulate.newton_euler.articulated_body import JointResponse
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Wrench
from appell.formulate.recursion import Wrench as Pair
from appell.formulate.recursion import joint_twist

EMPTY_ROW = 0  # row of an articulated body without inertia, for links without children


def forward_dynamics(
    loop_tree: LoopTree, loops: Loops, q: Vector, v: Vector, tau: Vector, external: Mapping[str, Pair]
) -> list[Scalar]:
    """a(q, v, τ), with external wrenches on some links, in the aligned frames of the links."""
    n = len(loop_tree.links)
    velocity = loops.table(n + 1, 6)  # the last row is the world's
    write_row(loops, velocity, n, [0.0] * 6)
    common = {
        "placement": loop_tree.placements,
        "v": loop_tree.velocities(loops, v),
        "pose": loop_tree.by_joint_kind(loops, lambda joint: joint.pose_size),
        "velocity": loop_tree.per_link(velocity),
    }
    loop_tree.outward(
        loops,
        _move,
        {
            "placement": common["placement"],
            "q": loop_tree.positions(loops, q),
            "v": common["v"],
            "parent": [Rows(velocity, [k if k >= 0 else n for k in loop_tree.parents])],
        },
        {"pose": common["pose"], "velocity": common["velocity"]},
    )
    if external:
        added = external_joint_forces(loop_tree, loops, common["pose"], external)
        tau = [x - y for x, y in zip(tau, added, strict=True)]

    response = loop_tree.by_joint_kind(loops, _response_size)
    outboard, earlier, parent = _articulated_rows(loop_tree, loops)
    loop_tree.inward(
        loops,
        _answer,
        {
            **common,
            "inertia": loop_tree.inertias(loops),
            "rotor": [[link.rotor] for link in loop_tree.links],
            "tau": loop_tree.velocities(loops, tau),
            "outboard": outboard,
            "earlier": earlier,
        },
        {"response": response, "parent": parent},
    )

    of_parents, of_links = loop_tree.passed_outward(loops, 6, (*ZERO, *(-loop_tree.tree.gravity)))
    joint_accelerations = loop_tree.joint_table(loops)
    loop_tree.outward(
        loops,
        _accelerate,
        {**common, "response": response, "parent": of_parents},
        {"acceleration": of_links, "joint acceleration": joint_accelerations},
    )
    return loop_tree.gather(loops, joint_accelerations)


def _move(joint, given):
    """Pose of the joint and velocity of the link."""
    placement = given["placement"]
    pose = joint.joint_pose(placement, given["q"])
    transform = joint.transform(placement, pose)
    V = _twist(given["parent"]).to_inner(transform.R, transform.s) + _relative(joint, given)
    return {"pose": pose, "velocity": _row(V)}


def _answer(joint, given):
    """Response of the joint, and the articulated body and bias wrench that the link passes to its parent."""
    body, V = ArticulatedInertia.of(body_of(given["inertia"])), _twist(given["velocity"])
    joint_velocity = _relative(joint, given)
    outboard, outboard_wrench = _articulated_of(given["outboard"])
    A, p = body + outboard, (body @ V).crossed_by(V) + outboard_wrench
    forces = joint.joint_rates(given["placement"], given["tau"])
    response = JointResponse.of(A, p, joint.partials, given["rotor"][0], forces)
    transform = joint.transform(given["placement"], given["pose"])
    rest, wrench = response.passed_inward(A, p, V.cross(joint_velocity))
    passed = _articulated_row(rest.to_parent(transform.R, transform.s), wrench.to_parent(transform.R, transform.s))
    if given["earlier"]:
        passed = [x + y for x, y in zip(passed, given["earlier"], strict=True)]
    return {"response": _response_row(response), "parent": passed}


def _accelerate(joint, given):
    """Acceleration of the link, and along its joint."""
    response = _response_of(joint, given["response"])
    transform = joint.transform(given["placement"], given["pose"])
    drift = _twist(given["velocity"]).cross(_relative(joint, given))
    carried = _twist(given["parent"]).to_inner(transform.R, transform.s) + drift
    along_joint = response.joint_acceleration(carried)
    return {
        "acceleration": _row(response.link_acceleration(carried, along_joint)),
        "joint acceleration": along_joint,
    }


def _relative(joint: JointKind, given) -> Twist:
    return joint_twist(joint.partials, joint.joint_rates(given["placement"], given["v"]))


# ---- rows


def _articulated_rows(loop_tree: LoopTree, loops: Loops) -> tuple[Part, Part, Part]:
    """Rows of articulated bodies: each link's own, its parent's if another child has written it, its parent's."""
    rows: dict[int, int] = {}
    free: list[int] = []
    size = EMPTY_ROW + 1
    of_link: list[int | None] = [None] * len(loop_tree.links)
    earlier, of_parent = list(of_link), list(of_link)
    for k in range(len(loop_tree.links))[::-1]:
        of_link[k] = rows.get(k, EMPTY_ROW)
        free += [rows[k]] if k in rows else []
        inboard = loop_tree.parents[k]
        if inboard < 0:
            continue
        if inboard in rows:
            earlier[k] = rows[inboard]
        elif free:
            rows[inboard] = free.pop()
        else:
            rows[inboard], size = size, size + 1
        of_parent[k] = rows[inboard]
    table = loops.table(size, 27)
    write_row(loops, table, EMPTY_ROW, [0.0] * 27)
    return [Rows(table, of_link)], [Rows(table, earlier)], [Rows(table, of_parent)]


def _articulated_row(A: ArticulatedInertia, p: Wrench) -> list[Scalar]:
    return [*A.I.upper, *(x for row in A.H.rows for x in row), *A.M.upper, *p.force, *p.moment]


def _articulated_of(row: Vector) -> tuple[ArticulatedInertia, Wrench]:
    H = Mat3.of([row[6:9], row[9:12], row[12:15]])
    A = ArticulatedInertia(Mat3.symmetric(*row[0:6]), H, Mat3.symmetric(*row[15:21]))
    return A, Wrench(Vec3.of(row[21:24]), Vec3.of(row[24:27]))


def _response_size(joint: JointKind) -> int:
    return 6 * joint.nv + joint.nv * (joint.nv + 1) // 2 + joint.nv


def _response_row(response: JointResponse) -> list[Scalar]:
    U = [x for wrench in response.U for x in (*wrench.force, *wrench.moment)]
    lower = [x for k, row in enumerate(response.D.lower) for x in row[:k]]
    return [*U, *lower, *response.D.inverse_pivots, *response.net]


def _response_of(joint: JointKind, row: Vector) -> JointResponse:
    n, entries = joint.nv, iter(row)
    U = [Wrench(Vec3(*(next(entries) for _ in range(3))), Vec3(*(next(entries) for _ in range(3)))) for _ in range(n)]
    lower = [[next(entries) if i < k else 0.0 for i in range(n)] for k in range(n)]
    pivots = [next(entries) for _ in range(n)]
    net = [next(entries) for _ in range(n)]
    return JointResponse(joint.partials, U, LDL(lower, pivots), net)


def _twist(row: Vector) -> Twist:
    return Twist(Vec3.of(row[:3]), Vec3.of(row[3:]))


def _row(twist: Twist) -> list[Scalar]:
    return [*twist.angular, *twist.linear]
