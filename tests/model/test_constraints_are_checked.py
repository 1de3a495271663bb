"""Invalid constraints: each error names the constraint, what is wrong with it and how to correct it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell.errors import ArgumentError
from appell.model import constraint as con
from appell.model.constraint import check_constraints


def robot():
    builder = ap.Builder("cart", base="planar", root="chassis")
    builder.link("left", ap.Revolute((0.0, 1.0, 0.0)), parent="chassis", joint_name="left_axle")
    builder.link("mast", ap.Spherical(), parent="chassis", joint_name="mast_ball")
    builder.link("lift", ap.Prismatic((0.0, 0.0, 1.0)), parent="mast", joint_name="lift")
    builder.frame("hook", on="lift", xyz=(0.1, 0.0, 0.0))
    builder.frame("ring", on="lift", xyz=(0.2, 0.0, 0.0))
    return builder.build()


def short(q):
    return [[q[0]] * 3], [0.0]


BAD = {
    "an unknown frame": (con.Point("hok", "left"), r"point 'hok-left' ties 'hok'.*Did you mean 'hook'\?"),
    "an unknown other frame": (con.Weld("hook", "lfet"), r"weld 'hook-lfet' ties 'lfet'.*Did you mean 'lift'\?"),
    "both on one link": (con.Hinge("hook", "ring"), "hinge 'hook-ring' of robot 'cart' .* both on link 'lift'"),
    "both in the world": (con.OnLine("world", None), "line 'world-world' .* both in the world"),
    "a rod without length": (
        con.Distance("hook", "left", 0.0),
        "distance 'hook-left' has length 0.0.*(?s:.*)hint .*Point",
    ),
    "a rod of length nan": (con.Distance("hook", "left", float("nan")), "has length nan"),
    "a rod with a negative length": (con.Distance("hook", "left", -1.0), "has length -1.0"),
    "a gear on a ball joint": (
        con.Gear({"mast_ball": 1.0, "lift": 2.0}, name="winch"),
        "gear 'winch' couples joint 'mast_ball', which is spherical(?s:.*)joints of one axis",
    ),
    "a gear on an unknown joint": (con.Gear({"lfit": 1.0}), r"couples 'lfit'.*Did you mean 'lift'\?"),
    "a gear without a ratio": (con.Gear({"lift": 0.0}), "couples joint 'lift' with the ratio 0.0"),
    "a gear without joints": (con.Gear({}, name="empty"), "gear 'empty' has ratios"),
    "a gear with an infinite offset": (con.Gear({"lift": 1.0}, float("inf")), "has offset inf"),
    "a wheel without a radius": (con.Rolling("left", None), "rolling 'left' has radius None"),
    "a wheel of radius 0": (con.Rolling("left", 0.0), "has radius 0.0"),
    "a wheel of infinite radius": (con.Rolling("left", float("inf")), "has radius inf"),
    "a wheel about an unknown axis": (
        con.Rolling("left", 0.1, axis="yy"),
        "rolling 'left' has axis 'yy'.*It has: x, y, z",
    ),
    "a wheel without a frame": (con.Rolling("wheel", 0.1), "rolling 'wheel' ties 'wheel'.*has no frame 'wheel'"),
    "a wheel on an unknown plane": (con.Rolling("left", 0.1, on="lit"), r"ties 'lit'.*Did you mean 'lift'\?"),
    "a wheel on itself": (con.Rolling("left", 0.1, on="left"), "both on link 'left'"),
    "a wheel on a number": (con.Rolling("left", 0.1, on=3), "rolls on 3(?s:.*)expected .*surface"),
    "a plane that turns at a rate of nan": (con.Rolling("left", 0.1, turning=float("nan")), "turns at nan"),
    "a surface that turns": (
        con.Rolling("left", 0.1, on=ap.Sphere(2.0), turning=1.0),
        "on a curved surface that turns",
    ),
    "a blade along an unknown axis": (con.Skate("left", "w"), "skate 'left' blocks motion along 'w'"),
    "rows of another size": (con.Velocities(short), "velocities 'short' returns 1 rows of 3 numbers(?s:.*)nv = 8"),
    "rows that fail": (con.Velocities(lambda q: q[99], name="f"), "velocities 'f' cannot be computed: .*out of range"),
    "rows without labels": (con.Velocities(short, labels=()), "has labels"),
    "rows in feet": (con.Velocities(short, units=("ft",)), "has units"),
    "a prescribed orientation": (
        con.Prescribed(con.Orientation("hook", "left")),
        "has no row whose motion can be prescribed",
    ),
    "a motion of an unknown row": (con.Prescribed(con.Point("hook"), ("xx",)), "point 'hook-world' has no motion 'xx'"),
    "a motion of an invalid loop": (con.Prescribed(con.Point("hok")), "point 'hok-world' ties 'hok'"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_invalid_constraint_is_named(case):
    constraint, message = BAD[case]
    with pytest.raises(ap.ModelError, match=message):
        check_constraints(robot(), [constraint])


def test_all_flaws_are_reported_at_once():
    flawed = [con.Point("hok", "left"), con.Rolling("left", -1.0), con.Gear({"mast_ball": 1.0})]
    with pytest.raises(ap.ModelError, match="3 errors") as raised:
        check_constraints(robot(), flawed)
    assert [flaw.culprit for flaw in raised.value.parts] == [(item.kind, item.name) for item in flawed]


def test_two_constraints_with_the_same_name_are_rejected():
    twins = [con.Point("hook", "left"), con.Distance("hook", "left", 0.3)]
    with pytest.raises(ap.ModelError, match=r"2 constraints are named 'hook-left': point, distance(?s:.*)hint .*name="):
        check_constraints(robot(), twins)
    check_constraints(robot(), [twins[0], con.Distance("hook", "left", 0.3, name="rod")])


def test_an_object_that_is_not_a_constraint_is_rejected():
    with pytest.raises(ap.ArgumentError, match="'hook' is not a constraint"):
        check_constraints(robot(), ["hook"])


def test_creating_a_constrained_robot_runs_these_checks():
    with pytest.raises(ap.ModelError, match=r"Did you mean 'hook'\?"):
        robot().with_loops(ap.Point("hok", "left"))


@pytest.mark.parametrize("world", [None, "world"])
def test_a_frame_can_be_tied_to_the_world_or_to_a_pose_in_it(world):
    check_constraints(robot(), [con.Point("hook", world), con.Weld("ring", ap.Pose(), name="weld")])


def test_rows_have_labels_units_and_flags():
    for constraint in (
        con.Point("a"),
        con.Hinge("a"),
        con.Slider("a"),
        con.Distance("a", None, 1.0),
        con.Gear({"a": 1.0}),
        con.Rolling("a", 0.1),
        con.Rolling("a", 0.1, ball=True),
        con.Skate("a"),
        con.Velocities(short, labels=("u", "v")),
        con.Prescribed(con.Hinge("a")),
    ):
        labels = constraint.row_labels
        assert constraint.rows == len(labels) == len(set(labels))
        assert len(constraint.row_units) == len(constraint.holonomic) == len(labels)
        assert set(constraint.drivable) <= set(labels)
    assert con.Rolling("a", 0.1).holonomic == (False, False, True)
    assert con.Prescribed(con.Weld("a")).motions == ("x", "y", "z")


def test_the_gap_of_a_wheel_that_cannot_reach_its_plane_is_reported_in_metres():
    builder = ap.Builder("cart", base="planar", root="chassis")
    builder.link("left", ap.Revolute((0.0, 1.0, 0.0)), parent="chassis", xyz=(0.0, 0.2, 0.3))
    with pytest.raises(ap.ModelError, match=r"loop 'left' of robot 'cart' cannot be closed: a gap of 0\.2 m remains"):
        builder.build().with_loops(ap.Rolling("left", 0.1))


def test_the_other_side_of_a_closure_may_be_an_array_a_list_or_a_rotation():
    pose = ap.Pose(np.diag([1.0, -1.0, -1.0]), (0.1, 0.2, 0.3))
    matrix, point = np.array(pose.matrix), ap.Pose(translation=[0.1, 0.2, 0.3])
    assert con.Point("hook", np.array([0.1, 0.2, 0.3])) == con.Point("hook", point)
    assert con.Point("hook", ap.Vec3(0.1, 0.2, 0.3)) == con.Point("hook", point)
    assert con.Weld("hook", matrix) == con.Weld("hook", matrix[:3].tolist()) == con.Weld("hook", pose)
    assert con.Orientation("hook", matrix[:3, :3]).b == con.Orientation("hook", ap.Pose(pose.rotation)).b
    half_turn = con.Orientation("hook", Rotation.from_matrix(matrix[:3, :3])).b
    np.testing.assert_allclose(half_turn.matrix, np.diag([1.0, -1.0, -1.0, 1.0]), atol=1e-15)
    assert con.Distance("hook", (0.1, 0.2, 0.3), length=1.0).b == point
    assert con.Rolling("hook", 0.1, on=matrix).on == con.Skate("hook", on=matrix.tolist()).on == pose
    with pytest.raises(ArgumentError, match=r"frame b of a constraint of type 'point' has shape \(2,\)"):
        con.Point("hook", [0.1, 0.2])
    with pytest.raises(ArgumentError, match=r"(?s)frame a of a constraint .* is array.*Give a pose .* as frame b"):
        con.Weld(matrix, "hook")
