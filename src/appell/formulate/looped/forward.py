"""Forward dynamics as three loops over the links: the text of `newton_euler.articulated_body`, a link a turn.

    outward      velocity of the parent, q, v                    ->   velocity of the link
    inward       articulated body of the link, τ                 ->   that of its parent, and how the joint answers
    outward      acceleration of the parent, the joint's answer  ->   acceleration of the link, v̇

An articulated body is handed from link to link in a row that is free again when its link has taken its turn: the first
child that hands something on writes the row of its parent, others add to it. Cost O(n), and no inertia matrix.
"""

from __future__ import annotations

from collections.abc import Mapping

from appell.algebra.loops import Loops, Rows
from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.solve import LDL
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.looped.arranged import Arranged, begin
from appell.formulate.looped.inverse import body_of, pushed_forces
from appell.formulate.looped.mounts import Mount
from appell.formulate.looped.turns import Part
from appell.formulate.newton_euler.articulated_body import Answer, relative
from appell.formulate.newton_euler.spatial import ArticulatedInertia, Twist, Wrench
from appell.formulate.recursion import Wrench as Pair

NOTHING = 0  # the row of an articulated body that is none


def forward_dynamics(
    arranged: Arranged, loops: Loops, q: Vector, v: Vector, tau: Vector, outside: Mapping[str, Pair]
) -> list[Scalar]:
    """a(q, v, τ), with outside wrenches on some links, in their aligned frames."""
    n = len(arranged.links)
    velocity = loops.table(n + 1, 6)  # the world's row is the last
    begin(loops, velocity, n, [0.0] * 6)
    common = {
        "placement": arranged.placements,
        "v": arranged.velocities(loops, v),
        "kept": arranged.by_mount(loops, lambda mount: mount.kept),
        "velocity": arranged.every(velocity),
    }
    arranged.outward(
        loops,
        _move,
        {
            "placement": common["placement"],
            "q": arranged.positions(loops, q),
            "v": common["v"],
            "parent": [Rows(velocity, [k if k >= 0 else n for k in arranged.parents])],
        },
        {"kept": common["kept"], "velocity": common["velocity"]},
    )
    if outside:
        pushes = pushed_forces(arranged, loops, common["kept"], outside)
        tau = [x - y for x, y in zip(tau, pushes, strict=True)]

    answer = arranged.by_mount(loops, _answer_size)
    own, earlier, parent = _handed(arranged, loops)
    arranged.inward(
        loops,
        _answer,
        {
            **common,
            "matter": arranged.matter(loops),
            "rotor": [[link.rotor] for link in arranged.links],
            "tau": arranged.velocities(loops, tau),
            "outboard": own,
            "earlier": earlier,
        },
        {"answer": answer, "parent": parent},
    )

    before, after = arranged.passed(loops, 6, (*ZERO, *(-arranged.tree.gravity)))
    gains = arranged.at_joints(loops)
    arranged.outward(
        loops, _accelerate, {**common, "answer": answer, "parent": before}, {"acceleration": after, "gains": gains}
    )
    return arranged.gathered(loops, gains)


def _move(mount, given):
    """The pose of the joint and the velocity of the link."""
    placement = given["placement"]
    kept = mount.keep(placement, given["q"])
    step = mount.step(placement, kept)
    V = _twist(given["parent"]).to_link(step.R, step.s) + _relative(mount, given)
    return {"kept": kept, "velocity": _row(V)}


def _answer(mount, given):
    """How the joint answers, and what the parent feels of the link."""
    body, V, own = ArticulatedInertia.of(body_of(given["matter"])), _twist(given["velocity"]), _relative(mount, given)
    outboard, pushed = _handed_of(given["outboard"])
    A, p = body + outboard, V.cross_wrench(body @ V) + pushed
    S = [Twist.of(partial) for partial in mount.partials]
    answer = Answer.of(A, p, S, given["rotor"][0], mount.share(given["placement"], given["tau"]))
    step = mount.step(given["placement"], given["kept"])
    rest, push = answer.handed_on(A, p, V.cross(own))
    handed = _handed_row(rest.to_parent(step.R, step.s), push.to_parent(step.R, step.s))
    if given["earlier"]:
        handed = [x + y for x, y in zip(handed, given["earlier"], strict=True)]
    return {"answer": _answer_row(answer), "parent": handed}


def _accelerate(mount, given):
    """The acceleration of the link, and along its joint."""
    answer = _answer_of(mount, given["answer"])
    step = mount.step(given["placement"], given["kept"])
    drift = _twist(given["velocity"]).cross(_relative(mount, given))
    carried = _twist(given["parent"]).to_link(step.R, step.s) + drift
    gains = answer.gains(carried)
    return {"acceleration": _row(answer.accelerated(carried, gains)), "gains": gains}


def _relative(mount: Mount, given) -> Twist:
    return relative(mount.partials, mount.share(given["placement"], given["v"]))


# ---- rows


def _handed(arranged: Arranged, loops: Loops) -> tuple[Part, Part, Part]:
    """Rows of articulated bodies: each link's own, its parent's if another child has written it, its parent's."""
    rows: dict[int, int] = {}
    free: list[int] = []
    size = NOTHING + 1
    own: list[int | None] = [None] * len(arranged.links)
    earlier, parent = list(own), list(own)
    for k in range(len(arranged.links))[::-1]:
        own[k] = rows.get(k, NOTHING)
        free += [rows[k]] if k in rows else []
        inboard = arranged.parents[k]
        if inboard < 0:
            continue
        if inboard in rows:
            earlier[k] = rows[inboard]
        elif free:
            rows[inboard] = free.pop()
        else:
            rows[inboard], size = size, size + 1
        parent[k] = rows[inboard]
    table = loops.table(size, 27)
    begin(loops, table, NOTHING, [0.0] * 27)
    return [Rows(table, own)], [Rows(table, earlier)], [Rows(table, parent)]


def _handed_row(A: ArticulatedInertia, p: Wrench) -> list[Scalar]:
    return [*A.I.upper, *(x for row in A.H.rows for x in row), *A.M.upper, *p.force, *p.moment]


def _handed_of(row: Vector) -> tuple[ArticulatedInertia, Wrench]:
    H = Mat3.of([row[6:9], row[9:12], row[12:15]])
    A = ArticulatedInertia(Mat3.symmetric(*row[0:6]), H, Mat3.symmetric(*row[15:21]))
    return A, Wrench(Vec3.of(row[21:24]), Vec3.of(row[24:27]))


def _answer_size(mount: Mount) -> int:
    return 6 * mount.nv + mount.nv * (mount.nv + 1) // 2 + mount.nv


def _answer_row(answer: Answer) -> list[Scalar]:
    U = [x for wrench in answer.U for x in (*wrench.force, *wrench.moment)]
    lower = [x for k, row in enumerate(answer.D.lower) for x in row[:k]]
    return [*U, *lower, *answer.D.inverse_pivots, *answer.net]


def _answer_of(mount: Mount, row: Vector) -> Answer:
    n, taken = mount.nv, iter(row)
    U = [Wrench(Vec3(*(next(taken) for _ in range(3))), Vec3(*(next(taken) for _ in range(3)))) for _ in range(n)]
    lower = [[next(taken) if i < k else 0.0 for i in range(n)] for k in range(n)]
    pivots = [next(taken) for _ in range(n)]
    return Answer([Twist.of(p) for p in mount.partials], U, LDL(lower, pivots), [next(taken) for _ in range(n)])


def _twist(row: Vector) -> Twist:
    return Twist(Vec3.of(row[:3]), Vec3.of(row[3:]))


def _row(twist: Twist) -> list[Scalar]:
    return [*twist.angular, *twist.linear]
