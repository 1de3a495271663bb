"""Contact points compared with numerical optimisation, and wrenches with the power of their multipliers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

import appell as ap
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.formulate.constrained.rows import rows, wrench
from appell.formulate.tree import Tree
from appell.model import constraint as con
from exact import exact
from robots import random_motion, random_pose, random_tree

RADIUS = 0.3
SURFACES = {
    "sphere": ap.Sphere(3.0, (0.1, 0.2, 0.3)),
    "pipe": ap.Cylinder(2.5, (0.0, 0.1, 0.0), axis=(0.3, 0.1, 1.0)),
    "plane": ap.Plane((0.2, -0.1, 1.0), -2.0),
    "bowl": ap.Implicit(lambda x, y, z: z + 2.0 - 0.1 * x * x - 0.15 * y * y + 0.05 * ap.sin(x)),
}


def free_wheel():
    return ap.Builder("wheel", base="floating", root="wheel").build()


def state(name):
    rng = np.random.default_rng(list(SURFACES).index(name))
    robot = free_wheel()
    q, w, _ = random_motion(robot, rng)
    pose = ap.Dynamics(robot).pose("wheel")(q)
    return robot, q, w, pose[:3, :3], pose[:3, 3]


@pytest.mark.parametrize("name", SURFACES)
def test_the_contact_of_a_wheel_is_the_point_of_its_rim_nearest_to_the_wall(name):
    """SciPy minimises the gap along the rim, to half the digits in angle; rows are the velocity of the wheel there."""
    wall = SURFACES[name]
    robot, q, w, R, x = state(name)
    gap = getattr(wall, "distance", None) or wall.gap

    def rim(angle):
        return x + RADIUS * (np.cos(angle) * R[:, 0] + np.sin(angle) * R[:, 2])

    angles = np.linspace(0.0, 2.0 * np.pi, 100)
    start = angles[np.argmin([gap(*rim(angle)) for angle in angles])]
    best = minimize_scalar(lambda angle: gap(*rim(angle)), bracket=(start - 0.1, start, start + 0.1), tol=1e-12)
    point, step = rim(best.x), 1e-6
    slope = np.array([gap(*(point + e)) - gap(*(point - e)) for e in step * np.eye(3)]) / (2.0 * step)
    n = slope / np.linalg.norm(slope)
    t = np.cross(R[:, 1], n)
    t /= np.linalg.norm(t)
    velocity = R @ w[:3] + np.cross(R @ w[3:], point - x)
    contact_rows = rows(Tree.of(robot), [con.Rolling("wheel", RADIUS, on=wall)], q.tolist(), w.tolist())
    rates = [float(np.dot(row.jacobian, w)) for row in contact_rows]
    np.testing.assert_allclose(rates, [velocity @ t, velocity @ np.cross(n, t), velocity @ n], atol=1e-7)
    assert contact_rows[2].gap == pytest.approx(gap(*point) / np.linalg.norm(slope), abs=1e-8)


@pytest.mark.parametrize("name", SURFACES)
def test_the_contact_of_a_ball_is_the_nearest_point_of_the_surface(name):
    wall = SURFACES[name]
    robot, q, w, R, x = state(name)
    walls = {"type": "eq", "fun": lambda c: wall.gap(*c)}
    best = minimize(lambda c: (c - x) @ (c - x), x - [0.0, 0.0, 2.0], constraints=[walls], options={"ftol": 1e-15})
    distance = np.linalg.norm(best.x - x)
    n = (x - best.x) / distance
    contact_rows = rows(Tree.of(robot), [con.Rolling("wheel", RADIUS, on=wall, ball=True)], q.tolist(), w.tolist())
    velocity = R @ w[:3] + np.cross(R @ w[3:], -RADIUS * n)
    rates = [float(np.dot(row.jacobian, w)) for row in contact_rows]
    assert contact_rows[2].gap == pytest.approx(distance - RADIUS, abs=1e-7)
    assert rates[2] == pytest.approx(velocity @ n, abs=1e-6)
    assert np.hypot(*rates[:2]) == pytest.approx(np.linalg.norm(velocity - n * (velocity @ n)), abs=1e-6)


def test_a_wheel_that_lies_flat_has_no_contact_point():
    robot = free_wheel()
    flat = [0.0, 0.0, 0.1, np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    contact_rows = rows(Tree.of(robot), [con.Rolling("wheel", RADIUS, axis="z")], [0.0] * 6 + [1.0], [0.1] * 6)
    assert all(np.isnan(row.drift) for row in contact_rows)
    upright = rows(Tree.of(robot), [con.Rolling("wheel", RADIUS, axis="z")], flat, [0.1] * 6)
    assert all(np.isfinite(row.drift) for row in upright)


KINDS = {
    **{kind.kind: kind for kind in con.Closure.__subclasses__() if kind is not con.Distance},
    "distance": lambda a, b: con.Distance(a, b, 0.4),
    "rolling": lambda a, b: con.Rolling(a, 0.2, on=b),
    "ball": lambda a, b: con.Rolling(a, 0.2, on=b, ball=True),
    "skate": lambda a, b: con.Skate(a, "x", on=b),
    "motion": lambda a, b: con.Prescribed(con.Point(a, b)),
}


def pose_of(robot, frame, q):
    rows = ap.Dynamics(robot).pose(frame)(q)
    return Pose(Mat3.of(rows[:3, :3].tolist()), ap.Vec3.of(rows[:3, 3].tolist()))


def jacobian(robot, frame, q):
    return ap.Dynamics(robot).jacobian(frame, q, reference="LOCAL_WORLD_ALIGNED")


def multipliers(robot, constraint, q, rng):
    """Random multipliers λ, their generalised forces Kᵀλ, and their wrench."""
    K = np.array([row.jacobian for row in rows(Tree.of(robot), [constraint], q.tolist(), [0.0] * robot.nv)], float)
    sizes = rng.normal(size=constraint.rows)
    force, moment = wrench(Tree.of(robot), constraint, q.tolist(), sizes.tolist())
    return sizes, K.T @ sizes, np.array([*force, *moment], float)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_wrench_has_the_power_of_its_multipliers(kind, base):
    """Kᵀλ = Jᵀ (force, moment) of frame a, with the world as side b, and with closed gaps for constraints on points."""
    rng = np.random.default_rng(5)
    robot = random_tree(4, 6, base=base)
    q = robot.random_configuration(rng, within_limits=False)
    point, other = pose_of(robot, "frame0", q), random_pose(rng)
    meets = "x" in KINDS[kind]("frame0", None).row_labels
    constraint = KINDS[kind]("frame0", Pose(other.rotation, (point if meets else other).translation))
    _, forces, acting = multipliers(robot, constraint, q, rng)
    J = jacobian(robot, "frame0", q)
    np.testing.assert_allclose(forces, J.T @ acting, atol=1e-12 * np.abs(J).max())


def test_the_force_of_a_point_acts_on_both_sides():
    rng = np.random.default_rng(6)
    robot = random_tree(4, 6, base="floating")
    q = robot.random_configuration(rng, within_limits=False)
    on = robot.frame("frame1").body
    assert on != robot.frame("frame0").body
    met = pose_of(robot, on, q).inverse @ pose_of(robot, "frame0", q)
    robot = robot.with_frames([ap.Frame("met", on, met)])
    sizes, forces, acting = multipliers(robot, con.Point("frame0", "met"), q, rng)
    difference = jacobian(robot, "frame0", q) - jacobian(robot, "met", q)
    np.testing.assert_allclose(forces, difference[:3].T @ acting[:3], atol=1e-12)
    np.testing.assert_allclose(acting[3:], 0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(acting), np.linalg.norm(sizes), rtol=1e-14)


def test_a_constraint_that_does_not_act_between_frames_has_no_wrench():
    robot = random_tree(4, 6)
    joint = next(link.joint.name for link in robot.links if link.joint.motion.nv == 1)
    with pytest.raises(ap.ModelError, match=f"gear '{joint}' has no wrench"):
        wrench(Tree.of(robot), con.Gear({joint: 1.0}), exact(robot.start), [1.0])
