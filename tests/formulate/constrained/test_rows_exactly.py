"""Rows and drifts at 40 digits: the derivative of the gap is K w + b, and that of K w + b at constant w the drift.

A central difference of a step of 1e-10 misses by 1e-20. What is left is that axes and placements are doubles: turns
that miss orthonormality by 1e-16 have rates that miss ω × R by as much, once for every joint on the way.
"""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.formulate.constrained.rows import rows
from appell.formulate.tree import Tree
from appell.model import constraint as con
from appell.model.constraint import ROTATION_LABELS
from exact import derivative, exact
from robots import random_motion, random_pose, random_tree

CLOSE = 1e-13
CLOSURES = (
    con.Point,
    con.Orientation,
    con.Weld,
    con.Hinge,
    con.Universal,
    con.Cylindrical,
    con.Slider,
    con.OnLine,
    con.OnPlane,
    con.Flat,
    con.Distance,
)
BASES = ("fixed", "floating", "planar")


def loose(robot, constraints, rng, q=None):
    """A robot anywhere, moving anyhow: neither positions nor velocities keep the constraints."""
    at, w, _ = random_motion(robot, rng)
    return robot, constraints, at if q is None else q, w


def judge(robot, constraints, q, w, moving=lambda t: (), closed=ROTATION_LABELS):
    """Every drift and every rate against differences; `moving` gives what is prescribed as functions of time.

    The gaps of rows that are named in `closed` have the rate of their row only where they are closed.
    """
    tree, w = Tree.of(robot), exact(w)

    def rate(state):
        return [*robot.rate(state[:-1], w), 1.0]

    def at(state):
        return rows(tree, constraints, state[:-1], w, moving(state[-1]))

    def rates(found):
        return [sum((k * x for k, x in zip(row.jacobian, w, strict=True)), start=row.offset) for row in found]

    def gaps(found):
        return [0.0 if row.gap is None or row.label in closed else row.gap for row in found]

    def measured(state):
        found = at(state)
        return rates(found) + gaps(found)

    state = exact([*q, 0.0])
    found, slopes = at(state), derivative(measured, rate, state)
    labels = [row.label for row in found]
    assert_near([row.drift for row in found], slopes[: len(found)], labels)
    own = [0.0 if row.gap is None or row.label in closed else x for row, x in zip(found, rates(found), strict=True)]
    assert_near(own, slopes[len(found) :], labels)
    return found


def assert_near(ours, theirs, labels):
    for mine, other, label in zip(ours, theirs, labels, strict=True):
        size = max(1.0, abs(float(other)))
        assert abs(float(mine - other)) < CLOSE * size, (label, float(mine), float(other))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", CLOSURES, ids=lambda kind: kind.kind)
def test_the_rows_of_closures_on_random_trees(kind, base):
    rng = np.random.default_rng([CLOSURES.index(kind), BASES.index(base)])
    robot = random_tree(31 * BASES.index(base) + 7, 7, base=base)
    links = robot.link_names
    frames = [ap.Frame(f"on {name}", name, random_pose(rng)) for name in links]
    robot = robot.with_frames(frames)
    length = {"length": 0.7} if kind is con.Distance else {}
    ties = [("on link6", "on link2"), ("on link1", "on link5"), ("on link4", None), ("on link3", random_pose(rng))]
    held = [kind(a, b, name=f"{k}", **length) for k, (a, b) in enumerate(ties)]
    judge(*loose(robot, held, rng))


@pytest.mark.parametrize("kind", [con.Orientation, con.Weld], ids=lambda kind: kind.kind)
def test_the_gap_of_turns_has_the_rate_of_its_row_where_it_is_closed(kind):
    """φ is 1e-16 there, and φ̇ misses the rate by as much."""
    rng = np.random.default_rng(3)
    robot = random_tree(5, 6, base="floating")
    q, w, _ = random_motion(robot, rng)
    place = ap.Dynamics(robot).pose("link4")(q)
    world = Pose(Mat3.of(place[:3, :3].tolist()), ap.Vec3.of(place[:3, 3].tolist()))
    tree, held = Tree.of(robot), [kind("link4", world)]

    def gaps(at):
        return [row.gap for row in rows(tree, held, at, exact(w))]

    found = rows(tree, held, exact(q), exact(w))
    rate = derivative(gaps, lambda at: robot.rate(at, exact(w)), exact(q))
    for row, slope in zip(found, rate, strict=True):
        own = sum((k * float(x) for k, x in zip(row.jacobian, w, strict=True)), start=0.0)
        assert abs(float(row.gap)) < 1e-14
        assert float(slope) == pytest.approx(float(own), abs=1e-13)


# ---- rolling


def carriage(rng, floating=True):
    """A chassis with an oblique axle and a wheel that is neither centred nor straight, and a plate on an arm."""
    made = ap.Builder("carriage", base="floating" if floating else "planar", root="chassis")
    made.link("fork", ap.Revolute((0.3, 0.0, -0.9)), parent="chassis", at=random_pose(rng))
    made.link("wheel", ap.Revolute((0.0, 1.0, 0.0)), parent="fork", at=random_pose(rng))
    made.link("arm", ap.Prismatic((0.0, 0.6, 0.8)), parent=None, at=random_pose(rng))
    made.link("plate", ap.Spherical(), parent="arm", at=random_pose(rng))
    made.frame("skewed", on="wheel", xyz=(0.1, 0.2, 0.05), rpy=(0.2, 0.4, 0.6))
    made.frame("table", on="plate", xyz=(0.1, 0.0, -0.2), rpy=(0.5, -0.3, 0.1))
    made.frame("slope", on=None, xyz=(0.1, 0.0, -0.2), rpy=(0.5, -0.3, 0.1))
    return made.build()


def bowl(x, y, z):
    return z + 2.0 - 0.1 * x * x - 0.15 * y * y + 0.05 * ap.sin(x)


WALLS = {
    "in a sphere": ap.Sphere(3.0, (0.1, 0.2, 0.3)),
    "on a sphere": ap.Sphere(1.5, (0.3, -0.2, -2.0), inside=False),
    "in a pipe": ap.Cylinder(2.5, (0.0, 0.1, 0.0), axis=(0.3, 0.1, 1.0)),
    "on an inclined plane": ap.Plane((0.2, -0.1, 1.0), -0.4),
    "in a bowl": ap.Implicit(bowl),
}
PLACES = {"on the ground": None, "on a slope": "slope", "on a plate": "table", "on a turntable": "slope", **WALLS}


@pytest.mark.parametrize("ball", [False, True], ids=["wheel", "ball"])
@pytest.mark.parametrize("where", PLACES)
def test_a_wheel_that_leans_and_turns_and_a_ball(where, ball):
    rng = np.random.default_rng(list(PLACES).index(where))
    robot, turning = carriage(rng), 0.7 * (where == "on a turntable")
    held = [con.Rolling(name, 0.3, on=PLACES[where], ball=ball, turning=turning) for name in ("wheel", "skewed")]
    closed = ("normal",) if where == "in a bowl" and not ball else ()
    found = judge(*loose(robot, held, rng), closed=closed)
    assert bool(turning) == any(float(row.offset) for row in found)


def test_a_wheel_that_touches_a_surface_without_a_distance_leaves_it_at_the_rate_of_its_row():
    """φ is lowered until it touches: by as much as its gap says, of which the slope is that of two heights."""
    rng = np.random.default_rng(14)
    robot = carriage(rng)
    q, w, _ = random_motion(robot, rng)

    def on(height):
        wall = ap.Implicit(lambda x, y, z: bowl(x, y, z) + height)
        return [con.Rolling("skewed", 0.3, on=wall)]

    low, high = (rows(Tree.of(robot), on(height), q.tolist(), w.tolist())[2].gap for height in (0.0, 1.0))
    found = judge(robot, on(-low / (high - low)), q, w)
    assert abs(float(found[2].gap)) < 1e-15


def test_a_disk_that_is_free_and_a_wheel_that_carries_its_ground():
    rng = np.random.default_rng(8)
    made = ap.Builder("disk", base="floating", root="disk")
    made.link("plate", ap.Revolute((0.0, 0.0, 1.0)), parent="disk", at=random_pose(rng))
    robot = made.build()
    held = [
        con.Rolling("disk", 0.3, axis="z"),
        con.Rolling("disk", 0.2, axis="x", on="plate", name="own"),
        con.Rolling("plate", 0.2, on="disk", name="back"),
    ]
    judge(*loose(robot, held, rng))


@pytest.mark.parametrize("across", ["x", "y", "z"])
def test_blades(across):
    rng = np.random.default_rng(11)
    robot = carriage(rng)
    judge(*loose(robot, [con.Skate("skewed", across), con.Skate("wheel", across, on="table")], rng))


# ---- by hand, and moving


def by_hand(q):
    first = [ap.sin(q[0]) * q[1], q[2] / (2.0 + q[0] * q[0]), 0.0, *q[3:]]
    second = [ap.sqrt(1.0 + q[1] * q[1]), ap.atan2(q[0], 2.0 + ap.cos(q[1])), ap.select(q[0], q[1], -q[1]), *q[3:]]
    return [first, second], [q[0] * q[1], 0.0]


def test_velocities_that_are_written_by_hand():
    rng = np.random.default_rng(12)
    robot = random_tree(2, 4, kinds=("revolute", "prismatic"))
    held = [con.Velocities(by_hand, labels=("first", "second"))]
    con.check_constraints(robot, held)
    judge(*loose(robot, held, rng))


@pytest.mark.parametrize("base", BASES)
def test_motions_that_are_prescribed(base):
    rng = np.random.default_rng(13)
    robot = random_tree(9, 6, base=base, kinds=("revolute", "prismatic", "mimic"))
    joints = [link.joint.name for link in robot.links if link.joint.motion.nv == 1]
    held = [
        con.Prescribed(con.Point("link5", "link2")),
        con.Prescribed(con.Gear({joints[0]: 1.0, joints[3]: -0.5}, 0.2)),
        con.Prescribed(con.Distance("link4", None, 0.5)),
        con.Prescribed(con.Hinge("link5", None), ("y", "square 13")),
        con.Prescribed(con.Skate("link4")),
        con.Prescribed(con.Rolling("link3", 0.2), ("normal",)),
    ]
    assert [len(constraint.motions) for constraint in held] == [3, 1, 1, 2, 1, 1]

    def moving(t):
        numbers = []
        for k in range(9):
            c, s = float(k + 1), 0.3
            numbers += [s + c * t + 0.5 * c * t * t, c + c * t, c]
        return numbers

    con.check_constraints(robot, held)
    judge(*loose(robot, held, rng), moving)
