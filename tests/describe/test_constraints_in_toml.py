"""Loops, wheels, skates and gears in TOML: reading, writing and errors."""

from __future__ import annotations

import pytest

import appell as ap
from appell.model.robot import ConstrainedRobot

FOUR_BAR = """
name = "fourbar"
gravity = [0, -9.81, 0]
home = [0.6, 0.1, 1.6]
actuated = ["crank"]
independent = ["crank"]

[[link]]
name = "crank"
joint = "revolute"
joint_name = "crank"
mass = 1.0
com = [0.15, 0.03, 0]
inertia = [1e-4, 0.0075, 0.0075]

[[link]]
name = "coupler"
parent = "crank"
joint = "revolute"
joint_name = "coupler"
xyz = [0.3, 0, 0]
mass = 1.5
com = [0.4, 0, 0]
inertia = [1e-4, 0.08, 0.08]

[[link]]
name = "rocker"
joint = "revolute"
joint_name = "rocker"
xyz = [0.9, 0, 0]
mass = 1.2
com = [0.35, 0, 0]
inertia = [1e-4, 0.05, 0.05]

[[frame]]
name = "tip"
on = "coupler"
xyz = [0.8, 0, 0]

[[frame]]
name = "pin"
on = "rocker"
xyz = [0.7, 0, 0]
"""
POINT = '\n[[loop]]\ntype = "point"\nframes = ["tip", "pin"]\n'
CART = """
name = "cart"

[root]
name = "chassis"
mass = 4
com = [0, 0, 0]
inertia = [0.1, 0.1, 0.1]

[[link]]
name = "left"
parent = "chassis"
joint = "continuous"
xyz = [0, 0.2, 0.1]
axis = [0, 1, 0]
mass = 1
com = [0, 0, 0]
inertia = [0.01, 0.01, 0.01]

[[link]]
name = "right"
parent = "chassis"
joint = "continuous"
xyz = [0, -0.2, 0.1]
axis = [0, 1, 0]
mass = 1
com = [0, 0, 0]
inertia = [0.01, 0.01, 0.01]
"""
WHEELS = '\n[[rolling]]\nlink = "left"\nradius = 0.1\n\n[[rolling]]\nlink = "right"\nradius = 0.1\naxis = "y"\n'


def test_a_loop_is_read():
    system = ap.load(FOUR_BAR + POINT)
    assert isinstance(system, ConstrainedRobot)
    assert system.constraints == (ap.Point("tip", "pin"),)
    assert (system.velocity_names, system.actuator_names) == (("crank",), ("crank",))
    by_hand = ap.load(FOUR_BAR.replace('actuated = ["crank"]\nindependent = ["crank"]\n', ""))
    assert system == by_hand.with_loops(ap.Point("tip", "pin"), actuated=["crank"], independent=("crank",))


def test_wheels_are_read():
    system = ap.load(CART + WHEELS, base="planar")
    assert system.constraints == (ap.Rolling("left", 0.1), ap.Rolling("right", 0.1))
    assert system.nv == 2


WRITTEN = {
    "a point": (ap.Point("tip", "pin"),),
    "a named hinge": (ap.Hinge("tip", "pin", name="knee"),),
    "a rod": (ap.Distance("tip", "pin", 0.1),),
    "a rod with its length at home": (ap.Distance("tip", "rocker"),),
    "a pose in the world": (ap.OnLine("tip", ap.Pose.from_rpy(ap.Vec3(0.1, 0.2, 0.3), ap.Vec3(1.0, 0.5, 0.0))),),
    "the world": (ap.OnPlane("tip", None), ap.Orientation("pin", "world")),
    "a gear": (ap.Gear({"crank": 1.0, "rocker": -0.5}, 0.1), ap.Gear({"coupler": 2.0}, name="held")),
    "a motion": (ap.Prescribed(ap.Gear({"crank": 1.0})), ap.Prescribed(ap.Distance("tip", "pin", 0.2), name="ram")),
    "a wheel and a ball": (
        ap.Rolling("tip", 0.1, axis="z"),
        ap.Rolling("pin", 0.2, ball=True, on="coupler", turning=0.3, name="ball"),
    ),
    "skates": (ap.Skate("tip", "x"), ap.Skate("pin", "z", on="coupler", name="edge")),
}


def with_open_loops(constraints):
    """A robot with constraints whose loops are not closed, to be written to a file."""
    tree = ap.load(FOUR_BAR.replace('actuated = ["crank"]\nindependent = ["crank"]\n', ""))
    return ConstrainedRobot(tree, constraints, {"crank": 1.0}, tuple(tree.start), None, None, False)


@pytest.mark.parametrize("case", WRITTEN)
def test_written_constraints_are_read_back(case, monkeypatch):
    """Only reading and writing is tested here: the loops are not closed."""
    monkeypatch.setattr(ap.Robot, "with_loops", lambda self, *constraints, **options: constraints)
    text = ap.to_toml(with_open_loops(WRITTEN[case]))
    read = ap.load(text)
    names = [constraint.name for constraint in read]
    assert names == [constraint.name for constraint in WRITTEN[case]]
    for one, other in zip(read, WRITTEN[case], strict=True):
        if isinstance(other, ap.Prescribed):
            assert one.labels == other.labels
            one, other = (
                one.constraint,
                ap.Distance("tip", "pin", 0.2, name="ram") if other.name == "ram" else other.constraint,
            )
        assert one == other


@pytest.mark.parametrize("weights", [["crank"], {"crank": 2.0, "rocker": 1.0}])
def test_a_constrained_robot_survives_a_round_trip(weights):
    system = ap.load(FOUR_BAR + POINT).tree.with_loops(ap.Point("tip", "pin"), actuated=weights, independent="crank")
    read = ap.load(ap.to_toml(system))
    assert read == system
    assert read.home == system.home


def test_what_a_file_cannot_express_is_a_named_error():
    on_a_sphere = with_open_loops((ap.Rolling("tip", 0.1, on=ap.Sphere(2.0)),))
    with pytest.raises(ap.ModelError, match="cannot be written: a file cannot express rolling 'tip'"):
        ap.to_toml(on_a_sphere)
    with pytest.raises(ap.ModelError, match=r"cannot be written as URDF(?s:.*)system.tree"):
        ap.to_urdf(on_a_sphere)


BAD = {
    "an unknown type": (
        POINT.replace("point", "pont"),
        r"no type of loop 'pont'. Did you mean 'point'\?(?s:.*)line 45",
    ),
    "no type": (POINT.replace('type = "point"\n', ""), "no type of loop 'None'"),
    "three frames": (POINT.replace('"pin"]', '"pin", "pin"]'), "has frames .*(?s:.*)two names"),
    "an unknown frame": (POINT.replace('"tip"', '"tpi"'), r"Did you mean 'tip'\?(?s:.*)line 44"),
    "a length of a point": (POINT + "length = 0.1\n", "is a point, which has no length"),
    "two frames and a pose": (POINT + "xyz = [0, 0, 1]\n", "has two frames and a pose"),
    "an unknown key": (POINT + "lenght = 0.1\n", r"no key 'lenght'. Did you mean 'length'\?"),
    "a wheel without a link": ("\n[[rolling]]\nradius = 0.1\n", "number 1 has no link"),
    "a wheel without a radius": ('\n[[rolling]]\nlink = "tip"\n', "rolling 'tip' has radius None"),
    "a ball that is a number": ('\n[[rolling]]\nlink = "tip"\nradius = 0.1\nball = 1\n', "ball of .* is 1"),
    "ratios in a list": ("\n[[gear]]\nratios = [1.0]\n", r"ratios of \[\[gear\]\] number 1 is"),
    "a ratio as a string": ('\n[[gear]]\nratios = { crank = "two" }\n', "ratios of .* is 'two'"),
    "loops on one link": (POINT.replace('"pin"', '"coupler"'), "both on link 'coupler'"),
    "an unknown motor": (POINT, "has no velocity 'carnk'"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_reported_with_their_lines(case):
    loops, message = BAD[case]
    text = FOUR_BAR.replace('actuated = ["crank"]', 'actuated = ["carnk"]') if "motor" in case else FOUR_BAR
    with pytest.raises(ap.AppellError, match=message):
        ap.load(text + loops)


def test_motors_of_a_robot_without_constraints_are_an_error():
    with pytest.raises(ap.DescriptionError, match=r"actuated applies to robots with constraints only(?s:.*)loop"):
        ap.load(FOUR_BAR)


URDF = """<robot name="rods">
  <link name="base"/>
  <link name="one"/>
  <link name="two"/>
  <joint name="a" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/></joint>
  <joint name="b" type="continuous"><parent link="base"/><child link="two"/><axis xyz="0 0 1"/></joint>{more}
</robot>"""


def test_loops_can_be_added_to_a_description_without_loops():
    system = ap.load(URDF.format(more=""), loops=[ap.Gear({"a": 1.0, "b": -2.0})], name="geared")
    assert (system.nv, system.name) == (1, "geared")
    with pytest.raises(ap.DescriptionError, match="loops= does not apply"):
        ap.load("delta", loops=[ap.Gear({"a": 1.0})])


def test_the_error_for_a_loop_in_a_urdf_says_how_to_close_it():
    second = '\n  <joint name="c" type="continuous"><parent link="one"/><child link="two"/><axis xyz="0 0 1"/></joint>'
    with pytest.raises(ap.DescriptionError, match=r"'two' is the child of two joints(?s:.*)loops=\[ap.Hinge"):
        ap.load(URDF.format(more=second))


def test_the_error_for_a_cycle_of_links_in_toml_says_how_to_close_it():
    cycle = FOUR_BAR.replace('parent = "crank"', 'parent = "coupler"')
    with pytest.raises(ap.DescriptionError, match=r"form a cycle(?s:.*)\[\[loop\]\] in TOML or robot.with_loops"):
        ap.load(cycle)
