"""Rows and drifts with 40 digits: the derivative of the gap is K w + b, and that of K w + b at constant w the drift.

Central differences with a step of 1e-10 have errors of 1e-20. The remaining error is due to axes and placements in
double precision: rotations with orthonormality errors of 1e-16 have rates with the same error relative to ω × R, once
for every joint on the path.
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
    """A random configuration and velocity, which do not satisfy the constraints."""
    at, w, _ = random_motion(robot, rng)
    return robot, constraints, at if q is None else q, w


def judge(robot, constraints, q, w, moving=lambda t: (), closed=ROTATION_LABELS):
    """Compare every drift and every rate with differences; `moving(t)` returns the prescribed motions.

    The gaps of rows with labels in `closed` have the rate of their row only where they are closed, and are left out.
    """
    tree, w = Tree.of(robot), exact(w)

    def rate(state):
        return [*robot.rate(state[:-1], w), 1.0]

    def at(state):
        return rows(tree, constraints, state[:-1], w, moving(state[-1]))

    def rates(row_list):
        return [sum((k * x for k, x in zip(row.jacobian, w, strict=True)), start=row.offset) for row in row_list]

    def gaps(row_list):
        return [0.0 if row.gap is None or row.label in closed else row.gap for row in row_list]

    def measured(state):
        row_list = at(state)
        return rates(row_list) + gaps(row_list)

    state = exact([*q, 0.0])
    row_list, slopes = at(state), derivative(measured, rate, state)
    labels = [row.label for row in row_list]
    assert_near([row.drift for row in row_list], slopes[: len(row_list)], labels)
    expected = [
        0.0 if row.gap is None or row.label in closed else x for row, x in zip(row_list, rates(row_list), strict=True)
    ]
    assert_near(expected, slopes[len(row_list) :], labels)
    return row_list


def assert_near(ours, theirs, labels):
    for mine, other, label in zip(ours, theirs, labels, strict=True):
        size = max(1.0, abs(float(other)))
        assert abs(float(mine - other)) < CLOSE * size, (label, float(mine), float(other))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", CLOSURES, ids=lambda kind: kind.kind)
def test_rows_of_closures_on_random_trees(kind, base):
    rng = np.random.default_rng([CLOSURES.index(kind), BASES.index(base)])
    robot = random_tree(31 * BASES.index(base) + 7, 7, base=base)
    links = robot.link_names
    frames = [ap.Frame(f"on {name}", name, random_pose(rng)) for name in links]
    robot = robot.with_frames(frames)
    length = {"length": 0.7} if kind is con.Distance else {}
    ties = [("on link6", "on link2"), ("on link1", "on link5"), ("on link4", None), ("on link3", random_pose(rng))]
    constraints = [kind(a, b, name=f"{k}", **length) for k, (a, b) in enumerate(ties)]
    judge(*loose(robot, constraints, rng))


@pytest.mark.parametrize("kind", [con.Orientation, con.Weld], ids=lambda kind: kind.kind)
def test_the_gap_of_rotations_has_the_rate_of_its_row_where_it_is_closed(kind):
    """φ is about 1e-16 there, and φ̇ differs from the rate by as much."""
    rng = np.random.default_rng(3)
    robot = random_tree(5, 6, base="floating")
    q, w, _ = random_motion(robot, rng)
    pose = ap.Dynamics(robot).pose("link4")(q)
    world = Pose(Mat3.of(pose[:3, :3].tolist()), ap.Vec3.of(pose[:3, 3].tolist()))
    tree, constraints = Tree.of(robot), [kind("link4", world)]

    def gaps(at):
        return [row.gap for row in rows(tree, constraints, at, exact(w))]

    row_list = rows(tree, constraints, exact(q), exact(w))
    rate = derivative(gaps, lambda at: robot.rate(at, exact(w)), exact(q))
    for row, slope in zip(row_list, rate, strict=True):
        expected = sum((k * float(x) for k, x in zip(row.jacobian, w, strict=True)), start=0.0)
        assert abs(float(row.gap)) < 1e-14
        assert float(slope) == pytest.approx(float(expected), abs=1e-13)


# ---- rolling


def carriage(rng, floating=True):
    """A chassis with an oblique axle and a wheel that is neither centred nor aligned, and a plate on an arm."""
    builder = ap.Builder("carriage", base="floating" if floating else "planar", root="chassis")
    builder.link("fork", ap.Revolute((0.3, 0.0, -0.9)), parent="chassis", at=random_pose(rng))
    builder.link("wheel", ap.Revolute((0.0, 1.0, 0.0)), parent="fork", at=random_pose(rng))
    builder.link("arm", ap.Prismatic((0.0, 0.6, 0.8)), parent=None, at=random_pose(rng))
    builder.link("plate", ap.Spherical(), parent="arm", at=random_pose(rng))
    builder.frame("skewed", on="wheel", xyz=(0.1, 0.2, 0.05), rpy=(0.2, 0.4, 0.6))
    builder.frame("table", on="plate", xyz=(0.1, 0.0, -0.2), rpy=(0.5, -0.3, 0.1))
    builder.frame("slope", on=None, xyz=(0.1, 0.0, -0.2), rpy=(0.5, -0.3, 0.1))
    return builder.build()


def bowl(x, y, z):
    return z + 2.0 - 0.1 * x * x - 0.15 * y * y + 0.05 * ap.sin(x)


WALLS = {
    "in a sphere": ap.Sphere(3.0, (0.1, 0.2, 0.3)),
    "on a sphere": ap.Sphere(1.5, (0.3, -0.2, -2.0), inside=False),
    "in a pipe": ap.Cylinder(2.5, (0.0, 0.1, 0.0), axis=(0.3, 0.1, 1.0)),
    "on an inclined plane": ap.Plane((0.2, -0.1, 1.0), -0.4),
    "in a bowl": ap.Implicit(bowl),
}
GROUNDS = {"on the ground": None, "on a slope": "slope", "on a plate": "table", "on a turntable": "slope", **WALLS}


@pytest.mark.parametrize("ball", [False, True], ids=["wheel", "ball"])
@pytest.mark.parametrize("where", GROUNDS)
def test_rows_of_leaning_wheels_and_balls(where, ball):
    rng = np.random.default_rng(list(GROUNDS).index(where))
    robot, turning = carriage(rng), 0.7 * (where == "on a turntable")
    constraints = [
        con.Rolling(name, 0.3, on=GROUNDS[where], ball=ball, turning=turning) for name in ("wheel", "skewed")
    ]
    closed = ("normal",) if where == "in a bowl" and not ball else ()
    row_list = judge(*loose(robot, constraints, rng), closed=closed)
    assert bool(turning) == any(float(row.offset) for row in row_list)


def test_the_gap_of_a_wheel_on_an_implicit_surface_has_the_rate_of_its_row_where_it_is_closed():
    """φ is lowered until the wheel touches, by linear interpolation of the gap between two heights."""
    rng = np.random.default_rng(14)
    robot = carriage(rng)
    q, w, _ = random_motion(robot, rng)

    def on(height):
        wall = ap.Implicit(lambda x, y, z: bowl(x, y, z) + height)
        return [con.Rolling("skewed", 0.3, on=wall)]

    low, high = (rows(Tree.of(robot), on(height), q.tolist(), w.tolist())[2].gap for height in (0.0, 1.0))
    row_list = judge(robot, on(-low / (high - low)), q, w)
    assert abs(float(row_list[2].gap)) < 1e-15


def test_rows_of_a_free_disk_and_of_a_wheel_that_carries_its_ground():
    rng = np.random.default_rng(8)
    builder = ap.Builder("disk", base="floating", root="disk")
    builder.link("plate", ap.Revolute((0.0, 0.0, 1.0)), parent="disk", at=random_pose(rng))
    robot = builder.build()
    constraints = [
        con.Rolling("disk", 0.3, axis="z"),
        con.Rolling("disk", 0.2, axis="x", on="plate", name="own"),
        con.Rolling("plate", 0.2, on="disk", name="back"),
    ]
    judge(*loose(robot, constraints, rng))


@pytest.mark.parametrize("across", ["x", "y", "z"])
def test_rows_of_blades(across):
    rng = np.random.default_rng(11)
    robot = carriage(rng)
    judge(*loose(robot, [con.Skate("skewed", across), con.Skate("wheel", across, on="table")], rng))


# ---- custom rows and prescribed motions


def by_hand(q):
    first = [ap.sin(q[0]) * q[1], q[2] / (2.0 + q[0] * q[0]), 0.0, *q[3:]]
    second = [ap.sqrt(1.0 + q[1] * q[1]), ap.atan2(q[0], 2.0 + ap.cos(q[1])), ap.select(q[0], q[1], -q[1]), *q[3:]]
    return [first, second], [q[0] * q[1], 0.0]


def test_custom_velocity_rows():
    rng = np.random.default_rng(12)
    robot = random_tree(2, 4, kinds=("revolute", "prismatic"))
    constraints = [con.Velocities(by_hand, labels=("first", "second"))]
    con.check_constraints(robot, constraints)
    judge(*loose(robot, constraints, rng))


@pytest.mark.parametrize("base", BASES)
def test_rows_of_prescribed_motions(base):
    rng = np.random.default_rng(13)
    robot = random_tree(9, 6, base=base, kinds=("revolute", "prismatic", "mimic"))
    joints = [link.joint.name for link in robot.links if link.joint.motion.nv == 1]
    constraints = [
        con.Prescribed(con.Point("link5", "link2")),
        con.Prescribed(con.Gear({joints[0]: 1.0, joints[3]: -0.5}, 0.2)),
        con.Prescribed(con.Distance("link4", None, 0.5)),
        con.Prescribed(con.Hinge("link5", None), ("y", "square 13")),
        con.Prescribed(con.Skate("link4")),
        con.Prescribed(con.Rolling("link3", 0.2), ("normal",)),
    ]
    assert [len(constraint.motions) for constraint in constraints] == [3, 1, 1, 2, 1, 1]

    def moving(t):
        numbers = []
        for k in range(9):
            c, s = float(k + 1), 0.3
            numbers += [s + c * t + 0.5 * c * t * t, c + c * t, c]
        return numbers

    con.check_constraints(robot, constraints)
    judge(*loose(robot, constraints, rng), moving)
