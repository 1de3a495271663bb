"""Constraints that cannot be laid on a robot: each error names the loop, what is wrong with it and what to try."""

from __future__ import annotations

import pytest

import appell as ap
from appell.model import constraint as con
from appell.model.constraint import check_constraints


def robot():
    made = ap.Builder("cart", base="planar", root="chassis")
    made.link("left", ap.Revolute((0.0, 1.0, 0.0)), parent="chassis", joint_name="left_axle")
    made.link("mast", ap.Spherical(), parent="chassis", joint_name="mast_ball")
    made.link("lift", ap.Prismatic((0.0, 0.0, 1.0)), parent="mast", joint_name="lift")
    made.frame("hook", on="lift", xyz=(0.1, 0.0, 0.0))
    made.frame("ring", on="lift", xyz=(0.2, 0.0, 0.0))
    return made.build()


def short(q):
    return [[q[0]] * 3], [0.0]


BAD = {
    "an unknown frame": (con.Point("hok", "left"), r"point 'hok-left' ties 'hok'.*Did you mean 'hook'\?"),
    "an unknown other frame": (con.Weld("hook", "lfet"), r"weld 'hook-lfet' ties 'lfet'.*Did you mean 'lift'\?"),
    "both on one link": (con.Hinge("hook", "ring"), "hinge 'hook-ring' of robot 'cart' .* both on link 'lift'"),
    "both in the world": (con.OnLine("world", None), "line 'world-world' .* both in the world"),
    "a rod without length": (
        con.Distance("hook", "left", 0.0),
        "distance 'hook-left' has length 0.0.*(?s:.*)try .*Point",
    ),
    "a rod of no length": (con.Distance("hook", "left", float("nan")), "has length nan"),
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
    "an endless wheel": (con.Rolling("left", float("inf")), "has radius inf"),
    "a wheel about no axis": (con.Rolling("left", 0.1, axis="yy"), "rolling 'left' has axis 'yy'.*It has: x, y, z"),
    "a wheel without a frame": (con.Rolling("wheel", 0.1), "rolling 'wheel' ties 'wheel'.*has no frame 'wheel'"),
    "a wheel on an unknown plane": (con.Rolling("left", 0.1, on="lit"), r"ties 'lit'.*Did you mean 'lift'\?"),
    "a wheel on itself": (con.Rolling("left", 0.1, on="left"), "both on link 'left'"),
    "a wheel on a number": (con.Rolling("left", 0.1, on=3), "rolls on 3(?s:.*)expected .*surface"),
    "a plate that turns at no rate": (con.Rolling("left", 0.1, turning=float("nan")), "turns at nan"),
    "a surface that turns": (
        con.Rolling("left", 0.1, on=ap.Sphere(2.0), turning=1.0),
        "on a curved surface that turns",
    ),
    "a blade along no axis": (con.Skate("left", "w"), "skate 'left' blocks motion along 'w'"),
    "rows of another size": (con.Velocities(short), "velocities 'short' returns 1 rows of 3 numbers(?s:.*)nv = 8"),
    "rows that fail": (con.Velocities(lambda q: q[99], name="f"), "velocities 'f' cannot be computed: .*out of range"),
    "rows without labels": (con.Velocities(short, labels=()), "has labels"),
    "rows in feet": (con.Velocities(short, units=("ft",)), "has units"),
    "a turn that moves": (con.Prescribed(con.Orientation("hook", "left")), "has no row whose motion can be prescribed"),
    "a motion of no row": (con.Prescribed(con.Point("hook"), ("xx",)), "point 'hook-world' has no motion 'xx'"),
    "a motion of a flawed loop": (con.Prescribed(con.Point("hok")), "point 'hok-world' ties 'hok'"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_flawed_constraint_is_named(case):
    constraint, message = BAD[case]
    with pytest.raises(ap.ModelError, match=message):
        check_constraints(robot(), [constraint])


def test_all_flaws_are_told_at_once():
    flawed = [con.Point("hok", "left"), con.Rolling("left", -1.0), con.Gear({"mast_ball": 1.0})]
    with pytest.raises(ap.ModelError, match="3 flaws") as told:
        check_constraints(robot(), flawed)
    assert [flaw.culprit for flaw in told.value.parts] == [(held.kind, held.name) for held in flawed]


def test_two_constraints_of_one_name_are_told_apart():
    twins = [con.Point("hook", "left"), con.Distance("hook", "left", 0.3)]
    with pytest.raises(ap.ModelError, match=r"2 constraints are named 'hook-left': point, distance(?s:.*)try .*name="):
        check_constraints(robot(), twins)
    check_constraints(robot(), [twins[0], con.Distance("hook", "left", 0.3, name="rod")])


def test_what_is_no_constraint_is_refused():
    with pytest.raises(ap.ArgumentError, match="'hook' is not a constraint"):
        check_constraints(robot(), ["hook"])


def test_a_constrained_robot_asks_for_these_checks():
    with pytest.raises(ap.ModelError, match=r"Did you mean 'hook'\?"):
        robot().with_loops(ap.Point("hok", "left"))


@pytest.mark.parametrize("place", [None, "world"])
def test_the_world_is_a_place_and_so_is_any_pose_in_it(place):
    check_constraints(robot(), [con.Point("hook", place), con.Weld("ring", ap.Pose(), name="weld")])


def test_rows_have_labels_units_and_flags():
    for held in (
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
        assert (
            held.rows == len(held.row_labels) == len(set(held.row_labels)) == len(held.row_units) == len(held.holonomic)
        )
        assert set(held.drivable) <= set(held.row_labels)
    assert con.Rolling("a", 0.1).holonomic == (False, False, True)
    assert con.Prescribed(con.Weld("a")).motions == ("x", "y", "z")


def test_a_wheel_that_cannot_reach_its_plane_is_told_in_metres():
    made = ap.Builder("cart", base="planar", root="chassis")
    made.link("left", ap.Revolute((0.0, 1.0, 0.0)), parent="chassis", xyz=(0.0, 0.2, 0.3))
    with pytest.raises(ap.ModelError, match=r"loop 'left' of robot 'cart' cannot be closed: 0\.2 m remain"):
        made.build().with_loops(ap.Rolling("left", 0.1))
